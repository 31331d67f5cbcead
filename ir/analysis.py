"""Effects, aliasing and movement of ops, for passes. Answers follow from traits, effects and uses, and are
conservative.

The memory model: tensors and lists are references. A PURE op makes new objects in each run, unless it is a VIEW (new
object, old memory) or FETCHES (old object). Objects from outside (arguments, weights, elements of lists, results of
calls) may alias one another. A new object aliases only values that are derived from it. It also may alias objects from
outside once it is captured, that is, stored in a list or tuple or passed to a call.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, get_args

from scriptc.ir.core import Block, Module, Op, Value
from scriptc.ir.ops import OPS
from scriptc.ir.ops.checks import is_proved
from scriptc.ir.regions import Operand, dominates, fed_values, region_argument_of
from scriptc.ir.types import (
    NEVER,
    CellType,
    Container,
    ListType,
    ObjectType,
    OptionalType,
    ScalarType,
    TensorType,
    TupleType,
    Type,
    type_variables,
)

# The memory class of each type of values. "list" is the class of all containers with identity.
_CLASS: dict[str, Any] = {"tensor": TensorType, "list": Container}


def holds(t: Type, memory: str) -> bool:
    """Return whether a value of this type is, or refers to, an object of a memory class."""
    seen: set[Type] = set()  # objects may refer to objects of the same class
    todo = [t]
    while todo:
        part = todo.pop()
        if isinstance(part, _CLASS[memory]):
            return True
        if isinstance(part, ObjectType):
            if part in seen:
                continue
            seen.add(part)
        if isinstance(part, Container):
            todo += [variable.find().type for variable in type_variables(part)]
        elif isinstance(part, (OptionalType, CellType)):
            todo.append(part.item)
        elif isinstance(part, TupleType):
            todo += part.items
    return False


def is_reference(t: Type) -> bool:
    """Return whether values of this type are, or contain, objects with identity."""
    return any(holds(t, memory) for memory in _CLASS)


def function_body(op: Op) -> Block:
    block = op.parent
    assert block is not None
    while block.parent is not None:
        assert block.parent.parent is not None
        block = block.parent.parent
    return block


def writers(where: Block | Op, memory: str | None = None) -> Iterator[Op]:
    """Return the ops in `where` that write a memory class; any class if none is given."""
    return (op for op in where.walk() if (memory in op.defn.writes if memory else op.defn.writes))


def writes(where: Block | Op, memory: str) -> bool:
    return any(True for _ in writers(where, memory))


def draws_random_numbers(module: Module) -> bool:
    return any("random" in op.defn.writes for op in module.walk())


def calls(op: Op) -> bool:
    """Return whether the op calls another function, which may write all memory that it can reach."""
    return "func" in op.attrs


@dataclass
class Origin:
    """The possible origins of an object: the values `fresh` of this function, or outside (`unknown`).

    roots: the values of unknown origin that the object may be.
    """

    fresh: set[Value] = field(default_factory=set)
    unknown: bool = False
    roots: set[Value] = field(default_factory=set)


def roots(value: Value) -> set[Value]:
    """Return the values that may have made an object, and the arguments that may be or contain it."""
    found, seen, todo = set[Value](), set[Value](), [value]
    while todo:
        v = todo.pop()
        if v in seen:
            continue
        seen.add(v)
        sources = _sources(v)
        if sources is None and v.op is not None and v.op.has("FETCHES") and v.op.operands:
            sources = [v.op.operands[0]]
        if sources is None:
            found.add(v)
        else:
            todo += sources
    return found


def roots_in_lists(values: Iterable[Value]) -> set[Value]:
    """Return the roots of values, and those of the items of the lists that the values may be taken from."""
    found, todo = set[Value](), list(values)
    while todo:
        for root in roots(todo.pop()) - found:
            found.add(root)
            if isinstance(root.type, ListType) and root.op is not None:
                todo += [*root.op.operands, *(v for user in root.users() for v in user.operands if user.operands[0] is root)]
    return found


def is_fresh(value: Value) -> bool:
    """Return whether the op that makes a value makes a new object with memory of its own."""
    op = value.op
    if op is None or op.has("FETCHES") or not (op.has("PURE") or op.has("ALLOCATES")):
        return False
    return not (op.has("VIEW") and isinstance(value.type, TensorType))


def shares_memory(value: Value) -> bool:
    """Return whether a value is a view that never copies. Such a view is another object over the same memory."""
    op = value.op
    return op is not None and op.has("VIEW") and not op.defn.reads and isinstance(value.type, TensorType)


def _sources(value: Value) -> list[Value] | None:
    """Return the values that a value may be; None if its own op may make the object."""
    argument = region_argument_of(value)
    if argument is not None:
        return [op.operands[i] for op, i in (argument.into_inner if value is argument.inner else argument.into_result)]
    op = value.op
    if op is not None and op.operands:
        from_optional = op.has("FETCHES") and isinstance(op.operands[0].type, OptionalType)
        if from_optional or (op.has("VIEW") and isinstance(value.type, TensorType)):
            return [op.operands[0]]
    return None


def origin(value: Value) -> Origin:
    found, seen, todo = Origin(), set[Value](), [value]
    while todo:
        v = todo.pop()
        if v in seen:
            continue
        seen.add(v)
        sources = _sources(v)
        if sources is not None:
            todo += sources
        elif is_fresh(v):
            found.fresh.add(v)
        else:
            found.unknown = True
            found.roots.add(v)
    return found


class Origins:
    """The origins of values, and the objects that are captured, each found once while a function stays as it is."""

    def __init__(self) -> None:
        self._found: dict[Value, Origin] = {}
        self._captured: dict[Value, bool] = {}

    def of(self, value: Value) -> Origin:
        if value not in self._found:
            self._found[value] = origin(value)
        return self._found[value]

    def captured(self, value: Value) -> bool:
        if value not in self._captured:
            self._captured[value] = captured(value)
        return self._captured[value]


def may_be_leaf(value: Value) -> bool:
    """Return whether a tensor may be a leaf of autograd, or a view of one, since it may come from outside."""
    return origin(value).unknown


def references(value: Value, *, through_regions: bool) -> Iterator[Operand]:
    """Yield the uses of a value, and of values that may be the same object, alias its memory or contain it."""
    seen, todo = set[Value](), [value]
    while todo:
        v = todo.pop()
        if v in seen:
            continue
        seen.add(v)
        for (_, i), op in v.uses.items():
            yield op, i
            if op.has("TERMINATOR") or op.regions:
                if through_regions:
                    todo += fed_values(op, i)
            elif _passes_on(op):
                todo += op.results


def _passes_on(op: Op) -> bool:
    held = (TupleType, OptionalType)
    return op.has("VIEW") or op.has("FETCHES") or any(isinstance(r.type, held) for r in op.results)


def keeps(op: Op, index: int) -> bool:
    """Return whether an operand may be reached again through a container, a cell or another function."""
    made = op.has("ALLOCATES") and any(isinstance(r.type, (*get_args(Container), CellType)) for r in op.results)
    return (
        calls(op)
        or made
        or "state" in op.defn.writes
        or (not op.defn.writes.isdisjoint(("list", "cell")) and index > 0)
    )


def captured(value: Value) -> bool:
    """Return whether the object may be reached other than through values derived from it."""
    held = (TupleType, *get_args(Container), CellType)
    return any(
        keeps(op, i) or (not op.regions and any(isinstance(r.type, held) and is_reference(r.type) for r in op.results))
        for op, i in references(value, through_regions=True)
    )


def escapes(value: Value) -> bool:
    """Return whether the object, or a view of it, is returned, yielded, carried, stored in a list or passed to a call."""
    return any(
        op.has("TERMINATOR") or op.has("CONTROL") or keeps(op, i) for op, i in references(value, through_regions=False)
    )


def _memory_of(value: Value, memory: str, known: Origins) -> Origin | None:
    """Return the origin of the memory of one class that a value refers to. Items of containers are not followed."""
    if isinstance(value.type, _CLASS[memory]):
        return known.of(value)
    return Origin(unknown=True) if holds(value.type, memory) else None


def _overlap(target: Origin, read: Origin, known: Origins) -> bool:
    if (target.unknown and read.unknown) or target.fresh & read.fresh:
        return True
    if target.unknown and any(map(known.captured, read.fresh)):
        return True
    return read.unknown and any(known.captured(made) and not _are_older(read.roots, made) for made in target.fresh)


def _are_older(roots: Collection[Value], made: Value) -> bool:
    """Return whether all objects of unknown origin existed before `made`. No roots stand for objects that are not known."""
    return bool(roots) and all(_is_older(root, made) for root in roots)


def _is_older(value: Value, made: Value) -> bool:
    """Return whether a value existed before the object `made`, so that the two differ."""
    if not is_fresh(made) or made.op is None or made.op.parent is None:
        return False
    return dominates(value.op, made.op) if value.op is not None else value.block.encloses(made.op.parent)


def _are_unlike(a: Type, b: Type) -> bool:
    """Return whether no object has both types, as with lists of scalars and lists of other items."""
    if not isinstance(a, ListType) or not isinstance(b, ListType):
        return False
    items = {a.elem, b.elem}
    return len(items) == 2 and NEVER not in items and any(isinstance(t, ScalarType) for t in items)


def _is_another(value: Value, target: Value) -> bool:
    return _is_older(value, target) or _are_unlike(value.type, target.type)


def may_write(writer: Op, value: Value, known: Origins | None = None) -> bool:
    """Return whether `writer` may write memory that `value` refers to. A call may write all memory, another op its
    first operand.

    known: what was found since the function last changed. New origins are added.
    """
    known = Origins() if known is None else known
    for memory in writer.defn.writes & _CLASS.keys():
        read = _memory_of(value, memory, known)
        if read is None:
            continue
        if not calls(writer) and isinstance(value.type, _CLASS[memory]) and _is_another(value, writer.operands[0]):
            continue
        targets = [_memory_of(v, memory, known) for v in (writer.operands if calls(writer) else writer.operands[:1])]
        if calls(writer):
            targets.append(Origin(unknown=True))
        if any(t is not None and _overlap(t, read, known) for t in targets):
            return True
    return False


def interferes(writer: Op, reader: Op, known: Origins | None = None) -> bool:
    """Return whether `reader` may observe a difference when it moves across `writer`. known: as of `may_write`."""
    shared = writer.defn.writes & reader.defn.reads
    if not shared:
        return False
    known = Origins() if known is None else known
    return bool(shared - _CLASS.keys()) or any(may_write(writer, v, known) for v in reader.operands)


def is_written(value: Value, where: Block | Op, known: Origins | None = None) -> bool:
    """Return whether any op in `where` may write memory that `value` refers to."""
    known = Origins() if known is None else known
    return any(may_write(writer, value, known) for writer in writers(where))


def may_stand_for(new: Value, old: Value) -> bool:
    """Return whether the existing object `new` may replace `old`, a new object of equal content, unobserved."""
    op = old.op
    assert op is not None
    if not is_reference(old.type) or op.has("FETCHES"):
        return True
    if escapes(old):
        return False
    body = function_body(op)
    return shares_memory(old) or not (is_written(old, body) or is_written(new, body))


def is_invariant(value: Value, loop: Op) -> bool:
    """Return whether a value is defined outside a loop."""
    return not any(region.encloses(value.block) for region in loop.regions)


def only_raises(op: Op) -> bool:
    """Return whether an op has no effect but an exception, and no results: a check."""
    return op.defn.raises and not (op.results or op.regions or op.defn.reads or op.defn.writes or op.has("TERMINATOR"))


def _is_checked(op: Op, at: Op) -> bool:
    """Return whether the check of an op's row is proved, or has run when control reaches `at`."""
    if op.defn.check is None or is_proved(op.defn.check, op.operands, op.attrs):
        return True
    wanted = {"of": op.name, **op.attrs}
    return any(
        user.defn is OPS["check"] and user.operands == op.operands and user.attrs == wanted and dominates(user, at)
        for user in op.operands[0].users()
    )


