"""Arguments that compiled code takes apart.

An object, a dict with known keys or a list of known items has a place among the arguments. Its content is read at the
start of the call. An assignment to one of its attributes or items changes state (state.py), whose owner is the place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from scriptc.frontend.environment.results import spec_of_type
from scriptc.frontend.environment.signature import has_place
from scriptc.frontend.environment.specs import (
    ArgSpec,
    ConstantSpec,
    DictSpec,
    ItemsSpec,
    ListSpec,
    MapSpec,
    ObjectSpec,
    OptionalSpec,
    PlaceSpec,
    QueueSpec,
    ScalarSpec,
    SetSpec,
    Spec,
    TensorSpec,
    TupleSpec,
    is_leaf,
    parts,
)
from scriptc.frontend.library.python.queues_decomposed import Deque
from scriptc.frontend.reader.assumptions import TableSite
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    AbstractValue,
    CallerLocation,
    ComplexValue,
    DictValue,
    Known,
    KnownLengthListValue,
    ListValue,
    Made,
    ObjectValue,
    RuntimeValue,
    TupleValue,
)
from scriptc.ir.core import Value
from scriptc.ir.types import (
    BOOL,
    FLOAT,
    INT,
    NEVER,
    NONE,
    STR,
    DictType,
    Dim,
    ListType,
    OptionalType,
    SetType,
    TensorType,
    TupleType,
    Type,
    dict_of,
    list_of,
    set_of,
    tuple_of,
    type_variables,
)

_SCALARS: dict[str, Type] = {"i64": INT, "f64": FLOAT, "bool": BOOL, "str": STR}


def _symbol(name: str) -> str:
    """Return a name as the text of the IR can hold it."""
    return re.sub(r"\W", "_", name, flags=re.ASCII)


def argument(
    reader: Reader, spec: Spec, name: str, home: CallerLocation | None = None, *, kept: bool = False
) -> AbstractValue:
    """Return the abstract value of an argument, of a slot at entry, or of a value that a build keeps. Dynamic leaves
    become parameters."""
    match spec:
        case ConstantSpec(obj):
            reader.speculation.places += has_place(obj)
            if home is not None and isinstance(obj, (list, dict)):
                reader.environment.found[id(obj)] = home.owner, home.path[-1]
            return Known(obj)
        case ScalarSpec(kind):
            value = parameter(reader, _SCALARS[kind], name)
            return RuntimeValue(value if kept or kind == "bool" else numbered(reader, value))
        case TensorSpec(dtype, sizes):
            return RuntimeValue(parameter(reader, TensorType(dtype, tuple(_dims(reader, sizes, name))), name))
        case ListSpec() | MapSpec() | SetSpec():
            value = parameter(reader, _type_of(spec), name)
            for part, variable in zip(_PARTS[type(spec)], type_variables(value.type), strict=True):
                reader.speculation.type_variables.append((TableSite(argument_site(reader, name), part), variable))
            if isinstance(value.type, ListType):
                return ListValue(numbered(reader, value) if value.type.elem == STR else value)
            return RuntimeValue(value)
        case PlaceSpec(number):
            return reader.environment.objects[number]
        case TupleSpec((real, imag), cls) if cls is complex:
            return ComplexValue(
                argument(reader, real, f"{name}_real", kept=True), argument(reader, imag, f"{name}_imag", kept=True)
            )
        case TupleSpec(_, cls):
            return TupleValue([argument(reader, *part, kept=kept) for part in _named(spec, name)], cls)
    return placed_argument(reader, spec, name, home, kept)


def _dims(reader: Reader, sizes: Iterable[int | None], name: str) -> Iterator[Dim]:
    """Yield the dims of a tensor argument: a symbol of its own for each dynamic size."""
    places = reader.speculation.size_places
    for i, size in enumerate(sizes):
        symbol = f"{_symbol(name)}_{i}"
        while size is None and symbol in places:
            symbol += "_"
        if size is None:
            places[symbol] = name, i
        yield symbol if size is None else size


def placed_argument(reader: Reader, spec: Spec, name: str, home: CallerLocation | None, kept: bool) -> AbstractValue:
    """Return a value that has a place. The value is noted before its parts, since the parts may refer to it."""
    place = PlaceSpec(len(reader.environment.objects))
    home = home or (None if kept else CallerLocation(place))
    held: dict[Any, AbstractValue] = {}
    match spec:
        case DictSpec(keys):
            site = argument_site(reader, name)
            if kept:
                reader.speculation.keep_keys(site, "a build ahead of time keeps dicts with known keys alone")
            made: AbstractValue = DictValue(held, home=home, sites=(site,) if kept or _is_table(spec) else ())
        case ObjectSpec(cls, keys):
            made = ObjectValue(cls, held, home=home)
        case ItemsSpec(items):
            keys = tuple(range(len(items)))
            made = KnownLengthListValue(held, reader, home=home)
        case QueueSpec(_, maxlen):
            keys = ("_items",)
            held |= {
                "maxlen": Known(maxlen),
                "_changes": Known(0),
            }  # in the order of the attributes of `Deque`
            made = ObjectValue(Deque, held, home=None if kept else CallerLocation(place))
        case _:
            raise AssertionError(spec)
    reader.environment.objects.append(made)
    for key, (part, wish) in zip(keys, _named(spec, name), strict=True):
        inner = None if home is None or home.place is not None else CallerLocation(home.owner, (*home.path, key))
        held[key] = argument(reader, part, wish, inner, kept=kept)
    return made


def numbered(reader: Reader, value: Value) -> Value:
    """Return a parameter that another reading can make known, and number the parameter as `Signature` does."""
    reader.speculation.arg_places[value] = reader.speculation.places
    reader.speculation.places += 1
    return value


def parameter(reader: Reader, type: Type, name: str) -> Value:
    value = Value(type, reader.emit.body, _symbol(name))
    reader.emit.body.args.append(value)
    return value


def argument_site(reader: Reader, name: str) -> tuple[str, str]:
    """Return the site at which readings note the items of a container: one site for all names of a container."""
    return "argument", reader.environment.same_as.get(name, name)


def fill_spec(reader: Reader, spec: Spec, name: str) -> Spec:
    """Return the spec of an argument, widened by the items that earlier readings put into its containers."""
    site = argument_site(reader, name)
    found = [reader.assumptions.elements.get(TableSite(site, part)) for part in ("key", "item")]
    key, item = (None if t is None else spec_of_type(t) for t in found)
    match spec:
        case ListSpec(_, cls) if item is not None:
            return ListSpec(item, cls)
        case MapSpec(held, values) if item is not None or key is not None:
            return MapSpec(key or held, item or values)
        case SetSpec(_, cls) if key is not None:
            return SetSpec(key, cls)
        case DictSpec(()) if site in reader.assumptions.tables:
            return MapSpec(key, item)
        case DictSpec(items=(tensor, *_)) if site in reader.assumptions.tables:
            return MapSpec(ScalarSpec("str"), tensor)
    return _with_items(spec, tuple(fill_spec(reader, *part) for part in _named(spec, name)))


def with_types(spec: Spec, types: Iterator[Type]) -> Spec:
    """Return the spec of an argument, with the types of items that its parameters have when a reading is over.

    An empty container, or one of empty containers, has items of the type that the code puts there. The bridge writes such items
    back by the spec. types: of the parameters.
    """
    if is_leaf(spec):
        return _with_type(spec, next(types)) or spec
    return _with_items(spec, tuple(with_types(item, types) for item in getattr(spec, "items", ())))


def _with_type(spec: Spec | None, t: Type) -> Spec | None:
    match spec, t:
        case None, _:
            return None if t == NEVER else spec_of_type(t)
        case ListSpec(elem, cls), ListType():
            return ListSpec(_with_type(elem, t.elem), cls)
        case MapSpec(key, item, make), DictType():
            return MapSpec(_with_type(key, t.key), _with_type(item, t.elem), make)
        case SetSpec(key, cls), SetType():
            return SetSpec(_with_type(key, t.key), cls)
        case OptionalSpec(item), OptionalType(inner):
            return OptionalSpec(_with_type(item, inner) or item)
        case TupleSpec(items, cls), TupleType(kinds) if len(items) == len(kinds):
            return TupleSpec(tuple(_with_type(i, kind) or i for i, kind in zip(items, kinds, strict=True)), cls)
    return spec


def with_known_sizes(reader: Reader, spec: Spec, value: Any, name: str) -> Spec:
    """Return the spec of an argument, with the sizes that an earlier reading needed to know."""
    if isinstance(spec, TensorSpec):
        known = [(name, i) in reader.assumptions.known_args for i in range(value.dim())]
        sizes = (value.shape[i] if is_known else spec.sizes[i] for i, is_known in enumerate(known))
        return TensorSpec(spec.dtype, tuple(sizes))
    named = zip(_named(spec, name), parts(spec, value), strict=True)
    return _with_items(spec, tuple(with_known_sizes(reader, part, item, wish) for (part, wish), (_, item) in named))


def _with_items(spec: Spec, items: tuple[Spec, ...]) -> Spec:
    """Return a spec with other specs for its parts."""
    match spec:
        case TupleSpec(_, cls):
            return TupleSpec(items, cls)
        case QueueSpec(_, maxlen):
            (content,) = items
            return QueueSpec(content, maxlen) if isinstance(content, ListSpec) else spec
        case ItemsSpec():
            return ItemsSpec(items)
        case DictSpec(keys):
            return DictSpec(keys, items)
        case ObjectSpec(cls, names):
            return ObjectSpec(cls, names, items)
    return spec


def same_containers(specs: Iterable[ArgSpec], arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of containers of any length among the arguments, each with the first name of the same object."""
    names: dict[str, str] = {}
    first: dict[int, str] = {}

    def note(spec: Spec, value: Any, name: str) -> None:
        if type(spec) in _PARTS:
            names[name] = first.setdefault(id(value), name)
        for (part, wish), (_, item) in zip(_named(spec, name), parts(spec, value), strict=True):
            note(part, item, wish)

    for arg in specs:
        note(arg.spec, arguments[arg.name], arg.name)
    return names


