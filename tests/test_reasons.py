"""The log says what is compiled and why again, a warning when that goes on; tracebacks and terminals show what users need."""

from __future__ import annotations

import io
import logging
import re
import threading
import traceback
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import scriptc
from scriptc.dispatch.dispatcher import MANY
from scriptc.dispatch.recompile_reasons import why
from scriptc.driver import stages
from scriptc.driver.stages import Stages, progress, shows_progress
from scriptc.driver.target import target_of
from scriptc.frontend.entry import read

X = torch.ones(2, 3)
STEPS = 1
TABLE = {"steps": 2}


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.layers = nn.ModuleList([nn.ReLU()])
        self.scale = 2.0
        self.act: Callable[[Tensor], Tensor] = torch.tanh
        self.inner = SimpleNamespace(mode="a")
        self.sizes = [1, 2]

    def forward(self, x: Tensor, n: int = 1, text: str = "a") -> Tensor:
        for layer in self.layers:
            x = layer(x)
        x = self.act(self.linear(x)) * self.scale * n + STEPS + len(self.sizes)
        return x + (TABLE["steps"] if text == "a" else 0) + len(self.inner.mode)


def closure() -> tuple[Callable[..., Any], Callable[[int], None]]:
    factor = 1

    def scaled(x: Tensor) -> Tensor:
        return x * factor

    def change(value: int) -> None:
        nonlocal factor
        factor = value

    return scaled, change


def reason(
    function: Any, first: tuple[Any, ...], change: Callable[[], object], *again: Any, **options: Any
) -> str | None:
    """What `why` says of a call behind a change, where the function was read for a first call."""
    target = target_of(function)
    with torch.no_grad():
        entry = read(target.func, target.receiver, target.bind(first, {}), **options)
        change()
        found = why(target, [entry], target.bind(again or first, {}))
    return found.text if found else None


def setting(net: Net, name: str, value: Any) -> Callable[[], object]:
    return lambda: setattr(net, name, value)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda net: setattr(net, "scale", 3.0), "self.scale is 3.0, and was 2.0"),
        (lambda net: setattr(net, "act", torch.sigmoid), "self.act is sigmoid, and was tanh"),
        (lambda net: net.layers.append(nn.Tanh()), "self.layers has 2 keys, and had 1"),
        (lambda net: net.linear.double(), "self.linear.weight is f64[3, 3], and was f32[3, 3]"),
        (lambda net: net.sizes.append(3), "self.sizes has 3 items, and had 2"),
        (lambda net: setattr(net.inner, "mode", "b"), "self.inner.mode is 'b', and was 'a'"),
        (lambda net: net.linear.register_forward_hook(print), "self.linear._forward_hooks was empty, and holds 1"),
    ],
)
def test_what_changed_in_an_object(change: Callable[[Net], Any], text: str) -> None:
    net = Net()
    assert reason(net, (X,), lambda: change(net)) == text


@pytest.mark.parametrize(
    ("again", "text"),
    [
        ((X[0],), "argument 'x' is f32[3], and was f32[?, ?]"),
        ((X.double(),), "argument 'x' is f64[2, 3], and was f32[?, ?]"),
        ((X, 1.5), "argument 'n' is 1.5, and was int"),
        ((X, 1, "b"), "argument 'text' is 'b', and was 'a'"),
    ],
)
def test_which_argument_differs(again: tuple[Any, ...], text: str) -> None:
    assert reason(Net(), (X,), lambda: None, *again) == text


def test_sizes_differ_where_they_are_part_of_the_signature() -> None:
    found = reason(nn.ReLU(), (X,), lambda: None, X[:1], dynamic=False)
    assert found == "argument 'input' is f32[1, 3], and was f32[2, 3]"


def test_globals_and_closures(monkeypatch: pytest.MonkeyPatch) -> None:
    name = __name__
    assert reason(Net(), (X,), lambda: monkeypatch.setitem(globals(), "STEPS", 7)) == f"{name}.STEPS is 7, and was 1"
    found = reason(Net(), (X,), lambda: monkeypatch.setitem(TABLE, "steps", 9))
    assert found == f"{name}.TABLE['steps'] is 9, and was 2"
    scaled, change = closure()
    assert reason(scaled, (X,), lambda: change(4)) == "factor is 4, and was 1"
    assert reason(Net(), (X,), lambda: None) is None


def test_the_nearest_variant_is_named() -> None:
    net = Net()
    target = target_of(net)
    with torch.no_grad():
        entries = [read(target.func, net, target.bind((x,), {})) for x in (X, X[0])]
        net.scale = 3.0
        found = why(target, entries, target.bind((X,), {}))
    assert found is not None and found.subject == "self.scale"


