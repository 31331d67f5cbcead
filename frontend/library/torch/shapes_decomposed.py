"""Changes of shape in terms of others."""

from __future__ import annotations

from typing import Any, NoReturn

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes


@decomposes("torch.unflatten", "Tensor.unflatten")
def unflatten(input: Tensor, dim: int, sizes: tuple[int, ...]) -> Tensor:
    if input.dim() == 0:
        raise RuntimeError("unflatten got an unexpected error: Dimension specified as 0 but tensor has no dimensions")
    if len(sizes) == 0:
        raise RuntimeError("unflatten: sizes must be non-empty")
    at, product, inferred = dim_of(dim, input.dim()), 1, False
    for n in sizes:
        if n == -1:
            inferred = True
        else:
            product = product * n
    size = input.size(at)
    if size != product if not inferred else product == 0 or size % product != 0:
        sizes_text = f"{list(sizes)} don't multiply up to the size of dim {at} ({size}) in the input tensor"
        raise RuntimeError(f"unflatten: Provided sizes {sizes_text}")
    return input.view(*input.shape[:at], *sizes, *input.shape[at + 1 :])


def dim_of(dim: int, rank: int) -> int:
    """Return a dim counted from the front. A tensor without dims takes the dims of a vector."""
    n = max(rank, 1)
    if dim < -n or dim >= n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim % n


def _copy(name: str, view: str) -> None:
    function = getattr(torch, view, None) or getattr(Tensor, view)

    @decomposes(f"torch.{name}")
    def copied(input: Tensor, *args: object, **kwargs: object) -> Tensor:
        return function(input, *args, **kwargs).clone()


for _view in ("expand", "permute", "transpose", "squeeze", "unsqueeze", "diagonal", "as_strided", "view", "unfold",
              "t", "detach"):  # fmt: skip
    _copy(f"{_view}_copy", _view)


@decomposes("torch.narrow_copy", "Tensor.narrow_copy")
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    if dim >= input.dim() > 0:
        raise RuntimeError(
            "Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.  (Could this error message be "
            "improved?  If so, please report an enhancement request to PyTorch.)"
        )
    return input.narrow(dim, start, length).clone()


@decomposes("torch.alias_copy")
def alias_copy(input: Tensor) -> Tensor:
    return input.clone()


@decomposes("torch.unbind_copy")
def unbind_copy(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    return tuple(t.clone() for t in torch.unbind(input, dim))


@decomposes("torch.movedim", "Tensor.movedim", "torch.moveaxis", "Tensor.moveaxis")
def movedim(input: Tensor, source: int | tuple[int, ...], destination: int | tuple[int, ...]) -> Tensor:
    rank = input.dim()
    given = (source,) if isinstance(source, int) else tuple(source)
    wanted = (destination,) if isinstance(destination, int) else tuple(destination)
    if len(given) != len(wanted):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(given)} dims) should contain the same number of dims "
            f"as destination ({list(wanted)} dims)"
        )
    froms, tos = tuple(dim_of(d, rank) for d in given), tuple(dim_of(d, rank) for d in wanted)
    if len(set(froms)) < len(froms):
        raise RuntimeError(f"movedim: repeated dim in `source` ({list(given)})")
    if len(set(tos)) < len(tos):
        raise RuntimeError(f"movedim: repeated dim in `destination` ({list(wanted)})")
    if rank == 0:
        return input.view(())
    rest = tuple(d for d in range(rank) if d not in froms)
    places = tuple(d for d in range(rank) if d not in tos)
    return input.permute(tuple(froms[tos.index(d)] if d in tos else rest[places.index(d)] for d in range(rank)))


@decomposes("torch.fliplr", "Tensor.fliplr")
def fliplr(input: Tensor) -> Tensor:
    if input.dim() < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return torch.flip(input, (1,))


@decomposes("torch.flipud", "Tensor.flipud")
def flipud(input: Tensor) -> Tensor:
    if input.dim() < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return torch.flip(input, (0,))


