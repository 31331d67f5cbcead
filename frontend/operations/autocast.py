"""The casts of `torch.autocast("cpu")`: the dtypes in which eager runs functions of torch while autocast is on.

Source: the kernels that ATen registers for the dispatch key AutocastCPU. Eager casts arguments once, where the user's code or
torch's Python code calls a function. What runs inside of the function is not cast again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import torch

from scriptc.frontend.environment.host_objects import dtype_name
from scriptc.frontend.library.registry import is_decomposition, library_name
from scriptc.frontend.operations.casts import cast_to
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue
from scriptc.frontend.values.alternatives import split_all
from scriptc.frontend.values.predicates import has_alternatives, is_tensor, tensor_type

# Functions by the names of ATen. Tensors are cast to the dtype of autocast: bfloat16 or float16.
LOWER = frozenset(
    "addbmm addmm baddbmm bmm conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d linalg_vecdot"
    " flex_attention linear matmul mm prelu scaled_dot_product_attention".split()
)
# Tensors are cast to float32.
FLOAT32 = frozenset(
    "adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy binary_cross_entropy_with_logits cdist cholesky"
    " cholesky_inverse cholesky_solve cosine_embedding_loss cross_entropy_loss ctc_loss fake_quantize_per_tensor_affine fft_fft"
    " fft_fft2 fft_fftn fft_hfft fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2"
    " fft_rfftn fractional_max_pool2d fractional_max_pool3d geqrf grid_sampler hinge_embedding_loss huber_loss inverse kl_div"
    " l1_loss linalg_cholesky linalg_cholesky_ex linalg_cond linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh"
    " linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq linalg_matrix_rank linalg_qr linalg_solve linalg_svd"
    " linalg_svdvals linalg_tensorinv linalg_tensorsolve lu_solve margin_ranking_loss max_pool3d max_unpool2d max_unpool3d"
    " mse_loss multi_margin_loss multilabel_margin_loss nanquantile nll_loss nll_loss2d orgqr ormqr pinverse poisson_nll_loss"
    " polar prod qr quantile reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d replication_pad3d"
    " smooth_l1_loss soft_margin_loss stft svd trace triangular_solve triplet_margin_loss view_as_complex".split()
)
# Tensors are cast to float32 where one of them has that dtype. Eager does so for cat and stack too, which promote anyway.
WIDEST = frozenset({"index_copy"})
# Functions of which some call those above inside of ATen, in a way that compiled code does not follow.
REFUSED = frozenset(
    "bilinear chain_matmul corrcoef cov einsum gru gru_cell inner kron linalg_matrix_power linalg_multi_dot linalg_pinv lstm"
    " lstm_cell matrix_power rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell tensordot".split()
)
_NAMES = {"cross_entropy": "cross_entropy_loss", "__matmul__": "matmul", "__rmatmul__": "matmul"}


def dtype_now(reader: Reader) -> str | None:
    """Return the dtype to which autocast casts, None where it is off, and guard that calls are made under this autocast."""
    if reader.environment.autocast:
        return reader.environment.autocast[-1]
    any_device = torch._C._is_any_autocast_enabled
    reader.environment.guard("CALL_GIVES", any_device, None, enabled := any_device())
    if not enabled:
        return None
    reader.environment.guard("CALL_GIVES", dtype_outside, None, name := dtype_outside())
    return name


def _is_on(reader: Reader) -> bool:
    """Return whether autocast is on as code is read, without a guard."""
    inside = reader.environment.autocast
    return (inside[-1] if inside else dtype_outside()) is not None


def dtype_outside() -> str | None:
    """Return the dtype to which torch.autocast casts on the CPU, None where it is off."""
    return dtype_name(torch.get_autocast_dtype("cpu")) if torch.is_autocast_enabled("cpu") else None


@contextmanager
def within(reader: Reader, dtype: str | None) -> Iterator[None]:
    """Read code that eager runs under autocast to a dtype, or under autocast that is off (None)."""
    reader.environment.autocast.append(dtype)
    try:
        yield
    finally:
        reader.environment.autocast.pop()


def call_with_casts(
    reader: Reader, function: Any, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue],
    call: Callable[[Sequence[AbstractValue], dict[str, AbstractValue]], AbstractValue],
) -> AbstractValue | None:  # fmt: skip
    """Return the result of `call` for the arguments that eager's casts give, None where autocast changes nothing.

    Eager casts no arguments of functions with `out`, nor of those that a function of ATen calls inside.
    """
    if is_decomposition(reader.position.frame.source.file):
        return None
    name, given = _aten_name(function), [*args, *kwargs.values()]
    if name not in _ALL or "out" in kwargs:
        may_call_back = isinstance(function, FunctionType)
        if may_call_back or not any(map(is_tensor, given)) or not _is_on(reader):
            return None
        with within(reader, None):
            return call(args, kwargs)
    dtype = dtype_now(reader)
    if dtype is None:
        return None
    if any(map(has_alternatives, given)):
        count, names = len(args), [*kwargs]
        return split_all(reader, given, lambda avs: call(avs[:count], dict(zip(names, avs[count:], strict=True))))
    if name in REFUSED:
        reader.reject("autocast_of", name=library_name(function))
    if name not in LOWER:
        dtypes = {tensor_type(av).dtype for av in given if is_tensor(av)}
        dtype = "f32" if name in FLOAT32 or "f32" in dtypes else dtype
    with within(reader, None):
        return call([_cast(reader, av, dtype) for av in args], {k: _cast(reader, av, dtype) for k, av in kwargs.items()})


_ALL = LOWER | FLOAT32 | WIDEST | REFUSED
_CAST = frozenset({"f16", "bf16", "f32"})  # autocast leaves float64 and all but floats as they are


def _aten_name(function: Any) -> str:
    name = getattr(function, "__name__", "")
    return _NAMES.get(name, name)


def _cast(reader: Reader, av: AbstractValue, dtype: str) -> AbstractValue:
    return cast_to(reader, av, dtype) if is_tensor(av) and tensor_type(av).dtype in _CAST else av
