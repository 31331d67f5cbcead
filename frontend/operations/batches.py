"""Tensors inside of torch.vmap: elementwise operations and indexing by tensors, which broadcast over the batches."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from types import FunctionType, MethodType
from typing import Any

import torch
from torch._functorch.vmap import vmap_impl

from scriptc.frontend.environment.lookup import in_own_code
from scriptc.frontend.library.registry import DECOMPOSITIONS, handler_of
from scriptc.frontend.library.torch import batches_decomposed as decomposed
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, BatchedValue, Bound, Known, TupleValue
from scriptc.frontend.values.predicates import (
    is_batched,
    is_known,
    is_list,
    is_made_tuple,
    is_tensor,
    run_time_type,
    tensor_type,
)
from scriptc.frontend.values.verbs import describe, held_values
from scriptc.ir.types import BOOL, FLOAT, INT

# Elementwise functions of torch, which are methods of tensors as well. All take tensors of equal dtypes here.
_ELEMENTWISE = frozenset(
    "abs add bitwise_and bitwise_not bitwise_or bitwise_xor div eq floor_divide ge gt le logical_and logical_not "
    "logical_or logical_xor lt maximum minimum mul ne neg remainder sub where".split()
)
_OPERATORS = frozenset(
    "Add Sub Mult Div FloorDiv Mod BitAnd BitOr BitXor Eq NotEq Lt LtE Gt GtE Invert USub UAdd".split()
)
_CASTS = frozenset("to bool double float half int long".split())
_NEW = frozenset("new_full new_ones new_zeros".split())
_FUNCTIONS = {getattr(torch, name): name for name in _ELEMENTWISE}
_KEPT = frozenset("dtype device".split())
_INDICES = ("i64", "i32")
_READ = (isinstance, vmap_impl)  # calls that take batched values as they are


def holds_batched(reader: Reader, *avs: AbstractValue) -> bool:
    """Return whether values, or values that they hold, are batched."""
    todo, seen = [*avs] if reader.position.has_batches else [], set()
    while todo:
        av = todo.pop()
        if is_batched(av):
            return True
        if id(av) not in seen:
            seen.add(id(av))
            todo += (is_list(av) and av.items) or held_values(av) or ()
    return False


def rank(av: AbstractValue) -> int:
    """Return the number of dims that the function under vmap sees."""
    return tensor_type(av.tensor).rank - av.batches if is_batched(av) else tensor_type(av).rank


def lifted(reader: Reader, av: AbstractValue, batches: int, dims: int) -> AbstractValue:
    """Return a tensor with a dim for each of `batches` and `dims` dims behind, or a number."""
    if not is_batched(av) and not is_tensor(av):
        return av
    tensor, own = (av.tensor, av.batches) if is_batched(av) else (av, 0)
    for _ in range(batches - own + dims - rank(av)):
        tensor = reader.call(Bound(tensor, "unsqueeze"), [Known(own)], {})
    return tensor


def batched_operator(reader: Reader, op: str, operands: Sequence[AbstractValue]) -> AbstractValue:
    """Return the result of an operator by the name of its class in `ast`."""
    if op not in _OPERATORS:
        reader.reject("batched", what=f"the operator {op}")
    avs, batches = _aligned(reader, op, operands)
    if len(avs) == 1:
        method = {"Invert": "bitwise_not", "USub": "neg", "UAdd": "abs"}[op]
        return operands[0] if op == "UAdd" else BatchedValue(reader.call(Bound(avs[0], method), [], {}), batches)
    is_comparison = op in ("Eq", "NotEq", "Lt", "LtE", "Gt", "GtE")
    return BatchedValue(reader.compare(op, *avs) if is_comparison else reader.binary(op, *avs), batches)


def _aligned(reader: Reader, what: str, avs: Sequence[AbstractValue]) -> tuple[list[AbstractValue], int]:
    """Return operands that broadcast to each other as those of the function under vmap do, and the number of batches."""
    _check_operands(reader, what, avs)
    batches = max(av.batches for av in avs if is_batched(av))
    dims = max(rank(av) for av in avs if is_batched(av) or is_tensor(av))
    return [lifted(reader, av, batches, dims) for av in avs], batches


def _check_operands(reader: Reader, what: str, avs: Sequence[AbstractValue]) -> None:
    """Check that operands are numbers, and tensors of one dtype: for several, the result's depends on the dims that the
    function sees."""
    tensors = [av.tensor if is_batched(av) else av for av in avs if is_batched(av) or is_tensor(av)]
    if len({tensor_type(t).dtype for t in tensors}) > 1:
        reader.reject("batched", what=f"{what} of tensors of several dtypes")
    others = [av for av in avs if not is_batched(av) and not is_tensor(av)]
    for av in others:
        if not (is_known(av) and type(av.obj) in (bool, int, float)) and run_time_type(av) not in (INT, FLOAT, BOOL):
            reader.reject("batched", what=f"{what} of a tensor and {describe(av)}")
    for av in avs if others else ():
        if is_batched(av):
            reader.call(Known(decomposed.not_empty), [av.tensor], {})


def batched_attribute(reader: Reader, owner: BatchedValue, name: str) -> AbstractValue:
    if name in _KEPT:
        return reader.attribute(owner.tensor, name)
    if name not in _ELEMENTWISE | _CASTS | _NEW:
        reader.reject("batched", what=f"the attribute {name} of a tensor")
    return Bound(owner, name)


def batched_method(
    reader: Reader, func: Bound, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    owner, name = func.owner, func.name
    if is_batched(owner) and name in _NEW and not holds_batched(reader, *args, *kwargs.values()):
        made = reader.call(Bound(owner.tensor, name), args, kwargs)
        return BatchedValue(lifted(reader, made, owner.batches, rank(made)), owner.batches)  # item() raises, as for `owner`
    if is_batched(owner) and name in _CASTS and not holds_batched(reader, *args, *kwargs.values()):
        made = reader.call(Bound(owner.tensor, name), args, kwargs)
        return owner if made is owner.tensor else BatchedValue(made, owner.batches)
    if name not in _ELEMENTWISE or not (is_batched(owner) or is_tensor(owner)):
        reader.reject("batched", what=f"the method {name}")
    return _elementwise(reader, name, [owner, *args], kwargs)


def _elementwise(
    reader: Reader, name: str, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    if kwargs:
        reader.reject("batched", what=f"{name} with keyword arguments")
    if name != "where":
        avs, batches = _aligned(reader, name, args)
        return BatchedValue(reader.call(Known(getattr(torch, name)), avs, {}), batches)
    if len(args) != 3 or not (is_batched(args[0]) or is_tensor(args[0])):
        reader.reject("batched", what="where in this form")
    tensors = [av for av in args if is_batched(av) or is_tensor(av)]
    _check_operands(reader, name, args[1:])
    batches, dims = max(av.batches for av in args if is_batched(av)), max(map(rank, tensors))
    return BatchedValue(reader.call(Known(torch.where), [lifted(reader, av, batches, dims) for av in args], {}), batches)


def batched_call(
    reader: Reader, obj: Any, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue | None:
    """Return the result of a call with batched arguments; None if the function is read or made for such values."""
    if any(obj is f for f in _READ):
        return None
    if isinstance(obj, Hashable) and (name := _FUNCTIONS.get(obj)) is not None:
        return _elementwise(reader, name, args, kwargs)
    is_python = isinstance(obj, (FunctionType, MethodType)) and handler_of(obj) is None and obj not in DECOMPOSITIONS
    if not is_python and not isinstance(obj, torch.nn.Module):
        reader.reject("batched", what=f"a call of {getattr(obj, '__name__', describe(Known(obj)))}")
    return None


def batched_item(reader: Reader, owner: AbstractValue, index: AbstractValue) -> AbstractValue | None:
    """Return `owner[index]` with batched indices, which vmap takes within `TransformGetItemToIndex`; else None."""
    indices = index.items if is_made_tuple(index) else [index]
    if not holds_batched(reader, owner, index):
        if reader.position.indexes_by_tensors and is_tensor(owner) and not in_own_code(reader):
            reader.reject("batched", what="an index without a tensor of the batch, in this mode,")  # a copy, not a view
        return None
    if is_made_tuple(owner) and not holds_batched(reader, index):
        return None
    is_plain = is_tensor(owner) and all(is_batched(i) and rank(i) == 0 for i in indices)
    if not reader.position.indexes_by_tensors or not is_plain:
        reader.reject("batched", what="this index")
    avs, batches = _aligned(reader, "an index", indices)
    if any(tensor_type(av).dtype not in _INDICES for av in avs):
        reader.reject("batched", what="an index of this dtype")
    modes, reader.position.indexes_by_tensors = reader.position.indexes_by_tensors, 0
    try:
        return BatchedValue(reader.subscript(owner, TupleValue(avs)), batches)
    finally:
        reader.position.indexes_by_tensors = modes
