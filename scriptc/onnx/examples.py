"""Example inputs of a model, made from the types that its file declares."""

from __future__ import annotations

from typing import Any

import numpy as np

from scriptc.onnx.reading import Reading
from scriptc.onnx.reading.element_types import FLOATS, SMALL_FLOATS, numpy_dtype, to_numpy
from scriptc.onnx.reading.errors import OnnxError

MAX_ELEMENTS = 2**28


def declared_dims(model: Any) -> dict[str, list[int | str]]:
    """Return the dims of each input of a ModelProto: a size, or the name of a free size, "" if it has none."""
    found = {}
    for value in model.graph.input:
        kind = value.type
        while kind.WhichOneof("value") in ("sequence_type", "optional_type"):
            kind = getattr(kind, kind.WhichOneof("value")).elem_type
        dims = kind.tensor_type.shape.dim
        found[value.name] = [d.dim_value if d.HasField("dim_value") else d.dim_param for d in dims]
    return found


def example_inputs(reading: Reading, dims: dict[str, list[int | str]], sizes: dict[str, int]) -> list[Any]:
    """Return an array, a list of arrays or None for each input of a model.

    dims: of the inputs, from `declared_dims`.
    sizes: of the named dims; others get sizes from 2 on, which differ. A dim without a name is 2.
    """
    names = list(dict.fromkeys(d for row in dims.values() for d in row if isinstance(d, str) and d))
    if unknown := sizes.keys() - set(names):
        raise OnnxError(f"no input has a dim {min(unknown)!r}; the named dims are {', '.join(names) or 'none'}")
    chosen = {"": 2, **{name: 2 + i for i, name in enumerate(n for n in names if n not in sizes)}, **sizes}
    random = np.random.default_rng(0)
    made = []
    for name, kind in reading.inputs.items():
        if kind is None:
            raise OnnxError(f"input {name!r} has no type, so the arguments must be given")
        shape = [d if isinstance(d, int) else chosen[d] for d in dims.get(name, [])]
        made.append(_example(name, kind, shape, random))
    return made


def _example(name: str, kind: Any, shape: list[int], random: Any) -> Any:
    if kind.kind == "sequence":
        return [_example(name, kind.element, shape, random) for _ in range(2)]
    if kind.kind == "optional":
        return _example(name, kind.element, shape, random)
    if kind.kind != "tensor" or kind.dtype is None:
        raise OnnxError(f"input {name!r} is a {kind.kind}, so the arguments must be given")
    count = int(np.prod(shape, dtype=object))
    if count > MAX_ELEMENTS:
        raise OnnxError(f"input {name!r} has {count} elements, too many for an example")
    if kind.dtype == "string":
        return np.array([f"text {i}" for i in range(count)], dtype=object).reshape(shape)
    if kind.dtype in FLOATS or kind.dtype in SMALL_FLOATS:
        return random.standard_normal(shape).astype(numpy_dtype(kind.dtype))
    return random.integers(0, 2, shape).astype(numpy_dtype(kind.dtype))


def as_array(value: Any, kind: Any) -> Any:
    """Return an argument of `forward` as the input of a model."""
    import torch

    if isinstance(value, list) and kind.kind in ("sequence", "optional"):
        return [as_array(item, kind.element) for item in value]
    while kind.kind != "tensor":
        kind = kind.element
    if isinstance(value, torch.Tensor):
        return to_numpy(value, kind.dtype)
    return None if value is None else np.array(value, dtype=object if kind.dtype == "string" else numpy_dtype(kind.dtype))
