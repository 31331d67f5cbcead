"""Dicts and sets. With keys that are known they are taken apart (`DictV`, `KnownSet`); else they exist at run time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from torch.nn import ModuleList, ParameterList, Sequential

from scriptc.frontend.cells import fresh, is_hashable, is_laid_out_anew, spelt, unite
from scriptc.frontend.context import NUMBERS, Context, NeedsKnown, TableSite, Terminated, Walk
from scriptc.frontend.decompositions import hashed
from scriptc.frontend.shapes import holds_function, sequence_items
from scriptc.frontend.values import (
    AV,
    DictV,
    Dyn,
    Known,
    KnownSet,
    ListV,
    Made,
    OneOf,
    Tup,
    ViewV,
    describe,
    is_dict,
    is_set,
    is_text,
    made_of,
)
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
    cells,
    is_tuple,
    tuple_of,
)

_PLAIN = (Made(dict), Made(set))
_LARGE = 2.0**63
_FEW = 8  # items of a list outside that may be one of several
_NUMBERS = (INT, FLOAT, BOOL)
_KEYS = (*_NUMBERS, STR)


class Tables(Context):
    """Mixin: dicts and sets."""

    # ---- making ----
    def new_dict(self, pairs: Sequence[tuple[AV, AV]], site: Any, made: Made = _PLAIN[0]) -> AV:
        """A dict made at a site of the program."""
        if site not in self.assume.tables and (all(self.is_known_key(k) for k, _ in pairs) or not self.may_table(site)):
            known = {self.known(k, "the key of a dict"): v for k, v in pairs}
            display = DictV(known, sites=(site,), made=made)
            if not self.has_free_keys(display, site):
                return self.as_record(display)
        table = self.new_table("dict.new", site, made)
        for key, value in pairs:
            self.table_set(table, key, value)
        return table

    def new_set(self, items: Sequence[AV], site: Any, made: Made = _PLAIN[1]) -> AV:
        """A set of items made at a site of the program; one without items exists at run time."""
        if site not in self.assume.tables and items:
            if all(isinstance(i, Known) for i in items):
                found = self.evaluate(made.cls, tuple(i.obj for i in items if isinstance(i, Known)))
                return KnownSet(found.obj, (site,)) if isinstance(found, Known) and made.cls is set else found
            if not all((t := self.type_of_key(i)) is not None and is_hashable(t) for i in items):
                return Tup(list(items), set)  # which can only be asked what it contains
        table = self.new_table("set.new", site, made)
        for item in items:
            self.set_add(table, item)
        return table

    def may_table(self, site: Any) -> bool:
        """Whether a dict or set may have run-time keys; from here on it does."""
        if site in self.assume.untabled:
            return False
        self.assume.tables.add(site)
        return True

    def new_table(self, op: str, site: Any, made: Made) -> Dyn:
        return self.table_of(self.build(op, []), site, made)

    def table_of(self, value: Value, site: Any, made: Made) -> Dyn:
        """A dict or set that an op at a site has made; what it holds is found from here on."""
        assert isinstance(value.type, (DictType, SetType))
        parts = [("key", value.type.key_cell)]
        parts += [("item", value.type.cell)] if isinstance(value.type, DictType) else []
        for part, cell in parts:
            where = TableSite(site, part)
            joined = unite(fresh(self.assume.elements.get(where, NEVER)), cell.type)
            if is_laid_out_anew(cell.type, joined):  # the op copies keys and items as they are
                self.fail("container_of_lengths", what=f"a {spelt(value.type)}", item=spelt(joined))
            cell.type, cell.fixed = joined, False
            self.cells.append((where, cell))
        value.type.key_cell.python = None if made in _PLAIN else made
        return Dyn(value)

    # ---- keys ----
    def key_type(self, table: AV) -> Type:
        t = self.value(table).type
        assert isinstance(t, (DictType, SetType))
        return t.key

    def is_known_key(self, av: AV) -> bool:
        items = sequence_items(av)
        return isinstance(av, Known) if items is None else all(map(self.is_known_key, items))

    def type_of_key(self, av: AV) -> Type | None:
        """The type of a key without building anything; None for what is no run-time key."""
        items = sequence_items(av)
        if isinstance(av, ListV) and av.is_tuple:
            return self.value(av).type
        if items is None:
            return STR if is_text(av) and not isinstance(av, OneOf) else self.type_of(av)
        if not items:
            return tuple_of(NEVER)
        found = [self.type_of_key(i) for i in items]
        return None if None in found else TupleType(tuple(t for t in found if t is not None))

    def key_of(self, d: DictV, key: AV) -> Any:
        """The key of a dict whose keys are known; where it is not known itself, the dict gets run-time keys."""
        self.refuse_unhashable(key)
        if not self.is_known_key(key) and self.type_of_key(key) is not None and not self.holds_functions(d):
            self.promote(d)
        why = next((self.assume.untabled[s] for s in d.sites if s in self.assume.untabled), None)
        try:
            return self.known(key, "the key of a dict")
        except NeedsKnown as e:
            e.error.message += "" if why is None else f", and {why}"
            raise

    def refuse_unhashable(self, av: AV) -> None:
        """Refuses what Python does not hash, and what compiled code does not."""
        if isinstance(av, Known):
            try:
                hash(av.obj)
            except TypeError as e:
                self.raises_at_run_time("TypeError", str(e))
        is_slice = isinstance(av, Tup) and av.cls is slice and slice.__hash__ is None
        is_list = isinstance(av, ListV) and not av.is_tuple or is_slice
        if is_list or isinstance(av, DictV) or isinstance(av, Dyn) and isinstance(av.type, Container):
            self.raises_at_run_time("TypeError", f"unhashable type: '{self.type_name(av)}'")
        for item in sequence_items(av) or ():
            self.refuse_unhashable(item)

    def own_key(self, table: AV, av: AV) -> Value:
        """The value of a key that is put into a run-time dict or set."""
        self.refuse_unhashable(av)
        t, held = self.type_of_key(av), self.value(table).type
        if t is None or not is_hashable(t):
            name = str(held).partition("<")[0]
            self.refuse(cells(held)[0].find(), "key_of_other", container=name, what=describe(av))
        return self.list_item(av)

    def as_key(self, av: AV, key: Type) -> tuple[AV, AV | None]:
        """A key as a dict with keys of a type would hold it, and whether there is an equal one of that type at all."""
        items = sequence_items(av)
        if isinstance(key, ListType):
            return self.own_tuple_key(av, items, key)
        if isinstance(key, TupleType):
            if items is None or len(items) != len(key.items):
                return Known(False), None
            parts = [self.as_key(i, t) for i, t in zip(items, key.items, strict=True)]
            if any(p is None for _, p in parts):
                return Known(False), None
            valid: AV = Known(True)
            for ok, _ in parts:
                valid = self.both(valid, ok)
            return valid, Tup([p for _, p in parts if p is not None])
        held = self.type_of_key(av) if items is None else None
        if isinstance(held, TensorType):
            self.fail("tensor_as_key")
        if held == key:
            return Known(True), av
        if held not in _NUMBERS or key not in _NUMBERS:
            return Known(False), None
        value = self.value(av)
        if key == FLOAT:
            number: AV = Dyn(self.to_float(value))
            return self.compare("Eq", number, av), number
        if held == FLOAT:
            small = self.both(self.compare("GtE", av, Known(-_LARGE)), self.compare("Lt", av, Known(_LARGE)))
            number = self.choose(small, lambda: Dyn(self.build("float.to_int", [value])), lambda: Known(0))
            valid = self.both(small, self.compare("Eq", number, av))
        else:
            valid, number = Known(True), Dyn(self.to_int(value))
        if key == BOOL:
            inside = self.both(self.compare("GtE", number, Known(0)), self.compare("LtE", number, Known(1)))
            return self.both(valid, inside), self.truth(number)
        return valid, number

    # ---- items ----
    def known_get(self, d: DictV, index: AV) -> AV:
        """d[index] of a dict whose keys are known."""
        if (item := self.function_at(d, index)) is not None:
            return item
        key, items = self.key_of(d, index), self.items_of(d)
        if key in items:
            return items[key]
        if d.made.factory is None:
            self.raises_at_run_time("KeyError", repr(key))
        made = self.call(d.made.factory, [], {})
        if d.made.cls is defaultdict:  # a Counter stays as it is
            self.set_items(d, {**self.items_of(d), key: made})
        return made

    def holds_functions(self, d: DictV) -> bool:
        """Whether a dict cannot have run-time keys: functions are told apart where the program is read."""
        return any(map(holds_function, self.items_of(d).values()))

    def is_function_table(self, d: DictV, index: AV) -> bool:
        """Whether a dict with known keys holds functions, and is asked for a key of run time that is not an argument itself."""
        if not isinstance(index, Dyn) or index.type not in _KEYS or index.value in self.arg_places:
            return False
        return d.made.factory is None and self.holds_functions(d)

    def function_at(self, d: DictV, index: AV, absent: Callable[[], AV] | None = None) -> AV | None:
        """An item of a dict of functions with known keys, at a key of run time; None for other dicts and keys."""
        if not self.is_function_table(d, index):
            return None
        keys = [*self.items_of(d)]
        missing = absent or (lambda: self.raise_not_there({}, index))
        return self.choose_by_key(index, keys, lambda key: self.items_of(d)[key], missing)

    def choose_by_key(self, index: AV, keys: Sequence[Any], at: Callable[[Any], AV], absent: Callable[[], AV]) -> AV:
        """What stands at one of some keys, told by comparing with one after the other."""
        if not keys:
            return absent()
        rest = lambda: self.choose_by_key(index, keys[1:], at, absent)  # noqa: E731
        return self.choose(self.compare("Eq", index, Known(keys[0])), lambda: at(keys[0]), rest)

    def outside_table(self, av: Known, key: AV) -> AV:
        """A dict of numbers or strings, or of tuples of these, that lives outside as a run-time dict, made once in a call;
        itself where the key is known."""
        is_plain = isinstance(av.obj, dict) and not hasattr(av.obj, "__missing__")
        if self.is_known_key(key) or self.type_of_key(key) is None or not is_plain:
            return av
        values = av.obj.values()
        kinds = {*map(_constant_kind, values)}
        if not all(type(x) in NUMBERS for x in values) and (len(kinds) != 1 or None in kinds):
            return av
        self.guard("DICT_KEYS_ARE", av.obj, None, tuple(av.obj))
        for name, item in av.obj.items():
            self.guard("DICT_EQ", av.obj, name, item)
        site = ("outside", id(av.obj))
        made = self.outside.tables.get(site)
        if made is None:
            self.may_table(site)
            made = self.at_entry(lambda: self.new_dict([(Known(k), Known(v)) for k, v in av.obj.items()], site))
            self.outside.tables[site] = made
        return made

    def outside_list(self, av: Known, index: AV) -> AV | None:
        """A list or tuple of numbers or strings, or of tuples of these, that lives outside as one of run time, made once in a
        call; None where the index is known, or can be."""
        obj = av.obj
        if type(obj) not in (list, tuple) or not isinstance(index, Dyn) or index.type != INT:
            return None
        kinds = {*map(_constant_kind, obj)}
        if self.knowable(index.value) is not None or len(kinds) != 1 or None in kinds:
            return None
        if type(obj) is list:
            self.guard("LIST_ITEMS_ARE", obj, None, tuple(obj))
        site, items = ("outside", id(obj)), [Known(o) for o in obj]
        if site not in self.outside.tables:
            made = lambda: self.new_list(items, site) if type(obj) is list else self.wrap(self.any_length(Tup(items)))  # noqa: E731
            self.outside.tables[site] = self.at_entry(made)
        return self.outside.tables[site]

    def outside_item(self, av: Known, index: AV, absent: Callable[[], AV] | None = None) -> AV | None:
        """An item of a short list, tuple or dict outside (of functions, modules, members of an enum) at an index of run time;
        None where this cannot be one of its items. `absent`: what stands for one that is not there."""
        obj = av.obj
        if isinstance(obj, dict):
            found = type(obj) is dict and self.is_run_time_key(index)
            return self.one_of_items(av, index, [*obj], absent) if found else None
        if isinstance(obj, (list, tuple)) and self.type_of(index) == FLOAT:
            kind = "list" if isinstance(obj, list) else "tuple"
            self.raises_at_run_time("TypeError", f"{kind} indices must be integers or slices, not float")
        sequences = (list, tuple, ModuleList, Sequential, ParameterList)
        if not isinstance(obj, sequences) or not self.is_run_time_key(index, INT, BOOL):
            return None
        count = Known(len(obj))
        back = lambda: self.binary("Add", index, count)  # noqa: E731
        return self.one_of_items(av, self.choose(self.compare("Lt", index, Known(0)), back, lambda: index), range(count.obj))

    def is_run_time_key(self, index: AV, *types: Type) -> bool:
        """Whether nothing makes an index known, which is of one of some types. A string that is no argument itself comes from
        a list: not worth a reading for each list."""
        if not isinstance(index, Dyn) or index.type not in (types or _KEYS):
            return False
        return self.knowable(index.value) is None or (index.type == STR and index.value not in self.arg_places)

    def one_of_items(
        self, av: Known, index: AV, keys: Sequence[Any], absent: Callable[[], AV] | None = None
    ) -> AV | None:
        if not 0 < len(keys) <= _FEW:
            return None
        if isinstance(av.obj, dict):
            self.guard("DICT_KEYS_ARE", av.obj, None, tuple(keys))

        missing = absent or (lambda: self.raise_not_there(av.obj, index))
        return self.choose_by_key(index, keys, lambda key: self.known_item(av, key), missing)

    def raise_not_there(self, obj: Any, index: AV) -> NoReturn:
        if isinstance(obj, dict):
            self.raise_with("KeyError", self.joined([*self.text_parts(index, quoted=True)]))
        if isinstance(obj, (list, tuple)):
            kind = "list" if isinstance(obj, list) else "tuple"
            self.raises_at_run_time("IndexError", f"{kind} index out of range")
        self.raise_with("IndexError", self.joined([Known("index "), self.text_of(index), Known(" is out of range")]))

    def place(self, table: AV, av: AV) -> AV:
        """Where a dict or set has a key; -1 where it has not."""
        self.refuse_unhashable(av)
        value = self.value(table)
        assert isinstance(value.type, (DictType, SetType))
        key = value.type.key
        value.type.key_cell.find().observed = True
        if key == NEVER:
            return Known(-1)
        asked = self.type_of_key(av)
        if asked is not None and _any_length_where_fixed(asked, key):
            self.widen(value.type, 0, asked)  # tuples of any length from here on
            key = value.type.key
        valid, own = self.as_key(av, key)
        if own is None:
            return Known(-1)
        find = lambda: Dyn(self.build("dict.find", [value, self.list_item(own)]))  # noqa: E731
        return self.choose(valid, find, lambda: Known(-1))

    def has(self, table: AV, key: AV) -> AV:
        return self.compare("GtE", self.place(table, key), Known(0))

    def at(self, table: AV, place: AV) -> AV:
        found = self.build("dict.at", [self.value(table), self.value(place)])
        if found.type == NEVER:  # nothing was ever put in
            self.effect("unreachable", ())
            raise Terminated
        return self.wrap(found)

    def key_at(self, table: AV, place: AV) -> AV:
        return self.wrap(self.build("dict.key", [self.value(table), self.value(place)]))

    def key_place(self, table: AV, key: AV) -> AV:
        """The place of a key; KeyError."""
        place = self.place(table, key)

        def fails() -> bool:
            self.raise_with("KeyError", self.joined([*self.text_parts(key, quoted=True)]))

        missing = self.compare("Lt", place, Known(0))
        if isinstance(missing, Known):
            if missing.obj:
                fails()
            return place
        self.branch(missing, fails, lambda: True, frozenset())
        return place

    def table_get(self, table: Dyn, key: AV) -> AV:
        """table[key]"""
        made = made_of(table.type)
        if made.factory is None:
            return self.at(table, self.key_place(table, key))
        factory, place = made.factory, self.place(table, key)

        def missing() -> AV:
            if made.cls is not defaultdict:  # a Counter counts none, and stays as it is
                return self.call(factory, [], {})
            value = self.call(factory, [], {})
            self.table_set(table, key, value)
            return self.at(table, self.place(table, key)) if isinstance(value, (DictV, ListV, Dyn)) else value

        return self.choose(self.compare("GtE", place, Known(0)), lambda: self.at(table, place), missing)

    def table_set(self, table: Dyn, key: AV, item: AV) -> None:
        held, value = self.own_key(table, key), self.run_time_item(item)
        self.widen(table.type, 0, held.type)
        self.widen(table.type, 1, value.type)
        t = table.type
        assert isinstance(t, DictType)
        self.effect("dict.set", [table.value, self.as_type(held, t.key), self.as_type(value, t.elem)])

    def table_delete(self, table: AV, key: AV) -> None:
        place = self.key_place(table, key)
        self.effect("dict.remove", [self.value(table), self.value(place)])

    def set_add(self, table: AV, item: AV) -> None:
        held = self.own_key(table, item)
        value = self.value(table)
        self.widen(value.type, 0, held.type)
        self.effect("set.add", [value, self.as_type(held, self.key_type(table))])

    # ---- walking ----
    any_order = 0  # what is being called gives the same in whatever order a set is walked

    @contextmanager
    def in_any_order(self) -> Iterator[None]:
        self.any_order += 1
        try:
            yield
        finally:
            self.any_order -= 1

    def walk_table(self, av: AV) -> Walk:
        """Over a run-time dict or set, or a view: keys must neither come nor go meanwhile."""
        table, part = (av.table, av.part) if isinstance(av, ViewV) else (av, "keys")
        value = self.value(table)
        if isinstance(value.type, SetType) and _has_text(value.type.key) and not self.any_order:
            value.type.key_cell.find().observed = True
            self.fail("order_of_set")
        walk = self.build("dict.walk", [value])

        def length() -> AV:
            self.effect("dict.unchanged", [value, walk])
            return Dyn(self.build("dict.len", [value]))

        def item(i: AV) -> AV:
            assert isinstance(value.type, (DictType, SetType))
            value.type.key_cell.find().observed = True
            if value.type.key == NEVER:  # nothing was ever put in
                self.effect("unreachable", ())
                raise Terminated
            if part == "keys":
                return self.key_at(table, i)
            return self.at(table, i) if part == "values" else Tup([self.key_at(table, i), self.at(table, i)])

        count = (Known(0), Dyn(self.build("dict.len", [value])), Known(1))
        return Walk(count=count, item=item, length=length, lists=[value])

    # ---- operators ----
    def table_operator(self, op: str, a: AV, b: AV, *, inplace: bool = False) -> AV | None:
        """a | b and the like; None where Python refuses them. In place, the value is a."""
        if op == "BitOr" and is_dict_like(a) and (is_dict_like(b) or inplace):
            target = a if inplace else self.call(self.attribute(a, "copy"), [], {})
            self.call(self.attribute(target, "update"), [b], {})
            return target
        if op not in _SET_METHODS or not (is_set_like(a) and is_set_like(b)):
            return None
        if inplace and self.python_class(a) is set:
            name = "update" if op == "BitOr" else f"{_SET_METHODS[op]}_update"
            self.call(self.attribute(a, name), [b], {})
            return a
        return self.call(self.attribute(a, _SET_METHODS[op]), [b], {})

    def compare_tables(self, op: str, a: AV, b: AV) -> AV:
        """== and !=, and for sets also the orders."""
        same = is_dict_like(a) and is_dict_like(b) or is_set_like(a) and is_set_like(b)
        if op in ("Eq", "NotEq"):
            with self.in_any_order():
                equal = self.call(Known(hashed.EQUAL[is_set_like(a)]), [a, b], {}) if same else Known(False)
            return self.negate(equal) if op == "NotEq" else equal
        if not same or is_dict_like(a):
            self.bad_operands(op, a, b)
        with self.in_any_order():
            return self.call(Known(hashed.ORDERS[op]), [a, b], {})


def _has_text(key: Type) -> bool:
    if is_tuple(key):
        return _has_text(key.elem)  # type: ignore[attr-defined]
    return any(map(_has_text, key.items)) if isinstance(key, TupleType) else key == STR


def _any_length_where_fixed(asked: Type, key: Type) -> bool:
    """Whether a key to be found holds a tuple of any length where the keys of a dict have one of a fixed length."""
    if isinstance(key, TupleType) and isinstance(asked, TupleType) and len(asked.items) == len(key.items):
        return any(map(_any_length_where_fixed, asked.items, key.items))
    return isinstance(key, TupleType) and is_tuple(asked) and asked != tuple_of(NEVER)


def is_dict_like(av: AV) -> bool:
    return is_dict(av) or isinstance(av, DictV) or isinstance(av, Known) and isinstance(av.obj, dict)


def is_set_like(av: AV) -> bool:
    return is_set(av) or isinstance(av, Known) and isinstance(av.obj, (set, frozenset))


_SET_METHODS = {
    "BitOr": "union", "BitAnd": "intersection", "Sub": "difference", "BitXor": "symmetric_difference",
}  # fmt: skip


def _constant_kind(obj: Any) -> Any:
    """Equal for constants of one type; None for what is no number, string or tuple of these."""
    if type(obj) is tuple:
        kinds = tuple(map(_constant_kind, obj))
        return None if None in kinds else kinds
    return type(obj) if type(obj) in (int, float, bool, str) else None
