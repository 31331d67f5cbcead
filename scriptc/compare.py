"""Runs a function in eager PyTorch and compiled, on copies of the same arguments; reports how the results differ."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MethodType
from typing import Any

import torch

import scriptc
from scriptc.differences import difference, error_against, tolerance
from scriptc.ir.errors import CompileError, InternalError
from scriptc.report import Report, Row
from scriptc.target import original, target_of

_Leaves = dict[str, Any]


def compare(model: Any, *args: Any, locate: bool = False, **kwargs: Any) -> Report:
    """Compares `model(*args, **kwargs)` compiled with eager: results, what it wrote, or the exception it raised.

    model: what `scriptc.compile` takes, or what it gave. Neither the arguments nor the model's tensors and attributes are
    changed.
    locate: also look for the first source line whose value differs from the IR interpreter's (see locate.py).
    Values agree if `torch.testing.assert_close` with its defaults says so (NaN equals NaN), or if the compiled error
    against a float64 run is within twice eager's own.
    """
    eager, compiled, receiver = _both(model)
    before = _Inputs.copy_of(args, kwargs, receiver)
    with torch.no_grad(), _kept(receiver):
        expected = _run(eager, args, kwargs, receiver)
    with torch.no_grad(), _kept(receiver):
        actual = _run(compiled, args, kwargs, receiver)
    if isinstance(actual.error, (CompileError, InternalError)):
        raise actual.error
    precise = _Precise(eager, receiver, args, kwargs)
    rows = [*_compare_results(actual, expected, precise), *_compare_writes(actual, expected, before)]
    if not locate or expected.error or actual.error:
        return Report(tuple(rows))
    return Report(tuple(rows), _locate(compiled, args, kwargs, receiver))


def _locate(compiled: Any, args: Any, kwargs: Any, receiver: torch.nn.Module | None) -> str:
    from scriptc.locate import locate

    with torch.no_grad(), _kept(receiver):
        found = locate(
            target_of(compiled), lambda: _copied(args), lambda: _copied(kwargs), compiled._dispatcher.options
        )
    return f"first line that differs: {found}" if found else "no line of the compiled IR differs from the interpreter"


@dataclass
class _Inputs:
    """All that a call can write: its arguments, and the tensors and attributes of the module it belongs to."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    state: _Leaves = field(default_factory=dict)

    @staticmethod
    def copy_of(args: Any, kwargs: Any, receiver: torch.nn.Module | None) -> _Inputs:
        own_args, own_kwargs = _copied((args, kwargs))
        return _Inputs(own_args, own_kwargs, _state_of(receiver))

    def leaves(self) -> _Leaves:
        return dict([*_leaves("args", self.args), *_leaves("kwargs", self.kwargs), *self.state.items()])


@dataclass
class _Outcome:
    """`inputs` are those of the call, as it left them; the module's tensors are copied, since they are put back."""

    result: Any
    error: Exception | None
    inputs: _Inputs
    aliases: dict[str, str]  # by path of an output: what it is, or shares memory with


def _run(call: Callable[..., Any], args: Any, kwargs: Any, receiver: torch.nn.Module | None) -> _Outcome:
    own_args, own_kwargs = _copied((args, kwargs))
    live = _Inputs(own_args, own_kwargs, {f"self.{name}": tensor for name, tensor in _tensors_of(receiver)})
    result, error = None, None
    with torch.random.fork_rng(devices=[]):
        try:
            result = call(*own_args, **own_kwargs)
        except Exception as raised:
            error = raised
    aliases = _aliases(result, live)
    live.state = _state_of(receiver)
    return _Outcome(result, error, live, aliases)


# ---- copies ----


def _copied(value: Any) -> Any:
    """A deep copy that keeps who shares memory with whom, and takes tensors that autograd made.

    Modules are not copied: compiled code is specialised on the very object.
    """
    leaves = [leaf for _, leaf in _leaves("", value)]
    memo: dict[int, Any] = {id(leaf): leaf for leaf in leaves if isinstance(leaf, torch.nn.Module)}
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor) and not leaf.is_leaf and id(leaf) not in memo:
            memo[id(leaf)] = copy.deepcopy(leaf.detach(), memo)
    return copy.deepcopy(value, memo)


def _both(model: Any) -> tuple[Callable[..., Any], Callable[..., Any], torch.nn.Module | None]:
    """Eager, compiled, and the module that both belong to."""
    plain = original(model)
    is_compiled = plain is not model or hasattr(type(model), "_dispatcher")
    compiled = model if is_compiled else scriptc.compile(model)
    if isinstance(plain, torch.nn.Module):  # of a compiled class: its own __call__ is compiled
        return MethodType(torch.nn.Module.__call__, plain), compiled, plain
    owner = getattr(plain, "__self__", None)
    return plain, compiled, owner if isinstance(owner, torch.nn.Module) else None


