"""Programs that decode, as users write them: a product of weights chooses the next word, which chooses the next product.

torch.jit can script all of them but the prefix search, whose prefixes are keys of a dict.
"""

from __future__ import annotations

import collections
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, List, Tuple  # noqa: UP035 - torch.jit.script reads these annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.cell_models import GreedyDecoder

# ruff: noqa: UP006


class BeamSearch(nn.Module):
    """The best sentences of an LSTM language model. Word 1 ends a sentence."""

    def __init__(self, words: int, hidden: int, beam: int) -> None:
        super().__init__()
        self.words, self.hidden, self.beam = words, hidden, beam
        self.embed = nn.Embedding(words, hidden)
        self.cell = nn.LSTMCell(hidden, hidden)
        self.score = nn.Linear(hidden, words)
        ended = torch.full((words,), -math.inf)
        ended[1] = 0.0
        self.register_buffer("ended", ended)

    def forward(self, start: int, longest: int) -> Tuple[List[List[int]], Tensor]:
        h = torch.zeros(self.beam, self.hidden)
        c = torch.zeros(self.beam, self.hidden)
        word = torch.full((self.beam,), start, dtype=torch.long)
        finished = torch.zeros(self.beam, dtype=torch.bool)
        scores = torch.full((self.beam,), -math.inf)
        scores[0] = 0.0
        sentences = word.unsqueeze(1)
        for _ in range(longest):
            h, c = self.cell(self.embed(word), (h, c))
            log_probs = F.log_softmax(self.score(h), dim=-1)
            log_probs = torch.where(finished.unsqueeze(1), self.ended, log_probs)
            scores, best = (scores.unsqueeze(1) + log_probs).view(-1).topk(self.beam)
            origin = torch.div(best, self.words, rounding_mode="floor")
            word = best % self.words
            h, c = h.index_select(0, origin), c.index_select(0, origin)
            sentences = torch.cat([sentences.index_select(0, origin), word.unsqueeze(1)], dim=1)
            finished = finished.index_select(0, origin) | (word == 1)
            if bool(finished.all()):
                break
        rows: List[List[int]] = sentences.tolist()
        return rows, scores


class Transducer(nn.Module):
    """The labels of an RNN-T, greedily: a frame emits labels until the joint net prefers the blank, which is label 0."""

    def __init__(self, labels: int, encoded: int, hidden: int, most: int) -> None:
        super().__init__()
        self.hidden, self.most = hidden, most
        self.embed = nn.Embedding(labels, hidden)
        self.cell = nn.LSTMCell(hidden, hidden)
        self.from_encoder = nn.Linear(encoded, hidden)
        self.from_predictor = nn.Linear(hidden, hidden)
        self.joint = nn.Linear(hidden, labels)

    def forward(self, encoded: Tensor) -> List[int]:
        state = (torch.zeros(1, self.hidden), torch.zeros(1, self.hidden))
        h, c = self.cell(self.embed(torch.tensor([0])), state)
        labels: List[int] = []
        for frame in encoded.split(1):
            for _ in range(self.most):
                scores = self.joint(torch.tanh(self.from_encoder(frame) + self.from_predictor(h)))
                label = int(scores.argmax(1).item())
                if label == 0:
                    break
                labels.append(label)
                h, c = self.cell(self.embed(torch.tensor([label])), (h, c))
        return labels


def log_sum_exp(*logs: float) -> float:
    largest = max(logs)
    if largest == -math.inf:
        return -math.inf
    return largest + math.log(sum(math.exp(log - largest) for log in logs))


class PrefixSearch(nn.Module):
    """The likeliest labels by CTC prefix beam search, and their log-likelihood. Label 0 is the blank.

    A prefix has two log-likelihoods: of paths that end in a blank, and of paths that end in its last label.
    """

    def __init__(self, beam: int) -> None:
        super().__init__()
        self.beam = beam

    def forward(self, log_probs: Tensor) -> Tuple[List[int], float]:
        beam: List[Tuple[Tuple[int, ...], Tuple[float, float]]] = [((), (0.0, -math.inf))]
        for frame in log_probs.tolist():
            grown = collections.defaultdict(lambda: (-math.inf, -math.inf))
            for prefix, (blank, other) in beam:
                last = prefix[-1] if prefix else 0
                for label, log_prob in enumerate(frame):
                    if label == 0:
                        new_blank, new_other = grown[prefix]
                        grown[prefix] = (log_sum_exp(new_blank, blank + log_prob, other + log_prob), new_other)
                        continue
                    longer = prefix + (label,)
                    new_blank, new_other = grown[longer]
                    if label == last:
                        grown[longer] = (new_blank, log_sum_exp(new_other, blank + log_prob))
                        new_blank, new_other = grown[prefix]
                        grown[prefix] = (new_blank, log_sum_exp(new_other, other + log_prob))
                    else:
                        new_other = log_sum_exp(new_other, blank + log_prob, other + log_prob)
                        grown[longer] = (new_blank, new_other)
            beam = sorted(grown.items(), key=lambda item: log_sum_exp(*item[1]), reverse=True)[: self.beam]
        prefix, likelihoods = beam[0]
        return list(prefix), log_sum_exp(*likelihoods)


class DecoderLayer(nn.Module):
    """Attention to all words so far, whose keys and values are the cache, and a feed-forward net."""

    def __init__(self, width: int, heads: int, inner: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        batch, words, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, words, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        keys, values = torch.cat([keys, k], dim=2), torch.cat([values, v], dim=2)
        attended = F.scaled_dot_product_attention(q, keys, values)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, words, width))
        x = x + self.down(F.relu(self.up(self.norm2(x))))
        return x, keys, values


