"""Tensors inside of torch.vmap, and the mode in which vmap takes them as indices."""

from __future__ import annotations

import ast
from collections.abc import Callable

import torch

from scriptc.frontend.operations.batches import batched_attribute, batched_operator
from scriptc.frontend.reader.managers import run_within
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import AbstractValue, BatchedValue, IndexingMode, Known
from scriptc.frontend.values.walk import Walk
from scriptc.ir.core import Value


@verbs.describe.of(BatchedValue)
def batched_description(owner: BatchedValue) -> str:
    return "a tensor inside of torch.vmap"


@verbs.describe.of(IndexingMode)
def mode_description(owner: IndexingMode) -> str:
    return "a TransformGetItemToIndex"


@verbs.python_class.of(BatchedValue)
def class_of_batched(reader: Reader, owner: BatchedValue) -> type:
    return torch.Tensor


@verbs.class_name_of.of(BatchedValue)
def class_name_of_batched(reader: Reader, owner: BatchedValue) -> str:
    return "Tensor"


@verbs.attribute.of(BatchedValue)
def attribute_of_batched(reader: Reader, owner: BatchedValue, name: str) -> AbstractValue:
    return batched_attribute(reader, owner, name)


@verbs.operator_of.of(BatchedValue)
def operator_of_batched(
    reader: Reader, owner: BatchedValue, op: str, a: AbstractValue, b: AbstractValue
) -> AbstractValue | None:
    return batched_operator(reader, op, [a, b])


@verbs.unary.of(BatchedValue)
def unary_of_batched(reader: Reader, operand: BatchedValue, name: str) -> AbstractValue:
    return batched_operator(reader, name, [operand])


@verbs.inplace_of.of(BatchedValue)
def inplace_of_batched(reader: Reader, owner: BatchedValue, op: str, value: AbstractValue) -> AbstractValue | None:
    reader.reject("batched", what="a change of a tensor")


@verbs.truth.of(BatchedValue)
def truth_of_batched(reader: Reader, owner: BatchedValue) -> AbstractValue:
    reader.reject("batched", what="control flow on the elements of a tensor")


@verbs.walk.of(BatchedValue)
def walk_batched(reader: Reader, sequence: BatchedValue, site: object) -> Walk:
    reader.reject("batched", what="a loop over a tensor")


@verbs.length.of(BatchedValue)
def length_of_batched(reader: Reader, owner: BatchedValue) -> AbstractValue:
    reader.reject("batched", what="the size of a tensor")


@verbs.materialize.of(BatchedValue)
def no_value_of_batched(reader: Reader, value: BatchedValue) -> Value:
    reader.reject("batched", what="this use of a tensor")


@run_within.of(IndexingMode)
def run_within_indexing(
    reader: Reader, manager: IndexingMode, node: ast.With, enter: Callable[[AbstractValue], bool]
) -> bool:
    reader.position.indexes_by_tensors += 1
    reader.position.has_batches = True
    try:
        return enter(Known(None))
    finally:
        reader.position.indexes_by_tensors -= 1
