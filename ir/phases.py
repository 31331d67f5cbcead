"""The phases of a program, and the spec of each: the ops of a module, the types of its values, and further rules.

The front end builds a module, passes optimize it, and the back end lowers it to the loop IR (docs/internals/loop-ir.md)
and prints C. The rows list the phases of each op.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from scriptc.ir import opdef
from scriptc.ir.core import Op, Value
from scriptc.ir.handlers import handlers
from scriptc.ir.ops import OPS
from scriptc.ir.types import (
    ACTIVATION,
    BOOL,
    ITER,
    NONE,
    PACKED,
    ROWS,
    CellType,
    ElemType,
    OptionalType,
    PtrType,
    TupleType,
    Type,
    is_counted,
)

Check = Callable[[Op], Iterator[str]]


@dataclass(frozen=True)
class Phase:
    """A spec that modules of one phase fulfil.

    title: the name of the phase in messages.
    ops: the names of its ops.
    has_type: whether values may have a type.
    checks: further rules for ops, by name; a check yields the faults of an op.
    """

    title: str
    ops: frozenset[str]
    has_type: Callable[[Type], bool]
    checks: Mapping[str, Check] = field(default_factory=dict)

    def value_faults(self, value: Value) -> Iterator[str]:
        """Yield the reasons why a value does not belong to the phase."""
        if not self.has_type(value.type):
            yield f"{value!r} does not belong to {self.title}"

    def faults(self, op: Op) -> Iterator[str]:
        """Yield the reasons why an op, its results or the arguments of its regions do not belong to the phase."""
        if op.name not in self.ops:
            yield f"{op.name} does not belong to {self.title}"
            return
        for value in op.results:
            yield from self.value_faults(value)
        for region in op.regions:
            for arg in region.args:
                yield from self.value_faults(arg)
        if check := self.checks.get(op.name):
            yield from check(op)


def _in_tensor_ir(t: Type) -> bool:
    return not isinstance(t, (ElemType, PtrType)) and t != ITER


def _in_loop_ir(t: Type) -> bool:
    """Return whether values of a type are a single C variable."""
    if isinstance(t, OptionalType):
        return is_counted(t)
    return not isinstance(t, (TupleType, CellType)) and t != NONE


def _as_read(t: Type) -> bool:
    return _in_tensor_ir(t) and t not in (PACKED, ACTIVATION, ROWS)


def _ops(phase: str) -> frozenset[str]:
    return frozenset(name for name, row in OPS.items() if phase in row.phases)


OF_PASSES, checks = handlers()


@checks("linear_packed", "linear_activated", "linear_add", "conv2d_packed", "integers.matmul", "integers.conv2d")
def _packed_weight(op: Op) -> Iterator[str]:
    if op.operands[1].type != PACKED:
        yield f"{op.name} multiplies by a packed weight, not by {op.operands[1].type}"
    if op.name == "conv2d_packed" and op.operands[4].type not in (ACTIVATION, NONE):
        yield f"conv2d_packed applies an activation, not {op.operands[4].type}"
    if op.name == "linear_activated" and op.operands[3].type != ACTIVATION:
        yield f"linear_activated applies an activation, not {op.operands[3].type}"


@checks("with_prologue")
def _prologue(op: Op) -> Iterator[str]:
    if op.operands[0].type != BOOL or op.operands[3].type != PACKED:
        yield f"with_prologue takes a flag and a packed weight, not {op.operands[0].type} and {op.operands[3].type}"
    if any(user.name != "conv2d_packed" or user.attrs["padding"] != (0, 0) for user in op.result.users()):
        yield "with_prologue is for convolutions without padding"


@checks("linear_rows")
def _rows(op: Op) -> Iterator[str]:
    for at, wanted in ((0, ROWS), (4, PACKED)):
        if op.operands[at].type != wanted:
            yield f"operand {at} of {op.name} is {wanted}, not {op.operands[at].type}"


@checks("stacked.put", "stacked.join")
def _stacked(op: Op) -> Iterator[str]:
    if op.operands[0].type != ROWS:
        yield f"{op.name} takes what stacked.new makes, not {op.operands[0].type}"


@checks("outer_sum.add", "outer_sum.part")
def _outer_sum(op: Op) -> Iterator[str]:
    if op.operands[0].type != ROWS:
        yield f"{op.name} takes what outer_sum.new makes, not {op.operands[0].type}"


@checks("kept.get", "kept.put")
def _kept(op: Op) -> Iterator[str]:
    """Check that a kept value is read only if its slot holds one, and written only if it holds none."""
    choice = op.enclosing(lambda around: around.name == "if")
    asked = choice.operands[0].op if choice is not None else None
    if choice is None or asked is None or asked.name != "kept.has" or asked.attrs["slot"] != op.attrs["slot"]:
        yield f"{op.name} stands in a branch on kept.has of its slot"
        return
    assert op.parent is not None
    if not choice.regions[op.name == "kept.put"].encloses(op.parent):
        yield f"{op.name} stands in the wrong branch on kept.has"


READ = Phase("the IR as it is read", _ops(opdef.READ), _as_read)
OPTIMIZED = Phase("the tensor IR", _ops(opdef.OPTIMIZED), _in_tensor_ir, OF_PASSES)
LOOP = Phase("the loop IR", _ops(opdef.LOOP), _in_loop_ir)  # backend_c/loop_verifier.py adds the checks
