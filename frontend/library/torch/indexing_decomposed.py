"""Indexing by tensors, in terms of reading or writing rows of a matrix by one index each."""

from __future__ import annotations

from typing import NoReturn

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.dtype_names import C_NAMES, NAMES


def row_numbers(
    x: Tensor, dims: tuple[int, ...], indices: tuple[Tensor, ...], inside: bool = False
) -> tuple[Tensor, tuple[int, ...]]:
    """Return the numbers of the rows that `indices` name, and the shape of the indices.

    dims: the indexed dims, which number the rows. inside: the indices are known to be in bounds."""
    _check_fit(indices)
    wide = torch.broadcast_tensors(*indices)
    inner = 1
    for d in tuple(range(x.dim())):  # a tuple is known from the first reading on, a loop counter only from the second
        inner = inner * (1 if d in dims else x.size(d))
    rows = torch.zeros((), dtype=torch.int64)
    for dim, index in zip(dims, wide):  # noqa: B905
        n = x.size(dim)
        place = index.to(torch.int64)
        if inner == 0 and n > 0:  # rows are empty: eager does not check their numbers
            place = torch.zeros_like(place)
        if not inside and bool(torch.any((place < -n) | (place >= n))):
            raise IndexError("index out of bounds for the dimension that it indexes")
        rows = rows * n + torch.where(place < 0, place + n, place)
    return rows.reshape(-1), tuple(wide[0].shape)


def rows_of(
    x: Tensor, dims: tuple[int, ...], indices: tuple[Tensor, ...], inside: bool = False
) -> tuple[Tensor, Tensor, tuple[int, ...]]:
    """Return x as rows, the row numbers that `indices` name, and the shape of the indices."""
    rows, shape = row_numbers(x, dims, indices, inside)
    rest = tuple(d for d in range(x.dim()) if d not in dims)
    count, inner = 1, 1
    for d in dims:
        count = count * x.size(d)
    for d in rest:
        inner = inner * x.size(d)
    return x.permute(*dims, *rest).reshape(count, inner), rows, shape


def _check_fit(indices: tuple[Tensor, ...]) -> None:
    for i, index in enumerate(indices):
        for other in indices[:i]:
            for d in tuple(range(1, 1 + min(index.dim(), other.dim()))):
                n, m = index.size(-d), other.size(-d)
                if n != m and n != 1 and m != 1:
                    raise IndexError("shape mismatch: indexing tensors could not be broadcast together")


def index_order(dims: tuple[int, ...], rank: int, index_rank: int) -> tuple[int, ...]:
    """Return the permutation from (dims of the indices, other dims) to eager's order.

    Eager puts the dims of the indices in place of `dims` if these are adjacent, else in front."""
    neighbors = dims[-1] - dims[0] + 1 == len(dims)
    at = dims[0] if neighbors else 0
    rest = tuple(range(index_rank, index_rank + rank - len(dims)))
    return (*rest[:at], *range(index_rank), *rest[at:])


def index_tensors(x: Tensor, dims: tuple[int, ...], indices: tuple[Tensor, ...]) -> Tensor:
    """Return x[..., index, ...].

    `dims` are the indexed dims in order; adjacent ones are indexed in place.
    """
    rows, shape = row_numbers(x, dims, indices)
    rest = tuple(d for d in range(x.dim()) if d not in dims)
    at = dims[0] if dims[-1] - dims[0] + 1 == len(dims) else 0
    before, after = tuple(x.size(d) for d in rest[:at]), tuple(x.size(d) for d in rest[at:])
    count = 1
    for d in dims:
        count = count * x.size(d)
    line = x if len(dims) == 1 else x.permute(*rest[:at], *dims, *rest[at:]).reshape(*before, count, *after)
    return torch.index_select(line, at, rows).reshape(*before, *shape, *after)


