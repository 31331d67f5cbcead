"""Symbolic runs of the IR: the sizes that they find are those of the interpreter, whatever the program does."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from test_language import LANGUAGE
from three_ways import Program
from torch._dynamo.source import ConstantSource
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

from scriptc.driver.target import target_of
from scriptc.frontend.entry import read
from scriptc.frontend.environment.specs import Contract, values_of
from scriptc.ir.core import Module
from scriptc.ir.errors import CompileError
from scriptc.ir.interp import Interpreter
from scriptc.operators import symbolic_ops  # noqa: F401  registers rules of the run
from scriptc.operators.symbolic_run import SymbolicRun
from scriptc.operators.symbolic_values import CannotTell, Maybe, Unknown

_SIMPLE = (torch.Tensor, int, float, bool, str)
SOME, MANY = 100, 2000  # calls of programs whose sizes are compared, at least


def _is_simple(value: Any) -> bool:
    return isinstance(value, _SIMPLE) or (type(value) is list and all(map(_is_simple, value)))


def _inputs(entry: Contract, arguments: dict[str, Any]) -> list[Any]:
    inputs = [v for a in entry.args for v in values_of(a.spec, arguments[a.name])]
    return inputs + [v for value in entry.values for v in values_of(value.spec, value.container[value.key])]


def _symbolic(module: Module, params: dict[str, Any], inputs: Sequence[Any], dim: DimDynamic) -> list[Any]:
    """Return the results of a symbolic run. All sizes of the arguments are symbols, or none is."""
    env = ShapeEnv()
    mode = FakeTensorMode(shape_env=env)
    names = iter(range(1000))

    def faked(value: Any) -> Any:
        if isinstance(value, list):
            return [*map(faked, value)]
        if not isinstance(value, torch.Tensor):
            return value
        context = StatelessSymbolicContext([dim] * value.dim())
        return mode.from_tensor(value.detach(), source=ConstantSource(f"a{next(names)}"), symbolic_context=context)

    held = {name: mode.from_tensor(value.detach(), static_shapes=True) for name, value in params.items()}
    given = [*map(faked, inputs)]
    with mode, env.ignore_fresh_unbacked_symbols():
        return SymbolicRun(module, held, env).run(module.entries[0], given)


def _agree(symbolic: Any, real: Any) -> bool:
    """Return whether a symbolic result stands for a real one: sizes without a value stand for any."""
    if real is None:  # also the leaf of an alternative that the result is not
        return True
    if isinstance(symbolic, (Unknown, Maybe)):
        return not isinstance(real, torch.Tensor) or isinstance(symbolic, Maybe)
    if isinstance(real, torch.Tensor):
        if symbolic.dtype != real.dtype or symbolic.dim() != real.dim():
            return False
        return all(_agree(n, size) for n, size in zip(symbolic.shape, real.shape, strict=True))
    if isinstance(real, (list, tuple)) and isinstance(symbolic, (list, tuple)):
        return len(symbolic) == len(real) and all(map(_agree, symbolic, real))
    if isinstance(symbolic, torch.SymInt):
        return not symbolic.node.has_hint() or symbolic.node.hint == real
    return not isinstance(symbolic, int) or isinstance(symbolic, bool) or symbolic == real


def _compare(program: Program) -> int:
    """Compare the sizes of the results of all calls of a program; return how many could be compared."""
    compared = 0
    for given in copy.deepcopy(program.calls):
        target = target_of(program.target)
        arguments = target.bind(given.args, given.kwargs)
        try:
            entry = read(target.func, target.receiver, arguments)
        except CompileError:  # what an earlier call in the process has set, such as a cache of NumPy's
            continue
        inputs = _inputs(entry, arguments)
        if not all(map(_is_simple, inputs)):
            continue
        params = {late.name: late.container[late.key] for late in entry.tensors}
        try:
            with torch.no_grad():
                real = Interpreter(entry.module, params, entry.exceptions).run(entry.module.entries[0], *copy.deepcopy(inputs))
        except Exception:  # a symbolic run may find that, or not
            continue
        for dim in (DimDynamic.DYNAMIC, DimDynamic.STATIC):
            try:
                found = _symbolic(entry.module, params, inputs, dim)
            except CannotTell:
                continue
            assert _agree(found, list(real)), f"{program.name}{given}: {found} for {real}"
            compared += 1
    return compared


def test_sizes_of_some_programs_are_those_of_the_interpreter() -> None:
    compared = [_compare(program) for program in LANGUAGE[12::25]]
    assert sum(compared) > SOME


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_sizes_of_programs_are_those_of_the_interpreter(part: int) -> None:
    compared = [_compare(program) for program in LANGUAGE[part::8]]
    assert sum(compared) > MANY // 8
