"""Gradients of convolutions and max pools equal eager's, over strides, dilations, groups, padding modes and layouts."""

from __future__ import annotations

import copy

import pytest
import torch
from settings import OPTIMIZE
from torch import Tensor, nn

import scriptc

LAYERS = [
    nn.Conv2d(4, 6, 3, padding=1),
    nn.Conv2d(4, 9, (3, 2), stride=(2, 3), padding=(2, 0), dilation=(1, 2), padding_mode="reflect"),
    nn.Conv2d(4, 8, 3, padding=2, groups=2, padding_mode="circular"),
    nn.Conv2d(4, 4, 3, padding="same", dilation=2, groups=4),
    nn.Conv2d(4, 12, 2, stride=3, groups=4, padding_mode="replicate", padding=1, bias=False),
    nn.Conv2d(4, 20, 1, stride=2),
    nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2),
    nn.ConvTranspose2d(4, 17, (2, 4), stride=(1, 3), dilation=(3, 1), output_padding=(2, 0)),
    nn.MaxPool2d(3, 2, 1),
    nn.MaxPool2d((2, 3), (1, 2), dilation=2, ceil_mode=True),
]


class Beside(nn.Module):
    """Layers that take the same images; one compilation serves for all."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(copy.deepcopy(LAYERS))

    def forward(self, x: Tensor) -> list[Tensor]:
        return [layer(x) for layer in self.layers]


def whole(*size: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Small whole numbers: sums are exact in whatever order."""
    return torch.randint(-4, 5, size).to(dtype)


def filled(model: nn.Module) -> nn.Module:
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(whole(*p.shape, dtype=p.dtype))
    return model


def gradients(run, model: nn.Module, x: Tensor) -> tuple[Tensor, ...]:
    x = x.detach().clone(memory_format=torch.preserve_format).requires_grad_()
    results = run(x)
    torch.manual_seed(1)
    cotangents = [whole(*y.shape, dtype=y.dtype) for y in results]
    return torch.autograd.grad(results, [x, *model.parameters()], cotangents)


def agree(made, model: nn.Module, x: Tensor) -> None:
    for got, wanted in zip(gradients(made, model, x), gradients(model, model, x), strict=True):
        assert torch.equal(got, wanted) and got.dtype == wanted.dtype


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_layers(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    model = filled(Beside().to(dtype))
    made = scriptc.compile(model, optimize=OPTIMIZE)
    for size in ((2, 4, 9, 11), (1, 4, 18, 7), (0, 4, 9, 11)):
        x = whole(*size, dtype=dtype)
        agree(made, model, x)
        agree(made, model, x.contiguous(memory_format=torch.channels_last))


class Unbatched(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.image, self.sound = nn.Conv2d(4, 20, 3, padding=1), nn.Conv1d(4, 18, 5, stride=2, dilation=3)
        self.large = nn.ConvTranspose1d(4, 3, 8, stride=4, padding=2)

    def forward(self, x: Tensor) -> list[Tensor]:
        wide = self.image(x)
        return [wide, torch.max_pool2d(wide, 2), self.sound(x.flatten(1)), self.large(x.flatten(1))]


def test_without_a_batch() -> None:
    torch.manual_seed(0)
    model = filled(Unbatched())
    agree(scriptc.compile(model, optimize=OPTIMIZE), model, whole(4, 6, 9))


class Wide(nn.Module):
    """A net whose weights are transformed, and one of each other kernel."""

    def __init__(self) -> None:
        super().__init__()
        self.dense, self.strided = nn.Conv2d(20, 70, 3, padding=1), nn.Conv2d(70, 40, 3, stride=2)
        self.deep, self.pool = nn.Conv2d(40, 40, 3, padding=1, groups=40), nn.MaxPool2d(3, 2, 1)

    def forward(self, x: Tensor) -> list[Tensor]:
        return [self.pool(self.deep(self.strided(self.dense(x))))]


def test_results_do_not_depend_on_threads() -> None:
    torch.manual_seed(0)
    model = Wide()
    made, x = scriptc.compile(model, optimize=OPTIMIZE), torch.randn(3, 20, 17, 22)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        expected = gradients(made, model, x)
        for got, wanted in zip(expected, gradients(model, model, x), strict=True):
            torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5 * float(wanted.abs().max()))
        for threads in (2, 4):
            torch.set_num_threads(threads)
            for _ in range(2):
                assert all(map(torch.equal, gradients(made, model, x), expected))
    finally:
        torch.set_num_threads(before)


def test_weights_that_are_not_finite() -> None:
    """They are not transformed, so that no NaN comes from an infinity."""
    torch.manual_seed(0)
    model = nn.Conv2d(16, 16, 3, padding=0)
    with torch.no_grad():
        model.weight[3, 2, 1, 1] = float("inf")
    made, x = scriptc.compile(model, optimize=OPTIMIZE), torch.rand(2, 16, 12, 12)
    with torch.no_grad():
        torch.testing.assert_close(made(x), model(x), rtol=1e-4, atol=1e-4)


def test_gradients_by_differences() -> None:
    torch.manual_seed(0)
    layer = nn.Conv2d(2, 6, (2, 3), stride=(2, 1), padding=1, dilation=(1, 2), groups=2)
    model = nn.Sequential(layer, nn.ConvTranspose2d(6, 2, 3))
    made = scriptc.compile(model.double(), optimize=OPTIMIZE)
    assert torch.autograd.gradcheck(made, torch.randn(2, 2, 5, 6, dtype=torch.float64, requires_grad=True))


@pytest.mark.parametrize("transposed", [False, True])
def test_convolution_backward(transposed: bool) -> None:
    def of_images(grad: Tensor, x: Tensor, w: Tensor):
        return torch.ops.aten.convolution_backward(
            grad, x, w, [6], (2, 1), (1, 0), (1, 2), transposed, (0, 0), 1, (True, True, True)
        )  # fmt: skip

    def of_sounds(grad: Tensor, x: Tensor, w: Tensor):
        return torch.ops.aten.convolution_backward(grad, x, w, [6], (2,), (1,), (1,), transposed, (0,), 1, (True, True, True))

    torch.manual_seed(0)
    for backward, how, size in ((of_images, ((2, 1), (1, 0), (1, 2)), (7, 9)), (of_sounds, ((2,), (1,), (1,)), (9,))):
        x, w = whole(2, 4, *size), whole(*((4, 6) if transposed else (6, 4)), *((3, 2)[: len(size)]))
        zeros = (0,) * len(size)
        y = torch.ops.aten.convolution(x, w, None, *how, transposed, zeros, 1)
        grad = whole(*y.shape)
        made = scriptc.compile(backward, optimize=OPTIMIZE)(grad, x, w)
        assert all(map(torch.equal, made, backward(grad, x, w)))