def index_sizes(x: Tensor, dims: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes of x[..., index, ...], where `shape` is that of the index."""
    full = (*shape, *(x.size(d) for d in range(x.dim()) if d not in dims))
    return tuple(full[d] for d in index_order(dims, x.dim(), len(shape)))


def refuse_values(values: Tensor, sizes: tuple[int, ...]) -> NoReturn:
    raise RuntimeError(
        f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of shape "
        f"{list(sizes)}"
    )


def refuse_more_dims(
    x: Tensor, dims: tuple[int, ...], indices: tuple[Tensor, ...], values: Tensor, index_rank: int
) -> NoReturn:
    """Raise the error of index_put for values of more dims than x[..., index, ...], even if their sizes are 1."""
    shape = tuple(torch.broadcast_tensors(*indices)[0].shape) if index_rank > 0 else ()
    refuse_values(values, index_sizes(x, dims, shape))


def put_tensors(
    x: Tensor, dims: tuple[int, ...], indices: tuple[Tensor, ...], values: Tensor, accumulate: bool, inside: bool = False
) -> Tensor:
    """Return a copy of x with x[..., index, ...] set to values, or increased by them."""
    matrix, rows, shape = rows_of(x, dims, indices, inside)
    for _ in tuple(range(values.dim() - len(shape) - x.dim() + len(dims))):
        if values.size(0) != 1:
            refuse_values(values, index_sizes(x, dims, shape))
        values = values.select(0, 0)
    rest_dims = tuple(d for d in range(x.dim()) if d not in dims)
    order = index_order(dims, x.dim(), len(shape))
    sizes_there = index_sizes(x, dims, shape)
    for d in tuple(range(values.dim())):
        if values.size(d) != 1 and values.size(d) != sizes_there[d - values.dim()]:
            refuse_values(values, sizes_there)
    there = values.expand(sizes_there)
    source = there.permute(*inverse(order)).reshape(rows.size(0), matrix.size(1)).to(x.dtype)
    places = rows.unsqueeze(1).expand(rows.size(0), matrix.size(1))
    if accumulate:
        placed = torch.scatter_add(matrix, 0, places, source)
    else:
        placed = torch.scatter(matrix, 0, places, source)
    sizes = tuple(x.size(d) for d in (*dims, *rest_dims))
    return placed.reshape(sizes).permute(*inverse((*dims, *rest_dims)))


def masked_line(x: Tensor, dim: int, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return x with the dims of a mask merged into `dim`, and the indices of set elements."""
    sizes = [x.size(d) for d in range(x.dim())]
    line = x if mask.dim() == 1 else x.reshape(*sizes[:dim], mask.numel(), *sizes[dim + mask.dim() :])
    return line, mask.reshape(-1).nonzero().select(1, 0)


def index_mask(x: Tensor, dim: int, mask: Tensor) -> Tensor:
    """Return x[..., mask, ...] without other indices."""
    line, places = masked_line(x, dim, mask)
    return torch.index_select(line, dim, places)


def put_mask(x: Tensor, dim: int, mask: Tensor, values: Tensor, accumulate: bool) -> Tensor:
    """Return a copy of x with x[..., mask, ...] set to values, or increased by them."""
    if values.dim() == 0 and not accumulate:
        rest = x.dim() - dim - mask.dim()
        return torch.where(mask.reshape(*mask.shape, *(1,) * rest), values.to(x.dtype), x)
    line, places = masked_line(x, dim, mask)
    return put_tensors(line, (dim,), (places,), values, accumulate, True).reshape(x.shape)


def inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(order.index(i) for i in range(len(order)))


def in_strides_of(input: Tensor, made: Tensor) -> Tensor:
    """Return a copy of `made` with the strides of a clone of the input, into which eager writes."""
    return made if input.is_contiguous() else torch.empty_like(input).copy_(made)


@decomposes("torch.take_along_dim", "Tensor.take_along_dim")
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    if dim is None:
        return torch.gather(input.reshape(-1), 0, indices.reshape(-1))
    if input.dim() != indices.dim():
        dims = f"{input.dim()} dimensions for input, and {indices.dim()} dimensions for indices"
        raise RuntimeError(
            f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got {dims}"
        )
    if indices.dtype != torch.int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {NAMES[indices.dtype]}")
    d = dim % input.dim()
    sizes = torch.broadcast_shapes(
        tuple(1 if i == d else n for i, n in enumerate(input.shape)),
        tuple(1 if i == d else n for i, n in enumerate(indices.shape)),
    )
    x = input.expand(tuple(input.size(d) if i == d else n for i, n in enumerate(sizes)))
    index = indices.expand(tuple(indices.size(d) if i == d else n for i, n in enumerate(sizes)))
    return torch.gather(x, d, torch.where(index < 0, index + input.size(d), index))


@decomposes("torch.take", "Tensor.take")
def take(input: Tensor, index: Tensor) -> Tensor:
    if index.dtype != torch.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {NAMES[index.dtype]}")
    if input.numel() == 0 and index.numel() > 0:
        raise IndexError("take(): tried to take from an empty tensor")
    return index_tensors(input.reshape(-1), (0,), (index,))


@decomposes("Tensor.put", "torch.put")
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    if index.dtype != torch.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {NAMES[index.dtype]}")
    if input.dtype != source.dtype:
        dtypes = f"self.dtype = {NAMES[input.dtype]} and source.dtype = {NAMES[source.dtype]}"
        raise RuntimeError(f"put_(): self and source expected to have the same dtype, but got {dtypes}")
    if source.numel() != index.numel():
        counts = f"source.numel() = {source.numel()}, index.numel() = {index.numel()}"
        raise IndexError(f"put_(): Expected source and index to have the same number of elements, but got {counts}")
    if input.numel() == 0 and index.numel() > 0:
        raise IndexError("put_(): Tried to put elements into an empty tensor")
    flat = put_tensors(input.reshape(-1), (0,), (index.reshape(-1),), source.reshape(-1), accumulate)
    return in_strides_of(input, flat.reshape(input.shape))


def masked_fill(input: Tensor, mask: Tensor, value: Tensor | float) -> Tensor:
    if isinstance(value, Tensor) and value.dim() > 0:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.dim()} dimension(s)."
        )
    if mask.dtype != torch.bool:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {C_NAMES[mask.dtype]}")
    return torch.where(mask, value, input).to(input.dtype)


