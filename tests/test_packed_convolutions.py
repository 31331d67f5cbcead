"""Convolutions of frozen weights equal eager in values, strides and errors, whatever the strides of images and weights."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import scriptc

FORMATS = (torch.contiguous_format, torch.channels_last)


def whole(*size: int) -> Tensor:
    """Small whole numbers: sums are exact in whatever order."""
    return torch.randint(-4, 5, size).to(torch.float32)


def filled(model: nn.Module) -> nn.Module:
    """Return a model in evaluation mode whose weights are small whole numbers, and its scales powers of two."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            module.weight.data = whole(*module.weight.shape)
            if module.bias is not None:
                module.bias.data = whole(*module.bias.shape)
        if isinstance(module, nn.BatchNorm2d):
            module.running_var.fill_(4.0 - module.eps)
            module.running_mean.copy_(whole(module.num_features))
    return model.eval().requires_grad_(False)


@torch.no_grad()
def agree(made, eager, x: Tensor) -> None:
    expected, result = eager(x), made(x)
    for a, b in zip(result, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6 * b.abs().max().item() if b.numel() else 0.0)
        assert a.stride() == b.stride()


class Products(nn.Module):
    """Each layer reads the image, so that the sizes of its tiles, chunks and edges are its own."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Conv2d(*sizes, **how)
            for sizes, how in [
                ((20, 40, 3), {"padding": 1}),
                ((20, 16, (1, 4)), {"stride": (2, 3), "padding": (0, 2), "bias": False}),
                ((20, 70, 1), {}),
                ((20, 5, 2), {"stride": 2, "dilation": (2, 1)}),
                ((20, 20, 3), {"padding": 1, "groups": 20}),
                ((20, 20, (5, 2)), {"stride": (2, 1), "padding": (2, 1), "dilation": (1, 2), "groups": 20}),
                ((20, 36, 1), {"stride": 2}),
                ((20, 20, 3), {"groups": 4}),
            ]
        )
        self.few = nn.Conv2d(3, 33, (3, 5), stride=2, padding=1)

    def forward(self, x: Tensor) -> list[Tensor]:
        return [layer(x) for layer in self.layers] + [self.few(x[:, 2:5])]


@pytest.mark.parametrize("images", FORMATS)
@pytest.mark.parametrize("weights", FORMATS)
def test_products(images, weights) -> None:
    model = filled(Products()).to(memory_format=weights)
    made = scriptc.compile(model, freeze=True, optimize=2)
    for size in ((1, 20, 9, 31), (2, 20, 40, 7), (3, 20, 5, 5), (1, 20, 70, 90)):
        agree(made, model, whole(*size).contiguous(memory_format=images))
    agree(made, model, whole(20, 2, 9, 8).transpose(0, 1))
    agree(made, model, whole(1, 20, 8, 20)[:, :, :, 3:])


class Pointwise(nn.Module):
    """1 x 1 convolutions of some channels of a wider image: read in place or copied, in one run of terms or in more."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Conv2d(channels, filters, 1) for channels, filters in [(16, 16), (28, 40), (27, 100), (576, 24), (590, 7)]
        )

    def forward(self, x: Tensor) -> list[Tensor]:
        return [layer(x[:, 3 : 3 + layer.in_channels]) for layer in self.layers]


@pytest.mark.parametrize("images", FORMATS)
def test_pointwise_of_a_slice(images) -> None:
    model = filled(Pointwise())
    made = scriptc.compile(model, freeze=True, optimize=2)
    for size in ((1, 600, 1, 1), (2, 600, 3, 5), (1, 600, 17, 13)):
        agree(made, model, whole(*size).contiguous(memory_format=images))
    agree(made, model, whole(1, 600, 1, 1).expand(1, 600, 4, 9))


class Block(nn.Module):
    def __init__(self, channels: int, inplace: bool) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)
        self.relu = nn.ReLU(inplace=inplace)

    def forward(self, x: Tensor) -> Tensor:
        y = self.second(self.relu(self.norm(self.first(x))))
        y += x
        return self.relu(y)


