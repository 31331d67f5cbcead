"""Gradients of tensors that nested containers among the arguments hold, against eager's."""

from __future__ import annotations

import contextlib
import copy
import gc
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
import torch
from settings import OPTIMIZE
from test_gradient_escapes import Pair, assert_alike, tensors
from torch import Tensor

import scriptc
from scriptc.runtime import bridge

ListOfPairs = list[tuple[Tensor, Tensor]]
Lists = list[list[Tensor]]


def row() -> Tensor:
    return torch.randn(3, dtype=torch.float64, requires_grad=True)


def pairs(n: int) -> ListOfPairs:
    return [(row(), row()) for _ in range(n)]


def lists(n: int) -> Lists:
    return [[row() for _ in range(i % 3 + 1)] for i in range(n)]


# ---- programs, each with what makes its argument of a size ----


def both_of_a_pair(x: Tensor, held: ListOfPairs):
    for h, c in held:
        x = torch.tanh(x * h + c)
    return x


def parts_of_a_pair(x: Tensor, held: ListOfPairs):
    for h, c in held:
        x = x * h[0] + c[1:].sum() * h[1]
    return x


def new_pairs(x: Tensor, held: ListOfPairs):
    new = []
    for h, c in held:
        c = torch.sigmoid(x) * c + h
        x = torch.tanh(c) * x
        new.append((x, c))
    return x, new


