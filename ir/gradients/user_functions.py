"""Backward code of a user's `autograd.Function`: its own `backward`, which the front end read as a function of the IR.

`user_gradient` stands behind the results of one call of the Function. Its operands are those results, the sources, which are
the tensors that the Function was given, and the values that `backward` reads. Each entry of `takes` names an argument of the
function:

- `gradient N`: the gradient of a result;
- `needs N`: whether a source requires grad;
- `size N D`: a size of a source;
- `saved N`: a value that the Function passed to `save_for_backward`;
- `held N`: a value in an attribute of the Function's ctx;
- `extent N D`: a size of an output that has no gradient.
"""

from __future__ import annotations

from scriptc.ir.analysis import roots
from scriptc.ir.builder import Builder
from scriptc.ir.cloning import inline
from scriptc.ir.core import Func, Op, Value
from scriptc.ir.errors import CompileError, Diagnostic
from scriptc.ir.gradients.adjoints import narrowed
from scriptc.ir.gradients.levels import Level
from scriptc.ir.gradients.order import runs_after
from scriptc.ir.gradients.reversal import Reversal, reverses
from scriptc.ir.gradients.rules import not_differentiable, parts_of_call
from scriptc.ir.gradients.writes import clear
from scriptc.ir.loc import Loc
from scriptc.ir.types import NONE, OptionalType, TensorType, Type, is_subtype


@reverses("user_gradient")
def reverse_user_gradient(reversal: Reversal, level: Level, op: Op) -> None:
    """Add to the gradients of the sources what `backward` returns."""
    adjoints = reversal.adjoints
    results, sources, _ = parts_of_call(op)
    if not any(source in adjoints.active for source in sources):
        return
    if op.attrs["refused"] and any(result in adjoints.active for result in results):
        raise CompileError(Diagnostic(op.loc, f"the gradient of an autograd.Function is not compiled: {op.attrs['refused']}"))
    gradients = [
        clear(reversal, level, r, op.loc) if i in op.attrs["dirty"] else adjoints.take_defined(level, r)
        for i, r in enumerate(results)
    ]
    if all(gradient is None for gradient in gradients):
        return
    func = reversal.functions[op.attrs["backward"]]
    written = _written_arguments(func)
    arguments = [
        _argument(reversal, level, op, take, gradients, written=arg in written, is_optional=isinstance(arg.type, OptionalType))
        for take, arg in zip(op.attrs["takes"], func.body.args, strict=True)
    ]
    found = inline(level.builder, func.body, arguments, None, reversal.label)
    for argument, parameter in zip(arguments, func.body.args, strict=True):
        if isinstance(parameter.type, OptionalType):
            _settle(argument)
    for number, gradient in zip(op.attrs["gives"], found, strict=True):
        if sources[number] in adjoints.active:
            adjoints.accumulate(level, sources[number], narrowed(level.builder, gradient, sources[number].type, op.loc))


def _settle(argument: Value) -> None:
    """Answer the questions whether an argument, of which it is known, is None."""
    present = argument.type != NONE
    for user in argument.users():
        if user.name == "optional.present":
            user.replace_with([Builder.before(user).const(present, user.loc)])
        elif user.name == "optional.unwrap":
            builder = Builder.before(user)
            user.replace_with([argument if present else builder.op("undef", [], user.loc, types=[user.result.type]).result])


def _written_arguments(func: Func) -> set[Value]:
    """Return the arguments to whose memory a function writes. A write to other memory from outside is refused."""
    found: set[Value] = set()
    for op in func.body.walk():
        for root in roots(op.operands[0]) if "tensor" in op.defn.writes and op.operands else ():
            if root in func.body.args:
                found.add(root)
            elif root.op is not None and root.op.name == "param":
                raise not_differentiable(op, "an autograd.Function whose backward writes to a tensor outside")
    return found


def _argument(
    reversal: Reversal, level: Level, op: Op, take: str, gradients: list[Value | None], *, written: bool, is_optional: bool
) -> Value:
    """Return an argument of `backward` in backward code.

    written: `backward` writes to its memory. is_optional: it may be None.
    """
    results, sources, given = parts_of_call(op)
    builder, (kind, *numbers) = level.builder, take.split()
    number = int(numbers[0])
    if kind == "needs":
        return builder.const(sources[number] in reversal.adjoints.active, op.loc)
    if kind == "size":
        return level.sizes(sources[number], op)[int(numbers[1])]
    if kind == "extent":
        return level.sizes(given[number], op)[int(numbers[1])]
    if kind == "gradient":
        gradient = gradients[number]
        if gradient is None and is_optional:
            return builder.const(None, op.loc)
        value = (
            level.zero(results[number])
            if gradient is None
            else _of_type(builder, gradient, results[number].type, op.loc)
        )
        return builder.build("clone", [value], op.loc) if written else value
    if written:
        raise not_differentiable(op, "an autograd.Function whose backward writes to a tensor of its forward",
                                 "write to a clone of it")  # fmt: skip
    value = given[number]
    if kind == "saved":
        return level.get_at(value, op)
    if _is_written_later(value, op, level):
        raise not_differentiable(op, "an autograd.Function that keeps a tensor, which is written later, in an attribute of ctx",
                                 "pass it to ctx.save_for_backward()")  # fmt: skip
    return level.get(value)


def _is_written_later(value: Value, op: Op, level: Level) -> bool:
    """Return whether a tensor may be written when `op` has run."""
    if not isinstance(value.type, TensorType) or value not in level.written:
        return False
    writers = [(w, r) for w in level.written.writers for r in roots(w.operands[0]) & roots(value)]
    return level.written.anything or not all(runs_after(op, writer, root) for writer, root in writers)


def _of_type(builder: Builder, gradient: Value, t: Type, loc: Loc) -> Value:
    """Return a gradient as a value of a type, whose sizes it has: `backward` was read for a value of this type."""
    if is_subtype(gradient.type, t):
        return gradient
    return builder.op("alias", [gradient], loc, types=[t]).result
