"""The arguments of the calls of programs of layers: images, sequences and weights of many sizes and strides."""

from __future__ import annotations

import random
import re
from typing import Any

import torch
from torch import Tensor

from tests.fuzz.batch import Program

_IMAGES = ("plain", "plain", "channels_last", "turned", "expanded", "sliced", "one channel's")
_ROWS = ("plain", "plain", "turned", "expanded", "sliced")
_LENGTHS = (0, 1, 2, 7, 3)


def net_name(program: Program) -> str:
    """Return the name of the net that a program reads, one of its number of channels and its dtype."""
    found = re.search(r"NET\d+(_64)?", program.text)
    return found[0] if found else "NET4"


def layer_arguments(program: Program, names: list[str], calls: int) -> list[tuple[Any, ...]]:
    """Return the arguments of some calls. Which of them require grad is the same in all calls."""
    net = net_name(program)
    channels, dtype = int(re.findall(r"\d+", net)[0]), torch.float64 if net.endswith("_64") else torch.float32
    rng, numbers = random.Random(program.seed * 7 + 1), torch.Generator().manual_seed(program.seed)
    requires = {name: not program.freeze and rng.random() < 0.7 for name in names}

    def tensor(name: str, kind: str, *sizes: int) -> Tensor:
        made = _strided(lambda *sizes: torch.randn(sizes, generator=numbers, dtype=dtype), kind, *sizes)
        return made.requires_grad_(requires.get(name, False))

    found = []
    for step in range(calls):
        images = rng.choice((0, 1, 1, 2, 3)) if step else 2
        height, width = rng.choice(((5, 6), (1, 7), (4, 4), (9, 3), (13, 18), (1, 1), (2, 2)))
        length = _LENGTHS[step % len(_LENGTHS)]
        given = {
            "n": rng.choice([length, rng.randint(-1, 3)]), "p": rng.randint(-4, 4) / 4, "flag": rng.random() < 0.5,
            "x": tensor("x", rng.choice(_IMAGES), images, channels, height, width),
            "y": tensor("y", rng.choice(_IMAGES), images, channels, height, width),
            "t": tensor("t", rng.choice(_ROWS), images, channels), "h": tensor("h", rng.choice(_ROWS), images, channels),
            "u": tensor("u", rng.choice(_ROWS), length, images, channels), "w": tensor("w", "plain", channels),
            "g": tensor("g", "plain", images, channels, 1, 1), "m": tensor("m", rng.choice(_ROWS), channels, channels),
            "k": tensor("k", rng.choice(("plain", "channels_last", "turned")), channels, channels, 3, 3),
            "s": tensor("s", "plain"), "ids": torch.randint(0, channels, (channels,), generator=numbers),
        }  # fmt: skip
        found.append(tuple(given[name] for name in names))
    return found


def _strided(made: Any, kind: str, *sizes: int) -> Tensor:
    """Return a tensor of some sizes and of a kind of strides."""
    if kind == "channels_last":
        return made(*sizes).contiguous(memory_format=torch.channels_last)
    if kind == "turned":
        return made(*sizes[:-2], *sizes[:-3:-1]).transpose(-1, -2)
    if kind == "expanded":
        return made(1, *sizes[1:]).expand(*sizes)
    if kind == "sliced":
        return made(*sizes[:-1], 2 * sizes[-1] + 1)[..., 1::2]
    if kind == "one channel's":
        return made(sizes[0], 1, *sizes[2:]).expand(*sizes)
    return made(*sizes)