def may_be_undefined(value: Value, passed: Collection[Value]) -> bool:
    """Return whether an object may be undefined: a name that is unbound on some path, or a value of another kind of a
    union.

    Only ops behind the test for this may read the object. passed: the result of `passed_undefined`.
    """
    return any(v in passed or (v.op is not None and v.op.name == "undef") for v in roots(value))


def passed_undefined(module: Module) -> set[Value]:
    """Return the parameters of functions, and the results of calls, that may be undefined."""
    found = set[Value]()
    if len(module.funcs) == len(module.entries):
        return found
    handed = [*_handed_over(module)]
    while new := {to for value, to in handed if to not in found and may_be_undefined(value, found)}:
        found |= new
    return found


def _handed_over(module: Module) -> Iterator[tuple[Value, Value]]:
    """Yield the values that calls and returns pass on, in pairs of source and destination."""
    returns = {name: [op for op in func.body.walk() if op.name == "return"] for name, func in module.funcs.items()}
    for op in filter(calls, module.walk()):
        name = op.attrs["func"]
        pairs = [*zip(op.operands, module.funcs[name].body.args, strict=True)]
        pairs += [pair for r in returns[name] for pair in zip(r.operands, op.results, strict=True)]
        yield from ((value, to) for value, to in pairs if is_reference(to.type))


def movable(op: Op, to: Op, passed: Collection[Value]) -> bool:
    """Return whether the op may run before `to`, even if control might not have reached the op, since it cannot fail
    there."""
    if not op.has("PURE") or op.has("CHECKED") or op.defn.raises or not _is_checked(op, to):
        return False
    if any(is_reference(v.type) and may_be_undefined(v, passed) for v in op.operands):
        return False
    inside = (inner for region in op.regions for inner in region.ops if not inner.has("TERMINATOR"))
    return all(movable(inner, to, passed) for inner in inside)
