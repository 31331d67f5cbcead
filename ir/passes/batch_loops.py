"""Batch a `linear` of a loop over slices of a tensor, or items of a list, that are loop-invariant.

    loop L %i = 0 to %n step 1 {                      %r = rows.new()
      %t = select(%x, %i) {dim = 0}                   loop L %i = 0 to %n step 1 {
      check(%t, %w, %b) {of = "linear"}         =>      %y = linear_rows(%r, %x, %i, %n, %p, %b) {dim = 0, ...}
      %y = linear_packed(%t, %p, %b)

The product keeps its place in the program, so errors keep their order. At run time it computes a window of rows, as many as fit
the cache, when the window lacks the row it is asked for. A loop of zero iterations computes nothing. The result may be a
part of the window, so the pass asks that it does not escape and is not written.
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.analysis import escapes, function_body, is_invariant, is_written
from scriptc.ir.core import Module, Op, Value
from scriptc.ir.ranges import constant_int
from scriptc.ir.regions import is_loop, loop_of_counter, runs_to_its_end
from scriptc.ir.rewrite import Rewriter, rewrite
from scriptc.ir.types import ListType, TensorType


def _source(x: Value) -> tuple[Value, Value, int] | None:
    """Return the tensor or list, the index and the dim from which an input of the product is taken."""
    op = x.op
    if op is None or op.name not in ("select", "list.at"):
        return None
    source, index = op.operands
    if isinstance(source.type, ListType):
        elem = source.type.elem
        known = isinstance(elem, TensorType) and elem.dims is not None and len(elem.dims) > 0
        return (source, index, 0) if known else None
    t = source.type
    is_row = isinstance(t, TensorType) and t.dims is not None and op.attrs["dim"] < len(t.dims) - 1
    return (source, index, op.attrs["dim"]) if is_row else None


def _check_of(op: Op, x: Value) -> Op | None:
    """Return the check before the product in its block. No op in between may make their order observable."""
    block = op.parent
    assert block is not None
    for before in reversed(block.ops[: block.ops.index(op)]):
        if before.name == "check" and before.attrs["of"] == "linear" and before.operands[0] is x:
            return before
        if before.defn.raises or before.defn.writes or before.regions:
            return None
    return None


def batch(op: Op, rw: Rewriter) -> bool:
    if op.name != "linear_packed" or (found := _source(op.operands[0])) is None:
        return False
    (x, packed, bias), (source, index, dim) = op.operands, found
    loop = loop_of_counter(index)
    if loop is None or op.enclosing(is_loop) is not loop or op.parent is not loop.regions[0]:
        return False
    step = constant_int(loop.operands[2])
    if step not in (1, -1) or not all(is_invariant(v, loop) for v in (source, packed, bias)):
        return False
    if any(is_written(v, loop) for v in (source, bias)) or is_written(op.result, function_body(op)):
        return False
    if escapes(op.result):
        return False
    check = _check_of(op, x)
    rows = rw.insert_before(loop, "rows.new", [], hint="rows")
    new = rw.insert_before(
        op, "linear_rows", [rows, source, index, loop.operands[1], packed, bias],
        dim=dim, step=step, sure=runs_to_its_end(loop), features=op.attrs["features"],
    )  # fmt: skip
    rw.replace(op, [new])
    if check is not None:
        rw.erase_unused(check)
    return True


def run(module: Module, options: Mapping[str, int]) -> bool:
    return rewrite(module, [batch])
