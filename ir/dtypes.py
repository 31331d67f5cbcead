"""Element types and PyTorch's promotion rules, without torch.

The promotion lattice is that of torch.promote_types; `result_dtype` follows torch.result_type: dimensioned tensors
outrank zero-dim tensors, which outrank Python numbers, unless the category (bool < int < float < complex) of the lower is
higher.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

# ORDER DTYPE: runtime/include/sc.h
DTYPES = ("bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "c64", "c128")
TORCH_NAMES = {
    "bool": "bool", "u8": "uint8", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "c64": "complex64",
    "c128": "complex128",
}  # fmt: skip
FROM_TORCH = {name: dtype for dtype, name in TORCH_NAMES.items()}
SIZES = {
    "bool": 1, "u8": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8, "c64": 8, "c128": 16,
}  # fmt: skip
SCALAR_TYPES = {  # names in eager's messages
    "f32": "Float", "f64": "Double", "f16": "Half", "bf16": "BFloat16", "i64": "Long", "i32": "Int", "i16": "Short",
    "i8": "Char", "u8": "Byte", "bool": "Bool", "c64": "ComplexFloat", "c128": "ComplexDouble",
}  # fmt: skip
NUMBER_TYPES = {  # names in eager's messages about numbers that do not fit a dtype
    "bool": "bool", "u8": "uint8_t", "i8": "int8_t", "i16": "int16_t", "i32": "int", "i64": "int64_t", "f16": "c10::Half",
    "bf16": "c10::BFloat16", "f32": "float", "f64": "double",
    "c64": "c10::complex<float>", "c128": "c10::complex<double>",
}  # fmt: skip
C_ENUM = {dtype: "SC_" + dtype.upper() for dtype in DTYPES}
C_TYPES = {
    "bool": "bool", "u8": "uint8_t", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t",
    "f16": "sc_f16", "bf16": "sc_bf16", "f32": "float", "f64": "double",
    "c64": "sc_c64", "c128": "sc_c128",
}  # fmt: skip
FLOATING = frozenset({"f16", "bf16", "f32", "f64"})
PARTS = {"c64": "f32", "c128": "f64"}  # the dtype of the real and imaginary parts of complex elements
COMPLEX = frozenset(PARTS)
INEXACT = FLOATING | COMPLEX
INTEGRAL = frozenset({"u8", "i8", "i16", "i32", "i64"})
_LARGEST = {"f16": 65504.0, "bf16": float.fromhex("0x1.fep127"), "f32": float.fromhex("0x1.fffffep127"), "f64": math.inf}
_WIDTH = {"u8": 8, "i8": 8, "i16": 16, "i32": 32, "i64": 64}


def category(dtype: str) -> int:
    """Return the category of a dtype: 0 bool, 1 integer, 2 floating, 3 complex."""
    return 3 if dtype in COMPLEX else 2 if dtype in FLOATING else 1 if dtype in INTEGRAL else 0


def held(dtype: str, floats: bool) -> tuple[float, float]:
    """Return the least and the largest number that ATen accepts for a real dtype.

    Negative ints may wrap in u8, and the float 2**63 in i64, since ATen compares floats with 2**63 - 1 as a float.
    """
    if dtype in FLOATING:
        return -_LARGEST[dtype], _LARGEST[dtype]
    if dtype == "i64" and floats:
        return -(2.0**63), 2.0**63
    bits = _WIDTH[dtype]
    return (0 if floats else 1 - 2**bits, 2**bits - 1) if dtype == "u8" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def complex_of(dtype: str) -> str:
    """Return the complex dtype whose parts hold a dtype. For f16 it is "c32", which no other module knows, as in
    eager."""
    return {"f64": "c128", "c128": "c128", "f16": "c32"}.get(dtype, "c64")


def promote(a: str, b: str) -> str:
    """Return what torch.promote_types(a, b) returns."""
    if a == b:
        return a
    if {a, b} & COMPLEX:
        return "c128" if {"f64", "c128"} & {a, b} else "c64"
    if category(a) != category(b):
        return a if category(a) > category(b) else b
    if a in FLOATING:
        return "f64" if "f64" in (a, b) else "f32"  # f16 and bf16 give f32
    if "u8" in (a, b):
        other = b if a == "u8" else a
        return "i16" if other == "i8" else other
    return a if _WIDTH[a] > _WIDTH[b] else b


def result_dtype(dimensioned: Iterable[str], zero_dim: Iterable[str], numbers: Iterable[str], default: str) -> str:
    """Return what torch.result_type returns for operands in three ranks.

    `numbers` are the dtypes of Python scalars ("bool", "i64", "f64", "c128"); `default` is torch.get_default_dtype().
    """

    def fold(dtypes: Iterable[str]) -> str | None:
        result: str | None = None
        for dtype in dtypes:
            result = dtype if result is None else promote(result, dtype)
        return result

    def combine(higher: str | None, lower: str | None) -> str | None:
        if higher is None or lower is None:
            return higher or lower
        if lower in COMPLEX and higher in FLOATING:
            return complex_of(higher)
        return promote(higher, lower) if category(lower) > category(higher) else higher

    scalar = fold({"f64": default, "c128": complex_of(default)}.get(n, n) for n in numbers)
    result = combine(combine(fold(dimensioned), fold(zero_dim)), scalar)
    assert result is not None, "result_dtype of no operands"
    return result


def compute_dtype(dtype: str) -> str:
    """Return the dtype that an elementwise op computes in: half types in f32, as ATen's opmath_type."""
    return "f32" if dtype in ("f16", "bf16") else dtype
