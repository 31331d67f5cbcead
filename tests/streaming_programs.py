"""Functions of sequences that stream, and some that do not."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class SeedRNN(nn.Module):
    """The cell of the first seed, over a sequence."""

    def __init__(self, inputs: int = 3, hidden: int = 4, outputs: int = 2) -> None:
        super().__init__()
        self.hidden = hidden
        self.i2h = nn.Linear(inputs + hidden, hidden)
        self.i2o = nn.Linear(inputs + hidden, outputs)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = x.new_zeros(x.shape[1], self.hidden)
        out = []
        for t in range(x.shape[0]):
            both = torch.cat((x[t], h), 1)
            h = self.i2h(both)
            out.append(self.i2o(both).log_softmax(-1))
        return torch.stack(out), h


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(10, 4)
        self.lstm = nn.LSTM(4, 3, num_layers=2, batch_first=True)
        self.out = nn.Linear(3, 5)

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.lstm(self.embed(x))
        return self.out(states).log_softmax(-1)


class Denoiser(nn.Module):
    """A GRU that predicts gains of frequency bands for each frame, with a running level."""

    def __init__(self, bands: int = 6) -> None:
        super().__init__()
        self.input = nn.Linear(bands, 8)
        self.cell = nn.GRUCell(8, 8)
        self.gains = nn.Linear(8, bands)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        features = torch.tanh(self.input(x.abs().log1p()))
        h = torch.zeros(x.shape[1], 8)
        level = torch.zeros(x.shape[1])
        gains, levels = [], []
        for t in range(x.shape[0]):
            h = self.cell(features[t], h)
            level = 0.9 * level + 0.1 * x[t].norm(dim=-1)
            gains.append(torch.sigmoid(self.gains(h)))
            levels.append(level)
        return x * torch.stack(gains), torch.stack(levels)


class GreedyDecoder(nn.Module):
    """Greedy decoding over frames, as of a transducer: each frame emits no token, or several."""

    def __init__(self, tokens: int = 7) -> None:
        super().__init__()
        self.embed = nn.Embedding(tokens, 4)
        self.cell = nn.LSTMCell(4, 4)
        self.join = nn.Linear(3 + 4, tokens)
        self.blank = 0

    def forward(self, x: Tensor) -> tuple[list[int], int]:
        h, c = torch.zeros(1, 4), torch.zeros(1, 4)
        tokens: list[int] = []
        last = 0
        for frame in x:
            for _ in range(3):
                token = int(self.join(torch.cat((frame, h[0]))).argmax())
                if token == self.blank:
                    break
                tokens.append(token)
                last = token
                h, c = self.cell(self.embed(torch.tensor([token])), (h, c))
        return tokens, last


def counted(x: Tensor, scale: Tensor) -> Tensor:
    """The step counts from the begin of the sequence, and rows of another tensor are read by it."""
    out = []
    for t in range(x.shape[0]):
        out.append(x[t] * t + scale[t % 3])
    return torch.stack(out)


def filled(x: Tensor) -> tuple[Tensor, int, float]:
    """Results are written into a tensor of the length of the sequence; numbers are carried."""
    out = torch.zeros(x.shape[0], x.shape[2])
    count, total = 0, 0.0
    for t in range(x.shape[0]):
        row = x[t].sum(0)
        out[t] = row
        if row.max() > 0:
            count += 1
            total += float(row[0])
    return out, count, total


def window(x: Tensor) -> Tensor:
    """The last three frames are carried, as those of a causal convolution."""
    past = torch.zeros(3, x.shape[1], x.shape[2])
    out = []
    for t in range(x.shape[0]):
        past = torch.cat((past[1:], x[t : t + 1]))
        out.append(past.mean(0))
    return torch.stack(out, 1)


def own_steps(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Around the loop, ops that keep the steps apart."""
    y = (x.transpose(0, 1).unsqueeze(1) * 2 - 1).softmax(-1)
    y = y.reshape(y.shape[0], 1, y.shape[2], 1, y.shape[3]).squeeze(1).permute(1, 0, 2, 3)
    h = torch.zeros(x.shape[1], x.shape[2])
    states = []
    for t in range(x.shape[0]):
        h = h * 0.5 + y[t, :, 0]
        states.append(h)
    z = torch.stack(states, dim=-1)
    return z.cumsum(0), torch.cat([x, x.flip(-1)], -1)[:, :, 1:].amax(-1), h.sum()


