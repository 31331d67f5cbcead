"""Ops that read single elements, copy, and write through a tensor."""

from __future__ import annotations

from math import nan

from scriptc.ir.opdef import MADE_BY_PASSES, OpDef, Raises, Samples
from scriptc.ir.ops.rules import Attrs, Operands, fixed, own_dim, same_type, tensor, with_dtype
from scriptc.ir.types import BOOL, FLOAT, INT, Type

_PURE = frozenset({"PURE"})
_ANY = frozenset({"ANY_DTYPE"})
_TENSOR = frozenset({"tensor"})
_SHAPES = Samples(shapes=(((3, 4),), ((),), ((0, 2),)), dtypes=("f32", "i64", "bool", "bf16", "c64", "c128"))
_ONE = Samples(shapes=(((),), ((1, 1),)), dtypes=("f32", "f64", "i64", "bool"))
_SEVERAL = Raises("RuntimeError", "a Tensor with 12 elements cannot be converted to Scalar", shapes=((3, 4),))


def _size(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    dims = tensor(operands[0]).dims
    if dims is not None:
        own_dim(attrs["dim"], len(dims))
    return (INT,)


ROWS = [
    OpDef("size", "(Tensor self, int dim) -> SymInt", _size, _PURE, emit="size", ref="Tensor.size",
          samples=Samples(shapes=(((3, 4),),), extra=((1,), (-2,)))),
    # Returns 0 for a tensor that is undefined.
    OpDef("size_or_zero", "(Tensor self, SymInt dim) -> SymInt", fixed(INT), _PURE, ref="size_or_zero",
          c="({0} ? {0}->size[{1}] : 0)", phases=MADE_BY_PASSES, samples=Samples(shapes=(((3, 4),),), extra=((1,), (0,)))),
    # Returns whether a value is defined, for code that reads values which some paths leave undefined.
    OpDef("is_defined", "(Value self) -> Value", fixed(BOOL), _PURE, ref="is_defined", c="({0} != NULL)",
          phases=MADE_BY_PASSES, samples=_SHAPES),
    OpDef("stride", "(Tensor self, SymInt dim) -> SymInt", fixed(INT), _PURE, ref="Tensor.stride",
          c="{0}->stride[{1}]", samples=Samples(shapes=(((3, 4),),), extra=((0,), (1,)))),
    # Whether an argument of the call requires grad, as autograd sees it.
    OpDef("requires_grad", "(Tensor self) -> Value", fixed(BOOL), _PURE, ref="requires_grad", c="({0}->leaf != SC_NO_LEAF)",
          samples=Samples(shapes=(((3, 4),),))),
    # Whether a tensor in a container that is an argument of the call requires grad.
    OpDef("requires_grad.any", "(Value container) -> Value", fixed(BOOL), _PURE, ref="any_requires_grad",
          reads=frozenset({"list"}), c="sc_any_requires_grad((const sc_obj *){0})"),
    OpDef("is_contiguous", "(Tensor self) -> Value", fixed(BOOL), _PURE, ref="Tensor.is_contiguous",
          c="sc_is_contiguous({0})", samples=Samples(shapes=(((3, 4),), ((1, 3),), ((0, 2),)))),
    # Returns whether two tensors are one Python object, as an argument that is passed twice is.
    OpDef("is_same", "(Tensor self, Tensor other) -> Value", fixed(BOOL), _PURE, ref="operator.is_",
          c="({0} == {1} || ({0}->owner && {0}->owner == {1}->owner))", samples=Samples(shapes=(((2,), (2,)),))),
    OpDef("numel", "(Tensor self) -> SymInt", fixed(INT), _PURE,
          torch=("Tensor.numel", "torch.numel", "Tensor.nelement"), c="{0}->numel",
          samples=Samples(shapes=(((3, 4),), ((),)))),
    OpDef("item.float", "(Tensor self) -> Scalar", fixed(FLOAT), _PURE, ref="float_item", reads=_TENSOR, raises=True,
          kernel="sc_item_f64", samples=_ONE, errors=(_SEVERAL,)),
    OpDef("item.int", "(Tensor self) -> Scalar", fixed(INT), _PURE, ref="int_item", reads=_TENSOR, raises=True,
          kernel="sc_item_i64", samples=_ONE,
          errors=(_SEVERAL, Raises("ValueError", "cannot convert float NaN to integer", shapes=((1,),), value=nan),
                  Raises("OverflowError", "Python int too large to convert to C long", shapes=((1,),), value=1e19))),
    OpDef("item.bool", "(Tensor self) -> Scalar", fixed(BOOL), _PURE | _ANY, ref="builtins.bool", reads=_TENSOR, raises=True,
          kernel="sc_item_bool", samples=_ONE,
          errors=(Raises("RuntimeError", "Boolean value of Tensor with more than one value is ambiguous", shapes=((3, 4),)),
                  Raises("RuntimeError", "Boolean value of Tensor with no values is ambiguous", shapes=((0,),)))),
    OpDef("clone", "(Tensor self) -> Tensor", same_type, frozenset({"PURE", "ALLOCATES"}) | _ANY, reads=_TENSOR,
          gradient=("self",), torch=("Tensor.clone", "torch.clone"), kernel="sc_clone", samples=_SHAPES),
    # Returns the tensor itself if it is contiguous, so the result may alias.
    OpDef("contiguous", "(Tensor self) -> Tensor", same_type, frozenset({"PURE", "VIEW"}), reads=_TENSOR,
          gradient=("self",), torch=("Tensor.contiguous",), kernel="sc_contiguous", samples=_SHAPES),
    # As contiguous, but dims of size 1 must have the strides of a new tensor as well.
    OpDef("plain", "(Tensor self) -> Tensor", same_type, frozenset({"PURE", "VIEW", "PLAIN"}), reads=_TENSOR,
          gradient=("self",), ref="plain", kernel="sc_plain", samples=_SHAPES),
    # Always makes a new tensor. The front end builds no cast to the dtype that the tensor has.
    OpDef("cast", "(Tensor self, ScalarType dtype) -> Tensor", with_dtype, frozenset({"PURE", "ELEMENTWISE"}) | _ANY,
          reads=_TENSOR, gradient=("self",), ref="Tensor.to", c="cast",
          samples=Samples(shapes=(((3, 4),), ((),)), low=0.0, high=3.0,
                          dtypes=("f32", "f64", "i64", "u8", "bool", "bf16", "c64", "c128"),
                          extra=(("f32",), ("i32",), ("bool",), ("f16",), ("f64",), ("c64",), ("c128",)))),
    # dst.copy_(src), which broadcasts and converts. Eager's result is dst itself.
    OpDef("copy_", "(Tensor dst, Tensor src) -> ()", fixed(), _ANY, reads=_TENSOR, writes=_TENSOR, raises=True,
          ref="Tensor.copy_", kernel="sc_copy_into",
          samples=Samples(shapes=(((3, 4), (4,)), ((), ())), dtypes=("f32", "i64")),
          errors=(Raises("RuntimeError",
                         "The size of tensor a (4) must match the size of tensor b (5) at non-singleton dimension 1",
                         shapes=((3, 4), (5,))),)),
]  # fmt: skip