class Net(nn.Module):
    """Residual blocks, pools and joins, whose images are seen on the way."""

    def __init__(self, inplace: bool) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3, stride=2)
        self.blocks = nn.Sequential(Block(32, inplace), Block(32, inplace))
        self.side = nn.Conv2d(32, 24, 1)
        self.end = nn.Conv2d(56, 20, 1)

    def forward(self, x: Tensor) -> list[Tensor]:
        a = F.max_pool2d(F.relu6(self.stem(x)), 3, 2, 1)
        b = self.blocks(a)
        c = torch.cat((b, self.side(b) + 1.0), 1)
        d = self.end(F.avg_pool2d(c, 2, ceil_mode=True))
        flat = d.flatten(1)
        return [b.permute(1, 0, 2, 3), c * 2.0, flat, d.mean((2, 3)), self.side(a).relu_()]


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("images", FORMATS)
@pytest.mark.parametrize("weights", FORMATS)
def test_images_that_are_seen_have_the_strides_of_eager(images, weights, inplace) -> None:
    model = filled(Net(inplace)).to(memory_format=weights)
    made = scriptc.compile(model, freeze=True, optimize=2)
    for size in ((1, 3, 33, 21), (2, 3, 64, 18)):
        agree(made, model, whole(*size).contiguous(memory_format=images))
    text = made.ir()
    assert "conv2d(" not in text and text.count("low = 0.0") == 6 and text.count("high = 6.0") == 1 and "copy_(" not in text


class Mixed(nn.Module):
    """Sums of images whose strides eager decides in different ways."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 16, 1), nn.Conv2d(16, 17, 1), nn.Conv2d(3, 17, 1)

    def forward(self, x: Tensor, y: Tensor) -> list[Tensor]:
        a = F.relu(self.a(x))
        b = self.b(a)
        return [b, self.c(y) + F.relu(self.b(a)), F.relu(self.b(a)) + self.c(y), self.b(a) + self.c(x), self.b(a + y[:, :1])]


@pytest.mark.parametrize("of", ["a", "b", "c", "ab", "bc"])
def test_weights_of_one_net_have_strides_of_their_own(of: str) -> None:
    model = filled(Mixed())
    for name in of:
        getattr(model, name).to(memory_format=torch.channels_last)
    made = scriptc.compile(model, freeze=True, optimize=2)
    for first in FORMATS:
        for second in FORMATS:
            x, y = whole(2, 3, 6, 5).contiguous(memory_format=first), whole(2, 3, 6, 5).contiguous(memory_format=second)
            agree(lambda x, y=y: made(x, y), lambda x, y=y: model(x, y), x)


class Sums(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(4, 16, 3), nn.Conv2d(4, 16, 1)

    def forward(self, x: Tensor, y: Tensor, kind: int) -> Tensor:
        if kind == 0:
            return self.a(x) + y
        if kind == 1:
            return y + self.a(x)
        z = self.b(x)
        z += y
        return z.clamp(-1.0, 2.0)


class Transformed(nn.Module):
    """Convolutions whose weights are worth transforming (sc_conv_winograd.c)."""

    def __init__(self) -> None:
        super().__init__()
        self.plain, self.wide = nn.Conv2d(48, 64, 3), nn.Conv2d(64, 68, 3, padding=2, bias=False)
        self.same, self.uneven = nn.Conv2d(68, 68, 3, padding=1), nn.Conv2d(48, 83, 3, padding=(0, 1))
        self.strided, self.dilated = nn.Conv2d(48, 64, 3, stride=2), nn.Conv2d(48, 64, 3, dilation=2)

    def forward(self, x: Tensor) -> list[Tensor]:
        a = F.relu(self.wide(self.plain(x)))
        return [a, F.relu(self.same(a) + a), self.uneven(x), self.strided(x), self.dilated(x)]


@pytest.mark.parametrize("images", FORMATS)
@pytest.mark.parametrize("weights", FORMATS)
def test_transformed_weights(images, weights) -> None:
    model = filled(Transformed()).to(memory_format=weights)
    compiled = scriptc.compile(model, freeze=True)
    for size in [(1, 9, 8), (2, 5, 6), (1, 21, 40), (3, 5, 5), (0, 6, 6), (1, 7, 90)]:
        agree(compiled, model, whole(size[0], 48, *size[1:]).to(memory_format=images))


class One(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(50, 70, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.layer(x))


@torch.no_grad()
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 3e38])
def test_numbers_that_are_not_finite_stay_in_their_windows(value: float) -> None:
    torch.manual_seed(0)  # for some numbers, eager loses small terms beside 3e38 times 0
    model = filled(One())
    compiled = scriptc.compile(model, freeze=True)
    for row, column in [(0, 0), (3, 4), (8, 9)]:
        x = whole(2, 50, 9, 10)
        x[1, 7, row, column] = value
        torch.testing.assert_close(compiled(x), model(x), rtol=1e-5, atol=1e-4, equal_nan=True)
    model.layer.weight[3, 2, 1, 1] = value  # then the weight is not transformed
    torch.testing.assert_close(scriptc.compile(model, freeze=True)(x), model(x), rtol=1e-5, atol=1e-4, equal_nan=True)


class Filters(nn.Module):
    """The last block of filters has one filter, ..., or 16."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        sizes = [(n, kernel) for n in range(15, 34) for kernel in (1, 2)]
        self.layers = nn.ModuleList(nn.Conv2d(channels, n, kernel) for n, kernel in sizes)

    def forward(self, x: Tensor) -> list[Tensor]:
        return [layer(x) for layer in self.layers]


