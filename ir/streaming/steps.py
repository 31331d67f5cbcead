"""Rewrite a function of a sequence into one of its chunks.

    func @f(%x: f32[t, n]) {                          func @f(%x: f32[t, n], %on: bool, %k: f32[n], %s: i64) {
      %h0 = full(...)                                   %h0 = full(...)
      %n = size(%x) {dim = 0}                           %n = size(%x) {dim = 0}
      %h = loop %i = 0 to %n carry (%h0) {     =>       %h1, %s0 = if %on { yield(%k, %s) } else { yield(%h0, 0) }
        %xt = select(%x, %i) {dim = 0}                  %h = loop %i = 0 to %n carry (%h1) {
        ...                                               %xt = select(%x, %i) {dim = 0}
      }                                                   ...
      return(%h)                                        }
    }                                                   state.set(true, %h, %s0 + %n)
                                                        return(%h)
                                                      }

The loops along the time begin with the state of the chunk before. Everything else must have a kind (kinds.py) for which the
value of a chunk is the part of the value of the whole sequence that belongs to the chunk, or its value up to there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from scriptc.ir.analysis import calls, roots
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Func, Op, Value
from scriptc.ir.loc import Loc
from scriptc.ir.ops import OPS
from scriptc.ir.ranges import constant_int
from scriptc.ir.streaming.kinds import (
    FIXED,
    LATEST,
    Along,
    Blocked,
    Cause,
    Fixed,
    Group,
    Items,
    Kind,
    Kinds,
    Length,
    NotStreamable,
    kind_of,
)
from scriptc.ir.types import BOOL, INT, CellType, DictType, ListType, ObjectType, SetType, TensorType, Type

_CHANGES = frozenset({"list", "tensor", "cell", "state"})
_CARRY_ALONG_HINT = "carry the value through the loop along the time, so that each step has it up to there"
_COUNT_HINT = "count the steps in the loop"
_LOOP_HINT = "iterate over the time dim by `for t in range(x.shape[dim])`, and read x only at t"


@dataclass
class Stream:
    """The state and the results of a function that was rewritten for chunks.

    types: of the state: whether a chunk came before, then the carried values of each loop and its number of steps.
    results: the kind of each result.
    """

    types: list[Type] = field(default_factory=list)
    results: list[Kind] = field(default_factory=list)


@dataclass(frozen=True)
class _TimeLoop:
    """A loop along the time.

    appends: the lists to which it appends, by whether it does so once in each iteration.
    own_uses: the ops that read the step of the loop from the sequence.
    """

    op: Op
    length: Value
    appends: dict[Value, bool]
    own_uses: list[Op]


def stream(func: Func, argument: int, dim: int, target: int, name: str) -> Stream:
    """Rewrite a function into one of chunks of an argument along a dim; return its state.

    dim: of a tensor; a list is a sequence of its items.
    target, name: of the slot that the state is.

    Raises NotStreamable, before anything is changed.
    """
    kinds: Kinds = dict.fromkeys(func.body.args, FIXED)
    source = func.body.args[argument]
    kinds[source] = _source_kind(func, source, dim)
    loops = [*_analyze(func, kinds)]
    final = func.body.ops[-1]
    made = Stream(results=[kinds[v] for v in final.operands])
    for value in final.operands if loops else ():
        _refuse_blocked(kinds[value], final.loc)
    if not loops:
        raise NotStreamable(func.loc, f"no loop runs along the time of '{source.name}'", _LOOP_HINT, has_no_loop=True)
    _rewrite(func, loops, made, target, name)
    return made


def _source_kind(func: Func, source: Value, dim: int) -> Kind:
    if isinstance(source.type, ListType):
        return Items(source)
    if not isinstance(source.type, TensorType) or source.type.dims is None or dim >= source.type.rank:
        raise NotStreamable(func.loc, f"'{source.name}' is no tensor with a dim {dim}, nor a list", "name a sequence")
    if isinstance(source.type.dims[dim], int):
        raise NotStreamable(
            func.loc, f"the size of dim {dim} of '{source.name}' is part of the code", "use the size only as the bound of loops"
        )
    return Along(dim, source)


def _refuse_blocked(kind: Kind, loc: Loc) -> None:
    if isinstance(kind, Blocked):
        raise NotStreamable(kind.loc, f"the result {kind.reason}", _hint_for(kind.cause))
    if isinstance(kind, (Length, Group)):
        raise NotStreamable(loc, "the result depends on the length of the sequence", _COUNT_HINT)


def _hint_for(cause: Cause) -> str:
    return {Cause.END: _CARRY_ALONG_HINT, Cause.LENGTH: _COUNT_HINT, Cause.STEPS: _LOOP_HINT}[cause]


# ---- analysis ----


def _analyze(func: Func, kinds: Kinds) -> Iterator[_TimeLoop]:
    """Find the kinds of all values of a function's body; yield its loops along the time."""
    for op in func.body.ops:
        if op.name == "check" or op.name == "return":
            continue
        if op.regions:
            length = _time_of(op, kinds)
            if length is not None:
                loop = _time_loop(op, length, kinds)
                kinds |= dict.fromkeys(op.results, LATEST)
                yield loop
                continue
            kind = _kind_of_region_op(op, kinds)
        else:
            kind = kind_of(op, kinds)
        _refuse_effect(op, kind, kinds)
        kinds |= dict.fromkeys(op.results, kind)


