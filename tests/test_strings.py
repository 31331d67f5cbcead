"""Strings of compiled code against Python's own: methods over random Unicode, formats over random specs, tables, memory."""

from __future__ import annotations

import gc
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from language import strings
from three_ways import assert_same, call, compiled, eager

import scriptc
from scriptc.runtime.bridge import live_objects

# Letters whose cases are several characters, or depend on what stands beside them; spaces, digits and line ends of all kinds.
ODD = (
    "ßŉǰΐև\ufb01ΣςσİıǅǆᾳᾼῼΆά\u0345\u0301'’·ªⅷⓐ\u2160\u00b5ÿĀÅ\u1c88\u10d0\U00010428\U0001f34e\u2028\x85\x1c\u3000\t\r\n"
    "٣۹²½一日\xad\ud800\uffff"
)
TEXTS = st.text(st.one_of(st.sampled_from(ODD + "abAB1 ._-,"), st.characters(exclude_categories=())), max_size=12)
X = torch.arange(6.0).reshape(2, 3)
SPECS = st.from_regex(r"([*ß0]?[<>=^])?[-+ ]?#?0?[0-9]{0,2}[,_]?(\.[0-9]{1,2})?[bcdeEfFgGnosxX%]?", fullmatch=True)


@cache
def made(function: Callable[..., Any]) -> Any:
    return scriptc.compile(function, optimize=1)


def agree(function: Callable[..., Any], *args: Any) -> None:
    """The same value, character by character, or the same type of exception."""
    expected, actual = eager(function, call(*args)), compiled(made(function), call(*args))
    assert repr(actual.error and type(actual.error)) == repr(expected.error and type(expected.error)), (args, actual)
    assert repr(actual.result) == repr(expected.result), args


@given(TEXTS)
@example("".join(map(chr, range(0x250))))
def test_cases_and_properties(s: str) -> None:
    agree(strings.cases_of_letters, s)
    agree(strings.tests, s)


@given(TEXTS, TEXTS)
def test_searches_and_splits(s: str, t: str) -> None:
    for function in (strings.searches, strings.index_of, strings.splits, strings.comparisons):
        agree(function, s + t + s, t)
        agree(function, s, t[:1])
    agree(strings.stripped, t + s + t)


@given(TEXTS, st.integers(-20, 20), st.integers(-20, 20), st.integers(-3, 3))
def test_slices_and_padding(s: str, a: int, b: int, step: int) -> None:
    agree(strings.slices, s, a, b, step)
    agree(strings.index, s, a)
    agree(strings.padded, s, a, s[:1])
    agree(strings.formats_of_texts, s)


@given(st.text("0123456789+-_. \t٣۹einfxoabE", max_size=8), st.sampled_from([0, 2, 8, 10, 16, 36, 37, -1]))
def test_numbers_in_strings(s: str, base: int) -> None:
    agree(strings.floats, s)
    agree(strings.ints_of_bases, s, base)


def format_of_int(n: int, spec: str) -> str:
    return format(n, spec * 1)


def format_of_float(x: float, spec: str) -> str:
    return format(x, spec * 1)


def format_of_text(s: str, spec: str) -> str:
    return format(s, spec * 1)


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-2000, 2000), st.floats(), TEXTS, SPECS)
@example(0, 0, -0.0, "", "z.1f")
@example(0, 0, -0.04, "", "z.1f")
@example(1, 1, 1e22, "", "#.0f")
def test_formats(large: int, small: int, x: float, s: str, spec: str) -> None:
    for n in (large, small):
        agree(format_of_int, n, spec)
    for y in (x, float(small), small / 7):
        agree(format_of_float, y, spec)
    agree(format_of_text, s, spec)


def spelt(x: float, y: float) -> tuple[str, str, str]:
    return str(x), f"{[x, y]}", repr((x, y))


@given(st.floats(), st.floats(width=32))
@example(5e-324, 2.2250738585072014e-308)
@example(9007199254740993.0, 1e16)
@example(1.7976931348623157e308, 0.1)
def test_floats_in_texts(x: float, y: float) -> None:
    agree(spelt, x, y)


def character(code: int) -> tuple[Any, ...]:
    c = chr(code)
    s = c + "a"
    return (
        c.isalpha(), c.isdecimal(), c.isdigit(), c.isnumeric(), c.isspace(), c.isprintable(), c.isalnum(), c.islower(),
        c.isupper(), s.istitle(), s.isidentifier(), c.upper(), c.lower(), c.title(), c.casefold(), len(s.splitlines()),
    )  # fmt: skip


