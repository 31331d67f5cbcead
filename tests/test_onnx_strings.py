"""Tensors of strings in ONNX models, which are lists of strings in Python. ONNX's own tests run in test_onnx_backend_api.py."""

from __future__ import annotations

from typing import Any

import pytest

import scriptc
from scriptc.onnx.reading import OnnxError

onnx = pytest.importorskip("onnx")


def model_of(node: str, kind: str = "string[n]", made: str = "string[n]") -> Any:
    text = f'<ir_version: 10, opset_import: ["" : 21]> m ({kind} x) => ({made} y) {{ y = {node} }}'
    return onnx.parser.parse_model(text)


def test_a_regular_expression_runs_in_eager_and_is_rejected_where_it_is_compiled() -> None:
    module = scriptc.from_onnx(model_of('RegexFullMatch<pattern = "a+\\\\d?">(x)', made="bool[n]"))
    assert module(["aa", "a1", "b"]).tolist() == [True, True, False]
    with pytest.raises(scriptc.CompileError, match="fullmatch"):
        scriptc.compile(module, optimize=0)(["aa"])


@pytest.mark.parametrize("pattern", ["a(?=b)", "(a)\\\\1", "(", "[[:alpha:]]"])
def test_patterns_that_re2_reads_differently_are_refused(pattern: str) -> None:
    with pytest.raises(OnnxError, match="pattern"):
        scriptc.from_onnx(model_of(f'RegexFullMatch<pattern = "{pattern}">(x)', made="bool[n]"))


def test_operators_without_a_form_for_strings_are_refused() -> None:
    for node, kind in (("Transpose(x)", "string[n, m]"), ("Concat<axis = 1>(x)", "string[n, m]"), ("Unique(x)", "string[n]")):
        with pytest.raises(OnnxError, match=node[:6]):
            scriptc.from_onnx(model_of(node, kind, kind))


def test_lists_of_strings_are_joined_gathered_and_measured() -> None:
    text = """<ir_version: 10, opset_import: ["" : 21]>
    m (string[n, 2] x, int64[2] at) => (string[a, 2] y, string[2, 2] z, int64[2] sizes, int64 count) {
      y = Concat<axis = 0>(x, x)
      z = Gather(y, at)
      sizes = Shape(y)
      count = Size(y)
    }"""
    from scriptc.onnx import backend

    prepared = backend.prepare(onnx.parser.parse_model(text), optimize=0)
    y, z, sizes, count = prepared.run([[["a", "b"], ["c", "d"], ["e", "f"]], [5, 0]])
    assert y.shape == (6, 2) and z.tolist() == [["e", "f"], ["a", "b"]] and sizes.tolist() == [6, 2] and count == 12


def test_strings_become_numbers_and_integers_strings() -> None:
    text = """<ir_version: 10, opset_import: ["" : 21]>
    m (string[n, 2] x, string[n] k) => (double[n, 2] y, int32[n] z, string[n] t) {
      y = Cast<to = 11>(x)
      z = Cast<to = 6>(k)
      t = Cast<to = 8>(z)
    }"""
    from scriptc.onnx import backend

    prepared = backend.prepare(onnx.parser.parse_model(text), optimize=0)
    y, z, t = prepared.run([[["1.5", "-inf"], ["1e-3", "7"]], ["12", "-4"]])
    assert y.tolist() == [[1.5, float("-inf")], [0.001, 7.0]] and z.tolist() == [12, -4] and t.tolist() == ["12", "-4"]
    with pytest.raises(OnnxError, match="float32 have no fixed text"):
        scriptc.from_onnx(model_of("Cast<to = 8>(x)", "float[n]", "string[n]"))
