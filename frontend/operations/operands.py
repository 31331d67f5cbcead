"""The number operands of IR ops. Other values raise the errors of torch's argument parser."""

from __future__ import annotations

from collections.abc import Sequence

from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Bound, DictValue, ListValue, TupleValue
from scriptc.frontend.values.predicates import is_known, is_tensor, run_time_type, tensor_type
from scriptc.frontend.values.verbs import python_class
from scriptc.ir.opdef import OpDef
from scriptc.ir.types import BOOL, COMPLEX, FLOAT, INT


def operands_of(r: Reader, row: OpDef, operands: Sequence[AbstractValue]) -> list[AbstractValue]:
    kinds = ["" if arg.is_list else arg.type for arg in row.operand_args]
    kinds += [""] * (len(operands) - len(kinds))
    return [_operand(r, row, kind, av) for kind, av in zip(kinds, operands, strict=False)]


def _operand(r: Reader, row: OpDef, kind: str, av: AbstractValue) -> AbstractValue:
    if kind in ("Scalar", "Operand") and _holds_no_number(av):
        r.emit.raise_error("TypeError", f"{row.name}(): argument must be Number, not {python_class(r, av).__name__}")
    if kind == "Scalar" and is_tensor(av) and "ELEMENTWISE" not in row.traits:
        if tensor_type(av).dims:
            r.emit.raise_error("TypeError", f"{row.name}(): argument must be Number, not Tensor")
        return r.call(Bound(av, "item"), [], {})
    return av


def _holds_no_number(av: AbstractValue) -> bool:
    """Return whether a value is certainly neither a number nor a tensor."""
    if is_known(av):
        return av.obj is None or isinstance(av.obj, (str, tuple, list, dict, set))
    if (t := run_time_type(av)) is not None:
        return not is_tensor(av) and t not in (INT, FLOAT, BOOL, COMPLEX)
    return isinstance(av, (TupleValue, ListValue, DictValue))