@decomposes("torch.roll", "Tensor.roll")
def roll(input: Tensor, shifts: int | tuple[int, ...], dims: int | tuple[int, ...] | None = None) -> Tensor:
    by = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    over = () if dims is None else (dims,) if isinstance(dims, int) else tuple(dims)
    if len(by) == 0:
        raise RuntimeError("`shifts` required")
    if len(over) == 0 and len(by) == 1:
        return torch.roll(input.reshape(-1), by[0], 0).reshape(input.shape)
    if len(by) != len(over):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(by)}, dims:{len(over)}")
    pairs = tuple(zip(by, over))  # noqa: B905
    if input.dim() == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if len(pairs) == 0 or input.numel() == 0:
        return input.clone()
    result = input
    for shift, dim in pairs:
        n = input.size(dim)
        at = (n - shift) % n if n > 0 else 0
        result = torch.cat([result.narrow(dim, at, n - at), result.narrow(dim, 0, at)], dim)
    return result


@decomposes("torch.rot90", "Tensor.rot90")
def rot90(input: Tensor, k: int = 1, dims: tuple[int, int] = (0, 1)) -> Tensor:
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    a, b = dims
    rank = input.dim()
    if rank < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {rank}")
    if a == b or abs(a - b) == rank:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {a} and dim1 = {b}")
    for i, d in enumerate((a, b)):
        if d < -rank or d >= rank:
            raise RuntimeError(f"Rotation dim{i} out of range, dim{i} = {d}")
    if k % 4 == 1:
        return torch.flip(input, (b,)).transpose(a, b)
    if k % 4 == 2:
        return torch.flip(input, (a, b))
    if k % 4 == 3:
        return torch.flip(input, (a,)).transpose(a, b)
    return input.clone()


@decomposes("torch.ravel", "Tensor.ravel")
def ravel(input: Tensor) -> Tensor:
    return input.reshape(-1)


def at_least(input: Tensor, rank: int) -> Tensor:
    if input.dim() == 0:
        return input.reshape((1,) * rank)
    if rank == 2 and input.dim() == 1:
        return input.unsqueeze(0)
    if rank == 3 and input.dim() == 1:
        return input.unsqueeze(0).unsqueeze(-1)
    if rank == 3 and input.dim() == 2:
        return input.unsqueeze(-1)
    return input


def _atleast(rank: int) -> None:
    @decomposes(f"torch.atleast_{rank}d", f"torch.functional.atleast_{rank}d")
    def atleast(*tensors: Tensor) -> Tensor | tuple[Tensor, ...]:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return at_least(tensors[0], rank)
        return tuple(at_least(t, rank) for t in (tensors[0] if len(tensors) == 1 else tensors))


for _rank in (1, 2, 3):
    _atleast(_rank)


@decomposes("torch.tile", "Tensor.tile")
def tile(input: Tensor, *args: int, dims: tuple[int, ...] | None = None) -> Tensor:
    given = args if dims is None else dims
    sizes = given if len(given) == 0 or isinstance(given[0], int) else given[0]
    return input.repeat((1,) * (input.dim() - len(sizes)) + tuple(sizes))


def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    if input.dim() < 2:
        raise RuntimeError("tril: input tensor must have at least 2 dimensions")
    row = torch.arange(input.size(-2)).unsqueeze(1)
    column = torch.arange(input.size(-1))
    return torch.where(column - row <= diagonal, input, 0).to(input.dtype)


def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    if input.dim() < 2:
        raise RuntimeError("triu: input tensor must have at least 2 dimensions")
    row = torch.arange(input.size(-2)).unsqueeze(1)
    column = torch.arange(input.size(-1))
    return torch.where(column - row >= diagonal, input, 0).to(input.dtype)


