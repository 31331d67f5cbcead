"""Backward code of ops by the derivatives that the library provides."""

from __future__ import annotations

from typing import Any

from scriptc.ir.builder import Builder
from scriptc.ir.cloning import inline
from scriptc.ir.core import Block, Op, Value
from scriptc.ir.dtypes import PARTS
from scriptc.ir.gradients.activity import PARTIAL_VIEWS, root_of, viewed
from scriptc.ir.gradients.levels import Level, size_of
from scriptc.ir.gradients.reversal import Reversal, reverses
from scriptc.ir.gradients.rules import is_constant, not_differentiable
from scriptc.ir.loc import Loc
from scriptc.ir.ops.views import OWN_OFFSET
from scriptc.ir.ranges import constant_int
from scriptc.ir.types import COMPLEX, NONE, Dim, TensorType, TupleType, Type


def reverse_op(reversal: Reversal, level: Level, op: Op) -> None:
    """Add to the gradients of the operands of an op what its results' gradients give."""
    adjoints = reversal.adjoints
    if is_constant(op) or op.name.startswith("check"):
        return
    if op.no_grad:
        raise not_differentiable(op, f"`{op.name}` in no_grad()", "call it outside")
    if op.results[0] in adjoints.tile_values or op.name in PARTIAL_VIEWS:
        return  # the gradient of the whole tensor is joined from the parts', or had the view's added to it
    if viewed(op.results[0]) is not None and root_of(op.results[0]) in adjoints.buffered:
        return
    gradients = [adjoints.take_defined(level, r) for r in op.results]
    if all(g is None for g in gradients):
        return
    for i, operand in enumerate(op.operands):
        if operand in adjoints.active:
            adjoints.accumulate(level, operand, _operand_gradient(reversal, level, op, i, gradients))


# What an op of a container reads, and how the program is written instead.
_REWRITES = {
    "dict": ("what a dict with run-time keys holds", "keep the tensors in a list, and in the dict their places in the list"),
    "object": ("an attribute of an object in a list that grows", "keep the tensors of all objects in a list beside it"),
    "tuple": (
        "an item of a tuple in a list that grows", "keep the first items of the tuples in one list, the second ones in another",
    ),
}


def _operand_gradient(
    reversal: Reversal, level: Level, op: Op, index: int, gradients: list[Value | None]
) -> Value:
    """Return what the gradients of the results of an op add to that of an operand."""
    if any(a.is_list and a.type == "Value" for a in op.defn.operand_args):
        raise not_differentiable(op, f"`{op.name}`")
    name = op.defn.operand_args[index].name
    wanted = reversal.derivatives.parameters(op.name, name)
    if wanted is None:
        container, _, member = op.name.partition(".")
        if member and container in _REWRITES:
            raise not_differentiable(op, *_REWRITES[container])
        raise not_differentiable(op, f"`{op.name}` with respect to `{name}`")
    arguments = _Arguments(level, op, gradients)
    for key in wanted:
        arguments.add(key)
    func = reversal.derivative(op.name, name, arguments.given)
    if func.body.ops[-1].name == "raise":
        raise not_differentiable(op, f"`{op.name}` of such operands")
    (gradient,) = inline(level.builder, func.body, arguments.values, op.loc, reversal.label)
    return fit(level, op, gradient, op.operands[index])


@reverses("leaf")
def reverse_leaf(reversal: Reversal, level: Level, op: Op) -> None:
    """Add the gradient of a leaf to that of the tensor that it was made of. The source of leaves has no gradient."""
    gradient = reversal.adjoints.take_defined(level, op.result)
    if gradient is not None and op.attrs["requires_grad"] and op.operands[0] in reversal.adjoints.active:
        reversal.adjoints.accumulate(level, op.operands[0], gradient)


