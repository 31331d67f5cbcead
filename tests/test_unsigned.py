"""Tensors of uint64: forms of their methods that are not compiled are refused at their line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import scriptc

FORMS: dict[str, Callable[[Any], Any]] = {
    "Tensor.item": lambda u: u.item(),
    "this form of Tensor.to": lambda u: u.to(torch.int64, copy=True),
    "this form of Tensor.view": lambda u: u.view(dtype=torch.int64),
    "this form of Tensor.long": lambda u: u.long(memory_format=torch.preserve_format),
    "this operator": lambda u: u + u,
    "torch.stack": lambda u: torch.stack([u, u]),
}


@pytest.mark.parametrize("form", FORMS)
def test_other_forms_are_refused(form: str) -> None:
    ask = FORMS[form]

    def hashed(x: torch.Tensor) -> Any:
        return ask(torch.hash_tensor(x, 1))

    with pytest.raises(scriptc.CompileError, match=f"{form} of a uint64 tensor: convert the tensor first"):
        scriptc.compile(hashed)(torch.ones(2, 3))
