"""Lists whose length is known throughout hold items of any kinds."""

from __future__ import annotations

import functools
from collections import namedtuple
from typing import Any

import torch
from three_ways import Program, call
from torch import Tensor, nn

from language.cases import LANGUAGE, cases, construct

State = namedtuple("State", ["h", "c"])


class Layer:
    """A layer of a cache: what it holds is made when it is first used."""

    def __init__(self) -> None:
        self.keys: Tensor | None = None

    def update(self, x: Tensor) -> Tensor:
        if self.keys is None:
            self.dtype = x.dtype
            self.keys = x[:0]
        self.keys = torch.cat([self.keys, x])
        return self.keys


@cases(torch.ones(2), torch.arange(3.0))
def changed_after_it_was_appended(x: Tensor) -> object:
    """A result holds what its objects hold at the end, not what they were made with."""
    layers: list[Any] = []
    layers.append(Layer())
    layers.append({})
    layers.append([Layer()])
    total = layers[0].update(x) + layers[0].update(2 * x).sum()
    layers[1]["x"] = x
    layers[2][0].update(x)
    return layers, total


@cases(torch.ones(2), torch.arange(3.0))
def grows_up_to_a_number(x: Tensor) -> object:
    layers: list[Layer] = []
    for number in (1, 2, 1):
        while len(layers) <= number:
            layers.append(Layer())
        x = layers[number].update(x)
    return layers, x


@cases((torch.ones(2), 3), (torch.ones(2), 0), (torch.zeros(1), 1))
def none_replaced_in_a_loop(x: Tensor, n: int) -> object:
    hidden = [None] * 2
    for _ in range(n):
        for layer in range(2):
            old = hidden[layer]
            hidden[layer] = x * (layer + 1) if old is None else old + x
    return hidden, len(hidden), hidden[0] is None


def adding(inner, size):
    return lambda x: inner(x) + size


@cases((torch.ones(2), 1), (torch.ones(2), -1))
def wrapped_once_for_each_item(x: Tensor, n: int) -> Tensor:
    sizes = [(1, None), (2, n)]
    if isinstance(n, int):
        sizes += [(3, None)]
    run = torch.relu
    for size, more in sizes:
        run = adding(run, size if more is None else more)
    return run(x)


@cases((torch.ones(2), 1), (torch.ones(2), -1))
def items_of_all_kinds(x: Tensor, n: int) -> object:
    found = []
    found.append(n)
    found.append("text")
    found += [None, x]
    found.insert(1, (x + n, "pair"))
    found.extend([[n], {"key": x}])
    last = found.pop()
    if n > 0:
        found[0] = x
        found[-1].append(7)
    else:
        found[0] = 2.5
    del found[2]
    return found, last["key"], found[1:3], len(found), found[::-1][0]


@cases((torch.ones(2), 4), (torch.ones(2), 0))
def states_of_several_classes(x: Tensor, n: int) -> object:
    state = State(x, x * 2)
    states = []
    for _ in range(n):
        h, c = state
        state = (h + c, c)
    states += [state]
    states += [(x, x, "third")]
    return states


class Layers(nn.Module):
    """Hidden states of all layers, None at first, in one list."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.ModuleList([nn.LSTMCell(2, 3), nn.LSTMCell(3, 3)])

    def forward(self, x: Tensor) -> object:
        states = [None for _ in self.cells]
        outputs = []
        for step in x:
            for i, cell in enumerate(self.cells):
                states[i] = cell(step, states[i])
                step = states[i][0]
            outputs.append(step)
        return outputs, states


torch.manual_seed(0)
LANGUAGE.append(Program(Layers(), [call(torch.ones(4, 1, 2)), call(torch.ones(0, 1, 2)), call(torch.ones(1, 2, 2))]))


@cases((torch.ones(1),))
def walked_while_it_grows(x: Tensor) -> object:
    todo = [x, "stop"]
    seen = 0
    for _item in todo:
        seen += 1
        if seen < 3:
            todo.append(seen)
    return seen, todo


@cases((torch.ones(1), 2), (torch.ones(1), 5))
def raises_what_lists_raise(x: Tensor, at: int) -> object:
    mixed = [x, "a", 1]
    mixed.append(2.0)
    if at > 3:
        mixed.pop(9)
    mixed[4 if at > 3 else 0] = "b"
    return mixed


@cases((torch.ones(1), True), (torch.ones(1), False))
def shared_between_names(x: Tensor, flag: bool) -> object:
    a = [x, "one"]
    b = a
    if flag:
        b.append(3)
    else:
        b.append(4)
    a[0] = None
    return a, a is b, len(b)


@cases((torch.ones(2), 3), (torch.ones(2), 1))
def iterators(x: Tensor, n: int) -> object:
    items = iter([n, 2, 3])
    first = next(items)
    numbers = iter(list(range(n)))
    start = next(numbers)
    rest = [i * 2 for i in numbers]
    second = next(items)
    return first, second, start, rest, next(items), next(items, "none left"), next(i for i in range(9) if i > n)


@cases((torch.ones(2), 0), (torch.ones(2), 2))
def iterators_end(x: Tensor, n: int) -> object:
    numbers = iter(list(range(n)))
    return next(numbers), next(numbers), next(numbers, None)


class Tied(nn.Module):
    """Walks its own parameters, children and modules."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.b = nn.Linear(2, 2)
        self.b.weight = self.a.weight
        self.register_buffer("scale", torch.tensor(3.0))

    def forward(self, x: Tensor) -> object:
        weight = next(self.parameters())
        total = weight.new_zeros(())
        for name, p in self.named_parameters():
            total = total + p.sum() * len(name)
        for child in self.children():
            x = child(x)
        names = [name for name, _ in self.named_modules()]
        return x, total, len(list(self.parameters())), names, [b for b in self.buffers()], len(list(self.modules()))


