"""Programs of IR text, compiled: control flow, ownership and Python numbers, compared with the interpreter."""

from __future__ import annotations

import itertools
import math
import operator
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from compiled_program import Compiled, Raised

from scriptc.backend_c.emit import emit_program, lower_to_loops
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Func, Module, Value
from scriptc.ir.interp import Interpreter
from scriptc.ir.loc import Loc
from scriptc.ir.ops import OPS
from scriptc.ir.parser import parse_module
from scriptc.ir.printer import print_module
from scriptc.ir.types import FLOAT, INT
from scriptc.ir.verifier import verify

LOC = Loc("numbers.py", 1)
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

CONTROL = """
module "control" entries(@leave, @swap, @steps, @lists, @optionals, @scopes, @found)

// break and continue to the outer of two loops, over tensors that are dropped on the way
func @leave(%x: f32[?], %n: i64, %s: i64) -> (f32[?], f32[?], i64) {
  %zero = const() {value = 0} -> (i64)
  %one = const() {value = 1} -> (i64)
  %a, %b, %c = loop L1 %i = %zero to %n step %one carry (%a1: f32[?] = %x, %b1: f32[?] = %x, %c1: i64 = %zero)
      -> (f32[?], f32[?], i64) {
    %d, %e = loop L2 %j = %n to %zero step %s carry (%d1: f32[?] = %a1, %e1: i64 = %c1) -> (f32[?], i64) {
      %sum = add(%d1, %b1) -> (f32[?])
      %count = int.add(%e1, %one) -> (i64)
      %leave = int.gt(%count, %n) -> (bool)
      if %leave {
        %last = neg(%sum) -> (f32[?])
        break(%last, %sum, %count) {to = "L1"}
      } else {
        %again = int.eq(%j, %i) -> (bool)
        if %again {
          continue(%b1, %sum, %count) {to = "L1"}
        } else {
          yield()
        }
        yield()
      }
      yield(%sum, %count)
    }
    yield(%d, %a1, %e)
  }
  return(%a, %b, %c)
}

// carried values that are exchanged; the loop may run no times
func @swap(%x: f32[?], %y: f32[?], %n: i64) -> (f32[?], f32[?], i64, i64) {
  %zero = const() {value = 0} -> (i64)
  %one = const() {value = 1} -> (i64)
  %three = const() {value = 3} -> (i64)
  %a, %b, %p, %q = loop L0 %i = %zero to %n step %one
      carry (%a1: f32[?] = %x, %b1: f32[?] = %y, %p1: i64 = %one, %q1: i64 = %three) -> (f32[?], f32[?], i64, i64) {
    yield(%b1, %a1, %q1, %p1)
  }
  return(%a, %b, %p, %q)
}

func @steps(%start: i64, %stop: i64, %step: i64) -> (i64, i64) {
  check.step(%step)
  %zero = const() {value = 0} -> (i64)
  %one = const() {value = 1} -> (i64)
  %n, %last = loop L0 %i = %start to %stop step %step carry (%n1: i64 = %zero, %last1: i64 = %zero) -> (i64, i64) {
    %n2 = int.add(%n1, %one) -> (i64)
    yield(%n2, %i)
  }
  return(%n, %last)
}

func @lists(%xs: list<f32[?]>, %index: i64) -> (f32[?], list<f32[?]>, list<i64>, list<f32[?]>) {
  %zero = const() {value = 0} -> (i64)
  %one = const() {value = 1} -> (i64)
  %x = list.get(%xs, %index) -> (f32[?])
  %ys = list.new(%x, %x) -> (list<f32[?]>)
  %sizes = list.new() -> (list<i64>)
  %n = list.len(%xs) -> (i64)
  %acc = loop L0 %i = %zero to %n step %one carry (%acc1: f32[?] = %x) -> (f32[?]) {
    %e = list.at(%xs, %i) -> (f32[?])
    %size = size(%e) {dim = 0} -> (i64)
    %m = neg(%e) -> (f32[?])
    list.append(%ys, %m)
    %acc2 = add(%acc1, %m) -> (f32[?])
    list.append(%sizes, %size)
    yield(%acc2)
  }
  list.set(%ys, %zero, %acc)
  %first = list.get(%ys, %zero) -> (f32[?])
  return(%first, %ys, %sizes, %xs)
}

func @pick(%x: f32[?], %n: i64) -> (optional<f32[?]>, optional<i64>, tuple<i64, f32[?]>) {
  %none = const() {value = none} -> (none)
  %zero = const() {value = 0} -> (i64)
  %positive = int.gt(%n, %zero) -> (bool)
  %t, %k = if %positive -> (optional<f32[?]>, optional<i64>) {
    yield(%x, %n)
  } else {
    yield(%none, %none)
  }
  %pair = tuple(%n, %x) -> (tuple<i64, f32[?]>)
  return(%t, %k, %pair)
}

func @optionals(%x: f32[?], %n: i64) -> (f32[?], i64) {
  %t, %k, %pair = call(%x, %n) {func = "pick"} -> (optional<f32[?]>, optional<i64>, tuple<i64, f32[?]>)
  %there = optional.present(%t) -> (bool)
  %y = if %there -> (f32[?]) {
    %u = optional.unwrap(%t) -> (f32[?])
    %v = add(%u, %u) -> (f32[?])
    yield(%v)
  } else {
    %w = tuple.get(%pair) {index = 1} -> (f32[?])
    yield(%w)
  }
  %known = optional.present(%k) -> (bool)
  %m = if %known -> (i64) {
    %v1 = optional.unwrap(%k) -> (i64)
    yield(%v1)
  } else {
    %v2 = tuple.get(%pair) {index = 0} -> (i64)
    %v3 = int.mul(%v2, %v2) -> (i64)
    yield(%v3)
  }
  return(%y, %m)
}

// carried as an optional number, left as a number
func @found(%x: f32[?], %n: i64) -> (i64, f32[?]) {
  %none = const() {value = none} -> (none)
  %one = const() {value = 1} -> (i64)
  %zero = const() {value = 0} -> (i64)
  %best, %y, %c = loop L0 carry (%best1: optional<i64> = %none, %y1: optional<f32[?]> = %none, %c1: i64 = %zero)
      -> (i64, f32[?], i64) {
    %there = optional.present(%best1) -> (bool)
    if %there {
      %value = optional.unwrap(%best1) -> (i64)
      %z = optional.unwrap(%y1) -> (f32[?])
      break(%value, %z, %c1) {to = "L0"}
    } else {
      yield()
    }
    %c2 = int.add(%c1, %one) -> (i64)
    %big = int.gt(%c2, %n) -> (bool)
    %best2, %y2 = if %big -> (optional<i64>, optional<f32[?]>) {
      %s = neg(%x) -> (f32[?])
      yield(%c2, %s)
    } else {
      yield(%none, %none)
    }
    yield(%best2, %y2, %c2)
  }
  return(%best, %y)
}

func @scopes(%x: f32[?], %n: i64) -> (f32[?], i64) {
  %zero = const() {value = 0} -> (i64)
  %one = const() {value = 1} -> (i64)
  %unused = add(%x, %x) -> (f32[?])
  %d, %k = scope() {label = "S0"} -> (f32[?], i64) do {
    %y = mul(%x, %x) -> (f32[?])
    %f, %g = loop L0 carry (%f1: i64 = %zero, %g1: f32[?] = %y) -> (i64, f32[?]) {
      %big = int.gt(%f1, %n) -> (bool)
      if %big {
        %z = sub(%g1, %y) -> (f32[?])
        break(%z, %f1) {to = "S0"}
      } else {
        yield()
      }
      %f2 = int.add(%f1, %one) -> (i64)
      %four = const() {value = 4} -> (i64)
      %stop = int.eq(%f2, %four) -> (bool)
      if %stop {
        break(%f2, %y) {to = "L0"}
      } else {
        yield()
      }
      %g2 = add(%g1, %g1) -> (f32[?])
      yield(%f2, %g2)
    }
    yield(%g, %f)
  }
  %negative = int.lt(%n, %zero) -> (bool)
  if %negative {
    raise() {type = "ValueError", message = "n is {0} or 100%"}
  } else {
    yield()
  }
  return(%d, %k)
}
"""

