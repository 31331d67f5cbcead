"""The dtype of an elementwise result, and casts to it."""

from __future__ import annotations

from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue
from scriptc.frontend.values.predicates import NoTensor, is_tensor, tensor_type
from scriptc.frontend.values.verbs import type_of
from scriptc.ir.dtypes import result_dtype


def dtype_of_result(reader: Reader, *operands: AbstractValue) -> str:
    """Return the torch.result_type of tensors and numbers."""
    dimensioned: list[str] = []
    zero_dim: list[str] = []
    numbers: list[str] = []
    for av in operands:
        if is_tensor(av):
            t = tensor_type(av)
            (zero_dim if t.dims == () else dimensioned).append(t.dtype)
        elif (number := type_of(av)) is not None:
            numbers.append(str(number))
        else:
            raise NoTensor(av)
    common = result_dtype(dimensioned, zero_dim, numbers, reader.environment.default_dtype)
    if common == "c32":
        reader.reject("complex32")
    return common


def cast_to(reader: Reader, av: AbstractValue, dtype: str) -> AbstractValue:
    """Return a tensor in a dtype, or the tensor itself where it has the dtype. Numbers stay as they are."""
    if not is_tensor(av) or tensor_type(av).dtype == dtype:
        return av
    return apply_op(reader, "cast", av, dtype=dtype)
