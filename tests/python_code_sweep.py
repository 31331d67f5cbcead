"""Run the Python that `compiled.code` prints for every language program: `python -m tests.python_code_sweep [NAME]`."""

from __future__ import annotations

import collections
import copy
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy
import torch

from scriptc.driver.target import target_of
from scriptc.frontend.entry import read
from scriptc.inspect.python_code import PythonCode, python_code
from scriptc.ir.errors import CompileError
from scriptc.ir.parser import parse_module
from scriptc.ir.printer import print_module


def code_of(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> PythonCode:
    """Return the Python of a call, from the text of its IR, as `compiled.code` prints it."""
    target = target_of(function)
    entry = read(target.func, target.receiver, target.bind(args, kwargs), runs_hooks=target.runs_hooks)
    return python_code(target, entry, parse_module(print_module(entry.module, locs=True)))


def outcome(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return what a call does: the class of its result and the result, or its exception, and its arguments afterwards."""
    given, named = copy.deepcopy((args, kwargs))
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = function(*given, **named)
        except Exception as error:
            return "raises", type(error).__name__, str(error), given, named
    return "returns", made, given, named


def is_equal(a: Any, b: Any) -> bool:
    if type(a).__name__ != type(b).__name__:
        return False
    if isinstance(a, torch.Tensor):
        return a.shape == b.shape and a.dtype == b.dtype and torch.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)
    if isinstance(a, (list, tuple, collections.deque)):
        return len(a) == len(b) and all(map(is_equal, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(is_equal(a[key], b[key]) for key in a)
    if isinstance(a, complex):
        return is_equal(a.real, b.real) and is_equal(a.imag, b.imag)
    if isinstance(a, float):
        return a == b or (a != a and b != b) or abs(a - b) <= 1e-5 * abs(b)
    if hasattr(a, "__dict__") and not callable(a):
        return is_equal(vars(a), vars(b))
    if isinstance(a, (numpy.ndarray, numpy.generic)):
        return is_equal(torch.from_numpy(numpy.array(a)), torch.from_numpy(numpy.array(b)))
    return a is b or bool(a == b)


def compared(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return "equal", or why the Python of a call does other than the call."""
    try:
        return _compared(function, args, kwargs)
    except RuntimeError as error:
        if "support the deepcopy protocol" not in str(error):
            raise
        return "not compared"  # the call keeps a tensor in an argument, which cannot be copied


def _compared(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    given, named = copy.deepcopy((args, kwargs))
    try:
        code = code_of(function, given, named)
    except (CompileError, TypeError):
        return "not compiled"
    except ValueError as error:
        return f"refused: {error}"
    try:
        run = code.function()
    except SyntaxError as error:
        return f"wrong: {error}\n{code}"
    target = target_of(function)
    wanted = outcome(function, args, kwargs)
    bound = target.bind(*copy.deepcopy((args, kwargs)))
    found = outcome(run, (*((target.receiver,) if target.receiver is not None else ()), *bound.values()), {})
    if wanted[0] != found[0] or not is_equal(wanted[1], found[1]):
        return f"wrong: {found[:3]} is not {wanted[:3]}\n{code}"
    return "equal"


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    import test_language

    counts: collections.Counter[str] = collections.Counter()
    for program, name in zip(test_language.LANGUAGE, test_language.IDS, strict=True):
        if len(sys.argv) > 1 and sys.argv[1] not in name:
            continue
        for given in program.calls:
            try:
                result = compared(program.target, given.args, given.kwargs)
            except Exception as error:
                result = f"internal: {type(error).__name__}: {error}"
            counts[result.partition(":")[0]] += 1
            if result not in ("equal", "not compiled", "not compared"):
                print(f"{name}: {result}", flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main()
