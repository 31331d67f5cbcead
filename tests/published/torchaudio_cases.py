"""Models and transforms of torchaudio: what its lists name, with the sizes of a tiny model."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from .cases import Call, Case, built

_MOST_WEIGHTS = 40_000_000
# Arguments of models and transforms, by the names that these give to them.
_SIZES: dict[str, Any] = {
    "att_dim": 8, "attention_hidden_dim": 16, "attention_location_n_filter": 4, "attention_rnn_dim": 24, "aux_num_out": 9,
    "blank": 0, "channels": 8, "chunk_size": 10, "d_model": 16, "decoder_max_step": 20, "decoder_rnn_dim": 24,
    "depthwise_conv_kernel_size": 7, "enc_num_feats": 32, "encoder_attention_dropout": 0.0, "encoder_dropout": 0.0,
    "encoder_embed_dim": 32, "encoder_embedding_dim": 16, "encoder_ff_interm_dropout": 0.0,
    "encoder_ff_interm_features": 48, "encoder_layer_drop": 0.0, "encoder_layer_norm_first": False,
    "encoder_max_distance": 20, "encoder_num_buckets": 8, "encoder_num_heads": 4, "encoder_num_layers": 2,
    "encoder_pos_conv_groups": 2, "encoder_pos_conv_kernel": 8, "encoder_projection_dropout": 0.0, "encoding_dim": 16,
    "extractor_conv_bias": False, "extractor_conv_layer_config": [(16, 10, 5), (16, 3, 2), (16, 2, 2)],
    "extractor_mode": "group_norm", "factor": 1.25, "factors": [0.75, 1.25], "feat_dim": 16, "feature_grad_mult": None,
    "ffn_dim": 32, "final_dim": 8, "fixed_rate": 1.25, "freq_mask_param": 8, "gain": 0.5, "hidden_dim": 8, "hop_length": 12,
    "input_dim": 16, "lstm_dropout": 0.0, "lstm_layer_norm": True, "lstm_layer_norm_epsilon": 0.001,
    "mask_channel_length": 4, "mask_channel_min_space": 1, "mask_channel_other": 0.0, "mask_channel_prob": 0.0,
    "mask_channel_selection": "static", "mask_length": 4, "mask_min_space": 1, "mask_other": 0.0, "mask_prob": 0.5,
    "mask_selection": "static", "msk_num_feats": 16, "msk_num_hidden_feats": 32, "msk_num_layers": 2, "msk_num_stacks": 2,
    "n_class": 10, "n_classes": 5, "n_fc": 32, "n_feature": 16, "n_fft": 64, "n_freq": 16, "n_freq_masks": 2,
    "n_hidden": 16, "n_mels": 16, "n_mfcc": 8, "n_output": 16, "n_res_block": 2, "n_rnn": 32, "n_steps": 2, "n_stft": 33,
    "n_symbol": 20, "n_time_masks": 2, "new_freq": 5, "nfft": 256, "nhead": 2, "no_mask_channel_overlap": False,
    "no_mask_overlap": False, "num_blocks": 2, "num_classes": 12, "num_heads": 4, "num_layers": 2, "num_lstm_layers": 2,
    "num_symbols": 12, "orig_freq": 8, "postnet_embedding_dim": 16, "prenet_dim": 16, "proj_dim": 8,
    "right_context_length": 1, "rnn_type": "LSTM", "sample_rate": 8000, "segment_length": 4, "skip_masked": False,
    "skip_nomask": False, "source_rate": 8000, "sources": ["a", "b"], "speed": 1.25, "symbol_embedding_dim": 16,
    "time_mask_param": 8, "time_reduction_input_dim": 8, "time_reduction_stride": 2, "transformer_activation": "gelu",
    "transformer_dropout": 0.0, "transformer_ffn_dim": 32, "transformer_left_context_length": 3,
    "transformer_max_memory_size": 0, "transformer_num_heads": 4, "transformer_num_layers": 2,
    "transformer_tanh_on_mem": False, "transformer_weight_init_scale_strategy": "depthwise", "upsample_scales": [2, 2, 3],
    "win_len": 16,
}  # fmt: skip
_LENGTHS = (30, 24)


def cases() -> Iterator[Case]:
    import torchaudio

    for package in (torchaudio.models, torchaudio.transforms):
        for name in package.__all__:
            yield Case(name, partial(make, getattr(package, name)))


def make(source: Any) -> tuple[torch.nn.Module, list[Call]]:
    model = built(partial(small, source), _MOST_WEIGHTS)
    return model, [Call(tuple(given(model, name, length) for name in inputs(model))) for length in _LENGTHS]


def small(source: Any) -> Any:
    """Return what a class or function makes of those of `_SIZES` that it takes. A model in a model is made so, too."""
    from torchaudio.models import emformer_rnnt_model

    taken = inspect.signature(source).parameters
    options = {name: value for name, value in _SIZES.items() if name in taken}
    if source.__name__ == "RNNTBeamSearch":
        options |= {"model": small(emformer_rnnt_model), "blank": 11}
    return source(**options)


def inputs(model: torch.nn.Module) -> list[str]:
    """Return the arguments of a model that have no default."""
    parameters = inspect.signature(model.forward).parameters.values()
    return [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]


def given(model: Any, name: str, length: int) -> Any:
    """Return an argument of a model, by its name. length: the number of frames, or some of it."""
    kind = type(model).__name__
    if "lengths" in name:
        frames = {"source_lengths": length, "target_lengths": 6, "token_lengths": 7, "mel_specgram_lengths": length}
        longest = frames.get(name, length - (kind == "Emformer"))  # without the context to the right
        return torch.tensor([longest, longest - 2], dtype=torch.int32 if kind in ("RNNT", "RNNTLoss") else None)
    if kind == "RNNTBeamSearch":
        return {"input": torch.randn(1, length, 16), "length": torch.tensor([length]), "beam_width": 3}[name]
    if name in ("targets", "tokens"):
        return torch.randint(1, 10, (2, {"targets": 6, "tokens": 7}[name]), dtype=torch.int32)
    if name == "sources" or kind in ("Conformer", "Emformer"):
        return torch.randn(2, length, 16)
    if kind == "RNNTLoss" and name == "logits":
        return torch.randn(2, length, 7, 12)
    if name == "snr":
        return torch.randn(2)
    if name in ("rtf", "psd_s", "psd_n"):
        return torch.randn(33, *((2,) if name == "rtf" else (2, 2)), dtype=torch.complex64)
    if name == "reference_channel":
        return 0
    if name in ("mask_s", "mask_n"):
        return torch.rand(33, length)
    if name in ("melspec", "mel_specgram", "specgram", "complex_specgrams", "spectrogram"):
        return torch.randn(2, *_SPECTROGRAMS.get(kind, (33,)), length, dtype=_DTYPES.get(kind))
    if kind == "DeepSpeech":
        return torch.randn(2, 1, length, 16)
    if kind == "WaveRNN":
        return torch.randn(2, 1, (length - 4) * 12)
    if name == "labels":  # one for each frame of the features
        with torch.no_grad():
            features, _ = model.wav2vec2.feature_extractor(torch.randn(2, 40 * length), None)
        return torch.randint(0, 12, features.shape[:2])
    if kind == "Loudness":  # blocks of 0.4 s
        return torch.randn(2, 1, 160 * length)
    channels = {"ConvTasNet": (1,), "HDemucs": (2,), "Wav2Letter": (1,)}.get(kind, ())
    return torch.randn(2, *channels, 40 * length)


_SPECTROGRAMS: dict[str, tuple[int, ...]] = {
    "WaveRNN": (1, 16), "Tacotron2": (16,), "InverseMelScale": (16,), "TimeStretch": (16,),
}  # fmt: skip
_DTYPES = dict.fromkeys(("InverseSpectrogram", "TimeStretch", "MVDR", "RTFMVDR", "SoudenMVDR", "PSD"), torch.complex64)
