"""Peephole rules that keep bits, strides and aliasing.

%a = transpose(%x) {dim0 = 0, dim1 = 1}           %c = tanh(%x)
%b = transpose(%a) {dim0 = 0, dim1 = 1}     =>
%c = tanh(%b)

%m = int.add(%n, %zero)                    =>    %k = neg(%n)
%k = neg(%m)

%n = list.len(%xs)                                %n = list.len(%xs)
loop L %i = 0 to %n step 1 {                =>    loop L %i = 0 to %n step 1 {
  %x = list.get(%xs, %i)                            %x = list.at(%xs, %i)
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.analysis import escapes, function_body, is_fresh, is_written, may_stand_for, may_write, writers
from scriptc.ir.builder import Builder
from scriptc.ir.core import Module, Op, Value
from scriptc.ir.dtypes import category
from scriptc.ir.exceptions import derived
from scriptc.ir.ops import OPS
from scriptc.ir.ops.rules import as_dim, tensor
from scriptc.ir.path_conditions import LENGTHS
from scriptc.ir.ranges import constant_int, in_dim, is_below
from scriptc.ir.regions import ancestor_in, dominates, exits, is_loop, may_raise, region_arguments
from scriptc.ir.rewrite import Rewriter, Rule, fits, inlines, on, rewrite
from scriptc.ir.shapes import Shapes
from scriptc.ir.types import TensorType, broadcasts_into

# Dtypes that hold every value of a dtype, within its category, and floats that hold every integer of a dtype.
_HOLDS = {
    "u8": ("i16", "i32", "i64"), "i8": ("i16", "i32", "i64"), "i16": ("i32", "i64"), "i32": ("i64",),
    "f16": ("f32", "f64"), "bf16": ("f32", "f64"), "f32": ("f64",),
}  # fmt: skip
_FLOATS_OF = {"u8": ("f16", "bf16", "f32", "f64"), "i8": ("f16", "bf16", "f32", "f64"), "i16": ("f32", "f64"), "i32": ("f64",)}


# The neutral second operand of each op. For ops that commute, it is neutral as the first operand, too.
_NEUTRAL = {"int.add": 0, "int.sub": 0, "int.mul": 1, "int.floordiv": 1}
_COMMUTE = ("int.add", "int.mul")
_SIZES = LENGTHS | {"size", "numel"}
# _OF_SAME: results of comparing an int with itself. _OF_SIZE: results of comparing a size with 0, by the
# position of the size.
_OF_SAME = {"eq": True, "le": True, "ge": True, "ne": False, "lt": False, "gt": False}
_OF_SIZE = {("ge", 0): True, ("lt", 0): False, ("le", 1): True, ("gt", 1): False}


@on(*_NEUTRAL)
def int_identity(op: Op, rw: Rewriter) -> bool:
    """Fold sums with 0, and products with 1 and 0."""
    known = [constant_int(v) for v in op.operands]
    if op.name == "int.mul" and 0 in known:
        rw.replace(op, [rw.const_before(op, 0)])
        return True
    for kept, other in ((0, 1), (1, 0)) if op.name in _COMMUTE else ((0, 1),):
        if known[other] == _NEUTRAL[op.name]:
            rw.replace(op, [op.operands[kept]])
            return True
    return False


@on(*(f"int.{name}" for name in _OF_SAME))
def int_comparison(op: Op, rw: Rewriter) -> bool:
    """Fold comparisons of an int with itself, and of a size with 0."""
    name = op.name.removeprefix("int.")
    found = _OF_SAME[name] if op.operands[0] is op.operands[1] else None
    for side, other in ((0, 1), (1, 0)):
        made = op.operands[side].op
        if found is None and made is not None and made.name in _SIZES and constant_int(op.operands[other]) == 0:
            found = _OF_SIZE.get((name, side))
    if found is None:
        return False
    rw.replace(op, [rw.const_before(op, found)])
    return True


@on("slice")
def whole_slice(op: Op, rw: Rewriter) -> bool:
    """Replace `x[:]` and `x[0 : len(x)]` by `x`."""
    if constant_int(op.operands[1]) != 0 or constant_int(op.operands[3]) != 1:
        return False
    x, stop, dim = op.operands[0], op.operands[2], op.attrs["dim"]
    assert isinstance(x.type, TensorType)
    size, limit = _made_by(stop, "size"), as_dim(stop)
    is_whole = size is not None and size.operands[0] is x and size.attrs["dim"] == dim
    is_whole |= limit == 2**63 - 1 or x.type.dims is not None and limit is not None and limit == x.type.dims[dim]
    return is_whole and _replace_with_existing(op, x, rw)


def _source_dim(view: Op, d: int) -> int | None:
    """Return the dim of a view's operand that has the size of dim d of the view; None if it is not known."""
    if view.name == "permute":
        dims = view.attrs["dims"]
        assert isinstance(dims, tuple)
        return dims[d]
    dim = view.attrs.get("dim0" if view.name == "transpose" else "dim")
    match view.name, dim:
        case "alias", _:
            return d
        case "slice", int():
            return d if d != dim else None
        case "select", int():
            return d + (d >= dim)
        case "unsqueeze", int():
            return d - (d > dim) if d != dim else None
        case "transpose", int():
            other = view.attrs["dim1"]
            assert isinstance(other, int)
            return other if d == dim else dim if d == other else d
    return None


