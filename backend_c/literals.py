"""Python constants as C text."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

from scriptc.backend_c.expressions import Expression, Form

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


def c_int(value: int) -> str:
    if value == INT64_MIN:
        return "INT64_MIN"
    if value == INT64_MAX:
        return "INT64_MAX"
    return str(value)


def c_float(value: float, dtype: str = "f64") -> str:
    """Return a number as a double, or as a float in the dtype f32, by the shortest digits that read back."""
    if math.isnan(value):
        return "NAN"
    rounded = as_element(value, dtype)
    if math.isinf(rounded):
        return "INFINITY" if value > 0 else "-INFINITY"
    if dtype != "f32":
        return repr(value)
    digits = next(text for n in range(1, 18) if as_element(float(text := f"{rounded:.{n}g}"), dtype) == rounded)
    return (digits if any(c in digits for c in ".e") else digits + ".0") + "f"


def as_element(value: float, dtype: str) -> float:
    """Return a number as f32 holds it, which may be an infinity; numbers of other dtypes stay as they are."""
    found: float = struct.unpack("f", struct.pack("f", value))[0] if dtype == "f32" else value
    return found


def c_string(text: str) -> str:
    """Return a C string literal. Braces are escaped too, so that the literal may be part of a template."""
    return _c_bytes(text.encode(errors="surrogatepass"))


def c_path(name: str) -> str:
    """Return a C string literal of the bytes of a file name, which Python may not have decoded."""
    return _c_bytes(name.encode(errors="surrogateescape"))


def _c_bytes(data: bytes) -> str:
    special = {0x22: '\\"', 0x5C: "\\\\", 0x0A: "\\n", 0x09: "\\t"}
    plain = {c for c in range(32, 127)} - set(b"{}?")
    return '"' + "".join(special.get(b) or (chr(b) if b in plain else f"\\{b:03o}") for b in data) + '"'


def str_hash(text: str) -> int:
    """Return what sc_str_hash of runtime/src/sc_str.c gives."""
    h = 0xCBF29CE484222325
    for c in text:
        h = (h ^ ord(c)) * 0x100000001B3 % 2**64
    return (h ^ h >> 32) or 1


def c_str_object(text: str) -> str:
    """Return the initializer of a constant sc_str."""
    most = max(map(ord, text), default=0)
    width = 1 if most < 0x100 else 2 if most < 0x10000 else 4
    if width == 1:
        data = _c_bytes(text.encode("latin-1"))
    else:
        data = f"((const uint{8 * width}_t[]){{{', '.join(str(ord(c)) for c in text)}}})"
    return f"SC_STR_CONSTANT({width}, {len(text)}, UINT64_C({str_hash(text):#018x}), {data})"


def c_const(value: Any) -> Expression:
    """Return a Python constant in C."""
    match value:
        case bool():
            return Expression("true" if value else "false")
        case int():
            return signed(c_int(value))
        case float():
            return signed(c_float(value))
        case str():
            return Expression(c_string(value))
    raise TypeError(f"no C constant for {value!r}")


def signed(number: str) -> Expression:
    """Return the text of a number as an expression: the sign is an operator of C."""
    return Expression(number, Form.COMPOUND if number.startswith("-") else Form.PRIMARY)


def c_array(items: Sequence[str], ctype: str = "const int64_t") -> str:
    """Return the template of a compound literal, or NULL for no items, for which C has none."""
    return f"({ctype}[]){{{{{', '.join(items)}}}}}" if items else "NULL"
