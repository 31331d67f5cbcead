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
from scriptc.ir.core import Op, Value
from scriptc.ir.loc import Loc


@dataclass(eq=False)
class ReturnSite:
    """A `return`: the op that leaves (its operands are filled in when all returns are known), what it returns, and the
    heap at that point."""

    op: Op
    av: AbstractValue
    heap: dict[Ident, AbstractValue]


@dataclass(eq=False)
class LoopTarget:
    """A loop around the statements being read: where `break` and `continue` go, and who left with which names."""

    break_label: str
    continue_label: str
    continue_op: str = "continue"  # "break" if each iteration is a scope
    breaks: list[tuple[Op, dict[Hashable, AbstractValue]]] = field(default_factory=list)
    continues: list[tuple[Op, dict[Hashable, AbstractValue]]] = field(default_factory=list)
    counter: Value | None = None


@dataclass(eq=False)
class Final:
    """A `finally` around the statements being read, inside `loops` loops. `ways`: for each way to leave it, the label of
    the scope behind which that goes on, and who left so with which names."""

    loops: int
    ways: dict[str, tuple[str, list[tuple[Op, dict[Hashable, AbstractValue]]]]] = field(default_factory=dict)


@dataclass(eq=False)
class Leaving:
    """How statements were left that something else runs behind. In the heap: `way`, by return (1), break (2), continue (3) or
    at the end (0), and what is `returned`. `found`: the ways that there are."""

    way: Ident = field(default_factory=Ident)
    returned: Ident = field(default_factory=Ident)
    found: set[str] = field(default_factory=set)


@dataclass(eq=False)
class Site:
    """A change of a name or an object: the op in whose place cells are written, and the state behind the change."""

    op: Op
    key: str | Ident
    env: dict[Any, AbstractValue]


@dataclass(eq=False)
class Watch:
    """The body of a `try` while it is read: the changes in it that an exception may leave behind. Variables of the frame
    with serials above `mark` live in the heap within a `with` in the body alone."""

    frame: Frame
    names: frozenset[str]
    mark: int
    sites: list[Site] = field(default_factory=list)


@dataclass(eq=False, repr=False)  # no repr: it would write out the keys of closures, which refer to this frame
class Frame:
    """`outer` is the frame of the function in which a nested `def` or `lambda` stands."""

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
    is_left: bool = False  # the frame's function has returned, and closures keep the frame

    def chain(self) -> Iterator[Frame]:
        """Yield this frame, and the frames of the functions around its function."""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.outer

    @contextmanager
    def among(self, scopes: Sequence[Scope]) -> Iterator[None]:
        """Name the variables of comprehensions, within the context, as they are named inside them."""
        before = dict(self.locals)
        names = frozenset().union(*scopes)
        for scope in scopes:
            self.locals |= scope
        try:
            yield
        finally:
            self.rename(names, before)

    def rename(self, names: Iterable[str], before: dict[str, AbstractValue]) -> None:
        """Give names the values that they had in `before`."""
        for name in names:
            self.locals.pop(name, None)
            if name in before:
                self.locals[name] = before[name]

    @cached_property
    def qualified_name(self) -> str:
        """Return the qualified name of the function, as Python has it."""
        if self.func is not None or self.outer is None:
            return self.func.__qualname__ if self.func is not None else self.source.name
        return f"{self.outer.qualified_name}.<locals>.{getattr(self.source.node, 'name', '<lambda>')}"

    def left(self) -> Frame:
        """Return the frame that functions made in a function see once it has returned: its variables as they are,
        which only those functions still change."""
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
