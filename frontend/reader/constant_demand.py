"""What must be known at compile time, and making it so: by unrolling a loop, or by specialising on an argument."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from scriptc.frontend.environment.dependencies import meet_this_process
from scriptc.frontend.environment.host_objects import holds_tensor
from scriptc.frontend.environment.watching import call_in_python
from scriptc.frontend.reader.errors import NeedsKnown, Poisoned, UserError
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.rejections import rejection
from scriptc.frontend.values.abstract import AbstractValue, Known, ListValue, Poison, RuntimeValue, TupleValue
from scriptc.frontend.values.element_types import is_of_numbers
from scriptc.frontend.values.predicates import is_run_time_text
from scriptc.frontend.values.verbs import describe
from scriptc.ir.core import Op, Value
from scriptc.ir.regions import region_argument_of
from scriptc.ir.types import STR, ListType, ScalarType, Type


def require_known(reader: Reader, av: AbstractValue, what: str) -> Any:
    """The Python object behind a value that must be known at compile time."""
    match av:
        case Known(obj):
            return obj
        case TupleValue(items):
            return tuple(require_known(reader, i, what) for i in items)
        case ListValue(items=items) if items is not None:
            reader.speculation.observe(av)
            return [require_known(reader, i, what) for i in items]
        case Poison():
            raise Poisoned
        case RuntimeValue(value) if isinstance(value.type, ScalarType):
            if value.op is not None and value.op.name == "const":
                return value.op.attrs["value"]
            raise NeedsKnown(value, UserError(reader.position.loc, *rejection("computed_at_run_time", what=what)))
        case ListValue(value=Value() as value) if is_of_numbers(value.type):
            raise NeedsKnown(
                value, UserError(reader.position.loc, *rejection("not_known", what=what, found=describe(av)))
            )
    reader.reject("not_known", what=what, found=describe(av))


def call_memoised(
    reader: Reader, function: Any, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """A call of what functools.lru_cache wraps. Its result for known arguments is the same object at each call; for
    others it is computed again."""
    if all(map(is_known_throughout, (*args, *kwargs.values()))):
        given = [require_known(reader, a, "an argument") for a in args]
        named = {name: require_known(reader, av, "an argument") for name, av in kwargs.items()}
        meet_this_process()  # what it gives need not follow from its arguments
        result = call_in_python(reader, function, *given, **named)
        found = require_known(reader, result, "a result")
        reader.environment.made.discard(id(found))  # the cache holds it, and gives it to others
        if not holds_tensor([found]):
            return result
    inner = function.__wrapped__
    code = getattr(inner, "__code__", None)
    if code is not None and function.__name__ in (*code.co_names, *code.co_freevars):
        reader.reject("memoised_recursion", name=function.__name__)
    return reader.call(Known(inner), args, kwargs)


def make_known(reader: Reader, value: Value, why: str) -> bool:
    """Return whether another reading, and none before, can know this number, or list of numbers: by unrolling a loop, by
    specializing on an argument, or by keeping the items of lists that it comes from one by one. why: what is said of
    these where that fails."""
    v = knowable(reader, value)
    if v is None and (sites := sites_behind(reader, value)):
        reader.assumptions.known_length |= sites
        reader.assumptions.why_known_length |= dict.fromkeys(sites, why)
        return True
    if v in reader.speculation.counters:
        return reader.assumptions.unroll(reader.speculation.counters[v])
    if v in reader.speculation.number_args:
        is_new = reader.speculation.number_args[v] in reader.assumptions.changing
        reader.assumptions.changing.discard(reader.speculation.number_args[v])
        return is_new
    if v is None or reader.speculation.arg_places[v] in reader.assumptions.known_args:
        return False
    reader.assumptions.known_args.add(reader.speculation.arg_places[v])
    return True


def knowable(reader: Reader, value: Value) -> Value | None:
    """The counter of a loop, or the argument, by which another reading may know a number."""
    todo, seen = [value], set()
    while todo:
        v = todo.pop()
        if v in seen:
            continue
        seen.add(v)
        if (
            v in reader.speculation.counters
            or v in reader.speculation.number_args
            or v in reader.speculation.arg_places
        ):
            return v
        argument = region_argument_of(v) if v.op is not None else None
        if argument is not None:
            todo += [op.operands[i] for op, i in argument.into_result if i < len(op.operands)]
        if v.op is not None and v.op.name == "loop":  # what it ends with is known where each of its iterations is
            todo += [a for a in v.op.regions[0].args[:1] if a in reader.speculation.counters]
        if v.op is not None and all(_may_be_known(o.type) for o in v.op.operands):
            todo += v.op.operands
    return None


def sites_behind(reader: Reader, value: Value) -> set[Any]:
    """Where the lists of numbers are made that a value is computed from, if their lengths may be known."""
    todo, seen, found = [value], set(), set()
    while todo:
        v = todo.pop()
        if v in seen:
            continue
        seen.add(v)
        if isinstance(v.type, ListType):
            cell = v.type.cell.find()
            found |= {site for site, made in reader.speculation.cells if made.find() is cell and not cell.fixed}
        makers = [v.op] if v.op is not None else []
        if isinstance(v.type, ListType):  # what changes it, and the loops around that
            makers += [outer for op in v.users() if op.name.startswith("list.") for outer in _with_outer(op)]
        todo += [o for op in makers for o in op.operands if is_of_numbers(o.type)]
    return found - {None, *reader.assumptions.known_length, *reader.assumptions.run_time_lists}


def prefer_known(reader: Reader, av: AbstractValue, other: AbstractValue) -> None:
    """A string argument that is compared as a whole with a known string is a choice among few, so that the code is
    better made for its value; unless it was seen to have many."""
    if not is_run_time_text(av) or not (isinstance(other, Known) and other.obj):
        return
    place = reader.speculation.arg_places.get(av.value)  # type: ignore[attr-defined]
    if place is not None and place not in reader.assumptions.varied:
        reader.assumptions.known_args.add(place)
        reader.speculation.read_again("a string argument is compared with a constant")


def _may_be_known(t: Type) -> bool:
    return isinstance(t, ScalarType) or (isinstance(t, ListType) and t.elem == STR)


def _with_outer(op: Op) -> Iterator[Op]:
    """An op and those around it."""
    inner: Op | None = op
    while inner is not None:
        yield inner
        inner = inner.parent.parent if inner.parent is not None else None


def is_known_throughout(av: AbstractValue) -> bool:
    if isinstance(av, TupleValue):
        return all(is_known_throughout(i) for i in av.items)
    return isinstance(av, Known)
