"""Strings that are made at run time."""

# ruff: noqa: UP018, UP031, UP032

from __future__ import annotations

import operator
import posixpath
from collections import namedtuple
from typing import NamedTuple

import torch

from language.cases import cases, construct

TEXT = "Hello, wörld! foo_2 = 3.5e-1 'ß'"
TEXTS = (
    TEXT,
    "",
    " ",
    "ǆΑΣ ΣΑΣ. İstanbul",
    "日本語 \U0001f34e\t一二\n",
    "a\r\nb\x85c\u2028",
    "ALL CAPS",
    "Title Case",
    "x",
)


@cases(*TEXTS)
def tokenized(text):
    words = []
    word = ""
    for c in text:
        if c.isalnum() or c == "_":
            word += c
            continue
        if word:
            words.append(word)
        word = ""
        if not c.isspace():
            words.append(c)
    if word:
        words.append(word)
    return words, len(words)


@cases(*TEXTS)
def state_machine(text):
    """Strings between quotes, numbers, names; a text is put together piece by piece."""
    out = []
    state = "start"
    piece = ""
    for i, c in enumerate(text + "\n"):
        if state == "string":
            piece += c
            if c == "'":
                out.append(("string", piece, i))
                state = "start"
        elif state == "number" and (c.isdigit() or c in ".e-"):
            piece += c
        elif state == "name" and (c.isalpha() or "0" <= c <= "9" or c == "_"):
            piece = piece + c
        else:
            if state != "start":
                out.append((state, piece, i))
            piece = c
            if c == "'":
                state = "string"
            elif c.isdigit():
                state = "number"
            elif c.isalpha():
                state = "name"
            else:
                state = "start"
    return out, state, piece


@cases(("abcdef", 0, 4, 1), ("abcdef", -1, -5, -2), ("aβ\U0001f34ed", 5, 0, -1), ("abc", -9, 9, 2), ("abc", 0, 3, 0))
def slices(s, a, b, step):
    return s[a:b], s[:b], s[a:], s[::-1], s[::2], s[1:-1], s[a:b:step], len(s[a:])


@cases(("abc", 0), ("abc", -3), ("aβ\U0001f34e", 2), ("abc", 3), ("", -1))
def index(s, i):
    return s[i], ord(s[i]), s[i] * 2


@cases(("abc", "abd"), ("abc", "abc"), ("", "a"), ("aβ", "aα"), ("\U0001f34e", "\uffff"), ("a", "ab"))
def comparisons(a, b):
    return a == b, a != b, a < b, a <= b, a > b, a >= b, a in b, b in a, a == 1, min(a, b), max(a, b)


@cases(("ab", 3), ("", 2), ("aβ", 0), ("x", -1))
def operators(s, n):
    t = s
    for _ in range(n):
        t += "-"
        t += s
    u = s * n + n * s + (s if n else "none")
    return t, u, s + s, s + "!" + u, bool(s), not s


@cases(("a,b,,c", ","), ("  a  b ", " "), ("aXXbXXc", "XX"), ("", ","), ("abc", ""), ("ß—ß", "—"))
def splits(s, sep):
    return (
        s.split(), s.rsplit(), s.split(None, 1), s.rsplit(maxsplit=1), s.splitlines(), s.splitlines(True),
        s.split(sep), s.rsplit(sep), s.split(sep, 1), s.rsplit(sep, 1), s.partition(sep), s.rpartition(sep),
    )  # fmt: skip


@cases(*TEXTS)
def cases_of_letters(s):
    return s.upper(), s.lower(), s.title(), s.capitalize(), s.swapcase(), s.casefold()


@cases(*TEXTS, "١٢", "½", "²", "_a1", "1a")
def tests(s):
    return (
        s.isalnum(), s.isalpha(), s.isascii(), s.isdecimal(), s.isdigit(), s.isidentifier(), s.islower(), s.isnumeric(),
        s.isprintable(), s.isspace(), s.istitle(), s.isupper(), [c.isalnum() for c in s], [c.isprintable() for c in s],
        [c.isupper() or c.islower() for c in s],
    )  # fmt: skip