def some_of_the_pairs(x: Tensor, held: ListOfPairs):
    for i in range(len(held) // 2):
        x = x * held[2 * i][0]
    return x


def a_pair_that_is_returned(x: Tensor, held: ListOfPairs):
    return x * 2, held, [c * x for _, c in held]


def the_rows_of_lists(x: Tensor, held: Lists):
    for rows in held:
        for r in rows:
            x = torch.sin(x * r)
    return x


def lists_that_are_read_as_a_whole(x: Tensor, held: Lists):
    for rows in held:
        x = x * torch.stack(rows).prod(0) + torch.cat(rows)[:3] * rows[0]
    return x


def lists_that_extend_another(x: Tensor, held: Lists):
    rows = [x * 3]
    for more in held:
        rows.extend(more)
    return torch.stack(rows).prod(0)


def slices_that_change(x: Tensor, held: Lists):
    for rows in held:
        own = rows[:]
        own.append(x)
        x = x + own[0] * torch.stack(own).prod(0)
    return x


def lists_that_shrink(x: Tensor, held: Lists):
    while len(held) > 1:
        x = x * held.pop()[0] + held[0][-1]
    return x


def an_index_that_may_not_exist(x: Tensor, held: Lists):
    try:
        return x * held[2][0]
    except IndexError:
        return x + 1


def lists_of_pairs_in_lists(x: Tensor, held: list[list[tuple[Tensor, list[Tensor]]]]):
    for group in held:
        for h, rows in group:
            for r in rows:
                x = x * r + h
    return x


def values_that_may_be_none(x: Tensor, held: list[Tensor | None]):
    for h in held:
        if h is not None:
            x = x * h
    return x


def a_deque(x: Tensor, held):
    for h in held:
        x = x * h
    return x * x.sum()


def a_deque_that_changes(x: Tensor, held):
    first = held.popleft()
    held.append(x)
    return x * first + held[0] * held[-1]


def objects_in_a_list(x: Tensor, held):
    for pair in held:
        x = x * pair.first + pair.second
    return x


def a_dict_with_keys_of_run_time(x: Tensor, held: dict[int, Tensor]):
    for key in held:
        x = x * held[key] + key
    return x


PROGRAMS: list[tuple[Callable[..., Any], Callable[[int], Any]]] = [
    (both_of_a_pair, pairs),
    (parts_of_a_pair, pairs),
    (new_pairs, pairs),
    (some_of_the_pairs, pairs),
    (a_pair_that_is_returned, pairs),
    (the_rows_of_lists, lists),
    (lists_that_are_read_as_a_whole, lists),
    (lists_that_extend_another, lists),
    (slices_that_change, lists),
    (lists_that_shrink, lists),
    (an_index_that_may_not_exist, lists),
    (lists_of_pairs_in_lists, lambda n: [[(row(), rows)] for rows in lists(n)]),
    (values_that_may_be_none, lambda n: [row() if i % 2 else None for i in range(n)]),
    (a_deque, lambda n: deque(row() for _ in range(n))),
    (a_deque_that_changes, lambda n: deque(row() for _ in range(2))),
    (objects_in_a_list, lambda n: [Pair(row(), row()) for _ in range(n)]),
    (a_dict_with_keys_of_run_time, lambda n: {7 * i: row() for i in range(n)}),
]


def called(call: Callable[..., Any], make: Callable[[int], Any], n: int, *, leaf: bool = True) -> tuple[Any, ...]:
    """Return the tensors of a result, and the gradients of its arguments. leaf: the first one requires grad, too."""
    torch.manual_seed(n)
    x, held = row().requires_grad_(leaf), make(n)
    inputs = [t for t in tensors([x, held]) if t.requires_grad]
    found = tensors(call(x, held))
    torch.manual_seed(0)
    outputs = [(t, torch.randn_like(t)) for t in found if t.requires_grad]
    if not outputs:
        return found, []
    values, cotangents = zip(*outputs, strict=True)
    return found, torch.autograd.grad(values, inputs, cotangents, allow_unused=True)


@pytest.mark.compiled_together
@pytest.mark.parametrize(("function", "make"), PROGRAMS, ids=lambda f: f.__name__.strip("<>"))
def test_tensors_in_arguments(function: Callable[..., Any], make: Callable[[int], Any]) -> None:
    """The gradient of a tensor that the call does not read is None, as in eager."""
    compiled = scriptc.compile(function, optimize=OPTIMIZE)
    for n in (0, 1, 2, 5):
        for leaf in (True, False):
            want, have = (called(f, make, n, leaf=leaf) for f in (function, compiled))
            assert_alike(want[0], have[0])
            assert [g is None for g in have[1]] == [g is None for g in want[1]]
            torch.testing.assert_close(*([g for g in found[1] if g is not None] for found in (have, want)))


def rows_by_number(x: Tensor, numbers: list[int]) -> Tensor:
    y = x[0]
    for i in range(len(numbers)):
        y = torch.sin(y * x[numbers[i]])
    return y


def scaled(x: Tensor, numbers: list[float]) -> Tensor:
    y = x[0]
    for number in numbers:
        y = y * number + x[1]
    return y


def chosen(x: Tensor, numbers: list[bool]) -> Tensor:
    y = x[0]
    for i in range(len(numbers)):
        y = torch.tanh(y * x[1]) if numbers[i] else y + x[2]
    return y


def taken(x: Tensor, numbers: list[int]) -> Tensor:
    y = x[0]
    while numbers:
        y = torch.sin(y) * x[numbers.pop()]
    return y


@pytest.mark.parametrize("function", [rows_by_number, scaled, chosen, taken], ids=lambda f: f.__name__)
def test_lists_of_numbers_that_change_before_backward(function: Callable[..., Tensor]) -> None:
    """Backward reads the numbers that forward read."""
    compiled = scriptc.compile(function, optimize=OPTIMIZE)
    number: Any = {scaled: float, chosen: bool}.get(function, int)
    x = torch.rand(3, 3, dtype=torch.float64, requires_grad=True)
    for given in ([1, 2, 0], [2], [0] * 20):
        found = []
        for call in (function, compiled):
            numbers = [number(i) for i in given]
            y = call(x, numbers).sum()
            numbers[:] = [number(1)] * 30
            found.append(torch.autograd.grad(y, x))
        torch.testing.assert_close(*found)


def by_words(x: Tensor, words: list[str]) -> Tensor:
    for word in words:
        x = torch.sin(x * len(word)) if word != "long" else x * x
    return x


def by_rows_of_numbers(x: Tensor, rows: list[list[int]]) -> Tensor:
    for numbers in rows:
        for number in numbers:
            x = torch.sin(x * number)
    return x


@pytest.mark.parametrize(
    ("function", "given"),
    [(by_words, ["a", "long", "abc"]), (by_rows_of_numbers, [[1, 2], [3]]), (by_rows_of_numbers, deque([[1, 2], [3]]))],
)
def test_containers_that_change_before_backward(function: Callable[..., Tensor], given: Any) -> None:
    x, found = row(), []
    for call in (function, scriptc.compile(function, optimize=OPTIMIZE)):
        held = copy.deepcopy(given)
        y = call(x, held).sum()
        for item in held:
            if isinstance(item, list):
                item[:] = [7] * 5
        held[0] = held[-1]
        held.append(held[0])
        found.append(torch.autograd.grad(y, x))
    torch.testing.assert_close(*found)


def by_words_or_none(x: Tensor, words: list[str | None]) -> Tensor:
    for i in range(len(words)):
        word = words[i]
        if word is not None:
            x = torch.sin(x * len(word))
    return x


def by_words_that_fit(x: Tensor, words: list[str | None]) -> Tensor:
    last = None
    for word in words:
        if last is not None:
            x = torch.sin(x * len(last))
        try:
            if word is None:
                raise ValueError
            last = word + "!"
        except ValueError:
            x = torch.cos(x)
            continue
        x = x * len(last)
    return x


@pytest.mark.parametrize("function", [by_words_or_none, by_words_that_fit])
@pytest.mark.parametrize("words", [["a", None, "abc"], [None, "ab"], [None], []], ids=str)
def test_strings_that_some_paths_leave_undefined(function: Callable[..., Tensor], words: list[str | None]) -> None:
    x = row()
    wanted = torch.autograd.grad(function(x, words).sum(), x)
    found = torch.autograd.grad(scriptc.compile(function, optimize=OPTIMIZE)(x, words).sum(), x)
    torch.testing.assert_close(found, wanted)


def sets_an_item(xs: list[Tensor]) -> None:
    xs[0] = xs[1] * 2


def appends_items(xs: list[Tensor]) -> None:
    for i in range(3):
        xs.append(torch.sin(xs[i] * xs[-1]))


def appends_to_a_queue(xs: deque[Tensor]) -> None:
    xs.append(xs.popleft() * 2)


@pytest.mark.parametrize("function", [sets_an_item, appends_items, appends_to_a_queue], ids=lambda f: f.__name__)
def test_what_a_list_gets_from_its_own_items_requires_grad(function: Callable[..., Any]) -> None:
    found = []
    for call in (function, scriptc.compile(function, optimize=OPTIMIZE)):
        torch.manual_seed(0)
        given = [row(), row()]
        xs = deque(given) if function is appends_to_a_queue else list(given)
        call(xs)
        loss = sum(x.square().sum() for x in xs) + sum(x.sum() for x in given)
        found.append((list(xs), torch.autograd.grad(loss, given)))
    torch.testing.assert_close(*found)


def appends_to_both(a: list[Tensor], b: list[Tensor]) -> Tensor:
    b.append(b[0] * 2)
    return torch.sin(a[-1])


def appends_beside_rows(xs: list[Tensor], rows: Lists) -> Tensor:
    xs.append(xs[0] * 2)
    return torch.sin(rows[0][-1])


@pytest.mark.parametrize("function", [appends_to_both, appends_beside_rows], ids=lambda f: f.__name__)
def test_one_list_of_tensors_in_two_arguments_that_changes_is_refused(function: Callable[..., Any]) -> None:
    compiled = scriptc.compile(function, optimize=OPTIMIZE)
    for twice in (False, True, False):
        xs = [row()]
        given = (xs, xs if twice else [row()]) if function is appends_to_both else (xs, [xs if twice else [row()]])
        result = compiled(*given)
        assert len(xs) == (1 if function is appends_to_both and not twice else 2) and result.requires_grad
        with pytest.raises(NotImplementedError, match="is in, another argument") if twice else contextlib.nullcontext():
            result.sum().backward()


def test_deques_of_numbers_beside_one_that_changes() -> None:
    def turns(x: Tensor, held: deque[Tensor], steps: deque[int], n: int) -> Tensor:
        for step in steps:
            held.append(held.popleft() * x)
            if n > step:
                x = torch.sin(x) * held[-1]
        return x

    x, found = row(), []
    for call in (turns, scriptc.compile(turns, optimize=OPTIMIZE)):
        held, steps = deque([torch.ones(3, dtype=torch.float64), x * 2]), deque([0, 1, 3])
        y = call(x, held, steps, 2).sum()
        steps.append(0)
        steps.popleft()
        found.append(torch.autograd.grad(y, x))
    torch.testing.assert_close(*found)


def test_a_tensor_that_is_held_twice_accumulates() -> None:
    compiled = scriptc.compile(both_of_a_pair, optimize=OPTIMIZE)
    found = []
    for call in (both_of_a_pair, compiled):
        torch.manual_seed(0)
        x, h = row(), row()
        for _ in range(2):
            call(x, [(h, h), (h, x)]).sum().backward()
        found.append([x.grad, h.grad])
    torch.testing.assert_close(*found)


def test_gradients_share_no_memory() -> None:
    def add(x: Tensor, held: ListOfPairs) -> Tensor:
        return x + held[0][0] + held[0][1]

    x, (pair,) = row(), pairs(1)
    scriptc.compile(add, optimize=OPTIMIZE)(x, [pair]).sum().backward()
    assert x.grad is not None and pair[0].grad is not None and pair[1].grad is not None
    x.grad.zero_()
    pair[0].grad.zero_()
    assert pair[1].grad.tolist() == [1, 1, 1]


def adds_to_a_list(x: Tensor, held: Lists):
    for rows in held:
        rows.append(x)
        x = x * rows[0] * rows[-1]
    return x


def carries_pairs(x: Tensor, held: ListOfPairs):
    for _ in range(3):
        held = [(h * x, c) for h, c in held]
    return held[0][0]


def sets_by_another_name(x: Tensor, held: Lists):
    held[0][0] = held[1][0] * x
    return held[0][0] * 2


@pytest.mark.parametrize(
    ("function", "make"), [(adds_to_a_list, lists), (carries_pairs, pairs), (sets_by_another_name, lists)]
)
def test_containers_that_may_hold_computed_tensors_are_refused(function: Callable[..., Any], make: Any) -> None:
    found = scriptc.compile(function, optimize=OPTIMIZE)(row(), make(2))
    with pytest.raises(NotImplementedError, match="a tensor from a container that may hold computed tensors, too"):
        found.sum().backward()


def test_calls_that_raise_leak_nothing() -> None:
    def item(x: Tensor, held: Lists, i: int) -> Tensor:
        return x * held[i][i] * torch.stack(held[0]).sum(0)

    compiled = scriptc.compile(item, optimize=OPTIMIZE)

    def calls(count: int) -> int:
        for _ in range(count):
            held = lists(3)
            compiled(row(), held, 1).sum().backward()
            with pytest.raises(IndexError):
                compiled(row(), held, 7)
        gc.collect()
        return len([o for o in gc.get_objects() if type(o) is Tensor])

    before = calls(5), bridge.live_objects()
    assert (calls(40), bridge.live_objects()) == before
