"""Kernels that take other ways for other sizes and layouts equal eager on all of them."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from settings import OPTIMIZE

import scriptc

FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
DTYPES = (*FLOATS, torch.int64, torch.int32, torch.uint8)


def agree(function, *args) -> None:
    report = scriptc.compare(scriptc.compile(function, optimize=OPTIMIZE), *args)
    report.check(expect_raise=report.raised)  # eager refuses some of the sizes and dtypes


def values(dtype: torch.dtype, *size: int) -> torch.Tensor:
    """Few different ones, so that there are ties; NaN, infinities and both zeros among the floats."""
    x = (torch.randn(size) * 4).round().abs()
    if dtype.is_floating_point:
        x = x * torch.where(torch.rand(size) < 0.5, -1.0, 1.0)
        for i, special in enumerate((float("nan"), float("inf"), -float("inf"), -0.0)):
            x.view(-1)[i * 3 :: 29] = special
    return x.to(dtype)


def sorted_ways(x):
    """Without the strides of sorted values, which are x's in eager."""
    up, down = x.sort(dim=0, stable=True), x.sort(dim=-1, descending=True, stable=True)
    return up[0].contiguous(), up[1], down[0].contiguous(), down[1], x.cummax(0), x.cummin(-1)


def unstably_sorted(x):
    """Equal elements stand in the order in which eager's way of sorting leaves them."""
    return x.argsort(0), x.argsort(-1, descending=True), x.sort(-1)[1]


@pytest.mark.compiled_together
@pytest.mark.parametrize("dtype", DTYPES)
def test_order(dtype: torch.dtype) -> None:
    for size in ((5, 4), (3, 70, 6), (2, 300), (1, 1), (2, 0)):
        x = values(dtype, *size)
        agree(sorted_ways, x)
        if torch.backends.cpu.get_cpu_capability() != "AVX512":  # which may sort by other code than std::sort
            agree(unstably_sorted, x)
        if x.numel():
            agree(sorted_ways, x.transpose(0, 1))


