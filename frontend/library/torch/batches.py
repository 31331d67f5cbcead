"""torch.vmap, and the mode in which it takes tensors as indices."""

from __future__ import annotations

from torch._functorch.vmap import vmap_impl as _vmap_impl

from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch import batches_decomposed as decomposed
from scriptc.frontend.operations.batches import lifted, rank
from scriptc.frontend.operations.materialize import make_tuple
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.errors import Poisoned
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    AbstractValue,
    BatchedValue,
    Bound,
    IndexingMode,
    Known,
    PartialValue,
)
from scriptc.frontend.values.predicates import is_batched, is_known, is_none, is_poison, is_tensor

_ZERO, _ERROR, _NONE = Known(0), Known("error"), Known(None)


@serves("torch.vmap", "torch.func.vmap")
def vmap(
    r: Reader, func: AbstractValue, in_dims: AbstractValue = _ZERO, out_dims: AbstractValue = _ZERO,
    randomness: AbstractValue = _ERROR, *, chunk_size: AbstractValue = _NONE,
) -> AbstractValue:  # fmt: skip
    return PartialValue(Known(_vmap_impl), [func, in_dims, out_dims, randomness, chunk_size], {})


@serves("torch._functorch.vmap.vmap_impl")
def call_vmapped(
    r: Reader, func: AbstractValue, in_dims: AbstractValue, out_dims: AbstractValue, randomness: AbstractValue,
    chunk_size: AbstractValue, *args: AbstractValue, **kwargs: AbstractValue,
) -> AbstractValue:  # fmt: skip
    """Read the function once, on tensors with a dim for the batch in front of all others."""
    dims = require_known(r, in_dims, "in_dims")
    dims = dims if isinstance(dims, (tuple, list)) else (dims,) * len(args)
    are_first = all(d is None or (type(d) is int and d == 0) for d in dims)
    if len(dims) != len(args) or not are_first or all(d is None for d in dims):
        r.reject("batched", what="a call with these in_dims")
    if kwargs or not (is_known(out_dims) and out_dims.obj == 0 and type(out_dims.obj) is int and is_none(chunk_size)):
        r.reject("batched", what="a call with other out_dims, chunk_size or keyword arguments")
    if require_known(r, randomness, "randomness") != "error":
        r.reject("batched", what="a call with randomness")
    outer, given, sizes = r.position.batches, [], []
    for av, dim in zip(args, dims, strict=True):
        if dim is None:
            given.append(av)
            continue
        if not (is_tensor(av) or is_batched(av)) or rank(av) == 0:
            r.reject("batched", what="a batch of values that are no tensors with dims")
        tensor = lifted(r, av, outer, rank(av))
        sizes.append(r.call(Bound(tensor, "size"), [Known(outer)], {}))
        given.append(BatchedValue(tensor, outer + 1))
    if len(sizes) > 1:
        r.call(Known(decomposed.same_sizes), [r.call(Known(list), [make_tuple(sizes)], {})], {})
    return _unbatched(r, _called(r, func, given), outer, sizes[0])


def _called(r: Reader, func: AbstractValue, given: list[AbstractValue]) -> AbstractValue:
    block = r.emit.builder.block
    before = len(block.ops)
    r.position.batches += 1
    r.position.has_batches = True
    try:
        result = r.call(func, given, {})
    finally:
        r.position.batches -= 1
    ops = [op for made in block.ops[before:] for op in (made, *(inner for g in made.regions for inner in g.walk()))]
    if any("random" in op.defn.writes for op in ops):
        r.reject("batched", what="a random number")
    if is_poison(result):
        raise Poisoned
    if not (is_batched(result) or is_tensor(result)):
        r.reject("batched", what="a function that returns something else than one tensor")
    return result


def _unbatched(r: Reader, result: AbstractValue, outer: int, size: AbstractValue) -> AbstractValue:
    """Return a result with the dim of the innermost batch as its own first dim."""
    own = rank(result)
    tensor = lifted(r, result, outer + 1, own)
    sizes = [Known(-1)] * outer + [size] + [Known(-1)] * own
    expanded = r.call(Bound(tensor, "expand"), sizes, {})
    return BatchedValue(expanded, outer) if outer else expanded


@serves("torch._dynamo._trace_wrapped_higher_order_op.TransformGetItemToIndex")
def indexes_by_tensors(r: Reader) -> AbstractValue:
    return IndexingMode()
