"""Emitting IR: ops at the current point of the module, each with the source location of the current node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, NoReturn, TypeVar

from scriptc.frontend.reader.diagnostics import Diagnostics
from scriptc.frontend.reader.errors import Terminated
from scriptc.frontend.reader.position import Position
from scriptc.frontend.values.element_types import is_union
from scriptc.ir.analysis import is_fresh, shares_memory
from scriptc.ir.builder import Builder
from scriptc.ir.core import Attr, Block, Module, Op, Value
from scriptc.ir.dtypes import COMPLEX, INEXACT
from scriptc.ir.opdef import TypeRuleError
from scriptc.ir.ops import OPS
from scriptc.ir.types import COMPLEX as COMPLEX_NUMBER
from scriptc.ir.types import OptionalType, TensorType, type_variables

# Ops that write their first operand, and the checks of such writes.
_WRITES = {name for name, row in OPS.items() if "tensor" in row.writes and row.args and row.args[0].name == "dst"}
_WRITES |= {"check.store", "check.overlap"}
_Made = TypeVar("_Made")


class GradModeSet(NamedTuple):
    """Represent the result of torch.set_grad_enabled(), which as a context manager switches back.

    before: whether grad mode was on. enabled: whether the call switched it on.
    """

    before: bool
    enabled: bool


class Emitter:
    """Build the ops of one module. `body` is the block of its entry function.

    calls_record: returns whether autograd records calls, and guards that it does.
    """

    def __init__(
        self, module: Module, position: Position, diagnostics: Diagnostics, calls_record: Callable[[], bool]
    ) -> None:
        self.calls_record = calls_record
        self.module = module
        self.position = position
        self.diagnostics = diagnostics
        self.body = Block()
        self.builder = Builder(self.body)
        self._labels = 0

    def fresh_label(self) -> str:
        self._labels += 1
        return f"L{self._labels}"

    def const(self, value: Attr) -> Value:
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            self.diagnostics.reject("int_of_more_than_64_bits")
        return self.builder.const(value, self.position.loc)

    def build(self, name: str, operands: Sequence[Value], /, hint: str = "", **attrs: Attr) -> Value:
        """Build an op of one result. An error of its type rule becomes eager's error, raised at run time."""
        return self.build_op(name, operands, hint, **attrs).result

    def build_op(self, name: str, operands: Sequence[Value], /, hint: str = "", **attrs: Attr) -> Op:
        """Build an op of any number of results, as `build` does."""
        types = [v.type for v in operands]
        if any(isinstance(t, TensorType) and t.dtype in COMPLEX for t in types) and not OPS[name].takes_complex:
            self.diagnostics.reject("complex_kernel", name=name)
        if COMPLEX_NUMBER in types and "ELEMENTWISE" not in OPS[name].traits:
            self.diagnostics.reject("complex_number")
        try:
            return self.builder.op(name, operands, self.position.loc, names=[hint] if hint else [], **attrs)
        except TypeRuleError as e:
            parts = [part for t in types for part in (t, *(c.find().type for c in type_variables(t)))]
            if any(is_union(part) or isinstance(part, OptionalType) for part in parts):
                self.diagnostics.reject("container_of_several_used", why=e)
            self.raise_error("RuntimeError", str(e))

    def effect(self, name: str, operands: Sequence[Value], /, **attrs: Attr) -> Op:
        """Build an op without results. A write to a tensor is preceded by a check that autograd allows it."""
        if name in _WRITES and not self.builder.no_grad:
            self.check_leaf(operands[0])
        return self.builder.op(name, operands, self.position.loc, **attrs)

    def raise_error(self, type: str, message: str) -> NoReturn:
        """Raise at run time. The statement always fails, but eager raises only when control reaches it."""
        if type == "StopIteration" and self.position.leaves_generator:
            type, message = "RuntimeError", "generator raised StopIteration"
        self.effect("raise", (), type=type, message=message)
        raise Terminated

    def check_leaf(self, dst: Value) -> None:
        """Raise if a leaf that requires grad, or a view of one, is written. The check is on the tensor behind all
        views."""
        root = dst
        while (op := root.op) is not None and shares_memory(root):
            if op.name == "alias":  # the tensor was detached
                return
            if op.name in ("with_data", "changed_argument"):
                root = op.operands[1]
                dst = root if op.result is dst else dst
                continue
            if op.name in ("leaf", "leaf_argument"):
                if op.attrs.get("requires_grad", True):
                    self._write_to_leaf(view=root is not dst)
                return
            root = op.operands[0]
        if not isinstance(root.type, TensorType) or root.type.dtype not in INEXACT or is_fresh(root):
            return
        view = root is not dst
        before = self.builder.block.ops[-3:]  # the checks of one write are adjacent ops
        if not any(o.name == "check.leaf" and o.operands[0] is root and o.attrs["view"] == view for o in before):
            self.builder.op("check.leaf", [root], self.position.loc, view=view)

    def _write_to_leaf(self, *, view: bool) -> None:
        """Raise that a leaf is written which compiled code made, in calls in grad mode."""
        if self.calls_record():
            what = "a view of a" if view else "a"
            self.raise_error("RuntimeError", f"{what} leaf Variable that requires grad is being used in an in-place operation.")

    def check_detached(self, tensor: Value, message: str) -> None:
        """Raise RuntimeError if a tensor requires grad. A detached tensor does not."""
        root = tensor
        while (op := root.op) is not None and shares_memory(root):
            if op.name == "alias":
                return
            root = op.operands[0]
        self.builder.op("check.detached", [tensor], self.position.loc, message=message)

    @contextmanager
    def grad_mode(self, enabled: bool) -> Iterator[None]:
        """Build code that eager runs in this grad mode. Without it, new tensors require no grad and leaves may be written."""
        saved, self.builder.no_grad = self.builder.no_grad, not enabled
        try:
            yield
        finally:
            self.builder.no_grad = saved

    def set_grad_mode(self, enabled: bool) -> GradModeSet:
        """Build the following code as eager runs it in this grad mode."""
        made = GradModeSet(not self.builder.no_grad, enabled)
        self.builder.no_grad = not enabled
        return made

    def at_entry(self, make: Callable[[], _Made]) -> _Made:
        """Build ops at the start of the entry, within the context."""
        saved = self.builder
        self.builder = Builder.before(self.body.ops[0]) if self.body.ops else Builder(self.body)
        try:
            return make()
        finally:
            self.builder = saved
