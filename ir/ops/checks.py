"""Checks: ops that only raise. `check {of = "op", ...}` raises the errors of that op, which is then pure.

A row names its kind of check. `is_proved` tells from types alone that a check cannot fail, so that none is built.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scriptc.ir.opdef import OpDef, Raises, Samples, calls
from scriptc.ir.ops.rules import Attrs, Operands, as_dim, fixed, tensors_of, tuple_items
from scriptc.ir.types import NONE, Dim, TensorType


def _broadcast(operands: Operands, attrs: Attrs) -> bool:
    """Return whether at every dim, all sizes are 1 or equal."""
    shapes = [t.dims for t in tensors_of(operands)]
    for i, a in enumerate(shapes):
        for b in shapes[:i]:
            if a is None or b is None:
                return False
            pairs = zip(reversed(a), reversed(b), strict=False)
            if not all(x == 1 or y == 1 or (x is not None and x == y) for x, y in pairs):
                return False
    return True


def _same(a: Dim, b: Dim) -> bool:
    return a is not None and a == b


def _matmul(operands: Operands, attrs: Attrs) -> bool:
    a, b = (t.dims for t in tensors_of(operands))
    if a is None or b is None or not 1 <= len(a) <= 2 or not 1 <= len(b) <= 2:
        return False  # batch dims broadcast, so the check is left to run time
    return _same(a[-1], b[0])


def _linear(operands: Operands, attrs: Attrs) -> bool:
    x, w, bias = operands
    if not isinstance(x.type, TensorType) or not isinstance(w.type, TensorType):
        return False
    if not x.type.dims or w.type.dims is None or len(w.type.dims) != 2:
        return False
    fits = _same(x.type.dims[-1], w.type.dims[1])
    if bias.type == NONE:
        return fits
    assert isinstance(bias.type, TensorType)
    return fits and bias.type.dims is not None and len(bias.type.dims) == 1 and _same(bias.type.dims[0], w.type.dims[0])


def _select(operands: Operands, attrs: Attrs) -> bool:
    (x,) = tensors_of(operands)
    size, index = (x.dims or ())[attrs["dim"]], as_dim(operands[1])
    return isinstance(size, int) and isinstance(index, int) and index < size


def _expand(operands: Operands, attrs: Attrs) -> bool:
    (x,) = tensors_of(operands)
    if x.dims is None:
        return False
    sizes = [as_dim(v) for v in tuple_items(operands[1])]
    pairs = zip(reversed(x.dims), reversed(sizes), strict=False)
    fits = len(sizes) >= len(x.dims) and None not in sizes and all(d in (1, s) for d, s in pairs)
    return fits and math.prod(s for s in sizes if isinstance(s, int)) < 2**63


def _reshape(operands: Operands, attrs: Attrs) -> bool:
    (x,) = tensors_of(operands)
    wanted = [as_dim(v) for v in tuple_items(operands[1])]
    own, sizes = ([d for d in dims if isinstance(d, int)] for dims in (x.dims or (None,), wanted))
    if x.dims is None or len(own) < len(x.dims) or len(sizes) < len(wanted):
        return False
    given = [size for size in sizes if size != -1]
    count, product = math.prod(own), math.prod(given)
    if len(given) == len(sizes):
        return min(given, default=0) >= 0 and product == count
    return len(given) == len(sizes) - 1 and product > 0 and count % product == 0


def _never(operands: Operands, attrs: Attrs) -> bool:
    return False


PROOFS: dict[str, Callable[[Operands, Attrs], bool]] = {
    "broadcast": _broadcast,
    "matmul": _matmul,
    "linear": _linear,
    "select": _select,
    "expand": _expand,
    "view": _never,
    "reshape": _reshape,
}


def is_proved(kind: str, operands: Operands, attrs: Attrs) -> bool:
    return PROOFS[kind](operands, attrs)


_LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
_NO_ARRAY = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
_OTHER = "a tensor changes that is another argument, or is read elsewhere, too"
_SHARED = ("unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
           "location. Please clone() the tensor before performing the operation.")  # fmt: skip

ROWS = [
    # Raises the errors of the row `of`.
    OpDef("check", "(Value[] operands, *, str of) -> ()", fixed(), raises=True, emit="check"),
    # The flag says whether the local variable `name` is bound.
    OpDef("check.bound", "(Scalar flag, *, str name) -> ()", fixed(), raises=True, emit="check_bound",
          samples=calls((True, "x")),
          errors=(Raises("UnboundLocalError", "cannot access local variable 'x' where it is not associated with a value",
                         (False, "x")),)),
    # The flag says whether the variable `name` of an enclosing function is bound.
    OpDef("check.free", "(Scalar flag, *, str name) -> ()", fixed(), raises=True, emit="check_bound",
          samples=calls((True, "x")),
          errors=(Raises("NameError", "cannot access free variable 'x' where it is not associated with a value in enclosing "
                         "scope", (False, "x")),)),
    # A sequence of `length` items is unpacked into `count` targets.
    OpDef("check.unpack", "(SymInt length, *, int count) -> ()", fixed(), raises=True, emit="check_unpack",
          samples=calls((2, 2)),
          errors=(Raises("ValueError", "too many values to unpack (expected 2)", (3, 2)),
                  Raises("ValueError", "not enough values to unpack (expected 2, got 1)", (1, 2)))),
    # The step of a range is not 0.
    OpDef("check.step", "(SymInt step) -> ()", fixed(), raises=True, emit="check_step", samples=calls((1,), (-1,)),
          errors=(Raises("ValueError", "range() arg 3 must not be zero", (0,)),)),
    # In-place writes: src broadcasts to dst.
    OpDef("check.store", "(Tensor dst, Tensor src) -> ()", fixed(), raises=True, emit="check_store",
          samples=Samples((((3, 4), (4,)), ((3, 4), (3, 1)), ((), ())), dtypes=("f32",)),
          errors=(Raises("RuntimeError", "output with shape [3, 1] doesn't match the broadcast shape [3, 4]",
                         shapes=((3, 1), (3, 4))),)),
    # In-place writes to dst, or to a view of it: dst is no leaf that requires grad. Only where autograd sees the call.
    OpDef("check.leaf", "(Tensor dst, *, bool view) -> ()", fixed(), raises=True, kernel="sc_check_leaf",
          samples=Samples((((2,),),), dtypes=("f32",), extra=((True,), (False,))),
          errors=(Raises("RuntimeError", _LEAF), Raises("RuntimeError", f"a view of {_LEAF}"))),
    # A tensor that becomes a NumPy array or that a C function gets does not require grad. Where gradients would flow to it,
    # autograd's side raises.
    OpDef("check.detached", "(Tensor self, *, str message) -> ()", fixed(), raises=True, kernel="sc_check_detached",
          samples=Samples((((2,),),), dtypes=("f32",), extra=((_NO_ARRAY,),)), errors=(Raises("RuntimeError", _NO_ARRAY),)),
    # A tensor object changes: it is no other tensor that the code reads, and none in a list.
    OpDef("check.other", "(Tensor self, Tensor other) -> ()", fixed(), raises=True, ref="check:other", kernel="sc_check_other",
          samples=Samples((((2,), (2,)),), dtypes=("f32",)), errors=(Raises("NotImplementedError", _OTHER),)),
    OpDef("check.absent", "(Tensor self, Value items) -> ()", fixed(), raises=True, ref="check:absent",
          kernel="sc_check_absent", reads=frozenset({"list"}), errors=(Raises("NotImplementedError", _OTHER),)),
    # In-place writes, where both tensors are dense: src and dst share no memory or, unless they must be apart, all elements.
    OpDef("check.overlap", "(Tensor dst, Tensor src, *, bool apart) -> ()", fixed(), raises=True, kernel="sc_check_overlap",
          samples=Samples((((3, 4), (3, 4)),), dtypes=("f32",), extra=((True,), (False,))),
          errors=(Raises("RuntimeError", _SHARED),)),
]  # fmt: skip