@on("size")
def size_of_view(op: Op, rw: Rewriter) -> bool:
    """Read the size of a view from the view's operand, and the number of picked rows from the index."""
    view, d = op.operands[0].op, op.attrs["dim"]
    if view is not None and view.name == "index_select" and d == view.attrs["dim"] and tensor(view.operands[1]).rank == 1:
        rw.replace(op, [rw.insert_before(op, "size", [view.operands[1]], dim=0)])
        return True
    dim = _source_dim(view, d) if view is not None and isinstance(d, int) else None
    if view is None or dim is None:
        return False
    rw.replace(op, [rw.insert_before(op, "size", [view.operands[0]], dim=dim)])
    return True


def _made_by(value: Value, name: str) -> Op | None:
    return value.op if value.op is not None and value.op.name == name else None


def _replace_with_existing(op: Op, new: Value, rw: Rewriter) -> bool:
    if not fits(new, op.result) or not may_stand_for(new, op.result):
        return False
    rw.replace(op, [new])
    return True


@on("transpose")
def transpose_of_transpose(op: Op, rw: Rewriter) -> bool:
    """Drop two transposes of the same dims, and a transpose of a dim with itself."""
    if op.attrs["dim0"] == op.attrs["dim1"]:
        return _replace_with_existing(op, op.operands[0], rw)
    inner = _made_by(op.operands[0], "transpose")
    if inner is None or {inner.attrs["dim0"], inner.attrs["dim1"]} != {op.attrs["dim0"], op.attrs["dim1"]}:
        return False
    return _replace_with_existing(op, inner.operands[0], rw)


def _is_exact(source: str, middle: str, result: str) -> bool:
    """Return whether converting every value through `middle` is the same as converting directly."""
    if source == "bool" or (middle in _HOLDS.get(source, ()) and category(source) == category(result)):
        return True
    return middle in _FLOATS_OF.get(source, ()) and (result == source or result in _HOLDS[source])


def _has_one_use(value: Value, user: Op) -> bool:
    """Return whether nothing but `user` uses a new object. Ops whose results have no use do not count."""
    used = (other for other in value.users() if other is not user)
    return is_fresh(value) and all(other.name == "cast" and not other.result.uses for other in used)


@on("cast")
def cast_of_cast(op: Op, rw: Rewriter) -> bool:
    """Drop the first of two conversions if it loses nothing."""
    inner = _made_by(op.operands[0], "cast")
    if inner is None:
        return False
    x, middle = inner.operands[0], inner.attrs["dtype"]
    assert isinstance(x.type, TensorType)
    if not _is_exact(x.type.dtype, middle, op.attrs["dtype"]) or is_written(x, function_body(op)):
        return False
    if x.type.dtype == op.attrs["dtype"]:
        if _has_one_use(x, inner) and _has_one_use(inner.result, op) and _replace_with_existing(op, x, rw):
            return True
        new = rw.insert_before(op, "clone", [x])
    else:
        new = rw.insert_before(op, "cast", [x], dtype=op.attrs["dtype"])
    rw.replace(op, [new])
    return True


