"""Merge ops that have the same name, operands and attributes, if the first dominates the second.

    check(%x, %y) {of = "add"}                        check(%x, %y) {of = "add"}
    %a = add(%x, %y)                                  %a = add(%x, %y)
    check(%x, %y) {of = "add"}                  =>    %c = mul(%a, %a)
    %b = add(%x, %y)
    %c = mul(%a, %b)

A second check is dropped too: if the first raises, the second is not reached. Not merged are readers with a
write to what they read in between, and new objects that could be told apart: both escape, or one may be written.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Hashable, Mapping

from scriptc.ir.analysis import (
    Origins,
    escapes,
    interferes,
    is_reference,
    may_write,
    only_raises,
    shares_memory,
    writers,
)
from scriptc.ir.core import Block, Module, Op, Value
from scriptc.ir.printer import format_attr
from scriptc.ir.regions import is_loop
from scriptc.ir.rewrite import fits
from scriptc.ir.types import TensorType


def _order_is_free(op: Op) -> bool:
    """Return whether swapped operands give the same result. With two tensors of rank above 1, the first decides the
    strides."""
    tensors = [v.type for v in op.operands if isinstance(v.type, TensorType)]
    return op.has("COMMUTATIVE") and sum(t.dims is None or len(t.dims) > 1 for t in tensors) < 2


def _key(op: Op) -> Hashable:
    operands = tuple(sorted(op.operands, key=id)) if _order_is_free(op) else op.operands
    attrs = tuple((name, format_attr(value)) for name, value in sorted(op.attrs.items()))  # 1, 1.0 and true differ
    given = () if operands else tuple(str(r.type) for r in op.results)  # two `undef` differ only in type
    return op.name, operands, attrs, given


def _can_merge(op: Op) -> bool:
    return not op.regions and (op.has("PURE") or only_raises(op))


class _Merger:
    def __init__(self, body: Block) -> None:
        self.writers = list(writers(body))  # of the function; no merged op is one
        self.written: list[Op] = []  # writers, in an order in which they may have run
        self.known = Origins()
        self.changed = False

    def block(self, block: Block, seen: ChainMap[Hashable, tuple[Op, int]]) -> None:
        merged = set[Op]()
        for op in list(block.ops):
            if _can_merge(op):
                if self.merge(op, seen):
                    merged.add(op)
                continue
            if is_loop(op):  # an earlier iteration may write the memory that a later one reads
                self.written += writers(op)
            for region in op.regions:
                self.block(region, seen.new_child())
            self.written += writers(op)
        if merged:
            block.ops[:] = [op for op in block.ops if op not in merged]
            self.changed = True

    def merge(self, op: Op, seen: ChainMap[Hashable, tuple[Op, int]]) -> bool:
        """Let the results of an earlier op take the place of those of `op`, which is left without operands; or do nothing."""
        key = _key(op)
        if key in seen:
            first, since = seen[key]
            stale = any(interferes(writer, op, self.known) for writer in self.written[since:])
            pairs = list(zip(first.results, op.results, strict=True))
            if not stale and all(fits(a, b) and self.same_object(a, b) for a, b in pairs):
                if any(is_reference(r.type) for r in op.results):  # other objects' origins and uses stay
                    self.known = Origins()
                for new, old in pairs:
                    old.replace_all_uses(new)
                    new.name = new.name or old.name
                op.drop()
                return True
        seen[key] = op, len(self.written)
        return False

    def same_object(self, first: Value, second: Value) -> bool:
        """Return whether two new objects may be one, since no op can observe the difference."""
        assert second.op is not None
        if not is_reference(second.type) or second.op.has("FETCHES"):
            return True
        if escapes(first) and escapes(second):
            return False
        if shares_memory(second):
            return True
        return not any(may_write(w, v, self.known) for w in self.writers for v in (first, second))


def run(module: Module, options: Mapping[str, int]) -> bool:
    changed = False
    for func in module.funcs.values():
        merger = _Merger(func.body)
        merger.block(func.body, ChainMap())
        changed |= merger.changed
    return changed
