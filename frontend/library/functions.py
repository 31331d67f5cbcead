"""Functions as values, printing, operators by name."""

from __future__ import annotations

import ast

from scriptc.frontend.library import serves
from scriptc.frontend.operators import BINARY, COMPARE
from scriptc.frontend.reader_api import Reader
from scriptc.frontend.values import AV, Known, PartialV

_NODES = {"neg": ast.USub(), "pos": ast.UAdd(), "invert": ast.Invert()}


@serves("functools.partial")
def partial(r: Reader, func: AV, *args: AV, **kwargs: AV) -> AV:
    return PartialV(func, args, kwargs)


@serves("builtins.print")
def print_(r: Reader, *values: AV, sep: AV = Known(" "), end: AV = Known("\n"), flush: AV = Known(False)) -> AV:  # noqa: B008
    parts: list[AV] = []
    for i, value in enumerate(values):
        parts += [sep] if i else []
        parts += r.text_parts(value)
    r.printed([*parts, end])
    return Known(None)


@serves("builtins.str")
def str_(r: Reader, value: AV = Known("")) -> AV:  # noqa: B008
    return r.joined([*r.text_parts(value)])


@serves("builtins.repr")
def repr_(r: Reader, value: AV) -> AV:
    return r.joined([*r.text_parts(value, quoted=True)])


def _register() -> None:
    for op, (function, *_) in BINARY.items():
        serves(f"operator.{function.__name__}")(lambda r, a, b, op=op: r.binary(op, a, b))
        serves(f"operator.i{function.__name__.rstrip('_')}")(lambda r, a, b, op=op: r.inplace(op, a, b))
    for op, (function, _) in COMPARE.items():
        serves(f"operator.{function.__name__}")(lambda r, a, b, op=op: r.compare(op, a, b))
    serves("operator.is_")(lambda r, a, b: r.compare("Is", a, b))
    serves("operator.is_not")(lambda r, a, b: r.compare("IsNot", a, b))
    serves("operator.contains")(lambda r, a, b: r.compare("In", b, a))
    serves("operator.getitem")(lambda r, a, b: r.subscript(a, b))
    serves("operator.truth")(lambda r, a: r.truth(a))
    serves("operator.not_")(lambda r, a: r.negate(r.truth(a)))
    serves("operator.abs")(lambda r, a: r.call(Known(abs), [a], {}))
    for name in ("neg", "pos", "invert"):
        serves(f"operator.{name}")(lambda r, a, name=name: r.unary(_NODES[name], a))


_register()
