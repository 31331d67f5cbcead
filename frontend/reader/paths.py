"""Paths that part and join: the names and objects on each path, and their joins."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

from scriptc.frontend.reader.constant_demand import demand_sizes
from scriptc.frontend.reader.errors import Conflict, ItemConflict, Terminated, UserError
from scriptc.frontend.reader.promotion import promote_objects
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.rejections import rejection
from scriptc.frontend.source.nodes import all_nodes
from scriptc.frontend.source.scope import declared
from scriptc.frontend.values.abstract import (
    AbstractValue,
    Closure,
    Content,
    HeapValue,
    Ident,
    ListValue,
    Moved,
    OneOf,
    Poison,
    Unbound,
)
from scriptc.frontend.values.alternatives import without
from scriptc.frontend.values.closures import reframed
from scriptc.frontend.values.frame import Site
from scriptc.frontend.values.joins import Plan, unify
from scriptc.frontend.values.predicates import (
    has_alternatives,
    home_of,
    is_function,
    is_known,
    is_on_heap,
    without_flag,
)
from scriptc.frontend.values.structure import identity_of, is_atom, parts_of, replaced
from scriptc.frontend.values.verbs import describe, materialize, with_content
from scriptc.frontend.values.walk import settled_mark
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Loc, Op, Value

Env = dict[Any, AbstractValue]  # locals of the current function by name, and the heap by Ident
Exit = tuple[Op, Env]  # an op that jumps to a label, whose operands are filled in later, and the state at the jump
Names = frozenset[str]

_VALUE = "·value"  # the name of a branch's value at the join


def snapshot(reader: Reader) -> Env:
    return {**reader.position.frame.locals, **reader.heap.contents}


def restore(reader: Reader, env: Env) -> None:
    names: dict[str, AbstractValue] = {}
    contents: dict[Ident, AbstractValue] = {}
    for key, av in env.items():
        (names if isinstance(key, str) else contents)[key] = av
    reader.position.frame.locals, reader.heap.contents = names, contents


# ---- branches ----


def branch(
    reader: Reader, condition: AbstractValue, then: Callable[[], bool], orelse: Callable[[], bool], names: Names | None,
    splits: bool = False,
) -> bool:  # fmt: skip
    """Read an `if` on a run-time condition, and join `names` after it. None joins all names that change.

    splits: the paths of a statement that cannot be joined are read apart, with the statements behind it.
    """
    cond_value = materialize(reader, condition)
    mark, before = Ident().serial, snapshot(reader)
    blocks: list[Block] = []
    ends: list[tuple[Block, Env, bool]] = []
    altered: set[Hashable] = set()
    for truth, run in ((True, then), (False, orelse)):
        restore(reader, before)
        with reader.emit.builder.at(Block()) as block:
            learn(reader, cond_value, truth)
            start = snapshot(reader)
            falls = reached(run)
        blocks.append(block)
        if falls:
            ends.append((block, snapshot(reader), truth))
            altered |= changed(start, ends[-1][1], mark)
    restore(reader, before)
    keys = altered if names is None else names | {k for k in altered if isinstance(k, Ident)}
    joined = [(b, env) for b, env, _ in ends]
    if not join_blocks(reader, "if", [cond_value], blocks, joined, keys, altered, mark, splits):
        return False
    if len(ends) == 1:
        learn(reader, cond_value, ends[0][2])
    return True


def join_blocks(
    reader: Reader, name: str, operands: Sequence[Value], blocks: Sequence[Block], ends: Sequence[tuple[Block, Env]],
    keys: Iterable[Hashable], altered: set[Hashable], mark: float, splits: bool = False,
) -> bool:  # fmt: skip
    """Build an op of blocks that were read, and join the names and objects `keys` of the blocks that reach their ends.

    Return whether any block does. splits: see `branch`.
    """
    envs = [env for _, env in ends]
    condition = operands[0] if name == "if" else None
    keys, fresh = joinable(reader, keys), len(ends) == 1
    plans = plan_joins(reader, keys, envs, fresh=fresh, mark=mark, condition=condition, splits=splits) if ends else {}
    for block, env in ends:
        with reader.emit.builder.at(block):
            reader.emit.effect("yield", flatten(reader, plans, env, envs))
    types = [t for plan in plans.values() for t in plan.types()]
    op = reader.emit.builder.op(name, operands, reader.position.loc, regions=blocks, types=types)
    if not ends:
        reader.emit.effect("unreachable", ())
        return False
    rebind(reader, plans, op.results, envs, mark)
    for key in altered - set(plans):
        if isinstance(key, str) and key not in reader.position.frame.locals:
            reader.position.frame.locals[key] = Unbound()
    return True


def choose(
    reader: Reader, condition: AbstractValue, then: Callable[[], AbstractValue], orelse: Callable[[], AbstractValue]
) -> AbstractValue:
    """Return the value of one of two expressions."""
    if is_known(condition):
        return then() if condition.obj else orelse()

    def keep(run: Callable[[], AbstractValue]) -> Callable[[], bool]:
        def kept() -> bool:
            reader.position.frame.locals[_VALUE] = run()
            return True

        return kept

    if not reader.branch(condition, keep(then), keep(orelse), None):
        raise Terminated
    return reader.position.frame.locals.pop(_VALUE)


def reached(run: Callable[[], bool]) -> bool:
    try:
        return run()
    except Terminated:
        return False


# ---- what a condition says about values of several kinds ----


def learn(reader: Reader, condition: Value, truth: bool) -> None:
    """Narrow names whose kind a condition decides to that kind, from this point on."""
    for tag, number, is_it in _facts(condition, truth):

        def swap(av: AbstractValue, tag: Value = tag, number: int = number, is_it: bool = is_it) -> AbstractValue:
            if not has_alternatives(av) or av.tag is not tag or number not in av.alternatives:
                return av
            return av.alternatives[number] if is_it else without(av, number)

        swap_all(reader, swap)


def swap_all(reader: Reader, swap: Callable[[AbstractValue], AbstractValue]) -> None:
    reader.position.frame.locals = {k: replaced(v, swap) for k, v in reader.position.frame.locals.items()}
    reader.heap.contents = {k: replaced(v, swap) for k, v in reader.heap.contents.items()}


# ---- joins ----


def joinable(reader: Reader, keys: Iterable[Hashable]) -> set[Hashable]:
    """Return the keys without the variables in the heap, whose content has a key of its own."""
    return set(keys) - reader.position.frame.cells.keys() - declared(reader.position.frame.source.node).keys()


def settle(reader: Reader, av: AbstractValue, env: Env) -> AbstractValue:
    """Return the value with the content of its objects in `env`."""
    if is_atom(av):
        return av

    def swap(part: AbstractValue) -> AbstractValue:
        if not is_on_heap(part):
            return settled_mark(part, env)
        if part.home is not None and part.home.place is not None:
            return part  # arguments may refer to one another, so each is joined separately
        content = env.get(part.ident)
        if has_alternatives(content):  # the paths have different keys
            return OneOf(content.tag, {t: holding(reader, part, c, env) for t, c in content.alternatives.items()})
        return holding(reader, part, content, env)

    return replaced(av, swap)


def holding(
    reader: Reader, part: HeapValue, content: AbstractValue | None, env: Env
) -> AbstractValue:
    """Return an object with its content, None for the content that it was made with."""
    if isinstance(content, (Moved, Poison)):
        return part
    made: dict[Any, AbstractValue] = part.made_with
    assert content is None or isinstance(content, Content)
    items = made if content is None else content.items
    if part.ident in reader.heap.settling:
        promote_objects(reader, [part])
        reader.reject("record_stored_in_init", name=describe(part))
    reader.heap.settling.add(part.ident)
    try:
        held = {k: settle(reader, v, env) for k, v in items.items()}
    finally:
        reader.heap.settling.discard(part.ident)
    return with_content(part, held)


def settle_leaving(reader: Reader, av: AbstractValue, env: Env, loc: Loc) -> AbstractValue:
    """Return a value that leaves the function at `loc`, with the content of its objects. Reject an object that is
    another one on some path, since the heap no longer has its content."""
    held = settle(reader, av, env)
    for part in objects_within(held):
        if isinstance(env.get(part.ident), Moved):
            reader.speculation.promote(part)
            promote_objects(reader, [part])
            raise UserError(loc, *rejection("same_object_on_a_path", what=describe(part)))
    return held


def held_in(reader: Reader, env: Env, key: Hashable, envs: Sequence[Env]) -> AbstractValue:
    """Return the content of a name or object in `env`. An object that only another path changed has its original
    content."""
    av = env.get(key)
    if av is None:
        first = next((c for e in envs if key in e for c in _contents(e[key])), None)
        return Unbound() if first is None else Content(first.first, first.first, first.cls)
    return settle(reader, av, env)


def keep_variables(reader: Reader, av: AbstractValue) -> AbstractValue:
    """Return a function's result with its variables frozen for the closures in the result and in all objects."""
    frame, left, seen = reader.position.frame, reader.position.frame.left(), set[Ident]()
    left.locals = reframed(left.locals, frame, left)

    def swap(part: AbstractValue) -> AbstractValue:
        if isinstance(part, Closure) and part.frame is frame:
            frame.is_kept = True
            return replace(part, frame=left)
        ident = identity_of(part)
        if ident is not None and ident not in seen and ident not in reader.heap.contents:
            seen.add(ident)
            assert is_on_heap(part)
            first: dict[Any, AbstractValue] = part.made_with
            held = {k: replaced(v, swap) for k, v in first.items()}
            if any(held[k] is not v for k, v in first.items()):
                reader.heap.contents[ident] = Content(held, first, getattr(part, "cls", None))
        return part

    for key, content in list(reader.heap.contents.items()):
        reader.heap.contents[key] = replaced(content, swap)
    return replaced(av, swap)


