"""Gradients of tensors that leave a call in containers, in objects and in state, against eager's."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from settings import OPTIMIZE
from torch import Tensor, nn

import scriptc
from scriptc.runtime import bridge

Maker = Callable[[], "Net"]


def tensors(value: Any) -> list[Tensor]:
    """Return the tensors in a value."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple, deque)):
        return [t for item in value for t in tensors(item)]
    return tensors(vars(value)) if isinstance(value, Pair) else []


def gradients(found: list[Tensor], inputs: list[Tensor]) -> list[Tensor]:
    """Return the gradients of inputs for a random cotangent of each tensor; zeros where no gradient arrives."""
    torch.manual_seed(0)
    cotangents = [torch.randn_like(t) for t in found]
    pairs = [(t, cotangent) for t, cotangent in zip(found, cotangents, strict=True) if t.requires_grad]
    assert pairs
    outputs, given = [t for t, _ in pairs], [cotangent for _, cotangent in pairs]
    first = torch.autograd.grad(outputs, inputs, given, allow_unused=True, retain_graph=True)
    second = torch.autograd.grad(outputs, inputs, given, allow_unused=True)
    torch.testing.assert_close(second, first)
    return [torch.zeros_like(t) if g is None else g for t, g in zip(inputs, first, strict=True)]


def assert_alike(want: list[Tensor], have: list[Tensor]) -> None:
    """Compare values, whether they require grad, and which of them are the same object."""
    torch.testing.assert_close(have, want)
    assert [t.requires_grad for t in have] == [t.requires_grad for t in want]
    assert [[a is b for a in have] for b in have] == [[a is b for a in want] for b in want]


# ---- results ----


class Pair:
    def __init__(self, first: Tensor, second: Tensor) -> None:
        self.first, self.second = first, second


class State(NamedTuple):
    h: Tensor
    c: Tensor


def tuples_in_a_list(x, w, n: int):
    states = []
    for _ in range(n):
        x = torch.tanh(x * w)
        states.append((x, x * 2))
    return states, x


def named_tuples_in_a_list(x, w, n: int):
    states = []
    for _ in range(n):
        x = torch.tanh(x * w)
        states.append(State(x, x * 2))
    return x * 1, states


def lists_in_a_list(x, w, n: int):
    outs = []
    for i in range(n + 1):
        row = []
        for _ in range(i):
            x = torch.sin(x * w)
            row.append(x)
        outs.append(row)
    return outs, x + w


def a_list_that_changes_in_a_list(x, w, n: int):
    outs, row = [[x * 2]], [w * 3]
    outs.append(row)
    for i in range(n):
        row.append(w * i)
        outs[0].append(x.sum() * w * i)
    return x * w, outs


def a_dict_with_keys_of_run_time(x, w, n: int):
    found = {n: x * w}
    for i in range(n):
        found[i] = x * w * i
    return found


def a_dict_with_known_keys(x, w, n: int):
    return {"a": x * w, "b": [x + 1, (x * 2, w)], "n": n}


def objects_in_a_list(x, w, n: int):
    pairs = []
    for i in range(n):
        pairs.append(Pair(x * w, w * i))
    return pairs, x * w


def values_that_may_be_none(x, w, n: int):
    outs = []
    for i in range(n):
        x = x * w
        outs.append(x if i % 2 else None)
    return outs, x * 2


def parts_of_a_tensor(x, w, n: int):
    return (x * w).chunk(2), x * n


def parts_of_an_argument(x, w, n: int):
    return x.chunk(2), [w.unbind(0) for _ in range(n)]


def parts_in_a_list(x, w, n: int):
    outs = []
    for _ in range(n):
        x = torch.sin(x * w)
        outs.append(x.unbind(1))
    return outs, x * w


def a_reversed_list(x, w, n: int):
    outs = []
    for _ in range(n):
        x = torch.sin(x * w)
        outs.append(x)
    return outs[::-1], x * 2


