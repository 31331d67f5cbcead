"""Tensors of strings, which are nested lists of strings; a tensor without dims is one string.

The ranks of such tensors are known when a model is read.
"""

from __future__ import annotations

import re

import torch
from torch import Tensor


def _paired(compute, a, b, a_rank: int, b_rank: int):
    """Return the results of a function of two strings, over the broadcast dims of both."""
    if a_rank == 0 and b_rank == 0:
        return compute(a, b)
    if a_rank < b_rank:
        return [_paired(compute, a, item, a_rank, b_rank - 1) for item in b]
    if b_rank < a_rank:
        return [_paired(compute, item, b, a_rank - 1, b_rank) for item in a]
    if len(a) == 1 and len(b) != 1:
        return [_paired(compute, a[0], item, a_rank - 1, b_rank - 1) for item in b]
    if len(b) == 1 and len(a) != 1:
        return [_paired(compute, item, b[0], a_rank - 1, b_rank - 1) for item in a]
    if len(a) != len(b):
        raise ValueError("the sizes of two tensors of strings differ")
    return [_paired(compute, a[i], b[i], a_rank - 1, b_rank - 1) for i in range(len(a))]


def _each(compute, x, rank: int):
    """Return the results of a function of each string."""
    if rank == 0:
        return compute(x)
    return [_each(compute, item, rank - 1) for item in x]


def _equal(a, b):
    return a == b


def _joined(a, b):
    return a + b


def _whole(text):
    return int(text)


def _float(text):
    return float(text)


def whole_numbers(x, rank: int, dtype: torch.dtype) -> Tensor:
    """Return strings as integers."""
    return torch.tensor(_each(_whole, x, rank), dtype=dtype)


def float_numbers(x, rank: int, dtype: torch.dtype) -> Tensor:
    """Return strings as floats."""
    return torch.tensor(_each(_float, x, rank), dtype=dtype)


def to_strings(x: Tensor):
    """Return integers as strings."""
    return _each(_shown, x.tolist(), x.dim())


def _shown(number):
    return str(number)


def strings_equal(a, b, a_rank: int, b_rank: int) -> Tensor:
    return torch.tensor(_paired(_equal, a, b, a_rank, b_rank), dtype=torch.bool)


def concat_strings(a, b, a_rank: int, b_rank: int):
    return _paired(_joined, a, b, a_rank, b_rank)


def strings_shape(x, rank: int):
    """Return the sizes of a tensor of strings; those behind a size of 0 are 0, too."""
    if rank == 0:
        return []
    if len(x) == 0:
        return [0] * rank
    return [len(x)] + strings_shape(x[0], rank - 1)


def strings_count(x, rank: int) -> int:
    if rank == 0:
        return 1
    count = 0
    for item in x:
        count += strings_count(item, rank - 1)
    return count


def gather_strings(x, indices: Tensor):
    """Return items of the first dim."""
    if indices.dim() == 0:
        return x[int(indices)]
    return [gather_strings(x, indices[i]) for i in range(indices.shape[0])]


def _pieces(x, rank: int, delimiter: str, most: int):
    if rank == 0:
        return x.split(None, most) if delimiter == "" else x.split(delimiter, most)
    return [_pieces(item, rank - 1, delimiter, most) for item in x]


def _counts(pieces, rank: int):
    if rank == 0:
        return len(pieces)
    return [_counts(item, rank - 1) for item in pieces]


def _most(pieces, rank: int) -> int:
    if rank == 0:
        return len(pieces)
    most = 0
    for item in pieces:
        most = max(most, _most(item, rank - 1))
    return most


def _filled(pieces, rank: int, count: int):
    if rank == 0:
        return pieces + [""] * (count - len(pieces))
    return [_filled(item, rank - 1, count) for item in pieces]


def split_strings(x, rank: int, delimiter: str, most: int):
    """Return the pieces of each string, followed by empty strings, and their number. "" splits at white space."""
    pieces = _pieces(x, rank, delimiter, most)
    return _filled(pieces, rank, _most(pieces, rank)), torch.tensor(_counts(pieces, rank), dtype=torch.int64)


def _changed(text: str, change: str) -> str:
    if change == "LOWER":
        return text.lower()
    return text.upper() if change == "UPPER" else text


def _normalized(x, change: str, is_case_sensitive: bool, stopwords):
    if is_case_sensitive:
        made = [_changed(text, change) for text in x if text not in stopwords]
    else:
        made = [_changed(text, change) for text in x if text.lower() not in stopwords]
    return made if len(made) > 0 else [""]


def normalize_strings(x, rank: int, change: str, is_case_sensitive: bool, stopwords):
    """Leave stop words out, and change the case. Without case, `stopwords` are in lower case."""
    if rank == 2:
        return [_normalized(x[0], change, is_case_sensitive, stopwords)]
    return _normalized(x, change, is_case_sensitive, stopwords)


def _matches(x, rank: int, pattern: str):
    if rank == 0:
        return re.fullmatch(pattern, x, re.ASCII) is not None
    return [_matches(item, rank - 1, pattern) for item in x]


def full_match(x, rank: int, pattern: str) -> Tensor:
    return torch.tensor(_matches(x, rank, pattern), dtype=torch.bool)


def _looked_up(x, rank: int, table, default):
    if rank == 0:
        return table.get(x, default)
    return [_looked_up(item, rank - 1, table, default) for item in x]


def numbers_of_strings(x, rank: int, table, default, dtype: torch.dtype) -> Tensor:
    """Return the number of each string in a dict."""
    return torch.tensor(_looked_up(x, rank, table, default), dtype=dtype)


def strings_of_strings(x, rank: int, table, default: str):
    return _looked_up(x, rank, table, default)


def _named(x, rank: int, names, default: str):
    if rank == 0:
        return names[x] if 0 <= x < len(names) else default
    return [_named(item, rank - 1, names, default) for item in x]


def strings_of_numbers(x: Tensor, names, default: str):
    """Return the string at each index; the default for other numbers."""
    return _named(x.tolist(), x.dim(), names, default)


def n_gram_counts(x: Tensor, grams: Tensor, skips: int) -> Tensor:
    """Count each n-gram in each row, with up to `skips` items left out between two of its items."""
    size, length = grams.shape[1], x.shape[1]
    total = torch.zeros(x.shape[0], grams.shape[0])
    for step in range(1, (skips if size > 1 else 0) + 2):
        count = length - (size - 1) * step
        if count > 0:
            windows = torch.stack([x[:, k * step : k * step + count] for k in range(size)], 2)
            total = total + torch.sum(torch.all(windows.unsqueeze(2) == grams, 3), 1).to(torch.float32)
    return total