def plan_joins(
    reader: Reader, keys: Iterable[Hashable], envs: Sequence[Env], *, force: bool = False, fresh: bool = False,
    mark: float = float("inf"), condition: Value | None = None, splits: bool = False,
) -> dict[Hashable, Plan]:  # fmt: skip
    """Return the plan for each name and object, in a stable order.

    condition: of an `if`. Where its paths cannot be joined, the next reading knows the sizes that decide it. splits: see
    `branch`.
    """
    plans: dict[Hashable, Plan] = {}
    for key in sorted(keys, key=_order):
        try:
            avs = [held_in(reader, env, key, envs) for env in envs]
            plans[key] = unify(avs, reader.kinds, force=force, fresh=fresh, mark=mark)
        except Conflict as e:
            promote_objects(reader, avs)
            if isinstance(e, ItemConflict):
                reader.speculation.allow_unions()
            error = conflict(reader, key, str(e), avs)
            if condition is not None:
                demand_sizes(reader, condition, error.message)
            for node in ends_together(reader) if splits else ():
                site = "if", reader.position.loc_of(node)
                reader.speculation.split(site, f"paths cannot be joined: {error.message}")
            reader.diagnostics.report(error)
            plans[key] = poisoned_plan(reader)
    promote_beside_tables(reader)
    keep_identities(reader, plans, envs, mark)
    return plans


