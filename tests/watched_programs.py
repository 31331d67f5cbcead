"""Programs that read something outside their arguments, and what is done to it between two calls."""

# ruff: noqa: E731, B006, B008
from __future__ import annotations

import array
import builtins
import dataclasses
import enum
import functools
import math
import os
import weakref
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict
from types import MappingProxyType, SimpleNamespace

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn


class Slots:
    __slots__ = ("a",)

    def __init__(self):
        self.a = 2.0


class Plain:
    k = 3.0

    def __init__(self):
        self.a = 2.0

    def m(self, x):
        return x * self.a

    @property
    def p(self):
        return self.a + 1


class Other(Plain):
    k = 7.0

    def m(self, x):
        return x - 1


class WithProperty(Plain):
    a = property(lambda self: 9.0, lambda self, value: None)


@dataclasses.dataclass
class Data:
    a: float = 2.0
    b: list = dataclasses.field(default_factory=lambda: [1.0, 2.0])


class Color(enum.Enum):
    R = 1.5
    G = 2.5


class Meta(type):
    gain = 2.0


class WithMeta(metaclass=Meta):
    pass


class Base1:
    def f(self, x):
        return x + 1


class Base2:
    def f(self, x):
        return x + 2


class Derived(Base1):
    pass


def deco(f):
    @functools.wraps(f)
    def w(*a, **k):
        return f(*a, **k) + 1

    return w


arr = lambda: np.array([2.0, 3.0])

