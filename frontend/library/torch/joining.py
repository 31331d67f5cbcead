"""The functions cat and stack."""

from __future__ import annotations

from collections.abc import Callable

from scriptc.frontend.library.python.sequences import len_
from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch import joining_decomposed as joining
from scriptc.frontend.operations.casts import cast_to, dtype_of_result
from scriptc.frontend.operations.logic import check_that
from scriptc.frontend.operations.materialize import apply_op, new_list
from scriptc.frontend.operations.sizes import size_av
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, ListValue, Native, RuntimeValue
from scriptc.frontend.values.alternatives import split, split_all
from scriptc.frontend.values.element_types import is_union
from scriptc.frontend.values.predicates import is_made_list, is_tensor, tensor_type
from scriptc.frontend.values.verbs import class_name_of, materialize
from scriptc.ir.types import NONE, ListType, OptionalType, TensorType, Type

_ZERO = Known(0)
_EMPTY = {
    "cat": ("ValueError", "torch.cat(): expected a non-empty list of Tensors"),
    "stack": ("RuntimeError", "stack expects a non-empty TensorList"),
}
_RANKS = {
    "cat": "Tensors must have same number of dimensions: got {0} and {1}",
    "stack": "stack expects each tensor to be equal size, but some have {0} dimensions and some {1}",
}


@serves("torch.cat", "torch.concat", "torch.concatenate")
def cat(r: Reader, tensors: AbstractValue, dim: AbstractValue = _ZERO) -> AbstractValue:
    return _joined(r, tensors, "cat", dim)


@serves("torch.stack")
def stack(r: Reader, tensors: AbstractValue, dim: AbstractValue = _ZERO) -> AbstractValue:
    return _joined(r, tensors, "stack", dim)


def _joined(r: Reader, tensors: AbstractValue, name: str, dim: AbstractValue) -> AbstractValue:
    """Return cat or stack of a run-time list, or of known items, which may be of several kinds."""

    at = require_known(r, dim, "dim")

    def build(values: AbstractValue) -> AbstractValue:
        return RuntimeValue(r.emit.build(name, [materialize(r, values)], dim=at))

    def join(items: list[AbstractValue]) -> AbstractValue:
        values = _tensor_list(r, items, name, at)
        if name == "cat" and at not in (-1, 0) and all(tensor_type(i).rank == 1 for i in items):
            return apply_op(r, "clone", cast_to(r, items[0], dtype_of_result(r, *items)))  # all items are empty
        return build(values)

    if is_made_list(tensors) and tensors.items is None:
        kinds = _kinds_of_items(tensors)
        return _of_first_rank(r, tensors, name, kinds, build) if kinds else build(tensors)
    return split_all(r, r.iterate(tensors), join)


def _tensor_list(r: Reader, items: list[AbstractValue], name: str, dim: int) -> AbstractValue:
    """Return the operand of cat and stack: a list of tensors, promoted to one dtype."""
    if not items:
        r.emit.raise_error(*_EMPTY[name])
    for item in items:
        _check_tensor(r, item)
    dtype = dtype_of_result(r, *items)
    if name == "cat":
        _check_dims(r, items)
        items = _without_legacy(r, items, dim)
    ranks = [tensor_type(i).rank for i in items]
    for rank in ranks:
        _check_rank(r, name, ranks[0], rank)
    return new_list(r, [cast_to(r, i, dtype) for i in items], (r.position.loc, name))


def _check_tensor(r: Reader, item: AbstractValue) -> None:
    if not is_tensor(item):
        r.emit.raise_error("TypeError", f"expected Tensor as element of argument 0, but got {class_name_of(r, item)}")


def _check_dims(r: Reader, items: list[AbstractValue]) -> None:
    for i, item in enumerate(items):
        if not tensor_type(item).rank:
            r.emit.raise_error("RuntimeError", f"zero-dimensional tensor (at position {i}) cannot be concatenated")


def _check_rank(r: Reader, name: str, first: int, rank: int) -> None:
    if rank != first:
        r.emit.raise_error("RuntimeError", _RANKS[name].format(first, rank))


def _without_legacy(r: Reader, items: list[AbstractValue], dim: int) -> list[AbstractValue]:
    """Return the items that cat joins: it skips empty vectors, whatever the rank of the others."""
    ranks = [tensor_type(i).rank for i in items]
    others = [n for n in ranks if n != 1]
    first_other = ranks.index(others[0]) if others else len(ranks)
    for i, item in enumerate(items):
        if tensor_type(item).rank == 1:
            empty = r.compare("Eq", size_av(r, item, 0), Known(0))
            if i < first_other and dim not in (-1, 0):  # eager wraps the dim by the first tensor that it does not skip
                text = f"Dimension out of range (expected to be in range of [-1, 0], but got {dim})"
                check_that(r, empty, "IndexError", text)
            elif others:
                ranks_met = (1, others[0]) if i < first_other else (others[0], 1)
                check_that(r, empty, "RuntimeError", _RANKS["cat"].format(*ranks_met))
    if not others:
        return items
    return [i for i in items if tensor_type(i).rank != 1]


def _kinds_of_items(tensors: ListValue) -> list[Type]:
    """Return the types of a list's items if they are tensors of one dtype or None."""
    elem = tensors.value.type.elem if tensors.value is not None and isinstance(tensors.value.type, ListType) else None
    kinds: list[Type] = list(elem.items[1:]) if elem is not None and is_union(elem) else []
    if isinstance(elem, OptionalType):
        kinds = [elem.item, NONE]
    found = [t for t in kinds if isinstance(t, TensorType) and t.dims is not None]
    fits = len({t.dtype for t in found}) == 1 and len(found) + kinds.count(NONE) == len(kinds)
    return kinds if fits else []


def _of_first_rank(
    r: Reader, tensors: ListValue, name: str, kinds: list[Type], build: Callable[[AbstractValue], AbstractValue]
) -> AbstractValue:
    """Join a list once for each rank of its first item, which all other items must have."""
    given: AbstractValue = tensors
    if name == "cat" and any(isinstance(t, TensorType) and t.rank == 1 for t in kinds):
        given = r.call(Known(joining.without_empty_vectors), [given], {})
    check_that(r, r.compare("Gt", len_(r, given), _ZERO), *_EMPTY[name])

    def of_rank(first: AbstractValue) -> AbstractValue:
        _check_tensor(r, first)
        rank = tensor_type(first).rank
        items = new_list(r, [], (r.position.loc, name, rank))
        append = r.attribute(items, "append")

        def take(item: AbstractValue) -> AbstractValue:
            _check_tensor(r, item)
            _check_rank(r, name, rank, tensor_type(item).rank)
            return r.call(append, [item], {})

        r.call(Known(joining.for_each), [given, Native(lambda item: split(r, item, take))], {})
        return build(items)

    return split(r, r.subscript(given, _ZERO), of_rank)
