"""Copies of ops and regions, built in another place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Func, Module, Op, Value
from scriptc.ir.loc import Loc

Mapping = dict[Value, Value]  # values of the original -> values of the copy


def clone_op(
    builder: Builder, op: Op, values: Mapping, *, operands: Sequence[Value] | None = None, loc: Loc | None = None,
    label: Callable[[], str] | None = None,
) -> Op:  # fmt: skip
    """Build a copy of an op, regions included, and add its results to `values`.

    values: replaces operands; values that it lacks stay as they are. operands: those of the copy, if given. loc: the place of
    the copies in the source, if not that of the originals. label: gives the copies of loops and scopes labels of their own.
    """
    given = [values.get(v, v) for v in op.operands] if operands is None else operands
    attrs = dict(op.attrs)
    if label is not None and op.regions and "label" in attrs:
        attrs["label"] = label()
    labels = {op.attrs["label"]: attrs["label"]} if "label" in op.attrs and op.regions else {}
    regions = [_clone_region(region, values, loc, label, labels) for region in op.regions]
    names = [r.name for r in op.results]
    types = [r.type for r in op.results]
    new = builder.insert(Op(op.defn, given, types, attrs, loc or op.loc, regions, names, no_grad=op.no_grad))
    values.update(zip(op.results, new.results, strict=True))
    return new


def clone_module(module: Module) -> Module:
    """Return a copy of a module that shares no function with it."""
    return replace(
        module, funcs={name: clone_func(func) for name, func in module.funcs.items()}, params=dict(module.params),
        entries=list(module.entries), exceptions=dict(module.exceptions), records=dict(module.records),
    )  # fmt: skip


def clone_func(func: Func) -> Func:
    """Return a copy of a function that shares no op with it."""
    return replace(func, body=_clone_region(func.body, {}, None, None, {}))


def _clone_region(
    region: Block, values: Mapping, loc: Loc | None, label: Callable[[], str] | None, labels: dict[str, str]
) -> Block:
    copy = Block([(arg.type, arg.name) for arg in region.args])
    values.update(zip(region.args, copy.args, strict=True))
    builder = Builder(copy)
    for op in region.ops:
        clone_op(builder, op, values, loc=loc, label=label)
    for op in copy.walk():
        if op.attrs.get("to") in labels:
            op.attrs["to"] = labels[op.attrs["to"]]
    return copy


def inline(
    builder: Builder, body: Block, arguments: Sequence[Value], loc: Loc | None, label: Callable[[], str]
) -> tuple[Value, ...]:
    """Build a copy of the body of a function or loop that is left by its last op alone; return what that passes on.

    loc: the place of the copies in the source, if not that of the originals.
    """
    values = dict(zip(body.args, arguments, strict=True))
    for op in body.ops[:-1]:
        clone_op(builder, op, values, loc=loc, label=label)
    last = body.ops[-1]
    assert last.name in ("return", "yield"), "an inlined body ends in its only exit"
    return tuple(values.get(v, v) for v in last.operands)
