"""Recorded calls of an entry that takes a sequence in chunks: eager computes the whole sequence, the calls its parts."""

from __future__ import annotations

from typing import Any

import torch

from scriptc.driver.streams import Streamed
from scriptc.ir.streaming.kinds import Along, Items, Kind


class ChunkedCalls:
    """The chunks so far, and the sizes of the results of the sequence that they make."""

    def __init__(self, streamed: Streamed):
        self.streamed = streamed
        self.chunks: list[Any] = []
        self.others: dict[str, Any] = {}
        self.ends: list[int] = [0] * len(streamed.stream.results)

    def chunk(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the next call: a chunk of another length, and the other arguments of the first call."""
        name = self.streamed.argument
        if not self.chunks:
            self.others = dict(arguments)
        sequence, dim = arguments[name], self.streamed.dim
        is_list = isinstance(sequence, list)
        steps = len(sequence) if is_list else sequence.size(dim)
        count = steps if not self.chunks else 1 + 7 * len(self.chunks) % max(steps, 1)
        part = sequence[:count] if is_list else sequence.narrow(dim, 0, min(count, steps)).clone()
        return {**self.others, name: part}

    def whole(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the call with the sequence of all chunks, the given one last."""
        name = self.streamed.argument
        self.chunks.append(arguments[name])
        if isinstance(self.chunks[0], list):
            return {**arguments, name: [item for chunk in self.chunks for item in chunk]}
        return {**arguments, name: torch.cat(self.chunks, self.streamed.dim)}

    def part(self, results: list[Any]) -> list[Any]:
        """Return the part of the results of the sequence that belongs to the last chunk."""
        return [self._own(i, *each) for i, each in enumerate(zip(self.streamed.stream.results, results, strict=True))]

    def _own(self, i: int, kind: Kind, value: Any) -> Any:
        begin = self.ends[i]
        if isinstance(kind, Along):
            self.ends[i] = value.size(kind.dim)
            return value.narrow(kind.dim, begin, self.ends[i] - begin).clone()
        if isinstance(kind, Items):
            self.ends[i] = len(value)
            return value[begin:]
        return value
