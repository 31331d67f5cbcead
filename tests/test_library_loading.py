"""The op library is loaded as a whole, or its next user loads what is missing."""

from __future__ import annotations

from collections.abc import Iterator

import fresh_python
import pytest

from scriptc.frontend import library


def test_the_library_loads_without_exit() -> None:
    """IPython takes `exit` and `quit` out of the builtins while a cell runs; the option -S leaves them out."""
    text = "import builtins; del builtins.exit, builtins.quit; from scriptc.frontend import library; library.load()"
    done = fresh_python.run(["-c", text])
    assert not done.returncode, done.stderr


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The steps of `library.load` as calls that are noted."""
    done: list[str] = []
    monkeypatch.setattr(library, "_all_steps", lambda: [lambda name=name: step(name) for name in "abc"])
    monkeypatch.setattr(library, "_steps", None)

    def step(name: str) -> None:
        if name == "b" and done.count("failed") < 2:
            done.append("failed")
            raise KeyboardInterrupt
        done.append(name)

    yield done


def test_a_library_that_fails_to_load_is_loaded_by_the_next_call(unloaded: list[str]) -> None:
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            library.load()
    library.load()
    library.load()
    assert unloaded == ["a", "failed", "failed", "b", "c"]
