"""Values of every kind across the boundary of a package, each way."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

import scriptc

pytestmark = pytest.mark.usefixtures("compiles_once")


class Both(NamedTuple):
    left: Tensor
    right: Tensor


def named_tuple(both: Both) -> Both:
    return Both(both.right, both.left * 2)


def numbers(ints: list[int], floats: list[float], flags: list[bool]) -> Any:
    total = 0
    out = []
    for i in range(len(ints)):
        total += ints[i]
        out.append(ints[i] * 2)
    longest = 0.0
    for f in floats:
        if f > longest:
            longest = f
    count = 0
    for flag in flags:
        if flag:
            count += 1
    return out, total, longest, count, total > 3


def words(text: str, separators: list[str], style: str = "upper") -> Any:
    found = []
    for word in text.split():
        found.append(word.upper() if style == "upper" else word)
    if not found:
        raise ValueError("no words in " + repr(text))
    print(found[0])
    return found, separators[-1].join(found), {"text": text, "empty": "", "n": len(found)}


def appends(items: list[Tensor], x: Tensor) -> Tensor:
    items.append(x)
    return x


def aliases(x: Tensor, y: Tensor) -> Any:
    z = x + y
    return x, z, z[1:], (y.t(), None)


def pair_of(pair: tuple[Tensor, Tensor], named: dict[str, Tensor]) -> Any:
    a, b = pair
    return {"sum": a + b, "product": named["k"] * a}


def halves(x: Tensor) -> Tensor:
    return torch.tanh(x) * 2 + x.sum()


def new(delete: Tensor, free: Tensor, weights: Tensor, results: Tensor, n_free: Tensor) -> Tensor:
    return delete + free + weights + results + n_free


class Rotation(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.turn = torch.nn.Parameter(torch.polar(torch.ones(3), torch.arange(3.0)))
        self.register_buffer("wide", torch.randn(2, 3, dtype=torch.complex128))

    def forward(self, x: Tensor, z: complex) -> Any:
        y = x * self.turn + z
        return y, y @ y.mT, y.real, self.wide * z, z * z


def loaded(function: Callable[..., Any], *args: Any, folder: Path, **options: Any) -> Any:
    return scriptc.load(scriptc.build(function, *args, out=folder / "it", optimize=0, march="native", **options))


def check_headers(folder: Path, name: str = "it") -> None:
    """They are clean C99 and C++17."""
    for language, header in (("c", f"{name}.h"), ("c++", f"{name}.hpp")):
        standard = {"c": "c99", "c++": "c++17"}[language]
        if compiler := shutil.which("cc" if language == "c" else "c++"):
            flags = [f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-x", language]
            done = subprocess.run(
                [compiler, *flags, folder / name / "include" / header], capture_output=True, text=True
            )
            assert not done.returncode, done.stderr


def output_of_cpp(program: str, folder: Path, tmp_path: Path) -> str:
    """Return what a C++ program prints that is linked to the library of a package, which the loader builds."""
    if not shutil.which("c++"):
        pytest.skip("no c++")
    scriptc.load(folder)
    library = next((folder / "build").glob("lib*-*.so"))
    (tmp_path / "program.cpp").write_text(program)
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-I", folder / "include"]
    compiler, compiled = os.environ.get("CXX", "c++"), tmp_path / "program.o"
    subprocess.run([compiler, *flags, "-c", tmp_path / "program.cpp", "-o", compiled], check=True)
    subprocess.run([compiler, compiled, library, "-o", tmp_path / "program"], check=True)
    return subprocess.run([tmp_path / "program"], capture_output=True, text=True).stdout


def test_lists_of_numbers(tmp_path: Path) -> None:
    model = loaded(numbers, [1, 2], [0.5, 2.5], [True, False, True], folder=tmp_path)
    check_headers(tmp_path)
    for ints, floats, flags in (([5, -1, 7], [1.5], [True] * 4), ([1], [0.25, 0.75, 0.5], [])):
        assert model(ints, floats, flags) == numbers(ints, floats, flags)
    with pytest.raises(TypeError, match=r"'flags\[1\]': expected bool, got int"):
        model([1], [1.0], [True, 1])
    with pytest.raises(OverflowError):
        model([2**63], [1.0], [True])


def test_strings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = loaded(words, "two words", [", "], folder=tmp_path)
    check_headers(tmp_path)
    capsys.readouterr()
    for text, separators in (("one", [""]), ("größe \U0001f34e\0 x", ["–", "\u3000"]), ("a  b\n" * 100, ["", " "])):
        assert model(text, separators) == words(text, separators)
    printed = capsys.readouterr().out.splitlines()
    assert printed[::2] == printed[1::2]
    with pytest.raises(ValueError, match="no words in ' '"):
        model(" ", [""])
    with pytest.raises(TypeError, match=r"'separators\[0\]': expected str, got int"):
        model("a", [1])
    with pytest.raises(TypeError, match="compiled for 'upper'"):
        model("a", [""], "lower")


def test_strings_in_c(tmp_path: Path) -> None:
    """The recorded calls, and the C++ wrapper."""
    folder = scriptc.build(words, "two größe", [", ", "-"], out=tmp_path / "it", optimize=0, march="native")
    library = scriptc.load(folder) and next((folder / "build").glob("libit-*.so"))
    flags = ["-I", folder / "include", "-I", folder / "tests"]
    driver = tmp_path / "driver"
    subprocess.run(["cc", *flags, folder / "tests" / "it_test.c", library, "-lm", "-o", driver], check=True)
    pairs = sorted((folder / "tests").rglob("*.pair"))
    done = subprocess.run([driver, "pairs", "none", *pairs], capture_output=True, text=True)
    assert len(pairs) >= 5 and not done.returncode, done.stdout + done.stderr
    if compiler := shutil.which("c++"):
        program = tmp_path / "program.cpp"
        program.write_text("""#include <cstdio>
            #include "it.hpp"
            int main() {
                it::Model model;
                it::Context context(model);
                auto [found, joined, text, n] = context.words(std::string("a b"), {"-", "+"});
                std::printf("%s %s %s|%lld", found[1].c_str(), joined.c_str(), text.c_str(), (long long)n);
                try { context.words("", {}); } catch (const it::Error &e) { std::printf(" %s", e.type().c_str()); }
            }""")
        subprocess.run([compiler, "-std=c++17", *flags, program, library, "-o", tmp_path / "program"], check=True)
        done = subprocess.run([tmp_path / "program"], capture_output=True, text=True, check=True)
        assert done.stdout == "A\nB A+B a b|2 ValueError"


def test_a_list_that_the_code_changes_is_an_error(tmp_path: Path) -> None:
    model = loaded(appends, [torch.ones(2)], torch.ones(3), folder=tmp_path)
    with pytest.raises(NotImplementedError, match="changes the argument list 'items'"):
        model([np.ones(2, np.float32)], np.ones(3, np.float32))


def test_results_share_nothing(tmp_path: Path) -> None:
    x, y = torch.randn(3, 3), torch.randn(3, 3)
    model = loaded(aliases, x, y, folder=tmp_path)
    check_headers(tmp_path)
    a, z, tail, (turned, nothing) = model(x.numpy(), y.numpy())
    for got, want in ((a, x), (z, x + y), (tail, (x + y)[1:]), (turned, y.t())):
        torch.testing.assert_close(torch.from_numpy(got), want)
    assert nothing is None and turned.strides == (4, 12)
    a[:] = z[:] = 0
    assert x.any() and tail.any()


def test_containers(tmp_path: Path) -> None:
    x, y = torch.randn(2, 3), torch.randn(2, 3)
    model = loaded(pair_of, (x, y), {"k": y}, folder=tmp_path)
    check_headers(tmp_path)
    result = model((x.numpy(), y.numpy()), named={"k": y.numpy()})
    expected = pair_of((x, y), {"k": y})
    assert list(result) == list(expected)
    for key, want in expected.items():
        torch.testing.assert_close(torch.from_numpy(result[key]), want)
    with pytest.raises(TypeError, match="expected a tuple of 2"):
        model([x.numpy(), y.numpy()], {"k": y.numpy()})
    with pytest.raises(TypeError, match="expected a dict with the keys"):
        model((x.numpy(), y.numpy()), {"j": y.numpy()})


def test_named_tuples(tmp_path: Path) -> None:
    x, y = torch.randn(2), torch.randn(3)
    model = loaded(named_tuple, Both(x, y), folder=tmp_path)
    result = model(Both(x.numpy(), y.numpy()))
    torch.testing.assert_close(torch.from_numpy(result.left), y)
    torch.testing.assert_close(torch.from_numpy(result.right), x * 2)


def test_names_that_c_keeps_for_itself(tmp_path: Path) -> None:
    xs = [torch.randn(2) for _ in range(5)]
    model = loaded(new, *xs, folder=tmp_path)
    check_headers(tmp_path)
    torch.testing.assert_close(torch.from_numpy(model(*(x.numpy() for x in xs))), sum(xs))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.bfloat16])
def test_other_dtypes(dtype: torch.dtype, tmp_path: Path) -> None:
    x = torch.randn(3, 4).to(dtype)
    model = loaded(halves, x, folder=tmp_path)
    if dtype is torch.bfloat16:
        check_bfloat16(model, x)
    else:
        torch.testing.assert_close(torch.from_numpy(model(x.numpy())), halves(x))


def check_bfloat16(model: Any, x: Tensor) -> None:
    """numpy has no such dtype; the package ml_dtypes has."""
    try:
        import ml_dtypes
    except ImportError:
        with pytest.raises(TypeError, match="install ml_dtypes"):
            model(x.float().numpy())
        return
    result = model(x.float().numpy().astype(ml_dtypes.bfloat16))
    torch.testing.assert_close(torch.from_numpy(result.astype(np.float32)).bfloat16(), halves(x))


def test_static_sizes_are_checked(tmp_path: Path) -> None:
    model = loaded(halves, torch.randn(3, 4), folder=tmp_path, dynamic=False)
    assert model(np.ones((3, 4), np.float32)).shape == (3, 4)
    with pytest.raises(ValueError, match="compiled for size 4 in dimension 1, got 5"):
        model(np.ones((3, 5), np.float32))


def test_strided_and_empty_arguments(tmp_path: Path) -> None:
    model = loaded(halves, torch.randn(3, 4), folder=tmp_path)
    x = torch.randn(6, 8)
    for view in (x[::2, ::2], x.t()[:4, :2], x[:0], x[:1].expand(5, 8)):
        torch.testing.assert_close(torch.from_numpy(model(view.numpy())), halves(view))


@pytest.mark.parametrize("embed", [False, True])
def test_complex_numbers(embed: bool, tmp_path: Path) -> None:
    """Weights, arguments and results; in Python and, by the recorded calls, in C."""
    model, x = Rotation(), torch.randn(2, 3, dtype=torch.complex64)
    folder = scriptc.build(model, x, 2 - 1j, out=tmp_path / "it", optimize=0, march="native", embed_weights=embed)
    check_headers(tmp_path)
    with torch.no_grad():
        *expected, number = model(x, 0.5j)
    *got, other = scriptc.load(folder)(x.numpy(), 0.5j)
    assert other == number
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(torch.from_numpy(a), b)
    with pytest.raises(TypeError, match="'z': expected complex, got float"):
        scriptc.load(folder)(x.numpy(), 0.5)
    with pytest.raises(TypeError, match="'x': expected"):
        scriptc.load(folder)(x.real.numpy(), 0.5j)
    flags = ["-I", folder / "include", "-I", folder / "tests"]
    driver = tmp_path / "driver"
    library = next((folder / "build").glob("libit-*.so"))
    subprocess.run(["cc", *flags, folder / "tests" / "it_test.c", library, "-lm", "-o", driver], check=True)
    pairs = sorted((folder / "tests").rglob("*.pair"))
    weights = "none" if embed else next(folder.rglob("it.safetensors"))
    done = subprocess.run([driver, "pairs", weights, *pairs], capture_output=True, text=True)
    assert pairs and not done.returncode, done.stdout + done.stderr
