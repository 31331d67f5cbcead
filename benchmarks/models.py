"""The models that are measured, and their sizes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch

from benchmarks import cell_models
from examples.rnn import TestModel


@dataclass(frozen=True)
class Size:
    batch: int
    input: int
    hidden: int
    steps: int

    def __str__(self) -> str:
        return f"batch {self.batch}, {self.input} to {self.hidden}, {self.steps} steps"

    @property
    def macros(self) -> dict[str, int]:
        """Return the macros that programs by hand are compiled with."""
        return {"BATCH": self.batch, "INPUT": self.input, "HIDDEN": self.hidden, "STEPS": self.steps}


ELMAN = (Size(4, 16, 32, 10), Size(1, 64, 128, 100), Size(1, 256, 512, 100), Size(32, 256, 512, 100))
LAYERS = ELMAN[1:]  # of nn.LSTM


def elman(size: Size) -> tuple[TestModel, list[torch.Tensor]]:
    """Return the net in evaluation mode, and a sequence for it; the same at each call."""
    torch.manual_seed(0)
    model = TestModel(size.input, size.hidden).eval()
    return model, [torch.randn(size.batch, size.input) for _ in range(size.steps)]


@dataclass(frozen=True)
class Case:
    """`model` is a class of cell_models; `floor` the program by hand, if there is one. `image`: side of square images."""

    model: str
    floor: str | None = None
    image: int = 0


CASES = {
    "LSTM": Case("LSTM", "lstm"),
    "GRU": Case("GRU", "gru"),
    "layer-norm LSTM": Case("LayerNormLSTM", "layer_norm_lstm"),
    "SRU": Case("SRU", "sru"),
    "minGRU": Case("MinGRU", "min_gru"),
    "IndRNN": Case("IndRNN", "ind_rnn"),
    "ConvLSTM": Case("ConvLSTM", "conv_lstm", image=16),
    "selective scan": Case("SelectiveScan"),
    "greedy decoding": Case("GreedyDecoder"),
    "CTC decoding": Case("CTCDecoder"),
}
_SAME_SIZE = {"SRU", "SelectiveScan"}  # layers whose input has as many features as the state


def cell(case: Case, size: Size) -> tuple[torch.nn.Module, tuple[Any, ...], Size]:
    """Return the model, a sequence for it, and their size. For images, features are channels."""
    torch.manual_seed(0)
    if case.image:
        size = replace(
            size, input=max(1, size.input // 8), hidden=max(16, size.hidden // 8), steps=max(1, size.steps // 10)
        )
    model = getattr(cell_models, case.model)(size.input, size.hidden).eval()
    torch.manual_seed(1)
    features = size.hidden if case.model in _SAME_SIZE else size.input
    if case.image:
        return model, (torch.randn(size.steps, size.batch, features, case.image, case.image),), size
    xs = torch.randn(size.steps, size.batch, features)
    return model, (xs[:, :1], size.steps) if case.model == "GreedyDecoder" else (xs,), size


NAMES = ("Elman", "nn.LSTM", *CASES)


def named(name: str) -> tuple[torch.nn.Module, tuple[Any, ...]]:
    """Return a small model by its name in NAMES, with a sequence for it."""
    size = LAYERS[0]
    if name == "Elman":
        model, inputs = elman(size)
        return model, (inputs,)
    if name == "nn.LSTM":
        return torch.nn.LSTM(size.input, size.hidden).eval(), (torch.randn(size.steps, size.batch, size.input),)
    return cell(CASES[name], size)[:2]
