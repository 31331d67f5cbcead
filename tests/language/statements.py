"""Statements."""

from __future__ import annotations

import torch

from language.cases import cases, construct
from language.rejected import from_text, write

X = torch.arange(6.0).reshape(2, 3)
LIMIT = 3


@cases(0, 1, 5, 12)
def walrus(n):
    total = 0
    while (m := n - total) > 3:
        total += 2
    if (k := total * 2) > 4 and (j := k + 1) > 0:
        return m, k, j
    return m, k


@cases(0, 1, 7)
def walrus_in_comprehension(n):
    return [y for x in range(n) if (y := x * 2) % 3]


@cases(0, 1, 2, 3, 9)
def match_literals(n):
    match n:
        case 0:
            return 10
        case 1 | 2:
            r = 20
        case k if k > 5:
            r = k
        case _:
            r = -1
    return r + 1


@cases((1, 2), (0, 5), (7, 0), (0, 0), (-1, -1))
def match_sequences(a, b):
    match (a, b):
        case (0, 0):
            return 0
        case (0, y):
            return y
        case (x, 0):
            return x * 100
        case (x, y) if x == y:
            return -x
        case _:
            return 5


@cases([1], [1, 2], [1, 2, 3, 4], [], [9, 9, 9])
def match_lists(xs):
    match xs:
        case []:
            return 0, 0
        case [x]:
            return x, 1
        case [9, *rest]:
            return len(rest), 2
        case [x, *middle, y]:
            return x + y, len(middle)


@cases("a", "b", "c")
def match_strings(mode):
    match mode:
        case "a":
            return 1
        case "b" | "bb":
            return 2
    return 3


@cases(1, 2.5, True, (X,), None)
def match_classes(v):
    match v:
        case bool():
            return "bool"
        case int(n):
            return n + 1
        case float():
            return "float"
        case torch.Tensor():
            return v.sum()
        case None:
            return None


@cases(list("abca"), list("aa"), list("ac"), list("c"), [])
def match_counts(words):
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    match counts:
        case {"a": n, "b": m}:
            return n * 10 + m
        case {"a": 2}:
            return 2
        case {"a": n}:
            return -n
        case {}:
            return len(counts)


SIZES = {"wide": 3, "high": (1, 2)}


@cases((1, X), (2, X))
def match_dicts(n, x):
    match {"a": n, "b": x}:
        case {"c": _}:
            return 1
        case {"a": 1, "b": y}:
            return y + 1
    match (n, x):
        case {"a": _}:
            return 2
    match SIZES:
        case {"wide": w, "high": (_, h)}:
            return x * w + h


@cases(list("abca"), list("ab"), list("ca"), [])
def match_rest_of_counts(words):
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    match counts:
        case {"a": n, "b": m, **rest}:
            rest["d"] = n + m
            return rest, counts
        case {**others}:
            return others, {}


@cases((1, X), (2, X), (3, X))
def match_rest(n, x):
    match {"a": n, "b": x, "c": 2}:
        case {"a": 1, "b": y, **rest}:
            return rest, y
        case {"a": 2, "d": _, **rest} | {"a": 2, **rest}:
            return len(rest), rest["b"]
    match SIZES:
        case {"wide": w, **rest}:
            return rest["high"], x * w


construct(
    "Statements", "`match`", "literals, `\\|`, sequences with `*`, captures, classes, guards, dicts with `**`",
    match_literals, match_sequences, match_lists, match_strings, match_classes, match_counts, match_dicts,
    match_rest_of_counts, match_rest,
)  # fmt: skip


@cases(3, -3, 0)
def annotations(n):
    x: int
    y: float = 2.0
    if n > 0:
        x = n
    else:
        x = -n
    return x * y


@cases((7, 2), (-7, 2), (7, 0))
def augmented(a, b):
    a //= b
    a %= 5
    a **= 2
    a <<= 1
    a |= 1
    return a


@cases((X, X.T), (X, X))
def augmented_matmul(a, b):
    a = a.clone()
    a = a @ b
    a @= b
    return a


@cases(0, 2, 5)
def global_read(n):
    global LIMIT
    return n + LIMIT


@cases(0, 1, 4)
def nonlocal_counter(n):
    count = 0
    last = None

    def bump(k):
        nonlocal count, last
        count += k
        last = k
        return count

    for i in range(n):
        if i % 2:
            bump(i)
        else:
            bump(10)
    return count, last


