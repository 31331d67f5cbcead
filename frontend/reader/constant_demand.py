"""Demand values at compile time, and find the assumptions under which the next reading knows them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import Any

from scriptc.frontend.environment.dependencies import record_this_process
from scriptc.frontend.environment.host_objects import holds_tensor
from scriptc.frontend.environment.watching import call_in_python
from scriptc.frontend.reader.assumptions import ArgumentPart
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.source.functions import SourceError, is_generator_function, source_of
from scriptc.frontend.source.nodes import all_nodes
from scriptc.frontend.values.abstract import AbstractValue, Known
from scriptc.frontend.values.element_types import is_of_numbers
from scriptc.frontend.values.predicates import is_known, is_made_tuple, is_run_time_text, ssa_value
from scriptc.frontend.values.verb import Verb
from scriptc.frontend.values.verbs import describe
from scriptc.ir.core import Op, Value
from scriptc.ir.regions import region_argument_of
from scriptc.ir.types import STR, ListType, ScalarType, TensorType, TupleType, Type


@Verb
def require_known(reader: Reader, av: AbstractValue, what: str) -> Any:
    """Return the Python object of a value that must be known at compile time. what: the value's part, for messages."""
    reader.reject("not_known", what=what, found=describe(av))


def call_memoized(
    reader: Reader, function: Any, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """Call a function that functools.lru_cache wraps.

    Known arguments give the same object in each call. For other arguments, the function is called again. A function that
    returns nothing is called for its messages, each of which comes once. It must change nothing else.
    """
    if _returns_nothing(function.__wrapped__):
        return _call_for_messages(reader, function, args, kwargs)
    if all(map(is_known_throughout, (*args, *kwargs.values()))):
        given = [require_known(reader, a, "an argument") for a in args]
        named = {name: require_known(reader, av, "an argument") for name, av in kwargs.items()}
        record_this_process()  # a cached function may be impure, so no other process may reuse its result
        result = call_in_python(reader, function, *given, **named)
        found = require_known(reader, result, "a result")
        reader.environment.made.discard(id(found))  # the cache holds the result and gives it to other callers
        if not holds_tensor([found]):
            return result
    inner = function.__wrapped__
    code = getattr(inner, "__code__", None)
    if code is not None and function.__name__ in (*code.co_names, *code.co_freevars):
        reader.reject("memoized_recursion", name=function.__name__)
    return reader.call(Known(inner), args, kwargs)


def _call_for_messages(
    reader: Reader, function: Any, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    block = reader.emit.builder.block
    before = len(block.ops)
    reader.position.once += 1
    try:
        result = reader.call(Known(function.__wrapped__), args, kwargs)
    finally:
        reader.position.once -= 1
    ops = [op for made in block.ops[before:] for op in (made, *(inner for r in made.regions for inner in r.walk()))]
    own = {value for op in ops for value in op.results}
    if any(_changes_more(op, own) for op in ops):
        reader.reject("memoized_change", name=function.__name__)
    return result


def _changes_more(op: Op, own: set[Value]) -> bool:
    """Return whether an op does more than show a message, or change a value in `own`."""
    if not op.defn.writes or op.name == "warn":
        return False
    return not op.operands or op.operands[0] not in own or bool(op.defn.writes & {"io", "state", "random"})


def _returns_nothing(function: Any) -> bool:
    """Return whether the source of a function has no `return` of a value."""
    if not isinstance(function, FunctionType):
        return False
    try:
        node = source_of(function).node
    except SourceError:
        return False
    if isinstance(node, ast.Lambda) or is_generator_function(node):
        return False
    return not any(isinstance(n, ast.Return) and n.value is not None for n in all_nodes(node))


def demand_constant(reader: Reader, value: Value, why: str) -> None:
    """Have a number, or list of numbers, known in the next reading; return where no reading can know it.

    A loop is unrolled, the function is specialized on an argument or on sizes of arguments, the items of lists are kept one
    by one, or a call is read for each rank of its arguments.
    why: the error of a program in which none of these helps.
    """
    source = knowable(reader, value)
    if source is None and (sites := sites_behind(reader, value)):
        reader.speculation.keep_items(sites, why)
    if source is not None:
        _assume_known(reader, source, why)
    elif sites := _sites_of_tensors_behind(reader, value):
        reader.speculation.keep_items(sites, why)
    elif sites := _sites_of_walks_behind(reader, value):
        reader.speculation.keep_items(sites, why)
    elif bound := knowable(reader, value, by_bounds=True):
        _assume_known(reader, bound, why)
    elif sizes := _sizes_behind(reader, value):
        reader.speculation.specialize(sizes, why)
    calls = [frame.inlined_at for frame in reader.position.frames if frame.has_ranks]
    if source is None and calls:
        reader.speculation.split(calls[-1], f"a function needs the rank of an argument: {why}")


def _assume_known(reader: Reader, source: Value, why: str) -> None:
    """Let the next reading know a number that `knowable` has found."""
    if source in reader.speculation.counters:
        reader.speculation.unroll(reader.speculation.counters[source], why)
    elif source in reader.speculation.number_args:
        reader.speculation.bake_in(reader.speculation.number_args[source], why)
    else:
        reader.speculation.specialize({reader.speculation.arg_places[source]}, why)


def demand_sizes(reader: Reader, value: Value, why: str) -> None:
    """Have a number known in the next reading if sizes of arguments alone decide it; return where they do not."""
    if knowable(reader, value) is None and (sizes := _sizes_behind(reader, value)):
        reader.speculation.specialize(sizes, why)


def demand_where_items_are_kept(reader: Reader, av: AbstractValue, why: str) -> None:
    """Have an index or key known in the next reading, if `Assumptions.keeps_items`; return where no reading can know it."""
    value = ssa_value(av)
    if reader.assumptions.keeps_items and value is not None:
        demand_constant(reader, value, why)


def knowable(reader: Reader, value: Value, *, by_bounds: bool = False) -> Value | None:
    """Return the loop counter or the argument that a number is computed from, and that another reading may know.

    by_bounds: take the counter of any loop as computed from the loop's bounds.
    """
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
        todo += reader.speculation.bounds.get(v, ()) if by_bounds else ()
        argument = region_argument_of(v) if v.op is not None else None
        if argument is not None:
            todo += [op.operands[i] for op, i in argument.into_result if i < len(op.operands)]
        if v.op is not None and v.op.name == "loop":  # the results are known if the loop is unrolled
            todo += [a for a in v.op.regions[0].args[:1] if a in reader.speculation.counters]
        if v.op is not None and all(_may_be_known(o.type) for o in v.op.operands):
            todo += v.op.operands
    return None


def _sizes_behind(reader: Reader, value: Value) -> set[ArgumentPart]:
    """Return the sizes of arguments that a number is computed from, if the next reading may know the number by them.

    A size whose symbol is not that of an argument follows from the sizes of the tensors that its tensor is made of.
    """
    places = reader.speculation.size_places
    found: set[ArgumentPart] = set()
    for v in _sources_of_sizes(reader, value):
        dims = v.type.dims or () if isinstance(v.type, TensorType) else ()
        found |= {places[d] for d in (*dims, _symbol_of(v)) if d in places}
    return found


def _sites_of_tensors_behind(reader: Reader, value: Value) -> set[Any]:
    """Return the sites of the lists whose tensors have the sizes that a number is computed from, if items may be kept."""
    taken = [v.op.operands[0] for v in _sources_of_sizes(reader, value) if v.op is not None and v.op.name == "list.get"]
    return _not_kept(reader, {site for found in taken for site in _sites_of_list(reader, found.type)})


def _sites_of_walks_behind(reader: Reader, value: Value) -> set[Any]:
    """Return the sites of the lists whose length bounds the loops from whose counters a number or text is computed."""
    counters = [v for v in _sources_of_sizes(reader, value) if v in reader.speculation.bounds]
    bounds = [b.op for v in counters for b in reader.speculation.bounds[v] if b.op is not None and b.op.name == "list.len"]
    return _not_kept(reader, {site for op in bounds for site in _sites_of_list(reader, op.operands[0].type)})


def _sources_of_sizes(reader: Reader, value: Value) -> Iterator[Value]:
    """Yield the numbers and tensors that a number is computed from, up to the sizes of arguments."""
    todo, seen = [value], set()
    while todo:
        v = todo.pop()
        if v in seen:
            continue
        seen.add(v)
        yield v
        todo += reader.speculation.bounds.get(v, ())
        if v.op is None:
            continue
        argument = region_argument_of(v)
        if argument is not None:
            todo += [op.operands[i] for op, i in argument.into_result if i < len(op.operands)]
        is_computed = not isinstance(v.type, ScalarType) or all(_may_be_known(o.type) for o in v.op.operands)
        if _symbol_of(v) not in reader.speculation.size_places and (v.op.name == "size" or is_computed):
            todo += v.op.operands


def _symbol_of(size: Value) -> Any:
    """Return the symbol of the size that a `size` op reads; None if it has none."""
    if size.op is None or size.op.name != "size":
        return None
    of = size.op.operands[0].type
    return of.dims[size.op.attrs["dim"]] if isinstance(of, TensorType) and of.dims is not None else None


def _sites_of_list(reader: Reader, t: Type) -> set[Any]:
    """Return the sites that make the lists of a type."""
    if not isinstance(t, ListType) or t.variable.find().fixed:
        return set()
    return {site for site, made in reader.speculation.type_variables if made.find() is t.variable.find()}


def _not_kept(reader: Reader, sites: set[Any]) -> set[Any]:
    return sites - {None, *reader.assumptions.known_length, *reader.assumptions.run_time_lists}


def sites_behind(reader: Reader, value: Value) -> set[Any]:
    """Return the sites of the lists of numbers that a value is computed from, if their lengths may become known."""
    todo, seen = [value], set()
    found: set[Any] = set()
    while todo:
        v = todo.pop()
        if v in seen:
            continue
        seen.add(v)
        found |= _sites_of_list(reader, v.type)
        makers = [v.op] if v.op is not None else []
        if isinstance(v.type, ListType):  # the ops that change the list, and the loops around these ops
            makers += [outer for op in v.users() if op.name.startswith("list.") for outer in _with_outer(op)]
        argument = region_argument_of(v)
        joined = [] if argument is None else [*argument.into_inner, *argument.into_result]
        held = [o for op in makers for o in op.operands] + [op.operands[i] for op, i in joined if i < len(op.operands)]
        todo += [o for o in held if is_of_numbers(o.type) or _is_of_rows(o.type)]
    return _not_kept(reader, found)


def prefer_known(reader: Reader, av: AbstractValue, other: AbstractValue) -> None:
    """Specialize on a string argument that the code compares with a known string.

    Such a string usually selects one of a few cases, so specialized code is better. A string that had many values stays
    dynamic.
    """
    if not is_run_time_text(av) or not (is_known(other) and other.obj):
        return
    place = reader.speculation.arg_places.get(av.value)  # type: ignore[attr-defined]
    if place is not None and place not in reader.assumptions.varied:
        reader.speculation.specialize({place}, "a string argument is compared with a constant")


def _may_be_known(t: Type) -> bool:
    return isinstance(t, ScalarType) or (isinstance(t, ListType) and t.elem == STR)


def _is_of_rows(t: Type) -> bool:
    """Return whether a type is a list of tuples or lists of numbers and strings."""
    if not isinstance(t, ListType):
        return False
    return is_of_numbers(t.elem) or isinstance(t.elem, TupleType) and all(map(is_of_numbers, t.elem.items))


def _with_outer(op: Op) -> Iterator[Op]:
    """Yield an op and the ops around it, innermost first."""
    inner: Op | None = op
    while inner is not None:
        yield inner
        inner = inner.parent.parent if inner.parent is not None else None


def is_known_throughout(av: AbstractValue) -> bool:
    """Return whether a value is known at compile time, with all its items."""
    if is_made_tuple(av):
        return all(is_known_throughout(i) for i in av.items)
    return is_known(av)
