"""All operators: one row each, in families. `OPS` is the only table; every stage looks ops up in it."""

from __future__ import annotations

from scriptc.ir.opdef import OpDef
from scriptc.ir.ops import (
    boxes,
    checks,
    containers,
    contractions,
    creation,
    dicts,
    exceptions,
    extern,
    images,
    indexing,
    integers,
    linalg,
    loops,
    memory,
    normalization,
    objects,
    pointwise,
    random,
    reductions,
    scalars,
    scans,
    signs,
    special,
    strings,
    structure,
    views,
)

OPS: dict[str, OpDef] = {}
for _family in (
    structure, exceptions, scalars, strings, containers, dicts, objects, checks, memory, creation, pointwise,
    special, reductions, normalization, scans, indexing, views, contractions, linalg, images,
    signs, integers, boxes, loops, random, extern,
):  # fmt: skip
    for _row in _family.ROWS:
        if _row.name in OPS:
            raise ValueError(f"op {_row.name} is declared twice")
        OPS[_row.name] = _row
