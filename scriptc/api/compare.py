"""`scriptc.compare`: run a function in eager and compiled on copies of the same arguments, and report differences."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MethodType
from typing import Any, Protocol

import torch

from scriptc.api.compile import compile
from scriptc.backend_c.toolchain import BuildError, ToolchainError
from scriptc.driver.target import original, target_of
from scriptc.inspect.comparison_report import RAISES, Report, Row
from scriptc.inspect.snapshots import (
    copied,
    copied_receiver,
    forked_generators,
    identical,
    leaves_of,
    state_of,
    tensors_of,
    undo_writes,
)
from scriptc.inspect.tensor_difference import difference, error_against, tolerance
from scriptc.inspect.training_steps import Step
from scriptc.inspect.weight_rounding import Rounded, rounded, rounded_weights
from scriptc.ir.errors import CompileError, InternalError

_Leaves = dict[str, Any]


def compare(
    model: Any, *args: Any, locate: bool = False, against: str = "compiled", calls: Sequence[tuple[Any, ...]] = (),
    **kwargs: Any,
) -> Report:  # fmt: skip
    """Call a model in eager PyTorch and compiled, and return a `Report` of the differences.

    Results, in-place writes, and exceptions are compared. Both calls get copies of the arguments; neither the
    arguments nor the model's tensors and attributes are changed.

    Two values agree if `torch.testing.assert_close` accepts them with its defaults (NaN equals NaN), or if the error
    of compiled code against a float64 run is within twice eager's own error. With 16-bit weights, values must agree
    with eager on the rounded weights; the errors that the report shows are those against eager on the exact weights. Where
    norms that are folded into frozen weights let values differ, the report names the error without `fold_norms`, too.

    model: a function, method, or nn.Module instance, compiled or not.
    locate: also find the first source line where compiled C and the IR interpreter differ.
    against: "compiled", or "onnx" to compare the model that `to_onnx` writes: in the reference evaluator of the package
        `onnx`, and in ONNX Runtime if it is installed.
    calls: arguments of further calls, with `against="onnx"`: the model that is written for the first call runs them too.

    Raises CompileError, ToolchainError, BuildError and InternalError as a compiled call does. `Report.check` raises
    AssertionError if values differ, or if none were compared.
    """
    if against == "onnx":
        if locate:
            raise ValueError('locate=True needs against="compiled"')
        # by name, since the folder `onnx` is written with this one
        made: Report = importlib.import_module("scriptc.onnx.comparison").compare_with_onnx(model, args, kwargs, calls)
        return made
    if against != "compiled" or calls:
        raise ValueError("`against` is 'compiled' or 'onnx', and `calls` needs 'onnx'")
    eager, compiled, receiver = _both(model)
    step = Step.of(getattr(compiled, "_dispatcher", None), args, kwargs)
    before = _Inputs.copy_of(args, kwargs, receiver, step)
    with step.mode(), undo_writes(receiver):
        expected = _run(eager, args, kwargs, receiver, step)
    with step.mode(), undo_writes(receiver):
        actual = _run(compiled, args, kwargs, receiver, step)
    if isinstance(actual.error, (CompileError, InternalError, ToolchainError, BuildError)):
        raise actual.error
    written = list(_compare_writes(actual, expected, before))
    runs = None if step else _Runs(eager, _unfolded(compiled), receiver, args, kwargs)  # a float64 step would write weights
    if weights := _rounded_weights(compiled):
        with rounded(weights), step.mode(), undo_writes(receiver):
            alike = _run(eager, args, kwargs, receiver, step)
            judged = list(_compare_results(actual, alike, runs))
        rows = [*_with_errors(judged, _compare_results(actual, expected, None)), *written]
    else:
        rows = [*_compare_results(actual, expected, runs), *written]
    if not locate or expected.error or actual.error:
        return Report(tuple(rows))
    return Report(tuple(rows), _locate(compiled, args, kwargs, receiver, step))


def _rounded_weights(compiled: Any) -> Rounded:
    dispatcher = getattr(compiled, "_dispatcher", None)
    if dispatcher is None or dispatcher.options.weights == "float32" or not dispatcher.variants:
        return []
    entry = dispatcher.variants[-1].translated.entry
    return rounded_weights(entry.module, entry.tensors)


def _unfolded(compiled: Any) -> Callable[..., Any] | None:
    """Return the function compiled without folded norms, if norms may be folded into frozen weights of convolutions."""
    dispatcher = getattr(compiled, "_dispatcher", None)
    if dispatcher is None or not (dispatcher.options.freeze and dispatcher.options.fold_norms) or not dispatcher.variants:
        return None
    if all(op.name != "conv2d_packed" for op in dispatcher.variants[-1].translated.entry.module.walk()):
        return None
    options = {**dispatcher.options.given(), "fold_norms": False}
    made: Callable[..., Any] = compile(original(compiled), **options)
    return made


def _with_errors(judged: list[Row], against_exact: Iterator[Row]) -> Iterator[Row]:
    """Yield the rows of one comparison with the numbers of another."""
    numbers = {row.path: row for row in against_exact}
    for row in judged:
        other = numbers.get(row.path)
        if row.max_abs is None or other is None:
            yield row
        else:
            verdict = f"{row.verdict} with the rounded weights; the error of rounding is shown"
            yield replace(other, verdict=verdict, ok=row.ok)


def _locate(compiled: Any, args: Any, kwargs: Any, receiver: torch.nn.Module | None, step: Step) -> str:
    from scriptc.inspect.divergence import locate

    with step.mode(), undo_writes(receiver):
        found = locate(target_of(compiled), lambda: copied(args), lambda: copied(kwargs), compiled._dispatcher.options)
    return f"first line that differs: {found}" if found else "no line of the compiled IR differs from the interpreter"


@dataclass
class _Inputs:
    """Everything that a call can write: its arguments, its module, and the state outside that a training step changes."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    state: _Leaves = field(default_factory=dict)

    @staticmethod
    def copy_of(args: Any, kwargs: Any, receiver: torch.nn.Module | None, step: Step) -> _Inputs:
        own_args, own_kwargs = copied((args, kwargs))
        return _Inputs(own_args, own_kwargs, state_of(receiver) | step.leaves())

    def leaves(self) -> _Leaves:
        return dict([*leaves_of("args", self.args), *leaves_of("kwargs", self.kwargs), *self.state.items()])


