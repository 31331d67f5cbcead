"""Context managers that mean little or nothing to compiled code."""

from __future__ import annotations

import contextlib

import torch

from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.materialize import make_tuple
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AV, Known, ObjectV


@serves("contextlib.nullcontext")
def nullcontext(r: Reader, enter_result: AV = Known(None)) -> AV:  # noqa: B008
    return ObjectV(contextlib.nullcontext, {"enter_result": enter_result})


@serves("contextlib.suppress")
def suppress(r: Reader, *exceptions: AV) -> AV:
    return ObjectV(contextlib.suppress, {"classes": make_tuple(list(exceptions))})


@serves("torch.profiler.record_function")
def record_function(r: Reader, name: AV, args: AV = Known(None)) -> AV:  # noqa: B008
    return nullcontext(r)


@serves("torch.set_grad_enabled")
def set_grad_enabled(r: Reader, mode: AV) -> AV:
    if require_known(r, mode, "the mode of set_grad_enabled()"):
        r.reject("gradients_on")
    return Known(torch.no_grad())


@serves("torch.is_grad_enabled")
def is_grad_enabled(r: Reader) -> AV:
    if r.emit.graded is not None:
        return Known(False)
    r.environment.guard("GRAD_MODE_IS", None, None, enabled := torch.is_grad_enabled())
    return Known(enabled)


@serves("torch.autocast", "torch.amp.autocast")
def autocast(r: Reader, device_type: AV, dtype: AV = Known(None), enabled: AV = Known(True),  # noqa: B008
             cache_enabled: AV = Known(None)) -> AV:  # noqa: B008  # fmt: skip
    casts = (
        require_known(r, enabled, "whether autocast() is enabled")
        and require_known(r, device_type, "the device of autocast()") == "cpu"
    )
    if casts:  # tensors of other devices there are none
        r.reject("autocast")
    return nullcontext(r)


@serves("torch.cpu.amp.autocast")
def cpu_autocast(r: Reader, enabled: AV = Known(True), *args: AV, **kwargs: AV) -> AV:  # noqa: B008
    return autocast(r, Known("cpu"), enabled=enabled)


@serves("torch.cuda.amp.autocast")
def cuda_autocast(r: Reader, *args: AV, **kwargs: AV) -> AV:
    return nullcontext(r)
