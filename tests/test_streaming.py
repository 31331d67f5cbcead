"""Functions of sequences that are rewritten for chunks: chunked equals whole for every chunking, by the interpreter."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from streaming_programs import REFUSED, STREAMS

from scriptc.driver.streams import Streamed, StreamRequest, streamed
from scriptc.driver.target import target_of
from scriptc.frontend.entry import Entry, read
from scriptc.frontend.environment.shared_state import SharedState
from scriptc.frontend.environment.specs import values_of
from scriptc.ir.errors import CompileError
from scriptc.ir.interp import Interpreter
from scriptc.ir.phases import READ
from scriptc.ir.streaming.kinds import Along, Items
from scriptc.ir.verifier import verify
from scriptc.runtime.bridge import stack_left

_READ: dict[str, tuple[Entry, Streamed]] = {}


def _rewritten(function: Any, args: tuple[Any, ...]) -> tuple[Entry, Streamed]:
    target = target_of(function)
    entry = read(target.func, target.receiver, target.bind(args, {}), ahead=SharedState({}), left=stack_left)
    entries, streams = streamed([entry], [StreamRequest("x", None)])
    verify(entries[0].module, READ)
    assert streams[0] is not None
    return entries[0], streams[0]


def _of_length(x: Any, dim: int, length: int) -> Any:
    """Return a sequence like an example, of another length."""
    if isinstance(x, list):
        return [torch.randn_like(x[0]) for _ in range(length)]
    shape = [length if d == dim else n for d, n in enumerate(x.shape)]
    return torch.randn(shape) if x.is_floating_point() else torch.randint(0, 10, shape)


def _parts(x: Any, dim: int, lengths: list[int]) -> list[Any]:
    if isinstance(x, list):
        ends = [sum(lengths[: i + 1]) for i in range(len(lengths))]
        return [x[end - n : end] for end, n in zip(ends, lengths, strict=True)]
    return list(x.split(lengths, dim))


class _Runner:
    """Calls of a rewritten entry, with its state."""

    def __init__(self, entry: Entry):
        self.entry = entry
        self.state: list[Any] = list(entry.kept[-1].initial)
        self.params = {late.name: late.container[late.key].detach() for late in entry.tensors}

    def __call__(self, arguments: dict[str, Any]) -> list[Any]:
        inputs = [v for a in self.entry.args for v in values_of(a.spec, arguments[a.name])]
        interpreter = Interpreter(self.entry.module, self.params, self.entry.exceptions)
        results = interpreter.run(self.entry.module.entries[0], *inputs, *self.state)
        _, _, self.state = interpreter.state[-1]
        return list(results)


@pytest.fixture
def rewritten(name: str) -> tuple[Entry, Streamed]:
    if name not in _READ:
        _READ[name] = _rewritten(*STREAMS[name][:2])
    return _READ[name]


@pytest.mark.parametrize("name", STREAMS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(lengths=st.lists(st.integers(1, 6), min_size=1, max_size=5), seed=st.integers(0, 1000))
def test_chunked_equals_whole(name: str, rewritten: tuple[Entry, Streamed], lengths: list[int], seed: int) -> None:
    function, args, dim = STREAMS[name]
    entry, stream = rewritten
    assert stream.dim == dim
    torch.manual_seed(seed)
    whole = target_of(function).bind((_of_length(args[0], dim, sum(lengths)), *args[1:]), {})
    if name == "conditional" and any(not len(_kept(part)) for part in _parts(whole["x"], dim, lengths)):
        return  # a chunk without rows raises, as eager does for a sequence without rows
    with torch.no_grad():
        expected = list(values_of(entry.result, function(**whole)))
        run = _Runner(entry)
        chunks = [run({**whole, "x": part}) for part in _parts(whole["x"], dim, lengths)]
    for kind, want, found in zip(stream.stream.results, expected, zip(*chunks, strict=True), strict=True):
        if isinstance(kind, Along):
            torch.testing.assert_close(torch.cat(found, kind.dim), want)
        elif isinstance(kind, Items):
            torch.testing.assert_close([item for part in found for item in part], want)
        else:
            torch.testing.assert_close(found[-1], want)


def _kept(x: torch.Tensor) -> list[torch.Tensor]:
    return [row for row in x if row.sum() > -1]


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_what_cannot_stream_is_told_with_the_line(function: Any) -> None:
    lines, first = inspect.getsourcelines(function)
    line, reason = next((first + i, text.partition("# here: ")[2].strip()) for i, text in enumerate(lines) if "# here" in text)
    with pytest.raises(CompileError, match=re.escape(reason)) as caught:
        _rewritten(function, (torch.randn(5, 4),))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.loc.line == line
    assert diagnostic.hint


def test_a_chunk_of_another_batch_raises() -> None:
    function, args, _ = STREAMS["seed_rnn"]
    run = _Runner(_rewritten(function, args)[0])
    run({"x": torch.randn(2, 2, 3)})
    with pytest.raises(RuntimeError, match="a chunk has other sizes than the chunks before"):
        run({"x": torch.randn(2, 1, 3)})
    assert run({"x": torch.randn(2, 2, 3)})[0].shape == (2, 2, 2)


def test_requests_that_name_no_sequence() -> None:
    function, args, _ = STREAMS["of_list"]
    target = target_of(function)

    def ask(name: str, dim: int | None) -> None:
        entry = read(target.func, None, target.bind(args, {}), ahead=SharedState({}), left=stack_left)
        streamed([entry], [StreamRequest(name, dim)])

    with pytest.raises(ValueError, match="no such argument, but x, h"):
        ask("y", None)
    with pytest.raises(ValueError, match="has no dim 3"):
        ask("h", 3)