@dataclass
class _Outcome:
    """The outcome of a call.

    inputs: the inputs as the call left them; the tensors of the module are copies, because the originals are restored.
    aliases: for each output, by path, the input that it is or shares memory with.
    """

    result: Any
    error: Exception | None
    inputs: _Inputs
    aliases: dict[str, str]


def _run(
    call: Callable[..., Any], args: Any, kwargs: Any, receiver: torch.nn.Module | None, step: Step
) -> _Outcome:
    own_args, own_kwargs = copied((args, kwargs))
    inputs = _Inputs(own_args, own_kwargs, {f"self.{name}": tensor for name, tensor in tensors_of(receiver)})
    result, error = None, None
    with forked_generators():
        try:
            result = call(*own_args, **own_kwargs)
        except Exception as raised:
            error = raised
    aliases = _aliases(result, inputs)
    inputs.state = state_of(receiver) | step.leaves()
    return _Outcome(result, error, inputs, aliases)


# ---- the two callables ----


def _both(model: Any) -> tuple[Callable[..., Any], Callable[..., Any], torch.nn.Module | None]:
    """Return the eager callable, the compiled one, and the module that both belong to."""
    plain = original(model)
    is_compiled = plain is not model or hasattr(type(model), "_dispatcher")
    compiled = model if is_compiled else compile(model)
    if isinstance(plain, torch.nn.Module):  # `__call__` of a compiled class is compiled
        return MethodType(torch.nn.Module.__call__, plain), compiled, plain
    owner = getattr(plain, "__self__", None)
    return plain, compiled, owner if isinstance(owner, torch.nn.Module) else None


# ---- structure ----


