"""Phases: the ops and types of a module at each stage of the way from Python to C.

The tensor IR is defined by ir/README.md, the loop IR by docs/internals/loop-ir.md. The rows say which ops belong to which.
"""

from __future__ import annotations

from scriptc.ir.core import Module, Value
from scriptc.ir.opdef import LOOP, TENSOR
from scriptc.ir.ops import OPS
from scriptc.ir.types import ITER, NONE, CellType, ElemType, OptionalType, PtrType, TupleType, Type, is_counted
from scriptc.ir.verifier import VerifyError, verify

PHASES = {phase: frozenset(name for name, row in OPS.items() if phase in row.phases) for phase in (TENSOR, LOOP)}


def has_phase(t: Type, phase: str) -> bool:
    """Return whether values of a type belong to a phase. In the loop IR a value is one C variable."""
    if phase == TENSOR:
        return not isinstance(t, (ElemType, PtrType)) and t != ITER
    if isinstance(t, OptionalType):
        return is_counted(t)
    return not isinstance(t, (TupleType, CellType)) and t != NONE


def verify_phase(module: Module, phase: str) -> None:
    """Raise VerifyError where the module breaks a rule, or holds an op or a type that the phase does not know."""
    verify(module)

    def check(values: list[Value]) -> None:
        for value in values:
            if not has_phase(value.type, phase):
                raise VerifyError(f"{value!r} does not belong to the {phase} IR")

    for func in module.funcs.values():
        check(func.body.args)
    for op in module.walk():
        if op.name not in PHASES[phase]:
            raise VerifyError(f"{op!r} does not belong to the {phase} IR")
        check(op.results)
        for region in op.regions:
            check(region.args)
