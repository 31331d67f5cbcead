"""Modules, state, calls and recursion that are refused."""

from __future__ import annotations

import collections
import operator
import threading

import torch

from language.rejected import write

X = torch.arange(3.0)


class Plain(torch.nn.Module):
    """What to write instead, where that is another place for a value."""

    def __init__(self):
        super().__init__()
        self.child = torch.nn.Identity()
        self.weight = torch.nn.Parameter(torch.ones(3))
        self.register_buffer("seen", torch.zeros(3))
        self.held = None


def listed(key, instead, *calls):
    """The same for a class of modules: an instance is compiled."""

    def made(cls):
        write(key, instead, *calls)(cls())
        return cls

    return made


class Chooses(Plain):
    def forward(self, x):
        return self.child(x) if len(x) > 2 else x


@listed("module_replaced", Chooses(), (X,))
class ReplacesAModule(Plain):
    def forward(self, x):
        self.child = None  # refused
        return x


@listed("module_converted", lambda x: torch.ones(3).double() * x, (X,))
class ConvertsAModule(Plain):
    def forward(self, x):
        return self.double().weight * x  # refused


@listed("text_of_parameter", lambda x: str(torch.ones(3)), (X,))
class PrintsAParameter(Plain):
    def forward(self, x):
        return str(self.weight)  # refused


class Static:
    count = 0


class Holds(Plain):
    def forward(self, x):
        self.held = x
        return x


@listed("attribute_of_outside_assigned", Holds(), (X,))
class AssignsToAClass(Plain):
    def forward(self, x):
        Static.count = 1  # refused
        return x