# ---- the log ----


def test_stages_and_the_disk_cache_are_logged(
    caplog: pytest.LogCaptureFixture, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTC_CACHE_DIR", str(tmp_path / "cache"))
    caplog.set_level(logging.INFO, "scriptc")

    def function(x: Tensor) -> Tensor:
        return x * 11

    scriptc.compile(function, optimize=0)(X)
    first, second = caplog.messages
    assert re.fullmatch(r"\S+function, \S+test_reasons.py:\d+: first call", first)
    for stage in ("front end", "passes", "C generation", "C compiler", "load"):
        assert re.search(rf"{stage} \d+\.\d+[,)]", second)
    scriptc.compile(function, optimize=0)(X)
    assert re.fullmatch(r"took .*function for \(x: f32\[\?, \?\]\) from the disk cache in .* s", caplog.messages[-1])


def test_each_recompilation_says_why_and_many_are_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    net = Net()
    made = scriptc.compile(net, optimize=0)
    with torch.no_grad():
        for mode in range(MANY + 1):
            net.inner.mode = f"mode {mode}"
            made(X)
    (warning,) = (record for record in caplog.records if record.name == "scriptc")
    assert warning.levelno == logging.WARNING
    text = warning.getMessage()
    assert f"now {MANY + 1} times: self.inner.mode is 'mode {MANY}', and was 'mode {MANY - 1}'" in text
    assert "pass it as an argument" in text
    caplog.clear()
    with torch.no_grad(), caplog.at_level(logging.INFO, "scriptc"):
        made(X[0])
    assert f"Net needs specialization {MANY + 2}: argument 'x' is f32[3], and was f32[?, ?]" in caplog.messages


def test_readings_are_logged_for_debugging(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "scriptc"):
        read(target_of(nn.ReLU()).func, nn.ReLU(), {"input": X})
    assert caplog.messages[0] == "reading ReLU.forward"


# ---- a line on the terminal ----


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_who_sees_progress(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("CI", "PYTEST_CURRENT_TEST", "SCRIPTC_PROGRESS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert shows_progress(Terminal()) and not shows_progress(io.StringIO()) and not shows_progress(None)
    for name, value in (("CI", "1"), ("SCRIPTC_PROGRESS", "0"), ("TERM", "dumb"), ("PYTEST_CURRENT_TEST", "t")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert not shows_progress(Terminal())
    with caplog.at_level(logging.INFO, "scriptc"):
        assert not shows_progress(Terminal())


def test_progress_comes_late_and_is_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(stages, "shows_progress", lambda stream: True)
    monkeypatch.setattr("sys.stderr", terminal)
    with progress(Stages("Net")):
        pass
    assert terminal.getvalue() == ""
    monkeypatch.setattr(stages, "PATIENCE", 0.0)
    written = threading.Event()
    monkeypatch.setattr(terminal, "flush", written.set)
    with progress(Stages("Net")):
        assert written.wait(10)
    assert terminal.getvalue().startswith("\r\x1b[Kscriptc: compiling Net: starting, 0 s")
    assert terminal.getvalue().endswith("\r\x1b[K")


# ---- tracebacks ----


def outer(x: Tensor) -> Any:
    return inner(x + 1)


def inner(x: Tensor) -> Any:
    return "no".translate(x)


def frames_of(call: Callable[[], object], error: type[Exception]) -> list[str]:
    with pytest.raises(error) as caught:
        call()
    return [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][2:]  # those of the caller


def test_tracebacks_of_compile_errors_have_the_users_frames(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.delenv("SCRIPTC_DEBUG", raising=False)
    made = scriptc.compile(outer, optimize=0)
    frames_of(lambda: made(X), scriptc.CompileError)
    assert frames_of(lambda: made(X), scriptc.CompileError) == ["outer", "inner"]
    assert frames_of(lambda: made(X, 1), TypeError) == []
    build = frames_of(lambda: scriptc.build(outer, X, out=tmp_path / "out"), scriptc.CompileError)
    assert build == ["build", "outer", "inner"]
    with pytest.raises(scriptc.CompileError) as caught:
        made(X)
    assert caught.value.__suppress_context__ and caught.value.__context__ is None
    monkeypatch.setenv("SCRIPTC_DEBUG", "1")
    assert len(frames_of(lambda: made(X), scriptc.CompileError)) > 5


def test_internal_errors_keep_all_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise scriptc.InternalError("broken")

    monkeypatch.delenv("SCRIPTC_DEBUG", raising=False)
    monkeypatch.setattr("scriptc.driver.pipeline.read", broken)
    assert "translate" in frames_of(lambda: scriptc.compile(outer, optimize=0)(X), scriptc.InternalError)
