"""Products of matrices and vectors of given ranks, and the plan of einsum, which is made at compile time."""

from __future__ import annotations

from scriptc.frontend.environment.watching import call_in_python
from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch import contractions_decomposed as contractions
from scriptc.frontend.operations.elementwise import multiply_matrices
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue
from scriptc.frontend.values.predicates import tensor_type


@serves("torch.mm", "Tensor.mm")
def mm(r: Reader, input: AbstractValue, mat2: AbstractValue) -> AbstractValue:
    for name, tensor in (("self", input), ("mat2", mat2)):
        if tensor_type(tensor).rank != 2:
            r.emit.raise_error("RuntimeError", f"{name} must be a matrix")
    return multiply_matrices(r, input, mat2)


@serves("torch.mv", "Tensor.mv")
def mv(r: Reader, input: AbstractValue, vec: AbstractValue) -> AbstractValue:
    ranks = tensor_type(input).rank, tensor_type(vec).rank
    if ranks[0] == 0:
        r.emit.raise_error("IndexError", "Dimension specified as 0 but tensor has no dimensions")
    if ranks != (2, 1):
        r.emit.raise_error("RuntimeError", f"vector + matrix @ vector expected, got 1, {ranks[0]}, {ranks[1]}")
    return multiply_matrices(r, input, vec)


@serves("torch.dot", "Tensor.dot")
def dot(r: Reader, input: AbstractValue, tensor: AbstractValue) -> AbstractValue:
    ranks = tensor_type(input).rank, tensor_type(tensor).rank
    if ranks != (1, 1):
        r.emit.raise_error("RuntimeError", f"1D tensors expected, but got {ranks[0]}D and {ranks[1]}D tensors")
    return multiply_matrices(r, input, tensor)


@serves(contractions._plan)
def plan(r: Reader, equation: AbstractValue, ranks: AbstractValue) -> AbstractValue:
    return call_in_python(
        r, contractions.plan_of, require_known(r, equation, "the equation"), require_known(r, ranks, "a number of dims")
    )
