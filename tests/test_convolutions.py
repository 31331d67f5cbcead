"""Convolutions equal eager over kernels, strides, paddings, dilations and groups; sizes choose how the work is cut."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from settings import OPTIMIZE

import scriptc

SIZES = [(7, 9, 8), (2, 40, 120), (1, 9, 9)]  # batch, height, width: many images at once, some rows of one, one panel


def whole(*size: int) -> torch.Tensor:
    """Small whole numbers: sums are exact in whatever order."""
    return torch.randint(-4, 5, size).to(torch.float32)


def agree(made, eager, *args) -> None:
    expected, result = eager(*args), made(*args)
    for a, b in zip(result, expected, strict=True) if isinstance(expected, tuple) else [(result, expected)]:
        assert torch.equal(a, b) and a.stride() == b.stride() and a.dtype == b.dtype


@pytest.mark.compiled_together
@pytest.mark.parametrize(
    ("channels", "filters", "kernel", "stride", "padding", "dilation", "groups"),
    [
        (40, 50, 3, 1, 1, 1, 1),
        (3, 7, (5, 2), (2, 3), (2, 0), 1, 1),
        (6, 4, 3, 2, 2, (2, 3), 2),
        (5, 5, (3, 5), 1, (1, 2), 1, 5),
        (33, 70, 1, 1, 0, 1, 1),
        (4, 8, 1, (3, 2), 0, 1, 4),
        (2, 3, 2, 5, 0, 1, 1),
    ],
)
def test_conv2d(channels, filters, kernel, stride, padding, dilation, groups) -> None:
    def conv(x, w, b):
        return F.conv2d(x, w, b, stride, padding, dilation, groups), F.conv2d(x, w, None, stride, padding, dilation, groups)

    made = scriptc.compile(conv, optimize=OPTIMIZE)
    sides = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    w, b = whole(filters, channels // groups, *sides), whole(filters)
    for batch, height, width in SIZES:
        x = whole(batch, channels, height, width)
        for given in (x, x.to(memory_format=torch.channels_last), x[:, :, ::2]):
            agree(made, conv, given, w, b)
        agree(made, conv, x[0], w, b)
    agree(made, conv, x.double(), w.double(), b.double())
    agree(made, conv, x[:1, :, :12, :12].long(), w.long(), b.long())


ONE_FILTER = [(1, 1, 1, 0, 1), (1, (3, 5), (2, 1), (1, 2), 1), (2, 3, (1, 2), 1, (2, 3)), (1, 3, 2, 0, 1)]


@pytest.mark.compiled_together
@pytest.mark.parametrize(("channels", "kernel", "stride", "padding", "dilation"), ONE_FILTER)
def test_one_filter_of_each_group(channels, kernel, stride, padding, dilation) -> None:
    """Rows of all widths, some of which are no vector; the last image is cut into chunks of rows."""

    def conv(x, w, b):
        return F.conv2d(x, w, b, stride, padding, dilation, 3), F.conv2d(x, w, None, stride, padding, dilation, 3)

    made = scriptc.compile(conv, optimize=OPTIMIZE)
    sides = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    w, b = whole(3, channels, *sides), whole(3)
    for width in (*range(9, 76), 139):
        agree(made, conv, whole(1 + width % 3, 3 * channels, 9, width), w, b)
    agree(made, conv, x := whole(2, 3 * channels, 900, 260), w, b)
    agree(made, conv, x[:, :, :20].double(), w.double(), b.double())


@pytest.mark.compiled_together
@pytest.mark.parametrize("stride", [1, (2, 1), (1, 2)])
def test_one_transposed_filter_of_each_group(stride) -> None:
    def conv(x, w, b):
        return F.conv_transpose2d(x, w, b, stride, (2, 1), groups=4, dilation=(1, 2))

    made = scriptc.compile(conv, optimize=OPTIMIZE)
    w, b = whole(8, 1, 4, 3), whole(4)
    for width in (1, 3, 6, 7, 13, 30, 64, 77):
        agree(made, conv, whole(2, 8, 5, width), w, b)


@pytest.mark.compiled_together
@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "output_padding", "groups", "dilation"),
    [(4, 2, 1, 0, 1, 1), (3, (1, 3), (0, 2), (0, 1), 2, 1), ((2, 5), (3, 1), 1, (2, 0), 1, (1, 2)), (1, 2, 0, 1, 1, 1)],
)
def test_conv_transpose2d(kernel, stride, padding, output_padding, groups, dilation) -> None:
    def conv(x, w, b):
        return F.conv_transpose2d(x, w, b, stride, padding, output_padding, groups, dilation)

    made = scriptc.compile(conv, optimize=OPTIMIZE)
    sides = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    w, b = whole(20, 9, *sides), whole(9 * groups)
    for batch, height, width in SIZES:
        agree(made, conv, whole(batch, 20, height, width), w, b)
    agree(made, conv, whole(20, 4, 3), w, b)
    x = torch.randint(-9, 9, (2, 20, 4, 3))
    agree(made, conv, x, w.long(), b.long())


def test_errors_of_transposed_convolutions() -> None:
    def conv(x, w, b, more: int):
        return F.conv_transpose2d(x, w, b, 2, 0, (more, 0))

    made = scriptc.compile(conv, optimize=OPTIMIZE)
    x, w, b = whole(1, 4, 3, 3), whole(4, 5, 2, 2), whole(5)
    for args in ((x[:, :3], w, b, 0), (x, w, b[:4], 0), (x, w, b, 2)):
        with pytest.raises(RuntimeError):
            conv(*args)
        with pytest.raises(RuntimeError):
            made(*args)


class Spreading(torch.nn.Module):
    """Transposed convolutions by weights that have one place per call, are changed within the loop, or not at all."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = torch.nn.ConvTranspose2d(4, 4, 4, 2, 1)
        self.grouped = torch.nn.ConvTranspose2d(4, 4, 3, (1, 2), groups=2, dilation=(2, 1))
        self.register_buffer("changing", whole(4, 4, 3, 3))

    def forward(self, x: torch.Tensor, steps: int) -> torch.Tensor:
        weight = self.changing.clone()
        for t in range(steps):
            if t % 2 == 1:
                x = F.conv_transpose2d(x, weight, padding=2)[:, :, :5, :5]
            x = self.wide(x)[:, :, 1:6, 1:6] + self.grouped(x)[:, :, :5, :5]
            weight = weight * 0.5
        return x