RUNS = [
    *(("leave", n, s) for n in range(5) for s in (-1, -2)),
    *(("swap", n) for n in range(4)),
    *(("steps", *r) for r in [(0, 5, 1), (0, 5, 2), (5, 0, -2), (5, 0, 3), (INT64_MAX - 4, INT64_MAX, 3), (0, 3, 0),
                              (INT64_MIN + 3, INT64_MIN, -2), (INT64_MIN, INT64_MAX, INT64_MAX)]),
    *(("lists", i) for i in (0, 1, -1, 3, -4)),
    *(("optionals", n) for n in (0, 3)),
    *(("found", n) for n in (0, 5)),
    *(("scopes", n) for n in (2, 9, -1)),
]  # fmt: skip


@pytest.fixture(scope="module")
def control() -> tuple[Compiled, Interpreter]:
    module = parse_module(CONTROL, "control.ir")
    verify(module)
    return Compiled(module), Interpreter(module)


def outcome(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except Raised as error:
        return f"{error.type}: {error.message}"
    except Exception as error:  # whatever eager raises is what is compared
        return f"{type(error).__name__}: {error}"


def arguments(run: tuple[Any, ...]) -> list[Any]:
    name, *numbers = run
    x = torch.arange(3.0) + 1
    match name:
        case "steps":
            return numbers
        case "swap":
            return [x, -x, *numbers]
        case "lists":
            return [[x, 2 * x, -x], *numbers]
    return [x, *numbers]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: "-".join(map(str, run)))
