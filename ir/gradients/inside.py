"""Compute the gradients that a function asks for itself: `autograd.grad` becomes backward code in its place.

    %y = tanh(%h)                             %y = tanh(%h)
    %g = autograd.grad(%y, %h)         =>     %g = ... (of tanh, from %y and ones)

The differentiated ops are those that run before the op in its block, and in the blocks around as long as these are branches
of an `if`. Control that reaches the op has passed them once, so backward code finds their values where they are. A gradient
that would flow further, to an earlier iteration of a loop, is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Func, Module, Op, Value
from scriptc.ir.gradients import chunks, detached, exceptions, tuple_lists
from scriptc.ir.gradients.activity import Flow, carries
from scriptc.ir.gradients.adjoints import Adjoints, narrowed
from scriptc.ir.gradients.exits import give_one_exit
from scriptc.ir.gradients.keeping import KeptInPlace
from scriptc.ir.gradients.levels import Level
from scriptc.ir.gradients.list_aliases import refuse_aliases
from scriptc.ir.gradients.reversal import Reversal, fresh_labels
from scriptc.ir.gradients.reverse import Blocks, hoist_params
from scriptc.ir.gradients.rules import Derivatives, not_differentiable
from scriptc.ir.ops import OPS
from scriptc.ir.passes import fold
from scriptc.ir.regions import defined_by

ASKS = "autograd.grad"


def asks_for_gradients(module: Module) -> bool:
    """Return whether a module has `autograd.grad` ops."""
    return any(op.name == ASKS for op in module.walk())


def run(module: Module, derivatives: Derivatives, *, cuts_loops: bool = False) -> Collection[Value]:
    """Replace the `autograd.grad` ops of a module. Return the values whose graph these ops have freed.

    cuts_loops: see chunks.py.

    Raises CompileError where the gradient of an op is needed and not supported.
    """
    if not asks_for_gradients(module):
        return ()
    (name,) = module.entries
    func = module.funcs[name]
    for other in module.funcs.values():
        for op in other.body.walk():
            if op.name == ASKS and other is not func:
                raise not_differentiable(op, "a function that calls itself", "call it outside of the recursion")
    if tuple_lists.run(module, fresh_labels("T")):
        fold.run(module, {})  # the parts of tuples that are made and taken apart at once
    give_one_exit(module)
    exceptions.forward_cells(func)
    freed: set[Value] = set()
    asking = [op for op in func.body.walk() if op.name == ASKS]
    for number, op in enumerate(asking):
        _Request(module, func, op, freed).replace(derivatives, fresh_labels(f"G{number}_"), cuts_loops=cuts_loops)
    return freed


def refuse_freed(func: Func, active: Collection[Value], freed: Collection[Value]) -> None:
    """Refuse the gradient of a function's results that would flow through values whose graph is freed."""
    if any(v in freed for v in active):
        raise not_differentiable(func.body.ops[-1], "a graph that a backward has freed", "detach() what is returned")


