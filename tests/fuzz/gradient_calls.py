"""The calls of a program whose gradients are compared, and what eager and compiled code do in each.

The comparison has these rules beside equality, each a line of docs/reference/limits.md:

- A result may require grad where eager's does not, or not where eager's does, if all its gradients are zeros or None.
- An argument or buffer that did not require grad does not do so after a write, nor does a result that shares its memory.
- A gradient may be zeros, or NaN, where eager's is None, and None where eager's is zeros.
- If eager's backward raises since a value that it saved was written, the gradient is that of a copy of the value.
- A gradient may be NaN where that of a result that is not asked for, zero here, meets an infinite derivative.
- Where the passes fuse ops, strides of results may differ, and so may those of images.
- Nothing is compared where eager itself takes another path for arguments that differ in their last bits.
- Where `tuple.index` finds nothing, the text of the error is that of a list.
- Eager refuses writes to one of several views that an op made, and these views behind a write to what they view; and writes to
  a view made before a write let its base require grad. Compiled code may carry out such writes and go on, and such views
  have gradients.
- If backward raises NotImplementedError with a line, the program is refused, and nothing else of its gradients compared. So it
  is if a call raises NotImplementedError for values or sizes that compiled code does not support.

Of programs with containers (`argument_calls.py`), some change all containers before backward, some run backward on another
thread, and some after all calls, the last call first.
"""

from __future__ import annotations

import contextlib
import inspect
import random
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from scriptc import CompileError
from tests.fuzz.argument_calls import argument_calls, change, copied, tensors_in
from tests.fuzz.batch import Program
from tests.fuzz.layer_calls import layer_arguments, net_name
from tests.three_ways import Outcome, assert_same

CALLS = 5
LENGTHS = (0, 1, 2, 4, 3)
_OF_SEVERAL_VIEWS = "of a function that returns multiple views"


class Refused(Exception):
    """Backward says that it does not support a program."""


def arguments(program: Program, function: Any) -> list[tuple[Any, ...]]:
    """Calls of lengths from 0 on, with ties and without. Which arguments require grad is the same in most calls."""
    if program.layers:
        return layer_arguments(program, list(inspect.signature(function).parameters), CALLS)
    if program.containers:
        return argument_calls(program, list(inspect.signature(function).parameters), function.__globals__, CALLS)
    dtype = torch.float32 if _is_single(program) else torch.float64
    rng, numbers = random.Random(program.seed * 7 + 1), torch.Generator().manual_seed(program.seed)
    names = list(inspect.signature(function).parameters)
    share = random.Random(program.seed).choice((0.8, 0.8, 0.4))
    requires = {name: rng.random() < share for name in names}
    if rng.random() < 0.05:
        requires = dict.fromkeys(names, False)
    optional = rng.choice([0.0, 0.5, 1.0, 1.0])

    def tensor(name: str, *sizes: int) -> Tensor:
        if rough:
            made = torch.randint(-4, 5, sizes, generator=numbers).to(dtype) / 4
        else:
            made = torch.randn(sizes, generator=numbers, dtype=dtype)
        return made.requires_grad_(requires.get(name, True))

    calls = []
    for step in range(CALLS):
        rough, length = rng.random() < 0.3, LENGTHS[step]
        given = {
            "n": rng.choice([length, rng.randint(-1, 4)]), "k": rng.randint(-3, 4), "p": rng.randint(-4, 4) / 4,
            "flag": rng.random() < 0.5, "x": tensor("x", length, 3), "w": tensor("w", 3), "m": tensor("m", 3, 3),
            "v": tensor("v", rng.randint(0, 4)), "s": tensor("s"),
            "ys": [tensor("ys", 3) for _ in range(max(1, length - 1))],
            "h": tensor("h", 3) if rng.random() < optional else None,
            "ids": torch.randint(0, 3, (3,), generator=numbers),
        }  # fmt: skip
        calls.append(tuple(given[name] for name in names if name in given))
    return calls


