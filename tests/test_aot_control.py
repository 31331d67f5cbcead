"""How callers of a package bound its calls from outside."""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path
from typing import Any

import pytest

import scriptc

pytestmark = pytest.mark.usefixtures("compiles_once")


def count_down(n):
    return 0 if n == 0 else 1 + count_down(n - 1)


def work(n):
    if n < 0:
        return count_down(-n)
    total = i = 0
    while i < n:
        total += i % 7
        i += 1
    return total


@pytest.fixture(scope="module", name="model")
def model_fixture(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("control") / "control"
    return scriptc.load(scriptc.build(work, 5, out=folder, march="native", optimize=1))


def test_the_stack_of_a_call_is_bounded(model: Any) -> None:
    shared = model._shared
    assert model(-900) == 900
    shared.loaded.c("context_set_stack")(shared.context().handle, ctypes.c_size_t(4096))
    with pytest.raises(RecursionError):
        model(-900)
    assert model(-5) == 5
    shared.loaded.c("context_set_stack")(shared.context().handle, ctypes.c_size_t(0))
    assert model(-900) == 900


def test_another_thread_cancels_a_call(model: Any) -> None:
    shared = model._shared
    context = shared.context().handle
    stop = threading.Event()

    def cancel() -> None:
        while not stop.wait(0.05):
            shared.loaded.c("cancel")(context)

    thread = threading.Thread(target=cancel)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt, match="cancelled"):
            model(10**15)
    finally:
        stop.set()
        thread.join()
    assert model(10) == work(10)
