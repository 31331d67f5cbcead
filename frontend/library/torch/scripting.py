"""Functions that models call for the sake of torch.jit and torch.compile, and torch._assert."""

from __future__ import annotations

from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.formatting import raise_with
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known
from scriptc.frontend.values.predicates import is_known, is_tensor


@serves(
    "torch.backends.mha.get_fastpath_enabled", "torch.overrides.has_torch_function", "torch.overrides.has_torch_function_unary",
    "torch.overrides.has_torch_function_variadic", "torch.jit.is_scripting", "torch.jit.is_tracing", "torch._C._is_tracing",
    "torch._jit_internal.is_scripting", "torch.compiler.is_compiling", "torch.compiler.is_dynamo_compiling",
    "torch.compiler.is_exporting", "torch.cuda.is_available", "torch._C._are_functorch_transforms_active",
    "torch._is_functional_tensor", "torch._C._functorch.is_functorch_wrapped_tensor",
)  # fmt: skip
def never(r: Reader, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
    return Known(False)


@serves("torch._C._get_tracing_state", "torch._C._get_dispatch_mode", "torch._ops._get_dispatch_mode_pre_dispatch")
def no_mode(r: Reader, *args: AbstractValue) -> AbstractValue:
    """No call runs under a tracer or a dispatch mode: there, compiled functions refuse their arguments."""
    return Known(None)


@serves(
    "torch._C._log_api_usage_once",
    *(f"torch._dynamo.decorators.{name}" for name in "mark_static mark_static_address mark_dynamic maybe_mark_dynamic".split()),
)  # fmt: skip
def no_effect(r: Reader, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
    return Known(None)


@serves("torch.is_tensor")
def is_tensor_(r: Reader, x: AbstractValue) -> AbstractValue:
    return Known(is_tensor(x))


@serves("torch.jit.annotate", "typing.cast")
def annotate(r: Reader, cls: AbstractValue, x: AbstractValue) -> AbstractValue:
    return x


@serves("torch.jit._unwrap_optional", "torch._jit_internal._unwrap_optional")
def unwrap(r: Reader, x: AbstractValue) -> AbstractValue:
    return x


@serves("torch._assert")
def assert_(r: Reader, condition: AbstractValue, message: AbstractValue) -> AbstractValue:

    def fails() -> bool:
        raise_with(r, "AssertionError", message)

    truth = r.truth(condition)
    if is_known(truth):
        return Known(None) if truth.obj else Known(fails())
    r.branch(truth, lambda: True, fails, frozenset())
    return Known(None)
