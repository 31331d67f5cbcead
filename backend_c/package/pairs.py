"""Recorded calls as files, in the format that templates/pair.h reads.

"SCPAIR01", then 64-bit little-endian words: entry, counts of arguments and of results; then the arguments, the expected
results and the reference results (computed in float64, or nothing). A value is a tag and its content: 0 nothing; 1
tensor: dtype (as in sc.h), rank, sizes, strides, then the elements in row-major order, padded to whole words; 2
integer; 3 double; 4 bool; 5 list: length, values; 6 string: length, then UTF-8, padded to whole words.
"""

from __future__ import annotations

import struct
from typing import Any

from scriptc.backend_c.package.interface import Array, Pair, dtype_code

_MAGIC = b"SCPAIR01"


def encode(pair: Pair) -> bytes:
    head = struct.pack("<qqq", pair.entry, len(pair.arguments), len(pair.expected))
    values = (*pair.arguments, *pair.expected, *pair.references)
    return b"".join([_MAGIC, head, *map(_encode_value, values)])


def _encode_value(value: Any) -> bytes:
    match value:
        case None:
            return struct.pack("<q", 0)
        case Array(dtype, sizes, strides, data):
            head = struct.pack(f"<{3 + 2 * len(sizes)}q", 1, dtype_code(dtype), len(sizes), *sizes, *strides)
            return head + data + b"\0" * (-len(data) % 8)
        case bool():
            return struct.pack("<qq", 4, value)
        case int():
            return struct.pack("<qq", 2, value)
        case float():
            return struct.pack("<qd", 3, value)
        case str():
            data = value.encode(errors="surrogatepass")
            return struct.pack("<qq", 6, len(data)) + data + b"\0" * (-len(data) % 8)
        case list():
            return struct.pack("<qq", 5, len(value)) + b"".join(map(_encode_value, value))
    raise TypeError(f"a recorded value of type {type(value).__name__}")
