"""Gradients of compiled functions: the rows and their derivatives, programs against eager, and autograd's contract."""

from __future__ import annotations

import gc
import inspect
from typing import Any

import gradient_carried_programs as carried
import gradient_list_programs as lists
import gradient_passed_list_programs as passed
import gradient_programs as programs
import gradient_table_programs as tables
import gradient_try_programs as tries
import pytest
import torch
from settings import OPTIMIZE
from torch import Tensor, nn

import scriptc
from scriptc.frontend import library
from scriptc.frontend.library.registry import DERIVATIVES
from scriptc.ir.ops import OPS
from scriptc.runtime import bridge

library.load()


def test_rows_name_the_derivatives_that_the_library_has():
    declared = {(name, operand) for name, row in OPS.items() for operand in row.gradient or ()}
    assert declared == set(DERIVATIVES)


@pytest.mark.parametrize(("op", "operand"), sorted(DERIVATIVES))
def test_a_derivative_takes_what_its_op_has(op, operand):
    row = OPS[op]
    names = {arg.name for arg in row.args}
    known = names | {f"{name}_sizes" for name in names} | {"grad", "result"}
    known |= {f"{kind}{i}" for kind in ("grad", "result") for i in range(4)}
    assert operand in {arg.name for arg in row.operand_args}
    assert set(inspect.signature(DERIVATIVES[op, operand]).parameters) <= known


# ---- programs against eager ----


def leaves(value: Any) -> list[Tensor]:
    """Return the tensors of a result that require grad."""
    if isinstance(value, dict):
        value = list(value.values())
    items = value if isinstance(value, (list, tuple)) else [value]
    return [t for item in items for t in (leaves(item) if isinstance(item, (list, tuple)) else [item])
            if isinstance(t, Tensor) and t.requires_grad]  # fmt: skip


def gradients(function: Any, args: tuple[Any, ...], more: list[Tensor]) -> tuple[list[Tensor], list[Tensor | None]]:
    """Return the results of a call, and the gradients of its arguments and of `more` for random cotangents."""
    results = leaves(function(*args))
    torch.manual_seed(0)
    cotangents = [torch.randn_like(t) for t in results]
    inputs = [*leaves(list(args)), *more]
    return results, list(torch.autograd.grad(results, inputs, cotangents, allow_unused=True))


def assert_same_gradients(target: Any, *args: Any) -> None:
    """Compare the results and gradients of a compiled call with eager's."""
    assert_same_gradients_of_calls(target, [args])


def assert_same_gradients_of_calls(target: Any, calls: list[tuple[Any, ...]]) -> None:
    compiled = scriptc.compile(target, optimize=OPTIMIZE)
    parameters = list(target.parameters()) if isinstance(target, nn.Module) else []
    for number, args in enumerate(calls):
        expected, wanted = gradients(target, args, parameters)
        results, found = gradients(compiled, args, parameters)
        torch.testing.assert_close(results, expected, msg=lambda m, number=number: f"call {number}: {m}")
        for want, have in zip(wanted, found, strict=True):
            if want is None or have is None:  # None stands for zeros
                given = have if want is None else want
                assert given is None or not given.any()
            else:
                torch.testing.assert_close(have, want, msg=lambda m, number=number: f"call {number}: {m}")


def matrix_and_row() -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    return torch.randn(4, 3, requires_grad=True), torch.randn(3, requires_grad=True)


@pytest.mark.compiled_together
@pytest.mark.parametrize("function", programs.FUNCTIONS, ids=lambda f: f.__name__)
def test_functions(function):
    assert_same_gradients_of_calls(function, [(*matrix_and_row(), n) for n in (0, 1, 4)])


@pytest.mark.compiled_together
@pytest.mark.parametrize("name", programs.MODULES)
def test_modules(name):
    torch.manual_seed(1)
    module = programs.MODULES[name]()
    assert_same_gradients_of_calls(module, [(torch.randn(steps, 2, 4, requires_grad=True),) for steps in (1, 6)])


