"""Methods of lists."""

from __future__ import annotations

from scriptc.frontend.library.python.sequences import as_list
from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.indices import integer
from scriptc.frontend.operations.logic import check_that, logical_and
from scriptc.frontend.operations.materialize import item_for, stored
from scriptc.frontend.operations.operators import append_item
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.contents import edit
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.subscripts import splice_list
from scriptc.frontend.values.abstract import AbstractValue, Known, ListValue, RuntimeValue
from scriptc.frontend.values.predicates import has_known_length, is_known
from scriptc.frontend.values.verbs import is_run_time


@serves("list.append")
def list_append(r: Reader, target: ListValue, item: AbstractValue) -> AbstractValue:
    append_item(r, target, item)
    return Known(None)


@serves("list.extend")
def list_extend(r: Reader, target: ListValue, items: AbstractValue) -> AbstractValue:
    if is_run_time(r, items):
        end = r.emit.const(2**63 - 1)
        splice_list(r, target, end, end, as_list(r, items))
        return Known(None)
    for item in r.iterate(items):
        append_item(r, target, item)
    return Known(None)


@serves("list.insert")
def list_insert(r: Reader, target: ListValue, index: AbstractValue, item: AbstractValue) -> AbstractValue:
    if has_known_length(target):
        place = require_known(r, index, "an index into a list of different types")
        edit(r, target, lambda items: items.insert(place, item))
        return Known(None)
    value = stored(r, target, item)
    list_value = r.speculation.mutate(target, resizes=True)
    r.speculation.widen(list_value.type, 0, value.type)
    r.emit.effect("list.insert", [list_value, integer(r, index), item_for(r, list_value, value)])
    return Known(None)


@serves("list.pop")
def list_pop(r: Reader, target: ListValue, index: AbstractValue = Known(-1)) -> AbstractValue:
    if has_known_length(target):
        found: AbstractValue = edit(
            r, target, lambda items: items.pop(require_known(r, index, "an index into a list of different types"))
        )
        return found
    if not (is_known(index) and isinstance(index.obj, int)):
        index = RuntimeValue(integer(r, index))
    list_value = r.speculation.mutate(target, resizes=True)
    length = r.call(Known(len), [target], {})
    check_that(r, r.compare("Gt", length, Known(0)), "IndexError", "pop from empty list")
    if not (is_known(index) and index.obj in (0, -1)):
        least = r.binary("Sub", Known(0), length)
        inside = logical_and(r, r.compare("LtE", least, index), r.compare("Lt", index, length))
        check_that(r, inside, "IndexError", "pop index out of range")
    item = r.subscript(target, index)
    r.emit.effect("list.delete", [list_value, integer(r, index)])
    return item