class TransformerDecoder(nn.Module):
    """Writes words after `start`, each the likeliest one, with a cache of keys and values for each layer."""

    def __init__(self, words: int, width: int, heads: int, inner: int, layers: int, longest: int) -> None:
        super().__init__()
        self.heads, self.width, self.longest = heads, width, longest
        self.embed, self.position = nn.Embedding(words, width), nn.Embedding(longest, width)
        self.layers = nn.ModuleList([DecoderLayer(width, heads, inner) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.score = nn.Linear(width, words)

    def forward(self, start: Tensor) -> Tuple[List[int], Tensor]:
        word = start
        empty = torch.zeros(1, self.heads, 0, self.width // self.heads)
        keys: List[Tensor] = [empty for _ in range(len(self.layers))]
        values: List[Tensor] = [empty for _ in range(len(self.layers))]
        said: List[int] = []
        scores = torch.zeros(1, 1)
        for step in range(self.longest):
            x = self.embed(word) + self.position.weight[step]
            for i, layer in enumerate(self.layers):
                x, keys[i], values[i] = layer(x, keys[i], values[i])
            scores = self.score(self.norm(x[:, -1]))
            word = scores.argmax(-1, keepdim=True)
            said.append(int(word.item()))
        return said, scores


@dataclass(frozen=True)
class Case:
    """One row of the table. The sizes are macros of the programs by hand and arguments of `make`.

    `floor` is the program by hand, and `dict_floor` one that keeps the dict of the model. `make` returns the model and its
    arguments, the first of which is also the input of the programs by hand.
    """

    floor: str
    make: Callable[[dict[str, int]], tuple[nn.Module, tuple[Any, ...]]]
    sizes: dict[str, int]
    tiny: dict[str, int]
    dict_floor: str | None = None

    def build(self, *, tiny: bool = False) -> tuple[nn.Module, tuple[Any, ...], dict[str, int]]:
        """Return the model in evaluation mode, arguments and sizes; the same at each call."""
        sizes = self.tiny if tiny else self.sizes
        torch.manual_seed(0)
        model, inputs = self.make(sizes)
        return model.eval(), inputs, sizes


def _greedy(sizes: dict[str, int]) -> tuple[nn.Module, tuple[Any, ...]]:
    model = GreedyDecoder(sizes["INPUT"], sizes["HIDDEN"], sizes["WORDS"])
    return model, (torch.randn(sizes["SOURCE"], 1, sizes["INPUT"]), sizes["STEPS"])


def _beam(sizes: dict[str, int]) -> tuple[nn.Module, tuple[Any, ...]]:
    return BeamSearch(sizes["WORDS"], sizes["HIDDEN"], sizes["BEAM"]), (0, sizes["STEPS"])


def _transducer(sizes: dict[str, int]) -> tuple[nn.Module, tuple[Any, ...]]:
    model = Transducer(sizes["LABELS"], sizes["ENCODED"], sizes["HIDDEN"], sizes["MOST"])
    model.joint.bias[0] += sizes["HIDDEN"] ** 0.5 / 12  # blanks are as frequent as in trained nets
    return model, (torch.randn(sizes["FRAMES"], sizes["ENCODED"]),)


def _prefixes(sizes: dict[str, int]) -> tuple[nn.Module, tuple[Any, ...]]:
    log_probs = torch.log_softmax(3 * torch.randn(sizes["FRAMES"], sizes["LABELS"]), dim=1)
    return PrefixSearch(sizes["BEAM"]), (log_probs,)


def _transformer(sizes: dict[str, int]) -> tuple[nn.Module, tuple[Any, ...]]:
    names = ("WORDS", "WIDTH", "HEADS", "INNER", "LAYERS", "STEPS")
    return TransformerDecoder(*(sizes[name] for name in names)), (torch.zeros(1, 1, dtype=torch.long),)


CASES = {
    "greedy decoding": Case(
        "greedy", _greedy,
        {"INPUT": 64, "HIDDEN": 128, "WORDS": 1000, "SOURCE": 40, "STEPS": 50},
        {"INPUT": 16, "HIDDEN": 32, "WORDS": 100, "SOURCE": 7, "STEPS": 6},
    ),
    "beam search": Case(
        "beam", _beam,
        {"WORDS": 1000, "HIDDEN": 256, "BEAM": 8, "STEPS": 50},
        {"WORDS": 100, "HIDDEN": 32, "BEAM": 4, "STEPS": 6},
    ),
    "RNN-T": Case(
        "transducer", _transducer,
        {"LABELS": 256, "ENCODED": 256, "HIDDEN": 128, "MOST": 4, "FRAMES": 100},
        {"LABELS": 30, "ENCODED": 32, "HIDDEN": 32, "MOST": 3, "FRAMES": 8},
    ),
    "CTC prefixes": Case(
        "prefix", _prefixes,
        {"FRAMES": 100, "LABELS": 30, "BEAM": 8},
        {"FRAMES": 8, "LABELS": 6, "BEAM": 4},
        dict_floor="prefix_dict",
    ),
    "transformer": Case(
        "transformer", _transformer,
        {"WORDS": 1000, "WIDTH": 512, "HEADS": 8, "INNER": 2048, "LAYERS": 6, "STEPS": 128},
        {"WORDS": 100, "WIDTH": 64, "HEADS": 2, "INNER": 96, "LAYERS": 2, "STEPS": 6},
    ),
}  # fmt: skip
