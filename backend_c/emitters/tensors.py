"""Sizes of tensors, which are read in place, and tensor ops whose calls differ from their schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scriptc.backend_c.arguments import REUSE, Args, dtype, enum
from scriptc.backend_c.emitters.registry import emitters
from scriptc.backend_c.value_leaves import Shape, flatten
from scriptc.ir.core import Attr, Op, Value
from scriptc.ir.dtypes import FLOATING, INEXACT
from scriptc.ir.ops.rules import tensor
from scriptc.ir.types import BOOL, FLOAT, INT, TensorType

if TYPE_CHECKING:
    from scriptc.backend_c.lower import Lowerer

EMITTERS, emitter = emitters()


def _dtype(op: Op) -> Attr:
    assert isinstance(op.result.type, TensorType)
    return dtype(op.result.type.dtype)


@emitter
def size(low: Lowerer, op: Op) -> Sequence[Shape]:
    (x,), dim = op.operands, op.attrs["dim"]
    assert isinstance(x.type, TensorType)
    if x.type.dims is None:
        if dim < 0:
            return [low.expr("c.size_back", [low.one(x)], INT, op, dim=-dim)]
        return [low.expr("c.size", [low.one(x)], INT, op, dim=dim)]
    known = x.type.dims[dim]
    if isinstance(known, int):
        return [low.const(known, op.loc)]
    return [low.expr("c.size", [low.one(x)], INT, op, dim=dim % x.type.rank)]


@emitter
def view(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, f"sc_{op.name}", low.schema_args(op), op.result.type)


@emitter
def linked(low: Lowerer, op: Op) -> Sequence[Shape]:
    return [low.one(op.operands[0])]


@emitter
def user_gradient(low: Lowerer, op: Op) -> Sequence[Shape]:
    return []


@emitter
def checkpoint_mark(low: Lowerer, op: Op) -> Sequence[Shape]:
    return []


@emitter
def view_dtype(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, "sc_view_dtype", Args(low.one(op.operands[0]), _dtype(op)), op.result.type)


EMITTERS |= {name: view for name in ("parts", "conv2d", "conv_transpose2d", "max_pool2d", "avg_pool2d")}


@emitter
def placed(low: Lowerer, op: Op) -> Sequence[Shape]:
    fixed = [a for a in op.defn.args if a.name != "where"]
    where = [low.one(v) for v in op.operands[sum(a.is_operand for a in fixed) :]]
    before = _prologue(low, op)
    args = low.schema_args(op, fixed, first=before).add(where[0] if where else False, where[1] if len(where) > 1 else None)
    return low.call(op, "sc_conv2d_prologue" if before else f"sc_{op.name}", args, op.result.type)


def _prologue(low: Lowerer, op: Op) -> Args | None:
    """Return the arguments that a convolution of an image with a prologue takes first."""
    made = op.operands[1].op
    if made is None or made.name != "with_prologue":
        return None
    return low.schema_args(made, [a for a in made.defn.args if a.name != "packed"])


@emitter
def with_prologue(low: Lowerer, op: Op) -> Sequence[Shape]:
    return [low.one(op.operands[3])]  # the convolution takes the other operands


@emitter
def join(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, f"sc_{op.name}", low.schema_args(op).add(_dtype(op)), op.result.type)


@emitter
def cat_items(low: Lowerer, op: Op) -> Sequence[Shape]:
    kernel = "sc_cat_channels" if op.attrs.get("in_place") else "sc_cat_items"
    return low.call(op, kernel, _tensors(low, op).add(op.attrs["dim"]).add(_dtype(op)), op.result.type)


@emitter
def stacked_join(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, "sc_stacked_join", low.schema_args(op).add(_dtype(op)), op.result.type)


@emitter
def layer_norm_backward(low: Lowerer, op: Op) -> Sequence[Shape]:
    args, (of_input, of_weight) = low.schema_args(op), op.results
    if of_weight.uses:
        return low.call(op, "sc_layer_norm_backward", args, of_input.type, of_weight.type)
    return [*low.call(op, "sc_layer_norm_backward_input", args, of_input.type), low.undef(of_weight.type, op.loc)]


@emitter
def reduce(low: Lowerer, op: Op) -> Sequence[Shape]:
    x, *rest = (a for a in op.defn.args if a.name not in ("first", "equal_nan"))  # which concern gradients alone
    args = low.schema_args(op, [x]).add(enum(f"SC_{op.name.upper()}"))
    return low.call(op, "sc_reduce", low.schema_args(op, rest, first=args), op.result.type)


@emitter
def arg_reduce(low: Lowerer, op: Op) -> Sequence[Shape]:
    """Reduce over one dim, or over the flattened tensor; that result keeps dims of size 1 if asked to."""
    args = Args(low.one(op.operands[0]), enum(f"SC_{op.name.upper()}"))
    if op.attrs["dim"] is not None:
        args.add(op.attrs["dim"], op.attrs["keepdim"])
        return low.call(op, "sc_arg_reduce", args, op.result.type)
    t = op.result.type
    assert isinstance(t, TensorType)
    if not t.rank:
        return low.call(op, "sc_arg_reduce_all", args, t)
    (flat,) = low.call(op, "sc_arg_reduce_all", args, TensorType(t.dtype, ()))
    assert isinstance(flat, Value)
    return low.call(op, "sc_view", Args(flat).sizes([1] * t.rank).add(t.rank), t)


@emitter
def scan(low: Lowerer, op: Op) -> Sequence[Shape]:
    args = Args(low.one(op.operands[0]), enum(f"SC_{op.name.upper()}"), op.attrs["dim"], _dtype(op))
    return low.call(op, "sc_scan", args, op.result.type)


@emitter
def pad(low: Lowerer, op: Op) -> Sequence[Shape]:
    amounts = flatten(low.get(op.operands[1]))
    args = Args(low.one(op.operands[0])).sizes(amounts)
    args.add(len(amounts), enum(f"SC_PAD_{op.attrs['mode'].upper()}"))
    return low.call(op, "sc_pad", args, op.result.type)


@emitter
def scatter(low: Lowerer, op: Op) -> Sequence[Shape]:
    args = low.schema_args(op, [a for a in op.defn.args if a.name not in ("reduce", "include_self")])
    args.add(enum(f"SC_SCATTER_{op.attrs['reduce'].upper()}"), op.attrs["include_self"], REUSE)
    return low.call(op, "sc_scatter", args, op.result.type)


@emitter
def full(low: Lowerer, op: Op) -> Sequence[Shape]:
    items, value = flatten(low.get(op.operands[0])), low.one(op.operands[1])
    args = Args(_dtype(op)).sizes(items).add(len(items))
    if op.attrs["dtype"] in INEXACT:
        args.add(_as_float(low, op, value), 0)
    elif op.attrs["dtype"] == "bool":
        args.add(0, low.expr("c.cast", [value], BOOL, op))
    elif value.type == FLOAT:
        args.add(value, low.expr("c.cast", [value], INT, op))
    else:
        args.add(0, value)
    return low.call(op, "sc_full", args, op.result.type)


def _as_float(low: Lowerer, op: Op, value: Value) -> Value:
    """Return a number as a double."""
    if value.type == FLOAT:
        return value
    if value.op is not None and value.op.name == "const":
        return low.const(float(value.op.attrs["value"]), op.loc)
    return low.expr("c.cast", [value], FLOAT, op)


@emitter
def empty(low: Lowerer, op: Op) -> Sequence[Shape]:
    items = flatten(low.get(op.operands[0]))
    return low.call(op, "sc_empty", Args(_dtype(op), len(items)).sizes(items), op.result.type)


@emitter
def arange(low: Lowerer, op: Op) -> Sequence[Shape]:
    whole = op.attrs["dtype"] not in FLOATING and all(v.type in (INT, BOOL) for v in op.operands)
    fn = "sc_arange_int" if whole else "sc_arange"
    return low.call(op, fn, Args(_dtype(op), *low.operands(op)), op.result.type)


def _tensors(low: Lowerer, op: Op) -> Args:
    return Args().tensors(low.operands(op)).add(len(op.operands))


@emitter
def concat(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, f"sc_{op.name}", _tensors(low, op), op.result.type)


@emitter
def suggests_channels_last(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, "sc_suggests_channels_last", _tensors(low, op), op.result.type)


@emitter
def outer_sum_add(low: Lowerer, op: Op) -> Sequence[Shape]:
    total, *matrices = low.operands(op)
    return low.call(op, "sc_outer_sum_add", Args(total).tensors(matrices).add(len(matrices)))


@emitter
def pack_kept(low: Lowerer, op: Op) -> Sequence[Shape]:
    store = op.attrs["store"] or tensor(op.operands[0]).dtype
    args = _tensors(low, op).add(op.attrs["slot"], dtype(store))
    return low.call(op, "sc_pack_linear_kept", args, op.result.type)


@emitter
def kept_has(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, "sc_has_kept", Args(op.attrs["slot"]), BOOL)


@emitter
def kept_get(low: Lowerer, op: Op) -> Sequence[Shape]:
    fn = "sc_kept_tensor" if isinstance(op.result.type, TensorType) else "sc_kept_packed"
    return low.call(op, fn, Args(op.attrs["slot"]), op.result.type)


@emitter
def kept_put(low: Lowerer, op: Op) -> Sequence[Shape]:
    fn = "sc_keep_tensor" if isinstance(op.operands[0].type, TensorType) else "sc_keep_packed"
    return low.call(op, fn, Args(op.attrs["slot"], *low.operands(op)))


@emitter
def linear_packed(low: Lowerer, op: Op) -> Sequence[Shape]:
    args = low.schema_args(op, op.defn.operand_args)
    return low.call(op, "sc_linear_packed", args, op.result.type)


@emitter
def linear_activated(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, "sc_linear_activated", low.schema_args(op, op.defn.operand_args), op.result.type)


@emitter
def linear_add(low: Lowerer, op: Op) -> Sequence[Shape]:
    args = low.schema_args(op, op.defn.operand_args).add(op.attrs["first"])
    return low.call(op, "sc_linear_add", args, op.result.type)


@emitter
def linear_rows(low: Lowerer, op: Op) -> Sequence[Shape]:
    args = low.schema_args(op, op.defn.operand_args)
    of_tensor = isinstance(op.operands[1].type, TensorType)
    if of_tensor:
        args.add(op.attrs["dim"])
    args.add(op.attrs["step"], op.attrs["sure"])
    return low.call(op, "sc_linear_rows" if of_tensor else "sc_linear_items", args, op.result.type)


@emitter
def random_fill(low: Lowerer, op: Op) -> Sequence[Shape]:
    dst, a, b = low.operands(op)
    return low.call(op, "sc_random_fill", Args(dst, enum(f"SC_RANDOM_{op.attrs['kind'].upper()}"), a, b))