def _refuse_effect(op: Op, kind: Kind, kinds: Kinds) -> None:
    """Refuse an effect, outside of the loops along the time, that a chunk would not have as the whole sequence has it."""
    if any("random" in memory for memory in op.defn.writes):
        raise NotStreamable(op.loc, "draws random numbers outside of a loop along the time", "draw them in each step")
    if not op.defn.writes & _CHANGES or isinstance(kind, Fixed) or (kind is LATEST and op.name == "state.set"):
        return
    if op.name == "list.append" and (group := _appended(op, kinds)) is not None:
        kinds[op.operands[0]] = group
        return
    if isinstance(kind, Blocked):
        raise NotStreamable(kind.loc, f"what is written here {kind.reason}", _hint_for(kind.cause))
    changed = op.operands[0]
    if kind is LATEST and changed.op is not None and changed.op.name in ("list.new", "cell.new"):
        kinds[changed] = LATEST
        return
    raise NotStreamable(op.loc, "writes outside of a loop along the time what belongs to the steps of a chunk", _LOOP_HINT)


def _appended(op: Op, kinds: Kinds) -> Group | None:
    """Return the kind of a list behind an append in straight-line code; None if other code changes the list, too."""
    made, item = op.operands
    if made.op is None or made.op.name != "list.new" or isinstance(kinds[made], (Items, Blocked)):
        return None
    before = [user for user in made.users() if user.parent is op.parent and user.is_before(op) and user.defn.writes]
    if any(user.name != "list.append" for user in before) or any(u.parent is not op.parent for u in made.users()):
        return None
    return Group((*(kinds[v] for v in made.op.operands), *(kinds[user.operands[1]] for user in before), kinds[item]))


def _time_of(op: Op, kinds: Kinds) -> Value | None:
    """Return the value that counts the steps of a loop along the time; None for another op."""
    if op.name != "loop" or not op.attrs["counted"]:
        return None
    start, stop, step = op.operands[:3]
    kind = kinds[stop]
    if not isinstance(kind, Length) or constant_int(start) != 0 or constant_int(step) != 1:
        return None
    return kind.length


def _outer_values(op: Op) -> Iterator[tuple[Op, Value]]:
    """Yield the values from outside that ops in the regions of an op use, with these ops."""
    for inner in [i for region in op.regions for i in region.walk()]:
        for value in inner.operands:
            if not any(region.encloses(value.block) for region in op.regions):
                yield inner, value


