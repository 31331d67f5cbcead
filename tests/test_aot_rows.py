"""Lists of lists across the boundary of a package: items and lengths in C, vectors of vectors in C++."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_aot_values import check_headers, output_of_cpp
from torch import Tensor

import scriptc

pytestmark = pytest.mark.usefixtures("compiles_once")

X = torch.arange(3.0)


def decode(scores: Tensor) -> list[list[int]]:
    """Return the tokens of each row up to the first zero."""
    found: list[list[int]] = []
    for row in scores.argmax(2):
        tokens: list[int] = []
        for token in row:
            t = int(token)
            if t == 0:
                break
            tokens.append(t)
        found.append(tokens)
    return found


def tensors(rows: list[list[Tensor]], k: int) -> list[list[Tensor]]:
    out: list[list[Tensor]] = []
    for row in rows:
        total = []
        for x in row:
            total.append(x * k)
        if k < 0:
            row.append(X)
        out.append(total)
    out.append([rows[0][0], rows[0][0]])
    return out


def values(ints: list[list[int]], floats: list[list[float]], flags: list[list[bool]], words: list[list[str]]) -> Any:
    sums = []
    for row in ints:
        sums.append([i * 2 for i in row])
    halves = []
    for parts in floats:
        halves.append([f / 2 for f in parts])
    turned = []
    for bits in flags:
        turned.append([not bit for bit in bits])
    upper = []
    for texts in words:
        upper.append([text.upper() for text in texts])
    return {"ints": sums, "floats": halves, "flags": turned, "words": upper}


SCORES = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0))
ROWS = ([[1, 2], [3]], [[0.5], [1.0, 2.0]], [[True], [False, True]], [["a"], ["é", "b"]])
ENTRIES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "decode": (decode, (SCORES,)),
    "tensors": (tensors, ([[X, X + 1], [X]], 2)),
    "values": (values, ROWS),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    options: dict[str, Any] = {"optimize": 0, "march": "native", "bindings": "pybind11", "embed_weights": True}
    return scriptc.build(ENTRIES, out=tmp_path_factory.mktemp("lists") / "nested", **options)


def check(model: Any, scale: Callable[[Tensor], Any]) -> None:
    """Compare what Python gets with eager. scale: makes an argument of a tensor."""
    for seed in range(3):
        scores = torch.randn(4, 6, 3, generator=torch.Generator().manual_seed(seed))
        assert model.decode(scale(scores)) == decode(scores)
    rows = [[X, X * 2], [], [X + 1]]
    got, expected = model.tensors([[scale(x) for x in row] for row in rows], 3), tensors(rows, 3)
    assert [len(row) for row in got] == [len(row) for row in expected] == [2, 0, 1, 2]
    for row, other in zip(got, expected, strict=True):
        for x, y in zip(row, other, strict=True):
            np.testing.assert_array_equal(np.asarray(x), y.numpy())
    for arguments in (ROWS, ([[], [2**61, -1], []], [[]], [[True] * 9], [["ß\0", ""], []]), ([], [], [], [])):
        assert model.values(*arguments) == values(*arguments)
    with pytest.raises(TypeError, match=r"'ints\[1\]\[0\]': expected int, got float"):
        model.values([[1], [1.0]], *ROWS[1:])
    with pytest.raises(TypeError, match=r"'ints\[1\]': expected .*list, got tuple"):
        model.values([[1], (1,)], *ROWS[1:])
    with pytest.raises(NotImplementedError, match="changes the argument list 'rows'"):
        model.tensors([[scale(X)]], -1)


def test_the_loader(folder: Path) -> None:
    check(scriptc.load(folder), lambda x: x.numpy())


@pytest.mark.slow
def test_the_extension_module(folder: Path) -> None:
    pytest.importorskip("pybind11")
    from test_aot_pybind11 import extension

    check(extension(folder).load(), lambda x: x)


PROGRAM = """
#include <cstdio>
#include "nested.hpp"
int main() {
    nested::Model model;
    nested::Context context(model);
    float x[] = {1, 2, 4};
    nested::View view(x, {3});
    auto rows = context.tensors({{&view}, {&view, &view}}, 3);
    for (const auto &row : rows)
        for (const auto &tensor : row) std::printf("%g ", tensor.data<float>()[2]);
    auto [ints, floats, flags, words] = context.values({{1, 2}, {}}, {{0.5}}, {{true}, {false, true}}, {{"a"}, {"b", "c"}});
    std::printf("%zu %lld %g %d%d%d %s\\n", ints.size(), (long long)ints[0][1], floats[0][0], (int)flags[0][0],
                (int)flags[1][0], (int)flags[1][1], words[1][1].c_str());
    nested_context *c = context.get();
    int64_t *items, *lengths, n, wrong[] = {2, -1};
    const int64_t ints_in[] = {1, 2};
    double *f, d[] = {1};
    bool *b;
    scriptc_string *s;
    int64_t *lf, nf, *lb, nb, *ls, ns;
    for (const int64_t *bad : {wrong, static_cast<int64_t *>(nullptr)}) {
        int code = nested_values(c, ints_in, bad, 2, d, nullptr, 0, nullptr, nullptr, 0, nullptr, nullptr, 0, &items,
                                 &lengths, &n, &f, &lf, &nf, &b, &lb, &nb, &s, &ls, &ns);
        std::printf("%d %s\\n", code, nested_last_error(c)->message);
    }
}
"""


def test_vectors_in_cpp_and_lengths_in_c(folder: Path, tmp_path: Path) -> None:
    check_headers(folder.parent, "nested")
    header = " ".join((folder / "include" / "nested.h").read_text().split())
    assert "int64_t **result, int64_t **lengths_result, int64_t *n_result" in header
    assert output_of_cpp(PROGRAM, folder, tmp_path).splitlines() == [
        "12 12 12 4 4 2 4 0.25 010 C",
        "2 argument 'ints': a length is negative, or their sum is too large",
        "2 argument 'ints': the lengths are NULL",
    ]


@pytest.mark.parametrize("sanitize", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_recorded_calls(sanitize: bool, folder: Path, tmp_path: Path) -> None:
    """The driver of a package, with the program in it."""
    runtime = folder / "runtime" / "src"
    sources = [folder / "src" / "nested_api.c", folder / "src" / "nested_level.c", *(runtime / "package").glob("*.c")]
    sources += [runtime / f"sc_{name}.c" for name in "core signal slots stack tables team utf8".split()]
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"] if sanitize else []
    includes = [f"-I{folder / part}" for part in ("include", "tests", "runtime/include", "runtime/src", "runtime/src/package")]
    command = ["cc", "-std=gnu11", "-Og", "-g", "-w", "-march=native", "-DSC_ONE_LEVEL", *flags, *includes, *sources]
    command += [folder / "tests" / "nested_test.c", "-lm", "-pthread", "-o", tmp_path / "driver"]
    subprocess.run(command, check=True)
    pairs = sorted((folder / "tests").rglob("*.pair"))
    done = subprocess.run([tmp_path / "driver", "pairs", "none", *pairs], capture_output=True, text=True)
    assert len(pairs) >= 5 * len(ENTRIES) and not done.returncode, done.stdout + done.stderr
