"""`try`, and the cells that carry values to its handler.

The handler begins by taking the error out of the context as an object. A cell is a C variable for each leaf of its
value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scriptc.backend_c.arguments import Args
from scriptc.backend_c.emitters.control import result_names
from scriptc.backend_c.emitters.registry import emitters
from scriptc.backend_c.value_leaves import Shape, flat_types, flatten, unflatten
from scriptc.ir.core import Block, Op, Value
from scriptc.ir.exceptions import derived
from scriptc.ir.types import EXC, INT, CellType, Type

if TYPE_CHECKING:
    from scriptc.backend_c.lower import Lowerer

EMITTERS, emitter = emitters()


@emitter
def try_(low: Lowerer, op: Op) -> Sequence[Shape]:
    depth = low.expr("c.depth", (), INT, op)  # calls that fail do not count themselves out
    body = low.region(op.regions[0], Block())
    handler = Block()
    with low.builder.at(handler):
        (caught,) = low.call(op, "sc_catch", Args(depth), EXC)
        for arg in op.regions[1].args:
            low.bind(arg, caught)
    low.region(op.regions[1], handler)
    types = [leaf for r in op.results for leaf in flat_types(r.type)]
    made = low.build("try", (), types, op.loc, regions=[body, handler], names=result_names(op))
    return low.results(op, made)


@emitter
def reraise(low: Lowerer, op: Op) -> Sequence[Shape]:
    low.build("reraise", low.operands(op), (), op.loc)
    return []


@emitter
def exc_is(low: Lowerer, op: Op) -> Sequence[Shape]:
    names = op.attrs["classes"] if op.attrs["exact"] else derived(low.source, op.attrs["classes"])
    return [low.expr("c.exc_is", low.operands(op), op.result.type, op, classes=tuple(names))]


def _held(op: Op) -> Type:
    cell = op.operands[0].type if op.operands and isinstance(op.operands[0].type, CellType) else op.result.type
    assert isinstance(cell, CellType)
    return cell.item


@emitter
def cell_new(low: Lowerer, op: Op) -> Sequence[Shape]:
    leaves = low.widened(op.operands, [_held(op)], op.loc)
    made = [low.build("c.cell", [v], (t,), op.loc).result for v, t in zip(leaves, flat_types(_held(op)), strict=True)]
    for value in made:
        value.name = op.result.name
    return [tuple(made)]


def _cells(low: Lowerer, op: Op) -> list[Value]:
    return flatten(low.get(op.operands[0]))


@emitter
def cell_get(low: Lowerer, op: Op) -> Sequence[Shape]:
    leaves = [low.build("c.get", [cell], (cell.type,), op.loc).result for cell in _cells(low, op)]
    return [unflatten(_held(op), iter(leaves))]


@emitter
def cell_set(low: Lowerer, op: Op) -> Sequence[Shape]:
    leaves = low.widened(op.operands[1:], [_held(op)], op.loc)
    for cell, value in zip(_cells(low, op), leaves, strict=True):
        low.build("c.set", [cell, value], (), op.loc)
    return []
