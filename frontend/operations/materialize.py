"""Values of the front end as SSA values, and back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NoReturn

from scriptc.frontend.operations.operands import operands_of
from scriptc.frontend.reader.errors import UserError
from scriptc.frontend.reader.kept_items import keeps_new_list
from scriptc.frontend.reader.promotion import promote_objects
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.speculation import keep_length, sites_of
from scriptc.frontend.rejections import rejection
from scriptc.frontend.values.abstract import (
    AbstractValue,
    Kinds,
    Known,
    KnownLengthListValue,
    ListValue,
    OneOf,
    RuntimeValue,
    TupleValue,
)
from scriptc.frontend.values.alternatives import is_kind, split
from scriptc.frontend.values.element_types import (
    Union,
    fresh,
    is_laid_out_anew,
    is_storable,
    is_union,
    spelt,
    type_kind,
    unite,
)
from scriptc.frontend.values.predicates import (
    has_alternatives,
    is_complex_number,
    is_known,
    is_known_set,
    is_made_tuple,
    is_plain_tuple,
    is_text,
    of_value,
)
from scriptc.frontend.values.structure import holds_function, sequence_items
from scriptc.frontend.values.union_kinds import NUMBERS
from scriptc.frontend.values.verbs import boxed, describe, kind_of, materialize, structure_of, type_of
from scriptc.ir.core import Attr, Block, Value
from scriptc.ir.ops import OPS
from scriptc.ir.types import INT, NEVER, NONE, JoinError, ListType, OptionalType, TupleType, Type


def refuse_value(reader: Reader, av: ListValue) -> NoReturn:
    """Reject a list that exists in the compiler alone but is needed as a run-time list."""
    promote_objects(reader, av.items or [])
    if any(map(holds_function, av.items or ())):
        reader.reject("functions_in_list")
    if all(type_of(item) is not None for item in av.items or ()):
        reader.reject(
            "list_of_known_items_used", why=reader.assumptions.why_known_length.get(av.site, "its items differ in kind")
        )
    reader.reject("list_without_type_used")


def union_item(reader: Reader, av: OneOf) -> Value:
    """Return the SSA value of a value of several kinds, as an item of a container."""
    if not reader.assumptions.unions:
        refuse_kinds(reader, av)
    held = [list_item(reader, a) for a in av.alternatives.values()]
    t: Type = NEVER
    try:
        for v in held:
            t = unite(t, v.type, unions=True)
    except JoinError:
        refuse_kinds(reader, av)
    return as_union(reader, av, t) if isinstance(t, TupleType) and isinstance(t.cls, Union) else materialize(reader, av)


def refuse_kinds(reader: Reader, av: AbstractValue) -> NoReturn:
    reader.reject("one_of_several_used", what=describe(av))


def as_union(reader: Reader, av: AbstractValue, wanted: TupleType) -> Value:
    """Return a value as an item of a union type, which has its kind or kinds."""
    kinds = [type_kind(t) for t in wanted.items[1:]]
    alternatives = av.alternatives if has_alternatives(av) else {Kinds.NONE: av}
    held: dict[int, Value] = {}
    number_of: dict[int, int] = {}
    for tag, alternative in alternatives.items():
        value = list_item(reader, alternative)
        kind = type_kind(value.type)
        number = number_of[tag] = kinds.index(kind if kind in kinds else "tuple")  # a tuple of any length holds it
        value = as_type(reader, value, wanted.items[1 + number])
        if number in held:  # several string constants have one kind
            assert has_alternatives(av)
            is_it = materialize(reader, is_kind(reader, av, tag))
            value = materialize(
                reader,
                reader.choose(RuntimeValue(is_it), partial(RuntimeValue, value), partial(RuntimeValue, held[number])),
            )
        held[number] = value
    parts: list[Value] = []
    for number, t in enumerate(wanted.items[1:]):
        missing = number not in held
        parts.append(
            reader.emit.builder.op("undef", (), reader.position.loc, types=[t]).result if missing else held[number]
        )
    which = split_tags(reader, av, number_of) if has_alternatives(av) else reader.emit.const(number_of[Kinds.NONE])
    made = TupleType((INT, *(v.type for v in parts)), wanted.cls)
    return reader.emit.builder.op("tuple", [which, *parts], reader.position.loc, types=[made]).result


def split_tags(reader: Reader, av: OneOf, number_of: dict[int, int]) -> Value:
    (first, number), *rest = number_of.items()
    if not rest:
        return reader.emit.const(number)
    more = lambda: RuntimeValue(split_tags(reader, av, dict(rest)))  # noqa: E731
    return materialize(reader, reader.choose(is_kind(reader, av, first), lambda: Known(number), more))


def from_union(reader: Reader, parts: Sequence[AbstractValue]) -> AbstractValue:
    """Return the abstract value of a union from the union's parts."""
    number, *alternatives = parts
    tags = [reader.kinds.tag(kind_of(a)) for a in alternatives]
    assert isinstance(number, RuntimeValue)

    def tag_from(i: int) -> AbstractValue:
        if i == len(tags) - 1:
            return Known(tags[i])
        is_it = RuntimeValue(reader.emit.build("int.eq", [number.value, reader.emit.const(i)]))
        return reader.choose(is_it, lambda: Known(tags[i]), lambda: tag_from(i + 1))

    return OneOf(materialize(reader, tag_from(0)), dict(zip(tags, alternatives, strict=True)))


