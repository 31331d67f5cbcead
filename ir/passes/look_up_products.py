"""Look up products of rows, where rows of a frozen table are looked up and multiplied by a frozen weight.

    %r = index_select(%table, %i) {dim = 0}               %v = slice(%w, 0, 4, 1) {dim = 1}
    %x = cat.items(%r, %h) {dim = 1}                      %p = linear(%table, %v, %b)
    %y = linear(%x, %w, %b)                     =>        %q = index_select(%p, %i) {dim = 0}
                                                          %u = slice(%w, 4, 10, 1) {dim = 1}
                                                          %z = linear(%h, %u, %none)
                                                          %y = add(%q, %z)

With `frozen=1`, for `matmul` too. An embedding is such a table, and the input weight of an RNN such a weight. The product of
the table is computed once (`cache_frozen`), if it is not too large. Features that are not looked up are multiplied as
before. Results differ by rounding, since sums over parts of the features are rounded before they are added. With
`weight_format` no table is multiplied, since that option is there to save memory.

If the sizes of what is joined may differ, the join stays in a branch, where it raises its error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from scriptc.ir.builder import Builder
from scriptc.ir.cloning import clone_op
from scriptc.ir.core import Block, Module, Op, Value
from scriptc.ir.frozen_weights import FrozenWeights, computed_again, known_sizes
from scriptc.ir.ops.rules import tensor
from scriptc.ir.regions import before_loops
from scriptc.ir.types import NONE, Dim, TensorType

_DTYPES = ("f32", "f64")  # sums of halves would be rounded more than once
# Of the product of a table: 16 MB of float32, and so many times the elements of the table and the weight, or few.
_MOST_ELEMENTS, _MOST_TIMES, _FEW_ELEMENTS = 1 << 22, 8, 1 << 16


@dataclass(eq=False)
class _Part:
    """The features of a product's input from `first` to `last`. lookup: finds their rows, which `shapes` give other dims."""

    value: Value
    first: int
    last: int
    lookup: Op | None = None
    shapes: Sequence[Op] = ()


def _features(value: Value) -> int | None:
    """Return the size of a tensor's last dim, if it is known."""
    t = value.type
    size = t.dims[-1] if isinstance(t, TensorType) and t.dims else None
    return size if isinstance(size, int) else None


def _leading(value: Value) -> tuple[Dim, ...]:
    """Return the sizes of all dims but the last."""
    return (tensor(value).dims or ())[:-1]


def _keeps_features(op: Op) -> bool:
    """Return whether an op gives rows other leading dims."""
    if op.name in ("unsqueeze", "squeeze"):
        longer = op.result if op.name == "unsqueeze" else op.operands[0]
        return op.attrs["dim"] not in (-1, tensor(longer).rank - 1)
    return op.name == "reshape" and _features(op.operands[0]) == _features(op.result) is not None


def _is_worth(table: tuple[int, ...], outputs: int) -> bool:
    """Return whether the product of a table is not too large, for its own and beside what it is made from."""
    if len(table) != 2:
        return False
    rows, features = table
    most = max(_FEW_ELEMENTS, _MOST_TIMES * (rows + outputs) * features)
    return rows * outputs <= min(most, _MOST_ELEMENTS)


def _join(op: Op) -> Op | None:
    """Return what joins the features of a product's input."""
    join, last = op.operands[0].op, tensor(op.operands[0]).rank - 1
    return join if join is not None and join.name == "cat.items" and join.attrs["dim"] in (-1, last) else None


class _Lookups:
    def __init__(self, module: Module):
        self.frozen = FrozenWeights(module)

    def replace(self, op: Op) -> bool:
        weight, sizes = op.operands[1], known_sizes(op.operands[1])
        if sizes is None or len(sizes) != 2 or tensor(weight).dtype not in _DTYPES:
            return False
        if not self.frozen.is_computed_from_weights(weight):
            return False
        outputs, features = sizes if op.name == "linear" else sizes[::-1]
        parts = self._parts(op, outputs)
        if not any(part.lookup for part in parts) or parts[-1].last != features:
            return False
        self._add_up(op, parts)
        return True

    def _parts(self, op: Op, outputs: int) -> list[_Part]:
        """Return the parts of a product's input in their order, as far as their sizes are known."""
        join, parts, at = _join(op), [], 0
        for value in join.operands if join is not None else op.operands[:1]:
            features = _features(value)
            if features is None or tensor(value).dtype != tensor(op.operands[1]).dtype:
                return []
            parts.append(self._part(value, at, at + features, outputs))
            at += features
        return parts

    def _part(self, value: Value, first: int, last: int, outputs: int) -> _Part:
        shapes: list[Op] = []
        made = value.op
        while made is not None and _keeps_features(made):
            shapes.insert(0, made)
            made = made.operands[0].op
        if made is not None and made.name == "index_select" and made.attrs["dim"] == 0:
            table = made.operands[0]
            sizes = known_sizes(table)
            if sizes is not None and _is_worth(sizes, outputs) and self.frozen.is_computed_from_weights(table):
                return _Part(value, first, last, made, shapes)
        return _Part(value, first, last)

    def _add_up(self, op: Op, parts: list[_Part]) -> None:
        """Replace a product by the sum of the products of its parts. The first table has a frozen bias."""
        join, bias = _join(op), op.operands[2] if op.name == "linear" and op.operands[2].type != NONE else None
        is_whole = bias is not None and known_sizes(bias) == (_features(op.result),)
        frozen_bias = bias if bias is not None and is_whole and self.frozen.is_computed_from_weights(bias) else None
        other_bias = bias if frozen_bias is None else None
        found = {}
        for part in parts:
            if part.lookup is not None:
                rows = _product_rows(op, part, part.lookup, frozen_bias)
                found[part] = _reshaped(Builder.before(join or op), part.shapes, rows)
                frozen_bias = None
        if join is not None:
            _ask_first(join, found.get(parts[0], parts[0].value))
            if join.result.users() == [op]:
                _check_sizes(join, parts, found)
        b, loc, terms = Builder.before(op), op.loc, []
        for is_found, run in groupby(parts, found.__contains__):
            if is_found:
                terms += [found[part] for part in run]
            else:
                terms.append(_multiplied(b, op, list(run), other_bias))
                other_bias = None
        total = terms[0]
        for term in (*terms[1:], *([] if other_bias is None else [other_bias])):
            total = b.op("add", [total, term], loc, proved=True).result
        total.type = op.result.type
        op.replace_with([total])
        if join is not None and not join.result.uses:
            join.erase()
        for part in parts:
            _drop_unused(part)


