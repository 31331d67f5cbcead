"""Functions that call themselves.

Recursion over known values, such as a tree of Python objects or a depth, ends during the reading, so these calls are
inlined. Any other recursive function becomes a function of the IR, for one set of argument kinds. Its result type is
found by repeated readings. In the first reading its own calls do not return; each later one assumes the result of the
reading before.

An IR function sees only its parameters. So the variables that it captures are arguments too, and its changes of objects
and shared variables are further results.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

from scriptc.frontend.reader.contents import set_items
from scriptc.frontend.reader.errors import Terminated
from scriptc.frontend.reader.jumps import leave_with
from scriptc.frontend.reader.paths import Env, changed, fill_exits, flatten, note_change, plan_joins, reached, settle
from scriptc.frontend.reader.promotion import promote_nested
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.statements import enter
from scriptc.frontend.source.scope import captured_names
from scriptc.frontend.values.abstract import (
    AbstractValue,
    Closure,
    Content,
    DictValue,
    GeneratorValue,
    Ident,
    Known,
    ListValue,
    ObjectValue,
    RuntimeValue,
)
from scriptc.frontend.values.element_types import unite
from scriptc.frontend.values.frame import Frame
from scriptc.frontend.values.joins import Plan
from scriptc.frontend.values.predicates import (
    home_of,
    is_known,
    is_list,
    is_record,
    is_tensor,
    place_of_caller,
    tensor_type,
)
from scriptc.frontend.values.structure import identity_of, is_atom, parts_of, replaced, shared_key
from scriptc.frontend.values.union_kinds import NUMBERS
from scriptc.frontend.values.verbs import describe, leaf_kinds, structure_of
from scriptc.frontend.values.walk import is_mark
from scriptc.ir.core import Block, Func, Value
from scriptc.ir.types import ListType, TensorType

_MAX_DEPTH = 48  # recursive calls deeper than this are not inlined
_MAX_CALLS = 600  # one function's recursive calls beyond this number are not inlined ...
_SHALLOW = 4  # ... not counting those of this depth or less, as `__getattribute__` makes them for each attribute
_MAX_FUNCTIONS = 200
_MAX_NESTED = 6  # recursive functions that are read within one another, each for its own kinds of arguments
_MAX_READINGS = 50
_RESULT = "·result"

OuterVariable = tuple[Frame, str]  # a variable of an enclosing function
_Signature = tuple[Hashable, ...]


@dataclass(eq=False)
class Recursive:
    """A recursive function as a function of the IR.

    `arguments` and `results` are the plans of the passed values. `results` is None while no return is known. The keys
    of results are shared variables, indices of objects among the arguments, and _RESULT.
    """

    name: str
    arguments: dict[Hashable, Plan]
    results: dict[Hashable, Plan] | None = None
    objects: list[ObjectValue | DictValue] = field(default_factory=list)  # among the arguments, in `results`' order


@dataclass
class RecursiveFunctions:
    """Keep the recursive functions of one reading."""

    functions: dict[Any, Recursive] = field(default_factory=dict)  # by the kinds of their arguments
    named: int = 0
    followed: dict[ast.AST, int] = field(default_factory=dict)  # by function: its inlined recursive calls
    nested: int = 0  # the number of recursive functions being read


def kinds_of_arguments(reader: Reader, avs: Sequence[AbstractValue]) -> _Signature:
    """Return the leaves of arguments, each by its known value or its kind."""
    heap: Env = {**reader.heap.contents}
    return tuple(leaf for av in avs for leaf in kinds_of_leaves(settle(reader, av, heap)))


def kinds_of_leaves(av: AbstractValue) -> Iterator[Hashable]:
    """Yield the known value or the kind of each leaf of an argument."""
    if is_atom(av):
        yield from leaf_kinds(av)
        return
    place = place_of_caller(av)
    if place is not None:  # the kind of a caller's object includes the object's identity
        yield "known", place
        return
    structure = structure_of(av)
    if structure is None:
        yield from leaf_kinds(av)
        return
    yield structure.key
    for part in structure.parts:
        yield from kinds_of_leaves(part)


def calls_itself(reader: Reader, frame: Frame) -> bool:
    """Return whether the call of `frame` cannot be inlined, since its function is being read for such arguments."""
    node = frame.source.node
    frame.signature = kinds_of_arguments(reader, [*frame.locals.values()])
    frame.codes = frozenset(av.node for av in frame.locals.values() if isinstance(av, (Closure, GeneratorValue)))
    if node in reader.assumptions.recursive:
        return True
    around = [f for f in reader.position.frames if f.source.node is node and f.func is frame.func]
    if frame.func is None:  # only calls within the same enclosing frame are calls of the same function
        around = [f for f in around if f.outer is frame.outer]
    if not frozenset().union(*(f.codes for f in around)) >= frame.codes:
        return False  # as in any(any(...) for ...): a program has finitely many functions and generators to pass
    if not around:
        return False
    if any(f.signature == frame.signature for f in around) or not _narrows(around[-1].signature, frame.signature):
        return True
    if len(around) >= _SHALLOW:
        reader.recursion.followed[node] = reader.recursion.followed.get(node, 0) + 1
    if len(around) > _MAX_DEPTH or reader.recursion.followed.get(node, 0) > _MAX_CALLS:
        reader.speculation.make_recursive(node)
    return False


def call_recursive(reader: Reader, frame: Frame, body: Sequence[ast.stmt]) -> AbstractValue:
    """Call an IR function. The arguments are bound in `frame`."""
    outer_variables = list(captured(frame))
    given: Env = {**{f"·{i} {name}": f.locals[name] for i, (f, name) in enumerate(outer_variables)}, **frame.locals}
    shared = list(shared_variables(reader, frame))
    given |= {f"·shared {i}": reader.heap.contents[cell] for i, cell in enumerate(shared)}
    env = {**reader.heap.contents, **given}
    settled = {key: settle(reader, av, env) for key, av in given.items()}
    for av in settled.values():
        if has_argument(av):
            reader.reject("recursion_with_structure", name=frame.source.name, what=describe(av))
        if has_mark(av):
            reader.reject("recursion_captures", name=frame.source.name)
        for values in lists_in(av):
            reader.speculation.mutate(values)
    kinds = tuple(k for av in settled.values() for k in kinds_of_leaves(erased(av)))
    casts = tuple(reader.environment.autocast[-1:])
    key = (frame.source.node, frame.func, tuple(settled), kinds, reader.position.leaves_generator, casts)
    function = reader.recursion.functions.get(key)
    if function is None:
        function = reader.recursion.functions[key] = new_function(reader, frame, settled)
        read_function(reader, function, frame, body, outer_variables, shared)
    return emit_call(reader, function, settled, shared)


def new_function(reader: Reader, frame: Frame, settled: dict[str, AbstractValue]) -> Recursive:
    if len(reader.recursion.functions) >= _MAX_FUNCTIONS or reader.recursion.nested > _MAX_NESTED:
        reader.reject("recursion_of_ever_new_kinds", name=frame.source.name)
    seen = [o.ident for av in settled.values() for o in objects_in(av)]
    if len(set(seen)) < len(seen):
        reader.reject("recursion_with_object_twice", name=frame.source.name)
    sample: Env = {name: erased(av) for name, av in settled.items()}
    arguments = plan_joins(reader, sample, [sample], force=True, fresh=True, mark=-1)
    reader.recursion.named += 1
    return Recursive(f"{_symbol(frame.source.name)}_{reader.recursion.named}", arguments)


def read_function(
    reader: Reader, function: Recursive, outline: Frame, body: Sequence[ast.stmt],
    outer_variables: Sequence[OuterVariable],
    shared: Sequence[Ident],
) -> None:  # fmt: skip
    """Read the body until its result has the type that its own calls assumed."""
    state = (
        reader.emit.builder,
        reader.position.frames,
        reader.heap.contents,
        reader.position.watches,
        reader.position.handling,
        reader.position.node,
        reader.position.generators,
    )
    outer = [(frame, name, frame.locals[name]) for frame, name in outer_variables]
    errors, poisoned, known = (
        len(reader.diagnostics.errors),
        reader.diagnostics.poisoned,
        set(reader.recursion.functions),
    )
    # An exception that the function does not catch leaves the generator, too.
    leaves = [0] if reader.position.leaves_generator else []
    reader.recursion.nested += 1
    try:
        for _ in range(_MAX_READINGS):
            block = Block([(t, "") for plan in function.arguments.values() for t in plan.types()])
            reader.position.watches, reader.position.handling, reader.heap.contents, reader.position.generators = (
                [],
                [],
                {},
                leaves,
            )
            results, objects = read_body(reader, function, outline, body, outer_variables, shared, block)
            settled = _keys(results, objects) == _keys(function.results, function.objects)
            function.results, function.objects = results, objects
            if settled:
                break
            block.drop()
            if not reader.diagnostics.poisoned:
                del reader.diagnostics.errors[errors:]
            for other in set(reader.recursion.functions) - known:  # read under outdated result types
                reader.emit.module.funcs.pop(reader.recursion.functions.pop(other).name, None)
            reader.diagnostics.poisoned = poisoned
        else:
            reader.reject("recursion_returns", name=outline.source.name)
    finally:
        reader.recursion.nested -= 1
        (
            reader.emit.builder,
            reader.position.frames,
            reader.heap.contents,
            reader.position.watches,
            reader.position.handling,
            reader.position.node,
            reader.position.generators,
        ) = state
        for frame, name, av in outer:
            frame.locals[name] = av
    if any(not block.encloses(v.block) for op in block.walk() for v in op.operands):
        reader.reject("recursion_captures", name=outline.source.name)
    types = [t for plan in (function.results or {}).values() for t in plan.types()]
    loc = outline.source.loc(outline.source.node, None)
    reader.emit.module.funcs[function.name] = Func(function.name, block, types, loc)


def read_body(
    reader: Reader, function: Recursive, outline: Frame, body: Sequence[ast.stmt],
    outer_variables: Sequence[OuterVariable],
    shared: Sequence[Ident], block: Block,
) -> tuple[dict[Hashable, Plan] | None, list[ObjectValue | DictValue]]:  # fmt: skip
    """Read the body once into `block`. Return the plans of its results, None if it never returns, and its argument
    objects."""
    frame = Frame(outline.source, outline.func, None, outer=outline.outer)
    values = iter(block.args)
    rebuilt = {
        str(key): plan.rebuild(values, "" if "shared" in str(key) else str(key).split(" ")[-1])
        for key, plan in function.arguments.items()
    }
    objects = [o for av in rebuilt.values() for o in objects_in(av)]
    for i, (owner, name) in enumerate(outer_variables):
        owner.locals[name] = rebuilt.pop(f"·{i} {name}")
    for i, cell in enumerate(shared):
        reader.heap.contents[cell] = rebuilt.pop(f"·shared {i}")
    frame.locals.update({name: rebuilt[name] for name in outline.locals})
    frame.signature = kinds_of_arguments(reader, [*frame.locals.values()])
    if outline.first_arg is not None:
        frame.first_arg = next(iter(frame.locals.values()))
    reader.position.frames = [frame]
    reader.position.node = outline.source.node
    mark, before = Ident().serial, dict[Any, AbstractValue](reader.heap.contents)
    with reader.emit.builder.at(block):
        enter(reader, frame)
        if reached(lambda: reader.run(body)):
            leave_with(reader, Known(None))
    if not frame.returns:
        return None, objects
    envs: list[Env] = [{_RESULT: site.av, **site.heap} for site in frame.returns]
    promote_nested(reader, (settle(reader, site.av, env) for site, env in zip(frame.returns, envs, strict=True)))
    keys = {_RESULT, *(objects[k].ident if isinstance(k, int) else k for k in function.results or ())}
    keys |= {k for env in envs for k in changed(before, env, mark)}
    plans = plan_joins(reader, keys, envs, fresh=True, mark=mark)
    fill_exits(reader, [(site.op, env) for site, env in zip(frame.returns, envs, strict=True)], plans, envs)
    numbers = {o.ident: i for i, o in enumerate(objects)}
    return {numbers.get(k, k) if isinstance(k, Ident) else k: plan for k, plan in plans.items()}, objects


def emit_call(
    reader: Reader, function: Recursive, settled: dict[str, AbstractValue], shared: Sequence[Ident]
) -> AbstractValue:
    operands = flatten(reader, function.arguments, {k: v for k, v in settled.items()})
    for plan_type, value in zip(_types(function.arguments), operands, strict=True):
        if isinstance(plan_type, ListType) and isinstance(value.type, ListType) and not plan_type.is_tuple:
            same_elements(reader, plan_type, value.type)
    results = function.results or {}
    types = [t for plan in results.values() for t in plan.types()]
    op = reader.emit.builder.op("call", operands, reader.position.loc, types=types, func=function.name)
    if function.results is None:
        reader.emit.effect("unreachable", ())
        raise Terminated
    values = iter(op.results)
    objects = [o for av in settled.values() for o in objects_in(av)]
    own = {theirs.ident: ours for theirs, ours in zip(function.objects, objects, strict=True)}
    found: AbstractValue = Known(None)

    def ours_for_theirs(part: AbstractValue) -> AbstractValue:
        ident = identity_of(part)
        return part if ident is None else own.get(ident, part)

    for key, plan in results.items():
        av = replaced(plan.rebuild(values, ""), ours_for_theirs)
        if key == _RESULT:
            found = av
        elif isinstance(key, int) and isinstance(av, Content):
            set_items(reader, as_made(reader, objects[key]), av.items)
        elif isinstance(key, Ident):
            reader.heap.contents[key] = av
            note_change(reader, key)
    return found


def as_made(reader: Reader, settled: ObjectValue | DictValue) -> ObjectValue | DictValue:
    """Return an object with its original content. `settled` has the present content."""
    content = reader.heap.contents.get(settled.ident)
    if isinstance(content, Content):
        settled = replace(settled, items=content.first)
    return settled


# ---- what a function sees beside its arguments ----


def captured(frame: Frame) -> Iterator[OuterVariable]:
    """Yield the variables of enclosing functions that inner functions read, except known ones."""
    seen: set[Frame] = set()
    pending = [frame.outer, *(c.frame for av in frame.locals.values() if isinstance(c := av, Closure))]
    while pending:
        outer = pending.pop()
        if outer is None or outer in seen:
            continue
        seen.add(outer)
        pending.append(outer.outer)
        for name in sorted(captured_names(outer.source.node) & outer.locals.keys()):
            if not isinstance(outer.locals[name], (Known, Closure)):
                yield outer, name


def shared_variables(reader: Reader, frame: Frame) -> Iterator[Ident]:
    outer = frame.outer
    while outer is not None:
        yield from (cell for cell in outer.cells.values() if not isinstance(reader.heap.contents.get(cell), Closure))
        outer = outer.outer
    yield from (slot.ident for slot in reader.state.slots.values())


def same_elements(reader: Reader, a: ListType, b: ListType) -> None:
    """Return whether two lists may be one, so that their element types are equal."""
    pass

    before = a.elem, b.elem
    unite(a, b)
    if (a.elem, b.elem) != before and any(c.find().observed for c in (a.variable, b.variable)):
        reader.speculation.unite_lists(a)


def _narrows(around: _Signature, inside: _Signature) -> bool:
    """Return whether a call has other known values than the call around it, so that the recursion may end."""
    if len(around) != len(inside):
        return True
    return any(
        a != b and isinstance(a, tuple) and isinstance(b, tuple) and a[0] == b[0] == "known"
        for a, b in zip(around, inside, strict=True)
    )


def _types(plans: dict[Hashable, Plan]) -> Iterator[Any]:
    for plan in plans.values():
        yield from plan.types()


def _keys(plans: dict[Hashable, Plan] | None, objects: list[ObjectValue | DictValue]) -> dict[Hashable, str] | None:
    """Return keys that are equal for results of the same form. Keys name objects among the arguments by their index."""
    if plans is None:
        return None
    places = {str(o.ident.serial): i for i, o in enumerate(objects)}
    named = lambda m: f"argument {places.get(m[1], m[1])}"  # noqa: E731
    return {key: re.sub(r"same object (\d+)", named, plan.key()) for key, plan in plans.items()}


def erased(av: AbstractValue) -> AbstractValue:
    """Return the value without the parts that do not specialize an IR function: sizes of tensors, and numbers."""
    made: dict[Hashable, AbstractValue] = {}

    def swap(part: AbstractValue) -> AbstractValue:
        if is_tensor(part):
            t = tensor_type(part)
            sizes = None if t.dims is None else (None,) * len(t.dims)
            return RuntimeValue(Value(TensorType(t.dtype, sizes), Block()))
        if is_known(part) and type(part.obj) in NUMBERS:
            return RuntimeValue(Value(NUMBERS[type(part.obj)], Block()))
        return part

    return _replaced_within(av, swap, made)


def is_settled_object(av: AbstractValue) -> TypeGuard[ObjectValue | DictValue]:
    """Return whether a settled value is an object, or a dict with known keys, that is no run-time record."""
    return isinstance(av, (ObjectValue, DictValue)) and not is_record(av)


def _replaced_within(av: AbstractValue, swap: Any, made: dict[Hashable, AbstractValue]) -> AbstractValue:
    """Return `replaced(...)`, applied inside settled objects and dicts as well. What was one object stays one."""
    if (key := shared_key(av)) not in made:
        if is_settled_object(av):
            made[key] = replace(av, items={k: _replaced_within(v, swap, made) for k, v in av.items.items()})
        else:
            made[key] = replaced(av, swap)
    return made[key]


def objects_in(av: AbstractValue) -> Iterator[ObjectValue | DictValue]:
    """Yield the objects and dicts in a settled value."""
    if is_settled_object(av):
        yield av
    for part in parts_of(av):
        yield from objects_in(part)


def has_mark(av: AbstractValue) -> bool:
    """Return whether an iterator is within a value. The caller could not tell whether the function walks it."""
    return is_mark(av) or any(map(has_mark, parts_of(av)))


def has_argument(av: AbstractValue) -> bool:
    """Return whether a value is or contains an object or dict that is an argument of the entry."""
    home = home_of(av)
    return home is not None and home.place is not None or any(map(has_argument, parts_of(av)))


def lists_in(av: AbstractValue) -> Iterator[ListValue]:
    if is_list(av):
        yield av
    for part in parts_of(av):
        yield from lists_in(part)


def _symbol(name: str) -> str:
    return "".join(
        c if c.isalnum() or c in "._" else "_" for c in name.replace("<locals>.", "").replace("<lambda>", "lambda")
    )