def firsts(x):
    """Those of several equal elements that eager names: by its heap, its selection, its sorting, and its quickselect."""
    n = x.size(-1)
    ways = [x.topk(k, largest=up, sorted=s) for k in (1, 3, n // 2, n) for up in (False, True) for s in (False, True)]
    return ways, x.topk(40, largest=False), x.t().topk(2, 0), [x.kthvalue(k) for k in (1, n // 3, n)], x.kthvalue(2, 0, True)


@pytest.mark.compiled_together
@pytest.mark.parametrize("dtype", DTYPES)
def test_firsts(dtype: torch.dtype) -> None:
    for n in (64, 500, 3000):
        agree(firsts, values(dtype, 3, n))
        agree(firsts, torch.randint(0, 4, (3, n)).to(dtype))
    rising = torch.arange(3000).to(dtype).expand(2, -1)
    agree(firsts, rising)
    agree(firsts, rising.flip(1))
    agree(firsts, torch.cat([rising[:, :100], rising[:, :200].flip(1)], 1))


def firsts_of_many(x):
    return [(x.topk(k), x.topk(k, largest=False), x.topk(k, sorted=False, largest=False)) for k in (40, 1024, 2048)]


def test_firsts_of_what_parts_badly() -> None:
    """The median of three is always next to the least here: selection and sorting take a heap in the end."""
    n = 2048
    odd = [i if i % 2 else n // 2 + i - 1 for i in range(1, n // 2 + 1)]
    agree(firsts_of_many, torch.tensor(odd + list(range(2, n + 1, 2))) // 4.0)


def scans(x):
    return x.cumsum(0), x.cumsum(-1), x.cumprod(0), x.cumprod(1)


@pytest.mark.compiled_together
@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.int64, torch.int32))
def test_scans(dtype: torch.dtype) -> None:
    for size in ((3, 4), (9, 17), (2, 5, 130), (4, 0)):
        agree(scans, (torch.randn(size) * 2).to(dtype))


def extremes(x):
    return x.amax(-1), x.amin(-1), x.amax(0), x.amin(0), x.amax(), x.max(-1), x.min(0), x.t().amin(-1)


@pytest.mark.compiled_together
@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8))
def test_extremes(dtype: torch.dtype) -> None:
    """Rows without NaN, with one in each part of a row, and with infinities of both signs."""
    for width in (1, 5, 16, 65, 300, 5000):
        x = (torch.randperm(12 * width) - 6 * width).reshape(12, width).to(dtype)
        agree(extremes, x.unique().reshape(1, -1) if dtype == torch.uint8 else x)
        if dtype.is_floating_point:
            for row, place in enumerate((0, width // 3, width // 2, width - 2, width - 1)):
                x[row, max(place, 0)] = float("nan")
            x[7, 0], x[7, -1], x[8, 0], x[9, -1] = float("inf"), -float("inf"), float("inf"), -float("inf")
            agree(lambda x: (x.amax(-1), x.amin(-1), x.amax(0), x.amin(0), x.amax(), x[7:].amin(), x[7:].amax(0)), x)


def columns(x):
    return x.sum(0), x.mean(0, keepdim=True), x.prod(0), x.amax(0), x.amin(0)


@pytest.mark.compiled_together
@pytest.mark.parametrize("dtype", (torch.float32, torch.float64))
def test_few_rows(dtype: torch.dtype) -> None:
    """Rows that are contiguous have a kernel of their own, whose results are those of other rows, bit for bit."""
    compiled = scriptc.compile(columns, optimize=OPTIMIZE)
    bits = torch.int32 if dtype == torch.float32 else torch.int64
    for rows in (1, 2, 63, 64):
        for width in (63, 64, 65, 130):
            padded = values(dtype, rows, width + 1)[:, :width]
            found, expected = compiled(padded.contiguous()), compiled(padded)
            torch.testing.assert_close(found, columns(padded), equal_nan=True)
            for a, b in zip(found, expected, strict=True):
                assert torch.equal(a.isnan(), b.isnan())
                assert torch.equal(a.nan_to_num().view(bits), b.nan_to_num().view(bits))


def sums(x):
    return x.sum(), x.sum(-1), x.sum(0), x.mean()


@pytest.mark.compiled_together
@pytest.mark.parametrize("dtype", (torch.float32, torch.float64))
def test_sums_are_accurate(dtype: torch.dtype) -> None:
    """A few units of rounding, however long: one sum after the other would be off by hundreds."""
    compiled = scriptc.compile(sums, optimize=OPTIMIZE)
    for size in ((1, 1 << 20), (1 << 19, 2), (3, 100_003), (5000, 70)):
        x = torch.rand(size, dtype=dtype)
        few = 8 * torch.finfo(dtype).eps
        total = math.fsum(x.flatten().tolist())
        every, rows, columns, mean = compiled(x)
        assert abs(every.item() - total) <= few * total
        assert abs(mean.item() * x.numel() - total) <= few * total
        for found, lines in ((rows[:9], x[:9]), (columns[:9], x.t()[:9])):
            for one, line in zip(found.tolist(), lines.tolist(), strict=True):
                exact = math.fsum(line)
                assert abs(one - exact) <= few * exact


def lengths(x):
    of = torch.linalg.vector_norm
    whole = of(x), of(x[0, 0, 0])
    return whole, of(x, dim=-1), of(x, dim=0, keepdim=True), x.norm(dim=(0, 2)), F.normalize(x, dim=1), of(x.mT, dim=1)


@pytest.mark.compiled_together
@pytest.mark.parametrize("dtype", FLOATS)
def test_lengths(dtype: torch.dtype) -> None:
    for size in ((2, 3, 4), (5, 70, 130), (1, 1, 1), (3, 2, 5000)):
        agree(lengths, torch.randn(size).to(dtype))
    for special in (float("nan"), float("inf"), 0.0):
        agree(lambda x: torch.linalg.vector_norm(x), torch.tensor([special, 0.0], dtype=dtype))
    agree(lambda x: torch.linalg.vector_norm(x), torch.zeros(0, dtype=dtype))
    agree(lambda x: torch.linalg.vector_norm(x), torch.arange(3))


def picked(x, i):
    return x.gather(0, i), x.gather(-1, i), x.index_select(0, i[0, 0]), x.index_select(-1, i[0, 0])


def placed(x, i, y):
    added = x.index_add(1, i[0, 0], y.index_select(1, i[0, 0]))
    return x.scatter_add(0, i, y), x.scatter_add(-1, i, y), x.scatter(1, i, y), added


@pytest.mark.compiled_together
@pytest.mark.parametrize("dtype", DTYPES)
def test_indices(dtype: torch.dtype) -> None:
    for size in ((4, 5, 6), (3, 3, 70)):
        x, y = (torch.randn(size) * 3).abs().round().to(dtype), torch.ones(size).to(dtype)
        i = torch.randint(3, size)
        wide = torch.randint(3, (4, 5, 3))[:, :, :1].expand(4, 5, 6)
        for index in (i, i.to(torch.int32), *([wide] if size == (4, 5, 6) else [])):
            agree(picked, x, index)
        agree(picked, x.transpose(0, 1), i[:3, :3])
        places = torch.randint(3, size)  # y is ones: it does not matter which of several comes last
        agree(placed, x, places.clamp(max=2), y)


def taken(x, i):
    """A scatter may write into what ends with it, not into what is seen elsewhere or also read."""
    ends, kept, viewed, own = x + 1, x + 2, x + 3, x + 4
    row = viewed[0]
    return ends.scatter(1, i, x), kept.scatter(1, i, x), kept, viewed.scatter_add(1, i, x), row, own.scatter_add(1, i, own)


def test_scatter_takes_over_only_what_ends() -> None:
    agree(taken, torch.randn(5, 6), torch.arange(6).flip(0).expand(5, 6))
    agree(lambda x, i: (x.scatter(1, i, x), x), torch.randn(5, 6), torch.arange(6).flip(0).expand(5, 6))


def copies(x):
    turned = x.permute(2, 0, 1)
    return (
        x.transpose(0, 1).contiguous(), turned.contiguous(), turned.flip(0), x.permute(2, 1, 0).contiguous(), x.flip(-1),
        x[:, :, ::2].contiguous(), turned[::2].contiguous(), torch.stack((x, x), -1), torch.cat((x[..., :1], x), -1),
        x.roll(2, -1), F.pixel_shuffle(x.unsqueeze(1).expand(x.size(0), 4, x.size(1), x.size(2)), 2),
    )  # fmt: skip


@pytest.mark.compiled_together
@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.float16, torch.int8, torch.bool))
def test_copies(dtype: torch.dtype) -> None:
    for size in ((3, 40, 50), (17, 9, 33), (64, 2, 64), (33, 33, 1), (1, 3, 2)):
        agree(copies, torch.randn(size).to(dtype))


@pytest.mark.compiled_together
@pytest.mark.parametrize("mode", ("reflect", "replicate", "circular"))
def test_padding(mode: str) -> None:
    """Copies with edges, also where rows are cut, or nothing of a row is copied."""

    def padded(x, a, b):
        return (
            F.pad(x[0], (a, b), mode=mode), F.pad(x, (2, 1), mode=mode), F.pad(x[None], (a, b, 1, 2), mode=mode),
            F.pad(x.transpose(0, 2), (1, 1), mode=mode),
            F.pad(x[None, None].expand(2, 2, 4, 3, 9), (1, 2, a, b, 1, 0), mode=mode),
        )  # fmt: skip

    for dtype in (torch.float32, torch.complex128, torch.bfloat16):
        x = torch.arange(4 * 3 * 9).reshape(4, 3, 9).to(dtype)
        for a, b in ((1, 2), (0, 0), (-1, 2), (2, -1)):
            agree(padded, x, a, b)
    if mode != "circular":
        agree(lambda x: (F.pad(x, (-7, 3), mode=mode), F.pad(x, (3, -7), mode=mode)), torch.randn(2, 3, 5))
    wrong = (
        ((2, 3, 4), (4, 0)), ((2, 3, 4), (5, 0)), ((2, 3, 4), (-3, -3)), ((2, 0, 4), (1, 1)), ((4,), (1, 1)),
        ((2, 3), (1, 1, 1)),
    )  # fmt: skip
    for size, amounts in wrong:
        agree(lambda x, amounts=amounts: F.pad(x, amounts, mode=mode), torch.randn(size))


def softmaxes(x):
    safe = torch._safe_softmax(x, 0), torch._safe_softmax(x, 1)
    return torch.softmax(x, 0), torch.log_softmax(x, 1), torch.softmax(x, -1), torch.log_softmax(x, -1), safe


def norms(x, w, b):
    size = (x.size(-1),)
    layers = F.layer_norm(x, size, w, b), F.layer_norm(x, x.shape[1:]), F.layer_norm(x, size, w)
    return layers, F.group_norm(x, 2), F.group_norm(x, 4)


@pytest.mark.compiled_together
@pytest.mark.parametrize("dtype", (torch.float32, torch.float64))
def test_rows_are_normalised(dtype: torch.dtype) -> None:
    torch.manual_seed(1)  # rows of three may be nearly equal, and errors in their variance large
    for size in ((2, 4, 5), (3, 4, 130, 3), (2, 4, 3000), (1, 4, 257)):
        x = torch.randn(size, dtype=dtype)
        agree(softmaxes, x)
        agree(softmaxes, x.transpose(0, 1) * 30)
        agree(norms, x + 5, torch.randn(size[-1], dtype=dtype), torch.randn(size[-1], dtype=dtype))
    nan, inf = float("nan"), float("inf")
    agree(softmaxes, torch.tensor([[nan, 1, 2], [inf, 1, 2], [-inf, -inf, -inf], [1, -inf, 3]], dtype=dtype))
    agree(softmaxes, torch.tensor([[-inf, 1.0], [-inf, nan], [-inf, -inf]], dtype=dtype))
    mask = torch.tensor([[True, False], [False, False]])
    agree(lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m), *torch.randn(3, 1, 2, 4, dtype=dtype), mask)


def integers(x):
    return x.to(torch.int32), x.to(torch.int64), x.to(torch.int16), x.to(torch.int8), torch.clamp(x, 0, 255).to(torch.uint8)


@pytest.mark.compiled_together
@pytest.mark.parametrize("dtype", (torch.float32, torch.float64))
def test_floats_become_integers(dtype: torch.dtype) -> None:
    """Also floats that do not fit, and more of them than a vector has."""
    some = [0.5, -0.5, 254.9, 256, -129, 2.0**31 - 129, 2.0**31, -(2.0**31), -(2.0**31) - 257, 2.0**62, 2.0**63, -(2.0**63)]
    agree(integers, torch.tensor([*some, 1e38, -1e38, float("inf"), -float("inf"), float("nan")] * 9, dtype=dtype))


def resized(x):
    return (
        F.interpolate(x, scale_factor=(1.7, 0.6), mode="bilinear"), F.interpolate(x, scale_factor=3),
        F.interpolate(x, size=(7, 5), mode="bilinear", align_corners=True), F.interpolate(x, size=(1, 9), mode="bicubic"),
    )  # fmt: skip


def test_resizing() -> None:
    for size in ((2, 3, 9, 11), (1, 1, 2, 2), (2, 1, 40, 33)):
        x = torch.randn(size)
        agree(resized, x)
        agree(resized, x.transpose(0, 1).double())


def norm_errors(x, w):
    return F.layer_norm(x, (5,), w)


def group_errors(x, w):
    return torch.group_norm(x, 2, w)


@pytest.mark.compiled_together
@pytest.mark.parametrize(
    ("function", "x", "w"),
    [
        (norm_errors, torch.ones(2, 4), torch.ones(5)),
        (norm_errors, torch.ones(2, 5), torch.ones(4)),
        (norm_errors, torch.ones(2, 5), torch.ones(5).double()),
        (norm_errors, torch.ones(2, 5).long(), torch.ones(5).long()),
        (group_errors, torch.ones(2, 5), torch.ones(5)),
        (group_errors, torch.ones(2, 4), torch.ones(5)),
        (lambda x, w: torch.softmax(x, 1), torch.ones(2, 4).long(), None),
        (lambda x, w: x.gather(0, w), torch.ones(2, 4), torch.tensor([[0, 1, 2, 0]])),
        (lambda x, w: x.scatter_add(0, w, x), torch.ones(2, 4), torch.tensor([[0, 1, -1, 0]])),
        (lambda x, w: F.one_hot(w, 2), torch.ones(1), torch.tensor([0, 2])),
        (lambda x, w: F.one_hot(w), torch.ones(1), torch.tensor([0, -2])),
    ],
)
def test_errors(function, x, w) -> None:
    with pytest.raises(Exception) as expected:
        function(x, w)
    with pytest.raises(expected.type) as raised:
        scriptc.compile(function, optimize=OPTIMIZE)(x, w)
    assert str(raised.value).split("\n")[0].startswith(str(expected.value).split("\n")[0][:60])


def powers(x):
    return x**3, x**0.5, x**-0.5, x**-1, x**-2, torch.pow(x, -0.5), x.pow(3)


@pytest.mark.parametrize("dtype", FLOATS)
def test_powers(dtype: torch.dtype) -> None:
    """Eager has formulas of its own for some exponents, which give other infinities, NaN and signs than pow does."""
    agree(powers, values(dtype, 7, 40))


def digammas(x):
    return torch.digamma(x), torch.digamma(x.double())


def test_digamma_beside_its_poles() -> None:
    agree(digammas, torch.tensor([-1e-45, -1e-30, -1e-9, -0.0, 0.0, 1e-45, -1.0, -2.5, -1e6 - 0.5]))


def running_sums(x):
    return x.cumsum(-1), x.cumsum(0), x.t().cumsum(-1)


@pytest.mark.parametrize("dtype", FLOATS[:2])
def test_running_sums(dtype: torch.dtype) -> None:
    """Shorter and longer than vectors, with NaN and infinities of both signs in the middle."""
    for size in ((3, 1), (9, 7), (5, 16), (11, 333)):
        agree(running_sums, values(dtype, *size))
        agree(running_sums, values(dtype, *size).nan_to_num(2.0, 3.0, -1.0))


def places_on(x):
    return x.nonzero(), torch.nonzero(x.to(torch.float32))


def test_places_that_are_on() -> None:
    for size in ((), (40,), (7, 33), (3, 4, 5), (2, 1, 3, 2), (4, 0), (300, 2)):
        for share in (0.0, 0.5, 1.0):
            agree(places_on, torch.rand(size) < share)


def uint8_of_large(x):
    return (x * 1.0).to(torch.uint8), torch.empty(5, dtype=torch.uint8).copy_(x)


def test_large_doubles_as_uint8():
    """They take the low bits of the int64, as eager's do."""
    large = torch.tensor([-(2.0**31) - 1, 2.0**31 + 1, 2.0**32 + 1, -(2.0**32) - 3, 1e15 + 7], dtype=torch.float64)
    agree(uint8_of_large, large)