def test_control(control: tuple[Compiled, Interpreter], run: tuple[Any, ...]) -> None:
    compiled, interpreter = control
    expected = outcome(lambda: interpreter.run(run[0], *arguments(run)))
    got = outcome(lambda: compiled.run(run[0], *arguments(run)))
    torch.testing.assert_close(got, expected) if not isinstance(expected, str) else None
    assert isinstance(expected, str) == isinstance(got, str)
    if isinstance(expected, str):
        assert got == expected
    else:
        assert compiled.live == 0, "objects are left"


FUSED = """
module "fused" entries(@several, @halves, @spread, @whole)

func @several(%x: f32[?, ?], %y: f32[?], %s: f64, %n: i64) -> (f32[?, ?], bool[?, ?], f64[?, ?]) {
  %r, %q, %w = fuse(%x, %y, %s, %n) -> (f32[?, ?], bool[?, ?], f64[?, ?])
      do (%a: f32[?, ?], %b: f32[?], %c: f64, %d: i64) {
    %t = add(%a, %b) -> (f32[?, ?])
    %u = tanh(%t) -> (f32[?, ?])
    %v = mul(%u, %c) -> (f32[?, ?])
    %p = gt(%v, %b) -> (bool[?, ?])
    %m = where(%p, %v, %d) {dtype = "f32"} -> (f32[?, ?])
    %f = cast(%t) {dtype = "f64"} -> (f64[?, ?])
    yield(%m, %p, %f)
  }
  return(%r, %q, %w)
}

func @halves(%x: bf16[?, ?], %y: u8[?], %s: f64) -> (bf16[?, ?], f32[?, ?], f16[?, ?]) {
  %r, %z, %h = fuse(%x, %y, %s) -> (bf16[?, ?], f32[?, ?], f16[?, ?]) do (%a: bf16[?, ?], %b: u8[?], %c: f64) {
    %t = cast(%b) {dtype = "bf16"} -> (bf16[?])
    %v = mul(%a, %t) -> (bf16[?, ?])
    %u = add(%v, %c) -> (bf16[?, ?])
    %w = sub(%c, %u) -> (bf16[?, ?])
    %f = cast(%w) {dtype = "f32"} -> (f32[?, ?])
    %g = cast(%u) {dtype = "f16"} -> (f16[?, ?])
    yield(%u, %f, %g)
  }
  return(%r, %z, %h)
}

func @spread(%x: f32[A, B], %y: f32[A, 1], %s: f32[]) -> (f32[A, B]) {
  %r = fuse(%x, %y, %s) -> (f32[A, B]) do (%a: f32[A, B], %b: f32[A, 1], %c: f32[]) {
    %t = sub(%a, %b) -> (f32[A, B])
    %u = mul(%t, %c) -> (f32[A, B])
    yield(%u)
  }
  return(%r)
}

func @whole(%x: i32[?, ?], %y: i32[?], %n: i64) -> (i32[?, ?], i8[?, ?], bool[?, ?]) {
  %r, %q, %p = fuse(%x, %y, %n) -> (i32[?, ?], i8[?, ?], bool[?, ?]) do (%a: i32[?, ?], %b: i32[?], %c: i64) {
    %t = mul(%a, %b) -> (i32[?, ?])
    %u = mul(%t, %t) -> (i32[?, ?])
    %v = add(%u, %c) -> (i32[?, ?])
    %w = cast(%v) {dtype = "i8"} -> (i8[?, ?])
    %z = add(%w, %c) -> (i8[?, ?])
    %l = lt(%z, %w) -> (bool[?, ?])
    yield(%v, %z, %l)
  }
  return(%r, %q, %p)
}
"""


