"""The forms in which users call what is used most, in tables: as functions, methods and in place, with `out`, by position and
by name. Each is interpreted and compared with eager: values, dtypes, strides, which arguments the result is, exceptions."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from settings import sweep
from statements import module_of, statements
from three_ways import assert_same, call, eager, interpreted

from scriptc import CompileError

UNARY = """
    abs acos acosh asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc exp exp2 expm1 floor frac lgamma log log10 log1p
    log2 logit neg reciprocal round rsqrt sigmoid sign sgn sin sinc sinh sqrt square tan tanh trunc relu logical_not
    isnan isinf isfinite signbit positive nan_to_num negative absolute arccos arcsin arctan rad2deg fix
"""
BINARY = """
    add sub mul div true_divide floor_divide remainder fmod pow atan2 maximum minimum fmax fmin eq ne lt le gt ge logical_and
    logical_or logical_xor bitwise_and bitwise_or hypot xlogy copysign subtract multiply divide greater less not_equal gcd lcm
    float_power bitwise_left_shift greater_equal arctan2 nextafter
"""
REDUCTIONS = "sum mean prod amax amin argmax all any std var norm median min max cumsum cumprod nansum"
FORMS = {
    "unary": (UNARY, "torch.@(T) | T.@() | T.@_() | torch.@(T, out=O) | torch.@(input=T)"),
    "binary": (
        BINARY,
        "torch.@(T, U) | T.@(2.5) | T.@_(U) | T.@_(2) | T.@_(2.5) | T.@(True) | torch.@(T, U, out=O) | T.@(other=U)"
        "| torch.@(2, T) | torch.@(T, U[0]) | torch.@(T.t(), U.t()) | torch.@(n, 2) | torch.@(n, 2.5) | torch.@(0.3, n)"
        "| torch.@(True, n) | torch.@(other=n, input=n)",
    ),
    "reductions": (
        REDUCTIONS,
        "torch.@(T) | T.@(0) | T.@(dim=1, keepdim=True) | torch.@(T, 1, True) | T.@((0, 1)) | T.@(0, dtype=torch.float64)"
        "| T.@(axis=0) | T.@(dim=None) | T.@(0, keepdims=True) | torch.@(input=T, dim=0)",
    ),
}
OTHERS = """
    T.to(torch.int32) | T.to(dtype=torch.float64, copy=True) | T.to(U) | T.type_as(U) | T.to("cpu", torch.float16)
    T.to(T) | T.t().clone() | T.t().clone(memory_format=torch.contiguous_format)
    T.clone(memory_format=torch.preserve_format) | T.mT | T[None, None].clone(memory_format=torch.channels_last)
    T.t().contiguous() | T.stride(1) | T.nbytes | T.numel() | T.tolist() | T.is_same_size(U) | T.is_same_size(U[0])
    T[0, 0].is_nonzero() | T.is_nonzero() | bool(T[0, 0]) | T.view(9, 1) | T.expand(2, 3, 3) | T.broadcast_to(2, 3, 3)
    T.broadcast_to((1, 3, 3)) | torch.broadcast_to(T, (2, 3, 3)) | T.tile(2) | T.split([1, 2]) | torch.cat((T, U), dim=1)
    torch.cat((T, U), out=torch.empty(6, 3)) | torch.stack([T, U], -1) | T.where(T > 1, U) | T.where(T > 1, 0)
    T.where(condition=T > 0, other=U) | torch.where(T > 1, 1.0, 0) | torch.where(T > 1, input=T, other=U) | T.clamp(0, 1)
    T.clamp_(0, 1) | T.clamp_min(1) | torch.clamp(T, 0, 1, out=O) | torch.clamp(T, min=U, max=2) | T.lerp(U, 0.5)
    T.addcmul(U, U, value=2) | T.add(U, alpha=2) | T.div(U, rounding_mode="floor") | T.div_(2, rounding_mode="trunc")
    torch.chain_matmul(T, U) | torch.mm(T, U, out=O) | torch.addmm(T, T, U, beta=2) | torch.cross(T, U, dim=1)
    torch.norm(T, 1, True) | T.norm(p=1) | torch.norm(T, dim=0, keepdim=True) | T.sort(dim=0, descending=True)
    T.topk(2, dim=0, largest=False) | T.max(dim=0) | T.max(U) | T.min(0, keepdim=True) | torch.min(T, other=U)
    T.median(5) | T.cumsum_(0) | T.any(()) | T.all(dim=()) | T.any(dim=[]) | T.all(dim=(0, 1)) | T.zero_()
    T.fill_(T[0, 0]) | T.copy_(U) | T.put_(i, U[0]) | T.index_put((i,), U) | T.index_add_(0, i, U, alpha=2)
    T.gather(0, torch.empty(0, dtype=torch.uint8)) | T.long().gather(0, torch.empty(0, dtype=torch.uint8))
    torch.take(T, torch.empty(0)) | torch.take_along_dim(T, torch.empty(0, dtype=torch.int32), 0)
    T.scatter(0, torch.empty(0, dtype=torch.uint8), 1) | T.long().scatter(0, torch.empty(0, dtype=torch.uint8), 1)
    T.scatter(0, i[None], 1) | torch.special.expit(T) | torch.special.softmax(T, 0) | torch.linalg.matmul(T, U) | T.diff()
    T.dist(U) | F.relu(T, inplace=True) | F.elu(T, 0.5) | F.elu_(T) | F.leaky_relu(T, 0.1, True) | F.hardtanh(T, 0, 1)
    F.softplus(T, 2) | F.margin_ranking_loss(T[0], U[0], i) | F.margin_ranking_loss(T[0], U[0], i, margin=2)
    F.hinge_embedding_loss(T, U) | F.layer_norm(T, [3], T[0], U[0], 1e-3) | F.mse_loss(T, U, reduction="none")
    F.cross_entropy(T, i, label_smoothing=0.1) | F.affine_grid(T[None, :2], (1, 1, 2, 5), align_corners=False)
    F.affine_grid(T[None, :2], (1, 1, 2, 1), align_corners=True)
    F.affine_grid(torch.ones(2, 3, 4), [2, 1, 2, 3, 4], align_corners=True) | F.embedding(i, T) | F.softmax(T, 1)
    F.glu(T[:, :2]) | T.bitwise_not() | T.bitwise_not_() | torch.arange(end=5) | torch.arange(1, end=5)
    torch.arange(5, step=2) | torch.arange(start=0, end=5, dtype=torch.float32) | torch.arange(1, 5, step=2)
    torch.arange(0, end=2.5, step=0.5) | torch.hann_window(5, device=T.device)
    torch.hamming_window(n, False, layout=torch.strided) | torch.linspace(0, 1, 4, device="cpu")
    torch.blackman_window(n, dtype=torch.float64, pin_memory=False) | torch.fft.fftfreq(n, device=T.device)
    torch.eye(n, device=T.device) | torch.kaiser_window(n, requires_grad=False) | torch.hann_window(n, alpha=2)
    torch.tensor_split(T, sections=2, dim=1) | torch.tensor_split(T, indices=[1]) | T.vsplit(indices=[1]) | T.mm(mat2=U)
    torch.mv(T, vec=U[0]) | torch.dot(T[0], tensor=U[0]) | torch.heaviside(T, values=U)
    torch.swapaxes(T, axis0=0, axis1=1) | torch.isin(T, test_element=2) | torch.is_tensor(obj=T) | torch.zeros(2, i[:1])
    torch.ones((i[:1], 2)) | torch.zeros(i[:1]) | torch.zeros(2, i) | T.new_zeros(2, i[0]) | torch.zeros(2, T[:1, 0])
    torch.tril_indices(3, 4, 1) | torch.triu_indices(n, 4, device=T.device) | torch.tril_indices(0, 3)
    torch.triu_indices(3, 0) | torch.tril_indices(3, 3, -5) | torch.tril_indices(-1, 3)
    torch.tril_indices(2, 2, dtype=torch.int16) | torch.triu_indices(2, 3, dtype=torch.int32) | torch.asarray(T)
    torch.asarray([1, n]) | torch.asarray(T, dtype=torch.float64) | torch.asarray(T, copy=True)
    torch.asarray(2.5, device=T.device) | torch.conv_tbc(T[None], T[None], T[0], 1) | F.conv_tbc(T[None], T[None], U[0])
    torch.conv_tbc(T, T[None], T[0])
