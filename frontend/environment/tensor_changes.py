"""Write changes of tensor objects back to the caller: other sizes and strides, other data, or that they require grad."""

from __future__ import annotations

from typing import Any

import torch

from scriptc.frontend.environment.specs import ConstantSpec, Spec, TupleSpec, WriteBack

DATA, SHAPE, LEAF = "data", "shape", "leaf"


class TensorChanges:
    """The owner of the targets of such changes. An item that is set is a tensor, what the tensor becomes, and the kind of
    the change."""

    def __setitem__(self, name: str, change: tuple[torch.Tensor, torch.Tensor | None, str]) -> None:
        tensor, new, kind = change
        if new is None:
            tensor.requires_grad_()
        elif kind == DATA:
            tensor.data = new
        else:
            with torch.no_grad():
                tensor.as_strided_(new.size(), new.stride(), new.storage_offset())

    def __getitem__(self, name: str) -> None:
        """Return None, since autograd has nothing to see in a change."""


TENSOR_CHANGES: Any = TensorChanges()


def replaces_data(store: WriteBack) -> bool:
    """Return whether a call may give a tensor of its caller another storage."""
    return store.owner is TENSOR_CHANGES and any(_kind(form) == DATA for form in store.forms)


def _kind(form: Spec) -> Any:
    assert isinstance(form, TupleSpec)
    kind = form.items[-1]
    return kind.obj if isinstance(kind, ConstantSpec) else None
