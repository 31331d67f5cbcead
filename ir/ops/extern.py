"""C functions of extensions."""

from __future__ import annotations

from scriptc.ir.opdef import OpDef
from scriptc.ir.ops.rules import fixed, given

_TENSOR = frozenset({"tensor"})

ROWS = [
    # Calls a function of the library with a key (ir/extern.py), with tensors, numbers and constant strings. Result types
    # are those of the prototype. `extern.written` stands in front of and behind the call for each tensor that the function
    # may write (`written`, by number), so that no read of that tensor moves across the call.
    OpDef("extern.call", "(Value[] args, *, str library, str function, int[] written) -> Value", given, raises=True,
          emit="extern_call", reads=_TENSOR, writes=frozenset({"io"})),
    OpDef("extern.written", "(Tensor dst) -> ()", fixed(), frozenset({"ANY_DTYPE"}), writes=_TENSOR, emit="extern_written"),
]  # fmt: skip