def ends_together(reader: Reader) -> Iterator[ast.AST]:
    """Give the `if` that is the current node, then those around it that end with it, such as the `if` of an `elif`."""
    above = [n for n in all_nodes(reader.position.frame.source.node) if isinstance(n, ast.If)]
    node: ast.AST | None = reader.position.node
    while node is not None:
        yield node
        node = next((n for n in above if node in (n.body[-1], *n.orelse[-1:])), None)


def promote_beside_tables(reader: Reader) -> None:
    """Give run-time keys to dicts with known keys that are joined with dicts of run-time keys, if possible."""
    displays, reader.kinds.beside_tables = reader.kinds.beside_tables, []
    for display in displays:
        reader.speculation.promote(display)


def conflict(reader: Reader, key: Hashable, what: str, avs: Sequence[AbstractValue]) -> UserError:
    name = getattr(key, "name", key)
    if isinstance(key, Ident) and not name:
        return UserError(reader.position.loc, *rejection("paths_leave_other_content", what=what))  # fmt: skip
    who = "this expression" if key == _VALUE else f"'{name}'"
    if all(map(is_function, avs)):
        return UserError(reader.position.loc, *rejection("function_as_value", who=who))
    return UserError(reader.position.loc, *rejection("paths_differ", who=who, what=what))


