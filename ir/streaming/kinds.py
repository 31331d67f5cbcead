"""The kinds of values of a chunk, and the rules by which ops pass the kinds on.

A value of a chunk relates to the value of the whole sequence in one of these ways:

| kind | the value of a chunk is |
|---|---|
| `Fixed` | that of the whole sequence |
| `Along` | the part of the tensor that belongs to the steps of the chunk, along one dim |
| `Items` | the part of the list that belongs to the steps of the chunk |
| `Length` | the number of steps of the chunk |
| `Group` | a tuple or list of such values |
| `Latest` | that of the sequence up to the end of the chunk |
| `Blocked` | none of these; `reason` tells why, and `loc` where |

`RULES` holds a function for each op that can pass `Along` on. An op without a rule may read any other step, so its result
is `Blocked`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from scriptc.ir.core import Op, Value
from scriptc.ir.handlers import handlers
from scriptc.ir.loc import Loc
from scriptc.ir.ranges import constant_int
from scriptc.ir.types import TensorType


@dataclass(frozen=True)
class Fixed:
    """A value that is the same for every chunk."""


@dataclass(frozen=True)
class Latest:
    """A value as of the last step so far."""


@dataclass(frozen=True)
class Along:
    """A tensor with the steps along `dim`.

    length: the value that counts the steps; tensors with the same one have as many.
    merged: the tensor whose first `count` dims, the time among them, are merged into `dim`; None if time is a dim.
    """

    dim: int
    length: Value
    merged: Value | None = None
    count: int = 0


@dataclass(frozen=True)
class Items:
    """A list with items for the steps. length: see `Along`."""

    length: Value


@dataclass(frozen=True)
class Length:
    """The number of steps."""

    length: Value


@dataclass(frozen=True)
class Group:
    """A tuple, or a list that straight-line code makes, of values of these kinds."""

    items: tuple[Kind, ...]


class Cause(Enum):
    """Why no chunk has a value: what the value needs of the sequence."""

    STEPS = "other steps"
    LENGTH = "the length"
    END = "the end"


@dataclass(frozen=True)
class Blocked:
    """A value that no chunk has."""

    reason: str
    loc: Loc
    cause: Cause = Cause.STEPS


Kind: TypeAlias = "Fixed | Latest | Along | Items | Length | Group | Blocked"
FIXED, LATEST = Fixed(), Latest()
Kinds = dict[Value, Kind]
RULES, passes_on = handlers()

Rule = Callable[[Op, Kinds], Kind]
_NO_END = 2**63 - 1  # of a slice without one
_OTHER_STEPS = "reads other time steps than its own"


class NotStreamable(Exception):
    """Say that a function cannot be computed chunk by chunk: where, why, and what to write instead.

    has_no_loop: no loop runs along the time, so another dim may be the time.
    """

    def __init__(self, loc: Loc, reason: str, hint: str, *, has_no_loop: bool = False):
        super().__init__(reason)
        self.loc, self.reason, self.hint, self.has_no_loop = loc, reason, hint, has_no_loop


def kind_of(op: Op, kinds: Kinds) -> Kind:
    """Return the kind of the results of an op without regions."""
    found = [kinds[v] for v in op.operands]
    blocked = next((k for k in found if isinstance(k, Blocked)), None)
    if blocked is not None:
        return blocked
    if op.name == "size" and isinstance(found[0], Along):
        along = found[0]
        if op.attrs["dim"] % _rank(op.operands[0]) != along.dim:
            return FIXED
        if along.merged is None:
            return Length(along.length)
        return _of_length(op)
    if op.name == "list.len" and isinstance(found[0], Items):
        return Length(found[0].length)
    moving = [k for k in found if isinstance(k, (Along, Items, Length, Group))]
    if not moving:
        return LATEST if LATEST in found else FIXED
    if op.name in ("tuple", "list.new"):
        return Group(tuple(found))
    if LATEST in found:
        return Blocked("needs the end of the sequence: it combines each step with the value of the last one", op.loc, Cause.END)
    if op.has("ELEMENTWISE"):
        return _elementwise(op, kinds)
    rule = RULES.get(op.name)
    if rule is None:
        if all(isinstance(k, Length) for k in moving):
            return _of_length(op)
        return Blocked(f"{_OTHER_STEPS}, for all that scriptc knows of '{op.name}'", op.loc)
    made: Kind = rule(op, kinds)
    return made


def _rank(value: Value) -> int:
    assert isinstance(value.type, TensorType)
    return value.type.rank


def _size(value: Value, dim: int) -> object:
    """Return a size in the type of a tensor: a number, a symbol or None."""
    assert isinstance(value.type, TensorType) and value.type.dims is not None
    return value.type.dims[dim]


def _of_length(op: Op) -> Blocked:
    return Blocked("depends on the length of the sequence", op.loc, Cause.LENGTH)


def _other(op: Op) -> Blocked:
    return Blocked(_OTHER_STEPS, op.loc)


def _elementwise(op: Op, kinds: Kinds) -> Kind:
    """Operands are broadcast: the time is at the same place from the right in all, and no fixed tensor has sizes there."""
    tensors = [v for v in op.operands if isinstance(v.type, TensorType)]
    if any(isinstance(kinds[v], Length) for v in op.operands):
        return _of_length(op)
    moving = [(v, k) for v in tensors if isinstance(k := kinds[v], Along)]
    places = {_rank(v) - k.dim for v, k in moving}
    if len(places) != 1 or len({(k.length, k.merged, k.count) for _, k in moving}) != 1:
        return _other(op)
    place = places.pop()
    for v in tensors:
        if not isinstance(kinds[v], Along) and _rank(v) >= place and _size(v, _rank(v) - place) != 1:
            return Blocked("combines the sequence with a tensor of a fixed length", op.loc, Cause.LENGTH)
    return replace(moving[0][1], dim=_rank(op.result) - place)


def _along(op: Op, kinds: Kinds, index: int = 0) -> Along | None:
    """Return the kind of one operand if it alone has steps."""
    others = (kinds[v] for i, v in enumerate(op.operands) if i != index)
    found = kinds[op.operands[index]]
    return found if isinstance(found, Along) and all(isinstance(k, Fixed) for k in others) else None


@passes_on("alias", "clone", "contiguous", "plain", "linked", "leaf", "view_dtype")
def _same(op: Op, kinds: Kinds) -> Kind:
    return _along(op, kinds) or _other(op)


@passes_on("linear")
def _linear(op: Op, kinds: Kinds) -> Kind:
    along = _along(op, kinds)
    return along if along is not None and along.dim != _rank(op.operands[0]) - 1 else _other(op)


@passes_on("matmul")
def _matmul(op: Op, kinds: Kinds) -> Kind:
    left, right = op.operands
    along = _along(op, kinds)
    if along is not None and along.dim != _rank(left) - 1 and _rank(right) <= 2 and _rank(left) >= _rank(right):
        return along
    both = kinds[left], kinds[right]
    if both[0] == both[1] and isinstance(both[0], Along) and _rank(left) == _rank(right) and both[0].dim < _rank(left) - 2:
        return both[0]
    return _other(op)


@passes_on("transpose")
def _transpose(op: Op, kinds: Kinds) -> Kind:
    along = _along(op, kinds)
    if along is None or along.merged is not None:
        return _other(op)
    rank = _rank(op.operands[0])
    a, b = op.attrs["dim0"] % rank, op.attrs["dim1"] % rank
    return replace(along, dim={a: b, b: a}.get(along.dim, along.dim))


@passes_on("permute")
def _permute(op: Op, kinds: Kinds) -> Kind:
    along = _along(op, kinds)
    dims = [d % len(op.attrs["dims"]) for d in op.attrs["dims"]]
    return _other(op) if along is None else replace(along, dim=dims.index(along.dim))


@passes_on("unsqueeze")
def _unsqueeze(op: Op, kinds: Kinds) -> Kind:
    along = _along(op, kinds)
    at = op.attrs["dim"] % _rank(op.result)
    return _other(op) if along is None else replace(along, dim=along.dim + (at <= along.dim))


@passes_on("squeeze", "select")
def _without_dim(op: Op, kinds: Kinds) -> Kind:
    along = _along(op, kinds)
    at = op.attrs["dim"] % _rank(op.operands[0])
    if along is None or at == along.dim:
        return Blocked("picks single time steps outside of a loop along the time", op.loc)
    return replace(along, dim=along.dim - (at < along.dim)) if _rank(op.result) < _rank(op.operands[0]) else along


@passes_on(
    "slice", "softmax", "safe_softmax", "log_softmax", "cumsum", "cumprod", "logcumsumexp", "extreme_scan", "arg_scan",
    "argsort", "flip", "topk", "kthvalue", "index_select", "gather",
)  # fmt: skip
def _along_other_dim(op: Op, kinds: Kinds) -> Kind:
    if op.name == "index_select" and isinstance(kinds[op.operands[1]], Along):
        return _rows_of_table(op, kinds)
    if op.name == "slice" and [constant_int(v) for v in op.operands[1:]] == [0, _NO_END, 1]:
        return _same(op, kinds)
    if op.name == "gather" and kinds[op.operands[0]] == kinds[op.operands[1]]:
        along = kinds[op.operands[0]]
    else:
        along = _along(op, kinds) or _other(op)
    dims = op.attrs["dims"] if op.name == "flip" else (op.attrs["dim"],)
    if not isinstance(along, Along) or any(d % max(_rank(op.operands[0]), 1) == along.dim for d in dims):
        return _other(op)
    return along


def _rows_of_table(op: Op, kinds: Kinds) -> Kind:
    """An embedding: one row of a fixed table for each index."""
    along = _along(op, kinds, 1)
    return _other(op) if along is None else replace(along, dim=op.attrs["dim"] % _rank(op.operands[0]))


@passes_on("sum", "mean", "sum_squares", "prod", "amax", "amin", "all", "any", "argmax", "argmin")
def _reduction(op: Op, kinds: Kinds) -> Kind:
    along = _along(op, kinds)
    rank = _rank(op.operands[0])
    dim = op.attrs["dim"]
    dims = range(rank) if dim is None else [d % rank for d in ((dim,) if isinstance(dim, int) else dim)]
    if along is None or along.dim in dims:
        return Blocked("needs the end of the sequence: it reduces over time", op.loc, Cause.END)
    return along if op.attrs["keepdim"] else replace(along, dim=along.dim - sum(d < along.dim for d in dims))


@passes_on("layer_norm")
def _layer_norm(op: Op, kinds: Kinds) -> Kind:
    along = _along(op, kinds)
    shape = op.operands[1].op
    fixed = along is not None and shape is not None and along.dim < _rank(op.operands[0]) - len(shape.operands)
    return along if along is not None and fixed else _other(op)


@passes_on("tuple.get", "list.get", "list.at")
def _member(op: Op, kinds: Kinds) -> Kind:
    group = kinds[op.operands[0]]
    index = op.attrs["index"] if op.name == "tuple.get" else constant_int(op.operands[1])
    if isinstance(group, Group) and index is not None and -len(group.items) <= index < len(group.items):
        return group.items[index]
    return _other(op)


@passes_on("list.len")
def _count(op: Op, kinds: Kinds) -> Kind:
    return FIXED if isinstance(kinds[op.operands[0]], Group) else _other(op)


@passes_on("full", "empty")
def _filled(op: Op, kinds: Kinds) -> Kind:
    places = _lengths(op.operands[0], kinds)
    if len(places) != 1 or any(not isinstance(kinds[v], Fixed) for v in op.operands[1:]):
        return _of_length(op)
    at, length = places[0]
    return Along(at, length)


@passes_on("expand")
def _expand(op: Op, kinds: Kinds) -> Kind:
    x, sizes = op.operands
    along = kinds[x]
    places = _lengths(sizes, kinds)
    if isinstance(along, Along) and along.merged is None:
        at = along.dim + _rank(op.result) - _rank(x)
        kept = not places or places == [(at, along.length)]
        return replace(along, dim=at) if kept else _other(op)
    if isinstance(along, Fixed) and len(places) == 1:
        at, length = places[0]
        own = at - (_rank(op.result) - _rank(x))
        if own < 0 or _size(x, own) == 1:
            return Along(at, length)
    return _other(op)


def _lengths(sizes: Value, kinds: Kinds) -> list[tuple[int, Value]]:
    """Return the places of a tuple of sizes at which the length stands, each with the length."""
    op = sizes.op
    if op is None or op.name not in ("tuple", "list.new"):
        return []
    return [(i, k.length) for i, v in enumerate(op.operands) if isinstance(k := kinds[v], Length)]


@passes_on("reshape", "view")
def _reshape(op: Op, kinds: Kinds) -> Kind:
    """Keep the time as a dim of its own, merge it with the dims in front, or take such a merged dim apart again."""
    x, sizes = op.operands
    along = kinds[x]
    if not isinstance(along, Along) or sizes.op is None:
        return _other(op)
    given = sizes.op.operands
    if along.merged is not None:
        return _apart(op, along, given, kinds)
    places = _lengths(sizes, kinds)
    if len(places) == 1 and places[0] == (along.dim, along.length) and _equal_dims(x, op.result, range(along.dim)):
        return along
    dropped = _rank(x) - _rank(op.result)
    behind = range(1, _rank(op.result))
    if along.dim <= dropped and all(_equal(x, d + dropped, op.result, d) for d in behind):
        return Along(0, along.length, x, dropped + 1)
    return Blocked("merges the time with other dims", op.loc)


def _apart(op: Op, along: Along, given: Sequence[Value], kinds: Kinds) -> Kind:
    """Take a merged dim apart: the sizes are those of the tensor whose dims were merged, in order."""
    source = along.merged
    assert source is not None
    origin = kinds[source]
    starts_with = len(given) >= along.count and all(_is_size(given[d], source, d, kinds) for d in range(along.count))
    if along.dim == 0 and starts_with and isinstance(origin, Along):
        return Along(origin.dim, origin.length)
    return Blocked("merges the time with other dims", op.loc)


def _is_size(value: Value, source: Value, dim: int, kinds: Kinds) -> bool:
    """Return whether a value is the size of a dim of a tensor."""
    origin, kind = kinds[source], kinds[value]
    if isinstance(origin, Along) and origin.dim == dim:
        return kind == Length(origin.length)
    op = value.op
    if op is not None and op.name == "size" and op.operands[0] is source:
        return bool(op.attrs["dim"] % _rank(source) == dim)
    constant = op.attrs["value"] if op is not None and op.name == "const" else None
    return constant is not None and constant == _size(source, dim)


def _equal(a: Value, i: int, b: Value, k: int) -> bool:
    return _size(a, i) is not None and _size(a, i) == _size(b, k)


def _equal_dims(a: Value, b: Value, dims: range) -> bool:
    return all(_equal(a, d, b, d) for d in dims)


@passes_on("stack", "cat")
def _joined(op: Op, kinds: Kinds) -> Kind:
    """Join the items of all steps, one step each for `stack`, or tensors of the same steps along another dim."""
    items = kinds[op.operands[0]]
    if isinstance(items, Group):
        along, at = items.items[0], op.attrs["dim"] % _rank(op.result)
        if len(set(items.items)) != 1 or not isinstance(along, Along) or (op.name == "cat" and at == along.dim):
            return _other(op)
        return replace(along, dim=along.dim + (at <= along.dim)) if op.name == "stack" else along
    if not isinstance(items, Items):
        return _other(op)
    return Along(op.attrs["dim"] % _rank(op.result), items.length if op.name == "stack" else op.operands[0])


@passes_on("unbind")
def _unbind(op: Op, kinds: Kinds) -> Kind:
    along = _along(op, kinds)
    if along is None or along.merged is not None or op.attrs["dim"] % _rank(op.operands[0]) != along.dim:
        return _other(op)
    return Items(along.length)


@passes_on("conv2d")
def _conv2d(op: Op, kinds: Kinds) -> Kind:
    """A convolution whose kernel has one row along the time reads only its own step."""
    along = _along(op, kinds)
    weight = op.operands[1]
    spatial = along.dim - 2 if along is not None else -1
    own = along is not None and spatial >= 0 and _size(weight, spatial + 2) == 1
    if own and op.attrs["stride"][spatial] == 1 and op.attrs["padding"][spatial] == 0:
        assert along is not None
        return along
    if along is not None and along.dim == 0:
        return along
    return _other(op)
