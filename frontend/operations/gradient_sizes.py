"""Gradients that a user's `backward` returns: autograd sums them up to the sizes of their input."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch

from scriptc.frontend.operations.formatting import joined, raise_with
from scriptc.frontend.operations.sizes import size_av
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, RuntimeValue
from scriptc.frontend.values.predicates import is_known, tensor_type
from scriptc.frontend.values.verbs import materialize


def summed_to(
    reader: Reader, gradient: AbstractValue, sizes: Sequence[AbstractValue], name: str, index: int
) -> AbstractValue:
    """Return a gradient with the sizes of its input. Raise autograd's error if its sizes do not fit.

    name: of the node, as autograd names it. index: of the input.
    """
    have = [size_av(reader, gradient, d) for d in range(tensor_type(gradient).rank)]
    lead = len(have) - len(sizes)

    def fails() -> bool:
        message = [Known(f"Function {name} returned an invalid gradient at index {index} - got "), *_listed(have),
                   Known(" but expected shape compatible with "), *_listed(sizes)]  # fmt: skip
        raise_with(reader, "RuntimeError", joined(reader, message))

    def reduced() -> AbstractValue:
        pairs = list(zip(have[lead:], sizes, strict=True))
        fits = _all(reader, [_either(reader, _equal(reader, a, b), _equal(reader, b, Known(1))) for a, b in pairs])
        if not is_known(fits):
            reader.branch(fits, lambda: True, fails, frozenset())
        elif not fits.obj:
            fails()
        result = gradient
        if lead:
            result = reader.call(Known(torch.sum), [result, Known(tuple(range(lead)))], {})
        for d, (a, b) in enumerate(pairs):
            result = reader.choose(_equal(reader, a, b), partial(_itself, result), partial(_sum, reader, result, d))
        return result

    if lead < 0:
        fails()
    if lead:
        return reduced()
    return reader.choose(_all(reader, list(map(partial(_equal, reader), have, sizes))), lambda: gradient, reduced)


def _itself(av: AbstractValue) -> AbstractValue:
    return av


def _sum(reader: Reader, av: AbstractValue, dim: int) -> AbstractValue:
    return reader.call(Known(torch.sum), [av, Known((dim,)), Known(True)], {})


def _listed(sizes: Sequence[AbstractValue]) -> list[AbstractValue]:
    """Return the parts of a text that lists sizes."""
    parts: list[AbstractValue] = [Known("[")]
    for i, size in enumerate(sizes):
        parts += [Known(", "), size] if i else [size]
    return [*parts, Known("]")]


def _equal(reader: Reader, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    return reader.compare("Eq", a, b)


def _either(reader: Reader, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    if is_known(a):
        return a if a.obj else b
    if is_known(b):
        return b if b.obj else a
    return RuntimeValue(reader.emit.build("bool.or_", [materialize(reader, a), materialize(reader, b)]))


def _all(reader: Reader, conditions: Sequence[AbstractValue]) -> AbstractValue:
    result: AbstractValue = Known(True)
    for condition in conditions:
        if is_known(result):
            result = condition if result.obj else result
        elif is_known(condition):
            result = result if condition.obj else condition
        else:
            values = [materialize(reader, result), materialize(reader, condition)]
            result = RuntimeValue(reader.emit.build("bool.and_", values))
    return result