_PARTS: dict[type[Spec], tuple[str, ...]] = {ListSpec: ("item",), MapSpec: ("key", "item"), SetSpec: ("key",)}


def _named(spec: Spec, name: str) -> Iterator[tuple[Spec, str]]:
    """Yield the parts of a spec, and the names of their parameters."""
    items: tuple[Spec, ...] = getattr(spec, "items", ())
    names = spec.names if isinstance(spec, ObjectSpec) else range(len(items))
    yield from ((item, f"{name}_{n}") for item, n in zip(items, names, strict=True))


def _is_table(spec: DictSpec) -> bool:
    """Return whether a dict with known keys may have run-time keys: an empty dict, or a dict of tensors of one type."""
    return all(isinstance(k, str) for k in spec.keys) and all(
        isinstance(i, TensorSpec) and i == spec.items[0] for i in spec.items
    )


def _type_of(spec: Spec | None) -> Type:
    """Return the type of an argument at run time."""
    match spec:
        case None:
            return NEVER
        case ListSpec(elem, cls):
            return (tuple_of if cls is tuple else list_of)(_type_of(elem))
        case MapSpec(key, item):
            return dict_of(_type_of(key), _type_of(item))
        case SetSpec(key, cls):
            made = set_of(_type_of(key))
            made.key_variable.python = None if cls is set else Made(cls)
            return made
        case OptionalSpec(item):
            return OptionalType(_type_of(item))
        case TupleSpec(items):
            return TupleType(tuple(map(_type_of, items)))
        case TensorSpec(dtype, sizes):
            return TensorType(dtype, (None,) * len(sizes))
        case ScalarSpec(kind):
            return _SCALARS[kind]
        case ConstantSpec(None):
            return NONE
    raise AssertionError(spec)