def _tensors_of(receiver: torch.nn.Module | None) -> Iterator[tuple[str, torch.Tensor]]:
    if receiver is not None:
        yield from receiver.named_parameters()
        yield from receiver.named_buffers()


def _state_of(receiver: torch.nn.Module | None) -> _Leaves:
    """Copies of a module's tensors, and of what its attributes hold."""
    found: _Leaves = {f"self.{name}": tensor.detach().clone() for name, tensor in _tensors_of(receiver)}
    for path, module in () if receiver is None else receiver.named_modules(prefix="self"):
        for name, value in vars(module).items():
            for at, leaf in () if name.startswith("_") else _leaves(f"{path}.{name}", value):
                if isinstance(leaf, torch.Tensor):
                    found[at] = leaf.detach().clone()
                elif isinstance(leaf, (int, float, str, type(None))):
                    found[at] = leaf
    return found


@contextmanager
def _kept(receiver: torch.nn.Module | None) -> Iterator[None]:
    """Puts back what a call writes to the module's tensors and attributes."""
    saved = [(tensor, tensor.detach().clone()) for _, tensor in _tensors_of(receiver)]
    containers: list[tuple[Any, Any]] = []
    for module in () if receiver is None else receiver.modules():
        own = vars(module)
        containers += [(c, copy.copy(c)) for c in (own, own["_buffers"], own["_parameters"])]
        for name, value in own.items():
            if not name.startswith("_") and isinstance(value, (list, dict)):
                containers.append((value, copy.copy(value)))
            if not name.startswith("_") and isinstance(value, torch.Tensor):
                saved.append((value, value.detach().clone()))
    try:
        yield
    finally:
        for container, content in containers:
            if isinstance(container, list):
                container[:] = content
            else:  # but for what compiling has put beside it
                ours = {k: v for k, v in container.items() if str(k).startswith("__scriptc")}
                container.clear()
                container.update(content | ours)
        for tensor, value in saved:
            if not _identical(tensor, value):
                tensor.detach().copy_(value)


