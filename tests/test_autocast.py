"""Calls under `torch.autocast("cpu")`, and autocast in compiled code: dtypes, values and gradients are eager's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from settings import OPTIMIZE
from torch import Tensor, nn
from torch.nn import functional as F

import scriptc
from scriptc.frontend.operations import autocast

# Kernels of torch's own that no user calls by these names.
INNER = {
    "_addmm_activation", "_convolution", "_grid_sampler_2d_cpu_fallback", "_lu_with_info", "_native_multi_head_attention",
    "grid_sampler_2d", "grid_sampler_3d", "mkldnn_rnn_layer", "mkldnn_reorder_linear_weight", "multilabel_margin_loss_forward",
}  # fmt: skip
PROMOTING = {"cat", "stack"}  # they promote without autocast too
OUTSIDE = {"flex_attention"}  # in torch.ops.higher_order


def test_the_tables_name_what_aten_casts() -> None:
    casts = torch._C._dispatch_has_kernel_for_dispatch_key
    names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::") and casts(name, "AutocastCPU")]
    found = {name.removeprefix("aten::").partition(".")[0] for name in names}
    assert found - INNER - PROMOTING | OUTSIDE == autocast.LOWER | autocast.FLOAT32 | autocast.WIDEST


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(3, 4, 3, padding=1)
        self.norm = nn.LayerNorm(4)
        self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        h = self.norm(torch.relu(self.conv(x)).transpose(1, 2))
        h = torch.tanh(self.first(h)).mean(1)
        y = self.last(h)
        return y, F.cross_entropy(y, target)


class Cell(nn.Module):
    """A recurrent cell as users write it, whose state is of another dtype from the second step on."""

    def __init__(self) -> None:
        super().__init__()
        self.u, self.w = nn.Linear(4, 6), nn.Linear(6, 6)

    def forward(self, xs: Tensor) -> Tensor:
        h = torch.zeros(xs.shape[1], 6)
        for x in xs:
            h = torch.tanh(self.u(x) + self.w(h))
        return h


def products(a: Tensor, b: Tensor) -> list[Tensor]:
    c = torch.stack([a, b])
    return [
        a @ b, a.matmul(b), torch.mm(a, b), torch.bmm(c, c), torch.addmm(a, a, b), torch.cat([a @ b, a]), (a @ b) + a,
        F.scaled_dot_product_attention(c, c, c), F.prelu(a, b[0]), (a @ b).prod(), a.double() @ b.double(),
        F.mse_loss(a @ b, a), F.pad((a @ b)[None], (1, 1), mode="constant"), torch.softmax(a @ b, -1), a.mv(b[0]),
        torch.linalg.vecdot(a, b), torch.trace(a @ b), torch.dot(a[0], b[0]), torch.outer(a[0], b[0]),
    ]  # fmt: skip


def sections(x: Tensor, w: Tensor) -> list[Tensor]:
    with torch.autocast("cpu"):
        a = x @ w
        with torch.autocast("cpu", enabled=False):
            b = x @ w
        with torch.autocast("cpu", dtype=torch.float16), torch.no_grad():
            c = x @ w
    return [a, b, c, x @ w]


def assert_like(found: Any, expected: Any) -> None:
    for i, (have, want) in enumerate(zip(found, expected, strict=True)):
        assert have.dtype == want.dtype, f"result {i}: {have.dtype}, but eager: {want.dtype}"
        torch.testing.assert_close(have, want, rtol=2e-2, atol=2e-2, msg=lambda m, i=i: f"result {i}: {m}")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_functions(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    a, b = torch.randn(4, 4), torch.randn(4, 4)
    compiled = scriptc.compile(products, optimize=OPTIMIZE)
    with torch.autocast("cpu", dtype=dtype):
        assert_like(compiled(a, b), products(a, b))
    assert_like(compiled(a, b), products(a, b))
    assert len(compiled.signatures()) == 2


def by_other_names(a: Tensor, b: Tensor) -> list[Any]:
    def power(x: Tensor, n: int) -> Tensor:
        return x if n <= 0 else power(x @ a, n - 1)

    with torch.autocast("cpu"):
        cast = power(b, a.shape[0])
    on = torch.is_autocast_enabled("cpu"), torch.is_autocast_cpu_enabled(), torch.is_autocast_enabled()
    return [torch.ops.aten.mm(a, b), torch.ops.aten.mm.default(a, b), cast, power(b, a.shape[0]), torch.tensor(on)]


def test_other_names_recursion_and_questions() -> None:
    torch.manual_seed(0)
    a, b = torch.randn(3, 3), torch.randn(3, 3)
    compiled = scriptc.compile(by_other_names, optimize=OPTIMIZE)
    for enabled in (True, False):
        with torch.autocast("cpu", enabled=enabled):
            assert_like(compiled(a, b), by_other_names(a, b))


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(w)
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad @ ctx.saved_tensors[0], None


def test_a_backward_of_the_user_runs_outside() -> None:
    x, w = torch.randn(3, 3, requires_grad=True), torch.eye(3) * (1 + 2**-12)  # more digits than bfloat16 has
    found = []
    for call in (Doubled.apply, scriptc.compile(lambda x, w: Doubled.apply(x, w), optimize=OPTIMIZE)):
        with torch.autocast("cpu"):
            y = call(x, w)
        found.append(torch.autograd.grad(y.sum(), x)[0])
    torch.testing.assert_close(found[1], found[0])


def test_sections_of_compiled_code() -> None:
    torch.manual_seed(0)
    x, w = torch.randn(3, 4), torch.randn(4, 2)
    assert_like(scriptc.compile(sections, optimize=OPTIMIZE)(x, w), sections(x, w))


@pytest.mark.parametrize("make", [Net, Cell])
def test_training(make: Callable[[], nn.Module]) -> None:
    torch.manual_seed(0)
    net = make()
    args = (torch.randn(2, 3, 5), torch.tensor([0, 2])) if make is Net else (torch.randn(5, 2, 4),)
    gradients = []
    for call in (net, scriptc.compile(net, optimize=OPTIMIZE)):
        with torch.autocast("cpu"):
            result = call(*args)
        loss = result[1] if make is Net else result.float().square().sum()
        gradients.append(torch.autograd.grad(loss, list(net.parameters())))
        gradients[-1] += tuple(result) if make is Net else (result,)
    assert_like(gradients[1], gradients[0])


def test_each_setting_has_its_build() -> None:
    x, w = torch.randn(3, 4), torch.randn(4, 2)
    compiled = scriptc.compile(lambda x, w: x @ w, optimize=OPTIMIZE)
    for _ in range(2):
        for enabled, dtype in ((True, torch.bfloat16), (False, None), (True, torch.float16)):
            with torch.autocast("cpu", dtype=dtype, enabled=enabled):
                assert compiled(x, w).dtype == (dtype or torch.float32)
        with torch.autocast("cuda", enabled=False):
            assert compiled(x, w).dtype == torch.float32
    assert len(compiled.signatures()) <= 4


@pytest.mark.parametrize("cls", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers_are_refused(cls: type[nn.RNNBase]) -> None:
    compiled = scriptc.compile(cls(3, 4), optimize=OPTIMIZE)
    with torch.autocast("cpu"), pytest.raises(scriptc.CompileError, match="under autocast is not supported"):
        compiled(torch.randn(5, 2, 3))
    compiled(torch.randn(5, 2, 3))


def test_a_call_that_raises_without_autocast():
    def product(x, w):
        return F.linear(x, w)

    compiled, given = scriptc.compile(product, optimize=OPTIMIZE), (torch.rand(2, 3).half(), torch.rand(4, 3))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="same dtype"):
            compiled(*given)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            torch.testing.assert_close(compiled(*given), product(*given))
