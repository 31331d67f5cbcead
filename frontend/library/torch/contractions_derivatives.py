"""Derivatives of contractions."""

from __future__ import annotations

from torch import Tensor

from scriptc.frontend.library.registry import derives

Sizes = tuple[int, ...]


def _rows(x: Tensor) -> Tensor:
    """Return a tensor as a matrix of its rows along the last dim."""
    return x if x.dim() == 2 else x.reshape(-1, x.shape[-1])


@derives("linear", "input")
def linear_input(grad: Tensor, weight: Tensor) -> Tensor:
    return grad @ weight


@derives("linear", "weight")
def linear_weight(grad: Tensor, input: Tensor) -> Tensor:
    return _rows(grad).t() @ _rows(input)


@derives("linear", "bias")
def linear_bias(grad: Tensor, bias_sizes: Sizes) -> Tensor:
    total = _rows(grad).sum(0)
    return total.reshape(bias_sizes) if len(bias_sizes) > 1 else total.sum_to_size(bias_sizes)


@derives("matmul", "self")
def matmul_self(grad: Tensor, self_sizes: Sizes, other: Tensor) -> Tensor:
    if len(self_sizes) == 1 and other.dim() == 1:
        return grad * other
    wide = grad.unsqueeze(-2) if len(self_sizes) == 1 else grad
    if other.dim() == 1:
        return (wide.unsqueeze(-1) * other).sum_to_size(self_sizes)
    of_self = wide @ other.transpose(-1, -2)
    return (of_self.select(-2, 0) if len(self_sizes) == 1 else of_self).sum_to_size(self_sizes)


@derives("matmul", "other")
def matmul_other(grad: Tensor, self: Tensor, other_sizes: Sizes) -> Tensor:
    if self.dim() == 1 and len(other_sizes) == 1:
        return grad * self
    if len(other_sizes) == 1:
        return (self * grad.unsqueeze(-1)).sum_to_size(other_sizes)
    if self.dim() == 1:
        return (self.unsqueeze(-1) * grad.unsqueeze(-2)).sum_to_size(other_sizes)
    return (self.transpose(-1, -2) @ grad).sum_to_size(other_sizes)