@decomposes("torch.masked_select", "Tensor.masked_select")
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    if mask.dtype != torch.bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    x, m = torch.broadcast_tensors(input, mask)
    return torch.index_select(x.reshape(-1), 0, torch.nonzero(m.reshape(-1)).reshape(-1))


def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    if input.dtype != source.dtype:
        dtypes = f"{NAMES[input.dtype]} and {NAMES[source.dtype]}"
        raise RuntimeError(f"masked_scatter: expected self and source to have same dtypes but got{dtypes}")
    if mask.dtype != torch.bool:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {NAMES[mask.dtype]}")
    x, m = torch.broadcast_tensors(input, mask)
    places = torch.nonzero(m.reshape(-1)).reshape(-1)
    if places.size(0) > source.numel():
        raise RuntimeError("Number of elements of source < number of ones in mask")
    return torch.scatter(x.reshape(-1), 0, places, source.reshape(-1)[: places.size(0)]).reshape(x.shape)


@decomposes("torch.argwhere", "Tensor.argwhere")
def argwhere(input: Tensor) -> Tensor:
    return torch.nonzero(input)


def check_rows(dtype: torch.dtype, function: str) -> None:
    """Check the dtype of indices that choose rows of a weight."""
    if dtype != torch.int64 and dtype != torch.int32:
        found = f"torch.{NAMES[dtype]}Tensor instead (while checking arguments for {function})"
        raise RuntimeError(
            f"Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got {found}"
        )


