"""The references of the ops of signs (ir/ops/signs.py): words of bits, and products of the elements that they stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from scriptc.ir.ops.signs import BLOCK, WORD, is_patch


def suggests_channels_last(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Return c10's is_channels_last_strides_2d_s4."""
    least = 0
    for d in (1, 3, 2, 0):
        if strides[1] == 0 or shape[d] == 0 or strides[d] < least or (d == 0 and least == strides[1]):
            return False
        least = strides[d] * max(shape[d], 1)
    return True


def references() -> Mapping[str, Callable[..., Any]]:
    import torch

    def packed(x: Any) -> Any:
        """Return the planes of the signs of a tensor, with the words of the last dim."""
        n = x.shape[-1]
        wide = torch.nn.functional.pad(x, (0, -n % WORD)).unflatten(-1, (-(-n // WORD), WORD))
        weights = torch.tensor([(1 << i) - ((1 << 64) if i == 63 else 0) for i in range(WORD)])
        planes = [(wide < 0) * weights, (wide != 0) * weights]
        return torch.stack([plane.sum(-1) for plane in planes])

    def signs_of(x: Any, how: int, bound: float) -> Any:
        negative = (None, x < bound, x <= bound, ~(x >= bound), ~(x > bound))[how]
        return torch.sign(x - bound) if negative is None else torch.where(negative, -1.0, 1.0)

    def trimmed(planes: Any, *, zeros: bool) -> Any:
        return planes.clone() if zeros else planes[:1].clone()

    def elements(planes: Any, n: int) -> Any:
        """Return the elements that planes stand for."""
        places = torch.arange(WORD)
        bits = ((planes.unsqueeze(-1) >> places) & 1).flatten(-2)[..., :n].float()
        return (1 - 2 * bits[0]) * (bits[1] if len(bits) > 1 else 1)

    def rows(x: Any, how: int, bound: float) -> Any:
        signs = signs_of(x, how, bound)
        return trimmed(packed(signs), zeros=bool((signs == 0).any()))

    def image(x: Any, weight: Any, stride: Any, padding: Any, dilation: Any, how: int, bound: float) -> Any:
        torch.conv2d(x, torch.zeros(weight), None, stride, padding, dilation)  # raises the errors of the convolution
        return rows(x.permute(0, 2, 3, 1), how, bound)

    def filters(w: Any) -> Any:
        taps = w.flatten(2).permute(0, 2, 1) if w.dim() == 4 else w.unsqueeze(1)
        if is_patch(taps.shape[2], taps.shape[1]):
            taps = taps.flatten(1).unsqueeze(1)
        planes = packed(torch.nn.functional.pad(taps, (0, 0, 0, 0, 0, -len(taps) % BLOCK)))
        blocks = planes.unflatten(1, (planes.shape[1] // BLOCK, BLOCK)).permute(0, 1, 3, 4, 2).contiguous()
        return trimmed(blocks, zeros=bool((w == 0).any()))

    def weight_of(planes: Any, size: Any) -> Any:
        taps = elements(planes.permute(0, 1, 4, 2, 3).flatten(1, 2), size[1] * (prod(size[2:]) // planes.shape[2]))[: size[0]]
        return taps.reshape(size[0], -1, size[1]).permute(0, 2, 1).reshape(size)

    def linear(x: Any, w: Any, weight: Any) -> Any:
        return torch.nn.functional.linear(elements(x, weight[1]), weight_of(w, weight))

    def order(image: Any, weight: bool, numbers: bool) -> bool:
        made = image > 0 if numbers else torch.sign(image)
        return weight or suggests_channels_last(made.shape, made.stride())

    def conv2d(x: Any, w: Any, channels_last: bool, weight: Any, stride: Any, padding: Any, dilation: Any) -> Any:
        image = elements(x, weight[1]).permute(0, 3, 1, 2).contiguous()
        made = torch.conv2d(image, weight_of(w, weight), None, stride, padding, dilation)
        return made.contiguous(memory_format=torch.channels_last if channels_last else torch.contiguous_format)

    def sums(filters: Any, terms: int) -> Any:
        return torch.arange(-terms, terms + 1).float()

    def thresholds(x: Any, how: int, bound: float) -> Any:
        signs = signs_of(x.reshape(x.shape[:2]), how, bound).to(torch.int32)
        wide = torch.nn.functional.pad(signs, (0, -signs.shape[1] % BLOCK))
        limits = []
        for sign in (-1, 0):
            of = wide == sign
            count, places = of.sum(0), torch.arange(len(of)).unsqueeze(1).expand_as(of) - len(of) // 2
            first, last = places.where(of, len(of)).amin(0), places.where(of, -len(of)).amax(0)
            if ((count > 0) & (count != last - first + 1)).any():
                return wide
            limits += [first.where(count > 0, 1), last.where(count > 0, 0)]
        return torch.stack(limits).to(torch.int32)

    def signs_by(sums: Any, limits: Any) -> Any:
        """Return the signs of sums [..., filters] by thresholds."""
        limits, sums = limits[:, : sums.shape[-1]], sums.long()
        if len(limits) != 4:
            rows = (sums + len(limits) // 2).flatten(0, -2)
            return limits.gather(0, rows).view(sums.shape).float()
        negative, zero = (sums >= limits[0]) & (sums <= limits[1]), (sums >= limits[2]) & (sums <= limits[3])
        return 1.0 - 2 * negative.float() - zero.float()

    def bits_by(sums: Any, limits: Any) -> Any:
        of = limits[:, : sums.shape[-1]]
        zeros = (of[2] <= of[3]).any() if len(of) == 4 else (of == 0).any()
        return trimmed(packed(signs_by(sums, limits)), zeros=bool(zeros))

    def linear_bits(x: Any, w: Any, limits: Any, weight: Any) -> Any:
        return bits_by(linear(x, w, weight), limits)

    def conv2d_bits(x: Any, w: Any, limits: Any, **how: Any) -> Any:
        return bits_by(conv2d(x, w, False, **how).permute(0, 2, 3, 1), limits)

    def check(x: Any, weight: Any, stride: Any, padding: Any, dilation: Any) -> None:
        torch.conv2d(torch.zeros(x.shape[1], weight[1], *x.shape[2:4]), torch.zeros(weight), None, stride, padding, dilation)

    def next_order(image: Any, order: bool, weight: bool, numbers: bool) -> bool:
        return weight or (order and image.shape[1] > 0 and (numbers or image.shape[2] * image.shape[3] > 1))

    return {
        "signs_sums": sums, "signs_thresholds": thresholds, "signs_linear_bits": linear_bits, "signs_conv2d_bits": conv2d_bits,
        "signs_check": check, "signs_next_order": next_order,
        "signs_rows": rows, "signs_image": image, "signs_filters": filters, "signs_order": order, "signs_linear": linear,
        "signs_conv2d": conv2d,
    }  # fmt: skip
