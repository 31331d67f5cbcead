"""torch.vmap of elementwise functions, as masks of attention are made of functions of indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from settings import OPTIMIZE
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

import scriptc
from scriptc import CompileError

INTS = torch.arange(4)
ROWS = torch.arange(12.0).reshape(4, 3)
TABLE = torch.arange(20).reshape(4, 5) % 7

vmap = torch.vmap


def outcome(f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    try:
        return f(*args)
    except Exception as e:
        return type(e), str(e).split("\n  at ")[0]


def over_indices(function):
    for dims in (None, None, None, 0), (None, None, 0, None), (None, 0, None, None), (0, None, None, None):
        function = torch.vmap(function, in_dims=dims, out_dims=0)
    return function


def mask(table, window: int):
    def causal(batch, head, q, kv):
        return kv <= q

    def near(batch, head, q, kv):
        return kv > q - window

    def real(batch, head, q, kv):
        return table[batch, kv] > 1

    def same_chunk(batch, head, q, kv):
        return (kv - table[batch, q]) // window == (q - table[batch, q]) // window

    def together(batch, head, q, kv):
        result = q.new_ones((), dtype=torch.bool)
        for function in (causal, near, real, same_chunk):
            result = result & function(batch, head, q, kv).to(result.device)
        return result

    return together


def masks(table, n: int, window: int):
    with TransformGetItemToIndex():
        return over_indices(mask(table, window))(
            torch.arange(table.shape[0]), torch.arange(1), torch.arange(n), torch.arange(n) + 1
        )


def unused_indices(x):
    return over_indices(lambda batch, head, q, kv: q >= 1)(x, x[:1], x, x)


def rows_by_tensors(x):
    with TransformGetItemToIndex():
        return vmap(lambda i: TABLE[i])(x), vmap(lambda i: TABLE[i - 4, i])(x)


FUNCTIONS = [
    (masks, (TABLE, 4, 2)), (masks, (TABLE[:2], 3, 3)), (unused_indices, (INTS,)), (rows_by_tensors, (INTS,)),
    (lambda x: vmap(lambda a: a * 1.5)(x), (INTS,)), (lambda x: vmap(lambda a: a * 1.5)(x), (INTS.half(),)),
    (lambda x: vmap(lambda a: (a > 1) + 1.5)(x), (INTS,)), (lambda x: vmap(lambda a: 3 - a)(x), (INTS,)),
    (lambda x: vmap(lambda a: torch.where(a > 1, 1.0, 0.0))(x), (INTS,)),
    (lambda x: vmap(lambda a: torch.where(a > 1, -a, 7))(x), (INTS,)),
    (lambda x: vmap(lambda a: torch.logical_and(a > 0, a.lt(3)).logical_or(~(a >= 1)))(x), (INTS,)),
    (lambda x: vmap(lambda a: torch.ones(2))(x), (INTS,)), (lambda x: vmap(lambda a: a)(x), (ROWS,)),
    (lambda x: vmap(lambda a: a + 1)(x), (INTS[:0],)), (lambda x: vmap(lambda a: a + a)(x), (INTS[:0],)),
    (lambda x, n: vmap(lambda a, b: a * b, (0, None))(x, n), (INTS, 3)),
    (lambda x, y: vmap(lambda a, b: a + b)(x, y), (ROWS, INTS.float())),
    (lambda x, y: vmap(lambda a, b: a + b)(x, y), (ROWS, INTS[:3].float())),
    (lambda x, y: torch.func.vmap(vmap(lambda a, b: a - b, (None, 0)), (0, None))(x, y), (INTS, INTS[:3])),
    (lambda x, y: vmap(vmap(lambda a, b: a * b, (0, None)))(x, y), (ROWS, INTS.float())),
    (lambda x: vmap(lambda a: a + torch.ones(5))(x), (INTS.float(),)), (lambda x: vmap(lambda a: a // 0)(x), (INTS,)),
    (lambda x: vmap(lambda a: a.float() if isinstance(a, torch.Tensor) and a is not None else a)(x), (INTS,)),
]  # fmt: skip


@pytest.mark.compiled_together
@pytest.mark.parametrize("case", range(len(FUNCTIONS)))
def test_functions(case: int) -> None:
    f, args = FUNCTIONS[case]
    expected, found = outcome(f, args), outcome(scriptc.compile(f, optimize=OPTIMIZE), args)
    if isinstance(expected, torch.Tensor):
        torch.testing.assert_close(found, expected, rtol=0, atol=0)
    else:
        assert str(found) == str(expected)


def add_in_place(a):
    t = torch.zeros(())
    t += a
    return t


def store(a):
    t = torch.zeros(3)
    t[0] = a
    return t


def keep(a):
    held = []
    held.append(a)
    return held[0]


REFUSED = [
    lambda a: a.sum(), torch.sum, lambda a: a.shape[0], lambda a: a.view(1), lambda a: a @ a, lambda a: (a, a),
    lambda a: torch.stack([a, a]), lambda a: a + torch.tensor(1), lambda a: a.item(), int, lambda a: TABLE[a],
    lambda a: a + torch.rand(()), lambda a: torch.rand(()), lambda a: a.add_(1), lambda a: torch.zeros(4).add_(a),
    lambda a: a if a > 0 else -a, lambda a: torch.softmax(a, 0), lambda a: a**2, lambda a: f"{a}", lambda a: max(a, a),
    lambda a: {a: 1}, lambda a: a in (1, 2), lambda a: len(a), lambda a: [*a],
    lambda a: a.new_ones(()).item(), add_in_place, store, keep,
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_other_functions_are_refused(case: int) -> None:
    function = REFUSED[case]
    with pytest.raises(CompileError):
        scriptc.compile(lambda x: vmap(function)(x), optimize=OPTIMIZE)(ROWS[:, 0])


@pytest.mark.parametrize("options", [{"in_dims": 1}, {"out_dims": 1}, {"randomness": "same"}, {"chunk_size": 2}])
def test_other_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(CompileError, match="inside of torch.vmap"):
        scriptc.compile(lambda x: vmap(lambda a: a + 1, **options)(x), optimize=OPTIMIZE)(ROWS)


def test_a_value_that_leaves_vmap_is_refused() -> None:
    def f(x):
        kept = {}

        def g(a):
            kept["a"] = a
            return a + 1

        return vmap(g)(x), torch.sum(kept["a"])

    with pytest.raises(CompileError):
        scriptc.compile(f, optimize=OPTIMIZE)(ROWS)


def test_an_index_without_the_batch_is_refused_in_the_mode() -> None:
    def f(x):
        with TransformGetItemToIndex():
            return vmap(lambda a: a + TABLE[0, 1])(x)

    with pytest.raises(CompileError, match="inside of torch.vmap"):
        scriptc.compile(f, optimize=OPTIMIZE)(INTS)