@on("where")
def clamp_beside_itself(op: Op, rw: Rewriter) -> bool:
    """Replace `where((x > low) & (x < high), x, clamp(x, low, high))`, which is written for its gradient, by the clamp."""
    inside, above = _made_by(op.operands[0], "bitwise_and"), _made_by(op.operands[2], "clamp.max")
    bounded = _made_by(above.operands[0], "clamp.min") if above is not None else None
    if inside is None or above is None or bounded is None or op.operands[1] is not bounded.operands[0]:
        return False
    asked = {(v.op.name, *v.op.operands) for v in inside.operands if v.op is not None}
    if asked != {("gt", *bounded.operands), ("lt", bounded.operands[0], above.operands[1])}:
        return False
    return _replace_with_existing(op, above.result, rw)


@on("where")
def choice_of_one(op: Op, rw: Rewriter) -> bool:
    """Replace `where(c, x, x)` by `x`. Embeddings write it with the row that has no gradient."""
    condition, x, other = op.operands
    if other is not x or not fits(x, op.result) or not Shapes().fits_into(condition, x):
        return False
    if not (_has_one_use(x, op) or may_stand_for(x, op.result)):
        return False
    rw.replace(op, [x])
    return True


def _of_same_sizes(value: Value) -> Value | None:
    """Return an operand of the elementwise op that made `value`, of its dtype and provably of its sizes."""
    op = value.op
    if op is None or not op.has("ELEMENTWISE"):
        return None
    tensors = list(dict.fromkeys(v for v in op.operands if isinstance(v.type, TensorType)))
    for v in tensors:
        if all(w is v or broadcasts_into(w.type, v.type) for w in tensors) and _fits_dtype(v, value):
            return v
    return None


def _fits_dtype(a: Value, b: Value) -> bool:
    return isinstance(a.type, TensorType) and isinstance(b.type, TensorType) and a.type.dtype == b.type.dtype


@on("check")
def check_sizes_earlier(op: Op, rw: Rewriter) -> bool:
    """Let a check of broadcasting use an earlier value of the same sizes, since it reads only sizes."""
    if OPS[op.attrs["of"]].check != "broadcast":
        return False
    operands = [_of_same_sizes(v) or v for v in op.operands]
    if tuple(operands) == op.operands:
        return False
    rw.set_operands(op, operands)
    return True


def _known_linear(check: Op) -> int | None:
    """Return the columns that a check of a linear requires of its input, if the check can fail for no other reason."""
    weight, bias = (v.type.dims if isinstance(v.type, TensorType) else () for v in check.operands[1:])
    if not weight or len(weight) != 2 or not all(isinstance(d, int) for d in weight) or bias not in ((), weight[:1]):
        return None
    return weight[1] if isinstance(weight[1], int) else None


@on("check")
def linear_checked_before(op: Op, rw: Rewriter) -> bool:
    """Drop a check of a linear behind one of the same input and a weight of as many columns."""
    if op.attrs["of"] != "linear" or (columns := _known_linear(op)) is None:
        return False
    for user in op.operands[0].users():
        same = user is not op and user.name == "check" and user.attrs == op.attrs and user.operands[0] is op.operands[0]
        if same and _known_linear(user) == columns and dominates(user, op):
            rw.erase_unused(op)
            return True
    return False


@on("contiguous")
def contiguous_of_contiguous(op: Op, rw: Rewriter) -> bool:
    """Drop `contiguous` of a tensor that is contiguous: the result of `contiguous`, or a new tensor."""
    made = op.operands[0].op
    if made is None:
        return False
    created = made.has("PURE") and made.has("ALLOCATES") and not made.defn.reads
    if not created and made.name != "contiguous":
        return False
    rw.replace(op, op.operands)
    return True


@on("scope")
def inline_scope(op: Op, rw: Rewriter) -> bool:
    """Inline a scope that is left only at its end."""
    if any(t.parent is not op.regions[0] for t in exits(op)) or not inlines(op, op.regions[0]):
        return False
    rw.inline_region(op, op.regions[0])
    return True