@pytest.mark.parametrize("freeze", [pytest.param(False, marks=pytest.mark.slow), True])
def test_transposed_weights_are_arranged_ahead(freeze: bool) -> None:
    model = Spreading().eval()
    made = scriptc.compile(model, freeze=freeze, optimize=3)
    with torch.no_grad():
        for steps, batch in ((0, 1), (1, 2), (4, 1), (4, 3), (2, 0)):
            x = torch.randn(batch, 4, 6, 6)
            torch.testing.assert_close(made(x, steps), model(x, steps))
        if not freeze:
            model.wide.weight.data.mul_(-2)
            torch.testing.assert_close(made(x, 4), model(x, 4))
        with pytest.raises(RuntimeError, match="to have 4 channels, but got 3"):
            made(torch.randn(2, 3, 6, 6), 2)
    in_loop = made.ir().split("loop ")[1]
    assert made.ir().count("arrange_transposed.kept(") == (2 if freeze else 0)
    assert in_loop.count("arrange_transposed(") == 0 and made.ir().count("arrange_transposed(") == (0 if freeze else 2)


@pytest.mark.parametrize("size", [(2, 6, 4), (1, 6, 4), (2, 6, 1), (2, 1, 4), (6, 4)])
def test_conv1d_of_permuted_input(size) -> None:
    def conv(x, w, v):
        return F.conv1d(x, w), F.conv1d(x, w, padding=1), F.conv_transpose1d(x, v), F.conv1d(x.relu(), w)

    channels = size[-1]
    agree(
        scriptc.compile(conv, optimize=0), conv, whole(*size).transpose(-1, -2), whole(3, channels, 1), whole(channels, 3, 2)
    )


def test_groups_are_known_at_run_time() -> None:
    """One filter for all channels, however many the input has, as blurs and resampling use it."""

    def filtered(x, kernel, more: int):
        groups = x.size(1)
        each = kernel.expand(groups, 1, 3, 3)
        signal = F.conv1d(x.select(2, 0), each.select(2, 0), stride=2, groups=groups + more)
        wide = F.conv_transpose1d(x.select(2, 1), each.select(2, 1), stride=2, groups=groups + more)
        large = F.conv_transpose2d(x, each, whole_bias, (2, 3), 1, (1, 2), groups=groups + more, dilation=(2, 1))
        return F.conv2d(x, each, padding=1, groups=groups + more), signal, wide, large

    whole_bias = whole(1).expand(6)
    made = scriptc.compile(filtered, optimize=OPTIMIZE)
    x, kernel = whole(2, 6, 8, 9), whole(1, 1, 3, 3)
    agree(made, filtered, x, kernel, 0)
    whole_bias = whole(1).expand(3)
    agree(made, filtered, x[:, ::2], kernel, 0)
    for more in (-3, -4):
        with pytest.raises(RuntimeError) as expected:
            filtered(x[:, ::2], kernel, more)
        with pytest.raises(RuntimeError) as raised:
            made(x[:, ::2], kernel, more)
        assert str(raised.value).startswith(str(expected.value))
