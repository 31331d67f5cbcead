"""The samples of each row of the IR that has an ONNX form: ONNX Runtime against the interpreter."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy
import pytest
import torch
from row_cases import RowCase, row_cases

from scriptc.ir.core import Func, Module
from scriptc.ir.interp import Interpreter
from scriptc.ir.ops import OPS
from scriptc.ir.types import TensorType, Type

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx_export import differs, run, session_of  # noqa: E402

from scriptc.onnx.writing.builder import Unsupported, type_proto  # noqa: E402
from scriptc.onnx.writing.functions import FunctionWriter, leaf_types  # noqa: E402
from scriptc.onnx.writing.operators import ROWS  # noqa: E402

OPSET = 21
NAMED = sorted(n for n in ROWS if n in OPS and OPS[n].samples is not None)
# What becomes of NaN, infinities and equal elements is the runtime's in these.
PLAIN = {"conv2d", "max_pool2d", "log_softmax", "layer_norm", "group_norm", "topk", "kthvalue"}


def model_of_function(func: Func) -> Any:
    """Return a function of the IR as a model; None if it is refused."""
    writer = FunctionWriter(func, OPSET)

    def described(name: str, t: Type) -> Any:
        dims = t.dims if isinstance(t, TensorType) else None
        return onnx.helper.make_value_info(name, type_proto(t, None if dims is None else (None,) * len(dims)))

    inputs = []
    for i, value in enumerate(func.body.args):
        writer.env[value] = (writer.graph.fresh(f"a{i}"),)
        (t,) = leaf_types(value.type)
        inputs.append(described(writer.env[value][0], t))
    last = writer.block(func.body.ops)
    if writer.diagnostics or last is None:
        return None
    types = [leaf for t in func.results for leaf in leaf_types(t)]
    names = [writer.graph.node("Identity", n, name="result") for n in writer.passed(last.operands, func.results)]
    graph = writer.graph.graph("row", inputs, [described(n, t) for n, t in zip(names, types, strict=True)])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)])
    model.ir_version = 10
    onnx.checker.check_model(model)
    return model


def is_far(got: Any, wanted: Any) -> bool:
    if isinstance(wanted, torch.Tensor) and wanted.dtype in (torch.float16, torch.bfloat16):
        got, wanted = numpy.asarray(got), wanted.float().numpy()
        return got.shape != wanted.shape or not numpy.allclose(got, wanted, rtol=4e-3, atol=4e-3, equal_nan=True)
    return differs(got, wanted)


def layouts_of(case: RowCase) -> Iterator[str]:
    yield "plain"
    if not case.calls and case.row.name not in PLAIN:
        yield "special"


def is_left_out(case: RowCase) -> bool:
    """Return whether ONNX Runtime cannot be asked: NumPy has no bfloat16, and equal elements have an order of their own."""
    if case.row.name in ("topk", "kthvalue") and "i64" in case.dtypes:
        return True
    return "bf16" in case.dtypes or "bf16" in case.name


def check(name: str, most: int | None) -> None:
    """Compare the first cases of a row, or all."""
    for case, func in islice((pair for pair in row_cases(OPS[name]) if not is_left_out(pair[0])), most):
        if any(isinstance(t, TensorType) and t.dtype == "bf16" for t in func.results):
            continue
        try:
            model = model_of_function(func)
            session = None if model is None else session_of(model)
        except Unsupported:  # an argument of a type that ONNX does not have
            continue
        except Exception as e:  # what ONNX Runtime has no kernel for
            assert "NOT_IMPLEMENTED" in str(e) or "INVALID_GRAPH" in str(e)
            continue
        if session is None:
            continue
        module = Module("rows")
        module.funcs[func.name] = func
        for layout in layouts_of(case):
            for call in case.inputs(layout):
                try:
                    wanted = Interpreter(module, {}).run(func.name, *copy.deepcopy(call))
                except Exception:
                    continue
                got = run(session, call)
                assert not any(map(is_far, got, wanted)), (case.name, layout, call, got, wanted)


def test_first_samples() -> None:
    for name in NAMED:
        check(name, 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED)
def test_row(name: str) -> None:
    check(name, None)
