"""Tensors of uint64 among the arguments of functions of torch."""

from __future__ import annotations

from typing import Any, NoReturn

from scriptc.frontend.library.registry import library_name
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue
from scriptc.frontend.values.predicates import is_list, is_unsigned
from scriptc.frontend.values.verbs import held_values


def refuse_unsigned(reader: Reader, function: Any, *avs: AbstractValue) -> None:
    """Refuse a function of torch that takes a tensor of uint64, itself or in a list or tuple."""
    module = getattr(function, "__module__", None) or "torch"
    if not reader.position.has_unsigned or module.partition(".")[0] != "torch":
        return
    for av in avs:
        items = (is_list(av) and av.items) or held_values(av) or ()
        if is_unsigned(av) or any(map(is_unsigned, items)):
            reject_unsigned(reader, library_name(function))


def reject_unsigned(reader: Reader, name: str) -> NoReturn:
    reader.reject("form_of_call", name=f"{name} of a uint64 tensor", why="convert the tensor first, as with .to(torch.int64)")
