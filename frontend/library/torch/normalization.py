"""Softmax and normalization."""

from __future__ import annotations

from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch import backward_decomposed as backward
from scriptc.frontend.library.torch.creation import as_dtype
from scriptc.frontend.library.torch.memory import axis
from scriptc.frontend.operations.materialize import apply_for_results, apply_op
from scriptc.frontend.operations.sizes import shape_tuple
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, TupleValue
from scriptc.frontend.values.predicates import tensor_type

_NONE, _EPS, _TRUE = Known(None), Known(1e-5), Known(True)


def _softmax(name: str, *functions: str) -> None:
    @serves(*functions)
    def handler(r: Reader, input: AbstractValue, dim: AbstractValue, dtype: AbstractValue = _NONE) -> AbstractValue:
        wanted = as_dtype(r, dtype, tensor_type(input).dtype)
        return apply_op(r, name, input, dim=axis(r, input, dim), dtype=wanted)


for _name in ("softmax", "log_softmax"):
    _softmax(_name, f"torch.{_name}", f"Tensor.{_name}", f"torch.special.{_name}")
_softmax("safe_softmax", "torch._safe_softmax")


@serves("torch.layer_norm")
def layer_norm(
    r: Reader,
    input: AbstractValue,
    normalized_shape: AbstractValue,
    weight: AbstractValue = _NONE,
    bias: AbstractValue = _NONE,
    eps: AbstractValue = _EPS,
    cudnn_enable: AbstractValue = _TRUE,
) -> AbstractValue:
    return apply_op(r, "layer_norm", input, shape_tuple(r, tuple(r.iterate(normalized_shape))), weight, bias, eps)


@serves(backward.layer_norm_backward)
def layer_norm_backward(
    r: Reader, grad: AbstractValue, input: AbstractValue, normalized_shape: AbstractValue, weight: AbstractValue,
    eps: AbstractValue,
) -> AbstractValue:  # fmt: skip
    sizes = shape_tuple(r, tuple(r.iterate(normalized_shape)))
    return TupleValue([*apply_for_results(r, "layer_norm_backward", grad, input, sizes, weight, eps)])


@serves("torch.group_norm")
def group_norm(
    r: Reader,
    input: AbstractValue,
    num_groups: AbstractValue,
    weight: AbstractValue = _NONE,
    bias: AbstractValue = _NONE,
    eps: AbstractValue = _EPS,
    cudnn_enabled: AbstractValue = _TRUE,
) -> AbstractValue:
    return apply_op(r, "group_norm", input, num_groups, weight, bias, eps)
