"""Tensor ops whose calls are not spelled like their schema, and sizes, which are read in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scriptc.backend_c.args import REUSE, Args
from scriptc.backend_c.emitters.registry import emitters
from scriptc.backend_c.literals import c_const
from scriptc.backend_c.values import Shape, flatten
from scriptc.ir.core import Op, Value
from scriptc.ir.dtypes import C_ENUM, FLOATING, INEXACT
from scriptc.ir.ops.rules import tensor
from scriptc.ir.types import BOOL, FLOAT, INT, TensorType

if TYPE_CHECKING:
    from scriptc.backend_c.lower import Lowerer

EMITTERS, emitter = emitters()


def _dtype(op: Op) -> str:
    assert isinstance(op.result.type, TensorType)
    return C_ENUM[op.result.type.dtype]


@emitter
def size(low: Lowerer, op: Op) -> Sequence[Shape]:
    (x,), dim = op.operands, op.attrs["dim"]
    assert isinstance(x.type, TensorType)
    if x.type.dims is None:
        text = f"{{0}}->size[{dim}]" if dim >= 0 else f"{{0}}->size[{{0}}->rank - {-dim}]"
        return [low.expr(text, [low.one(x)], INT, op)]
    known = x.type.dims[dim]
    if isinstance(known, int):
        return [low.const(known, op.loc)]
    return [low.expr(f"{{0}}->size[{dim % x.type.rank}]", [low.one(x)], INT, op)]


@emitter
def view(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, f"sc_{op.name}", low.schema_args(op, Args("cx")), op.result.type)


@emitter
def linked(low: Lowerer, op: Op) -> Sequence[Shape]:
    return [low.one(op.operands[0])]


@emitter
def view_dtype(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, "sc_view_dtype", Args("cx", low.one(op.operands[0]), _dtype(op)), op.result.type)


EMITTERS |= {name: view for name in ("parts", "conv2d", "conv_transpose2d", "max_pool2d", "avg_pool2d")}


@emitter
def join(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, f"sc_{op.name}", low.schema_args(op, Args("cx")).add(_dtype(op)), op.result.type)


@emitter
def stacked_join(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, "sc_stacked_join", low.schema_args(op, Args("cx")).add(_dtype(op)), op.result.type)


@emitter
def reduce(low: Lowerer, op: Op) -> Sequence[Shape]:
    x, *rest = op.defn.args
    args = low.schema_args(op, Args("cx"), [x]).add(f"SC_{op.name.upper()}")
    return low.call(op, "sc_reduce", low.schema_args(op, args, rest), op.result.type)


@emitter
def arg_reduce(low: Lowerer, op: Op) -> Sequence[Shape]:
    """Over one dim, or over the flattened tensor, whose result keeps dims of size 1 if asked to."""
    args = Args("cx", low.one(op.operands[0]), f"SC_{op.name.upper()}")
    if op.attrs["dim"] is not None:
        args.add(c_const(op.attrs["dim"]), c_const(op.attrs["keepdim"]))
        return low.call(op, "sc_arg_reduce", args, op.result.type)
    t = op.result.type
    assert isinstance(t, TensorType)
    if not t.rank:
        return low.call(op, "sc_arg_reduce_all", args, t)
    (flat,) = low.call(op, "sc_arg_reduce_all", args, TensorType(t.dtype, ()))
    assert isinstance(flat, Value)
    return low.call(op, "sc_view", Args("cx", flat).array(["1"] * t.rank).add(str(t.rank)), t)


@emitter
def scan(low: Lowerer, op: Op) -> Sequence[Shape]:
    args = Args("cx", low.one(op.operands[0]), f"SC_{op.name.upper()}", c_const(op.attrs["dim"]), _dtype(op))
    return low.call(op, "sc_scan", args, op.result.type)


@emitter
def pad(low: Lowerer, op: Op) -> Sequence[Shape]:
    amounts = flatten(low.get(op.operands[1]))
    args = Args("cx", low.one(op.operands[0])).array(amounts).add(str(len(amounts)), f"SC_PAD_{op.attrs['mode'].upper()}")
    return low.call(op, "sc_pad", args, op.result.type)


@emitter
def scatter(low: Lowerer, op: Op) -> Sequence[Shape]:
    args = low.schema_args(op, Args("cx"), [a for a in op.defn.args if a.name not in ("reduce", "include_self")])
    args.add(f"SC_SCATTER_{op.attrs['reduce'].upper()}", c_const(op.attrs["include_self"]), REUSE)
    return low.call(op, "sc_scatter", args, op.result.type)


@emitter
def full(low: Lowerer, op: Op) -> Sequence[Shape]:
    items, value = flatten(low.get(op.operands[0])), low.one(op.operands[1])
    args = Args("cx", _dtype(op)).array(items).add(str(len(items)))
    if op.attrs["dtype"] in INEXACT:
        args.add(_as_float(low, op, value), "0")
    elif op.attrs["dtype"] == "bool":
        args.add("0", f"({args.slot(value)} != 0)")
    elif value.type == FLOAT:
        args.add(value, f"sc_f64_to_i64({args.slot(value)})")
    else:
        args.add("0", value)
    return low.call(op, "sc_full", args, op.result.type)


def _as_float(low: Lowerer, op: Op, value: Value) -> Value:
    """A number as a double."""
    if value.type == FLOAT:
        return value
    if value.op is not None and value.op.name == "const":
        return low.const(float(value.op.attrs["value"]), op.loc)
    return low.expr("(double){0}", [value], FLOAT, op)


@emitter
def empty(low: Lowerer, op: Op) -> Sequence[Shape]:
    items = flatten(low.get(op.operands[0]))
    return low.call(op, "sc_empty", Args("cx", _dtype(op), str(len(items))).array(items), op.result.type)


@emitter
def arange(low: Lowerer, op: Op) -> Sequence[Shape]:
    whole = op.attrs["dtype"] not in FLOATING and all(v.type in (INT, BOOL) for v in op.operands)
    fn = "sc_arange_int" if whole else "sc_arange"
    return low.call(op, fn, Args("cx", _dtype(op), *low.operands(op)), op.result.type)


def _tensors(low: Lowerer, op: Op) -> Args:
    return Args("cx").array(low.operands(op), "sc_tensor *").add(str(len(op.operands)))


@emitter
def concat(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, f"sc_{op.name}", _tensors(low, op), op.result.type)


@emitter
def pack_kept(low: Lowerer, op: Op) -> Sequence[Shape]:
    store = op.attrs["store"] or tensor(op.operands[0]).dtype
    args = _tensors(low, op).add(str(op.attrs["slot"]), C_ENUM[store])
    return low.call(op, "sc_pack_linear_kept", args, op.result.type)


@emitter
def kept_has(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, "sc_has_kept", Args("cx", str(op.attrs["slot"])), BOOL, fails="never")


@emitter
def kept_get(low: Lowerer, op: Op) -> Sequence[Shape]:
    fn = "sc_kept_tensor" if isinstance(op.result.type, TensorType) else "sc_kept_packed"
    return low.call(op, fn, Args("cx", str(op.attrs["slot"])), op.result.type, fails="never")


@emitter
def kept_put(low: Lowerer, op: Op) -> Sequence[Shape]:
    fn = "sc_keep_tensor" if isinstance(op.operands[0].type, TensorType) else "sc_keep_packed"
    return low.call(op, fn, Args("cx", str(op.attrs["slot"]), *low.operands(op)))


@emitter
def linear_packed(low: Lowerer, op: Op) -> Sequence[Shape]:
    args = low.schema_args(op, Args("cx"), op.defn.operand_args)
    return low.call(op, "sc_linear_packed", args, op.result.type)


@emitter
def linear_add(low: Lowerer, op: Op) -> Sequence[Shape]:
    args = low.schema_args(op, Args("cx"), op.defn.operand_args).add(c_const(op.attrs["first"]))
    return low.call(op, "sc_linear_add", args, op.result.type)


@emitter
def linear_rows(low: Lowerer, op: Op) -> Sequence[Shape]:
    args = low.schema_args(op, Args("cx"), op.defn.operand_args)
    of_tensor = isinstance(op.operands[1].type, TensorType)
    if of_tensor:
        args.add(c_const(op.attrs["dim"]))
    args.add(c_const(op.attrs["step"]), c_const(op.attrs["sure"]))
    return low.call(op, "sc_linear_rows" if of_tensor else "sc_linear_items", args, op.result.type)


@emitter
def random_fill(low: Lowerer, op: Op) -> Sequence[Shape]:
    dst, a, b = low.operands(op)
    return low.call(op, "sc_random_fill", Args("cx", dst, f"SC_RANDOM_{op.attrs['kind'].upper()}", a, b))
