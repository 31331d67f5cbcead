"""Python's random numbers."""

from __future__ import annotations

from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue


@serves("random.random")
def python_random(r: Reader) -> AbstractValue:
    return apply_op(r, "python.random")


@serves("random.getrandbits")
def getrandbits(r: Reader, k: AbstractValue) -> AbstractValue:
    """Return `k` random bits.

    The module's other functions are Python code over this one and random().
    """
    return apply_op(r, "python.bits", k)


@serves(
    "torch.manual_seed",
    "torch.seed",
    "torch.random.manual_seed",
    "torch.set_rng_state",
    "random.seed",
    "random.setstate",
)
def seeds(r: Reader, *args: AbstractValue) -> AbstractValue:
    r.reject("generator_seeded")
