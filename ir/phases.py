"""Phases: which ops may stand in a module at which stage of the way from Python to C."""

from __future__ import annotations

from scriptc.ir.core import Module
from scriptc.ir.ops import OPS
from scriptc.ir.types import NONE, TupleType
from scriptc.ir.verifier import VerifyError, verify

_STRUCTURE = frozenset({
    "const", "undef", "call", "if", "loop", "scope", "yield", "continue", "break", "return", "raise", "unreachable",
    "try", "reraise",
})  # fmt: skip
_LOOPS = frozenset(name for name in OPS if name.startswith("c."))
HIGH = frozenset(OPS) - _LOOPS
C_READY = _LOOPS | _STRUCTURE
PHASES = {"high": HIGH, "c_ready": C_READY}


def verify_phase(module: Module, phase: str) -> None:
    """VerifyError where the module breaks a rule, or holds what the phase does not know."""
    verify(module)
    allowed = PHASES[phase]
    for op in module.walk():
        if op.name not in allowed:
            raise VerifyError(f"{op!r} does not belong to phase {phase}")
        if phase == "c_ready" and any(isinstance(r.type, TupleType) or r.type == NONE for r in op.results):
            raise VerifyError(f"{op!r} has a result without representation in C")
