"""Softmax and normalization over rows or along a dim. Dims count from the front; half types are computed in float."""

from __future__ import annotations

from scriptc.ir.opdef import OpDef, Raises, Samples, TypeRuleError
from scriptc.ir.ops.rules import Attrs, Operands, as_dim, tensor, tuple_items, with_dtype
from scriptc.ir.types import TensorType, Type

_PURE = frozenset({"PURE"})
_PLAIN = frozenset({"PURE", "PLAIN"})
_TENSOR = frozenset({"tensor"})
_FLOATS = ("f32", "f64", "bf16")
_NORM = ((2, 6, 5), (6,), (6,))


def _same(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    return (operands[0].type,)


def _layer_norm_backward(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    grad, x = tensor(operands[0]), tensor(operands[1])
    if grad.dtype != x.dtype:
        raise TypeRuleError(f"layer_norm_backward expects a gradient of dtype {x.dtype}, not {grad.dtype}")
    wide = "f64" if x.dtype == "f64" else "f32"
    return (x, TensorType(wide, tuple(map(as_dim, tuple_items(operands[2])))))


def _softmax(name: str, ref: str, kernel: str) -> OpDef:
    """Return a row. kernel: the name of eager's kernel in its message."""
    return OpDef(
        name, "(Tensor self, int dim, *, ScalarType dtype) -> Tensor", with_dtype, _PLAIN, gradient=("self",),
        ref=ref,
        reads=_TENSOR, raises=True, kernel=f"sc_{name}", tolerance_ulp=64,
        samples=Samples((((3, 5),), ((2, 130),), ((4, 0),), ((70, 3),)), dtypes=_FLOATS, extra=((0,), (1,))),
        errors=(Raises("NotImplementedError", f"\"{kernel}_kernel_impl\" not implemented for 'Long'", shapes=((3, 4),),
                       extra=(0,), dtype="i64"),),
    )  # fmt: skip


ROWS = [
    _softmax("softmax", "torch.softmax", "softmax"),
    _softmax("safe_softmax", "torch._safe_softmax", "softmax"),  # zeros for slices of minus infinity
    _softmax("log_softmax", "torch.log_softmax", "log_softmax"),
    # Normalizes over the last dims, of sizes `normalized_shape`; weight and bias have that shape.
    OpDef("layer_norm", "(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, Scalar eps) -> Tensor",
          _same, _PLAIN, gradient=("input", "weight", "bias"), ref="torch.layer_norm", reads=_TENSOR, raises=True,
          kernel="sc_layer_norm", tolerance_ulp=256,
          samples=Samples((((3, 5), (5,), (5,)), ((0, 5), (5,), (5,))), dtypes=("f32", "f64"), extra=(((5,), 1e-3),)),
          errors=(Raises("RuntimeError", "Given normalized_shape=[5], expected input with shape [*, 5], but got input of "
                         "size[3, 4]", shapes=((3, 4), (5,), (5,)), extra=((5,), 1e-3)),
                  Raises("RuntimeError", "Expected weight to be of same shape as normalized_shape, but got weight of shape "
                         "[4] and normalized_shape = [5]", shapes=((3, 5), (4,), (5,)), extra=((5,), 1e-3)))),
    # The gradients of the input and of the weight of layer_norm, from that of its result. The latter are sums in float32, or
    # in float64.
    OpDef("layer_norm_backward", "(Tensor grad, Tensor input, SymInt[] normalized_shape, Tensor? weight, Scalar eps) -> "
          "(Tensor, Tensor)", _layer_norm_backward, _PLAIN, ref="layer_norm_backward", reads=_TENSOR, raises=True,
          emit="layer_norm_backward", tolerance_ulp=256,
          samples=Samples((((3, 5), (3, 5), (5,)), ((0, 5), (0, 5), (5,))), dtypes=("f32", "f64"), extra=(((5,), 1e-3),)),
          errors=(Raises("RuntimeError", "Given normalized_shape=[5], expected input with shape [*, 5], but got input of "
                         "size[3, 4]", shapes=((3, 4), (3, 4), (5,)), extra=((5,), 1e-3)),)),
    # Normalizes over `num_groups` groups of the channels of [N, C, ...]; weight and bias have C elements.
    OpDef("group_norm", "(Tensor input, SymInt num_groups, Tensor? weight, Tensor? bias, Scalar eps) -> Tensor",
          _same, _PURE, gradient=("input", "weight", "bias"), ref="torch.group_norm", reads=_TENSOR, raises=True,
          kernel="sc_group_norm", tolerance_ulp=256,
          samples=Samples((_NORM, ((3, 6), (6,), (6,))), dtypes=("f32", "f64"), extra=((2, 1e-3), (6, 1e-3))),
          errors=(Raises("RuntimeError", "Expected number of channels in input to be divisible by num_groups, but got input "
                         "of shape [2, 5, 3] and num_groups=2", shapes=((2, 5, 3), (5,), (5,)), extra=(2, 1e-3)),
                  Raises("RuntimeError", "Expected num groups to be greater than 0, got 0", shapes=_NORM, extra=(0, 1e-3)))),
]  # fmt: skip
