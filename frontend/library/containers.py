"""Methods of lists."""

from __future__ import annotations

from scriptc.frontend.library import serves
from scriptc.frontend.library.sequences import as_list
from scriptc.frontend.reader_api import Reader
from scriptc.frontend.values import AV, Known, KnownLengthListV, ListV


@serves("list.append")
def list_append(r: Reader, target: ListV, item: AV) -> AV:
    r.append(target, item)
    return Known(None)


@serves("list.extend")
def list_extend(r: Reader, target: ListV, items: AV) -> AV:
    if r.is_run_time(items):
        end = r.const(2**63 - 1)
        r.splice_list(target, end, end, as_list(r, items))
        return Known(None)
    for item in r.iterate(items):
        r.append(target, item)
    return Known(None)


@serves("list.insert")
def list_insert(r: Reader, target: ListV, index: AV, item: AV) -> AV:
    if isinstance(target, KnownLengthListV):
        place = r.known(index, "an index into a list of different types")
        r.edit(target, lambda items: items.insert(place, item))
        return Known(None)
    value = r.stored(target, item)
    list_value = r.mutate(target)
    r.widen(list_value.type, 0, value.type)
    r.effect("list.insert", [list_value, r.integer(index), r.item_for(list_value, value)])
    return Known(None)


@serves("list.pop")
def list_pop(r: Reader, target: ListV, index: AV = Known(-1)) -> AV:  # noqa: B008
    if isinstance(target, KnownLengthListV):
        found: AV = r.edit(target, lambda items: items.pop(r.known(index, "an index into a list of different types")))
        return found
    list_value = r.mutate(target)
    length = r.call(Known(len), [target], {})
    r.check_that(r.compare("Gt", length, Known(0)), "IndexError", "pop from empty list")
    if not (isinstance(index, Known) and index.obj in (0, -1)):
        least = r.binary("Sub", Known(0), length)
        inside = r.both(r.compare("LtE", least, index), r.compare("Lt", index, length))
        r.check_that(inside, "IndexError", "pop index out of range")
    item = r.subscript(target, index)
    r.effect("list.delete", [list_value, r.integer(index)])
    return item
