"""Expressions: operands are evaluated left to right, once each."""

from __future__ import annotations

import ast
import operator
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from scriptc.frontend.decompositions import lists
from scriptc.frontend.environment.host_items import outside_subscript
from scriptc.frontend.environment.python_classes import python_class
from scriptc.frontend.environment.state import change_outside, item_slot, open_queue, set_slot, store_outside
from scriptc.frontend.environment.watching import call_in_python
from scriptc.frontend.operations.indexing import index_tensor, indexed, is_indexed_by_ints, put_by_index, with_places
from scriptc.frontend.operations.indices import has_step, integer, is_slice, place_of, slice_bounds
from scriptc.frontend.operations.logic import negated
from scriptc.frontend.operations.materialize import (
    any_length,
    apply_op,
    item_for,
    make_tuple,
    materialize,
    new_list,
    stored,
    type_of,
    wrap,
)
from scriptc.frontend.operations.objects import set_attribute, special
from scriptc.frontend.operations.runtime_dicts import (
    is_dict_like,
    key_of,
    known_get,
    new_dict,
    new_set,
    table_delete,
    table_get,
    table_set,
)
from scriptc.frontend.operations.strings import text_item
from scriptc.frontend.operations.tuples import tuple_of_items
from scriptc.frontend.operations.writes import check_number, check_placed, copy_into, spread_into
from scriptc.frontend.reader.comprehensions import display, elements, grown_list, is_grown
from scriptc.frontend.reader.constant_demand import is_known, knowable, require_known
from scriptc.frontend.reader.contents import edit, set_items
from scriptc.frontend.reader.dispatch import EXPRESSIONS, reads
from scriptc.frontend.reader.errors import Poisoned, Terminated, UserError
from scriptc.frontend.reader.names import load
from scriptc.frontend.reader.promotion import promote_objects
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.statements import assign, closure
from scriptc.frontend.rejections import STATEMENTS_AND_EXPRESSIONS
from scriptc.frontend.values.abstract import (
    AbstractValue,
    DictValue,
    Known,
    KnownLengthListValue,
    ListValue,
    ObjectValue,
    OneOf,
    Poison,
    RangeValue,
    RuntimeValue,
    TupleValue,
    describe,
    has_kinds,
    has_method,
    has_one_class,
    is_dict,
    is_empty_list,
    is_plain_tuple,
    is_run_time_text,
    is_tensor,
    is_text,
    tensor_type,
)
from scriptc.frontend.values.alternatives import present, split, split_all, split_index
from scriptc.frontend.values.class_names import class_name_of
from scriptc.frontend.values.element_types import is_laid_out_anew
from scriptc.frontend.values.structure import shape_of_slice
from scriptc.frontend.values.user_classes import defines
from scriptc.ir.core import Value
from scriptc.ir.types import BOOL, INT, NEVER, ListType


def evaluate(reader: Reader, node: ast.expr) -> AbstractValue:
    saved, reader.position.node = reader.position.node, node
    try:
        handler = EXPRESSIONS.get(type(node))
        if handler is None:
            reader.reject(STATEMENTS_AND_EXPRESSIONS[type(node)])
        av = handler(reader, node)
    finally:
        reader.position.node = saved
    if isinstance(av, Poison):
        raise Poisoned
    if isinstance(av, Known) and type(av.obj) is deque:
        open_queue(reader, av.obj)
    if isinstance(av, Known) and isinstance(av.obj, deque):
        reader.reject("content_unguarded", kind=type(av.obj).__name__)
    return av


@reads(ast.Constant)
def read_constant(reader: Reader, node: ast.Constant) -> AbstractValue:
    return Known(node.value)


@reads(ast.Name)
def read_name(reader: Reader, node: ast.Name) -> AbstractValue:
    return load(reader, node.id)


@reads(ast.Attribute)
def read_attribute(reader: Reader, node: ast.Attribute) -> AbstractValue:
    return reader.attribute(reader.evaluate(node.value), node.attr)


@reads(ast.BinOp)
def read_bin_op(reader: Reader, node: ast.BinOp) -> AbstractValue:
    left = reader.evaluate(node.left)
    return reader.binary(type(node.op).__name__, left, reader.evaluate(node.right))


@reads(ast.UnaryOp)
def read_unary_op(reader: Reader, node: ast.UnaryOp) -> AbstractValue:
    return reader.unary(node.op, reader.evaluate(node.operand))


@reads(ast.Compare)
def read_compare(reader: Reader, node: ast.Compare) -> AbstractValue:
    return chain(reader, reader.evaluate(node.left), list(zip(node.ops, node.comparators, strict=True)))


