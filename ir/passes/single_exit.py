"""Give every region one exit: turn `break`, `continue` and early `return` into flags, for passes that need such regions.

    loop L %i = 0 to %n step 1               %r, %c, %p = loop L %i = 0 to %n step 1
        carry (%h = %x) {                        carry (%h = %x, %c0 = 0, %p0 = undef) {
      %stop = gt(%h, 5)                        %stop = gt(%h, 5)
      if %stop { return(%h) }                  %c1, %p1 = if %stop { yield(1, %h) } else { yield(0, undef) }
      %h1 = tanh(%h)                           %go = int.eq(%c1, 0)
      yield(%h1)                               %h2, %c2, %p2 = if %go {
    }                                            %h1 = tanh(%h)
    return(%r)                        =>         yield(%h1, 0, undef)
                                               } else { yield(undef, %c1, %p1) }
                                               %left = int.ne(%c2, 0)
                                               if %left { break(%h2, %c2, %p2) }
                                               yield(%h2, %c2, %p2)
                                             }
                                             %ok = int.eq(%c, 0)
                                             %q = if %ok { yield(%r) } else { yield(%p) }
                                             return(%q)

Afterwards

- `scope`, `continue` and all but the last `return` of a function are gone;
- the only `break` of a loop stands in the last op before the `yield` of the body, and both pass the same values on;
- a `raise`, `reraise` or `unreachable` may still end a region.

An exit is a number in `codes`. A region that is left early yields, behind its own values, the number of the exit that was
taken (0: none) and the values that each exit passes on, undefined for exits that were not taken. The rest of its block runs
only where the number is 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Func, Module, Op, Value
from scriptc.ir.loc import Loc
from scriptc.ir.ops import OPS
from scriptc.ir.regions import target
from scriptc.ir.types import BOOL, INT, Type, join

_NO_EXIT = 0
_LEAVING = ("break", "continue", "return")


@dataclass(frozen=True)
class _Exit:
    """A way out of a region: by a terminator `kind` to the op with `label`, with values of these types."""

    kind: str
    label: str
    types: tuple[Type, ...] = field(compare=False)


def run(module: Module, options: Mapping[str, int]) -> bool:
    return any([_SingleExit(func).run() for func in module.funcs.values()])


class _SingleExit:
    """The rewriting of one function."""

    def __init__(self, func: Func):
        self.func = func
        self.codes: dict[_Exit, int] = {}
        # found before blocks are taken apart: the targets of terminators are looked up through the blocks around them
        self.exits = {op: found for op in func.body.walk() if (found := self.exit_of(op)) is not None}

    def run(self) -> bool:
        body = self.func.body
        if not _leaves_early(body):
            return False
        exits = self.lower(body, ())
        last = body.ops[-1]
        if exits:  # the function is left by its only exit, whose values are the last ones that the body yields
            values = last.operands[1:]
            loc = last.loc
            last.erase()
            body.append(Op(OPS["return"], values, (), {}, loc))
        return True

    # ---- exits ----

    def code(self, leaving: _Exit) -> int:
        return self.codes.setdefault(leaving, len(self.codes) + 1)

    def exit_of(self, terminator: Op) -> _Exit | None:
        """Return the exit by which a terminator leaves its region early, None if it does not."""
        if terminator.name == "return":
            return _Exit("return", "", tuple(self.func.results))
        if terminator.name not in _LEAVING:
            return None
        to = target(terminator)
        assert to is not None
        if to.name == "loop" and terminator.name == "continue":
            return _Exit("continue", to.attrs["label"], tuple(arg.type for arg in _carried(to)))
        return _Exit("break", to.attrs["label"], tuple(r.type for r in to.results))

    # ---- blocks ----

    def lower(self, block: Block, normal: Sequence[Type]) -> list[_Exit]:
        """Make a block end in a `yield`, and return the exits by which it is left early.

        normal: the types of the values that the block yields. If there are exits, the code and the values of the exits
        follow these. A block that ends in a `raise` stays as it is.
        """
        for op in list(block.ops):
            if op.has("TERMINATOR"):
                leaving = self.exits.get(op)
                return [] if leaving is None else self.leave(block, op, leaving, normal)
            if not op.regions:
                continue
            exits, outcome = self.lower_op(op)
            if exits:
                return self.guard_rest(block, outcome, exits, normal)
        raise AssertionError("a block ends in a terminator")

    def leave(self, block: Block, terminator: Op, leaving: _Exit, normal: Sequence[Type]) -> list[_Exit]:
        values, loc = terminator.operands, terminator.loc
        terminator.erase()
        builder = Builder(block)
        nothing = [undefined(builder, t, loc) for t in normal]
        builder.op("yield", [*nothing, builder.const(self.code(leaving), loc), *values], loc)
        return [leaving]

    def guard_rest(
        self, block: Block, outcome: list[Value], exits: list[_Exit], normal: Sequence[Type]
    ) -> list[_Exit]:
        """Run what follows an op in a block only where the op was not left early.

        outcome: the code and the values of the exits of that op, which precede the rest of the block.
        """
        after = outcome[0].op
        assert after is not None
        loc, index = after.loc, max(block.ops.index(v.op) for v in outcome if v.op is not None) + 1
        rest, skipped = Block(), Block()
        rest.parent = block.parent  # jumps in it find their targets before it has an op of its own
        for op in block.ops[index:]:
            op.detach()
            rest.append(op)
        later = self.lower(rest, normal)
        every = [*exits, *(e for e in later if e not in exits)]
        self.widen(rest, normal, later, every)
        builder = Builder(skipped)
        values = dict(zip(exits, _grouped(outcome[1:], exits), strict=True))
        nothing = [undefined(builder, t, loc) for t in normal]
        passed = [v for e in every for v in values.get(e) or [undefined(builder, t, loc) for t in e.types]]
        builder.op("yield", [*nothing, outcome[0], *passed], loc)
        builder = Builder(block)
        goes_on = builder.build("int.eq", [outcome[0], builder.const(_NO_EXIT, loc)], loc)
        chosen = builder.op("if", [goes_on], loc, regions=[rest, skipped], types=[*normal, *_types(every)])
        builder.op("yield", chosen.results, loc)
        return every

    def widen(self, block: Block, normal: Sequence[Type], have: list[_Exit], wanted: list[_Exit]) -> None:
        """Let the `yield` of a block pass on a code and the values of the exits `wanted`, of which it has some."""
        last = block.ops[-1]
        if last.name != "yield":
            return
        operands, loc = list(last.operands), last.loc
        own = operands[: len(normal)]
        builder = Builder(block, len(block.ops) - 1)
        code = operands[len(normal)] if have else builder.const(_NO_EXIT, loc)
        values = dict(zip(have, _grouped(operands[len(normal) + 1 :], have), strict=True))
        passed = [v for e in wanted for v in values.get(e) or [undefined(builder, t, loc) for t in e.types]]
        last.set_operands([*own, code, *passed])

    # ---- ops with regions ----

    def lower_op(self, op: Op) -> tuple[list[_Exit], list[Value]]:
        """Rewrite an op with regions; return its exits, and the code and the values of the exits."""
        if not _leaves_early(op):
            return [], []
        if op.name in ("if", "try"):
            return self.lower_branches(op)
        if op.name == "checkpoint":
            return self.lower(op.regions[0], [r.type for r in op.results]), []
        return self.lower_loop(op) if op.name == "loop" else self.lower_scope(op)

    def lower_branches(self, op: Op) -> tuple[list[_Exit], list[Value]]:
        normal = [r.type for r in op.results]
        found = [self.lower(region, normal) for region in op.regions]
        exits = list(dict.fromkeys([*found[0], *found[1]]))
        if not exits:
            return [], []
        for region, have in zip(op.regions, found, strict=True):
            self.widen(region, normal, have, exits)
        new = _rebuilt(op, op.operands, _types(exits))
        return exits, new.results[len(normal) :]

    def lower_scope(self, op: Op) -> tuple[list[_Exit], list[Value]]:
        """Splice the body of a scope into the block around it."""
        normal = [r.type for r in op.results]
        (body,) = op.regions
        own = _Exit("break", op.attrs["label"], tuple(normal))
        exits = self.lower(body, normal)
        block, loc = op.parent, op.loc
        assert block is not None
        last = body.ops[-1]
        if last.name != "yield":  # every path raises
            for rest in reversed(block.ops[block.ops.index(op) + 1 :]):
                rest.erase()
        values = list(last.operands)
        for inner in list(body.ops):
            inner.detach()
            if inner is not last or last.name != "yield":
                block.insert_before(op, inner)
        if last.name != "yield":
            op.erase()
            return [], []
        last.drop()
        builder = Builder.before(op)
        outcome = values[len(normal) :]
        results = values[: len(normal)]
        outer = [e for e in exits if e != own]
        if own in exits:
            groups = dict(zip(exits, _grouped(outcome[1:], exits), strict=True))
            results = self.select(builder, outcome[0], own, groups[own], results, loc)
            outcome = [outcome[0], *(v for e in outer for v in groups[e])]
            if outer:
                outcome[0] = self.without(builder, outcome[0], [own], loc)
        for old, new in zip(op.results, results, strict=True):
            old.replace_all_uses(new)
            new.name = new.name or old.name
        op.erase()
        return outer, outcome if outer else []

    def lower_loop(self, op: Op) -> tuple[list[_Exit], list[Value]]:
        (body,) = op.regions
        label = op.attrs["label"]
        carried = _carried(op)
        for arg, result in zip(carried, op.results, strict=True):  # each iteration hands the same values to both
            arg.type = result.type = join(arg.type, result.type)
        normal, loc = [a.type for a in carried], op.loc
        stop = _Exit("break", label, tuple(r.type for r in op.results))
        again = _Exit("continue", label, tuple(normal))
        exits = self.lower(body, normal)
        outer = [e for e in exits if e not in (stop, again)]
        last = body.ops[-1]
        if last.name != "yield" or not exits:
            return [], []
        builder = Builder(body, len(body.ops) - 1)
        values, code = list(last.operands[: len(normal)]), last.operands[len(normal)]
        groups = dict(zip(exits, _grouped(last.operands[len(normal) + 1 :], exits), strict=True))
        for own in (again, stop):
            if own in exits:
                values = self.select(builder, code, own, groups[own], values, loc)
        passed = [v for e in outer for v in groups[e]]
        leaves = builder.build("int.ne", [code, builder.const(_NO_EXIT, loc)], loc)
        if again in exits:
            stays = builder.build("int.eq", [code, builder.const(self.code(again), loc)], loc)
            leaves = builder.build("bool.and_", [leaves, builder.build("bool.not", [stays], loc)], loc)
        outcome = [self.without(builder, code, [e for e in (stop, again) if e in exits], loc), *passed] if outer else []
        if len(exits) > (again in exits):
            left, goes_on = Block(), Block()
            Builder(left).op("break", [*values, *outcome], loc, to=label)
            Builder(goes_on).op("yield", [], loc)
            builder.op("if", [leaves], loc, regions=[left, goes_on], types=[])
        last.set_operands([*values, *outcome])
        if not outer:
            return [], []
        before = Builder.before(op)
        types = _types(outer)
        starts = [before.const(_NO_EXIT, loc), *(undefined(before, t, loc) for t in types[1:])]
        body.args += [Value(t, body) for t in types]
        new = _rebuilt(op, [*op.operands, *starts], types)
        return outer, new.results[len(normal) :]

    # ---- choices by code ----

    def select(
        self, builder: Builder, code: Value, taken: _Exit, values: Sequence[Value], others: Sequence[Value], loc: Loc
    ) -> list[Value]:
        """Return `values` where the exit `taken` was taken, else `others`."""
        if not others:
            return []
        is_taken = builder.build("int.eq", [code, builder.const(self.code(taken), loc)], loc)
        then, orelse = Block(), Block()
        Builder(then).op("yield", values, loc)
        Builder(orelse).op("yield", others, loc)
        return builder.op("if", [is_taken], loc, regions=[then, orelse], types=list(taken.types)).results

    def without(self, builder: Builder, code: Value, arrived: list[_Exit], loc: Loc) -> Value:
        """Return the code with the exits that end here counted as none."""
        for each in arrived:
            is_taken = builder.build("int.eq", [code, builder.const(self.code(each), loc)], loc)
            then, orelse = Block(), Block()
            Builder(then).op("yield", [Builder(then, 0).const(_NO_EXIT, loc)], loc)
            Builder(orelse).op("yield", [code], loc)
            code = builder.op("if", [is_taken], loc, regions=[then, orelse], types=[INT]).result
        return code


def _leaves_early(where: Block | Op) -> bool:
    """Return whether a terminator leaves a region of `where`, or of an op in it, early."""
    return any(op.name in _LEAVING and not _is_last_return(op) for op in where.walk())


def _is_last_return(op: Op) -> bool:
    return op.name == "return" and op.parent is not None and op.parent.parent is None


def _carried(loop: Op) -> list[Value]:
    return loop.regions[0].args[1 if loop.attrs["counted"] else 0 :]


def _types(exits: Sequence[_Exit]) -> list[Type]:
    """Return the types of the code and of the values of exits."""
    return [INT, *(t for e in exits for t in e.types)]


def _grouped(values: Sequence[Value], exits: Sequence[_Exit]) -> list[list[Value]]:
    """Return the values of each exit."""
    groups, at = [], 0
    for each in exits:
        groups.append(list(values[at : at + len(each.types)]))
        at += len(each.types)
    return groups


def undefined(builder: Builder, t: Type, loc: Loc) -> Value:
    """Return a value that is never read."""
    if t == INT:
        return builder.const(0, loc)
    if t == BOOL:
        return builder.const(False, loc)
    return builder.op("undef", [], loc, types=[t]).result


def _rebuilt(op: Op, operands: Sequence[Value], more: Sequence[Type]) -> Op:
    """Replace an op with regions by one that has further results."""
    regions = list(op.regions)
    for region in regions:
        region.parent = None
    names = [r.name for r in op.results]
    new = Builder.before(op).op(
        op.name, operands, op.loc, regions=regions, names=names, types=[*(r.type for r in op.results), *more], **op.attrs
    )
    op.regions = []
    for old, result in zip(op.results, new.results, strict=False):
        old.replace_all_uses(result)
    op.erase()
    return new
