"""Merge products of one input, and sums of products of the same two inputs, into one product and slices of it.

    %f = linear_packed(%h, %p, %b)                    %r = pack_linear(%w, %v)
    %i = linear_packed(%h, %q, %c)                    %d = concat(%b, %c)
    ...                                         =>    %y = linear_packed(%h, %r, %d)
                                                      %f = slice(%y, 0, 4, 1) {dim = 1}
                                                      %i = slice(%y, 4, 8, 1) {dim = 1}

    %f = add(linear_packed(%x, ...), linear_packed(%h, ...))  and  %i = add(linear_packed(%x, ...), linear_packed(%h, ...))
    likewise become slices of one sum.

The packing and the concatenation are left where the product stands; licm moves them out of its loop. Weights and biases
must be of known sizes, so that the check of the first product says enough for all, and never written. The slices have
other strides, so they may be used only where strides do not matter: in elementwise ops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scriptc.ir.analysis import function_body, interferes, is_written, writers
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Module, Op, Value
from scriptc.ir.ops import OPS
from scriptc.ir.passes.prepare_weights import KEPT
from scriptc.ir.regions import is_loop
from scriptc.ir.types import NONE, TensorType


@dataclass
class _Member:
    """A result that becomes a slice: of a product, or of a sum of two products. `check` is the sum's."""

    result: Value
    products: tuple[Op, ...]
    check: Op | None = None

    @property
    def anchor(self) -> Op:
        op = self.check or self.result.op
        assert op is not None
        return op

    @property
    def key(self) -> tuple[Value, ...]:
        return tuple(p.operands[0] for p in self.products)


def _known_dims(v: Value, rank: int) -> tuple[int, ...] | None:
    t = v.type
    if not isinstance(t, TensorType) or t.dims is None or len(t.dims) != rank:
        return None
    dims = tuple(d for d in t.dims if isinstance(d, int))
    return dims if len(dims) == rank else None


def _weights(product: Op) -> Sequence[Value]:
    packing = product.operands[1].op
    return packing.operands if packing is not None else ()


def _is_mergeable(op: Op) -> bool:
    """Return whether the weight and bias of a product have known sizes and are never written, so that they can be
    merged."""
    packing = op.operands[1].op if op.name == "linear_packed" else None
    if packing is None or packing.name not in ("pack_linear", "pack_linear.kept") or not op.attrs["features"]:
        return False
    loop, bias = op.enclosing(is_loop), op.operands[2]
    if loop is None or any(region.encloses(v.block) for region in loop.regions for v in (op.operands[1], bias)):
        return False
    constants = [*packing.operands, *([bias] if bias.type != NONE else [])]
    if any(_known_dims(w, 2) is None for w in packing.operands) or any(
        is_written(v, function_body(op)) for v in constants
    ):
        return False
    return bias.type == NONE or _known_dims(bias, 1) == (op.attrs["features"],)


def _strides_are_free(value: Value) -> bool:
    """Return whether all users of a value depend only on its elements and sizes."""
    return all(
        user.has("ELEMENTWISE") or (user.name == "check" and OPS[user.attrs["of"]].check == "broadcast")
        for user in value.users()
    )


def _layer(product: Op) -> tuple[object, ...]:
    """Return a key that is equal for products that can be merged, beside their inputs."""
    packing = product.operands[1].op
    assert packing is not None
    dims = _known_dims(packing.operands[0], 2)
    assert dims is not None
    return packing.name, packing.parent, dims[1], packing.operands[0].type.dtype, product.operands[2].type == NONE  # type: ignore[attr-defined]


def _sum_of_products(op: Op, products: set[Op]) -> _Member | None:
    """Return the member of an `add` of two products that have no other use."""
    if op.name != "add" or len(set(op.operands)) != 2 or not all(v.op in products for v in op.operands):
        return None
    checks = [
        u for u in op.operands[0].users() if u.name == "check" and u.operands == op.operands and u.parent is op.parent
    ]
    if len(checks) > 1 or any(user is not op and user not in checks for v in op.operands for user in v.users()):
        return None
    pair = tuple(v.op for v in op.operands if v.op is not None)
    return _Member(op.result, pair, checks[0] if checks else None)


