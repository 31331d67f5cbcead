"""`match` statements: the selection of a case, and the captured names."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from scriptc.frontend.operations.comparison import contains
from scriptc.frontend.operations.runtime_dicts import is_dict_like
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.dispatch import runs
from scriptc.frontend.reader.iterables import item_at
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.statements import bind_name
from scriptc.frontend.source.scope import assigned
from scriptc.frontend.values.abstract import AbstractValue, Known, Poison
from scriptc.frontend.values.alternatives import split
from scriptc.frontend.values.predicates import has_alternatives, is_known, is_made_sequence, ssa_value
from scriptc.frontend.values.verbs import dict_behind, python_class

_CAPTURED = "·captured "  # the prefix of captured names until the whole pattern matches
_SELF_MATCHED = (bool, bytes, dict, float, frozenset, int, list, set, str, tuple)


@runs(ast.Match)
def run_match(reader: Reader, node: ast.Match) -> bool:
    subject = reader.evaluate(node.subject)
    live = reader.position.frame.live.after[node]
    return run_cases(reader, subject, node.cases, live)


def run_cases(reader: Reader, subject: AbstractValue, cases: Sequence[ast.match_case], live: frozenset[str]) -> bool:
    if not cases:
        return True
    case, *rest = cases
    fits = case_fits(reader, subject, case)
    if is_known(fits):
        return reader.run(case.body) if fits.obj else run_cases(reader, subject, rest, live)
    names = frozenset().union(*(assigned([*c.body, c.pattern]) for c in cases)) & live
    return reader.branch(fits, lambda: reader.run(case.body), lambda: run_cases(reader, subject, rest, live), names)


def case_fits(reader: Reader, subject: AbstractValue, case: ast.match_case) -> AbstractValue:
    """Return whether a case is taken. As in Python, its captures are bound before the guard is evaluated."""
    matched = matches(reader, subject, case.pattern)
    names = assigned([case.pattern])

    def guarded() -> AbstractValue:
        for name in names:
            bind_name(reader, name, reader.position.frame.locals.pop(_CAPTURED + name, Poison()))
        return Known(True) if case.guard is None else reader.test(case.guard)

    return reader.choose(matched, guarded, lambda: Known(False))


def matches(reader: Reader, subject: AbstractValue, pattern: ast.pattern) -> AbstractValue:
    """Return whether a pattern matches, as a bool. Captures are kept under hidden names."""
    if has_alternatives(subject):
        return split(reader, subject, lambda s: matches(reader, s, pattern))
    match pattern:
        case ast.MatchValue(value=value):
            return reader.truth(reader.compare("Eq", subject, reader.evaluate(value)))
        case ast.MatchSingleton(value=value):
            return reader.compare("Is", subject, Known(value)) if may_be(subject, value) else Known(False)
        case ast.MatchAs(pattern=inner, name=name):
            matched = Known(True) if inner is None else matches(reader, subject, inner)
            return and_then(reader, matched, lambda: capture(reader, name, subject))
        case ast.MatchOr(patterns=patterns):
            return any_of(reader, subject, patterns)
        case ast.MatchSequence(patterns=patterns):
            return sequence(reader, subject, patterns)
        case ast.MatchClass():
            return instance(reader, subject, pattern)
        case ast.MatchMapping():
            return mapping(reader, subject, pattern)
    reader.reject("pattern")


def may_be(subject: AbstractValue, value: object) -> bool:
    return is_known(subject) or (isinstance(value, bool) and ssa_value(subject) is not None)


def capture(reader: Reader, name: str | None, subject: AbstractValue) -> AbstractValue:
    if name is not None:
        reader.position.frame.locals[_CAPTURED + name] = subject
    return Known(True)


def and_then(reader: Reader, first: AbstractValue, then: Callable[[], AbstractValue]) -> AbstractValue:
    return reader.choose(first, then, lambda: Known(False))


def any_of(reader: Reader, subject: AbstractValue, patterns: Sequence[ast.pattern]) -> AbstractValue:
    first, *rest = patterns
    matched = matches(reader, subject, first)
    return reader.choose(matched, lambda: Known(True), lambda: any_of(reader, subject, rest)) if rest else matched


def all_of(reader: Reader, subjects: Sequence[AbstractValue], patterns: Sequence[ast.pattern]) -> AbstractValue:
    if not patterns:
        return Known(True)
    matched = matches(reader, subjects[0], patterns[0])
    return and_then(reader, matched, lambda: all_of(reader, subjects[1:], patterns[1:]))


def sequence(reader: Reader, subject: AbstractValue, patterns: Sequence[ast.pattern]) -> AbstractValue:
    if not is_made_sequence(subject) and not (
        is_known(subject) and isinstance(subject.obj, (tuple, list, range))
    ):
        return Known(False)
    stars = [i for i, p in enumerate(patterns) if isinstance(p, ast.MatchStar)]
    least = len(patterns) - len(stars)
    length = reader.call(Known(len), [subject], {})
    long_enough = reader.compare("GtE" if stars else "Eq", length, Known(least))

    def items() -> AbstractValue:
        if not stars:
            return all_of(reader, [item_at(reader, subject, i) for i in range(least)], patterns)
        at, star = stars[0], patterns[stars[0]]
        assert isinstance(star, ast.MatchStar)
        after = len(patterns) - at - 1
        ends = [item_at(reader, subject, i) for i in (*range(at), *range(-after, 0))]
        middle = reader.call(Known(list), [reader.subscript(subject, Known(slice(at, -after or None)))], {})
        matched = all_of(reader, ends, [*patterns[:at], *patterns[at + 1 :]])
        return and_then(reader, matched, lambda: capture(reader, star.name, middle))

    return and_then(reader, long_enough, items)


def mapping(reader: Reader, subject: AbstractValue, pattern: ast.MatchMapping) -> AbstractValue:
    """Return whether a dict has the keys of a pattern, and items that match. The rest is a new dict."""
    subject = dict_behind(reader, subject)
    if not is_dict_like(subject):
        if issubclass(python_class(reader, subject), Mapping):
            reader.reject("pattern")
        return Known(False)
    keys = [reader.evaluate(key) for key in pattern.keys]

    def items() -> AbstractValue:
        return all_of(reader, [reader.subscript(subject, key) for key in keys], pattern.patterns)

    def others() -> AbstractValue:
        rest = reader.call(Known(dict), [subject], {})
        for key in keys:
            reader.delete_item(rest, key)
        return capture(reader, pattern.rest, rest)

    matched = and_then(reader, holds_keys(reader, subject, keys), items)
    return matched if pattern.rest is None else and_then(reader, matched, others)


def holds_keys(reader: Reader, subject: AbstractValue, keys: Sequence[AbstractValue]) -> AbstractValue:
    if not keys:
        return Known(True)
    return and_then(reader, contains(reader, subject, keys[0]), lambda: holds_keys(reader, subject, keys[1:]))


def instance(reader: Reader, subject: AbstractValue, pattern: ast.MatchClass) -> AbstractValue:
    cls = require_known(reader, reader.evaluate(pattern.cls), "the class of a pattern")
    is_instance = reader.truth(reader.call(Known(isinstance), [subject, Known(cls)], {}))

    def attributes() -> AbstractValue:
        if cls in _SELF_MATCHED and pattern.patterns:
            return matches(reader, subject, pattern.patterns[0])
        names = [*getattr(cls, "__match_args__", ())[: len(pattern.patterns)], *pattern.kwd_attrs]
        parts = [*pattern.patterns, *pattern.kwd_patterns]
        if len(names) < len(parts):
            reader.emit.raise_error("TypeError", f"{cls.__name__}() accepts fewer positional sub-patterns")
        if any(
            not require_known(reader, reader.call(Known(hasattr), [subject, Known(n)], {}), "an attribute")
            for n in names
        ):
            return Known(False)
        return all_of(reader, [reader.attribute(subject, n) for n in names], parts)

    return and_then(reader, is_instance, attributes)
