"""The arguments of the calls of programs that take Python containers, and what calls of such programs do with them."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from tests.fuzz.batch import Program

_LENGTHS = (3, 0, 1, 2, 4)
_WORDS = ("a", "b", "bc", "c,a", "", "abc")


def argument_calls(program: Program, names: list[str], namespace: dict[str, Any], calls: int) -> list[tuple[Any, ...]]:
    """Return the arguments of some calls. Which of them require grad is the same in all calls.

    Some calls pass one container twice, one that is empty, or items of another type. namespace: that of the program.
    """
    rng, numbers = random.Random(program.seed * 7 + 1), torch.Generator().manual_seed(program.seed)
    dtype = torch.float32 if "float32" in program.text or "NET32" in program.text else torch.float64
    requires = {name: rng.random() < 0.75 for name in names}

    def tensor(name: str, *sizes: int) -> Tensor:
        return torch.randn(sizes, generator=numbers, dtype=dtype).requires_grad_(requires.get(name, False))

    integer, real = lambda: rng.randint(-1, 3), lambda: rng.randint(-4, 4) / 4
    word, row = lambda: rng.choice(_WORDS), lambda: tensor("ys", 3)
    found = []
    for step in range(calls):
        length = _LENGTHS[step % len(_LENGTHS)]

        def some(make: Callable[[], Any], length: int = length) -> list[Any]:
            return [make() for _ in range(max(0, length + rng.randint(-1, 1)) if rng.random() < 0.5 else length)]

        given: dict[str, Any] = {
            "n": rng.choice([length, rng.randint(-1, 3)]), "k": integer(), "p": real(), "flag": rng.random() < 0.5,
            "x": tensor("x", length, 3), "w": tensor("w", 3), "s": tensor("s"), "ys": some(row) or [row()],
            "h": tensor("h", 3) if rng.random() < 0.5 else None, "ia": some(integer), "ib": some(integer), "fa": some(real),
            "fb": some(real), "on": some(lambda: rng.random() < 0.5), "ws": some(word), "gr": some(lambda: some(integer)),
            "sp": some(lambda: (integer(), real())), "tb": {word(): integer() for _ in range(length)},
            "sc": {integer(): real() for _ in range(length)}, "bg": {rng.choice((0, 1, 2, 8, 64)) for _ in range(length)},
            "dq": deque(some(integer)), "ho": some(lambda: None if rng.random() < 0.4 else real()), "tx": word(),
            "mi": None if rng.random() < 0.5 else integer(), "ln": namespace["Link"](integer(), word(), tensor("ln", 3)),
            "cf": namespace["Config"](some(integer), real(), word(), some(lambda: True), tensor("cf", 3)),
            "ed": some(lambda: (tensor("ed", 3), integer())), "ne": some(lambda: [tensor("ne", 3) for _ in range(2)]),
            "wi": deque(tensor("wi", 3) for _ in range(length)),
        }  # fmt: skip
        _vary(given, rng)
        found.append(tuple(given[name] for name in names))
    return found


def _vary(given: dict[str, Any], rng: random.Random) -> None:
    """Pass some containers twice, and others with items of another type."""
    changes: list[Callable[[], Any]] = [
        lambda: given.update(ib=given["ia"]),
        lambda: given.update(fb=given["fa"]),
        lambda: given["gr"].append(given["ia"]),
        lambda: setattr(given["cf"], "steps", given["ia"]),
        lambda: given["ys"].append(given["w"]),
        lambda: given["ne"].append(given["ys"]),
        lambda: given["ed"].append((given["w"], 2)),
        lambda: given["wi"].append(given["w"]),
        lambda: given["gr"].extend(given["gr"][:1]),
        lambda: given.update(fa=[int(v) for v in given["fa"]]),
        lambda: given.update(ia=[bool(v) for v in given["ia"]]),
        lambda: given.update(mi=given["p"]),
        lambda: given.update(ia=[]),
        lambda: given.update(on=[int(v) for v in given["on"]]),
        lambda: given.update(ia=tuple(given["ia"])),
        lambda: given.update(ia=[*given["ia"], 0.5]),
        lambda: setattr(given["cf"], "on", given["on"]),
        lambda: given.update(ws=[None, *given["ws"]]),
        lambda: given.update(ho=given["fa"]),
        lambda: given["cf"].__setattr__("h", given["w"]),
        lambda: given.update(h=given["w"]),
        lambda: given.update(tb={}, sc={}),
    ]
    for change in rng.sample(changes, rng.choice((0, 1, 1, 2, 4))):
        change()


def tensors_in(value: Any, seen: set[int] | None = None) -> Iterator[Tensor]:
    """Yield the tensors in a value, each once."""
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, (str, int, float, type(None))):
        return
    seen.add(id(value))
    if isinstance(value, Tensor):
        yield value
    for part in _parts(value):
        yield from tensors_in(part, seen)


def _parts(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple, deque)):
        return list(value)
    return list(value.values() if isinstance(value, dict) else vars(value).values() if _is_object(value) else ())


def _is_object(value: Any) -> bool:
    return hasattr(value, "__dict__") and hasattr(value, "__dataclass_fields__") and not isinstance(value, type)


def copied(value: Any, copy: Callable[[Tensor], Tensor], done: dict[int, Any]) -> Any:
    """Return a copy of a value whose tensors `copy` makes. done: the copies of objects, by the ids of these."""
    if isinstance(value, (str, int, float, type(None))):
        return value
    if id(value) in done:
        return done[id(value)][0]
    made: Any = value
    if isinstance(value, Tensor):
        made = copy(value)
    elif isinstance(value, tuple):
        items = [copied(v, copy, done) for v in value]
        made = type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    elif isinstance(value, deque):
        made = deque((copied(v, copy, done) for v in value), value.maxlen)
    elif isinstance(value, (list, dict)) or _is_object(value):
        made = [] if isinstance(value, list) else {} if isinstance(value, dict) else object.__new__(type(value))
        done[id(value)] = made, value
        if isinstance(value, list):
            made.extend(copied(v, copy, done) for v in value)
        elif isinstance(value, dict):
            made.update((k, copied(v, copy, done)) for k, v in value.items())
        else:
            vars(made).update({k: copied(v, copy, done) for k, v in vars(value).items()})
    elif isinstance(value, set):
        made = value.copy()
    done[id(value)] = made, value
    return made


def change(value: Any, done: dict[int, Any] | None = None) -> Any:
    """Change all containers in a value, and return it: a user may do so before backward, which computes with what was."""
    done = {} if done is None else done
    if isinstance(value, (Tensor, type(None))) or id(value) in done:
        return value
    if isinstance(value, str):
        return value + "!"
    if isinstance(value, (int, float)):
        return not value if isinstance(value, bool) else value + 1
    done[id(value)] = value
    if isinstance(value, tuple):
        items = [change(v, done) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, (list, deque)):
        items = [change(v, done) for v in value][::-1]
        value.clear()
        value.extend(items + items[:1])
    elif isinstance(value, dict):
        for key in list(value)[1:]:
            del value[key]
        value.update({k: change(v, done) for k, v in value.items()})
    elif isinstance(value, set):
        value.clear()
    elif _is_object(value):
        vars(value).update({k: change(v, done) for k, v in vars(value).items()})
    return value