@on("try")
def try_what_cannot_raise(op: Op, rw: Rewriter) -> bool:
    """Inline the body of a `try` that cannot raise."""
    if any(map(may_raise, op.regions[0].walk())) or not inlines(op, op.regions[0]):
        return False
    rw.inline_region(op, op.regions[0])
    return True


def _try_that_raises(module: Module) -> Rule:
    """Return the rule for a `try` whose body always raises by its last op, as a lookup does whose key is missing."""

    @on("try")
    def try_that_raises(op: Op, rw: Rewriter) -> bool:
        """Replace the `try` by the ops of its body, and of its handler for the exception that ends the body."""
        body, handler = op.regions
        raised, (error,) = body.ops[-1], handler.args
        if raised.name != "raise" or any(map(may_raise, (o for o in body.walk() if o is not raised))):
            return False
        if any(user.name not in ("exc.is", "reraise") for user in error.users()) or not inlines(op, handler):
            return False
        for user in error.users():
            if user.name == "exc.is":
                classes = user.attrs["classes"]
                of = raised.attrs["type"] in (classes if user.attrs["exact"] else derived(module, classes))
                rw.replace(user, [rw.const_before(user, of)])
            else:  # the operands dominate it once the ops of the body stand before it
                rw.add(Builder.before(user).op("raise", raised.operands, raised.loc, **raised.attrs))
                rw.erase_unused(user)
        rw.erase_unused(raised)
        block = op.parent
        assert block is not None
        for inner in list(body.ops):
            inner.detach()
            block.insert_before(op, inner)
            rw.add(inner)
        handler.args = []
        rw.inline_region(op, handler)
        return True

    return try_that_raises


@on("cell.new")
def drop_unread_cell(op: Op, rw: Rewriter) -> bool:
    """Drop a cell that is only written."""
    if any(user.name != "cell.set" for user in op.result.users()):
        return False
    for user in op.result.users():
        rw.erase_unused(user)
    rw.erase_unused(op)
    return True


def same_on_all_exits(op: Op, rw: Rewriter) -> bool:
    """Replace a result of a region by the one outer value that all exits give."""
    changed = False
    for argument in region_arguments(op) if op.has("CONTROL") and not is_loop(op) else ():
        given = {o.operands[i] for o, i in argument.into_result}
        value = given.pop() if len(given) == 1 else None
        if value is None or argument.result is None or any(region.encloses(value.block) for region in op.regions):
            continue
        if fits(value, argument.result):
            changed |= rw.replace_uses(argument.result, value)
    return changed


def carried_unchanged(op: Op, rw: Rewriter) -> bool:
    """Replace a carried value that no iteration changes by its initial value."""
    changed = False
    for argument in region_arguments(op) if is_loop(op) else ():
        initial = op.operands[argument.into_inner[0][1]]
        assert argument.inner is not None and argument.result is not None
        if any(o.operands[i] not in (argument.inner, initial) for o, i in argument.into_inner):
            continue
        if fits(initial, argument.inner):
            changed |= rw.replace_uses(argument.inner, initial)
        left_with = {o.operands[i] for o, i in argument.into_result}
        if left_with == {initial} and fits(initial, argument.result):
            changed |= rw.replace_uses(argument.result, initial)
    return changed


def _keeps_length(xs: Value, since: Op, until: Op) -> bool:
    """Return whether no op that may run after `since` and before `until` changes the length of a list."""
    assert since.parent is not None
    last = ancestor_in(since.parent, until)
    if last is None or not since.is_before(last):
        return False
    between = since.parent.ops[since.parent.ops.index(since) + 1 : since.parent.ops.index(last) + 1]
    changes = (w for op in between for w in writers(op, "list") if w.name not in ("list.set", "list.put"))
    return not any(may_write(writer, xs) for writer in changes)


@on("list.get")
def get_at_counter(op: Op, rw: Rewriter) -> bool:
    """Drop the bounds check of a loop counter that runs up to the length of a list that keeps its length."""
    xs, index = op.operands

    def is_length(o: Op) -> bool:
        return o.name == "list.len" and o.operands[0] is xs and _keeps_length(xs, o, op)

    if not is_below(index, is_length):
        return False
    rw.replace(op, [rw.insert_before(op, "list.at", [xs, index])])
    return True


