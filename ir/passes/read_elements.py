"""Read the elements of a tensor of one dim into a list at once.

    %n = size(%x) {dim = 0}
    %xs = list.new()                                  %xs = list.of_tensor(%x)
    loop L %i = 0 to %n step 1 {
      %element = select(%x, %i) {dim = 0}      =>
      %number = item.float(%element)
      list.append(%xs, %number)
    }

This is `x.tolist()` and `[float(element) for element in x]`.
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.core import Module, Op, Value
from scriptc.ir.dtypes import FLOATING, INTEGRAL
from scriptc.ir.ranges import constant_int
from scriptc.ir.regions import ancestor_in, counter, is_loop
from scriptc.ir.rewrite import Rewriter, on, rewrite
from scriptc.ir.types import TensorType

_DTYPES = {"item.float": FLOATING, "item.int": INTEGRAL}


@on("list.append")
def read_elements(op: Op, rw: Rewriter) -> bool:
    xs, number = op.operands
    loop = op.parent.parent if op.parent is not None else None
    if xs.op is None or xs.op.name != "list.new" or xs.op.operands or loop is None or loop.parent is not xs.block:
        return False
    if not is_loop(loop) or not loop.attrs["counted"] or loop.results:
        return False
    body = [each for each in loop.regions[0].ops if not each.has("TERMINATOR")]
    x = _read_tensor(number, loop)
    if x is None or len(body) != 3 or number.op not in body or number.op.operands[0].op not in body:
        return False
    if not xs.op.is_before(loop) or not _covers(loop, x) or not all(_is_behind(u, loop) for u in xs.users() if u is not op):
        return False
    elements = rw.insert_before(loop, "list.of_tensor", [x])
    rw.erase_unused(loop)
    rw.replace(xs.op, [elements])
    return True


def _read_tensor(number: Value, loop: Op) -> Value | None:
    """Return the tensor of one dim of which a number is the element at the counter of a loop."""
    if number.op is None or number.op.name not in _DTYPES:
        return None
    select = number.op.operands[0].op
    if select is None or select.name != "select" or select.attrs["dim"] != 0 or select.operands[1] is not counter(loop):
        return None
    x = select.operands[0]
    assert isinstance(x.type, TensorType)
    is_number = x.type.dtype in _DTYPES[number.op.name]
    return x if is_number and x.type.dims is not None and len(x.type.dims) == 1 else None


def _covers(loop: Op, x: Value) -> bool:
    """Return whether a loop counts from 0 to the size of a tensor."""
    start, stop, step = loop.operands[:3]
    if constant_int(start) != 0 or constant_int(step) != 1 or loop.parent is None or not x.block.encloses(loop.parent):
        return False
    assert isinstance(x.type, TensorType) and x.type.dims is not None
    size = constant_int(stop)
    if size is not None:
        return x.type.dims[0] == size
    return stop.op is not None and stop.op.name == "size" and stop.op.operands[0] is x


def _is_behind(user: Op, loop: Op) -> bool:
    assert loop.parent is not None
    at = ancestor_in(loop.parent, user)
    return at is not None and at is not loop and loop.is_before(at)


def run(module: Module, options: Mapping[str, int]) -> bool:
    return rewrite(module, [read_elements])