def _members(block: Block) -> Iterator[_Member]:
    products = {op for op in block.ops if _is_mergeable(op)}
    summed: set[Op] = set()
    for op in block.ops:
        member = _sum_of_products(op, products - summed)
        if member is not None and _strides_are_free(member.result):
            summed.update(member.products)
            yield member
    for op in block.ops:
        if op in products - summed and _strides_are_free(op.result):
            yield _Member(op.result, (op,))


def _groups(block: Block) -> list[list[_Member]]:
    groups: dict[tuple[object, ...], list[_Member]] = {}
    for member in _members(block):
        key: tuple[object, ...] = (*member.key, *map(_layer, member.products))
        if len(member.products) == 2:  # a sum of two has the same bits in either order
            swapped = _Member(member.result, member.products[::-1], member.check)
            other = (*swapped.key, *map(_layer, swapped.products))
            if other in groups:
                key, member = other, swapped
        groups.setdefault(key, []).append(member)
    return [group for group in groups.values() if len(group) > 1 and _can_move(block, group)]


def _can_move(block: Block, group: list[_Member]) -> bool:
    """Return whether all products may run at the position of the first, since no op in between writes their inputs."""
    at = sorted(block.ops.index(m.anchor) for m in group)
    between = [w for op in block.ops[at[0] : at[-1]] for w in writers(op)]
    return not any(interferes(w, p) for w in between for m in group for p in m.products)


class _Merger:
    def __init__(self, slot: int):
        self.slot = slot  # the next free slot for kept weights

    def product(self, build: Builder, products: list[Op]) -> Value:
        """Replace several products by one."""
        loc, first = products[0].loc, products[0]
        packing = first.operands[1].op
        assert packing is not None
        attrs = dict(packing.attrs)
        if "slot" in attrs:
            attrs["slot"], self.slot = self.slot, self.slot + 1
        weights = [w for p in products for w in _weights(p)]
        packed = build.build(packing.name, weights, loc, hint="packed", **attrs)
        biases = [p.operands[2] for p in products]
        bias = biases[0] if biases[0].type == NONE else build.build("concat", biases, loc, hint="bias")
        features = sum(p.attrs["features"] for p in products)
        return build.build("linear_packed", [first.operands[0], packed, bias], loc, features=features)

    def merge(self, group: list[_Member]) -> None:
        group.sort(key=lambda m: m.anchor.parent.ops.index(m.anchor) if m.anchor.parent else 0)
        anchor, loc = group[0].anchor, group[0].anchor.loc
        build = Builder.before(anchor)
        whole = [self.product(build, [m.products[i] for m in group]) for i in range(len(group[0].products))]
        total = whole[0] if len(whole) == 1 else build.op("add", whole, loc, proved=group[0].check is None).result
        assert isinstance(total.type, TensorType) and total.type.dims is not None
        dim, start = len(total.type.dims) - 1, 0
        for member in group:
            stop = start + member.products[0].attrs["features"]
            bounds = [build.const(n, loc) for n in (start, stop, 1)]
            part = build.build("slice", [total, *bounds], loc, hint=member.result.name, dim=dim)
            start = stop
            made = member.result.op
            assert made is not None
            if member.check is not None:
                member.check.erase()
            made.replace_with([part])
            for product in member.products:
                if product is not made:
                    product.erase()


def run(module: Module, options: Mapping[str, int]) -> bool:
    slots = [op.attrs["slot"] for op in module.walk() if op.name in KEPT]
    merger = _Merger(max(slots, default=-1) + 1)
    changed = False
    blocks = [region for op in module.walk() for region in op.regions if op.has("CONTROL")]
    for block in blocks:
        for group in _groups(block):
            merger.merge(group)
            changed = True
    return changed
