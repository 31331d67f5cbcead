"""Objects that exist at run time. An object that compiled code makes is taken apart, as long as it is known everywhere which
one it is. Where that ends (it goes into a list of unknown length, or is on some path one of several), the instances of its
class are read again as references to records, with fields of one type each. So are dicts with known keys, where all that
are made with the same keys count as one class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any, NoReturn

import torch

from scriptc.frontend.cells import fresh, is_laid_out_anew, spelt, unite
from scriptc.frontend.context import Context, UserError
from scriptc.frontend.flow import identities, without
from scriptc.frontend.objects import is_plain
from scriptc.frontend.shapes import holds_function, shape_of
from scriptc.frontend.values import (
    AV,
    RECORDS,
    Content,
    DictV,
    Dyn,
    Known,
    KnownLengthListV,
    ListV,
    Maybe,
    ObjectV,
    OneOf,
    RecordDictV,
    RecordV,
    Unbound,
    describe,
    of_value,
)
from scriptc.ir.core import Value
from scriptc.ir.types import (
    NEVER,
    Elem,
    JoinError,
    Names,
    ObjectType,
    OptionalType,
    Record,
    TensorType,
    TupleType,
    Type,
)

_MOST_LEAVES = 32  # of what one object holds, tuples and optional numbers in it taken apart
_CONSTANTS = (torch.dtype, torch.device, type, FunctionType, torch.nn.Module)


class Records(Context):
    """Mixin: objects at run time."""

    # ---- which classes ----
    def refuse_value(self, av: ListV) -> NoReturn:
        """A list whose items are only known one by one is needed as a value of run time."""
        self.promote_objects(av.items or [])
        if any(map(holds_function, av.items or ())):
            self.fail("functions_in_list")
        if all(self.type_of(item) is not None for item in av.items or ()):
            self.fail("list_of_known_items_used", why=self.assume.why_known_length.get(av.site, "its items differ in kind"))
        self.fail("list_without_type_used")

    def promote_objects(self, avs: Iterable[AV]) -> None:
        """From the next reading on, the objects that values are or hold exist at run time; returns where there are none."""
        found = [o for av in avs for o in self.objects_made(av, 0) if may_be_record(o)]
        for made in found:
            if isinstance(made, DictV) and (not made.items or class_of(made) in self.assume.records):
                self.free_sites(made.sites)  # it got its keys, or gets them, behind the place where it is made
                self.promote(made)
        classes = {class_of(o): o.cls if isinstance(o, ObjectV) else dict for o in found}
        if not classes.keys() <= self.assume.records.keys():
            names = Names({r.name: 1 for r in self.assume.records.values()})
            for key, cls in classes.items():
                if key not in self.assume.records:
                    self.assume.records[key] = Record(names.fresh(cls.__name__), cls=cls)
            self.assume.known_length.clear()  # lists of such objects have one type of items
            names_of = ", ".join(sorted(cls.__name__ for cls in classes.values()))
            self.read_again(f"instances of {names_of} are needed as values of run time")

    def promote_nested(self, avs: Iterable[AV]) -> None:
        """The same of objects that hold others of their class, where each turn of a recursion would make one more."""
        for av in avs:
            for made in self.objects_made(av, 0):
                inner = (o for part in made.items.values() for o in self.objects_made(part, 1))
                if isinstance(made, ObjectV) and any(isinstance(o, ObjectV) and o.cls is made.cls for o in inner):
                    self.promote_objects([made])

    def run_time_item(self, av: AV) -> Value:
        """The SSA value of an item, as `list_item`, of what only exists at run time."""
        try:
            return self.list_item(av)
        except UserError:
            if isinstance(av, KnownLengthListV) and av.site in self.assume.known_length:
                self.assume.run_time_lists.add(av.site)
                self.assume.known_length.discard(av.site)
                self.read_again("a list goes into a container or an object, so that its length is not known")
            self.promote_objects([av])
            self.allow_unions()
            raise

    def objects_made(self, av: AV, depth: int) -> Iterator[ObjectV | DictV]:
        if depth > 8:
            return
        if isinstance(av, (ObjectV, DictV)):
            yield av
            return
        parts: Iterable[AV] = ()
        if isinstance(av, OneOf):
            parts = av.alternatives.values()
        elif isinstance(av, Maybe):
            parts = [av.av]
        elif isinstance(av, Content):
            parts = av.items.values()
        elif (shape := shape_of(av)) is not None:
            parts = shape.parts
        for part in parts:
            yield from self.objects_made(part, depth + 1)

    # ---- making ----
    def has_free_keys(self, made: DictV, site: Any) -> bool:
        """Whether keys come to a dict with known keys, or go, where nobody knows which dict it is."""
        if not may_be_record(made) or class_of(made) not in self.assume.free_keys:
            return False
        self.free_sites([site])
        return self.may_table(site)

    def free_sites(self, sites: Iterable[Any]) -> None:
        for site in sites:
            if site not in self.assume.free_keys:
                self.assume.free_keys.add(site)
                self.assume.untabled.pop(site, None)  # by items of several kinds, which are allowed from here on
                self.assume.known_length.clear()  # lists of such dicts have one type of items

    def as_record(self, made: ObjectV | DictV) -> AV:
        """An object that has just been made, as one that exists at run time, where its class asks for that."""
        record = self.assume.records.get(class_of(made))
        if record is None:
            return made
        items = self.items_of(made)
        self.refuse_leak(made)
        if record.name not in self.module.records:
            self.begin_record(record, tuple(dict.fromkeys((*items, *sorted(record.late)))))
        of_some = (items.keys() ^ set(record.names)) | {name for name, av in items.items() if isinstance(av, Maybe)}
        if not of_some <= record.late:
            if isinstance(made, ObjectV):
                self.may_lack(record, of_some)
            self.fail("record_new_key", what=describe(made), name=next(iter(of_some)))
        values = [self.field_value(record, i, items.get(name, Unbound())) for i, name in enumerate(record.names)]
        self.heap.pop(made.ident, None)
        result = self.builder.op("object.new", values, self.loc, types=[ObjectType(record)]).result
        if sum(_leaves(record.type_of(i)) for i in range(len(values))) > _MOST_LEAVES:
            self.fail("record_of_many", name=record.name, most=_MOST_LEAVES)
        return of_value(result)

    def refuse_leak(self, made: ObjectV | DictV) -> None:
        """What refers to an object from within its own __init__ would go on to refer to what it was then."""
        held = [*(av for f in self.frames for av in f.locals.values()), *self.heap.values()]
        for av in held:
            parts = av.items.values() if isinstance(av, Content) else [av]
            if any(i is made.ident for part in parts for i in identities(part)):
                self.fail("record_stored_in_init", name=describe(made))

    def begin_record(self, record: Record, names: tuple[str, ...]) -> None:
        """The fields of a class, when the first instance is made. Their types name the record, which is one in all readings."""
        self.module.records[record.name] = record
        record.names, record.fields = names, []
        for name in names:
            site = ("field", record.name, name)
            cell = Elem(fresh(self.assume.elements.get(site, NEVER)))
            record.fields.append(cell)
            self.cells.append((site, cell))

    def may_lack(self, record: Record, names: set[str]) -> NoReturn:
        """From the next reading on, these are attributes that some instances of a class do not have."""
        record.late |= names
        self.read_again(f"some {record.name} lack the attributes {', '.join(sorted(map(str, names)))}")

    def field_content(self, record: Record, name: str, av: AV) -> AV:
        """What a field holds for the value of an attribute: see Record on those that are lacking or constant."""
        late, constant = name in record.late, is_constant(av)
        match av:
            case Unbound() if late:
                return Known(None)
            case Maybe(flag, held) if late:
                return self.choose(flag, lambda: self.field_content(record, name, held), lambda: Known(None))
            case Known(obj) if constant and name not in record.constants:
                record.constants[name] = obj
                self.read_again(f"the attribute '{name}' of a {record.name} is a constant")
            case Known(obj) if constant and obj == record.constants[name]:
                return Known(True)
        if constant or name in record.constants:
            first = describe(Known(record.constants[name]))
            self.fail("record_field_of_kinds", name=name, owner=record.name, held=first, item=f"another {describe(av)}")
        kinds = av.alternatives.values() if isinstance(av, OneOf) else [av]
        if late and any(map(_is_none, kinds)):
            self.fail("record_late_none", name=name, owner=record.name)
        return av

    def field_value(self, record: Record, index: int, av: AV) -> Value:
        """The SSA value of what goes into a field."""
        name = record.names[index]
        value = self.run_time_item(self.field_content(record, name, av))
        cell = record.fields[index].find()
        owner, name = record.name, record.names[index]
        try:
            joined = unite(cell.type, value.type, unions=self.assume.unions)
            if isinstance(joined, TensorType) and joined.dims is None:
                raise JoinError("ranks")
        except JoinError:
            self.allow_unions()
            self.fail("record_field_of_kinds", name=name, owner=owner, held=spelt(cell.type), item=spelt(value.type))
        if joined != cell.type:
            anew = cell.observed or is_laid_out_anew(cell.type, joined)
            cell.type = self.assume.elements["field", record.name, name] = joined
            if anew:
                self.read_again(f"the attribute '{name}' of a {owner} is {spelt(joined)}")
        return self.as_type(value, cell.type)

    # ---- attributes ----
    def get_field(self, owner: RecordV | RecordDictV, name: Any) -> AV:
        index = owner.record.names.index(name)
        return self.wrap(self.build("object.get", [owner.value], field=index))

    def held_field(self, owner: RecordV | RecordDictV, name: Any) -> AV:
        """What a field holds; Unbound or Maybe where the attribute is lacking, or may be."""
        av = self.get_field(owner, name)
        constant = Known(owner.record.constants[name]) if name in owner.record.constants else None
        kinds = av.alternatives if isinstance(av, OneOf) else {0: av}
        none = next((number for number, kind in kinds.items() if _is_none(kind)), None)
        if name not in owner.record.late or none is None:
            return constant or av
        if not isinstance(av, OneOf):
            return Unbound()
        return Maybe(self.negate(self.is_kind(av, none)), constant or without(av, none))

    def fields_of(self, owner: RecordV | RecordDictV) -> dict[Any, AV]:
        """The attributes or keys that there are, or may be (Maybe)."""
        held = {name: self.held_field(owner, name) for name in owner.record.names}
        return {name: av for name, av in held.items() if not isinstance(av, Unbound)}

    def record_attribute(self, owner: RecordV, name: str) -> AV:
        if name in owner.record.names and not isinstance(getattr(owner.cls, name, None), property):
            held = self.held_field(owner, name)
            if not isinstance(held, Unbound):
                return self.attribute_of_some(owner, name, held) if isinstance(held, Maybe) else held
        if name == "__class__":
            return Known(owner.cls)
        return self.found_in_class(owner, name)

    def set_field(self, owner: RecordV | RecordDictV, name: Any, value: AV) -> None:
        if name not in owner.record.names:
            if isinstance(owner, RecordV):
                self.may_lack(owner.record, {name})
            self.free_keys(owner)
            self.fail("record_new_key", what=describe(owner), name=name)
        index = owner.record.names.index(name)
        held = self.field_value(owner.record, index, value)
        self.effect("object.set", [owner.value, held], field=index)

    def set_fields(self, owner: RecordV | RecordDictV, items: dict[Any, AV]) -> None:
        """Changes what differs from what the fields hold."""
        if set(owner.record.names) - items.keys():
            self.free_keys(owner)
            self.fail("record_loses_key", what=describe(owner))
        for name, item in items.items():
            held = item.value.op if isinstance(item, Dyn) else None
            if held is None or held.name != "object.get" or held.operands[0] is not owner.value:
                self.set_field(owner, name, item)

    def free_keys(self, owner: RecordV | RecordDictV) -> None:
        """From the next reading on, the dicts of a class have keys that come and go; returns where they cannot."""
        if isinstance(owner, RecordDictV):
            key = next(k for k, record in self.assume.records.items() if record is owner.record)
            if key not in self.assume.free_keys:
                self.assume.free_keys.add(key)
                self.assume.forget(ObjectType)
                self.read_again("keys come to a dict, or go, where several dicts may be meant")

    def same_record(self, a: AV, b: AV) -> AV | None:
        """`a is b` where one of them exists at run time; None where none does."""
        if not isinstance(a, RECORDS) and not isinstance(b, RECORDS):
            return None
        if isinstance(a, RECORDS) and isinstance(b, RECORDS) and a.record is b.record:
            return self.op("object.is", a, b)
        return Known(False)


def may_be_record(av: ObjectV | DictV) -> bool:
    """Whether an object that compiled code makes may exist at run time."""
    if isinstance(av, RECORDS) or av.home is not None:
        return False
    if isinstance(av, DictV):
        return av.made.cls is dict and all(isinstance(key, (str, int)) for key in av.items)
    return is_plain(av.cls) and bool(av.cls.__dictoffset__)


def is_constant(av: AV) -> bool:
    """Whether something known has no value of run time."""
    return isinstance(av, Known) and isinstance(av.obj, _CONSTANTS)


def _is_none(av: AV) -> bool:
    return isinstance(av, Known) and av.obj is None


def class_of(av: ObjectV | DictV) -> Any:
    """What is one for objects that are instances of one record."""
    return av.cls if isinstance(av, ObjectV) else ("dict", *av.items)


def _leaves(t: Type) -> int:
    if isinstance(t, TupleType):
        return sum(map(_leaves, t.items))
    return 1 + _leaves(t.item) if isinstance(t, OptionalType) else 1
