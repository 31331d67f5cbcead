"""Resize, Upsample and ImageDecoder."""

from __future__ import annotations

from typing import Any

import numpy as np

from scriptc.onnx.reading.files import Array
from scriptc.onnx.reading.operation import Operation
from scriptc.onnx.reading.registry import operator

LINEAR = {3: "linear", 4: "bilinear", 5: "trilinear"}


def interpolated(op: Operation, mode: str, how: str, scales: Array, rounding: str | None = None) -> str | None:
    """Return a call of `F.interpolate` that takes the same elements with the same shares; None if there is none.

    The scales are powers of 2, so that torch, which computes positions in float32, finds the same elements.
    """
    rank, dtype = op.rank(0), op.dtype(0)
    if rank not in LINEAR or scales is None or len(scales) != rank or list(scales[:2]) != [1, 1]:
        return None
    rare = ("axes", "antialias", "exclude_outside")
    if dtype not in ("float32", "float64") or any(op.attr(name) for name in rare):
        return None
    factors = [float(scale) for scale in scales[2:]]
    if any(factor <= 0 or np.frexp(factor)[0] != 0.5 for factor in factors):
        return None
    rounding = rounding or op.attr("nearest_mode", "round_prefer_floor")
    grows = min(factors) >= 2  # so that no result has one element
    options = None
    if mode == "nearest":
        if how == "asymmetric" and rounding == "floor":
            options = 'mode="nearest"'
        elif how == "half_pixel" and (rounding == "round_prefer_ceil" or rounding == "round_prefer_floor" and grows):
            options = 'mode="nearest-exact"'
    elif how == "half_pixel" or how == "pytorch_half_pixel" and grows:
        if mode == "linear":
            options = f'mode="{LINEAR[rank]}", align_corners=False'
        elif mode == "cubic" and rank == 4 and op.attr("cubic_coeff_a", -0.75) == -0.75:
            options = 'mode="bicubic", align_corners=False'
    if options is None:
        return None
    shown = factors[0] if len(set(factors)) == 1 else tuple(factors)
    return f"F.interpolate({op[0]}, scale_factor={shown}, {options})"


def count_of(op: Operation, index: int) -> int | None:
    """Return the number of scales, if it is known and as small as ranks are."""
    dims = op.dims(index)
    return dims[0] if dims is not None and len(dims) == 1 and dims[0] is not None and dims[0] <= 32 else None


@operator("Resize", since=11, ints=(3,))
def resize(op: Operation) -> Any:
    mode, how = op.attr("mode", "nearest"), op.attr("coordinate_transformation_mode", "half_pixel")
    sizes = op.ints(3) if op.has(3) else "None"
    scales = "None"
    if op.has(2) and (op.known(2) is None or op.known(2).size):
        known = op.known(2)
        scales = str([float(str(s)) for s in known.reshape(-1)]) if known is not None else f"{op[2]}.tolist()"
        if known is None and count_of(op, 2) is not None:
            scales = f"[{', '.join(f'float({op[2]}[{i}])' for i in range(count_of(op, 2) or 0))}]"
    made = interpolated(op, mode, how, op.known(2).reshape(-1) if op.has(2) and op.known(2) is not None else None)
    if made is not None:
        return made
    roi = op[1] if how == "tf_crop_and_resize" else "None"
    axes = op.attr("axes")
    options = f'"{mode}", "{how}", "{op.attr("nearest_mode", "round_prefer_floor")}", {op.attr("cubic_coeff_a", -0.75)!r}'
    more = f'{bool(op.attr("exclude_outside", 0))}, {bool(op.attr("antialias", 0))}, {op.attr("extrapolation_value", 0.0)!r}'
    policy = op.attr("keep_aspect_ratio_policy", "stretch")
    return f'ox.resize({op[0]}, {roi}, {scales}, {sizes}, {axes}, {options}, {more}, "{policy}")'


@operator("Resize", "Upsample", until=10)
def upsample(op: Operation) -> Any:
    scales = op.attr("scales")
    if scales is None and op.has(1):
        known = op.known(1)
        if known is not None:
            scales = [float(str(s)) for s in known.reshape(-1)]
        elif count_of(op, 1) is not None:
            scales = f"[{', '.join(f'float({op[1]}[{i}])' for i in range(count_of(op, 1) or 0))}]"
        else:
            scales = f"{op[1]}.tolist()"
    known = np.array(scales, dtype=np.float64) if isinstance(scales, list) else None
    made = interpolated(op, op.attr("mode", "nearest").replace("bilinear", "linear"), "asymmetric", known, "floor")
    if made is not None:
        return made
    mode = {"bilinear": "linear"}.get(op.attr("mode", "nearest"), op.attr("mode", "nearest"))
    options = f'"{mode}", "asymmetric", "floor", -0.75, False, False, 0.0, "stretch"'
    return f"ox.resize({op[0]}, None, {scales}, None, None, {options})"


@operator("ImageDecoder")
def image_decoder(op: Operation) -> Any:
    pixels = op.attr("pixel_format", "RGB")
    if pixels not in ("RGB", "BGR", "Grayscale"):
        raise op.unsupported(f"its pixel_format is {pixels!r}")
    return f'ox.decode_image({op[0]}, "{pixels}")'
