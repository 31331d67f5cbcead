"""Products of tensors of -1, 0 and 1 in bits: exactly eager's results, for sizes around words, blocks and tiles."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

import scriptc
from scriptc.ir.op_references import reference
from scriptc.ir.parser import parse_module
from scriptc.ir.value_sets import ValueSets


def binary(x: Tensor) -> Tensor:
    return torch.where(x > 0, 1.0, -1.0)


class BinarySign(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return binary(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= 1)


class Products(nn.Module):
    """Products of one input by weights in every form that the pass takes."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Parameter(torch.randn(37, 131))
        self.holes = nn.Parameter(torch.randn(37, 131) * (torch.rand(37, 131) > 0.2))
        self.filters = nn.Parameter(torch.randn(19, 70, 3, 3))
        self.thin = nn.Parameter(torch.randn(9, 70, 1, 2) * (torch.rand(9, 70, 1, 2) > 0.1))

    def forward(self, x: Tensor, image: Tensor) -> list[Tensor]:
        bits, signs = BinarySign.apply(image), image.sign()
        return [
            F.linear(torch.sign(x), BinarySign.apply(self.wide)),
            F.linear(binary(x), self.wide.clamp(-1, 1).sign()),
            F.linear(binary(x), self.holes.sign()),
            x.sign() @ self.holes.sign().t(),
            x[0, 0].sign() @ ((self.wide > 0).float() * 2 - 1).t(),
            F.conv2d(bits, binary(self.filters), padding=1),
            F.conv2d(bits, binary(self.filters), stride=(2, 1)),
            F.conv2d(signs, binary(self.filters), padding=(2, 1), stride=(2, 1), dilation=(1, 2)),
            F.conv2d(signs, self.thin.sign(), padding=(0, 1)),
            F.conv1d(signs[:, :, 0], binary(self.filters[:, :, 0]), padding=1),
        ]


@pytest.fixture(scope="module")
def products() -> Products:
    torch.manual_seed(0)
    return Products().eval()


def inputs(rows: int, side: int, *, zeros: bool) -> tuple[Tensor, Tensor]:
    x, image = torch.randn(2, rows, 131), torch.randn(2, 70, side, side + 2)
    if zeros:
        x[0, 0, :7] = 0
        x[1, 0, 3] = float("nan")
        image[1, 3, 2, 2] = -0.0
    return x, image


@pytest.mark.parametrize("freeze", [False, True])
def test_products_equal_eager(products: Products, freeze: bool) -> None:
    compiled = scriptc.compile(products, freeze=freeze)
    with torch.no_grad():
        for rows, side, zeros in ((1, 3, False), (9, 5, True), (17, 9, False)):
            x, image = inputs(rows, side, zeros=zeros)
            last = image.contiguous(memory_format=torch.channels_last)
            for given_image in (image, last):
                got, expected = compiled(x, given_image), products(x, given_image)
                for a, b in zip(got, expected, strict=True):
                    assert torch.equal(a, b) and a.stride() == b.stride()
        assert compiled.ir().count("signs.linear(") == 5 and compiled.ir().count("signs.conv2d(") == 5
        for wrong in (inputs(1, 3, zeros=False)[1][:, :69], torch.randn(2, 70, 1, 1)):
            with pytest.raises(RuntimeError, match="channels, but got 69|Kernel size"):
                products(x, wrong)
            with pytest.raises(RuntimeError, match="channels, but got 69|Kernel size"):
                compiled(x, wrong)


@given(st.integers(1, 70), st.integers(0, 20), st.integers(1, 9), st.booleans(), st.booleans())
def test_references_stand_for_their_elements(terms: int, rows: int, filters: int, x_zeros: bool, w_zeros: bool) -> None:
    x, w = (torch.randint(-1, 2, size).float() for size in ((rows, terms), (filters, terms)))
    x, w = x if x_zeros else binary(x), w if w_zeros else binary(w)
    rows_of_x, filters_of_w = reference("signs.rows")(x, how=0, bound=0.0), reference("signs.filters")(w)
    assert torch.equal(reference("signs.linear")(rows_of_x, filters_of_w, weight=(filters, terms)), F.linear(x, w))


def signs_by_half(x: Tensor) -> Tensor:
    return torch.where(x > 0.5, 1.0, torch.where(x < 0.5, -1.0, 0.0))


SOURCES: dict[int, list[Callable[[Tensor], Tensor]]] = {  # by the `how` of signs.rows
    0: [torch.sign, signs_by_half],
    1: [lambda x: torch.where(x < 0, -1.0, 1.0)],
    2: [lambda x: 1 - 2 * (x <= 0.5).float()],
    3: [lambda x: torch.where(x >= 0, 1.0, -1.0)],
    4: [binary, lambda x: (x > 0).float() * 2 - 1],
}


