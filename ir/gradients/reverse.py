"""Differentiate a function: a forward function that keeps what the backward function needs, and that backward function.

    func @f(%x, %w) {              func @f(%x, %w) {                 func @f.backward(%y, %w, %x, %g) {
      %h = matmul(%x, %w)            %h = matmul(%x, %w)               %gh = ... (of tanh, from %y and %g)
      %y = tanh(%h)           =>     %y = tanh(%h)                     %gx = ... (of matmul, from %w and %gh)
      return(%y)                     return(%y, %y, %w, %x)            %gw = ... (of matmul, from %x and %gh)
    }                              }                                   return(%gx, %gw)
                                                                     }

Backward code mirrors forward code block by block. A loop becomes a loop over its iterations from the last to the first, an
`if` an `if` on the same condition. Gradients of carried values are carried, as are those of loop-invariant values, which are
sums. docs/internals/gradients.md gives the rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress

from scriptc.ir.analysis import may_be_undefined
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Func, Module, Op, Value
from scriptc.ir.gradients import (
    checkpoints,
    chunks,
    escapes,
    exceptions,
    list_changes,
    lists,
    recompute,
    user_functions,
    writes,
)
from scriptc.ir.gradients.activity import Flow, root_of, viewed
from scriptc.ir.gradients.adjoints import Adjoints, around
from scriptc.ir.gradients.branches import find_exclusive
from scriptc.ir.gradients.exits import give_one_exit
from scriptc.ir.gradients.fetched import Fetched, is_nested
from scriptc.ir.gradients.given import GivenFlags
from scriptc.ir.gradients.joined_types import join_types
from scriptc.ir.gradients.keeping import KeptInPlace, KeptOfFunction, KeptOfLoop, KeptOnStack
from scriptc.ir.gradients.levels import Level
from scriptc.ir.gradients.list_aliases import refuse_aliases
from scriptc.ir.gradients.ops import reverse_op
from scriptc.ir.gradients.reached import Reached
from scriptc.ir.gradients.reversal import REVERSES, Reversal, fresh_labels
from scriptc.ir.gradients.rules import Derivatives, not_differentiable
from scriptc.ir.gradients.trip_counts import range_length
from scriptc.ir.regions import counter, defined_by, is_loop
from scriptc.ir.types import INT, ListType, OptionalType, TensorType, Type, join

_REGISTERED = (list_changes, lists, user_functions, writes)  # imported for the ops that they register


@dataclass(frozen=True)
class Differentiated:
    """The forward and the backward function that `differentiate` made.

    takes: for each result of the entry whether it takes a gradient. outputs: how many tensors and lists of tensors the forward
    function returns after the entry's results: those results that take gradients, once more, and what escapes (escapes.py).
    fetched: how many lists of tensors from nested containers among the arguments it returns after those (fetched.py).
    kept: for each value that the backward function takes first, the number of the argument of the entry that it is; None for
    one that the forward function returns after all those.
    arrives: for each input whether the backward function returns its gradient, which it does where a gradient reaches the
    input and the input is no nested container.
    flags: the numbers of the outputs for which the backward function takes, last, whether their gradients are given.
    reaches: for each output the numbers of the inputs that its gradient may reach.
    uncertain: the numbers of those inputs that it may reach or not. For BITS of them at a time, the forward function returns
    last a number for each output, with the bits of those that its gradient reaches (reached.py).
    """

    forward: Func
    backward: Func
    takes: tuple[bool, ...]
    outputs: int
    fetched: int
    kept: tuple[int | None, ...]
    arrives: tuple[bool, ...]
    flags: tuple[int, ...]
    reaches: tuple[frozenset[int], ...]
    uncertain: tuple[int, ...]


def differentiate(
    module: Module, name: str, arguments: Sequence[int], params: Sequence[str], derivatives: Derivatives,
    *, cuts_loops: bool = False,
) -> Differentiated:  # fmt: skip
    """Split an entry of a module into a forward and a backward function, in place.

    The backward function takes the kept values, then a gradient for each output, then flags (given.py). It returns the
    gradients of the arguments, by index, then of the params, by name, then a list of gradients for each list of `fetched`.
    cuts_loops: see chunks.py.

    Raises CompileError where the gradient of an op is needed and not supported.
    """
    func = module.funcs[name]
    give_one_exit(module)
    exceptions.forward_cells(func)
    hoisted = hoist_params(func, params)
    inputs = [*(func.body.args[i] for i in arguments), *(hoisted.get(p) for p in params)]
    last, labels = func.body.ops[-1], fresh_labels("G")
    nested = [v for v in inputs if v is not None and is_nested(v.type)]
    fetched = Fetched(func, nested, labels)
    given = [*(v for v in inputs if v is not None and v not in nested), *fetched.tensors]
    returned, own = (last.operands if last.name == "return" else ()), len(last.operands)  # a function may always raise
    takes = tuple(map(escapes.has_gradient, returned)) or (False,) * len(func.results)
    last.set_operands([*last.operands, *compress(returned, takes), *escapes.find(func, given, labels)])
    flow = Flow([func.body]).between(given, last.operands)
    fetched.drop_inactive(flow)
    cut = chunks.cut_loops(func.body.ops[:], flow, labels) if cuts_loops else {}
    reaches = _reached_inputs(func, inputs, last.operands[own:])
    alone = [v if v is not None and isinstance(v.type, TensorType) else None for v in inputs]
    reached = Reached(func, alone, len(last.operands) - own)
    flags = GivenFlags(last, last.operands[own:])
    results = flags.results
    adjoints = Adjoints(func, given, results, cut)
    refuse_aliases(func.body, adjoints.active, adjoints.tables)
    reversal, block = Reversal(adjoints, derivatives, module.funcs, labels), Block()
    kept = KeptOfFunction(block)
    level = Level(func.body, Builder(block), None, kept, adjoints.written)
    level.gated = adjoints.unread.gated
    flag_args = flags.add_arguments(level)
    gradients = [Value(v.type, block, f"grad_{v.name}") for v in results]
    for value, gradient in zip(results, gradients, strict=True):
        if isinstance(value.type, ListType):
            lists.start(reversal, level, value, gradient)
        else:
            adjoints.accumulate(level, value, gradient)
    reversal.fetched = {v: level.builder.op("list.new", [], last.loc, types=[v.type]).result for v in fetched.lists.values()}
    Blocks(reversal, level, flags).reverse(level)
    adjoints.unread.remove_gates()
    flags.remove()
    some = frozenset[int]().union(*reaches)
    found = [None if v is None else _gradient_of_input(reversal, level, v, i in some) for i, v in enumerate(inputs)]
    values = [*(v for v in found if v is not None), *reversal.fetched.values()]
    level.builder.op("return", values, last.loc)
    block.args += gradients + flag_args
    join_types(block)
    backward = Func(f"{func.name}.backward", block, [v.type for v in values], func.loc)
    known = tuple(_argument(func, v) for v in kept.values)
    handed = [v for v, argument in zip(kept.values, known, strict=True) if argument is None]
    last.set_operands([*last.operands, *reversal.fetched, *handed, *reached.add_to()])
    func.results = [*func.results, *(v.type for v in last.operands[own:])]
    for made in (func, backward):
        checkpoints.flatten(made.body)
    module.funcs[backward.name] = backward
    module.entries.append(backward.name)
    arrives = tuple(v is not None for v in found)
    return Differentiated(
        func, backward, takes, len(results), len(reversal.fetched), known, arrives, tuple(flags.numbers), reaches,
        tuple(reached.uncertain),
    )


def _reached_inputs(
    func: Func, inputs: Sequence[Value | None], results: Sequence[Value]
) -> tuple[frozenset[int], ...]:
    """Return for each result the numbers of the inputs that its gradient may reach."""
    flow = Flow([func.body], with_zeros=True)
    sources = [flow.sources([result]) for result in results]
    return tuple(frozenset(i for i, v in enumerate(inputs) if v in found) for found in sources)


def _argument(func: Func, value: Value) -> int | None:
    """Return the number of the argument that a value is, if the caller still has all of it after the call."""
    item = value.type.elem if isinstance(value.type, ListType) else value.type
    known = isinstance(item, TensorType) and value in func.body.args
    return func.body.args.index(value) if known else None


def _gradient_of_input(reversal: Reversal, level: Level, value: Value, is_reached: bool) -> Value | None:
    if is_nested(value.type):
        return None
    if isinstance(value.type, ListType):
        item = value.type.elem
        is_reached = is_reached and isinstance(item, TensorType) and item.dims is not None
        gradient = level.shadows.get(value)
        return lists.zeros_of(reversal, level, value) if gradient is None and is_reached else gradient
    gradient = reversal.adjoints.take_defined(level, value)
    return level.zero(value) if gradient is None and is_reached else gradient  # zeros: gradients of `sign` and the like


def _is_tensor_or_none(t: Type) -> bool:
    return isinstance(t.item if isinstance(t, OptionalType) else t, TensorType)


def hoist_params(func: Func, params: Sequence[str]) -> dict[str, Value]:
    """Read each param once, at the start of the function."""
    found: dict[str, Value] = {}
    for op in list(func.body.walk()):
        if op.name != "param" or op.attrs["name"] not in params:
            continue
        known = found.get(op.attrs["name"])
        if known is None:
            op.detach()
            func.body.insert(0, op)
            found[op.attrs["name"]] = op.result
        else:
            op.replace_with([known])
    return found


class Blocks:
    """Builds backward code of blocks, branches and loops.

    top: the level of the function's own block. flags: of the results whose gradients may be missing. moved: by region of a
    branch, the ops from around that have their backward code there.
    """

    def __init__(self, reversal: Reversal, top: Level, flags: GivenFlags | None = None):
        self.reversal = reversal
        self.adjoints = reversal.adjoints
        self.top = top
        self.flags = flags
        self.moved: dict[Block, list[Op]] = {}

    def reverse(self, level: Level) -> None:
        """Build the backward code of the block of a level, and of the ops that move into it."""
        active = self.adjoints.active
        ops = [*self.moved.get(level.forward, ()), *level.forward.ops]
        moved = find_exclusive(ops, self.adjoints, self.top.forward)
        self.moved.update(moved)
        elsewhere = {op for group in moved.values() for op in group}
        for op in reversed(ops):
            if op.has("TERMINATOR") or op in elsewhere:
                continue
            if op.regions:
                self.reverse_regions(level, op)
            elif op.name == "user_gradient":
                REVERSES[op.name](self.reversal, level, op)
            elif op.operands and (op.defn.writes & {"tensor", "list"} or any(r in active for r in op.results)):
                handler = REVERSES.get(op.name)
                if handler is not None:
                    handler(self.reversal, level, op)
                elif op.results:
                    reverse_op(self.reversal, level, op)
                elif op.operands[0] in active:
                    raise not_differentiable(op, f"`{op.name}`")

    def reverse_regions(self, level: Level, op: Op) -> None:
        if not {v for inner in op.walk() for v in (*inner.operands, *inner.results)} & self.adjoints.active:
            return
        if op.name not in ("if", "loop", "checkpoint", "try"):
            raise not_differentiable(op, f"`{op.name}`")
        self.prepare(level, op)
        if is_loop(op):
            self.reverse_loop(level, op)
        elif op.name == "checkpoint":
            self.reverse_checkpoint(level, op)
        elif op.name == "try":
            exceptions.refuse_partial_effects(op, self.adjoints.active)
            self.reverse_branches(level, op, level.get(exceptions.add_completed(op)))
        elif self.adjoints.unread.is_gate(op):
            self.reverse_gate(level, op)
        else:
            self.reverse_branches(level, op, level.get(op.operands[0]))

    def reverse_gate(self, level: Level, op: Op) -> None:
        """Build the backward code of a gate, which is open where the gradient of its result is not None."""
        gradient, builder = self.adjoints.take(level, op.result), level.builder
        if gradient is not None:
            is_optional = isinstance(gradient.type, OptionalType)
            is_open = builder.build("optional.present", [gradient], op.loc) if is_optional else builder.const(True, op.loc)
            self.reverse_branches(level, op, is_open)

    def prepare(self, level: Level, op: Op) -> None:
        """Make the buffers and lists of gradients of a block that code nested in `op` adds to."""
        adjoints, own = self.adjoints, defined_by(op.walk())
        for value in {v for inner in op.walk() for v in inner.operands}:
            root = root_of(value)
            if root in adjoints.buffered and root not in own and level.home_of(root) is level:
                adjoints.buffer(level, root)
            is_list = isinstance(value.type, ListType) and value in adjoints.active and value not in adjoints.stacked
            if is_list and viewed(value) is None and value not in own and level.home_of(value) is level:
                lists.shadow(self.reversal, level, value)

    def moved_into(self, op: Op) -> Iterator[Op]:
        """Yield the ops that move into an op, and into what moves there."""
        for region in op.regions:
            for moved in self.moved.get(region, ()):
                yield moved
                yield from self.moved_into(moved)

    def captured(self, op: Op) -> list[Value]:
        """Return the values from outside of an op whose gradients its regions add to, or what moves into them."""
        own, inside = defined_by(op.walk()), [inner for inner in op.walk() if inner is not op]
        for moved in self.moved_into(op):
            own |= defined_by(moved.walk())
            inside += moved.walk()
        used = dict.fromkeys(v for inner in inside for v in inner.operands)
        inherited = [v for v in used if v in self.adjoints.active and v not in own and _is_tensor_or_none(v.type)]
        return [v for v in inherited if root_of(v) not in self.adjoints.buffered]

    def outputs(self, level: Level, op: Op) -> list[tuple[int, Value]]:
        """Return the gradients that have reached the results of an op with regions, by their numbers."""
        found = [
            (i, level.home_of(r).shadows.get(r) if isinstance(r.type, ListType) else self.adjoints.take(level, r))
            for i, r in enumerate(op.results)
            if r in self.adjoints.active
        ]
        return [(i, gradient) for i, gradient in found if gradient is not None]

    def pass_back(self, level: Level, value: Value, gradient: Value) -> None:
        """Add to the gradient of a value that a region passes on. Of a list, the gradient is a list that nothing else uses."""
        if isinstance(value.type, ListType):
            lists.receive(self.reversal, level, value, gradient)
        else:
            self.adjoints.accumulate(level, value, gradient)

    def taken(self, level: Level, value: Value) -> Value:
        """Return the gradient of a value that a loop carries; of a list, its shadow."""
        if isinstance(value.type, ListType):
            return lists.shadow(self.reversal, level, value)
        return self.adjoints.take_or_nothing(level, value)

    def reverse_branches(self, level: Level, op: Op, condition: Value) -> None:
        """Build the backward code of two regions of which one ran. condition: whether that was the first one."""
        loc, outputs = op.loc, self.outputs(level, op)
        before = {v: around(level, v) for v in self.captured(op)}
        children = [self.reverse_branch(level, region, outputs, before) for region in op.regions]
        changed = [v for v, gradient in before.items() if any(c.gradients.get(v) is not gradient for c in children)]
        types: list[Type] = []
        for child in children:
            values = [child.gradients.get(v) or self.missing(child, op, v) for v in changed]
            child.builder.op("yield", values, loc)
            types = [join(a, v.type) for a, v in zip(types or [v.type for v in values], values, strict=True)]
        regions = [child.builder.block for child in children]
        if changed or any(len(region.ops) > 1 for region in regions):
            new = level.builder.op("if", [condition], loc, regions=regions, types=types)
            level.gradients.update(zip(changed, new.results, strict=True))

    def missing(self, level: Level, op: Op, value: Value) -> Value:
        """Return the gradient of a value on a path of `op` on which no gradient reaches the value."""
        is_flag = self.flags is not None and self.flags.makes(op)
        if is_flag and isinstance(value.type, TensorType) and not may_be_undefined(value, ()):
            return lists.zeros(level.builder, value.type, level.sizes(value), op.loc)  # of a weight, it may be all that is left
        return self.adjoints.nothing(level, value)

    def reverse_branch(
        self, level: Level, region: Block, outputs: list[tuple[int, Value]], before: dict[Value, Value | None]
    ) -> Level:
        """Build the backward code of a branch. outputs: gradients of the results of the `if`, by their numbers."""
        child = Level(region, Builder(Block()), level, KeptOnStack(self.top), self.adjoints.written)
        child.gradients = {v: gradient for v, gradient in before.items() if gradient is not None}
        last = region.ops[-1]
        is_gate = region.parent is not None and self.adjoints.unread.is_gate(region.parent)
        if last.name == "yield":
            for i, gradient in outputs:
                if is_gate and isinstance(gradient.type, OptionalType) and last.operands[i] in self.adjoints.active:
                    gradient = child.builder.build("optional.unwrap", [gradient], last.loc)
                self.pass_back(child, last.operands[i], gradient)
            self.reverse(child)
        return child

    def reverse_checkpoint(self, level: Level, op: Op) -> None:
        """Build code that runs a region again, and behind it the backward code of the region, which finds its values there."""
        recompute.refuse_effects(op)
        adjoints = self.adjoints
        outputs = self.outputs(level, op)
        region, backward = recompute.take_region(op, self.reversal.label), Block()
        child = Level(region, Builder(backward), level, KeptInPlace(), adjoints.written)
        child.gradients = level.gradients
        for i, gradient in outputs:
            self.pass_back(child, region.ops[-1].operands[i], gradient)
        Blocks(self.reversal, child).reverse(child)
        recompute.run_again(level, op, region, backward)

    def reverse_loop(self, level: Level, op: Op) -> None:
        adjoints, (region,), loc = self.adjoints, op.regions, op.loc
        count = _trip_count(level, op)
        skip = 3 if op.attrs["counted"] else 0
        inits, args = op.operands[skip:], region.args[1 if skip else 0 :]
        carried = [i for i, (a, r) in enumerate(zip(args, op.results, strict=True)) if {a, r} & adjoints.active]
        for i in carried:
            if not _is_tensor_or_none(args[i].type) and not isinstance(args[i].type, ListType):
                raise not_differentiable(op, f"a value of the type {args[i].type} that a loop carries")
        captured = self.captured(op)
        starts = [self.taken(level, op.results[i]) for i in carried]
        starts += [around(level, v) or adjoints.nothing(level, v) for v in captured]
        wanted = [adjoints.gradient_type(v) for v in (*(args[i] for i in carried), *captured)]
        types = [join(t, g.type) for t, g in zip(wanted, starts, strict=True)]
        block = Block([(INT, "k"), *((t, f"grad_{v.name}") for t, v in zip(types, starts, strict=True))])
        child = self.iteration(level, op, block, count)
        child.gradients = dict(zip(captured, block.args[1 + len(carried) :], strict=True))
        last = region.ops[-1]
        for i, gradient in zip(carried, block.args[1:], strict=False):
            self.pass_back(child, last.operands[i], gradient)
        self.reverse(child)
        ends = [self.taken(child, args[i]) for i in carried]
        ends += [child.gradients[v] for v in captured]
        for k, (arg, value) in enumerate(zip(block.args[1:], [*(args[i] for i in carried), *captured], strict=True)):
            if not isinstance(arg.type, OptionalType):  # code of this iteration takes it for a tensor
                ends[k] = adjoints.defined(child, value, ends[k])
        child.builder.op("yield", ends, loc)
        for arg, end in zip(block.args[1:], ends, strict=True):
            arg.type = join(arg.type, end.type)
        builder = level.builder
        bounds = [builder.const(0, loc), count, builder.const(1, loc)]
        types = [arg.type for arg in block.args[1:]]
        label = self.reversal.label()
        new = builder.op("loop", [*bounds, *starts], loc, regions=[block], types=types, label=label, counted=True)
        level.gradients.update(zip(captured, new.results[len(carried) :], strict=True))
        for i, result in zip(carried, new.results, strict=False):
            self.pass_back(level, inits[i], result)

    def iteration(self, level: Level, op: Op, block: Block, count: Value) -> Level:
        """Return the level of the body of a loop. block: the backward body, whose first argument counts the iterations."""
        loc, (region,) = op.loc, op.regions
        builder = Builder(block)
        last = builder.build("int.sub", [count, builder.const(1, loc)], loc)
        index = builder.build("int.sub", [last, block.args[0]], loc)
        keeper = KeptOfLoop(op, level, index) if op.parent is self.top.forward else KeptOnStack(self.top)
        child = Level(region, builder, level, keeper, self.adjoints.written)
        child.index = index
        if (number := counter(op)) is not None:
            start, step = level.get(op.operands[0]), level.get(op.operands[2])
            steps = builder.build("int.mul", [index, step], loc)
            child.known[number] = builder.build("int.add", [start, steps], loc)
        return child


def _trip_count(level: Level, op: Op) -> Value:
    """Return how many iterations of a loop ran, in backward code; forward code counts them if a `break` may end the loop."""
    loc, region = op.loc, op.regions[0]
    leaves = [t for t in region.walk() if t.name == "break" and t.attrs["to"] == op.attrs["label"]]
    if op.attrs["counted"] and not leaves:
        start, stop, step = (level.get(v) for v in op.operands[:3])
        return range_length(level.builder, start, stop, step, loc)
    zero = Builder.before(op).const(0, loc)
    arg = Value(INT, region, "count")
    region.args.append(arg)
    last = region.ops[-1]
    leaving = leaves[0].parent.parent if leaves and leaves[0].parent is not None else None
    builder = Builder.before(leaving if leaving is not None else last)
    more = builder.build("int.add", [arg, builder.const(1, loc)], loc)
    for terminator in (last, *leaves):
        terminator.set_operands([*terminator.operands, more])
    op.set_operands([*op.operands, zero])
    op.results.append(Value(INT, op, "count"))
    return level.get(op.results[-1])