def _kind_of_region_op(op: Op, kinds: Kinds) -> Kind:
    """Return the kind of the results of an `if`, or a loop along another dim."""
    uses = [(op, v) for v in op.operands] + [(user, v) for user, v in _outer_values(op) if not _is_dead(user)]
    found: Kind = FIXED
    for user, value in uses:
        kind = kinds[value]
        of_length = isinstance(kind, Length) or (isinstance(kind, Blocked) and kind.cause is Cause.LENGTH)
        if op.name == "loop" and of_length and user is op:
            raise NotStreamable(op.loc, "this loop does not run along the time from its begin to its end", _LOOP_HINT)
        if isinstance(kind, Blocked):
            raise NotStreamable(kind.loc, f"what a branch or loop uses {kind.reason}", _hint_for(kind.cause))
        if isinstance(kind, (Along, Items, Length, Group)) and not _only_asks(user, kind):
            reason = "reads time steps in a branch, or in a loop that does not run along the time from its begin"
            raise NotStreamable(user.loc, f"the function {reason}", _LOOP_HINT)
        if kind is LATEST:
            found = LATEST
    if found is LATEST:
        changed = [v for u, v in _outer_values(op) if u.defn.writes & _CHANGES and u.operands[0] is v]
        kinds |= dict.fromkeys(changed, LATEST)
    return found


def _only_asks(user: Op, kind: Kind) -> bool:
    """Return whether an op asks for the size of a dim that all chunks share, or checks one."""
    if user.name == "check":
        return True
    return user.name == "size" and isinstance(kind, Along) and user.attrs["dim"] % _rank_of(user) != kind.dim


def _rank_of(op: Op) -> int:
    t = op.operands[0].type
    assert isinstance(t, TensorType)
    return t.rank


def _time_loop(op: Op, length: Value, kinds: Kinds) -> _TimeLoop:
    """Check the body of a loop along the time; note the lists to which it appends."""
    body = op.regions[0]
    for init in op.operands[3:]:
        kind = kinds[init]
        if kind is LATEST:
            raise NotStreamable(op.loc, "this loop begins with a value of the last time step of another one", _END_HINT)
        if not isinstance(kind, Fixed):
            reason = kind.reason if isinstance(kind, Blocked) else "depends on the steps of a chunk"
            hint = _hint_for(kind.cause) if isinstance(kind, Blocked) else _LOOP_HINT
            raise NotStreamable(op.loc, f"the value with which this loop begins {reason}", hint)
        if not _can_be_kept(init.type):
            raise NotStreamable(op.loc, f"the loop carries '{init.name}', which no state keeps", "carry tensors and numbers")
    for inner in body.walk():
        leaves = inner.name in ("break", "return") and inner.attrs.get("to") == op.attrs["label"]
        if leaves or inner.name == "return":
            raise NotStreamable(
                inner.loc, "the loop along the time ends early here", "carry a flag that says that the sequence is done"
            )
    loop = _TimeLoop(op, length, {}, [])
    uses = [(user, value) for user, value in _outer_values(op) if not _is_dead(user)]
    for user, value in uses:
        if user.name == "list.append" and user.operands[0] is value:
            _note_append(user, value, kinds[value], loop)
    for user, value in uses:
        if not (user.name == "list.append" and user.operands[0] is value):
            _check_use(user, value, kinds[value], loop)
    _check_writes(loop, kinds)
    for made, once in loop.appends.items():
        kinds[made] = Items(length if once else made)
    return loop


_LIST_HINT = "append to a new list in each loop: out = []"
_CARRY_HINT = "assign a new value in each step, such as h = h + x[t], so that the loop carries it"
_END_HINT = "a value of the last step exists only at the end; start the second loop from a value of its own"


def _is_dead(op: Op) -> bool:
    return op.defn.pure and not any(result.uses for result in op.results)


def _note_append(user: Op, made: Value, kind: Kind, loop: _TimeLoop) -> None:
    if not isinstance(kind, Fixed) or made.op is None or made.op.name != "list.new":
        raise NotStreamable(user.loc, "appends to a list that another loop fills, or that is no new one", _LIST_HINT)
    body, label = loop.op.regions[0], loop.op.attrs["label"]
    outside = [u for u in made.users() if u.defn.writes and u.parent is not None and not body.encloses(u.parent)]
    if any(u.parent is loop.op.parent and u.is_before(loop.op) for u in outside) or any(u.regions for u in outside):
        raise NotStreamable(user.loc, "appends to a list to which the code appends before the loop as well", _LIST_HINT)
    skips = any(op.name == "continue" and op.attrs["to"] == label for op in body.walk())
    once = user.parent is body and made not in loop.appends and not skips
    loop.appends[made] = once and not made.op.operands


