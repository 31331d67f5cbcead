"""Sums of products over the iterations of a loop, which the runtime collects (ir/passes/batch_sums.py, sc_outer_sum.c)."""

import pytest
import torch

import scriptc
from scriptc.ir.parser import parse_module
from scriptc.ir.passes import batch_sums
from scriptc.ir.passes.manager import run_pipeline


def sums(xs, ys, zs):
    a = torch.zeros(xs.shape[2], ys.shape[2], dtype=xs.dtype)
    b = torch.zeros(xs.shape[2], zs.shape[2], dtype=xs.dtype)
    c = torch.zeros(xs.shape[2], dtype=xs.dtype)
    d = torch.ones(xs.shape[2], ys.shape[2], dtype=xs.dtype)
    for i in range(xs.shape[0]):
        a = a + xs[i].t() @ ys[i]
        b = b + xs[i].t() @ zs[i]
        c = c + xs[i].sum(0)
        d = d + xs[i].t() @ ys[i]
    return a, b, c, d


@pytest.fixture(scope="module")
def compiled():
    return scriptc.compile(sums)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("steps", "rows", "m", "n", "k"),
    [(3, 1, 6, 16, 1), (130, 1, 7, 65, 3), (300, 2, 13, 130, 33), (2, 300, 1, 1, 64), (128, 1, 12, 64, 0), (5, 0, 4, 9, 2),
     (0, 2, 4, 9, 2), (1, 1, 97, 17, 31), (4, 1, 0, 3, 2)],
)  # fmt: skip
def test_sums_are_eagers(compiled, dtype, steps, rows, m, n, k):
    torch.manual_seed(0)
    given = [torch.randn(steps, rows, size, dtype=dtype) for size in (m, n, k)]
    for have, want in zip(compiled(*given), sums(*given), strict=True):
        torch.testing.assert_close(have, want, rtol=1e-4 if dtype == torch.float32 else 1e-10, atol=1e-4)


def test_bits_do_not_depend_on_threads(compiled):
    torch.manual_seed(0)
    given = [torch.randn(200, 2, size) for size in (150, 200, 70)]
    threads, found = torch.get_num_threads(), []
    try:
        for n in (1, 2):
            torch.set_num_threads(n)
            found.append(compiled(*given))
    finally:
        torch.set_num_threads(threads)
    assert all(map(torch.equal, *found))


def named_twice(xs, ys):
    start = torch.zeros(3, 4)
    total = start
    for i in range(xs.shape[0]):
        total = total + xs[i].t() @ ys[i]
    return start, total


def test_zeros_that_have_another_name_stay_one_tensor():
    compiled = scriptc.compile(named_twice)
    for steps in (0, 2):
        start, total = compiled(torch.ones(steps, 2, 3), torch.ones(steps, 2, 4))
        assert (start is total) == (steps == 0)
        assert not start.any() and (total == 2 * steps).all()


SUM = """
module "m" entries(@f)

func @f(%n: i64, %x: f32[2, 3], %y: f32[2, 4]) -> (f32[3, 4]) {
  %zero = const() {value = 0} -> (i64)
  %one = const() {value = 1} -> (i64)
  %rows = const() {value = 3} -> (i64)
  %columns = const() {value = 4} -> (i64)
  %sizes = tuple(%rows, %columns) -> (tuple<i64, i64>)
  %start = const() {value = START} -> (f64)
  %z = full(%sizes, %start) {dtype = "f32"} -> (f32[3, 4])
  %w = loop L %i = %zero to %n step %one carry (%a: f32[3, 4] = %z) -> (f32[3, 4]) {
    %t = transpose(%x) {dim0 = 0, dim1 = 1} -> (f32[3, 2])
    %p = matmul(%t, %y) -> (f32[3, 4])
    %b = add(%a, %p) -> (f32[3, 4])
    yield(%b)
  }
  return(%w)
}
"""


@pytest.mark.parametrize(("start", "adds"), [("0.0", 0), ("1.0", 1)])
def test_zeros_are_not_added(start, adds):
    module = parse_module(SUM.replace("START", start))
    assert batch_sums.run(module, {})
    run_pipeline(module, "clean")
    ops = [op.name for op in module.funcs["f"].body.walk()]
    assert ops.count("add") == adds and ops.count("outer_sum.part") == 1
    (branch,) = (op for op in module.funcs["f"].body.ops if op.name == "if")
    in_else = [op.name for op in branch.regions[1].walk()]
    assert ("full" in in_else) == (adds == 0)
    assert ("full" in [op.name for op in module.funcs["f"].body.ops]) == (adds == 1)
