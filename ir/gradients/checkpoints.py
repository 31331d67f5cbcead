"""Code that backward code runs again, in place of keeping its values: the op `checkpoint` around it.

    checkpoint.begin() {preserve = true}         %y = checkpoint() {...} do {
    %h = matmul(%x, %w)                            %h = matmul(%x, %w)
    %y = tanh(%h)                          =>      %t = tanh(%h)
    checkpoint.end()                               yield(%t)
    return(%y)                                   }
                                                 return(%y)

The front end marks the code of a function that `torch.utils.checkpoint.checkpoint` is called with.
"""

from __future__ import annotations

from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Module, Op
from scriptc.ir.regions import ancestor_in

_OUTSIDE = ("const", "param", "undef")
_BEGIN, _END = "checkpoint.begin", "checkpoint.end"


def gather(module: Module) -> None:
    """Replace the marks of a module by `checkpoint` ops. A mark without the other one of its block is dropped."""
    for func in module.funcs.values():
        for number, op in enumerate([op for op in func.body.walk() if op.name == _END]):
            begin = _begin_of(op)
            if begin is not None:
                enclose(begin, op, f"C{number}", preserve=bool(begin.attrs["preserve"]), repeats=True)
        drop_marks(func.body)


def drop_marks(block: Block) -> bool:
    """Drop the marks of a block and of all that is nested in it. Return whether there were any."""
    marks = [op for op in block.walk() if op.name in (_BEGIN, _END)]
    for op in marks:
        op.erase()
    return bool(marks)


def flatten_module(module: Module) -> None:
    """Replace the `checkpoint` ops of all functions of a module by the code of their regions."""
    for func in module.funcs.values():
        flatten(func.body)


def flatten(block: Block) -> None:
    """Replace the `checkpoint` ops of a block, and of all that is nested in it, by the code of their regions."""
    for op in [op for op in block.walk() if op.name == "checkpoint"]:
        assert op.parent is not None
        last = op.regions[0].ops[-1]
        values = list(last.operands)
        last.erase()
        for inner in list(op.regions[0].ops):
            inner.detach()
            op.parent.insert_before(op, inner)
        op.replace_with(values)


def enclose(first: Op, last: Op, label: str, *, preserve: bool, repeats: bool) -> Op:
    """Move the ops from `first` to `last` into the region of a `checkpoint` op in their place; return that op.

    Constants and weights stay in front of the op, where all code finds them.
    """
    block = first.parent
    assert block is not None
    start, end = block.ops.index(first), block.ops.index(last) + 1
    moved, after = [op for op in block.ops[start:end] if op.name not in _OUTSIDE], block.ops[end]
    region = Block()
    for op in moved:
        op.detach()
        region.append(op)
    results = [r for op in moved for r in op.results]
    leaving = [r for r in results if any(ancestor_in(region, user) is None for user in r.users())]
    Builder(region).op("yield", leaving, last.loc)
    made = Builder.before(after).op(
        "checkpoint", [], first.loc, regions=[region], types=[r.type for r in leaving], names=[r.name for r in leaving],
        label=label, preserve=preserve, repeats=repeats,
    )  # fmt: skip
    for inside, outside in zip(leaving, made.results, strict=True):
        for user, i in [(user, i) for (_, i), user in inside.uses.items()]:
            if ancestor_in(region, user) is None:
                user.set_operand(i, outside)
    return made


def _begin_of(end: Op) -> Op | None:
    """Return the mark in the same block that an end mark belongs to."""
    assert end.parent is not None
    for op in reversed(end.parent.ops[: end.parent.ops.index(end)]):
        if op.name == _BEGIN:
            return op
    return None