# ---- structure ----


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """(path, leaf) of lists, tuples and dicts."""
    if isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _leaves(f"{path}[{index}]", item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(f"{path}[{key!r}]", item)
    else:
        yield path, value


def _shape_of(value: Any) -> Any:
    """What has to agree before leaves are compared: types of containers, their lengths and keys in order."""
    if isinstance(value, (list, tuple)):
        return type(value), [_shape_of(item) for item in value]
    if isinstance(value, dict):
        return type(value), [(key, _shape_of(item)) for key, item in value.items()]
    return None


def _outline(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__} of {len(value)}"
    if isinstance(value, dict):
        return f"{type(value).__name__} of {', '.join(map(repr, value))}"
    return _describe(value)


def _describe(leaf: Any) -> str:
    if isinstance(leaf, torch.Tensor):
        kind = "" if type(leaf) is torch.Tensor else f"{type(leaf).__name__} "
        return f"{kind}{str(leaf.dtype).removeprefix('torch.')}[{', '.join(map(str, leaf.shape))}]"
    text = repr(leaf)
    return f"{type(leaf).__name__} {text if len(text) <= 24 else text[:21] + '...'}"


def _aliases(result: Any, inputs: _Inputs) -> dict[str, str]:
    """For outputs that are inputs, or views of them: which."""
    tensors = {path: leaf for path, leaf in inputs.leaves().items() if isinstance(leaf, torch.Tensor)}
    found = {}
    for path, leaf in _leaves("out", result):
        if isinstance(leaf, torch.Tensor):
            same = [name for name, tensor in tensors.items() if tensor is leaf]
            shared = [name for name, tensor in tensors.items() if leaf.numel() and _memory(tensor) == _memory(leaf)]
            found[path] = f"is {same[0]}" if same else f"shares memory with {shared[0]}" if shared else "is new"
    return found


def _memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


# ---- rows ----


def _compare_results(actual: _Outcome, expected: _Outcome, precise: _Precise) -> Iterator[Row]:
    if actual.error or expected.error:
        yield _compare_errors(actual.error, expected.error)
        return
    if _shape_of(actual.result) != _shape_of(expected.result):
        verdict = f"STRUCTURE: {_outline(actual.result)} instead of {_outline(expected.result)}"
        yield Row("out", _outline(expected.result), verdict, False)
        return
    pairs = zip(_leaves("out", actual.result), _leaves("out", expected.result), strict=True)
    rows = [_compare_leaf(path, a, e, precise) for (path, a), (_, e) in pairs]
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
        return Row("raises", text(expected), "equal", True)
    return Row("raises", text(expected), f"RAISES {text(actual)}", False)


def _compare_writes(actual: _Outcome, expected: _Outcome, before: _Inputs) -> Iterator[Row]:
    """A row for each input that either call changed."""
    for name in ("args", "kwargs"):
        ours, theirs = getattr(actual.inputs, name), getattr(expected.inputs, name)
        if _shape_of(ours) != _shape_of(theirs):
            yield Row(name, _outline(theirs), "STRUCTURE: containers were changed differently", False)
            return
    old, ours, theirs = before.leaves(), actual.inputs.leaves(), expected.inputs.leaves()
    for path, value in theirs.items():
        written = path not in old or not (_identical(old[path], value) and _identical(old[path], ours.get(path)))
        if written:
            yield _compare_leaf(path, ours.get(path, "nothing"), value, None)


def _identical(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if a.shape != b.shape or a.dtype != b.dtype or a.stride() != b.stride():
            return False
        return bool(((a == b) | (a != a) & (b != b)).all())
    if isinstance(a, (int, float, str)):
        return type(a) is type(b) and (a == b or a != a)
    return type(a) is type(b)


def _compare_leaf(path: str, actual: Any, expected: Any, precise: _Precise | None) -> Row:
    value = _describe(expected)
    if type(actual) is not type(expected):
        return Row(path, value, f"TYPE {type(actual).__name__}", False)
    if isinstance(expected, float):
        a, e = (torch.tensor(x, dtype=torch.float64) for x in (actual, expected))
        return _compare_values(path, value, a, e, precise)
    if not isinstance(expected, torch.Tensor):
        equal = _identical(actual, expected)
        return Row(path, value, "equal" if equal else f"DIFFERS: {_describe(actual)}", equal)
    for what, ours, theirs in (
        ("DTYPE", actual.dtype, expected.dtype),
        ("SHAPE", tuple(actual.shape), tuple(expected.shape)),
        ("STRIDES", actual.stride(), expected.stride()),
    ):
        if ours != theirs:
            return Row(path, value, f"{what} {ours} instead of {theirs}", False)
    return _compare_values(path, value, actual, expected, precise)


def _compare_values(path: str, value: str, a: torch.Tensor, e: torch.Tensor, precise: _Precise | None) -> Row:
    found = difference(a, e)
    ok, verdict = found.close, "equal" if found.where is None else "close" if found.close else "DIFFERS"
    if not ok and precise is not None and (exact := precise.leaf(path)) is not None and exact.shape == e.shape:
        ours, theirs = error_against(a, exact), error_against(e, exact)
        ok = ours <= 2 * theirs
        verdict = f"{'close' if ok else 'DIFFERS'}: error {ours:.3g}, eager's {theirs:.3g} against float64"
    rtol, atol = tolerance(e.dtype)
    return Row(path, value, verdict, ok, found.max_abs, found.max_rel, found.max_ulp, found.where, rtol, atol)


class _Precise:
    """The same call in float64, run when an output is first asked for. Not every model can; then there is none."""

    def __init__(self, eager: Any, receiver: torch.nn.Module | None, args: Any, kwargs: Any):
        self.eager, self.receiver, self.args, self.kwargs = eager, receiver, args, kwargs
        self.found: _Leaves | None = None

    def leaf(self, path: str) -> torch.Tensor | None:
        """In float64; None where that run failed, or gives no float there."""
        if self.found is None:
            self.found = self._run()
        leaf = self.found.get(path)
        if isinstance(leaf, float):
            return torch.tensor(leaf, dtype=torch.float64)
        return leaf if isinstance(leaf, torch.Tensor) and leaf.dtype == torch.float64 else None

    def _run(self) -> _Leaves:
        default = torch.get_default_dtype()
        try:
            torch.set_default_dtype(torch.float64)
            args, kwargs = _doubled(_copied((self.args, self.kwargs)))
            with torch.no_grad(), torch.random.fork_rng(devices=[]):
                return dict(_leaves("out", self._call()(*args, **kwargs)))
        except Exception:  # whatever a user's model does on a dtype it was not written for
            return {}
        finally:
            torch.set_default_dtype(default)

    def _call(self) -> Any:
        if self.receiver is None:
            return self.eager
        return MethodType(self.eager.__func__, copy.deepcopy(self.receiver).double())


def _doubled(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_doubled, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(_doubled, value))
    return {key: _doubled(item) for key, item in value.items()} if isinstance(value, dict) else value