def of_list(x: list[Tensor], h: Tensor) -> tuple[list[Tensor], Tensor]:
    out = []
    for item in x:
        h = torch.tanh(h + item)
        out.append(h)
    return out, h


def branches(x: Tensor, reset: bool) -> tuple[Tensor, int]:
    """Nested loops and branches inside of the steps."""
    h = torch.zeros(x.shape[2])
    last = 0
    out = []
    for t in range(x.shape[0]):
        for b in range(x.shape[1]):
            if x[t, b].sum() > 1:
                h = h + x[t, b]
                last = b
                continue
            h = h * 0.5
        if reset and h.norm() > 2:
            h = torch.zeros_like(h)
            last = -t
        out.append(h)
    return torch.stack(out), last


def skipping(x: Tensor) -> tuple[Tensor, list[Tensor]]:
    """Steps that leave out the rest, and a list that begins with an item."""
    kept, marks = [], [torch.zeros(())]
    h = torch.zeros(x.shape[1], x.shape[2])
    for t in range(x.shape[0]):
        if x[t].sum() > 1:
            marks.append(h.sum())
            continue
        h = h + x[t]
        kept.append(h)
    return h, marks


def conditional(x: Tensor) -> Tensor:
    """Steps that append only some rows; a second loop walks the rows."""
    kept = []
    for t in range(x.shape[0]):
        if x[t].sum() > -1:
            kept.append(x[t])
            kept.append(x[t] * 2)
    rows = torch.stack(kept)
    total = torch.zeros(x.shape[1], x.shape[2])
    out = []
    for t in range(rows.shape[0]):
        total = total + rows[t]
        out.append(total)
    return torch.stack(out)


def _x(*shape: int) -> Tensor:
    return torch.randn(*shape)


STREAMS: dict[str, tuple[Any, tuple[Any, ...], int]] = {
    "seed_rnn": (SeedRNN(), (_x(5, 2, 3),), 0),
    "tagger": (Tagger(), (torch.randint(0, 10, (2, 6)),), 1),
    "denoiser": (Denoiser(), (_x(6, 2, 6),), 0),
    "greedy": (GreedyDecoder(), (_x(6, 3),), 0),
    "counted": (counted, (_x(5, 2, 3), _x(3, 1)), 0),
    "filled": (filled, (_x(5, 2, 3),), 0),
    "window": (window, (_x(5, 2, 3),), 0),
    "own_steps": (own_steps, (_x(5, 2, 3),), 0),
    "of_list": (of_list, ([_x(2), _x(2), _x(2)], _x(2)), 0),
    "skipping": (skipping, (_x(5, 2, 3),), 0),
    "branches": (branches, (_x(5, 2, 3), True), 0),
    "conditional": (conditional, (_x(5, 2, 3),), 0),
}


# ---- functions that do not stream, with the line that says so ----


def backward_in_time(x: Tensor) -> Tensor:
    h = torch.zeros(x.shape[1])
    for t in range(x.shape[0] - 1, -1, -1):  # here: does not run along the time
        h = h + x[t]
    return h


def looks_ahead(x: Tensor) -> Tensor:
    h = torch.zeros(x.shape[1])
    for t in range(x.shape[0]):
        h = h + x[t] - x[t - 1]  # here: reads other time steps
    return h


def normalized(x: Tensor) -> Tensor:
    y = x - x.mean(0)  # here: reduces over time
    h = torch.zeros(x.shape[1])
    for t in range(y.shape[0]):
        h = h + y[t]
    return h


