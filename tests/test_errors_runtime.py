"""What compiled code raises at run time: eager's type and words, at the user's line; and tensors that it refuses."""

from __future__ import annotations

import os
import traceback

import pytest
import torch
from programs import raising
from settings import OPTIMIZE
from torch import nn
from torch.fx.experimental.proxy_tensor import get_proxy_mode, make_fx
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import scriptc

HERE = raising.__file__


def line_of(marker: str) -> int:
    lines = open(HERE).read().splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.endswith(f"# {marker}"))


@pytest.mark.compiled_together
@pytest.mark.parametrize("case", raising.CASES, ids=lambda c: f"{c.function.__name__}-{c.marker}")
def test_raises_what_eager_raises_at_the_users_line(case: raising.Case) -> None:
    with pytest.raises(Exception) as expected:  # noqa: PT011
        case.function(*case.args())
    with pytest.raises(Exception) as actual:  # noqa: PT011
        scriptc.compile(case.function, optimize=OPTIMIZE)(*case.args())
    assert type(actual.value) is type(expected.value)
    assert str(expected.value).splitlines()[:1] == str(actual.value).splitlines()[:1] or not str(expected.value)
    line = line_of(case.marker)
    frames = [(f.filename, f.lineno, f.name) for f in traceback.extract_tb(actual.value.__traceback__)]
    eager = [(f.filename, f.lineno, f.name) for f in traceback.extract_tb(expected.value.__traceback__)]
    in_program = [f for f in eager if f[0] == HERE]
    assert [f for f in frames if f[0] == HERE] == in_program
    assert in_program[-1][1] == line
    if not isinstance(actual.value, KeyError):
        assert f"{os.path.basename(HERE)}:{line}" in str(actual.value)


def test_a_call_after_an_error_works() -> None:
    made = scriptc.compile(raising.seventh, optimize=OPTIMIZE)
    for _ in range(3):
        with pytest.raises(IndexError):
            made([torch.ones(2)] * 5)
        assert torch.equal(made([torch.ones(2)] * 8), torch.ones(2) + 1)


# ---- arguments that are refused ----
class Tagged(torch.Tensor):
    pass


def _fake():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.empty(3)


REFUSED = {
    "quantized": lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8),
    "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "sparse": lambda: torch.ones(3).to_sparse(),
    "csr": lambda: torch.ones(3, 3).to_sparse_csr(),
    "meta": lambda: torch.ones(3, device="meta"),
    "fake": _fake,
    "conj": lambda: torch.ones(3, dtype=torch.complex64).conj(),
    "neg": lambda: torch._neg_view(torch.ones(3)),
    "subclass": lambda: torch.ones(3).as_subclass(Tagged),
    "float8": lambda: torch.ones(3).to(torch.float8_e4m3fn),
}


def add_one(x):
    return x + 1


def add_all(xs):
    total = torch.zeros(3)
    for x in xs:
        total = total + x
    return total


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.filterwarnings("ignore")
def test_refused_tensors(kind: str, warm: bool) -> None:
    made, made_list = scriptc.compile(add_one, optimize=OPTIMIZE), scriptc.compile(add_all, optimize=OPTIMIZE)
    if warm:
        made(torch.ones(3)), made_list([torch.ones(3)])
    with pytest.raises((TypeError, RuntimeError), match="tensor|view"):
        made(REFUSED[kind]())
    with pytest.raises((TypeError, RuntimeError), match="tensor|view"):
        made_list([torch.ones(3), REFUSED[kind]()])
    assert torch.equal(made(torch.ones(3)), torch.full((3,), 2.0))


@pytest.mark.parametrize("kind", ["quantized", "sparse", "meta", "neg", "subclass", "conj"])
@pytest.mark.filterwarnings("ignore")
def test_refused_weights(kind: str) -> None:
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("w", torch.ones(3))

        def forward(self, x):
            return x + self.w

    model = Model()
    made = scriptc.compile(model, optimize=OPTIMIZE)
    made(torch.ones(3))
    model._buffers["w"] = REFUSED[kind]()
    with pytest.raises((TypeError, RuntimeError, scriptc.CompileError), match="tensor|view"):
        made(torch.ones(3))
    model._buffers["w"] = torch.ones(3)
    assert torch.equal(made(torch.ones(3)), torch.full((3,), 2.0))


