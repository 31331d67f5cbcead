"""Make a `try` whose body raises only by `raise` a scope that such a `raise` leaves, for outputs that have no exceptions.

    %r = try() do {                                    %r1, %code, %m = scope try0 {
      %bad = int.gt(%n, %three)                          %bad = int.gt(%n, %three)
      if %bad {                                          if %bad {
        raise(%n) {type = "ValueError", ...}               break(undef, 1, %n) {to = "try0"}
      } else { yield() }                                 } else { yield() }
      yield(%x)                                          yield(%x, 0, undef)
    } do (%e: exc) {                            =>     }
      %is = exc.is(%e) {classes = ["KeyError"]}        %ok = int.eq(%code, 0)
      if %is { yield() } else { reraise(%e) }          %r = if %ok { yield(%r1) } else {
      yield(%y)                                          %is = const() {value = false}
    }                                                    if %is { yield() } else { raise(%m) {type = "ValueError", ...} }
                                                         yield(%y)
                                                       }

The code of a `raise` is its number in the body, from 1 on. A loop may raise, since Ctrl-C ends it, and so may sums of ints.
With `unbounded=1`, nothing interrupts a call, and ints and memory have no bounds. Divisions of ints and reads of lists in the
body then get a test with a `raise` in front.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Func, Module, Op, Value
from scriptc.ir.exceptions import derived
from scriptc.ir.loc import Loc
from scriptc.ir.passes.single_exit import undefined
from scriptc.ir.ranges import constant_int
from scriptc.ir.regions import is_loop, may_raise, target
from scriptc.ir.types import INT, Type, is_tuple

_DIVISIONS = ("int.floordiv", "int.mod", "int.truediv")


def run(module: Module, options: Mapping[str, int]) -> bool:
    changed = False
    for func in module.funcs.values():
        tries = [op for op in func.body.walk() if op.name == "try"]
        for op in reversed(tries):  # inner ones first: what they raise again is a `raise` then
            if _raises_alone(op, bool(options.get("unbounded"))):
                for inner in list(op.regions[0].walk()):
                    if inner.name in _DIVISIONS or inner.name == "list.get":
                        _test_before(inner)
                _Lowering(module, func, op).run()
                changed = True
    return changed


def _raises_alone(op: Op, unbounded: bool) -> bool:
    """Return whether the body of a `try` raises only by `raise`, and the handler asks only for the class."""
    (error,) = op.regions[1].args
    tested = ("raise", "list.get", *_DIVISIONS) if unbounded else ("raise",)
    raising = [inner for inner in op.regions[0].walk() if inner.name not in tested and may_raise(inner)]
    if any(not (unbounded and _needs_bounds(inner)) for inner in raising):
        return False
    return all(user.name in ("exc.is", "reraise") for user in error.users())


def _needs_bounds(op: Op) -> bool:
    """Return whether an op raises only by Ctrl-C, or where an int or memory is too large."""
    allowed = {"MemoryError", "OverflowError"} if op.name.startswith("int.") else {"MemoryError"}
    return is_loop(op) or bool(op.defn.errors) and all(e.type in allowed for e in op.defn.errors)


def _test_before(op: Op) -> None:
    """Test the operands of a division or of a read of a list, and raise what the op would raise."""
    b, loc, (of, by) = Builder.before(op), op.loc, op.operands
    raised = op.defn.errors[0]
    if op.name == "list.get":
        n = b.build("list.len", [of], loc)
        if is_tuple(of.type):
            raised = next(e for e in op.defn.errors if e.message.startswith("tuple"))
        below = b.build("int.lt", [by, b.build("int.neg", [n], loc)], loc)
        fails = b.build("bool.or_", [below, b.build("int.ge", [by, n], loc)], loc)
    elif constant_int(by):
        return
    else:
        fails = b.build("int.eq", [by, b.const(0, loc)], loc)
    raising, others = Block(), Block()
    Builder(raising).op("raise", [], loc, type=raised.type, message=raised.message)
    Builder(others).op("yield", [], loc)
    b.op("if", [fails], loc, regions=[raising, others], types=[])


class _Lowering:
    """The rewriting of one `try`. sites: the `raise` ops of its body."""

    def __init__(self, module: Module, func: Func, op: Op):
        self.module, self.op = module, op
        self.body, self.handler = op.regions
        self.sites = [inner for inner in self.body.walk() if inner.name == "raise"]
        used = {inner.attrs.get("label") for inner in func.body.walk()}
        self.label = next(name for i in range(len(used) + 1) if (name := f"try{i}") not in used)
        self.passed = [[v.type for v in site.operands] for site in self.sites]  # the types of what follows the code
        self.types = [t for types in self.passed for t in types]

    def run(self) -> None:
        op, loc = self.op, self.op.loc
        normal = [r.type for r in op.results]
        sites = [(site.attrs, site.loc, len(site.operands)) for site in self.sites]
        last = self.body.ops[-1]
        if target(last) is op:
            b = Builder(self.body, len(self.body.ops) - 1)
            last.set_operands([*last.operands, b.const(0, loc), *(undefined(b, t, loc) for t in self.types)])
        for code, site in enumerate(self.sites, 1):
            self.leave(site, code, normal)
        for region in op.regions:
            region.parent = None
        op.regions = []
        before = Builder.before(op)
        scope = before.op("scope", [], loc, regions=[self.body], types=[*normal, INT, *self.types], label=self.label)
        number, values = scope.results[len(normal)], scope.results[len(normal) + 1 :]
        self.answer(sites, number, values)
        passed = Block()
        Builder(passed).op("yield", scope.results[: len(normal)], loc)
        fine = before.build("int.eq", [number, before.const(0, loc)], loc)
        names = [r.name for r in op.results]
        chosen = before.op("if", [fine], loc, regions=[passed, self.handler], types=normal, names=names)
        op.replace_with(chosen.results)

    def leave(self, site: Op, code: int, normal: Sequence[Type]) -> None:
        """Replace a `raise` by a `break` out of the scope."""
        block, loc, own = site.parent, site.loc, site.operands
        assert block is not None
        at = self.sites.index(site)
        site.erase()
        b = Builder(block)
        values = [undefined(b, t, loc) for t in normal] + [b.const(code, loc)]
        for i, types in enumerate(self.passed):
            values += own if i == at else [undefined(b, t, loc) for t in types]
        b.op("break", values, loc, to=self.label)

    def answer(self, sites: Sequence[tuple[Mapping, Loc, int]], code: Value, values: Sequence[Value]) -> None:
        """Let the handler ask for the code instead of the exception."""
        (error,) = self.handler.args
        for user in error.users():
            if user.name == "exc.is":
                classes = user.attrs["classes"]
                names = classes if user.attrs["exact"] else derived(self.module, classes)
                found = [i for i, (attrs, _, _) in enumerate(sites, 1) if attrs["type"] in names]
                user.replace_with([self.is_one_of(Builder.before(user), user.loc, code, found, len(sites))])
            else:
                block = user.parent
                assert block is not None
                user.erase()
                self.raise_again(block, sites, code, values)
        self.handler.args = []

    def is_one_of(self, b: Builder, loc: Loc, code: Value, found: Sequence[int], count: int) -> Value:
        """Return whether the code is one of some numbers from 1 to `count`."""
        if len(found) in (0, count):
            return b.const(bool(found), loc)
        tests = [b.build("int.eq", [code, b.const(i, loc)], loc) for i in found]
        for test in tests[1:]:
            tests[0] = b.build("bool.or_", [tests[0], test], loc)
        return tests[0]

    def raise_again(
        self, block: Block, sites: Sequence[tuple[Mapping, Loc, int]], code: Value, values: Sequence[Value]
    ) -> None:
        """End a block with the `raise` of which the code is."""
        at = 0
        for i, (attrs, loc, count) in enumerate(sites, 1):
            own = values[at : at + count]
            at += count
            if i == len(sites):
                Builder(block).op("raise", own, loc, **attrs)
                return
            raising, others = Block(), Block()
            Builder(raising).op("raise", own, loc, **attrs)
            Builder(others).op("yield", [], loc)
            b = Builder(block)
            b.op("if", [b.build("int.eq", [code, b.const(i, loc)], loc)], loc, regions=[raising, others], types=[])
        Builder(block).op("unreachable", [], self.op.loc)