@cases(("abcabc", "bc"), ("abc", ""), ("", ""), ("aβaβ", "β"), ("abc", "x"))
def searches(s, sub):
    return (
        s.find(sub), s.rfind(sub), s.count(sub), s.find(sub, 2), s.find(sub, -2, None), s.rfind(sub, 0, 3), s.count(sub, 1, -1),
        s.startswith(sub), s.endswith(sub), s.startswith(sub, 1), s.endswith((sub, "c")), s.startswith(("x", "ab"), 3),
        s.replace(sub, "<>"), s.replace(sub, "", 1), s.removeprefix(sub), s.removesuffix(sub),
    )  # fmt: skip


@cases(("abcabc", "bc"), ("abc", "x"), ("abc", ""))
def index_of(s, sub):
    return s.index(sub), s.rindex(sub)


@cases(("ab", 7, "*"), ("abc", 2, "-"), ("-5", 5, "β"), ("+x", 6, "0"), ("abc", 8, "no"), ("a\tbc\t\nd\te", 4, "x"))
def padded(s, width, fill):
    return s.zfill(width), s.expandtabs(), s.expandtabs(width), s.center(width), s.ljust(width), s.rjust(width), \
        s.center(width, fill), s.ljust(width, fill), s.rjust(width, fill)  # fmt: skip


@cases("  ab ", "xxabxx", "\t\n\u2003ab\x1c", "", "   ")
def stripped(s):
    return s.strip(), s.lstrip(), s.rstrip(), s.strip("x "), s.lstrip("ax"), s.rstrip("xb"), s.strip(None)


@cases(97, 0, 0x1F34E, 0x10FFFF, -1, 0x110000, 3, 200)
def characters(n):
    return chr(n), ord(chr(n)), hex(n), oct(n), bin(n), repr(chr(n)), ascii(chr(n))


@cases("a", "ab", "")
def ord_of_any(s):
    return ord(s)


@cases("12", " -7 ", "+0", "1_000", "٣", "x", "", "1.5", "0x1f", "9223372036854775808", "-9223372036854775808", "1__0")
def ints(s):
    return int(s), int(s) + 1


@cases(("ff", 16), ("0x1F", 16), ("0b101", 0), ("z", 36), ("12", 2), ("012", 0), ("-0o17", 0), ("0_7", 0), ("1", 1))
def ints_of_bases(s, base):
    return int(s, base)


@cases(
    "1.5", " -.5e3 ", "inf", "-Infinity", "nan", "1_0.0_1", "٣.٥", "1e400", "x", "", "0x1p3", "1e", ".", "1._5", "1 2"
)
def floats(s):
    return float(s)


@cases(
    (0, 0.0, True), (-5, 1e16, False), (2**62, 1.5e-7, True), (42, 5e-324, True), (7, 0.1 + 0.2, False), (1, 1e22, True)
)
def texts_of_values(n, x, b):
    return (
        str(n),
        str(x),
        str(b),
        repr(x),
        str((n, x)),
        str([n, n]),
        f"{n} {x} {b}",
        str(None),
        str("a'b"),
        repr([str(n), "'"]),
    )


