"""State that compiled code keeps outside of itself: the same values, in the same places, as after eager's calls."""

from __future__ import annotations

import copy
import threading
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import buffer_programs  # noqa: F401  (it lists its programs)
import pytest
import torch
from state_programs import SEQUENCES, X
from three_ways import Args, Outcome, _interpret, _same, assert_same
from torch import nn

import scriptc

IDS = [cls.__name__ for cls, _ in SEQUENCES]


def outcome(call: Callable[..., Any], given: Args) -> Outcome:
    try:
        with torch.no_grad():
            return Outcome(given.args, call(*given.args))
    except scriptc.CompileError:
        raise
    except Exception as e:
        return Outcome(given.args, error=e)


def held(module: nn.Module) -> dict[str, Any]:
    """All that a module and its submodules hold, and how."""
    found: dict[str, Any] = {}
    for path, m in module.named_modules():
        found |= {f"{path}.{k}": _plain(v) for k, v in vars(m).items() if k[0] != "_" or k == "_level"}
        found |= {f"{path}:{table}.{k}": v for table in ("_buffers", "_parameters") for k, v in vars(m)[table].items()}
        found |= {f"{path}:{k} is a Buffer": isinstance(v, nn.Buffer) for k, v in m._buffers.items()}
        found[f"{path}:not persistent"] = sorted(m._non_persistent_buffers_set)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(v) for v in value]
    own = getattr(value, "__dict__", None)
    return dict(own) if own is not None and not isinstance(value, (torch.Tensor, nn.Module)) else value


def check(cls: type, calls: list[tuple[Any, ...]], machine: Callable[[nn.Module], Callable[..., Any]]) -> None:
    torch.manual_seed(0)
    eager = cls().eval()
    other = copy.deepcopy(eager)
    run = machine(other)
    for given in calls:
        expected = outcome(eager, Args(copy.deepcopy(given)))
        assert_same(expected, outcome(run, Args(copy.deepcopy(given))))
        _same(held(eager), held(other), "state")


@pytest.mark.parametrize(("cls", "calls"), SEQUENCES, ids=IDS)
def test_interpreter_keeps_state(cls: type, calls: list[tuple[Any, ...]]) -> None:
    check(cls, calls, lambda module: lambda *args: _interpret(module, args, {}))


@pytest.mark.compiled_together
@pytest.mark.parametrize("optimize", [0, 2])
@pytest.mark.parametrize(("cls", "calls"), SEQUENCES, ids=IDS)
def test_compiled_code_keeps_state(cls: type, calls: list[tuple[Any, ...]], optimize: int) -> None:
    check(cls, calls, lambda module: scriptc.compile(module, optimize=optimize))


@pytest.mark.compiled_together
@pytest.mark.parametrize(("cls", "calls"), SEQUENCES, ids=IDS)
def test_eager_and_compiled_calls_share_state(cls: type, calls: list[tuple[Any, ...]]) -> None:
    turns = iter(range(100))

    def machine(module: nn.Module) -> Callable[..., Any]:
        compiled = scriptc.compile(module, optimize=0)
        return lambda *args: (module if next(turns) % 2 else compiled)(*args)

    check(cls, calls, machine)


class Step(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(3, 3)
        self.h = None
        self.steps = 0
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x):
        self.h = x if self.h is None else torch.tanh(self.cell(x) + self.h)
        self.steps += 1
        self.total = self.total + self.h.sum(0)
        return self.h


def test_copies_and_state_dicts_behind_compiled_calls() -> None:
    module = Step()
    eager = copy.deepcopy(module)
    compiled = scriptc.compile(module, optimize=0)
    with torch.no_grad():
        for _ in range(2):
            compiled(X)
            eager(X)
        twin = copy.deepcopy(compiled)
        assert twin.steps == 2
        torch.testing.assert_close(twin.state_dict(), eager.state_dict())
        twin(X)
        assert (twin.steps, compiled.steps) == (3, 2)
        module.load_state_dict({k: v * 0 for k, v in module.state_dict().items()})
        module.h = None
        torch.testing.assert_close(compiled(X), X)


