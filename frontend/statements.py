"""Statements. Control flow that is decided at compile time is followed; all other stays in the IR."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

from scriptc.frontend.context import NeedsKnown, Poisoned, Terminated, UserError
from scriptc.frontend.flow import Env, changed
from scriptc.frontend.frame import Frame, ReturnSite
from scriptc.frontend.managers import Managers
from scriptc.frontend.matching import Matching
from scriptc.frontend.rejections import STATEMENTS_AND_EXPRESSIONS
from scriptc.frontend.scope import assigned, declared, read_inside, shared_names
from scriptc.frontend.stack_room import require_room
from scriptc.frontend.values import (
    AV,
    Closure,
    DictV,
    Dyn,
    GeneratorV,
    Ident,
    IteratorV,
    Known,
    ListV,
    OneOf,
    Poison,
    Tup,
    Unbound,
    is_plain_tuple,
    is_tensor,
)
from scriptc.ir.analysis import is_fresh, shares_memory
from scriptc.ir.core import Block


class Statements(Managers, Matching):
    """Mixin: runs statements; each returns whether the next one is reached."""

    def run(self, stmts: Sequence[ast.stmt]) -> bool:
        return all(self.statement(s) for s in stmts)

    def statement(self, stmt: ast.stmt) -> bool:
        saved, self.node = self.node, stmt
        try:
            handler: Callable[[ast.stmt], bool] | None = getattr(self, "s_" + type(stmt).__name__, None)
            if handler is None:
                self.fail(STATEMENTS_AND_EXPRESSIONS[type(stmt)])
            return handler(stmt)
        except Terminated:
            return False
        except Poisoned:
            return self.poison(stmt)
        except NeedsKnown as e:
            if self.make_known(e.value, e.error.message):
                self.read_again(e.error.message)
            self.report(e.error)
            return self.poison(stmt)
        except UserError as e:
            self.report(e)
            return self.poison(stmt)
        finally:
            self.node = saved

    def poison(self, stmt: ast.stmt) -> bool:
        """What a statement in error would have bound or returned is not reported again."""
        self.poisoned = True
        for name in assigned([stmt]):
            self.frame.locals[name] = Poison()
        if isinstance(stmt, ast.Return):
            self.leave_with(Poison())
            return False
        return True

    # ---- simple statements ----
    def s_Pass(self, node: ast.Pass) -> bool:
        return True

    def s_Expr(self, node: ast.Expr) -> bool:
        if not isinstance(node.value, ast.Constant):
            self.eval(node.value)
        return True

    def s_Assign(self, node: ast.Assign) -> bool:
        value = self.eval(node.value)
        for target in node.targets:
            self.assign(target, value)
        return True

    def s_AnnAssign(self, node: ast.AnnAssign) -> bool:
        if node.value is not None:
            self.assign(node.target, self.eval(node.value))
        return True

    def s_AugAssign(self, node: ast.AugAssign) -> bool:
        op = type(node.op).__name__
        match node.target:
            case ast.Name():
                self.assign(node.target, self.inplace(op, self.eval(node.target), self.eval(node.value)))
            case ast.Subscript():
                owner, index = self.eval(node.target.value), self.eval(node.target.slice)
                old = self.subscript(owner, index)
                new = self.inplace(op, old, self.eval(node.value))
                if new is not old or not isinstance(owner, (Known, DictV, ListV)):  # else it was changed in place
                    self.store_item(owner, index, new)
            case _:
                owner, name = self.eval(node.target.value), node.target.attr
                old = self.attribute(owner, name)
                new = self.inplace(op, old, self.eval(node.value))
                as_it_was = new is old and (self.is_plain_attribute(owner, name) or is_tensor(owner) and name == "data")
                if not as_it_was:
                    self.store_attribute(owner, name, new)
        return True

    def s_Delete(self, node: ast.Delete) -> bool:
        for target in node.targets:
            self.delete(target)
        return True

    def delete(self, target: ast.expr) -> None:
        match target:
            case ast.Name(id=name):
                self.load(name)
                self.bind_name(name, Unbound())
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                for t in targets:
                    self.delete(t)
            case ast.Subscript():
                self.delete_item(self.eval(target.value), self.eval(target.slice))
            case ast.Attribute() if isinstance(owner := self.eval(target.value), Known):
                self.delete_attribute(owner.obj, target.attr)
            case _:
                self.fail("attribute_deleted")

    def s_Assert(self, node: ast.Assert) -> bool:
        if not __debug__:  # `python -O` compiles none
            return True
        condition = self.test(node.test)
        if isinstance(condition, Known) and condition.obj:
            return True

        def fails() -> bool:
            if node.msg is None:
                self.raises_at_run_time("AssertionError", "")
            self.raise_with("AssertionError", self.eval(node.msg))

        if isinstance(condition, Known):
            return fails()
        return self.branch(condition, lambda: True, fails, frozenset())

    def check_that(self, condition: AV, type: str, message: str) -> None:
        """Raises at run time unless the condition holds."""
        truth = self.truth(condition)
        if isinstance(truth, Known):
            if not truth.obj:
                self.raises_at_run_time(type, message)
            return

        def fails() -> bool:
            self.raises_at_run_time(type, message)

        self.branch(truth, lambda: True, fails, frozenset())

    def s_Import(self, node: ast.Import) -> bool:
        import sys

        for alias in node.names:
            module = sys.modules.get(alias.name)
            if module is None:
                self.fail("import_of_new", name=alias.name)
            name = alias.asname or alias.name.split(".")[0]
            self.frame.locals[name] = Known(module if alias.asname else sys.modules[name])
        return True

    def s_ImportFrom(self, node: ast.ImportFrom) -> bool:
        import sys

        module = sys.modules.get(node.module or "")
        for alias in node.names:
            if module is None or node.level or not hasattr(module, alias.name):
                self.fail("import_unfollowed")
            self.frame.locals[alias.asname or alias.name] = Known(getattr(module, alias.name))
        return True

    def s_FunctionDef(self, node: ast.FunctionDef) -> bool:
        decorators = [self.eval(d) for d in node.decorator_list]
        made: AV = self.closure(node)
        for decorator in reversed(decorators):
            if isinstance(decorator, Known) and hasattr(decorator.obj, "__enter__"):
                self.fail("decorator_inside")
            made = self.call(decorator, [made], {})
        self.frame.locals[node.name] = made
        return True

    def closure(self, node: ast.FunctionDef | ast.Lambda) -> Closure:
        defaults = [self.eval(d) for d in node.args.defaults]
        kw_defaults = [None if d is None else self.eval(d) for d in node.args.kw_defaults]
        read = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        scopes = [scope for scope in self.frame.scopes if not read.isdisjoint(scope)]
        return Closure(node, self.frame, defaults, kw_defaults, scopes)

    # ---- leaving ----
    def s_Return(self, node: ast.Return) -> bool:
        self.leave_with(Known(None) if node.value is None else self.eval(node.value))
        return False

    def leave_with(self, av: AV) -> None:
        if read_inside(self.frame.source.node):
            av = self.keep_variables(av)
        self.leave_by("return", av)

    def return_value(self, av: AV) -> None:
        label = self.frame.label
        op = self.effect("break", (), to=label) if label else self.effect("return", ())
        self.frame.returns.append(ReturnSite(op, av, dict(self.heap)))

    def s_Break(self, node: ast.Break) -> bool:
        self.leave_by("break", None)
        return False

    def s_Continue(self, node: ast.Continue) -> bool:
        self.leave_by("continue", None)
        return False

    def leave_loop(self, way: str) -> None:
        target = self.frame.loops[-1]
        if way == "break":
            target.breaks.append((self.effect("break", (), to=target.break_label), self.snapshot()))
            return
        op = self.effect(target.continue_op, (), to=target.continue_label)
        target.continues.append((op, self.snapshot()))

    # ---- branches ----
    def s_If(self, node: ast.If) -> bool:
        condition = self.test(node.test)
        if isinstance(condition, Known):
            return self.run(node.body if condition.obj else node.orelse)
        names = assigned([*node.body, *node.orelse]) & self.frame.live.after[node]
        return self.branch(condition, lambda: self.run(node.body), lambda: self.run(node.orelse), names)

    # ---- binding ----
    def assign(self, target: ast.expr, value: AV) -> None:
        match target:
            case ast.Name(id=name):
                if isinstance(value, Dyn) and not value.value.name and value.value.op is not None:
                    value.value.name = name
                if self.graded is not None and is_tensor(value) and self.value(value) not in self.graded:
                    made = self.value(value)
                    value = self.op("alias", value, hint=name) if is_fresh(made) or shares_memory(made) else value
                if isinstance(value, ListV) and value.value is not None and not value.value.name:
                    value.value.name = name
                self.bind_name(name, value)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self.unpack(targets, value)
            case ast.Starred(value=inner):
                self.assign(inner, value)
            case ast.Subscript():
                self.store_item(self.eval(target.value), self.eval(target.slice), value)
            case ast.Attribute():
                self.store_attribute(self.eval(target.value), target.attr, value)
            case _:
                raise AssertionError(target)

    def bind_name(self, name: str, value: AV) -> None:
        frame = self.frame
        kind = declared(frame.source.node).get(name)
        if kind is ast.Global:
            self.fail("global_assigned", name=name)
        if kind is ast.Nonlocal:
            owner = frame.outer
            while owner is not None and name not in owner.cells:
                owner = owner.outer
            if owner is None:
                self.fail("outer_variable_assigned", name=name)
            self.heap[owner.cells[name]] = value
            self.note_change(owner.cells[name])
        elif name in frame.cells:
            self.heap[frame.cells[name]] = value
            self.note_change(frame.cells[name])
        else:
            frame.locals[name] = value
            self.note_change(name)

    def s_Global(self, node: ast.Global | ast.Nonlocal) -> bool:
        return True  # see bind_name

    s_Nonlocal = s_Global

    def unpack(self, targets: list[ast.expr], value: AV) -> None:
        starred = [i for i, t in enumerate(targets) if isinstance(t, ast.Starred)]
        if starred and isinstance(value, OneOf) and is_plain_tuple(value):
            value = ListV(self.any_length(value))  # of several lengths
        if starred and isinstance(value, ListV) and self.is_run_time(value):
            items = self.unpacked_around(value, starred[0], len(targets) - starred[0] - 1)
        else:
            items = self.unpacked(value, None if starred else len(targets))
            items = self.with_rest(items, starred[0], len(targets)) if starred else items
        for t, item in zip(targets, items, strict=True):
            self.assign(t, item)

    def with_rest(self, items: list[AV], at: int, count: int) -> list[AV]:
        """Known items as `count` targets take them, of which the one at a place is starred."""
        after = count - at - 1
        if len(items) < count - 1:
            self.raises_at_run_time(
                "ValueError", f"not enough values to unpack (expected at least {count - 1}, got {len(items)})"
            )
        rest = self.new_list(items[at : len(items) - after], (self.loc, "star"))
        return [*items[:at], rest, *items[len(items) - after :]]

    def unpacked_around(self, value: ListV, before: int, after: int) -> list[AV]:
        """What `*_, rest, *_` takes from a list whose length is known only at run time."""
        length = self.call(Known(len), [value], {})
        enough = self.compare("GtE", length, Known(before + after))
        message = [Known(f"not enough values to unpack (expected at least {before + after}, got "), length, Known(")")]
        self.branch(enough, lambda: True, lambda: self.raise_with("ValueError", self.joined(message)), frozenset())
        last = self.binary("Sub", length, Known(after))
        rest = self.call(Known(list), [self.subscript(value, Tup([Known(before), last, Known(None)], slice))], {})
        return [
            *(self.item_at(value, i) for i in range(before)), rest, *(self.item_at(value, i - after) for i in range(after))
        ]  # fmt: skip

    def unpacked(self, value: AV, count: int | None) -> list[AV]:
        """The items of a value that is unpacked into `count` targets, None where any number will do."""
        value = self.present(value, "TypeError", "cannot unpack non-iterable NoneType object")
        self.refuse_item_sets(value)
        if isinstance(value, IteratorV):
            self.spend(value)
            value = value.part
        if isinstance(value, GeneratorV) and isinstance(value.sequence, IteratorV):  # map(list, zip(*rows))
            self.spend(value.sequence)
            walk = value
            value = self.split(value.sequence.part, lambda part: Tup(self.unpacked(replace(walk, sequence=part), count)))
        if isinstance(value, OneOf) and count is not None:
            value = self.split(value, lambda a: Tup(self.unpacked(a, count)))
        match value:
            case Tup(items=items):
                found: list[AV] = list(items)
            case ListV(items=list() as known):
                self.observe(value)
                found = list(known)
            case ListV(value=list_value) if list_value is not None and count is not None:
                self.effect("check.unpack", [self.build("list.len", [list_value])], count=count)
                return [self.item_at(value, i) for i in range(count)]
            case Dyn() if is_tensor(value) and count is not None:
                self.effect("check.unpack", [self.size(value, 0)], count=count)
                return [self.item_at(value, i) for i in range(count)]
            case _:
                found = self.iterate(value)
        if count is not None and len(found) != count:
            if len(found) > count:
                self.raises_at_run_time("ValueError", f"too many values to unpack (expected {count})")
            self.raises_at_run_time("ValueError", f"not enough values to unpack (expected {count}, got {len(found)})")
        return found

    # ---- functions ----
    def inline(self, frame: Frame, body: Sequence[ast.stmt]) -> AV:
        """Runs the body of a called function in place; the value is what it returns."""
        frame.label = self.fresh_label()
        mark, before = Ident().serial, dict(self.heap)
        with self.builder.at(Block()) as block:
            self.frames.append(frame)
            saved, self.node = self.node, frame.source.node
            try:
                self.enter(frame)
                if self.run(body):
                    self.leave_with(Known(None))
            finally:
                self.node = saved
                self.frames.pop()
        sites = frame.returns
        if not sites:
            self.splice(block)
            raise Terminated
        if len(sites) == 1 and block.ops[-1] is sites[0].op:
            sites[0].op.erase()
            self.splice(block)
            self.heap = sites[0].heap
            return sites[0].av
        result = "·result of " + frame.source.name
        envs: list[Env] = [{result: s.av, **s.heap} for s in sites]
        keys = {k for env in envs for k in changed(before, env, mark)}
        keys |= {*frame.cells.values()} if frame.is_kept else set()
        self.heap = before
        plans = self.plans(keys, envs, fresh=True, mark=mark)
        self.fill([(s.op, env) for s, env in zip(sites, envs, strict=True)], plans, envs)
        types = [t for plan in plans.values() for t in plan.types()]
        op = self.builder.op("scope", (), self.loc, regions=[block], types=types, label=frame.label)
        self.rebind(plans, op.results, envs, mark)
        return self.frame.locals.pop(result)

    def enter(self, frame: Frame) -> None:
        """Variables that inner functions assign live in the heap."""
        require_room(self.stack_left, frame.source.node, frame.source.loc(frame.source.node, frame.inlined_at))
        for name in shared_names(frame.source.node):
            cell = frame.cells[name] = Ident(name)
            self.heap[cell] = frame.locals.pop(name, Unbound())