@pytest.mark.compiled_together
@pytest.mark.parametrize(
    "function",
    [*programs.CHANGES_OF_LISTS, *programs.PASSED_LISTS, *programs.TABLES, *programs.TRIES],
    ids=lambda f: f.__name__,
)
def test_a_second_backward_finds_what_the_first_one_did(function):
    torch.manual_seed(1)
    compiled = scriptc.compile(function, optimize=OPTIMIZE)
    x, w = torch.randn(4, 3, requires_grad=True), torch.randn(3, requires_grad=True)
    results = leaves(compiled(x, w, 3))
    cotangents = [torch.randn_like(t) for t in results]
    first, second = (torch.autograd.grad(results, (x, w), cotangents, retain_graph=True) for _ in range(2))
    wanted = torch.autograd.grad(leaves(function(x, w, 3)), (x, w), cotangents)
    for found in (first, second):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


def test_lists_that_are_arguments():
    xs = [torch.randn(3, requires_grad=True), torch.randn(3), torch.randn(3, requires_grad=True)]
    assert_same_gradients(programs.of_a_list, xs, torch.randn(3, requires_grad=True), 2)


def test_a_list_that_is_an_argument_and_changes():
    """Backward code starts from the list as the function leaves it, whatever else requires grad."""

    def changed(xs, w):
        first = xs.pop(0)
        xs.append(w)
        xs.insert(1, first)
        return first * w, [x * x * i for i, x in enumerate(xs, 1)]

    compiled = scriptc.compile(changed, optimize=OPTIMIZE)
    for of_items, of_weight in ((True, True), (True, False), (False, True)):
        for length in (1, 3):
            xs = [torch.randn(3, requires_grad=of_items) for _ in range(length)]
            w = torch.randn(3, requires_grad=of_weight)
            inputs, found = [t for t in (*xs, w) if t.requires_grad], []
            for f in (changed, compiled):
                given = list(xs)
                product, squares = f(given, w)
                found.append(torch.autograd.grad(product.sum() + torch.stack(squares).sum(), inputs))
            torch.testing.assert_close(found[1], found[0])


def test_only_what_requires_grad_is_differentiated():
    x, w = torch.randn(4, 3), torch.randn(3, requires_grad=True)
    assert_same_gradients(programs.counted, x, w, 3)
    assert_same_gradients(programs.counted, torch.randn(4, 3, requires_grad=True), w.detach(), 3)


def test_a_function_of_doubles_passes_gradcheck():
    compiled = scriptc.compile(programs.counted, optimize=OPTIMIZE)
    x, w = (torch.randn(*s, dtype=torch.float64, requires_grad=True) for s in ((2, 3), (3,)))
    assert torch.autograd.gradcheck(lambda x, w: compiled(x, w, 3), (x, w))


# ---- autograd's contract ----


@pytest.fixture
def cell():
    torch.manual_seed(0)
    return programs.Lstm()


def test_grad_accumulates_and_hooks_run(cell):
    compiled = scriptc.compile(cell, optimize=OPTIMIZE)
    xs, seen = torch.randn(3, 2, 4), []
    cell.u.weight.register_hook(lambda g: seen.append(g.clone()))
    compiled(xs).sum().backward()
    first = cell.u.weight.grad.clone()
    compiled(xs).sum().backward()
    torch.testing.assert_close(cell.u.weight.grad, 2 * first)
    torch.testing.assert_close(seen, [first, first])


def test_several_backwards_of_one_call(cell):
    y = scriptc.compile(cell, optimize=OPTIMIZE)(torch.randn(3, 2, 4)).sum()
    first = torch.autograd.grad(y, cell.parameters(), retain_graph=True)
    second = torch.autograd.grad(y, cell.parameters())
    torch.testing.assert_close(second, first)
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(y, cell.parameters())


def test_a_stack_of_kept_values_serves_several_backwards():
    x, w = torch.randn(4, 3, requires_grad=True), torch.randn(3, requires_grad=True)
    y = scriptc.compile(programs.nested, optimize=OPTIMIZE)(x, w, 4).sum()
    first = torch.autograd.grad(y, (x, w), retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad(y, (x, w)), first)


def test_double_backward_raises(cell):
    y = scriptc.compile(cell, optimize=OPTIMIZE)(torch.randn(3, 2, 4)).sum()
    with pytest.raises(NotImplementedError, match="create_graph=True"):
        torch.autograd.grad(y, [cell.u.weight], create_graph=True)


