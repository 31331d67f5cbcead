"""Items of Python objects outside: of dicts, lists, modules and other objects with `__getitem__`."""

from __future__ import annotations

import enum
import operator
from collections import Counter, defaultdict, deque
from collections.abc import Callable, KeysView, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch.nn import Module, ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential

from scriptc.frontend.environment.gradient_slots import guarded_tensor, tensor_outside
from scriptc.frontend.environment.lookup import element, guard_children, made_here, module_attribute, outside_value
from scriptc.frontend.environment.state import has_item_slots, item_slot, set_slot, slot_value
from scriptc.frontend.environment.watching import call_in_python, note_order, refuse_added_items, watch
from scriptc.frontend.operations.materialize import any_length, new_list, wrap
from scriptc.frontend.operations.objects import special
from scriptc.frontend.operations.runtime_dicts import (
    KEY_TYPES,
    choose_by_key,
    is_known_key,
    may_table,
    new_dict,
    raise_not_there,
    table_get,
    type_of_key,
)
from scriptc.frontend.reader.assumptions import StateLocation
from scriptc.frontend.reader.constant_demand import knowable, require_known
from scriptc.frontend.reader.errors import Poisoned
from scriptc.frontend.reader.paths import note_change
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Content, Known, RuntimeValue, TupleValue
from scriptc.frontend.values.predicates import has_known_keys, is_unbound, may_be_unbound, ssa_value
from scriptc.frontend.values.union_kinds import NUMBERS
from scriptc.frontend.values.user_classes import defines
from scriptc.frontend.values.verbs import describe, type_of
from scriptc.ir.types import BOOL, FLOAT, INT, STR, Type

_FEW = 8  # the largest number of items of a list outside that become alternatives of one value


def _constant_kind(obj: Any) -> Any:
    """Return a key that is equal for constants of one type; None unless a value is a number, a string or a tuple of
    these."""
    if type(obj) is tuple:
        kinds = tuple(map(_constant_kind, obj))
        return None if None in kinds else kinds
    return type(obj) if type(obj) in (int, float, bool, str) else None


def known_keywords(reader: Reader, named: dict[Any, Any]) -> dict[str, AbstractValue]:
    """Return the items of a dict outside, as the arguments that `**` makes of them."""
    watch(reader, named, deep=False)
    return {key: known_item(reader, Known(named), key) for key in named}


def known_item(reader: Reader, owner: Known, key: Any) -> AbstractValue:
    obj = owner.obj
    if isinstance(obj, torch.nn.Module):
        return submodule_item(reader, owner, key)
    if isinstance(obj, dict):
        if not dict.__contains__(obj, key):
            return missing_item(reader, obj, key)
        return outside_value(reader, dict.__getitem__(obj, key), obj, key, str(key), guarded=True)
    if (slot := item_slot(reader, obj, Known(key))) is not None:
        return slot_value(reader, slot)
    if isinstance(obj, list) and not has_item_slots(reader, obj):
        reader.environment.guard("LIST_ITEMS_ARE", obj, None, tuple(obj))
        note_queues(reader, obj)
        if isinstance(key, slice):
            return new_list(
                reader, [known_item(reader, owner, i) for i in range(len(obj))[key]], (reader.position.loc, "slice")
            )
    bases = (list, tuple) if defines(owner, "__getitem__") else ()
    inherited = next((base.__getitem__ for base in bases if isinstance(obj, base)), operator.getitem)
    return element(reader, call_in_python(reader, inherited, obj, key))


def missing_item(reader: Reader, obj: dict[Any, Any], key: Any) -> AbstractValue:
    """Return the result of a dict outside for a key that is missing."""
    reader.environment.guard("DICT_MISSING", obj, key, None)
    if type(obj) is Counter:
        return Known(0)
    if type(obj) is defaultdict and obj.default_factory is not None:
        return default_item(reader, obj, key)
    if hasattr(obj, "__missing__"):
        reader.reject("container_outside_changed", kind=type(obj).__name__)
    reader.emit.raise_error("KeyError", repr(key))


def default_item(reader: Reader, obj: defaultdict[Any, Any], key: Any) -> AbstractValue:
    """Return the item that a defaultdict outside makes for a key that is missing at entry."""
    slot = reader.state.slots.get((id(obj), key))
    if slot is None:
        reader.environment.keep.append(obj)
        location = StateLocation(obj, key, reader.position.loc, is_item=True)
        reader.speculation.add_slot(obj, location, "a missing item of a defaultdict is read")
        raise Poisoned

    def make() -> AbstractValue:
        made = reader.call(Known(obj.default_factory), [], {}) if slot.default is None else slot.default
        if has_known_keys(made):  # paths that have put the dict there may have put items into it
            reader.heap.contents[made.ident] = Content({}, made.made_with)
            note_change(reader, made.ident)
        set_slot(reader, slot, made)
        return slot_value(reader, slot)

    held = reader.heap.contents[slot.ident]
    if not may_be_unbound(held):
        return make() if is_unbound(held) else slot_value(reader, slot)

    def take() -> AbstractValue:
        reader.heap.contents[slot.ident] = held.av
        return held.av

    return reader.choose(held.flag, take, make)