LANGUAGE.append(Program(Tied(), [call(torch.ones(1, 2))]))


@cases(
    torch.ones(2), torch.zeros(0), torch.tensor(2.5), torch.tensor([[1, 2], [3, 4]]), torch.tensor([[True], [False]])
)
def tensors_to_lists(x: Tensor) -> object:
    return x.tolist()


@cases((torch.ones(1), True), (torch.ones(1), False))
def other_contents_on_some_path(x: Tensor, flag: bool) -> object:
    mixed = [x, "a"]
    mixed.append(2.5)
    named = {"a": x}
    if flag:
        mixed.append(1)
        named["b"] = 3
    return mixed, named


@cases((torch.ones(2), 3), (torch.zeros(1), 700))
def long_sequences(x: Tensor, n: int) -> object:
    """What has more items than are taken one by one."""
    counts = [0] * 700
    for i in range(n):
        counts[i % 700] += i
    rows = [float(v) for v in torch.arange(300.0)]
    held = [None] * 200
    held[n % 200] = x
    parts = torch.arange(300.0).unbind(0)
    numbers = sorted(range(300), key=lambda i: i % 7)
    total = functools.reduce(lambda a, b: a + b, range(n, n + 150))
    named = dict.fromkeys(range(200), n)
    texts = len("ab" * 300), ("a",) * 150, [x] * 150
    sums = sum(range(300)), max(range(300)), list(reversed(range(150)))[:3], (n,) * 300, list(map(lambda i: i + n, range(200)))
    return counts, rows, held[n % 200], parts[n % 300] + len(parts), numbers, total, named, texts, sums, [*range(150)][::50]


@cases([3, 1, 2], [], [5])
def reduced_without_a_start(xs: list[int]) -> object:
    return functools.reduce(lambda a, b: a * 2 + b, xs)


@cases((2, 0), (2, 1), (2, 2))
def repeated_by_what_is_no_int(n: int, way: int) -> object:
    return (n, "a") * 2.5 if way == 0 else [n, "a"] * "b" if way == 1 else (n, "a") * True


@cases(torch.arange(24.0).reshape(2, 3, 4))
def sizes_put_together(x: Tensor) -> object:
    flat = x.flatten(0, 1) * 2
    size = [x.shape[0], x.shape[1]]
    size.extend(flat.shape[1:])
    longer = list(x.shape)
    longer.insert(1, 1)
    longer += [1]
    free = list(x.shape)
    free[0] = -1
    return flat.view(size), x.reshape(longer), x.view(free), x.new_zeros(*size), x.expand([5] + longer[1:-1])


@cases((torch.arange(40.0).reshape(2, 5, 4), 3), (torch.ones(2, 1, 4), 0))
def parts_taken_apart(x: Tensor, n: int) -> object:
    parts = [x[:, :, 2 * k : 2 * (k + 1)] for k in range(2)]
    found = []
    for t in range(n):
        a, b = (p[:, t] for p in parts)
        found.append(a * b)
    return found, torch.maximum(*parts), torch.add(*reversed(parts), alpha=2)


@cases([torch.ones(2, 3)], [torch.ones(2, 3), torch.ones(5, 1), torch.ones(1, 4)])
def sizes_in_lists_of_lists(xs: list[Tensor]) -> object:
    """A list in a list has one length, though code sees the outer list alone, and changes items by another name."""
    sizes = [list(x.shape) for x in xs]
    largest = sizes[0]
    for size in sizes[1:]:
        for i, n in enumerate(size):
            largest[i] = max(largest[i], n)
    largest = list(largest)
    largest[1] = largest[1] * 2
    padded = xs[0].new_zeros([len(xs)] + largest)
    for i, x in enumerate(xs):
        padded[i, : x.shape[0], : x.shape[1]] = x
    return padded, sizes, xs[-1].expand(2, *sizes[-1])


@cases(([torch.ones(2, 3)], 0), ([torch.ones(2, 3), torch.ones(5, 1)], 1))
def sizes_that_grow_later(xs: list[Tensor], n: int) -> object:
    rows, found = [[1, 2], [3, 4]], []
    for x in xs:
        first, *rest = rows[n]
        found.append((x * first, rest))
        rows[0].append(n)
    rows[1].pop(0)
    rows[1][:0] = [7, 8]
    del rows[1][0]
    return found, rows


construct(
    "Lists, tuples and queues", "sizes, dims and starred targets from lists made at run time, also from lists in lists",
    "while no such list grows or shrinks", sizes_in_lists_of_lists, sizes_that_grow_later,
)  # fmt: skip
