"""C functions of extensions inside compiled code: results, errors, effects, gradients."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from test_extension import SOURCE, TUTORIAL, write_sources
from torch import Tensor, nn

import scriptc
from scriptc.autograd import Function
from scriptc.ir.interp import Interpreter
from scriptc.ir.parser import parse_module


class _Late:
    """The extension, which the fixture builds."""


ext: Any = _Late()


@pytest.fixture(scope="module", autouse=True)
def checked(tmp_path_factory: pytest.TempPathFactory) -> None:
    global ext
    ext = built(tmp_path_factory.mktemp("compiled"))


def built(folder: Path, source: str = SOURCE) -> Any:
    made: Any = scriptc.extension("checked", define_macros=[("WITH_SCALE", "3")], **write_sources(folder, source))

    @made.add.meta
    def sizes(a: Tensor, b: Tensor, factor: float, out: Tensor) -> dict[str, Any]:
        return {"out": a.shape}

    return made


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except Exception as e:
        return type(e), str(e).partition("\n  at ")[0]


def agree(function: Callable[..., Any], *args: Any) -> Any:
    """Return what a call gives, or how it fails, which is the same compiled."""
    copies = [a.detach().clone().requires_grad_(a.requires_grad) if isinstance(a, Tensor) else a for a in args]
    expected, found = outcome(function, *args), outcome(scriptc.compile(function), *copies)
    if isinstance(expected, Tensor):
        torch.testing.assert_close(found, expected)
    elif not isinstance(expected, tuple):
        assert found == expected
    else:
        assert [type(x) for x in found] == [type(x) for x in expected], (found, expected)
        for a, b in zip(found, expected, strict=True):
            assert torch.equal(a, b) if isinstance(a, Tensor) else a == b, (found, expected)
    for a, b in zip(args, copies, strict=True):
        assert not isinstance(a, Tensor) or torch.equal(a, b) and (a._version > 0) == (b._version > 0)
    return expected


def added(a: Tensor, b: Tensor) -> Tensor:
    out = a.new()
    ext.add(a, b, 2, out)
    return out + 1


def test_an_output_gets_the_sizes_of_the_meta_function() -> None:
    agree(added, torch.randn(2, 3), torch.randn(2, 3))
    agree(added, torch.randn(0), torch.randn(0))


def test_errors_are_those_of_eager() -> None:
    assert agree(added, torch.ones(2, 3), torch.ones(3))[1] == "a and b have different sizes: [2, 3] and [3]"
    assert agree(added, torch.ones(2, dtype=torch.float64), torch.ones(2))[1].startswith("a must be a tensor of float32")
    assert agree(added, torch.ones(2, 2).t(), torch.ones(2, 2).expand(2, 2))[0] is RuntimeError


def failing(how: int) -> str:
    try:
        ext.fails(how)
    except ValueError as e:
        return f"caught {e}"
    return "fine"


@pytest.mark.parametrize("how", range(8))
def test_messages_become_exceptions(how: int) -> None:
    agree(failing, how)


def numbers(x: Tensor, n: int, y: float, flag: bool) -> Any:
    found = ext.numbers(n, n, 2**60 * 3, flag, y, "abc")
    return found, ext.half(n), ext.is_even(n), ext.count(x, x), ext.count(x, x + 1), ext.half(True), ext.scale()


def test_numbers() -> None:
    assert agree(numbers, torch.ones(3), 7, 2.5, True)[0] == 7 + 7 + 3 + 1 + 2 + 3
    assert agree(numbers, torch.ones(3), 300, 2.5, True)[0] is OverflowError
    assert agree(numbers, torch.ones(3), -1, 2.5, True)[1] == "numbers: middle is -1, which does not fit unsigned short"
    assert agree(numbers, torch.ones(3), 1, 1e39, True)[0] is OverflowError


WRONG: list[Callable[..., Any]] = [
    lambda x, n: ext.twice(),
    lambda x, n: ext.twice(n),
    lambda x, n: ext.twice(None),
    lambda x, n: ext.twice(x, out=x),
    lambda x, n: ext.half(x),
    lambda x, n: ext.half(1.5),
    lambda x, n: ext.half(n / 2),
    lambda x, n: ext.half(2**40),
    lambda x, n: ext.half(n * 2**40),
    lambda x, n: ext.is_even([n]),
    lambda x, n: ext.numbers(0, 0, n - 2, True, 1, ""),
    lambda x, n: ext.numbers(0, 0, 1, n, 1, ""),
    lambda x, n: ext.numbers(0, 0, 1, True, 10**400, ""),
    lambda x, n: ext.numbers(0, 0, 1, True, 1, "a\0b"),
    lambda x, n: ext.numbers(0, 0, 1, True, 1, n),
    lambda x, n: ext.largest(),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_wrong_arguments(case: int) -> None:
    found = agree(WRONG[case], torch.ones(2), 1)
    assert found[0] in (TypeError, OverflowError, ValueError)


def in_place(x: Tensor) -> tuple[Tensor, ...]:
    base, sums = torch.zeros(4, 3), []
    for i in range(4):
        row = base[i]
        row += x
        before = row + 0
        ext.twice(row)
        sums.append(row + before)
        ext.twice(x)
    return base, torch.stack(sums), x.clone()


def test_writes_are_seen_through_views_and_loops() -> None:
    agree(in_place, torch.ones(3))


def test_a_written_argument_is_that_of_the_caller() -> None:
    def write(x: Tensor) -> Tensor:
        before = x * 1
        ext.twice(x)
        ext.twice(x)
        return before + x

    x = torch.ones(3)
    agree(write, x)
    assert x.tolist() == [4, 4, 4]


def test_a_written_weight_is_not_frozen() -> None:
    class Weighted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.ones(3), requires_grad=False)

        def forward(self, x: Tensor) -> Tensor:
            ext.twice(self.w)
            return x @ self.w

    module = Weighted()
    for options in ({}, {"freeze": True}):
        compiled = scriptc.compile(module, **options)
        before = module.w.sum().item()
        assert compiled(torch.ones(3)) == 2 * before and compiled(torch.ones(3)) == 4 * before


def test_equal_calls_are_not_merged() -> None:
    def count(x: Tensor) -> tuple[int, int]:
        for _ in range(3):
            ext.calls()
        return ext.calls(), ext.calls()

    first, second = scriptc.compile(count)(torch.ones(1))
    assert second == first + 1 and ext.calls() == second + 1  # the variables of C are those of eager calls


def test_layouts_are_those_of_eager() -> None:
    def layouts(x: Tensor) -> tuple[Tensor, ...]:
        found = []
        for y in (x, x.t(), x.t().contiguous(), x[:, 1:], x.t() + 1, x.expand(2, *x.shape), x.sum()):
            out = torch.empty(y.dim(), dtype=torch.int64)
            ext.strides(y, out)
            found.append(out)
        return tuple(found)

    agree(layouts, torch.randn(3, 4))


def test_a_resize_needs_a_meta_function() -> None:
    def flat(x: Tensor) -> Tensor:
        ext.flattens(x)
        return x

    with pytest.raises(RuntimeError, match=r"flattens resizes a tensor from \[2, 3\] to \[6\] in compiled code"):
        scriptc.compile(flat)(torch.ones(2, 3))
    assert scriptc.compile(flat)(torch.ones(6)).shape == (6,)

    def given(x: Tensor, out: Tensor) -> Tensor:
        ext.add(x, x, 1, out)
        return out

    compiled = scriptc.compile(given)
    torch.testing.assert_close(compiled(torch.ones(2), torch.empty(2)), torch.full((2,), 2.0))
    with pytest.raises(RuntimeError, match="add gives out other sizes, which may have other names; make it with these sizes"):
        compiled(torch.ones(2), torch.empty(3))


def test_meta_functions_are_said_once_and_before(tmp_path: Path) -> None:
    made = built(tmp_path, SOURCE + "/* another */\n")
    with pytest.raises(RuntimeError, match="add has a meta function already"):
        made.add.meta(lambda *args: None)
    with pytest.raises(ValueError, match="add has no parameter a that it may write"):
        made.add.writes("a")
    wrong = made.twice
    wrong.meta(lambda x: {"y": x.shape})
    with pytest.raises(scriptc.CompileError, match="meta function must return a dict of sizes by the names of outputs"):
        scriptc.compile(lambda x: wrong(x))(torch.ones(1))
    with pytest.raises(RuntimeError, match="compiled code calls twice already"):
        wrong.writes("x")


def test_resize_of_tensors() -> None:
    def grown(x: Tensor, n: int) -> tuple[Tensor, Tensor]:
        out, other = x + 1, x.new()
        out.resize_(n, 2)
        other.resize_as_(out).fill_(3)
        return out.view(-1)[: x.numel()] + 0, other

    agree(grown, torch.arange(4.0), 5)
    agree(grown, torch.arange(4.0), 2)
    assert agree(lambda x: (x * 2).resize_(3), torch.ones(2, requires_grad=True))[0] is RuntimeError


def test_an_edited_extension_is_another(tmp_path: Path) -> None:
    global ext

    def half(n: int) -> float:
        result: float = ext.half(n)
        return result

    compiled, before = scriptc.compile(half), ext
    assert compiled(3) == 1.5
    try:
        ext = built(tmp_path, SOURCE.replace("n / 2.0", "n / 4.0"))
        assert compiled(3) == 0.75
    finally:
        ext = before
    assert compiled(3) == 1.5


def test_the_interpreter_calls_the_function() -> None:
    x = torch.ones(2)
    module = parse_module(f"""
