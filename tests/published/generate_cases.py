"""`generate` of transformers' decoders and encoder-decoders: token ids in, token ids out, with the cache inside."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from .cases import Call, Case
from .transformers_cases import made

_WAYS: dict[str, dict[str, Any]] = {
    "greedy": {"do_sample": False},
    "beam": {"do_sample": False, "num_beams": 3},
    "sample": {"do_sample": True, "top_k": 5},
}
_NEW_TOKENS = 6


class Generates(torch.nn.Module):
    """Calls `generate` in one way."""

    def __init__(self, model: torch.nn.Module, options: dict[str, Any]) -> None:
        super().__init__()
        self.model = model
        self.options = options

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.model.generate(ids, max_new_tokens=_NEW_TOKENS, **self.options)


def cases() -> Iterator[Case]:
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
    )

    seen = set[str]()
    for table in (MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES, MODEL_FOR_CAUSAL_LM_MAPPING_NAMES):
        for kind, name in table.items():
            if name not in seen:
                seen.add(name)
                for way in _WAYS:
                    yield Case(f"{name}.{way}", partial(make, kind, name, way))


def make(kind: str, name: str, way: str) -> tuple[torch.nn.Module, list[Call]]:
    model, _ = made(kind, name)
    for field, token in (("bos_token_id", 1), ("eos_token_id", 2), ("pad_token_id", 0), ("decoder_start_token_id", 1)):
        setattr(model.generation_config, field, token)
    return Generates(model, _WAYS[way]).eval(), [Call((torch.randint(5, 80, (2, length)),)) for length in (5, 3)]
