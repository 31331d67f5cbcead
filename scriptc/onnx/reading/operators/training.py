"""Optimizers of `ai.onnx.preview.training`."""

from __future__ import annotations

from typing import Any

from scriptc.onnx.reading.operation import Operation
from scriptc.onnx.reading.registry import operator
from scriptc.onnx.reading.values import Value

DOMAIN = "ai.onnx.preview.training"


def updated(op: Operation, function: str, kinds: int, options: str) -> Any:
    """Write one call for each tensor that the optimizer updates; inputs and outputs are grouped by their kind."""
    count = (op.count - 2) // kinds
    names = [op.fresh(name or "unused") for name in op.node.outputs]
    for k in range(count):
        targets = ", ".join(names[k::count])
        given = ", ".join(op[2 + k + kind * count] for kind in range(kinds))
        op.emit(f"{targets} = ox.{function}({op[0]}, {op[1]}, {given}, {options})")
    return tuple(Value(name) for name in names)


@operator("Momentum", domain=DOMAIN)
def momentum(op: Operation) -> Any:
    numbers = ", ".join(repr(op.need(name)) for name in ("alpha", "beta", "norm_coefficient"))
    return updated(op, "momentum", 3, f"{numbers}, {op.need('mode') == 'nesterov'}")


@operator("Adagrad", domain=DOMAIN)
def adagrad(op: Operation) -> Any:
    options = (("decay_factor", 0.0), ("epsilon", 1e-6), ("norm_coefficient", 0.0))
    return updated(op, "adagrad", 3, ", ".join(repr(op.attr(*option)) for option in options))


@operator("Adam", domain=DOMAIN)
def adam(op: Operation) -> Any:
    options = (("alpha", 0.9), ("beta", 0.999), ("epsilon", 1e-6), ("norm_coefficient", 0.0), ("norm_coefficient_post", 0.0))
    return updated(op, "adam", 4, ", ".join(repr(op.attr(*option)) for option in options))