def union_of_kinds(reader: Reader, union: Value, kinds: frozenset[str]) -> AbstractValue:
    """Return a union that is known to have one of some kinds of values."""
    assert isinstance(union.type, TupleType)
    places = [i for i, t in enumerate(union.type.items) if i > 0 and type_kind(t) in kinds]
    if len(places) == 1:
        return wrap(reader, reader.emit.build("tuple.get", [union], index=places[0]))
    whole = wrap(reader, union)
    assert has_alternatives(whole)
    rows = enumerate(whole.alternatives.items(), start=1)
    return OneOf(whole.tag, {tag: held for i, (tag, held) in rows if i in places})


def make_tuple(items: list[AbstractValue]) -> AbstractValue:
    """Return a tuple, which is known if all items are known. A set that compiled code made may still be changed."""
    if all(is_known(i) and not is_known_set(i) for i in items):
        return Known(tuple(i.obj for i in items if is_known(i)))
    return TupleValue(items)


def wrap(reader: Reader, value: Any) -> AbstractValue:
    if isinstance(value.type, TupleType):
        parts = [wrap(reader, reader.emit.build("tuple.get", [value], index=i)) for i in range(len(value.type.items))]
        if is_union(value.type):
            return from_union(reader, parts)
        cls = value.type.cls or tuple
        return cls.value_of(parts) if hasattr(cls, "value_of") else TupleValue(parts, cls)
    if isinstance(value.type, OptionalType):
        present = RuntimeValue(reader.emit.build("optional.present", [value]))
        return reader.choose(
            present, lambda: wrap(reader, reader.emit.build("optional.unwrap", [value])), lambda: Known(None)
        )
    if value.type == NONE:
        return Known(None)
    return of_value(value)


def tuple_value(reader: Reader, items: Sequence[AbstractValue], elem: Type = NEVER) -> Value:
    """Return the SSA value of a tuple of any length; `elem` is a type that fits the items."""
    values = [list_item(reader, i) for i in items]
    try:
        for v in values:
            elem = unite(elem, v.type)
    except JoinError:
        reader.reject("tuple_of_kinds")
    if not is_storable(elem):
        reader.reject("tuple_of_unstorable", items=spelt(elem))
    made = reader.emit.builder.build("tuple.new", [as_type(reader, v, elem) for v in values], reader.position.loc)
    assert isinstance(made.type, ListType)
    made.type.variable.type = elem
    return made


def any_length(reader: Reader, av: AbstractValue, elem: Type = NEVER) -> Value:
    """Return the SSA value of a tuple as a tuple of any length."""
    if has_alternatives(av):
        return materialize(reader, split(reader, av, lambda a: ListValue(any_length(reader, a, elem))))
    items = sequence_items(av)
    return materialize(reader, av) if items is None else tuple_value(reader, items, elem)


def as_type(reader: Reader, value: Value, wanted: Type) -> Value:
    """Return a value in the layout of a container whose tuples may have any length."""
    held = value.type
    if not is_laid_out_anew(held, wanted):
        return value
    if is_union(wanted):
        return as_union(reader, wrap(reader, value), wanted)
    if isinstance(wanted, OptionalType) and isinstance(held, OptionalType):
        held_item = lambda: wrap(reader, as_type(reader, reader.emit.build("optional.unwrap", [value]), wanted.item))  # noqa: E731
        present = RuntimeValue(reader.emit.build("optional.present", [value]))
        return list_item(reader, reader.choose(present, held_item, lambda: Known(None)))
    if isinstance(wanted, OptionalType):
        return as_type(reader, value, wanted.item)
    assert isinstance(held, TupleType)
    items = [reader.emit.build("tuple.get", [value], index=i) for i in range(len(held.items))]
    if isinstance(wanted, TupleType):
        parts = [as_type(reader, v, t) for v, t in zip(items, wanted.items, strict=True)]
        made = TupleType(tuple(v.type for v in parts), wanted.cls)
        return reader.emit.builder.op("tuple", parts, reader.position.loc, types=[made]).result
    assert isinstance(wanted, ListType)
    return tuple_value(reader, [wrap(reader, v) for v in items], wanted.elem)