def _is_single(program: Program) -> bool:
    """Return whether a program computes in float32: it names that dtype, or only the net of that dtype."""
    return "float32" in program.text or "NET32" in program.text


def _net_name(program: Program) -> str:
    return net_name(program) if program.layers else "NET32" if _is_single(program) else "NET"


def tensors(value: Any) -> Iterator[Tensor]:
    """Yield the tensors in a value."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)


def _copied(given: tuple[Any, ...], containers: bool = False) -> tuple[Any, ...]:
    if containers:
        return copied(given, _copy, {})  # type: ignore[no-any-return]
    return tuple(
        [_copy(t) for t in value] if isinstance(value, list) else _copy(value) if isinstance(value, Tensor) else value
        for value in given
    )


def _copy(tensor: Tensor) -> Tensor:
    """Return a leaf of the same strides, those of expanded tensors among them."""
    made = torch.empty(0, dtype=tensor.dtype).set_(
        tensor.untyped_storage().clone(), tensor.storage_offset(), tensor.shape, tensor.stride()
    )
    return made.requires_grad_(tensor.requires_grad)


def _detached(value: Any, *, strides: bool = True) -> Any:
    if isinstance(value, Tensor):
        return value.detach() if strides else value.detach().clone(memory_format=torch.contiguous_format)
    if isinstance(value, (list, tuple)):
        items = [_detached(v, strides=strides) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def _once(tensor: Tensor) -> Tensor:
    """Return each element of an expanded tensor once, of which autograd sees no write."""
    return tensor.data[tuple(slice(None if stride else 1) for stride in tensor.stride())]


def _settle(value: Any, expected: Any, changed: list[tuple[Tensor, Tensor]]) -> None:
    """Write the elements of the expected value to all tensors of float32 that are close to it, and note the elements before."""
    if isinstance(value, Tensor) and isinstance(expected, Tensor):
        if value.dtype == expected.dtype == torch.float32 and value.shape == expected.shape:
            if torch.allclose(value.detach(), expected.detach(), rtol=1e-3, atol=2e-4, equal_nan=True):
                once = _once(value)
                changed.append((once, once.clone()))
                once.copy_(expected.detach()[tuple(map(slice, once.shape))])
    elif isinstance(value, (list, tuple)) and isinstance(expected, (list, tuple)):
        for item, other in zip(value, expected, strict=False):
            _settle(item, other, changed)


def _has_gradients(result: Tensor) -> bool:
    """Return whether a result is no view that was made in no-grad mode. Where its base was written since, asking raises."""
    return not _is_lost(result) and (result.grad_fn is not None or not result._is_view())


def _is_lost(result: Tensor) -> bool:
    """Return whether eager refuses all use of a result: it is one of several views, and what they view was written since."""
    try:
        result.grad_fn  # noqa: B018
    except RuntimeError:
        return True
    return False


@contextlib.contextmanager
def _own_buffers(function: Any) -> Iterator[list[Tensor]]:
    """Let eager write to copies of the buffers outside of a function, so that compiled code finds them as they were."""
    nets = [v for v in getattr(function, "__globals__", {}).values() if isinstance(v, nn.Module)]
    places = [(module, name) for net in nets for module in net.modules() for name in module._buffers]
    before = [module._buffers[name] for module, name in places]
    copies = [None if buffer is None else buffer.detach().clone() for buffer in before]
    for (module, name), buffer in zip(places, copies, strict=True):
        module._buffers[name] = buffer
    try:
        yield [buffer for buffer in copies if buffer is not None]
    finally:
        for (module, name), buffer in zip(places, before, strict=True):
            module._buffers[name] = buffer


class _Run:
    """One call: its outcome, and gradients of its results. params: their values before the call, which may write to them.

    containers: arguments and results are compared as one value, so that a container that is several of them counts, and tensors
    that the call put into the arguments are results.
    """

    def __init__(
        self, function: Any, given: tuple[Any, ...], params: Mapping[Tensor, Tensor], containers: bool = False
    ):
        for param, value in params.items():
            param.data = value.clone()  # no write: another run may have saved the param
        self.containers = containers
        self.given = _copied(given, containers)
        found = tensors_in(self.given) if containers else tensors(self.given)
        self.inputs = [*(t for t in found if t.requires_grad), *params]
        self.error: BaseException | None = None
        self.result: Any = None
        try:
            with _own_buffers(function) as self.buffers:
                self.result = function(*self.given)
        except CompileError:
            raise
        except Exception as e:
            self.error = e
        made = tensors_in((self.result, self.given)) if containers else tensors(self.result)
        self.results = [t for t in made if t.is_floating_point()]
        self.written = [param.detach().clone() for param in params]

    def outcome(self, *, strides: bool) -> Outcome:
        if self.containers:
            given, result = copied((self.given, self.result), lambda t: _detached(t, strides=strides), {})
            return Outcome((*given, self.written), result, self.error)
        return Outcome((*_detached(self.given), self.written), _detached(self.result, strides=strides), self.error)

    @contextlib.contextmanager
    def settled(self, expected: _Run) -> Iterator[None]:
        """Take the other run's tensors where they are close: sums of many products of float32 are rounded otherwise."""
        changed: list[tuple[Tensor, Tensor]] = []
        _settle((self.result, self.given, self.written), (expected.result, expected.given, expected.written), changed)
        try:
            yield
        finally:
            for tensor, before in reversed(changed):
                tensor.copy_(before)

    def differentiable(self) -> list[int]:
        """Return the results that require grad, without views that eager has made in no-grad mode of inputs that do."""
        return [i for i, t in enumerate(self.results) if t.requires_grad and _has_gradients(t)]

    def gradients(self, of: Sequence[int], seed: int, zero: Sequence[int] = ()) -> list[Tensor | None]:
        """Return the gradients with respect to all inputs, for random cotangents of some results, and zeros for others."""
        numbers = torch.Generator().manual_seed(seed)
        results = [self.results[i] for i in (*of, *zero)]
        cotangents = [torch.randn(self.results[i].shape, generator=numbers, dtype=self.results[i].dtype) for i in of]
        cotangents += [torch.zeros_like(self.results[i]) for i in zero]
        ask = lambda: list(torch.autograd.grad(results, self.inputs, cotangents, allow_unused=True, retain_graph=True))  # noqa: E731
        return _in_thread(ask) if self.containers and seed % 3 == 1 else ask()


