"""The models that `python -m benchmarks dynamo` runs: convolutional nets, transformers and recurrent nets.

Each maker returns a model in evaluation mode and its arguments. The models of torchvision, torchaudio and transformers
have their published structure; those of torchaudio and transformers are small.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

Made = tuple[nn.Module, tuple[Any, ...]]

# Classifiers of torchvision, with the side of their images.
_CLASSIFIERS = {
    "alexnet": 96, "convnext_tiny": 64, "densenet121": 64, "efficientnet_b0": 64, "googlenet": 96, "inception_v3": 96,
    "maxvit_t": 224, "mnasnet0_5": 96, "mobilenet_v2": 96, "mobilenet_v3_small": 96, "regnet_y_400mf": 96, "resnet18": 96,
    "resnext50_32x4d": 64, "shufflenet_v2_x0_5": 96, "squeezenet1_1": 96, "swin_t": 64, "vgg11": 64, "vit_b_32": 224,
    "wide_resnet50_2": 64,
}  # fmt: skip
_SEGMENTATION = ("deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large")
_VIDEO = ("r3d_18",)
_DETECTION = ("ssdlite320_mobilenet_v3_large", "fasterrcnn_mobilenet_v3_large_320_fpn")
_TORCHAUDIO = {
    "Conformer": "Conformer", "ConvTasNet": "ConvTasNet", "DeepSpeech": "DeepSpeech", "Emformer": "Emformer",
    "HDemucs": "HDemucs", "RNNT": "emformer_rnnt_model", "Tacotron2": "Tacotron2", "Wav2Letter": "Wav2Letter",
    "WaveRNN": "WaveRNN", "wav2vec2": "wav2vec2_model",
}  # fmt: skip
# Recurrent language models of transformers, by class.
_TRANSFORMERS = ("Mamba", "Mamba2", "RecurrentGemma", "Rwkv", "xLSTM")
_CELLS = ("LSTM", "GRU", "layer-norm LSTM", "SRU", "minGRU", "IndRNN", "ConvLSTM")
TOKENS = 1000


class WordModel(nn.Module):
    """The recurrent language model of pytorch/examples, word_language_model."""

    def __init__(self, layer: type[nn.RNNBase], size: int = 128, layers: int = 2) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.2)
        self.encoder = nn.Embedding(TOKENS, size)
        self.rnn = layer(size, size, layers, dropout=0.2)
        self.decoder = nn.Linear(size, TOKENS)
        self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)

    def forward(self, input: Tensor, hidden: Any) -> Any:
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        output = self.drop(output)
        decoded = self.decoder(output)
        decoded = decoded.view(-1, TOKENS)
        return torch.log_softmax(decoded, dim=1), hidden


class Tagger(nn.Module):
    """A tagger of sentences of several lengths, which are packed for a bidirectional layer."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(TOKENS, 64)
        self.lstm = nn.LSTM(64, 64, bidirectional=True, batch_first=True)
        self.tags = nn.Linear(128, 12)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(self.embed(words), lengths, batch_first=True)
        hidden, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.tags(hidden)


class Translator(nn.Module):
    """A GRU encoder and an attending decoder, in the manner of the tutorial on translation: a loop over words."""

    def __init__(self, size: int = 64) -> None:
        super().__init__()
        self.embed, self.encoder = nn.Embedding(TOKENS, size), nn.GRU(size, size, batch_first=True)
        self.query, self.key, self.score = nn.Linear(size, size), nn.Linear(size, size), nn.Linear(size, 1)
        self.cell, self.out = nn.GRUCell(2 * size, size), nn.Linear(size, TOKENS)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        states, last = self.encoder(self.embed(source))
        hidden = last[0]
        outputs = []
        for t in range(target.shape[1]):
            scores = self.score(torch.tanh(self.query(hidden)[:, None] + self.key(states)))
            context = (torch.softmax(scores, 1) * states).sum(1)
            hidden = self.cell(torch.cat([self.embed(target[:, t]), context], 1), hidden)
            outputs.append(self.out(hidden))
        return torch.stack(outputs, 1)


def _zoo(name: str, size: str) -> Made:
    from examples.zoo import NETS

    net, *args = getattr(NETS[name], size)()
    return net.requires_grad_(True), tuple(args)