def chain(reader: Reader, left: AbstractValue, rest: list[tuple[ast.cmpop, ast.expr]]) -> AbstractValue:
    """`a < b < c`: b is evaluated once, c only if a < b."""
    (op, node), *more = rest
    right = reader.evaluate(node)
    result = reader.compare(type(op).__name__, left, right)
    if not more:
        return result
    return reader.choose(reader.truth(result), lambda: chain(reader, right, more), lambda: result)


@reads(ast.BoolOp)
def read_bool_op(reader: Reader, node: ast.BoolOp) -> AbstractValue:
    return boolean(reader, isinstance(node.op, ast.And), node.values)


def boolean(reader: Reader, is_and: bool, nodes: Sequence[ast.expr]) -> AbstractValue:
    first, *rest = nodes
    value = reader.evaluate(first)
    if not rest:
        return value
    more = lambda: boolean(reader, is_and, rest)  # noqa: E731
    then, orelse = (more, lambda: value) if is_and else (lambda: value, more)
    return reader.choose(reader.truth(value), then, orelse)


def test(reader: Reader, node: ast.expr) -> AbstractValue:
    """The truth of an expression: what an `if` asks, so that `and` and `or` may join values of any types."""
    match node:
        case ast.BoolOp(op=op, values=[first, *rest]):
            value = reader.test(first)
            if not rest:
                return value
            more = lambda: reader.test(ast.copy_location(ast.BoolOp(op, rest), node))  # noqa: E731
            then, orelse = (more, lambda: value) if isinstance(op, ast.And) else (lambda: value, more)
            return reader.choose(value, then, orelse)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return negated(reader, reader.test(operand))
    saved, reader.position.node = reader.position.node, node
    try:
        return reader.truth(reader.evaluate(node))
    finally:
        reader.position.node = saved


@reads(ast.IfExp)
def read_if_exp(reader: Reader, node: ast.IfExp) -> AbstractValue:
    return reader.choose(
        reader.test(node.test), lambda: reader.evaluate(node.body), lambda: reader.evaluate(node.orelse)
    )


# ---- displays ----


@reads(ast.Tuple)
def read_tuple(reader: Reader, node: ast.Tuple) -> AbstractValue:
    parts = display(reader, node.elts)
    if is_grown(reader, parts):
        return tuple_of_items(reader, grown_list(reader, parts, (reader.position.loc, "tuple")))
    return make_tuple(elements(reader, parts))


@reads(ast.List)
def read_list(reader: Reader, node: ast.List) -> AbstractValue:
    parts, site = display(reader, node.elts), (reader.position.loc, "list")
    return (
        grown_list(reader, parts, site) if is_grown(reader, parts) else new_list(reader, elements(reader, parts), site)
    )


@reads(ast.Dict)
def read_dict(reader: Reader, node: ast.Dict) -> AbstractValue:
    site = (reader.position.loc, "dict")
    pairs: list[tuple[AbstractValue, AbstractValue]] = []
    updates: list[tuple[AbstractValue | None, AbstractValue]] = []
    for key, value in zip(node.keys, node.values, strict=True):
        updates.append((None if key is None else reader.evaluate(key), reader.evaluate(value)))
    while updates and updates[0][0] is not None:
        first, item = updates.pop(0)
        assert first is not None
        pairs.append((first, item))
    made = new_dict(reader, pairs, site)
    for key_av, item in updates:
        if key_av is None:
            split_all(reader, [item], lambda avs: merge_dict(reader, made, avs[0]))
        else:
            reader.store_item(made, key_av, item)
    return made


def merge_dict(reader: Reader, made: AbstractValue, av: AbstractValue) -> AbstractValue:
    """`**av` in the display of a dict."""
    if not is_dict_like(av):
        reader.emit.raise_error("TypeError", f"'{class_name_of(reader, av)}' object is not a mapping")
    return reader.call(reader.attribute(made, "update"), [av], {})


@reads(ast.NamedExpr)
def read_named_expr(reader: Reader, node: ast.NamedExpr) -> AbstractValue:
    value = reader.evaluate(node.value)
    assign(reader, node.target, value)
    return value


@reads(ast.Set)
def read_set(reader: Reader, node: ast.Set) -> AbstractValue:
    items = elements(reader, display(reader, node.elts))
    if len(items) > 2 and all(isinstance(n, ast.Constant) for n in node.elts):
        items = reader.iterate(call_in_python(reader, frozenset, tuple(i.obj for i in items if isinstance(i, Known))))
    return new_set(reader, items, (reader.position.loc, "set"))


