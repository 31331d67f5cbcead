"""Output: print, warnings and logging. Whether a logger is enabled is guarded; Python logs the message when the code runs."""

from __future__ import annotations

import logging

from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.formatting import format_of, printed, text_of
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, TupleValue
from scriptc.frontend.values.predicates import has_known_keys
from scriptc.ir.core import Value
from scriptc.ir.loc import Loc

_LOGGING = logging.Logger._log.__code__.co_filename
_NONE, _NO, _ONE = Known(None), Known(False), Known(1)


@serves("logging.getLogger")
def get_logger(r: Reader, name: AbstractValue = _NONE) -> AbstractValue:
    """Return a logger that exists. A guard finds that its name stands for another one."""
    wanted = require_known(r, name, "the name of a logger")
    if not wanted:
        return Known(logging.getLogger())
    found = logging.Logger.manager.loggerDict.get(wanted)
    if not isinstance(found, logging.Logger):
        r.reject("logger_without_name", name=wanted)
    r.environment.guard("DICT_IS", logging.Logger.manager.loggerDict, wanted, found)
    return Known(found)


@serves("logging.Logger.getEffectiveLevel")
def effective_level(r: Reader, self: AbstractValue) -> AbstractValue:
    logger: logging.Logger = require_known(r, self, "the logger")
    _guard_levels(r, logger)
    return Known(logger.getEffectiveLevel())


@serves("logging.Logger.isEnabledFor")
def is_enabled_for(r: Reader, self: AbstractValue, level: AbstractValue) -> AbstractValue:
    logger: logging.Logger = require_known(r, self, "the logger")
    number = require_known(r, level, "the level of a message")
    r.environment.guard("DICT_EQ", vars(logger), "disabled", logger.disabled)
    r.environment.guard("DICT_EQ", vars(logger.manager), "_disable", vars(logger.manager)["_disable"])
    _guard_levels(r, logger)
    return Known(logger.isEnabledFor(number))


def _guard_levels(r: Reader, logger: logging.Logger) -> None:
    """Guard the loggers from which a logger takes its level."""
    at: logging.Logger | None = logger
    while at is not None:
        r.environment.guard("DICT_EQ", vars(at), "level", at.level)
        if at.level:
            break
        r.environment.guard("DICT_IS", vars(at), "parent", at.parent)
        at = at.parent


@serves("logging.Logger._log")
def log(
    r: Reader,
    self: AbstractValue,
    level: AbstractValue,
    msg: AbstractValue,
    args: AbstractValue,
    exc_info: AbstractValue = _NONE,
    extra: AbstractValue = _NONE,
    stack_info: AbstractValue = _NO,
    stacklevel: AbstractValue = _ONE,
) -> AbstractValue:
    """Log a record with the formatted text, at the line where Python logs it.

    The record has no function's name.
    """
    logger: logging.Logger = require_known(r, self, "the logger")
    for name, given in (("exc_info", exc_info), ("extra", extra), ("stack_info", stack_info)):
        empty = has_known_keys(given) and not r.iterate(given)
        if not empty and require_known(r, given, f"the argument {name}"):
            r.reject("form_of_call", name="logging", why=f"{name} is not supported")
    if logging.getLogger(logger.name) is not logger:
        r.reject("logger_without_name", name=logger.name)
    text, values = text_of(r, msg), r.iterate(args)
    if values:
        named = len(values) == 1 and has_known_keys(values[0])
        text = r.binary("Mod", text, values[0] if named else TupleValue(values))
    number = require_known(r, level, "the level of a message")
    standard = logging.getLevelName(number)
    called = standard if logging.getLevelName(standard) == number else number
    places = [loc for loc in r.position.loc.chain() if loc.file != _LOGGING]
    where = places[: require_known(r, stacklevel, "stacklevel")][-1]
    format, shown = format_of(r, text)
    _emit(r, shown, where, f"logging.{called}.{logger.name}", format)
    return Known(None)


@serves("logging.basicConfig")
def basic_config(r: Reader, **kwargs: AbstractValue) -> AbstractValue:
    r.reject("logging_set_up")


@serves("warnings.warn")
def warn(
    r: Reader,
    message: AbstractValue,
    category: AbstractValue = Known(UserWarning),
    stacklevel: AbstractValue = Known(1),
) -> AbstractValue:
    """Build a warning at the line of Python's warning: `stacklevel` - 1 calls up."""
    cls = require_known(r, category, "the category of a warning")
    where = list(r.position.loc.chain())[: require_known(r, stacklevel, "stacklevel")][-1]
    format, values = format_of(r, text_of(r, message))
    _emit(r, values, where, cls.__name__, format)
    return Known(None)


def _emit(r: Reader, values: list[Value], where: Loc, category: str, message: str) -> None:
    """Build a warning or a record. In a memoized function, the same text comes once in a process."""
    once = "once." if r.position.once else ""
    r.emit.builder.op("warn", values, where, category=once + category, message=message)


@serves("builtins.print")
def print_(
    r: Reader,
    *values: AbstractValue,
    sep: AbstractValue = Known(" "),
    end: AbstractValue = Known("\n"),
    flush: AbstractValue = Known(False),
) -> AbstractValue:
    parts: list[AbstractValue] = []
    for i, value in enumerate(values):
        parts += [sep] if i else []
        parts.append(text_of(r, value))
    printed(r, [*parts, end])
    return Known(None)
