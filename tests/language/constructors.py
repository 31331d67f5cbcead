"""The constructors and types of old: torch.Tensor(2, 3), torch.LongTensor([1]), t.new(2), t.type()."""

from __future__ import annotations

import typing
from typing import Generic, TypeVar

import torch
from torch.autograd import Variable

from language.cases import cases


@cases((torch.ones(2, 3),), (torch.zeros(3, 1, dtype=torch.float64),))
def of_sizes(x):
    y = torch.Tensor(x.size(0), 4)
    y.fill_(2.0)
    z = torch.FloatTensor(x.size()).zero_()
    a = x.new(2, x.size(1)).fill_(3)
    b = x.data.new(x.size()).zero_()
    return y, z, a, b, torch.Tensor(), x.new().shape


@cases((torch.ones(2, 3), [1, 2]), (torch.ones(2, dtype=torch.int64), []))
def of_items(x, numbers):
    w = torch.LongTensor([1, 0, len(numbers)])
    w += 1
    v = torch.Tensor([[1, 2.5], [x.size(0), 4]])
    v += 1
    return w, v, x.new([1, 2, 3]), torch.Tensor(numbers), x.new(numbers), torch.BoolTensor([True, False])


@cases((torch.ones(2, 3), 3), (torch.ones(1), 0))
def of_ranges(x, n):
    y = torch.LongTensor(range(x.size(0))) * 2
    return y, torch.FloatTensor(range(1, n)), x.new(range(n - 1, -1, -1)), torch.tensor([range(2), range(x.dim() + 1)][:1])


@cases({1}, {1: 2}, [1])
def of_what_is_no_sequence(xs):
    try:
        torch.LongTensor(set(xs))
    except TypeError as error:
        print(error)
    for dtype in (torch.bool, torch.int32, torch.float16, torch.complex64):
        try:
            torch.tensor(set(xs), dtype=dtype)
        except TypeError as error:
            print(error)
    return torch.tensor({x: x for x in xs} if len(xs) > 1 else set(xs))


@cases((torch.ones(2, 3),), (torch.arange(3),), (torch.tensor(2),))
def of_a_tensor(x):
    y = torch.Tensor(x)
    y += 1
    z = x.new(x)
    z *= 2
    return y, z, torch.FloatTensor(x + 0.5), torch.Tensor(torch.zeros(2, x.numel())), torch.LongTensor(x)


@cases((torch.ones(2, 3),), (torch.arange(3),), (torch.ones(2, dtype=torch.bool),))
def types(x):
    is_long = isinstance(x, torch.LongTensor)
    kinds = isinstance(x, (torch.FloatTensor, (torch.BoolTensor,))), isinstance(x, torch.Tensor)
    return is_long, kinds, x.type(), x.type(torch.FloatTensor), x.type("torch.LongTensor"), x.type(torch.float64)


@cases((torch.ones(2, 3),))
def unknown_type(x):
    return x.type("torch.FooTensor")


@cases((torch.ones(3),))
def variables(x):
    y = Variable(x)
    y += 1
    return y, Variable(x.data.new(2).zero_(), requires_grad=False), Variable(y * 2)


@cases((torch.ones(3),))
def variable_of_a_number(x):
    return Variable(x.size(0))


@cases((torch.ones(2, 3, 4, 5),))
def copies_in_a_format(x):
    y = x.transpose(0, 1)
    a = y.clone(memory_format=torch.contiguous_format)
    a += 1
    formats = [y.clone(memory_format=f) for f in (torch.preserve_format, torch.channels_last)]
    same = x.contiguous(memory_format=torch.contiguous_format)
    return a, formats, same, y.contiguous(memory_format=torch.channels_last), torch.clone(y), y.contiguous()


T = TypeVar("T")


class Box(Generic[T]):
    def __init__(self, held: T):
        self.held = held


@cases(3, 0)
def by_types_with_arguments(n):
    counts, names, kinds = typing.OrderedDict(), dict[str, int](a=n), typing.Counter([n])
    counts[n] = 1
    names["b"] = 2
    kinds[n] += 1
    items = list[int]()
    items.append(n)
    return counts, names, kinds[n], items, set[int]([n, n]), tuple[int, ...](items), Box[int](n).held