def item_for(reader: Reader, container: Value, value: Value) -> Value:
    """Return a value as an item of a run-time list."""
    assert isinstance(container.type, ListType)
    return as_type(reader, value, container.type.elem)


def apply_op(reader: Reader, name: str, /, *operands: AbstractValue, hint: str = "", **attrs: Attr) -> RuntimeValue:
    """Build an op over abstract values, numbers or tensors."""
    (result,) = apply_for_results(reader, name, *operands, hint=hint, **attrs)
    return result


def apply_for_results(
    reader: Reader, name: str, /, *operands: AbstractValue, hint: str = "", **attrs: Attr
) -> list[RuntimeValue]:
    """Build an op over abstract values, and return its results."""
    values = [materialize(reader, a) for a in operands_of(reader, OPS[name], operands)]
    return [RuntimeValue(v) for v in reader.emit.build_op(name, values, hint, **attrs).results]


def materialize_complex(reader: Reader, av: AbstractValue) -> Value:
    """Return the SSA value of a complex number, for an op over tensors."""
    structure = structure_of(av)
    assert structure is not None
    return reader.emit.build("complex.make", [materialize(reader, part) for part in structure.parts])


def list_item(reader: Reader, av: AbstractValue) -> Value:
    """Return the SSA value of an item of a container."""
    if has_alternatives(av) and Kinds.NONE in av.alternatives and len(av.alternatives) == 2:
        return optional(reader, av)
    if has_alternatives(av) and is_plain_tuple(av):
        return any_length(reader, av)
    if is_complex_number(av):
        reader.reject("container_of_complex")
    if has_alternatives(av) and not is_text(av):
        return union_item(reader, av)
    if (box := boxed(av)) is not None:
        held = list_item(reader, box[1])
        return reader.emit.builder.op(
            "tuple", [held], reader.position.loc, types=[TupleType((held.type,), box[0])]
        ).result
    items = sequence_items(av)
    if is_known(av) and isinstance(av.obj, int) and type(av.obj) not in NUMBERS:
        reader.reject("no_run_time_value", what=describe(av))  # an IntEnum member holds more than a number
    if items is None:
        return materialize(reader, av)
    if not items and is_plain_tuple(av):
        return any_length(reader, av)
    cls = av.cls if is_made_tuple(av) else type(av.obj) if is_known(av) else tuple
    values = [list_item(reader, i) for i in items]
    made = TupleType(tuple(v.type for v in values), None if cls is tuple else cls)
    return reader.emit.builder.op("tuple", values, reader.position.loc, types=[made]).result


def optional(reader: Reader, av: OneOf) -> Value:
    """Return the optional of a value that is None or of one type."""
    (held,) = (a for tag, a in av.alternatives.items() if tag != Kinds.NONE)
    is_none = reader.emit.build("int.eq", [av.tag, reader.emit.const(Kinds.NONE)])
    with reader.emit.builder.at(Block()) as absent:
        reader.emit.effect("yield", [reader.emit.const(None)])
    with reader.emit.builder.at(Block()) as present:
        value = list_item(reader, held)
        reader.emit.effect("yield", [value])
    return reader.emit.builder.op(
        "if", [is_none], reader.position.loc, regions=[absent, present], types=[OptionalType(value.type)]
    ).result


def stored(reader: Reader, target: ListValue, item: AbstractValue) -> Value:
    """Return the SSA value of an item of a list. If it has none, the list gets a known length in the next reading."""
    try:
        return list_item(reader, item)
    except UserError as e:
        if sites_of(reader.speculation, target) & reader.assumptions.run_time_lists:
            promote_objects(reader, [item])
        keep_length(reader.speculation, target, e)


def new_list(reader: Reader, items: Sequence[AbstractValue], site: Any) -> ListValue:
    """Make a list at a site of the program."""
    if site in reader.assumptions.known_length or keeps_new_list(reader, site, items):
        return KnownLengthListValue(dict(enumerate(items)), reader, site=site)
    elem = fresh(reader.assumptions.elements.get(site, NEVER))
    value: Value | None = None
    try:
        values = [list_item(reader, i) for i in items]
        for v in values:
            elem = unite(elem, v.type, unions=reader.assumptions.unions)
        if not is_storable(elem):
            raise JoinError(str(elem))
        values = [as_type(reader, v, elem) for v in values]
        value = reader.emit.builder.build("list.new", values, reader.position.loc)
        assert isinstance(value.type, ListType)
        variable = value.type.variable.find()
        variable.type, variable.fixed = elem, False
        variable.length = None if site in reader.assumptions.outgrown else len(items)
        reader.speculation.type_variables.append((site, variable))
    except (JoinError, UserError):
        if site in reader.assumptions.mutated:
            reader.speculation.keep_sites(
                {site}, None, UserError(reader.position.loc, *rejection("list_changes_without_type"))
            )
    return ListValue(value, None if site in reader.assumptions.mutated else list(items), site)