def _columns(b: Builder, op: Op, weight: Value, first: int, last: int) -> Value:
    """Return the part of a product's weight that multiplies the features from `first` to `last`, as one of a linear."""
    bounds = [b.const(n, op.loc) for n in (first, last, 1)]
    part = b.op("slice", [weight, *bounds], op.loc, dim=int(op.name == "linear")).result
    return part if op.name == "linear" else b.op("transpose", [part], op.loc, dim0=0, dim1=1).result


def _product_rows(op: Op, part: _Part, lookup: Op, bias: Value | None) -> Value:
    """Look up rows of a table's product where those of the table are looked up. The product is computed before all loops."""
    table, index = lookup.operands
    b = Builder.before(before_loops(lookup))
    weight = _columns(b, op, computed_again(op.operands[1], b), part.first, part.last)
    added = b.const(None, op.loc) if bias is None else computed_again(bias, b)
    products = b.op("linear", [computed_again(table, b), weight, added], op.loc, proved=True).result
    return Builder.before(lookup).op("index_select", [products, index], lookup.loc, dim=0).result


def _reshaped(b: Builder, shapes: Sequence[Op], rows: Value) -> Value:
    for shape in shapes:
        operands = [rows, *shape.operands[1:]]
        if shape.name == "reshape":
            operands[1] = _with_features(b, shape.operands[1], rows)
        rows = b.op(shape.name, operands, shape.loc, proved=True, **shape.attrs).result
    return rows


def _with_features(b: Builder, sizes: Value, rows: Value) -> Value:
    """Return the sizes of a reshape whose last is the number of features of `rows`."""
    assert sizes.op is not None
    loc, features = sizes.op.loc, _features(rows)
    return b.op("tuple", [*sizes.op.operands[:-1], b.const(features, loc)], loc).result


def _multiplied(b: Builder, op: Op, parts: list[_Part], bias: Value | None) -> Value:
    """Multiply the features of neighboring parts."""
    x = parts[0].value
    if len(parts) > 1:
        x = b.op("cat.items", [part.value for part in parts], op.loc, dim=tensor(x).rank - 1).result
    weight = _columns(b, op, op.operands[1], parts[0].first, parts[-1].last)
    added = b.const(None, op.loc) if bias is None else bias
    return b.op("linear", [x, weight, added], op.loc, proved=True).result


def _ask_first(join: Op, first: Value) -> None:
    """Read sizes of what is joined from the first operand, or what has its leading sizes."""
    last = tensor(join.result).rank - 1
    for user in join.result.users():
        if user.name == "size" and user.attrs["dim"] not in (-1, last):
            user.set_operand(0, first)


def _check_sizes(join: Op, parts: list[_Part], found: Mapping[_Part, Value]) -> None:
    """Run a join whose result is not needed where it raises."""
    b, loc, differs = Builder.before(join), join.loc, None
    first, *others = (found.get(part, part.value) for part in parts)
    for other in others:
        for d, (n, m) in enumerate(zip(_leading(first), _leading(other), strict=True)):
            if n is None or n != m:
                sizes = [b.op("size", [value], loc, dim=d).result for value in (first, other)]
                unequal = b.op("int.ne", sizes, loc).result
                differs = unequal if differs is None else b.op("bool.or_", [differs, unequal], loc).result
    if differs is None:
        return
    wrong, right = Block(), Block()
    b.op("if", [differs], loc, regions=[wrong, right], types=[])
    with b.at(wrong):
        again: dict[Value, Value] = {}
        for made in [made for part in parts if part.lookup is not None for made in (part.lookup, *part.shapes)]:
            clone_op(b, made, again)
        clone_op(b, join, again)
        b.op("yield", [], loc)
    with b.at(right):
        b.op("yield", [], loc)


def _drop_unused(part: _Part) -> None:
    """Erase the rows of a part, if nothing but its product used them."""
    for op in reversed([part.lookup, *part.shapes] if part.lookup is not None else []):
        if op.result.uses:
            return
        op.erase()


def run(module: Module, options: Mapping[str, int]) -> bool:
    if not options.get("frozen") or options.get("weight_format"):
        return False
    lookups = _Lookups(module)
    products = [op for op in module.walk() if op.name in ("linear", "matmul")]
    return any([lookups.replace(op) for op in products])
