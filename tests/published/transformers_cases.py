"""Models of transformers: every architecture of its registry, with a configuration made tiny."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from .cases import Call, Case, built

# The sizes of a tiny model, by the names that configurations give to them. Lists keep their lengths.
_SIZES = {
    "vocab_size": 96, "hidden_size": 32, "d_model": 32, "n_embd": 32, "dim": 32, "embed_dim": 32, "model_dim": 32,
    "embedding_size": 32, "hidden_dim": 32, "projection_dim": 16, "proj_size": 32, "attention_hidden_size": 32,
    "num_hidden_layers": 2, "n_layer": 2, "n_layers": 2, "num_layers": 2, "encoder_layers": 2, "decoder_layers": 2,
    "num_encoder_layers": 2, "num_decoder_layers": 2, "num_attention_heads": 4, "n_head": 4, "n_heads": 4, "num_heads": 4,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "d_kv": 8,
    "intermediate_size": 64, "ffn_dim": 64, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "d_ff": 64, "n_inner": 64,
    "max_position_embeddings": 64, "n_positions": 64, "n_ctx": 64, "max_source_positions": 64, "max_target_positions": 64,
    "image_size": 32, "patch_size": 8, "num_channels": 3, "num_mel_bins": 16, "rotary_dim": 4, "q_lora_rank": 16,
    "kv_lora_rank": 16, "qk_rope_head_dim": 4, "qk_nope_head_dim": 4, "v_head_dim": 8, "num_experts": 4,
    "num_local_experts": 4, "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "n_group": 1,
    "topk_group": 1, "state_size": 8, "type_vocab_size": 2, "conv_dim_all": 32, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2, "decoder_start_token_id": 1, "sep_token_id": 3, "mask_token_id": 4, "image_token_id": 90,
    "video_token_id": 91, "audio_token_id": 92, "shared_expert_intermediate_size": 32, "rope_theta": 10000.0,
}  # fmt: skip
_LENGTHS = (7, 5)
_MOST_WEIGHTS = 20_000_000


def cases() -> Iterator[Case]:
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
        MODEL_MAPPING_NAMES,
    )

    seen = set[str]()
    for table in (MODEL_MAPPING_NAMES, MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES):
        for kind, names in table.items():
            for name in names if isinstance(names, (list, tuple)) else [names]:
                if name not in seen:
                    seen.add(name)
                    yield Case(name, partial(make, kind, name))


def make(kind: str, name: str) -> tuple[torch.nn.Module, list[Call]]:
    model, config = made(kind, name)
    return model, [call(model, config, length) for length in _LENGTHS]


def made(kind: str, name: str) -> tuple[torch.nn.Module, Any]:
    """Return a small model and its configuration."""
    import transformers

    source = transformers.CONFIG_MAPPING[kind]
    config = source(**small(source))
    return built(partial(getattr(transformers, name), config), _MOST_WEIGHTS), config


def small(config: Any) -> dict[str, Any]:
    """Return the arguments that make a configuration of a class small, also of the configurations in it."""
    given: dict[str, Any] = {}
    for field in dataclasses.fields(config):
        wanted = _SIZES.get(field.name)
        if wanted is not None and type(field.default) in (int, float):
            given[field.name] = wanted if field.name.endswith("_id") else min(wanted, field.default)
        elif wanted is not None and type(field.default) is list and all(type(n) is int for n in field.default):
            given[field.name] = [min(wanted, n) for n in field.default]
    for name, inner in getattr(config, "sub_configs", {}).items():
        if dataclasses.is_dataclass(inner):
            given[name] = small(inner)
    return given


def call(model: torch.nn.Module, config: Any, length: int) -> Call:
    """Return the arguments that the documentation of a model gives it: those that its `forward` names."""
    names = inspect.signature(model.forward).parameters
    ids = torch.randint(5, 80, (2, length))
    text = getattr(config, "text_config", config)
    vision = getattr(config, "vision_config", config)
    side, channels = getattr(vision, "image_size", 32), getattr(vision, "num_channels", 3)
    high, wide = side if isinstance(side, (list, tuple)) else (side, side)
    given: dict[str, Any] = {}
    main = getattr(model, "main_input_name", "input_ids")
    if "input_ids" in names:
        given["input_ids"] = ids
        if "attention_mask" in names:
            given["attention_mask"] = torch.ones_like(ids)
    if "decoder_input_ids" in names:
        given["decoder_input_ids"] = torch.randint(5, 80, (2, length + 1))
    if "pixel_values" in names and (main == "pixel_values" or "clip" in type(model).__name__.lower()):
        given["pixel_values"] = torch.randn(2 if length == _LENGTHS[0] else 1, channels, high, wide)
    if main == "input_values":
        given["input_values"] = torch.randn(2, 400 * length)
    if main == "input_features" and "input_ids" not in names:
        frames = 2 * getattr(text, "max_source_positions", 64)
        given["input_features"] = torch.randn(2, getattr(text, "num_mel_bins", 16), frames)
    return Call((), given)
