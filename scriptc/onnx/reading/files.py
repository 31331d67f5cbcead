"""Load ONNX files safely.

Every size that a file declares is checked against the bytes that are there before anything of that size is allocated.
External data is read only from regular files inside the folder of the model.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from scriptc.onnx.reading.element_types import BITS, numpy_dtype, of_number, type_name
from scriptc.onnx.reading.errors import OnnxError

MAX_MODEL_BYTES = 2**31 - 1  # protobuf's own limit
MAX_DENSE_ELEMENTS = 2**26  # of a sparse tensor, which may declare more elements than it has bytes

Array = Any  # numpy.ndarray; its annotations need type arguments that add nothing here


def load(path: str | os.PathLike[str]) -> tuple[Any, Path]:
    """Return the ModelProto of a file, without external data, and the folder of the file."""
    file = Path(path)
    try:
        if not file.is_file():
            raise OnnxError(f"there is no file {file}")
        if file.stat().st_size > MAX_MODEL_BYTES:
            raise OnnxError(f"{file} has more than {MAX_MODEL_BYTES} bytes, the most that an ONNX file may have")
        content = file.read_bytes()
    except OSError as error:
        raise OnnxError(f"cannot read {file}: {error.strerror}") from error
    return parsed(content, str(file)), file.resolve().parent


def parsed(content: bytes, name: str) -> Any:
    """Return the ModelProto in `content`; `name` is that of the file, for errors."""
    import onnx
    from google.protobuf.message import DecodeError

    if not content:
        raise OnnxError(f"{name} is empty")
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except (DecodeError, UnicodeDecodeError, ValueError) as error:
        raise OnnxError(f"{name} is no ONNX model, or is truncated: {error}") from error
    if not model.HasField("graph"):
        raise OnnxError(f"{name} is no ONNX model: it has no graph")
    return model


class TensorReader:
    """Reads the tensors of a model. `folder` holds the external data; None if the model came from no file."""

    def __init__(self, folder: Path | None):
        self.folder = folder

    def array(self, tensor: Any, what: str) -> Array:
        """Return the value of a TensorProto; `what` names the tensor in errors."""
        from google.protobuf.message import DecodeError
        from onnx import numpy_helper

        dtype = of_number(tensor.data_type)
        if dtype is None:
            raise OnnxError(f"{what} has the unknown element type {tensor.data_type}")
        count = self._count(tensor.dims, what)
        if dtype == "string":
            if len(tensor.string_data) != count:
                raise OnnxError(f"{what} declares {count} strings and holds {len(tensor.string_data)}")
            texts = [text.decode("utf-8", "replace") for text in tensor.string_data]
            return np.array(texts, dtype=object).reshape(tuple(tensor.dims))
        raw = self._raw(tensor, count * BITS[dtype], what)
        if raw is not None:
            import onnx

            plain = onnx.TensorProto(data_type=tensor.data_type, dims=tensor.dims, raw_data=raw)
        else:
            self._check_items(tensor, dtype, count, what)
            plain = tensor
        try:
            return np.asarray(numpy_helper.to_array(plain))
        except (ValueError, TypeError, OverflowError, DecodeError) as error:
            raise OnnxError(f"{what} of {type_name(dtype, tensor.dims)} cannot be read: {error}") from error

    def _count(self, dims: Iterable[int], what: str) -> int:
        if any(size < 0 for size in dims):
            raise OnnxError(f"{what} has a negative size: {list(dims)}")
        if len(list(dims)) > 32:
            raise OnnxError(f"{what} has {len(list(dims))} dims")
        return prod(dims)

    def _raw(self, tensor: Any, bits: int, what: str) -> bytes | None:
        """Return the bytes of a tensor that has bytes; None if it holds a list of numbers."""
        import onnx

        size = (bits + 7) // 8
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            return self._external(tensor, size, what)
        if not tensor.HasField("raw_data"):
            return None
        if len(tensor.raw_data) != size:
            raise OnnxError(f"{what} declares {size} bytes and holds {len(tensor.raw_data)}")
        return bytes(tensor.raw_data)

    def _check_items(self, tensor: Any, dtype: str, count: int, what: str) -> None:
        """Check that the field for numbers of this type holds as many as the dims declare."""
        field, each = "int32_data", 1
        if dtype in ("float32", "complex64"):
            field, each = "float_data", 1 if dtype == "float32" else 2
        elif dtype in ("float64", "complex128"):
            field, each = "double_data", 1 if dtype == "float64" else 2
        elif dtype == "int64":
            field = "int64_data"
        elif dtype in ("uint32", "uint64"):
            field = "uint64_data"
        held = len(getattr(tensor, field))
        packed = 8 // BITS[dtype] if BITS[dtype] < 8 else 1
        if held != -(-count * each // packed):
            raise OnnxError(f"{what} declares {count} elements and holds {held * packed // each}")

    def _external(self, tensor: Any, size: int, what: str) -> bytes:
        entries = {entry.key: entry.value for entry in tensor.external_data}
        location = entries.get("location", "")
        if self.folder is None:
            raise OnnxError(f"{what} is in the file {location!r}, but the model came from no file")
        try:
            offset, length = int(entries.get("offset", 0)), int(entries.get("length", size))
        except ValueError:
            raise OnnxError(f"{what}: offset and length of external data are numbers") from None
        if offset < 0 or length != size:
            raise OnnxError(f"{what} declares {size} bytes, and {length} at offset {offset} of {location!r}")
        path = self._inside(location, what)
        try:
            with open(path, "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise OnnxError(f"{what}: {location!r} is no regular file")
                if offset + size > status.st_size:
                    raise OnnxError(f"{what} ends behind the end of {location!r}, which has {status.st_size} bytes")
                file.seek(offset)
                return file.read(size)
        except OSError as error:
            raise OnnxError(f"{what}: cannot read {location!r}: {error.strerror}") from error

    def _inside(self, location: str, what: str) -> Path:
        """Return the path of external data, which no `..`, absolute path or symbolic link takes out of the folder."""
        assert self.folder is not None
        if not location or "\0" in location:
            raise OnnxError(f"{what} names no file for its external data")
        folder = self.folder.resolve()
        try:
            path = (folder / location).resolve()
            is_file = path.is_file()
        except (OSError, RuntimeError) as error:  # a loop of links
            raise OnnxError(f"{what}: {location!r}: {error}") from error
        if Path(location).is_absolute() or not path.is_relative_to(folder):
            raise OnnxError(f"{what}: {location!r} is outside of the folder of the model")
        if not is_file:
            raise OnnxError(f"{what}: there is no file {location!r} in the folder of the model")
        return path

    def dense(self, tensor: Any, what: str) -> Array:
        """Return the value of a SparseTensorProto as a dense array."""
        values = self.array(tensor.values, f"the values of {what}").reshape(-1)
        indices = self.array(tensor.indices, f"the indices of {what}")
        count = self._count(tensor.dims, what)
        if count > MAX_DENSE_ELEMENTS:
            raise OnnxError(f"{what} declares {count} elements; sparse tensors have at most {MAX_DENSE_ELEMENTS}")
        shape = tuple(tensor.dims)
        if indices.ndim == 2 and indices.shape == (len(values), len(shape)):
            at = tuple(indices[:, axis] for axis in range(len(shape)))
            if any(((column < 0) | (column >= size)).any() for column, size in zip(at, shape, strict=True)):
                raise OnnxError(f"{what} has an index outside of its dims")
            flat = np.ravel_multi_index(at, shape) if len(shape) else np.zeros(len(values), int)
        elif indices.shape == (len(values),):
            flat = indices
        else:
            raise OnnxError(f"{what} has {len(values)} values, and indices of the shape {indices.shape}")
        if ((flat < 0) | (flat >= count)).any():
            raise OnnxError(f"{what} has an index outside of its dims")
        made = np.zeros(count, dtype=numpy_dtype(of_number(tensor.values.data_type) or "float32"))
        made[flat] = values
        return made.reshape(shape)
