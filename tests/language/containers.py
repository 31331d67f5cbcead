"""Objects that are dicts or lists, and classes whose own code makes objects and finds their attributes."""

from __future__ import annotations

from collections import OrderedDict
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from typing import Any

import torch
from torch import Tensor

from language.cases import cases, construct

X = torch.tensor([1.0, 2.0])


class Output(OrderedDict):
    """A dict whose items can be taken by name, position and slice."""

    def __init__(self, **items: Any) -> None:
        super().__init__(**items)
        self.made = 1

    def to_tuple(self) -> tuple[Any, ...]:
        return tuple(self[key] for key in self.keys())  # noqa: SIM118

    def __getitem__(self, key: Any) -> Any:
        return dict(self.items())[key] if isinstance(key, str) else self.to_tuple()[key]


@dataclass
class Fields(OrderedDict):
    """A data class that is the dict of its fields."""

    a: Any = None
    b: Any = None
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for each in fields(self):
            if getattr(self, each.name) is not None and each.name != "log":
                self[each.name] = getattr(self, each.name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("a", "b") and value is not None:
            super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        super().__setattr__(key, value)


class ByPosition(OrderedDict):
    def to_tuple(self) -> tuple[Any, ...]:
        return tuple(self[key] for key in self.keys())  # noqa: SIM118

    def __getitem__(self, key: Any) -> Any:
        return dict(self.items())[key] if isinstance(key, str) else self.to_tuple()[key]

    def __setitem__(self, key: str, value: Any) -> None:
        OrderedDict.__setitem__(self, key, value)
        super().__setattr__(key, value)


class Scales:
    def __init__(self, k: int) -> None:
        self.k = k

    def __call__(self, x: Tensor) -> Tensor:
        return x * self.k


class Chain(list):
    def __call__(self, x: Tensor) -> Tensor:
        for function in self:
            x = function(x)
        return x


class Counted(dict):
    def __missing__(self, key: str) -> int:
        return 0


@cases((X,))
def dict_with_attributes(x: Tensor) -> tuple[Any, ...]:
    out = Output(a=x + 1, b=x * 2)
    out["c"] = x
    del out["a"]
    return out, out["b"] + out[1], out[:1], len(out), "b" in out, "a" in out, out.made, [*out], {**out}, dict(out)


@cases((X,))
def data_class_that_is_a_dict(x: Tensor) -> tuple[Any, ...]:
    made = Fields(x + 1)
    made.b = x * 2
    made["a"] = x
    return made, list(made.keys()), made.get("b"), made.log, isinstance(made, dict), made.a is made["a"]


class Doubles(OrderedDict):
    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value * 2)


@cases((X,))
def methods_of_the_base(x: Tensor) -> tuple[Any, ...]:
    """OrderedDict calls the methods of its subclass; dict and list do not."""
    doubles = Doubles(a=x)
    doubles.update(b=1)
    made = doubles.setdefault("c", 1), doubles.setdefault("a", 5), doubles.pop("b"), doubles.pop("none", 4)
    counted = Counted(a=1)
    missing = counted["a"], counted["b"], counted.get("b", 3), "b" in counted
    return made, missing, doubles.copy(), str(counted), f"{Chain([1, 2])}", doubles


@cases((X, 0), (X, -1), (X, 2))
def item_at_a_run_time_position(x: Tensor, n: int) -> Any:
    """`__getitem__` calls itself, with an object whose items are attributes too."""
    made = ByPosition()
    made["a"], made["b"] = x, (x + 1, n)
    try:
        return made[n], made.a is made["a"]
    except IndexError as error:
        return str(error)


@dataclass
class Counts:
    a: int
    b: int = 2
    c: int = field(default=3, init=False)

    def __post_init__(self) -> None:
        self.total = self.a + self.b


