"""Move the code that computes kept values from frozen weights into functions, which layers of all sizes share.

    %p = if %k -> (packed) {                              %p = if %k -> (packed) {
      %a = kept.get() {slot = 0}                            %a = kept.get() {slot = 0}
      yield(%a)                                             yield(%a)
    } else {                                              } else {
      %s = mul(%w, %v)                            =>        %b = call(%w, %v) {func = "f.kept"}
      %b = pack_conv(%s, %none) {depthwise = false}         kept.put(%b) {slot = 0}
      kept.put(%b) {slot = 0}                               yield(%b)
      yield(%b)                                           }
    }
                                                          func @f.kept(%w: f32[?, ?, ?, ?], ...) -> (packed) {
                                                            ...

The code runs once, so a call costs nothing, and the C compiler reads it once. The function knows the ranks of its tensors, but
not their sizes; ints are arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scriptc.ir.builder import Builder
from scriptc.ir.cloning import clone_op
from scriptc.ir.core import Block, Func, Module, Op, Value
from scriptc.ir.printer import print_func
from scriptc.ir.types import INT, TensorType, Type


def _without_sizes(t: Type) -> Type:
    return TensorType(t.dtype, (None,) * len(t.dims)) if isinstance(t, TensorType) and t.dims is not None else t


class _Code:
    """Ops, with the tuples and constants that they use. given: what they use besides; results: what the last op computes."""

    def __init__(self, ops: Sequence[Op]):
        self.results, self.loc = ops[-1].results, ops[-1].loc
        self.ops: dict[Op, None] = {}
        self.given: dict[Value, None] = {}
        own = {value for op in ops for value in op.results}
        for op in ops:
            self._add(op, own)

    def _add(self, op: Op, own: set[Value]) -> None:
        for value in op.operands:
            if value in own or (value.op is not None and value.op in self.ops):
                continue
            made = value.op
            if made is not None and (made.name == "tuple" or (made.name == "const" and value.type != INT)):
                self._add(made, own)
            else:
                self.given[value] = None
        self.ops[op] = None

    def function(self, name: str, *, named: bool) -> Func:
        """Return a function that takes the given values and computes the results. named: keep the names of values."""
        body = Block([(_without_sizes(v.type), v.name if named else "") for v in self.given])
        b, values = Builder(body), dict(zip(self.given, body.args, strict=True))
        for op in self.ops:
            clone_op(b, op, values)
        for op in body.walk():
            for value in (*op.results, *(arg for region in op.regions for arg in region.args)):
                value.type = _without_sizes(value.type)
                value.name = value.name if named else ""
        results = [values[v] for v in self.results]
        b.op("return", results, self.loc)
        return Func(name, body, [v.type for v in results], self.loc)


def _computed(choice: Op) -> list[Op]:
    """Return the ops of a choice that compute values unless they are kept, if they are several."""
    if choice.name != "if" or len(choice.regions[1].ops) < 2 or choice.regions[1].ops[-2].name != "kept.put":
        return []
    ops = [op for op in choice.regions[1].ops[:-1] if op.name != "kept.put"]
    return ops if len(ops) > 1 and all(op.has("PURE") for op in ops) else []


def _outline(ops: Sequence[Op], name: str, made: dict[str, Func]) -> None:
    code = _Code(ops)
    key = print_func(code.function(name, named=False))
    if key not in made:
        made[key] = code.function(f"{name}{len(made) or ''}", named=True)
    b, types = Builder.after(ops[-1]), [value.type for value in code.results]
    names = [value.name for value in code.results]
    call = b.op("call", list(code.given), code.loc, types=types, names=names, func=made[key].name)
    for value, called in zip(code.results, call.results, strict=True):
        value.replace_all_uses(called)
    for op in reversed(ops):
        op.erase()


def run(module: Module, options: Mapping[str, int]) -> bool:
    changed = False
    for func in list(module.funcs.values()):
        made: dict[str, Func] = {}
        for ops in [ops for choice in func.body.walk() if (ops := _computed(choice))]:
            _outline(ops, f"{func.name}.kept", made)
            changed = True
        module.funcs |= {outlined.name: outlined for outlined in made.values()}
    return changed
