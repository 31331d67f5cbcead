"""Programs that are exported to ONNX: decoders with a cache, beam search, a translator, recurrent layers, the zoo."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROOT = Path(__file__).parent.parent


class Block(nn.Module):
    """One layer of a transformer that appends to a cache of keys and values."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        b, n, width = x.shape
        q, k, v = self.qkv(self.norm_1(x)).view(b, n, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        k, v = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        mask = torch.ones(n, k.shape[2], dtype=torch.bool).tril(k.shape[2] - n)
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.out(attended.transpose(1, 2).reshape(b, n, width))
        return x + self.down(F.gelu(self.up(self.norm_2(x)), approximate="tanh")), k, v


class Decoder(nn.Module):
    """A language model like GPT-2. It returns the logits and the longer caches."""

    def __init__(self, vocabulary: int = 50, width: int = 32, heads: int = 4, layers: int = 2):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(128, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.width, self.heads = width, heads

    def step(self, ids: Tensor, keys: list[Tensor], values: list[Tensor]) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        past = keys[0].shape[2]
        x = self.tokens(ids) + self.places(torch.arange(past, past + ids.shape[1]))
        new_keys, new_values = [], []
        for i, block in enumerate(self.blocks):
            x, k, v = block(x, keys[i], values[i])
            new_keys.append(k)
            new_values.append(v)
        return self.norm(x) @ self.tokens.weight.t(), new_keys, new_values

    def forward(self, ids: Tensor, keys: list[Tensor], values: list[Tensor]) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        return self.step(ids, keys, values)


class Generate(Decoder):
    """Greedy decoding with a cache until all sequences have ended."""

    def forward(self, ids: Tensor, limit: int, end: int) -> Tensor:  # type: ignore[override]
        nothing = torch.zeros(ids.shape[0], self.heads, 0, self.width // self.heads)
        k1, v1, k2, v2 = nothing, nothing, nothing, nothing
        out, new = ids, ids
        done = torch.zeros(ids.shape[0], dtype=torch.bool)
        for _ in range(limit):
            logits, (k1, k2), (v1, v2) = self.step(new, [k1, k2], [v1, v2])
            following = logits[:, -1].argmax(-1)
            following = torch.where(done, torch.full_like(following, end), following)
            out = torch.cat([out, following[:, None]], 1)
            done = done | (following == end)
            new = following[:, None]
            if done.all():
                break
        return out


class Beam(nn.Module):
    """Beam search over tensors, which ends when all hypotheses have."""

    def __init__(self, vocabulary: int = 20, width: int = 16, beams: int = 3):
        super().__init__()
        self.embed, self.cell = nn.Embedding(vocabulary, width), nn.GRUCell(width, width)
        self.out = nn.Linear(width, vocabulary)
        self.beams, self.vocabulary = beams, vocabulary

    def forward(self, h: Tensor, limit: int) -> tuple[Tensor, Tensor]:
        h = h.expand(self.beams, -1)
        tokens = torch.ones(self.beams, 1, dtype=torch.long)
        scores = torch.full((self.beams,), -1e9)
        scores[0] = 0
        done = torch.zeros(self.beams, dtype=torch.bool)
        for _ in range(limit):
            h = self.cell(self.embed(tokens[:, -1]), h)
            kept = torch.full((self.vocabulary,), -1e9)
            kept[0] = 0
            gained = torch.where(done[:, None], kept, F.log_softmax(self.out(h), -1))
            scores, places = (scores[:, None] + gained).view(-1).topk(self.beams)
            parents, chosen = places // self.vocabulary, places % self.vocabulary
            tokens = torch.cat([tokens[parents], chosen[:, None]], 1)
            h = h[parents]
            done = done[parents] | (chosen == 0)
            if bool(done.all()):
                break
        return tokens, scores


class Translator(nn.Module):
    """A bidirectional encoder, and a decoder with attention."""

    def __init__(self, vocabulary: int = 20, width: int = 16):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.encoder = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.bridge, self.key, self.value = (nn.Linear(2 * width, width) for _ in range(3))
        self.query, self.out = nn.Linear(width, width), nn.Linear(width, vocabulary)
        self.cell = nn.GRUCell(2 * width, width)

    def forward(self, source: Tensor, limit: int) -> Tensor:
        encoded, last = self.encoder(self.embed(source))
        h = torch.tanh(self.bridge(torch.cat([last[0], last[1]], -1)))
        keys, values = self.key(encoded), self.value(encoded)
        token = torch.ones(source.shape[0], dtype=torch.long)
        out = []
        for _ in range(limit):
            weights = torch.softmax((self.query(h)[:, None] * keys).sum(-1), -1)
            context = torch.bmm(weights[:, None], values)[:, 0]
            h = self.cell(torch.cat([self.embed(token), context], -1), h)
            token = self.out(h).argmax(-1)
            out.append(token)
            if (token == 0).all():
                break
        return torch.stack(out, 1)


class HandLSTM(nn.Module):
    """An LSTM by hand over the steps of a tensor. It returns the last state."""

    def __init__(self, size: int, hidden: int):
        super().__init__()
        self.hidden = hidden
        self.x, self.h = nn.Linear(size, 4 * hidden), nn.Linear(hidden, 4 * hidden)

    def forward(self, x: Tensor) -> Tensor:
        return self.steps(x, torch.zeros(x.shape[1], self.hidden), torch.zeros(x.shape[1], self.hidden))

    def steps(self, x: Tensor, h: Tensor, c: Tensor) -> Tensor:
        for step in x.unbind(0):
            i, f, g, o = (self.x(step) + self.h(h)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return h


class LoopLSTM(HandLSTM):
    """Run the recurrence from a given state, which may be of another batch size, so that it stays a loop."""

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> Tensor:  # type: ignore[override]
        return self.steps(x, h, c)


class Halvings(nn.Module):
    """A loop whose end depends on the data."""

    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        n = 0
        while x.abs().sum() > 1:
            x = x / 2
            n += 1
        return x, n


class Branches(nn.Module):
    """A branch on data, and a loop with an early return."""

    def forward(self, x: Tensor, flag: int) -> Tensor:
        if x.sum() > 0:
            return x * 2
        for i in range(flag):
            if i == 2:
                return x - i
        return x + flag


class Buffer(nn.Module):
    """Writes into rows of a buffer."""

    def forward(self, x: Tensor) -> Tensor:
        out = torch.zeros(x.shape[0], 3)
        for t in range(x.shape[0]):
            out[t] = x[t] * 2
            out[t, 1] += 1
        return out


@dataclass
class Program:
    """A model and its calls. The first call is exported."""

    name: str
    make: Callable[[], tuple[Any, list[tuple[Any, ...]]]]


def _caches(b: int, n: int) -> list[Tensor]:
    return [torch.randn(b, 4, n, 8) for _ in range(2)]


def _decoder() -> tuple[Any, list[tuple[Any, ...]]]:
    sizes = ((2, 3, 4), (1, 1, 9), (3, 5, 0))
    return Decoder(), [(torch.randint(50, (b, n)), _caches(b, past), _caches(b, past)) for b, n, past in sizes]


def _generate() -> tuple[Any, list[tuple[Any, ...]]]:
    model = Generate()
    ids = torch.randint(50, (2, 2))
    end = int(model(ids, 3, 49)[0, -1])  # a token that one sequence reaches
    return model, [*((torch.randint(50, (b, n)), limit, 7) for b, n, limit in ((2, 3, 6), (1, 1, 9))), (ids, 20, end)]


def _beam() -> tuple[Any, list[tuple[Any, ...]]]:
    return Beam(), [(torch.randn(1, 16), limit) for limit in (3, 8, 1, 20)]


def _translator() -> tuple[Any, list[tuple[Any, ...]]]:
    return Translator(), [(torch.randint(20, (b, n)), limit) for b, n, limit in ((2, 5, 4), (1, 9, 12), (4, 3, 1))]


def _layers() -> Iterator[Program]:
    sizes = ((4, 3), (1, 1), (9, 2))
    for layer, options in (
        (nn.LSTM, {"num_layers": 2, "bidirectional": True}), (nn.GRU, {"batch_first": True}), (nn.RNN, {"bias": False}),
        (nn.LSTM, {"proj_size": 3}),
    ):  # fmt: skip
        def make(layer: Any = layer, options: Any = options) -> tuple[Any, list[tuple[Any, ...]]]:
            return layer(5, 6, **options), [(torch.randn(*size, 5),) for size in sizes]

        yield Program(f"{layer.__name__} {options}", make)


def _transformer() -> tuple[Any, list[tuple[Any, ...]]]:
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    return layer, [(torch.randn(b, n, 16),) for b, n in ((2, 5), (1, 9))]


def _list_of_steps() -> tuple[Any, list[tuple[Any, ...]]]:
    sys.path.insert(0, str(ROOT / "examples"))
    import rnn

    return rnn.model, [(rnn.sequence(n, b),) for n, b in ((4, 3), (1, 1), (9, 2))]


DECODERS = [Program("decoder with a cache", _decoder), Program("greedy decoding", _generate), Program("beam search", _beam),
            Program("translator", _translator)]  # fmt: skip
PROGRAMS = [*DECODERS, *_layers(), Program("transformer layer", _transformer), Program("RNN over a list", _list_of_steps)]
WRITTEN = [
    Program("LSTM by hand", lambda: (HandLSTM(5, 6), [(torch.randn(n, b, 5),) for n, b in ((4, 3), (1, 1), (9, 2))])),
    Program("LSTM by hand, states given", lambda: (LoopLSTM(5, 6), [
        (torch.randn(n, b, 5), torch.randn(b, 6), torch.randn(b, 6)) for n, b in ((4, 3), (1, 1), (9, 2))])),
    Program("while on data", lambda: (Halvings(), [(torch.full((n, 2), 3.0),) for n in (2, 5, 0)])),
    Program("branches on data", lambda: (Branches(), [(torch.ones(3), 4), (-torch.ones(4), 5), (-torch.ones(3), 1)])),
    Program("writes into a buffer", lambda: (Buffer(), [(torch.randn(n, 3),) for n in (4, 1, 7)])),
]  # fmt: skip


def zoo() -> Iterator[Program]:
    """Yield the small nets of examples/zoo: batches of three sizes, and a larger image if the net takes one."""
    sys.path.insert(0, str(ROOT))
    from examples.zoo import NETS

    for name, net in NETS.items():
        def make(net: Any = net) -> tuple[Any, list[tuple[Any, ...]]]:
            model, x = net.small()
            model.eval()
            inputs = [torch.randn(b, *x.shape[1:]) if x.is_floating_point() else torch.cat([x] * b) for b in (2, 3)]
            if x.dim() == 4:
                inputs.append(torch.randn(1, *x.shape[1:2], *(d + 32 for d in x.shape[2:])))
            return model, [(x,), *((y,) for y in inputs if _runs(model, y))]

        yield Program(name, make)


def _runs(model: nn.Module, x: Tensor) -> bool:
    try:
        model(x)
    except RuntimeError:  # the net takes images of one size
        return False
    return True


def made(program: Program) -> tuple[Any, list[tuple[Any, ...]]]:
    torch.manual_seed(0)
    with torch.no_grad():
        model, calls = program.make()
    return (model.eval() if isinstance(model, nn.Module) else model), calls


def leaves(value: Any) -> list[Any]:
    """Return the tensors and numbers in a result."""
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in leaves(part)]
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, (list, tuple)) else [value]


def differ(got: Any, wanted: Any) -> str:
    """Return how a result differs from another one; empty if only rounding makes them differ."""
    ours, theirs = ([torch.as_tensor(leaf) for leaf in leaves(v)] for v in (got, wanted))
    if [(t.shape, t.dtype) for t in ours] != [(t.shape, t.dtype) for t in theirs]:
        return f"{[tuple(t.shape) for t in ours]} is not {[tuple(t.shape) for t in theirs]}"
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        far = (a.double() - b.double()).norm()
        if not far <= 1e-4 * b.double().norm() + 1e-6:
            return f"result {i} differs by {float(far):.2g}"
    return ""
