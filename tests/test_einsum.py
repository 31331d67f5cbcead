"""torch.einsum: products of matrices where labels are summed, in eager's strides, and its errors."""

from __future__ import annotations

import string
from collections.abc import Callable

import pytest
import torch
from three_ways import Args, assert_same, compile_at, compiled, eager, interpreted
from torch import Tensor

from scriptc.frontend import entry

SIZES = dict(zip(string.ascii_lowercase, (2, 3, 4, 5, 6, 2, 3, 4) * 4, strict=False))

EQUATIONS = [
    "ab->ba", "ab->", "ab->b", "aa->a", "aa", "ba", "aab->b", "aabb->ab", "...a->...", "a...->...a", "ab,bc->ac",
    "ab,bc->ca", "ab,bc", "ab,cb->ca", "ab,cd->a", "ab,ab->", "ab,ab->a", "ab,ab->ab", "ab,b->ab", "a,b->ba", "abc,cd->dab",
    "abc,cd->adb", "abc,cde->aebd", "gab,gbc->gca", "gab,gbc->cga", "xab,ybc->yxac", "abc,bcd->da", "aab,bc->ca",
    "...ab,...bc->...ac", "bqhd,bkhd->bhqk", "ab,bc,cd->ad", "ab,bc,cd->da", "ab,cb,cd,ab->c", "b,bn,bm->bnm",
    " a b , b c -> a c",
]  # fmt: skip


def operands(equation: str) -> list[Tensor]:
    parts = equation.replace(" ", "").split("->")[0].split(",")
    generator = torch.Generator().manual_seed(0)
    sizes = ([SIZES[label] for label in part.replace("...", "g")] for part in parts)
    return [torch.rand(size, generator=generator) for size in sizes]


def program_of(equation: str) -> Callable[..., Tensor]:
    def program(*tensors: Tensor) -> Tensor:
        return torch.einsum(equation, *tensors)

    return program


@pytest.mark.compiled_together
@pytest.mark.parametrize("equation", EQUATIONS)
def test_equations(equation: str) -> None:
    program, given = program_of(equation), Args(tuple(operands(equation)))
    expected, target = eager(program, given), compile_at(program, 0)
    assert_same(expected, compiled(target, given))
    assert_same(expected, interpreted(program, given, target))


WRONG = [("ab,bc->ad", 2), ("ab,bc->aa", 2), ("abc,bc->a", 2), ("ab->", 2), ("ab,bc,cd->ad", 2), ("ab,cb->a", 2)]


@pytest.mark.parametrize(("equation", "count"), WRONG)
def test_what_eager_refuses(equation: str, count: int) -> None:
    program, given = program_of(equation), Args(tuple(operands("ab,bc")[:count]))
    assert_same(eager(program, given), compiled(compile_at(program, 0), given))


def product(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("ab,bc->ac", a, b)


@pytest.mark.parametrize("sizes", [((3, 1), (4, 5)), ((3, 4), (1, 5)), ((0, 4), (4, 5)), ((3, 0), (0, 5))])
def test_sizes_of_one_and_none(sizes: tuple[tuple[int, int], tuple[int, int]]) -> None:
    given = Args(tuple(torch.rand(size) for size in sizes))
    assert_same(eager(product, given), compiled(compile_at(product, 0), given))


def from_a_list(xs: list[Tensor]) -> Tensor:
    return torch.einsum("ab,bc->ac", xs)


def test_operands_in_a_list() -> None:
    given = Args((operands("ab,bc"),))
    assert_same(eager(from_a_list, given), compiled(compile_at(from_a_list, 0), given))


def test_summed_labels_become_a_product_of_matrices() -> None:
    module = entry.read(product, None, dict(zip("ab", operands("ab,bc"), strict=True))).module
    assert any(op.name == "matmul" for op in module.walk())
