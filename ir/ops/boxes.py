"""Boxes in images, as (left, top, right, bottom): the operators of torchvision."""

from __future__ import annotations

from scriptc.ir.opdef import OpDef, Raises, Samples, TypeRuleError
from scriptc.ir.ops.rules import Attrs, Operands, tensor
from scriptc.ir.types import TensorType, Type

_PURE = frozenset({"PURE"})
_TENSOR = frozenset({"tensor"})


def _nms(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    boxes, scores = tensor(operands[0]), tensor(operands[1])
    if boxes.rank != 2:
        raise TypeRuleError(f"boxes should be a 2d tensor, got {boxes.rank}D")
    if scores.rank != 1:
        raise TypeRuleError(f"scores should be a 1d tensor, got {scores.rank}D")
    return (TensorType("i64", (None,)),)


def _roi_align(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    x, rois = tensor(operands[0]), tensor(operands[1])
    if x.dims is None or len(x.dims) != 4 or rois.dims is None or len(rois.dims) != 2:
        raise TypeRuleError("roi_align takes images [N, C, H, W] and regions [K, 5]")
    return (TensorType(x.dtype, (rois.dims[0], x.dims[1], attrs["pooled_height"], attrs["pooled_width"])),)


ROWS = [
    # i64 [kept]: the rows of `dets` that no row of a higher score overlaps by more than the threshold, by falling score
    OpDef("nms", "(Tensor dets, Tensor scores, Scalar iou_threshold) -> Tensor", _nms, _PURE, gradient=(), ref="nms",
          torch=("torch.ops.torchvision.nms",), reads=_TENSOR, raises=True, kernel="sc_nms",
          samples=Samples((((9, 4), (9,)), ((0, 4), (0,)), ((70, 4), (70,))), 0.0, 3.0, finite=True,
                          extra=((0.0,), (0.3,), (2.0,))),
          errors=(Raises("RuntimeError", "boxes should have 4 elements in dimension 1, got 3", shapes=((5, 3), (5,)),
                         extra=(0.5,)),
                  Raises("RuntimeError", "boxes and scores should have same number of elements in dimension 0, got 5 and 4",
                         shapes=((5, 4), (4,)), extra=(0.5,)),
                  Raises("NotImplementedError", "\"nms_kernel\" not implemented for 'Long'", shapes=((5, 4), (5,)),
                         extra=(0.5,), dtype="i64"))),
    # Each row of `rois` is the position of an image of `input`, and a box in it. A result is the mean of `sampling_ratio`
    # samples along both dims, interpolated linearly; of as many as the box has pixels, if the ratio is not above 0.
    OpDef("roi_align", "(Tensor input, Tensor rois, Scalar spatial_scale, int pooled_height, int pooled_width, "
          "int sampling_ratio, bool aligned) -> Tensor", _roi_align, _PURE, ref="roi_align", reads=_TENSOR, raises=True,
          kernel="sc_roi_align", tolerance_ulp=64,
          samples=Samples((((3, 2, 6, 5), (4, 5)), ((3, 1, 1, 4), (2, 5)), ((3, 2, 6, 5), (0, 5))), 0.0, 2.9, finite=True,
                          extra=((1.0, 2, 3, 2, False), (1.5, 3, 2, -1, True), (-1.0, 2, 2, 0, True))),
          errors=(Raises("RuntimeError", "rois must have shape as Tensor[K, 5]", shapes=((1, 2, 6, 5), (4, 4)),
                         extra=(1.0, 2, 2, 2, False)),
                  Raises("NotImplementedError", "\"roi_align_forward_kernel\" not implemented for 'Long'",
                         shapes=((2, 2, 6, 5), (4, 5)), extra=(1.0, 2, 2, 2, False), dtype="i64"))),
]  # fmt: skip
