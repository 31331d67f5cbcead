"""Train in a C program, without Python: the examples that train build a package, and this runs it."""

from __future__ import annotations

import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import scriptc

HERE = Path(__file__).parent
BEGIN, TRAIN, EVALUATE, FINISH = "b", "t", "e", "f"  # the entries that a program may call; see main.c
Call = tuple[str, tuple[Tensor, ...]]
Losses = dict[str, list[float]]
_CODES = {torch.float32: (2, 32), torch.float64: (2, 64), torch.int64: (0, 64)}  # DLPack's


def train_in_c(
    entries: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]], calls: Iterable[Call], seed: int = 0, cmake: str = "cmake"
) -> Losses:
    """Build a package of some entries, and make calls of them from C. Return the losses of `train`, and those of validation.

    entries: `train` takes two tensors and returns a loss. There may be `begin`, `evaluate` and `finish`, too; see main.c.
    """
    with tempfile.TemporaryDirectory() as made:
        work = Path(made)
        folder = scriptc.build(entries, out=work / "net", name="net", march="native")
        options = [f"-DNET={folder}", f"-DEPOCHS={int('finish' in entries)}", "-DBUILD_TESTING=OFF"]
        subprocess.run([cmake, "-S", HERE, "-B", work / "build", *options], check=True, capture_output=True)
        subprocess.run([cmake, "--build", work / "build"], check=True, capture_output=True)
        with (work / "calls").open("wb") as file:
            for letter, tensors in calls:
                file.write(struct.pack("<q", ord(letter)))
                file.writelines(map(_encode, tensors))
        command = [work / "build/train", folder / "net.safetensors", work / "calls", str(seed), work / "saved.safetensors"]
        lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    losses: Losses = {"train": [], "validation": []}
    for name, value in map(str.split, lines):
        losses[name].append(float(value))
    return losses


def _encode(tensor: Tensor) -> bytes:
    code, bits = _CODES[tensor.dtype]
    head = struct.pack(f"<{3 + tensor.dim()}q", code, bits, tensor.dim(), *tensor.shape)
    return head + tensor.contiguous().numpy().tobytes()
