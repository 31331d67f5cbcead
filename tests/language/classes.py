"""What classes say about their instances: descriptors, slots, abstract methods, operators of named tuples."""

from __future__ import annotations

import abc
from typing import NamedTuple

import torch

from language.cases import cases


class Doubled:
    """A data descriptor: it is asked in front of the attributes of the object."""

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, cls=None):
        return self if obj is None else getattr(obj, self.name) * 2

    def __set__(self, obj, value):
        setattr(obj, self.name, value)


class Scaled:
    size = Doubled()

    def __init__(self, size):
        self.size = size


@cases(3, -1)
def data_descriptors(n):
    scaled = Scaled(n)
    scaled.size = scaled.size + 1
    return scaled.size, scaled._size


def times_size(self, n):
    return self.size * n


@cases(3)
def functions_are_descriptors(n):
    method = times_size.__get__(Scaled(n), Scaled)
    return method(5), times_size.__get__(None, Scaled)(Scaled(2), n)


class Slotted:
    __slots__ = ("a", "b")
    fixed = 5

    def __init__(self, a):
        self.a = a


@cases(3)
def slots_take_their_names_alone(n):
    made = Slotted(n)
    made.b = 2
    try:
        made.c = 3
    except AttributeError as e:
        caught = len(str(e)) > 0
    return made.a + made.b, caught, hasattr(made, "c")


@cases(3)
def attribute_of_a_class_with_slots(n):
    made = Slotted(n)
    made.fixed = 3
    return made.a


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self):
        raise NotImplementedError


class Square(Shape):
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side * self.side


@cases(3)
def abstract_classes(n):
    try:
        return Shape().area()
    except TypeError:
        return Square(n).area()


class Vector(NamedTuple):
    x: int
    y: int = 1

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __radd__(self, other):
        return Vector(self.x + other, self.y + other)

    def __neg__(self):
        return self._replace(x=-self.x)

    def __eq__(self, other):
        return self.x == other.x

    def __hash__(self):
        return self.x

    def __contains__(self, item):
        return item == 99

    def __bool__(self):
        return self.x > 0


ORIGIN = Vector(0)


@cases(3, -2)
def operators_of_named_tuples(n):
    a, b = Vector(n), Vector(n, 5)
    found = a + b, 1 + a, -a, a + ORIGIN, a == b, b == ORIGIN, hash(a), 99 in a, n in a, bool(a)
    return found, a < b, a != b, 2 if b else 3


@cases(3)
def named_tuples_of_other_lengths(n):
    found = []
    for fields in ([n], [n, 1], [n, 1, 2]):
        try:
            found.append(Vector._make(fields).y)
        except TypeError:
            found.append(0)
    return found


@cases(3)
def replaces_no_field(n):
    return Vector(n)._replace(z=1)


class Finishing(type):
    """Gives each instance one more attribute."""

    def __call__(cls, *args, **kwargs):
        made = super().__call__(*args, **kwargs)
        made.factor = 2.0
        cls.finish(made)
        return made


class Finished(metaclass=Finishing):
    act = torch.tanh  # a builtin, which is not bound to the object

    def __init__(self, v, w=1):
        self.v = v
        self.w = w

    def finish(self):
        self.sum = self.v + self.w


class FinishedByThree(Finished):
    def __new__(cls, v):
        return object.__new__(cls)

    def __init__(self, v):
        super().__init__(v, w=3)


class Optional(type):
    def __call__(cls, *args):
        return type.__call__(cls, *args) if args else None


class Given(metaclass=Optional):
    def __init__(self, v):
        self.v = v


@cases(torch.ones(2), 3)
def made_by_metaclasses(v):
    first, second = Finished(v), FinishedByThree(v)
    return first.sum * first.factor, second.sum, second.factor, type(second).__name__, Given(v).v, Given()


@cases(torch.ones(2))
def attributes_that_are_not_bound(x):
    made = Finished(x)
    return made.act(x), made.__new__(type(made)).act(x)


def one(x):
    return x


def two(x, y=1, *, k=1):
    return x


@cases(0, 1, 2, 3)
def too_many_arguments(n):
    try:
        if n == 0:
            one(n, n)
        elif n == 1:
            two(n, n, n)
        elif n == 2:
            two(n, n, n, k=n)
        else:
            one()
    except TypeError as e:
        return str(e)
    return n


@cases(torch.ones(2), -torch.ones(2))
def names_of_optional_attributes(x):
    made = Finished(x)
    if x.sum() > 0:
        made.late = x
    return "late" in made.__dict__, "v" in vars(made), [k for k in ("v", "w", "late") if k in made.__dict__]