@pytest.mark.parametrize("channels", [3, 36, 1024], ids=["planes", "blocks", "4 KB apart"])
def test_any_number_of_filters(channels: int) -> None:
    model = filled(Filters(channels))
    compiled = scriptc.compile(model, freeze=True)
    for images in FORMATS:
        for size in ((2, 2), (2, 7), (5, 6)):
            agree(compiled, model, whole(1, channels, *size).to(memory_format=images))


class Joined(nn.Module):
    """Convolutions whose results `cat` joins: of growing lists, beside pools and sums, in one another, and twice."""

    def __init__(self, seen: str) -> None:
        super().__init__()
        self.seen = seen
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.growing = nn.ModuleList(nn.Conv2d(16 + 8 * i, 8, 3, padding=1) for i in range(3))
        self.narrow, self.wide, self.last = nn.Conv2d(40, 20, 1), nn.Conv2d(40, 17, 1), nn.Conv2d(77, 16, 1)

    def forward(self, x: Tensor) -> list[Tensor]:
        features = [F.relu(self.first(x))]
        for layer in self.growing:
            features.append(F.relu(layer(torch.cat(features, 1))))
        joined = torch.cat(features, 1)
        a, b = self.narrow(joined), F.relu(self.wide(joined))
        both = torch.cat([torch.cat([a, b], 1), F.max_pool2d(joined, 3, 1, 1)], 1)
        again = torch.cat([b, a, F.avg_pool2d(b, 3, 1, 1)], 1)
        y = self.last(both) + features[0]
        z = torch.tanh(again)
        found = {"features": features, "joined": [joined], "both": [both, again], "b": [b], "none": []}
        return [y, z, *found[self.seen]]


@pytest.mark.parametrize("seen", ["features", "joined", "both", "b", "none"])
def test_what_is_joined_in_place_has_the_strides_of_eager(seen: str) -> None:
    for images in FORMATS:
        for weights in FORMATS:
            model = filled(Joined(seen)).to(memory_format=weights)
            compiled = scriptc.compile(model, freeze=True)
            for size in [(1, 3, 8, 9), (2, 3, 1, 1), (1, 3, 1, 1), (1, 3, 1, 5), (3, 3, 7, 1), (0, 3, 4, 4)]:
                agree(compiled, model, whole(*size).to(memory_format=images))


