"""Describe the exception classes of a package that are not Python's own."""

from __future__ import annotations

from scriptc.backend_c.package.interface import ExceptionClass
from scriptc.driver.package_pipeline import TranslatedPackage


def exception_classes(package: TranslatedPackage) -> tuple[ExceptionClass, ...]:
    """Return the classes that the entries may raise, base classes first."""
    rows = []
    for name, bases in package.module.exceptions.items():
        found = {cls for entry in package.entries if (cls := entry.exceptions.get(name)) is not None}
        known = next(iter(found)) if len(found) == 1 else None
        module, path = (known.__module__, known.__qualname__) if known else ("", "")
        rows.append(ExceptionClass(name, bases, module, path))
    return tuple(rows)