@decomposes("torch.diag_embed", "Tensor.diag_embed")
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    rank = input.dim() + 1
    n = input.size(-1) + abs(offset)
    a, b = dim1 % rank, dim2 % rank
    batch = tuple(input.shape[:-1])
    low, high = min(a, b), max(a, b)
    shape = (*batch[:low], n, *batch[low : high - 1], n, *batch[high - 1 :])
    result = torch.zeros(shape, dtype=input.dtype)
    result.diagonal(offset, dim1, dim2).copy_(input)
    return result


@decomposes("torch.diag", "Tensor.diag")
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    if input.dim() == 1:
        return torch.diag_embed(input, diagonal)
    if input.dim() != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.dim()}D")
    return torch.diagonal(input, diagonal).clone()


@decomposes("torch.diagflat", "Tensor.diagflat")
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    return torch.diag_embed(input.reshape(-1), offset)


@decomposes("torch.linalg.diagonal")
def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    return torch.diagonal(A, offset, dim1, dim2)


@decomposes("torch.trace", "Tensor.trace")
def trace(input: Tensor) -> Tensor:
    if input.dim() != 2:
        raise RuntimeError("trace: expected a matrix")
    return torch.sum(torch.diagonal(input))


@decomposes("torch.meshgrid", "torch.functional.meshgrid")
def meshgrid(*tensors: Tensor, indexing: str | None = None) -> tuple[Tensor, ...]:
    each = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    rank = len(each)
    for t in each:
        if t.dim() > 1:
            raise RuntimeError("torch.meshgrid: Expected 0D or 1D tensor in the tensor list")
    swap = indexing == "xy" and rank > 1
    order = (1, 0, *range(2, rank)) if swap else tuple(range(rank))
    sizes = tuple(each[d].numel() for d in order)
    return tuple(
        t.reshape(tuple(-1 if order[d] == i else 1 for d in range(rank))).expand(sizes) for i, t in enumerate(each)
    )


@decomposes("torch.cartesian_prod", "torch.functional.cartesian_prod")
def cartesian_prod(*tensors: Tensor) -> Tensor:
    for t in tensors:
        if t.dim() != 1:
            raise RuntimeError("Expect a 1D vector")
    if len(tensors) == 1:
        return tensors[0]
    return torch.stack([t.reshape(-1) for t in torch.meshgrid(*tensors, indexing="ij")], 1)


@decomposes("torch.block_diag", "torch.functional.block_diag")
def block_diag(*tensors: Tensor) -> Tensor:
    blocks = [at_least(t, 2) for t in tensors]
    dtype = blocks[0].dtype
    for b in blocks:
        dtype = torch.promote_types(dtype, b.dtype)
    result = torch.zeros(sum(b.size(0) for b in blocks), sum(b.size(1) for b in blocks), dtype=dtype)
    row, column = 0, 0
    for b in blocks:
        result.narrow(0, row, b.size(0)).narrow(1, column, b.size(1)).copy_(b)
        row, column = row + b.size(0), column + b.size(1)
    return result


def pad_around(input: Tensor, pad: list[int], mode: str) -> Tensor:
    """Pad by elements of the tensor: modes reflect, replicate and circular.

    A handler serves this function.
    """
    raise NotImplementedError  # an op


@decomposes("torch._C._nn.pad")
def pad(input: Tensor, pad: list[int], mode: str = "constant", value: float | None = None) -> Tensor:
    count, rank = len(pad) // 2, input.dim()
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if len(pad) % 2 != 0:
        raise RuntimeError("Padding length must be divisible by 2")
    if count > rank:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {rank}"
        )
    if mode == "constant":
        return torch.constant_pad_nd(input, pad, 0 if value is None else float(value))
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if count < 1 or count > 3 or (rank != count + 1 and rank != count + 2):
        raise NotImplementedError("Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now")
    return pad_around(input, pad, mode)


