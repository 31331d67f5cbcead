"""The calls of `autograd.Function.apply` in one reading, whose `backward` is read when the reading has ended."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from scriptc.frontend.values.abstract import AbstractValue
from scriptc.frontend.values.frame import Frame
from scriptc.ir.core import Op


@dataclass(eq=False)
class UserGradient:
    """One call of `apply`, whose gradients the Function's own `backward` computes.

    op: the `user_gradient`. Its last operands are the leaves of `saved` and `attributes`, then the tensors among the outputs
    that have no number. frame, node: the call. inputs, outputs: of `forward`. numbers: for each output the number of the
    result of `op` whose gradient it gets. saved: what `forward` passed to `save_for_backward`. attributes: those of its ctx.
    materializes: gradients of outputs that no gradient has reached are zeros, not None.
    """

    op: Op
    function: type[torch.autograd.Function]
    frame: Frame
    node: ast.AST
    inputs: Sequence[AbstractValue]
    outputs: Sequence[AbstractValue]
    numbers: Sequence[int | None]
    saved: Sequence[AbstractValue]
    attributes: dict[str, AbstractValue]
    materializes: bool
