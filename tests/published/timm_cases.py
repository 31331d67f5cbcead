"""Models of timm: the smallest of each module of its registry."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from .cases import Call, Case, built, weights_of

_MOST_WEIGHTS = 150_000_000
_SIDES = (96, 128)


def cases() -> Iterator[Case]:
    import timm

    for module in timm.list_modules():
        yield Case(module, partial(make, module))


def make(module: str) -> tuple[torch.nn.Module, list[Call]]:
    import timm

    weights = {name: weights_of(partial(timm.create_model, name)) for name in timm.list_models(module=module)}
    name = min(weights, key=weights.__getitem__)
    build = partial(timm.create_model, name, num_classes=10)
    if weights[name] > _MOST_WEIGHTS:
        build = partial(build, **shorter(type(timm.create_model(name))))
    model = built(build, _MOST_WEIGHTS)
    return model, calls(model)


def shorter(model: type[torch.nn.Module]) -> dict[str, Any]:
    """Return the arguments that give a class of models few blocks. Lists of numbers of blocks keep their lengths."""
    given: dict[str, Any] = {}
    for name, parameter in inspect.signature(model).parameters.items():
        if name == "depth" and isinstance(parameter.default, int):
            given[name] = 2
        elif name in ("depths", "layers") and isinstance(parameter.default, (tuple, list)):
            given[name] = type(parameter.default)([1] * len(parameter.default))
    return given


def calls(model: Any) -> list[Call]:
    """Return calls with images of two sizes; with batches of two sizes, if the model takes one size of image."""
    try:
        found = [Call((torch.randn(1, 3, side, side),)) for side in _SIDES]
        with torch.no_grad():
            for call in found:
                model(*call.args)
    except Exception:  # each family refuses a size in its own way
        found = [Call((torch.randn(batch, *model.pretrained_cfg["input_size"]),)) for batch in (1, 2)]
    return found