def _only_read(xs: Value) -> bool:
    """Return whether a list made here is only read by length and index, so that its making is not observable."""
    return all(user.name in ("list.len", "list.get", "list.at") for user in xs.users())


@on("list.len", "list.get", "list.at")
def read_unbind(op: Op, rw: Rewriter) -> bool:
    """Read an element of `unbind` by a select, and their number by a size, if the list is only read."""
    made = _made_by(op.operands[0], "unbind")
    if made is None or not _only_read(made.result):
        return False
    (x,), dim = made.operands, made.attrs["dim"]
    if op.name == "list.len":
        rw.replace(op, [rw.insert_before(op, "size", [x], dim=dim)])
        return True
    in_range = op.name == "list.at" or (op.name == "list.get" and in_dim(op.operands[1], x, dim))
    if not in_range or escapes(op.result):
        return False
    rw.replace(op, [rw.insert_checked(op, "select", [x, op.operands[1]], dim=dim)])
    return True


def _part_size(op: Op) -> tuple[int, int] | None:
    """Return the size of the dim that `chunk` or `split` divides, and of its parts; None if it is not known, or if
    the op raises."""
    if op.name not in ("chunk", "split") or not isinstance(t := op.operands[0].type, TensorType) or t.dims is None:
        return None
    size, number = t.dims[op.attrs["dim"]], constant_int(op.operands[1])
    if not isinstance(size, int) or size == 0 or number is None or number <= 0:
        return None
    return size, number if op.name == "split" else -(-size // number)


@on("list.get", "list.at")
def read_part(op: Op, rw: Rewriter) -> bool:
    """Read a constant part of a `split` or `chunk` of a constant dim by a slice, if the list is only read."""
    made = op.operands[0].op
    sizes, index = _part_size(made) if made is not None else None, constant_int(op.operands[-1]) if op.operands else None
    if made is None or sizes is None or index is None or not _only_read(made.result) or escapes(op.result):
        return False
    size, part = sizes
    starts = range(0, size, part)
    if not -len(starts) <= index < len(starts):
        return False
    start = starts[index]
    bounds = [rw.const_before(op, n) for n in (start, min(start + part, size), 1)]
    rw.replace(op, [rw.insert_before(op, "slice", [made.operands[0], *bounds], dim=made.attrs["dim"])])
    return True


@on("chunk", "split")
def drop_parts(op: Op, rw: Rewriter) -> bool:
    """Drop an unused list of parts of a dim that can be divided."""
    if _part_size(op) is None or op.result.uses:
        return False
    rw.erase_unused(op)
    return True


@on("list.get", "list.at")
def get_of_new(op: Op, rw: Rewriter) -> bool:
    """Replace an element of an unchanged list by the value in its display."""
    made = _made_by(op.operands[0], "list.new")
    index = constant_int(op.operands[1]) if made is not None else None
    if made is None or index is None or not -len(made.operands) <= index < len(made.operands):
        return False
    if not _only_read(made.result) or not fits(made.operands[index], op.result):
        return False
    rw.replace(op, [made.operands[index]])
    return True


@on("tuple.join")
def join_of_one(op: Op, rw: Rewriter) -> bool:
    """Append to a tuple, in place of a new tuple of one item that is joined to it."""
    longer, one = op.operands
    made = _made_by(one, "tuple.new")
    if made is None or len(made.operands) != 1 or op.result.type != longer.type:
        return False
    rw.replace(op, [rw.insert_before(op, "tuple.append", [longer, made.operands[0]])])
    return True


RULES = [
    int_identity, int_comparison, whole_slice, size_of_view, transpose_of_transpose, cast_of_cast, clamp_beside_itself,
    choice_of_one, check_sizes_earlier, linear_checked_before, contiguous_of_contiguous, inline_scope, try_what_cannot_raise,
    drop_unread_cell, same_on_all_exits, carried_unchanged, get_at_counter, read_unbind, read_part, drop_parts, get_of_new,
    join_of_one,
]  # fmt: skip


def run(module: Module, options: Mapping[str, int]) -> bool:
    return rewrite(module, [*RULES, _try_that_raises(module)])
