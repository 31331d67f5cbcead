"""Python's forms of what compiled code prints, warns of and raises."""

import builtins
import logging
import warnings

_shown = set()  # warnings and records that come once: category and message


def write(text):
    print(text.decode(errors="replace"), end="")


def warn(category, message, file, line):
    """Show a warning, or log a record. Strings are the bytes that scriptc_output's `warn` gets."""
    if category.startswith(b"once."):
        if (category, message) in _shown:
            return
        _shown.add((category, message))
        category = category[5:]
    if category.startswith(b"logging."):
        _, level, of = category.decode().split(".", 2)
        logger, number = logging.getLogger(of), int(level) if level.isdigit() else logging.getLevelName(level)
        file, text = file.decode(errors="replace"), message.decode(errors="replace")
        logger.handle(logger.makeRecord(of, number, file, line, text, (), None))
        return
    kind = getattr(builtins, category.decode(), UserWarning)
    warnings.warn_explicit(message.decode(errors="replace"), kind, file.decode(errors="replace"), line)


def exception(name, message, where):
    """Return the exception of an error. Strings are the bytes of scriptc_error's type, message and traceback."""
    name, message = name.decode(), message.decode(errors="replace")
    kind = getattr(builtins, name, None)
    if not (isinstance(kind, type) and issubclass(kind, BaseException)):
        kind, message = RuntimeError, f"{name}: {message}"
    text = "\n".join(filter(None, [message, where.decode(errors="replace").rstrip()]))
    return kind(text) if text else kind()