class Alone(nn.Module):
    """`cat` of one image, and of the same ones twice; all results leave."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 16, 1), nn.Conv2d(3, 20, 1)

    def forward(self, x: Tensor) -> list[Tensor]:
        a, b = self.a(x), self.b(x)
        return [torch.cat([a], 1), torch.cat([a, b], 1), torch.cat([a, b], 1), a, b]


@torch.no_grad()
@pytest.mark.parametrize("images", FORMATS)
def test_results_of_cat_have_memory_of_their_own(images) -> None:
    for size in [(1, 3, 8, 9), (2, 3, 1, 1), (1, 3, 1, 1), (1, 3, 1, 5)]:
        results = scriptc.compile(filled(Alone()), freeze=True)(torch.ones(size).to(memory_format=images))
        assert len({r.untyped_storage().data_ptr() for r in results}) == len(results)


@torch.no_grad()
def test_results_that_are_joined_in_place_have_memory_of_their_own() -> None:
    for size in [(1, 3, 8, 9), (2, 3, 1, 1), (1, 3, 1, 1), (1, 3, 1, 5)]:
        results = scriptc.compile(filled(Joined("both")), freeze=True)(torch.ones(size))
        kept = [r.clone() for r in results]
        for i, result in enumerate(results):
            result.fill_(-77)
            assert all(torch.equal(r, k) for r, k in zip(results[i + 1 :], kept[i + 1 :], strict=True))


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_what_is_added_broadcasts(kind: int) -> None:
    model = filled(Sums())
    made = scriptc.compile(model, freeze=True, optimize=2)
    for size in ((2, 16, 1, 1), (16, 1, 5), (1,), (2, 16, 5, 5), (3, 1, 16, 5, 5), (2, 16, 4, 4), (2, 15, 5, 5)):
        for images in FORMATS:
            x, y = whole(2, 4, *((7, 7) if kind < 2 else (5, 5))).contiguous(memory_format=images), whole(*size)
            try:
                expected = model(x, y, kind)
            except RuntimeError as error:
                with pytest.raises(RuntimeError) as raised:
                    made(x, y, kind)
                assert str(raised.value).startswith(str(error))
            else:
                agree(lambda x, y=y: [made(x, y, kind)], lambda x, e=expected: [e], x)


class Between(nn.Module):
    """Another op writes the added tensor between the convolution and the sum."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(4, 16, 1), nn.Conv2d(4, 16, 1)

    def forward(self, x: Tensor) -> list[Tensor]:
        added = F.relu(self.b(x))
        seen = added.view(-1)
        y = self.a(x)
        seen.add_(1.0)
        y += added
        return [y]


def test_a_sum_sees_the_writes_in_front_of_it() -> None:
    model = filled(Between())
    agree(scriptc.compile(model, freeze=True, optimize=2), model, whole(2, 4, 5, 5))


class Largest(nn.Module):
    """The scale of the filters is one of two results of an op."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 16, 3)
        self.scale = nn.Parameter(whole(16, 3))

    def forward(self, x: Tensor) -> list[Tensor]:
        return [self.conv(x) * torch.topk(self.scale, 1).values.view(16, 1, 1)]


def test_scales_come_from_ops_of_several_results() -> None:
    model = filled(Largest())
    agree(scriptc.compile(model, freeze=True, optimize=2), model, whole(2, 4, 5, 5))


def test_errors_are_those_of_eager() -> None:
    model = filled(Sums())
    made = scriptc.compile(model, freeze=True, optimize=2)
    for x in (whole(2, 3, 7, 7), whole(2, 4, 2, 7), whole(1, 4, 0, 7)):
        with pytest.raises(RuntimeError) as expected:
            model(x, whole(1), 0)
        with pytest.raises(RuntimeError) as raised:
            made(x, whole(1), 0)
        assert str(raised.value).startswith(str(expected.value))


def with_norms(model: nn.Module) -> nn.Module:
    """Return a model in evaluation mode whose norms have means and variances of their own."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2.0)
    return model.eval().requires_grad_(False)


@pytest.mark.parametrize("fold", [True, False])
def test_norms_are_folded(fold: bool) -> None:
    torch.manual_seed(0)
    model = with_norms(Net(False))
    made = scriptc.compile(model, freeze=True, optimize=2, fold_norms=fold)
    x = torch.randn(2, 3, 40, 40)
    for a, b in zip(made(x), model(x), strict=True):
        torch.testing.assert_close(a, b)
    assert (" = mul(%weight" in made.ir()) == fold