@cases((X, 3), (X, 0))
def fields_replaced(x: Tensor, n: int) -> tuple[Any, ...]:
    """`replace` passes on the fields that `__init__` takes, not what else an object has."""
    made, counts, found = Fields(x, n), Counts(n), []
    counts.more = 5
    for wrong in ({"c": 1}, {"z": 1}):
        try:
            replace(counts, **wrong)
        except (TypeError, ValueError) as error:
            found.append(str(error).partition(".")[2] or str(error))
    return replace(made, b=5), replace(counts, b=4), replace(counts), found


@cases((X, 1), (X, 0))
def data_class_on_paths(x: Tensor, n: int) -> Any:
    made = Fields(x) if n else Fields(x + 1)
    try:
        found = Fields(made.a, Scales(n))
        x.sum().item()
    finally:
        x = x + 1
    return found["a"], found.b.k, found.b is found["b"], x


@cases((X,))
def list_with_code(x: Tensor) -> tuple[Any, ...]:
    chain = Chain([Scales(2)])
    chain.append(Scales(3))
    return chain(x), len(chain), bool(Chain()), Chain([1, 2]) + [3], Chain([1, 2]) == [1, 2], Chain((4, 5))


@cases((X, 1), (X, 0))
def list_in_one_of_two_results(x: Tensor, n: int) -> Any:
    chain = Chain([x])
    if n:
        return x + 1
    return chain, x


@cases((X, 3), (X, 0))
def passed_on_by_name(x: Tensor, n: int) -> tuple[Any, ...]:
    def scaled(x: Tensor, a: int = 1, b: int = 2) -> Tensor:
        return x * a + b

    given: dict[str, int] = {}
    if n:
        given["a"] = n
    chosen = {"a": 5} if n else {"b": 7}
    return scaled(x, **given), scaled(x, **chosen), scaled(x, **Output(a=4)), scaled(x, **Counted(b=1))


@cases((X, 3), (X, 1), (X, 0))
def keys_of_some_paths(x: Tensor, n: int) -> tuple[Any, ...]:
    """The items of a dict to which some paths gave keys are walked in order. A key that is set again stays in its place."""

    def named(a: Tensor | None = None, b: Tensor | None = None, c: int = 1) -> tuple[Any, ...]:
        return 0 if a is None else a, 0 if b is None else b, c

    first: dict[str, Any] = {"z": x}
    if n > 1:
        first["a"] = x + 1
    for i in range(n):
        first["s"] = x * i
    total, chosen = x * 0, {}
    for i, (key, item) in enumerate(first.items()):
        if key != "z":
            chosen[key] = item
        total = total * 3 + item * (i + 1)
    again: dict[str, Any] = {}
    if n:
        again["a"] = x
    again["b"] = x + 1
    again["a"] = None
    other: dict[str, Any] = {}
    if n > 1:
        other["a"], other["b"] = x, x + 1
    else:
        other["b"], other["a"], other["c"] = x + 1, x, x * 2
    for item in other.values():
        total = total * 2 + item
    return total, chosen.get("a"), named(**again), len(first.keys()), other


@cases((X, 3), (X, 0), (X * 2, 3), (X * 2, 0))
def key_set_again(x: Tensor, n: int) -> tuple[Any, ...]:
    given: dict[str, Any] = {}
    if n:
        given["a"] = x
    given["b"] = x + 1
    if x[0] == 1:
        given["a"] = x * 2
    there = "a" in given
    return given, there, given.pop("a"), list(given)


@cases((X, 3), (X, 0))
def given_twice(x: Tensor, n: int) -> tuple[Any, ...]:
    def scaled(x: Tensor, **k: Any) -> Tensor:
        return x * len(k)

    found: list[str] = []
    here = {"a": 1}
    optional: dict[str, int] = {}
    if n:
        optional["a"] = n
    chosen = {"a": 5} if n else {"b": 7}
    try:
        scaled(x, a=2, **here)
    except TypeError as error:
        found.append(str(error))
    try:
        scaled(x, **optional, a=2)
    except TypeError as error:
        found.append(str(error))
    try:
        scaled(x, a=2, **chosen)
    except TypeError as error:
        found.append(str(error))
    try:
        Scales(1)(x, **{"x": 2})
    except TypeError as error:
        found.append(str(error).partition(".")[2])
    return found, scaled(x, **{"**a": 1, "*": 2})


