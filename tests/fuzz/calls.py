"""The calls of a generated program, and what Python and compiled code do in each."""

from __future__ import annotations

import ast
import contextlib
import copy
import inspect
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.fuzz.prelude import PRELUDE
from tests.fuzz.scalars import WEIRD_FLOATS, WEIRD_INTS
from tests.three_ways import Args, Outcome, assert_same, compiled, eager

CALLS = 4
_WORDS = ("", "a", "ab,b", "12", "-7", "é12", "bca")
_LIMIT = 2**63


def arguments(seed: int, function: Any, cell: Any) -> list[Args]:
    """Calls that take different branches: sizes from 0, signs, both flags, objects that share. `cell` makes objects."""
    rng = random.Random(seed * 7 + 1)
    numbers = torch.Generator().manual_seed(seed)
    names = list(inspect.signature(function).parameters)
    least = int(rng.random() < 0.9)  # an empty list is another signature, and so is None
    optional = rng.choice([0.0, 0.5, 1.0, 1.0])

    def tensor(low: int, *sizes: int) -> torch.Tensor:
        return torch.randint(low, 1 - low, sizes, generator=numbers).double() / rng.choice([1, 1, 2])

    def vector() -> torch.Tensor:
        made = tensor(-4, rng.randint(0, 4))
        if len(made) and rng.random() < 0.08:
            made[-1] = rng.choice([float("nan"), float("inf"), -float("inf")])
        return made

    def ints() -> list[int]:
        return [rng.randint(-5, 9) for _ in range(rng.randint(least, 4))]

    made = []
    for _ in range(CALLS):
        given = {
            "n": rng.randint(-2, 5) if rng.random() < 0.95 else rng.choice([_LIMIT - 1, 1 - _LIMIT, 2**40]),
            "k": rng.randint(-9, 9), "p": rng.randint(-6, 6) / 2 if rng.random() < 0.95 else float("nan"),
            "flag": rng.random() < 0.5, "s": rng.choice(_WORDS), "x": vector(),
            "m": tensor(-3, rng.randint(0, 3), rng.randint(1, 3)), "xs": ints(),
            "ys": [vector() for _ in range(rng.randint(least, 3))],
            "d": {rng.randint(-1, 5): rng.randint(-3, 6) for _ in range(rng.randint(least, 3))},
            "h": vector() if rng.random() < optional else None, "o": cell(rng.randint(-2, 6), vector()),
        }  # fmt: skip
        if {"w", "z"} & {*names}:
            given |= {"w": float(eval(rng.choice(WEIRD_FLOATS))), "z": int(eval(rng.choice(WEIRD_INTS)))}
        if rng.random() < 0.06:
            _share(given, rng)
        made.append(Args(tuple(given[name] for name in names if name in given)))
    return made


def steps(seed: int, function: Any, cell: Any) -> Iterator[tuple[int, Args]]:
    """The calls with their numbers. In front of each, what lives outside changes, where the program says how."""
    names, name = function.__globals__, function.__name__
    try:
        for step, given in enumerate(arguments(seed, function, cell)):
            _change(names, name, step)
            yield step, given
    finally:
        if f"{name}_restore" in names:
            names[f"{name}_restore"]()


def _change(names: dict[str, Any], name: str, step: int) -> None:
    """Makes one change; those that what is there does not allow are left out."""
    if f"{name}_change" in names:
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            names[f"{name}_change"](step)


def _share(given: dict[str, Any], rng: random.Random) -> None:
    """Lets two arguments be, hold or view one object."""
    match rng.randrange(5):
        case 0:
            given["ys"] = [given["x"], given["x"]]
        case 1 if len(given["m"]):
            given["x"] = given["m"][-1]
        case 2:
            given["o"].log = given["xs"]
        case 3:
            given["h"] = given["x"]
        case _:
            given["o"].v = given["x"][1:]


class Wide(Exception):
    """Python computes with an int that does not fit into 64 bits."""


