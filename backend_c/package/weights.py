"""Weights as a safetensors file, or as an array in C."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Sequence

from scriptc.backend_c.package.interface import Weight
from scriptc.ir.dtypes import SIZES

_WORDS_TO_A_LINE = 6


def ordered(weights: Sequence[Weight]) -> list[Weight]:
    """Return the weights in the order of the file: large elements first, so that all are aligned without gaps."""
    return sorted(weights, key=lambda w: -SIZES[w.dtype])


def checksum(weights: Sequence[Weight]) -> int:
    """Return the CRC-32 of the data of the file."""
    crc = 0
    for weight in ordered(weights):
        crc = zlib.crc32(weight.data, crc)
    return crc


def file_parts(weights: Sequence[Weight]) -> Iterator[bytes | memoryview]:
    """Yield the bytes of the file, piece by piece."""
    rows: dict[str, object] = {"__metadata__": {"format": "pt", "scriptc_crc32": f"{checksum(weights):08x}"}}
    offset = 0
    for weight in ordered(weights):
        end = offset + weight.data.nbytes
        rows[weight.name] = {"dtype": weight.dtype.upper(), "shape": weight.sizes, "data_offsets": [offset, end]}
        offset = end
    header = json.dumps(rows, separators=(",", ":"), ensure_ascii=False).encode()
    header += b" " * (-(len(header) + 8) % 64)
    yield struct.pack("<Q", len(header))
    yield header
    yield from (weight.data for weight in ordered(weights))


def as_c_array(weights: Sequence[Weight], name: str) -> tuple[str, int]:
    """Return the file as the initializer of an array of 64-bit words, and its length in bytes."""
    content = b"".join(file_parts(weights))
    words = [f"0x{word:x}" for (word,) in struct.iter_unpack("<Q", content + b"\0" * (-len(content) % 8))]
    rows = [", ".join(words[i : i + _WORDS_TO_A_LINE]) for i in range(0, len(words), _WORDS_TO_A_LINE)]
    body = ",\n    ".join(rows)
    text = f"static const uint64_t {name}[] __attribute__((aligned(SC_ALIGN))) = {{\n    {body}}};\n"
    return text, len(content)
