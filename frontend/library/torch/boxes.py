"""Boxes in images: operators of torchvision."""

from __future__ import annotations

from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue


@serves("torch.ops.torchvision.roi_align")
def roi_align(
    r: Reader,
    input: AbstractValue,
    rois: AbstractValue,
    spatial_scale: AbstractValue,
    pooled_height: AbstractValue,
    pooled_width: AbstractValue,
    sampling_ratio: AbstractValue,
    aligned: AbstractValue,
) -> AbstractValue:
    return apply_op(
        r, "roi_align", input, rois, spatial_scale,
        pooled_height=require_known(r, pooled_height, "the height of a region"),
        pooled_width=require_known(r, pooled_width, "the width of a region"),
        sampling_ratio=require_known(r, sampling_ratio, "the sampling ratio"),
        aligned=require_known(r, aligned, "aligned"),
    )  # fmt: skip