def _structure_of(value: Any) -> Any:
    """Return the structure of a value.

    The structure is the types of containers, their lengths and their keys in order.
    """
    if isinstance(value, (list, tuple)):
        return type(value), [_structure_of(item) for item in value]
    if isinstance(value, dict):
        return type(value), [(key, _structure_of(item)) for key, item in value.items()]
    return None


def _outline(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__} of {len(value)}"
    if isinstance(value, dict):
        return f"{type(value).__name__} of {', '.join(map(repr, value))}"
    return _describe(value)


def _describe(leaf: Any) -> str:
    if isinstance(leaf, torch.Tensor):
        cls = "" if type(leaf) is torch.Tensor else f"{type(leaf).__name__} "
        return f"{cls}{str(leaf.dtype).removeprefix('torch.')}[{', '.join(map(str, leaf.shape))}]"
    text = repr(leaf)
    return f"{type(leaf).__name__} {text if len(text) <= 24 else text[:21] + '...'}"


def _aliases(result: Any, inputs: _Inputs) -> dict[str, str]:
    """Return for each output, by path, the input that it is or shares memory with."""
    tensors = {path: leaf for path, leaf in inputs.leaves().items() if isinstance(leaf, torch.Tensor)}
    found = {}
    for path, leaf in leaves_of("out", result):
        if isinstance(leaf, torch.Tensor):
            same = [name for name, tensor in tensors.items() if tensor is leaf]
            shared = [name for name, tensor in tensors.items() if leaf.numel() and _memory(tensor) == _memory(leaf)]
            found[path] = f"is {same[0]}" if same else f"shares memory with {shared[0]}" if shared else "is new"
    return found


def _memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


# ---- rows ----


def _compare_results(actual: _Outcome, expected: _Outcome, runs: _Runs | None) -> Iterator[Row]:
    if actual.error or expected.error:
        yield _compare_errors(actual.error, expected.error)
        return
    if _structure_of(actual.result) != _structure_of(expected.result):
        verdict = f"STRUCTURE: {_outline(actual.result)} instead of {_outline(expected.result)}"
        yield Row("out", _outline(expected.result), verdict, False)
        return
    pairs = zip(leaves_of("out", actual.result), leaves_of("out", expected.result), strict=True)
    rows = [compare_leaf(path, a, e, runs) for (path, a), (_, e) in pairs]
    for row in rows:
        ours, theirs = actual.aliases.get(row.path), expected.aliases.get(row.path)
        if row.ok and ours != theirs:
            row = Row(row.path, row.value, f"ALIAS: {ours}, in eager {theirs}", False)
        yield row
    if not rows:
        yield Row("out", _outline(expected.result), "equal", True)


def _compare_errors(actual: Exception | None, expected: Exception | None) -> Row:
    def text(error: Exception | None) -> str:
        return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}" if error else "no exception"

    if type(actual) is type(expected):
        return Row(RAISES, text(expected), "equal", True)
    return Row(RAISES, text(expected), f"RAISES {text(actual)}", False)


def _compare_writes(actual: _Outcome, expected: _Outcome, before: _Inputs) -> Iterator[Row]:
    """Yield a row for each input that either call changed."""
    for name in ("args", "kwargs"):
        ours, theirs = getattr(actual.inputs, name), getattr(expected.inputs, name)
        if _structure_of(ours) != _structure_of(theirs):
            yield Row(name, _outline(theirs), "STRUCTURE: containers were changed differently", False)
            return
    old, ours, theirs = before.leaves(), actual.inputs.leaves(), expected.inputs.leaves()
    for path, value in theirs.items():
        written = path not in old or not (identical(old[path], value) and identical(old[path], ours.get(path)))
        if written:
            yield compare_leaf(path, ours.get(path, "nothing"), value, None)