def _check_writes(loop: _TimeLoop, kinds: Kinds) -> None:
    """Refuse writes in the loop to what was made before it, but for its lists and tensors with a row for each step."""
    op, body = loop.op, loop.op.regions[0]
    begin = {root for init in op.operands[3:] for root in roots(init)}
    for inner in body.walk():
        if not inner.defn.writes & {"tensor", "list", "cell"} or inner.regions or not inner.operands or calls(inner):
            continue
        for root in roots(inner.operands[0]):
            is_outside = not body.encloses(root.block) and root not in loop.appends and root not in begin
            if is_outside and not isinstance(kinds.get(root), Along):
                what = f"'{root.name}'" if root.name else "what"
                raise NotStreamable(inner.loc, f"changes {what} that was made before the loop", _CARRY_HINT)


def _check_use(user: Op, value: Value, kind: Kind, loop: _TimeLoop) -> None:
    """Check a use of a value from outside in the body of a loop along the time; note reads of its own step."""
    counter = loop.op.regions[0].args[0]
    if isinstance(kind, (Along, Items)) and (user.name == "check" or _reads_own_step(user, kind, counter)):
        loop.own_uses.append(user)
        if user.name == "slice" and user.operands[2].op is not None:
            loop.own_uses.append(user.operands[2].op)
        return
    if value in loop.appends or (isinstance(value.type, ListType) and user.defn.writes):
        raise NotStreamable(
            user.loc, "reads a list that the loop along the time fills", "keep the last item in a variable of its own"
        )
    elif isinstance(kind, Blocked):
        raise NotStreamable(kind.loc, f"what the loop along the time uses {kind.reason}", _hint_for(kind.cause))
    elif kind is LATEST:
        raise NotStreamable(user.loc, "needs the end of the sequence: each step uses a value of the last one", _END_HINT)
    elif isinstance(kind, Length):
        raise NotStreamable(user.loc, "uses the length of the sequence in each step", _COUNT_HINT)
    elif isinstance(kind, (Along, Items, Group)) and not _only_asks(user, kind):
        hint = "carry what later steps need in a variable"
        raise NotStreamable(user.loc, "reads other time steps than that of the loop", hint)
    elif calls(user) and isinstance(value.type, (ListType, DictType, SetType, ObjectType, CellType)):
        raise NotStreamable(user.loc, f"may change '{value.name}', which was made before the loop", _CARRY_HINT)


def _reads_own_step(user: Op, kind: Kind, counter: Value) -> bool:
    if isinstance(kind, Along):
        if user.name not in ("select", "slice") or user.attrs["dim"] % _rank_of(user) != kind.dim or kind.merged is not None:
            return False
        return user.operands[1] is counter and (user.name == "select" or _is_one_more(user.operands[2], counter))
    return user.name in ("list.get", "list.at") and user.operands[1] is counter


def _is_one_more(end: Value, counter: Value) -> bool:
    """Return whether a value is the counter plus one, and nothing else than such an end of a slice."""
    op = end.op
    if op is None or op.name != "int.add" or counter not in op.operands:
        return False
    other = op.operands[1] if op.operands[0] is counter else op.operands[0]
    return constant_int(other) == 1 and all(u.name == "slice" and u.operands[1] is counter for u in end.users())


def _can_be_kept(t: Type) -> bool:
    if isinstance(t, ListType):
        return not t.is_tuple and not isinstance(t.elem, ListType)
    return isinstance(t, TensorType) or str(t) in ("i64", "f64", "bool", "str")


# ---- the rewrite ----


def _rewrite(func: Func, loops: Sequence[_TimeLoop], made: Stream, target: int, name: str) -> None:
    loc = func.loc
    body = func.body
    made.types.append(BOOL)
    started = _argument(body, BOOL, f"{name}.started")
    kept: list[Value] = [Builder.before(body.ops[-1]).const(True, loc)]
    for loop in loops:
        op, inits = loop.op, loop.op.operands[3:]
        types = [_any_size(arg.type) for arg in op.regions[0].args[1:]]
        held = [_argument(body, t, f"{name}.{v.name or 'value'}") for t, v in zip(types, inits, strict=True)]
        steps = _argument(body, INT, f"{name}.steps")
        made.types += [*types, INT]
        first = _first_values(loop, started, held, steps)
        for i, value in enumerate(first[:-1]):
            op.set_operand(3 + i, value)
        _count_all_steps(loop, first[-1])
        end = Builder.before(body.ops[-1])
        kept += [*op.results, end.op("int.add", [first[-1], op.operands[1]], op.loc).result]
        _empty_later_lists(loop, started)
    Builder.before(body.ops[-1]).op("state.set", kept, loc, types=[], name=name, target=target, form=0)


