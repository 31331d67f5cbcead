"""Expressions: operands are evaluated left to right, once each."""

from __future__ import annotations

import ast
import builtins
import operator
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

from scriptc.frontend.cells import is_laid_out_anew, is_union
from scriptc.frontend.comprehensions import Comprehensions
from scriptc.frontend.context import Poisoned, Terminated, UserError
from scriptc.frontend.decompositions import lists
from scriptc.frontend.frame import Frame
from scriptc.frontend.indexing import Indexing
from scriptc.frontend.lookup import Lookup
from scriptc.frontend.objects import defines
from scriptc.frontend.operators import Operators
from scriptc.frontend.rejections import STATEMENTS_AND_EXPRESSIONS
from scriptc.frontend.scope import local_names
from scriptc.frontend.shapes import shape_of_slice
from scriptc.frontend.tables import is_dict_like
from scriptc.frontend.values import (
    AV,
    DictV,
    Dyn,
    Known,
    KnownLengthListV,
    ListV,
    Maybe,
    ObjectV,
    OneOf,
    Poison,
    RangeV,
    Tup,
    Unbound,
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
    of_value,
    tensor_type,
)
from scriptc.ir.core import Value
from scriptc.ir.types import BOOL, INT, NEVER, NONE, Dim, ListType, OptionalType, TupleType

_BEYOND = 2**63 - 1

_SHORT = 64  # items of a range that a generator is unrolled over

_COMPREHENSIONS_ARE_FUNCTIONS = sys.version_info < (3, 12)  # so that names around them are free variables in them