@pytest.fixture(scope="module")
def fused() -> tuple[Compiled, Interpreter]:
    module = parse_module(FUSED, "fused.ir")
    verify(module)
    return Compiled(module), Interpreter(module)


def fused_inputs(name: str, rows: int, columns: int) -> list[Any]:
    generator = torch.Generator().manual_seed(rows * 100 + columns)
    x = torch.rand(rows, columns, generator=generator) * 6 - 3
    match name:
        case "several":
            return [x, x[:1].flatten() if rows else torch.zeros(columns), 0.3, 2]
        case "halves":
            return [x.bfloat16(), torch.arange(columns, dtype=torch.uint8), 0.3]
        case "spread":
            return [x, torch.rand(rows, 1, generator=generator), torch.tensor(0.7)]
    return [(x * 1e6).int(), torch.arange(columns, dtype=torch.int32), 100]


@pytest.mark.parametrize("name", ["several", "halves", "spread", "whole"])
@pytest.mark.parametrize("layout", ["plain", "transposed", "sliced"])
def test_fused_loops(fused: tuple[Compiled, Interpreter], name: str, layout: str) -> None:
    """Results and their strides; rows and columns of no and one element among them."""
    compiled, interpreter = fused
    for rows, columns in [(3, 5), (2, 70), (1, 1), (1, 9), (9, 1), (0, 4), (4, 0)]:
        inputs = fused_inputs(name, rows, columns)
        if layout == "transposed":
            inputs[0] = inputs[0].t().contiguous().t()
        if layout == "sliced":
            inputs[0] = torch.cat([inputs[0], inputs[0]], 1)[:, ::2][:, :columns]
        expected = interpreter.run(name, *inputs)
        got = compiled.run(name, *inputs)
        for a, b in zip(got, expected, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)
            assert a.stride() == b.stride() or a.numel() <= 1
        assert compiled.live == 0


