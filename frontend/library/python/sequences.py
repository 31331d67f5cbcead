"""Functions over sequences: handlers for known items, which call decompositions for run-time lists."""

from __future__ import annotations

import sys
from contextlib import nullcontext

from scriptc.frontend.library.python import iterators_decomposed as iterators
from scriptc.frontend.library.python import lists_decomposed as lists
from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.comparison import are_same
from scriptc.frontend.operations.indices import integer
from scriptc.frontend.operations.materialize import make_tuple, new_list, wrap
from scriptc.frontend.operations.runtime_dicts import in_any_order, refuse_item_sets
from scriptc.frontend.operations.tuples import tuple_of_items
from scriptc.frontend.reader.comprehensions import attempt, is_stepwise
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.errors import Terminated
from scriptc.frontend.reader.iterables import checked_iterable
from scriptc.frontend.reader.iteration import iterated
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.refinements import all_items
from scriptc.frontend.values.abstract import (
    AbstractValue,
    GeneratorValue,
    Known,
    ListValue,
    RangeValue,
    ReversedValue,
    RuntimeValue,
    TupleValue,
    Unbound,
    ZipValue,
)
from scriptc.frontend.values.predicates import (
    has_known_length,
    is_generator,
    is_known,
    is_list,
    is_made_list,
    is_none,
    is_set,
    is_tensor,
)
from scriptc.frontend.values.structure import holds_function
from scriptc.frontend.values.verbs import class_name_of, is_run_time, length, materialize, python_class, taken, type_of
from scriptc.ir.core import Block
from scriptc.ir.ops.rules import elem_of
from scriptc.ir.types import BOOL, FLOAT, INT, NEVER, STR

_SUM_COMPENSATES = sys.version_info >= (3, 12)


def as_list(r: Reader, av: AbstractValue) -> AbstractValue:
    return av if is_made_list(av) else list_(r, av)


@serves("builtins.reversed")
def reversed_(r: Reader, sequence: AbstractValue) -> AbstractValue:
    if isinstance(sequence, (ReversedValue, GeneratorValue, ZipValue)) or is_set(sequence):
        r.emit.raise_error("TypeError", f"'{class_name_of(r, sequence)}' object is not reversible")
    if is_tensor(sequence):  # a tensor is flipped, even one without dims
        return ReversedValue(sequence)
    return ReversedValue(checked_iterable(r, sequence, "reversible"))


@serves("builtins.list")
def list_(r: Reader, sequence: AbstractValue | None = None) -> AbstractValue:
    site = (r.position.loc, "list()")
    if sequence is None:
        return new_list(r, [], site)
    if (walked := iterated(r, sequence)) is not sequence or is_generator(sequence):
        return list_(r, taken(r, walked))
    items = all_items(r, sequence)
    if items is None and is_run_time(r, sequence) and not holds_function(sequence):
        return r.call(Known(lists.items_of), [sequence], {})
    return new_list(r, r.iterate(sequence) if items is None else items, site)


@serves("builtins.tuple")
def tuple_(r: Reader, sequence: AbstractValue = Known(())) -> AbstractValue:
    sequence = taken(r, iterated(r, sequence))
    return tuple_of_items(r, sequence) if is_run_time(r, sequence) else make_tuple(r.iterate(sequence))