@decomposes("torch.constant_pad_nd")
def constant_pad_nd(input: Tensor, pad: list[int], value: float = 0) -> Tensor:
    rank, count = input.dim(), len(pad) // 2
    if len(pad) % 2 != 0:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if count > rank:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. "
            f"Pad length is {len(pad)}while the input has {rank}dimensions."
        )
    before = (0,) * (rank - count) + tuple(pad[2 * (count - 1 - i)] for i in range(count))
    after = (0,) * (rank - count) + tuple(pad[2 * (count - 1 - i) + 1] for i in range(count))
    kept = input
    for d in range(rank):
        cut = max(-before[d], 0)
        kept = kept.narrow(d, cut, input.size(d) - cut - max(-after[d], 0))
    if all(p <= 0 for p in pad):
        return kept.clone()
    sizes = tuple(n + a + b for n, a, b in zip(input.shape, before, after))  # noqa: B905
    result = torch.full(sizes, value, dtype=input.dtype)
    result[tuple(slice(max(before[d], 0), max(before[d], 0) + kept.size(d)) for d in range(rank))] = kept
    return result


@decomposes("torch.nn.functional.one_hot", "torch._C._nn.one_hot")
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    if num_classes < 0 and tensor.numel() == 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    classes = int(torch.amax(tensor)) + 1 if num_classes < 0 else num_classes
    if tensor.numel() > 0:
        if int(torch.amin(tensor)) < 0:
            raise RuntimeError("Class values must be non-negative.")
        if int(torch.amax(tensor)) >= classes:
            raise RuntimeError("Class values must be smaller than num_classes.")
    result = torch.zeros((*tensor.shape, classes), dtype=torch.int64)
    return torch.scatter(result, -1, tensor.unsqueeze(-1), torch.ones((), dtype=torch.int64).expand(*tensor.shape, 1))


@decomposes("torch.repeat_interleave", "Tensor.repeat_interleave")
def repeat_interleave(
    input: Tensor, repeats: int | Tensor | None = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    if repeats is None:  # the input holds the number of repeats of each index
        if input.dim() != 1:
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
        return torch.repeat_interleave(torch.arange(input.size(0)).to(input.dtype), input, 0, output_size=output_size)
    if dim is None:
        return torch.repeat_interleave(input.reshape(-1), repeats, 0)
    if input.dim() == 0:
        raise IndexError("Dimension out of range")
    d = dim % input.dim()
    n = input.size(d)
    if isinstance(repeats, int):
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        places = torch.arange(n).unsqueeze(1).expand(n, repeats).reshape(-1)
    else:  # search each result's index among the ends of runs
        if repeats.dim() > 1:
            raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
        if repeats.numel() != 1 and repeats.numel() != n:
            raise RuntimeError(
                "repeats must have the same size as input along dim, but got "
                f"repeats.size(0) = {repeats.numel()} and input.size({d}) = {n}"
            )
        if repeats.dtype != torch.int64 and repeats.dtype != torch.int32:
            raise RuntimeError("repeats has to be Long or Int tensor")
        if bool(torch.any(repeats < 0)):
            raise RuntimeError("repeats can not be negative")
        ends = torch.cumsum(repeats.reshape(-1).expand(n), 0)
        total = int(ends[-1]) if n > 0 else 0
        if output_size is not None and output_size != total:
            raise RuntimeError("allocated size does not match required size")
        places = torch.sum(ends <= torch.arange(total).unsqueeze(1), 1)
    return torch.index_select(input, d, places)


@decomposes("torch.pixel_shuffle", "torch.nn.functional.pixel_shuffle")
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    r = upscale_factor
    _check_pixels(input, "pixel_shuffle", "upscale_factor", r)
    if input.size(-3) % (r * r) != 0:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={input.size(-3)} is not divisible by {r * r}"
        )
    batch = tuple(input.shape[:-3])
    c, h, w = input.size(-3) // (r * r), input.size(-2), input.size(-1)
    rank = len(batch)
    x = input.reshape(*batch, c, r, r, h, w)
    x = x.permute(*range(rank), rank, rank + 3, rank + 1, rank + 4, rank + 2)
    return x.reshape(*batch, c, h * r, w * r)