@reverses("leaf_argument")
def reverse_leaf_argument(reversal: Reversal, level: Level, op: Op) -> None:
    """Add the gradient of an argument that requires grad from here on to that of the argument."""
    gradient = reversal.adjoints.take_defined(level, op.result)
    if gradient is not None and op.operands[0] in reversal.adjoints.active:
        reversal.adjoints.accumulate(level, op.operands[0], gradient)


@reverses("with_data")
def reverse_with_data(reversal: Reversal, level: Level, op: Op) -> None:
    """Add the gradient to that of the tensor whose data were replaced."""
    gradient = reversal.adjoints.take_defined(level, op.result)
    if gradient is not None and op.operands[1] in reversal.adjoints.active:
        reversal.adjoints.accumulate(level, op.operands[1], gradient)


@reverses("as_strided")
def reverse_as_strided(reversal: Reversal, level: Level, op: Op) -> None:
    source, offset = op.operands[0].op, constant_int(op.operands[3])
    if source is not None and source.has("VIEW") and offset != OWN_OFFSET:
        raise not_differentiable(op, "`as_strided` of a view with a storage_offset", "leave storage_offset out")
    reverse_op(reversal, level, op)


class _Arguments:
    """The arguments of a derivative. given: types and known values by name. values: those of `given` that are types."""

    def __init__(self, level: Level, op: Op, gradients: list[Value | None]):
        self.level = level
        self.op = op
        self.gradients = gradients
        self.names = [a.name for a in op.defn.operand_args]
        self.given: dict[str, Any] = {}
        self.values: list[Value] = []

    def add(self, key: str) -> None:
        """Add one argument: a gradient, a result, an operand, its sizes, or an attribute."""
        if (number := _number(key, "grad")) is not None:
            gradient = self.gradients[number]
            self.pass_on(key, self.level.zero(self.op.results[number]) if gradient is None else gradient)
        elif (number := _number(key, "result")) is not None:
            self.pass_on(key, self.level.get(_result_after(self.level, self.op, number)))
        elif key in self.names:
            self.add_operand(key, self.op.operands[self.names.index(key)])
        elif key.endswith("_sizes"):
            sizes = self.level.sizes(self.op.operands[self.names.index(key.removesuffix("_sizes"))], self.op)
            self.given[key] = TupleType(tuple(v.type for v in sizes))
            self.values += sizes
        else:
            (attribute,) = (a for a in self.op.defn.attr_args if a.name == key)
            self.given[key] = self.op.attrs.get(key, attribute.default)

    def pass_on(self, key: str, value: Value) -> None:
        self.given[key] = value.type
        self.values.append(value)

    def add_operand(self, key: str, value: Value) -> None:
        made = value.op
        if made is not None and made.name == "const":
            self.given[key] = made.attrs["value"]
        elif value.type == NONE:
            self.given[key] = None
        elif isinstance(value.type, TupleType):
            if made is None or made.name != "tuple":
                raise not_differentiable(self.op, f"`{self.op.name}` with `{key}` from several paths", "pass its numbers")
            self.given[key] = value.type
            self.values += [self.level.get(v) for v in made.operands]
        elif value.type == COMPLEX:  # given as its parts
            if made is None or made.name != "complex.make":
                raise not_differentiable(self.op, f"`{self.op.name}` with a complex number from several paths")
            self.given[key] = COMPLEX
            self.values += [self.level.get(v) for v in made.operands]
        else:
            self.pass_on(key, self.level.get_at(value, self.op))


def _number(key: str, kind: str) -> int | None:
    """Return the number of a result from a name such as `grad`, `grad0` or `result1`."""
    rest = key.removeprefix(kind)
    if key == kind:
        return 0
    return int(rest) if rest != key and rest.isdigit() else None


def _result_after(level: Level, op: Op, number: int) -> Value:
    """Return a result as it was when the op had run: a copy, if it is written later."""
    result = op.results[number]
    if not isinstance(result.type, TensorType) or result not in level.written:
        return result
    assert op.parent is not None
    if (result, op) not in level.copies:
        level.copies[result, op] = Builder.after(op).build("clone", [result], op.loc)
    return level.copies[result, op]


