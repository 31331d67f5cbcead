"""Settings of torch: grad mode, autocast, the default dtype, threads and seeds."""

from __future__ import annotations

import torch

from scriptc.frontend.environment.host_objects import dtype_name
from scriptc.frontend.environment.watching import grad_mode
from scriptc.frontend.library.python.contextlib import nullcontext
from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.autocast import dtype_now
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known
from scriptc.frontend.values.predicates import is_known


@serves("torch.get_default_dtype")
def default_dtype(r: Reader) -> AbstractValue:
    return Known(torch.get_default_dtype())


@serves("torch.profiler.record_function")
def record_function(r: Reader, name: AbstractValue, args: AbstractValue = Known(None)) -> AbstractValue:
    return nullcontext(r)


@serves("torch.set_grad_enabled")
def set_grad_enabled(r: Reader, mode: AbstractValue) -> AbstractValue:
    """Switch grad mode on or off, until it is switched back or the `with` of the result ends."""
    enabled = bool(require_known(r, mode, "the mode of set_grad_enabled()"))
    if enabled and not grad_mode(r):
        r.reject("gradients_on")
    return Known(r.emit.set_grad_mode(enabled))


@serves("torch._C._set_grad_enabled")
def set_grad_enabled_of_graphs(r: Reader, mode: AbstractValue) -> AbstractValue:
    """Switch grad mode on or off, as graphs of dynamo do where a `with torch.no_grad()` begins and ends."""
    set_grad_enabled(r, mode)
    return Known(None)


@serves("torch.is_grad_enabled")
def is_grad_enabled(r: Reader) -> AbstractValue:
    if r.emit.builder.no_grad:
        return Known(False)
    return Known(grad_mode(r))


@serves("torch.autocast", "torch.amp.autocast")
def autocast(r: Reader, device_type: AbstractValue, dtype: AbstractValue = Known(None), enabled: AbstractValue = Known(True),
             cache_enabled: AbstractValue = Known(None)) -> AbstractValue:  # fmt: skip
    device = require_known(r, device_type, "the device of autocast()")
    if device != "cpu":  # other devices have no tensors here
        return nullcontext(r)
    is_on = bool(require_known(r, enabled, "whether autocast() is enabled"))
    to = require_known(r, dtype, "the dtype of autocast()")
    if to is None:
        r.environment.guard("CALL_GIVES", default_dtype_of_autocast, None, default_dtype_of_autocast())
    return Known(torch.autocast(device, dtype=to, enabled=is_on))


@serves("torch.amp.autocast_mode._enter_autocast")
def enter_autocast(r: Reader, *args: AbstractValue) -> AbstractValue:
    """Begin to read code under autocast. In graphs of dynamo, two calls stand for the `with`."""
    mode = autocast(r, *args)
    if is_known(mode):
        dtype = dtype_name(mode.obj.fast_dtype) if mode.obj._enabled else None
    else:  # another device
        dtype = dtype_now(r)
    r.environment.autocast.append(dtype)
    return mode


@serves("torch.amp.autocast_mode._exit_autocast")
def exit_autocast(r: Reader, mode: AbstractValue) -> AbstractValue:
    r.environment.autocast.pop()
    return Known(None)


def default_dtype_of_autocast() -> str | None:
    """Return the dtype to which `torch.autocast("cpu")` casts unless told otherwise."""
    return dtype_name(torch.get_autocast_dtype("cpu"))


@serves("torch.is_autocast_enabled")
def is_autocast_enabled(r: Reader, device_type: AbstractValue = Known("cuda")) -> AbstractValue:
    return is_autocast_cpu_enabled(r) if require_known(r, device_type, "the device") == "cpu" else Known(False)


@serves("torch.is_autocast_cpu_enabled")
def is_autocast_cpu_enabled(r: Reader) -> AbstractValue:
    return Known(dtype_now(r) is not None)


@serves("torch.cpu.amp.autocast")
def cpu_autocast(
    r: Reader, enabled: AbstractValue = Known(True), dtype: AbstractValue = Known(torch.bfloat16),
    cache_enabled: AbstractValue = Known(True),
) -> AbstractValue:  # fmt: skip
    return autocast(r, Known("cpu"), dtype, enabled)


@serves("torch.cuda.amp.autocast")
def cuda_autocast(r: Reader, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
    return nullcontext(r)


# The answers hold at one moment alone, and the effects outlive the call.
@serves(
    "torch.initial_seed", "torch.random.initial_seed", "torch.get_num_threads", "torch.get_num_interop_threads",
    "torch.set_num_threads", "torch.set_num_interop_threads", "torch.set_flush_denormal", "torch.set_default_dtype",
    "torch.set_default_device", "torch.set_default_tensor_type", "torch.set_printoptions", "torch.is_inference_mode_enabled",
    "torch.set_warn_always",
)  # fmt: skip
def refused(r: Reader, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
    r.reject("builtin_function")


@serves("torch.nn.attention._sdpa_kernel")
def sdpa_kernel(r: Reader, backends: AbstractValue, set_priority: AbstractValue = Known(False)) -> AbstractValue:
    """Allow backends of attention. Compiled code has one, which computes what `SDPBackend.MATH` does."""
    chosen = [require_known(r, b, "a backend of sdpa_kernel()") for b in r.iterate(backends)]
    if torch.nn.attention.SDPBackend.MATH not in chosen:
        r.reject("attention_backend")
    return Known(None)