@reads(ast.Lambda)
def read_lambda(reader: Reader, node: ast.Lambda) -> AbstractValue:
    return closure(reader, node)


@reads(ast.Slice)
def read_slice(reader: Reader, node: ast.Slice) -> AbstractValue:
    parts = [Known(None) if p is None else reader.evaluate(p) for p in (node.lower, node.upper, node.step)]
    if all(isinstance(p, Known) for p in parts):
        return Known(slice(*(p.obj for p in parts if isinstance(p, Known))))
    return TupleValue(parts, slice)


@reads(ast.Subscript)
def read_subscript(reader: Reader, node: ast.Subscript) -> AbstractValue:
    owner = reader.evaluate(node.value)
    return reader.subscript(owner, reader.evaluate(node.slice))


# ---- subscripts ----


def subscript(reader: Reader, owner: AbstractValue, index: AbstractValue) -> AbstractValue:
    if isinstance(owner, OneOf) or isinstance(index, OneOf):
        owner = present(reader, owner, "TypeError", "'NoneType' object is not subscriptable")
        return split_all(reader, [owner, index], lambda avs: reader.subscript(*avs))
    demand(reader, owner, "__getitem__", "is not subscriptable")
    index = with_places(reader, index) if is_tensor(owner) else index
    if has_kinds(index) and (is_tensor(owner) or is_slice(index)):
        return split_index(reader, index, lambda i: reader.subscript(owner, i))
    if is_tensor(owner):
        return index_tensor(reader, owner, index)
    if is_tensor(index) and is_indexed_by_ints(owner):
        index = place_of(reader, index)
    if is_run_time_text(owner) or (is_text(owner) and not is_known(index)):
        return text_item(reader, owner, index)
    if isinstance(owner, Known) and (found := special(reader, owner, "__getitem__", [index])) is not None:
        return found
    if isinstance(owner, Known):
        return outside_subscript(reader, owner, index)
    if isinstance(owner, RuntimeValue) and is_dict(owner):
        return table_get(reader, owner, index)
    if isinstance(owner, DictValue):
        return known_get(reader, owner, index)
    if isinstance(owner, RangeValue):
        return range_item(reader, owner, index)
    if isinstance(owner, ObjectValue) and (found := special(reader, owner, "__getitem__", [index])) is not None:
        return found
    known_items = owner.items if isinstance(owner, (TupleValue, ListValue)) else None
    if known_items is not None and is_known_index(index):
        if isinstance(owner, ListValue):
            reader.speculation.observe(owner)
        return pick(reader, owner, list(known_items), require_known(reader, index, "an index"))
    if isinstance(owner, ListValue) and owner.value is None:
        if not is_known_place(index):
            promote_objects(reader, owner.items or [])
        return pick(reader, owner, owner.items or [], known_index(reader, owner, index))
    if isinstance(owner, ListValue) and not is_slice(index):
        if is_empty_list(owner):
            reader.emit.raise_error("IndexError", "list index out of range")
        list_value = materialize(reader, owner)
        assert isinstance(list_value.type, ListType)
        return fetched(reader, list_value, integer(reader, index))
    if isinstance(owner, ListValue):
        return wrap(reader, reader.emit.build("list.slice", [materialize(reader, owner), *slice_bounds(reader, index)]))
    if isinstance(owner, TupleValue) and is_plain_tuple(owner) and is_never_known(reader, index):
        with suppress(UserError):  # the items are of several types
            owner = wrap(reader, any_length(reader, owner))
        if isinstance(owner, ListValue):
            return reader.subscript(owner, index)
    if isinstance(owner, TupleValue):
        return pick(reader, owner, list(owner.items), known_index(reader, owner, index))
    reader.reject("subscript_of_other", what=describe(owner))


def fetched(reader: Reader, list_value: Value, index: Value) -> AbstractValue:
    """An item of a run-time list."""
    found = reader.emit.build("list.get", [list_value, index])
    if found.type == NEVER:  # nothing was ever put into the list
        reader.emit.effect("unreachable", ())
        raise Terminated
    return wrap(reader, found)