def _extreme(r: Reader, name: str, args: tuple[AbstractValue, ...], options: dict[str, AbstractValue]) -> AbstractValue:
    key, default = options.get("key", Known(None)), options.get("default")
    if odd := [o for o in options if o not in ("key", "default")]:
        r.emit.raise_error("TypeError", f"{name}() got an unexpected keyword argument '{odd[0]}'")
    if not args:
        r.emit.raise_error("TypeError", f"{name} expected at least 1 argument, got 0")
    if len(args) == 1 and is_run_time(r, args[0]):
        xs = as_list(r, args[0])
        found = lambda: r.call(Known(lists.smallest if name == "min" else lists.largest), [xs, key], {})  # noqa: E731
        return found() if default is None else r.choose(r.truth(xs), found, lambda: default)
    items = r.iterate(args[0]) if len(args) == 1 else list(args)
    if not items:
        if default is not None:
            return default
        r.emit.raise_error("ValueError", f"{name}() arg is an empty sequence")
    has_key = not is_none(key)
    best, least = items[0], r.call(key, [items[0]], {}) if has_key else items[0]
    for item in items[1:]:
        other = r.call(key, [item], {}) if has_key else item
        a, b = type_of(least), type_of(other)
        if not has_key and a is not None and a == b and str(a) in ("i64", "f64") and not is_known(item):
            best = least = RuntimeValue(
                r.emit.build(
                    f"{'float' if str(a) == 'f64' else 'int'}.{name}", [materialize(r, best), materialize(r, item)]
                )
            )
            continue
        better = r.truth(r.compare("Lt" if name == "min" else "Gt", other, least))
        pair = r.choose(better, lambda i=item, o=other: TupleValue([i, o]), lambda b=best, x=least: TupleValue([b, x]))  # type: ignore[misc]
        best, least = r.iterate(pair)
    return best


@serves("builtins.min")
def min_(r: Reader, *args: AbstractValue, **options: AbstractValue) -> AbstractValue:
    with in_any_order(r) if "key" not in options else nullcontext():
        return _extreme(r, "min", args, options)


@serves("builtins.max")
def max_(r: Reader, *args: AbstractValue, **options: AbstractValue) -> AbstractValue:
    with in_any_order(r) if "key" not in options else nullcontext():
        return _extreme(r, "max", args, options)


@serves("builtins.sum")
def sum_(r: Reader, sequence: AbstractValue, start: AbstractValue = Known(0)) -> AbstractValue:
    if is_run_time(r, sequence):
        of_list = lists.compensated_total if _SUM_COMPENSATES else lists.total
        return r.call(Known(of_list), [as_list(r, sequence), start], {})
    items = r.iterate(sequence)
    if _SUM_COMPENSATES and any(issubclass(python_class(r, item), float) for item in items):
        return r.call(Known(lists.compensated_total), [TupleValue(items), start], {})
    total = start
    for item in items:
        total = r.binary("Add", total, item)
    return total


@serves("builtins.all")
def all_(r: Reader, sequence: AbstractValue) -> AbstractValue:
    with in_any_order(r):
        return r.call(Known(lists.every), [sequence], {})


@serves("builtins.any")
def any_(r: Reader, sequence: AbstractValue) -> AbstractValue:
    with in_any_order(r):
        return r.call(Known(lists.some), [sequence], {})


@serves("builtins.sorted")
def sorted_(
    r: Reader, sequence: AbstractValue, *, key: AbstractValue = Known(None), reverse: AbstractValue = Known(False)
) -> AbstractValue:
    plain = is_none(key)
    with in_any_order(r) if plain else nullcontext():
        items = list_(r, sequence) if is_run_time(r, sequence) else r.iterate(sequence)
    if isinstance(items, list):
        if (ordered := _in_known_order(r, items, None if plain else key, reverse)) is not None:
            return new_list(r, ordered, (r.position.loc, "sorted"))
        items = new_list(r, items, (r.position.loc, "list()"))
    return r.call(Known(lists.sorted_list), [items], {"key": key, "reverse": reverse})


def _in_known_order(
    r: Reader, items: list[AbstractValue], key: AbstractValue | None, reverse: AbstractValue
) -> list[AbstractValue] | None:
    """Return the sorted items if all keys are known numbers or strings, else None."""
    take_back = attempt(r)
    with r.emit.builder.at(Block()) as block:
        try:
            keys = items if key is None else [r.call(key, [item], {}) for item in items]
        except Terminated:
            keys = [Unbound()]
    known = [k.obj for k in keys if is_known(k) and isinstance(k.obj, (int, float, str))]
    if block.ops or len(known) != len(items) or not is_known(reverse):
        take_back(block)
        return None
    try:
        order = sorted(range(len(items)), key=known.__getitem__, reverse=bool(reverse.obj))
    except TypeError as e:
        r.emit.raise_error("TypeError", str(e))
    return [items[i] for i in order]


