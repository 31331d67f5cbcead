"""`generate` and decoding loops of transformers' decoders and encoder-decoders: token ids in, token ids out, with the
cache inside."""

from __future__ import annotations

import inspect
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
_LOOP = "loop"  # a loop of the user's around the model, with the cache that the model returns
_CACHES = ("cache", "past_key_values", "state")  # the names that models give to it
_NEW_TOKENS = 6


class Generates(torch.nn.Module):
    """Calls `generate` in one way."""

    def __init__(self, model: torch.nn.Module, options: dict[str, Any]) -> None:
        super().__init__()
        self.model = model
        self.options = options

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.model.generate(ids, max_new_tokens=_NEW_TOKENS, **self.options)


class Decodes(torch.nn.Module):
    """Calls a decoder in a loop, with one token and the cache in each step."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model
        self.cache = _cache_of(model)

    def forward(self, ids: torch.Tensor, steps: int) -> torch.Tensor:
        out = self.model(ids, use_cache=True)
        for _ in range(steps):
            token = out.logits[:, -1].argmax(-1, keepdim=True)
            ids = torch.cat([ids, token], 1)
            out = self.model(token, use_cache=True, **{self.cache: out[self.cache]})
        return torch.cat([ids, out.logits[:, -1].argmax(-1, keepdim=True)], 1)


class Translates(torch.nn.Module):
    """Calls an encoder, and the decoder in a loop, with one token and the cache in each step."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model
        self.cache = _cache_of(model)

    def forward(self, ids: torch.Tensor, steps: int) -> torch.Tensor:
        encoded = self.model.get_encoder()(ids)
        token = torch.ones_like(ids[:, :1])
        out = self.model(encoder_outputs=encoded, decoder_input_ids=token, use_cache=True)
        found = token
        for _ in range(steps):
            token = out.logits[:, -1].argmax(-1, keepdim=True)
            found = torch.cat([found, token], 1)
            given = {self.cache: out[self.cache]}
            out = self.model(encoder_outputs=encoded, decoder_input_ids=token, use_cache=True, **given)
        return found


def _cache_of(model: torch.nn.Module) -> str:
    names = inspect.signature(model.forward).parameters
    return next(name for name in _CACHES if name in names)


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
                for way in (*_WAYS, _LOOP):
                    yield Case(f"{name}.{way}", partial(make, kind, name, way))


def make(kind: str, name: str, way: str) -> tuple[torch.nn.Module, list[Call]]:
    model, _ = made(kind, name)
    for field, token in (("bos_token_id", 1), ("eos_token_id", 2), ("pad_token_id", 0), ("decoder_start_token_id", 1)):
        setattr(model.generation_config, field, token)
    prompts = [torch.randint(5, 80, (2, length)) for length in (5, 3)]
    if way == _LOOP:
        loop = Translates(model) if model.config.is_encoder_decoder else Decodes(model)
        return loop.eval(), [Call((ids, steps)) for ids, steps in zip(prompts, (6, 2), strict=True)]
    return Generates(model, _WAYS[way]).eval(), [Call((ids,)) for ids in prompts]