def note_queues(reader: Reader, obj: list[Any]) -> None:
    """Note the locations of the deques in a list outside."""
    reader.environment.found |= {id(o): (obj, i) for i, o in enumerate(obj) if type(o) is deque}


def submodule_item(reader: Reader, owner: Known, key: Any) -> AbstractValue:
    if (found := special(reader, owner, "__getitem__", [Known(key)])) is not None:
        return found
    module = owner.obj
    if isinstance(module, (torch.nn.ModuleList, torch.nn.Sequential)) and isinstance(key, (int, slice)):
        guard_children(reader, module)
        if isinstance(key, slice):
            return made_here(reader, module[key])
        try:
            child = module[key]
        except (IndexError, KeyError) as e:
            reader.emit.raise_error(type(e).__name__, str(e.args[0]))
        return module_attribute(reader, module, next(n for n, c in module._modules.items() if c is child))
    if isinstance(module, torch.nn.ModuleDict):
        guard_children(reader, module)
        if key not in module._modules:
            reader.emit.raise_error("KeyError", repr(key))
        return module_attribute(reader, module, key)
    if isinstance(module, torch.nn.ParameterDict) and key in module._keys:
        reader.environment.guard("DICT_KEYS_ARE", module._keys, None, tuple(module._keys))
        return module_attribute(reader, module, key)
    if isinstance(module, torch.nn.ParameterList) and isinstance(key, int):
        return module_attribute(reader, module, str(range(len(module))[key]))
    reader.reject("subscript_of_module", name=type(module).__name__)


def known_items(reader: Reader, owner: Known) -> list[AbstractValue]:
    """Return the items of a known object that can be iterated."""
    if (walked := special(reader, owner, "__iter__", [])) is not None:
        return reader.iterate(walked)
    obj = owner.obj
    if isinstance(obj, (torch.nn.ModuleList, torch.nn.Sequential)):
        guard_children(reader, obj)
        return [module_attribute(reader, obj, n) for n in obj._modules]
    if isinstance(obj, torch.nn.ModuleDict):
        guard_children(reader, obj)
        return [Known(k) for k in obj._modules]
    if isinstance(obj, torch.nn.ParameterDict):
        reader.environment.guard("DICT_KEYS_ARE", obj._keys, None, tuple(obj._keys))
        return [Known(k) for k in obj._keys]
    if isinstance(obj, enum.EnumMeta):
        return [Known(obj[name]) for name in obj._member_names_]
    if isinstance(obj, torch.nn.ParameterList):
        return [module_attribute(reader, obj, str(i)) for i in range(len(obj))]
    if isinstance(obj, dict):
        refuse_added_items(reader, obj)
        reader.environment.guard("DICT_KEYS_ARE", obj, None, tuple(obj))
        return [Known(k) for k in obj]
    if isinstance(obj, list) and has_item_slots(reader, obj):
        return [slot_value(reader, reader.state.slots[id(obj), i]) for i in range(len(obj))]
    if isinstance(obj, list):
        reader.environment.guard("LIST_ITEMS_ARE", obj, None, tuple(obj))
        note_queues(reader, obj)
    if isinstance(obj, (tuple, list, str, range, set, frozenset, MappingProxyType, KeysView)):
        watch(reader, obj, deep=False)
        note_order(obj)
        return [element(reader, Known(o)) for o in obj]
    reader.reject("iteration_over_outside", what=describe(owner))


def outside_table(reader: Reader, av: Known, key: AbstractValue) -> AbstractValue:
    """Return a dict outside as a run-time dict, which each call makes once; return the dict itself if the key is known.

    The dict holds numbers, strings or tuples of these.
    """
    is_plain = isinstance(av.obj, dict) and not hasattr(av.obj, "__missing__")
    if is_known_key(key) or type_of_key(reader, key) is None or not is_plain:
        return av
    values = av.obj.values()
    kinds = {*map(_constant_kind, values)}
    if not all(type(x) in NUMBERS for x in values) and (len(kinds) != 1 or None in kinds):
        return av
    reader.environment.guard("DICT_KEYS_ARE", av.obj, None, tuple(av.obj))
    for name, item in av.obj.items():
        reader.environment.guard("DICT_EQ", av.obj, name, item)
    site = ("outside", id(av.obj))
    made = reader.environment.tables.get(site)
    if made is None:
        may_table(reader, site)
        made = reader.emit.at_entry(lambda: new_dict(reader, [(Known(k), Known(v)) for k, v in av.obj.items()], site))
        reader.environment.tables[site] = made
    return made