def one_of_two_lists(x, w, n: int):
    outs, others = [x * w], [x + w, w * 2]
    return outs if n > 1 else others


def an_item_that_is_put_first(x, w, n: int):
    outs = []
    for _ in range(n):
        x = torch.sin(x * w)
        outs.insert(0, x)
    return outs, x * 2


def the_same_tensor_several_times(x, w, n: int):
    h = x * w
    return h, [[h], [h, x]], [h], (h, n)


def a_tensor_that_is_written_afterwards(x, w, n: int):
    h = x * 1
    held = [[h]]
    h.mul_(w)
    if n > 1:
        held.append([h, x * 2])
    return held


def a_tensor_of_one_of_several_ranks(x, w, n: int):
    h = x * w
    for _ in range(min(n, 2)):
        h = h.sum(0)
    return h * 2


def several_kinds(x, w, n: int):
    if n == 0:
        return x * w
    if n == 1:
        return [x * 2, x + w], x.sum()
    return {"w": w * 2, "rows": [x[0] * n for _ in range(n)]}


def a_list_of_one_of_several_kinds(x, w, n: int):
    outs = [x * w]
    for i in range(n):
        outs.append(w * i if i % 2 else x.sum() * i)
    return outs


def leaves_of_the_arguments(x, w, n: int):
    return [[x, w], [x * w]]


RESULTS = [
    tuples_in_a_list, named_tuples_in_a_list, lists_in_a_list, a_list_that_changes_in_a_list,
    a_dict_with_keys_of_run_time, a_dict_with_known_keys, objects_in_a_list, values_that_may_be_none, parts_of_a_tensor,
    parts_of_an_argument, parts_in_a_list, a_reversed_list, one_of_two_lists, an_item_that_is_put_first,
    the_same_tensor_several_times, a_tensor_that_is_written_afterwards, a_tensor_of_one_of_several_ranks, several_kinds,
    a_list_of_one_of_several_kinds, leaves_of_the_arguments,
]  # fmt: skip


@pytest.mark.compiled_together
@pytest.mark.parametrize("function", RESULTS, ids=lambda f: f.__name__)
def test_tensors_in_results(function: Callable[..., Any]) -> None:
    compiled = scriptc.compile(function, optimize=OPTIMIZE)
    for n in (0, 1, 4):
        torch.manual_seed(1)
        x, w = torch.randn(4, 3, requires_grad=True), torch.randn(3, requires_grad=True)
        want, have = (tensors(f(x, w, n)) for f in (function, compiled))
        assert_alike(want, have)
        found = gradients(have, [x, w])
        torch.testing.assert_close(found, gradients(want, [x, w]), msg=lambda m, n=n: f"n = {n}: {m}")


# ---- state ----