class Sources(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Parameter(torch.randn(3, 80))
        self.filters = nn.Parameter(torch.randn(3, 80, 3, 3))

    def forward(self, x: Tensor, image: Tensor) -> list[Tensor]:
        ways = [way for some in SOURCES.values() for way in some]
        filters = self.filters.sign()
        return [
            *[F.linear(way(x), self.wide.sign()) for way in ways],
            *[F.conv2d(way(image), filters, padding=1) for way in ways],
            F.conv2d(torch.sign(image), filters[:, :, 1:2, 1:2]),
            F.conv2d(binary(image) * 3, filters[:, :, 1:2, 1:2]),
        ]


def test_signs_are_packed_from_what_they_compare() -> None:
    torch.manual_seed(0)
    sources = Sources().eval()
    compiled = scriptc.compile(sources)
    image = torch.randn(2, 160, 3, 4)
    image[:, ::5] = torch.tensor([0.0, -0.0, 0.5, float("nan"), float("inf"), -0.5]).repeat(2).view(3, 4)
    x = image[:, :80, 1, 2]
    last = image.contiguous(memory_format=torch.channels_last)
    with torch.no_grad():
        for images in (image, last):
            for part in (images[:, :80], images[:, ::2], images[:, :80, :1, :1], images[:, 1::2, :1, :1], images[:1, :80]):
                for a, b in zip(compiled(x, part), sources(x, part), strict=True):
                    assert torch.equal(a, b) and a.stride() == b.stride()
    ir = compiled.ir()
    for how in SOURCES:
        assert f"signs.rows(%x) {{how = {how}, " in ir and f"signs.image(%image) {{weight = [3, 80, 3, 3], how = {how}, " in ir


def test_a_written_source_is_no_source() -> None:
    def written(x: Tensor, w: Tensor) -> Tensor:
        y = x * 2
        signs = torch.where(y >= 0, 1.0, -1.0)
        y.neg_()
        return F.linear(signs, w.sign()) + y.sum()

    x, w = torch.randn(5, 80), torch.randn(3, 80)
    compiled = scriptc.compile(written)
    torch.testing.assert_close(compiled(x, w), written(x, w))


VALUES = '''module "m" entries()
func @f(%x: f32[N], %c: bool[N], %n: i64) -> () {
  %zero = const() {value = 0} -> (i64)
  %one = const() {value = 1} -> (i64)
  %half = const() {value = 0.5} -> (f64)
  %big = const() {value = inf} -> (f64)
  %sign = sign(%x) -> (f32[N])
  %shifted = add(%sign, %half) -> (f32[N])
  %binary = sign(%shifted) -> (f32[N])
  %cast = cast(%c) {dtype = "f32"} -> (f32[N])
  %many = mul(%sign, %x) -> (f32[N])
  %nan = mul(%sign, %big) -> (f32[N])
  %relu = relu(%sign) -> (f32[N])
  %negative = neg(%cast) -> (f32[N])
  %unknown = add(%sign, %n) -> (f32[N])
  %written = sign(%x) -> (f32[N])
  copy_(%written, %x)
  return()
}
'''


def test_value_sets() -> None:
    module = parse_module(VALUES)
    sets = ValueSets(module)
    found = {op.results[0].name: sets.of(op.results[0]) for op in module.walk() if op.results}
    expected = {
        "sign": {-1, 0, 1}, "shifted": {-0.5, 0.5, 1.5}, "binary": {-1, 1}, "cast": {0, 1}, "many": None, "nan": None,
        "relu": {0, 1}, "negative": {-1, 0}, "unknown": None, "written": None,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected


def test_training_is_unchanged() -> None:
    torch.manual_seed(0)
    x, w = torch.randn(5, 70), nn.Parameter(torch.randn(6, 70))

    def loss(x: Tensor, w: Tensor) -> Tensor:
        return F.linear(BinarySign.apply(x), BinarySign.apply(w)).square().mean()

    loss(x, w).backward()
    assert w.grad is not None
    expected, w.grad = w.grad, None
    compiled = scriptc.compile(loss, dynamic=False)
    compiled(x, w).backward()
    torch.testing.assert_close(w.grad, expected)
    assert "signs.linear(" in compiled.ir()


class Layer(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return F.linear(BinarySign.apply(x), BinarySign.apply(self.weight), self.bias)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.filters = nn.Parameter(torch.randn(64, 64, 3, 3))
        self.norm = nn.BatchNorm2d(64)
        self.last = Layer(64 * 16, 300)

    def forward(self, x: Tensor) -> Tensor:
        levels = torch.arange(64).view(64, 1, 1) / 64
        image = self.norm(F.conv2d(torch.where(x > levels, 1.0, -1.0), BinarySign.apply(self.filters), padding=1))
        return self.last(image.flatten(1))


def test_weights_of_a_package_are_bits(tmp_path: Path) -> None:
    net = Net().eval()
    scriptc.build(net, torch.randn(2, 64, 4, 4), out=tmp_path / "net")
    weights = (tmp_path / "net" / "net.safetensors").read_bytes()
    header = json.loads(weights[8 : 8 + int.from_bytes(weights[:8], "little")])
    stored = {name for name in header if name != "__metadata__"}
    norm = {f"norm.{name}" for name in ("weight", "bias", "running_mean", "running_var")}
    assert stored == {"filters.signs", "last.weight.signs", "last.bias"} | norm
    floats = sum(p.numel() for p in net.parameters()) * 4
    assert len(weights) * 25 < floats
    assert header["filters.signs"]["shape"] == [1, 8, 9, 1, 8]


def test_a_check_in_a_loop_precedes_the_product() -> None:
    """Nothing about the product changes in the loop, and it must not run ahead of the check of its sizes."""
    net = nn.Linear(64, 8, bias=False)

    def repeated(x: Tensor, n: int) -> Tensor:
        y = torch.zeros(3, 8)
        for _ in range(n):
            y = y + F.linear(torch.sign(x), binary(net.weight))
        return y

    compiled = scriptc.compile(repeated)
    with torch.no_grad():
        assert torch.equal(compiled(torch.ones(3, 1), 0), torch.zeros(3, 8))
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            compiled(torch.ones(3, 1), 2)
    body = compiled.ir().partition("loop")[2]
    assert body.index("check(") < body.index("signs.linear(")
