"""Structure: `if`, `loop`, `scope` and what leaves them, functions, constants and weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scriptc.backend_c.arguments import LOC, Args, text
from scriptc.backend_c.emitters.registry import emitters
from scriptc.backend_c.value_leaves import Shape, flat_names, flat_types, narrow, unflatten
from scriptc.ir.core import Block, Op
from scriptc.ir.types import INT, NONE, TensorType, Type, is_counted

if TYPE_CHECKING:
    from scriptc.backend_c.lower import Lowerer

EMITTERS, emitter = emitters()


@emitter
def const(low: Lowerer, op: Op) -> Sequence[Shape]:
    if op.result.type == NONE:
        return [()]
    return [low.build("const", (), (op.result.type,), op.loc, value=op.attrs["value"]).result]


@emitter
def undef(low: Lowerer, op: Op) -> Sequence[Shape]:
    return [unflatten(op.result.type, iter([low.undef(t, op.loc) for t in flat_types(op.result.type)]))]


@emitter
def param(low: Lowerer, op: Op) -> Sequence[Shape]:
    return [low.build("c.weight", (), (op.result.type,), op.loc, name=op.attrs["name"]).result]


def _flat(types: Sequence[Type]) -> list[Type]:
    return [leaf for t in types for leaf in flat_types(t)]


def result_names(op: Op) -> list[str]:
    return [name for r in op.results for name in flat_names(r.name, flat_types(r.type))]


@emitter
def if_(low: Lowerer, op: Op) -> Sequence[Shape]:
    condition = low.one(op.operands[0])
    regions = [low.region(region, Block()) for region in op.regions]
    types = _flat([r.type for r in op.results])
    return low.results(op, low.build("if", [condition], types, op.loc, regions=regions, names=result_names(op)))


@emitter
def scope(low: Lowerer, op: Op) -> Sequence[Shape]:
    region = low.region(op.regions[0], Block())
    types = _flat([r.type for r in op.results])
    made = low.build("scope", (), types, op.loc, regions=[region], names=result_names(op), label=op.attrs["label"])
    return low.results(op, made)


def _carried_types(loop_op: Op) -> list[Type]:
    """Return the types that hold the carried values of a loop.

    A counted loop ends with its carried values, so that they have the types of the results.
    """
    if loop_op.attrs["counted"]:
        return [r.type for r in loop_op.results]
    return [a.type for a in loop_op.regions[0].args]


@emitter
def loop(low: Lowerer, op: Op) -> Sequence[Shape]:
    counted, args = op.attrs["counted"], list(op.regions[0].args)
    region, bounds = Block(), []
    if counted:
        bounds = [low.one(v) for v in op.operands[:3]]
        low.bind(args[0], low.new_args(region, INT, args.pop(0).name))
    types = _carried_types(op)
    init = low.widened(op.operands[len(bounds) :], types, op.loc)
    for arg, held in zip(args, types, strict=True):
        low.bind(arg, narrow(low.new_args(region, held, arg.name), held, arg.type))
    low.region(op.regions[0], region)
    made = low.build(
        "loop", [*bounds, *init], _flat([r.type for r in op.results]), op.loc, regions=[region],
        names=result_names(op), label=op.attrs["label"], counted=counted,
    )  # fmt: skip
    return low.results(op, made)


def _leave(low: Lowerer, op: Op, types: Sequence[Type], **attrs: str) -> Sequence[Shape]:
    low.build(op.name, low.widened(op.operands, types, op.loc), (), op.loc, **attrs)
    return []


@emitter
def yield_(low: Lowerer, op: Op) -> Sequence[Shape]:
    assert op.parent is not None and op.parent.parent is not None
    target = op.parent.parent
    carried = "label" in target.attrs and "counted" in target.attrs
    return _leave(low, op, _carried_types(target) if carried else [r.type for r in target.results])


def _target(op: Op) -> Op:
    found = op.enclosing(lambda o: o.attrs.get("label") == op.attrs["to"])
    assert found is not None
    return found


@emitter
def break_(low: Lowerer, op: Op) -> Sequence[Shape]:
    return _leave(low, op, [r.type for r in _target(op).results], to=op.attrs["to"])


@emitter
def continue_(low: Lowerer, op: Op) -> Sequence[Shape]:
    return _leave(low, op, _carried_types(_target(op)), to=op.attrs["to"])


@emitter
def return_(low: Lowerer, op: Op) -> Sequence[Shape]:
    return _leave(low, op, low.func.results)


@emitter
def raise_(low: Lowerer, op: Op) -> Sequence[Shape]:
    low.build("raise", low.operands(op), (), op.loc, type=op.attrs["type"], message=op.attrs["message"])
    return []


@emitter
def print_(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, "sc_print_text", Args(text(op.attrs["format"]), *low.operands(op)))


@emitter
def unreachable(low: Lowerer, op: Op) -> Sequence[Shape]:
    low.build("unreachable", (), (), op.loc)
    return []


@emitter
def call(low: Lowerer, op: Op) -> Sequence[Shape]:
    callee = low.source.funcs[op.attrs["func"]]
    args = low.widened(op.operands, [a.type for a in callee.body.args], op.loc)
    results = callee.results
    if op.results:  # a call may know sizes that its function does not
        results = [r.type if isinstance(t, TensorType) else t for r, t in zip(op.results, results, strict=True)]
    types = _flat(results)
    counted = op.attrs["func"] in low.recursive
    if counted:
        low.call(op, "sc_enter", Args())
    made = low.build("call", args, types, op.loc, names=result_names(op) if op.results else (), func=op.attrs["func"])
    if counted:
        low.call(op, "sc_leave", Args())
    leaves = iter(made.results)
    return [unflatten(t, leaves) for t in results]


@emitter
def warn(low: Lowerer, op: Op) -> Sequence[Shape]:
    args = Args(LOC, text(op.attrs["category"]), text(op.attrs["message"]), *low.operands(op))
    return low.call(op, "sc_warn_text", args)


@emitter
def state_set(low: Lowerer, op: Op) -> Sequence[Shape]:
    args = Args(op.attrs["target"], op.attrs["form"], len(op.operands))
    kinds = "".join("o" if is_counted(v.type) else "n" for v in op.operands)
    args.leaves("leaves", [v.type for v in op.operands], low.operands(op))
    return low.call(op, "sc_state_set", args.add(text(kinds)))
