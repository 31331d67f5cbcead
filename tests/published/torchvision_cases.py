"""Models of torchvision: every model of its registry. Detectors take images of any sizes, and give a dict for each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from .cases import Call, Case, built

_MOST_WEIGHTS = 60_000_000
# Arguments that let a detector without training find something, and not much. Detectors ignore those of the others.
_DETECTS = {
    "weights_backbone": None, "num_classes": 5, "rpn_pre_nms_top_n_test": 60, "rpn_post_nms_top_n_test": 20,
    "box_score_thresh": 0.0, "box_detections_per_img": 6, "score_thresh": 0.0, "topk_candidates": 30,
    "detections_per_img": 6,
}  # fmt: skip
_RESIZES = {"min_size": 96, "max_size": 160}
_SIDES = (96, 128)
_SIZES = ([(80, 110), (64, 64)], [(50, 70), (90, 60), (64, 100)])


def cases() -> Iterator[Case]:
    from torchvision import models

    for kind in (None, *_MAKERS):
        for name in models.list_models(module=getattr(models, kind) if kind else models):
            yield Case(name, partial(_MAKERS.get(kind, classifier), name))


def made(name: str, **options: Any) -> torch.nn.Module:
    from torchvision import models

    return built(partial(models.get_model, name, weights=None, **options), _MOST_WEIGHTS)


def classifier(name: str) -> tuple[torch.nn.Module, list[Call]]:
    """Return a model and calls with images of two sizes; with batches of two sizes, if it takes one size of image."""
    model = made(name, num_classes=10)
    calls = [Call((torch.randn(1, 3, side, side),)) for side in _SIDES]
    try:
        with torch.no_grad():
            for call in calls:
                model(*call.args)
    except Exception:  # each family refuses a size in its own way
        calls = [Call((torch.randn(batch, 3, 224, 224),)) for batch in (1, 2)]
    return model, calls


def segmentation(name: str) -> tuple[torch.nn.Module, list[Call]]:
    return made(name, weights_backbone=None), [Call((torch.randn(1, 3, side, side + 32),)) for side in _SIDES]


def video(name: str) -> tuple[torch.nn.Module, list[Call]]:
    model = made(name, num_classes=10)
    if name.startswith("mvit"):  # its positions have one size
        return model, [Call((torch.randn(batch, 3, 16, 224, 224),)) for batch in (1, 2)]
    side = 224 if name == "s3d" else 64  # the window of its last pooling has one size
    return model, [Call((torch.randn(1, 3, frames, side, side),)) for frames in (14, 16)]


def optical_flow(name: str) -> tuple[torch.nn.Module, list[Call]]:
    pairs = [(torch.rand(1, 3, 128, wide), torch.rand(1, 3, 128, wide)) for wide in (128, 160)]
    return made(name), [Call(pair, {"num_flow_updates": 3}) for pair in pairs]


def detection(name: str) -> tuple[torch.nn.Module, list[Call]]:
    model = made(name, **_DETECTS, **({} if name.startswith("ssd") else _RESIZES))
    scale(model, [torch.rand(3, 96, 128)])
    return model, [Call(([torch.rand(3, *size) for size in sizes],)) for sizes in _SIZES]


def scale(model: torch.nn.Module, images: list[torch.Tensor]) -> None:
    """Give the first result of each layer a deviation of 1. Without training, all scores of a deep model are nearly one."""
    hooks = dict[torch.nn.Module, Any]()

    def scaled(layer: torch.nn.Module, args: Any, result: torch.Tensor) -> torch.Tensor:
        hooks[layer].remove()
        deviation = result.std().item() if result.numel() > 1 else 0.0
        for p in layer.parameters() if deviation > 0 else ():
            p /= deviation
        return result / (deviation or 1.0)

    layers = [m for m in model.modules() if isinstance(m, (torch.nn.Conv2d, torch.nn.Linear, torch.nn.ConvTranspose2d))]
    hooks |= {layer: layer.register_forward_hook(scaled) for layer in layers}
    with torch.no_grad():
        model(images)
    for hook in hooks.values():
        hook.remove()


def quantization(name: str) -> tuple[torch.nn.Module, list[Call]]:
    return made(name), [Call((torch.randn(1, 3, side, side),)) for side in _SIDES]


_MAKERS = {
    "segmentation": segmentation,
    "video": video,
    "optical_flow": optical_flow,
    "detection": detection,
    "quantization": quantization,
}
