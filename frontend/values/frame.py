"""A function being read: its source, names and place in the chain of calls."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any

from scriptc.frontend.source.functions import Source
from scriptc.frontend.source.scope import Liveness, liveness, read_inside
from scriptc.frontend.values.abstract import AbstractValue, Ident, Scope
from scriptc.ir.cached_property import cached_property
from scriptc.ir.core import Block, Op, Value
from scriptc.ir.loc import Loc


@dataclass(eq=False)
class ReturnSite:
    """A `return`: its op, the returned value and the heap at that point. Operands follow when all returns are known."""

    op: Op
    av: AbstractValue
    heap: dict[Ident, AbstractValue]


@dataclass(eq=False)
class LoopTarget:
    """A loop around the statements being read: the targets of `break` and `continue`, and the jumps that were read
    so far."""

    break_label: str
    continue_label: str
    continue_op: str = "continue"  # "break" if each iteration is a scope
    breaks: list[tuple[Op, dict[Hashable, AbstractValue]]] = field(default_factory=list)
    continues: list[tuple[Op, dict[Hashable, AbstractValue]]] = field(default_factory=list)
    counter: Value | None = None


@dataclass(eq=False)
class Final:
    """A `finally` around the statements being read, inside `loops` loops.

    ways: for each way out, the label of the scope that continues it, and the jumps that were read so far.
    """

    loops: int
    ways: dict[str, tuple[str, list[tuple[Op, dict[Hashable, AbstractValue]]]]] = field(default_factory=dict)


@dataclass(eq=False)
class Leaving:
    """The way in which control left statements before a `finally`, in the heap.

    way: by return (1), break (2), continue (3) or at the end (0).
    returned: the returned value.
    found: the ways that occur.
    """

    way: Ident = field(default_factory=Ident)
    returned: Ident = field(default_factory=Ident)
    found: set[str] = field(default_factory=set)


@dataclass(eq=False)
class Site:
    """A change of a name or an object: a placeholder op for the writes to cells, and the state after the change."""

    op: Op
    key: str | Ident
    env: dict[Any, AbstractValue]


@dataclass(eq=False)
class Watch:
    """The body of a `try` while it is read, with the changes that a handler may see.

    Variables of the frame with serials above `mark` are in the heap only within a `with` in the body.
    """

    frame: Frame
    names: frozenset[str]
    mark: int
    sites: list[Site] = field(default_factory=list)
    dropped: set[Any] = field(default_factory=set)  # the sites of inner tries without code whose handlers changed objects


@dataclass(eq=False, repr=False)  # no repr: it would write out the keys of closures, which refer to this frame
class Frame:
    """A call that is being read. `outer` is the frame around a nested `def` or `lambda`."""

    source: Source
    func: FunctionType | None
    inlined_at: Loc | None
    label: str = ""  # the scope that a `return` breaks out of; "" for the function itself
    outer: Frame | None = None
    locals: dict[str, AbstractValue] = field(default_factory=dict)
    cells: dict[str, Ident] = field(default_factory=dict)  # variables in the heap, which inner functions assign
    returns: list[ReturnSite] = field(default_factory=list)
    loops: list[LoopTarget] = field(default_factory=list)
    finals: list[Final] = field(default_factory=list)
    signature: tuple[Hashable, ...] = ()  # the kinds of the arguments, as Recursion compares them
    codes: frozenset[Any] = frozenset()  # the nodes of functions and generators among the arguments
    on_yield: Callable[[AbstractValue], AbstractValue] | None = None  # runs a `with` body at `yield`
    first_arg: AbstractValue | None = None  # the receiver of zero-argument super()
    comprehensions: int = 0  # comprehensions around the current node
    scopes: list[Scope] = field(default_factory=list)  # the comprehensions' variables, which closures may capture
    generators: int = 0  # generator expressions around the current node
    is_kept: bool = False  # a returned closure captures the frame
    block: Block | None = None  # of a call that is inlined: the ops of its body, if they replace the call as they are
    called_in: Block | None = None  # the block of such a call
    has_ranks: bool = False  # an argument may be a tensor of one of several ranks
    is_left: bool = False  # the frame's function has returned, and closures keep the frame

    def chain(self) -> Iterator[Frame]:
        """Yield this frame, and the frames of the functions around its function."""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.outer

    @contextmanager
    def among(self, scopes: Sequence[Scope]) -> Iterator[None]:
        """Give the variables of comprehensions, within the context, the names that they have inside."""
        before = dict(self.locals)
        names = frozenset().union(*scopes)
        for scope in scopes:
            self.locals |= scope
        try:
            yield
        finally:
            self.rename(names, before)

    def rename(self, names: Iterable[str], before: dict[str, AbstractValue]) -> None:
        """Give names the values of `before` again."""
        for name in names:
            self.locals.pop(name, None)
            if name in before:
                self.locals[name] = before[name]

    @cached_property
    def qualified_name(self) -> str:
        """Return the qualified name of the function, as Python spells it."""
        if self.func is not None or self.outer is None:
            return self.func.__qualname__ if self.func is not None else self.source.name
        return f"{self.outer.qualified_name}.<locals>.{getattr(self.source.node, 'name', '<lambda>')}"

    def left(self) -> Frame:
        """Return the frame that closures see after a function has returned. Only these closures still change its
        variables."""
        found = replace(self, is_left=True)
        found.locals = {k: v for k, v in self.locals.items() if k in read_inside(self.source.node)}
        return found

    @property
    def live(self) -> Liveness:
        return liveness(self.source.node)

    @property
    def globals(self) -> Mapping[str, Any]:
        frame: Frame | None = self
        while frame is not None and frame.func is None:
            frame = frame.outer
        return frame.func.__globals__ if frame is not None and frame.func is not None else {}

    def depth(self) -> int:
        return 1 + sum(1 for _ in self.inlined_at.chain()) if self.inlined_at else 1
