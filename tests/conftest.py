"""Collects `.test` data files (see data_suite.py), names the hypothesis profiles, and lends tests a compiler that compiles each
text once."""

from __future__ import annotations

import functools
import gc
import os
import shutil
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

# Workers and the programs that they start share bytecode: a hundred processes would compile the same modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

import pytest  # noqa: E402
from compiler_cache import wrapper  # noqa: E402
from data_suite import UPDATES, DataFile, write_updates  # noqa: E402
from hypothesis import settings  # noqa: E402

settings.register_profile("quick", max_examples=30, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=2000, deadline=None)
settings.load_profile("quick")


@pytest.fixture(scope="session")
def compilers_once(pytestconfig: pytest.Config) -> dict[str, str]:
    """Commands that do what CC and CXX do, but take object files from earlier builds (see compiler_cache.py)."""
    folder = pytestconfig.cache.mkdir("compiler")
    found = {}
    for variable, name in (("CC", "cc"), ("CXX", "c++")):
        real = shutil.which(os.environ.get(variable) or name)
        if real is not None:
            command = folder / f"{name}-{os.getpid()}"
            wrapper(real, command, folder / "objects")
            found[variable] = os.fspath(command.replace(folder / name))  # two workers write the same
    return found if "CC" in found else pytest.skip("no C compiler")


@pytest.fixture(scope="module")
def compiles_once(compilers_once: dict[str, str]) -> Iterator[None]:
    """Let `compilers_once` build what CC and CXX build, such as the libraries of packages."""
    with pytest.MonkeyPatch.context() as patch:
        for variable, command in compilers_once.items():
            patch.setenv(variable, command)
        yield


@pytest.fixture
def compiles_once_in_test(compilers_once: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Do what `compiles_once` does, for one test: the others of its file take objects of the runtime that CC has compiled."""
    for variable, command in compilers_once.items():
        monkeypatch.setenv(variable, command)


@pytest.fixture(scope="session")
def lasting_path(pytestconfig: pytest.Config) -> Path:
    """Return a folder for generated programs that is the same in each run. Their C names it, so that a later run finds their
    libraries in the cache."""
    return pytestconfig.cache.mkdir("programs")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-data", action="store_true", help="write what came out into the .test files")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[UPDATES] = {}
    if config.getoption("--update-data") and config.getoption("numprocesses", None):
        raise pytest.UsageError("--update-data rewrites whole files, so it does not go with -n")


LONG = ("test_wheel.py", "test_levels.py")  # files with tests and fixtures of ten seconds


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with long tests: behind the others, one worker would wait for the one that runs them."""
    items.sort(key=lambda item: item.path.name not in LONG)


# Objects until the garbage collector looks for cycles. By default it does so after 700, which takes up to 8 % of the time.
COLLECTS_AFTER = (1_000_000, 10, 10)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from modules and tests: each of its full runs would visit a million objects that stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(*COLLECTS_AFTER)
        gc.enable()


@pytest.fixture
def default_collector() -> Iterator[None]:
    """Collect cycles as often as by default, in tests of the memory that calls leave."""
    gc.collect()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*COLLECTS_AFTER)


FEW = 50  # modules that a test imports while the collector goes on visiting them
_visited = 0  # modules when the collector was last kept from those that there were


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Keep the garbage collector from modules that a file of tests was the first to import, such as those of torch."""
    global _visited
    if nextitem is not None and nextitem.path != item.path and len(sys.modules) > _visited + FEW:
        gc.collect()
        gc.freeze()
        _visited = len(sys.modules)


_outcomes: dict[str, BaseException | None] = {}  # of tests that others have run, by their ids


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is marked `compiled_together` with those beside it, and keep their outcomes."""
    if pyfuncitem.get_closest_marker("compiled_together") is None:
        return None
    if pyfuncitem.nodeid not in _outcomes:
        from compiled_together import AT_A_TIME, run_together  # the process that collects nothing does without torch

        beside = [item for item in pyfuncitem.session.items if getattr(item, "originalname", "") == pyfuncitem.originalname
                  and item.parent is pyfuncitem.parent]  # fmt: skip
        first = beside.index(pyfuncitem) // AT_A_TIME * AT_A_TIME
        group = beside[first : first + AT_A_TIME]
        bodies = [functools.partial(item.obj, **item.callspec.params) for item in group]
        _outcomes.update(zip((item.nodeid for item in group), run_together(bodies), strict=True))
    error = _outcomes.pop(pyfuncitem.nodeid)
    if error is not None:
        raise error
    return True


def pytest_collect_file(parent: pytest.Collector, file_path: Path) -> pytest.Collector | None:
    return DataFile.from_parent(parent, path=file_path) if file_path.suffix == ".test" else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for sentence in write_updates(config):
        terminalreporter.write_line(sentence)
