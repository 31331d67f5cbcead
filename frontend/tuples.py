"""Tuples whose length is known only at run time. They are values of one type of items, which nothing changes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TypeGuard

from scriptc.frontend.cells import is_laid_out_anew, is_storable, is_union, spelt, unite
from scriptc.frontend.context import Context
from scriptc.frontend.decompositions import lists
from scriptc.frontend.shapes import LONG, UNROLL_LIMIT, sequence_items
from scriptc.frontend.values import AV, Bound, Dyn, Known, ListV, OneOf, is_plain_tuple, is_tensor, is_text, tensor_type
from scriptc.ir.core import Value
from scriptc.ir.types import NEVER, STR, JoinError, ListType, OptionalType, ScalarType, TupleType, Type, tuple_of


class Tuples(Context):
    """Mixin: tuples of any length."""

    def tuple_value(self, items: Sequence[AV], elem: Type = NEVER) -> Value:
        """A tuple of any length, of which `elem` is the type of the items."""
        values = [self.list_item(i) for i in items]
        try:
            for v in values:
                elem = unite(elem, v.type)
        except JoinError:
            self.fail("tuple_of_kinds")
        if not is_storable(elem):
            self.fail("tuple_of_unstorable", items=spelt(elem))
        made = self.builder.build("tuple.new", [self.as_type(v, elem) for v in values], self.loc)
        assert isinstance(made.type, ListType)
        made.type.cell.type = elem
        return made

    def any_length(self, av: AV, elem: Type = NEVER) -> Value:
        """A tuple as one of any length."""
        if isinstance(av, OneOf):
            return self.value(self.split(av, lambda a: ListV(self.any_length(a, elem))))
        items = sequence_items(av)
        return self.value(av) if items is None else self.tuple_value(items, elem)

    def as_type(self, value: Value, wanted: Type) -> Value:
        """A value as a container holds it whose tuples are of any length."""
        held = value.type
        if not is_laid_out_anew(held, wanted):
            return value
        if is_union(wanted):
            return self.as_union(self.wrap(value), wanted)
        if isinstance(wanted, OptionalType) and isinstance(held, OptionalType):
            held_item = lambda: self.wrap(self.as_type(self.build("optional.unwrap", [value]), wanted.item))  # noqa: E731
            present = Dyn(self.build("optional.present", [value]))
            return self.list_item(self.choose(present, held_item, lambda: Known(None)))
        if isinstance(wanted, OptionalType):
            return self.as_type(value, wanted.item)
        assert isinstance(held, TupleType)
        items = [self.build("tuple.get", [value], index=i) for i in range(len(held.items))]
        if isinstance(wanted, TupleType):
            parts = [self.as_type(v, t) for v, t in zip(items, wanted.items, strict=True)]
            made = TupleType(tuple(v.type for v in parts), wanted.cls)
            return self.builder.op("tuple", parts, self.loc, types=[made]).result
        assert isinstance(wanted, ListType)
        return self.tuple_value([self.wrap(v) for v in items], wanted.elem)

    def item_for(self, container: Value, value: Value) -> Value:
        """A value as a list holds it."""
        assert isinstance(container.type, ListType)
        return self.as_type(value, container.type.elem)

    def tuple_of_items(self, av: AV) -> AV:
        """tuple(av) where the number of items is not known."""
        if isinstance(av, ListV) and av.is_tuple:
            return av
        listed = av if isinstance(av, ListV) else self.call(Known(list), [av], {})
        if isinstance(listed, ListV) and listed.items is not None:  # of a generator whose tests are known
            return self.tuple_of(listed.items)
        return self.wrap(self.build("tuple.of", [self.value(listed)]))

    def any_length_method(self, owner: ListV, name: str) -> AV:
        if name in ("index", "count"):
            return Bound(owner, name, getattr(lists, name))
        self.raises_at_run_time("AttributeError", f"'tuple' object has no attribute '{name}'")

    # ---- operators ----
    def tuple_operator(self, op: str, a: AV, b: AV) -> AV | None:
        """a + b and a * b where a tuple of any length is among the operands, or comes about; None where not."""
        if op == "Mult" and is_plain_tuple(b):
            a, b = b, a
        if not is_plain_tuple(a):
            return None
        if op == "Add" and is_plain_tuple(b) and any(isinstance(av, ListV) for av in (a, b)):
            return self.joined_tuples(a, b)
        items = sequence_items(a)
        if op == "Mult" and (items is None or not self.is_repeated_by_hand(b, items)):
            return self.wrap(self.build("list.repeat", [self.any_length(a), self.integer(b)]))
        return None

    def is_repeated_by_hand(self, times: AV, items: Sequence[AV]) -> TypeGuard[Known]:
        """Whether items are repeated in the compiler: numbers and tensors not where they become many."""
        if not isinstance(times, Known):
            return False
        return not isinstance(times.obj, int) or len(items) * times.obj <= LONG or not self.are_alike(items)

    def are_alike(self, items: Sequence[AV]) -> bool:
        """Whether items are numbers, texts or tensors of one type, or all None."""
        kinds = {
            (tensor_type(i).dtype, tensor_type(i).rank) if is_tensor(i) else STR if is_text(i) else self.type_of(i)
            for i in items
        }
        return len(kinds) == 1 and None not in kinds and all(isinstance(k, (tuple, ScalarType)) for k in kinds)

    def repeated(self, items: Sequence[AV], times: Known) -> list[AV]:
        """items * times, in the compiler."""
        if not isinstance(times.obj, int):
            self.raises_at_run_time("TypeError", f"can't multiply sequence by non-int of type '{self.type_name(times)}'")
        if len(items) * times.obj > UNROLL_LIMIT:
            self.fail("repeated_too_often", count=len(items) * times.obj)
        return [*items] * times.obj

    def joined_tuples(self, a: AV, b: AV) -> AV:
        left, right = self.any_length(a), self.any_length(b)
        try:
            joined = unite(left.type, right.type)
        except JoinError:
            self.fail("tuples_of_kinds", left=spelt(left.type), right=spelt(right.type))
        assert isinstance(joined, ListType)
        left, right = self.any_length(a, joined.elem), self.any_length(b, joined.elem)
        return ListV(self.builder.op("tuple.join", [left, right], self.loc, types=[joined]).result)

    def compare_tuples(self, op: str, a: AV, b: AV) -> AV | None:
        """A comparison in which a tuple of any length takes part; None where none does."""
        if not any(isinstance(av, ListV) and av.is_tuple for av in (a, b)):
            return None
        if not (is_plain_tuple(a) and is_plain_tuple(b)):
            return Known(op == "NotEq") if op in ("Eq", "NotEq") else self.bad_operands(op, a, b)
        for one, other in ((a, b), (b, a)):
            if (items := sequence_items(one)) is not None and op in ("Eq", "NotEq"):
                assert isinstance(other, ListV)
                equal = self.equals_items(other, items)
                return self.negate(equal) if op == "NotEq" else equal
        both = [ListV(self.any_length(av)) for av in (a, b)]
        return self.call(Known(lists.COMPARISONS[op]), both, {})

    def equals_items(self, av: ListV, items: Sequence[AV]) -> AV:
        """av == (*items,)"""
        value = self.value(av)

        def same() -> AV:
            result: AV = Known(True)
            for i, item in enumerate(items):
                found = self.wrap(self.build("list.at", [value, self.const(i)]))
                result = self.choose(result, partial(self.same, found, item), lambda: Known(False))
            return result

        if isinstance(value.type, ListType) and value.type.elem == NEVER:
            return Known(not items)
        length = self.build("list.len", [value])
        return self.choose(self.compare("Eq", Dyn(length), Known(len(items))), same, lambda: Known(False))

    def own_tuple_key(self, av: AV, items: Sequence[AV] | None, key: ListType) -> tuple[AV, AV | None]:
        """A key as a dict holds it whose keys are tuples of any length, as in `as_key`."""
        if isinstance(av, ListV) and av.is_tuple:
            held = self.value(av).type
            if held != key and held != tuple_of(NEVER):
                self.fail("key_of_other_type", item=spelt(held), held=spelt(key))
            return Known(True), av
        if items is None:
            return Known(False), None
        valid: AV = Known(True)
        parts: list[AV] = []
        for ok, part in (self.as_key(i, key.elem) for i in items):
            if part is None:
                return Known(False), None
            valid = self.both(valid, ok)
            parts.append(part)
        return valid, ListV(self.tuple_value(parts, key.elem))
