"""Operators and conversions that classes define, and containers of modules with methods of their own."""

from __future__ import annotations

import enum
from dataclasses import InitVar, dataclass
from typing import Any

import torch
from three_ways import Args, Program
from torch import nn

from language.cases import LANGUAGE, cases

X = torch.arange(6.0).reshape(2, 3)


class Metres:
    def __init__(self, n: Any) -> None:
        self.n = n

    def __add__(self, other):
        return NotImplemented if isinstance(other, str) else self.n + other

    def __radd__(self, other):
        return other + self.n * 2

    def __rsub__(self, other):
        return other - self.n

    def __mul__(self, other):
        return self.n * other + 1

    def __lt__(self, other):
        return self.n < (other.n if isinstance(other, Metres) else other)

    def __gt__(self, other):
        return self.n > other

    def __eq__(self, other):
        return NotImplemented if isinstance(other, float) else self.n == other

    __hash__ = None

    def __int__(self):
        return self.n + 1

    def __index__(self):
        return self.n

    def __abs__(self):
        return "abs"


class Feet(Metres):
    def __radd__(self, other):
        return "feet"


@cases((X, 3))
def beside_tensors(x, n):
    m = Metres(n)
    return m + x, x + m, m * x, x - m, 5 - m


@cases(3, 2)
def asked_from_the_right(n):
    m = Metres(n)
    return 2 < m, 2 > m, 3 == m, 3 != m, m == "a", "a" != m, m == 3.0, 3.0 != m


@cases(3)
def derived_class_first(n):
    return Metres(n) + Feet(1), Feet(n) + 1


@cases(3)
def left_to_nobody(n):
    return Metres(n) + "a"


@cases(3)
def numbers_of_objects(n):
    return int(Metres(n)), float(Metres(n)), abs(Metres(n))


@cases(1)
def no_number(n):
    return float(Vague(n))


class Vague:
    def __init__(self, n: int) -> None:
        self.n = n

    def __bool__(self):
        return self.n  # type: ignore[return-value]  # which is the point


@cases(1)
def truth_that_is_none(n):
    return 1 if Vague(n) else 2


@cases((X, 1, [1, 2]))
def unequal_kinds(x, n, xs):
    return n == (), n != [], {} == n, x == xs, x != (1, 2), xs == x, x == {}


@cases(3, 1)
def sorted_objects(n):
    xs = [Metres(2), Metres(n), Metres(0)]
    ys = sorted(xs)
    before = [x.n for x in xs]
    xs.sort(reverse=True)
    return [y.n for y in ys], before, [x.n for x in xs], min(xs).n


class Size(enum.Enum):
    SMALL = 1
    LARGE = 2

    @classmethod
    def _missing_(cls, value):
        return cls.LARGE if value > 10 else None


@cases(1, 2, 11, 3)
def members_for_missing_values(n):
    return Size(n)


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@cases(1, 2, 3)
def members_by_value(n):
    return Colour(n), Level(n) + 1, Colour(n) is Colour.RED


@cases(1)
def all_members(n):
    return [c.value + n for c in Colour], list(Colour), len(Colour), [Level.LOW, Level.HIGH]


@dataclass
class Scaled:
    x: float
    factor: InitVar[int]
    power: InitVar[int] = 2
    result: float = 0.0

    def __post_init__(self, factor: int, power: int) -> None:
        self.result = self.x**power * factor


@cases((1.5, 3))
def values_of_init_alone(x, n):
    return Scaled(x, n), Scaled(x, n, 3).result, Scaled(x, power=n, factor=1).result


class Shifted(nn.ModuleList):
    def __getitem__(self, i):
        return super().__getitem__(i + 1)


class Swapped(nn.ModuleList):
    def __iter__(self):
        return iter([self[1], self[0]])


class Counted(nn.Sequential):
    def __len__(self):
        return 7

    def __contains__(self, x):
        return False


class Prefixed(nn.ModuleDict):
    def __getitem__(self, name):
        return super().__getitem__("my_" + name)