LONG = """
module "long" entries(@run)

func @run(%x: f32[?], %n: i64) -> (f32[?]) {
  %zero = const() {value = 0} -> (i64)
  %one = const() {value = 1} -> (i64)
  %half = const() {value = 0.5} -> (f64)
  %xs = list.new(%x) -> (list<f32[?]>)
  %h, %k = loop L0 %i = %zero to %n step %one carry (%h1: f32[?] = %x, %k1: f32[?] = %x) -> (f32[?], f32[?]) {
    %e = list.at(%xs, %zero) -> (f32[?])
    %t = mul(%h1, %half) -> (f32[?])
    %u = add(%t, %e) -> (f32[?])
    %v = select(%u, %zero) {dim = 0} -> (f32[])
    %w = add(%u, %v) -> (f32[?])
    %two = const() {value = 2} -> (i64)
    %rest = int.mod(%i, %two) -> (i64)
    %odd = int.eq(%rest, %one) -> (bool)
    if %odd {
      continue(%u, %h1) {to = "L0"}
    } else {
      yield()
    }
    list.set(%xs, %zero, %t)
    yield(%t, %w)
  }
  return(%h)
}
"""


def test_a_long_loop_stays_flat() -> None:
    module = parse_module(LONG, "long.ir")
    compiled = Compiled(module, optimize=1)
    x = torch.ones(8)
    compiled.run("run", x, 10)
    peak = compiled.peak
    compiled.run("run", x, 1_000_000)
    assert compiled.live == 0
    assert compiled.peak == peak


def test_errors_name_their_line() -> None:
    text = """module "errors" entries(@f)
func @f(%x: f32[?], %y: f32[?]) -> (f32[?]) {
  %z = neg(%y) -> (f32[?])
  check(%x, %z) {of = "add"}
  %t = add(%x, %z) -> (f32[?])
  return(%t)
}
"""
    compiled = Compiled(parse_module(text, "errors.ir"))
    with pytest.raises(Raised, match=r"must match the size of tensor b \(4\)") as caught:
        compiled.run("f", torch.ones(3), torch.ones(4))
    assert caught.value.line == 4


def test_recursion_is_counted() -> None:
    text = """module "recursion" entries(@f)
func @f(%n: i64) -> (i64) {
  %zero = const() {value = 0} -> (i64)
  %one = const() {value = 1} -> (i64)
  %done = int.le(%n, %zero) -> (bool)
  %r = if %done -> (i64) {
    yield(%zero)
  } else {
    %m = int.sub(%n, %one) -> (i64)
    %s = call(%m) {func = "f"} -> (i64)
    %t = int.add(%s, %n) -> (i64)
    yield(%t)
  }
  return(%r)
}
"""
    compiled = Compiled(parse_module(text, "recursion.ir"))
    assert compiled.run("f", 900) == (900 * 901 // 2,)
    with pytest.raises(Raised, match="RecursionError: maximum recursion depth exceeded"):
        compiled.run("f", 100_000)


def test_weights_come_behind_the_arguments() -> None:
    text = """module "weights" entries(@f)
param "fc.weight" : f32[4, 3]
param "fc.bias" : f32[4]
func @inner(%x: f32[?, 3]) -> (f32[?, 4], f32[4]) {
  %w = param() {name = "fc.weight"} -> (f32[4, 3])
  %b = param() {name = "fc.bias"} -> (f32[4])
  %y = linear(%x, %w, %b) -> (f32[?, 4])
  return(%y, %b)
}
func @f(%x: f32[?, 3]) -> (f32[?, 4], f32[4]) {
  %y, %b = call(%x) {func = "inner"} -> (f32[?, 4], f32[4])
  return(%y, %b)
}
"""
    module = parse_module(text, "weights.ir")
    params = {"fc.weight": torch.randn(4, 3), "fc.bias": torch.randn(4)}
    x = torch.randn(2, 3)
    expected = Interpreter(module, params).run("f", x)
    torch.testing.assert_close(Compiled(module).run("f", x, params=params), expected)


def test_loop_ir_is_text() -> None:
    """What is printed reads back to the same text; inputs are not changed by lowering."""
    for text in (CONTROL, LONG):
        module = parse_module(text)
        before = print_module(module)
        lowered = print_module(lower_to_loops(module))
        assert print_module(parse_module(lowered)) == lowered
        assert print_module(module) == before


def test_generated_c_is_stable() -> None:
    assert emit_program(parse_module(CONTROL)).source == emit_program(parse_module(CONTROL)).source


# ---- Python numbers ----

INTS = [0, 1, -1, 2, -2, 3, 7, -7, 62, 63, 64, 10**9, 2**53 + 1, -(2**53) - 1, 3**39, INT64_MAX, INT64_MAX - 1,
        INT64_MIN, INT64_MIN + 1]  # fmt: skip
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 7.25, 1e-300, 1e300, -1e300, 2.0**63, -(2.0**63), 0.1, -0.3,
          math.inf, -math.inf, math.nan]  # fmt: skip
