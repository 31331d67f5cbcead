"""Commands that a compilation runs: an interrupt ends them, also in the moment in which they start."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from typing import Any

import pytest

from scriptc.backend_c import processes


def test_an_interrupt_ends_a_command_that_has_just_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command runs before its process is registered. The interrupt waits for that, and then ends the command."""
    begun, ended, start = threading.Event(), threading.Event(), subprocess.Popen

    def started_slowly(*args: Any, **kwargs: Any) -> Any:
        process = start(*args, **kwargs)
        begun.set()
        time.sleep(0.3)
        return process

    def wait_for_command() -> None:
        processes.run(["sleep", "60"], {**os.environ})
        ended.set()

    monkeypatch.setattr(subprocess, "Popen", started_slowly)
    threading.Thread(target=wait_for_command, daemon=True).start()
    with pytest.raises(KeyboardInterrupt), processes.ended_on_interrupt():
        assert begun.wait(10)
        raise KeyboardInterrupt
    assert ended.wait(10)
