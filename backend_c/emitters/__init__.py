"""Emitters: the lowering of ops whose rows have neither a `c` nor a `kernel`. A row names its emitter."""

from __future__ import annotations

from scriptc.backend_c.emitters import (
    checks,
    containers,
    control,
    dicts,
    elementwise,
    exceptions,
    extern,
    numbers,
    objects,
    strings,
    tensors,
)
from scriptc.backend_c.emitters.registry import Emitter

EMITTERS: dict[str, Emitter] = {
    name: emitter
    for module in (control, exceptions, numbers, containers, dicts, objects, strings, checks, elementwise, tensors, extern)
    for name, emitter in module.EMITTERS.items()
}