def test_instances_of_one_class_keep_their_own() -> None:
    cls = scriptc.compile(type("Own", (Step,), {}), optimize=0)
    a, b = cls(), cls()
    with torch.no_grad():
        a(X), a(X), b(X)
    assert (a.steps, b.steps) == (2, 1)
    assert a.h is not b.h


def test_what_is_stored_is_the_object_itself() -> None:
    class Keeps(nn.Module):
        def forward(self, x):
            self.given = x
            self.made = x * 2
            self.view = self.made[0]
            self.items = [self.made, x]
            return self.made, self.items

    module = Keeps()
    x = torch.ones(2, 3)
    made, items = scriptc.compile(module, optimize=0)(x)
    assert module.given is x
    assert module.made is made
    assert module.items is items
    assert items[0] is made and items[1] is x
    made.fill_(5)
    assert module.view.tolist() == [5, 5, 5]


def test_threads_with_a_module_each() -> None:
    modules = [Step() for _ in range(4)]
    compiled = [scriptc.compile(m, optimize=0) for m in modules]

    def run(call: Callable[..., Any]) -> None:
        with torch.no_grad():
            for _ in range(50):
                call(X)

    threads = [threading.Thread(target=run, args=(c,)) for c in compiled]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert [m.steps for m in modules] == [50] * 4


def test_state_from_outside_is_seen() -> None:
    """A sequence begins anew where its state is set back, without another build."""
    module = Step()
    compiled = scriptc.compile(module, optimize=0)
    with torch.no_grad():
        for _ in range(3):
            module.h, module.steps = None, 10
            compiled(X)
            compiled(X)
            assert module.steps == 12
    assert len(compiled.signatures()) == 2


