"""Stream two sequences through the GRU, frame by frame and in turns. Needs cffi, but no C compiler: the ABI mode.

Argument: the folder where the package is installed.
"""

import re
import sys
from array import array
from contextlib import ExitStack
from pathlib import Path

from cffi import FFI

INPUTS, FRAMES = 8, 6


def declarations(header: Path) -> str:
    """Return the C of a header that cffi reads: without lines of the preprocessor and the C++ part."""
    text = re.sub(r"(?s)#ifdef __cplusplus.*?#endif", "", header.read_text())
    return re.sub(r"(?m)^#.*$|^GRU_API ", "", text)


prefix = Path(sys.argv[1])
ffi = FFI()
for header in ("scriptc_api.h", "gru.h"):
    ffi.cdef(declarations(prefix / "include" / header))
lib = ffi.dlopen(str(next(prefix.glob("lib*/libgru.so"))))


def step(context, state, values: array) -> list[float]:
    """Return the scores of one frame, and keep the hidden state in `state`."""
    shape = ffi.new("int64_t[]", [1, len(values)])
    data = ffi.from_buffer(values)
    frame = ffi.new("DLTensor *", {"data": data, "device": {"device_type": lib.kDLCPU}, "ndim": 2, "shape": shape})
    frame.dtype = {"code": lib.kDLFloat, "bits": 32, "lanes": 1}
    result = ffi.new("DLManagedTensorVersioned **")
    if lib.gru_forward(context, state, frame, result) != lib.SCRIPTC_OK:
        error = lib.gru_last_error(context)
        raise RuntimeError(f"{ffi.string(error.type).decode()}: {ffi.string(error.message).decode()}")
    tensor = result[0].dl_tensor
    scores = ffi.unpack(ffi.cast("float *", tensor.data), tensor.shape[1])
    result[0].deleter(result[0])
    return scores


with ExitStack() as stack:  # frees in reverse order
    why = ffi.new("char[256]")
    model = lib.gru_load(str(prefix / "share" / "gru" / "gru.safetensors").encode(), why, len(why))
    if not model:
        sys.exit(ffi.string(why).decode())
    stack.callback(lib.gru_free, model)
    context = lib.gru_context_new(model)
    stack.callback(lib.gru_context_free, context)
    states = [lib.gru_state_new(model) for _ in range(2)]
    for state in states:
        stack.callback(lib.gru_state_free, state)

    scores = [[], []]
    for t in range(FRAMES):
        for s, state in enumerate(states):
            scores[s] = step(context, state, array("f", [(s + 1) * 0.1 * t] * INPUTS))
    for s in range(2):
        print(f"sequence {s}:", *(f"{score:.5f}" for score in scores[s]))
    try:
        step(context, states[0], array("f", [0] * 3))
    except RuntimeError as error:
        print(error)
