"""Tensors as C functions get them: DLTensor structs that point to the memory of torch's tensors, and can be resized."""

from __future__ import annotations

import itertools
from typing import Any

import cffi
import torch

from scriptc.ir.extern import REQUIRES_GRAD

ffi = cffi.FFI()
ffi.cdef("""
    typedef struct { int device_type; int32_t device_id; } DLDevice;
    typedef struct { uint8_t code, bits; uint16_t lanes; } DLDataType;
    typedef struct DLTensor {
        void *data;
        DLDevice device;
        int32_t ndim;
        DLDataType dtype;
        int64_t *shape;
        int64_t *strides;
        uint64_t byte_offset;
    } DLTensor;
    typedef struct sc_tensor_handle {
        DLTensor tensor;
        int (*resize)(struct sc_tensor_handle *self, int32_t ndim, const int64_t *sizes);
        void *owner;
        int32_t references;
        void *stream;
    } sc_tensor_handle;
    typedef struct { char type[48]; char message[1024]; } sc_extension_error;
    typedef union { int64_t i; uint64_t u; double f; const char *s; DLTensor *t; } sc_extension_value;
    typedef int sc_extension_function(sc_extension_error *, const sc_extension_value *, sc_extension_value *);
""")

_DTYPES = {
    torch.bool: (6, 8), torch.uint8: (1, 8), torch.int8: (0, 8), torch.int16: (0, 16), torch.int32: (0, 32),
    torch.int64: (0, 64), torch.float16: (2, 16), torch.bfloat16: (4, 16), torch.float32: (2, 32), torch.float64: (2, 64),
    torch.complex64: (5, 64), torch.complex128: (5, 128),
}  # fmt: skip
_DEVICES = {"cpu": 1, "cuda": 2}
_numbers = itertools.count(1)
_in_use: dict[int, Handle] = {}  # by the number in `owner`


class Handle:
    """One tensor for the time of a call. error: what torch raised when C code resized the tensor."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        self.number = next(_numbers)
        self.error: BaseException | None = None
        self.struct = ffi.new("sc_tensor_handle *")
        self.pointer = ffi.cast("DLTensor *", self.struct)  # the struct's first member
        self.struct.owner = ffi.cast("void *", self.number)
        self.struct.resize = ffi.NULL
        self.struct.references = 1
        stream = torch.cuda.current_stream(tensor.device).cuda_stream if tensor.is_cuda else 0
        self.struct.stream = ffi.cast("void *", stream)
        described = self.struct.tensor
        described.device.device_type = _DEVICES[tensor.device.type]
        described.device.device_id = tensor.device.index or 0
        code, bits = _DTYPES[tensor.dtype]
        described.dtype.code, described.dtype.bits, described.dtype.lanes = code, bits, 1
        self._describe()
        _in_use[self.number] = self

    def _describe(self) -> None:
        """Write address, sizes and strides into the struct."""
        described, tensor = self.struct.tensor, self.tensor
        described.data = ffi.cast("void *", tensor.data_ptr())
        described.ndim = tensor.dim()
        self._layout = ffi.new("int64_t[]", [*tensor.shape, *tensor.stride(), 0])
        described.shape = self._layout
        described.strides = self._layout + tensor.dim()

    def allow_resize(self) -> None:
        self.struct.resize = _resize

    def resize(self, sizes: list[int]) -> int:
        try:
            with torch.no_grad():
                self.tensor.resize_(sizes)
        except BaseException as e:
            self.error = self.error or e
            return -1
        self._describe()
        return 0

    def release(self) -> None:
        del _in_use[self.number]


@ffi.callback("int(sc_tensor_handle *, int32_t, const int64_t *)", error=-1)
def _resize(struct: Any, ndim: int, sizes: Any) -> int:
    return _in_use[int(ffi.cast("uintptr_t", struct.owner))].resize(ffi.unpack(sizes, ndim) if ndim else [])


def refusal(tensor: torch.Tensor, *, with_cuda: bool) -> tuple[type[Exception], str] | None:
    """Return why no C function may get a tensor: the exception, and the words behind the tensor's name."""
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor) or torch._is_functional_tensor(tensor):
        return RuntimeError, "is a tensor of torch.func or torch.compile, whose elements are elsewhere"
    if type(tensor).__torch_dispatch__ != torch.Tensor.__torch_dispatch__:
        return TypeError, f"is a {type(tensor).__name__}, a tensor whose elements are elsewhere"
    if tensor.layout is not torch.strided:
        return TypeError, f"is a tensor of the layout {tensor.layout}; pass x.to_dense()"
    if tensor.is_quantized:
        return TypeError, "is quantized; pass x.dequantize() or x.int_repr()"
    if tensor.device.type != "cpu" and not (with_cuda and tensor.is_cuda):
        return RuntimeError, f"is on the device {tensor.device}, whose memory the C code cannot use"
    if tensor.dtype not in _DTYPES:
        return TypeError, f"is of {tensor.dtype}, which C functions do not get"
    if tensor.is_conj() or tensor.is_neg():
        what, method = ("conjugate", "resolve_conj") if tensor.is_conj() else ("negative", "resolve_neg")
        return RuntimeError, f"is a lazy {what} view, whose elements are not in memory; pass x.{method}()"
    if tensor.requires_grad and torch.is_grad_enabled():
        return RuntimeError, REQUIRES_GRAD
    return None

