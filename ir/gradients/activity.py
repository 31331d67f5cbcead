"""Find the values through which gradients flow from the inputs of a function to its outputs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from scriptc.ir.analysis import holds, roots
from scriptc.ir.core import Block, Func, Op, Value
from scriptc.ir.dtypes import INEXACT
from scriptc.ir.gradients.detached import is_detached, writes_tensor
from scriptc.ir.gradients.rules import is_constant, parts_of_call, written_by
from scriptc.ir.regions import region_argument_of, region_arguments
from scriptc.ir.types import CellType, ListType, OptionalType, TensorType, TupleType, Type

PARTIAL_VIEWS = frozenset({"select", "slice", "diagonal", "split", "chunk", "unbind"})
_CUTS = frozenset({"alias", "linked", "leaf", "leaf_argument", "with_data"})  # views without the gradients of what they view
_STEPS = frozenset({"ceil", "floor", "floor_div", "round", "sign", "trunc", "trunc_div"})  # autograd gives zeros for them
VIEWS = PARTIAL_VIEWS | {"transpose", "permute", "unsqueeze", "squeeze", "view"}


def carries(t: Type) -> bool:
    """Return whether values of a type may carry gradients."""
    if isinstance(t, TensorType):
        return t.dtype in INEXACT
    if isinstance(t, ListType):
        return carries(t.elem)
    if isinstance(t, (OptionalType, CellType)):
        return carries(t.item)
    if isinstance(t, TupleType):
        return any(map(carries, t.items))
    return holds(t, "tensor")  # dicts and objects, which backward code refuses


def root_of(value: Value) -> Value:
    """Return the tensor that a tensor is a view of, by ops whose view of a gradient is the gradient of the view."""
    while (parent := viewed(value)) is not None:
        value = parent
    return value


def viewed(value: Value) -> Value | None:
    """Return the tensor, or the tuple of views, from which one op of `VIEWS` makes a view."""
    op = value.op
    if op is None or not op.operands:
        return None
    if op.name in VIEWS:
        return op.operands[0]
    if op.has("FETCHES") and isinstance(op.operands[0].type, ListType):
        parts = op.operands[0].op
        return op.operands[0] if parts is not None and parts.name in VIEWS else None
    return None


class Written:
    """The tensors that a function writes to, by any alias."""

    def __init__(self, func: Func):
        self.writers = [op for op in func.body.walk() if "tensor" in op.defn.writes and op.operands]
        self.roots = {r for op in self.writers for r in _roots_of_memory(op.operands[0])}
        self.anything = any(not isinstance(r.type, TensorType) for r in self.roots)  # an item of a container

    def __contains__(self, value: Value) -> bool:
        """Return whether a tensor may be written to."""
        return bool(self.roots) and (self.anything or not self.roots.isdisjoint(_roots_of_memory(value)))


def _roots_of_memory(value: Value) -> set[Value]:
    """Return the values that may have made the memory of a tensor, also of one of several views that an op made together."""
    found, seen, todo = set[Value](), set[Value](), [value]
    while todo:
        for root in roots(todo.pop()) - seen:
            seen.add(root)
            if root.op is not None and root.op.has("VIEW") and root.op.operands:
                todo.append(root.op.operands[0])
            else:
                found.add(root)
    return found


class Flow:
    """The steps by which gradients may flow between the values of blocks: from operands to results, and to what is written.

    with_zeros: also gradients that are zero everywhere, such as those of `sign`. Autograd gives zeros then, not None.
    """

    def __init__(self, blocks: Iterable[Block], *, with_zeros: bool = False):
        self.with_zeros = with_zeros
        self.ahead: dict[Value, set[Value]] = defaultdict(set)
        self.back: dict[Value, set[Value]] = defaultdict(set)
        for block in blocks:
            for op in block.walk():
                self._add(op)

    def _add(self, op: Op) -> None:
        if op.regions:
            self._add_regions(op)
        elif op.name == "user_gradient":
            results, sources, _ = parts_of_call(op)
            for source in sources:
                for result in results:
                    self._step(source, result)
            for written in written_by(op):
                self._share(written)
        elif op.name == "leaf" and not op.attrs["requires_grad"]:
            return
        elif op.has("TERMINATOR") or (op.no_grad and writes_tensor(op)):
            return
        elif is_constant(op) and not (self.with_zeros and op.name in _STEPS and not op.no_grad):
            return
        elif op.defn.writes & {"tensor", "list", "cell"} and op.operands:
            for result in op.results:
                self._step(op.operands[0], result)
            written = op.operands[0]
            for source in op.operands[1:]:
                self._step(source, written)
            self._share(written)
        else:
            for result in op.results:
                if not is_detached(result):
                    for source in op.operands:
                        self._step(source, result)

    def _share(self, written: Value) -> None:
        """Let gradients flow between a tensor that is written and those that it is a view of, and into all that may hold it."""
        first = written
        while (parent := _aliased(written)) is not None:
            self._step(written, parent)
            self._step(parent, written)
            written = parent
        for holder in holders(first):
            self._step(first, holder)

    def _add_regions(self, op: Op) -> None:
        for argument in region_arguments(op):
            for user, i in argument.into_inner:
                if argument.inner is not None:
                    self._step(user.operands[i], argument.inner)
            for user, i in argument.into_result:
                if argument.result is not None:
                    self._step(user.operands[i], argument.result)

    def _step(self, source: Value, to: Value) -> None:
        if source is not to and carries(source.type) and carries(to.type):
            self.ahead[source].add(to)
            self.back[to].add(source)

    def sources(self, values: Iterable[Value]) -> set[Value]:
        """Return the values that `values` depend on, and themselves."""
        return _reached(values, self.back)

    def dependents(self, values: Iterable[Value]) -> set[Value]:
        """Return the values that depend on `values`, and these themselves."""
        return _reached(values, self.ahead)

    def between(self, inputs: Iterable[Value], outputs: Iterable[Value]) -> set[Value]:
        """Return the values that depend on `inputs` and on which `outputs` depend."""
        return self.dependents(inputs) & self.sources(outputs)


def takes_gradients(user: Op, active: Collection[Value]) -> bool:
    """Return whether gradients may flow from an op to its operands."""
    if user.name == "return":  # the results whose gradients are taken are ends
        return False
    passes_on = user.regions or user.defn.writes or user.has("TERMINATOR") or user.name == "user_gradient"
    return bool(passes_on) or any(r in active for r in user.results)


def holders(written: Value) -> set[Value]:
    """Return the values that a write to a value changes, too, since they may be the same object or contain it.

    These are the values that it may be, what it is a view or a part of, and what was put into such containers.
    """
    found, todo = set[Value](), [written]
    while todo:
        value = todo.pop()
        held = [] if value is written or isinstance(value.type, TensorType) else _put_into(value)
        for holder in (*_wholes(value), *held):
            if holder not in found and holder is not written:
                found.add(holder)
                todo.append(holder)
    return found


def _wholes(value: Value) -> list[Value]:
    """Return the values that a value may be, or that its op takes it from."""
    argument = region_argument_of(value)
    if argument is not None:
        return [op.operands[i] for op, i in (argument.into_inner if value is argument.inner else argument.into_result)]
    op = value.op
    if op is None or not op.operands or is_detached(value) or op.name in _CUTS:
        return []
    return [op.operands[0]] if op.has("FETCHES") or op.has("VIEW") else []


def _put_into(container: Value) -> list[Value]:
    """Return what the op that makes a container, and those that change it, put there."""
    found = list(container.op.operands) if container.op is not None and container.op.has("ALLOCATES") else []
    for user in container.users():
        if user.defn.writes and user.operands[0] is container:
            found += user.operands[1:]
    return found


def blocks_behind(values: Iterable[Value]) -> set[Block]:
    """Return the blocks in which values, and all that they are computed from, are defined; the regions in them apart.

    Blocks of ops that are still being built are found as well.
    """
    seen, todo = set[Block](), [v.block for v in values]
    while todo:
        block = todo.pop()
        if block not in seen:
            seen.add(block)
            todo += [v.block for op in block.walk() for v in op.operands]
    return seen


def _aliased(value: Value) -> Value | None:
    """Return the tensor, or the tuple of views, of which a tensor is a view by any op that passes gradients on."""
    op = value.op
    if op is None or op.name in _CUTS:
        return None
    return op.operands[0] if op.operands and op.has("VIEW") else viewed(value)


def _reached(starts: Iterable[Value], edges: dict[Value, set[Value]]) -> set[Value]:
    seen: set[Value] = set()
    todo = [v for v in starts if carries(v.type)]
    while todo:
        value = todo.pop()
        if value not in seen:
            seen.add(value)
            todo += edges[value]
    return seen