"""
TENSORS = ("x y o", "k l p", "m m o", "x l p", "k y o")
_PARAMETERS = {
    "x": torch.tensor([[0.5, -1.5, 2.0], [1.0, 0.25, -3.0], [2.5, 0.0, 1.5]]), "k": torch.arange(9).reshape(3, 3),
    "y": torch.tensor([[1.0, 2.0, 0.5], [3.0, 2.0, 1.0], [2.0, 2.0, -1.5]]), "l": torch.arange(1, 10).flip(0).reshape(3, 3),
    "o": torch.zeros(3, 3), "p": torch.zeros(3, 3, dtype=torch.int64), "i": torch.tensor([2, 0, 1]),
    "m": torch.arange(9).reshape(3, 3) % 2 == 0, "n": 7,
}  # fmt: skip


def forms(kind: str) -> list[str]:
    if kind == "others":
        return statements(OTHERS)
    names, written = FORMS[kind]
    return [form.replace("@", name) for name in names.split() for form in statements(written)]


def calls(kind: str, tensors: str) -> list[str]:
    """The forms with tensors in the places of T, U and O."""
    given = dict(zip("TUO", tensors.split(), strict=True))
    return ["".join(given.get(part, part) for part in _parts(form)) for form in forms(kind)]


def _parts(form: str) -> list[str]:
    """Names and what stands between them."""
    parts = [""]
    for c in form:
        if parts[-1] and (c.isalnum() or c == "_") != (parts[-1][-1].isalnum() or parts[-1][-1] == "_"):
            parts.append("")
        parts[-1] += c
    return parts


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tensors", sweep(TENSORS, "x y o"))
@pytest.mark.parametrize("kind", [*FORMS, "others"])
def test_forms(kind: str, tensors: str, lasting_path: Path) -> None:
    written = calls(kind, tensors)
    source = "".join(f"def f{i}({', '.join(_PARAMETERS)}):\n    return {e}\n" for i, e in enumerate(written))
    module = module_of(f"import torch\nimport torch.nn.functional as F\n{source}", lasting_path)
    given, failed = call(**_PARAMETERS), []
    for i, expression in enumerate(written):
        function = getattr(module, f"f{i}")
        expected = eager(function, given)
        try:
            assert_same(expected, interpreted(function, given))
        except CompileError:
            if expected.error is None:
                failed.append(f"{expression}: refused")
        except AssertionError as e:
            failed.append(f"{expression}: {e}")
    assert not failed, "\n".join(failed)