@serves(lists.argsort)
def argsort(r: Reader, xs: ListValue, reverse: AbstractValue) -> AbstractValue:
    if has_known_length(xs):
        xs = new_list(r, r.iterate(xs), (r.position.loc, "argsort"))
    value = materialize(r, xs)
    if elem_of(value) not in (INT, FLOAT, BOOL, STR, NEVER):
        return r.call(Known(lists.argsort_compared), [xs, reverse], {})
    order = {}
    for flag in (False, True):
        order[flag] = lambda flag=flag: wrap(r, r.emit.build("list.argsort", [value], reverse=flag))
    return r.choose(r.truth(reverse), order[True], order[False])


@serves(lists.item_at)
def item_at(r: Reader, xs: ListValue, i: AbstractValue) -> AbstractValue:
    if has_known_length(xs):
        return r.subscript(xs, i)
    return wrap(r, r.emit.build("list.at", [materialize(r, xs), integer(r, i)]))


@serves(lists.same)
def same(r: Reader, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    return are_same(r, a, b)


@serves("functools.reduce")
def reduce_(r: Reader, function: AbstractValue, sequence: AbstractValue, *initial: AbstractValue) -> AbstractValue:
    if is_run_time(r, sequence):
        if not initial:
            return r.call(Known(lists.reduced_alone), [function, as_list(r, sequence)], {})
        return r.call(Known(lists.reduced), [function, sequence, initial[0]], {})
    items = [*initial, *r.iterate(sequence)]
    if not items:
        r.emit.raise_error("TypeError", "reduce() of empty iterable with no initial value")
    result = items[0]
    for item in items[1:]:
        result = r.call(function, [result, item], {})
    return result


@serves("builtins.len", *(f"{kind}.__len__" for kind in ("Tensor", "list", "tuple", "dict", "set", "str", "range")))
def len_(r: Reader, x: AbstractValue) -> AbstractValue:
    refuse_item_sets(r, x)
    return length(r, x)


@serves("builtins.range")
def range_(r: Reader, *bounds: AbstractValue) -> AbstractValue:
    if not 1 <= len(bounds) <= 3:
        r.emit.raise_error("TypeError", f"range expected 1 to 3 arguments, got {len(bounds)}")
    start, stop, step = (Known(0), bounds[0], Known(1)) if len(bounds) == 1 else (*bounds, Known(1))[:3]
    numbers = [b if is_known(b) else RuntimeValue(integer(r, b)) for b in (start, stop, step)]
    if not is_known(numbers[2]):
        r.emit.effect("check.step", [materialize(r, numbers[2])])
    elif numbers[2].obj == 0:
        r.emit.raise_error("ValueError", "range() arg 3 must not be zero")
    for n in numbers:
        if is_known(n) and not isinstance(n.obj, int):
            r.emit.raise_error("TypeError", f"'{type(n.obj).__name__}' object cannot be interpreted as an integer")
    return RangeValue(*numbers)


@serves("builtins.enumerate")
def enumerate_(r: Reader, sequence: AbstractValue, start: AbstractValue = Known(0)) -> AbstractValue:
    source = iterated(r, checked_iterable(r, sequence))
    return r.call(Known(iterators.numbered), [source, start], {}) if is_stepwise(source) else ZipValue([source], start)


@serves("builtins.zip")
def zip_(r: Reader, *sequences: AbstractValue, strict: AbstractValue = Known(False)) -> AbstractValue:
    parts, is_strict = [iterated(r, checked_iterable(r, s)) for s in sequences], require_known(r, strict, "the strict of zip()")
    stepwise = [i for i, part in enumerate(parts) if is_stepwise(part)]
    if len(stepwise) != 1 or is_strict:
        return ZipValue(parts, strict=bool(is_strict))
    at = stepwise[0]
    sides = [
        TupleValue([part if is_list(part) else list_(r, part) for part in side])  # a list may change meanwhile
        for side in (parts[:at], parts[at + 1 :])
    ]
    return r.call(Known(iterators.beside), [sides[0], parts[at], sides[1]], {})