def range_item(reader: Reader, numbers: RangeValue, index: AbstractValue) -> AbstractValue:
    if is_slice(index):
        length = reader.call(Known(len), [numbers], {})
        bounds = [RuntimeValue(b) for b in slice_bounds(reader, index)]
        picked = reader.call(Known(lists.range_slice), [numbers.start, numbers.step, length, *bounds], {})
        return RangeValue(*reader.iterate(picked))
    if type_of(index) not in (INT, BOOL):
        message = f"range indices must be integers or slices, not {class_name_of(reader, index)}"
        reader.emit.raise_error("TypeError", message)
    length = reader.call(Known(len), [numbers], {})
    return reader.call(Known(lists.range_item), [numbers.start, numbers.step, length, index], {})


def is_known_index(index: AbstractValue) -> bool:
    return isinstance(index, Known) and isinstance(index.obj, (int, slice))


def is_known_place(index: AbstractValue) -> bool:
    return is_known_index(index) or is_slice(index) and is_known(index)


def is_never_known(reader: Reader, index: AbstractValue) -> bool:
    """Whether an index, or a bound of a slice, depends on what no reading can know."""
    parts = shape_of_slice(index) if is_slice(index) else [index]
    return any(isinstance(p, RuntimeValue) and p.type == INT and knowable(reader, p.value) is None for p in parts)


def demand(reader: Reader, owner: AbstractValue, method: str, complaint: str) -> None:
    """Raises what Python does where the class of a value lacks a method that an operator stands for."""
    is_class = isinstance(owner, Known) and isinstance(owner.obj, type)  # whose own class says nothing: list[int]
    if has_one_class(owner) and not is_class and not has_method(python_class(reader, owner), method):
        reader.emit.raise_error("TypeError", f"'{class_name_of(reader, owner)}' object {complaint}")


def known_index(reader: Reader, owner: AbstractValue, index: AbstractValue) -> int | slice:
    what = "an index into values of different types"
    if not is_slice(index):
        place = require_known(reader, index, what)
        if not hasattr(place, "__index__"):
            kind = f"{class_name_of(reader, owner)} indices must be integers or slices"
            reader.emit.raise_error("TypeError", f"{kind}, not {type(place).__name__}")
        return operator.index(place)
    return slice(*(require_known(reader, part, what) for part in shape_of_slice(index)))


def pick(reader: Reader, owner: AbstractValue, items: list[AbstractValue], index: int | slice) -> AbstractValue:
    if isinstance(index, slice):
        chosen = items[index]
        return (
            new_list(reader, chosen, (reader.position.loc, "slice"))
            if isinstance(owner, ListValue)
            else TupleValue(chosen)
        )
    try:
        return items[index]
    except IndexError:
        name = "list" if isinstance(owner, ListValue) else "tuple"
        reader.emit.raise_error("IndexError", f"{name} index out of range")


def store_item(reader: Reader, owner: AbstractValue, index: AbstractValue, value: AbstractValue) -> None:
    def store(avs: list[AbstractValue]) -> AbstractValue:
        reader.store_item(avs[0], avs[1], avs[2] if len(avs) > 2 else value)
        return Known(None)

    if isinstance(owner, OneOf) or isinstance(index, OneOf):
        owner = present(reader, owner, "TypeError", "'NoneType' object does not support item assignment")
        split_all(reader, [owner, index], store)
        return
    demand(reader, owner, "__setitem__", "does not support item assignment")
    index = with_places(reader, index) if is_tensor(owner) else index
    if is_tensor(index) and is_indexed_by_ints(owner):
        index = place_of(reader, index)
    if has_kinds(index) and (is_tensor(owner) or is_slice(index)):
        split_index(reader, index, lambda i: store([owner, i]))
        return
    if is_tensor(owner) and isinstance(value, Known) and value.obj is None:
        reader.emit.raise_error("TypeError", "can't assign a NoneType to a tensor")
    if is_tensor(owner) and isinstance(value, OneOf):
        split(reader, value, lambda av: store([owner, index, av]))
        return
    if isinstance(owner, DictValue):
        key = key_of(reader, owner, index)
        set_items(reader, owner, {**reader.items_of(owner), key: value})
        return
    if isinstance(owner, RuntimeValue) and is_dict(owner):
        table_set(reader, owner, index, value)
        return
    if is_tensor(owner):
        check_number(reader, value, tensor_type(owner).dtype)
    if is_tensor(owner) and isinstance(index, Known) and isinstance(index.obj, bool):
        if index.obj:  # else eager does not look at the value
            spread_into(reader, apply_op(reader, "unsqueeze", owner, dim=0), value)
    elif is_tensor(owner):
        view, picked = indexed(reader, owner, index)
        if picked:
            check_placed(reader, view, index, value)
            copy_into(reader, view, put_by_index(reader, view, picked, value, accumulate=False))
            return
        spread_into(reader, view, value)
    elif isinstance(owner, KnownLengthListValue):
        place = known_index(reader, owner, index)
        if isinstance(place, slice):
            edit(reader, owner, lambda items: items.__setitem__(place, reader.iterate(value)))
        else:
            edit(reader, owner, lambda items: items.__setitem__(place, value))
    elif isinstance(owner, ListValue) and is_slice(index):
        if has_step(index):
            reader.call(Known(lists.set_slice), [owner, *shape_of_slice(index), value], {})
            return
        start, stop, _ = slice_bounds(reader, index)
        splice_list(reader, owner, start, stop, value)
    elif isinstance(owner, ListValue):
        item = stored(reader, owner, value)
        target = reader.speculation.mutate(owner)
        reader.speculation.widen(target.type, 0, item.type)
        reader.emit.effect("list.set", [target, integer(reader, index), item_for(reader, target, item)])
    elif isinstance(owner, ObjectValue) or defines(owner, "__setitem__"):
        special(reader, owner, "__setitem__", [index, value])
    elif isinstance(owner, Known) and (slot := item_slot(reader, owner.obj, index)) is not None:
        set_slot(reader, slot, value)
    elif isinstance(owner, Known) and isinstance(owner.obj, (list, dict)):
        change_outside(reader, owner.obj)
    else:
        reader.reject("item_assigned", what=describe(owner))


