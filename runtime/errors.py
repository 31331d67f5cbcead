"""What compiled code tells Python while and after it runs: exceptions, warnings, prints."""

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
    """Code that runs the statement, seemingly at this line of the user's function."""
    tree = ast.parse(statement)
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.expr)):
            node.lineno = node.end_lineno = max(line, 1)
            node.col_offset = node.end_col_offset = -1  # unknown: no carets under the wrong words
    return compile(tree, file, "exec").replace(co_name=function)


def raised_at(exception: BaseException, rows: Sequence[Row]) -> BaseException:
    """Gives the exception the traceback that eager's would have: the user's frames, those of inlined calls included."""
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
    return exception.with_traceback(traceback.tb_next if traceback else None)  # our own frame is of no interest


def _described(message: str, rows: Sequence[Row]) -> str:
    where = [f"  at {file}:{line} in {function}: {text}" for file, line, function, text in rows]
    return "\n".join([message, *where] if message else [line.strip() for line in where])


def _key(message: str) -> object:
    """What a KeyError was made with, whose str() is the repr of that."""
    try:
        return ast.literal_eval(message)
    except (ValueError, SyntaxError):
        return message


def _with_attributes(raised: Any, message: str, text: str) -> BaseException:
    """An exception whose class has an __init__ of its own, from what that set; `text` is the message with places."""
    exception: BaseException = raised.cls.__new__(raised.cls)
    names, values = raised.held
    raised.held = None
    held = dict(zip(names, values, strict=True))
    args = held.pop("args")
    exception.args = (text, *args[1:]) if args[:1] == (message,) else args
    exception.__dict__.update(held)
    return exception


def make_exception(name: str, message: str, rows: Sequence[Row], own: Mapping[str, Any]) -> BaseException:
    """The exception for an error of compiled code; `own` holds the classes that are not builtins, by name: the class, or
    where compiled code left what its attributes are."""
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


_registries: dict[str, dict] = {}  # what has been warned about, by file, as in a module's __warningregistry__


def warn(category: str, message: str, file: str | None, line: int) -> None:
    """category: the name of a class of Python's, or logging.LEVEL.NAME for what a logger of that name is told."""
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