@cases((0, 0.0), (-1234567, 1234567.891), (255, -0.00012345), (99, float("inf")), (5, float("nan")), (3, 2.5))
def formats(n, x):
    return (
        f"{n:5}|{n:<5}|{n:^7}|{n:>+8}|{n:05}|{n:,}|{n:_}|{n:x}|{n:#X}|{n:#b}|{n:o}|{n:010,}|{n:*^12d}|{n: d}",
        f"{x:.3f}|{x:10.2f}|{x:<10.1f}|{x:+.2e}|{x:g}|{x:,.2f}|{x:%}|{x:.1%}|{x:010.3f}|{x:.4}|{x:E}|{x:12}|{x:#.0f}|{x:.3G}",
        f"{n:.2f}|{n:e}|{n:c}" if 0 < n < 300 else "",
        "{:>{}}|{!r:>8}|{x:.{p}f}".format(n, 8, n, x=x, p=2),
        "%d|%5d|%-5d|%05d|%+d|%x|%s|%r|%.2f|%8.3e|%%|%g|%5s|%-5s|" % (n, n, n, n, n, abs(n), n, x, x, x, x, n, n),
        format(n, ","), format(x, ".2f"),
    )  # fmt: skip


@cases("ab", "β", "a'b", "")
def formats_of_texts(s):
    return (
        f"{s:5}|{s:>5}|{s:^5}|{s:*<6}|{s:.1}|{s!r}|{s!a}|{s!s:>4}",
        "%s %r %10s" % (s, s, s),
        "{0}{0}".format(s),
        f"{s:{'>7'}}",
    )


@cases((5, "d"), (5, "x"), (5, ">6"), (5, "s"), (5, ".2"), (5, "zz"), (5, ""))
def formats_made_at_run_time(n, spec):
    wanted = "" + spec * 1
    return format(n, wanted)


@cases(1.5, 2.0)
def bad_format_of_float(x):
    return f"{x:d}"


@cases(["b", "a", "c", "a"], [], ["β"])
def lists_of_texts(xs):
    ys = sorted(xs)
    zs = sorted(xs, key=lambda s: len(s), reverse=True)
    xs.append("new")
    xs.sort(reverse=True)
    n = xs.index("new")
    return (
        ys,
        zs,
        xs,
        n,
        "a" in xs,
        ",".join(xs),
        xs.count("a"),
        [x + "!" for x in xs],
        ", ".join(x.upper() for x in xs),
        str(ys),
    )


@cases(["b", "a"], [])
def text_of_list(xs):
    return str(xs), f"{xs}", [repr(x) for x in xs], "".join(reversed(xs))


@cases(("key=value;x=1", 3), ("", 0))
def pairs_of_texts(text, n):
    pairs = []
    for part in text.split(";"):
        name, _, value = part.partition("=")
        pairs.append((name, value, n))
    pairs.sort()
    return pairs, [name for name, _, _ in pairs]


@cases((1, "x"), (0, "y"), (-1, "z"))
def one_of_several(n, other):
    s = "pos" if n > 0 else "zero" if n == 0 else other
    t = None if n == 0 else s
    if t is not None and t != "pos":
        t = t + "!"
    return s, s + other, len(s), t, s.upper()


@cases(0, 3, 12)
def grown_from_known(n):
    s = ""
    for i in range(n):
        s += "a" if i % 2 else "b"
    return s


@cases("fast", "slow", "none")
def chosen_by_argument(mode):
    if mode == "fast":
        return 1
    if mode in ("slow", "slower"):
        return 2.5
    return None


@cases(("abc", 1), ("abc", 7))
def raised(s, n):
    if n > 5:
        raise ValueError("bad " + s + f" at {n}")
    assert len(s) > n + 1 or n == 1, s
    return s


@cases("a", "missing")
def raised_key(name):
    names = [name + "1", "a1"]
    if name + "1" != "a1":
        raise KeyError(names[0])
    return names


@cases(("abc", "b"), ("β\U0001f34e", "\U0001f34e"), ("", ""))
def printed(s, t):
    print(s, t, sep="-" + t)
    print(f"{s}:{len(s)}")
    return s


@cases(torch.arange(6.0).view(2, 3), torch.tensor(2.5), torch.zeros(0, 2), torch.tensor([True, False]))
def texts_of_tensors(x):
    print("x is", x)
    try:
        formatted = f"{x:.3f}"
    except TypeError as e:
        formatted = str(e)
    return str(x), f"{x} {x[:1]!r}" if x.dim() else f"{x}", formatted, f"{[x, x.sum()]}"