def of_the_last_state(x: Tensor) -> Tensor:
    h = torch.zeros(x.shape[1])
    states = []
    for t in range(x.shape[0]):
        h = h + x[t]
        states.append(h)
    return torch.stack(states) * h  # here: needs the end of the sequence


def attends_to_all(x: Tensor) -> Tensor:
    h = torch.zeros(x.shape[1])
    for _ in range(x.shape[0]):
        h = h + (x @ h).softmax(0) @ x  # here: reads other time steps
    return h


def divided_by_length(x: Tensor) -> Tensor:
    h = torch.zeros(x.shape[1])
    for t in range(x.shape[0]):
        h = h + x[t]
    return h / x.shape[0]  # here: length of the sequence


def ends_early(x: Tensor) -> Tensor:
    h = torch.zeros(x.shape[1])
    for t in range(x.shape[0]):
        h = h + x[t]
        if h.sum() > 3:
            break  # here: ends early
    return h


def second_pass(x: Tensor) -> Tensor:
    h = torch.zeros(x.shape[1])
    for t in range(x.shape[0]):
        h = h + x[t]
    out = []
    for t in range(x.shape[0]):
        out.append(x[t] * h)  # here: needs the end of the sequence
    return torch.stack(out)


def reads_its_list(x: Tensor) -> Tensor:
    out = [x.new_zeros(x.shape[1])]
    for t in range(x.shape[0]):
        out.append(out[-1] + x[t])  # here: reads a list that the loop along the time fills
    return torch.stack(out)


def random_start(x: Tensor) -> Tensor:
    h = torch.rand(x.shape[1])  # here: draws random numbers
    for t in range(x.shape[0]):
        h = h + x[t]
    return h


def refuses_short(x: Tensor) -> Tensor:
    h = torch.zeros(x.shape[1])
    if x.shape[0] < 3:  # here: length of the sequence
        raise ValueError("too short")
    for t in range(x.shape[0]):
        h = h + x[t]
    return h


def no_loop(x: Tensor) -> Tensor:  # here: no loop runs along the time
    return x * 2


def convolved(x: Tensor) -> Tensor:
    y = nn.functional.conv1d(x.T[None], torch.ones(1, 4, 3))[0, 0]  # here: reads other time steps
    h = torch.zeros(())
    for t in range(y.shape[0]):
        h = h + y[t]
    return h


def changes_in_place(x: Tensor) -> Tensor:
    h = torch.zeros(x.shape[1])
    for t in range(x.shape[0]):
        h += x[t]  # here: that was made before the loop
    return h


def changes_through_a_view(x: Tensor) -> Tensor:
    h = torch.zeros(2, x.shape[1])
    for t in range(x.shape[0]):
        h[0] = h[0] + x[t]  # here: that was made before the loop
    return h


def counts_in_a_dict(x: Tensor) -> int:
    seen = {0: 0}
    for t in range(x.shape[0]):
        seen[t % 2] = t  # here: that was made before the loop
    return len(seen)


def two_loops_fill_a_list(x: Tensor) -> Tensor:
    out = []
    for t in range(x.shape[0]):
        out.append(x[t])
    for t in range(x.shape[0]):
        out.append(x[t] * 2)  # here: another loop fills
    return torch.stack(out)


def begins_a_list(x: Tensor) -> Tensor:
    out = []
    out.append(torch.zeros(x.shape[1]))
    for t in range(x.shape[0]):
        out.append(x[t])  # here: appends before the loop as well
    return torch.stack(out)


REFUSED = [
    changes_in_place, changes_through_a_view, counts_in_a_dict, two_loops_fill_a_list, begins_a_list,
    backward_in_time, looks_ahead, normalized, of_the_last_state, attends_to_all, divided_by_length, ends_early, second_pass,
    reads_its_list, random_start, refuses_short, no_loop, convolved,
]  # fmt: skip
