"""Calls with starred arguments that are one of several sequences or dicts, or dicts with keys of some paths."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType, MethodType

import torch

from scriptc.frontend.library.registry import DECOMPOSITIONS, handler_of
from scriptc.frontend.reader.binding import Spread, merge_keywords, require_known_keys
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Bound, Closure
from scriptc.frontend.values.alternatives import split
from scriptc.frontend.values.predicates import is_known, may_be_unbound


def call_spread(
    reader: Reader, func: AbstractValue, args: Sequence[AbstractValue | Spread], kwargs: dict[str, AbstractValue],
    dicts: Sequence[Spread] = (),
) -> AbstractValue:  # fmt: skip
    """Return the result of a call whose starred argument is one of several sequences or dicts, read once for each.

    dicts: the double-starred arguments that are one of several dicts.
    """
    if dicts:

        def with_items_of(given: AbstractValue) -> AbstractValue:
            merged = dict(kwargs)
            merge_keywords(reader, func, merged, reader.items_of(require_known_keys(reader, given)))
            return call_spread(reader, func, args, merged, dicts[1:])

        return split(reader, dicts[0].value, with_items_of)
    some = next((name for name, av in kwargs.items() if may_be_unbound(av)), None)
    if some is not None and not binds_by_source(func):
        given, rest = kwargs[some], {name: av for name, av in kwargs.items() if name != some}
        assert may_be_unbound(given)
        return reader.choose(
            given.flag,
            lambda: call_spread(reader, func, args, {**kwargs, some: given.av}),
            lambda: call_spread(reader, func, args, rest),
        )
    at = next((i for i, a in enumerate(args) if isinstance(a, Spread)), None)
    if at is None:
        return reader.call(func, [a for a in args if not isinstance(a, Spread)], kwargs)
    spread = args[at]
    assert isinstance(spread, Spread)
    return split(
        reader,
        spread.value,
        lambda a: call_spread(reader, func, [*args[:at], *reader.iterate(a), *args[at + 1 :]], kwargs),
    )


def binds_by_source(func: AbstractValue) -> bool:
    """Return whether a call binds its arguments to the parameters of Python code."""
    called = func.func if isinstance(func, Bound) else func.obj if is_known(func) else None
    if isinstance(called, MethodType):
        called = called.__func__
    plain = isinstance(called, FunctionType) and handler_of(called) is None and called not in DECOMPOSITIONS
    return isinstance(func, Closure) or plain or isinstance(called, torch.nn.Module)
