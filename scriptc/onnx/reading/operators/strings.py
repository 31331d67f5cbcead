"""Operators of strings."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from scriptc.onnx.reading.operation import Operation
from scriptc.onnx.reading.registry import operator
from scriptc.onnx.reading.values import Value, other

# Syntax of Python's regular expressions that RE2 lacks, and the other way around where Python does not refuse it.
_NOT_COMMON = re.compile(r"\(\?(=|!|<=|<!|P=|P>|#|\()|\\[1-9]|\[\[:|[*+?}]\+")


def text(op: Operation, name: str, default: str = "") -> str:
    """Return a text in an attribute as a Python literal."""
    return repr(str(op.node.attributes.get(name, default)))


def kept(op: Operation, array: Any, dtype: str, name: str) -> str:
    """Keep a constant in the weights of the module, and return the Python that reads it."""
    return f"self.{op.writer.module.weights.attribute(np.ascontiguousarray(array), dtype, name)}"


@operator("StringConcat")
def string_concat(op: Operation) -> Any:
    return other(f"ox.concat_strings({op[0]}, {op[1]}, {op.need_rank(0)}, {op.need_rank(1)})")


@operator("StringSplit")
def string_split(op: Operation) -> Any:
    names = [op.fresh(name or "unused") for name in (*op.node.outputs, "")[:2]]
    rest = f"{op.need_rank(0)}, {text(op, 'delimiter')}, {op.attr('maxsplit', -1)}"
    op.emit(f"{', '.join(names)} = ox.split_strings({op[0]}, {rest})")
    return tuple([other(names[0]), Value(names[1])][: op.outputs])


@operator("StringNormalizer")
def string_normalizer(op: Operation) -> Any:
    change, exact = op.attr("case_change_action", "NONE"), bool(op.attr("is_case_sensitive", 0))
    rank = op.need_rank(0)
    if change not in ("NONE", "LOWER", "UPPER") or rank not in (1, 2):
        raise op.unsupported(f"it changes the case to {change!r}, of a tensor with {rank} dims")
    words = [str(word) if exact else str(word).lower() for word in op.node.attributes.get("stopwords", [])]
    return other(f'ox.normalize_strings({op[0]}, {rank}, "{change}", {exact}, {words!r})')


@operator("RegexFullMatch")
def regex_full_match(op: Operation) -> Any:
    pattern = str(op.node.attributes.get("pattern", ""))
    if _NOT_COMMON.search(pattern):
        raise op.unsupported(f"Python and RE2 differ in the pattern {pattern!r}")
    try:
        re.compile(pattern, re.ASCII)
    except (re.error, RecursionError, OverflowError) as error:
        raise op.unsupported(f"the pattern {pattern!r}: {error}") from error
    return f"ox.full_match({op[0]}, {op.need_rank(0)}, {text(op, 'pattern')})"


@operator("TfIdfVectorizer")
def tf_idf(op: Operation) -> Any:
    mode, rank = op.need("mode"), op.need_rank(0)
    if mode not in ("TF", "IDF", "TFIDF") or rank not in (1, 2):
        raise op.unsupported(f"its mode is {mode!r}, and its input has {rank} dims")
    pool: list[Any] = op.attr("pool_int64s") or op.node.attributes.get("pool_strings") or []
    rows = op[0]
    if op.dtype(0) == "string":
        words = {word: i for i, word in enumerate(dict.fromkeys(pool))}
        pool = [words[word] for word in pool]
        rows = f"ox.numbers_of_strings({rows}, {rank}, {words!r}, -1, torch.int64)"
    rows = op.named("rows", rows if rank == 2 else f"{rows}.unsqueeze(0)")
    starts, indices = [*op.need("ngram_counts"), len(pool)], op.need("ngram_indexes")
    parts: list[str] = []
    columns: list[int] = []
    first = 0
    for i, (start, end) in enumerate(zip(starts, starts[1:], strict=False)):
        size, count = i + 1, (end - start) // (i + 1)
        if count < 0 or (end - start) % size:
            raise op.unsupported("its pool does not hold whole n-grams")
        if count and op.need("min_gram_length") <= size <= op.need("max_gram_length"):
            grams = np.array(pool[start : start + count * size], dtype=np.int64).reshape(count, size)
            grams_text = kept(op, grams, "int64", f"grams_{size}")
            parts.append(f"ox.n_gram_counts({rows}, {grams_text}, {op.need('max_skip_count')})")
            columns += range(first, first + count)
        first += count
    if first > len(indices) or not parts or min(indices) < 0:
        raise op.unsupported("its n-grams and their indices do not fit")
    counts = op.named("counts", f"torch.cat([{', '.join(parts)}], 1)" if len(parts) > 1 else parts[0])
    weights = op.attr("weights")
    if mode != "TF" and weights:
        share = kept(op, np.array([weights[i] for i in columns], dtype=np.float32), "float32", "gram_weights")
        counts = f"({counts} > 0) * {share}" if mode == "IDF" else f"{counts} * {share}"
    elif mode == "IDF":
        counts = f"({counts} > 0).to(torch.float32)"
    places = kept(op, np.array([indices[i] for i in columns], dtype=np.int64), "int64", "gram_indices")
    made = f"torch.zeros({rows}.shape[0], {max(indices) + 1}).index_add(1, {places}, {counts})"
    return made if rank == 2 else f"({made}).squeeze(0)"
