"""Run the IR on fake tensors, to find the shapes of results. Sizes stay symbols.

Tensor ops run by their references (ir/op_references.py) on fake tensors. Control flow is interpreted abstractly:

- A branch whose condition depends on data is run both ways, and the values of the paths are joined.
- A loop is run until the join of its carried values is stable. Sizes that grow by a constant in each iteration are
  induction variables: behind a counted loop without `break`, their values are known. So a list to which each iteration
  appends has the trip count as its length.

Whatever cannot be told becomes an unbacked symbol, which PyTorch then treats as it treats the sizes of `nonzero()`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv, statically_known_true

from scriptc.ir.core import Block, Func, Module, Op, Value
from scriptc.ir.dtypes import TORCH_NAMES
from scriptc.ir.handlers import handlers
from scriptc.ir.interp import Interpreter
from scriptc.ir.op_references import reference
from scriptc.ir.types import (
    BOOL,
    FLOAT,
    INT,
    NONE,
    STR,
    ListType,
    ObjectType,
    OptionalType,
    TensorType,
    TupleType,
    Type,
)
from scriptc.operators.symbolic_values import (
    UNKNOWN,
    CannotTell,
    Heap,
    Items,
    Maybe,
    MergeSizes,
    Path,
    Reference,
    Repeated,
    Unknown,
    Values,
    Varying,
    is_number,
    is_tensor,
    same_size,
)

Env = dict[Value, Any]
Paths = list[tuple[list[Any], Heap]]  # the values and the heap at the end of each
RUNS, runs = handlers()

MOST_ROUNDS = 20  # of a loop, and of a recursion; nothing is told of a program that needs more
DEPENDS_ON_DATA = (GuardOnDataDependentSymNode, DataDependentOutputException, DynamicOutputShapeException)
_OUTSIDE = frozenset({"random", "numpy random", "python random", "io", "state"})  # what no symbolic run may change
_EXTREMES = {"int.min": torch.sym_min, "int.max": torch.sym_max, "int.to_float": torch.sym_float}


class _Ended(Exception):
    """Say that a path of the program ends: all that follows is not reached."""


@dataclass
class _Exit:
    """A path that leaves a block by a terminator."""

    op: Op
    values: list[Any]
    heap: Heap


@dataclass
class _Loop:
    """The sizes that the iterations of a loop change, by where they are.

    symbols: the symbol that stands for the size at the begin of any iteration, and the size at the first one.
    steps: by how much each iteration increases the size; None if that is not the same in all.
    """

    symbols: dict[Path, tuple[Any, Any]] = field(default_factory=dict)
    steps: dict[Path, Any] = field(default_factory=dict)
    changed: bool = False


class SymbolicRun:
    """One run of a function of a module on fake tensors. The fake mode of these is active.

    params: fake tensors by the names that `param` ops read.
    """

    def __init__(self, module: Module, params: Mapping[str, Any], shape_env: ShapeEnv):
        self.module = module
        self.values = Values(shape_env)
        self.concrete = Interpreter(module, params)
        self.params = params
        self.heap: Heap = {}
        self.exits: list[_Exit] = []
        self.symbols: dict[str, Any] = {}  # the sizes of the arguments of the current function by their symbols in types
        self.watched: list[list[tuple[Reference, Items | Repeated]]] = []  # the changes by the `try` bodies around
        self.depth = 0
        self.error: BaseException | None = None  # the first one on a path that may or may not be taken
        self.undecided = 0  # branches around the current op of which nobody knows whether they are taken

    def run(self, name: str, args: Sequence[Any]) -> list[Any]:
        """Return the results of a function. Lists of known length are Python lists.

        Raises CannotTell, and the exceptions that the program certainly raises.
        """
        try:
            made = self.call(self.module.funcs[name], [*map(self.inside, args)])
        except _Ended:
            raise self.error or CannotTell("no path of the function returns") from None
        return [*map(self.outside, made)]

    def inside(self, value: Any) -> Any:
        """Return the symbolic value of an argument."""
        return self.new(Items(tuple(map(self.inside, value)))) if isinstance(value, list) else value

    def outside(self, value: Any) -> Any:
        if not isinstance(value, Reference):
            return value
        contents = self.heap[value]
        if isinstance(contents, Repeated):
            raise CannotTell("the length of a list in the result depends on sizes that are symbols, or on data")
        return [*map(self.outside, contents.values)]

    def new(self, contents: Items | Repeated) -> Reference:
        made = Reference()
        self.heap[made] = contents
        return made

    def put(self, place: Reference, contents: Items | Repeated) -> None:
        """Set the contents of an object."""
        self.heap[place] = contents
        for changes in self.watched:
            changes.append((place, contents))

    # ---- values of which only the type is known ----

    def unknown(self, t: Type) -> Any:
        match t:
            case TensorType(dtype, dims):
                if dims is None:
                    raise CannotTell("the rank of a tensor depends on data")
                sizes = tuple(self.symbols.get(n) if isinstance(n, str) else n for n in dims)
                return self.values.tensor(getattr(torch, TORCH_NAMES[dtype]), sizes)
            case TupleType(items):
                return tuple(map(self.unknown, items))
            case OptionalType(item):
                return Maybe(self.unknown(item))
            case ListType():
                item = self.values.generalized(self.unknown(t.elem))
                return self.new(Repeated(item, self.values.size()))
            case ObjectType(record):
                raise CannotTell(f"data decides which {record.name} a variable holds")
        if t == INT:
            return self.values.shape_env.create_unbacked_symint()
        return None if t == NONE else UNKNOWN

    def typed(self, value: Any, t: Type) -> Any:
        """Return a value, or one of the type if nothing is known of it."""
        if isinstance(value, tuple) and isinstance(t, TupleType):
            return tuple(map(self.typed, value, t.items))
        return self.unknown(t) if isinstance(value, Unknown) else value

    # ---- blocks and paths ----

    def call(self, func: Func, args: Sequence[Any]) -> list[Any]:
        outer, self.symbols = self.symbols, {}
        for param, value in zip(func.body.args, args, strict=True):
            if isinstance(param.type, TensorType) and is_tensor(value) and param.type.dims is not None:
                pairs = zip(param.type.dims, value.shape, strict=True)
                self.symbols |= {dim: size for dim, size in pairs if isinstance(dim, str)}
        try:
            self.block(func.body, dict(zip(func.body.args, args, strict=True)))
        except _Ended:
            pass
        self.symbols = outer
        return self.leave(None, "return")

    def block(self, block: Block, env: Env) -> list[Any]:
        """Run to the terminator; return the values of its `yield`.

        Raises _Ended if no path reaches that. Paths that leave the block otherwise are appended to `exits`.
        """
        for op in block.ops:
            operands = [env[v] for v in op.operands]
            if op.has("TERMINATOR"):
                if op.name == "yield":
                    return operands
                if op.name in ("break", "continue", "return"):
                    self.exits.append(_Exit(op, operands, self.heap))
                elif op.name == "raise":
                    self.fail(self.concrete.exception(op, [0 if isinstance(v, Unknown) else v for v in operands]))
                raise _Ended
            special = RUNS.get(op.name)
            results = special(self, op, operands, env) if special else self.apply(op, operands)
            env.update(zip(op.results, results, strict=True) if op.results else ())
        raise AssertionError("a block ends in a terminator")

    def leave(self, label: str | None, *names: str, fallen: list[Any] | None = None) -> list[Any]:
        """Return the joined values of the paths that leave by these terminators to a label, and of one that falls through."""
        found = [] if fallen is None else [(fallen, self.heap)]
        for exit in [*self.exits]:
            if exit.op.name in names and exit.op.attrs.get("to") == label:
                self.exits.remove(exit)
                found.append((exit.values, exit.heap))
        return self.join(found)

    def join(self, paths: Sequence[tuple[list[Any], Heap]]) -> list[Any]:
        """Return the values of several paths as one, and let the heap be theirs."""
        if not paths:
            raise _Ended
        values, self.heap = paths[0]
        for others, heap in paths[1:]:
            self.heap = self.values.joined_heaps(self.heap, heap, self.same)
            values = [self.values.joined(a, b, (), self.same) for a, b in zip(values, others, strict=True)]
        return values

    def same(self, path: Path, a: Any, b: Any) -> Any:
        return a if same_size(a, b) else self.values.size()

    def attempt(self, block: Block, env: Env, paths: Paths, begin: Heap) -> None:
        """Run a block that may or may not be reached, and append its path, if one gets through."""
        self.heap = dict(begin)
        self.undecided += 1
        try:
            paths.append((self.block(block, env), self.heap))
        except _Ended:
            pass
        except CannotTell:
            raise
        except Exception as error:  # the program raises on this path
            self.error = self.error or error
        finally:
            self.undecided -= 1

    def fail(self, error: BaseException) -> NoReturn:
        """Raise an exception of the program, or end the path if other paths may go on."""
        if not self.undecided and not self.exits:
            raise error
        self.error = self.error or error
        raise _Ended

    def decided(self, condition: Any) -> bool | None:
        """Return a condition if it does not depend on data. Conditions on sizes become guards, as in a trace."""
        if isinstance(condition, (torch.SymBool, torch.SymInt)):
            try:
                return bool(condition)
            except DEPENDS_ON_DATA:
                return None
        return None if isinstance(condition, Unknown) else bool(condition)

    @runs("if")
    def do_if(self, op: Op, operands: list[Any], env: Env) -> list[Any]:
        taken = self.decided(operands[0])
        if taken is not None:
            return self.block(op.regions[0 if taken else 1], env)
        begin = self.heap
        paths: Paths = []
        for region in op.regions:
            self.attempt(region, env, paths, begin)
        return self.join(paths)

    @runs("try")
    def do_try(self, op: Op, operands: list[Any], env: Env) -> list[Any]:
        body, handler = op.regions
        begin = self.heap
        paths: Paths = []
        changes: list[tuple[Reference, Items | Repeated]] = []
        self.watched.append(changes)
        self.attempt(body, env, paths, begin)
        self.watched.pop()
        caught = dict(begin)  # the body may raise behind any of its changes
        for place, contents in changes:
            if place in caught:
                caught[place] = self.values.joined_contents(caught[place], contents, (place,), self.same)
        env.update(dict.fromkeys(handler.args, UNKNOWN))
        self.attempt(handler, env, paths, caught)
        return self.join(paths)

    @runs("scope")
    def do_scope(self, op: Op, operands: list[Any], env: Env) -> list[Any]:
        try:
            fallen = self.block(op.regions[0], env)
        except _Ended:
            return self.leave(op.attrs["label"], "break")
        return self.leave(op.attrs["label"], "break", fallen=fallen)

    @runs("call")
    def do_call(self, op: Op, operands: list[Any], env: Env) -> list[Any]:
        if self.depth >= MOST_ROUNDS:
            raise CannotTell("the depth of a recursion depends on data")
        self.depth += 1
        try:
            return self.call(self.module.funcs[op.attrs["func"]], operands)
        finally:
            self.depth -= 1

    @runs("checkpoint")
    def do_checkpoint(self, op: Op, operands: list[Any], env: Env) -> list[Any]:
        return self.block(op.regions[0], env)

    # ---- loops ----

    @runs("loop")
    def do_loop(self, op: Op, operands: list[Any], env: Env) -> list[Any]:
        counted = op.attrs["counted"]
        trips = _trip_count(*operands[:3]) if counted else None
        carried = operands[3:] if counted else operands
        if trips is not None and same_size(trips, 0):
            return carried
        loop, outer = _Loop(), self.exits
        for i in range(MOST_ROUNDS):
            self.exits = [] if i else [*outer]
            heap = self.heap
            certain = i == 0 and (trips is None or statically_known_true(trips >= 1))
            paths = self.iteration(op, carried, env, certain)
            if not i:
                self.exits = self.exits[len(outer) :]
            loop.changed = False
            for values, after in paths:
                carried, heap = self.widened(loop, (carried, heap), (values, after))
            if not loop.changed:
                break
            self.heap = heap
        else:
            raise CannotTell(f"the values of the loop at {op.loc} change in more ways than sizes do")
        self.heap = heap
        left = any(e.op.name == "break" and e.op.attrs["to"] == op.attrs["label"] for e in self.exits)
        if counted and not left:
            carried = self.behind(loop, carried, trips)
        fallen = carried if counted else None
        self.exits, own = outer, self.exits
        self.exits += own
        return self.leave(op.attrs["label"], "break", fallen=fallen)

    def iteration(self, op: Op, carried: list[Any], env: Env, certain: bool) -> Paths:
        """Run the body of a loop from the state at the begin of any iteration; return the states at the end.

        certain: there is an iteration that begins with this state.
        """
        body, begin = op.regions[0], self.heap
        count = [self.values.shape_env.create_unbacked_symint()] if op.attrs["counted"] else []
        if count:
            torch._check(count[0] >= 0)
        env.update(zip(body.args, [*count, *carried], strict=True))
        paths: Paths = []
        if certain:
            self.heap = dict(begin)
            try:
                paths.append((self.block(body, env), self.heap))
            except _Ended:
                pass
        else:
            self.attempt(body, env, paths, begin)
        for exit in [*self.exits]:
            if exit.op.name == "continue" and exit.op.attrs["to"] == op.attrs["label"]:
                self.exits.remove(exit)
                paths.append((exit.values, exit.heap))
        return paths

    def widened(
        self, loop: _Loop, begin: tuple[list[Any], Heap], end: tuple[list[Any], Heap]
    ) -> tuple[list[Any], Heap]:
        """Return the join of the states at the begin and at the end of an iteration."""

        def merge(path: Path, a: Any, b: Any) -> Any:
            if same_size(a, b):
                if path in loop.symbols:
                    _note_step(loop, path, 0)
                return a
            if path not in loop.symbols:
                loop.symbols[path] = self.values.size(), a
                loop.changed = True
                return loop.symbols[path][0]
            _note_step(loop, path, b - loop.symbols[path][0])
            return loop.symbols[path][0]

        values = self.values.joined(tuple(begin[0]), tuple(end[0]), ("carried",), merge)
        heap = {ref: self._widened(loop, ref, held, end[1][ref], merge) for ref, held in begin[1].items()}
        loop.changed = loop.changed or any(_differ(a, b) for a, b in zip(values, begin[0], strict=True))
        return [*values], heap

    def _widened(
        self, loop: _Loop, ref: Reference, a: Items | Repeated, b: Items | Repeated, merge: MergeSizes
    ) -> Items | Repeated:
        if a is b:
            return a
        made = self.values.joined_contents(a, b, (ref,), merge)
        loop.changed = loop.changed or _contents_differ(made, a)
        return made

    def behind(self, loop: _Loop, carried: list[Any], trips: Any) -> list[Any]:
        """Return the carried values behind a counted loop, and set the contents of lists: sizes with a step are known."""

        def size(path: Path, old: Any) -> Any:
            if path not in loop.symbols:
                return old
            first, step = loop.symbols[path][1], loop.steps.get(path)
            return old if step is None else first + step * trips

        for ref, held in [*self.heap.items()]:
            if isinstance(held, Repeated):
                self.heap[ref] = Repeated(held.item, size((ref, "length"), held.length))
            else:
                self.heap[ref] = Items(tuple(self._behind(v, (ref, i), size) for i, v in enumerate(held.values)))
        return [self._behind(v, ("carried", i), size) for i, v in enumerate(carried)]

    def _behind(self, value: Any, path: Path, size: Callable[[Path, Any], Any]) -> Any:
        if is_tensor(value):
            sizes = tuple(size((*path, d), n) for d, n in enumerate(value.shape))
            unchanged = all(a is b or same_size(a, b) for a, b in zip(sizes, value.shape, strict=True))
            return value if unchanged else self.values.tensor(value.dtype, sizes)
        if isinstance(value, tuple):
            return tuple(self._behind(v, (*path, i), size) for i, v in enumerate(value))
        return size(path, value) if is_number(value) else value

    # ---- ops by their references ----

    def apply(self, op: Op, operands: list[Any]) -> list[Any]:
        """Run an op on fake tensors. If its result depends on data, return values of its types."""
        if "list" in op.defn.writes and any(isinstance(v, Reference) for v in operands[1:]):
            raise CannotTell("a dict holds lists or objects")
        if op.defn.writes & _OUTSIDE or any(isinstance(v, (Reference, Maybe)) for v in operands):
            return [self.unknown(r.type) for r in op.results]
        if op.defn.ref is None and not op.defn.torch:
            return [self.unknown(r.type) for r in op.results]
        scalar = all(r.type in (INT, FLOAT, BOOL, STR) for r in op.results)
        if scalar and op.results and not any(is_tensor(v) for v in operands):
            return [self._scalar(op, operands)]
        # The value of a number has no part in shapes.
        given = [1.0 if isinstance(v, Unknown) else v for v in operands]
        try:
            made = self.concrete.apply(op.name, given, op.attrs)
        except Exception:  # The reference reads data, or fake tensors lack it. Errors of the program are raised by checks.
            return [self.unknown(r.type) for r in op.results]
        results = [made] if len(op.results) == 1 else made if op.results else []
        return [self._fitting(value, r.type) for value, r in zip(results, op.results, strict=True)]

    def _fitting(self, value: Any, t: Type) -> Any:
        if isinstance(t, ListType) and isinstance(value, (list, tuple)):
            return self.new(Items(tuple(value)))
        if t in (BOOL, FLOAT) and not isinstance(value, (bool, float, torch.SymBool, torch.SymFloat)):
            return UNKNOWN
        return value

    def _scalar(self, op: Op, operands: list[Any]) -> Any:
        """Return the result of an op over numbers."""
        if any(isinstance(v, Unknown) for v in _parts(operands)):
            return self.unknown(op.result.type)
        if not any(isinstance(v, (torch.SymInt, torch.SymBool, torch.SymFloat)) for v in _parts(operands)):
            try:
                return self.concrete.apply(op.name, operands, op.attrs)
            except Exception as error:  # such as that of a division by zero
                self.fail(error)
        try:
            if op.name in ("bool.not", "bool.to_int"):
                return torch.sym_not(operands[0]) if op.name == "bool.not" else self.unknown(INT)
            run = _EXTREMES.get(op.name) or reference(op.name)
            if run in _EXTREMES.values() or getattr(operator, getattr(run, "__name__", ""), None) is run:
                return run(*operands)
        except DEPENDS_ON_DATA:
            pass
        return self.unknown(op.result.type)


def _trip_count(start: Any, stop: Any, step: Any) -> Any:
    """Return how often a counted loop runs."""
    if all(isinstance(v, int) for v in (start, stop, step)):
        return len(range(start, stop, step))
    if not isinstance(step, int):
        raise CannotTell("the step of a loop is a symbol")
    span = stop - start if step > 0 else start - stop
    return torch.sym_max(span if abs(step) == 1 else (span + abs(step) - 1) // abs(step), 0)


def _parts(values: Sequence[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple):
            yield from _parts(value)
        else:
            yield value


def _note_step(loop: _Loop, path: Path, step: Any) -> None:
    """Note by how much an iteration increases a size. Steps that are no constants, or not equal, are none."""
    if not isinstance(step, int):
        step = step.node.maybe_as_int()
    known = path not in loop.steps or loop.steps[path] == step
    loop.steps[path] = step if known else None


def _differ(a: Any, b: Any) -> bool:
    """Return whether a joined value says less than the value before."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return any(_differ(x, y) for x, y in zip(a, b, strict=True))
    return type(a) is not type(b) and not is_number(b)


def _contents_differ(a: Items | Repeated, b: Items | Repeated) -> bool:
    if type(a) is not type(b):
        return True
    if isinstance(a, Items) and isinstance(b, Items):
        return len(a.values) != len(b.values) or _differ(a.values, b.values)
    assert isinstance(a, Repeated) and isinstance(b, Repeated)
    return _items_differ(a.item, b.item)


def _items_differ(a: Any, b: Any) -> bool:
    if isinstance(a, Varying) and isinstance(b, Varying):
        return any((x is None) != (y is None) for x, y in zip(a.sizes, b.sizes, strict=True))
    if isinstance(a, tuple) and isinstance(b, tuple):
        return any(map(_items_differ, a, b))
    return type(a) is not type(b)
