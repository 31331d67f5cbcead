"""Objects: named tuples, dataclasses, plain classes, enums, dicts."""

from __future__ import annotations

import enum
import inspect
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch

from language.cases import cases

X = torch.arange(6.0).reshape(2, 3)


class Point(NamedTuple):
    x: torch.Tensor
    y: int = 3

    def total(self):
        return self.x.sum() + self.y

    @property
    def double(self):
        return self.y * 2


@dataclass
class State:
    h: torch.Tensor
    step: int = 0
    log: list = field(default_factory=list)

    def advance(self, x):
        self.h = torch.tanh(self.h + x)
        self.step += 1
        return self

    @property
    def size(self):
        return self.h.shape[0]

    @staticmethod
    def zeros(n):
        return State(torch.zeros(n))

    @classmethod
    def ones(cls, n):
        return cls(torch.ones(n), step=1)


@dataclass(frozen=True)
class Config:
    scale: float
    bias: int = 1


class Base:
    factor = 2

    def __init__(self, n):
        self.n = n

    def value(self):
        return self.n * self.factor

    def __call__(self, k):
        return self.value() + k


class Derived(Base):
    factor = 3

    def __init__(self, n, extra):
        super().__init__(n)
        self.extra = extra

    def value(self):
        return super().value() + self.extra

    def __add__(self, other):
        return Derived(self.n + other.n, self.extra)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@cases((X, 1), (X, 2))
def named_tuples(x, n):
    p = Point(x)
    q = p._replace(y=n)
    x2, y2 = q
    return p, q, q.total(), q.double, p.y + y2, q[1]


@cases((X, 0), (X, 2))
def dataclass_in_a_loop(x, n):
    s = State.zeros(3)
    for i in range(n):
        s.advance(x[i])
    return s.h, s.step, s.size


@cases((X, 0), (X, 2))
def dataclass_returned(x, n):
    s = State.ones(3)
    for i in range(n):
        s = State(s.h + x[i], s.step + 1)
    return s.h, s.step


@cases(0, 1)
def shared_object(n):
    a = Base(1)
    b = a
    if n:
        b.n = 10
    return a.n, b.n, a is b


@cases((2.0, 3), (0.5, 4))
def frozen(s, b):
    c = Config(s)
    d = replace(c, bias=b)
    return c.scale * c.bias + d.bias


@cases(1, 5)
def inheritance(n):
    d = Derived(n, 100)
    e = d + Derived(1, 2)
    return d.value(), d(1), e.value(), isinstance(d, Base), e.extra


@cases(0, 1)
def enums(n):
    c = Colour.RED if n else Colour.BLUE
    if c is Colour.RED:
        return c.value, c.name
    return c.value + 10, "other"


@cases(0, 3)
def dicts(n):
    d = {"a": 1}
    d["b"] = n
    d["a"] += 5
    for i in range(n):
        d["b"] = d["b"] + i
    e = {**d, "c": 2}
    f = {k: v * 2 for k, v in e.items()}
    d.update(a=7)
    return d, f, "a" in d, len(f), list(f), d.get("z", -1), d.setdefault("a", 3), d.pop("b")


@cases(0, 3)
def dict_in_branches(n):
    d = {"k": 1}
    if n:
        d["k"] = 2
    else:
        d["k"] = 3
    return d["k"]


@cases(1, 2, 5)
def sets(n):
    s = {1, 2, 3}
    t = {x * 2 for x in (1, 2)}
    return n in s, n in {n, 7}, len(s | t), n not in t


@cases(1)
def attributes(n):
    b = Base(n)
    return hasattr(b, "n"), hasattr(b, "nope"), getattr(b, "n"), getattr(b, "nope", 5)  # noqa: B009


@cases((X, 0), (X, 3))
def object_shared_by_a_closure(x, n):
    s = State(x[0])
    t = s

    def step(k):
        s.h = s.h + k
        if k == 1:
            s.step += 10
        return s.step

    total = 0
    for i in range(n):
        if i != 2:
            total += step(i)
        else:
            t.step = -1
    return s.h, t.step, total, s is t


@cases(0, 1, 5)
def dict_carried_by_a_loop(n):
    d = {"a": 0, "b": 1.5}
    e = d
    for i in range(n):
        if i % 2:
            d["a"] += i
        else:
            e["b"] = e["b"] * 2
        if d["a"] > 3:
            break
    return d["a"], d["b"], e is d, e


@cases(0, 1)
def object_made_on_paths(n):
    if n:
        p = Base(3)
    else:
        p = Base(n + 5)
    q = p
    q.n += 1
    return p.n, q.value()