def _in_thread(function: Callable[[], Any]) -> Any:
    found: list[Any] = []

    def run() -> None:
        try:
            found.append((function(), None))
        except Exception as e:
            found.append((None, e))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    ((value, error),) = found
    if error is not None:
        raise error
    return value


def compare(program: Program, function: Any, target: Any, given: tuple[Any, ...], step: int) -> str:
    """Compare a call with eager, and return what it did: see `start`."""
    return start(program, function, target, given, step)()


def start(program: Program, function: Any, target: Any, given: tuple[Any, ...], step: int) -> Callable[[], str]:
    """Compare a call with eager. Return a function that compares its gradients, and returns what the call did.

    That is: same, written (eager saves what the program then writes), raised, flat (nothing requires grad), rounded (eager
    takes another path where the last bits of its arguments differ), or zeroed (a gradient is NaN because a result that is not
    asked for has the gradient zero, docs/reference/limits.md).
    AssertionError where compiled code does otherwise, Refused where it does not support the gradients.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net, containers = function.__globals__[_net_name(program)], program.containers
        params = {p: p.detach().clone() for p in net.parameters() if p.requires_grad}
        with torch.no_grad() if program.freeze else contextlib.nullcontext():
            expected = _Run(function, given, params, containers)
            actual = _Run(target, given, params, containers)
        said = str(actual.error).partition("\n")[0]
        if isinstance(actual.error, NotImplementedError) and said.startswith("scriptc: "):
            raise Refused(said)
        strides = program.passes < 2 and not program.layers
        try:
            with actual.settled(expected) if program.layers else contextlib.nullcontext():
                assert_same(expected.outcome(strides=strides), actual.outcome(strides=strides))
        except AssertionError:
            if _refuses_view(function, given, params, containers):
                return lambda: "raised"  # compiled code goes on behind the write, to its end or to another error
            if _rounding_decides(function, given, params, expected):
                return lambda: "rounded"
            raise
        if expected.error is not None:
            if isinstance(expected.error, ValueError) and "tuple.index" not in str(expected.error):
                said = [str(run.error).partition("\n")[0] for run in (actual, expected)]
                assert said[0] == said[1], f"{said[0]}, but eager: {said[1]}"
            return lambda: "raised"
        if program.freeze:
            return lambda: "same"

    def finish() -> str:
        seed = program.seed * 10 + step
        if containers and seed % 4:
            change((expected.given, expected.result))
            change((actual.given, actual.result))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return _compare_gradients(expected, actual, seed, function, given, params, program.layers)
        except NotImplementedError as e:
            message = str(e)
            assert "which scriptc compiled, is not supported:" in message, f"refused without a reason: {message}"
            raise Refused(_reason(message)) from None

    return finish


def _compare_gradients(
    expected: _Run, actual: _Run, seed: int, function: Any, given: tuple[Any, ...], params: Mapping[Tensor, Tensor],
    layers: bool,
) -> str:  # fmt: skip
    wanted, found = expected.differentiable(), actual.differentiable()
    kind = "same" if wanted else "flat"
    for run, own, others in ((actual, found, wanted), (expected, wanted, found)):
        for i in {*own} - {*others}:
            if run is expected and _is_plain(run.results[i], given, run) or _is_lost(expected.results[i]):
                continue
            for gradient in run.gradients([i], seed):
                flat = gradient is None or not gradient.nan_to_num().any()  # NaN: zero met an infinite derivative
                assert flat, f"tensor {i} of the result requires grad in one of the two"
    wanted, left_out = [i for i in wanted if i in found], list[int]()
    if not wanted:
        return kind
    if seed % 3 == 0 and len(wanted) > 1:  # the gradients of some results alone
        half = len(wanted) // 2
        wanted, left_out = wanted[:half], wanted[half:]
    try:
        expected_gradients = expected.gradients(wanted, seed)
    except RuntimeError as e:
        if "modified by an inplace operation" not in str(e) and _OF_SEVERAL_VIEWS not in str(e):
            raise
        kind = "written"
        with torch.autograd.graph.saved_tensors_hooks(torch.clone, lambda saved: saved):
            expected_gradients = _Run(function, given, params, expected.containers).gradients(wanted, seed)
    for _ in range(2):  # a second backward finds what the first one found
        found = actual.gradients(wanted, seed)
        for i, (want, have) in enumerate(zip(expected_gradients, found, strict=True)):
            try:
                _same_gradient(want, have, actual, i)
            except AssertionError:
                if layers and _strides_decide(want, have, function, given, params, wanted, seed, actual, i):
                    continue
                if not left_out or have is None or not have.isnan().any() or kind == "written":
                    raise
                _same_gradient(expected.gradients(wanted, seed, left_out)[i], have, actual, i)
                kind = "zeroed"
    return kind


def _strides_decide(
    want: Tensor | None, have: Tensor | None, function: Any, given: tuple[Any, ...], params: Mapping[Tensor, Tensor],
    wanted: Sequence[int], seed: int, actual: _Run, i: int,
) -> bool:  # fmt: skip
    """Return whether eager finds the gradient if its arguments are contiguous: its batch norm takes others for contiguous."""
    plain = tuple(
        v.detach().clone(memory_format=torch.contiguous_format).requires_grad_(v.requires_grad) if isinstance(v, Tensor) else v
        for v in given
    )
    other = _Run(function, plain, params).gradients(wanted, seed)[i]
    return not _agree(want, other, actual, i) and _agree(other, have, actual, i)


def _agree(want: Tensor | None, have: Tensor | None, actual: _Run, i: int) -> bool:
    try:
        _same_gradient(want, have, actual, i)
    except AssertionError:
        return False
    return True


def _rounding_decides(function: Any, given: tuple[Any, ...], params: Mapping[Tensor, Tensor], expected: _Run) -> bool:
    """Return whether eager does something else where the last bits of its arguments differ."""
    numbers = torch.Generator().manual_seed(0)
    for _ in range(50):
        nearby = _copied(given, expected.containers)
        for tensor in tensors_in(nearby) if expected.containers else tensors(nearby):
            if tensor.is_floating_point():
                plain = _once(tensor)
                steps = torch.randint(-8, 9, plain.shape, generator=numbers)
                plain.mul_(1 + steps.to(tensor.dtype) * torch.finfo(tensor.dtype).eps)
        try:
            other = _Run(function, nearby, params, expected.containers)
            assert_same(expected.outcome(strides=False), other.outcome(strides=False))
        except AssertionError:
            return True
    return False


def _refuses_view(function: Any, given: tuple[Any, ...], params: Mapping[Tensor, Tensor], containers: bool) -> bool:
    """Return whether eager refuses a write to one of several views, or to a view that is older than its base's gradients.

    The program may catch that error, or raise another one.
    """
    refused = False

    def trace(frame: Any, event: str, raised: Any) -> Any:
        nonlocal refused
        if event == "exception":
            older = "a leaf Variable that requires grad" in str(raised[1]) and any(map(_is_older_view, frame.f_locals.values()))
            refused |= older or _OF_SEVERAL_VIEWS in str(raised[1])
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        _Run(function, given, params, containers)
    finally:
        sys.settrace(before)
    return refused


def _is_older_view(value: Any) -> bool:
    """Return whether a value is a view of a tensor that requires grad since it was written, which eager takes for a leaf."""
    return isinstance(value, Tensor) and value._base is not None and value._base.grad_fn is not None


def _is_plain(result: Tensor, given: tuple[Any, ...], run: _Run) -> bool:
    """Return whether a result shares its memory with a buffer, or an argument that did not require grad before the call."""
    pairs = zip(tensors_in(given), tensors_in(run.given), strict=False)
    plain = [*run.buffers, *(t for before, t in pairs if not before.requires_grad)]
    return any(t.untyped_storage().data_ptr() == result.untyped_storage().data_ptr() for t in plain)


def _same_gradient(want: Tensor | None, have: Tensor | None, actual: _Run, i: int) -> None:
    at = f"the gradient of input {i}, {tuple(actual.inputs[i].shape)}"
    if want is None or have is None:
        given = have.nan_to_num() if want is None and have is not None else want
        assert given is None or not given.any(), f"{at}: {have}, but eager: {want}"
        return
    rough = want.dtype == torch.float32
    largest = max(1.0, float(want.nan_to_num(0, 0, 0).abs().max())) if want.numel() else 1.0
    close = {"rtol": 1e-3, "atol": 1e-4 * largest} if rough else {"rtol": 1e-7, "atol": 1e-9 * largest}
    torch.testing.assert_close(have, want, equal_nan=True, **close, msg=lambda m: f"{at}: {m}\n{have}\neager: {want}")


def _reason(message: str) -> str:
    """The part of a refusal that does not depend on the program's place."""
    lines = message.splitlines()
    first = lines[1] if len(lines) > 1 and lines[0].endswith("not supported:") else lines[0]
    return first.rpartition("error: ")[2] or first


