"""Emitters: how ops become loop IR whose rows have neither a `c` template nor a `kernel`. A row's `emit` names one."""

from __future__ import annotations

from scriptc.backend_c.emitters import (
    checks,
    containers,
    control,
    dicts,
    elementwise,
    exceptions,
    numbers,
    objects,
    strings,
    tensors,
)
from scriptc.backend_c.emitters.registry import Emitter

EMITTERS: dict[str, Emitter] = {
    name: emitter
    for module in (control, exceptions, numbers, containers, dicts, objects, strings, checks, elementwise, tensors)
    for name, emitter in module.EMITTERS.items()
}
