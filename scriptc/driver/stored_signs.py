"""Store the bits of binary weights in a package, in place of the floats from which they are computed.

    %w = param() {name = "fc.weight"}                 %q = param() {name = "fc.weight.signs"}
    %v = sign(%w)                             =>      %y = signs.linear(%p, %q)
    %q = signs.filters(%v)
    %y = signs.linear(%p, %q)

A package's weights do not change, so the build computes the bits, as eager computes the signs. A weight that nothing else reads
is not stored.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from scriptc.ir.builder import Builder
from scriptc.ir.cloning import clone_op
from scriptc.ir.core import Block, Func, Module, Op, Param, Value
from scriptc.ir.dtypes import TORCH_NAMES
from scriptc.ir.frozen_weights import FrozenWeights
from scriptc.ir.interp import Interpreter
from scriptc.ir.types import Names, TensorType

_AFTER = "bit_products"  # the pass that makes the bits
_DTYPES = {getattr(torch, name): dtype for dtype, name in TORCH_NAMES.items()}


class StoredSigns:
    """The weights that a build computes. made: their tensors, by the names of the module's params.

    tensor_of: returns the value of a param.
    """

    def __init__(self, tensor_of: Callable[[str], torch.Tensor]):
        self.made: dict[str, torch.Tensor] = {}
        self._tensor_of = tensor_of
        self._read: set[str] = set()

    def after_pass(self, name: str, module: Module) -> None:
        """Replace what is computed from weights alone, when the pass that makes bits has run."""
        if name != _AFTER:
            return
        frozen = FrozenWeights(module)
        names = Names()
        for param in module.params:
            names.fresh(param)
        for op in list(module.walk()):
            if op.name == "signs.filters" and frozen.is_computed_from_weights(op.result):
                self._store(op, module, names)
            elif op.name == "suggests_channels_last":
                self._decide_order(op, module, frozen)

    def drop_unread(self, module: Module) -> None:
        """Drop the weights that only the build has read."""
        read = {op.attrs["name"] for op in module.walk() if op.name == "param"}
        for name in self._read - read:
            module.params.pop(name, None)

    def _store(self, op: Op, module: Module, names: Names) -> None:
        value = self._computed(op.result, module)
        source = min((o.attrs["name"] for o in _ops_of(op.result) if o.name == "param"), key=len)
        name = names.fresh(f"{source}.signs")
        self.made[name] = value
        module.params[name] = Param(name, TensorType(_DTYPES[value.dtype], tuple(value.shape)))
        b = Builder.before(op)
        stored = b.op("param", [], op.loc, types=[module.params[name].type], name=name).result
        op.replace_with([stored])

    def _decide_order(self, op: Op, module: Module, frozen: FrozenWeights) -> None:
        """Replace the question for the order of a binary weight by its answer."""
        of_signs = any(user.name in ("signs.order", "bool.or_") for user in op.result.users())
        if of_signs and all(map(frozen.is_computed_from_weights, op.operands)):
            order = any(self._suggests(weight, module) for weight in op.operands)
            op.replace_with([Builder.before(op).const(order, op.loc)])

    def _suggests(self, weight: Value, module: Module) -> bool:
        from scriptc.ir.op_references import reference

        return bool(reference("suggests_channels_last")(self._computed(weight, module)))

    def _computed(self, value: Value, module: Module) -> torch.Tensor:
        """Return the value of what is computed from weights alone."""
        body = Block()
        b, made = Builder(body), dict[Value, Value]()
        ops = _ops_of(value)
        for op in ops:
            clone_op(b, op, made)
        b.op("return", [made[value]], ops[-1].loc)
        params = {op.attrs["name"]: None for op in ops if op.name == "param"}
        self._read |= set(params)
        values = {name: self._tensor_of(name).detach().contiguous() for name in params}
        alone = Module(module.name, {"computed": Func("computed", body, [value.type], ops[-1].loc)}, dict(module.params))
        with torch.no_grad():
            (found,) = Interpreter(alone, values).run("computed")
        assert isinstance(found, torch.Tensor)
        return found.contiguous()


def _ops_of(value: Value) -> list[Op]:
    """Return the ops on which a value depends, each behind its operands."""
    found: dict[Op, None] = {}

    def visit(value: Value) -> None:
        assert value.op is not None
        if value.op not in found:
            for operand in value.op.operands:
                visit(operand)
            found[value.op] = None

    visit(value)
    return list(found)