class _Request:
    """One `autograd.grad` op. freed: the values whose graph an earlier such op has freed."""

    def __init__(self, module: Module, func: Func, op: Op, freed: set[Value]):
        self.functions = module.funcs
        self.func = func
        self.op = op
        self.freed = freed

    def replace(self, derivatives: Derivatives, labels: Callable[[], str], *, cuts_loops: bool) -> None:
        """Build the gradients in front of the op, and drop the op. cuts_loops: cut the loops that backward code reverses."""
        op, n, m = self.op, self.op.attrs["outputs"], self.op.attrs["inputs"]
        wanted = {v.op.attrs["name"] for v in op.operands[n : n + m] if v.op is not None and v.op.name == "param"}
        hoist_params(self.func, list(wanted))
        parts, cut = _Prefix(op), dict[Op, Value]()
        if cuts_loops:
            active = Flow([self.func.body]).between(op.operands[n : n + m], op.operands[:n])
            cut = chunks.cut_loops(parts.ops(), active, labels)
        flow = Flow([self.func.body]).between(op.operands[n : n + m], op.operands[:n])
        outputs, inputs, cotangents = op.operands[:n], op.operands[n : n + m], op.operands[n + m :]
        forward = parts.take()
        detached.detach(forward)
        self.refuse_outer(forward, flow, inputs)
        adjoints = Adjoints(Func(self.func.name, forward, [], self.func.loc), list(inputs), list(outputs), cut)
        refuse_aliases(forward, adjoints.active, adjoints.tables)
        self.refuse_freed(adjoints.active, set(inputs))
        backward = Block()
        level = Level(forward, Builder(backward), None, KeptInPlace(), adjoints.written)
        level.gated = adjoints.unread.gated
        for value, cotangent in zip(outputs, cotangents, strict=True):
            adjoints.accumulate(level, value, cotangent)
        Blocks(Reversal(adjoints, derivatives, self.functions, labels), level).reverse(level)
        adjoints.unread.remove_gates()
        found = [adjoints.take_defined(level, v) or level.zero(v) for v in inputs]
        gradients = [narrowed(level.builder, g, v.type, op.loc) for g, v in zip(found, inputs, strict=True)]
        for made in backward.walk():
            made.no_grad = not made.regions
        parts.put_back()
        for made in backward.ops:
            assert op.parent is not None
            op.parent.insert_before(op, made)
        op.replace_with(gradients)

    def refuse_outer(self, forward: Block, flow: Collection[Value], inputs: Sequence[Value]) -> None:
        """Refuse a gradient that would flow through values from outside of the differentiated ops."""
        inside = defined_by(forward.walk())
        for op in forward.walk():
            for value in op.operands:
                if value in flow and value not in inside and value not in inputs and carries(value.type):
                    what = "what earlier iterations computed"
                    raise not_differentiable(self.op, what, "detach() what a loop carries from one iteration to the next")

    def refuse_freed(self, active: Collection[Value], inputs: Collection[Value]) -> None:
        made = {v for v in active if v not in inputs and v.op is not None}
        if made & self.freed:
            raise not_differentiable(self.op, "a graph that an earlier backward has freed", "pass it retain_graph=True")
        if not self.op.attrs["retain"]:
            self.freed |= made


class _Prefix:
    """The ops that ran before an op, taken out of its block and of the blocks around it, and put back later."""

    def __init__(self, op: Op):
        self.blocks: list[tuple[Block, Op]] = []  # outermost last; each with the op up to which its ops are taken
        at: Op | None = op
        while at is not None and at.parent is not None:
            self.blocks.append((at.parent, at))
            around = at.parent.parent
            at = around if around is not None and around.name == "if" else None
        self.firsts: list[Op | None] = []
        self.taken = Block()

    def ops(self) -> list[Op]:
        """Return the ops, from the innermost block outwards."""
        return [op for block, last in self.blocks for op in block.ops[: block.ops.index(last)]]

    def take(self) -> Block:
        """Return a block of the ops, from the outermost block inwards."""
        for block, last in reversed(self.blocks):
            index = block.ops.index(last)
            ops, block.ops = block.ops[:index], block.ops[index:]
            self.firsts.append(ops[0] if ops else None)
            for op in ops:
                self.taken.append(op)
        self.taken.append(Op(OPS["return"], (), (), {}, self.blocks[0][1].loc))
        return self.taken

    def put_back(self) -> None:
        """Put the ops back, with those that were built between them."""
        ops = self.taken.ops[:-1]
        starts = [0 if first is None else ops.index(first) for first in self.firsts]
        ends = [next((s for f, s in zip(self.firsts[i + 1 :], starts[i + 1 :], strict=True) if f is not None), len(ops))
                for i in range(len(starts))]  # fmt: skip
        done = 0
        for (block, _), end in zip(reversed(self.blocks), ends, strict=True):
            for k, op in enumerate(ops[done:end]):
                block.insert(k, op)
            done = max(done, end)
