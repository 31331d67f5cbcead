"""Functions that take a NumPy scalar as the equal Python number."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch

from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue
from scriptc.frontend.values.verbs import as_argument

_OF_DATA = frozenset((torch.tensor, torch.as_tensor, torch.asarray))  # a NumPy scalar gives these its dtype
_OF_NUMBERS = frozenset((int, float, complex, range, chr, bin, hex, oct, slice, operator.index))


def as_arguments(
    reader: Reader, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> tuple[Sequence[AbstractValue], dict[str, AbstractValue]]:
    """Return arguments with the Python numbers of NumPy scalars."""
    return [as_argument(reader, av) for av in args], {name: as_argument(reader, av) for name, av in kwargs.items()}


def takes_numbers(function: Any) -> bool:
    """Return whether a function takes a NumPy scalar as the equal Python number."""
    module = getattr(function, "__module__", None) or ""
    if function in _OF_DATA:
        return False
    return function in _OF_NUMBERS or module.partition(".")[0] in ("torch", "math")
