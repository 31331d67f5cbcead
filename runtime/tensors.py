"""Answer the bridge's questions: which tensors and modes are refused, which tensors are views, and which dtypes they have.

The file also has slower substitutes for the DLPack exchange API, for versions of torch that lack it.
"""

import ctypes
import random
import sys
from functools import lru_cache, reduce
from operator import and_, or_
from types import SimpleNamespace
from typing import Any, NoReturn

import torch
from torch.autograd import forward_ad
from torch.autograd.graph import increment_version

from scriptc.runtime import errors

# In the order of enum sc_dtype in sc.h, which tests/test_kernel_table.py compares.
DTYPES: dict[str, torch.dtype] = {
    "bool": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32,
    "i64": torch.int64, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
    "c64": torch.complex64, "c128": torch.complex128,
}  # fmt: skip
_TORCH_DTYPES = list(DTYPES.values())
MAX_RANK = 12
_WORDS = 22  # words of 64 bits that are searched; c10::TensorImpl has more


def why_refused(tensor: torch.Tensor) -> str | None:
    """Return why compiled code cannot take a tensor, or None.

    The order matters: later questions crash on tensors that earlier ones refuse.
    """
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        return f"a tensor subclass ({type(tensor).__module__}.{type(tensor).__qualname__})"
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor) or torch._is_functional_tensor(tensor):
        return "a tensor inside a torch.func transform"
    if tensor.is_nested:
        return "a nested tensor"
    if tensor.layout != torch.strided:
        return f"a tensor of layout {tensor.layout}"
    if tensor.is_quantized:
        return "a quantized tensor"
    if tensor.device.type != "cpu":
        return f"a tensor on device {tensor.device}"
    if tensor.dtype not in _TORCH_DTYPES:
        return f"a tensor of dtype {tensor.dtype}"
    if any(getattr(tensor, "names", ())):  # absent from torch 2.13 on
        return "a tensor with named dimensions"
    if tensor.is_neg():
        return "a lazily negated view (call resolve_neg() on it)"
    if tensor.is_conj():
        return "a lazily conjugated view (call resolve_conj() on it)"
    if tensor.dim() > MAX_RANK:
        return f"a tensor of {tensor.dim()} dimensions (at most {MAX_RANK})"
    if tensor._is_zerotensor():
        return "a zero tensor of autograd"
    if not torch._C._has_storage(tensor):
        return "a tensor without storage, such as a batch of gradients (is_grads_batched=True, vectorize=True)"
    if tensor.numel() and tensor.data_ptr() == 0:
        return "a tensor whose storage has no data"
    return None


def refuse_tensor(tensor: torch.Tensor, name: str | None) -> NoReturn:
    reason = why_refused(tensor) or "this tensor"
    raise TypeError(f"argument '{name}': a compiled function cannot take {reason}")


def _is_plain_device(mode: object) -> bool:
    """Return whether a mode is that of `torch.set_default_device("cpu")`, which changes nothing here."""
    module = sys.modules.get("torch.utils._device")  # torch loads it with the first such mode
    return module is not None and isinstance(mode, module.DeviceContext) and mode.device.type == "cpu"


def refuse_mode() -> None:
    """Raise RuntimeError where a mode is active that changes eager and that compiled code does not know."""
    modes: list[object] = []
    if torch._C._len_torch_function_stack():
        modes = [mode for mode in torch.overrides._get_current_function_mode_stack() if not _is_plain_device(mode)]
    if torch._C._len_torch_dispatch_stack():
        modes.append("__torch_dispatch__")
    if forward_ad._current_level >= 0:
        modes.append("forward-mode autograd")
    if modes:
        name = modes[-1] if isinstance(modes[-1], str) else type(modes[-1]).__name__
        raise RuntimeError(f"a compiled function cannot run under an active {name} mode")