def poisoned_plan(reader: Reader) -> Plan:
    return unify([Poison()], reader.kinds)


def keep_identities(reader: Reader, plans: dict[Hashable, Plan], envs: Sequence[Env], mark: float) -> None:
    """Reject an object that one path makes and that has two names after the join, since it would become two objects."""
    for env in envs:
        seen: set[Ident] = set()
        for key in plans:
            if plans[key].key() == "Poison" or isinstance(env.get(key), (Content, Moved)):
                continue
            for ident in identities(settle(reader, env.get(key, Unbound()), env)):
                if ident.serial >= mark and ident in seen:
                    promote_objects(reader, [env[key]])
                    reader.diagnostics.report(UserError(reader.position.loc, *rejection("two_names_of_an_object")))
                    plans[key] = poisoned_plan(reader)
                seen.add(ident)


def flatten(reader: Reader, plans: dict[Hashable, Plan], env: Env, envs: Sequence[Env] = ()) -> list[Value]:
    return [v for key, plan in plans.items() for v in plan.flatten(reader, held_in(reader, env, key, envs or [env]))]


def rebind(
    reader: Reader, plans: dict[Hashable, Plan], results: Sequence[Value], envs: Sequence[Env], mark: float
) -> None:
    """Bind joined names and objects to the results of the op that joins them."""
    values = iter(results)
    kept: set[Ident] = set()
    for key, plan in plans.items():
        av = bind_key(reader, key, plan, values)
        kept |= set(identities(av))
    for env in envs:
        for key in plans:
            for ident in identities(env.get(key, Unbound())):
                if ident.serial < mark and ident not in kept:
                    reader.heap.contents[ident] = Moved()


def bind_key(reader: Reader, key: Hashable, plan: Plan, values: Iterator[Value]) -> AbstractValue:
    av = plan.rebuild(values, key if isinstance(key, str) and not key.startswith("·") else "")
    if isinstance(key, Ident):
        reader.heap.contents[key] = av
    else:
        reader.position.frame.locals[str(key)] = av
    return av


# ---- scopes: straight code that may be left early ----


def scoped(reader: Reader, names: Names, run: Callable[[str, list[Exit]], bool]) -> bool:
    """Read statements that may jump to a label. `run` gets the label, and the list in which it notes each jump."""
    label, exits = reader.emit.fresh_label(), []  # type: ignore[var-annotated]
    mark, before = Ident().serial, snapshot(reader)
    with reader.emit.builder.at(Block()) as block:
        falls = reached(lambda: run(label, exits))
    end = snapshot(reader)
    if not exits:
        splice_block(reader, block)
        return falls
    if len(exits) == 1 and not falls and block.ops[-1] is exits[0][0]:  # the only exit is the last op
        exits[0][0].erase()
        splice_block(reader, block)
        restore(reader, exits[0][1])
        return True
    restore(reader, before)
    envs = [env for _, env in exits] + ([end] if falls else [])
    keys = {k for env in envs for k in changed(before, env, mark) if isinstance(k, Ident)} | names
    plans = plan_joins(reader, joinable(reader, keys), envs, fresh=True, mark=mark)
    if falls:
        with reader.emit.builder.at(block):
            reader.emit.effect("yield", flatten(reader, plans, end, envs))
    fill_exits(reader, exits, plans, envs)
    types = [t for plan in plans.values() for t in plan.types()]
    op = reader.emit.builder.op("scope", (), reader.position.loc, regions=[block], types=types, label=label)
    rebind(reader, plans, op.results, envs, mark)
    return True


def fill_exits(reader: Reader, exits: Sequence[Exit], plans: dict[Hashable, Plan], envs: Sequence[Env]) -> None:
    """Give jumps the values that they pass to the join as operands."""
    saved = reader.emit.builder
    for op, env in exits:
        reader.emit.builder = Builder.before(op)
        op.set_operands(flatten(reader, plans, env, envs))
    reader.emit.builder = saved


