"""Operators and comparisons of collections.Counter."""

from __future__ import annotations

from collections import Counter

from scriptc.frontend.library.python import counters_decomposed as counters
from scriptc.frontend.operations.logic import negated
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known
from scriptc.frontend.values.predicates import has_known_keys, is_dict, is_known
from scriptc.frontend.values.verbs import python_class


def are_counters(reader: Reader, *avs: AbstractValue) -> bool:
    """Return whether all values are Counters, of no subclass."""
    is_any_dict = all(is_dict(av) or has_known_keys(av) or is_known(av) and isinstance(av.obj, dict) for av in avs)
    return is_any_dict and all(python_class(reader, av) is Counter for av in avs)


def counter_operator(
    reader: Reader, op: str, a: AbstractValue, b: AbstractValue, *, inplace: bool
) -> AbstractValue | None:
    """Return `a + b` and the like of two Counters; None if Python raises TypeError. If `inplace`, the result is `a`."""
    if op not in counters.MADE:
        return None
    _promote(reader, a, b)
    if not inplace:
        return reader.call(Known(counters.MADE[op]), [a, b], {})
    reader.call(Known(counters.CHANGED[op]), [a, b], {})
    return a


def compare_counters(reader: Reader, op: str, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    _promote(reader, a, b)
    compared = reader.call(Known(counters.COMPARED["Eq" if op == "NotEq" else op]), [a, b], {})
    return negated(reader, compared) if op == "NotEq" else compared


def signed_counter(reader: Reader, op: str, av: AbstractValue) -> AbstractValue | None:
    """Return `+av` or `-av` of a Counter; None for other operators."""
    if op not in counters.SIGNED:
        return None
    _promote(reader, av)
    return reader.call(Known(counters.SIGNED[op]), [av], {})


def _promote(reader: Reader, *avs: AbstractValue) -> None:
    """Give run-time keys to Counters, which the operators walk."""
    for av in avs:
        if has_known_keys(av):
            reader.speculation.promote(av)