# What makes an object, the program that gets a tensor and the object, and the change.
OBJECTS = {
    "np item float": (arr, lambda x, v: x * float(v[0]), lambda v: v.__setitem__(0, 50)),
    "np 0d": (lambda: np.array(2.0), lambda x, v: x * float(v), lambda v: v.fill(50)),
    "np 0d item": (lambda: np.array(2.0), lambda x, v: x * v.item(), lambda v: v.fill(50)),
    "np slice": (arr, lambda x, v: x * float(v[1:][0]), lambda v: v.__setitem__(1, 50)),
    "np tolist": (arr, lambda x, v: x * v.tolist()[0], lambda v: v.__setitem__(0, 50)),
    "np raw item": (arr, lambda x, v: x * v[0], lambda v: v.__setitem__(0, 50)),
    "np len": (lambda: [np.zeros(2)], lambda x, v: x * len(v[0]), lambda v: v.__setitem__(0, np.zeros(3))),
    "np resized": (lambda: np.zeros(2), lambda x, v: x * len(v), lambda v: v.resize(3, refcheck=False)),
    "np shape": (lambda: np.zeros((2, 3)), lambda x, v: x * v.shape[0], lambda v: setattr(v, "shape", (3, 2))),
    "np mul": (arr, lambda x, v: x * float((v * 2)[0]), lambda v: v.__setitem__(0, 50)),
    "np if": (arr, lambda x, v: x * 2 if v[0] > 2 else x, lambda v: v.__setitem__(0, 50)),
    "np in": (arr, lambda x, v: x * 2 if 50 in v else x, lambda v: v.__setitem__(0, 50)),
    "UserDict": (lambda: UserDict(a=2.0), lambda x, v: x * v["a"], lambda v: v.__setitem__("a", 50.0)),
    "UserList": (lambda: UserList([2.0]), lambda x, v: x * v[0], lambda v: v.__setitem__(0, 50.0)),
    "ChainMap": (lambda: ChainMap({"a": 2.0}), lambda x, v: x * v["a"], lambda v: v.__setitem__("a", 50.0)),
    "ChainMap inner": (lambda: ChainMap({}, {"a": 2.0}), lambda x, v: x * v["a"], lambda v: v.__setitem__("a", 50.0)),
    "dict keys view": (
        lambda: (lambda d: SimpleNamespace(d=d, view=d.keys()))({"a": 2.0}),
        lambda x, v: x * len(v.view),
        lambda v: v.d.__setitem__("b", 50.0),
    ),
    "dict keys iter": (
        lambda: (lambda d: SimpleNamespace(d=d, view=d.keys()))({"a": 2.0}),
        lambda x, v: x * len([k for k in v.view]),
        lambda v: v.d.__setitem__("b", 50.0),
    ),
    "mapping proxy": (
        lambda: (lambda d: SimpleNamespace(d=d, p=MappingProxyType(d)))({"a": 2.0}),
        lambda x, v: x * v.p["a"],
        lambda v: v.d.__setitem__("a", 50.0),
    ),
    "mapping proxy iter": (
        lambda: (lambda d: SimpleNamespace(d=d, p=MappingProxyType(d)))({"a": 2.0}),
        lambda x, v: x * len([k for k in v.p]),
        lambda v: v.d.__setitem__("b", 50.0),
    ),
    "mapping proxy get": (
        lambda: (lambda d: SimpleNamespace(d=d, p=MappingProxyType(d)))({"a": 2.0}),
        lambda x, v: x * v.p.get("a"),
        lambda v: v.d.__setitem__("a", 50.0),
    ),
    "memoryview": (
        lambda: (lambda b: SimpleNamespace(b=b, m=memoryview(b)))(bytearray([2, 3])),
        lambda x, v: x * v.m[0],
        lambda v: v.b.__setitem__(0, 50),
    ),
    "bytearray": (lambda: bytearray([2, 3]), lambda x, v: x * v[0], lambda v: v.__setitem__(0, 50)),
    "bytearray len": (lambda: bytearray([2, 3]), lambda x, v: x * len(v), lambda v: v.append(50)),
    "array.array": (lambda: array.array("d", [2.0]), lambda x, v: x * v[0], lambda v: v.__setitem__(0, 50)),
    "namespace": (lambda: SimpleNamespace(a=2.0), lambda x, v: x * v.a, lambda v: setattr(v, "a", 50.0)),
    "set in": (lambda: {1, 2}, lambda x, v: x * 2 if 7 in v else x, lambda v: v.add(7)),
    "set len": (lambda: {1, 2}, lambda x, v: x * len(v), lambda v: v.add(7)),
    "set iter": (lambda: {1, 2}, lambda x, v: x * sum([i for i in v]), lambda v: v.add(7)),
    "set union": (lambda: {1, 2}, lambda x, v: x * len(v | {9}), lambda v: v.add(7)),
    "set truth": (lambda: {1}, lambda x, v: x * 2 if v else x, lambda v: v.clear()),
    "set eq": (lambda: {1}, lambda x, v: x * 2 if v == {1} else x, lambda v: v.clear()),
    "Counter": (lambda: Counter("aab"), lambda x, v: x * v["a"], lambda v: v.update("aaa")),
    "Counter most": (lambda: Counter("aab"), lambda x, v: x * v.most_common(1)[0][1], lambda v: v.update("aaa")),
    "OrderedDict": (lambda: OrderedDict(a=2.0, b=3.0), lambda x, v: x * list(v.values())[0], lambda v: v.move_to_end("a")),
    "defaultdict": (lambda: defaultdict(float, a=2.0), lambda x, v: x * v["a"], lambda v: v.__setitem__("a", 50.0)),
    "defaultdict factory": (
        lambda: defaultdict(lambda: 2.0),
        lambda x, v: x * v.get("q", 1.0),
        lambda v: v.__setitem__("q", 5.0),
    ),
    "dict len": (lambda: {"a": 2.0}, lambda x, v: x * len(v), lambda v: v.__setitem__("b", 50.0)),
    "dict truth": (lambda: {"a": 2.0}, lambda x, v: x * 2 if v else x, lambda v: v.clear()),
    "dict eq": (lambda: {"a": 2.0}, lambda x, v: x * 2 if v == {"a": 2.0} else x, lambda v: v.__setitem__("b", 50.0)),
    "dict in": (lambda: {"a": 2.0}, lambda x, v: x * 2 if "b" in v else x, lambda v: v.__setitem__("b", 50.0)),
    "dict items": (lambda: {"a": 2.0}, lambda x, v: x * sum([b for a, b in v.items()]), lambda v: v.__setitem__("a", 50.0)),
    "dict get": (lambda: {"a": 2.0}, lambda x, v: x * v.get("a", 1.0), lambda v: v.__setitem__("a", 50.0)),
    "dict copy": (lambda: {"a": 2.0}, lambda x, v: x * dict(v)["a"], lambda v: v.__setitem__("a", 50.0)),
    "dict **": (lambda: {"alpha": 2.0}, lambda x, v: torch.add(x, x, **v), lambda v: v.__setitem__("alpha", 50.0)),
    "list *": (lambda: [2.0, 1.0], lambda x, v: x * max(*v), lambda v: v.__setitem__(0, 50.0)),
    "list max": (lambda: [2.0, 1.0], lambda x, v: x * max(v), lambda v: v.__setitem__(0, 50.0)),
    "list sum": (lambda: [2.0, 1.0], lambda x, v: x * sum(v), lambda v: v.__setitem__(0, 50.0)),
    "list eq": (lambda: [2.0, 1.0], lambda x, v: x * 2 if v == [2.0, 1.0] else x, lambda v: v.__setitem__(0, 50.0)),
    "list in": (lambda: [2.0, 1.0], lambda x, v: x * 2 if 50.0 in v else x, lambda v: v.__setitem__(0, 50.0)),
    "list truth": (lambda: [2.0], lambda x, v: x * 2 if v else x, lambda v: v.clear()),
    "list index": (lambda: [2, 1], lambda x, v: x * v.index(1), lambda v: v.insert(0, 50)),
    "list count": (lambda: [2, 1], lambda x, v: x * v.count(1), lambda v: v.insert(0, 1)),
    "list mul": (lambda: [2, 1], lambda x, v: x * (v * 2)[0], lambda v: v.insert(0, 50)),
    "list str": (lambda: [2, 1], lambda x, v: x * len(str(v)), lambda v: v.insert(0, 50)),
    "list lt": (lambda: [2, 1], lambda x, v: x * 2 if v < [3] else x, lambda v: v.insert(0, 50)),
    "list sorted": (lambda: [2, 1], lambda x, v: x * sorted(v)[0], lambda v: v.insert(0, -50)),
    "list tuple": (lambda: [2, 1], lambda x, v: x * tuple(v)[0], lambda v: v.insert(0, -50)),
    "list join": (lambda: ["a", "b"], lambda x, v: x * len("".join(v)), lambda v: v.insert(0, "ccc")),
    "list tensor": (lambda: [2.0, 1.0, 3.0], lambda x, v: x * torch.tensor(v), lambda v: v.__setitem__(0, -50.0)),
    "list reshape": (lambda: [2, 3], lambda x, v: x.reshape(v), lambda v: v.reverse()),
    "list format": (lambda: [2, 3], lambda x, v: x * len(f"{v}"), lambda v: v.append(3)),
    "list in tuple": (lambda: ([2.0],), lambda x, v: x * v[0][0], lambda v: v[0].__setitem__(0, 50.0)),
    "list in tuple eq": (lambda: ([2.0],), lambda x, v: x * 2 if v == ([2.0],) else x, lambda v: v[0].__setitem__(0, 50.0)),
    "list in tuple str": (lambda: ([2.0],), lambda x, v: x * len(str(v)), lambda v: v[0].append(50.0)),
    "nested list eq": (lambda: [[2.0]], lambda x, v: x * 2 if v == [[2.0]] else x, lambda v: v[0].__setitem__(0, 50.0)),
    "nested list str": (lambda: [[2.0]], lambda x, v: x * len(str(v)), lambda v: v[0].append(50.0)),
    "nested list in": (lambda: [[2.0]], lambda x, v: x * 2 if [2.0] in v else x, lambda v: v[0].append(50.0)),
    "nested dict eq": (lambda: {"a": [2.0]}, lambda x, v: x * 2 if v == {"a": [2.0]} else x, lambda v: v["a"].append(50.0)),
    "nested list tensor": (
        lambda: [[2.0, 1.0, 3.0]],
        lambda x, v: x * torch.tensor(v),
        lambda v: v[0].__setitem__(0, -50.0),
    ),
    "list of tuple of list": (lambda: [([2.0],)], lambda x, v: x * v[0][0][0], lambda v: v[0][0].__setitem__(0, 50.0)),
    "list slice": (lambda: [2.0, 1.0], lambda x, v: x * v[0:1][0], lambda v: v.__setitem__(0, 50.0)),
    "dataclass": (Data, lambda x, v: x * v.a, lambda v: setattr(v, "a", 50.0)),
    "dataclass list": (Data, lambda x, v: x * v.b[0], lambda v: v.b.__setitem__(0, 50.0)),
    "dataclass eq": (Data, lambda x, v: x * 2 if v == Data() else x, lambda v: setattr(v, "a", 50.0)),
    "dataclass repr": (Data, lambda x, v: x * len(repr(v)), lambda v: setattr(v, "a", 5000.0)),
    "dataclass fields": (Data, lambda x, v: x * dataclasses.asdict(v)["a"], lambda v: setattr(v, "a", 5000.0)),
    "enum value": (lambda: Color, lambda x, v: x * v.R.value, lambda v: setattr(v.R, "_value_", 50.0)),
    "partial keywords": (
        lambda: functools.partial(lambda x, a: x * a, a=2.0),
        lambda x, v: v(x),
        lambda v: v.keywords.__setitem__("a", 50.0),
    ),
    "partial setstate": (
        lambda: functools.partial(lambda x, a: x * a, a=2.0),
        lambda x, v: v(x),
        lambda v: v.__setstate__((v.func, (), {"a": 50.0}, {})),
    ),
    "class attr": (lambda: Plain, lambda x, v: x * v.k, lambda v: setattr(v, "k", 50.0)),
    "metaclass attr": (lambda: WithMeta, lambda x, v: x * v.gain, lambda v: setattr(Meta, "gain", 50.0)),
    "property replaced": (Plain, lambda x, v: x * v.p, lambda v: setattr(type(v), "p", property(lambda self: 9.0))),
    "method replaced": (Plain, lambda x, v: v.m(x), lambda v: setattr(type(v), "m", lambda self, x: x * 9)),
    "method shadowed": (Plain, lambda x, v: v.m(x), lambda v: setattr(v, "m", lambda x: x * 9)),
    "__class__": (Plain, lambda x, v: v.m(x), lambda v: setattr(v, "__class__", Other)),
    "__class__ attr": (Plain, lambda x, v: x * v.k, lambda v: setattr(v, "__class__", Other)),
    "__class__ isinstance": (
        Plain,
        lambda x, v: x * 2 if isinstance(v, Other) else x,
        lambda v: setattr(v, "__class__", Other),
    ),
    "__class__ type": (Plain, lambda x, v: x * 2 if type(v) is Other else x, lambda v: setattr(v, "__class__", Other)),
    "__class__ own attr": (
        Plain,
        lambda x, v: x * v.a,
        lambda v: setattr(v, "__class__", WithProperty),
    ),
    "__dict__ replaced": (Plain, lambda x, v: x * v.a, lambda v: setattr(v, "__dict__", {"a": 50.0})),
    "__bases__": (Derived, lambda x, v: v.f(x), lambda v: setattr(type(v), "__bases__", (Base2,))),
    "slots": (Slots, lambda x, v: x * v.a, lambda v: setattr(v, "a", 50.0)),
    "__code__": (
        lambda: (lambda x: x * 2),
        lambda x, v: v(x),
        lambda v: setattr(v, "__code__", (lambda x: x * 50).__code__),
    ),
    "__defaults__": (lambda: (lambda x, k=2.0: x * k), lambda x, v: v(x), lambda v: setattr(v, "__defaults__", (50.0,))),
    "__kwdefaults__": (
        lambda: (lambda x, *, k=2.0: x * k),
        lambda x, v: v(x),
        lambda v: setattr(v, "__kwdefaults__", {"k": 50.0}),
    ),
    "__kwdefaults__ item": (
        lambda: (lambda x, *, k=2.0: x * k),
        lambda x, v: v(x),
        lambda v: v.__kwdefaults__.__setitem__("k", 50.0),
    ),
    "wrapper code": (
        lambda: deco(lambda x: x * 2),
        lambda x, v: v(x),
        lambda v: setattr(v.__wrapped__, "__code__", (lambda x: x * 50).__code__),
    ),
    "method code": (Plain, lambda x, v: v.m(x), lambda v: setattr(type(v).m, "__code__", (lambda self, x: x * 50).__code__)),
    "property code": (
        Plain,
        lambda x, v: x * v.p,
        lambda v: setattr(type(v).p.fget, "__code__", (lambda self: 70.0).__code__),
    ),
    "function attr": (
        lambda: deco(lambda x: x),
        lambda x, v: x * v.k if hasattr(v, "k") else x,
        lambda v: setattr(v, "k", 3.0),
    ),
    "hasattr object": (Plain, lambda x, v: x * 2 if hasattr(v, "zz") else x, lambda v: setattr(v, "zz", 3.0)),
    "hasattr class": (Plain, lambda x, v: x * 2 if hasattr(v, "zq") else x, lambda v: setattr(type(v), "zq", 3.0)),
    "hasattr gone": (Plain, lambda x, v: x * 2 if hasattr(v, "a") else x, lambda v: delattr(v, "a")),
    "getattr default": (Plain, lambda x, v: x * getattr(v, "za", 2.0), lambda v: setattr(v, "za", 3.0)),
    "vars": (Plain, lambda x, v: x * vars(v)["a"], lambda v: setattr(v, "a", 50.0)),
    "__dict__": (Plain, lambda x, v: x * v.__dict__["a"], lambda v: setattr(v, "a", 50.0)),
    "lru": (
        lambda: functools.lru_cache(lambda k: k * 2.0),
        lambda x, v: x * v(2),
        lambda v: setattr(v.__wrapped__, "__code__", (lambda k: 99.0).__code__),
    ),
    "environ": (
        lambda: os.environ,
        lambda x, v: x * len(v.get("SCRIPTC_TEST_OF_GUARDS", "")),
        lambda v: v.__setitem__("SCRIPTC_TEST_OF_GUARDS", "abc"),
    ),
    "environ in": (
        lambda: os.environ,
        lambda x, v: x * 2 if "SCRIPTC_TEST_OF_GUARDS" in v else x,
        lambda v: v.__setitem__("SCRIPTC_TEST_OF_GUARDS", "abc"),
    ),
    "getenv": (
        lambda: os,
        lambda x, v: x * len(v.getenv("SCRIPTC_TEST_OF_GUARDS", "")),
        lambda v: v.environ.__setitem__("SCRIPTC_TEST_OF_GUARDS", "abc"),
    ),
    "weakref": (
        lambda: (lambda kept: SimpleNamespace(kept=kept, ref=weakref.ref(kept[0])))([Plain()]),
        lambda x, v: x * 2 if v.ref() is None else x,
        lambda v: v.kept.clear(),
    ),
    "getcwd": (lambda: 1, lambda x, v: x * len(os.getcwd()), lambda v: os.chdir("/")),
    "mkldnn": (
        lambda: 1,
        lambda x, v: x * 2 if torch.backends.mkldnn.enabled else x,
        lambda v: torch._C._set_mkldnn_enabled(False),
    ),
    "deterministic": (
        lambda: 1,
        lambda x, v: x * 2 if torch.are_deterministic_algorithms_enabled() else x,
        lambda v: torch.use_deterministic_algorithms(True),
    ),
}