def test_batches_of_gradients_are_refused(cell):
    y = scriptc.compile(cell, optimize=OPTIMIZE)(torch.randn(3, 2, 4)).sum()
    with pytest.raises(TypeError, match="gradient0.*is_grads_batched"):
        torch.autograd.grad(y, [cell.u.weight], torch.ones(2), is_grads_batched=True)


def test_a_weight_that_was_written_between_forward_and_backward(cell):
    y = scriptc.compile(cell, optimize=OPTIMIZE)(torch.randn(3, 2, 4, requires_grad=True)).sum()
    with torch.no_grad():
        cell.u.weight.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_an_argument_that_was_written_between_forward_and_backward():
    x, w = torch.randn(4, 3, requires_grad=True), torch.randn(3, requires_grad=True)
    base = x * 1
    y = scriptc.compile(programs.counted, optimize=OPTIMIZE)(base, w, 3).sum()
    base.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_backward_reads_the_weights_that_forward_read(cell):
    compiled, xs = scriptc.compile(cell, optimize=OPTIMIZE), torch.randn(3, 2, 4, requires_grad=True)
    first = torch.autograd.grad(compiled(xs).sum(), xs)
    y = compiled(xs).sum()
    cell.u.weight = nn.Parameter(torch.zeros_like(cell.u.weight))
    torch.testing.assert_close(torch.autograd.grad(y, xs), first)


def test_gradients_of_weights_that_functional_call_lends(cell):
    compiled, xs = scriptc.compile(cell, optimize=OPTIMIZE), torch.randn(3, 2, 4)
    lent = {name: (p * 1.5).detach().requires_grad_() for name, p in cell.named_parameters()}
    wanted, found = (
        torch.autograd.grad(torch.func.functional_call(net, lent, (xs,)).square().sum(), list(lent.values()))
        for net in (cell, compiled)
    )
    torch.testing.assert_close(found, wanted)


def test_what_has_no_gradient_says_so_at_the_line():
    def f(xs):
        ys = [x * 2 for x in xs]
        ys[0].mul_(3)
        return ys[0] + ys[1]

    xs = [torch.randn(2, requires_grad=True) for _ in range(3)]
    result = scriptc.compile(f, optimize=OPTIMIZE)(xs)
    with pytest.raises(NotImplementedError, match="(?s)backward through .*test_gradients.py:.*mul_.*clone of it"):
        result.sum().backward()


@pytest.mark.compiled_together
@pytest.mark.parametrize(
    ("function", "line", "reason"),
    [*lists.REFUSED, *carried.REFUSED, *passed.REFUSED, *tables.REFUSED, *tries.REFUSED],
    ids=lambda case: getattr(case, "__name__", ""),
)
def test_what_gradients_would_miss_is_refused(function, line, reason):
    x, w = torch.randn(4, 3, requires_grad=True), torch.randn(3, requires_grad=True)
    result = scriptc.compile(function, optimize=OPTIMIZE)(x, w, 2)
    with pytest.raises(NotImplementedError, match=f"(?s)programs.py:.*{reason}.*{line}"):
        result.sum().backward()


def test_training_leaves_memory_flat(cell):
    compiled, xs = scriptc.compile(cell, optimize=OPTIMIZE), torch.randn(3, 2, 4)
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.01)

    def steps(count):
        for _ in range(count):
            optimizer.zero_grad()
            compiled(xs).square().sum().backward()
            optimizer.step()
        gc.collect()
        return len([o for o in gc.get_objects() if type(o) is Tensor])

    before = steps(5), bridge.live_objects()
    assert (steps(50), bridge.live_objects()) == before


def test_losses_of_compiled_training_are_eagers():
    losses = []
    for compile_it in (False, True):
        torch.manual_seed(3)
        net = programs.Lstm()
        step = scriptc.compile(net, optimize=OPTIMIZE) if compile_it else net
        optimizer, xs, wanted = torch.optim.Adam(net.parameters(), lr=0.05), torch.randn(5, 2, 4), torch.randn(5, 2, 5)
        run = []
        for _ in range(30):
            optimizer.zero_grad()
            loss = (step(xs) - wanted).square().mean()
            loss.backward()
            optimizer.step()
            run.append(loss.item())
        losses.append(run)
    torch.testing.assert_close(losses[1], losses[0], rtol=1e-4, atol=1e-5)
    assert losses[0][-1] < 0.9 * losses[0][0]


