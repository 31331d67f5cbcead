"""Find at run time which inputs the outputs of a call depend on, since autograd gives None to those that none depends on.

    %h = loop(%zeros) {             %h, %b = loop(%zeros, 0) {
      (%a):                           (%a, %m):
      %s = matmul(%a, %w)    =>       %s = matmul(%a, %w)
      yield(%s)                       %n = int.or_(%m, 1)
    }                                 yield(%s, %n)
                                    }

`%b` has the bit of `%w` if an iteration ran.

- A value that a branch or a loop chooses has the bits of the value that it became.
- A tensor that is written, or a list that changes, has at each op the bits of what has gone there up to then, if it has one
  name.
- Any other value has the bits of all that gradients may flow to it from, also by code that has not run.

So a bit may be set that autograd would not set, but not the other way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from scriptc.ir.builder import Builder
from scriptc.ir.core import Func, Op, Value
from scriptc.ir.gradients.activity import Flow, carries, holders, root_of
from scriptc.ir.loc import Loc
from scriptc.ir.regions import Operand, RegionArgument, ancestor_in, exits, is_loop, region_arguments
from scriptc.ir.types import INT, ListType, TensorType, Type

BITS = 62  # inputs in one number


def numbers_for(uncertain: int, outputs: int) -> int:
    """Return how many numbers hold the bits of so many inputs for each of the outputs."""
    return -(-uncertain // BITS) * outputs


@dataclass(frozen=True)
class _State:
    """Stands for what has gone into a tensor or list when a region op is over, or, inside, when an iteration of it begins."""

    root: Value
    op: Op
    inside: bool


_Choice = Value | _State


@dataclass(frozen=True)
class _Bits:
    """The inputs that a value depends on: some, by the numbers of bits, and those of choices."""

    known: int
    choices: frozenset[_Choice]


@dataclass(frozen=True)
class _Passed:
    """Tells what a region op passes on.

    inner, result: the choice inside of a loop, and behind the op. into_inner, into_result: the ops that take what becomes
    these: terminators, and a loop itself. bits: of what such an op takes, found before differentiation moves code.
    """

    op: Op
    inner: _Choice | None
    result: _Choice | None
    into_inner: Sequence[Op]
    into_result: Sequence[Op]
    bits: Callable[[Op], _Bits]

    def sources(self, choice: _Choice) -> list[_Bits]:
        """Return the bits of all that may become a choice."""
        return [self.bits(user) for user in (self.into_inner if choice == self.inner else self.into_result)]


class Reached:
    """The inputs that the outputs of a function depend on.

    inputs: each with the number of its bit. outputs: how many of the last operands of the function's `return`. uncertain: the
    numbers of the inputs that outputs may depend on, or not.
    """

    def __init__(self, func: Func, inputs: Sequence[Value | None], outputs: int):
        self.last = func.body.ops[-1]
        values = self.last.operands[len(self.last.operands) - outputs :]
        self._bits = {v: 1 << i for i, v in enumerate(inputs) if v is not None}
        self._flow = Flow([func.body], with_zeros=True)
        self._all: dict[Value, int] = {}
        self._writers = _find_writers(func)
        self._around = {root: _regions_around(writers, root) for root, writers in self._writers.items()}
        self._passed: dict[_Choice, _Passed] = {}
        for passed in (*self._find_values(func), *self._find_states()):
            self._passed.update((c, passed) for c in (passed.inner, passed.result) if c is not None)
        self.sources = {choice: passed.sources(choice) for choice, passed in self._passed.items()}
        self.always = _find_constant(self.sources)
        self.outputs = [self._bits_of(v, self.last) for v in values]
        least = _find_least(self.sources)
        found = 0
        for value, bits in zip(values, self.outputs, strict=True):
            found |= self._possible(value) & ~_total(bits, least)
        self.uncertain = [i for i in range(found.bit_length()) if found >> i & 1]

    def _find_values(self, func: Func) -> Iterator[_Passed]:
        """Yield what branches and loops choose, where nothing else goes into it."""
        for op in func.body.walk():
            for argument in region_arguments(op) if op.name == "if" or is_loop(op) else ():
                inner = self._chosen(argument.inner, argument.into_inner)
                result = self._chosen(argument.result, argument.into_result)
                into_inner, into_result = [u for u, _ in argument.into_inner], [u for u, _ in argument.into_result]
                yield _Passed(op, inner, result, into_inner, into_result, self._operand_of(argument))

    def _chosen(self, value: Value | None, operands: Sequence[Operand]) -> Value | None:
        return None if value is None or self._flow.back[value] - {user.operands[i] for user, i in operands} else value

    def _operand_of(self, argument: RegionArgument) -> Callable[[Op], _Bits]:
        numbers = dict(argument.operands)
        return cache(lambda user: self._bits_of(user.operands[numbers[user]], user))

    def _find_states(self) -> Iterator[_Passed]:
        """Yield the states of what is written or changed in branches and loops."""
        for root, around in self._around.items():
            for op in around:
                leaving = exits(op)
                begins = [op, *(t for t in leaving if t.name != "break")] if is_loop(op) else []
                ends = leaving if not is_loop(op) else [t for t in leaving if t.name == "break"]
                ends = [*begins, *ends] if is_loop(op) and op.attrs["counted"] else ends
                inner = _State(root, op, inside=True) if is_loop(op) else None
                yield _Passed(op, inner, _State(root, op, inside=False), begins, ends, self._state_of(root))

    def _state_of(self, root: Value) -> Callable[[Op], _Bits]:
        return cache(lambda user: self._bits_of(root, user))

    def _possible(self, value: Value) -> int:
        """Return the bits of all inputs that a value may depend on."""
        if value not in self._all:
            self._all[value] = sum(bit for v in self._flow.sources([value]) if (bit := self._bits.get(v)))
        return self._all[value]

    def _bits_of(self, value: Value, user: Op) -> _Bits:
        """Return the bits of a value that an op takes."""
        known, choices = 0, set[_Choice]()
        todo, seen = [(value, user)], set[tuple[Value, Op | None]]()
        while todo:
            at, taker = todo.pop()
            root = root_of(at)
            is_tracked = root in self._writers
            key = (root, taker) if is_tracked else (at, None)
            if key in seen:
                continue
            seen.add(key)
            if is_tracked:
                more, choice = self._before(root, taker)
                todo += more
                if choice is None:
                    known |= self._bits.get(root, 0)
                elif _is_visible(choice, user):
                    choices.add(choice)
                else:
                    known |= self._possible(root)
            elif at not in self._passed:
                known |= self._bits.get(at, 0)
                for source in self._flow.back[at]:
                    if at.op is not None and not at.op.regions:
                        todo.append((source, at.op))
                    else:
                        known |= self._possible(source)
            elif _is_visible(at, user):
                choices.add(at)
            else:
                known |= self._possible(at)
        return _Bits(known, frozenset(c for c in choices if self._possible(c.root if isinstance(c, _State) else c) & ~known))

    def _before(self, root: Value, user: Op) -> tuple[list[tuple[Value, Op]], _State | None]:
        """Return what has gone into a tensor or list before an op, with the ops that took it, behind the state before all that.

        There is no such state behind the op that made it.
        """
        found: list[tuple[Value, Op]] = []
        writers, around = self._writers[root], self._around[root]
        at = user
        while at.parent is not None:
            ops = at.parent.ops
            for op in reversed(ops[: ops.index(at)]):
                if op is root.op:
                    return [*found, *((v, op) for v in op.operands if v in self._flow.back[root])], None
                if op in writers:
                    found += [(v, op) for v in op.operands[1:] if carries(v.type)]
                elif op in around:
                    return found, _State(root, op, inside=False)
            owner = at.parent.parent
            if owner is None:
                break
            if owner in around and is_loop(owner):
                return found, _State(root, owner, inside=True)
            at = owner
        return found, None

    def add_to(self) -> list[Value]:
        """Build code that finds the bits, and return for each BITS uncertain inputs a number for each output."""
        made: list[Value] = []
        for first in range(0, len(self.uncertain), BITS):
            made += _Code(self, self._passed, self.uncertain[first : first + BITS]).results()
        return made


def _find_writers(func: Func) -> dict[Value, list[Op]]:
    """Return the ops that write to each tensor, or change each list, of those that have one name."""
    found: dict[Value, list[Op]] = {}
    unknown = set[Value]()
    for op in func.body.walk():
        if op.defn.writes & {"tensor", "list"} and op.operands:
            root = root_of(op.operands[0])
            found.setdefault(root, []).append(op)
            others = {root_of(v) for v in holders(op.operands[0])} - {root}
            is_made = root.op is not None and not root.op.regions or root.op is None and root.block.parent is None
            if others or not is_made or op.name == "user_gradient":
                unknown |= {root, *others}
    known = {root: writers for root, writers in found.items() if root not in unknown and not _is_held(root)}
    around = {root: _regions_around(writers, root) for root, writers in known.items()}
    return {root: known[root] for root, ops in around.items() if all(op.name == "if" or is_loop(op) for op in ops)}


def _is_held(root: Value) -> bool:
    """Return whether a container may hold a tensor or list. Writes to tensors that lists hold are refused elsewhere."""
    harmless = {"tensor", "list"} if isinstance(root.type, TensorType) else set[str]()
    todo = [root]
    while todo:
        value = todo.pop()
        for (_, i), user in value.uses.items():
            if user.has("TERMINATOR"):
                continue
            if i and user.defn.writes - harmless or not all(_is_of_tensors(r.type) for r in user.results):
                return True
            todo += [r for r in user.results if root_of(r) is root]
    return False


def _is_of_tensors(t: Type) -> bool:
    """Return whether values of a type carry no gradients, but those of a tensor or of the tensors of a list."""
    return not carries(t) or isinstance(t.elem if isinstance(t, ListType) else t, TensorType)


def _regions_around(writers: Iterable[Op], root: Value) -> list[Op]:
    """Return the region ops around the ops that write to a tensor, inside of the block where the tensor is made."""
    found: dict[Op, None] = {}
    for op in writers:
        at = op
        while at.parent is not None and at.parent is not root.block and at.parent.parent is not None:
            at = at.parent.parent
            found[at] = None
    return list(found)


def _find_constant(sources: dict[_Choice, list[_Bits]]) -> dict[_Choice, int | None]:
    """Return for each choice the bits that it has on all paths, None if these differ."""
    found: dict[_Choice, int | None] = {}
    changes = True
    while changes:
        changes = False
        for choice, several in sources.items():
            if found.get(choice, 0) is None:
                continue
            values = {_constant(bits, found) for bits in several if bits.choices <= found.keys()}
            if not values:
                continue
            value = values.pop() if len(values) == 1 else None
            if choice not in found or found[choice] != value:
                found[choice], changes = value, True
    return found


def _constant(bits: _Bits, found: dict[_Choice, int | None]) -> int | None:
    total = bits.known
    for choice in bits.choices:
        more = found[choice]
        if more is None:
            return None
        total |= more
    return total


def _find_least(sources: dict[_Choice, list[_Bits]]) -> dict[_Choice, int]:
    """Return for each choice the bits that it has on every path."""
    least = dict.fromkeys(sources, -1)
    changes = True
    while changes:
        changes = False
        for choice, several in sources.items():
            total = least[choice]
            for bits in several:
                total &= _total(bits, least)
            if total != least[choice]:
                least[choice], changes = total, True
    return least


def _total(bits: _Bits, of_choices: dict[_Choice, int]) -> int:
    total = bits.known
    for choice in bits.choices:
        total |= of_choices[choice]
    return total


class _Code:
    """The code that finds the bits of some inputs."""

    def __init__(self, reached: Reached, passed: dict[_Choice, _Passed], inputs: Sequence[int]):
        self.reached = reached
        self.passed = passed
        self.inputs = inputs
        self.numbers: dict[_Choice, Value] = {}

    def results(self) -> list[Value]:
        outputs, last = self.reached.outputs, self.reached.last
        added = self.add_choices(c for bits in outputs for c in bits.choices)
        for passed in added:
            self.pass_on(passed)
        return [self.number(bits, Builder.before(last), last.loc) for bits in outputs]

    def add_choices(self, wanted: Iterable[_Choice]) -> list[_Passed]:
        """Let the branches and loops that make choices, and those that these depend on, pass a number on."""
        todo, added = list(wanted), list[_Passed]()
        while todo:
            choice = todo.pop()
            if choice in self.numbers or self.reached.always.get(choice) is not None:
                continue
            passed = self.passed[choice]
            added.append(passed)
            op = passed.op
            if is_loop(op):
                region = op.regions[0]
                region.args.append(Value(INT, region, "reached"))
                self.add_number(passed.inner, region.args[-1], todo)
            op.results.append(Value(INT, op, "reached"))
            self.add_number(passed.result, op.results[-1], todo)
        return added

    def add_number(self, choice: _Choice | None, number: Value, todo: list[_Choice]) -> None:
        if choice is not None:
            self.numbers[choice] = number
            todo += [c for bits in self.reached.sources[choice] for c in bits.choices]

    def pass_on(self, passed: _Passed) -> None:
        """Append the number to the operands that become a choice."""
        op = passed.op
        for user in (op, *exits(op)) if is_loop(op) else exits(op):
            user.set_operands([*user.operands, self.number(passed.bits(user), Builder.before(user), op.loc)])

    def number(self, bits: _Bits, builder: Builder, loc: Loc) -> Value:
        """Return the bits of the inputs as a number."""
        known, found = bits.known, dict[Value, None]()
        for choice in bits.choices:
            always = self.reached.always.get(choice)
            if always is None:
                found[self.numbers[choice]] = None
            else:
                known |= always
        total = builder.const(sum(1 << k for k, i in enumerate(self.inputs) if known >> i & 1), loc)
        for value in sorted(found, key=list(self.numbers.values()).index):
            total = builder.build("int.or_", [total, value], loc)
        return total


def _is_visible(choice: _Choice, user: Op) -> bool:
    """Return whether an op that takes a value runs where a choice is made already."""
    if isinstance(choice, _State):
        block, made = (choice.op.regions[0], None) if choice.inside else (choice.op.parent, choice.op)
    else:
        block, made = choice.block, choice.op
    at = ancestor_in(block, user) if block is not None else None
    return at is not None and (made is None or made is not at and made.is_before(at))