def view(base: torch.Tensor, dtype: int, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> torch.Tensor:
    """Return a view of the storage of `base`; `offset` counts from the first element of `base`.

    In grad mode no gradient flows through the view: calls through which gradients flow run in no-grad mode.
    """
    wanted = _TORCH_DTYPES[dtype]
    if torch.is_grad_enabled() and base.requires_grad:
        base = base.detach()
    if base.dtype is not wanted:
        if base.is_complex():
            base = torch.view_as_real(base)
        if wanted.is_complex:
            extent = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else 0
            base = torch.view_as_complex(base.as_strided((offset + extent, 2), (2, 1), base.storage_offset()))
        if base.dtype is not wanted:
            extent = offset + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else 0
            count = -(-extent * wanted.itemsize // base.itemsize)
            base = base.as_strided((count,), (1,), base.storage_offset()).view(wanted)
    return base.as_strided(size, stride, base.storage_offset() + offset)


def leaf_kind(tensor: torch.Tensor) -> int:
    """Return what a tensor is for autograd; ORDER LEAVES: enum sc_leaf_kind in sc.h."""
    if not tensor.requires_grad:
        return 0
    base = tensor._base
    return 2 if base is not None and base.is_leaf else 1 if tensor.is_leaf else 3


def new_flat(dtype: int, numel: int) -> tuple[torch.Tensor, int]:
    tensor = torch.empty(numel, dtype=_TORCH_DTYPES[dtype])
    return tensor, tensor.data_ptr()


def describe(tensor: torch.Tensor) -> tuple[int, int, tuple[int, ...], tuple[int, ...]]:
    """Return data pointer, dtype, sizes and strides of a tensor."""
    if reason := why_refused(tensor):
        raise TypeError(reason)
    return tensor.data_ptr(), _TORCH_DTYPES.index(tensor.dtype), tuple(tensor.shape), tensor.stride()


def random_begin() -> tuple[torch.Tensor, int]:
    """Return the state of torch's CPU generator for a call that draws from it, and the address of its bytes."""
    state = torch.get_rng_state()
    return state, state.data_ptr()


def random_end(state: torch.Tensor) -> None:
    torch.set_rng_state(state)


def python_word() -> int:
    """Return the next 32 bits of the generator of Python's module `random`."""
    return random.getrandbits(32)


def numpy_begin() -> tuple[Any, int]:
    """Return the state of NumPy's global generator for a call that draws from it, as an `sc_rng`, and its address."""
    import numpy as np

    given: Any = np.random.get_state()
    name, words, taken, has_normal, normal = given
    if name != "MT19937":
        raise NotImplementedError("compiled code draws from NumPy's global generator only if it is an MT19937")
    fields = "<u8 <i4 <i4 <u8 (624,)<u8 <f8 <f8 <f8 <i4 <f4 ?".split()
    names = "seed left seeded next state normal_x normal_y normal_rho normal_is_valid next_float next_float_is_valid".split()
    state = np.zeros((), np.dtype(list(zip(names, fields, strict=True)), align=True))
    state["left"], state["seeded"], state["next"], state["state"] = 625 - taken, 1, taken, words
    state["normal_y"], state["normal_is_valid"] = normal, has_normal
    return state, state.ctypes.data


def numpy_end(state: Any) -> None:
    import numpy as np

    words, taken = state["state"].astype(np.uint32), int(state["next"])
    np.random.set_state(("MT19937", words, taken, int(state["normal_is_valid"]), float(state["normal_y"])))


def bump(written: list[torch.Tensor]) -> None:
    """Tell autograd that the contents of these tensors have changed."""
    for tensor in written:
        if not tensor.is_inference():
            increment_version(tensor)


@lru_cache(maxsize=1)
def usual_keys() -> tuple[int, int, int]:
    """Return where a tensor keeps its dispatch keys, and which keys plain tensors have.

    Returns the offset of the implementation's address in the object, the offset of the keys in the implementation, and
    a mask; (0, 0, 0) when that is unknown. Any other key means something that DLPack drops. Asking torch costs more
    than the exchange of a tensor, so the offsets are found from samples: by the one bit that all negated views have and
    no plain tensor has.
    """
    plain: list[torch.Tensor] = []
    for dtype in (torch.float32, torch.float64):
        for t in (torch.ones(()), torch.ones(3), torch.ones(2, 3, 4), torch.empty(0, 5)):
            t = t.to(dtype)
            plain += [t, t.clone()[..., None], t.clone().requires_grad_(), torch.nn.Parameter(t.clone())]
            plain += [t.clone().requires_grad_() * 2]
    negated = [torch._neg_view(t.detach().clone()) for t in plain] + [torch._neg_view(t) for t in plain]
    negated += [t.detach() for t in negated]
    with torch.inference_mode():
        plain += [torch.ones(2), torch.ones(2)[1:]]
    plain += [torch.ones(2, dtype=dtype) for dtype in _TORCH_DTYPES]
    try:
        pointers = range(object.__basicsize__, torch.Tensor.__basicsize__, ctypes.sizeof(ctypes.c_void_p))
        (at,) = (at for at in pointers if all(_word(id(t) + at) == t._cdata for t in plain + negated))
        usual = [reduce(or_, column) for column in zip(*map(_words, plain), strict=True)]
        marked = [reduce(and_, column) for column in zip(*map(_words, negated), strict=True)]
        (k,) = (k for k in range(_WORDS) if (marked[k] & ~usual[k]).bit_count() == 1)
    except (AttributeError, ValueError):
        return 0, 0, 0
    return at, 8 * k, usual[k]


@lru_cache(maxsize=1)
def offset_place() -> int:
    """Return where the implementation of a tensor keeps its offset in the storage, in bytes; 0 when that is unknown."""
    base = torch.empty(1000)
    samples = [base[start:stop] for start, stop in ((0, 9), (123, 321), (777, 790), (999, 1000))]
    columns = zip(*map(_words, samples), strict=True)
    places = [8 * k for k, column in enumerate(columns) if list(column) == [t.storage_offset() for t in samples]]
    return places[0] if len(places) == 1 and usual_keys()[0] else 0


@lru_cache(maxsize=1)
def autograd_places() -> tuple[int, int, int]:
    """Return where an implementation keeps what autograd knows of a tensor, in bytes; 0 where that is unknown.

    Returns the offset of the address of autograd's data, which is 0 if the tensor does not require grad, the offset of the
    address of the version counter, and the offset of the version in the counter.
    """
    if not usual_keys()[0]:
        return 0, 0, 0
    plain = [torch.ones(3), torch.ones(2, 3), torch.ones(2, dtype=torch.float64)]
    marked = [t.clone().requires_grad_() for t in plain] + [torch.nn.Parameter(t.clone()) for t in plain]
    marked += [t * 2 for t in marked]
    words, with_grad = list(map(_words, plain)), list(map(_words, marked))
    autograd = [k for k in range(_WORDS) if not any(w[k] for w in words) and all(w[k] for w in with_grad)]
    aliases, others = [_words(t.detach()) for t in plain], [_words(t.data) for t in plain]  # `.data` has a counter of its own
    counters = [
        k for k in range(_WORDS)
        if all(w[k] == a[k] != o[k] and w[k] % 8 == 0 and o[k] for w, a, o in zip(words, aliases, others, strict=True))
    ]  # fmt: skip
    versions: set[int] = set()
    if len(counters) == 1:
        versions = {8, 12, 16, 20}  # behind the address of the class and the counts of references
        for times in (3, 1000, 70_000):
            tensor = torch.ones(())
            for _ in range(times):
                increment_version(tensor)
            address = _words(tensor)[counters[0]]
            versions = {at for at in versions if ctypes.c_uint32.from_address(address + at).value == tensor._version}
    place = 8 * autograd[0] if len(autograd) == 1 else 0
    return (place, 8 * counters[0], versions.pop()) if len(versions) == 1 else (place, 0, 0)


def refuse_backward(freed: int) -> NoReturn:
    """Raise the error of a backward that cannot run. freed: what the call kept is gone."""
    if torch.is_grad_enabled():
        raise NotImplementedError(
            "gradients of gradients of compiled functions are not supported; call backward() or torch.autograd.grad() "
            "without create_graph=True"
        )
    if freed:
        raise RuntimeError(
            "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
            "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
            "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
            "saved tensors after calling backward."
        )
    raise RuntimeError("backward of a compiled function was given another number of gradients than it has results")


def refuse_version(tensor: torch.Tensor, version: int) -> NoReturn:
    """Raise autograd's error for a tensor that was written since this version."""
    if torch.is_anomaly_enabled():
        hint = (
            "the backtrace further above shows the operation that failed to compute its gradient. The variable in question "
            "was changed in there or anywhere later. Good luck!"
        )
    else:
        hint = (
            "enable anomaly detection to find the operation that failed to compute its gradient, with "
            "torch.autograd.set_detect_anomaly(True, check_nan=False)."
        )
    output = f", which is output {tensor.output_nr} of {tensor.grad_fn.name()}," if tensor.grad_fn is not None else ""
    raise RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{tensor.type()} {list(tensor.shape)}]{output} is at version {tensor._version}; expected version {version} instead. "
        f"Hint: {hint}"
    )


