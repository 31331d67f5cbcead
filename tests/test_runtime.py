"""The C runtime: its own tests under the sanitizers, and its operations, layouts and messages against PyTorch."""

from __future__ import annotations

import ctypes as c
import os
import random
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from runtime_cases import ALL, AMAX, AMIN, ANY, CASES, DTYPES, MATRICES, MEAN, PROD, SUM, Z
from torch import Tensor

from scriptc.backend_c.toolchain import find_compiler

ROOT = Path(__file__).resolve().parent.parent
SOURCES = (
    "core tables layout iter_staging iter check convert copy view join reduce index slots list dict copy_elements team str utf8"
).split()
FLAGS = [
    "-std=gnu11",
    "-march=native",
    "-mprefer-vector-width=512",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wno-psabi", "-Werror"]


def build(output: Path, main: str, flags: Sequence[str], directory: Path, sources: Sequence[str] = SOURCES) -> Path:
    """Compiles each file and links them, two compilers at a time."""
    files = [ROOT / "tests/runtime" / main] + [ROOT / f"runtime/src/sc_{name}.c" for name in sources]
    objects = [directory / f"{file.stem}.o" for file in files]
    compiled_with = [flag for flag in flags if flag != "-shared"]  # of which clang would say that it is unused

    def compile_one(file: Path, obj: Path) -> None:
        subprocess.run(
            [os.environ.get("CC", "cc"), *FLAGS, *WARNINGS, *compiled_with, "-c", str(file), "-o", str(obj)], check=True
        )

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(compile_one, files, objects))
    subprocess.run([os.environ.get("CC", "cc"), *flags, *map(str, objects), "-lm", "-o", str(output)], check=True)
    return output