def test_compare_reports_what_folding_changes() -> None:
    torch.manual_seed(0)
    model = with_norms(nn.Sequential(nn.Conv2d(16, 32, 3), nn.BatchNorm2d(32), nn.Conv2d(32, 16, 3)))
    x = torch.randn(1, 16, 20, 20) * 1e4
    for fold in (True, False):
        report = scriptc.compare(scriptc.compile(model, freeze=True, fold_norms=fold), x).check()
        assert "against float64" in str(report) and ("; with fold_norms=False " in str(report)) == fold


def test_norms_that_train_are_not_folded() -> None:
    model = filled(Net(False)).train()
    made = scriptc.compile(model, freeze=True, optimize=2)
    x = whole(2, 3, 33, 33)
    for _ in range(2):
        state = {name: value.clone() for name, value in model.state_dict().items()}
        expected = model(x)
        model.load_state_dict(state)
        for a, b in zip(made(x), expected, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-3)


def test_nan_and_infinity_stay() -> None:
    model = filled(nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 17, 1), nn.ReLU6()))
    made = scriptc.compile(model, freeze=True, optimize=2)
    x = whole(1, 16, 6, 6)
    x[0, 3, 2, 2], x[0, 5, 4, 4], x[0, 6, 0, 5] = float("nan"), float("inf"), -float("inf")
    torch.testing.assert_close(made(x), model(x), rtol=0, atol=0, equal_nan=True)


class Activated(nn.Module):
    """Functions of one element behind convolutions of each kernel, whose sums take the way of `Products`."""

    def __init__(self) -> None:
        super().__init__()
        self.wide, self.both = nn.Conv2d(20, 70, 1), nn.Conv2d(20, 70, 1)
        self.padded = nn.ModuleList(nn.Conv2d(20, 37, 3, padding=1) for _ in range(5))
        self.transformed = nn.Conv2d(48, 71, 3, padding=1)
        self.image = nn.Conv2d(20, 48, 1)
        windows = [(3, 1, 1, 1), (3, 2, 1, 1), (5, 1, 2, 1), (5, 2, 4, 1), (3, 1, 2, 2), (2, 1, 0, 1)]
        self.depthwise = nn.ModuleList(nn.Conv2d(20, 20, *window, groups=20) for window in windows)
        self.few = nn.Conv2d(3, 33, (3, 5), stride=2, padding=1)

    def forward(self, x: Tensor) -> list[Tensor]:
        wide = F.silu(self.wide(x))
        swish, one, other, mish, tanh = self.padded
        sums = F.hardswish(swish(x)), F.gelu(F.relu6(one(x)) + other(x))
        deep = [torch.where(y > 1, y, torch.sigmoid(y)) for y in (layer(x) for layer in self.depthwise)]
        both = self.both(x)
        joined = torch.cat([F.mish(mish(x)), tanh(x).tanh(), x], 1)
        transformed = F.silu(self.transformed(F.relu6(self.image(x))))
        return [wide, *sums, *deep, both, both.exp(), joined, transformed, F.elu(self.few(x[:, 2:5]))]


@pytest.mark.parametrize("images", FORMATS)
@pytest.mark.parametrize("weights", FORMATS)
def test_activations(images, weights) -> None:
    model = filled(Activated()).to(memory_format=weights)
    for weight in model.parameters():
        weight /= 16
    made = scriptc.compile(model, freeze=True, optimize=2)
    for size in ((1, 20, 9, 31), (2, 20, 11, 7), (1, 20, 5, 5), (1, 20, 4, 3), (1, 20, 70, 38)):
        agree(made, model, whole(*size).contiguous(memory_format=images))
    assert made.ir().count(" = activation()") == 13


def test_activations_do_not_depend_on_threads() -> None:
    """The last block of filters shares some with the one before, which another thread might compute."""
    model = nn.Sequential(nn.Conv2d(64, 71, 1), nn.SiLU(), nn.Conv2d(71, 87, 3, padding=1), nn.Mish())
    model.eval().requires_grad_(False)
    made = scriptc.compile(model, freeze=True)
    x = torch.randn(1, 64, 6, 6)
    with torch.no_grad():
        expected = made(x)
        before = torch.get_num_threads()
        try:
            torch.set_num_threads(4)
            for _ in range(50):
                assert torch.equal(made(x), expected)
        finally:
            torch.set_num_threads(before)
