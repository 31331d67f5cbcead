"""Drop the bounds checks of indices that are proved in bounds.

    %prime = list.repeat(%one, %n)                    %prime = list.repeat(%one, %n)
    loop L carry (%j: i64 = %start) {                 loop L carry (%j: i64 = %start) {
      %t = int.lt(%j, %n)                               %t = int.lt(%j, %n)
      if %t { yield() } else { break() }       =>       if %t { yield() } else { break() }
      list.set(%prime, %j, %no)                         list.put(%prime, %j, %no)
      %k = int.add(%j, %i)                              %k = int.add(%j, %i)
      yield(%k)                                         yield(%k)

`ir.bounds` proves them, in loops only, as a check elsewhere costs little. The pass runs late, as an item that is read without a
check must stay behind the condition that proves the index.
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.bounds import Bounds
from scriptc.ir.builder import Builder
from scriptc.ir.core import Func, Module
from scriptc.ir.regions import is_loop

_PROVED = {"list.get": "list.at", "list.set": "list.put"}


def _run(func: Func) -> bool:
    indexing = [op for op in func.body.walk() if op.name in _PROVED and op.enclosing(is_loop)]
    if not indexing:
        return False
    bounds = Bounds(func.body)
    proved = [op for op in indexing if bounds.is_index(op.operands[1], op.operands[0], op)]
    for op in proved:
        new = Builder.before(op).op(_PROVED[op.name], op.operands, op.loc, types=[r.type for r in op.results])
        op.replace_with(new.results)
    return bool(proved)


def run(module: Module, options: Mapping[str, int]) -> bool:
    return any([_run(func) for func in module.funcs.values()])