def _torchvision(name: str, *size: int, **options: Any) -> Made:
    from torchvision import models

    return models.get_model(name, weights=None, **options).eval(), (torch.randn(size),)


def _detector(name: str) -> Made:
    from torchvision import models

    model = models.get_model(name, weights=None, weights_backbone=None, num_classes=5).eval()
    return model, ([torch.rand(3, 160, 200), torch.rand(3, 128, 128)],)


def _torchaudio(name: str) -> Made:
    import torchaudio

    from tests.published.torchaudio_cases import given, inputs, small

    model = small(getattr(torchaudio.models, name)).eval()
    return model, tuple(given(model, argument, 30) for argument in inputs(model))


def _transformers(name: str) -> Made:
    import transformers

    sizes: dict[str, Any] = {"vocab_size": TOKENS, "hidden_size": 64, "num_hidden_layers": 2, "use_cache": False}
    sizes |= {
        "Mamba2": {"num_heads": 8, "head_dim": 16, "n_groups": 2, "state_size": 16, "chunk_size": 8},
        "RecurrentGemma": {"num_attention_heads": 4, "intermediate_size": 96, "lru_width": 64, "attention_window_size": 16},
        "Rwkv": {"attention_hidden_size": 64},
        "xLSTM": {"num_heads": 4, "num_blocks": 2},
    }.get(name, {})
    made: Any = getattr(transformers, f"{name}ForCausalLM")(getattr(transformers, f"{name}Config")(**sizes))
    return made.eval(), (torch.randint(0, TOKENS, (2, 12)),)


def _cell(name: str) -> Made:
    from benchmarks.models import CASES, Size, cell

    model, inputs, _ = cell(CASES[name], Size(4, 64, 128, 20))
    return model, tuple(inputs)


def _elman() -> Made:
    from benchmarks.models import Size, elman

    model, inputs = elman(Size(4, 64, 128, 20))
    return model, (inputs,)


def _words(layer: type[nn.RNNBase]) -> Made:
    state = torch.zeros(2, 8, 128)
    hidden = (state, state.clone()) if layer is nn.LSTM else state
    return WordModel(layer).eval(), (torch.randint(0, TOKENS, (35, 8)), hidden)


def _tagger() -> Made:
    return Tagger().eval(), (torch.randint(0, TOKENS, (4, 12)), torch.tensor([12, 9, 7, 2]))


def _translator() -> Made:
    return Translator().eval(), (torch.randint(0, TOKENS, (4, 12)), torch.randint(0, TOKENS, (4, 10)))


def makers() -> dict[str, Callable[[], Made]]:
    """Return the makers of all models, by the names of the rows."""
    from examples.zoo import NETS

    made: dict[str, Callable[[], Made]] = {f"zoo: {name}": partial(_zoo, name, "full") for name in NETS}
    made |= {f"small {name} of the zoo": partial(_zoo, name, "small") for name in NETS}
    for name, side in _CLASSIFIERS.items():
        made[f"torchvision: {name}"] = partial(_torchvision, name, 2, 3, side, side, **_options(name))
    for name in _SEGMENTATION:
        made[f"torchvision: {name}"] = partial(_torchvision, name, 2, 3, 64, 64, weights_backbone=None)
    for name in _VIDEO:
        made[f"torchvision: {name}"] = partial(_torchvision, name, 2, 3, 4, 32, 32)
    for name in _DETECTION:
        made[f"torchvision: {name}"] = partial(_detector, name)
    for layer in (nn.LSTM, nn.GRU, nn.RNN):
        made[f"word_language_model: {layer.__name__}"] = partial(_words, layer)
    made |= {"tagger of packed sentences": _tagger, "translator with attention": _translator, "Elman net": _elman}
    made |= {f"cell: {name}": partial(_cell, name) for name in _CELLS}
    made |= {f"torchaudio: {name}": partial(_torchaudio, source) for name, source in _TORCHAUDIO.items()}
    made |= {f"transformers: {name}": partial(_transformers, name) for name in _TRANSFORMERS}
    return made


def _options(name: str) -> dict[str, Any]:
    """Return the options under which a model needs no weights, and has one result."""
    return {"aux_logits": False, "init_weights": True} if name in ("googlenet", "inception_v3") else {}
