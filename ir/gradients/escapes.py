"""Return each tensor that leaves a function in a container or in state as a result of its own, which takes a gradient.

    %p = tuple(%h, %c)                      %p = tuple(%h, %c)
    list.append(%states, %p)           =>   list.append(%escaped, %h)
                                            list.append(%escaped, %c)
                                            list.append(%states, %p)
    return(%states)                         return(%states, %escaped)

Backward code then has gradients of tensors and of lists of tensors alone, whatever holds a tensor when the function has
returned: a list of tuples, a dict, an object, an attribute outside. The caller finds the tensors in the results and in the
state, where they are the same objects. A value of the function's own block is a result itself, in place of an item of a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from scriptc.ir.analysis import may_be_undefined, roots
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Func, Op, Value
from scriptc.ir.gradients.activity import Flow, Written, carries
from scriptc.ir.gradients.lists import for_each
from scriptc.ir.gradients.order import runs_after
from scriptc.ir.gradients.rules import not_differentiable
from scriptc.ir.gradients.tensor_lists import TensorLists
from scriptc.ir.regions import defined_by, fed_values, region_argument_of
from scriptc.ir.types import Container, ListType, TensorType

_MAKERS = frozenset({"tuple", "list.new", "tuple.new", "object.new"})
_APPENDING = frozenset({"list.append", "list.len", "list.get", "list.at", "return"})


def has_gradient(value: Value) -> bool:
    """Return whether a result of a function takes a gradient: a tensor, or a list of tensors that is appended to alone."""
    if isinstance(value.type, TensorType):
        return carries(value.type)
    if not isinstance(value.type, ListType) or not isinstance(value.type.elem, TensorType) or not carries(value.type):
        return False
    return value.op is not None and value.op.name == "list.new" and all(op.name in _APPENDING for op in value.users())


def find(func: Func, inputs: Iterable[Value], label: Callable[[], str]) -> list[Value]:
    """Return the tensors that depend on `inputs` and escape in containers or in state, and lists of them.

    label: gives fresh labels to the loops that are built.

    Raises CompileError where an escaping tensor may be written later, or has no known rank.
    """
    last = func.body.ops[-1]
    setters = [op for op in func.body.walk() if op.name == "state.set"]
    held = [v for op in (*setters, last) for v in op.operands if op is not last or not has_gradient(v)]
    held += [arg for arg in func.body.args if isinstance(arg.type, Container)]
    flow = Flow([func.body])
    escapes = _Escapes(func, flow.dependents(inputs), label)
    for op in setters:
        escapes.add_operands(op, op.operands)
    containers = _containers(held, flow)
    for value in (*func.body.args, *defined_by(func.body.walk())):  # in the order of the program, alike in all processes
        if value in containers:
            escapes.add_items(value)
    return escapes.results()


def _containers(values: Iterable[Value], flow: Flow) -> set[Value]:
    """Return values that may hold tensors when the function has returned, under all names under which they are changed."""
    seen, todo = set[Value](), list(values)
    while todo:
        value = todo.pop()
        if value in seen or isinstance(value.type, TensorType) or not carries(value.type):
            continue
        seen.add(value)
        todo += flow.back[value]
        for (_, i), op in value.uses.items():
            if op.has("FETCHES"):
                todo += op.results
            todo += fed_values(op, i)
    return seen


class _Escapes:
    """The tensors of one function that escape.

    active: the values that depend on an input. own: those of the function's own block. lists: by dtype and rank, the lists of
    the others.
    """

    def __init__(self, func: Func, active: set[Value], label: Callable[[], str]):
        self.func = func
        self.active = active
        self.label = label
        self.written = Written(func)
        self.returned = set(func.body.ops[-1].operands)
        self.own: dict[Value, None] = {}
        self.lists = TensorLists(func, "escaped")
        self.done: dict[Value, list[Block]] = {}

    def results(self) -> list[Value]:
        return [*self.own, *self.lists.values()]

    def add_items(self, container: Value) -> None:
        """Add the tensors that go into a container."""
        made = container.op
        if made is not None and made.name in _MAKERS:
            self.add_operands(made, made.operands)
        elif made is not None and not made.regions and any(self._depends(v) for v in made.operands):
            self._add_parts(made, container)
        for user in container.users():
            if "list" in user.defn.writes and user.operands[0] is container:
                self.add_operands(user, user.operands[1:])
        argument = region_argument_of(container)
        for op, i in (*argument.into_inner, *argument.into_result) if argument is not None else ():
            self.add_operands(op, [op.operands[i]])

    def add_operands(self, op: Op, operands: Iterable[Value]) -> None:
        """Add those of the operands of an op that are tensors."""
        for value in operands:
            if self._escapes(value):
                self._add(value, op)

    def _escapes(self, value: Value) -> bool:
        """Return whether a value is a tensor that depends on an input, and is none."""
        is_input = value.op is None and value.block.parent is None or value.op is not None and value.op.name == "param"
        return self._depends(value) and not is_input

    def _depends(self, value: Value) -> bool:
        """Return whether a value is a tensor that depends on an input, or is one."""
        return isinstance(value.type, TensorType) and value in self.active

    def _add(self, value: Value, op: Op) -> None:
        """Add a tensor that `op` puts into a container or into state."""
        if value.block is self.func.body and not may_be_undefined(value, ()):
            if value not in self.returned:
                self.own[value] = None
            return
        assert op.parent is not None
        done = self.done.setdefault(value, [])
        if any(block.encloses(op.parent) for block in done):
            return
        done.append(op.parent)
        self._refuse_later_writes(value, op)
        into = self.lists.of(value.type, op)  # first: it inserts an op, which moves `op`
        Builder.before(op).op("list.append", [into, value], op.loc)

    def _add_parts(self, made: Op, parts: Value) -> None:
        """Add all tensors of a list that an op of a tensor made, such as `chunk`."""
        if not isinstance(parts.type, ListType) or made.parent is None:
            raise not_differentiable(made, f"what `{made.name}` puts into a container")
        if parts in self.done:
            return
        self.done[parts] = [made.parent]
        self._refuse_later_writes(parts, made)
        loc, elem, into = made.loc, parts.type.elem, self.lists.of(parts.type.elem, made)

        def add_part(inner: Builder, k: Value) -> None:
            part = inner.op("list.at", [parts, k], loc, types=[elem]).result
            inner.op("list.append", [into, part], loc)

        for_each(self.label, Builder.after(made), parts, loc, add_part)

    def _refuse_later_writes(self, value: Value, op: Op) -> None:
        """Refuse a tensor that may be written when it has been put into a container: its gradient is that of its end."""
        if value not in self.written:
            return
        pairs = [(w, r) for w in self.written.writers for r in roots(w.operands[0]) & roots(value)]
        if self.written.anything or not all(runs_after(op, writer, root) for writer, root in pairs):
            raise not_differentiable(op, "a tensor in a container or in state that is written later", "store a clone of it")