@cases((X, 0), (X, 3))
def nonlocal_tensor(x, n):
    h = torch.zeros(3)

    def step(row):
        nonlocal h
        h = torch.tanh(h + row)

    for _ in range(n):
        for i in range(x.shape[0]):
            step(x[i])
    return h


@cases(1, 5)
def closures_see_later_values(n):
    k = 1
    f = lambda x: x + k  # noqa: E731
    k = n
    return f(10)


@cases(0, 3)
def deletions(n):
    x = n
    d = {"a": 1, "b": n}
    del d["a"]
    if n > 1:
        del x
    return x, d


@cases(0, 3, 8)
def for_else(n):
    for i in range(n):
        if i * i > 20:
            r = i
            break
    else:
        r = -1
    return r


@cases(0, 3, 8)
def while_else(n):
    i = 0
    while i < n:
        if i == 5:
            break
        i += 1
    else:
        i = 100
    return i


@cases((0, 5, 9), (3, 5, 9), (6, 5, 9), (6, 50, 9))
def chained_comparison(a, b, c):
    return a < b < c, 0 <= a < 5 > b, a == a == b


@cases((2, X), (0, X))
def conditional_types(n, x):
    y = x if n else n
    return y + 1


@cases([1, 2, 3], [4, 5])
def starred_targets(xs):
    a, *b = (xs[0], xs[1], 7)
    *c, d = [a, 1, 2]
    (e, (f, *g)) = (1, (2, 3, 4))
    return a, b, c, d, e, f, g


@cases((), 1, (1, 2))
def calls_without_arguments(*rest, k=2, **named):
    return rest, k, len(named)


@cases(1, 2)
def starred_calls(n):
    def f(a, b=2, *rest, c, d=4, **more):
        return a, b, rest, c, d, more

    pair = (n, n + 1)
    options = {"c": n, "e": 5}
    return f(*pair, **options), f(1, c=3), f(*pair, *pair, c=0, d=n), f(1, *[2, 3], **{"c": 1}, z=n)


@cases(0, 1, 5)
def unbound_on_a_path(n):
    if n > 2:
        y = n
    elif n == 1:
        y = -1
    return y


@cases(0, 4)
def rebinding_to_another_type(n):
    x = n
    x = torch.full((2,), float(x))
    x = (x, n)
    return x


@cases((X, True), (X, False))
@torch.no_grad()
def decorated(x, flag):
    with torch.no_grad():
        y = x * 2 if flag else x
    return y + 1


@cases(1, 3)
def assertions(n):
    assert n > 1, f"n is {n}"
    assert n
    return n


@cases(-1, 0, 1, 2)
def raising(n):
    if n < 0:
        raise ValueError(f"negative: {n}")
    if n == 0:
        raise IndexError
    if n == 1:
        raise RuntimeError("one")
    return n


@cases(0, 1, 5)
def nonlocal_behind_joins(n):
    count = 0

    def step(k):
        nonlocal count
        if k > 2:
            count += 1
        for _ in range(k):
            count += 10
        return count

    return step(n) + step(n + 1), count


@cases(0, 2, 5)
def functions_made_before_an_error(n):
    try:
        for i in range(n):

            def plus(k):
                return k + i  # noqa: B023

            if i == 2:
                raise ValueError
    except ValueError:
        return plus(n)
    return -n


# Functions made in comprehensions see what their variables were bound to last.
@cases(3, 0)
def made_in_comprehensions(n):
    lasts = [lambda: i for i in range(3)]  # noqa: B023
    each = [lambda i=i: i + n for i in range(3)]
    named = {k: (lambda x: x * v) for k, v in (("a", 1), ("b", n))}  # noqa: B023
    pairs = [lambda y: (i, j, y) for i in (1, 2) for j in range(i)]  # noqa: B023
    drawn = list(f() for f in ((lambda: q) for q in (1, 2)))  # noqa: B023, C400
    return [f() for f in lasts], [g() for g in each], named["a"](2), pairs[0](n), drawn


@cases((X, 1), (X, 0))
def made_on_one_path(x, n):
    if n > 0:
        late = [lambda: t * 2 for t in (x + 1, x + 2)]  # noqa: B023
        shifted = lambda a, k=x + 1, *, m=x * 2: a + k + m  # noqa: E731
        mixed = [x + 1, abs]
    else:
        return x
    return late[0](), shifted(x), mixed[1](mixed[0])


def adder(k):
    def add(a):
        return a + k

    return add