NUMBER_ROWS = sorted(
    name for name in OPS
    if name.split(".")[0] in ("int", "float", "math") and name.count(".") == 1 and name not in ("float.round_to", "math.ldexp")
)  # fmt: skip
OWN_FORMULAS = ("math.gamma", "math.lgamma", "math.hypot")  # CPython does not ask the C library


def numbers_module() -> Module:
    module = Module("numbers")
    for name in NUMBER_ROWS:
        row, body = OPS[name], Block()
        t = INT if name.startswith("int.") else FLOAT
        body.args += [Value(t, body, f"a{i}") for i in range(len(row.operand_args))]
        build = Builder(body)
        build.op("return", [build.build(name, body.args, LOC)], LOC)
        entry = name.replace(".", "_")
        module.funcs[entry] = Func(entry, body, [body.ops[0].result.type], LOC)
        module.entries.append(entry)
    return module


@pytest.fixture(scope="module")
def numbers() -> tuple[Compiled, Interpreter]:
    module = numbers_module()
    return Compiled(module), Interpreter(module)


def python(name: str, interpreter: Interpreter, args: tuple[Any, ...]) -> Any:
    """Python's result, OverflowError where an int does not fit, or what it raises."""
    if name in ("int.pow", "int.lshift") and args[1] > 200 and abs(args[0]) > (name == "int.pow"):
        return "OverflowError"
    if name == "int.pow" and args[1] < 0:
        return None  # a float in Python, which is another op
    result = outcome(lambda: interpreter.run(name.replace(".", "_"), *args)[0])
    if isinstance(result, int) and not INT64_MIN <= result <= INT64_MAX:
        return "OverflowError"
    return None if isinstance(result, complex) or "complex" in str(result) else result


@pytest.mark.parametrize("name", NUMBER_ROWS)
def test_numbers(numbers: tuple[Compiled, Interpreter], name: str) -> None:
    compiled, interpreter = numbers
    values: list[Any] = INTS if name.startswith("int.") else FLOATS
    rng = random.Random(0)
    if name.startswith("int."):
        values = values + [rng.randrange(INT64_MIN, INT64_MAX) >> rng.randrange(64) for _ in range(20)]
    else:
        values = values + [rng.uniform(-9, 9) for _ in range(8)]
    called: list[tuple[Any, ...]] = list(itertools.product(values, repeat=len(OPS[name].operand_args)))
    for args in called if len(called) < 3000 else rng.sample(called, 3000):
        expected = python(name, interpreter, args)
        if expected is None:
            continue
        got = outcome(lambda args=args: compiled.run(name.replace(".", "_"), *args)[0])  # type: ignore[misc]
        if expected == "OverflowError":
            assert got == "OverflowError: Python int too large to convert to C long", args
        elif name in OWN_FORMULAS and isinstance(expected, float) and math.isfinite(expected):
            assert math.isclose(got, expected, rel_tol=1e-13, abs_tol=1e-15), (args, got, expected)
        elif isinstance(expected, float) and not isinstance(got, str):
            assert operator.eq(got, expected) or (math.isnan(got) and math.isnan(expected)), (args, got, expected)
            assert math.copysign(1, got) == math.copysign(1, expected) or math.isnan(expected), (args, got, expected)
        else:
            assert got == expected and type(got) is type(expected), (args, got, expected)