def test_an_embedding_divides_gradients_by_the_uses_of_a_row():
    def f(index, weight):
        return nn.functional.embedding(index, weight, padding_idx=0, scale_grad_by_freq=True)

    assert_same_gradients(f, torch.tensor([1, 0, 2, 1, 1]), torch.randn(4, 3, requires_grad=True))


@pytest.mark.parametrize("parts", [lambda x: x.chunk(2), lambda x: x.unbind(0), lambda x: x.split(1)])
def test_no_gradient_flows_through_views_that_no_grad_code_makes_together(parts):
    def last(x):
        with torch.no_grad():
            views = parts(x)
        return views[-1] * 2.0 + x.sum() * 0.5

    given = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    expected, found = (torch.autograd.grad(f(given).sum(), given)[0] for f in (last, scriptc.compile(last)))
    torch.testing.assert_close(found, expected)


def test_no_gradient_flows_through_a_view_of_an_argument_that_is_detached():
    def f(x):
        return x[1:].detach(), x.detach()[:, 0]

    x = torch.randn(3, 2, requires_grad=True)
    for view in scriptc.compile(f, optimize=OPTIMIZE)(x):
        assert not view.requires_grad and view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


def test_a_sum_without_gradients_of_a_list_that_may_be_empty():
    def f(x, w, ys, n: int):
        with torch.no_grad():
            for i in range(n):
                x = torch.where(x > i, 0.0, sum(ys))  # an int if there are none, so the tensor may be undefined
        return w * 1

    x, w, y = (torch.randn(3, dtype=torch.float64, requires_grad=True) for _ in range(3))
    assert_same_gradients(f, x, w, [y], 2)


# ---- what is refused ----


def an_older_view(x):
    y = x.clone()
    z = y.unfold(0, 2, 1)
    y.mul_(2)
    return z.sum()


def an_older_view_in_a_loop(x):
    y, older = x.clone(), x[:1]
    for _ in range(2):
        y[:1] = older * 2
        older = y.unfold(0, 2, 1)[0, :1]
    return y


def a_view_from_outside_a_loop(x):
    y = x.clone()
    z = y.unfold(0, 2, 1)
    for i in range(2):
        y[i].copy_(z[i + 1, 1])
    return y


def recursion(x, n=3):
    return x if x.sum() > n else recursion(torch.tanh(x) + 1, n)


def a_dict(x, n=3):
    found = {}
    for i in range(n):
        found[i] = x * i
    return found[n - 1] + x


def places_in_a_dict(x, n=3):
    places, values = {}, []
    for i in range(n):
        places[i] = len(values)
        values.append(x * i)
    return values[places[n - 1]] + x


class Box:
    def __init__(self, value):
        self.value = value


def objects(x, n=3):
    boxes = []
    for i in range(n):
        boxes.append(Box(x * i))
    return boxes[n - 1].value + x


def values_beside_objects(x, n=3):
    boxes, values = [], []
    for i in range(n):
        boxes.append(Box(i))
        values.append(x * i)
    return values[boxes[n - 1].value] + x


def carried_pairs(x, n=3):
    held = [(x, x * n)]
    for i in range(n):
        held = held[:1] + [(held[-1][0] * i, x)] * i
    return held[0][1] * held[-1][0]


def a_carried_list_of_lists(x, n=3):
    table = [[x for _ in range(n)] for _ in range(2)]
    for i in range(n):
        table = [[item + table[0][0] * i for item in row] for row in table]
    return table[1][0]


def a_tensor_in_place_of_a_list_of_lists(x, n=3):
    table = torch.stack([x for _ in range(n)])
    for _ in range(n):
        table = torch.stack([table[0] + table[1] - row for row in table])
    return table.sum(0)


def lists_in_place_of_pairs(x, n=3):
    hs, cs = [x], [x]
    for _ in range(n):
        hs.append(hs[-1] + x / 4)
        cs.append(cs[-1] + x / 4)
    return hs[-1] + cs[-1] - x / 2


def a_variable_of_a_try(x, text="1"):
    y = x
    try:
        y = x * 2
        int(text)
        y = x * 3
    except ValueError:
        pass
    return y


