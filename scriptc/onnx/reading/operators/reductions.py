"""Reductions over axes, softmax and its kin."""

from __future__ import annotations

from typing import Any

from scriptc.onnx.reading.element_types import INTEGERS
from scriptc.onnx.reading.operation import Operation
from scriptc.onnx.reading.registry import operator

REDUCTIONS = {
    "ReduceSum": "sum", "ReduceMean": "mean", "ReduceMax": "amax", "ReduceMin": "amin", "ReduceProd": "prod", "ReduceL1": "l1",
    "ReduceL2": "l2", "ReduceLogSum": "log_sum", "ReduceLogSumExp": "log_sum_exp", "ReduceSumSquare": "sum_square",
}  # fmt: skip
PLAIN = {"sum", "mean", "amax", "amin"}


@operator(*REDUCTIONS, ints=(1,))
def reduce(op: Operation) -> Any:
    name, keep = REDUCTIONS[op.node.op], bool(op.attr("keepdims", 1))
    axes = op.attr("axes") or op.known_ints(1)
    if not axes and op.attr("noop_with_empty_axes", 0) and (not op.has(1) or axes is not None):
        return f"ox.reduce_{name}({op[0]}, (), {keep}, True)" if name not in PLAIN | {"prod"} else op[0]
    dtype = op.dtype(0)
    if axes and name in PLAIN and dtype not in INTEGERS and dtype not in ("bool", None):
        return f"torch.{name}({op[0]}, {tuple(axes)}, keepdim={keep})"
    text = "()" if not op.has(1) and not axes else str(tuple(axes)) if axes else op.ints(1)
    tail = ", True" if op.attr("noop_with_empty_axes", 0) else ""
    return f"ox.reduce_{name}({op[0]}, {text}, {keep}{tail})"


@operator("ArgMax", "ArgMin")
def arg_extremum(op: Operation) -> Any:
    name, axis, keep = op.node.op.lower(), op.attr("axis", 0), bool(op.attr("keepdims", 1))
    if op.attr("select_last_index", 0):
        return f"ox.last_{name}({op[0]}, {axis}, {keep})"
    return f"torch.{name}({op[0]}, {axis}, keepdim={keep})"


@operator("Softmax", since=13)
def softmax(op: Operation) -> Any:
    return f"torch.softmax({op[0]}, {op.attr('axis', -1)})"


@operator("LogSoftmax", since=13)
def log_softmax(op: Operation) -> Any:
    return f"torch.log_softmax({op[0]}, {op.attr('axis', -1)})"


@operator("Hardmax", since=13)
def hardmax(op: Operation) -> Any:
    return f"ox.hardmax({op[0]}, {op.attr('axis', -1)})"


@operator("Softmax", "LogSoftmax", "Hardmax", until=12)
def softmax_flattened(op: Operation) -> Any:
    inner = {"Softmax": "torch.softmax", "LogSoftmax": "torch.log_softmax", "Hardmax": "ox.hardmax"}[op.node.op]
    axis, rank = op.attr("axis", 1), op.rank(0)
    if rank is not None and axis % rank == rank - 1:
        return f"{inner}({op[0]}, -1)"
    return f"{inner}(ox.flatten({op[0]}, {axis}), 1).reshape({op[0]}.shape)"


@operator("LpNormalization")
def lp_normalization(op: Operation) -> Any:
    return f"ox.lp_normalization({op[0]}, {op.attr('axis', -1)}, {op.attr('p', 2)})"


@operator("NegativeLogLikelihoodLoss")
def nll_loss(op: Operation) -> Any:
    ignored = op.attr("ignore_index")
    return f'ox.nll_loss({op[0]}, {op[1]}, {op.optional(2)}, {ignored}, "{op.attr("reduction", "mean")}")'


@operator("SoftmaxCrossEntropyLoss")
def cross_entropy(op: Operation) -> Any:
    ignored, how = op.attr("ignore_index"), op.attr("reduction", "mean")
    logs = f"torch.log_softmax({op[0]}, 1)"
    if op.outputs == 1:
        return f'ox.nll_loss({logs}, {op[1]}, {op.optional(2)}, {ignored}, "{how}")'
    name = op.named("log_prob", logs)
    loss = op.named("loss", f'ox.nll_loss({name}, {op[1]}, {op.optional(2)}, {ignored}, "{how}")')
    return loss, name