def outside_list(reader: Reader, av: Known, index: AbstractValue) -> AbstractValue | None:
    """Return a list or tuple outside as a run-time list, which each call makes once.

    The items are numbers, strings or tuples of these. Return None if the index is known, or if another reading can know
    it.
    """
    obj = av.obj
    at = ssa_value(index)
    if type(obj) not in (list, tuple) or at is None or at.type != INT:
        return None
    kinds = {*map(_constant_kind, obj)}
    if knowable(reader, at) is not None or len(kinds) != 1 or None in kinds:
        return None
    if type(obj) is list:
        reader.environment.guard("LIST_ITEMS_ARE", obj, None, tuple(obj))
    site, items = ("outside", id(obj)), [Known(o) for o in obj]
    if site not in reader.environment.tables:
        made = lambda: (  # noqa: E731
            new_list(reader, items, site) if type(obj) is list else wrap(reader, any_length(reader, TupleValue(items)))
        )
        reader.environment.tables[site] = reader.emit.at_entry(made)
    return reader.environment.tables[site]


def outside_item(
    reader: Reader, av: Known, index: AbstractValue, absent: Callable[[], AbstractValue] | None = None
) -> AbstractValue | None:
    """Return an item of a short list, tuple or dict outside at a run-time index.

    The items are functions, modules, parameters or members of an enum. Return None if the index has another type than the keys.
    `absent` is the result for a missing item.
    """
    obj = av.obj
    if isinstance(obj, (dict, ModuleDict, ParameterDict)):
        found = (type(obj) is dict or isinstance(obj, Module)) and is_run_time_key(reader, index)
        return one_of_items(reader, av, index, [*obj], absent) if found else None
    if isinstance(obj, (list, tuple)) and type_of(index) == FLOAT:
        kind = "list" if isinstance(obj, list) else "tuple"
        reader.emit.raise_error("TypeError", f"{kind} indices must be integers or slices, not float")
    sequences = (list, tuple, ModuleList, Sequential, ParameterList)
    if not isinstance(obj, sequences) or not is_run_time_key(reader, index, INT, BOOL):
        return None
    count = Known(len(obj))
    back = lambda: reader.binary("Add", index, count)  # noqa: E731
    return one_of_items(
        reader, av, reader.choose(reader.compare("Lt", index, Known(0)), back, lambda: index), range(count.obj)
    )


def is_run_time_key(reader: Reader, index: AbstractValue, *types: Type) -> bool:
    """Return whether no reading can know an index, and the index has one of some types.

    A string that is no argument counts as such an index: it comes from a list, and knowing it would cost a reading for
    each list.
    """
    value = ssa_value(index)
    if value is None or value.type not in (types or KEY_TYPES):
        return False
    return knowable(reader, value) is None or (
        value.type == STR and value not in reader.speculation.arg_places
    )


def one_of_items(
    reader: Reader,
    av: Known,
    index: AbstractValue,
    keys: Sequence[Any],
    absent: Callable[[], AbstractValue] | None = None,
) -> AbstractValue | None:
    if not 0 < len(keys) <= _FEW:
        return None
    if isinstance(av.obj, dict):
        reader.environment.guard("DICT_KEYS_ARE", av.obj, None, tuple(keys))
    elif isinstance(av.obj, (ModuleDict, ParameterDict)):
        known_items(reader, av)  # for its guards
    missing = absent or (lambda: raise_not_there(reader, av.obj, index))
    return choose_by_key(reader, index, keys, lambda key: known_item(reader, av, key), missing)


def outside_subscript(reader: Reader, owner: Known, index: AbstractValue) -> AbstractValue:
    """Return `owner[index]` as Python's own types define it. A user's class may inherit this definition."""
    if isinstance(owner.obj, dict) and (found := tensor_outside(reader, index)) is not None:
        index = Known(guarded_tensor(reader, found))  # dicts tell tensors apart by their identity
    table = outside_table(reader, owner, index)
    if isinstance(table, RuntimeValue):
        return table_get(reader, table, index)
    if (values := outside_list(reader, owner, index)) is not None:
        return reader.subscript(values, index)
    if (item := outside_item(reader, owner, index)) is not None:
        return item
    return known_item(reader, owner, require_known(reader, index, "an index into a known object"))
