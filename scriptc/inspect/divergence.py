"""Find the first source line whose value differs between compiled C and the IR interpreter.

The function is compiled once more with a trace. For each op, copies of its tensors are appended to a list, which is
returned beside the result. The interpreter runs the same IR on torch. The trace prevents fusions, so a difference that
only a fusion makes is not found.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from scriptc.backend_c.build import build_library
from scriptc.backend_c.emit import emit_program
from scriptc.dispatch.dispatcher import Dispatcher
from scriptc.driver.gradient_dependencies import Dependencies
from scriptc.driver.options import Options
from scriptc.driver.pipeline import differentiate_inside, run_passes
from scriptc.driver.target import Target
from scriptc.driver.variant import Variant
from scriptc.frontend.entry import Entry, read
from scriptc.frontend.environment import specs
from scriptc.inspect.snapshots import forked_generators
from scriptc.inspect.tensor_difference import difference
from scriptc.inspect.training_steps import Step
from scriptc.ir.analysis import draws_random_numbers, may_be_undefined
from scriptc.ir.builder import Builder
from scriptc.ir.core import Module, Op, Value
from scriptc.ir.gradients.inside import asks_for_gradients
from scriptc.ir.interp import Interpreter
from scriptc.ir.loc import Loc
from scriptc.ir.printer import print_module
from scriptc.ir.types import ListType, TensorType, list_of


@dataclass(frozen=True)
class Divergence:
    """The first value that differs: the `occurrence`-th value (from 0) of an op at `loc`.

    found: the difference in words.
    """

    loc: Loc
    op: str
    occurrence: int
    found: str

    def __str__(self) -> str:
        return (
            f"{self.loc}: {self.loc.text.strip()}\n  {self.op}, {self.found}, the {self.occurrence + 1}. time it runs"
        )


def locate(target: Target, args: Any, kwargs: Any, options: Options) -> Divergence | None:
    """Return the first divergence of compiled code from the interpreter, or None.

    args, kwargs: return fresh arguments, because both runs may write to them.
    """
    bound = target.bind(args(), kwargs())
    entry = read(target.func, target.receiver, bound, dynamic=options.dynamic, runs_hooks=target.runs_hooks)
    step = Step(entry if asks_for_gradients(entry.module) else None)
    differentiate_inside(entry.module, options)
    traced = _trace(entry.module)
    if not traced:
        return None
    lists = [value.type for _, value in traced]
    referee = _Referee(entry.module, {live.name: live.container[live.key] for live in entry.tensors})
    given = list(_leaves(entry, target.bind(args(), kwargs())))
    with step.mode(), torch.no_grad(), forked_generators():
        expected = referee.run(entry.module.entries[0], *given)[-len(traced) :]
    with step.mode(), forked_generators():
        actual = _run_compiled(entry, lists, target, options)(*args(), **kwargs())[1:]
    ops = {id(values): index for index, values in enumerate(expected)}
    seen = dict.fromkeys(range(len(traced)), 0)
    for appended in referee.appended:
        if (index := ops.get(appended)) is not None:
            count, op = seen[index], traced[index][0]
            seen[index] += 1
            if text := _differs(actual[index][count : count + 1], expected[index][count]):
                return Divergence(op.loc, op.name, count, text)
    return None


def _differs(actual: list[torch.Tensor], expected: torch.Tensor) -> str:
    """Return the difference in words, or "" if there is none."""
    if not actual:
        return "does not run in C"
    if actual[0].shape != expected.shape:
        return f"shape {list(actual[0].shape)} instead of {list(expected.shape)}"
    found = difference(actual[0], expected)
    return "" if found.close else f"max abs {found.max_abs:.3g} at {list(found.where or ())}"


def _trace(module: Module) -> list[tuple[Op, Value]]:
    """Rewrite the entry to return its trace. Returns (op, list) for each op that is traced."""
    func = module.funcs[module.entries[0]]
    ops = [op for op in func.body.walk() if len(op.results) == 1 and _is_traced(op)]
    first = Builder(func.body, 0)
    traced = []
    for op in ops:
        made = op.result.type
        assert isinstance(made, TensorType)
        elem = TensorType(made.dtype, (None,) * made.rank)
        record = first.op("list.new", (), op.loc, types=[list_of(elem)]).result
        assert op.parent is not None
        builder = Builder(op.parent, op.parent.ops.index(op) + 1)
        builder.op("list.append", (record, builder.build("clone", (op.result,), op.loc)), op.loc)
        traced.append((op, record))
    for op in func.body.walk():
        if op.name == "return":
            op.set_operands((*op.operands, *(record for _, record in traced)))
    func.results += [record.type for _, record in traced]
    return traced


def _is_traced(op: Op) -> bool:
    """Return whether the trace records an op.

    It records no weights, no views of tensors that it records, and no tensors that some paths leave undefined.
    """
    made = op.result.type
    if may_be_undefined(op.result, ()) or "cell" in op.defn.reads:
        return False
    return isinstance(made, TensorType) and made.dims is not None and op.name != "param" and not op.has("VIEW")


def _run_compiled(entry: Entry, lists: list[Any], target: Target, options: Options) -> Any:
    run_passes(entry.module, options)
    program = emit_program(entry.module)
    library = build_library(
        program.source, entry.module.name, optimize=options.optimize, debug=False, kernels=program.kernels
    )
    records = tuple(specs.ListSpec(_spec(list_type)) for list_type in lists)
    widened = replace(entry, result=specs.TupleSpec((entry.result, *records)))
    dispatcher = Dispatcher(target, options)
    random = draws_random_numbers(entry.module)
    dispatcher.install(Variant(widened, Dependencies([], {}, {}), random, print_module(entry.module), library, options))
    return dispatcher.call


def _spec(list_type: ListType) -> specs.Spec:
    elem = list_type.elem
    assert isinstance(elem, TensorType)
    return specs.TensorSpec(elem.dtype, (None,) * elem.rank)


def _leaves(entry: Entry, arguments: dict[str, Any]) -> Iterator[Any]:
    """Yield the values of the entry's parameters in order.

    Late-bound values are copied: the interpreter may change them.
    """
    for arg in entry.args:
        yield from specs.values_of(arg.spec, arguments[arg.name])
    for live in entry.values:
        yield from specs.values_of(live.spec, copy.deepcopy(live.container[live.key]))


class _Referee(Interpreter):
    """An interpreter that records the identity of each list that is appended to, in order."""

    def __init__(self, module: Module, params: dict[str, Any]):
        super().__init__(module, params)
        self.appended: list[int] = []

    def apply(self, name: str, operands: list[Any], attrs: Any) -> Any:
        if name == "list.append":
            self.appended.append(id(operands[0]))
        return super().apply(name, operands, attrs)