@pytest.mark.skipif(unicodedata.unidata_version != "14.0.0", reason="sc_unicode.inc is of Unicode 14")
def test_tables_are_those_of_python() -> None:
    target = made(character)
    assert all(
        target(code) == character(code) for code in [*range(0x3400), *range(0xA000, 0x20000), *range(0xE0000, 0xE0200)]
    )


# ---- memory ----
@pytest.fixture
def nothing_stays_alive() -> Iterator[None]:
    """What other tests left to the garbage collector does not count."""
    gc.collect()
    before = live_objects()
    yield
    gc.collect()
    assert live_objects() <= before


def busy(text: str, n: int) -> tuple[list[str], str, int]:
    words = text.split()
    out = ""
    for i in range(n):
        if i % 3 == 0:
            out += words[i % len(words)]
        elif i % 3 == 1:
            out = out[1:] + "é"
        else:
            pair = (out[:2], i)
            out = f"{out[:40]}{pair[0]:>4}{pair[1]:x}"
        words.append(out.upper())
        words.pop(0)
    if n > 50:
        raise ValueError("too many: " + out)
    return sorted(words), "-".join(words), len(out)


def test_nothing_leaks(nothing_stays_alive: None) -> None:
    target = scriptc.compile(busy)
    for n in (0, 1, 7, 30, 60):
        text = "some words that are counted, " * 3
        expected, actual = eager(busy, call(text, n)), compiled(target, call(text, n))
        assert expected.result == actual.result and type(expected.error) is type(actual.error)


def test_every_allocation_may_fail(nothing_stays_alive: None) -> None:
    target = scriptc.compile(busy)
    expected = busy("a few words", 9)
    assert target("a few words", 9) == expected
    failed = 0
    for n in range(1, 400):
        target._dispatcher.callable.count_allocations(fail_at=n)
        try:
            assert target("a few words", 9) == expected
            break
        except MemoryError:
            failed += 1
    assert failed > 5


def grown(n: int, reset: int) -> int:
    out = ""
    longest = 0
    for i in range(n):
        if i == reset:
            out = ""
        out += chr(97 + i % 26)
        if len(out) > longest:
            longest = len(out)
    return longest


def test_a_string_grows_in_place() -> None:
    """What is copied for each character would take as many bytes as there are pairs of characters."""
    target = scriptc.compile(grown)
    assert target(100000, 10) == 99990
    assert target._dispatcher.callable.peak_bytes < 1_000_000
    assert "true" in target.c_source().partition("sc_str_push")[2].partition(";")[0]


# ---- arguments ----
def chosen(mode: str, x: int) -> float:
    return x * 2 if mode == "double" else x / 2


def test_a_string_is_compiled_for_until_it_had_four_values(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SCRIPTC_CACHE_DIR", str(tmp_path))  # else the variant for any string of an earlier run is found
    target = scriptc.compile(chosen)
    for mode in ("double", "half", "third", "double", "fourth", "fifth", "sixth", "double"):
        assert target(mode, 3) == chosen(mode, 3)
    signatures = target.signatures()
    assert (
        len(signatures) == 5 and signatures[0].startswith("mode: 'double'") and signatures[-1].startswith("mode: str")
    )


class Layers:
    first, second = 1, 2


def looked_up(name: str, names: list[str]) -> int:
    total = getattr(Layers, name)
    for n in names:
        total += len(n)
    return total + getattr(Layers, names[0])


def test_a_string_that_is_needed_at_compile_time_is_part_of_the_signature() -> None:
    target = scriptc.compile(looked_up)
    for name, names in (("first", ["second"]), ("second", ["first", "x"])):
        assert target(name, names) == looked_up(name, names)
    assert [s.count("str") for s in target.signatures()] == [0, 0]


def told_to_torch(equation: str, mode: str, reduce: str, x: torch.Tensor) -> Any:
    index = torch.zeros(2, 3, dtype=torch.int64)
    return (
        torch.einsum(equation, x, x),
        torch.nn.functional.interpolate(x[None, None], scale_factor=2.0, mode=mode),
        x.scatter_reduce(0, index, x, reduce),
    )


def test_strings_that_torch_is_given_are_known() -> None:
    target = scriptc.compile(told_to_torch)
    for strings_of in (("ij,kj->ik", "nearest", "sum"), ("ij,ij->j", "bilinear", "amax")):
        assert_same(eager(told_to_torch, call(*strings_of, X)), compiled(target, call(*strings_of, X)))


def test_what_is_refused() -> None:
    with pytest.raises(scriptc.CompileError, match="whether two strings are one object"):
        scriptc.compile(lambda s: s is s + "a")("b")
