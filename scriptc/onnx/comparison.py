"""`scriptc.compare(..., against="onnx")`: the exported model in runtimes of ONNX against eager, over several calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy
import torch

from scriptc.api.compare import compare_leaf, doubled
from scriptc.driver.target import Target, original, target_of
from scriptc.frontend.environment.specs import values_of
from scriptc.inspect.comparison_report import RAISES, Report, Row
from scriptc.inspect.snapshots import copied, copied_receiver, forked_generators, undo_writes
from scriptc.onnx.runtimes import session_of
from scriptc.onnx.writing.model import model_of

_Call = tuple[tuple[Any, ...], dict[str, Any]]
_Run = Callable[[dict[str, Any]], list[Any]]


def compare_with_onnx(model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], calls: Sequence[tuple[Any, ...]]) -> Report:
    """Export a model from its first call, and compare the runtimes that are installed with eager on all calls."""
    plain = original(model)
    own_args, own_kwargs = copied((args, dict(kwargs)))
    exported, entry = model_of(plain, own_args, own_kwargs, None)
    target = target_of(plain)
    receiver = plain if isinstance(plain, torch.nn.Module) else getattr(plain, "__self__", None)
    receiver = receiver if isinstance(receiver, torch.nn.Module) else None
    runtimes = list(_runtimes(exported))
    names = [output.name for output in exported.graph.output]
    rows: list[Row] = []
    for number, call in enumerate([(args, dict(kwargs)), *((tuple(more), {}) for more in calls)]):
        expected = _Expected(plain, target, receiver, entry, call)
        for name, run in runtimes:
            feeds = dict(zip((i.name for i in exported.graph.input), map(_fed, expected.arguments), strict=True))
            rows += _rows(f"{name}, call {number}", names, run, feeds, expected)
    if all(row.path.endswith(RAISES) for row in rows):
        return Report((replace(rows[0], path=RAISES),), compared="ONNX")
    return Report(tuple(rows), compared="ONNX")


class _Expected:
    """Keep what eager does in a call. error: the exception that it raised, else None. leaves: those of its result in order."""

    def __init__(self, plain: Any, target: Target, receiver: torch.nn.Module | None, entry: Any, call: _Call):
        self.plain, self.receiver, self.entry, self.call = plain, receiver, entry, call
        bound = target.bind(*copied(call))
        self.arguments = [v for argument in entry.args for v in values_of(argument.spec, bound[argument.name])]
        self.error: Exception | None = None
        self.leaves: list[Any] = []
        own_args, own_kwargs = copied(call)
        with undo_writes(receiver), forked_generators(), torch.no_grad():
            try:
                result = plain(*own_args, **own_kwargs)
            except Exception as raised:
                self.error = raised
                return
        self.leaves = list(values_of(entry.result, result))

    def exact(self) -> list[Any]:
        """Return the leaves in float64; none if the model cannot run so."""
        default = torch.get_default_dtype()
        try:
            torch.set_default_dtype(torch.float64)
            own_args, own_kwargs = doubled(copied(self.call))
            plain = self.plain
            if self.receiver is not None:
                wide = copied_receiver(self.receiver).double()
                plain = wide if plain is self.receiver else plain.__func__.__get__(wide)
            with torch.no_grad(), forked_generators():
                return list(values_of(self.entry.result, plain(*own_args, **own_kwargs)))
        except Exception:  # a model may raise anything for a dtype that it was not written for
            return []
        finally:
            torch.set_default_dtype(default)


def _runtimes(model: Any) -> Iterator[tuple[str, _Run]]:
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(model)
    yield "onnx.reference", lambda feeds: list(evaluator.run(None, feeds))
    try:
        session = session_of(model.SerializeToString())
    except ImportError:
        return
    yield "ONNX Runtime", lambda feeds: session.run(None, feeds)


def _rows(where: str, names: list[str], run: _Run, feeds: dict[str, Any], expected: _Expected) -> Iterator[Row]:
    def text(error: Exception) -> str:
        return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"

    try:
        found = run(feeds)
    except Exception as error:
        if expected.error is not None:
            yield Row(f"{where} {RAISES}", text(expected.error), f"raises as well: {text(error)[:80]}", True)
        else:
            yield Row(f"{where} {RAISES}", "no exception", f"RAISES {text(error)}", False)
        return
    if expected.error is not None:
        yield Row(f"{where} {RAISES}", text(expected.error), "RAISES no exception", False)
        return
    exact: list[Any] | None = None
    for i, (name, got, wanted) in enumerate(zip(names, found, expected.leaves, strict=True)):
        items = list(zip(got, wanted, strict=False)) if isinstance(wanted, (list, tuple, deque)) else [(got, wanted)]
        if isinstance(wanted, (list, tuple, deque)) and len(got) != len(wanted):
            yield Row(f"{where}: {name}", f"list of {len(wanted)}", f"STRUCTURE: list of {len(got)}", False)
            continue
        for at, (ours, theirs) in enumerate(items):
            path = f"{where}: {name}" + (f"[{at}]" if isinstance(wanted, (list, tuple, deque)) else "")
            row = compare_leaf(path, _like(ours, theirs), _plain(theirs), None)
            if not row.ok and row.max_abs is not None:
                exact = expected.exact() if exact is None else exact
                value = exact[i] if i < len(exact) else None
                if isinstance(wanted, (list, tuple, deque)):
                    value = value[at] if isinstance(value, (list, tuple, deque)) and at < len(value) else None
                row = compare_leaf(path, _like(ours, theirs), _plain(theirs), _Known(path, value))
            yield row


@dataclass
class _Known:
    """One value in float64, as `compare_leaf` asks for it."""

    path: str
    value: Any

    def exact(self, path: str) -> torch.Tensor | None:
        return self.value if isinstance(self.value, torch.Tensor) and self.value.dtype == torch.float64 else None

    def unfolded(self, path: str) -> torch.Tensor | None:
        return None


def _fed(value: Any) -> Any:
    """Return an argument as runtimes take it."""
    if isinstance(value, (list, tuple, deque)):
        return [_fed(item) for item in value]
    if isinstance(value, torch.Tensor):
        return value.detach().contiguous().numpy()
    return numpy.array(value)


def _plain(value: Any) -> Any:
    """Return a value of eager without what a model does not give: strides, gradients and classes."""
    if isinstance(value, torch.Tensor):
        return value.detach().as_subclass(torch.Tensor).contiguous()
    return value.item() if isinstance(value, numpy.generic) else value


def _like(value: Any, wanted: Any) -> Any:
    """Return a value of a runtime as eager would give it: a tensor, or a number of Python."""
    array = numpy.asarray(value)
    if isinstance(wanted, torch.Tensor):
        return torch.from_numpy(numpy.array(array, order="C"))
    return array.item() if array.size == 1 and array.ndim == 0 else array
