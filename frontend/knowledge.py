"""What must be known at compile time, and making it so: by unrolling a loop, or by specialising on an argument."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from scriptc.frontend.cells import is_of_numbers
from scriptc.frontend.context import Context, NeedsKnown, Poisoned, UserError
from scriptc.frontend.met import meet_this_process
from scriptc.frontend.outside import holds_tensor
from scriptc.frontend.rejections import rejection
from scriptc.frontend.values import AV, Dyn, Known, ListV, Poison, Tup, describe, is_run_time_text
from scriptc.ir.core import Op, Value
from scriptc.ir.regions import slot_of
from scriptc.ir.types import STR, ListType, ScalarType, Type


class Knowledge(Context):
    """Mixin: known values."""

    def known(self, av: AV, what: str) -> Any:
        """The Python object behind a value that must be known at compile time."""
        match av:
            case Known(obj):
                return obj
            case Tup(items):
                return tuple(self.known(i, what) for i in items)
            case ListV(items=items) if items is not None:
                self.observe(av)
                return [self.known(i, what) for i in items]
            case Poison():
                raise Poisoned
            case Dyn(value) if isinstance(value.type, ScalarType):
                if value.op is not None and value.op.name == "const":
                    return value.op.attrs["value"]
                raise NeedsKnown(
                    value, UserError(self.loc, *rejection("computed_at_run_time", what=what))
                )
            case ListV(value=Value() as value) if is_of_numbers(value.type):
                raise NeedsKnown(value, UserError(self.loc, *rejection("not_known", what=what, found=describe(av))))
        self.fail("not_known", what=what, found=describe(av))

    def call_memoised(self, function: Any, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        """A call of what functools.lru_cache wraps. Its result for known arguments is the same object at each call; for
        others it is computed again."""
        if all(map(self.is_known, (*args, *kwargs.values()))):
            given = [self.known(a, "an argument") for a in args]
            named = {name: self.known(av, "an argument") for name, av in kwargs.items()}
            meet_this_process()  # what it gives need not follow from its arguments
            result = self.evaluate(function, *given, **named)
            found = self.known(result, "a result")
            self.outside.made.discard(id(found))  # the cache holds it, and gives it to others
            if not holds_tensor([found]):
                return result
        inner = function.__wrapped__
        code = getattr(inner, "__code__", None)
        if code is not None and function.__name__ in (*code.co_names, *code.co_freevars):
            self.fail("memoised_recursion", name=function.__name__)
        return self.call(Known(inner), args, kwargs)

    def make_known(self, value: Value, why: str) -> bool:
        """Return whether another reading, and none before, can know this number, or list of numbers: by unrolling a loop, by
        specializing on an argument, or by keeping the items of lists that it comes from one by one. why: what is said of
        these where that fails."""
        v = self.knowable(value)
        if v is None and (sites := self.sites_behind(value)):
            self.assume.known_length |= sites
            self.assume.why_known_length |= dict.fromkeys(sites, why)
            return True
        if v in self.counters:
            return self.assume.unroll(self.counters[v])
        if v in self.number_args:
            is_new = self.number_args[v] in self.assume.changing
            self.assume.changing.discard(self.number_args[v])
            return is_new
        if v is None or self.arg_places[v] in self.assume.known_args:
            return False
        self.assume.known_args.add(self.arg_places[v])
        return True

    def knowable(self, value: Value) -> Value | None:
        """The counter of a loop, or the argument, by which another reading may know a number."""
        todo, seen = [value], set()
        while todo:
            v = todo.pop()
            if v in seen:
                continue
            seen.add(v)
            if v in self.counters or v in self.number_args or v in self.arg_places:
                return v
            slot = slot_of(v) if v.op is not None else None
            if slot is not None:
                todo += [op.operands[i] for op, i in slot.into_result if i < len(op.operands)]
            if v.op is not None and v.op.name == "loop":  # what it ends with is known where each of its iterations is
                todo += [a for a in v.op.regions[0].args[:1] if a in self.counters]
            if v.op is not None and all(_may_be_known(o.type) for o in v.op.operands):
                todo += v.op.operands
        return None

    def sites_behind(self, value: Value) -> set[Any]:
        """Where the lists of numbers are made that a value is computed from, if their lengths may be known."""
        todo, seen, found = [value], set(), set()
        while todo:
            v = todo.pop()
            if v in seen:
                continue
            seen.add(v)
            if isinstance(v.type, ListType):
                cell = v.type.cell.find()
                found |= {site for site, made in self.cells if made.find() is cell and not cell.fixed}
            makers = [v.op] if v.op is not None else []
            if isinstance(v.type, ListType):  # what changes it, and the loops around that
                makers += [outer for op in v.users() if op.name.startswith("list.") for outer in _with_outer(op)]
            todo += [o for op in makers for o in op.operands if is_of_numbers(o.type)]
        return found - {None, *self.assume.known_length, *self.assume.run_time_lists}

    def prefer_known(self, av: AV, other: AV) -> None:
        """A string argument that is compared as a whole with a known string is a choice among few, so that the code is
        better made for its value; unless it was seen to have many."""
        if not is_run_time_text(av) or not (isinstance(other, Known) and other.obj):
            return
        place = self.arg_places.get(av.value)  # type: ignore[attr-defined]
        if place is not None and place not in self.assume.varied:
            self.assume.known_args.add(place)
            self.read_again("a string argument is compared with a constant")


def _may_be_known(t: Type) -> bool:
    return isinstance(t, ScalarType) or (isinstance(t, ListType) and t.elem == STR)


def _with_outer(op: Op) -> Iterator[Op]:
    """An op and those around it."""
    inner: Op | None = op
    while inner is not None:
        yield inner
        inner = inner.parent.parent if inner.parent is not None else None
