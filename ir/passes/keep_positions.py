"""Look a key up in a dict once, and use its position from then on.

    %n = dict.find(%d, %k)                          %n = dict.find(%d, %k)
    %c = int.ge(%n, %zero)                          %c = int.ge(%n, %zero)
    %old = if %c -> (f64) {                         %old, %p = if %c -> (f64, i64) {
      %v = dict.at(%d, %n)                            %v = dict.at(%d, %n)
      yield(%v)                                       yield(%v, %n)
    } else {                                   =>   } else {
      dict.set(%d, %k, %start)                        %m = dict.enter(%d, %k, %start)
      yield(%start)                                   yield(%start, %m)
    }                                               }
    dict.set(%d, %k, %new)                          dict.put(%d, %p, %new)

Where it is not known whether the lookup found the key, an `if` replaces the value or enters the key. A position is not used
behind an op that may add or remove other keys of any dict, since that may close gaps between items.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scriptc.ir.analysis import calls, writers
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Module, Op, Value
from scriptc.ir.ranges import constant_int
from scriptc.ir.regions import exits, is_loop
from scriptc.ir.types import INT, DictType, SetType


@dataclass(frozen=True)
class _Found:
    """Hold what an earlier op says of a key.

    position: the key's, if the key is `present`; None: it may be.
    """

    position: Value
    present: bool | None = None


@dataclass(frozen=True)
class _Either:
    """Say that a key is present behind an `if`, at the position that the branch gives which ran."""

    choice: Op
    branches: tuple[_Found | _Either, ...]


_Key = tuple[Value, Value]  # a dict and a key
_State = dict[_Key, "_Found | _Either"]


def _presence(condition: Value, holds: bool) -> Iterator[tuple[Value, bool]]:
    """Yield the results of lookups that a truth value of a condition decides, with whether they found the key."""
    op = condition.op
    if op is None:
        return
    if op.name == "bool.not":
        yield from _presence(op.operands[0], not holds)
    elif op.name in ("int.ge", "int.lt") and constant_int(op.operands[1]) == 0:
        yield op.operands[0], holds == (op.name == "int.ge")


def _moves_items(op: Op) -> bool:
    """Return whether an op, or one inside it, may add or remove keys."""
    inside = any(w.name != "dict.put" and _takes_table(w) for w in writers(op, "list"))
    return inside or any(map(calls, op.walk()))


def _takes_table(op: Op) -> bool:
    return any(isinstance(v.type, (DictType, SetType)) for v in op.operands)


class _Positions:
    def __init__(self) -> None:
        self.changed = False

    def block(self, block: Block, state: _State) -> None:
        """Rewrite the ops of a block, where `state` holds at its start. Then it holds at the block's end."""
        for op in list(block.ops):
            if op.name == "dict.find":
                self.find(op, state)
            elif op.name == "dict.set":
                self.write(op, state)
            elif op.name == "if":
                self.choose(op, state)
            elif op.regions:
                self.regions(op, state)
            elif _moves_items(op):
                state.clear()

    def find(self, op: Op, state: _State) -> None:
        table, key = op.operands
        known = state.get((table, key))
        position = _present(known) if known is not None else None
        if position is None:
            state[table, key] = _Found(op.result)
        else:
            op.replace_with([position])
            self.changed = True

    def write(self, op: Op, state: _State) -> None:
        table, key, value = op.operands
        known = state.get((table, key))
        position = _present(known) if known is not None else None
        if position is not None:
            Builder.before(op).op("dict.put", [table, position, value], op.loc)
        else:
            state.clear()
            if known is None:
                return
            assert isinstance(known, _Found)
            position = _enter(op, known)
            state[table, key] = _Found(position, present=True)
        op.erase()
        self.changed = True

    def choose(self, op: Op, state: _State) -> None:
        """Rewrite the branches of an `if`, and let `state` be what holds behind it."""
        ends: list[_State | None] = []
        for holds, region in zip((True, False), op.regions, strict=True):
            end = dict(state)
            for position, present in _presence(op.operands[0], holds):
                for key, known in state.items():
                    if isinstance(known, _Found) and known.position is position and known.present is None:
                        end[key] = _Found(position, present)
            self.block(region, end)
            ends.append(end if any(t.parent is region for t in exits(op)) else None)
        state.clear()
        going_on = [end for end in ends if end is not None]
        if going_on:
            state.update(_joined(op, going_on))

    def regions(self, op: Op, state: _State) -> None:
        moves = _moves_items(op)
        for i, region in enumerate(op.regions):
            self.block(region, {} if moves and (is_loop(op) or i) else dict(state))
        if moves:
            state.clear()


def _joined(choice: Op, ends: Sequence[_State]) -> Iterator[tuple[_Key, _Found | _Either]]:
    """Yield what holds behind an `if` with these states at the ends of the branches that go on."""
    for key in set.intersection(*(set(end) for end in ends)):
        known = [end[key] for end in ends]
        places = {each.position for each in known if isinstance(each, _Found)}
        if all(map(_is_present, known)) and not (len(places) == 1 and _is_visible(known, choice)):
            yield key, _Either(choice, tuple(known))
        elif len(places) == 1 and _is_visible(known, choice):
            yield key, known[0] if len(set(known)) == 1 else _Found(places.pop())


def _is_visible(known: Sequence[_Found | _Either], choice: Op) -> bool:
    """Return whether positions were found in front of an `if`."""
    assert choice.parent is not None
    return all(isinstance(each, _Found) and each.position.block.encloses(choice.parent) for each in known)


def _is_present(known: _Found | _Either) -> bool:
    return isinstance(known, _Either) or known.present is True


def _present(known: _Found | _Either) -> Value | None:
    """Return the position of a key that is present, for which an `if` may get another result."""
    if isinstance(known, _Found):
        return known.position if known.present else None
    choice = known.choice
    for leaving, branch in zip(exits(choice), known.branches, strict=True):
        position = _present(branch)
        assert position is not None
        leaving.set_operands([*leaving.operands, position])
    choice.results.append(Value(INT, choice, "position"))
    return choice.results[-1]


def _enter(op: Op, known: _Found) -> Value:
    """Build what a `dict.set` does where it is known that the key is absent, or where a lookup may have found it."""
    table, key, value = op.operands
    b = Builder.before(op)
    if known.present is False:
        return b.op("dict.enter", [table, key, value], op.loc).result
    found = b.op("int.ge", [known.position, b.const(0, op.loc)], op.loc).result
    there, missing = Block(), Block()
    choice = b.op("if", [found], op.loc, regions=[there, missing], types=[INT], names=["position"])
    b = Builder(there)
    b.op("dict.put", [table, known.position, value], op.loc)
    b.op("yield", [known.position], op.loc)
    b = Builder(missing)
    b.op("yield", [b.op("dict.enter", [table, key, value], op.loc).result], op.loc)
    return choice.result


def run(module: Module, options: Mapping[str, int]) -> bool:
    positions = _Positions()
    for func in module.funcs.values():
        if any(op.name == "dict.set" for op in func.body.walk()):
            positions.block(func.body, {})
    return positions.changed