def _keeps_graph() -> bool:
    """Return True for a version of torch that does not tell whether a backward keeps the graph."""
    return True


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def _words(tensor: torch.Tensor) -> list[int]:
    """Return the first words of a tensor's implementation. One by one, those of all samples take a millisecond."""
    return list((ctypes.c_uint64 * _WORDS).from_address(tensor._cdata))


def runs_openmp() -> bool:
    """Return whether torch's operators run on the threads of an OpenMP runtime."""
    return bool(torch.backends.openmp.is_available())


@lru_cache(maxsize=2)
def host(exchange: bool) -> SimpleNamespace:
    """Return all that the C side needs to know, by field name of struct host in bridge.h."""
    api: Any = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None) if exchange else None
    return SimpleNamespace(
        tensor_type=torch.Tensor,
        parameter_type=torch.nn.Parameter,
        function_modes=torch._C._len_torch_function_stack,
        dispatch_modes=torch._C._len_torch_dispatch_stack,
        grad_enabled=torch.is_grad_enabled,
        num_threads=torch.get_num_threads,
        default_dtype=torch.get_default_dtype,
        forward_ad=vars(forward_ad),
        forward_ad_key="_current_level",
        requires_grad_key="requires_grad",
        version_key="_version",
        saved_hooks=torch._C._autograd._top_saved_tensors_default_hooks,
        transforms=torch._C._are_functorch_transforms_active,
        keeps_graph=getattr(torch._C._autograd, "_get_current_graph_task_keep_graph", _keeps_graph),
        refuse_backward=refuse_backward,
        refuse_version=refuse_version,
        why_refused=why_refused,
        leaf_kind=leaf_kind,
        refuse_tensor=refuse_tensor,
        refuse_mode=refuse_mode,
        view=view,
        new_flat=new_flat,
        describe=describe,
        bump=bump,
        random_begin=random_begin,
        python_word=python_word,
        random_end=random_end,
        numpy_begin=numpy_begin,
        numpy_end=numpy_end,
        make_exception=errors.make_exception,
        place_exception=errors.raised_at,
        warn=errors.warn,
        print=errors.emit,
        api=api,
        keys=(*usual_keys(), offset_place(), *autograd_places()),
    )