class Plainly(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = torch.nn.RNN(3, 3)
        del self.rnn.weight_hh_l0
        self.weight_hh_l0 = torch.nn.Parameter(torch.ones(3, 3))

    def forward(self, x):
        return x @ self.weight_hh_l0


@listed("own_setattr", Plainly(), (X,))
class AssignsThroughSetattr(Plainly):
    def forward(self, x):
        self.rnn.weight_hh_l0 = self.weight_hh_l0 * 2  # refused
        return x


class Point:
    def __init__(self, x):
        self.x = x


class HoldsATuple(Plain):
    def forward(self, x):
        self.held = (x, 1)
        return x


@listed("made_is_kept", HoldsATuple(), (X,))
class KeepsAnObject(Plain):
    def forward(self, x):
        self.held = Point(x)  # refused
        return x


@listed("kept_structure", HoldsATuple(), (X,))
class KeepsAFunction(Plain):
    def forward(self, x):
        self.held = lambda: x  # refused
        return x


class KeepsOnce(Plain):
    def forward(self, x):
        self.held = {"x": x}
        return x


@listed("object_kept_twice", KeepsOnce(), (X,))
class KeepsTwice(Plain):
    def __init__(self):
        super().__init__()
        self.again = None

    def forward(self, x):
        d = {"x": x}
        self.held = d
        self.again = d  # refused
        return x


@listed("kept_and_returned", KeepsOnce(), (X,))
class KeepsAndReturns(Plain):
    def forward(self, x):  # refused
        d = {"x": x}
        self.held = d
        return d


class Named(Plain):
    def forward(self, x):
        return self.child(x)


class Dynamic(Plain):
    def __getattr__(self, name):
        return super().__getattr__("child" if name == "other" else name)

    def forward(self, x):
        return self.other(x)  # refused


write("own_getattr", Named(), (X,))(Dynamic())


@listed("subscript_of_module", Named(), (X,))
class Subscripts(Plain):
    def __init__(self):
        super().__init__()
        self.many = torch.nn.Sequential(torch.nn.Identity())

    def forward(self, x):
        return self.many["a"](x)  # refused


async def waits(x):
    return x


def called_at_once(x):
    return x


@write("call_of_async", lambda x: called_at_once(x), (X,))
def calls_an_async_function(x):
    return waits(x)  # refused


made = {}
exec("def without_source(x):\n    return x + 1", made)
without_source = made["without_source"]


@write("source_not_found", lambda x: x + 1, (X,))
def calls_without_source(x):
    return without_source(x)  # refused


@write("object_of_other_class", lambda x: x + 1, (X,))
def makes_an_object(x):
    return x + len(torch.Generator().get_state())  # refused


def tree(x, depth):
    if depth <= 0:
        return x
    return tree(x, depth - 1) + tree(x + 1, depth - 1)


@write("recursion_returns", tree, (X, 2))
def returns_itself(x, depth):  # refused
    if depth <= 0:
        return (x for _ in range(depth))
    return returns_itself(x, depth - 1)


def attribute_in_a_global(x):
    return x + 1


@write("attribute_of_function", attribute_in_a_global, (X,))
def attribute_of_a_lambda(x):
    step = lambda: x + 1  # noqa: E731
    return step.size  # refused


class Getter:
    n = property(operator.attrgetter("m"))

    def __init__(self):
        self.m = 1


class Gets(Plain):
    def forward(self, x):
        return x + 1


@listed("property_of_other", Gets(), (X,))
class GetsThroughC(Plain):
    def __init__(self):
        super().__init__()
        self.getter = Getter()

    def forward(self, x):
        return x + self.getter.n  # refused


class ReturnsAlways(Plain):
    def __init__(self):
        super().__init__()
        self.child.register_forward_pre_hook(lambda module, given: (given[0] + 1,) if given[0].sum() > 0 else (given[0],))

    def forward(self, x):
        return self.child(x)


@listed("hook_returns_sometimes", ReturnsAlways(), (X,))
class ReturnsSometimes(Plain):
    def __init__(self):
        super().__init__()
        self.child.register_forward_pre_hook(lambda module, given: (given[0] + 1,) if given[0].sum() > 0 else None)

    def forward(self, x):
        return self.child(x)  # refused


class BufferOfTensors(Plain):
    def forward(self, x):
        self.seen = x if len(x) > 2 else x * 0
        return x


@listed("buffer_of_other", BufferOfTensors(), (X,))
class BufferOfNumbers(Plain):
    def forward(self, x):
        self.seen = x if len(x) > 2 else 0.5  # refused
        return x


def passes_numbers(d, n):
    return d["a"] if n <= 0 else d["a"] + n


@write("recursion_with_structure", passes_numbers, ({"a": 1}, 3))
def passes_a_dict(d, n):
    if n <= 0:
        return d["a"]
    return passes_a_dict(d, n - 1) + 1  # refused


@write("recursion_with_object_twice", tree, (X, 2))
def passes_twice(x, depth):
    p = Point(x)
    return both_points(p, p, depth)


def both_points(p, q, depth):
    if depth <= 0:
        return p.x + q.x
    return both_points(p, q, depth - 1)  # refused


@write("too_long_to_unroll", lambda x: x.sum(0), (X,))
def long_loop(x):
    for i in range(5000):  # refused
        x = x.unsqueeze(0).sum(i * 0)
    return x


class GetsThroughAMethod(Plain):
    def __init__(self):
        super().__init__()
        self.step = torch.nn.functional.relu

    def forward(self, x):
        self.step = None
        return x


@listed("attribute_behind_del", GetsThroughAMethod(), (X,))
class UncoversAMethod(Plain):
    def __init__(self):
        super().__init__()
        self.step = torch.nn.functional.relu

    def step(self, x):
        return x

    def forward(self, x):
        del self.step
        return self.step(x)  # refused


class AssignsABuffer(Plain):
    def forward(self, x):
        self.seen = x + 0
        return x


@listed("dict_changed", AssignsABuffer(), (X,))
class AssignsAmongBuffers(Plain):
    def forward(self, x):
        self._buffers["seen"] = x + 0  # refused
        return x


class WritesIntoAParameter(Plain):
    def forward(self, x):
        self.weight.copy_(x)
        return x


@listed("parameter_replaced", WritesIntoAParameter(), (X,))
class ReplacesAParameter(Plain):
    def forward(self, x):
        self.weight = x  # refused
        return x


def noted_everywhere():
    return torch.nn.modules.module.register_module_forward_hook(lambda module, given, made: None)


@write("hooks_on_all_modules", Named(), (X,), around=noted_everywhere)
def calls_under_hooks(x):
    return FOLLOWED(x)  # refused


FOLLOWED = torch.nn.Identity()


class KeepsADeque(Plain):
    def __init__(self):
        super().__init__()
        self.recent = collections.deque([torch.zeros(3)], maxlen=3)

    def forward(self, x):
        self.recent.append(x + 0)
        return x


@listed("queue_of_kinds", KeepsADeque(), (X,))
class KeepsADequeOfKinds(KeepsADeque):
    def __init__(self):
        super().__init__()
        self.recent.append(1)

    def forward(self, x):
        self.recent.append(x + 0)  # refused
        return x


@listed("queue_out_of_reach", KeepsADeque(), (X,))
class KeepsADequeInItsClass(Plain):
    recent = collections.deque([torch.zeros(3)], maxlen=3)

    def forward(self, x):
        self.recent.append(x + 0)  # refused
        return x


class Unwritten:
    """Has no text of its own."""


KINDS = [Unwritten()]


@write("content_unguarded", lambda x: x * 2, (X,))
def attribute_of_a_thread(x):
    return x * THREAD.factor  # refused


THREAD = threading.local()
THREAD.factor = 2


@write("content_too_large", lambda x: x * float(LARGE[0]), (X,))
def item_of_a_large_array(x):
    return x * LARGE_BYTES[0]  # refused


LARGE_BYTES = bytearray(5000)
LARGE = torch.zeros(5000)


@write("text_of_address", lambda x: (x, "KINDS"), (X,))
def text_of_an_object(x):
    return x, f"{KINDS}"  # refused


def writes_an_item(n):
    NAMED["b"] = n
    return len(NAMED)


@write("special_method_of_builtin", writes_an_item, (1,), (2,))
def calls_what_an_assignment_stands_for(n):
    dict.__setitem__(NAMED, "b", n)  # refused
    return len(NAMED)


NAMED = {"a": 1}


# ---- builds ahead of time ----
def kept_ahead(key, instead, *calls):
    """The same for a build ahead of time."""

    def made(cls):
        write(key, instead, *calls, ahead=True)(cls())
        return cls

    return made


class KeepsATensor(Plain):
    def forward(self, x, n):
        self.held = x + n
        return x


@kept_ahead("state_of_many_kinds", KeepsATensor(), (X, 1))
class KeepsEverDeeper(Plain):
    def forward(self, x, n):
        self.held = (self.held, n)  # refused
        return x


@kept_ahead("state_of_structure", KeepsATensor(), (X, 1))
class KeepsAFunctionAhead(Plain):
    def forward(self, x, n):
        self.held = lambda: x + n  # refused
        return x


class KeepsPairsOfLists(Plain):
    def __init__(self):
        super().__init__()
        self.keys, self.items = [1], [torch.zeros(3)]

    def forward(self, x, n):
        key = n * n
        if key in self.keys:
            self.items[self.keys.index(key)] = x
        else:
            self.keys.append(key)
            self.items.append(x)
        return x


@kept_ahead("state_of_structure", KeepsPairsOfLists(), (X, 1), (X, 2))
class KeepsADictAhead(Plain):
    def __init__(self):
        super().__init__()
        self.kept = {1: torch.zeros(3)}

    def forward(self, x, n):
        self.kept = {**self.kept, n * n: x}  # refused
        return x


class KeepsNumbers(Plain):
    def __init__(self):
        super().__init__()
        self.held = [1, 2]

    def forward(self, x, n):
        self.held = [n]
        return x


@kept_ahead("state_of_two_kinds", KeepsNumbers(), (X, 1))
class KeepsNumbersOrTexts(KeepsNumbers):
    def forward(self, x, n):
        if n > 0:
            self.held = ["a"]  # refused
        return x


class WritesABuffer(Plain):
    def forward(self, x):
        self.seen.add_(x)
        return x


@kept_ahead("written_tensor_of_no_attribute", WritesABuffer(), (X,))
class WritesAnOldBuffer(Plain):
    def __init__(self):
        super().__init__()
        self.pair = (self.seen, torch.ones(3))

    def forward(self, x):
        self.seen = self.seen + x
        self.pair[0].add_(x)  # refused
        return x


class Remembers(torch.nn.Module):
    def forward(self, x):
        self.last = x  # refused
        return x * 2


@write("object_of_other_class", lambda x: x * 2, (X,))
def makes_a_module_that_is_assigned_to(x):
    return Remembers()(x)


class Wrapped(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)


linear = torch.nn.Linear(3, 3)


@write("module_made_here", lambda x: x + len(list(linear.named_buffers())), (X,))
def asks_a_module_that_is_made_here(x):
    return x + len(list(Wrapped(linear).named_buffers()))  # refused