@cases(0, 2)
def objects_in_a_list(n):
    items = [Base(i) for i in (n, 5)]
    for b in items:
        b.n *= 2
    return sum(b.value() for b in items), items[0].n


@cases(0, 3)
def object_replaced_in_a_loop(n):
    p = Base(1)
    for i in range(n):
        p = Derived(i, 2) if i == 1 else Base(i)
        p.n += 1
    return p.value(), isinstance(p, Derived)


@cases((0, 1), (3, 0), (3, 2), (4, 9))
def object_bound_on_some_paths(n, k):
    best = None
    log = {"seen": 0, "best": None}
    for i in range(n):
        if i >= k:
            if best is None:
                best = Base(i)
            best.n += 10
        log["seen"] += 1
        if best is not None and log["best"] is None:
            log["best"] = best.n
    if best is None:
        return log
    best.n += 1
    return best.n, log


@cases(0, 1, 2)
def tuple_of_objects(n):
    pair = (Base(1), {"x": n})
    if n == 1:
        pair[0].n = 5
        pair[1]["x"] = 7
    elif n == 2:
        pair = (Base(9), {"x": 8})
    pair[0].n += 1
    return pair[0].n, pair[1]["x"]


@cases(0, 1, 2)
def returns_an_object_early(n):
    def make(k):
        p = Base(k)
        if k == 0:
            return p
        p.n = 100
        if k == 1:
            return p
        return Base(7)

    p = make(n)
    p.n += 1
    return p.n


@cases((0, 1), (2, 1), (2, 5))
def results_of_several_kinds_with_objects(n, k):
    p = Base(1)
    for i in range(n):
        if i == k:
            p = Derived(k, 2)
    for _ in range(k - 4):
        return p.n, k
    a = p.n if isinstance(p, Derived) else {"p": p.n}
    return a, n


class Tableau:
    nodes = torch.tensor([0.2, 0.3, 0.8])
    rows = [torch.ones(1), torch.zeros(2)]

    def __init__(self, x):
        self.x = x

    def step(self):
        return self.x * self.nodes + self.rows[0] + self.nodes[0]

    @classmethod
    def total(cls):
        return cls.nodes.sum()

    @staticmethod
    def first():
        return Tableau.nodes[0]


class OtherTableau(Tableau):
    nodes = torch.tensor([4.0, 5.0, 6.0])


TABLEAU = Tableau(torch.ones(3))


@cases(torch.ones(3), torch.zeros(1))
def tensors_of_classes(x):
    steps = Tableau(x).step() + OtherTableau(x).step() + TABLEAU.step() * TABLEAU.nodes
    return steps + OtherTableau.total() + Tableau.total() + Tableau.first()


class Smoother:
    state = None
    gain = 0.5

    def __init__(self, n):
        self.n = n

    def step(self, z):
        if self.state is None:
            self.state = torch.zeros_like(z)
        self.innovation = z - self.state
        self.state = self.state + self.gain * self.innovation
        self.gain = self.gain * 0.5
        self.n += 1


@cases(X, X[:0])
def attributes_set_by_methods_in_a_loop(zs):
    smoother = Smoother(3)
    for z in zs:
        smoother.step(z)
    late = smoother.innovation.sum() if hasattr(smoother, "innovation") else None
    return smoother.state, smoother.gain, smoother.n, late


@cases(X, X[:0])
def attribute_that_a_loop_sets(zs):
    smoother = Smoother(3)
    for z in zs:
        smoother.step(z)
    return smoother.innovation + smoother.innovation


@cases(1, 3, 4)
def attributes_of_some_paths(n):
    if n > 2:
        p = Base(n)
        p.a = n
    else:
        p = Base(n)
        p.b = n + 0.5
    if n > 3:
        p.c = 2
    try:
        found = p.a
    except AttributeError as e:
        found = str(e)
    return found, getattr(p, "b", None), getattr(p, "c", 7), hasattr(p, "a"), p.n


@cases((Base(3), 1), (Base(3), 3))
def attribute_of_an_argument_on_some_path(p, n):
    if n > 2:
        p.a = n
    p.n += 1
    return p.a


class Chain(list):
    """A list with code, as processors of scores come in."""

    def __call__(self, x, **options):
        for function in self:
            takes = inspect.signature(function.__call__).parameters
            if len(takes) > 1 and not all(name in options for name in list(takes.keys())[1:]):
                raise ValueError(f"needs {list(takes.keys())}")
            x = function(x, **options) if len(takes) > 1 else function(x)
        return x

    @property
    def scales(self):
        return [function.by for function in self if isinstance(function, Scale)]


class Scale:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return x * self.by