def _argument(body: Block, t: Type, name: str) -> Value:
    value = Value(t, body, name)
    body.args.append(value)
    return value


def _any_size(t: Type) -> Type:
    return TensorType(t.dtype, None if t.dims is None else (None,) * len(t.dims)) if isinstance(t, TensorType) else t


def _first_values(loop: _TimeLoop, started: Value, held: Sequence[Value], steps: Value) -> list[Value]:
    """Return the values with which the loop begins, and the number of steps before: kept ones, or those of the first chunk."""
    op, loc = loop.op, loop.op.loc
    builder, inits = Builder.before(op), op.operands[3:]
    types = [arg.type for arg in op.regions[0].args[1:]]
    later, first = Block(), Block()
    with builder.at(later):
        kept = [_in_sizes_of(builder, *each, loc) for each in zip(held, inits, types, strict=True)]
        builder.op("yield", [*kept, steps], loc)
    with builder.at(first):
        builder.op("yield", [*inits, builder.const(0, loc)], loc)
    return list(builder.op("if", [started], loc, regions=[later, first], types=[*types, INT]).results)


def _in_sizes_of(builder: Builder, kept: Value, init: Value, t: Type, loc: Loc) -> Value:
    """Return a kept tensor in a type with sizes. It raises if a chunk has other sizes, such as of the batch, than the last."""
    if not isinstance(t, TensorType) or not isinstance(init.type, TensorType) or t.dims is None:
        return kept
    if all(size is None for size in t.dims):
        return kept
    sizes = [builder.build("size", [init], loc, dim=d) for d in range(len(t.dims))]
    for d, size in enumerate(sizes):
        if t.dims[d] is None:
            sizes[d] = builder.build("size", [kept], loc, dim=d)
            continue
        differs = builder.build("int.ne", [builder.build("size", [kept], loc, dim=d), size], loc)
        raises, passes = Block(), Block()
        with builder.at(raises):
            message = f"a chunk has other sizes than the chunks before: dim {d} of the state '{init.name or 'value'}'"
            builder.op("raise", [], loc, types=[], type="RuntimeError", message=message)
        with builder.at(passes):
            builder.op("yield", [], loc, types=[])
        builder.op("if", [differs], loc, regions=[raises, passes], types=[])
    shape = builder.build("tuple", sizes, loc)
    return builder.build("expand", [kept, shape], loc)


def _count_all_steps(loop: _TimeLoop, first: Value) -> None:
    """Let uses of the counter that do not read the step of the chunk see the number of the step in the sequence."""
    body = loop.op.regions[0]
    counter = body.args[0]
    users = [u for u in counter.users() if u not in loop.own_uses]
    if users:
        total = Builder(body, 0).op("int.add", [counter, first], loop.op.loc).result
        for user in users:
            for i, value in enumerate(user.operands):
                if value is counter:
                    user.set_operand(i, total)


def _empty_later_lists(loop: _TimeLoop, started: Value) -> None:
    """Let the lists to which the loop appends begin empty in later chunks."""
    for made in loop.appends:
        new = made.op
        assert new is not None
        if new.operands:
            builder = Builder.after(new)
            empty, full = Block(), Block()
            with builder.at(empty):
                builder.op("yield", [builder.op("list.new", (), new.loc, types=[made.type]).result], new.loc)
            users = made.users()
            full.append(Op(OPS["yield"], [made], (), {}, new.loc))
            chosen = builder.op("if", [started], new.loc, regions=[empty, full], types=[made.type]).result
            for user in users:
                for i, value in enumerate(user.operands):
                    if value is made:
                        user.set_operand(i, chosen)
