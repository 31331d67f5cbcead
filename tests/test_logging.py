"""What compiled code tells Python's loggers is what eager tells them, as long as they are told anything."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from settings import OPTIMIZE
from torch import Tensor

import scriptc

logger = logging.getLogger("scriptc_test.model")
adapted = logging.LoggerAdapter(logger, {})
X = torch.tensor([1.0, 2.5])


def messages(x: Tensor, n: int) -> Tensor:
    logger.debug("shape %s of %d", x.shape, n)
    logger.info(f"rows {x.size(0)} 100%")
    if n > 1:
        logger.warning("sum %.2f", x.sum())
    logger.log(25, "%(a)s and %(b)s", {"a": n, "b": "text"})
    adapted.error("adapted %s", n)
    return x + n


@functools.lru_cache(None)
def warn_once(of: logging.Logger, *args: Any) -> None:
    of.warning(*args)


def warned_once(x: Tensor, n: int) -> Tensor:
    if n > 1:
        warn_once(logger, "many of %s", "them")
    warn_once(logger, "number")
    return x + n


def asked(x: Tensor, n: int) -> int:
    if logger.isEnabledFor(logging.DEBUG):
        logger.debug("%s", n)
        return n
    return -n


class Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[tuple[Any, ...]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append((record.name, record.levelno, record.getMessage(), record.pathname, record.lineno))


@pytest.fixture(name="kept")
def kept_fixture() -> Iterator[Kept]:
    kept, before = Kept(), logger.level
    logger.addHandler(kept)
    yield kept
    logger.removeHandler(kept)
    logger.setLevel(before)
    logging.disable(logging.NOTSET)


def told(kept: Kept, function: Callable[..., Any], *args: Any) -> tuple[list[tuple[Any, ...]], Any]:
    kept.records.clear()
    result = function(*args)
    return list(kept.records), result.tolist() if isinstance(result, Tensor) else result


@pytest.mark.parametrize("program", [messages, asked])
def test_records_are_eagers(program: Callable[..., Any], kept: Kept) -> None:
    made = scriptc.compile(program, optimize=OPTIMIZE)
    for level in (logging.DEBUG, logging.WARNING, logging.CRITICAL, logging.DEBUG):
        logger.setLevel(level)
        for n in (0, 2):
            assert told(kept, made, X, n) == told(kept, program, X, n)
    logging.disable(logging.INFO)
    assert told(kept, made, X, 2) == told(kept, program, X, 2)


@pytest.mark.usefixtures("compiles_once_in_test")
def test_a_build_tells_the_logger_of_that_name(kept: Kept, tmp_path: Path) -> None:
    """Which of its messages are logged is decided when it is built."""
    logger.setLevel(logging.INFO)
    built = scriptc.load(scriptc.build(messages, X, 2, out=tmp_path / "logs", optimize=0, march="native"))
    expected, _ = told(kept, messages, X, 2)
    found, result = told(kept, built, X.numpy(), 2)
    assert ([r[:3] for r in found], result.tolist()) == ([r[:3] for r in expected], [3.0, 4.5])


@pytest.mark.usefixtures("compiles_once_in_test")
def test_a_memoized_message_comes_once(kept: Kept, tmp_path: Path) -> None:
    """No reading tells the logger anything, and neither does a path that is not taken."""
    logger.setLevel(logging.INFO)
    made = scriptc.compile(warned_once, optimize=OPTIMIZE)
    built = scriptc.load(scriptc.build(warned_once, X, 0, out=tmp_path / "once", optimize=0, march="native"))
    for call, x in ((made, X), (built, X.numpy())):
        texts = [[record[2] for record in told(kept, call, x, n)[0]] for n in (0, 0, 2, 2)]
        assert texts == [["number"], [], ["many of them"], []]