class Order(Exception):
    """Eager writes where elements share memory, so that its result depends on the order in which it walks, or warns of that
    (docs/reference/limits.md)."""


def compare(function: Any, target: Any, given: Args, text: str, step: int = 0) -> BaseException | None:
    """What Python raises in a call, if anything. AssertionError where compiled code does otherwise, Wide and Order where it
    may."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, actual = eager(function, given), compiled(target, given)
        try:
            assert_same(expected, actual)
        except AssertionError:
            if _is_wide(function, given, text, step):
                raise Wide from None
            if _depends_on_order(function, given):
                raise Order from None
            raise
    return expected.error


class _Writes(TorchDispatchMode):
    """Looks for writes to tensors whose elements share memory with each other, or with what is read and lies elsewhere."""

    found = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = dict(zip((a.name for a in func._schema.arguments), args, strict=False)) | (kwargs or {})
        written = [a.name for a in func._schema.arguments if a.alias_info is not None and a.alias_info.is_write]
        tensors = {name: t for name, t in given.items() if isinstance(t, torch.Tensor)}
        for to in (tensors[name] for name in written if name in tensors):
            others = [t for t in tensors.values() if t is not to]
            self.found |= _shares_within(to) or any(_overlap(to, t) for t in others)
        return func(*args, **(kwargs or {}))


def _shares_within(t: torch.Tensor) -> bool:
    return any(n > 1 and stride == 0 for n, stride in zip(t.shape, t.stride(), strict=True))


def _overlap(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors may share memory, and are not the same view of it."""
    if a.untyped_storage().data_ptr() != b.untyped_storage().data_ptr() or not a.numel() or not b.numel():
        return False
    return (a.data_ptr(), a.shape, a.stride()) != (b.data_ptr(), b.shape, b.stride())


def _depends_on_order(function: Any, given: Args) -> bool:
    with _Writes() as writes:
        eager(function, given)
    return writes.found


def differs_from(function: Any, run: Callable[[Any, Args], Outcome], given: Args) -> bool:
    """Whether another way to run it does something else than Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            assert_same(eager(function, given), run(function, given))
        except Exception:
            return True
    return False


class _Watching(ast.NodeTransformer):
    """Has the value of each expression that computes something looked at."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Call, ast.IfExp)):
            return ast.Call(ast.Name("_watched", ast.Load()), [node], [])
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        node.target.ctx = ast.Load()
        look = ast.Expr(ast.Call(ast.Name("_watched", ast.Load()), [ast.parse(ast.unparse(node.target), mode="eval").body],
                                 []))
        node.target.ctx = ast.Store()
        return [node, look]  # type: ignore[return-value]

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        self.generic_visit(node)
        if node.arg == "key":  # a function, called out of sight
            node.value = ast.parse(f"lambda k: _watched(({ast.unparse(node.value)})(k))", mode="eval").body
        return node

    def visit_withitem(self, node: ast.withitem) -> ast.AST:
        self.generic_visit(node.context_expr)
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        node.body = self.generic_visit(ast.Module(node.body, [])).body  # type: ignore[attr-defined]
        return node


def _is_wide(function: Any, given: Args, text: str, step: int) -> bool:
    """Runs the program again, looking at all ints that it computes."""
    found = []

    def watched(value: Any) -> Any:
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(item, int) and not -_LIMIT <= item < _LIMIT:
                found.append(item)
        return value

    tree = ast.fix_missing_locations(_Watching().visit(ast.parse(PRELUDE + text)))
    names: dict[str, Any] = {"_watched": watched}
    exec(compile(tree, "<watched>", "exec"), names)
    for earlier in range(step + 1):
        _change(names, function.__name__, earlier)
    given = copy.deepcopy(given)
    for arg in given.args:
        if isinstance(arg, function.__globals__["Cell"]):
            arg.__class__ = names["Cell"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        eager(names[function.__name__], given)
    return bool(found)