module "m" entries(@f)
func @f(%x: f32[2]) -> (i64) {{
  extern.written(%x)
  extern.call(%x) {{library = "{ext.twice.library.key}", function = "twice", written = [0]}}
  extern.written(%x)
  %n = extern.call(%x, %x) {{library = "{ext.twice.library.key}", function = "count", written = []}} -> (i64)
  return(%n)
}}
""")
    assert Interpreter(module).call(module.funcs["f"], [x]) == (-1,)
    assert x.tolist() == [2, 2]
    unknown = parse_module('module "m" entries(@f)\nfunc @f(%x: f32[2]) -> () {\n  extern.call(%x) '
                           '{library = "none", function = "f", written = []}\n  return()\n}\n')  # fmt: skip
    with pytest.raises(RuntimeError, match="the interpreter cannot call f"):
        Interpreter(unknown).call(unknown.funcs["f"], [x])


def test_the_tutorial_compiles(tmp_path: Path) -> None:
    """Its module, and gradients of its function, after meta functions. A process of its own has its modules' names."""
    shutil.copytree(TUTORIAL, tmp_path / "script", ignore=shutil.ignore_patterns("_ext", "__pycache__"))
    code = """
import torch, scriptc, build
build.ffi.verbose = False
build.ffi.build()
from _ext import my_lib
my_lib.my_lib_add_forward.meta(lambda input1, input2, output: {"output": input1.shape})
my_lib.my_lib_add_backward.meta(lambda grad_output, grad_input: {"grad_input": grad_output.shape})
from modules.add import MyAddModule
from functions.add import MyAddFunction
module, x = MyAddModule(), torch.randn(5, 5)
assert torch.equal(scriptc.compile(module, optimize=0)(x, x * 4), module(x, x * 4))
class Both(MyAddFunction):
    def backward(self, grad_output):
        return super().backward(grad_output), super().backward(grad_output)
def f(a, b):
    return (Both()(a * 2, b) * a).sum()
a, b = torch.randn(4, requires_grad=True), torch.randn(4, requires_grad=True)
expected = torch.autograd.grad(f(a, b), (a, b))
assert all(map(torch.equal, torch.autograd.grad(scriptc.compile(f, optimize=0)(a, b), (a, b)), expected))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path / "script", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ---- gradients ----


class Add(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        out = a.new()
        ext.add(a, b, 1, out)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        (a,) = ctx.saved_tensors
        doubled = grad.clone()
        ext.twice(doubled)
        return grad * a, doubled


class OldAdd(Function):
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        self.save_for_backward(a)
        out = a.new()
        ext.add(a, b, self.factor, out)
        return out

    def backward(self, grad: Tensor) -> tuple[Tensor, Tensor]:
        (a,) = self.saved_tensors  # type: ignore[attr-defined]
        scaled = grad * self.factor
        ext.twice(scaled)
        return grad * a, scaled


@pytest.mark.parametrize("apply", [Add.apply, lambda a, b: OldAdd(3.0)(a, b)])
def test_backward_in_c(apply: Callable[..., Tensor]) -> None:
    def loss(a: Tensor, b: Tensor) -> Tensor:
        y = a
        for _ in range(3):
            y = apply(torch.tanh(y), b) ** 2
        return y.sum()

    a, b = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    expected = torch.autograd.grad(loss(a, b), (a, b))
    torch.testing.assert_close(torch.autograd.grad(scriptc.compile(loss)(a, b), (a, b)), expected)


def test_a_tensor_that_requires_grad_is_refused() -> None:
    def written(x: Tensor) -> Tensor:
        y = x * 2
        ext.twice(y)
        return y

    x = torch.ones(2, requires_grad=True)
    assert "requires grad, and autograd does not see" in agree(written, x)[1]
    agree(lambda x: written(x.detach()), x)
    with torch.no_grad():
        agree(written, x)

    def within(x: Tensor) -> Tensor:
        y = x * 2
        with torch.no_grad():
            z = y.clone()
            ext.twice(z)
        return y * z

    expected = torch.autograd.grad(within(x).sum(), x)
    torch.testing.assert_close(torch.autograd.grad(scriptc.compile(within)(x).sum(), x), expected)