# The same of what belongs to torch and Python.
LIBRARIES = {
    "linear.forward": (lambda: nn.Linear(3, 3), lambda x, v: v(x - .5), lambda v: setattr(v, "forward", lambda x: x * 50)),
    "nn.ReLU.forward": (nn.ReLU, lambda x, v: v(x - .5), lambda v: setattr(nn.ReLU, "forward", lambda self, x: x * 50)),
    "nn.Linear.forward code": (
        lambda: nn.Linear(3, 3),
        lambda x, v: v(x - .5),
        lambda v: setattr(nn.Linear.forward, "__code__", (lambda self, x: x * 50).__code__),
    ),
    "torch.tanh": (lambda: 1, lambda x, v: torch.tanh(x), lambda v: setattr(torch, "tanh", lambda x: x * 50)),
    "torch.tanh in nn.Tanh": (nn.Tanh, lambda x, v: v(x), lambda v: setattr(torch, "tanh", lambda x: x * 50)),
    "F.relu": (lambda: 1, lambda x, v: F.relu(x), lambda v: setattr(F, "relu", lambda x: x * 50)),
    "torch.relu in F.relu": (lambda: 1, lambda x, v: F.relu(x), lambda v: setattr(torch, "relu", lambda x: x * 50)),
    "F.linear in nn.Linear": (
        lambda: nn.Linear(3, 3),
        lambda x, v: v(x),
        lambda v: setattr(F, "linear", lambda x, w, b: x * 50),
    ),
    "Tensor.relu": (lambda: 1, lambda x, v: x.relu(), lambda v: setattr(torch.Tensor, "relu", lambda x: x * 50)),
    "Tensor.__mul__": (lambda: 1, lambda x, v: x * x, lambda v: setattr(torch.Tensor, "__mul__", lambda x, y: x + 50)),
    "Tensor attr": (lambda: 1, lambda x, v: x * 2 if hasattr(x, "zz") else x, lambda v: setattr(torch.Tensor, "zz", 5)),
    "Tensor.new": (
        lambda: 1,
        lambda x, v: x.zap() if hasattr(x, "zap") else x,
        lambda v: setattr(torch.Tensor, "zap", lambda self: self * 5),
    ),
    "math.sqrt": (lambda: 4.0, lambda x, v: x * math.sqrt(v), lambda v: setattr(math, "sqrt", lambda k: 50.0)),
    "math.pi": (lambda: 4.0, lambda x, v: x * math.pi, lambda v: setattr(math, "pi", 50.0)),
    "builtins.abs": (lambda: 4.0, lambda x, v: x * abs(v), lambda v: setattr(builtins, "abs", lambda x: 50.0)),
    "Module.__call__": (nn.ReLU, lambda x, v: v(x - .5), lambda v: setattr(nn.Module, "__call__", lambda self, x: x * 50)),
    "Module._call_impl": (
        nn.ReLU,
        lambda x, v: v(x - .5),
        lambda v: setattr(nn.Module, "_call_impl", lambda self, x: x * 50),
    ),
    "_parameters replaced": (
        lambda: nn.Linear(3, 3),
        lambda x, v: v(x),
        lambda v: v.__dict__.__setitem__("_parameters", {"weight": nn.Parameter(torch.ones(3, 3)), "bias": None}),
    ),
    "_modules replaced": (
        lambda: nn.Sequential(nn.ReLU()),
        lambda x, v: v(x),
        lambda v: v.__dict__.__setitem__("_modules", {"0": nn.Tanh()}),
    ),
    "torch.float32": (lambda: 2.0, lambda x, v: x.to(torch.float64), lambda v: setattr(torch, "float64", torch.float32)),
    "Module.__call__ around": (
        lambda: (lambda own: lambda self, x: own(self, x) * 50)(nn.Module.__call__),
        lambda x, v: nn.functional.relu(RELU(x - 0.5)),
        lambda v: setattr(nn.Module, "__call__", v),
    ),
    "torch.tanh around": (
        lambda: (lambda own: lambda x: own(x) * 50)(torch.tanh),
        lambda x, v: torch.tanh(x),
        lambda v: setattr(torch, "tanh", v),
    ),
    "torch.clamp below hardtanh": (lambda: 1, lambda x, v: F.hardtanh(x * 9), lambda v: setattr(torch, "clamp", None)),
    "Tensor.norm below F.normalize": (
        lambda: 1,
        lambda x, v: F.normalize(x),
        lambda v: setattr(torch.Tensor, "norm", lambda self, *a, **k: self.abs()),
    ),
    "below a function that is known as a whole": (
        lambda: 1,
        lambda x, v: torch.meshgrid(x[0], x[0], indexing="ij")[0],
        lambda v: setattr(torch.functional, "_meshgrid", lambda *tensors, indexing: [tensors[0] * 50]),
    ),
    "torch.tanh is another": (lambda: 1, lambda x, v: torch.tanh(x), lambda v: setattr(torch, "tanh", torch.sigmoid)),
    "Tensor.tanh is another": (
        lambda: 1,
        lambda x, v: x.tanh(),
        lambda v: setattr(torch.Tensor, "tanh", torch.Tensor.sigmoid),
    ),
    "act.forward": (nn.ReLU, lambda x, v: v(x - 0.5), lambda v: setattr(v, "forward", lambda x: x * 50)),
    "act.forward in a module": (
        lambda: nn.Sequential(nn.ReLU()),
        lambda x, v: v(x - 0.5),
        lambda v: setattr(v[0], "forward", lambda x: x * 50),
    ),
}

RELU = nn.ReLU()