def splice_block(reader: Reader, block: Block) -> None:
    for op in list(block.ops):
        reader.emit.builder.insert(op)


def _contents(av: AbstractValue) -> Iterator[Content]:
    """Yield the possible contents of an object."""
    parts = av.alternatives.values() if has_alternatives(av) else [without_flag(av)]
    return (part for part in parts if isinstance(part, Content))


def changed(before: Env, env: Env, mark: float) -> set[Hashable]:
    """Return the names, and the older objects, whose content has changed."""
    return {
        k for k, v in env.items()
        if v is not before.get(k) and (isinstance(k, str) or k.serial < mark)
    }  # fmt: skip


def _order(key: Hashable) -> tuple[int, str]:
    return (key.serial + 1, "") if isinstance(key, Ident) else (0, str(key))


def identities(av: AbstractValue) -> Iterator[Ident]:
    """Yield the identities of the objects in a value, except arguments."""
    for part in objects_within(av):
        yield part.ident


def objects_within(av: AbstractValue) -> Iterator[HeapValue]:
    """Yield the objects in a value, except arguments."""
    if is_atom(av):
        return
    home = home_of(av)
    if home is not None and home.place is not None:
        return
    if identity_of(av) is not None:
        yield cast("HeapValue", av)
    for part in () if isinstance(av, Content) else parts_of(av):
        yield from objects_within(part)


def repeated_lists(av: AbstractValue) -> list[ListValue]:
    """Return the lists that a value holds more than once and that exist in the compiler alone, arguments aside."""
    seen: dict[Hashable, ListValue] = {}
    repeated: dict[Hashable, ListValue] = {}

    def visit(part: AbstractValue) -> None:
        home = home_of(part)
        if home is not None and home.place is not None:
            return
        if isinstance(part, ListValue) and part.value is None:
            key = identity_of(part) or id(part)
            if key in seen:
                repeated[key] = part
            seen[key] = part
        for inner in () if isinstance(part, Content) else parts_of(part):
            visit(inner)

    visit(av)
    return list(repeated.values())


def _facts(condition: Value, truth: bool) -> Iterator[tuple[Value, int, bool]]:
    """Yield the tags and the numbers that they equal or differ from, if a condition has a truth value."""
    op = condition.op
    if op is None:
        return
    if op.name == "bool.not":
        yield from _facts(op.operands[0], not truth)
    elif op.name == "int.eq":
        tag, number = op.operands
        if number.op is not None and number.op.name == "const":
            yield tag, number.op.attrs["value"], truth
    elif op.name == ("bool.and_" if truth else "bool.or_"):
        for operand in op.operands:
            yield from _facts(operand, truth)
    elif op.name == "if":
        yields = [region.ops[-1] for region in op.regions]
        if any(y.name != "yield" for y in yields):
            return
        index = op.results.index(condition)
        for side, other in ((0, 1), (1, 0)):
            never = yields[other].operands[index]
            if _is_const(never, not truth) or (never is op.operands[0] and truth != (other == 0)):
                yield from _facts(op.operands[0], side == 0)
                yield from _facts(yields[side].operands[index], truth)
                return


def _is_const(value: Value, expected: bool) -> bool:
    return value.op is not None and value.op.name == "const" and value.op.attrs["value"] is expected


def note_change(reader: Reader, key: str | Ident) -> None:
    """Note for the `try` statements around that a name of this function, or an object, has changed."""
    for watch in reader.position.watches:
        moved = {name: cell for name, cell in watch.frame.cells.items() if cell.serial > watch.mark}
        changed = next((name for name, cell in moved.items() if cell is key), key)
        if isinstance(changed, Ident) or (watch.frame is reader.position.frame and changed in watch.names):
            place = reader.emit.effect("cell.set", ())  # its operand is filled in when the body has been read
            held = {name: reader.heap.contents[cell] for name, cell in moved.items() if cell in reader.heap.contents}
            watch.sites.append(Site(place, changed, {**watch.frame.locals, **held, **reader.heap.contents}))