@decomposes("torch.pixel_unshuffle", "torch.nn.functional.pixel_unshuffle")
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    r = downscale_factor
    _check_pixels(input, "pixel_unshuffle", "downscale_factor", r)
    for d, name in ((-2, "height"), (-1, "width")):
        if input.size(d) % r != 0:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({d})={input.size(d)} "
                f"is not divisible by {r}"
            )
    if input.numel() == 0 and r > 1:  # eager's result has the shape of the input, and its type would hide the sizes of others
        raise NotImplementedError("scriptc: pixel_unshuffle of an input without elements is not supported")
    batch = tuple(input.shape[:-3])
    c, h, w = input.size(-3), input.size(-2) // r, input.size(-1) // r
    rank = len(batch)
    x = input.reshape(*batch, c, h, r, w, r)
    x = x.permute(*range(rank), rank, rank + 2, rank + 4, rank + 1, rank + 3)
    return x.reshape(*batch, c * r * r, h, w)


def _check_pixels(input: Tensor, function: str, factor: str, r: int) -> None:
    if input.dim() < 3:
        raise RuntimeError(
            f"{function} expects input to have at least 3 dimensions, but got input with {input.dim()} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"{function} expects a positive {factor}, but got {r}")


@decomposes("torch.channel_shuffle", "torch.nn.functional.channel_shuffle")
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    if input.dim() <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if input.size(1) % groups != 0:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {input.size(1)} channels and {groups} groups."
        )
    b, c = input.size(0), input.size(1)
    rest = tuple(input.shape[2:])
    return input.reshape(b, groups, c // groups, *rest).transpose(1, 2).reshape(b, c, *rest)


def squeeze_dim(input: Tensor, dim: int) -> Tensor:
    """Squeeze a dim whose size only run time knows; the result has one of two ranks."""
    if input.size(dim) == 1:
        return input.select(dim, 0)
    return input[...]


@decomposes("Tensor.fill_diagonal_")
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    if self.dim() < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.dim() == 2:
        rows, columns = self.shape
        self.diagonal().fill_(fill_value)
        if wrap and rows > columns + 1:  # the diagonal starts again below, with one row left out
            start = columns + 1
            while start < rows:
                self[start : start + columns].diagonal().fill_(fill_value)
                start += columns + 1
        return self
    for size in self.shape:
        if size != self.size(0):
            raise RuntimeError("all dimensions of input must be of equal length")
    index = torch.arange(self.size(0))
    self[(index,) * self.dim()] = fill_value
    return self


@decomposes("torch.combinations")
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    if input.dim() != 1:
        raise RuntimeError("Expect a 1D vector")
    n = input.size(0)
    if r == 0:
        return torch.empty(0, dtype=input.dtype)
    index = torch.arange(n)
    grids = [t.reshape(-1) for t in torch.meshgrid(*([index] * r), indexing="ij")]
    allowed = torch.ones(grids[0].size(0), dtype=torch.bool)
    for a, b in zip(grids[:-1], grids[1:]):  # noqa: B905
        allowed = allowed & (a <= b if with_replacement else a < b)
    places = torch.nonzero(allowed).reshape(-1)
    return torch.stack([torch.index_select(input, 0, torch.index_select(g, 0, places)) for g in grids], 1)


def check_end(start: int, length: int, size: int) -> None:
    """Check that `length` places from `start` on end within a dim."""
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")


def refuse_rank(values: Tensor, sizes: tuple[int, ...]) -> NoReturn:
    raise RuntimeError(
        f"expand({values.type()}{{{list(values.shape)}}}, size={list(sizes)}): the number of sizes provided ({len(sizes)}) "
        f"must be greater or equal to the number of dimensions in the tensor ({values.dim()})"
    )
