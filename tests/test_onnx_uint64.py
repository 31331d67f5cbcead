"""uint64 elements of ONNX models, whose bits int64 tensors carry: exact, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scriptc

onnx = pytest.importorskip("onnx")

LEFT = np.array([0, 5, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1, 2**64 - 1, 2**63 + 1025, 2**64 - 2], np.uint64)
RIGHT = np.array([3, 2**63, 2, 3, 2**63 + 1, 7, 2**64 - 2, 2**62 + 1, 2**64 - 1], np.uint64)


def model(call: str, result: str, left: str = "uint64", right: str = "uint64") -> Any:
    text = f'<ir_version: 8, opset_import: ["" : 17]>\nm ({left}[n] a, {right}[n] b) => ({result}[n] y) {{ y = {call} }}'
    return onnx.parser.parse_model(text)


CASES = [
    ("Div(a, b)", "uint64", LEFT // RIGHT), ("Mod(a, b)", "uint64", LEFT % RIGHT),
    ("Max(a, b)", "uint64", np.maximum(LEFT, RIGHT)), ("Min(a, b)", "uint64", np.minimum(LEFT, RIGHT)),
    ("Less(a, b)", "bool", LEFT < RIGHT), ("GreaterOrEqual(a, b)", "bool", LEFT >= RIGHT),
    ("BitShift<direction = \"RIGHT\">(a, b)", "uint64", np.where(RIGHT < 64, LEFT >> (RIGHT & np.uint64(63)), 0)),
    ("Cast<to = 1>(a)", "float", LEFT.astype(np.float32)), ("Cast<to = 11>(a)", "double", LEFT.astype(np.float64)),
]  # fmt: skip


@pytest.mark.parametrize("call, result, expected", CASES, ids=[case[0] for case in CASES])
def test_large_elements_are_exact(call: str, result: str, expected: Any) -> None:
    from scriptc.onnx.reading.element_types import to_numpy, to_torch

    made = scriptc.from_onnx(model(call, result))(to_torch(LEFT, "uint64"), to_torch(RIGHT, "uint64"))
    dtype = {"float": "float32", "double": "float64"}.get(result, result)
    assert np.array_equal(to_numpy(made, dtype), expected)


def test_the_largest_elements_come_first() -> None:
    from scriptc.onnx.reading.element_types import to_numpy, to_torch

    text = """<ir_version: 8, opset_import: ["" : 17]>
    m (uint64[n] a) => (uint64[3] y, int64[3] i) { k = Constant<value_ints = [3]>()  y, i = TopK(a, k) }"""
    values, _ = scriptc.from_onnx(onnx.parser.parse_model(text))(to_torch(LEFT, "uint64"))
    assert to_numpy(values, "uint64").tolist() == [2**64 - 1, 2**64 - 1, 2**64 - 2]


@pytest.mark.parametrize("call", ["ReduceMax<keepdims = 1>(a)", "Clip(a)"])
def test_operators_without_an_unsigned_form_are_refused(call: str) -> None:
    from scriptc.onnx.reading import OnnxError

    with pytest.raises(OnnxError, match="uint64"):
        scriptc.from_onnx(model(call, "uint64"))
