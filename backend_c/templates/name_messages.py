"""Python's forms of what compiled code prints, warns of and raises."""

import builtins
import logging
import sys
import warnings

_shown = set()  # warnings and records that come once: category and message

_METHODS = ("__new__", "__init__", "__str__")


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


def exception_classes(rows, package):
    """Return the exception classes that are not Python's own, by their names in C.

    rows: the "exceptions" of the manifest.
    """
    made = {}
    for row in rows:
        bases = tuple(made.get(base) or getattr(builtins, base, Exception) for base in row["bases"])
        name = row["path"].rpartition(".")[2] or row["name"]
        found = _find(row["module"], row["path"])
        names = [base.__name__ for base in bases]
        if found is None or [base.__name__ for base in found.__bases__ if issubclass(base, BaseException)] != names:
            made[row["name"]] = type(name, bases, {"__module__": package})
            continue
        users = [base for base in found.__mro__ if base.__module__ != "builtins"]
        if not any(key in vars(base) for base in users for key in _METHODS):
            made[row["name"]] = found
        else:  # C gives the message, and not the attributes that the class's own methods set and read
            plain = [base for base in found.__mro__ if base.__module__ == "builtins"]
            methods = {key: next(vars(base)[key] for base in plain if key in vars(base)) for key in _METHODS}
            made[row["name"]] = type(name, (found,), {**methods, "__module__": package})
    return made


def _find(module, path):
    """Return an exception class if the program has imported its module. Nothing is imported, such as torch, to find it."""
    found = sys.modules.get(module)
    for name in path.split("."):
        found = getattr(found, name, None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def exception(name, message, where, classes):
    """Return the exception of an error. Strings are the bytes of scriptc_error's type, message and traceback."""
    name, message = name.decode(), message.decode(errors="replace")
    kind = classes.get(name) or getattr(builtins, name, None)
    if not (isinstance(kind, type) and issubclass(kind, BaseException)):
        kind, message = RuntimeError, f"{name}: {message}"
    text = "\n".join(filter(None, [message, where.decode(errors="replace").rstrip()]))
    return kind(text) if text else kind()