@cases(0, 1, 3)
def texts_of_containers(n):
    squares = {}
    odd = set()
    for i in range(n):
        squares[i] = [i * i]
        odd.add(2 * i + 1)
    return str(squares), f"{odd}", str(range(n)), f"{range(1, n, 2)!r}"


class Item(NamedTuple):
    name: str
    price: float = 1.5


class Spoken(NamedTuple):
    n: int

    def __str__(self):
        return f"[{self.n}]"


Pair = namedtuple("Pair", "x y")


@cases(0, 1, 3)
def texts_of_named_tuples(n):
    items = [Item(str(i), i / 2) for i in range(n)]
    best = max(items, key=lambda item: item.price, default=None)
    return f"{items} {best}", f"{Spoken(n)} {Spoken(n)!r}", str(Pair(n, (1, "a"))), "%s" % {"k": Pair(None, Item("b"))}


@cases("one two  two three", "")
def word_counts(text):
    names = []
    counts = []
    for word in text.split():
        if word in names:
            counts[names.index(word)] += 1
        else:
            names.append(word)
            counts.append(1)
    return names, counts, max(names, default="")


@cases("abc", "")
def unpacked(s):
    first = s[:1]
    letters = list(s.split("b"))
    for i, c in enumerate(reversed(s)):
        first += c * i
    for a, b in zip(s, s[1:], strict=False):
        first += b + a
    return first, letters, list(s), any(c == "c" for c in s), [ord(c) for c in s]


@cases("ab", "xyz")
def bad_operand(s):
    if len(s) == 2:
        return s + 1
    return s.no_such


@cases(["ab", "c"])
def bad_join(xs):
    return "-".join([len(x) for x in xs])


class Eighths:
    def __init__(self, n):
        self.n = n

    def __int__(self):
        return self.n // 8

    def __float__(self):
        return self.n / 8

    def __index__(self):
        return self.n


def text_or_error(template, value):
    try:
        return template % value
    except (TypeError, OverflowError) as e:
        return type(e).__name__


@cases((torch.tensor(3), 20), (torch.tensor([1.5]), 0), (torch.tensor([1, 2]), 1), (torch.tensor(True), 2))
def numbers_of_tensors_and_objects_in_percents(t, n):
    texts = [text_or_error("%d", Eighths(n)), text_or_error("%x", Eighths(n)), text_or_error("%5.2f", Eighths(n))]
    return texts, text_or_error("%x", t), text_or_error("%d", [n]), "%d %.1f" % (t, t) if t.numel() == 1 else ""  # noqa: UP031


@cases(torch.tensor(2), torch.tensor(2.5), torch.tensor([1]), torch.tensor([1, 2]))
def tensors_as_indices_of_python(t):
    found = []
    for way in range(5):
        try:
            ways = (lambda: [5, 6, 7][t], lambda: hex(t), lambda: len(range(t)), lambda: chr(t), lambda: operator.index(t))
            found.append(str(ways[way]()))
        except TypeError as e:
            found.append(type(e).__name__)
    return found


@cases(0.1, -0.0, 1e-310, float("inf"), float("nan"))
def hex_of_floats(x):
    return x.hex(), float.hex(x * 3), (2.5).hex()


construct("Numbers", "`f.hex()`", "", hex_of_floats)


@cases(("a", "b/../c.txt"), ("a/", "/x"), ("", ""), ("..//d", ".e"))
def paths(a, b):
    whole = posixpath.join(a, b)
    return whole, posixpath.split(whole), posixpath.splitext(whole), posixpath.basename(whole), posixpath.dirname(whole)


construct("Strings and logging", "`os.path.join`, `split`, `splitext`, `basename`, `dirname`", "", paths)