class FunctionMode(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class DispatchMode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("mode", [FunctionMode, DispatchMode])
@pytest.mark.parametrize("warm", [False, True])
def test_active_modes(mode, warm: bool) -> None:
    made = scriptc.compile(add_one, optimize=OPTIMIZE)
    if warm:
        made(torch.ones(3))
    with mode(), pytest.raises(RuntimeError, match="mode"):
        made(torch.ones(3))
    assert torch.equal(made(torch.ones(3)), torch.full((3,), 2.0))


def add_one_outside_of_modes(x):
    return x + 1 if get_proxy_mode() is None else x


def test_compiled_code_sees_no_mode() -> None:
    made = scriptc.compile(add_one_outside_of_modes, optimize=OPTIMIZE)
    assert torch.equal(made(torch.ones(3)), torch.full((3,), 2.0))
    with pytest.raises(RuntimeError, match="mode"):
        make_fx(made)(torch.ones(3))


def test_vmap_and_grad_transforms_are_refused() -> None:
    made = scriptc.compile(add_one, optimize=OPTIMIZE)
    for transform in (torch.func.vmap(made), torch.func.grad(lambda x: made(x).sum())):
        with pytest.raises((RuntimeError, TypeError)):
            transform(torch.ones(3))
    assert torch.equal(made(torch.ones(3)), torch.full((3,), 2.0))


@pytest.mark.parametrize("value", [object(), {1: 2}, {1, 2}, [torch.ones(2), 1], "text", 2**70])
def test_odd_arguments(value) -> None:
    made = scriptc.compile(add_one, optimize=OPTIMIZE)
    with pytest.raises((TypeError, scriptc.CompileError, OverflowError)):
        made(value)


def test_wrong_arguments() -> None:
    made = scriptc.compile(add_one, optimize=OPTIMIZE)
    for args, kwargs in (((), {}), ((1, 2), {}), ((), {"y": 1}), ((1,), {"x": 2})):
        with pytest.raises(TypeError):
            made(*args, **kwargs)
    assert made(1) == 2


def test_ints_overflow_instead_of_wrapping() -> None:
    made = scriptc.compile(raising.overflows, optimize=OPTIMIZE)
    with pytest.raises(OverflowError, match=f"raising.py:{line_of('overflow')}"):
        made(1 << 40)


def by_place(x):
    return torch.as_strided(x, (2, 2), (1, 2), 1), torch.as_strided(x, (2, 2), (1, 2))


def row_sums(x, out):
    return torch.sum(x, 1, out=out)


def test_places_in_a_storage_of_which_a_part_came_in_are_not_guessed() -> None:
    made = scriptc.compile(by_place, optimize=OPTIMIZE)
    whole = torch.arange(9.0)
    assert all(map(torch.equal, made(whole), by_place(whole)))
    with pytest.raises(RuntimeError, match="as_strided counts storage_offset"):
        made(whole[2:])


def test_out_is_not_resized() -> None:
    made = scriptc.compile(row_sums, optimize=OPTIMIZE)
    out = torch.empty(3)
    assert made(torch.ones(3, 4), out) is out and out.sum() == 12
    with pytest.raises(RuntimeError, match="out= has another shape"):
        made(torch.ones(2, 4), out)
    with pytest.raises(RuntimeError, match="can't be cast"):
        made(torch.ones(3, 4), torch.empty(3, dtype=torch.int64))
    with pytest.raises(scriptc.CompileError, match="another rank"):
        made(torch.ones(3, 4), torch.empty(()))


def inverted(x: float) -> float:
    return ~x  # type: ignore[operator]


def test_a_unary_operator_that_a_number_lacks_raises() -> None:
    with pytest.raises(TypeError, match="bad operand type for unary ~: 'float'"):
        scriptc.compile(inverted, optimize=0)(1.5)
