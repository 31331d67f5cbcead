"""`resize_` of tensors, which changes the object itself."""

from __future__ import annotations

from collections.abc import Sequence

from scriptc.frontend.environment.leaves import is_leaf, may_become, replace_by
from scriptc.frontend.operations.logic import check_that
from scriptc.frontend.operations.scalars import new_filled
from scriptc.frontend.operations.sizes import size_av
from scriptc.frontend.operations.writes import is_untouched, view_of
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Bound, Known, RuntimeValue
from scriptc.frontend.values.predicates import is_known, ssa_value, tensor_type
from scriptc.frontend.values.verbs import materialize
from scriptc.ir.core import Value

_GRAD = "cannot resize variables that require grad"


def resize_as_called(reader: Reader, tensor: AbstractValue, sizes: Sequence[AbstractValue]) -> AbstractValue:
    """Execute `tensor.resize_(*sizes)`, which refuses a tensor that requires grad in any case."""
    with reader.emit.grad_mode(True):
        reader.emit.check_detached(materialize(reader, tensor), _GRAD)
    why = "resize_() would change the sizes of a tensor that may have other names"
    return resize(reader, tensor, sizes, "Tensor.resize_", why)


def resize(
    reader: Reader, tensor: AbstractValue, sizes: Sequence[AbstractValue], function: str, why: str
) -> AbstractValue:
    """Give a tensor other sizes, as `resize_` does. Return the tensor.

    All names of a tensor that was just made see its new sizes. The sizes of another tensor must be these already.

    function, why: the error if they are not.
    """
    t, value = tensor_type(tensor), ssa_value(tensor)
    if t.dims is None:
        reader.reject("form_of_call", name=function, why=why)
    own = [size_av(reader, tensor, dim) for dim in range(t.rank)]
    pairs = list(zip(own, sizes, strict=False))
    if len(own) == len(sizes) and all(is_known(a) and is_known(b) and a.obj == b.obj for a, b in pairs):
        return tensor
    if value is not None and not is_leaf(value) and is_untouched(reader, value) and may_become(reader, value):
        _replace(reader, value, sizes, is_empty=0 in t.dims)
        return tensor
    if len(own) != len(sizes):
        reader.reject("form_of_call", name=function, why=why)
    for a, b in pairs:
        check_that(reader, reader.compare("Eq", a, b), "RuntimeError", f"scriptc: {why}")
    return tensor


def _replace(reader: Reader, value: Value, sizes: Sequence[AbstractValue], *, is_empty: bool) -> None:
    dtype = tensor_type(RuntimeValue(value)).dtype

    def resized(before: RuntimeValue) -> RuntimeValue:
        made = RuntimeValue(materialize(reader, new_filled(reader, list(sizes), Known(0), dtype)))
        if is_empty:
            return made
        with reader.emit.grad_mode(False):
            contiguous = reader.call(Bound(before, "is_contiguous"), [], {})
            check_that(reader, contiguous, "RuntimeError", "scriptc: resize_() of a tensor that is not contiguous")
            reader.call(Known(_keep_first), [before, made], {})
        return view_of(reader, made)  # a value without uses, which the tensor becomes

    replace_by(reader, value, resized)


def _keep_first(before, made):  # type: ignore[no-untyped-def]
    """Copy the first elements of a tensor to the one that replaces it."""
    count = min(before.numel(), made.numel())
    made.view(-1)[:count] = before.view(-1)[:count]
