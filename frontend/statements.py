"""Statements. Control flow that is decided at compile time is followed; all other stays in the IR."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from scriptc.frontend.context import Context, NeedsKnown, Poisoned, Restart, Terminated, UserError
from scriptc.frontend.frame import Frame, LoopTarget, ReturnSite
from scriptc.frontend.iteration import lists_in
from scriptc.frontend.joins import Conflict, Plan, unify
from scriptc.frontend.scope import assigned, has_leave
from scriptc.frontend.unsupported import UNSUPPORTED
from scriptc.frontend.values import AV, Closure, Dyn, Known, ListV, Poison, Tup, Unbound, describe, is_tensor
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Op
from scriptc.ir.types import INT

Env = dict[str, AV]
Exit = tuple[Op, Env]  # an op that leaves for a label (its operands are filled in later), and the names at that point


class Statements(Context):
    """Mixin: runs statements; each returns whether the next one is reached."""

    def run(self, stmts: Sequence[ast.stmt]) -> bool:
        return all(self.statement(s) for s in stmts)

    def statement(self, stmt: ast.stmt) -> bool:
        saved, self.node = self.node, stmt
        try:
            handler: Callable[[ast.stmt], bool] | None = getattr(self, "s_" + type(stmt).__name__, None)
            if handler is None:
                what, hint = UNSUPPORTED[type(stmt)]
                self.fail(f"{what}n't supported in compiled code", hint)
            return handler(stmt)
        except Terminated:
            return False
        except Poisoned:
            return self.poison(stmt)
        except NeedsKnown as e:
            if self.make_known(e.value):
                raise Restart from e
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
                self.assign(node.target, self.inplace(op, self.load(node.target.id), self.eval(node.value)))
            case ast.Subscript():
                owner, index = self.eval(node.target.value), self.eval(node.target.slice)
                old = self.subscript(owner, index)
                self.store_item(owner, index, self.inplace(op, old, self.eval(node.value)))
            case _:
                owner = self.eval(node.target.value)
                self.store_attribute(owner, node.target.attr)
        return True

    def s_Delete(self, node: ast.Delete) -> bool:
        for target in node.targets:
            if not isinstance(target, ast.Name):
                self.fail("del of anything but a name is not supported in compiled code")
            self.load(target.id)
            self.frame.locals[target.id] = Unbound()
        return True

    def s_Assert(self, node: ast.Assert) -> bool:
        condition = self.test(node.test)
        message = "" if node.msg is None else None
        if isinstance(condition, Known) and condition.obj:
            return True

        def fails() -> bool:
            text = message if message is not None else self.text(self.eval(node.msg))  # type: ignore[arg-type]
            self.raises_at_run_time("AssertionError", text)

        if isinstance(condition, Known):
            return fails()
        return self.branch(condition, lambda: True, fails, frozenset())

    def s_Raise(self, node: ast.Raise) -> bool:
        if node.exc is None:
            self.fail("a bare raise is not supported in compiled code")
        call = node.exc if isinstance(node.exc, ast.Call) else None
        cls = self.known(self.eval(call.func if call else node.exc), "the class of an exception")
        if not (isinstance(cls, type) and issubclass(cls, Exception) and cls.__module__ == "builtins"):
            self.fail("only Python's own exceptions can be raised in compiled code", "raise ValueError or RuntimeError")
        with self.message():
            text = self.text(self.eval(call.args[0])) if call and call.args else ""
        self.raises_at_run_time(cls.__name__, text)

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

    def text(self, av: AV) -> str:
        """The text of a message, which must be known."""
        obj = self.known(av, "the text of a message")
        return obj if isinstance(obj, str) else str(obj)

    def s_Import(self, node: ast.Import) -> bool:
        import sys

        for alias in node.names:
            module = sys.modules.get(alias.name)
            if module is None:
                self.fail(f"import of {alias.name}, which is not imported yet", "import it at the top of the file")
            name = alias.asname or alias.name.split(".")[0]
            self.frame.locals[name] = Known(module if alias.asname else sys.modules[name])
        return True

    def s_ImportFrom(self, node: ast.ImportFrom) -> bool:
        import sys

        module = sys.modules.get(node.module or "")
        for alias in node.names:
            if module is None or node.level or not hasattr(module, alias.name):
                self.fail("this import cannot be followed in compiled code", "import it at the top of the file")
            self.frame.locals[alias.asname or alias.name] = Known(getattr(module, alias.name))
        return True

    def s_FunctionDef(self, node: ast.FunctionDef) -> bool:
        if node.decorator_list:
            self.fail("decorators on a function inside compiled code are not supported")
        self.frame.locals[node.name] = self.closure(node)
        return True

    def closure(self, node: ast.FunctionDef | ast.Lambda) -> Closure:
        defaults = [self.eval(d) for d in node.args.defaults]
        kw_defaults = [None if d is None else self.eval(d) for d in node.args.kw_defaults]
        return Closure(node, self.frame, defaults, kw_defaults)

    def s_With(self, node: ast.With) -> bool:
        import torch

        for item in node.items:
            manager = self.eval(item.context_expr)
            if not (isinstance(manager, Known) and isinstance(manager.obj, (torch.no_grad, torch.inference_mode))):
                self.fail(
                    f"with {describe(manager)} is not supported in compiled code",
                    "torch.no_grad() and torch.inference_mode() are",
                )
        self.no_grad += 1
        try:
            falls = self.run(node.body)
        finally:
            self.no_grad -= 1
        for name in assigned(node.body) & self.frame.live.after[node] if falls else ():
            av = self.frame.locals.get(name)
            if av is not None and is_tensor(av):
                self.frame.locals[name] = self.op("alias", av, hint=name)
        return falls

    # ---- leaving ----
    def s_Return(self, node: ast.Return) -> bool:
        self.leave_with(Known(None) if node.value is None else self.eval(node.value))
        return False

    def leave_with(self, av: AV) -> None:
        label = self.frame.label
        op = self.effect("break", (), to=label) if label else self.effect("return", ())
        self.frame.returns.append(ReturnSite(op, av))

    def s_Break(self, node: ast.Break) -> bool:
        target = self.frame.loops[-1]
        target.breaks.append((self.effect("break", (), to=target.break_label), dict(self.frame.locals)))
        return False

    def s_Continue(self, node: ast.Continue) -> bool:
        target = self.frame.loops[-1]
        op = self.effect(target.continue_op, (), to=target.continue_label)
        target.continues.append((op, dict(self.frame.locals)))
        return False

    # ---- branches ----
    def s_If(self, node: ast.If) -> bool:
        condition = self.test(node.test)
        if isinstance(condition, Known):
            return self.run(node.body if condition.obj else node.orelse)
        names = assigned([*node.body, *node.orelse]) & self.frame.live.after[node]
        return self.branch(condition, lambda: self.run(node.body), lambda: self.run(node.orelse), names)

    def branch(
        self, condition: AV, then: Callable[[], bool], orelse: Callable[[], bool], names: frozenset[str]
    ) -> bool:  # fmt: skip
        """An `if` on a condition known only at run time; `names` are joined behind it."""
        frame = self.frame
        cond_value = self.value(condition)
        before = frame.locals
        blocks: list[Block] = []
        ends: list[tuple[Block, Env]] = []
        for run in (then, orelse):
            frame.locals = dict(before)
            with self.builder.at(Block()) as block:
                falls = self.reached(run)
            blocks.append(block)
            if falls:
                ends.append((block, frame.locals))
        frame.locals = before
        plans = self.plans(names, [env for _, env in ends], fresh=len(ends) == 1) if ends else {}
        for block, env in ends:
            with self.builder.at(block):
                self.effect("yield", self.flatten(plans, env))
        types = [t for plan in plans.values() for t in plan.types()]
        op = self.builder.op("if", [cond_value], self.loc, regions=blocks, types=types)
        if not ends:
            self.effect("unreachable", ())
            return False
        self.rebind(plans, op, names)
        for name in {n for _, env in ends for n in env if env.get(n) is not before.get(n)} - names:
            frame.locals[name] = Unbound() if name not in before else frame.locals[name]
        return True

    def reached(self, run: Callable[[], bool]) -> bool:
        try:
            return run()
        except Terminated:
            return False

    def plans(
        self, names: frozenset[str] | Sequence[str], envs: Sequence[Env], *, force: bool = False, fresh: bool = False
    ) -> dict[str, Plan]:
        """How each name is joined, in a stable order."""
        plans: dict[str, Plan] = {}
        for name in sorted(names):
            try:
                plans[name] = unify([env.get(name, Unbound()) for env in envs], force=force, fresh=fresh)
            except Conflict as e:
                self.report(
                    UserError(self.loc, f"'{name}' is {e} on paths that meet here", "give the paths different names")
                )
                plans[name] = unify([Poison()])
        return plans

    def flatten(self, plans: dict[str, Plan], env: Env) -> list:
        return [v for name, plan in plans.items() for v in plan.flatten(self, env.get(name, Unbound()))]

    def rebind(self, plans: dict[str, Plan], op: Op, names: frozenset[str] | Sequence[str]) -> None:
        """Binds joined names to the results of the op that joins them."""
        values = iter(op.results)
        for name, plan in plans.items():
            self.frame.locals[name] = plan.rebuild(values, name)

    # ---- scopes: straight code that may be left early ----
    def scoped(self, names: frozenset[str], run: Callable[[str, list[Exit]], bool]) -> bool:
        """Runs statements that leave for a label; `run` gets the label and the list in which it notes each leaving."""
        label, exits = self.fresh_label(), []  # type: ignore[var-annotated]
        before = self.frame.locals
        self.frame.locals = dict(before)
        with self.builder.at(Block()) as block:
            falls = self.reached(lambda: run(label, exits))
        end = self.frame.locals
        if not exits:
            self.splice(block)
            return falls
        self.frame.locals = before
        envs = [env for _, env in exits] + ([end] if falls else [])
        plans = self.plans(names, envs, fresh=True)
        if falls:
            with self.builder.at(block):
                self.effect("yield", self.flatten(plans, end))
        self.fill(exits, plans)
        types = [t for plan in plans.values() for t in plan.types()]
        op = self.builder.op("scope", (), self.loc, regions=[block], types=types, label=label)
        self.rebind(plans, op, names)
        return True

    def fill(self, exits: Sequence[Exit], plans: dict[str, Plan]) -> None:
        """Gives ops that leave the values that they carry out."""
        saved = self.builder
        for op, env in exits:
            self.builder = Builder.before(op)
            op.set_operands(self.flatten(plans, env))
        self.builder = saved

    def splice(self, block: Block) -> None:
        for op in list(block.ops):
            self.builder.insert(op)

    # ---- loops ----
    def s_While(self, node: ast.While) -> bool:
        names = assigned([*node.body, node.test]) & self.frame.live.header[node]

        def loop(breaks: LoopTarget | None) -> bool:
            def body(target: LoopTarget, leave: Callable[[], bool]) -> bool:
                condition = self.test(node.test)
                if not isinstance(condition, Known):
                    # `while c: body` is a loop that a failing test leaves
                    self.branch(condition, lambda: True, leave, frozenset())
                elif not condition.obj:
                    return leave()
                return self.run(node.body)

            return self.dynamic_loop(node, names, None, body, breaks)

        return self.with_else(node, names, loop)

    def s_For(self, node: ast.For) -> bool:
        names = assigned([node.target, *node.body]) & self.frame.live.header[node]
        sequence = self.eval(node.iter)
        site = (self.loc, "for")
        plan = self.iteration(sequence, site)
        if plan.items is not None:
            return self.unrolled(node, plan.items, names)
        if plan.count is None:
            return self.run(node.orelse)

        def loop(breaks: LoopTarget | None) -> bool:
            def body(target: LoopTarget, leave: Callable[[], bool]) -> bool:
                self.assign(node.target, plan.item(Dyn(target.counter)))  # type: ignore[misc, arg-type]
                return self.run(node.body)

            assert plan.count is not None
            walked = len(self.walked)
            self.walked += lists_in(sequence)
            try:
                return self.dynamic_loop(node, names, plan.count, body, breaks, site)
            finally:
                del self.walked[walked:]

        return self.with_else(node, names, loop)

    def with_else(
        self, node: ast.For | ast.While, names: frozenset[str], loop: Callable[[LoopTarget | None], bool]
    ) -> bool:
        """A loop and its `else`: a break then leaves both."""
        if not node.orelse or not has_leave(node.body, ast.Break):
            return loop(None) and self.run(node.orelse)
        names |= assigned(node.orelse) & self.frame.live.after[node]

        def both(label: str, exits: list[Exit]) -> bool:
            return loop(LoopTarget(label, label, breaks=exits)) and self.run(node.orelse)

        return self.scoped(names, both)

    def dynamic_loop(
        self,
        node: ast.For | ast.While,
        names: frozenset[str],
        bounds: tuple[AV, AV, AV] | None,
        body: Callable[[LoopTarget, Callable[[], bool]], bool],
        breaks: LoopTarget | None,
        site: object = None,
    ) -> bool:
        """A loop in the IR. Its body is read under an assumption on what the names hold when an iteration begins,
        and read again only if an iteration's end disagrees. `breaks` says where a break goes if not behind this loop."""
        frame, label = self.frame, self.fresh_label()
        bound_values = [self.integer(b) for b in bounds] if bounds else []
        before = frame.locals
        envs: list[Env] = [before]
        plans = self.plans(names, envs, force=True)
        while True:
            block = Block([(INT, self.counter_name(node))] if bounds else [])
            args = [Block([(t, "")]).args[0] for plan in plans.values() for t in plan.types()]
            for arg in args:
                arg.owner = block
                block.args.append(arg)
            frame.locals = dict(before)
            values = iter(args)
            for name, plan in plans.items():
                frame.locals[name] = plan.rebuild(values, name)
            header = dict(frame.locals)
            target = LoopTarget(label, label, counter=block.args[0] if bounds else None)
            if bounds and site is not None and all(isinstance(b, Known) for b in bounds):
                self.counters[block.args[0]] = site
            exits = target.breaks  # leaving by the test of a `while`
            if breaks is not None:
                exits, target.breaks, target.break_label = [], breaks.breaks, breaks.break_label
            outer_breaks = len(target.breaks)
            errors, poisoned, returns = len(self.errors), self.poisoned, [len(f.returns) for f in self.frames]
            frame.loops.append(target)

            def leave() -> bool:
                exits.append((self.effect("break", (), to=label), dict(frame.locals)))  # noqa: B023
                return False

            with self.builder.at(block):
                falls = self.reached(lambda: body(target, leave))  # noqa: B023
            frame.loops.pop()
            end = frame.locals
            inner = [env for _, env in target.continues] + ([end] if falls else [])
            envs = [before, header, *inner, *(env for _, env in exits)]
            found = self.plans(names, envs, force=True)
            found |= {n: p for n, p in plans.items() if p.key() == "Poison"}  # a conflict stays one
            if [p.key() for p in found.values()] == [p.key() for p in plans.values()]:
                break
            block.drop()
            plans = found
            if not any(p.key() == "Poison" for p in plans.values()):  # else the next reading is silent about the cause
                del self.errors[errors:]
                self.poisoned = poisoned
            del target.breaks[outer_breaks:]
            for f, n in zip(self.frames, returns, strict=True):
                del f.returns[n:]
        if falls:
            with self.builder.at(block):
                self.effect("yield", self.flatten(plans, end))
        self.fill(target.continues, plans)
        self.fill(exits, plans)
        frame.locals = before
        initial = self.flatten(plans, before)
        types = [t for plan in plans.values() for t in plan.types()]
        op = self.builder.op(
            "loop", [*bound_values, *initial], self.loc, regions=[block], types=types, label=label, counted=bool(bounds)
        )
        if not bounds and not exits:  # nothing ends this loop but a return, a raise or a break past its else
            self.effect("unreachable", ())
            frame.locals = dict(before)
            return False
        frame.locals = dict(before)
        self.rebind(plans, op, names)
        return True

    def counter_name(self, node: ast.For | ast.While) -> str:
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Call):
            called = node.iter.func
            if isinstance(called, ast.Name) and called.id == "range":
                return node.target.id
        return "i"

    def unrolled(self, node: ast.For, items: Sequence[AV], names: frozenset[str]) -> bool:
        """A loop over a known sequence: its body once per item."""
        leaves = has_leave(node.body, ast.Break) or has_leave(node.body, ast.Continue)
        if not leaves:
            for item in items:
                self.assign(node.target, item)
                if not self.run(node.body):
                    return False
            return self.run(node.orelse)
        names |= (assigned(node.body) | assigned([node.target])) & self.frame.live.header[node]

        def whole(break_label: str, breaks: list[Exit]) -> bool:
            for item in items:

                def once(continue_label: str, continues: list[Exit], item: AV = item) -> bool:
                    self.assign(node.target, item)
                    target = LoopTarget(break_label, continue_label, "break", breaks, continues)
                    self.frame.loops.append(target)
                    try:
                        return self.run(node.body)
                    finally:
                        self.frame.loops.pop()

                if not self.scoped(names, once):
                    return False
            return self.run(node.orelse)

        return self.scoped(names | (assigned(node.orelse) & self.frame.live.after[node]), whole)

    # ---- binding ----
    def assign(self, target: ast.expr, value: AV) -> None:
        match target:
            case ast.Name(id=name):
                if isinstance(value, Dyn) and not value.value.name and value.value.op is not None:
                    value.value.name = name
                if isinstance(value, ListV) and value.value is not None and not value.value.name:
                    value.value.name = name
                self.frame.locals[name] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self.unpack(targets, value)
            case ast.Starred(value=inner):
                self.assign(inner, value)
            case ast.Subscript():
                self.store_item(self.eval(target.value), self.eval(target.slice), value)
            case ast.Attribute():
                self.store_attribute(self.eval(target.value), target.attr)
            case _:
                self.fail("this target of an assignment is not supported in compiled code")

    def unpack(self, targets: list[ast.expr], value: AV) -> None:
        starred = [i for i, t in enumerate(targets) if isinstance(t, ast.Starred)]
        items = self.unpacked(value, None if starred else len(targets))
        if starred:
            at, after = starred[0], len(targets) - starred[0] - 1
            if len(items) < len(targets) - 1:
                self.raises_at_run_time(
                    "ValueError",
                    f"not enough values to unpack (expected at least {len(targets) - 1}, got {len(items)})",
                )
            rest = self.new_list(items[at : len(items) - after], (self.loc, "star"))
            items = [*items[:at], rest, *items[len(items) - after :]]
        for t, item in zip(targets, items, strict=True):
            self.assign(t, item)

    def unpacked(self, value: AV, count: int | None) -> list[AV]:
        """The items of a value that is unpacked into `count` targets, None where any number will do."""
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
        with self.builder.at(Block()) as block:
            self.frames.append(frame)
            saved, self.node = self.node, frame.source.node
            try:
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
            return sites[0].av
        try:
            plan = unify([s.av for s in sites], fresh=True)
        except Conflict as e:
            self.fail(f"{frame.source.name} returns {e} on different paths", "return one type of value on all paths")
        self.fill_returns(sites, plan)
        op = self.builder.op("scope", (), self.loc, regions=[block], types=list(plan.types()), label=frame.label)
        return plan.rebuild(iter(op.results), "")

    def fill_returns(self, sites: Sequence[ReturnSite], plan: Plan) -> None:
        saved = self.builder
        for site in sites:
            self.builder = Builder.before(site.op)
            site.op.set_operands(list(plan.flatten(self, site.av)))
        self.builder = saved