class Expressions(Comprehensions, Operators, Indexing, Lookup):
    """Mixin: evaluates expressions to abstract values."""

    def eval(self, node: ast.expr) -> AV:
        saved, self.node = self.node, node
        try:
            handler = getattr(self, "e_" + type(node).__name__, None)
            if handler is None:
                self.fail(STATEMENTS_AND_EXPRESSIONS[type(node)])
            av: AV = handler(node)
        finally:
            self.node = saved
        if isinstance(av, Poison):
            raise Poisoned
        if isinstance(av, Known) and type(av.obj) is deque:
            self.open_queue(av.obj)
        if isinstance(av, Known) and isinstance(av.obj, deque):
            self.fail("content_unguarded", kind=type(av.obj).__name__)
        return av

    def e_Constant(self, node: ast.Constant) -> AV:
        return Known(node.value)

    def e_Name(self, node: ast.Name) -> AV:
        return self.load(node.id)

    def load(self, name: str) -> AV:
        """The value of a name: local, of an enclosing function, captured, global or builtin."""
        frame: Frame | None = self.frame
        own = self.frame
        if name not in own.locals and name not in own.cells and name in local_names(own.source.node):
            self.unbound(name, free=self.in_function_of_comprehension(own))  # no path has come to where it is assigned
        while frame is not None:
            if name in frame.locals or name in frame.cells:
                return self.bound(frame, name)
            if frame.func is None and frame.outer is None:
                break
            if frame.outer is None:
                assert frame.func is not None
                return self.free_name(frame, frame.func, name)
            frame = frame.outer
        if hasattr(builtins, name):
            return Known(getattr(builtins, name))
        self.raises_at_run_time("NameError", f"name '{name}' is not defined")

    def unbound(self, name: str, *, free: bool = False) -> NoReturn:
        if free:
            text = f"cannot access free variable '{name}' where it is not associated with a value in enclosing scope"
            self.raises_at_run_time("NameError", text)
        self.raises_at_run_time(
            "UnboundLocalError", f"cannot access local variable '{name}' where it is not associated with a value"
        )

    def in_function_of_comprehension(self, frame: Frame) -> bool:
        """Whether what is read stands in a function that Python makes of a comprehension or generator expression."""
        return frame.generators > 0 or (frame.comprehensions > 0 and _COMPREHENSIONS_ARE_FUNCTIONS)

    def bound(self, frame: Frame, name: str) -> AV:
        cell = frame.cells.get(name)
        if cell is not None and cell not in self.heap:  # made on one of several paths, by a function that has returned
            self.fail("function_as_value", who=f"the function with the variable '{name}'")
        av = self.heap[cell] if cell is not None else frame.locals[name]
        free = frame is not self.frame or self.in_function_of_comprehension(frame)
        if isinstance(av, Unbound):
            self.unbound(name, free=free)
        if isinstance(av, Maybe):
            self.effect("check.free" if free else "check.bound", [self.value(av.flag)], name=name)
            if frame is self.frame and cell is None:
                frame.locals[name] = av.av  # bound from here on
            return av.av
        return av

    def e_Attribute(self, node: ast.Attribute) -> AV:
        return self.attribute(self.eval(node.value), node.attr)

    def e_BinOp(self, node: ast.BinOp) -> AV:
        left = self.eval(node.left)
        return self.binary(type(node.op).__name__, left, self.eval(node.right))

    def e_UnaryOp(self, node: ast.UnaryOp) -> AV:
        return self.unary(node.op, self.eval(node.operand))

    def e_Compare(self, node: ast.Compare) -> AV:
        return self.chain(self.eval(node.left), list(zip(node.ops, node.comparators, strict=True)))

    def chain(self, left: AV, rest: list[tuple[ast.cmpop, ast.expr]]) -> AV:
        """`a < b < c`: b is evaluated once, c only if a < b."""
        (op, node), *more = rest
        right = self.eval(node)
        result = self.compare(type(op).__name__, left, right)
        if not more:
            return result
        return self.choose(self.truth(result), lambda: self.chain(right, more), lambda: result)

    def e_BoolOp(self, node: ast.BoolOp) -> AV:
        return self.boolean(isinstance(node.op, ast.And), node.values)

    def boolean(self, is_and: bool, nodes: Sequence[ast.expr]) -> AV:
        first, *rest = nodes
        value = self.eval(first)
        if not rest:
            return value
        more = lambda: self.boolean(is_and, rest)  # noqa: E731
        then, orelse = (more, lambda: value) if is_and else (lambda: value, more)
        return self.choose(self.truth(value), then, orelse)

    def test(self, node: ast.expr) -> AV:
        """The truth of an expression: what an `if` asks, so that `and` and `or` may join values of any types."""
        match node:
            case ast.BoolOp(op=op, values=[first, *rest]):
                value = self.test(first)
                if not rest:
                    return value
                more = lambda: self.test(ast.copy_location(ast.BoolOp(op, rest), node))  # noqa: E731
                then, orelse = (more, lambda: value) if isinstance(op, ast.And) else (lambda: value, more)
                return self.choose(value, then, orelse)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.negate(self.test(operand))
        saved, self.node = self.node, node
        try:
            return self.truth(self.eval(node))
        finally:
            self.node = saved

    def e_IfExp(self, node: ast.IfExp) -> AV:
        return self.choose(self.test(node.test), lambda: self.eval(node.body), lambda: self.eval(node.orelse))

    # ---- displays ----
    def e_Tuple(self, node: ast.Tuple) -> AV:
        parts = self.display(node.elts)
        if self.is_grown(parts):
            return self.tuple_of_items(self.grown_list(parts, (self.loc, "tuple")))
        return self.tuple_of(self.elements(parts))

    def tuple_of(self, items: list[AV]) -> AV:
        """A tuple; known as a whole where all items are."""
        if all(isinstance(i, Known) for i in items):
            return Known(tuple(i.obj for i in items if isinstance(i, Known)))
        return Tup(items)

    def e_List(self, node: ast.List) -> AV:
        parts, site = self.display(node.elts), (self.loc, "list")
        return self.grown_list(parts, site) if self.is_grown(parts) else self.new_list(self.elements(parts), site)

    def e_Dict(self, node: ast.Dict) -> AV:
        site = (self.loc, "dict")
        pairs: list[tuple[AV, AV]] = []
        updates: list[tuple[AV | None, AV]] = []
        for key, value in zip(node.keys, node.values, strict=True):
            updates.append((None if key is None else self.eval(key), self.eval(value)))
        while updates and updates[0][0] is not None:
            first, item = updates.pop(0)
            assert first is not None
            pairs.append((first, item))
        made = self.new_dict(pairs, site)
        for key_av, item in updates:
            if key_av is None:
                self.split_all([item], lambda avs: self.merge_dict(made, avs[0]))
            else:
                self.store_item(made, key_av, item)
        return made

    def merge_dict(self, made: AV, av: AV) -> AV:
        """`**av` in the display of a dict."""
        if not is_dict_like(av):
            self.raises_at_run_time("TypeError", f"'{self.type_name(av)}' object is not a mapping")
        return self.call(self.attribute(made, "update"), [av], {})

    def e_NamedExpr(self, node: ast.NamedExpr) -> AV:
        value = self.eval(node.value)
        self.assign(node.target, value)
        return value

    def e_Set(self, node: ast.Set) -> AV:
        items = self.elements(self.display(node.elts))
        if len(items) > 2 and all(isinstance(n, ast.Constant) for n in node.elts):
            items = self.iterate(self.evaluate(frozenset, tuple(i.obj for i in items if isinstance(i, Known))))
        return self.new_set(items, (self.loc, "set"))

    def is_known(self, av: AV) -> bool:
        if isinstance(av, Tup):
            return all(self.is_known(i) for i in av.items)
        return isinstance(av, Known)

    def e_Lambda(self, node: ast.Lambda) -> AV:
        return self.closure(node)

    def e_Slice(self, node: ast.Slice) -> AV:
        parts = [Known(None) if p is None else self.eval(p) for p in (node.lower, node.upper, node.step)]
        if all(isinstance(p, Known) for p in parts):
            return Known(slice(*(p.obj for p in parts if isinstance(p, Known))))
        return Tup(parts, slice)

    def e_Subscript(self, node: ast.Subscript) -> AV:
        owner = self.eval(node.value)
        return self.subscript(owner, self.eval(node.slice))

    # ---- subscripts ----
    def subscript(self, owner: AV, index: AV) -> AV:
        if isinstance(owner, OneOf) or isinstance(index, OneOf):
            owner = self.present(owner, "TypeError", "'NoneType' object is not subscriptable")
            return self.split_all([owner, index], lambda avs: self.subscript(*avs))
        self.demand(owner, "__getitem__", "is not subscriptable")
        index = self.with_places(index) if is_tensor(owner) else index
        if has_kinds(index) and (is_tensor(owner) or self.is_slice(index)):
            return self.split_index(index, lambda i: self.subscript(owner, i))
        if is_tensor(owner):
            return self.index_tensor(owner, index)
        if is_tensor(index) and self.is_indexed_by_ints(owner):
            index = self.place_of(index)
        if is_run_time_text(owner) or (is_text(owner) and not self.is_known(index)):
            return self.text_item(owner, index)
        if isinstance(owner, Known) and (found := self.special(owner, "__getitem__", [index])) is not None:
            return found
        if isinstance(owner, Known):
            return self.outside_subscript(owner, index)
        if isinstance(owner, Dyn) and is_dict(owner):
            return self.table_get(owner, index)
        if isinstance(owner, DictV):
            return self.known_get(owner, index)
        if isinstance(owner, RangeV):
            return self.range_item(owner, index)
        if isinstance(owner, ObjectV) and (found := self.special(owner, "__getitem__", [index])) is not None:
            return found
        known_items = owner.items if isinstance(owner, (Tup, ListV)) else None
        if known_items is not None and self.is_known_index(index):
            if isinstance(owner, ListV):
                self.observe(owner)
            return self.pick(owner, list(known_items), self.known(index, "an index"))
        if isinstance(owner, ListV) and owner.value is None:
            if not self.is_known_place(index):
                self.promote_objects(owner.items or [])
            return self.pick(owner, owner.items or [], self.known_index(owner, index))
        if isinstance(owner, ListV) and not self.is_slice(index):
            if is_empty_list(owner):
                self.raises_at_run_time("IndexError", "list index out of range")
            list_value = self.value(owner)
            assert isinstance(list_value.type, ListType)
            return self.fetched(list_value, self.integer(index))
        if isinstance(owner, ListV):
            return self.wrap(self.build("list.slice", [self.value(owner), *self.slice_bounds(index)]))
        if isinstance(owner, Tup) and is_plain_tuple(owner) and self.is_never_known(index):
            with suppress(UserError):  # the items are of several types
                owner = self.wrap(self.any_length(owner))
            if isinstance(owner, ListV):
                return self.subscript(owner, index)
        if isinstance(owner, Tup):
            return self.pick(owner, list(owner.items), self.known_index(owner, index))
        self.fail("subscript_of_other", what=describe(owner))

    def outside_subscript(self, owner: Known, index: AV) -> AV:
        """owner[index] as Python's own types do it, which a class of the user's may inherit."""
        table = self.outside_table(owner, index)
        if isinstance(table, Dyn):
            return self.table_get(table, index)
        if (values := self.outside_list(owner, index)) is not None:
            return self.subscript(values, index)
        if (item := self.outside_item(owner, index)) is not None:
            return item
        return self.known_item(owner, self.known(index, "an index into a known object"))

    def fetched(self, list_value: Value, index: Value) -> AV:
        """An item of a run-time list."""
        found = self.build("list.get", [list_value, index])
        if found.type == NEVER:  # nothing was ever put into the list
            self.effect("unreachable", ())
            raise Terminated
        return self.wrap(found)

    def wrap(self, value: Any) -> AV:
        if isinstance(value.type, TupleType):
            parts = [self.wrap(self.build("tuple.get", [value], index=i)) for i in range(len(value.type.items))]
            return self.from_union(parts) if is_union(value.type) else Tup(parts, value.type.cls or tuple)
        if isinstance(value.type, OptionalType):
            present = Dyn(self.build("optional.present", [value]))
            return self.choose(present, lambda: self.wrap(self.build("optional.unwrap", [value])), lambda: Known(None))
        if value.type == NONE:
            return Known(None)
        return of_value(value)

    def slice_bounds(self, index: AV) -> list[Any]:
        """Start, stop and step of a slice of a list; what stands for None is beyond its end."""
        parts = shape_of_slice(index)
        step = Known(1) if isinstance(parts[2], Known) and parts[2].obj is None else parts[2]
        back = self.compare("Lt", step, Known(0))
        ends = (Known(_BEYOND), Known(-_BEYOND - 1))
        found: list[AV] = []
        for part, (forward, backward) in zip(parts, ((Known(0), ends[0]), ends), strict=False):
            absent = isinstance(part, Known) and part.obj is None
            pick = self.choose(back, lambda b=backward: b, lambda f=forward: f) if absent else part  # type: ignore[misc]
            found.append(pick)
        return [self.integer(b) for b in (*found, step)]

    def range_item(self, numbers: RangeV, index: AV) -> AV:
        if self.is_slice(index):
            length = self.call(Known(len), [numbers], {})
            bounds = [Dyn(b) for b in self.slice_bounds(index)]
            picked = self.call(Known(lists.range_slice), [numbers.start, numbers.step, length, *bounds], {})
            return RangeV(*self.iterate(picked))
        if self.type_of(index) not in (INT, BOOL):
            message = f"range indices must be integers or slices, not {self.type_name(index)}"
            self.raises_at_run_time("TypeError", message)
        length = self.call(Known(len), [numbers], {})
        return self.call(Known(lists.range_item), [numbers.start, numbers.step, length, index], {})

    def is_slice(self, index: AV) -> bool:
        return (
            isinstance(index, Known) and isinstance(index.obj, slice) or isinstance(index, Tup) and index.cls is slice
        )

    def has_step(self, index: AV) -> bool:
        """Whether a slice may have another step than 1."""
        step = shape_of_slice(index)[2]
        return not (isinstance(step, Known) and step.obj in (None, 1))

    def is_known_index(self, index: AV) -> bool:
        return isinstance(index, Known) and isinstance(index.obj, (int, slice))

    def is_known_place(self, index: AV) -> bool:
        return self.is_known_index(index) or self.is_slice(index) and self.is_known(index)

    def is_never_known(self, index: AV) -> bool:
        """Whether an index, or a bound of a slice, depends on what no reading can know."""
        parts = shape_of_slice(index) if self.is_slice(index) else [index]
        return any(isinstance(p, Dyn) and p.type == INT and self.knowable(p.value) is None for p in parts)

    def demand(self, owner: AV, method: str, complaint: str) -> None:
        """Raises what Python does where the class of a value lacks a method that an operator stands for."""
        is_class = isinstance(owner, Known) and isinstance(owner.obj, type)  # whose own class says nothing: list[int]
        if has_one_class(owner) and not is_class and not has_method(self.python_class(owner), method):
            self.raises_at_run_time("TypeError", f"'{self.type_name(owner)}' object {complaint}")

    def known_index(self, owner: AV, index: AV) -> int | slice:
        what = "an index into values of different types"
        if not self.is_slice(index):
            place = self.known(index, what)
            if not hasattr(place, "__index__"):
                kind = f"{self.type_name(owner)} indices must be integers or slices"
                self.raises_at_run_time("TypeError", f"{kind}, not {type(place).__name__}")
            return operator.index(place)
        return slice(*(self.known(part, what) for part in shape_of_slice(index)))

    def pick(self, owner: AV, items: list[AV], index: int | slice) -> AV:
        if isinstance(index, slice):
            chosen = items[index]
            return self.new_list(chosen, (self.loc, "slice")) if isinstance(owner, ListV) else Tup(chosen)
        try:
            return items[index]
        except IndexError:
            name = "list" if isinstance(owner, ListV) else "tuple"
            self.raises_at_run_time("IndexError", f"{name} index out of range")

    def item_at(self, owner: AV, index: int) -> AV:
        """The item at an index known to be in range."""
        return self.subscript(owner, Known(index))

    def dim_of(self, tensor: AV, dim: int) -> Dim:
        dims = tensor_type(tensor).dims
        if not dims:
            self.raises_at_run_time("IndexError", f"Dimension specified as {dim} but tensor has no dimensions")
        return dims[dim]

    def size(self, tensor: AV, dim: int) -> Any:
        """The SSA value of a size; a constant where the type knows it."""
        size = self.dim_of(tensor, dim)
        return self.const(size) if isinstance(size, int) else self.build("size", [self.value(tensor)], dim=dim)

    def size_av(self, tensor: AV, dim: int) -> AV:
        size = self.dim_of(tensor, dim)
        return Known(size) if isinstance(size, int) else Dyn(self.build("size", [self.value(tensor)], dim=dim))

    def store_item(self, owner: AV, index: AV, value: AV) -> None:
        def store(avs: list[AV]) -> AV:
            self.store_item(avs[0], avs[1], avs[2] if len(avs) > 2 else value)
            return Known(None)

        if isinstance(owner, OneOf) or isinstance(index, OneOf):
            owner = self.present(owner, "TypeError", "'NoneType' object does not support item assignment")
            self.split_all([owner, index], store)
            return
        self.demand(owner, "__setitem__", "does not support item assignment")
        index = self.with_places(index) if is_tensor(owner) else index
        if is_tensor(index) and self.is_indexed_by_ints(owner):
            index = self.place_of(index)
        if has_kinds(index) and (is_tensor(owner) or self.is_slice(index)):
            self.split_index(index, lambda i: store([owner, i]))
            return
        if is_tensor(owner) and isinstance(value, Known) and value.obj is None:
            self.raises_at_run_time("TypeError", "can't assign a NoneType to a tensor")
        if is_tensor(owner) and isinstance(value, OneOf):
            self.split(value, lambda av: store([owner, index, av]))
            return
        if isinstance(owner, DictV):
            key = self.key_of(owner, index)
            self.set_items(owner, {**self.items_of(owner), key: value})
            return
        if isinstance(owner, Dyn) and is_dict(owner):
            self.table_set(owner, index, value)
            return
        if is_tensor(owner):
            self.check_number(value, tensor_type(owner).dtype)
        if is_tensor(owner) and isinstance(index, Known) and isinstance(index.obj, bool):
            if index.obj:  # else eager does not look at the value
                self.spread_into(self.op("unsqueeze", owner, dim=0), value)
        elif is_tensor(owner):
            view, picked = self.indexed(owner, index)
            if picked:
                self.check_placed(view, index, value)
                self.copy_into(view, self.put(view, picked, value, accumulate=False))
                return
            self.spread_into(view, value)
        elif isinstance(owner, KnownLengthListV):
            place = self.known_index(owner, index)
            if isinstance(place, slice):
                self.edit(owner, lambda items: items.__setitem__(place, self.iterate(value)))
            else:
                self.edit(owner, lambda items: items.__setitem__(place, value))
        elif isinstance(owner, ListV) and self.is_slice(index):
            if self.has_step(index):
                self.call(Known(lists.set_slice), [owner, *shape_of_slice(index), value], {})
                return
            start, stop, _ = self.slice_bounds(index)
            self.splice_list(owner, start, stop, value)
        elif isinstance(owner, ListV):
            item = self.stored(owner, value)
            target = self.mutate(owner)
            self.widen(target.type, 0, item.type)
            self.effect("list.set", [target, self.integer(index), self.item_for(target, item)])
        elif isinstance(owner, ObjectV) or defines(owner, "__setitem__"):
            self.special(owner, "__setitem__", [index, value])
        elif isinstance(owner, Known) and (slot := self.item_slot(owner.obj, index)) is not None:
            self.set_slot(slot, value)
        elif isinstance(owner, Known) and isinstance(owner.obj, (list, dict)):
            self.change_outside(owner.obj)
        else:
            self.fail("item_assigned", what=describe(owner))

    def splice_list(self, owner: ListV, start: Any, stop: Any, value: AV) -> None:
        """owner[start:stop] = value"""
        if isinstance(owner, KnownLengthListV):
            first, last = (self.known(Dyn(bound), "a bound of a list of different types") for bound in (start, stop))
            new = self.iterate(value)
            self.edit(owner, lambda items: items.__setitem__(slice(first, last), new))
            return
        other = value if isinstance(value, ListV) else self.call(Known(list), [value], {})
        added = self.value(other)
        assert isinstance(added.type, ListType)
        target = self.mutate(owner)
        self.widen(target.type, 0, added.type.elem)
        assert isinstance(target.type, ListType)
        if is_laid_out_anew(added.type.elem, target.type.elem):  # items are copied as they are
            self.widen(added.type, 0, target.type.elem)
        self.effect("list.splice", [target, start, stop, added])

    def delete_item(self, owner: AV, index: AV) -> None:
        does_not = "doesn't" if isinstance(owner, (Tup, ListV)) else "does not"
        self.demand(owner, "__delitem__", f"{does_not} support item deletion")
        if isinstance(owner, DictV):
            key, items = self.key_of(owner, index), dict(self.items_of(owner))
            if key not in items:
                self.raises_at_run_time("KeyError", repr(key))
            del items[key]
            self.set_items(owner, items)
        elif is_dict(owner):
            self.table_delete(owner, index)
        elif isinstance(owner, KnownLengthListV):
            place = self.known_index(owner, index)
            self.edit(owner, lambda items: items.__delitem__(place))
        elif isinstance(owner, ListV) and self.is_slice(index):
            if self.has_step(index):
                self.call(Known(lists.delete_slice), [owner, *shape_of_slice(index)], {})
                return
            self.store_item(owner, index, self.new_list([], (self.loc, "del")))
        elif isinstance(owner, ListV):
            self.effect("list.delete", [self.mutate(owner), self.integer(index)])
        elif isinstance(owner, Known) and isinstance(owner.obj, (list, dict)):
            self.change_outside(owner.obj)
        elif self.special(owner, "__delitem__", [index]) is None:
            self.fail("item_deleted", what=describe(owner))

    def store_attribute(self, owner: AV, name: str, value: AV) -> None:
        if isinstance(owner, OneOf):
            owner = self.present(owner, "AttributeError", f"'NoneType' object has no attribute '{name}'")

            def store(alternative: AV) -> AV:
                self.store_attribute(alternative, name, value)
                return Known(None)

            self.split(owner, store)
            return
        if isinstance(owner, ObjectV):
            self.set_attribute(owner, name, value)
            return
        if is_tensor(owner) and name == "requires_grad":
            self.fail("requires_grad_set")
        if not isinstance(owner, Known):
            self.fail("attribute_assigned", name=name, what=describe(owner))
        self.store_outside(owner.obj, name, value)