def test_state_requires_grad_as_eagers_does() -> None:
    class Chain(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(3, 3)
            self.h: Any = None
            self.log: list[torch.Tensor] = []

        def forward(self, x, stop: bool = False):
            self.h = self.lin(x) if self.h is None else self.lin(x) + self.h
            self.log.append(self.h)
            if stop:
                raise ValueError
            self.cut = self.h.detach()
            return self.h * 2

    module = Chain()
    compiled = scriptc.compile(module, optimize=0)
    assert compiled(X).requires_grad
    with pytest.raises(ValueError):
        compiled(X, True)
    assert module.h.requires_grad and all(t.requires_grad for t in module.log)
    assert module.h is module.log[-1]
    assert not module.cut.requires_grad


class Shared:
    count = 0


def twice(module: nn.Module, x: torch.Tensor) -> Any:
    d = {"x": x}
    module.a = d
    module.b = d
    return x


def kept_and_returned(module: nn.Module, x: torch.Tensor) -> Any:
    module.a = {"x": x}
    return module.a


def on_a_class(module: nn.Module, x: torch.Tensor) -> Any:
    Shared.count += 1
    return x


def an_object(module: nn.Module, x: torch.Tensor) -> Any:
    module.a = Shared()
    return x


def a_module(module: nn.Module, x: torch.Tensor) -> Any:
    module.cell = module.other
    return x


def a_parameter(module: nn.Module, x: torch.Tensor) -> Any:
    module.cell.weight = x
    return x


REFUSED = {
    twice: "one object is kept in 'a' and in 'b'",
    kept_and_returned: "'a' keeps an object for the next call, and the function returns it as well",
    on_a_class: "attribute 'count' of a class",
    an_object: "a Shared made in compiled code cannot be kept",
    a_module: "a module cannot be replaced",
    a_parameter: "a parameter cannot be replaced",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_what_cannot_be_kept(function: Callable[..., Any]) -> None:
    module = Step()
    module.other = nn.Linear(3, 3)
    with pytest.raises(scriptc.CompileError, match=REFUSED[function]):
        scriptc.compile(function, optimize=0)(module, X)


def test_a_tensor_for_a_parameter_raises_as_in_eager() -> None:
    class Wrong(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))

        def forward(self, x):
            self.w = x * 2
            return x

    with pytest.raises(TypeError, match="as parameter 'w'"):
        scriptc.compile(Wrong(), optimize=0)(X)


def test_a_deque_stays_the_object_that_it_was() -> None:
    class Fills(nn.Module):
        def __init__(self):
            super().__init__()
            self.q = deque([torch.ones(3)], maxlen=2)
            self.given = None

        def forward(self, x, q):
            first = self.q[0]
            self.q.append(x)
            self.given = q
            q.append(x)
            return first, self.q, q is self.q

    module = Fills()
    compiled = scriptc.compile(module, optimize=0)
    q, (first,) = module.q, module.q
    given: deque[torch.Tensor] = deque()
    x = torch.zeros(3)
    result = compiled(x, given)
    assert result[0] is first and result[1] is q and not result[2]
    assert module.q is q and q[0] is first and q[1] is x
    assert module.given is given and given[0] is x
    assert compiled(x, q)[2] and len(q) == 2
    module.q = q = deque([x], maxlen=1)  # another object of another length
    compiled(first, given)
    assert module.q is q and list(map(id, q)) == [id(first)] and q.maxlen == 1
    assert len(given) == 2


def test_what_a_deque_is_given_requires_grad_as_eagers_does() -> None:
    class Window(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(3, 3)
            self.q = deque(maxlen=2)

        def forward(self, x):
            self.q.extend([self.lin(x), x])
            return sum(self.q)

    module = Window()
    compiled = scriptc.compile(module, optimize=0)
    for _ in range(2):
        assert compiled(X).requires_grad and [t.requires_grad for t in module.q] == [True, False]
    with torch.no_grad():
        compiled(X)
    assert not module.q[0].requires_grad


class Table:
    """An object with methods for operators, whose answers change."""

    def __init__(self):
        self.n, self.held = 1, {"a": 1, "b": 2}

    def __getitem__(self, key):
        return self.held.get(key, 0) + self.n

    def __setitem__(self, key, value):
        self.n = value + len(key)

    def __contains__(self, key):
        return key in self.held or self.n > 5

    def __len__(self):
        return self.n

    def __iter__(self):
        return iter([self.n, self.n + 1])

    def __bool__(self):
        return self.n > 2

    def __eq__(self, other):
        return self.n == other

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other):
        return self.n + other

    def __rsub__(self, other):
        return other - self.n

    def __lt__(self, other):
        return self.n < other

    def __neg__(self):
        return -self.n

    def __str__(self):
        return f"T{self.n}"


@dataclass
class Point:
    x: int
    y: float


OPERATORS: list[Callable[[Table, str], Any]] = [
    lambda t, k: (t["a"], t[k]),
    lambda t, k: ("z" in t, k in t, k not in t),
    lambda t, k: (len(t), bool(t), not t, 1 if t else 2),
    lambda t, k: [v for v in t],
    lambda t, k: (t == 1, t != 1, 3 == t, t < 3, 3 > t),
    lambda t, k: (t + 2, 10 - t, -t),
    lambda t, k: (str(t), f"{t}", f"{t!s:>4}"),
    lambda t, k: (t.__setitem__(k, t.n + 1), t.n),
]


class Operates(nn.Module):
    def __init__(self, how: int):
        super().__init__()
        self.table, self.point, self.other, self.how = Table(), Point(1, 2.0), Point(1, 2.0), how

    def forward(self, k: str):
        if self.how == 8:
            self.table[k] = 7
        if self.how >= 8:
            return self.point == self.other, self.point != self.other, self.table.n
        return OPERATORS[self.how](self.table, k)


@pytest.mark.compiled_together
@pytest.mark.parametrize("how", range(9))
def test_operators_of_objects_outside_are_not_baked_in(how: int) -> None:
    eager, module = Operates(how), Operates(how)
    compiled = scriptc.compile(module, optimize=0)
    for n, k in ((1, "a"), (3, "b"), (3, "c"), (9, "c")):
        eager.table.n = module.table.n = n
        eager.point.x = module.point.x = n
        assert compiled(k) == eager(k)
        assert vars(module.table) == vars(eager.table)


def test_classes_whose_call_is_their_own() -> None:
    class Counts(Step):
        def __call__(self, x):
            self.steps += 10
            return super().__call__(x * 2)

    eager, cls = Counts(), scriptc.compile(type("Compiled", (Counts,), {}), optimize=0)
    compiled = cls()
    compiled.load_state_dict(eager.state_dict())
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(compiled(X), eager(X))
            torch.testing.assert_close(nn.Sequential(compiled)(X), nn.Sequential(eager)(X))
    assert compiled.steps == eager.steps == 44


def test_a_default_outside_is_made_by_the_call() -> None:
    counts = defaultdict(int)
    compiled = scriptc.compile(lambda n: counts["n"] + n)
    assert not counts and compiled(1) == 1 and counts == {"n": 0}
    counts["n"] = 5
    assert compiled(1) == 6

    class Counts(defaultdict):
        def __missing__(self, key):
            return 0

    others = Counts()
    with pytest.raises(scriptc.CompileError, match="this Counts from outside cannot be changed"):
        scriptc.compile(lambda n: others["n"] + n)(1)


@pytest.mark.parametrize("look", [len, list, bool, str, lambda d: "b" in d, lambda d: [*d.values()]])
def test_a_defaultdict_outside_to_which_a_read_adds_is_not_seen_as_a_whole(look: Any) -> None:
    found: defaultdict[str, list[int]] = defaultdict(list)

    def before(key: str) -> Any:
        seen = look(found)
        found[key].append(1)
        return seen

    def behind(key: str) -> Any:
        found[key].append(1)
        return look(found)

    with pytest.raises(scriptc.CompileError, match="this defaultdict from outside cannot be changed"):
        scriptc.compile(behind)("a")
    assert not found
    assert scriptc.compile(before)("a") == look(defaultdict(list))
    assert found == {"a": [1]}


def test_dicts_that_a_loop_makes_in_a_defaultdict_outside() -> None:
    states, weights = defaultdict(dict), [torch.ones(2, 3), torch.ones(3)]

    def run(n: int) -> int:
        for i in range(n):
            moments = []
            for w in weights:
                state = states[w]
                if len(state) == 0:
                    state["step"] = torch.zeros(())
                    state["moment"] = torch.zeros_like(w)
                state["step"] += 1
                moments.append(state["moment"])
            for w, moment in zip(weights, moments, strict=True):
                moment.add_(w)
                if i == 3:
                    raise ValueError(i)
        return n

    compiled = scriptc.compile(run, optimize=0)
    for n in (0, 1, 3, 5):
        results = []
        for f in (run, compiled):
            states.clear()
            calls = [caught(f, n), caught(f, 1)]
            results.append((calls, [{k: v.clone() for k, v in s.items()} for s in states.values()]))
        assert results[1][0] == results[0][0]
        assert [list(s) for s in results[1][1]] == [list(s) for s in results[0][1]]
        torch.testing.assert_close(results[1][1], results[0][1])


def caught(f: Callable[[int], int], n: int) -> int | str:
    try:
        return f(n)
    except ValueError as e:
        return str(e).split()[0]


SEEN = [1.0]


class Remembers:
    def __init__(self) -> None:
        self.seen = SEEN


def test_a_list_that_is_changed_by_another_name() -> None:
    owner = Remembers()

    def by_both_names(x: float) -> tuple[float, int]:
        before = len(SEEN)
        owner.seen.append(x)
        return sum(SEEN, 0.0), before

    f = scriptc.compile(by_both_names, optimize=0)
    try:
        assert [f(5.0), by_both_names(1.0), f(2.0)] == [(6.0, 1), (7.0, 2), (9.0, 3)]
        owner.seen = []
        assert [f(5.0), len(SEEN)] == [(9.0, 4), 4]
    finally:
        SEEN[:] = [1.0]