def compare_leaf(path: str, actual: Any, expected: Any, runs: Exact | None) -> Row:
    """Compare a leaf of a result with eager's. runs: further runs of the call."""
    value = _describe(expected)
    if type(actual) is not type(expected):
        return Row(path, value, f"TYPE {type(actual).__name__}", False)
    if isinstance(expected, float):
        a, e = (torch.tensor(x, dtype=torch.float64) for x in (actual, expected))
        return _compare_values(path, value, a, e, runs)
    if not isinstance(expected, torch.Tensor):
        equal = identical(actual, expected)
        return Row(path, value, "equal" if equal else f"DIFFERS: {_describe(actual)}", equal)
    for what, ours, theirs in (
        ("DTYPE", actual.dtype, expected.dtype),
        ("SHAPE", tuple(actual.shape), tuple(expected.shape)),
        ("STRIDES", actual.stride(), expected.stride()),
    ):
        if ours != theirs:
            return Row(path, value, f"{what} {ours} instead of {theirs}", False)
    return _compare_values(path, value, actual, expected, runs)


def _compare_values(path: str, value: str, a: torch.Tensor, e: torch.Tensor, runs: Exact | None) -> Row:
    found = difference(a, e)
    ok, verdict = found.close, "equal" if found.where is None else "close" if found.close else "DIFFERS"
    if not ok and runs is not None and (exact := runs.exact(path)) is not None and exact.shape == e.shape:
        ours, theirs = error_against(a, exact), error_against(e, exact)
        ok = ours <= 2 * theirs
        verdict = f"{'close' if ok else 'DIFFERS'}: error {ours:.3g}, eager's {theirs:.3g} against float64"
        if (apart := runs.unfolded(path)) is not None:
            verdict += f"; with fold_norms=False {error_against(apart, exact):.3g}"
    rtol, atol = tolerance(e.dtype)
    return Row(path, value, verdict, ok, found.max_abs, found.max_rel, found.max_ulp, found.where, rtol, atol)


class Exact(Protocol):
    """Further runs of a call, from which a leaf is taken by its path."""

    def exact(self, path: str) -> torch.Tensor | None: ...

    def unfolded(self, path: str) -> torch.Tensor | None: ...


class _Runs:
    """Further runs of the same call: in float64, and without folded norms. Each begins when an output is first asked for."""

    def __init__(
        self, eager: Any, apart: Callable[..., Any] | None, receiver: torch.nn.Module | None, args: Any, kwargs: Any
    ):
        self.eager, self.apart, self.receiver, self.args, self.kwargs = eager, apart, receiver, args, kwargs

    def exact(self, path: str) -> torch.Tensor | None:
        """Return an output in float64, or None if the run failed or the output is not floating."""
        leaf = self._exact.get(path)
        if isinstance(leaf, float):
            return torch.tensor(leaf, dtype=torch.float64)
        return leaf if isinstance(leaf, torch.Tensor) and leaf.dtype == torch.float64 else None

    def unfolded(self, path: str) -> torch.Tensor | None:
        """Return a tensor that code without folded norms computes, or None if there is no such code."""
        leaf = self._unfolded.get(path)
        return leaf if isinstance(leaf, torch.Tensor) else None

    @cached_property
    def _unfolded(self) -> _Leaves:
        if self.apart is None:
            return {}
        step = Step(None)
        with step.mode(), undo_writes(self.receiver):
            return dict(leaves_of("out", _run(self.apart, self.args, self.kwargs, self.receiver, step).result))

    @cached_property
    def _exact(self) -> _Leaves:
        default = torch.get_default_dtype()
        try:
            torch.set_default_dtype(torch.float64)
            args, kwargs = doubled(copied((self.args, self.kwargs)))
            with torch.no_grad(), forked_generators():
                return dict(leaves_of("out", self._call()(*args, **kwargs)))
        except Exception:  # a model may raise anything for a dtype that it was not written for
            return {}
        finally:
            torch.set_default_dtype(default)

    def _call(self) -> Any:
        if self.receiver is None:
            return self.eager
        return MethodType(self.eager.__func__, copied_receiver(self.receiver).double())


def doubled(value: Any) -> Any:
    """Return a value with its floating tensors in float64."""
    if isinstance(value, torch.Tensor):
        wide = torch.complex128 if value.is_complex() else torch.float64
        return value.to(wide) if value.is_floating_point() or value.is_complex() else value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(doubled, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(doubled, value))
    return {key: doubled(item) for key, item in value.items()} if isinstance(value, dict) else value
