"""Lists, dicts, sets, strings, objects and numbers that are refused."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import logging
from typing import Any

import torch

from language.rejected import write

X = torch.arange(3.0)
SEEN = {1, 2}


@dataclasses.dataclass(frozen=True)
class Frozen:
    n: int


@dataclasses.dataclass
class Pair:
    a: Any
    b: Any


def changed_by_replace(n):
    return dataclasses.replace(Frozen(n), n=n + 1).n


@write("frozen", changed_by_replace, (3,))
def assigns_to_frozen(n):
    made = Frozen(n)
    made.n = n + 1  # refused
    return made.n


PAIR = Pair(1, 2)


def made_inside(n):
    return dataclasses.replace(Pair(1, 2), a=n).a


@write("replace_of_outside", made_inside, (3,))
def replaces_outside(n):
    return dataclasses.replace(PAIR, a=n).a  # refused


@write("int_of_more_than_64_bits", lambda n: n + 2.0**63, (3,))
def huge(n):
    return n + 2**63  # refused


def counts_a_table(table, key):
    table[key] = 2.0
    return len(table)


@write("double_star_of_other", counts_a_table, ({"a": 1.0}, "b"))
def stars_a_table(table, key):
    table[key] = 2.0
    return len(dict(**table))  # refused


def copied(xs):
    ys = [float(x) for x in xs]
    ys.append(0.5)
    return ys


@write("iterator_walked_again", lambda xs: (sum(q * q for q in xs), [q * q for q in xs][-1]), ([1, 2],))
def walks_a_generator_twice(xs):
    squares = (q * q for q in xs)
    return sum(squares), max(squares)  # refused


def pairs_of_what_is_left(n, xs, ys):
    pairs = [] if n > 1 else [*zip(ys, xs, strict=False)]
    if n > 1:
        pairs = [*zip(xs, ys, strict=False)]
    return len(pairs)


@write("iterator_walked_again", pairs_of_what_is_left, (0, [1, 2], [3]))
def walks_again_what_one_path_has_walked(n, xs, ys):
    if n > 1:
        pairs = zip(xs, ys, strict=False)
        n -= len(list(pairs))
    else:
        pairs = zip(ys, xs, strict=False)
    return len(list(pairs))  # refused


CALLS = [0]


@functools.lru_cache
def counts_its_calls(name):
    CALLS[0] += len(name)


def changes_outside(n):
    CALLS[0] += 1
    return n


@write("memoized_change", changes_outside, (7,))
def changes_once(n):
    counts_its_calls("a")  # refused
    return n


@functools.lru_cache
def remembered(n):
    return n if n < 2 else remembered(n - 1) + remembered(n - 2)


def filled_in_a_loop(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


@write("memoized_recursion", filled_in_a_loop, (7,))
def remembers_results(n):
    return remembered(n)  # refused


@write("set_of_items", lambda n: len({n, n}), (3,), (0,))
def counts_items_of_two_kinds(n):
    v = n if n > 1 else "a"
    return len({v, v})  # refused


@write("argument_list_of_other", copied, ([1, 2],))
def appends_another_type(xs):
    xs.append(0.5)  # refused
    return xs


def counter():
    count = 0

    def more():
        nonlocal count
        count += 1  # refused
        return count

    return more


@write("function_as_value", lambda n: 1, (1,), (0,))
def chosen_counter(n):
    more = counter() if n else counter()
    return more()


@write("length_unknown", lambda xs: max(xs), ([1, 2, 3],))
def stars_a_list(xs):
    return max(0, *xs)  # refused


@write("len_of_other", lambda xs: sum(1 for x in xs if x > 1), ([1, 2, 3],))
def len_of_a_zip(xs, strict=False):
    return len(zip(xs, xs, strict=False))  # refused


@write("class_unknown", lambda n: isinstance(n, int), (3,))
def type_of_a_partial(n):
    return type(functools.partial(max, n)) is int  # refused


@write("builtin_function", lambda n: n + 1, (3,))
def evaluates(n):
    return eval("n + 1")  # refused


@write("builtin_function", lambda x: x + 1, (X,))
def sets_threads(x):
    torch.set_num_threads(1)  # refused
    return x + 1


@write("builtin_function", lambda n: n, (3,))
def names_of_the_frame(n):
    return locals()["n"]  # refused


@write("copy_of_other", lambda x: x.clone(), (X,))
def copies(x):
    return copy.copy(x)  # refused


def own_set(n):
    s = set(SEEN)
    s.add(n)
    return s


@write("container_outside_changed", own_set, (3,))
def changes_a_set_outside(n):
    SEEN.add(n)  # refused
    return n


def empty_first(keys, n):
    d = {}
    d[0] = 1
    for k in keys:
        d[k] = n
    return d


@write("dict_gets_run_time_keys", empty_first, ([1, 2], 3))
def updates_known_keys(keys, n):
    d = {0: 1, "a": torch.ones(1), "b": None}
    d.update({k: n for k in keys})  # refused
    return len(d)


def tuples_of_numbers(n):
    s = set()
    for i in range(n):
        s.add((i, i))
    return len(s)


@write("key_of_other", tuples_of_numbers, (3,))
def functions_in_a_set(n):
    s = set()
    for i in range(n):
        s.add(Frozen(i))  # refused
    return len(s)


def key_by_item(x):
    d = {1: 2}
    return d.get(int(x[1].item()))


@write("tensor_as_key", key_by_item, (X,))
def key_by_tensor(x):
    d = {i: i for i in range(len(x))}
    return d.get(x[1])  # refused


def sorted_set(xs):
    return "".join(sorted(set(xs)))


@write("order_of_set", sorted_set, (["b", "a"],))
def walks_a_set_of_strings(xs):
    text = ""
    for x in set(xs):  # refused
        text += x
    return text


def repeats_numbers(n):
    return len((n, n) * 600)


@write("repeated_too_often", repeats_numbers, (2,))
def repeats_kinds(n):
    return len((n, "a") * 600)  # refused


@write("format_of_other", lambda x, spec: f"{x.sum().item():{spec}}", (X, ".2f"))
def formats_a_tensor(x, spec):
    return f"{x:{spec}}"  # refused


@write("field_of_format", lambda n: f"{n}", (3,))
def formats_an_item(n):
    template = "{0[0]}"
    return template.format((n,))  # refused


@write("text_of_other", lambda n: f"{n}+1j", (3,))
def text_of_a_complex_number(n):
    return str(complex(n, 1))  # refused


@write("method_of_builtin", lambda s: len(s), ("abc",), ("d",), ("e",), ("f",), ("g",))
def encodes(s):
    return len((s + "").encode())  # refused


@write("identity_unknown", lambda n, m: n == m, (1000, 1000))
def identity_of_numbers(n, m):
    return n is m  # refused


@write("operator_on_others", lambda n: n + len([1]), (3,))
def adds_a_function(n):
    return n + (lambda: 1)  # refused


@write("double_star_of_other", lambda n: dict(a=n), (3,))
def stars_a_number(n):
    return dict(**n)  # refused


class Box:
    def __init__(self, x):
        self.x = x


@write("iteration_over_one_of_several", lambda xs, n: sum(set(xs)) if n > 1 else n, ([1, 2], 1), ([1, 2], 2))
def walks_one_of_several(xs, n):
    found = 0
    for x in set(xs) if n > 1 else (n,):  # refused
        found += x
    return found


@write("iteration_over_outside", lambda n: [97 + n, 98 + n], (1,))
def walks_bytes(n):
    return [b + n for b in b"ab"]  # refused


@write("subscript_of_other", lambda x: [x, x][0], (X,))
def indexes_a_zip(x, strict=False):
    return zip(x, x, strict=False)[0]  # refused


LAYERS = torch.nn.ModuleList([torch.nn.Identity()])


@write("item_assigned", lambda n: [n, n], (1,))
def assigns_to_layers(n):
    LAYERS[0] = LAYERS[0]  # refused
    return n


@write("item_deleted", lambda n: [n], (1,))
def deletes_of_layers(n):
    del LAYERS[0]  # refused
    return n


@write("attribute_assigned", lambda x: Box(x).x, (X,))
def assigns_to_a_tensor(x):
    x.tag = 1  # refused
    return x


def numbers_alone(n):
    found = []
    for i in range(n):
        found.append(i + 1)
    return found


@write("functions_in_list", numbers_alone, (3,))
def lists_of_functions(n):
    found = []
    for i in range(n):
        found.append(lambda i=i: i + 1)  # refused
    return [f() for f in found]


@write("list_of_other_length", lambda x: numbers_alone(int(x.sum())), (torch.ones(3),))
def lists_of_dtypes(x):
    found = []
    for i in range(int(x.sum())):
        found.append(torch.float64 if i else torch.float32)  # refused
    return [torch.ones(1, dtype=d) for d in found]


@write("list_of_kinds_of_caller", lambda xs: [xs[0], xs[1], 2], ([1, X],))
def appends_to_the_callers(xs):
    xs.append(2)  # refused
    return xs


def with_a_copy(n):
    held = {"a": n}
    return Held(held), dict(held)


class Held:
    def __init__(self, by_name):
        self.by_name = by_name


@write("returned_twice", with_a_copy, (3,))
def returns_twice(n):
    held = {"a": n}
    return Held(held), held  # refused


@write("returns_differ", lambda n: n + 1, (3,))
def returns_a_function(n):  # refused
    return lambda: n + 1


@write("call_of_other", lambda xs: len(xs), ([1],))
def calls_a_zip(xs):
    return zip(xs, xs, strict=False)(1)  # refused


def names_of_dtypes(n):
    kinds = {}
    for i in range(n):
        kinds[i] = "float64"
    return kinds[0]


@write("no_run_time_value", names_of_dtypes, (2,), (1,))
def table_of_dtypes(n):
    kinds = {}
    for i in range(n):
        kinds[i] = torch.float64  # refused
    return kinds[0]


@write("hash_of_other", lambda s, n: hash((len(s), n)), ("a", 2))
def hash_of_text(s, n):
    return hash((s, n))  # refused


def sorted_beside(n):
    xs = [n - i for i in range(n)]
    return [xs[:-1], sorted(xs)]


@write("list_of_other_length", lambda x: sorted_beside(int(x.sum())), (torch.ones(3),))
def a_list_of_lists_like_itself(x):
    n = int(x.sum())
    xs = [n - i for i in range(n)]  # refused
    xs[-1] = sorted(xs)
    return xs


@write("list_of_known_items_used", lambda x: x.permute(1, 0) if x.size(0) > x.size(1) else x, (torch.ones(3, 2),))
def permuted_by_sizes(x):
    sizes = x.shape
    order = sorted(range(len(sizes)), key=lambda d: sizes[d])  # refused
    return x.permute(order)


UNNAMED = logging.Logger("unnamed", logging.DEBUG)


@write("logger_without_name", lambda x: x, (torch.ones(1),))
def told_to_a_logger_without_name(x):
    UNNAMED.info("%s", x.shape)  # refused
    return x


@contextlib.contextmanager
def without_handlers():
    kept, logging.root.handlers = logging.root.handlers, []
    try:
        yield
    finally:
        logging.root.handlers = kept


@write("logging_set_up", lambda x: x, (torch.ones(1),), around=without_handlers)
def told_before_logging_is_set_up(x):
    logging.info("%s", x.shape)  # refused
    return x
