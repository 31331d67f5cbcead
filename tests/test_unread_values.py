"""Values that the path that was taken does not read: their backward code does not run, as in eager.

All programs take roots of what is zero on paths that are not read, where the derivative is infinite: zeros would become NaN.
"""

import pytest
import torch
from settings import OPTIMIZE
from torch.utils.checkpoint import checkpoint

import scriptc
from scriptc.frontend.derivatives import LibraryDerivatives
from scriptc.ir.gradients.reverse import differentiate
from scriptc.ir.parser import parse_module
from scriptc.ir.verifier import verify


def last_of_a_loop(x, w, n):
    h, y = x, x
    for t in range(n):
        h = torch.tanh(h)
        y = torch.sqrt(h.abs() * (t - 1) ** 2) * w
    return y + h


def last_before_a_break(x, w, n):
    y = x
    for t in range(10):
        y = torch.sqrt((x * (t - 1)).abs()) * w
        if t >= n:
            break
    return y


def last_of_a_while(x, w, n):
    y, t = x, 0
    while t < n:
        y = torch.sqrt((x * (t - 1)).abs()) * w
        if t > 5:
            break
        t += 1
    return y


def last_of_nested_loops(x, w, n):
    y = x
    for t in range(n):
        for s in range(t + 1):
            y = torch.sqrt((x * (s - t + 1) * (t - 1)).abs()) + w
    return y


def read_in_some_iterations(x, w, n):
    y = torch.sqrt(x * 0)
    for t in range(n):
        if t == 1:
            y = x * w
        else:
            y = torch.sqrt((y + x).abs() * (t % 3))
    return y


def reset_in_some_iterations(x, w, n):
    h = x
    for t in range(n):
        if t % 2 == 1:
            h = torch.zeros_like(x)
        h = torch.sqrt((h + x * w).abs() * (t % 2))
    return h


def read_by_several_branches(x, w, n):
    root = torch.sqrt(x * 0)
    y = x * w
    if n > 3:
        y = y + root
    if n < 0:
        y = y * root
    return y


def last_of_a_checkpoint(x, w, n):
    def body(h):
        y = h
        for s in range(n):
            y = torch.sqrt((h * (s - 1)).abs()) * w
            h = h.sin()
        return h, y

    h, y = checkpoint(body, x, use_reentrant=False)
    return h + y


def asks_for_its_own_gradient(x, w, n):
    v = x.detach().requires_grad_()
    y = v * 1
    for t in range(n):
        y = torch.sqrt((v * (t - 1)).abs())
    (g,) = torch.autograd.grad(y.sum(), v)
    return x * g * w


PROGRAMS = [
    last_of_a_loop, last_before_a_break, last_of_a_while, last_of_nested_loops, read_in_some_iterations,
    reset_in_some_iterations, read_by_several_branches, last_of_a_checkpoint, asks_for_its_own_gradient,
]  # fmt: skip


@pytest.mark.compiled_together
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("cut", ["none", "sqrt"])
def test_gradients(function, cut):
    compiled = scriptc.compile(function, optimize=OPTIMIZE, checkpoint=cut)
    for n in (0, 1, 3, 4, 6, 9):
        found = []
        for target in (function, compiled):
            torch.manual_seed(n)
            x, w = torch.rand(5).requires_grad_(), torch.rand(5).requires_grad_()
            result = target(x, w, n)
            gradients = torch.autograd.grad(result.sum(), (x, w), allow_unused=True)
            found.append((result.detach(), *(torch.zeros(5) if g is None else g for g in gradients)))
        torch.testing.assert_close(found[1], found[0], equal_nan=True, msg=lambda m, n=n: f"n = {n}: {m}")


def test_only_the_last_iteration_has_backward_code():
    module = parse_module("""
        module "f" entries(@f)

        func @f(%x: f32[3], %n: i64) -> (f32[3]) {
          %zero = const() {value = 0} -> (i64)
          %one = const() {value = 1} -> (i64)
          %last = loop L %i = %zero to %n step %one carry (%y: f32[3] = %x) -> (f32[3]) {
            %h = sin(%x) -> (f32[3])
            %made = tanh(%h) -> (f32[3])
            yield(%made)
          }
          return(%last)
        }
    """)
    made = differentiate(module, "f", [0], [], LibraryDerivatives())
    verify(module)
    (loop,) = (op for op in made.backward.body.ops if op.name == "loop")
    (gate,) = (op for op in loop.regions[0].ops if op.name == "if")
    assert gate.operands[0].op.name == "optional.present"
    assert {"cos", "mul"} <= {op.name for op in gate.regions[0].walk()}
    assert not {"cos", "mul"} & {op.name for op in loop.regions[0].ops}
    (forward,) = (op for op in made.forward.body.ops if op.name == "loop")
    assert "if" not in {op.name for op in forward.regions[0].ops}
