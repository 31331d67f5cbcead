"""Operators of ai.onnx.ml that encode and scale features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scriptc.onnx.reading.element_types import INTEGERS, carrier, numpy_dtype
from scriptc.onnx.reading.operation import Operation
from scriptc.onnx.reading.operators.strings import kept
from scriptc.onnx.reading.registry import operator
from scriptc.onnx.reading.values import number_text, other

ML = "ai.onnx.ml"


def floats(op: Operation, name: str) -> str:
    """Return numbers in an attribute as the Python of a number or a tensor."""
    numbers = op.attr(name, [])
    if len(numbers) == 1:
        return number_text(np.float32(numbers[0]), "float32")
    return kept(op, np.array(numbers, dtype=np.float32), "float32", name)


def _listed(op: Operation, side: str, version: int) -> tuple[list[Any], str]:
    """Return the keys or values of a LabelEncoder, and their element type."""
    if version >= 4 and op.constant(f"{side}_tensor") is not None:
        constant = op.constant(f"{side}_tensor")
        assert constant is not None
        return list(np.reshape(constant.array, -1)), constant.dtype
    for suffix, dtype in (("strings", "string"), ("int64s", "int64"), ("floats", "float32")):
        found = op.node.attributes.get(f"{side}_{suffix}")
        if found:
            return list(found), dtype
    raise op.unsupported(f"it has no {side}")


def _default(op: Operation, dtype: str) -> Any:
    constant = op.constant("default_tensor") if op.version >= 4 else None
    if constant is not None:
        return np.reshape(constant.array, -1)[0]
    names = {"string": ("default_string", "_Unused"), "float32": ("default_float", -0.0)}
    return op.node.attributes.get(*names.get(dtype, ("default_int64", -1)))


def mapped(op: Operation, keys: list[Any], kind: str, values: list[Any], dtype: str, default: Any) -> Any:
    """Return the value of each key. The first of equal keys counts."""
    if len(keys) != len(values) or not keys:
        raise op.unsupported(f"it has {len(keys)} keys and {len(values)} values")
    names = [str(v) for v in values] if dtype == "string" else []
    if kind == "string":
        items = names if dtype == "string" else [v if dtype in INTEGERS else float(v) for v in values]
        table = {str(k): v for k, v in zip(reversed(keys), reversed(items), strict=True)}
        if dtype == "string":
            return other(f"ox.strings_of_strings({op[0]}, {op.need_rank(0)}, {table!r}, {str(default)!r})")
        shown = ", ".join(f"{key!r}: {_literal(value, dtype)}" for key, value in table.items())
        tail = f"{_literal(default, dtype)}, {op.torch_dtype(dtype)}"
        return f"ox.numbers_of_strings({op[0]}, {op.need_rank(0)}, {{{shown}}}, {tail})"
    array = np.array(keys, dtype=numpy_dtype(kind))
    order = np.argsort(array, kind="stable")
    fresh = [i for place, i in enumerate(order) if place == 0 or not _same(array[order[place - 1]], array[i])]
    sorted_keys = kept(op, array[fresh], kind, "keys")
    if dtype == "string":
        picked = [names[i] for i in fresh]
        return other(f"ox.strings_of_numbers(ox.index_of({op[0]}, {sorted_keys}), {picked!r}, {str(default)!r})")
    numbers = np.array([*(values[i] for i in fresh), default], dtype=numpy_dtype(dtype))
    return f"ox.looked_up({op[0]}, {sorted_keys}, {kept(op, numbers, dtype, 'values')})"


def _literal(value: Any, dtype: str) -> str:
    return repr(str(value)) if dtype == "string" else number_text(value, dtype)


def _same(a: Any, b: Any) -> bool:
    return bool(a == b) or bool(a != a and b != b)


@operator("LabelEncoder", domain=ML, since=2)
def label_encoder(op: Operation) -> Any:
    keys, kind = _listed(op, "keys", op.version)
    values, dtype = _listed(op, "values", op.version)
    return mapped(op, keys, kind, values, dtype, _default(op, dtype))


@operator("LabelEncoder", domain=ML, until=1)
def label_encoder_classes(op: Operation) -> Any:
    classes = [str(name) for name in op.node.attributes.get("classes_strings", [])]
    return _categories(op, classes, list(range(len(classes))))


@operator("CategoryMapper", domain=ML)
def category_mapper(op: Operation) -> Any:
    names = [str(name) for name in op.node.attributes.get("cats_strings", [])]
    return _categories(op, names, op.attr("cats_int64s", []))


def _categories(op: Operation, names: list[str], numbers: list[int]) -> Any:
    if op.dtype(0) == "string":
        return mapped(op, names, "string", numbers, "int64", op.attr("default_int64", -1))
    return mapped(op, numbers, "int64", names, "string", op.node.attributes.get("default_string", "_Unused"))


@operator("OneHotEncoder", domain=ML)
def one_hot_encoder(op: Operation) -> Any:
    names, rows = op.node.attributes.get("cats_strings"), op[0]
    categories = list(range(len(names))) if names else op.attr("cats_int64s", [])
    if op.dtype(0) == "string":
        table = {str(name): i for i, name in enumerate(names or [])}
        rows = f"ox.numbers_of_strings({rows}, {op.need_rank(0)}, {table!r}, -1, torch.int64)"
    array = kept(op, np.array(categories, dtype=np.int64), "int64", "categories")
    return f"ox.one_hot_categories({rows}, {array}, {bool(op.attr('zeros', 1))})"


@operator("Scaler", domain=ML)
def scaler(op: Operation) -> Any:
    return f"(({op[0]} - {floats(op, 'offset')}) * {floats(op, 'scale')}).to(torch.float32)"


@operator("Normalizer", domain=ML)
def normalizer(op: Operation) -> Any:
    norm = op.attr("norm", "MAX")
    if norm not in ("MAX", "L1", "L2"):
        raise op.unsupported(f"its norm is {norm!r}")
    return f'ox.normalized({op[0]}, "{norm}")'


@operator("Binarizer", domain=ML)
def binarizer(op: Operation) -> Any:
    return f"({op[0]} > {number_text(np.float32(op.attr('threshold', 0.0)), 'float32')}).to({op.torch_dtype(op.dtype(0))})"


@operator("Imputer", domain=ML)
def imputer(op: Operation) -> Any:
    dtype = op.dtype(0) or "float32"
    whole = dtype in INTEGERS
    values = op.attr("imputed_value_int64s" if whole else "imputed_value_floats", [])
    replaced = op.attr("replaced_value_int64" if whole else "replaced_value_float", 0)
    if not values:
        raise op.unsupported("it has no values for elements of this type")
    array = kept(op, np.array(values).astype(numpy_dtype(dtype)), dtype, "imputed")
    number = number_text(replaced, "int64" if whole else "float32") if whole or not math.isnan(replaced) else 'float("nan")'
    return f"ox.imputed({op[0]}, {number}, {array})"


@operator("ArrayFeatureExtractor", domain=ML)
def array_feature_extractor(op: Operation) -> Any:
    if op.dtype(0) == "string":
        raise op.unsupported("features that are strings")
    rows = f"{op[0]}.unsqueeze(0)" if op.need_rank(0) == 1 else op[0]
    return f"{rows}.index_select(-1, {op[1]}.reshape(-1))"


@operator("FeatureVectorizer", domain=ML)
def feature_vectorizer(op: Operation) -> Any:
    sizes = op.attr("inputdimensions", [])
    if len(sizes) != op.count:
        raise op.unsupported(f"it has {op.count} inputs and {len(sizes)} sizes")
    return f"ox.joined_features([{', '.join(op[i] for i in range(op.count))}], {sizes})"


@operator("ZipMap", domain=ML)
def zip_map(op: Operation) -> Any:
    labels = op.node.attributes.get("classlabels_strings") or op.attr("classlabels_int64s", [])
    rows = f"{op[0]}.unsqueeze(0)" if op.need_rank(0) == 1 else op[0]
    return other(f"ox.labeled_rows({rows}, {list(labels)!r})")


@operator("DictVectorizer", domain=ML)
def dict_vectorizer(op: Operation) -> Any:
    keys = op.node.attributes.get("string_vocabulary") or op.attr("int64_vocabulary", [])
    dtype = op.out_dtype() or "float32"
    if dtype == "string":
        raise op.unsupported("a vector of strings")
    zero = "0" if dtype in INTEGERS else "0.0"
    return f"ox.dict_features({op[0]}, {list(keys)!r}, {zero}, torch.{carrier(dtype)})"
