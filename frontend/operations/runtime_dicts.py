"""Dicts and sets. With keys that are known they are taken apart (`DictValue`, `KnownSet`); else they exist at run time."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from torch.nn import ModuleDict, ParameterDict

from scriptc.frontend.environment.results import NumpyScalarMaker
from scriptc.frontend.environment.watching import call_in_python
from scriptc.frontend.library.python import dicts_decomposed as dicts
from scriptc.frontend.library.python import sets_decomposed as sets
from scriptc.frontend.operations.counters import are_counters, compare_counters, counter_operator
from scriptc.frontend.operations.formatting import joined, raise_with, text_of
from scriptc.frontend.operations.logic import bad_operands, check_that, logical_and, negated, to_float, to_int
from scriptc.frontend.operations.materialize import as_type, list_item, tuple_value, union_of_kinds, wrap
from scriptc.frontend.operations.records import as_record, run_time_item
from scriptc.frontend.reader.assumptions import TableSite
from scriptc.frontend.reader.constant_demand import demand_where_items_are_kept, require_known
from scriptc.frontend.reader.contents import may_have, optional_items, set_items
from scriptc.frontend.reader.errors import NeedsKnown, Terminated
from scriptc.frontend.reader.promotion import may_be_record, record_key
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.refinements import kinds_under, note_stored
from scriptc.frontend.values.abstract import (
    AbstractValue,
    DictValue,
    Known,
    KnownSet,
    ListValue,
    Made,
    NumpyScalarValue,
    RuntimeValue,
    TupleValue,
    ViewValue,
)
from scriptc.frontend.values.element_types import fresh, is_hashable, is_laid_out_anew, is_union, spelt, unite
from scriptc.frontend.values.predicates import (
    has_alternatives,
    has_known_keys,
    is_any_length_tuple,
    is_dict,
    is_function,
    is_known,
    is_list,
    is_made_tuple,
    is_numpy_scalar,
    is_set,
    is_text,
    made_of,
    run_time_type,
    ssa_value,
)
from scriptc.frontend.values.structure import holds_function, sequence_items
from scriptc.frontend.values.verbs import (
    as_argument,
    class_name_of,
    describe,
    materialize,
    python_class,
    text_parts,
    type_of,
)
from scriptc.frontend.values.walk import Walk
from scriptc.ir.core import Value
from scriptc.ir.types import (
    BOOL,
    FLOAT,
    INT,
    NEVER,
    STR,
    Container,
    DictType,
    ListType,
    SetType,
    TensorType,
    TupleType,
    Type,
    is_tuple,
    tuple_of,
    type_variables,
)

_PLAIN = (Made(dict), Made(set))
_LARGE = 2.0**63
_NUMBERS = (INT, FLOAT, BOOL)
KEY_TYPES = (*_NUMBERS, STR)


# ---- making ----


def new_dict(
    reader: Reader, pairs: Sequence[tuple[AbstractValue, AbstractValue]], site: Any, made: Made = _PLAIN[0]
) -> AbstractValue:
    """Make a dict at a site of the program."""
    if site not in reader.assumptions.tables and (
        all(is_known_key(k) for k, _ in pairs) or not may_table(reader, site)
    ):
        known = {require_known(reader, k, "the key of a dict"): v for k, v in pairs}
        display = DictValue(known, sites=(site,), made=made)
        if not has_free_keys(reader, display, site):
            return as_record(reader, display)
    table = new_table(reader, "dict.new", site, made)
    for key, value in pairs:
        table_set(reader, table, key, value)
    return table


def new_set(reader: Reader, items: Sequence[AbstractValue], site: Any, made: Made = _PLAIN[1]) -> AbstractValue:
    """Make a set of items at a site of the program. An empty set exists at run time."""
    if site not in reader.assumptions.tables and items:
        if all(is_known(i) for i in items):
            found = call_in_python(reader, made.cls, tuple(i.obj for i in items if is_known(i)))
            return KnownSet(found.obj, (site,)) if is_known(found) and made.cls is set else found
        if not all((t := type_of_key(reader, i)) is not None and is_hashable(t) for i in items):
            return TupleValue(list(items), set)  # such a set supports only membership tests
    table = new_table(reader, "set.new", site, made)
    for item in items:
        set_add(reader, table, item)
    return table


def may_table(reader: Reader, site: Any) -> bool:
    """Let a dict or set have run-time keys; return whether it may."""
    return reader.speculation.take_table(site)


def new_table(reader: Reader, op: str, site: Any, made: Made) -> RuntimeValue:
    table = table_of(reader, reader.emit.build(op, []), site, made)
    where = TableSite(site, "item")
    if isinstance(table.type, DictType) and where not in reader.assumptions.outgrown:
        found = reader.assumptions.key_kinds.items()
        table.type.variable.find().key_kinds = {key: kinds for (at, key), kinds in found if at == where}
    return table


def table_of(reader: Reader, value: Value, site: Any, made: Made) -> RuntimeValue:
    """Return a dict or set that an op at a site has made. Its types are found from here on."""
    assert isinstance(value.type, (DictType, SetType))
    parts = [("key", value.type.key_variable)]
    parts += [("item", value.type.variable)] if isinstance(value.type, DictType) else []
    for part, variable in parts:
        where = TableSite(site, part)
        joined = unite(fresh(reader.assumptions.elements.get(where, NEVER)), variable.type)
        if is_laid_out_anew(variable.type, joined):  # the op would copy keys and items without a conversion
            reader.reject("container_of_lengths", what=f"a {spelt(value.type)}", item=spelt(joined))
        variable.type, variable.fixed = joined, False
        reader.speculation.type_variables.append((where, variable))
    value.type.key_variable.python = None if made in _PLAIN else made
    return RuntimeValue(value)


# ---- keys ----


def key_type(reader: Reader, table: AbstractValue) -> Type:
    t = materialize(reader, table).type
    assert isinstance(t, (DictType, SetType))
    return t.key


def is_known_key(av: AbstractValue) -> bool:
    items = sequence_items(av)
    return is_known(av) if items is None else all(map(is_known_key, items))


def type_of_key(reader: Reader, av: AbstractValue) -> Type | None:
    """Return the type of a key without building anything; None for a value that is no run-time key."""
    items = sequence_items(av)
    if is_any_length_tuple(av):
        return materialize(reader, av).type
    if items is None:
        return STR if is_text(av) and not has_alternatives(av) else type_of(av)
    if not items:
        return tuple_of(NEVER)
    found = [type_of_key(reader, i) for i in items]
    return None if None in found else TupleType(tuple(t for t in found if t is not None))


def key_of(reader: Reader, d: DictValue, key: AbstractValue) -> Any:
    """Return the key of a dict with known keys. A key that is not known makes the dict one of run-time keys."""
    refuse_unhashable(reader, key)
    if not is_known_key(key) and type_of_key(reader, key) is not None and not holds_functions(reader, d):
        demand_where_items_are_kept(reader, key, "it is the key of a dict with known keys")
        reader.speculation.promote(d)
    why = next((reader.assumptions.untabled[s] for s in d.sites if s in reader.assumptions.untabled), None)
    try:
        return require_known(reader, key, "the key of a dict")
    except NeedsKnown as e:
        e.error.message += "" if why is None else f", and {why}"
        raise


def refuse_numpy_key(reader: Reader, d: DictValue, key: AbstractValue) -> None:
    """Make a dict with known keys, which are Python objects, one of run-time keys if a NumPy scalar becomes a key."""
    if is_numpy_scalar(key):
        reader.speculation.promote(d)
        reader.reject("key_of_other", container="dict", what=describe(key))


def refuse_unhashable(reader: Reader, av: AbstractValue) -> None:
    """Raise TypeError for a key that Python does not hash."""
    if is_known(av):
        try:
            hash(av.obj)
        except TypeError as e:
            reader.emit.raise_error("TypeError", str(e))
    is_slice = is_made_tuple(av) and av.cls is slice and slice.__hash__ is None
    if is_slice or is_list(av) or has_known_keys(av) or isinstance(run_time_type(av), Container):
        reader.emit.raise_error("TypeError", f"unhashable type: '{class_name_of(reader, av)}'")
    for item in sequence_items(av) or ():
        refuse_unhashable(reader, item)


def own_key(reader: Reader, table: AbstractValue, av: AbstractValue) -> Value:
    """Return the SSA value of a key that is put into a run-time dict or set."""
    refuse_unhashable(reader, av)
    t, held = type_of_key(reader, av), materialize(reader, table).type
    if t is None or not is_hashable(t):
        name = str(held).partition("<")[0]
        reader.speculation.refuse(type_variables(held)[0].find(), "key_of_other", container=name, what=describe(av))
    return list_item(reader, av)


def as_key(reader: Reader, av: AbstractValue, key: Type) -> tuple[AbstractValue, AbstractValue | None]:
    """Return the condition under which a value equals a key of a type, and the value in that type; None if it never
    does."""
    if isinstance(key, TupleType) and isinstance(key.cls, NumpyScalarMaker):
        equal, held_number = as_key(reader, av, key.items[0])
        return equal, None if held_number is None else NumpyScalarValue(held_number, key.cls.dtype)
    if is_numpy_scalar(av):  # it equals a Python number, and has its hash
        av = as_argument(reader, av)
    items = sequence_items(av)
    if isinstance(key, ListType):
        return own_tuple_key(reader, av, items, key)
    if isinstance(key, TupleType):
        if items is None or len(items) != len(key.items):
            return Known(False), None
        parts = [as_key(reader, i, t) for i, t in zip(items, key.items, strict=True)]
        if any(p is None for _, p in parts):
            return Known(False), None
        valid: AbstractValue = Known(True)
        for ok, _ in parts:
            valid = logical_and(reader, valid, ok)
        return valid, TupleValue([p for _, p in parts if p is not None])
    held = type_of_key(reader, av) if items is None else None
    if isinstance(held, TensorType):
        reader.reject("tensor_as_key")
    if held == key:
        return Known(True), av
    if held not in _NUMBERS or key not in _NUMBERS:
        return Known(False), None
    value = materialize(reader, av)
    if key == FLOAT:
        number: AbstractValue = RuntimeValue(to_float(reader, value))
        return reader.compare("Eq", number, av), number
    if held == FLOAT:
        small = logical_and(reader, reader.compare("GtE", av, Known(-_LARGE)), reader.compare("Lt", av, Known(_LARGE)))
        number = reader.choose(
            small, lambda: RuntimeValue(reader.emit.build("float.to_int", [value])), lambda: Known(0)
        )
        valid = logical_and(reader, small, reader.compare("Eq", number, av))
    else:
        valid, number = Known(True), RuntimeValue(to_int(reader, value))
    if key == BOOL:
        inside = logical_and(reader, reader.compare("GtE", number, Known(0)), reader.compare("LtE", number, Known(1)))
        return logical_and(reader, valid, inside), reader.truth(number)
    return valid, number


# ---- items ----


def known_get(reader: Reader, d: DictValue, index: AbstractValue) -> AbstractValue:
    """Return `d[index]` of a dict with known keys."""
    if (item := function_at(reader, d, index)) is not None:
        return item
    if d.made.cls is defaultdict:  # may store the key
        refuse_numpy_key(reader, d, index)
    key = key_of(reader, d, as_argument(reader, index))
    if (some := may_have(reader, d, key)) is not None:
        check_that(reader, some.flag, "KeyError", repr(key))
        return some.av
    items = optional_items(reader, d)
    if key in items:
        return items[key]
    if d.made.factory is None:
        reader.emit.raise_error("KeyError", repr(key))
    made = reader.call(d.made.factory, [], {})
    if d.made.cls is defaultdict:  # a Counter does not store the missing key
        set_items(reader, d, {**reader.items_of(d), key: made})
    return made


def holds_functions(reader: Reader, d: DictValue) -> bool:
    """Return whether a dict holds functions, so that it cannot have run-time keys."""
    return any(map(holds_function, reader.items_of(d).values()))


def is_function_table(reader: Reader, d: DictValue, index: AbstractValue) -> bool:
    """Return whether a dict with known keys holds functions and a run-time key, which is no argument, indexes it."""
    value = ssa_value(index)
    if value is None or value.type not in KEY_TYPES or value in reader.speculation.arg_places:
        return False
    return d.made.factory is None and holds_functions(reader, d)


def function_at(
    reader: Reader, d: DictValue, index: AbstractValue, absent: Callable[[], AbstractValue] | None = None
) -> AbstractValue | None:
    """Return the item of a dict of functions at a run-time key; None for other dicts and keys."""
    if not is_function_table(reader, d, index):
        return None
    keys = [*reader.items_of(d)]
    missing = absent or (lambda: raise_not_there(reader, {}, index))
    return choose_by_key(reader, index, keys, lambda key: reader.items_of(d)[key], missing)


def choose_by_key(
    reader: Reader,
    index: AbstractValue,
    keys: Sequence[Any],
    at: Callable[[Any], AbstractValue],
    absent: Callable[[], AbstractValue],
) -> AbstractValue:
    """Return the item whose key equals the index, by one comparison after another."""
    if not keys:
        return absent()
    rest = lambda: choose_by_key(reader, index, keys[1:], at, absent)  # noqa: E731
    return reader.choose(reader.compare("Eq", index, Known(keys[0])), lambda: at(keys[0]), rest)


def raise_not_there(reader: Reader, obj: Any, index: AbstractValue) -> NoReturn:
    if isinstance(obj, (dict, ModuleDict, ParameterDict)):
        raise_with(reader, "KeyError", joined(reader, [*text_parts(reader, index, quoted=True)]))
    if isinstance(obj, (list, tuple)):
        kind = "list" if isinstance(obj, list) else "tuple"
        reader.emit.raise_error("IndexError", f"{kind} index out of range")
    raise_with(
        reader, "IndexError", joined(reader, [Known("index "), text_of(reader, index), Known(" is out of range")])
    )


def position_of_key(reader: Reader, table: AbstractValue, av: AbstractValue) -> AbstractValue:
    """Return the position of a key in a dict or set; -1 where there is none."""
    refuse_unhashable(reader, av)
    value = materialize(reader, table)
    assert isinstance(value.type, (DictType, SetType))
    key = value.type.key
    value.type.key_variable.find().observed = True
    if key == NEVER:
        return Known(-1)
    asked = type_of_key(reader, av)
    if asked is not None and _any_length_where_fixed(asked, key):
        reader.speculation.widen(value.type, 0, asked)  # from here on, the key holds tuples of any length
        key = value.type.key
    valid, own = as_key(reader, av, key)
    if own is None:
        return Known(-1)
    find = lambda: RuntimeValue(reader.emit.build("dict.find", [value, list_item(reader, own)]))  # noqa: E731
    return reader.choose(valid, find, lambda: Known(-1))


def has_key(reader: Reader, table: AbstractValue, key: AbstractValue) -> AbstractValue:
    return reader.compare("GtE", position_of_key(reader, table, key), Known(0))


def item_at_position(
    reader: Reader, table: AbstractValue, position: AbstractValue, key: AbstractValue | None = None
) -> AbstractValue:
    """Return the item at a position of a dict. key: the key at that position, where the code names one."""
    found = reader.emit.build("dict.at", [materialize(reader, table), materialize(reader, position)])
    if found.type == NEVER:  # no item was ever put into the dict
        reader.emit.effect("unreachable", ())
        raise Terminated
    held = materialize(reader, table).type
    kinds = kinds_under(held, key) if key is not None and is_union(found.type) and isinstance(held, DictType) else None
    return wrap(reader, found) if kinds is None else union_of_kinds(reader, found, kinds)


def key_at(reader: Reader, table: AbstractValue, position: AbstractValue) -> AbstractValue:
    return wrap(reader, reader.emit.build("dict.key", [materialize(reader, table), materialize(reader, position)]))


def position_of_present_key(reader: Reader, table: AbstractValue, key: AbstractValue) -> AbstractValue:
    """Return the position of a key; raise KeyError where there is none."""
    position = position_of_key(reader, table, key)

    def fails() -> bool:
        raise_with(reader, "KeyError", joined(reader, [*text_parts(reader, key, quoted=True)]))

    missing = reader.compare("Lt", position, Known(0))
    if is_known(missing):
        if missing.obj:
            fails()
        return position
    reader.branch(missing, fails, lambda: True, frozenset())
    return position


def table_get(reader: Reader, table: RuntimeValue, key: AbstractValue) -> AbstractValue:
    """Return `table[key]`."""
    made = made_of(table.type)
    if made.factory is None:
        return item_at_position(reader, table, position_of_present_key(reader, table, key), key)
    factory, position = made.factory, position_of_key(reader, table, key)

    def missing() -> AbstractValue:
        if made.cls is not defaultdict:  # a Counter gives 0 and does not store the key
            return reader.call(factory, [], {})
        value = reader.call(factory, [], {})
        table_set(reader, table, key, value)
        return (
            item_at_position(reader, table, position_of_key(reader, table, key), key)
            if isinstance(value, (DictValue, ListValue, RuntimeValue))
            else value
        )

    found = reader.compare("GtE", position, Known(0))
    return reader.choose(found, lambda: item_at_position(reader, table, position, key), missing)


def table_set(reader: Reader, table: RuntimeValue, key: AbstractValue, item: AbstractValue) -> None:
    held = own_key(reader, table, key)
    if any(map(is_function, item.alternatives.values() if has_alternatives(item) else [item])):
        reader.speculation.refuse(table.type.variable.find(), "functions_in_dict", what=describe(item))  # type: ignore[attr-defined]
    value = run_time_item(reader, item)
    reader.speculation.widen(table.type, 0, held.type)
    reader.speculation.widen(table.type, 1, value.type)
    t = table.type
    assert isinstance(t, DictType)
    note_stored(t, key, value.type)
    reader.emit.effect("dict.set", [table.value, as_type(reader, held, t.key), as_type(reader, value, t.elem)])


def table_delete(reader: Reader, table: AbstractValue, key: AbstractValue) -> None:
    position = position_of_present_key(reader, table, key)
    reader.emit.effect("dict.remove", [materialize(reader, table), materialize(reader, position)])


def set_add(reader: Reader, table: AbstractValue, item: AbstractValue) -> None:
    held = own_key(reader, table, item)
    value = materialize(reader, table)
    reader.speculation.widen(value.type, 0, held.type)
    reader.emit.effect("set.add", [value, as_type(reader, held, key_type(reader, table))])


@contextmanager
def in_any_order(reader: Reader) -> Iterator[None]:
    reader.position.any_order += 1
    try:
        yield
    finally:
        reader.position.any_order -= 1


def walk_table(reader: Reader, av: AbstractValue) -> Walk:
    """Return the walk over a run-time dict or set, or over a view. Keys must not be added or removed meanwhile."""
    table, part = (av.table, av.part) if isinstance(av, ViewValue) else (av, "keys")
    value = materialize(reader, table)
    if isinstance(value.type, SetType) and _has_text(value.type.key) and not reader.position.any_order:
        value.type.key_variable.find().observed = True
        reader.reject("order_of_set")
    walk = reader.emit.build("dict.walk", [value])

    def length() -> AbstractValue:
        reader.emit.effect("dict.unchanged", [value, walk])
        return RuntimeValue(reader.emit.build("dict.len", [value]))

    def item(i: AbstractValue) -> AbstractValue:
        assert isinstance(value.type, (DictType, SetType))
        value.type.key_variable.find().observed = True
        if value.type.key == NEVER:  # no item was ever put into the container
            reader.emit.effect("unreachable", ())
            raise Terminated
        if part == "keys":
            return key_at(reader, table, i)
        return (
            item_at_position(reader, table, i)
            if part == "values"
            else TupleValue([key_at(reader, table, i), item_at_position(reader, table, i)])
        )

    count = (Known(0), RuntimeValue(reader.emit.build("dict.len", [value])), Known(1))
    return Walk(count=count, item=item, length=length, lists=[value])


# ---- operators ----


def table_operator(
    reader: Reader, op: str, a: AbstractValue, b: AbstractValue, *, inplace: bool = False
) -> AbstractValue | None:
    """Return `a | b` and the like; None if Python raises TypeError. If `inplace`, the result is `a`."""
    if are_counters(reader, a, b):
        return counter_operator(reader, op, a, b, inplace=inplace)
    if op == "BitOr" and is_dict_like(a) and (is_dict_like(b) or inplace):
        target = a if inplace else reader.call(reader.attribute(a, "copy"), [], {})
        reader.call(reader.attribute(target, "update"), [b], {})
        return target
    if op not in _SET_METHODS or not (is_set_like(a) and is_set_like(b)):
        return None
    if inplace and python_class(reader, a) is set:
        name = "update" if op == "BitOr" else f"{_SET_METHODS[op]}_update"
        reader.call(reader.attribute(a, name), [b], {})
        return a
    return reader.call(reader.attribute(a, _SET_METHODS[op]), [b], {})


def compare_tables(reader: Reader, op: str, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    """Return `a == b` or `a != b`, and for sets also the order comparisons."""
    if are_counters(reader, a, b):
        return compare_counters(reader, op, a, b)
    same = is_dict_like(a) and is_dict_like(b) or is_set_like(a) and is_set_like(b)
    if op in ("Eq", "NotEq"):
        with in_any_order(reader):
            equal = reader.call(Known(_equality(reader, a, b)), [a, b], {}) if same else Known(False)
        return negated(reader, equal) if op == "NotEq" else equal
    if not same or is_dict_like(a):
        bad_operands(reader, op, a, b)
    with in_any_order(reader):
        return reader.call(Known(sets.ORDERS[op]), [a, b], {})


def _equality(reader: Reader, a: AbstractValue, b: AbstractValue) -> Callable[..., bool]:
    """Return the function that compares two sets or two dicts. Between two OrderedDicts the order counts."""
    if is_set_like(a):
        return sets.same_set
    ordered = all(issubclass(python_class(reader, av), OrderedDict) for av in (a, b))
    return dicts.same_ordered_dict if ordered else dicts.same_dict


def _has_text(key: Type) -> bool:
    if is_tuple(key):
        return _has_text(key.elem)  # type: ignore[attr-defined]
    return any(map(_has_text, key.items)) if isinstance(key, TupleType) else key == STR


def _any_length_where_fixed(asked: Type, key: Type) -> bool:
    """Return whether a key holds a tuple of any length but the keys of a dict have tuples of fixed length."""
    if isinstance(key, TupleType) and isinstance(asked, TupleType) and len(asked.items) == len(key.items):
        return any(map(_any_length_where_fixed, asked.items, key.items))
    return isinstance(key, TupleType) and is_tuple(asked) and asked != tuple_of(NEVER)


def is_dict_like(av: AbstractValue) -> bool:
    return is_dict(av) or has_known_keys(av) or is_known(av) and isinstance(av.obj, dict)


def is_set_like(av: AbstractValue) -> bool:
    return is_set(av) or is_known(av) and isinstance(av.obj, (set, frozenset))


_SET_METHODS = {
    "BitOr": "union", "BitAnd": "intersection", "Sub": "difference", "BitXor": "symmetric_difference",
}  # fmt: skip


def has_free_keys(reader: Reader, made: DictValue, site: Any) -> bool:
    """Return whether a dict with known keys may be one of several and gains or loses keys."""
    if not may_be_record(made) or record_key(made) not in reader.assumptions.free_keys:
        return False
    reader.speculation.free_keys([site])
    return may_table(reader, site)


def own_tuple_key(
    reader: Reader, av: AbstractValue, items: Sequence[AbstractValue] | None, key: ListType
) -> tuple[AbstractValue, AbstractValue | None]:
    """Return a key in the layout of a dict whose keys are tuples of any length, as `as_key` does."""
    if is_any_length_tuple(av):
        held = materialize(reader, av).type
        if held != key and held != tuple_of(NEVER):
            reader.reject("key_of_other_type", item=spelt(held), held=spelt(key))
        return Known(True), av
    if items is None:
        return Known(False), None
    valid: AbstractValue = Known(True)
    parts: list[AbstractValue] = []
    for ok, part in (as_key(reader, i, key.elem) for i in items):
        if part is None:
            return Known(False), None
        valid = logical_and(reader, valid, ok)
        parts.append(part)
    return valid, ListValue(tuple_value(reader, parts, key.elem))


def refuse_item_sets(reader: Reader, *avs: AbstractValue) -> None:
    """Reject sets of items of which some may be equal at run time."""
    for av in avs:
        if is_made_tuple(av) and av.cls is set:
            reader.reject("set_of_items")