class Net(nn.Module):
    """Has attributes that calls set."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(3))
        self.held: Any = None
        self.history: list[Tensor] = []
        self.named: dict[str, Tensor] = {}

    def kept(self) -> list[Tensor]:
        return tensors([self.held, self.history, self.named])


class SetInALoop(Net):
    def forward(self, x: Tensor, n: int) -> Tensor:
        self.held = torch.tanh(x * self.w)
        before = self.held * 2
        for _ in range(n):
            self.held = torch.sin(self.held * self.w)
        return before + self.held


class SetInABranch(Net):
    def forward(self, x: Tensor, n: int) -> Tensor:
        if n > 1:
            self.held = x * self.w
        else:
            self.held = [x * self.w, (x.sum(), x)]
        return x.sum()


class SetBeforeReturn(Net):
    def forward(self, x: Tensor, n: int) -> Tensor:
        for i in range(n):
            x = torch.sin(x * self.w)
            if i == 2:
                self.held = x
                return self.held
        self.held = x * 2
        return x


class WrittenAfterwards(Net):
    def forward(self, x: Tensor, n: int) -> Tensor:
        h = x * self.w
        self.held = h
        h.mul_(2)
        return self.held


class Appends(Net):
    def forward(self, x: Tensor, n: int) -> Tensor:
        for i in range(n):
            self.history.append(x * self.w * i)
        return x * self.w


class SetsItems(Net):
    def forward(self, x: Tensor, n: int) -> None:
        self.named["product"] = x * self.w
        self.named["row"] = x[0]
        self.held = x


class ReturnedAndSet(Net):
    def forward(self, x: Tensor, n: int) -> Any:
        pair = (x * self.w, [x + self.w])
        self.held = pair
        return pair, pair[0]


@pytest.mark.compiled_together
@pytest.mark.parametrize("n", [0, 1, 4])
@pytest.mark.parametrize("cls", Net.__subclasses__(), ids=lambda c: c.__name__)
def test_tensors_in_attributes(cls: Maker, n: int) -> None:
    found: list[list[Tensor]] = []
    made: list[list[Tensor]] = []
    for compile_it in (False, True):
        torch.manual_seed(1)
        net, x = cls(), torch.randn(2, 3, requires_grad=True)
        call = scriptc.compile(net, optimize=OPTIMIZE) if compile_it else net
        result = call(x, n)
        made.append([*tensors(result), *net.kept()])
        found.append(gradients(made[-1], [x, net.w]))
    assert_alike(*made)
    torch.testing.assert_close(*found)


def test_state_carries_gradients_from_call_to_call() -> None:
    class Cell(Net):
        def forward(self, x: Tensor) -> Tensor:
            self.held = torch.tanh(x * self.w if self.held is None else x * self.w + self.held)
            return self.held * 2

    found: list[list[Tensor]] = []
    for compile_it in (False, True):
        torch.manual_seed(1)
        cell, x = Cell(), torch.randn(2, 3, requires_grad=True)
        call = scriptc.compile(cell, optimize=OPTIMIZE) if compile_it else cell
        total = sum(call(x * i) for i in range(4))
        found.append(list(torch.autograd.grad(total.sum() + cell.held.square().sum(), [x, cell.w])))
    torch.testing.assert_close(*found)


def appends_to_an_argument(x, w, outs, n: int):
    for _ in range(n):
        x = x * w
        outs.append(x)
    return outs[0] * x


def test_a_list_that_is_an_argument() -> None:
    x, w = torch.randn(2, 3, requires_grad=True), torch.randn(3, requires_grad=True)
    made: list[list[Tensor]] = []
    for compile_it in (False, True):
        appends = scriptc.compile(appends_to_an_argument, optimize=OPTIMIZE) if compile_it else appends_to_an_argument
        outs: list[Tensor] = [x * 3]
        made.append([appends(x, w, outs, 3), *outs])
    assert_alike(*made)
    torch.testing.assert_close(gradients(made[1], [x, w]), gradients(made[0], [x, w]))


# ---- autograd's contract ----


def test_only_what_is_asked_for_is_differentiated_and_hooks_run() -> None:
    net, x, seen = SetInALoop(), torch.randn(2, 3, requires_grad=True), []
    scriptc.compile(net, optimize=OPTIMIZE)(x, 2)
    net.held.register_hook(lambda g: seen.append(g))
    (found,) = torch.autograd.grad(net.held.sum(), [x], retain_graph=True)
    (wanted,) = torch.autograd.grad(torch.sin(torch.sin(torch.tanh(x * net.w) * net.w) * net.w).sum(), [x])
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(seen, [torch.ones(2, 3)])
    net.held.sum().backward()
    torch.testing.assert_close(x.grad, wanted)


def test_what_a_call_has_set_before_it_raised() -> None:
    class Raises(Net):
        def forward(self, x: Tensor, n: int) -> Tensor:
            self.held = x * self.w
            if n:
                raise ValueError("no")
            return self.held

    net, x = Raises(), torch.randn(2, 3, requires_grad=True)
    compiled = scriptc.compile(net, optimize=OPTIMIZE)
    compiled(x, 0)
    with pytest.raises(ValueError, match="no"):
        compiled(x, 1)
    torch.testing.assert_close(net.held, x * net.w)
    with pytest.raises(NotImplementedError, match="before it raised"):
        net.held.sum().backward()


def test_a_tensor_that_is_written_after_a_loop_has_stored_it_is_refused() -> None:
    def f(x, n: int):
        held = []
        for _ in range(n):
            h = x * 2
            held.append([h])
            h.mul_(3)
        return held

    x = torch.randn(3, requires_grad=True)
    ((found,), _) = scriptc.compile(f, optimize=OPTIMIZE)(x, 2)
    torch.testing.assert_close(found, x * 6)
    with pytest.raises(NotImplementedError, match="(?s)written later.*held.append.*clone"):
        found.sum().backward()


@pytest.mark.usefixtures("default_collector")
def test_training_leaves_memory_flat() -> None:
    class Trained(Net):
        def forward(self, x: Tensor, n: int) -> Any:
            outs = []
            for _ in range(n):
                self.held = x = torch.sin(x * self.w)
                outs.append((x, [x * 2]))
            return outs

    net, x = Trained(), torch.randn(2, 3)
    compiled = scriptc.compile(net, optimize=OPTIMIZE)

    def steps(count: int) -> int:
        for i in range(count):
            net.zero_grad()
            loss = sum(t.square().sum() for t in tensors(compiled(x, 1 + i % 4))) + net.held.sum()
            if i % 3:  # some calls have no backward
                loss.backward()
        net.held = None
        gc.collect()
        return len([o for o in gc.get_objects() if type(o) is Tensor])

    before = steps(12), bridge.live_objects()
    assert (steps(60), bridge.live_objects()) == before


def test_a_tensor_of_a_loop_is_appended_to_a_list_outside():
    def total(xs, w, ys):
        ys.append(sum(xs.unbind(0), w))

    found = []
    for call in (total, scriptc.compile(total, optimize=OPTIMIZE)):
        xs, w, ys = torch.ones(2, 3, requires_grad=True), torch.ones(3, requires_grad=True), [torch.ones(3)]
        call(xs, w, ys)
        found.append([ys[-1], *torch.autograd.grad(ys[-1].sum(), [xs, w])])
    torch.testing.assert_close(found[1], found[0])


def test_a_function_that_always_raises_does_so_with_gradients():
    def refuses(x, ys):
        ys.append(x * 2)
        raise ValueError(f"no {x.size(0)}")

    with pytest.raises(ValueError, match="no 3"):
        scriptc.compile(refuses, optimize=OPTIMIZE)(torch.ones(3, requires_grad=True), [torch.ones(3)])


def test_results_behind_what_always_raises():
    def refuses(x, w):
        try:
            for _ in range(-1):
                pass
            raise ValueError("no")
        except ValueError as error:
            raise error
        except Exception:
            pass
        return x, w

    with pytest.raises(ValueError, match="no"):
        scriptc.compile(refuses, optimize=OPTIMIZE)(torch.ones(2, requires_grad=True), torch.ones(3))


# ---- views that detach() cuts off ----


def first_of_detached(x: Tensor) -> Tensor:
    return x.detach()[0]


def detached_items(x: Tensor) -> list[Tensor]:
    return [row.detach() for row in x]


def detached_of_view(x: Tensor) -> tuple[Tensor, Tensor]:
    with torch.no_grad():
        flat = x.view(-1)
    return flat.detach(), x.view(-1)


@pytest.mark.parametrize("grad", [True, False])
def test_views_behind_detach_require_no_grad_in_any_mode(grad: bool) -> None:
    x = torch.randn(2, 3, requires_grad=True)
    for f in (Tensor.detach, first_of_detached, detached_items, detached_of_view):
        compiled = scriptc.compile(lambda x, f=f: f(x), optimize=OPTIMIZE)
        with torch.set_grad_enabled(grad):
            assert_alike(tensors(f(x)), tensors(compiled(x)))