def adder_or_not(x, n):
    k = x
    if n > 0:
        k = x + 1
        return lambda a: a + k
    k = x * 7
    return lambda a: a - k


def counting(x, n):
    count = 0

    def more():
        nonlocal count
        count += n + 1
        return x * count

    return more if n else (lambda: more() + more())


def tables(x):
    return {"add": lambda a: a + x, "mul": lambda a: a * x}, [lambda a: a - x]


class Holder:
    def __init__(self, x):
        self.function = lambda a: a + x

    def twice(self):
        return lambda a: self.function(a) * 2


@cases((X, 1), (X, 0))
def functions_that_functions_return(x, n):
    chosen = adder(x + 1) if n else adder(x * 2)
    for _ in range(n + 1):
        chosen = adder(chosen(x))
    more = counting(x, n)
    return chosen(x), adder_or_not(x, n)(x), more(), more()


def composed(*functions):
    def run(x):
        for function in functions:
            x = function(x)
        return x

    return run


def returned_by_recursion(x, depth):
    if depth <= 0:
        return lambda: x
    return returned_by_recursion(x + 1, depth - 1)


# A function of one source that calls another of it does not call itself.
@cases((X, 1), (X, 0))
def functions_of_one_source_call_each_other(x, n):
    def step(f, k):
        return lambda a: f(a) + k

    chain = abs
    for k in (1, 2, n):
        chain = step(chain, k)
    def product(m, then):
        return then(1) if m == 0 else product(m - 1, lambda v: then(m * v))

    once = composed(adder(x), adder(x * 2), lambda t: t * n)
    return chain(x), composed(once, once)(x), returned_by_recursion(x, n)(), product(3, lambda v: v + n)


@cases((X, 1), (X, 0))
def parameters_that_functions_have(x, n):
    def scaled(t, /, by=n, *, more=2):
        return t * by * more

    def counts(f):
        code = f.__code__
        return code.co_argcount - len(f.__defaults__ or ()), code.co_posonlyargcount, code.co_kwonlyargcount, f.__name__

    known = hasattr(scaled, "__code__"), scaled is functions_that_objects_keep
    return counts(scaled), counts(lambda a, b: a), scaled.__defaults__, known, scaled(x)


@cases((X, 1), (X, 0))
def functions_that_objects_keep(x, n):
    by_name, in_list = tables(x + 2) if n else tables(x * 3)
    held = Holder(x + 2) if n else Holder(x * 3)
    return by_name["add"](x), by_name["mul"](x), in_list[0](x), held.function(x), held.twice()(x)


OUTSIDE = {"half": lambda a: a / 2, "abs": abs}


@cases((2, ["+", "*"]), (3, []), (1, ["?", "+"]), (-4, ["half", "abs"]))
def functions_by_keys_of_run_time(x, names):
    ops = {"+": lambda a: a + 1, "*": lambda a: a * 3}
    for name in names:
        x = ops.get(name, lambda a: -a)(x)
        x = OUTSIDE[name](x) if name in OUTSIDE else x
    known = [ops[name](x) for name in names if name in ops]
    return x, known, [ops[name](x) for name in names]


@cases(0, 1, 2, 3)
def arguments_that_are_missing(way):
    def takes(a, *, d, e, f):
        return a

    try:
        if way == 0:
            return takes(1)
        return takes(d=1, e=2) if way == 1 else takes(1, e=1, d=2) if way == 2 else (lambda x, y, z: x)()
    except TypeError as e:
        return str(e)


# ---- kinds of statements and expressions that are refused: the program of a kind that is read from now on becomes a case ----


def doubled(x):
    return x * 2


@write("async_function", doubled, (X,))
def awaits(x):
    async def inner():  # refused
        return x * 2

    return inner


class Point:
    def __init__(self, x):
        self.x = x


def class_outside(x):
    return Point(x).x + 1


@write("class_inside", class_outside, (X,))
def class_inside(x):
    class Inner:  # refused
        pass

    return x + 1


def chooses_by_if(n):
    try:
        return 1 // n
    except ZeroDivisionError:
        return 0


from_text("except_star", "excepts_a_group", """
def excepts_a_group(n):
    try:  # refused
        return 1 // n
    except* ZeroDivisionError:
        n = 3
    return n
""", chooses_by_if, (1,), (0,))

from_text("type_statement", "names_a_type", """
def names_a_type(n):
    type Number = int  # refused
    return n
""", doubled, (1,))
