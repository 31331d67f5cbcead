"""Run the RNN through its C API: Python's standard library alone. Arguments: the library and the weights."""

import ctypes as c
import sys

BATCH, INPUTS, STEPS = 2, 16, 5
CPU, FLOAT = 1, 2  # kDLCPU and kDLFloat of scriptc_api.h


class DLTensor(c.Structure):
    _fields_ = [
        ("data", c.c_void_p),
        ("device_type", c.c_int32),
        ("device_id", c.c_int32),
        ("ndim", c.c_int32),
        ("code", c.c_uint8),
        ("bits", c.c_uint8),
        ("lanes", c.c_uint16),
        ("shape", c.POINTER(c.c_int64)),
        ("strides", c.POINTER(c.c_int64)),  # NULL: contiguous
        ("byte_offset", c.c_uint64),
    ]


class Managed(c.Structure):
    """DLManagedTensorVersioned, a result: the caller calls `deleter` once."""


Deleter = c.CFUNCTYPE(None, c.POINTER(Managed))
Managed._fields_ = [
    ("version", c.c_uint32 * 2),
    ("manager_ctx", c.c_void_p),
    ("deleter", Deleter),
    ("flags", c.c_uint64),
    ("tensor", DLTensor),
]


class Error(c.Structure):
    """scriptc_error, of which the later members are not needed here."""

    _fields_ = [("type", c.c_char_p), ("message", c.c_char_p)]


lib = c.CDLL(sys.argv[1])
lib.rnn_load.argtypes, lib.rnn_load.restype = [c.c_char_p, c.c_char_p, c.c_size_t], c.c_void_p
lib.rnn_context_new.argtypes, lib.rnn_context_new.restype = [c.c_void_p], c.c_void_p
lib.rnn_last_error.argtypes, lib.rnn_last_error.restype = [c.c_void_p], c.POINTER(Error)
lib.rnn_context_free.argtypes = lib.rnn_free.argtypes = [c.c_void_p]
lib.rnn_forward.argtypes = [c.c_void_p, c.POINTER(c.POINTER(DLTensor)), c.c_int64, c.POINTER(c.POINTER(Managed))]

why = c.create_string_buffer(256)
model = lib.rnn_load(sys.argv[2].encode(), why, len(why))
if not model:
    sys.exit(why.value.decode())
context = lib.rnn_context_new(model)

ones, shape = (c.c_float * (BATCH * INPUTS))(*[1] * (BATCH * INPUTS)), (c.c_int64 * 2)(BATCH, INPUTS)
x = DLTensor(c.addressof(ones), CPU, 0, 2, FLOAT, 32, 1, shape, None, 0)
for n in (STEPS, 0):  # a list without steps is an error
    steps = (c.POINTER(DLTensor) * n)(*[c.pointer(x)] * n)
    result = c.POINTER(Managed)()
    if lib.rnn_forward(context, steps, n, result) == 0:
        h = result.contents.tensor
        first = c.cast(h.data, c.POINTER(c.c_float))[0]
        print(f"{h.shape[: h.ndim]}, first element {first:g}")
        result.contents.deleter(result)
    else:
        error = lib.rnn_last_error(context).contents
        print(f"{error.type.decode()}: {error.message.decode()}")
lib.rnn_context_free(context)
lib.rnn_free(model)
