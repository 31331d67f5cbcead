"""Handlers of ATen's functions that Python calls by another name, or with other arguments."""

from __future__ import annotations

import torch

from scriptc.frontend.environment.host_objects import torch_dtype
from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch.indexing import index_put
from scriptc.frontend.library.torch.memory import is_contiguous, item, size, storage_offset, stride
from scriptc.frontend.operations.materialize import make_tuple
from scriptc.frontend.operations.writes import view_of
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, RuntimeValue
from scriptc.frontend.values.predicates import is_none, tensor_type
from scriptc.frontend.values.verbs import materialize

_NONE, _FALSE, _ANY_FORMAT = Known(None), Known(False), Known(0)

serves("aten._local_scalar_dense")(item)
serves("aten.sym_size")(size)
serves("aten.sym_stride")(stride)
serves("aten.sym_storage_offset")(storage_offset)


@serves("aten.sym_numel")
def sym_numel(r: Reader, self: AbstractValue) -> AbstractValue:
    return RuntimeValue(r.emit.build("numel", [materialize(r, self)]))


@serves("aten.sym_is_contiguous")
def sym_is_contiguous(r: Reader, self: AbstractValue, memory_format: AbstractValue = _ANY_FORMAT) -> AbstractValue:
    return is_contiguous(r, self) if memory_format is _ANY_FORMAT else is_contiguous(r, self, memory_format)


@serves("aten.alias")
def alias(r: Reader, self: AbstractValue) -> AbstractValue:
    return view_of(r, self)


@serves("aten._assert_tensor_metadata")
def assert_tensor_metadata(
    r: Reader, a: AbstractValue, size: AbstractValue = _NONE, stride: AbstractValue = _NONE, dtype: AbstractValue = _NONE,
    *, device: AbstractValue = _NONE, layout: AbstractValue = _NONE,
) -> AbstractValue:  # fmt: skip
    """Raise torch's error if the tensor has another dtype, device or layout, all of which are known."""
    if not (is_none(size) and is_none(stride)):
        r.reject("form_of_call", name="torch.ops.aten._assert_tensor_metadata", why="sizes and strides are not supported")
    given = {name: require_known(r, av, name) for name, av in (("dtype", dtype), ("device", device), ("layout", layout))}
    alike = torch.empty(0, dtype=torch_dtype(tensor_type(a).dtype))
    try:
        torch.ops.aten._assert_tensor_metadata(alike, **given)
    except RuntimeError as e:
        r.emit.raise_error("RuntimeError", str(e))
    return Known(None)


def _whole_dims(r: Reader, indices: AbstractValue) -> AbstractValue:
    """Return indices with slices in place of None, by which ATen skips a dim."""
    whole = Known(slice(None))
    return make_tuple([whole if is_none(i) else i for i in r.iterate(indices)])


@serves("aten.index")
def index(r: Reader, self: AbstractValue, indices: AbstractValue) -> AbstractValue:
    return r.subscript(self, _whole_dims(r, indices))


@serves("aten.index_put")
def index_put_(
    r: Reader, self: AbstractValue, indices: AbstractValue, values: AbstractValue, accumulate: AbstractValue = _FALSE
) -> AbstractValue:
    return index_put(r, self, _whole_dims(r, indices), values, accumulate)
