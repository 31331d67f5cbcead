"""Exceptions: `raise`, and `try` with its handlers.

What an exception finds in the names and objects that its `try` changes is what was written last. So each change in the
body is noted while that is read; then the states are joined as those of paths that meet, and what the plans hand over
goes through cells: set where the change is, read where the handler begins.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Sequence
from types import FunctionType
from typing import NoReturn

from scriptc.frontend.context import Terminated
from scriptc.frontend.flow import Env, Exit, Names, changed
from scriptc.frontend.frame import Final, Leaving, Site, Watch
from scriptc.frontend.joins import Leaf, Plan
from scriptc.frontend.loops import Loops
from scriptc.frontend.raised import RaisedObjects, own_init
from scriptc.frontend.scope import assigned
from scriptc.frontend.values import AV, Dyn, Ident, Known, Maybe, ObjectV, OneOf, Unbound
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Value
from scriptc.ir.exceptions import own_class
from scriptc.ir.regions import may_raise
from scriptc.ir.types import EXC, NONE, CellType

_RETURNED = "·returned"
_WAYS = ("return", "break", "continue")
_OWN_CODE = ("__new__", "__str__")
_LONGEST = 40  # characters of a class's name that an error carries


_NO_EXCEPTIONS = (
    "KeyboardInterrupt",
    "SystemExit",
    "GeneratorExit",
)  # Python's classes that do not derive from Exception


class Exceptions(Loops, RaisedObjects):
    """Mixin: `try` and `raise`."""

    # ---- classes ----
    def exception_name(self, cls: type[BaseException]) -> str:
        """What compiled code calls a class; the module declares it if it is not Python's own."""
        if cls.__module__ == "builtins":
            return cls.__name__
        found = next((name for name, known in self.outside.exceptions.items() if known is cls), None)
        if found is not None:
            return found
        bases = tuple(self.exception_name(b) for b in cls.__bases__ if issubclass(b, BaseException))
        wanted = name = cls.__name__[:_LONGEST]
        count = 1
        while name in self.outside.exceptions or own_class(name) is not None:
            count += 1
            name = f"{wanted}_{count}"
        self.outside.exceptions[name] = cls
        self.module.exceptions[name] = bases
        return name

    def is_exception(self, av: AV, classes: Sequence[type[BaseException]], *, exact: bool = False) -> AV:
        """Whether an exception is an instance of one of the classes, and if `exact` of none derived from them."""
        if isinstance(av, ObjectV):
            return Known(av.cls in classes if exact else issubclass(av.cls, tuple(classes)))
        if not exact and BaseException in classes:
            return Known(True)
        if not exact and Exception in classes:
            others = Dyn(self.build("exc.is", [self.value(av)], classes=_NO_EXCEPTIONS, exact=False))
            return Dyn(self.build("bool.not", [self.value(others)]))
        names = tuple(self.exception_name(c) for c in classes)
        return Dyn(self.build("exc.is", [self.value(av)], classes=names, exact=exact))

    # ---- raise ----
    def s_Raise(self, node: ast.Raise) -> bool:
        if node.exc is None:
            if not self.handling:
                self.raises_at_run_time("RuntimeError", "No active exception to reraise")
            self.raise_value(self.handling[-1])
        value = self.eval(node.exc)
        if node.cause is not None and not self.may_be_cause(self.eval(node.cause)):
            self.raises_at_run_time("TypeError", "exception causes must derive from BaseException")
        self.raise_value(value)

    def may_be_cause(self, av: AV) -> bool:
        """Return whether `raise ... from av` takes it, where that is known: None, exceptions and their classes."""
        match av:
            case OneOf(alternatives=alternatives):
                return any(map(self.may_be_cause, alternatives.values()))
            case Known(type() as cls):
                return issubclass(cls, BaseException)
            case Known(obj):
                return obj is None or isinstance(obj, BaseException)
            case ObjectV(cls):
                return issubclass(cls, BaseException)
        return not isinstance(av, Dyn) or av.type in (EXC, NONE)

    def raise_value(self, av: AV) -> NoReturn:
        match av:
            case OneOf():
                self.split(av, self.raise_value)
            case Dyn(value) if value.type == EXC:
                if self.leaves_generator:
                    self.check_that(self.negate(self.is_exception(av, [StopIteration])), "StopIteration", "")
                self.hold_again(av)
                self.effect("reraise", [value])
            case Known(type() as cls) if issubclass(cls, BaseException):
                self.raise_value(self.construct(cls, [], {}))
            case Known(BaseException() as made) if own_init(type(made)) is not None:
                self.fail("raised_from_outside", name=type(made).__name__)
            case Known(BaseException() as made):
                self.raise_value(self.construct(type(made), [Known(a) for a in made.args], {}))
            case ObjectV(cls) if issubclass(cls, Exception):
                self.raise_made(av)
            case ObjectV(cls) if issubclass(cls, BaseException):
                self.fail("raise_of_other", name=cls.__name__)
            case _:
                self.raises_at_run_time("TypeError", "exceptions must derive from BaseException")
        raise Terminated

    def raise_made(self, made: ObjectV) -> NoReturn:
        if any(isinstance(home.__dict__.get(n), FunctionType) for home in made.cls.__mro__ for n in _OWN_CODE):
            self.fail("raise_with_own_str", name=made.cls.__name__)
        if issubclass(made.cls, StopIteration) and self.leaves_generator:
            self.raises_at_run_time("StopIteration", "")
        self.note_held(made)
        self.raise_with(self.exception_name(made.cls), self.joined(self.message_parts(made)))

    # ---- try ----
    def s_Try(self, node: ast.Try) -> bool:
        if not node.finalbody:
            return self.excepting(node)
        live = self.frame.live.final[node]
        names = assigned([node]) & self.frame.live.after[node]

        def last() -> bool:
            return self.run(node.finalbody)

        def caught(e: AV) -> bool:
            e = self.caught(e, [BaseException])
            if last():
                self.raise_value(e)
            return False

        return self.finishing(assigned([node]), live, names, lambda: self.excepting(node), last, caught)

    def excepting(self, node: ast.Try) -> bool:
        """A `try` without its `finally`."""
        if not node.handlers:
            return self.run(node.body)
        live = self.frame.live
        names = assigned([node]) & live.final[node]

        def body() -> bool:
            return self.run(node.body)

        if not node.orelse:
            return self.guarded(live.caught[node], names, body, lambda e: self.handlers(node.handlers, e, names))

        def whole(label: str, exits: list[Exit]) -> bool:
            def handle(e: AV) -> bool:
                if self.handlers(node.handlers, e, names):
                    exits.append((self.effect("break", (), to=label), self.snapshot()))
                return False

            after_body = assigned(node.body) & live.after[node.body[-1]]
            return self.guarded(live.caught[node], after_body, body, handle) and self.run(node.orelse)

        return self.scoped(names, whole)

    def handlers(self, handlers: Sequence[ast.ExceptHandler], e: AV, names: Names) -> bool:
        """The first handler that fits; the exception goes on where none does."""
        if not handlers:
            self.raise_value(e)
        first, *rest = handlers
        saved, self.node = self.node, first
        try:
            classes = [BaseException] if first.type is None else self.classes_of(self.eval(first.type))
            fits = self.is_exception(e, classes)
            here = lambda: self.handler(first, self.caught(e, classes))  # noqa: E731
            if isinstance(fits, Known):
                return here() if fits.obj else self.handlers(rest, e, names)
            return self.branch(fits, here, lambda: self.handlers(rest, e, names), names)
        finally:
            self.node = saved

    def handler(self, node: ast.ExceptHandler, e: AV) -> bool:
        self.handling.append(e)
        try:
            if node.name:
                self.bind_name(node.name, e)
            falls = self.run(node.body)
        finally:
            self.handling.pop()
        if node.name and falls:
            self.bind_name(node.name, Unbound())
        return falls

    def classes_of(self, av: AV) -> list[type[BaseException]]:
        """The classes that a handler names."""
        found = self.known(av, "the class of an exception")
        classes = list(found) if isinstance(found, tuple) else [found]
        for cls in classes:
            if not (isinstance(cls, type) and issubclass(cls, BaseException)):
                self.raises_at_run_time(
                    "TypeError", "catching classes that do not inherit from BaseException is not allowed"
                )
        return classes

    # ---- bodies whose exceptions are caught ----
    def guarded(self, live: Names, names: Names, run: Callable[[], bool], handle: Callable[[AV], bool]) -> bool:
        """run(), or as far as it gets and then handle(exception), which finds the names `live` as they were left.
        `names` are joined behind both."""
        mark, before = Ident().serial, self.snapshot()
        watch = Watch(self.frame, live, mark)
        self.watches.append(watch)
        try:
            with self.builder.at(Block()) as body:
                falls = self.reached(run)
        finally:
            self.watches.pop()
        if not any(map(may_raise, body.walk())):
            for site in watch.sites:
                site.op.erase()
            self.splice(body)
            return falls
        end = self.snapshot()
        self.restore(before)
        envs = [before, *(site.env for site in watch.sites)]
        keys: set[Hashable] = {s.key for s in watch.sites if isinstance(s.key, str)}
        keys |= {k for env in envs for k in changed(before, env, mark) if isinstance(k, Ident)}
        plans = self.plans(keys, envs, fresh=True, mark=mark)
        cells = self.cells_for(plans, before, envs)
        self.set_cells(watch.sites, plans, cells, envs)
        with self.builder.at(Block([(EXC, "error")])) as handler:
            held = [self.build("cell.get", [c]) for row in cells.values() for c in row]
            self.rebind(plans, held, envs, mark)
            start = self.snapshot()
            goes_on = self.reached(lambda: handle(Dyn(handler.args[0])))
        ends = [(body, end)] if falls else []
        altered = changed(before, end, mark) if falls else set()
        if goes_on:
            ends.append((handler, self.snapshot()))
            altered |= changed(before, ends[-1][1], mark) | changed(start, ends[-1][1], mark)
        self.restore(before)
        keys = set(names) | {k for k in altered if isinstance(k, Ident)}
        return self.meet("try", [], [body, handler], ends, keys, altered, mark)

    def cells_for(self, plans: dict[Hashable, Plan], before: Env, envs: Sequence[Env]) -> dict[Hashable, list[Value]]:
        """Cells for what each plan hands over, holding what it is in front of the body."""
        found: dict[Hashable, list[Value]] = {}
        for key, plan in plans.items():
            values = list(plan.flatten(self, self.held(before, key, envs)))
            name = key if isinstance(key, str) else ""
            found[key] = [
                self.builder.op("cell.new", [v], self.loc, types=[CellType(t)], names=[name]).result
                for v, t in zip(values, plan.types(), strict=True)
            ]
        return found

    def set_cells(
        self, sites: Sequence[Site], plans: dict[Hashable, Plan], cells: dict[Hashable, list[Value]],
        envs: Sequence[Env],
    ) -> None:  # fmt: skip
        """Writes what changed at each site. A change of an object is one of all that may hold it."""
        saved = self.builder
        for site in sites:
            self.builder = Builder.before(site.op)
            for key, plan in plans.items():
                if key == site.key or (isinstance(site.key, Ident) and not isinstance(plan, Leaf)):
                    values = plan.flatten(self, self.held(site.env, key, envs))
                    for cell, value in zip(cells[key], values, strict=True):
                        self.builder.op("cell.set", [cell, value], site.op.loc)
            site.op.erase()
        self.builder = saved

    def finishing(
        self, written: Names, live: Names, names: Names, run: Callable[[], bool], last: Callable[[], bool],
        caught: Callable[[AV], bool],
    ) -> bool:  # fmt: skip
        """run(), then last() on each way out of it but exceptions, for which it is caught(exception).

        written: names that run() assigns; live: those that last() reads; names: those that are read behind it."""
        pending = Final(len(self.frame.loops))

        def body() -> bool:
            self.frame.finals.append(pending)
            try:
                return run()
            finally:
                self.frame.finals.pop()

        def whole(done: str, ends: list[Exit]) -> bool:
            def leave(falls: bool) -> bool:
                if falls:
                    ends.append((self.effect("break", (), to=done), self.snapshot()))
                return False

            def to_the_end() -> None:
                leave(
                    self.guarded(live, written & (live | names), body, lambda e: leave(caught(e)))
                    and self.reached(last)
                )

            def behind(way: str, returned: AV | None) -> None:
                if self.reached(last):
                    self.leave_by(way, returned)

            self.ways_out(pending, live & written, written, to_the_end, behind)
            return False

        return self.scoped(names, whole)

    def ways_out(
        self, pending: Final, returning: Names, jumping: Names, run: Callable[[], None],
        behind: Callable[[str, AV | None], None],
    ) -> None:  # fmt: skip
        """run(), and behind(way, what is returned) where `pending` is left by return, break or continue. Names that behind()
        reads: on return, and on break and continue."""

        def attempt(ways: Sequence[str]) -> bool:
            if not ways:
                run()
                return False
            way, *rest = ways

            def inside(label: str, exits: list[Exit]) -> bool:
                pending.ways[way] = label, exits
                return attempt(rest)

            if self.scoped(returning | {_RETURNED} if way == "return" else jumping, inside):
                behind(way, self.frame.locals.pop(_RETURNED, None))
            return False

        attempt(_WAYS)

    def putting_off(self, run: Callable[[], bool], leaving: Leaving) -> bool:
        """run(), whose end return, break and continue lead to as well, to be gone on with later. What run() assigns is in the
        heap."""
        pending = Final(len(self.frame.loops))

        def whole(done: str, ends: list[Exit]) -> bool:
            def end(way: int) -> None:
                self.heap[leaving.way] = Known(way)
                ends.append((self.effect("break", (), to=done), self.snapshot()))

            def body() -> None:
                self.frame.finals.append(pending)
                try:
                    falls = run()
                finally:
                    self.frame.finals.pop()
                if falls:
                    end(0)

            def behind(way: str, value: AV | None) -> None:
                leaving.found.add(way)
                if value is not None:
                    self.heap[leaving.returned] = value
                end(_WAYS.index(way) + 1)

            self.ways_out(pending, frozenset(), frozenset(), body, behind)
            return False

        return self.scoped(frozenset(), whole)

    def go_on(self, leaving: Leaving) -> bool:
        """Leaves as was put off."""
        left, returned = self.heap.pop(leaving.way), self.heap.pop(leaving.returned)
        value = returned.av if isinstance(returned, Maybe) else returned

        def leave(way: str) -> bool:
            self.leave_by(way, value if way == "return" else None)
            return False

        for number, way in enumerate(_WAYS, 1):
            if way in leaving.found:
                chosen = self.truth(self.compare("Eq", left, Known(number)))
                if not isinstance(chosen, Known):
                    self.branch(chosen, lambda way=way: leave(way), lambda: True, frozenset())  # type: ignore[misc]
                elif chosen.obj:
                    return leave(way)
        return True

    # ---- leaving through `finally` ----
    def leave_by(self, way: str, value: AV | None) -> None:
        """return, break or continue, by way of the innermost `finally` that it passes."""
        frame = self.frame
        final = frame.finals[-1] if frame.finals else None
        if final is not None and (way == "return" or final.loops == len(frame.loops)):
            label, exits = final.ways[way]
            env = self.snapshot()
            if value is not None:
                env[_RETURNED] = value
            exits.append((self.effect("break", (), to=label), env))
        elif way == "return":
            assert value is not None
            self.return_value(value)
        else:
            self.leave_loop(way)
