"""Exceptions, warnings and prints of compiled code, as Python gets them."""

import ast
import builtins
import logging
import sys
import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

Row = tuple[str, int, str, str]  # file, line, function, text of the line


@lru_cache(maxsize=1024)
def _code_at(file: str, line: int, function: str, statement: str) -> CodeType:
    """Return code that runs the statement and that tracebacks show at this line of the user's function."""
    tree = ast.parse(statement)
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.expr)):
            node.lineno = node.end_lineno = max(line, 1)
            node.col_offset = node.end_col_offset = -1  # columns are unknown, so print no carets
    return compile(tree, file, "exec").replace(co_name=function)


def raised_at(exception: BaseException, rows: Sequence[Row]) -> BaseException:
    """Return the exception with the traceback of eager: the frames of the user, also those of inlined calls."""
    names: dict[str, object] = {"__scriptc_error": exception}
    statement = "raise __scriptc_error"
    for file, line, function, _ in rows:
        call = FunctionType(_code_at(file, line, function, statement), names)
        names = {"__scriptc_call": call}
        statement = "__scriptc_call()"
    try:
        call()
    except BaseException as raised:
        traceback = raised.__traceback__
    return exception.with_traceback(traceback.tb_next if traceback else None)  # without this function's own frame


def _described(message: str, rows: Sequence[Row]) -> str:
    where = [f"  at {file}:{line} in {function}: {text}" for file, line, function, text in rows]
    return "\n".join([message, *where] if message else [line.strip() for line in where])


def _key(message: str) -> object:
    """Return the argument of a KeyError, whose str() is the repr of the argument."""
    try:
        return ast.literal_eval(message)
    except (ValueError, SyntaxError):
        return message


def _with_attributes(raised: Any, message: str, text: str) -> BaseException:
    """Return an exception whose class has an __init__ of its own, with the attributes that compiled code set.

    text: the message with locations.
    """
    exception: BaseException = raised.cls.__new__(raised.cls)
    names, values = raised.held
    raised.held = None
    held = dict(zip(names, values, strict=True))
    args = held.pop("args")
    exception.args = (text, *args[1:]) if args[:1] == (message,) else args
    exception.__dict__.update(held)
    return exception


def make_exception(name: str, message: str, rows: Sequence[Row], own: Mapping[str, Any]) -> BaseException:
    """Return the exception for an error of compiled code.

    own: the classes that are not builtins, by name: a class, or where compiled code leaves the attributes of its
        exceptions.
    """
    kind = own.get(name) or getattr(builtins, name, None)
    if getattr(kind, "held", None) is not None:
        exception = _with_attributes(kind, message, _described(message, rows))
        return raised_at(exception, rows) if rows else exception
    if not (isinstance(kind, type) and issubclass(kind, BaseException)):
        kind, message = RuntimeError, f"{name or 'internal scriptc error'}: {message}"
    # str() of a KeyError quotes its argument, so a location there would be unreadable; the traceback has it
    text = _key(message) if issubclass(kind, KeyError) else _described(message, rows)
    exception = kind() if text == "" else kind(text)
    return raised_at(exception, rows) if rows else exception


_shown: set[tuple[str, str]] = set()  # warnings and records that come once: category and message
_registries: dict[str, dict] = {}  # by file: warnings already shown, as in a module's __warningregistry__


def warn(category: str, message: str, file: str | None, line: int) -> None:
    """Warn as compiled code asks.

    category: the name of a class of Python, or logging.LEVEL.NAME for a message to the logger of that name. Behind the
        prefix "once.", an equal message comes once in the process.
    """
    if category.startswith("once."):
        if (category, message) in _shown:
            return
        _shown.add((category, message))
        category = category.removeprefix("once.")
    if category.startswith("logging."):
        _, level, of = category.split(".", 2)
        logger, number = logging.getLogger(of), int(level) if level.isdigit() else logging.getLevelName(level)
        logger.handle(logger.makeRecord(of, number, file or "<unknown>", line, message, (), None))
        return
    kind = getattr(builtins, category, UserWarning)
    name = file or "<unknown>"
    warnings.warn_explicit(message, kind, name, line, registry=_registries.setdefault(name, {}))


def emit(text: str) -> None:
    sys.stdout.write(text)