def whole_steps(x):
    return x * (x // 2)


@pytest.mark.parametrize(
    ("function", "args", "message"),
    [
        (whole_steps, (4,), "`floor_divide`"),
        (a_dict, (4,), "hint: keep the tensors in a list, and in the dict their places"),
        (objects, (4,), "hint: keep the tensors of all objects in a list beside it"),
        (carried_pairs, (4,), "hint: keep the first items of the tuples in one list, the second ones in another"),
        (a_carried_list_of_lists, (4,), "hint: put its items into one tensor, by `torch.stack`"),
        (a_variable_of_a_try, (4,), "a variable that a `try` sets before it may raise"),
        (an_older_view, (4,), "a write to a tensor of which `unfold` made a view"),
        (an_older_view_in_a_loop, (4,), "a write to a tensor of which `unfold` made a view"),
        (a_view_from_outside_a_loop, (4,), "a write to a tensor of which `unfold` made a view"),
        (recursion, (4,), "a function that calls itself"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_gradients_that_would_be_wrong_are_refused(function, args, message):
    rest = [p.default for p in list(inspect.signature(function).parameters.values())[1:]]
    result = scriptc.compile(function, optimize=OPTIMIZE)(torch.rand(*args, requires_grad=True), *rest)
    with pytest.raises(NotImplementedError, match=message):
        result.sum().backward()


@pytest.mark.parametrize(
    "rewritten",
    [places_in_a_dict, values_beside_objects, lists_in_place_of_pairs, a_tensor_in_place_of_a_list_of_lists],
)
def test_the_rewrites_that_messages_name_have_gradients(rewritten):
    x = torch.rand(4, requires_grad=True)
    scriptc.compile(rewritten, optimize=OPTIMIZE)(x, 3).sum().backward()
    assert x.grad.tolist() == [3] * 4


def test_a_list_of_one_of_several_kinds_requires_grad_though_its_gradient_is_refused():
    def f(x, n: int):
        same, other = [torch.zeros(3)], [x.sum(), torch.linalg.qr(x)[1]]
        return same if n else other

    compiled = scriptc.compile(f, optimize=OPTIMIZE)
    result = compiled(torch.randn(3, 3, requires_grad=True), 0)
    assert all(t.requires_grad for t in result)
    with pytest.raises(NotImplementedError, match="linalg.qr"):
        result[1].sum().backward()


def test_values_that_some_paths_leave_undefined_are_kept():
    def f(x, w, n: int):
        for i in range(n):
            if i == 2:
                last = torch.tanh(x * w)
                x = last * last
            else:
                x = torch.sigmoid(x * w)
            if i > 3:
                return x * last
        return x

    for n in (0, 2, 3, 6):
        assert_same_gradients(f, torch.randn(4, 3, requires_grad=True), torch.randn(3, requires_grad=True), n)


@pytest.mark.compiled_together
@pytest.mark.parametrize("sizes", [(3, 3), (2, 4), (4, 2), (2, 3, 4)])
@pytest.mark.parametrize("hermitian", [False, True])
def test_a_pseudo_inverse_whose_singular_values_are_equal(sizes: tuple[int, ...], hermitian: bool) -> None:
    def f(x: Tensor) -> Tensor:
        return torch.linalg.pinv(x @ x.mT if hermitian else x, hermitian=hermitian)

    assert_same_gradients(f, torch.ones(*sizes, dtype=torch.float64, requires_grad=True))


def test_a_write_that_never_fits() -> None:
    def f(x: Tensor, w: Tensor, go: bool) -> Tensor:
        h = w * 2
        if go:
            h.mul_(x)
        return h * w

    x, w = torch.ones(2, 3, requires_grad=True), torch.ones(3, requires_grad=True)
    compiled = scriptc.compile(f)
    (gradient,) = torch.autograd.grad(compiled(x, w, False).sum(), w)
    assert torch.equal(gradient, torch.full((3,), 4.0))
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        compiled(x, w, True)


def test_a_write_to_a_tensor_that_a_branch_has_passed_on_is_refused():
    def either(x, n: int):
        h, g = x * 2, x * 3
        chosen = h if n % 2 else g
        h.mul_(3)
        return chosen

    y = scriptc.compile(either, optimize=OPTIMIZE)(torch.ones(3, requires_grad=True), 1)
    with pytest.raises(NotImplementedError, match="a tensor that may be one of several"):
        y.sum().backward()
