"""Comprehensions and generator expressions: written out over sequences that are known, else the loops they stand for."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence
from typing import Any

from scriptc.frontend.context import Terminated, Walk
from scriptc.frontend.flow import Flow
from scriptc.frontend.iteration import Iteration
from scriptc.frontend.outside import is_library
from scriptc.frontend.scope import assigned
from scriptc.frontend.values import AV, GeneratorV, Known, Native, OneOf, RangeV, Scope, Tup, Unbound, is_plain_tuple
from scriptc.ir.core import Block

_SHORT = 64  # items of a range that a dict or set comprehension is written out over

Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


class Comprehensions(Flow, Iteration):
    """Mixin: comprehensions."""

    # ---- displays ----
    def display(self, nodes: Sequence[ast.expr]) -> list[tuple[bool, AV]]:
        """What stands in a list, tuple or set display, and whether it is starred."""
        parts = [(isinstance(n, ast.Starred), n.value if isinstance(n, ast.Starred) else n) for n in nodes]
        return [(starred, self.eval(n)) for starred, n in parts]

    def elements(self, parts: Sequence[tuple[bool, AV]]) -> list[AV]:
        return [item for starred, av in parts for item in (self.iterate(av) if starred else [av])]

    def is_grown(self, parts: Sequence[tuple[bool, AV]]) -> bool:
        """Whether something starred has a length that is known only at run time."""
        several = [isinstance(av, OneOf) and is_plain_tuple(av) for _, av in parts]  # tuples of several lengths
        return any(starred and (many or self.is_run_time(av)) for (starred, av), many in zip(parts, several, strict=True))

    def grown_list(self, parts: Sequence[tuple[bool, AV]], site: Any) -> AV:
        made = self.new_list([], site)
        for starred, av in parts:
            self.call(self.attribute(made, "extend" if starred else "append"), [av], {})
        return made

    # ---- comprehensions ----
    def e_SetComp(self, node: ast.SetComp) -> AV:
        site = (self.loc, "set comp")
        sequence = self.eval(node.generators[0].iter)
        items = self.known_comprehension(node, node.elt, sequence, site)
        if items is not None:
            return self.new_set(items, site)
        target = self.new_set([], site)
        return self.comprehended(node, [node.elt], target, self.attribute(target, "add"), sequence)

    def e_DictComp(self, node: ast.DictComp) -> AV:
        site = (self.loc, "dict comp")
        pair = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node)
        sequence = self.eval(node.generators[0].iter)
        items = self.known_comprehension(node, pair, sequence, site)
        if items is not None:
            pairs = [self.iterate(item) for item in items]
            return self.new_dict([(key, value) for key, value in pairs], site)
        target = self.new_dict([], site)

        def store(key: AV, value: AV) -> AV:
            self.store_item(target, key, value)
            return Known(None)

        return self.comprehended(node, [node.key, node.value], target, Native(store), sequence)

    def known_comprehension(self, node: Comprehension, elt: ast.expr, sequence: AV, site: Any) -> list[AV] | None:
        """The items of a dict or set comprehension; None where it becomes a run-time one."""
        if site in self.assume.tables:
            return None
        items = self.known_items_of(node.generators, elt, self.written_out(sequence))
        if items is None:
            self.may_table(site)
        return items

    def written_out(self, sequence: AV) -> AV:
        """The numbers of a short range written out."""
        if isinstance(sequence, RangeV):
            bounds = [b.obj for b in (sequence.start, sequence.stop, sequence.step) if isinstance(b, Known)]
            if len(bounds) == 3 and len(range(*bounds)) > _SHORT:
                return sequence
        return self.unrolled_ranges(sequence)

    def e_ListComp(self, node: ast.ListComp) -> AV:
        return self.comprehension(node, node.elt, (self.loc, "comp"))

    def e_GeneratorExp(self, node: ast.GeneratorExp) -> AV:
        sequence = self.checked_iterable(self.eval(node.generators[0].iter))
        return GeneratorV(node, self.frame, sequence, tuple(self.frame.scopes))

    def comprehension(self, node: Comprehension, elt: ast.expr, site: Any, sequence: AV | None = None) -> AV:
        """A list comprehension: the loop that it abbreviates, with names of its own."""
        first = node.generators[0]
        sequence = self.eval(first.iter) if sequence is None else sequence
        in_library = self.frame.func is not None and is_library(self.frame.func.__module__)  # over dims and the like
        if site in self.assume.known_length or (in_library and not self.is_run_time(sequence)):
            sequence = self.unrolled_ranges(sequence)
        items = self.known_items_of(node.generators, elt, sequence)
        if items is not None:
            return self.new_list(items, site)
        target = self.new_list([], site)
        return self.comprehended(node, [elt], target, self.attribute(target, "append"), sequence)

    def comprehended(self, node: Comprehension, elts: list[ast.expr], target: AV, add: AV, sequence: AV) -> AV:
        """The loop that calls `add` with what a comprehension gives for each item."""
        first = node.generators[0]
        result = "·result"
        append = ast.Expr(ast.Call(ast.Name("·append", ast.Load()), elts, []))
        body: ast.stmt = ast.copy_location(append, elts[0])
        for generator in reversed(node.generators):
            for test in reversed(generator.ifs):
                body = ast.copy_location(ast.If(test, [body], []), test)
            iterable = ast.Name("·iter", ast.Load()) if generator is first else generator.iter
            loop = ast.For(generator.target, iterable, [body], [])
            body = ast.copy_location(loop, node)
        ast.fix_missing_locations(body)
        frame = self.frame
        saved, scopes = dict(frame.locals), frame.scopes
        frame.locals[result] = target
        frame.locals["·append"] = add
        frame.locals["·iter"] = sequence
        names = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
        # Functions made in the loop find its variables, not those of the same names of comprehensions around.
        frame.scopes = [{name: av for name, av in scope.items() if name not in names} for scope in scopes]
        try:
            self.statement_of_comprehension(body)
        finally:
            frame.scopes = scopes
        for name in (result, "·append", "·iter", *names):
            frame.locals.pop(name, None)
            if name in saved:
                frame.locals[name] = saved[name]
        return target

    def known_items_of(self, generators: list[ast.comprehension], elt: ast.expr, sequence: AV) -> list[AV] | None:
        """The items of a comprehension; None, and nothing is built, where their number is known only at run time."""
        take_back = self.attempt()
        ended = False
        with self.builder.at(Block()) as block:
            try:
                items = self.items_inside(generators, elt, sequence, {})
            except Terminated:
                ended, items = True, []
        if items is None:
            take_back(block)
            return None
        self.splice(block)
        if ended:
            raise Terminated
        return items

    def items_inside(
        self, generators: list[ast.comprehension], elt: ast.expr, sequence: AV, scope: Scope
    ) -> list[AV] | None:  # fmt: skip
        first, *rest = generators
        walk = self.iteration(sequence, None)
        if walk.items is None or walk.limit is not None:
            return [] if walk.items is walk.count is None else None
        found: list[AV] = []
        for item in walk.items:
            on_item = functools.partial(self.with_target, scope, first.target, item)
            tests = [on_item(lambda t=test: self.silent_test(t)) for test in first.ifs]
            if any(not isinstance(t, Known) for t in tests):
                return None
            if all(t.obj for t in tests if isinstance(t, Known)):
                if not rest:
                    found.append(on_item(lambda: self.eval(elt)))
                    continue
                inner = on_item(lambda: self.known_inner(rest, elt, scope))
                if not isinstance(inner, Tup):
                    return None
                found += inner.items
        return found

    def known_inner(self, generators: list[ast.comprehension], elt: ast.expr, scope: Scope) -> AV:
        items = self.items_inside(generators, elt, self.unrolled_ranges(self.eval(generators[0].iter)), scope)
        return Known(None) if items is None else Tup(items)

    def silent_test(self, node: ast.expr) -> AV:
        """The truth of an expression where asking takes no code; else a value that is not known."""
        take_back = self.attempt()
        with self.builder.at(Block()) as block:
            try:
                truth = self.test(node)
            except Terminated:
                truth = Unbound()
        if block.ops:
            take_back(block)
            return Unbound()
        return truth

    def attempt(self) -> Callable[[Block], None]:
        """What forgets all that is built from now on, in a block that is then not used."""
        before, noted = self.snapshot(), [(x, len(x)) for x in self.leavings()]

        def take_back(block: Block) -> None:
            self.restore(before)
            block.drop()
            for leaving, n in noted:
                del leaving[n:]

        return take_back

    def with_target(self, scope: Scope, target: ast.expr, item: AV, run: Any) -> AV:
        """What `run` gives while the target of a comprehension is bound. `scope`: its variables, for what is made in it."""
        frame, names, saved = self.frame, assigned([target]), dict(self.frame.locals)
        self.assign(target, item)
        scope |= {name: frame.locals[name] for name in names}
        frame.scopes.append(scope)
        frame.comprehensions += 1
        try:
            value: AV = run()
        finally:  # also where what is read always raises
            frame.comprehensions -= 1
            frame.scopes.pop()
            frame.rename(names, saved)
        return value

    def is_filtered(self, av: GeneratorV) -> bool:
        """Whether a loop may ask for its items one by one, though it leaves some out: one `for` with `if`."""
        generators = av.node.generators
        return len(generators) == 1 and bool(generators[0].ifs)

    def within(self, av: GeneratorV, run: Callable[[], AV]) -> AV:
        """run() where the generator stands."""
        self.frames.append(av.frame)
        av.frame.generators += 1
        self.generators.append(len(self.watches))
        saved, self.node = self.node, av.node
        try:
            with av.frame.among(av.scopes):
                return run()
        finally:
            self.node = saved
            self.generators.pop()
            av.frame.generators -= 1
            self.frames.pop()

    def stages(self, av: GeneratorV) -> tuple[Callable[[AV], AV], Callable[[AV], AV]]:
        """Whether a generator expression of one `for` keeps an item, and what it makes of it."""
        generator = av.node.generators[0]
        test = ast.copy_location(ast.BoolOp(ast.And(), generator.ifs), av.node) if generator.ifs[1:] else generator.ifs[0]

        def keep(item: AV) -> AV:
            return self.within(av, lambda: self.with_target(av.scope, generator.target, item, lambda: self.test(test)))

        def make(item: AV) -> AV:
            return self.within(av, lambda: self.with_target(av.scope, generator.target, item, lambda: self.eval(av.node.elt)))

        return keep, make

    def walk_generator(self, av: GeneratorV, site: Any) -> Walk:
        """Items are made as they are asked for where the generator has one `for` without `if`."""
        node, target = av.node, av.node.generators[0].target
        element = lambda: self.eval(node.elt)  # noqa: E731
        inside = lambda run: self.within(av, run)  # noqa: E731
        if node.generators[1:] or node.generators[0].ifs:
            made = inside(lambda: self.comprehension(node, node.elt, (self.loc, "comp"), av.sequence))
            return self.iteration(made, site)
        walk = self.iteration(av.sequence, site)
        if walk.items is not None:
            items = (inside(lambda i=i: self.with_target(av.scope, target, i, element)) for i in walk.items)
            return Walk(items=items, limit=walk.limit)
        if walk.count is None:
            return walk
        item = walk.item
        assert item is not None
        inner = lambda i: inside(lambda: self.with_target(av.scope, target, item(i), element))  # noqa: E731
        return Walk(count=walk.count, item=inner, length=walk.length, lists=walk.lists, finish=walk.finish)

    def statement_of_comprehension(self, body: ast.stmt) -> None:
        live = self.frame.live
        nodes = [n for n in ast.walk(body) if isinstance(n, (ast.For, ast.If, ast.NamedExpr))]
        bound = frozenset(n.target.id for n in nodes if isinstance(n, ast.NamedExpr))
        for n in nodes:
            if isinstance(n, ast.stmt):
                live.after.setdefault(n, bound)
                live.header.setdefault(n, bound)
        self.frame.comprehensions += 1
        try:
            falls = self.run([body])
        finally:
            self.frame.comprehensions -= 1
        if not falls:
            raise Terminated
