"""Read the `backward` of a user's `autograd.Function`: it becomes a function of the IR, which a `user_gradient` names.

A `backward` is read by a reader of its own, when the reading of the entry has ended, so that it changes nothing in the code of
forward. Guards, tensors outside and dependencies that it finds are the entry's. If it cannot be compiled, the `user_gradient`
says why, at the line: forward still runs.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import fields
from types import FunctionType
from typing import Any

import torch

from scriptc.frontend.environment.environment import Environment
from scriptc.frontend.environment.host_objects import dtype_name
from scriptc.frontend.environment.watching import watch_class_attribute
from scriptc.frontend.library.torch.custom_functions_decomposed import BackwardContext
from scriptc.frontend.operations import autocast
from scriptc.frontend.operations.carried_values import leaves_of, rebuilt
from scriptc.frontend.operations.casts import cast_to
from scriptc.frontend.operations.gradient_sizes import summed_to
from scriptc.frontend.operations.materialize import make_tuple, wrap
from scriptc.frontend.operations.scalars import new_filled
from scriptc.frontend.reader.assumptions import Assumptions
from scriptc.frontend.reader.errors import NeedsKnown, Poisoned, Restart, Terminated, UserError
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.reader import EntryReader
from scriptc.frontend.reader.user_gradients import UserGradient
from scriptc.frontend.values.abstract import AbstractValue, Known, ObjectValue, Poison, RuntimeValue
from scriptc.frontend.values.alternatives import split
from scriptc.frontend.values.frame import Frame
from scriptc.frontend.values.predicates import is_none, is_tensor, tensor_type
from scriptc.frontend.values.structure import sequence_items
from scriptc.frontend.values.verbs import describe, materialize
from scriptc.ir.analysis import is_fresh
from scriptc.ir.core import Func, Module, Value
from scriptc.ir.dtypes import INEXACT
from scriptc.ir.errors import Diagnostic
from scriptc.ir.gradients.detached import is_detached
from scriptc.ir.gradients.inside import ASKS, asks_for_gradients
from scriptc.ir.loc import Loc
from scriptc.ir.types import BOOL, INT, OptionalType, TensorType, Type

_MAX_READINGS = 20
_GIVEN = ("saved", "held", "extent")  # arguments whose numbers count the last operands of the `user_gradient`
_ONCE = torch.autograd.function.once_differentiable(lambda ctx: None).__code__  # of all functions that it makes


class _Refused(Exception):
    """Say that a `backward` cannot be compiled. loc: the place, if not the call of `apply`."""

    def __init__(self, message: str, loc: Loc | None = None):
        self.message = message
        self.loc = loc
        super().__init__(message)


def read_backward_functions(reader: Reader) -> None:
    """Read the `backward` of each call of `apply` in the code that a reading has built.

    Code that is built ahead of time has no gradients but those that it asks for itself.
    """
    if not reader.user_gradients or reader.state.ahead and not asks_for_gradients(reader.emit.module):
        return
    present = set(reader.emit.module.walk())
    for call in reader.user_gradients:
        if call.op in present:
            _attach(reader, call)


def _attach(reader: Reader, call: UserGradient) -> None:
    """Add the function that computes the gradients of a call to the module, or the reason why there is none."""
    op = call.op
    given = op.operands[op.attrs["results"] + op.attrs["sources"] :]
    given_from = len(op.operands) - len(given)
    try:
        taken, gives, func = _read(reader, call)
    except _Refused as e:
        op.attrs["refused"] = e.message or "its backward cannot be compiled"
        op.loc = e.loc or op.loc
        op.set_operands(op.operands[:given_from])
        return
    numbers = [int(number) for kind, number, *_ in map(str.split, taken) if kind in _GIVEN]
    order = {number: i for i, number in enumerate(dict.fromkeys(numbers))}
    op.set_operands([*op.operands[:given_from], *(given[number] for number in order)])
    op.attrs["takes"] = tuple(_renumbered(take, order) for take in taken)
    op.attrs["gives"] = tuple(gives)
    op.attrs["backward"] = func.name
    reader.emit.module.funcs[func.name] = func


def _renumbered(take: str, order: dict[int, int]) -> str:
    kind, number, *rest = take.split()
    return " ".join((kind, str(order[int(number)]) if kind in _GIVEN else number, *rest))


def _backward_of(reader: Reader, function: type[torch.autograd.Function]) -> FunctionType:
    """Return the function that computes gradients: `backward` or `vjp`."""
    base = torch.autograd.Function
    for name in ("backward", "vjp"):
        watch_class_attribute(reader, function, name)
    if function.vjp is not base.vjp and function.backward is not base.backward:
        raise _Refused(f"{function.__name__} has a backward and a vjp")
    found: Any = function.backward if function.vjp is base.vjp else function.vjp
    if found is base.backward:
        raise _Refused(f"{function.__name__} has no backward")
    if getattr(found, "__code__", None) is _ONCE:
        found = inspect.unwrap(found)
    if not isinstance(found, FunctionType):
        raise _Refused(f"the backward of {function.__name__} is no Python function")
    return found


def _read(reader: Reader, call: UserGradient) -> tuple[list[str], list[int], Func]:
    """Return the names of the arguments of the read function, the sources whose gradients it returns, and the function.

    Raises _Refused.
    """
    assume = Assumptions(changing=reader.assumptions.changing)
    for _ in range(_MAX_READINGS):
        inner = _reader(reader, assume)
        try:
            found = _Reading(inner, call).run()
        except Restart:
            if assume.state or assume.changed:
                reason = assume.reasons[-1]
                raise _Refused(f"its backward changes an object outside: {reason.text}", reason.loc) from None
            continue
        if len(inner.environment.values) > len(reader.environment.values):
            raise _Refused("its backward reads a number outside that changes between calls")
        if inner.emit.module.records != reader.emit.module.records:
            raise _Refused("its backward makes objects that exist at run time")
        _keep(reader, inner)
        return found
    raise _Refused("the reading of its backward does not end")


def _reader(outer: Reader, assume: Assumptions) -> EntryReader:
    """Return a reader that begins with the guards, weights and names that another one has found."""
    default = dtype_name(torch.get_default_dtype())
    assert default is not None
    module = outer.emit.module
    made = Module(module.name, dict(module.funcs), dict(module.params), [], dict(module.exceptions), dict(module.records))
    inner = EntryReader(made, assume, default)
    inner.environment = copy(outer.environment)
    for each in fields(Environment):
        if each.name != "dtype":
            setattr(inner.environment, each.name, copy(getattr(outer.environment, each.name)))
    inner.position.stack_left = outer.position.stack_left
    inner.recursion.named = outer.recursion.named
    inner.kinds = outer.kinds
    inner.state.slots = outer.state.slots
    inner.heap.contents.update({slot.ident: Poison() for slot in outer.state.slots.values()})
    return inner


def _keep(outer: Reader, inner: Reader) -> None:
    """Add to a reader what a reading of a `backward` has found."""
    for each in fields(Environment):
        setattr(outer.environment, each.name, getattr(inner.environment, each.name))
    found, module = inner.emit.module, outer.emit.module
    module.funcs, module.params, module.exceptions = found.funcs, found.params, found.exceptions
    outer.recursion.named = inner.recursion.named


class _Reading:
    """One reading of a `backward`. arguments: those of the function of the IR, by their names in `takes`."""

    def __init__(self, reader: EntryReader, call: UserGradient):
        self.reader = reader
        self.call = call
        self.name = f"{call.function.__name__}Backward"
        self.body = reader.emit.body = reader.emit.builder.block
        self.arguments: dict[str, Value] = {}

    def run(self) -> tuple[list[str], list[int], Func]:
        reader = self.reader
        around = self.call.frame
        reader.position.frames.append(Frame(around.source, around.func, around.inlined_at))
        reader.position.node = self.call.node
        try:
            backward = _backward_of(reader, self.call.function)
            with reader.emit.grad_mode(False), autocast.within(reader, None):  # backward runs outside of it
                gives, values = self.gradients(backward)
                reader.emit.builder.op("return", values, reader.position.loc)
        except (UserError, NeedsKnown) as e:
            reader.diagnostics.report(e if isinstance(e, UserError) else e.error)
            self.refuse_errors()
        except Poisoned:
            reader.diagnostics.poisoned = True
            self.refuse_errors()
        except Terminated:
            self.refuse_errors()
            raised = next((op for op in reversed(list(self.body.walk())) if op.name == "raise"), None)
            what = f" {raised.attrs['type']}" if raised is not None else " an exception"
            what += f": {raised.attrs['message']}" if raised is not None and not raised.operands else ""
            raise _Refused(f"its backward raises{what}", raised.loc if raised is not None else None) from None
        except (_Refused, Restart):
            raise
        except Exception as e:  # forward must not fail
            raise _Refused(f"internal error in scriptc: {type(e).__name__}: {e}", reader.position.loc_of_fault(e)) from e
        self.refuse_errors()
        reader.speculation.settle()
        if any(not self.body.encloses(v.block) for op in self.body.walk() for v in op.operands):
            raise _Refused("its backward reads a variable of the code around it")
        if (asking := next((op for op in self.body.walk() if op.name == ASKS), None)) is not None:
            raise _Refused("its backward calls torch.autograd.grad()", asking.loc)
        for name, value in list(self.arguments.items()):
            if not value.uses:
                self.body.args.remove(self.arguments.pop(name))
        for op in self.body.walk():
            op.no_grad = False  # no gradients flow through backward code, so that passes need not know
        loc = Loc(backward.__code__.co_filename, backward.__code__.co_firstlineno)
        return list(self.arguments), gives, Func(self.fresh_name(), self.body, [v.type for v in values], loc)

    def refuse_errors(self) -> None:
        """Refuse a `backward` with an error, unless the reading is outdated, which ends it."""
        if self.reader.speculation.outdated:
            self.reader.speculation.settle()
        found: list[Diagnostic] = self.reader.diagnostics.errors
        if found:
            raise _Refused(found[0].message + (f"; {found[0].hint}" if found[0].hint else ""), found[0].loc)
        if self.reader.diagnostics.poisoned:
            raise _Refused("its backward reads an attribute that the compiled code sets")  # `_reader` gave it no value

    def fresh_name(self) -> str:
        name = wanted = f"{self.call.function.__name__}.backward"
        count = 0
        while name in self.reader.emit.module.funcs:
            count += 1
            name = f"{wanted}{count}"
        return name

    def argument(self, name: str, t: Type) -> Value:
        value = Value(t, self.body, name.replace(" ", "_"))
        self.body.args.append(value)
        self.arguments[name] = value
        return value

    def gradients(self, backward: FunctionType) -> tuple[list[int], list[Value]]:
        """Call `backward`; return the sources whose gradients it returns, and the gradients."""
        reader, call = self.reader, self.call
        grads = list(self.cotangents())
        context = self.context()
        before = dict(reader.items_of(context))
        found = reader.call(Known(backward), [context, *grads], {})
        self.refuse_errors()
        after = reader.items_of(context)
        if any(after.get(name) is not av for name, av in before.items()) or len(after) > len(before):
            raise _Refused("its backward changes attributes of ctx")
        items = sequence_items(found)
        gradients = [found] if items is None else items
        wanted = len(call.inputs)
        while len(gradients) > wanted and is_none(gradients[-1]):
            gradients.pop()
        if len(gradients) != wanted:
            reader.emit.raise_error("RuntimeError", f"function {self.name} returned an incorrect number of gradients "
                                    f"(expected {wanted}, got {len(gradients)})")  # fmt: skip
        gives: list[int] = []
        values: list[Value] = []
        numbers = iter(range(wanted))
        for i, (given, gradient) in enumerate(zip(call.inputs, gradients, strict=True)):
            number = next(numbers) if _has_gradient(given) else None
            if number is not None and not is_none(gradient):
                gives.append(number)
                values.append(materialize(reader, self.converted(i, number, given, gradient)))
        return gives, values

    def cotangents(self) -> Iterator[AbstractValue]:
        """Yield the gradients of the outputs, as `backward` gets them."""
        call, reader = self.call, self.reader
        others = itertools.count(sum(1 for av in (*call.saved, *call.attributes.values()) for _ in leaves_of(av)))
        for output, number in zip(call.outputs, call.numbers, strict=True):
            if not is_tensor(output):
                yield Known(None)
                continue
            t = tensor_type(output)
            if number is not None:
                argument = self.argument(f"gradient {number}", t if call.materializes else OptionalType(t))
                yield wrap(reader, argument)
                continue
            other = next(others)
            yield new_filled(reader, self.sizes(t, f"extent {other}"), Known(0), t.dtype) if call.materializes else Known(None)

    def context(self) -> ObjectValue:
        """Return the `ctx`, with the attributes that forward set."""
        reader, call, number = self.reader, self.call, 0
        context = ObjectValue(BackwardContext)
        numbers = iter(range(len(call.inputs)))
        needs: list[AbstractValue] = [
            RuntimeValue(self.argument(f"needs {next(numbers)}", BOOL)) if _has_gradient(given) else Known(False)
            for given in call.inputs
        ]
        saved: list[AbstractValue] = []
        for kind, avs, built in (("saved", call.saved, saved), ("held", call.attributes.values(), [])):
            for av in avs:
                leaves = []
                for value in leaves_of(av):
                    leaves.append(self.argument(f"{kind} {number}", value.type))
                    reader.kept_flags[leaves[-1]] = _requires_grad_when_kept(reader, value, call, needs)
                    number += 1
                built.append(rebuilt(reader, av, iter(leaves)))
        for name, av in zip(call.attributes, built, strict=True):
            reader.store_attribute(context, name, av)
        reader.store_attribute(context, "saved_tensors", make_tuple(saved))
        reader.store_attribute(context, "needs_input_grad", make_tuple(needs))
        return context

    def converted(self, index: int, number: int, given: AbstractValue, gradient: AbstractValue) -> AbstractValue:
        """Return a gradient with the sizes and the dtype of its input, as autograd converts it."""
        reader, t = self.reader, tensor_type(given)
        sizes = self.sizes(t, f"size {number}")

        def convert(av: AbstractValue) -> AbstractValue:
            if is_none(av):
                return new_filled(reader, sizes, Known(0), t.dtype)
            if not is_tensor(av):
                raise _Refused(f"its backward returns {describe(av)} as the gradient at index {index}")
            dims = tensor_type(av).dims
            if dims is None:
                raise _Refused(f"the rank of the gradient at index {index} is known only at run time")
            if dims != t.dims or None in dims:
                av = summed_to(reader, av, sizes, self.name, index)
            return cast_to(reader, av, t.dtype)

        return split(reader, gradient, convert)

    def sizes(self, t: TensorType, name: str) -> list[AbstractValue]:
        """Return the sizes of a tensor of the forward code. name: of the arguments that are the unknown ones."""
        dims = enumerate(t.dims or ())
        return [Known(n) if isinstance(n, int) else RuntimeValue(self.argument(f"{name} {d}", INT)) for d, n in dims]


def _requires_grad_when_kept(
    reader: Reader, value: Value, call: UserGradient, needs: Sequence[AbstractValue]
) -> AbstractValue | None:
    """Return `requires_grad` of a tensor that ctx holds, as `backward` reads it; None if it is not known.

    An input has the flag that `needs_input_grad` tells, and an output requires grad where `backward` runs.

    needs: `needs_input_grad`.
    """
    for output in (materialize(reader, av) for av in call.outputs if is_tensor(av)):
        if output is value or output.op is not None and output.op.name == "linked" and output.op.operands[0] is value:
            return Known(True)
    for given, flag in zip(call.inputs, needs, strict=True):
        if is_tensor(given) and materialize(reader, given) is value:
            return flag
    return Known(False) if is_detached(value) and is_fresh(value) else None


def _has_gradient(av: AbstractValue) -> bool:
    return is_tensor(av) and tensor_type(av).dtype in INEXACT
