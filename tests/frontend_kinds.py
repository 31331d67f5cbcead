"""Kinds of data files whose cases are Python: the IR as read (`frontend-`), the errors of compilation (`errors-`).

A case defines `f`, a function or an nn.Module; its [args] section holds the arguments of one call. torch, nn and F are
there already. Diagnostics stand at their lines: `# E:` the error, `# H:` its hint, `# N:` the calls that led to it.
"""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import torch
from data_suite import Case, Kind
from ir_kinds import show
from torch import nn

from scriptc.driver.target import target_of
from scriptc.frontend.entry import Entry, read
from scriptc.ir.errors import CompileError, Diagnostic
from scriptc.ir.verifier import verify

MAIN = "main.py"  # where the source of a case seems to come from


def entry_of(case: Case) -> Entry:
    """What the front end reads; lines of the source are those of the case."""
    text = case.text
    linecache.cache[MAIN] = (len(text), None, text.splitlines(keepends=True), MAIN)
    names: dict[str, Any] = {"__name__": "main", "torch": torch, "nn": nn, "F": nn.functional}
    exec(compile(text, MAIN, "exec"), names)
    given = eval(f"(lambda *args, **kwargs: (args, kwargs))({' '.join(case.section('args'))})", names)
    target = target_of(names["f"])
    return read(target.func, target.receiver, target.bind(*given))


def frontend_case(case: Case) -> list[str]:
    """The IR, verified."""
    entry = entry_of(case)
    verify(entry.module)
    return [line for line in show(entry.module) if line.strip()]


def errors_case(case: Case) -> list[str]:
    """Every diagnostic, or that there is none."""
    try:
        entry_of(case)
    except CompileError as error:
        return [line for d in error.diagnostics for line in _lines(d)]
    except TypeError as error:
        return [f"TypeError: {error}"]
    return ["no error"]


def _lines(diagnostic: Diagnostic) -> list[str]:
    loc, *sites = diagnostic.loc.chain()
    found = [_at(loc.file, f"{loc.line}:{loc.col + 1}", "error", diagnostic.message)]
    if diagnostic.hint:
        found.append(_at(loc.file, str(loc.line), "hint", diagnostic.hint))
    return found + [_at(site.file, str(site.line), "note", f"reached from {site.func}") for site in sites]


def _at(file: str, place: str, severity: str, message: str) -> str:
    return f"main:{place}: {severity}: {message}" if file == MAIN else f"{Path(file).name}: {severity}: {message}"


FRONTEND_KINDS: dict[str, Kind] = {"frontend-": frontend_case, "errors-": errors_case}