class OwnContainers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.shifted, self.swapped = (c([nn.ReLU(), nn.Tanh()]) for c in (Shifted, Swapped))
        self.counted, self.prefixed = Counted(nn.ReLU()), Prefixed({"my_a": nn.Tanh()})

    def forward(self, x):
        y = self.shifted[0](x)
        for layer in self.swapped:
            y = layer(y) - 1
        return y, len(self.counted), self.prefixed["a"] in self.counted, self.prefixed["a"](x)


LANGUAGE.append(Program(OwnContainers(), [Args((X,))]))


class MissingModules(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.by_name = nn.ModuleDict({"a": nn.ReLU()})
        self.weights = nn.ParameterDict({"a": nn.Parameter(torch.ones(3)), "b": nn.Parameter(torch.ones(3))})

    def forward(self, x, name: str):
        for key in self.weights:
            x = x + self.weights[key]
        return self.by_name[name](x)


LANGUAGE.append(Program(MissingModules(), [Args((X, "a")), Args((X, "b"))]))


class Affine(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def part(self, x, k: int = 1):
        return x * k, [x]

    def forward(self, x, n: int):
        first = torch.jit.fork(self.part, x, k=n)
        second = torch.jit.fork(self.lin, x)
        return first.wait(), torch.jit.wait(second), first.done(), isinstance(first, torch.jit.Future)


LANGUAGE.append(Program(Affine(), [Args((X, 2))]))


@cases((X, 3), (X, 0))
def forked_in_a_loop(x, n):
    futures = []
    for i in range(n):
        futures.append(torch.jit.fork(torch.mul, x, i))  # noqa: PERF401
    for future in futures:
        x = x + torch.jit.wait(future)
    return x


@cases([1, 2], [])
def lists_from_futures(xs):
    future = torch.jit.fork(lambda held: held, xs)
    xs.append(3)
    first = future.wait()
    first.append(4)
    return first, future.wait(), future.value()


@cases(0, 1)
def raised_when_forked(n):
    return torch.jit.fork(lambda k: 1 // k, n).wait()


@cases(1)
def mixed_from_futures(n):
    return torch.jit.fork(lambda k: {"a": k, "b": "c"}, n).wait()


@cases((X, 3), (X.to(torch.uint8), 1))
def asked_of_tensors(x, n):
    kinds = x.is_vulkan, x.is_xla, x.is_mtia, x.is_signed(), x.get_device()
    return [1 if kind else 2 for kind in kinds], x[slice(n - 1, None)], [1, 2, 3][slice(n)]


@cases((1, [None]), (1, [1, None]), (1, [1, 2, None]), (1, []))
def tensors_of_optional_numbers(n, xs):
    return torch.tensor([x for x in xs if x is not None]), torch.tensor([n, *xs]), torch.tensor([n, None])


@cases(([1, None],), ([1, 2],), (["a"],), ("a",))
def tensors_of_anything(xs):
    return torch.tensor(xs)


@cases(1)
def tensor_of_a_text(n):
    return torch.tensor(["a"])


@cases(1)
def tensor_of_numbers_and_texts(n):
    return torch.tensor([n, "a"])


@cases((torch.arange(60.0).reshape(3, 4, 5), torch.tensor([0, -1])), (torch.ones(2, 3, 2), torch.tensor([[0, 1], [1, 0]])))
def strides_of_what_indices_pick(x, i):
    return x[:, i], x[..., i], x[:, i, i], x[i, :, i], x[:, [0, 1]], x[:, i].stride()


@cases(1)
def int_of_a_list(n):
    return int([n])


@cases(1, 0.5, True, "ab", [1])
def length_of_anything(x):
    try:
        return len(x)
    except TypeError as e:
        return str(e)


@cases(1)
def largest_of_nothing(n):
    return max()


NOT_ONE_NUMBER = ("a", [1], None, (1, 2), torch.tensor([1, 2]), 3)


@cases(*((X.clone(), y) for y in NOT_ONE_NUMBER))
def filled_with_anything(x, y):
    return torch.full((2,), y)


@cases(*((X.clone(), y) for y in NOT_ONE_NUMBER[:4]))
def masked_with_anything(x, y):
    return x.masked_fill(x > 0, y)


@cases(*((X.clone(), y) for y in NOT_ONE_NUMBER[:4]))
def chosen_from_anything(x, y):
    return torch.where(x > 0, x, y)


# What lacks the method of an operator raises where it is reached, and only there.
LACKING = ((0, None), (2, None), (0, 3), (2, 3.5), (2, (1, 2)), (2, "ab"), (2, len))


@cases(*LACKING)
def item_of_what_has_none(n, pre):
    return [pre[i] for i in range(n)]


@cases((X, 0, None), (X, 3, None), (X, 3, 2))
def place_in_what_has_none(x, n, pre):
    for i in range(n):
        x = x + pre[:, i : i + 1]
    return x


@cases(*LACKING)
def assigned_to_what_takes_none(n, pre):
    for i in range(n):
        pre[i] = n
    return n


@cases(*LACKING)
def deleted_from_what_takes_none(n, pre):
    for i in range(n):
        del pre[i]
    return n


@cases(*LACKING[:-1])
def called_what_is_no_function(n, pre):
    return [pre(i) for i in range(n)]


@cases((0, (1, 2)), (1, (1, X)))
def text_as_the_index_of_a_pair(n, pair):
    return pair["a"] if n > 0 else pair[0]


# Lists as indices: one without items is a tensor of floats, which eager takes as well.
ROWS = torch.arange(6.0).view(2, 3)


@cases((ROWS.clone(), [1, 0], 2), (ROWS.clone(), [1], 1), (ROWS.clone(), [], 0))
def lists_as_indices(x, xs, n):
    ys = [i for i in range(n)]
    return x[xs], x[0, xs], x[ys], x[xs, ys], x[:, xs], x[0][ys]


@cases((ROWS.clone(), [1, 0]), (ROWS.clone(), []), (ROWS.clone(), [5]))
def assigned_by_lists(x, xs):
    x[xs] = 7
    x[0, xs] = 8
    x[:, xs] += 1
    return x


@cases((ROWS.clone(), [[1, 0], [0, 1]]), (ROWS.clone(), [[1]]))
def lists_of_lists_as_indices(x, rows):
    return x[0, rows]


ROWS_OUTSIDE = [[0, 1], [1, 0]]


@cases((ROWS.clone(),))
def lists_taken_for_tuples(x):
    i = x.argmax() // 3
    y = x.clone()
    y[[[0, 1], [1, 0]]] = 7
    y[[None, 1]] += 5
    found = x[[[0, 1], [1, 0]]], x[ROWS_OUTSIDE], x[[i, 0]], x[[0, torch.tensor(1)]], x[[x > 2]], x[[(0, 1), range(2)]], y
    return found, x[[None, 0]], x[[..., 0]], x[[slice(0, 1), 1]], x[list(x.nonzero().unbind(1))], x[[[0, 1]] * 40].shape


@cases((ROWS.clone(),))
def too_long_for_a_tuple(x):
    return x[[[0], [1], [0]]]


@cases((ROWS.clone(), [True, False, True]), (ROWS.clone(), [True]))
def list_as_a_mask(x, flags):
    return x[:, flags]


@cases((ROWS.clone(), [0.5]), (ROWS.clone(), ["a"]))
def lists_that_are_no_indices(x, xs):
    return x[xs]


@cases(([1, 2, 3], [4, 5, 6]), ([1], [2]), ([1], [2, 3]), ([], []))
def tensor_of_lists_in_a_display(xs, ys):
    return torch.tensor([xs[-2:]]), torch.tensor([xs, ys]), torch.tensor((xs, ys), dtype=torch.float64)


@cases((1, [1], {"a": 1}, 0), (1, [1], {"a": 1}, 1), (1, [1], {"a": 1}, 2), (1, [1], {"a": 1}, 3))
def attributes_that_builtins_have_not(n, xs, table, which):
    if which == 0:
        return (n, 1).sum()
    if which == 1:
        return xs.push(n)
    if which == 2:
        return table.has_key("a")
    return len(xs)


@cases((torch.tensor([1, 0, 2], dtype=torch.uint8), torch.ones(3)), (torch.tensor([0], dtype=torch.uint8), torch.ones(3)))
def bytes_that_choose(mask, x):
    return torch.where(mask, x, 0), x.where(mask[:1], 2 * x)