def splice_list(reader: Reader, owner: ListValue, start: Any, stop: Any, value: AbstractValue) -> None:
    """owner[start:stop] = value"""
    if isinstance(owner, KnownLengthListValue):
        first, last = (
            require_known(reader, RuntimeValue(bound), "a bound of a list of different types")
            for bound in (start, stop)
        )
        new = reader.iterate(value)
        edit(reader, owner, lambda items: items.__setitem__(slice(first, last), new))
        return
    other = value if isinstance(value, ListValue) else reader.call(Known(list), [value], {})
    added = materialize(reader, other)
    assert isinstance(added.type, ListType)
    target = reader.speculation.mutate(owner)
    reader.speculation.widen(target.type, 0, added.type.elem)
    assert isinstance(target.type, ListType)
    if is_laid_out_anew(added.type.elem, target.type.elem):  # items are copied as they are
        reader.speculation.widen(added.type, 0, target.type.elem)
    reader.emit.effect("list.splice", [target, start, stop, added])


def delete_item(reader: Reader, owner: AbstractValue, index: AbstractValue) -> None:
    does_not = "doesn't" if isinstance(owner, (TupleValue, ListValue)) else "does not"
    demand(reader, owner, "__delitem__", f"{does_not} support item deletion")
    if isinstance(owner, DictValue):
        key, items = key_of(reader, owner, index), dict(reader.items_of(owner))
        if key not in items:
            reader.emit.raise_error("KeyError", repr(key))
        del items[key]
        set_items(reader, owner, items)
    elif is_dict(owner):
        table_delete(reader, owner, index)
    elif isinstance(owner, KnownLengthListValue):
        place = known_index(reader, owner, index)
        edit(reader, owner, lambda items: items.__delitem__(place))
    elif isinstance(owner, ListValue) and is_slice(index):
        if has_step(index):
            reader.call(Known(lists.delete_slice), [owner, *shape_of_slice(index)], {})
            return
        reader.store_item(owner, index, new_list(reader, [], (reader.position.loc, "del")))
    elif isinstance(owner, ListValue):
        reader.emit.effect("list.delete", [reader.speculation.mutate(owner), integer(reader, index)])
    elif isinstance(owner, Known) and isinstance(owner.obj, (list, dict)):
        change_outside(reader, owner.obj)
    elif special(reader, owner, "__delitem__", [index]) is None:
        reader.reject("item_deleted", what=describe(owner))


def store_attribute(reader: Reader, owner: AbstractValue, name: str, value: AbstractValue) -> None:
    if isinstance(owner, OneOf):
        owner = present(reader, owner, "AttributeError", f"'NoneType' object has no attribute '{name}'")

        def store(alternative: AbstractValue) -> AbstractValue:
            reader.store_attribute(alternative, name, value)
            return Known(None)

        split(reader, owner, store)
        return
    if isinstance(owner, ObjectValue):
        set_attribute(reader, owner, name, value)
        return
    if is_tensor(owner) and name == "requires_grad":
        reader.reject("requires_grad_set")
    if not isinstance(owner, Known):
        reader.reject("attribute_assigned", name=name, what=describe(owner))
    store_outside(reader, owner.obj, name, value)