# ---- sizes and dtypes of gradients ----


def fit(level: Level, op: Op, gradient: Value, operand: Value) -> Value:
    """Sum a gradient up over the dims along which the operand was broadcast, and cast it to the operand's dtype."""
    have, want, builder = gradient.type, operand.type, level.builder
    assert isinstance(have, TensorType) and isinstance(want, TensorType)
    if have.dims is None or want.dims is None:
        raise not_differentiable(op, "a tensor whose rank is known only at run time")
    broadcasts = sum(isinstance(v.type, TensorType) for v in op.operands) > 1
    known = have.dims == want.dims and None not in want.dims
    if (op.has("ELEMENTWISE") or op.name == "copy_") and broadcasts and not known:
        gradient = _summed(level, gradient, operand, op.loc)
    if have.dtype != want.dtype:
        gradient = builder.build("cast", [gradient], op.loc, dtype=want.dtype)
    if gradient.op is not None and not gradient.op.regions:
        gradient.type = _narrowed(gradient.type, want)
    return gradient


def _narrowed(have: Type, want: TensorType) -> Type:
    """Return a type that knows what both know of the sizes of a gradient, which has those of its value."""
    assert isinstance(have, TensorType) and have.dims is not None and want.dims is not None
    return TensorType(want.dtype, tuple(n if m is None else m for n, m in zip(have.dims, want.dims, strict=True)))


def _summed(level: Level, gradient: Value, operand: Value, loc: Loc) -> Value:
    have, want, builder = gradient.type, operand.type, level.builder
    assert isinstance(have, TensorType) and isinstance(want, TensorType)
    assert have.dims is not None and want.dims is not None
    lead = len(have.dims) - len(want.dims)
    if lead:
        gradient = _sum(builder, gradient, tuple(range(lead)), False, loc)
    for d, (n, m) in enumerate(zip(have.dims[lead:], want.dims, strict=True)):
        if n == m and n is not None:
            continue
        if m == 1:
            gradient = _sum(builder, gradient, (d,), True, loc)
        elif not isinstance(m, int):
            gradient = _summed_if_broadcast(level, gradient, operand, d, loc)
    return gradient


def _sum(builder: Builder, gradient: Value, dims: tuple[int, ...], keepdim: bool, loc: Loc) -> Value:
    """Sum a gradient over dims; a complex one by its parts."""
    t = gradient.type
    assert isinstance(t, TensorType)
    if t.dtype not in PARTS:
        return builder.build("sum", [gradient], loc, dim=dims, keepdim=keepdim, dtype=t.dtype)
    parts = builder.build("view_as_real", [gradient], loc)
    total = builder.build("sum", [parts], loc, dim=dims, keepdim=keepdim, dtype=PARTS[t.dtype])
    return builder.build("view_as_complex", [total], loc)


def _summed_if_broadcast(level: Level, gradient: Value, operand: Value, d: int, loc: Loc) -> Value:
    """Sum a dim up if its size in the operand is 1 at run time."""
    builder, t = level.builder, gradient.type
    assert isinstance(t, TensorType) and t.dims is not None
    is_one = builder.build("int.eq", [level.get(size_of(operand, d)), builder.const(1, loc)], loc)
    wide = builder.build("int.ne", [builder.build("size", [gradient], loc, dim=d), builder.const(1, loc)], loc)
    then, orelse = Block(), Block()
    summed = _sum(Builder(then), gradient, (d,), True, loc)
    Builder(then).op("yield", [summed], loc)
    Builder(orelse).op("yield", [gradient], loc)
    condition = builder.build("bool.and_", [is_one, wide], loc)
    dims: tuple[Dim, ...] = (*t.dims[:d], None, *t.dims[d + 1 :])
    return builder.op("if", [condition], loc, regions=[then, orelse], types=[TensorType(t.dtype, dims)]).result