class Named(dict):
    """Attributes are items, by the methods of dict itself."""

    __getattr__ = dict.get
    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__


class Open(dict):
    def __init__(self, **items: Any) -> None:
        dict.__init__(self, **items)

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(name)
        return dict.__getitem__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        if name not in self:
            raise AttributeError(name)
        del self[name]


class Grows(list):
    more = list.extend

    def __init__(self, items: Any) -> None:
        list.__init__(self, items)
        list.append(self, 7)

    def append(self, item: Any) -> None:
        list.append(self, item + 1)


@cases((X, 3), (X, 0))
def items_as_attributes(x: Tensor, n: int) -> tuple[Any, ...]:
    named, opened, grows, found = Named(a=x), Open(a=x), Grows([n]), []
    named.b = opened.b = n
    del named.a, opened.a
    grows.more([n])
    grows.append(n)
    try:
        del opened.a
    except AttributeError as error:
        found.append(str(error))
    if n:
        opened.c = n
    there = hasattr(opened, "c"), getattr(opened, "c", 8), hasattr(named, "z"), named.z
    return named, named.b, opened.b, "a" in opened, there, grows, found


class Made:
    def __new__(cls, a: Tensor, b: int = 2) -> Any:
        self = super().__new__(cls)
        self.c = a + b
        return self

    def __init__(self, a: Tensor, b: int = 2) -> None:
        self.a = a


class MadeElsewhere:
    def __new__(cls, x: Tensor) -> Any:
        return x + 1


@cases((X,))
def makes_itself(x: Tensor) -> tuple[Any, ...]:
    made = Made(x, 3)
    return made.a, made.c, MadeElsewhere(x)


class Renames:
    """Reads and sets one attribute under another name."""

    names = {"hidden": "n_embd"}  # noqa: RUF012

    def __init__(self, n: int) -> None:
        self.n_embd = n

    def __getattribute__(self, key: str) -> Any:
        if key != "names" and key in super().__getattribute__("names"):
            key = super().__getattribute__("names")[key]
        return super().__getattribute__(key)

    def __setattr__(self, key: str, value: Any) -> None:
        super().__setattr__(super().__getattribute__("names").get(key, key), value)


class Invents:
    def __init__(self) -> None:
        self.k = 2

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return name + "!"


class Finds:
    def __getattr__(self, name: str) -> str:
        return name


@cases((X, 3), (X, 0))
def found_where_no_path_set_it(x: Tensor, n: int) -> tuple[Any, ...]:
    finds = Finds()
    if n:
        finds.a = n
    seen = []
    for i in range(n):
        seen.append(finds.b)
        finds.b = str(i)
    return finds.a, getattr(finds, "a", 5), hasattr(finds, "a"), seen


OUTSIDE, INVENTS = Renames(5), Invents()


@cases((X,))
def attributes_found_by_code(x: Tensor) -> tuple[Any, ...]:
    made, invents = Renames(3), Invents()
    made.hidden = 4
    there = hasattr(invents, "zoo"), hasattr(INVENTS, "_z"), getattr(invents, "_q", 4), getattr(OUTSIDE, "none", 7)
    return x + OUTSIDE.hidden, OUTSIDE.n_embd, made.n_embd, made.hidden, invents.foo, INVENTS.bar, invents.k, there


@cases((X,))
def attribute_deleted(x: Tensor) -> tuple[Any, ...]:
    made = Scales(2)
    made.extra = x
    del made.extra
    delattr(made, "k")
    return hasattr(made, "extra"), hasattr(made, "k")


