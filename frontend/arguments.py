"""Arguments that compiled code takes apart: their values, what becomes of them, and results as trees.

An object, a dict with known keys or a list of known items that comes in as an argument has a place. It is read at the start
of the call; what is stored to its attributes or items goes to a slot at once, which the caller writes back, so that an error
further on loses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from scriptc.frontend.context import Context, TableSite
from scriptc.frontend.flow import identities
from scriptc.frontend.joins import Conflict
from scriptc.frontend.objects import Chooser, DictMaker, Maker
from scriptc.frontend.specs import (
    DictSpec,
    ItemsSpec,
    KnownSpec,
    ListSpec,
    MapSpec,
    ObjectSpec,
    OptionalSpec,
    PlaceSpec,
    ScalarSpec,
    SetSpec,
    Spec,
    TensorSpec,
    TupleSpec,
)
from scriptc.frontend.values import (
    AV,
    Content,
    DictV,
    Dyn,
    Ident,
    Known,
    ListV,
    Made,
    ObjectV,
    OneOf,
    Tup,
    describe,
    made_of,
)
from scriptc.ir.core import Block, Value
from scriptc.ir.types import (
    BOOL,
    FLOAT,
    INT,
    NEVER,
    NONE,
    DictType,
    ListType,
    OptionalType,
    SetType,
    TensorType,
    TupleType,
    Type,
    cells,
    dict_of,
    list_of,
    set_of,
)

_SCALARS: dict[str, Type] = {"i64": INT, "f64": FLOAT, "bool": BOOL}


class Arguments(Context):
    """Mixin: the values of arguments, and what is stored in them."""

    body: Block
    places = 0  # ints and floats so far, as Signature counts them

    def argument(self, spec: Spec, name: str) -> AV:
        """The abstract value of an argument; dynamic leaves become parameters of the function."""
        match spec:
            case KnownSpec(obj):
                self.places += type(obj) in (int, float)
                return Known(obj)
            case ScalarSpec(kind):
                value = self.parameter(_SCALARS[kind], name)
                if kind != "bool":
                    self.int_args[value] = self.places
                    self.places += 1
                return Dyn(value)
            case TensorSpec(dtype, sizes):
                dims = tuple(f"{name}_{i}" if n is None else n for i, n in enumerate(sizes))
                return Dyn(self.parameter(TensorType(dtype, dims), name))
            case ListSpec() | MapSpec() | SetSpec():
                value = self.parameter(_type_of(spec), name)
                for part, cell in zip(_PARTS[type(spec)], cells(value.type), strict=True):
                    self.cells.append((TableSite(("argument", name), part), cell))
                return ListV(value) if isinstance(spec, ListSpec) else Dyn(value)
            case PlaceSpec(number):
                return self.outside.objects[number]
            case TupleSpec(items, cls):
                return Tup([self.argument(s, f"{name}_{i}") for i, s in enumerate(items)], cls)
        return self.placed(spec, name)

    def placed(self, spec: Spec, name: str) -> AV:
        """An argument that has a place. It is noted before its parts, which may refer to it."""
        number = len(self.outside.objects)
        made: DictV | ObjectV | ListV
        match spec:
            case DictSpec(keys):
                made = DictV(place=number, sites=() if keys else (("argument", name),))
            case ObjectSpec(cls, keys):
                made = ObjectV(cls, place=number)
            case ItemsSpec(items):
                keys = tuple(range(len(items)))
                made = ListV(None, [], place=number)
            case _:
                raise AssertionError(spec)
        self.outside.objects.append(made)
        parts = {k: self.argument(s, n) for k, (s, n) in zip(keys, _named(spec, name), strict=True)}
        if isinstance(made, ListV):
            made.items = list(parts.values())
        else:
            made.items = parts
        return made

    def parameter(self, type: Type, name: str) -> Value:
        value = Value(type, self.body, re.sub(r"\W", "_", name))
        self.body.args.append(value)
        return value

    def filled(self, spec: Spec, name: str) -> Spec:
        """The spec of an argument in which containers have room for what earlier readings put into them."""
        site = ("argument", name)
        found = [self.assume.elements.get(TableSite(site, part)) for part in ("key", "item")]
        key, item = (None if t is None else spec_of_type(t) for t in found)
        match spec:
            case ListSpec() if item is not None:
                return ListSpec(item)
            case MapSpec(held) if item is not None:
                return MapSpec(held, item)
            case SetSpec(None, cls) if key is not None:
                return SetSpec(key, cls)
            case DictSpec(()) if site in self.assume.tables:
                return MapSpec(key, item)
            case TupleSpec(_, cls):
                return TupleSpec(tuple(self.filled(*part) for part in _named(spec, name)), cls)
            case ItemsSpec():
                return ItemsSpec(tuple(self.filled(*part) for part in _named(spec, name)))
            case DictSpec(keys):
                return DictSpec(keys, tuple(self.filled(*part) for part in _named(spec, name)))
            case ObjectSpec(cls, names):
                return ObjectSpec(cls, names, tuple(self.filled(*part) for part in _named(spec, name)))
        return spec

    # ---- stores ----
    def note_change(self, av: DictV | ObjectV, before: dict[Any, AV], items: dict[Any, AV]) -> None:
        """Stores what has changed where the caller will see it: in an argument, or in those that hold a changed object."""
        if av.place is None:
            for holder in self.outside.objects:
                held = self.items_of(holder) if isinstance(holder, (DictV, ObjectV)) else {}
                for key, item in held.items():
                    if av.ident in self.reached_from(item, set()):
                        assert isinstance(holder, (DictV, ObjectV)) and holder.place is not None
                        self.store(holder.place, key, item)
            return
        for key in before.keys() - items.keys():
            self.effect("slot.delete", [], slot=self.slot(av.place, key))
        for key, item in items.items():
            if before.get(key) is not item:
                self.store(av.place, key, item)

    def reached_from(self, av: AV, seen: set[Ident]) -> set[Ident]:
        """The objects that a value is, or leads to, as they are now."""
        if isinstance(av, ListV):
            for item in av.items or ():
                self.reached_from(item, seen)
            return seen
        for ident in set(identities(av)) - seen:
            seen.add(ident)
            content = self.heap.get(ident)
            for item in content.items.values() if isinstance(content, Content) else ():
                self.reached_from(item, seen)
        return seen

    def slot(self, place: int, key: Any) -> int:
        return self.outside.slots.setdefault((place, key), len(self.outside.slots))

    def store(self, place: int, key: Any, item: AV) -> None:
        item = self.settled(item, self.heap)
        try:
            _, leaves = result(item)
        except Conflict as e:
            self.fail(
                f"{e} cannot be stored in an argument", "store tensors, numbers, lists, dicts and objects of them"
            )
        self.outside.forms.append(item)
        values = [self.value(leaf) for leaf in leaves]
        self.effect("slot.set", values, slot=self.slot(place, key), form=len(self.outside.forms) - 1)

    def forms(self) -> list[Spec]:
        """What is stored in arguments, once all types are known."""
        return [result(av)[0] for av in self.outside.forms]


_PARTS: dict[type[Spec], tuple[str, ...]] = {ListSpec: ("item",), MapSpec: ("key", "item"), SetSpec: ("key",)}


def _named(spec: Spec, name: str) -> Iterator[tuple[Spec, str]]:
    """The parts of a spec, and what their parameters are called."""
    items: tuple[Spec, ...] = getattr(spec, "items", ())
    names = spec.names if isinstance(spec, ObjectSpec) else range(len(items))
    yield from ((item, f"{name}_{n}") for item, n in zip(items, names, strict=True))


def _type_of(spec: Spec | None) -> Type:
    """The type of an argument at run time."""
    match spec:
        case None:
            return NEVER
        case ListSpec(elem):
            return list_of(_type_of(elem))
        case MapSpec(key, item):
            return dict_of(_type_of(key), _type_of(item))
        case SetSpec(key, cls):
            made = set_of(_type_of(key))
            made.key_cell.python = None if cls is set else Made(cls)
            return made
        case OptionalSpec(item):
            return OptionalType(_type_of(item))
        case TupleSpec(items):
            return TupleType(tuple(map(_type_of, items)))
        case TensorSpec(dtype, sizes):
            return TensorType(dtype, (None,) * len(sizes))
        case ScalarSpec(kind):
            return _SCALARS[kind]
        case KnownSpec(None):
            return NONE
    raise AssertionError(spec)


# ---- results ----
def result(av: AV) -> tuple[Spec, list[AV]]:
    """The tree of a value that leaves compiled code, and its dynamic leaves in order."""
    match av:
        case Known(obj):
            return KnownSpec(obj), []
        case DictV(place=int() as place) | ObjectV(place=int() as place) | ListV(place=int() as place):
            return PlaceSpec(place), []
        case Dyn():
            if isinstance(av.type, TensorType):
                assert av.type.dims is not None
                return TensorSpec(av.type.dtype, (None,) * len(av.type.dims)), [av]
            return spec_of_type(av.type), [av]
        case ListV(value=value) if value is not None and isinstance(value.type, ListType):
            return spec_of_type(value.type), [av]
        case ListV(items=list() as items):
            return _tree([*items], lambda specs: TupleSpec(specs, list))
        case Tup(items, cls):
            return _tree([*items], lambda specs: TupleSpec(specs, cls))
        case DictV(items, made=made) if made.cls is dict:
            return _tree([*items.values()], lambda specs: DictSpec(tuple(items), specs))
        case DictV(items, made=made):
            make = DictMaker(made.cls, _factory(made), tuple(items))
            return _tree([*items.values()], lambda specs: TupleSpec(specs, make))
        case ObjectV(cls, items):
            return _tree([*items.values()], lambda specs: TupleSpec(specs, Maker(cls, tuple(items))))
        case OneOf(tag, alternatives):
            chooser = Chooser(tuple(alternatives))
            return _tree([Dyn(tag), *alternatives.values()], lambda specs: TupleSpec(specs, chooser))
    raise Conflict(f"{describe(av)}, which cannot be returned from compiled code")


def _tree(items: list[AV], make: Any) -> tuple[Spec, list[AV]]:
    parts = [result(i) for i in items]
    return make(tuple(p[0] for p in parts)), [leaf for p in parts for leaf in p[1]]


def _factory(made: Made) -> Any:
    if made.factory is None or isinstance(made.factory, Known):
        return getattr(made.factory, "obj", None)
    raise Conflict("a defaultdict with a function that is defined in compiled code")


def spec_of_type(t: Type) -> Spec:
    """The spec of values in a container."""
    match t:
        case ListType():
            return ListSpec(None if t.elem == NEVER else spec_of_type(t.elem))
        case DictType():
            made = made_of(t)
            make = None if made.cls is dict else DictMaker(made.cls, _factory(made))
            return MapSpec(*(None if x == NEVER else spec_of_type(x) for x in (t.key, t.elem)), make)
        case SetType():
            return SetSpec(None if t.key == NEVER else spec_of_type(t.key), made_of(t).cls)
        case TensorType():
            return TensorSpec(t.dtype, (None,) * t.rank)
        case TupleType(items):
            return TupleSpec(tuple(map(spec_of_type, items)))
        case OptionalType(item):
            return OptionalSpec(spec_of_type(item))
    return KnownSpec(None) if t == NONE else ScalarSpec(str(t))
