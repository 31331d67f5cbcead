"""Operators on tensors: eager's type promotion, and what it refuses."""

from __future__ import annotations

from scriptc.frontend.complexes import Complexes
from scriptc.frontend.decompositions import complexes
from scriptc.frontend.values import AV, Dyn, Known, NoTensor, is_complex_number, is_tensor, tensor_type
from scriptc.ir.dtypes import COMPLEX as COMPLEX_DTYPES
from scriptc.ir.dtypes import INEXACT, SCALAR_TYPES, SIZES, result_dtype
from scriptc.ir.opdef import TypeRuleError
from scriptc.ir.ops import OPS
from scriptc.ir.ops.contractions import same_dtype
from scriptc.ir.types import BOOL, COMPLEX, FLOAT, INT

MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}  # b < a is a > b
_DIVIDES = ("floor_div", "trunc_div", "remainder", "fmod")
_NOT_OF_BOOLS = {
    "sub": "Subtraction, the `-` operator, with a bool tensor is not supported. "
    "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.",
    "neg": "Negation, the `-` operator, on a bool tensor is not supported. "
    "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.",
    "relu": "Boolean inputs not supported for relu",
}


def _number_of(av: AV) -> AV:
    """A scalar of NumPy's of 32 bits, which torch takes beside tensors as the number that it is."""
    return Known(float(av.obj)) if isinstance(av, Known) and type(av.obj).__name__ in ("float32", "float16") else av


class Elementwise(Complexes):
    """Mixin: operators of which at least one operand is a tensor."""

    def result_dtype(self, *operands: AV) -> str:
        """torch.result_type of tensors and numbers."""
        dimensioned: list[str] = []
        zero_dim: list[str] = []
        numbers: list[str] = []
        for av in operands:
            if is_tensor(av):
                t = tensor_type(av)
                (zero_dim if t.dims == () else dimensioned).append(t.dtype)
            elif (number := self.type_of(av)) is not None:
                numbers.append(str(number))
            else:
                raise NoTensor(av)
        common = result_dtype(dimensioned, zero_dim, numbers, self.default_dtype)
        if common == "c32":
            self.fail("complex32")
        return common

    def cast(self, av: AV, dtype: str) -> AV:
        """The tensor in a dtype: itself where it has it. Numbers stay what they are."""
        if not is_tensor(av) or tensor_type(av).dtype == dtype:
            return av
        return self.op("cast", av, dtype=dtype)

    def elementwise(self, name: str, *operands: AV, dtype: str | None = None) -> Dyn:
        """An elementwise op with eager's type promotion. `dtype` overrides the dtype that it computes in."""
        operands = tuple(Dyn(self.value(av)) if is_complex_number(av) else _number_of(av) for av in operands)
        for av in operands:
            if not is_tensor(av) and self.type_of(av) not in (INT, FLOAT, BOOL, COMPLEX):
                self.raises_at_run_time(
                    "TypeError", f"{name}(): argument must be Tensor or number, not {self.type_name(av)}"
                )
        if not any(map(is_tensor, operands)):  # numbers alone, which torch.add and its kin take for tensors
            operands = (self.new_filled((), operands[0], self.result_dtype(operands[0])), *operands[1:])
        if name == "sub":
            self.refuse_bools(*operands)
        common = dtype or self.result_dtype(*operands)
        if "FLOATING" in OPS[name].traits and common not in INEXACT:
            common = self.default_dtype
        if common in COMPLEX_DTYPES and common not in OPS[name].takes and name not in MIRRORED:
            self.fail("complex_operator", name=name)
        if common not in OPS[name].takes:
            if common == "bool" and name in _NOT_OF_BOOLS:
                self.raises_at_run_time("RuntimeError", _NOT_OF_BOOLS[name])
            self.raises_at_run_time(
                "NotImplementedError", f"\"{name}_cpu\" not implemented for '{SCALAR_TYPES[common]}'"
            )
        if name in _DIVIDES and common not in INEXACT:
            self.check_divisor(operands[0], operands[1], common)
        if name == "pow" and common not in INEXACT and self.type_of(operands[1]) == INT:
            natural = self.compare("GtE", operands[1], Known(0))
            self.check_that(natural, "RuntimeError", "Integers to negative integer powers are not allowed.")
        return self.op(name, *(self.cast(av, common) for av in operands))

    def refuse_bools(self, *operands: AV) -> None:
        """Raise what a difference of these operands raises where one is a bool."""
        if any(tensor_type(av).dtype == "bool" if is_tensor(av) else self.type_of(av) == BOOL for av in operands):
            self.raises_at_run_time("RuntimeError", _NOT_OF_BOOLS["sub"])

    def check_divisor(self, dividend: AV, divisor: AV, dtype: str) -> None:
        """Integers divided by zero raise, whatever else is in the tensor; where there is none nothing is divided."""
        if not is_tensor(divisor) and self.type_of(divisor) == INT and SIZES[dtype] < 8:  # which wraps
            divisor = self.binary("BitAnd", divisor, Known(2 ** (8 * SIZES[dtype]) - 1))
        zero = self.compare("Eq", divisor, Known(0))
        if is_tensor(zero):
            dims = tuple(range(tensor_type(zero).rank))
            zero = self.op("any", zero, dim=dims, keepdim=False, dtype="bool")
        valid = self.negate(self.truth(zero))
        if is_tensor(dividend) and not (isinstance(valid, Known) and valid.obj):
            none = self.compare("Eq", self.call(self.attribute(dividend, "numel"), [], {}), Known(0))
            valid = Dyn(self.build("bool.or_", [self.value(valid), self.value(none)]))
        self.check_that(valid, "RuntimeError", "ZeroDivisionError")

    def matmul(self, a: AV, b: AV) -> AV:
        for av in (a, b):
            if not is_tensor(av):
                self.bad_operands("MatMult", a, b)
        try:
            dtype = same_dtype(tensor_type(a), tensor_type(b))
        except TypeRuleError as e:
            self.raises_at_run_time("RuntimeError", str(e))
        if dtype in COMPLEX_DTYPES:
            return self.call(Known(complexes.matrix_product), [a, b], {})
        return self.op("matmul", a, b)