@cases((X, 3), (X, 0))
def attribute_of_some_paths_deleted(x: Tensor, n: int) -> Tensor:
    made = Scales(2)
    if n:
        made.extra = n
    try:
        del made.extra
    except AttributeError:
        return x
    return x + n


COLLECTED: ContextVar[Any] = ContextVar("COLLECTED", default=None)
UNSET: ContextVar[Any] = ContextVar("UNSET")


def note(x: Tensor) -> Tensor:
    found = COLLECTED.get()
    if found is not None:
        found["seen"].append(x)
    return x + 1


@cases((X,))
def context_variable(x: Tensor) -> tuple[Any, ...]:
    x = note(x)
    token = COLLECTED.set({"seen": []})
    try:
        x = note(note(x))
        found = COLLECTED.get()
    finally:
        COLLECTED.reset(token)
    return note(x), found, COLLECTED.get(), UNSET.get(5)


@cases((X,))
def context_variable_not_set(x: Tensor) -> Any:
    return x, UNSET.get()


class Configuration:
    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.names = ["slow", "fast"]


LAYERS = {"slow": Scales, "fast": Scales}
CONFIGURATION = Configuration(2)


@cases((X, 3), (X, 1))
def layers_from_names(x: Tensor, n: int) -> tuple[Any, ...]:
    """The lists hold names, dicts of options and objects with a state, all of which the code chooses by a configuration."""
    names: list[str] = []
    for name in CONFIGURATION.names:
        names.append("fast" if name == "none" else name)
    options: list[dict[str, int]] = []
    for name in names:
        given = {}
        if name == "fast":
            given["k"] = CONFIGURATION.depth
        else:
            given["k"] = 5
        options.append(given)
    layers = [LAYERS[name](**given) for name, given in zip(names, options)]  # noqa: B905
    for _ in range(n):
        for i in range(len(layers)):
            x = layers[i](x)
            layers[i].k += 1
    return x, [layer.k for layer in layers]


construct(
    "Objects and classes", "classes that inherit from `dict`, `OrderedDict` or `list`",
    "made in compiled code, also as data classes, and returned as themselves", dict_with_attributes,
    data_class_that_is_a_dict, data_class_on_paths, list_with_code, list_in_one_of_two_results, passed_on_by_name, given_twice,
    methods_of_the_base,
    item_at_a_run_time_position, fields_replaced,
)  # fmt: skip
construct(
    "Objects and classes", "`__new__`, `__getattribute__`, `__getattr__`, `__setattr__` in Python, `del x.a`", "",
    makes_itself, attributes_found_by_code, attribute_deleted,
    attribute_of_some_paths_deleted, items_as_attributes, found_where_no_path_set_it,
)  # fmt: skip
construct(
    "Objects and classes", "`contextvars.ContextVar`", "set back before the call ends", context_variable,
    context_variable_not_set,
)  # fmt: skip
construct(
    "Dicts and sets", "keys that only some paths gave a dict", "also walked and passed by `**`; three such keys at most",
    keys_of_some_paths, key_set_again,
)  # fmt: skip
@cases((X, 2), (X, 0), (-X, 2), (-X, 0))
def layers_of_some_paths(x: Tensor, n: int) -> tuple[Any, ...]:
    """The length of a list of objects depends on data: the list changes, and is walked, on each path."""
    layers: list[Any] = []
    if (x > 0).any():
        layers.append(Scales(4))
    layers.append(Chain([x, x + 1]))
    layers.insert(0, Scales(n))
    count, last = len(layers), layers.pop()
    for layer in layers:
        x = layer(x)
    return x * len(last), count, len(layers)


construct(
    "Objects and classes", "lists of names, options and layers by which the code chooses functions and classes",
    "whose length may depend on data", layers_from_names, layers_of_some_paths,
)  # fmt: skip
