"""Operators that move elements, make tensors, or compute with shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from scriptc.onnx.reading.operation import Operation
from scriptc.onnx.reading.registry import operator
from scriptc.onnx.reading.values import Value, constant, int_list, int_value, ints, number_text, other


@operator("Constant")
def constant_value(op: Operation) -> Any:
    for name, value in op.node.attributes.items():
        if name in ("value", "sparse_value"):
            return constant(value.array, value.dtype)
        if name in ("value_float", "value_floats"):
            return constant(np.array(value, dtype=np.float32), "float32")
        if name in ("value_int", "value_ints"):
            return constant(np.array(value, dtype=np.int64), "int64")
        if name in ("value_string", "value_strings"):
            return constant(np.array(value, dtype=object), "string")
    raise op.unsupported("it has no value")


@operator("Identity")
def identity(op: Operation) -> Any:
    return op.value(0)


@operator("Shape")
def shape(op: Operation) -> Any:
    start, end = op.attr("start", 0), op.attr("end")
    rank = op.rank(0)
    if op.dtype(0) == "string":
        return int_list(f"ox.strings_shape({op[0]}, {op.need_rank(0)})[{start or ''}:{'' if end is None else end}]")
    if rank is None:
        return int_list(f"list({op[0]}.shape[{start or ''}:{'' if end is None else end}])")
    text, dims = op[0], op.dims(0) or ()
    if op.value(0).form == "constant":
        items = [str(size) for size in np.shape(op.known(0))]
    else:
        items = [f"{text}.shape[{i}]" for i in range(len(dims))]
    return ints(items[start:end])


@operator("Size")
def size(op: Operation) -> Any:
    if op.dtype(0) == "string":
        return int_value(f"ox.strings_count({op[0]}, {op.need_rank(0)})")
    items = op.value(0).items if op.value(0).form == "ints" else None
    if items is not None:
        return constant(np.array(len(items)), "int64")
    return int_value(f"{op[0]}.numel()")


@operator("Reshape", until=4)
def reshape_attribute(op: Operation) -> Any:
    return f"ox.reshape({op[0]}, {tuple(op.attr('shape', []))})"


@operator("Reshape", since=5, ints=(1,))
def reshape(op: Operation) -> Any:
    if op.is_host(0) and op.all_host():
        known = op.known_ints(1)
        if known is not None and len(known) == 1:
            return op.writer.ints(op.value(0))
        if known == []:
            return int_value(op.int_text(0))
    known = op.known_ints(1)
    if known is not None and (0 not in known or op.attr("allowzero", 0)):
        return f"{op[0]}.reshape({', '.join(map(str, known)) or '()'})"
    items = op.items(1)
    if items is not None and op.version >= 5 and not op.attr("allowzero", 0):
        if all(".shape[" in item or item.lstrip("-").isdigit() for item in items):
            sizes = [f"{op[0]}.shape[{i}]" if item == "0" else item for i, item in enumerate(items)]
            return f"{op[0]}.reshape({', '.join(sizes)})"
    if op.attr("allowzero", 0):
        return f"{op[0]}.reshape({op.ints(1)})"
    return f"ox.reshape({op[0]}, {op.ints(1)})"


@operator("Flatten")
def flatten(op: Operation) -> Any:
    axis = op.attr("axis", 1)
    return f"torch.flatten({op[0]}, 1)" if axis == 1 and (op.rank(0) or 0) >= 2 else f"ox.flatten({op[0]}, {axis})"


@operator("Transpose")
def transpose(op: Operation) -> Any:
    order = op.attr("perm")
    if order is None:
        rank = op.rank(0)
        if rank is None:
            return f"ox.reversed_dims({op[0]})"
        order = list(range(rank))[::-1]
    return f"{op[0]}.permute({', '.join(map(str, order)) or '()'})"


@operator("Squeeze", ints=(1,))
def squeeze(op: Operation) -> Any:
    axes = op.attr("axes") if op.version < 13 else op.known_ints(1)
    if op.is_host(0) and op.value(0).form != "constant":
        return int_value(op.int_text(0))
    if axes is not None:
        return f"torch.squeeze({op[0]}, {axes[0] if len(axes) == 1 else tuple(axes)})"
    return f"torch.squeeze({op[0]}, {op.ints(1)})" if op.has(1) else f"torch.squeeze({op[0]})"


@operator("Unsqueeze", ints=(1,))
def unsqueeze(op: Operation) -> Any:
    axes = op.attr("axes") if op.version < 13 else op.known_ints(1)
    if op.value(0).form == "int" and axes in ([0], [-1]):
        return ints([op.int_text(0)])
    if axes is not None and len(axes) == 1:
        return f"{op[0]}.unsqueeze({axes[0]})"
    rank = op.rank(0)
    if axes and rank is not None:
        places = sorted(axis if axis >= 0 else axis + rank + len(axes) for axis in axes)
        if len(set(places)) != len(places) or not 0 <= places[0] <= places[-1] < rank + len(places):
            raise op.unsupported(f"its axes {axes} do not fit a tensor of {rank} dims")
        return op[0] + "".join(f".unsqueeze({axis})" for axis in places)
    return f"ox.unsqueeze({op[0]}, {tuple(axes) if axes is not None else op.ints(1)})"


@operator("Concat")
def concat(op: Operation) -> Any:
    if op.all_host() and all(op.value(i).form != "int" for i in range(op.count)):
        parts = [op.items(i) for i in range(op.count)]
        if all(part is not None for part in parts):
            return ints([item for part in parts for item in part or ()])
        return int_list(f"[{', '.join('*' + op.ints(i) for i in range(op.count))}]")
    if op.dtype(0) == "string":
        if op.attr("axis", 1) not in (0, -op.need_rank(0)):
            raise op.unsupported("tensors of strings are joined in their first dim only")
        return other(" + ".join(op[i] for i in range(op.count)))
    return f"torch.cat([{', '.join(op[i] for i in range(op.count))}], {op.attr('axis', 1)})"


@operator("Split", ints=(1,))
def split(op: Operation) -> Any:
    axis, given = op.attr("axis", 0), op.attr("split")
    if given is not None:
        return f"torch.split({op[0]}, {given}, {axis})"
    if op.has(1):
        return f"torch.split({op[0]}, {op.ints(1)}, {axis})"
    count = op.attr("num_outputs", op.outputs)
    dims = op.dims(0)
    known = dims[axis] if dims is not None else None
    size = str(-(-known // count)) if known is not None else f"-(-{op[0]}.shape[{axis}] // {count})"
    if op.outputs == 1:
        return op[0]
    return f"torch.split({op[0]}, {size}, {axis})"


@operator("Slice", until=9)
def slice_attributes(op: Operation) -> Any:
    starts, ends = op.attr("starts", []), op.attr("ends", [])
    axes = op.attr("axes", list(range(len(starts))))
    return _slice(op, [str(s) for s in starts], [str(e) for e in ends], axes, [1] * len(starts))


@operator("Slice", since=10, ints=(1, 2, 3, 4))
def slice_inputs(op: Operation) -> Any:
    starts, ends = op.items(1), op.items(2)
    axes = op.known_ints(3) if op.has(3) else list(range(len(starts))) if starts is not None else None
    steps = op.known_ints(4) if op.has(4) else [1] * len(starts) if starts is not None else None
    if op.value(0).form == "ints" and op.known(1) is not None and op.known(2) is not None:
        start, end, step = int(starts[0]), int(ends[0]), steps[0] if steps else 1  # type: ignore[index]
        items = op.items(0)
        if items is not None:
            return ints(items[slice(start, end if end > -(2**62) else None, step)])
        return int_list(f"{op.ints(0)}[{start}:{'' if end > 2**30 else end}]")
    if starts is not None and ends is not None and axes is not None and steps is not None and all(s > 0 for s in steps):
        return _slice(op, starts, ends, axes, steps)
    tail = "" if not op.has(3) else f", {op.ints(3)}"
    if op.has(4):
        tail = f"{tail or ', None'}, {op.ints(4)}"
    return f"ox.slices({op[0]}, {op.ints(1)}, {op.ints(2)}{tail})"


def _slice(op: Operation, starts: list[str], ends: list[str], axes: list[int], steps: list[int]) -> str:
    rank = op.rank(0)
    if rank is None:
        if all(a >= 0 for a in axes):
            rank = max(axes, default=-1) + 1
        else:
            return f"ox.slices({op[0]}, [{', '.join(starts)}], [{', '.join(ends)}], {axes}, {steps})"
    parts = [":"] * rank
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        first = "" if start == "0" else start
        last = "" if end.lstrip("-").isdigit() and int(end) > 2**30 else end
        parts[axis] = f"{first}:{last}" + (f":{step}" if step != 1 else "")
    while parts and parts[-1] == ":":
        parts.pop()
    return f"{op[0]}[{', '.join(parts)}]" if parts else op[0]


@operator("Gather")
def gather(op: Operation) -> Any:
    axis, known = op.attr("axis", 0), op.known(1)
    if op.value(0).form == "ints":
        items = op.items(0)
        if known is not None and items is not None:
            picked = [items[int(i)] for i in np.reshape(known, -1)]
            return int_value(picked[0]) if np.ndim(known) == 0 else ints(picked)
        if op.value(1).form == "int" or known is not None and np.ndim(known) == 0:
            return int_value(f"{op.ints(0)}[{op.int_text(1)}]")
    if op.dtype(0) == "string":
        if axis not in (0, -op.need_rank(0)):
            raise op.unsupported("items of tensors of strings are taken in their first dim only")
        return other(f"ox.gather_strings({op[0]}, {op[1]})")
    if known is not None and np.ndim(known) == 0 and op.rank(0) is not None:
        at = [":"] * (axis % op.need_rank(0)) + [str(int(known))]
        return f"{op[0]}[{', '.join(at)}]"
    if op.value(1).form == "int":
        return f"torch.select({op[0]}, {axis}, {op.int_text(1)})"
    return f"ox.gather({op[0]}, {op[1]}, {axis})"


@operator("GatherElements")
def gather_elements(op: Operation) -> Any:
    return f"ox.gather_elements({op[0]}, {op[1]}, {op.attr('axis', 0)})"


@operator("GatherND")
def gather_nd(op: Operation) -> Any:
    return f"ox.gather_nd({op[0]}, {op[1]}, {op.attr('batch_dims', 0)}, {_last(op, 1)})"


def _last(op: Operation, index: int) -> Any:
    """Return the known size of the last dim of an input, or the Python of it."""
    dims = op.dims(index)
    return dims[-1] if dims and dims[-1] is not None else f"{op[index]}.shape[-1]"


@operator("ScatterElements", "Scatter")
def scatter_elements(op: Operation) -> Any:
    return f'ox.scatter_elements({op[0]}, {op[1]}, {op[2]}, {op.attr("axis", 0)}, "{op.attr("reduction", "none")}")'


@operator("ScatterND")
def scatter_nd(op: Operation) -> Any:
    return f'ox.scatter_nd({op[0]}, {op[1]}, {op[2]}, {_last(op, 1)}, "{op.attr("reduction", "none")}")'


@operator("TensorScatter")
def tensor_scatter(op: Operation) -> Any:
    return f'ox.tensor_scatter({op[0]}, {op[1]}, {op.optional(2)}, {op.attr("axis", -2)}, "{op.attr("mode", "linear")}")'


@operator("Expand", ints=(1,))
def expand(op: Operation) -> Any:
    if op.value(0).form == "int":
        items = op.items(1)
        if items is not None and len(items) == 1 and items[0].isdigit() and int(items[0]) <= 8:
            return ints([op.int_text(0)] * int(items[0]))
    return f"ox.expand({op[0]}, {op.ints(1)})"


@operator("Tile", ints=(1,), since=6)
def tile(op: Operation) -> Any:
    return f"{op[0]}.repeat({op.ints(1)})"


@operator("Tile", ints=(1, 2), until=5)
def tile_axis(op: Operation) -> Any:
    return f"torch.cat([{op[0]}] * {op.int_text(1)}, {op.int_text(2)})"


@operator("ConstantOfShape", ints=(0,))
def constant_of_shape(op: Operation) -> Any:
    fill = op.constant("value")
    number, dtype = (number_text(np.reshape(fill.array, -1)[0], fill.dtype), fill.dtype) if fill else ("0.0", "float32")
    if dtype == "string":
        raise op.unsupported("tensors of strings have no shape at run time")
    return f"torch.full({_tuple(op, 0)}, {number}, dtype={op.torch_dtype(dtype)})"


def _tuple(op: Operation, index: int) -> str:
    items = op.items(index)
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})" if items is not None else op.ints(index)


@operator("ConstantFill", "GivenTensorFill", until=1)
def constant_fill(op: Operation) -> Any:
    return f"torch.full({tuple(op.attr('shape', []))}, {op.attr('value', 0.0)!r})"


@operator("Range")
def range_of(op: Operation) -> Any:
    dtype = op.dtype(0)
    if op.dtype(0) in ("int64", "int32", "int16"):
        return f"torch.arange({op.int_text(0)}, {op.int_text(1)}, {op.int_text(2)}, dtype={op.torch_dtype(dtype)})"
    return f"ox.float_range({op[0]}, {op[1]}, {op[2]})"


@operator("EyeLike")
def eye_like(op: Operation) -> Any:
    return f"ox.eye_like({op[0]}, {op.attr('k', 0)}, {op.torch_dtype(op.attr_dtype('dtype', op.dtype(0) or 'float32'))})"


@operator("OneHot")
def one_hot(op: Operation) -> Any:
    return f"ox.one_hot({op[0]}, {op.int_text(1)}, {op[2]}, {op.attr('axis', -1)})"


@operator("Trilu", ints=(1,))
def trilu(op: Operation) -> Any:
    name = "triu" if op.attr("upper", 1) else "tril"
    return f"torch.{name}({op[0]}, {op.int_text(1) if op.has(1) else 0})"


@operator("NonZero")
def nonzero(op: Operation) -> Any:
    return f"torch.nonzero({op[0]}).t()"


@operator("Compress")
def compress(op: Operation) -> Any:
    return f"ox.compress({op[0]}, {op[1]}, {op.attr('axis')})"


@operator("TopK", since=10)
def top_k(op: Operation) -> Any:
    name = "top_k_uint64" if op.dtype(0) == "uint64" else "top_k"
    return f"ox.{name}({op[0]}, {op.int_text(1)}, {op.attr('axis', -1)}, {bool(op.attr('largest', 1))})"


@operator("TopK", until=9)
def top_k_attribute(op: Operation) -> Any:
    return f"ox.top_k({op[0]}, {op.need('k')}, {op.attr('axis', -1)}, True)"


@operator("Unique")
def unique(op: Operation) -> Any:
    names = [op.fresh(name or "unused") for name in (*op.node.outputs, "", "", "")[:4]]
    op.emit(f"{', '.join(names)} = ox.unique({op[0]}, {op.attr('axis')}, {bool(op.attr('sorted', 1))})")
    return tuple(Value(name) for name in names[: op.outputs])


@operator("ReverseSequence")
def reverse_sequence(op: Operation) -> Any:
    return f"ox.reverse_sequence({op[0]}, {op[1]}, {op.attr('batch_axis', 1)}, {op.attr('time_axis', 0)})"


@operator("DepthToSpace")
def depth_to_space(op: Operation) -> Any:
    return f'ox.depth_to_space({op[0]}, {op.need("blocksize")}, "{op.attr("mode", "DCR")}")'


@operator("SpaceToDepth")
def space_to_depth(op: Operation) -> Any:
    return f'ox.space_to_depth({op[0]}, {op.need("blocksize")}, "{op.attr("mode", "DCR")}")'


@operator("Pad", until=10)
def pad_attributes(op: Operation) -> Any:
    pads = op.attr("pads") or op.attr("paddings", [])
    return f'ox.pad({op[0]}, {tuple(pads)}, "{op.attr("mode", "constant")}", {op.attr("value", 0.0)!r})'


@operator("Pad", since=11, ints=(1, 3))
def pad(op: Operation) -> Any:
    value = "0" if not op.has(2) else op.number(2)
    if op.has(2) and op.known(2) is None:
        value = f"{op[2]}.item()"
    axes = f", {op.ints(3)}" if op.has(3) else ""
    return f'ox.pad({op[0]}, {_tuple(op, 1)}, "{op.attr("mode", "constant")}", {value}{axes})'


@operator("CenterCropPad", ints=(1,))
def center_crop_pad(op: Operation) -> Any:
    axes = op.attr("axes")
    return f"ox.center_crop_pad({op[0]}, {op.ints(1)}, {tuple(axes) if axes is not None else None})"


def is_constant(value: Value) -> bool:
    return value.form == "constant"
