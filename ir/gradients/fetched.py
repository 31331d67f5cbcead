"""Make each tensor that a function takes out of a nested container among its arguments an input, which has a gradient.

    %p = list.get(%pairs, %i)              %p = list.get(%pairs, %i)
    %h = tuple.get(%p, 0)            =>    %h = tuple.get(%p, 0)
    ...                                    list.append(%fetched, %h)
    return(%y)                             ...
                                           return(%y, %fetched)

Backward code appends the gradient of `%h` to a list of its own where it comes to that append. So that list holds the gradients
of the tensors in `%fetched` in the opposite order, whatever has changed the containers since. The caller finds the tensors in
its arguments, where they are the same objects.

A leaf that the function makes and hands out, such as an nn.Parameter, is an input in the same way: the caller gets the object.

An op that reads a whole list of tensors, such as `stack`, reads a copy that is made item by item.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from scriptc.ir.builder import Builder
from scriptc.ir.core import Func, Op, Value
from scriptc.ir.gradients.activity import carries
from scriptc.ir.gradients.lists import for_each
from scriptc.ir.gradients.rules import not_differentiable
from scriptc.ir.gradients.tensor_lists import TensorLists
from scriptc.ir.regions import fed_values
from scriptc.ir.types import ListType, TensorType, Type, list_of


def is_nested(t: Type) -> bool:
    """Return whether values of a type are containers whose tensors become inputs: others than lists of tensors."""
    return not isinstance(t, TensorType) and not _is_list_of_tensors(t)


class Fetched:
    """The tensors that a function takes out of containers, and the leaves that it hands out.

    label: gives fresh labels to the loops that are built. tensors: these tensors, with the ops that append them. lists: the
    lists to which the function appends them.
    """

    def __init__(self, func: Func, containers: Iterable[Value], label: Callable[[], str]):
        self.func = func
        self.label = label
        self.tensors: dict[Value, Op] = {}
        self.lists = TensorLists(func, "fetched")
        self._seen: set[Value] = set()
        self._todo = list(containers)
        while self._todo:
            container = self._todo.pop()
            if container not in self._seen:
                self._seen.add(container)
                for (_, i), user in list(container.uses.items()):
                    self._add_user(container, user, i)

        for op in [op for op in func.body.ops if _leaves_the_call(op)]:
            self._add(op.result, op)

    def _add_user(self, container: Value, user: Op, index: int) -> None:
        """Add the tensors that an op takes out of a container, or let the op read copies of them."""
        self._todo += fed_values(user, index)
        into = user.operands[0] if "list" in user.defn.writes and index else None
        found = [r for r in user.results if carries(r.type)] if not user.regions else []
        made = found if into is None else [into]
        if _is_list_of_tensors(container.type) and not user.has("FETCHES") and any(map(_needs_gradients, made)):
            user.set_operand(index, self._copy(container, user))
            return
        for result in found:
            if not isinstance(result.type, TensorType):
                self._todo.append(result)
            elif not user.has("FETCHES"):
                raise not_differentiable(user, f"`{user.name}` of a nested container")
            elif result not in self.tensors:
                self._add(result, user)
        if into is not None:
            self._todo.append(into)

    def _add(self, tensor: Value, op: Op) -> None:
        """Add a tensor that `op` takes out of a container."""
        into = self.lists.of(tensor.type, op)  # first: it inserts an op
        self.tensors[tensor] = Builder.after(op).op("list.append", [into, tensor], op.loc)

    def _copy(self, items: Value, op: Op) -> Value:
        """Return a copy of a list of tensors, made in front of `op`."""
        assert isinstance(items.type, ListType)
        elem, loc = items.type.elem, op.loc
        self.lists.of(elem, op)  # first: it inserts an op
        builder = Builder.before(op)
        made = builder.op("list.new", [], loc, types=[list_of(elem)]).result

        def copy_item(inner: Builder, k: Value) -> None:
            get = inner.op("list.at", [items, k], loc, types=[elem])
            self._add(get.result, get)
            inner.op("list.append", [made, get.result], loc)

        for_each(self.label, builder, items, loc, copy_item)
        return made

    def drop_inactive(self, active: Collection[Value]) -> None:
        """Append no tensor that has no gradient.

        Raises CompileError for one from a container that may hold tensors that the function computes, since it may be such.
        """
        for tensor, append in list(self.tensors.items()):
            made = tensor.op
            if tensor in active and made is not None and made.name != "leaf" and made.operands[0] in active:
                raise not_differentiable(made, "a tensor from a container that may hold computed tensors, too",
                                         "put those into another container")  # fmt: skip
            if tensor not in active:
                append.erase()
                del self.tensors[tensor]


def _needs_gradients(value: Value) -> bool:
    """Return whether what an op made of a list of tensors, or put it into, has gradients of its own.

    That is a tensor, or a list of tensors that changes.
    """
    changes = _is_list_of_tensors(value.type) and any("list" in u.defn.writes and u.operands[0] is value for u in value.users())
    return isinstance(value.type, TensorType) or changes


def _leaves_the_call(op: Op) -> bool:
    """Return whether an op makes a leaf that requires grad and that the caller gets, beside what depends on the leaf."""
    is_leaf = op.name == "leaf" and bool(op.attrs["requires_grad"])
    return is_leaf and any(user.name in ("return", "state.set") for user in op.result.users())


def _is_list_of_tensors(t: Type) -> bool:
    return isinstance(t, ListType) and isinstance(t.elem, TensorType)