@pytest.mark.slow
def test_c_tests_under_sanitizers(tmp_path: Path) -> None:
    flags = ["-O0", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    program = build(tmp_path / "test_core", "test_core.c", flags, tmp_path)
    assert subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout == "ok\n"


@pytest.mark.slow
def test_strings_under_sanitizers(tmp_path: Path) -> None:
    flags = ["-O0", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    program = build(tmp_path / "test_str", "test_str.c", flags, tmp_path, ["core", "tables", "list", "str", "utf8"])
    assert subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout == "ok\n"


def test_one_translation_unit(tmp_path: Path) -> None:
    """The files also go together as one unit: no two of them use one name for different things."""
    missing = ["-DSC_WITHOUT_CONTRACTIONS", "-DSC_WITHOUT_IMAGES", "-Wno-unused-function"]
    command = [
        os.environ.get("CC", "cc"),
        *FLAGS,
        *WARNINGS,
        *missing,
        "-fsyntax-only",
        str(ROOT / "runtime/src/sc_all.c"),
    ]
    subprocess.run(command, check=True)


class Runtime:
    """The driver library; tensors go in by pointer and come out as clones with the same strides."""

    def __init__(self, path: Path) -> None:
        self.lib = c.CDLL(str(path))
        for name, result in {"new": c.c_void_p, "tensor": c.c_void_p, "error_type": c.c_char_p,
        "error_message": c.c_char_p,
                             "data": c.c_void_p, "size": c.POINTER(c.c_int64), "stride": c.POINTER(c.c_int64),
                             "live": c.c_int64}.items():  # fmt: skip
            getattr(self.lib, "drv_" + name).restype = result

    def take(self, t: int) -> Tensor:
        p = c.c_void_p(t)
        rank, dtype = self.lib.drv_rank(p), DTYPES[self.lib.drv_dtype(p)]
        size, stride = self.lib.drv_size(p)[:rank], self.lib.drv_stride(p)[:rank]
        out = torch.empty_strided(size, stride, dtype=dtype)
        extent = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if out.numel() else 0
        if extent:
            c.memmove(out.data_ptr(), self.lib.drv_data(p), extent * out.element_size())
        return out

    def __call__(self, op: str, tensors: Sequence[Tensor | None], ints: Sequence[int] = (), f: float = 0.0) -> Any:
        cx = c.c_void_p(self.lib.drv_new())
        args = (c.c_void_p * len(tensors))()
        for i, t in enumerate(tensors):
            if t is not None:
                size, stride = (c.c_int64 * t.dim())(*t.shape), (c.c_int64 * t.dim())(*t.stride())
                args[i] = self.lib.drv_tensor(
                    cx, c.c_void_p(t.data_ptr()), DTYPES.index(t.dtype), t.dim(), size, stride
                )
        before = self.lib.drv_live(cx)
        outs = (c.c_void_p * 64)()
        n = self.lib.drv_run(
            cx, op.encode(), len(tensors), args, len(ints), (c.c_int64 * len(ints))(*ints), c.c_double(f), outs
        )
        try:
            if n < 0:
                assert self.lib.drv_live(cx) == before, "an error left objects behind"
                return f"{self.lib.drv_error_type(cx).decode()}: {self.lib.drv_error_message(cx).decode()}"
            results = [self.take(outs[i] or 0) for i in range(n)]
            for i in range(n):
                self.lib.drv_release(cx, c.c_void_p(outs[i]))
            assert self.lib.drv_live(cx) == before
            return results
        finally:
            self.lib.drv_free(cx)


@pytest.fixture(scope="module")
def rt(tmp_path_factory: pytest.TempPathFactory, compiles_once: None) -> Runtime:
    directory = tmp_path_factory.mktemp("driver")
    flags = ["-O0", "-fPIC", "-shared", "-fsanitize=undefined", "-fno-sanitize-recover=all"]
    if "clang" in find_compiler().version:  # it links no UBSan into a shared library, and minds NULL + 0, which is harmless
        flags += ["-fsanitize-trap=all", "-fno-sanitize=pointer-overflow"]
    return Runtime(build(directory / "driver.so", "driver.c", flags, directory))


def eager(function: Callable[[], Any]) -> Any:
    try:
        result = function()
    except Exception as error:  # noqa: BLE001 - whatever eager raises is what is compared
        return f"{type(error).__name__}: {error}"
    return list(result) if isinstance(result, (list, tuple)) else [result]


def assert_same(got: Any, expected: Any) -> None:
    if isinstance(got, str) or isinstance(expected, str):
        assert got == expected
        return
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())
        torch.testing.assert_close(a, b, equal_nan=True)


def values(*size: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(size, dtype=torch.float64).mul(3).to(dtype)


def random_layout(rng: random.Random, size: Sequence[int]) -> Tensor:
    """A tensor of that size, somehow permuted, sliced, expanded or channels-last."""
    order = list(range(len(size)))
    rng.shuffle(order)
    kind = rng.randrange(5)
    if kind == 0:
        return values(*size)
    steps = [rng.choice([1, 1, 2]) if kind >= 2 else 1 for _ in size]
    widths = [1 if kind == 3 and rng.random() < 0.4 else n * s for n, s in zip(size, steps, strict=True)]
    base = values(*(widths[d] for d in order)).permute([order.index(d) for d in range(len(size))])
    if kind == 4 and len(size) == 4:
        return values(*size).contiguous(memory_format=torch.channels_last)
    cut = base[tuple(slice(None, None, s) for s in steps)]
    return cut.expand(size)


def test_iteration_layouts(rt: Runtime) -> None:
    rng = random.Random(7)
    for trial in range(600):
        rank = rng.randrange(5)
        size = [rng.choice([1, 2, 3, 4, 0] if trial % 9 == 0 else [1, 1, 2, 3, 4]) for _ in range(rank)]
        operands: list[Tensor | None] = []
        for _ in range(rng.randrange(1, 4)):
            own = [1 if rng.random() < 0.2 else n for n in size[rng.choice([0, 0, 0, rng.randrange(rank + 1)]) :]]
            operands.append(random_layout(rng, own))
        given = [t for t in operands if t is not None]
        number = len(operands) < 3 and rng.random() < 0.3
        # Eager adds two operands at a time; one addition of three has to be spelt as such.
        expected = given[0] + 1 if number else torch.relu(given[0]) if len(given) == 1 else given[0] + given[1]
        operands = [given[0], None] if number else list(given[:2])
        got = rt("sum_of", operands)
        assert got[0].shape == expected.shape
        assert got[0].stride() == expected.stride(), (trial, [(t.shape, t.stride()) for t in given], number)
        if len(operands) == 2:
            assert torch.equal(got[0], expected)


def test_three_operands(rt: Runtime) -> None:
    rng = random.Random(3)
    for _ in range(100):
        size = [rng.choice([1, 2, 3, 5]) for _ in range(rng.randrange(1, 5))]
        a, b, d = (random_layout(rng, size[rng.choice([0, 0, 1]) :]) for _ in range(3))
        expected = torch.addcmul(a, b, d)  # any op of three operands
        got = rt("sum_of", [a, b, d])[0]
        assert got.stride() == expected.stride()
        torch.testing.assert_close(got, a + b + d)


def test_copies_and_layouts(rt: Runtime) -> None:
    rng = random.Random(5)
    for _ in range(300):
        size = [rng.choice([0, 1, 1, 2, 3, 4, 18, 33]) for _ in range(rng.randrange(5))]
        x = random_layout(rng, size)
        dims = rng.sample(range(len(size)), rng.randrange(len(size) + 1))
        assert_same(rt("clone", [x]), [x.clone()])
        assert_same(rt("contiguous", [x]), [x.contiguous()])
        assert_same(rt("to", [x], [8]), [x.to(torch.float32)])
        assert_same(rt("reshape", [x], [-1]), [x.reshape(-1)])
        if dims:
            assert_same(rt("flip", [x], dims), [x.flip(dims)])
        repeats = [rng.choice([0, 1, 2, 3]) for _ in range(len(size) + 1)]
        assert_same(rt("repeat", [x], repeats), [x.repeat(repeats)])
        y = random_layout(rng, size)
        if size:
            d = rng.randrange(-len(size), len(size))
            assert_same(rt("cat", [x, y, x], [d, 9]), [torch.cat([x, y, x], d)])
            if size[d]:
                index = torch.tensor([rng.randrange(size[d]) for _ in range(3)])
                assert_same(rt("index_select", [x, index], [d]), [x.index_select(d, index)])
        d = rng.randrange(-len(size) - 1, len(size) + 1)
        assert_same(rt("stack", [x, y], [d, 9]), [torch.stack([x, y], d)])
        assert_same(rt("view", [x], [*size, 1]), eager(partial(x.view, [*size, 1])))
        target = torch.empty_like(y, dtype=torch.float32)
        assert not isinstance(rt("copy_", [target, x]), str)
        torch.testing.assert_close(target, x.to(torch.float32))


def test_every_pair_of_dtypes(rt: Runtime) -> None:
    special = torch.tensor([300.0, -1, -300.5, 40000, 3e9, 9.2e18, 1e30, float("nan"), float("inf"),
    -float("inf"), -0.0, 0.5,
                            6e-8, 65519, 65520, 3.4e38, 1e-45] * 40, dtype=torch.float64)  # fmt: skip
    for source in DTYPES:
        x = special.to(source)
        for target in DTYPES:
            assert_same(rt("to", [x], [DTYPES.index(target)]), [x.to(target)])
            assert_same(rt("to", [x[::3]], [DTYPES.index(target)]), [x[::3].to(target)])


def test_half_conversions(rt: Runtime) -> None:
    bits = torch.arange(0, 2**32, 4099, dtype=torch.int64)
    x = (bits - 2**31).to(torch.int32).view(torch.float32)
    n = x.numel()
    f16, bf16, back = torch.empty(n, dtype=torch.float16), torch.empty(n, dtype=torch.bfloat16), torch.empty(n)
    rt.lib.drv_halves(*(c.c_void_p(t.data_ptr()) for t in (x, f16, bf16, back)), c.c_int64(n))
    for got, expected in ((f16, x.half()), (bf16, x.bfloat16()), (back, x.half().float())):
        assert torch.equal(got.isnan(), expected.isnan())
        assert torch.equal(got.nan_to_num(1.0), expected.nan_to_num(1.0))


def test_reductions(rt: Runtime) -> None:
    rng = random.Random(11)
    ops: list[tuple[int, Callable[..., Tensor]]] = [
        (SUM, torch.sum),
        (MEAN, torch.mean),
        (AMAX, torch.amax),
        (AMIN, torch.amin),
    ]
    for _ in range(300):
        size = [rng.choice([1, 2, 3, 7, 64, 70, 130]) for _ in range(rng.randrange(1, 4))]
        x = random_layout(rng, size)
        if rng.random() < 0.3:
            x = x.clone()
            x[tuple(rng.randrange(n) for n in size)] = float("nan")
        x = x.to(rng.choice([torch.float32, torch.float64, torch.float16, torch.bfloat16]))
        dims = rng.sample(range(-len(size), 0), rng.randrange(1, len(size) + 1))
        keep = rng.random() < 0.5
        kind, dt = rng.choice(ops), DTYPES.index(x.dtype)
        expected = kind[1](x.to(torch.float64), dims, keep).to(x.dtype)
        got = rt("reduce", [x], [kind[0], keep, dt, *dims])[0]
        assert got.stride() == kind[1](x, dims, keep).stride()
        rtol, atol = (1e-5, 2e-7 * x.abs().nansum().item()) if x.dtype == torch.float32 else (None, None)
        torch.testing.assert_close(got, expected, equal_nan=True, rtol=rtol, atol=atol)
        small = x.to(torch.int64) % 5
        for i, name in enumerate(("argmax", "argmin")):
            for y in (x, small):
                best = getattr(torch, name)(y, dims[0], keep)
                got = rt("arg", [y], [i, dims[0], keep])[0]
                if y is x:
                    assert_same([got], [best])
                first = (
                    y.movedim(dims[0], -1) == (y.amax if i == 0 else y.amin)(dims[0], True).movedim(dims[0], -1)
                ).int()
                if not y.is_floating_point():
                    assert torch.equal(got.reshape(-1), first.argmax(-1).reshape(-1))
        assert_same(rt("arg_all", [x], [0]), [x.argmax()])
        assert_same(rt("reduce", [small], [PROD, keep, 5, dims[0]]), [small.prod(dims[0], keep)])
        truth = small > 0
        assert_same(rt("reduce", [truth], [ALL, keep, 0, *dims]), [truth.all(dims, keep)])
        assert_same(rt("reduce", [truth], [ANY, keep, 0, *dims]), [truth.any(dims, keep)])
        assert_same(rt("reduce", [truth], [SUM, keep, 5, *dims]), [truth.sum(dims, keep)])


@pytest.mark.parametrize("case", range(len(CASES)))
def test_case(rt: Runtime, case: int) -> None:
    op, tensors, ints, function = CASES[case]
    got = rt(op, tensors, ints, 0.25)
    expected = eager(function)
    if op.startswith(("check_", "item_", "int")) and not isinstance(expected, str):
        assert got == []
    else:
        assert_same(got, expected)


def test_matmul_errors(rt: Runtime) -> None:
    for a in MATRICES:
        for b in MATRICES:
            expected = eager(partial(torch.matmul, a, b))
            assert rt("check_matmul", [a, b]) == (expected if isinstance(expected, str) else []), (a.shape, b.shape)


def test_linear_errors(rt: Runtime) -> None:
    biases = [None, Z(4), Z(5), Z(1), Z(()), Z(2, 4), Z(3, 1), Z(4).double()]
    weights = [Z(4, 3), Z(4, 5), Z(3), Z(4), Z(2, 4, 3), Z(4, 3).double(), Z(())]
    for x in [Z(3), Z(2, 3), Z(2, 2, 3), Z(2, 5, 3).permute(1, 0, 2), Z(2, 0, 3), Z(()), Z(2, 2, 2, 3)]:
        for w in weights:
            for b in biases:
                expected = eager(partial(F.linear, x, w, b))
                note = (x.shape, w.shape, None if b is None else b.shape)
                assert rt("check_linear", [x, w, b]) == (expected if isinstance(expected, str) else []), note
