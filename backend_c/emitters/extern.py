"""Calls of C functions of extensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scriptc.backend_c.arguments import Args, function, text
from scriptc.backend_c.c_types import list_member
from scriptc.backend_c.emitters.registry import emitters
from scriptc.backend_c.value_leaves import Shape
from scriptc.ir.core import Attr, Op
from scriptc.ir.extern import LIBRARIES, trampoline_name
from scriptc.ir.types import FLOAT, STR

if TYPE_CHECKING:
    from scriptc.backend_c.lower import Lowerer

EMITTERS, emitter = emitters()

_LETTERS = {"tensor": "t", "int": "i", "float": "f", "bool": "b", "str": "s"}


@emitter
def extern_call(low: Lowerer, op: Op) -> Sequence[Shape]:
    key, name = op.attrs["library"], op.attrs["function"]
    prototype = LIBRARIES[key].prototype(name)
    args, leaves, kinds = Args(function(trampoline_name(key, name)), text(name)), list[Attr](), ""
    for i, ((label, t), value) in enumerate(zip(prototype.parameters, op.operands, strict=True)):
        if value.type == STR:
            assert value.op is not None
            leaves.append(("p", text(value.op.attrs["value"])))
        else:
            leaves.append((list_member(value.type), args.entry(low.one(value))))
        if t.kind == "int" and t.bits == 64 and not t.signed:
            kinds += "u%"
            leaves.append(("p", text(f"{name}: {label} is %lld, which does not fit {t.text}")))
        else:
            kinds += "w" if i in op.attrs["written"] else _LETTERS[t.kind]
    args.add(text(kinds), len(leaves), ("leaves", *leaves))
    if not op.results:
        return low.call(op, "sc_extern_call", args)
    return low.call(op, "sc_extern_call_f64" if op.result.type == FLOAT else "sc_extern_call_i64", args, op.result.type)


@emitter
def extern_written(low: Lowerer, op: Op) -> Sequence[Shape]:
    return []
