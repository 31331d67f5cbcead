"""Objects that exist at run time.

The front end keeps the attributes of an object as separate values while it knows which object a value is. If the object
goes into a list of unknown length, or is one of several on some path, the function is read again. In that reading, the
instances of the class are references to records, whose fields have one type each. Dicts with known keys become records
too; all dicts that are made with the same keys count as one class.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import torch

from scriptc.frontend.operations.logic import negated
from scriptc.frontend.operations.materialize import apply_op, as_type, list_item, wrap
from scriptc.frontend.reader.errors import UserError
from scriptc.frontend.reader.paths import identities
from scriptc.frontend.reader.promotion import promote_objects, record_key
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    AbstractValue,
    Content,
    DictValue,
    Known,
    MaybeUnbound,
    ObjectValue,
    RecordDictValue,
    RecordValue,
    Unbound,
)
from scriptc.frontend.values.alternatives import is_kind, without
from scriptc.frontend.values.element_types import fresh, spelt, unite
from scriptc.frontend.values.predicates import (
    defining_op,
    has_alternatives,
    has_known_length,
    is_known,
    is_none,
    is_object,
    is_record,
    is_unbound,
    may_be_unbound,
    of_value,
)
from scriptc.frontend.values.verbs import describe
from scriptc.ir.core import Value
from scriptc.ir.types import (
    NEVER,
    JoinError,
    ObjectType,
    OptionalType,
    Record,
    TensorType,
    TupleType,
    Type,
    TypeVariable,
)

_MOST_LEAVES = 32  # the most leaves of one object, counting those of tuples and optional numbers in it
_CONSTANTS = (torch.dtype, torch.device, type, FunctionType, torch.nn.Module)


def run_time_item(reader: Reader, av: AbstractValue) -> Value:
    """Return the SSA value of an item as `list_item` does. The item must exist at run time."""
    try:
        return list_item(reader, av)
    except UserError:
        if has_known_length(av):
            reader.speculation.forget_length(av.site)
        promote_objects(reader, [av])
        reader.speculation.allow_unions()
        raise


def as_record(reader: Reader, made: ObjectValue | DictValue) -> AbstractValue:
    """Return a new object as a record, if its class is one of records."""
    record = reader.assumptions.records.get(record_key(made))
    if record is None:
        return made
    items = reader.items_of(made)
    refuse_leak(reader, made)
    if record.name not in reader.emit.module.records:
        begin_record(reader, record, tuple(dict.fromkeys((*items, *sorted(record.late)))))
    of_some = (items.keys() ^ set(record.names)) | {name for name, av in items.items() if may_be_unbound(av)}
    if not of_some <= record.late:
        if is_object(made):
            reader.speculation.let_lack(record, of_some)
        reader.reject("record_new_key", what=describe(made), name=next(iter(of_some)))
    values = [field_value(reader, record, i, items.get(name, Unbound())) for i, name in enumerate(record.names)]
    reader.heap.contents.pop(made.ident, None)
    result = reader.emit.builder.op("object.new", values, reader.position.loc, types=[ObjectType(record)]).result
    if sum(_leaves(record.type_of(i)) for i in range(len(values))) > _MOST_LEAVES:
        reader.reject("record_of_many", name=record.name, most=_MOST_LEAVES)
    return of_value(result)


def refuse_leak(reader: Reader, made: ObjectValue | DictValue) -> None:
    """Reject an object whose own __init__ stores a reference to the object, since the reference would keep the old
    content."""
    held = [*(av for f in reader.position.frames for av in f.locals.values()), *reader.heap.contents.values()]
    for av in held:
        parts = av.items.values() if isinstance(av, Content) else [av]
        if any(i is made.ident for part in parts for i in identities(part)):
            reader.reject("record_stored_in_init", name=describe(made))


def begin_record(reader: Reader, record: Record, names: tuple[str, ...]) -> None:
    """Declare the fields of a class when its first instance is made. Their types refer to the one record of the
    class."""
    reader.emit.module.records[record.name] = record
    record.names, record.fields = names, []
    for name in names:
        site = ("field", record.name, name)
        variable = TypeVariable(fresh(reader.assumptions.elements.get(site, NEVER)))
        record.fields.append(variable)
        reader.speculation.type_variables.append((site, variable))


def field_content(reader: Reader, record: Record, name: str, av: AbstractValue) -> AbstractValue:
    """Return the content of a field for the value of an attribute. `Record` describes missing and constant
    attributes."""
    late, constant = name in record.late, is_constant(av)
    if late and is_unbound(av):
        return Known(None)
    if late and may_be_unbound(av):
        return reader.choose(av.flag, lambda: field_content(reader, record, name, av.av), lambda: Known(None))
    if constant and is_known(av) and name not in record.constants:
        reader.speculation.hold_constant(record, name, av.obj)
    if constant and is_known(av) and av.obj == record.constants[name]:
        return Known(True)
    if constant or name in record.constants:
        first = describe(Known(record.constants[name]))
        reader.reject("record_field_of_kinds", name=name, owner=record.name, held=first, item=f"another {describe(av)}")
    kinds = av.alternatives.values() if has_alternatives(av) else [av]
    if late and any(map(is_none, kinds)):
        reader.reject("record_late_none", name=name, owner=record.name)
    return av


def field_value(reader: Reader, record: Record, index: int, av: AbstractValue) -> Value:
    """Return the SSA value for a field."""
    name = record.names[index]
    value = run_time_item(reader, field_content(reader, record, name, av))
    variable = record.fields[index].find()
    owner, name = record.name, record.names[index]
    try:
        joined = unite(variable.type, value.type, unions=reader.assumptions.unions)
        if isinstance(joined, TensorType) and joined.dims is None:
            raise JoinError("ranks")
    except JoinError:
        reader.speculation.allow_unions()
        held, item = spelt(variable.type), spelt(value.type)
        reader.reject("record_field_of_kinds", name=name, owner=owner, held=held, item=item)
    if joined != variable.type:
        reader.speculation.widen_field(record, index, joined)
    return as_type(reader, value, variable.type)


# ---- attributes ----


def get_field(reader: Reader, owner: RecordValue | RecordDictValue, name: Any) -> AbstractValue:
    index = owner.record.names.index(name)
    return wrap(reader, reader.emit.build("object.get", [owner.value], field=index))


def held_field(reader: Reader, owner: RecordValue | RecordDictValue, name: Any) -> AbstractValue:
    """Return the content of a field; Unbound or MaybeUnbound if the attribute is or may be missing."""
    av = get_field(reader, owner, name)
    constant = Known(owner.record.constants[name]) if name in owner.record.constants else None
    kinds = av.alternatives if has_alternatives(av) else {0: av}
    none = next((number for number, kind in kinds.items() if is_none(kind)), None)
    if name not in owner.record.late or none is None:
        return constant or av
    if not has_alternatives(av):
        return Unbound()
    return MaybeUnbound(negated(reader, is_kind(reader, av, none)), constant or without(av, none))


def fields_of(reader: Reader, owner: RecordValue | RecordDictValue) -> dict[Any, AbstractValue]:
    """Return the attributes or keys that exist, and those that may exist (MaybeUnbound)."""
    held = {name: held_field(reader, owner, name) for name in owner.record.names}
    return {name: av for name, av in held.items() if not is_unbound(av)}


def set_field(reader: Reader, owner: RecordValue | RecordDictValue, name: Any, value: AbstractValue) -> None:
    if name not in owner.record.names:
        if isinstance(owner, RecordValue):
            reader.speculation.let_lack(owner.record, {name})
        free_keys(reader, owner)
        reader.reject("record_new_key", what=describe(owner), name=name)
    index = owner.record.names.index(name)
    held = field_value(reader, owner.record, index, value)
    reader.emit.effect("object.set", [owner.value, held], field=index)


def set_fields(reader: Reader, owner: RecordValue | RecordDictValue, items: dict[Any, AbstractValue]) -> None:
    """Set the fields whose content differs from what they hold."""
    if set(owner.record.names) - items.keys():
        free_keys(reader, owner)
        reader.reject("record_loses_key", what=describe(owner))
    for name, item in items.items():
        held = defining_op(item)
        if held is None or held.name != "object.get" or held.operands[0] is not owner.value:
            set_field(reader, owner, name, item)


def free_keys(reader: Reader, owner: RecordValue | RecordDictValue) -> None:
    """Read again, with keys that come and go in the dicts of this class; return where that is assumed already."""
    if isinstance(owner, RecordDictValue):
        reader.speculation.free_keys_of(owner.record)


def same_record(reader: Reader, a: AbstractValue, b: AbstractValue) -> AbstractValue | None:
    """Return `a is b` where one of them exists at run time; None where none does."""
    if not is_record(a) and not is_record(b):
        return None
    if is_record(a) and is_record(b) and a.record is b.record:
        return apply_op(reader, "object.is", a, b)
    return Known(False)


def is_constant(av: AbstractValue) -> bool:
    """Return whether a known value has no run-time form: a dtype, a device, a class, a function or a module."""
    return is_known(av) and isinstance(av.obj, _CONSTANTS)


def _leaves(t: Type) -> int:
    if isinstance(t, TupleType):
        return sum(map(_leaves, t.items))
    return 1 + _leaves(t.item) if isinstance(t, OptionalType) else 1
