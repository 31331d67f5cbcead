"""Products of small integers in 16 bits and bytes: exactly eager's results, in every form and dtype that the pass takes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

import scriptc
from scriptc.ir.integer_ranges import IntegerRange, IntegerRanges
from scriptc.ir.parser import parse_module


def bytes_of(*size: int, signed: bool = True) -> nn.Parameter:
    low, high, dtype = (-128, 128, torch.int8) if signed else (0, 256, torch.uint8)
    return nn.Parameter(torch.randint(low, high, size).to(dtype), requires_grad=False)


class Products(nn.Module):
    """Products of bytes, minus a zero point, by weights in every form that the pass takes."""

    def __init__(self) -> None:
        super().__init__()
        self.wide, self.unsigned = bytes_of(70, 37), bytes_of(37, 70, signed=False)
        self.filters, self.thin = bytes_of(19, 5, 3, 3), bytes_of(6, 1, 3, 2, signed=False)
        self.zeros = bytes_of(19, 1, 1, 1)
        self.scale = nn.Parameter(torch.rand(19, 1, 1, 1), requires_grad=False)
        self.bias = nn.Parameter(torch.randint(-9999, 9999, (37,), dtype=torch.int32), requires_grad=False)

    def forward(self, x: Tensor, image: Tensor, zero: Tensor) -> list[Tensor]:
        rows, shifted = x.to(torch.int32) - zero, image.double() - zero
        grouped = torch.cat([image, image[:, :1]], 1).double() - 3
        return [
            torch.matmul(rows, self.wide.to(torch.int32)),
            F.linear(rows, self.unsigned.to(torch.int32) - 99, self.bias),
            torch.matmul(x.to(torch.int16)[0, 0], self.wide.to(torch.int16)),
            torch.matmul(x.long() * 100, self.wide.long()),
            F.linear(x.float(), self.unsigned.float()),
            F.conv2d(shifted, self.filters.double() - self.zeros.double(), padding=1),
            F.conv2d(shifted, self.filters.double(), None, (2, 1), (0, 2), (1, 2)).to(torch.int64).to(torch.int32),
            F.conv2d(grouped, self.thin.double() - zero, groups=6, padding=(1, 0), stride=(1, 2)),
            F.conv2d(image.float(), self.filters.float() * self.scale, torch.ones(19)),
            F.conv1d(shifted[:, :, 0], self.filters[:, :, 0].double(), padding=1),
        ]


@pytest.fixture(scope="module")
def products() -> Products:
    torch.manual_seed(0)
    return Products().eval()


def inputs(rows: int, side: int, *, signed: bool, last: bool) -> tuple[Tensor, Tensor, Tensor]:
    x, image = bytes_of(2, rows, 70, signed=signed).data, bytes_of(2, 5, side, side + 2, signed=signed).data
    if last:
        image = image.to(memory_format=torch.channels_last)
    return x, image, torch.tensor(-7 if signed else 113, dtype=x.dtype)


def check(compiled: Any, net: nn.Module, args: tuple[Tensor, ...]) -> None:
    for i, (got, expected) in enumerate(zip(compiled(*args), net(*args), strict=True)):
        assert got.stride() == expected.stride(), i
        torch.testing.assert_close(got, expected, rtol=0, atol=0.1 if i == 8 else 0)  # sums of 8 are rounded


@pytest.mark.parametrize("freeze", [False, True])
def test_results_are_those_of_eager(products: Products, freeze: bool) -> None:
    compiled = scriptc.compile(products, freeze=freeze)
    for rows, side in ((1, 3), (6, 9), (13, 16)):
        for signed, last in ((True, False), (False, True), (False, False)):
            check(compiled, products, inputs(rows, side, signed=signed, last=last))
    text = compiled.ir()
    assert text.count("integers.matmul(") == 5 and text.count("integers.conv2d(") == 5


def test_misfits_raise_what_eager_raises(products: Products) -> None:
    compiled = scriptc.compile(products, freeze=True)
    x, image, zero = inputs(3, 5, signed=False, last=False)
    for args in ((x[..., :9], image, zero), (x, image[:, :4], zero), (x, image[..., :2, :2], zero)):
        with pytest.raises(RuntimeError) as expected:
            products(*args)
        with pytest.raises(RuntimeError) as raised:
            compiled(*args)
        assert str(expected.value) in str(raised.value)


@scriptc.compile
def wide(x: Tensor, w: Tensor) -> Tensor:
    return torch.matmul(x.to(torch.int32), w.to(torch.int32))


@given(st.integers(0, 9), st.integers(0, 40), st.integers(0, 70), st.integers(0, 2**32))
def test_sizes_around_pairs_and_blocks(rows: int, terms: int, columns: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randint(-128, 128, (rows, terms), generator=generator, dtype=torch.int8)
    w = torch.randint(0, 256, (terms, columns), generator=generator, dtype=torch.uint8)
    assert torch.equal(wide(x, w), wide.__wrapped__(x, w))


def test_a_kernel_of_one_column_may_have_any_dilation() -> None:
    net = nn.Conv2d(2, 2, (3, 1), dilation=(2, 1 << 60), groups=2, bias=False, dtype=torch.float64).requires_grad_(False)
    net.weight.copy_(torch.randint(-9, 9, net.weight.shape))

    def shifted(x: Tensor) -> Tensor:
        return F.conv2d(x.double(), net.weight.to(torch.int8).double(), None, (1, 2), (0, 1), (2, 1 << 60), 2)

    compiled, x = scriptc.compile(shifted), torch.randint(0, 256, (1, 2, 7, 9)).to(torch.uint8)
    assert torch.equal(compiled(x), shifted(x)) and "integers.conv2d" in compiled.ir()


RANGES = """
func @f(%x: u8[N], %y: i8[N], %z: i32[N], %f: f32[N]) -> () {
  %one = const() {value = 1} -> (i64)
  %hundred = const() {value = 100} -> (i64)
  %a = cast(%x) {dtype = "f32"} -> (f32[N])
  %b = sub(%a, %y) -> (f32[N])
  %c = mul(%b, %hundred) -> (f32[N])
  %d = mul(%c, %c) -> (f32[N])
  %e = cast(%f) {dtype = "i8"} -> (i8[N])
  %g = clamp.min(%z, %one) -> (i32[N])
  %h = clamp.max(%g, %hundred) -> (i32[N])
  %i = neg(%h) -> (i32[N])
  %j = cast(%i) {dtype = "u8"} -> (u8[N])
  %k = add(%x, %x) -> (u8[N])
  %l = cast(%x) {dtype = "i32"} -> (i32[N])
  copy_(%l, %i)
  return()
}
"""


def test_ranges_follow_from_dtypes_and_ops() -> None:
    module = parse_module(RANGES)
    ranges = IntegerRanges(module)
    values = {value.name: value for op in module.walk() for value in op.results}
    found = {name: ranges.of(value) for name, value in values.items()}
    assert found["a"] == IntegerRange(0, 255) and found["b"] == IntegerRange(-127, 383)
    assert found["c"] == IntegerRange(-12700, 38300) and found["d"] is None  # float32 rounds products from 2^24 on
    assert found["e"] == IntegerRange(-128, 127)  # NaN is some int8, too
    assert found["h"] == IntegerRange(1, 100) and found["i"] == IntegerRange(-100, -1)
    assert found["j"] == IntegerRange(0, 255) and found["k"] == IntegerRange(0, 255)  # which wrap
    assert found["l"] == IntegerRange(-100, 255)  # elements are as they were, or written
