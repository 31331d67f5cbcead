"""`match`: which case fits, and what its names capture."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from scriptc.frontend.flow import Flow
from scriptc.frontend.scope import assigned
from scriptc.frontend.values import AV, DictV, Dyn, Known, ListV, OneOf, Poison, Tup

_CAPTURED = "·captured "  # in front of names that a pattern captures, until it is known to fit
_SELF_MATCHED = (bool, bytes, dict, float, frozenset, int, list, set, str, tuple)


class Matching(Flow):
    """Mixin: `match`."""

    def s_Match(self, node: ast.Match) -> bool:
        subject = self.eval(node.subject)
        live = self.frame.live.after[node]
        return self.cases(subject, node.cases, live)

    def cases(self, subject: AV, cases: Sequence[ast.match_case], live: frozenset[str]) -> bool:
        if not cases:
            return True
        case, *rest = cases
        fits = self.fits(subject, case)
        if isinstance(fits, Known):
            return self.run(case.body) if fits.obj else self.cases(subject, rest, live)
        names = frozenset().union(*(assigned([*c.body, c.pattern]) for c in cases)) & live
        return self.branch(fits, lambda: self.run(case.body), lambda: self.cases(subject, rest, live), names)

    def fits(self, subject: AV, case: ast.match_case) -> AV:
        """Whether a case is taken; binds what its pattern captures, as Python does, before the guard is asked."""
        matched = self.matches(subject, case.pattern)
        names = assigned([case.pattern])

        def guarded() -> AV:
            for name in names:
                self.bind_name(name, self.frame.locals.pop(_CAPTURED + name, Poison()))
            return Known(True) if case.guard is None else self.test(case.guard)

        return self.choose(matched, guarded, lambda: Known(False))

    def matches(self, subject: AV, pattern: ast.pattern) -> AV:
        """A bool; captures are kept under hidden names."""
        if isinstance(subject, OneOf):
            return self.split(subject, lambda s: self.matches(s, pattern))
        match pattern:
            case ast.MatchValue(value=value):
                return self.truth(self.compare("Eq", subject, self.eval(value)))
            case ast.MatchSingleton(value=value):
                return self.compare("Is", subject, Known(value)) if self.may_be(subject, value) else Known(False)
            case ast.MatchAs(pattern=inner, name=name):
                matched = Known(True) if inner is None else self.matches(subject, inner)
                return self.and_then(matched, lambda: self.capture(name, subject))
            case ast.MatchOr(patterns=patterns):
                return self.any_of(subject, patterns)
            case ast.MatchSequence(patterns=patterns):
                return self.sequence(subject, patterns)
            case ast.MatchClass():
                return self.instance(subject, pattern)
            case ast.MatchMapping(keys=keys, patterns=patterns, rest=None) if isinstance(subject, DictV):
                items = self.items_of(subject)
                found = [self.known(self.eval(k), "the key of a pattern") for k in keys]
                if any(k not in items for k in found):
                    return Known(False)
                return self.all_of([items[k] for k in found], patterns)
            case ast.MatchMapping(rest=None):
                return Known(False)
        self.fail("pattern")

    def may_be(self, subject: AV, value: object) -> bool:
        return isinstance(subject, Known) or (isinstance(value, bool) and isinstance(subject, Dyn))

    def capture(self, name: str | None, subject: AV) -> AV:
        if name is not None:
            self.frame.locals[_CAPTURED + name] = subject
        return Known(True)

    def and_then(self, first: AV, then: Callable[[], AV]) -> AV:
        return self.choose(first, then, lambda: Known(False))

    def any_of(self, subject: AV, patterns: Sequence[ast.pattern]) -> AV:
        first, *rest = patterns
        matched = self.matches(subject, first)
        return self.choose(matched, lambda: Known(True), lambda: self.any_of(subject, rest)) if rest else matched

    def all_of(self, subjects: Sequence[AV], patterns: Sequence[ast.pattern]) -> AV:
        if not patterns:
            return Known(True)
        matched = self.matches(subjects[0], patterns[0])
        return self.and_then(matched, lambda: self.all_of(subjects[1:], patterns[1:]))

    def sequence(self, subject: AV, patterns: Sequence[ast.pattern]) -> AV:
        if not isinstance(subject, (Tup, ListV)) and not (
            isinstance(subject, Known) and isinstance(subject.obj, (tuple, list, range))
        ):
            return Known(False)
        stars = [i for i, p in enumerate(patterns) if isinstance(p, ast.MatchStar)]
        least = len(patterns) - len(stars)
        length = self.call(Known(len), [subject], {})
        long_enough = self.compare("GtE" if stars else "Eq", length, Known(least))

        def items() -> AV:
            if not stars:
                return self.all_of([self.item_at(subject, i) for i in range(least)], patterns)
            at, star = stars[0], patterns[stars[0]]
            assert isinstance(star, ast.MatchStar)
            after = len(patterns) - at - 1
            ends = [self.item_at(subject, i) for i in (*range(at), *range(-after, 0))]
            middle = self.call(Known(list), [self.subscript(subject, Known(slice(at, -after or None)))], {})
            matched = self.all_of(ends, [*patterns[:at], *patterns[at + 1 :]])
            return self.and_then(matched, lambda: self.capture(star.name, middle))

        return self.and_then(long_enough, items)

    def instance(self, subject: AV, pattern: ast.MatchClass) -> AV:
        cls = self.known(self.eval(pattern.cls), "the class of a pattern")
        is_instance = self.truth(self.call(Known(isinstance), [subject, Known(cls)], {}))

        def attributes() -> AV:
            if cls in _SELF_MATCHED and pattern.patterns:
                return self.matches(subject, pattern.patterns[0])
            names = [*getattr(cls, "__match_args__", ())[: len(pattern.patterns)], *pattern.kwd_attrs]
            parts = [*pattern.patterns, *pattern.kwd_patterns]
            if len(names) < len(parts):
                self.raises_at_run_time("TypeError", f"{cls.__name__}() accepts fewer positional sub-patterns")
            if any(not self.known(self.call(Known(hasattr), [subject, Known(n)], {}), "an attribute") for n in names):
                return Known(False)
            return self.all_of([self.attribute(subject, n) for n in names], parts)

        return self.and_then(is_instance, attributes)
