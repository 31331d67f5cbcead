"""Attributes that the function sets, as inputs and outputs of the model: a call takes their values and gives the new ones.

    self.count += 1                    count, the input, of which the value at export is the default
    return x * self.count       =>     add = Add(count, 1)
                                       count_out, the output: Identity(add)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scriptc.frontend.entry import Entry
from scriptc.frontend.environment.specs import ConstantSpec, LateBoundValue, Spec, WriteBack, values_of
from scriptc.ir.core import Op, Value
from scriptc.ir.types import BOOL, FLOAT, INT, TensorType
from scriptc.onnx.writing.builder import Unsupported
from scriptc.onnx.writing.leaf_names import leaf_names

_TABLES = ("_buffers", "_parameters")
_SET = (
    "an attribute or an object outside that changes has no ONNX form",
    "take the state and return it, or pass stateful=True for attributes that are tensors or numbers",
)
_CLASSES = {INT: int, FLOAT: float, BOOL: bool}


class Outside(NamedTuple):
    """A leaf of a value outside that changes between calls. `target` is the one of its `state.set` ops, if it has some."""

    name: str
    value: Value
    at_export: object
    target: int | None


class SetAttribute(NamedTuple):
    """An attribute that `state.set` ops set. The writer's environment holds its present value as that of `value`."""

    name: str
    value: Value
    forms: tuple[Spec, ...]


def outside_of(entry: Entry, arguments: Iterator[Value]) -> list[Outside]:
    """Return the leaves of the values outside. arguments: the arguments of the function behind those of the call."""
    found = []
    for late in entry.values:
        leaves = list(values_of(late.spec, late.container[late.key]))
        numbers = [i for i, each in enumerate(entry.write_backs) if len(leaves) == 1 and _is_at(each, late)]
        target = numbers[0] if len(numbers) == 1 else None
        name = str(late.key) if target is None else entry.write_backs[target].name
        for leaf, wanted in zip(leaves, leaf_names(late.spec, name), strict=True):
            found.append(Outside(wanted, next(arguments), leaf, target))
    return found


def _is_at(target: WriteBack, late: LateBoundValue) -> bool:
    """Return whether a value outside is the attribute that a target sets."""
    own = getattr(target.owner, "__dict__", {})
    holds = any(late.container is each for each in (own, *(own.get(name) for name in _TABLES)))
    return target.path is None and target.key == late.key and holds


def set_to(attribute: SetAttribute | None, op: Op) -> object:
    """Return what a `state.set` sets an attribute to: its operand, or a constant.

    Raise Unsupported for a value of another type than the attribute had, and for an attribute that is no input.
    """
    form = op.attrs["form"]
    if attribute is None or form < 0:
        raise Unsupported(*_SET)
    spec, t = attribute.forms[form], attribute.value.type
    if isinstance(spec, ConstantSpec) and not op.operands and type(spec.obj) is _CLASSES.get(t):  # type: ignore[call-overload]
        return spec.obj
    if len(op.operands) != 1 or not _alike(op.operands[0], attribute.value):
        raise Unsupported(f"the attribute `{attribute.name}` changes its type, which has no ONNX form", "set it to one type")
    return op.operands[0]


def _alike(new: Value, old: Value) -> bool:
    """Return whether two values are numbers of one type, or tensors of one dtype and rank."""
    if not isinstance(new.type, TensorType) or not isinstance(old.type, TensorType):
        return new.type == old.type
    return new.type.dtype == old.type.dtype and None is not new.type.rank == old.type.rank
