"""The references of the ops of signs (ir/ops/signs.py): words of bits, and products of the elements that they stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_WORD, _BLOCK = 64, 8


def references() -> Mapping[str, Callable[..., Any]]:
    import torch

    def packed(x: Any) -> Any:
        """Return the planes of the signs of a tensor, with the words of the last dim."""
        n = x.shape[-1]
        wide = torch.nn.functional.pad(x, (0, -n % _WORD)).unflatten(-1, (-(-n // _WORD), _WORD))
        weights = torch.tensor([(1 << i) - ((1 << 64) if i == 63 else 0) for i in range(_WORD)])
        planes = [(wide < 0) * weights, (wide != 0) * weights]
        return torch.stack([plane.sum(-1) for plane in planes])

    def trimmed(planes: Any, *, zeros: bool) -> Any:
        return planes.clone() if zeros else planes[:1].clone()

    def elements(planes: Any, n: int) -> Any:
        """Return the elements that planes stand for."""
        places = torch.arange(_WORD)
        bits = ((planes.unsqueeze(-1) >> places) & 1).flatten(-2)[..., :n].float()
        return (1 - 2 * bits[0]) * (bits[1] if len(bits) > 1 else 1)

    def rows(x: Any) -> Any:
        return trimmed(packed(x), zeros=bool((x == 0).any()))

    def image(x: Any, weight: Any, stride: Any, padding: Any, dilation: Any) -> Any:
        torch.conv2d(x, torch.zeros(weight), None, stride, padding, dilation)  # raises the errors of the convolution
        padded = torch.nn.functional.pad(x, (padding[1], padding[1], padding[0], padding[0]))
        return trimmed(packed(padded.permute(0, 2, 3, 1)), zeros=any(padding) or bool((x == 0).any()))

    def filters(w: Any) -> Any:
        taps = w.flatten(2).permute(0, 2, 1) if w.dim() == 4 else w.unsqueeze(1)
        planes = packed(torch.nn.functional.pad(taps, (0, 0, 0, 0, 0, -len(taps) % _BLOCK)))
        blocks = planes.unflatten(1, (planes.shape[1] // _BLOCK, _BLOCK)).permute(0, 1, 3, 4, 2).contiguous()
        return trimmed(blocks, zeros=bool((w == 0).any()))

    def weight_of(planes: Any, size: Any) -> Any:
        taps = elements(planes.permute(0, 1, 4, 2, 3).flatten(1, 2), size[1])[: size[0]]
        return taps[:, 0] if len(size) == 2 else taps.permute(0, 2, 1).reshape(size)

    def linear(x: Any, w: Any, weight: Any) -> Any:
        return torch.nn.functional.linear(elements(x, weight[1]), weight_of(w, weight))

    def conv2d(x: Any, w: Any, channels_last: bool, weight: Any, stride: Any, dilation: Any) -> Any:
        image = elements(x, weight[1]).permute(0, 3, 1, 2).contiguous()
        made = torch.conv2d(image, weight_of(w, weight), None, stride, 0, dilation)
        return made.contiguous(memory_format=torch.channels_last if channels_last else torch.contiguous_format)

    return {
        "signs_rows": rows, "signs_image": image, "signs_filters": filters, "signs_linear": linear, "signs_conv2d": conv2d,
    }  # fmt: skip
