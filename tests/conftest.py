"""Collects `.test` data files (see data_suite.py) and names the hypothesis profiles."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_suite import UPDATES, DataFile, write_updates
from hypothesis import settings

settings.register_profile("quick", max_examples=30, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=2000, deadline=None)
settings.load_profile("quick")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-data", action="store_true", help="write what came out into the .test files")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[UPDATES] = {}
    if config.getoption("--update-data") and config.getoption("numprocesses", None):
        raise pytest.UsageError("--update-data rewrites whole files, so it does not go with -n")


def pytest_collect_file(parent: pytest.Collector, file_path: Path) -> pytest.Collector | None:
    return DataFile.from_parent(parent, path=file_path) if file_path.suffix == ".test" else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for sentence in write_updates(config):
        terminalreporter.write_line(sentence)