@decomposes("torch.embedding")
def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    if weight.dim() != 2:
        raise RuntimeError("'weight' must be 2-D")
    check_rows(indices.dtype, "embedding")
    places = indices if indices.dim() == 1 else indices.reshape(-1)
    rows = torch.index_select(weight, 0, places)
    if padding_idx >= 0:  # no gradient reaches that row
        rows = torch.where((places == padding_idx).unsqueeze(1), rows.detach(), rows)
    if scale_grad_by_freq:  # the gradient of a row is divided by the number of its uses; a difference of 0 has that gradient
        uses = torch.bincount(places, minlength=weight.size(0))[places].unsqueeze(1)
        values = rows.detach()
        rows = torch.where(torch.isfinite(values), values + (rows - values) / uses, values)
    return rows if indices.dim() == 1 else rows.reshape(*indices.shape, weight.size(1))


@decomposes("torch.isin")
def isin(
    elements: Tensor | float, test_elements: Tensor | float, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    if isinstance(elements, bool) or isinstance(test_elements, bool):
        raise RuntimeError("Unsupported input type encountered for isin(): Bool")
    if isinstance(test_elements, Tensor) and isinstance(elements, Tensor):
        found = torch.any(elements.unsqueeze(-1) == test_elements.reshape(-1), -1)
    elif isinstance(test_elements, Tensor):
        found = torch.any(test_elements == elements)
    else:
        found = elements == test_elements
    return torch.logical_not(found) if invert else found


@decomposes("torch._convert_indices_from_coo_to_csr")
def _convert_indices_from_coo_to_csr(input: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Return at i how many rows in front of the first one at or above i, as ATen finds them for rows in any order."""
    if input.dim() > 1:
        raise RuntimeError(f"Input is supposed to be a vector, but got {input.dim()} dimensional tensor.")
    line = input.reshape(-1)
    rows = torch.cummax(line, 0).values.to(torch.int64)
    counts = torch.zeros(size + 1, dtype=torch.int64).scatter_add(0, rows + 1, torch.ones_like(rows))
    found = torch.cumsum(counts, 0)
    if line.numel() > 0:
        found[int(line[-1]) + 1 :] = line.numel()
    return found.to(torch.int32 if out_int32 else torch.int64)


@decomposes("torch.embedding_renorm_")
def embedding_renorm_(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Scale the rows that are looked up down to a largest norm."""
    length = torch.linalg.vector_norm(weight, norm_type, 1, keepdim=True)
    used = torch.any(torch.arange(weight.size(0)).unsqueeze(1) == indices.reshape(-1), 1).unsqueeze(1)
    return weight.copy_(torch.where(used & (length > max_norm), weight * (max_norm / (length + 1e-7)), weight))


def _ones(name: str, row: int, col: int, dtype: torch.dtype) -> Tensor:
    if row < 0 or col < 0:
        raise RuntimeError(f"row and col must be non-negative, got {row} and {col}")
    if dtype not in (torch.int32, torch.int64):
        raise NotImplementedError(f"\"{name}\" not implemented for this dtype")
    return torch.ones(row, col, dtype=torch.bool)


@decomposes("torch.tril_indices")
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: torch.dtype = torch.int64) -> Tensor:
    return torch.stack(_ones("tril_indices", row, col, dtype).tril(offset).nonzero(as_tuple=True)).to(dtype)


@decomposes("torch.triu_indices")
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: torch.dtype = torch.int64) -> Tensor:
    return torch.stack(_ones("triu_indices", row, col, dtype).triu(offset).nonzero(as_tuple=True)).to(dtype)


@decomposes("torch.nonzero_static", "Tensor.nonzero_static")
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    found = torch.nonzero(input)
    result = torch.full((size, input.dim()), fill_value, dtype=torch.int64)
    count = min(found.size(0), size)
    result[:count] = found[:count]
    return result