class Shift:
    def __call__(self, x, by):
        return x + by


class Table(dict):
    def total(self):
        return sum(self.values()) + len(self)


CHAIN, TABLE, SIZES = Chain([Scale(2), Shift(), Scale(3)]), Table(a=1, b=2), Chain([1, 2])


@cases((torch.ones(2), 1), (torch.ones(0), 0))
def lists_and_dicts_with_code(x, n):
    found = CHAIN(x, by=n) if n else CHAIN(x)
    same = SIZES == [1, 2], [1, 2] == SIZES, SIZES != [1, n], SIZES == (1, 2), SIZES.index(2), SIZES[::-1]
    return found, CHAIN.scales, len(CHAIN), TABLE.total(), TABLE.get("c", n), same


@cases((torch.ones(2), CHAIN), (torch.ones(2), Chain()))
def list_with_code_as_an_argument(x, chain):
    return chain(x, by=2), chain.scales


class Move(enum.Enum):
    LEFT = "left"
    RIGHT = "right"


MOVES, STEPS = [Move.LEFT, Move.RIGHT], ((0, 1), (0, -1), (1, 0))
ROUTES, CURVES = {0: (0, 1.5), 4: (1, 2.5)}, {1: torch.sin, 2: torch.cos}


@cases(*((torch.tensor(ks),) for ks in ([0, 1], [-1, 0, 1], [], [2], [-3], [-4])))
def chosen_at_run_time(ks):
    steps, moves, found = [], [], ks * 1.0
    for k in ks.tolist():
        steps.append(STEPS[k])
        move = MOVES[k]
        moves.append((move.value, move is Move.RIGHT, ROUTES[k * 4 if k > 0 else 0]))
        found = CURVES.get(k, torch.exp)(found)
    return steps, moves, found


@cases(torch.tensor([1, 2]), torch.tensor([0]))
def keys_chosen_at_run_time(ks):
    return [CURVES[int(k)](k * 1.0) for k in ks]


@cases(["left", "right"], ["left", "up"], [])
def members_by_their_values(names):
    return [Move(name.strip()).name for name in names]


class Experts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = torch.nn.ModuleList([torch.nn.Tanh(), torch.nn.Sigmoid(), torch.nn.ReLU()])

    def forward(self, x, gate):
        return torch.stack([self.experts[int(g.argmax()) - 1](row) for row, g in zip(x, gate, strict=True)])


given = [(torch.ones(3, 2), torch.eye(3)), (torch.ones(1, 2), torch.ones(1, 1)), (torch.ones(1, 2), torch.arange(9.0)[None])]
experts = cases(*given)(Experts())


class Routed(Experts):
    def __init__(self):
        super().__init__()
        self.scales = torch.nn.ParameterList([torch.nn.Parameter(torch.tensor(float(i))) for i in range(3)])

    def forward(self, x, places):
        return [(self.experts[i](x) * self.scales[i], STEPS[i][1], (1, 2, 3)[i], "abc"[i], range(3)[i]) for i in places]


places = [torch.tensor(p) for p in ([0, 2, -1], [[1], [0]], [3], [[0, 1]], [1.0], [True, False])]
routed = cases(*[(torch.ones(2), p) for p in places])(Routed())


class Prefixed(torch.nn.ModuleDict):
    def __getitem__(self, name):
        return super().__getitem__("my_" + name)


class Named(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = torch.nn.ModuleDict({"tanh": torch.nn.Tanh(), "relu": torch.nn.ReLU()})
        self.prefixed = Prefixed({"my_tanh": torch.nn.Tanh(), "my_relu": torch.nn.Sigmoid()})
        self.scales = torch.nn.ParameterDict({name: torch.nn.Parameter(torch.tensor(2.0)) for name in ("relu", "tanh")})

    def forward(self, x, gate, names: list[str]):
        chosen = list(self.experts)
        for row in gate:
            x = self.experts[chosen[int(row.argmax())]](x - 0.5)
        for name in names:
            x = self.experts[name](x) * self.scales[name] + self.prefixed[name](x)
        return x, [name in self.experts for name in names]


wanted = (["relu"], ["tanh", "relu"], [], ["relu", "elu"])
named = cases(*[(torch.randn(2, 2), torch.randn(3, 2), names) for names in wanted])(Named())


# The table is made at the entry, whose block is empty while the body of `with` is read.
@cases(torch.tensor([1, 0, 1]), torch.tensor([2, 2, 0]))
@torch.no_grad()
def table_read_in_a_decorated_function(ks):
    total = 0
    for i in range(3):
        total += STEPS[int(ks[i])][1]
        if total > 0:
            total += 0.5
    return total
