"""Views: results share the storage of the first operand. Dims count from the front; sizes are tuples of i64 values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scriptc.ir.dtypes import PARTS, SCALAR_TYPES, SIZES
from scriptc.ir.opdef import MADE_BY_PASSES, OpDef, Raises, Samples, TypeRuleError
from scriptc.ir.ops.rules import (
    Attrs,
    Operands,
    as_dim,
    elem_of,
    fixed,
    given,
    normal_dim,
    own_dim,
    tensor,
    tuple_items,
)
from scriptc.ir.types import ROWS as ROWS_TYPE
from scriptc.ir.types import Dim, TensorType, Type, join, tuple_of

if TYPE_CHECKING:
    from scriptc.ir.core import Value

_VIEW = frozenset({"PURE", "VIEW"})
_JOINS = frozenset({"PURE", "ALLOCATES", "ANY_DTYPE"})
_TENSOR = frozenset({"tensor"})
_X = (((3, 4),),)
_NO_VIEW = Raises("RuntimeError", "shape '[5]' is invalid for input of size 12", shapes=((3, 4),), extra=((5,),))


def _dims(operands: Operands) -> tuple[Dim, ...]:
    dims = tensor(operands[0]).dims
    if dims is None:
        raise TypeRuleError("the rank of this tensor is known only at run time")
    return dims


def _like(operands: Operands, dims: tuple[Dim, ...]) -> tuple[Type, ...]:
    return (TensorType(tensor(operands[0]).dtype, dims),)


def _select(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    dims = _dims(operands)
    dim = own_dim(attrs["dim"], len(dims))
    return _like(operands, (*dims[:dim], *dims[dim + 1 :]))


OWN_OFFSET = -(2**63)  # for as_strided: the tensor's own storage offset
_TO_THE_END = 2**63 - 1  # the front end's bound for an open end


def _slice(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    dims, dim = _dims(operands), attrs["dim"]
    size = dims[dim]
    bounds = [as_dim(v) for v in operands[1:]]
    result: Dim = None
    known = [b for b in bounds if isinstance(b, int)]
    if bounds == [0, _TO_THE_END, 1]:
        result = size
    elif isinstance(size, int) and len(known) == 3:
        result = len(range(size)[slice(*known)])
    return _like(operands, (*dims[:dim], result, *dims[dim + 1 :]))


def _transpose(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    dims = list(_dims(operands))
    a, b = (normal_dim(attrs[name], len(dims)) for name in ("dim0", "dim1"))
    if dims:
        dims[a], dims[b] = dims[b], dims[a]
    return _like(operands, tuple(dims))


def _permute(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    dims = _dims(operands)
    if sorted(normal_dim(d, len(dims)) for d in attrs["dims"]) != list(range(len(dims))):
        raise TypeRuleError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of dims"
        )
    return _like(operands, tuple(dims[d] for d in attrs["dims"]))


def _unsqueeze(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    dims = _dims(operands)
    dim = normal_dim(attrs["dim"], len(dims), extra=1)
    return _like(operands, (*dims[:dim], 1, *dims[dim:]))


def _known_product(dims: tuple[Dim, ...]) -> int | None:
    product = 1
    for d in dims:
        if not isinstance(d, int):
            return None
        product *= d
    return product


def _is_minus_one(value: Value) -> bool:
    """Return whether a size is -1, which `view` infers and `expand` keeps."""
    return value.op is not None and value.op.name == "const" and value.op.attrs["value"] == -1


def _view(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    items = tuple_items(operands[1])
    dims = [as_dim(v) for v in items]
    inferred = [i for i, v in enumerate(items) if _is_minus_one(v)]
    total = _known_product(_dims(operands))
    if len(inferred) == 1 and total is not None:
        rest = _known_product(tuple(d for i, d in enumerate(dims) if i != inferred[0]))
        if rest and total % rest == 0:
            dims[inferred[0]] = total // rest
    return _like(operands, tuple(dims))


def _expand(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    dims = _dims(operands)
    items = tuple_items(operands[1])
    lead = len(items) - len(dims)
    if lead < 0:
        raise TypeRuleError(
            f"expand: the number of sizes provided ({len(items)}) must be greater or equal to the number of dimensions in the "
            f"tensor ({len(dims)})"
        )
    kept = [False] * lead + [_is_minus_one(v) for v in items[lead:]]
    return _like(operands, tuple(dims[i - lead] if kept[i] else as_dim(v) for i, v in enumerate(items)))


def _view_as_real(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    t = tensor(operands[0])
    if t.dtype not in PARTS:
        raise TypeRuleError("view_as_real is only supported for complex tensors")
    return (TensorType(PARTS[t.dtype], (*_dims(operands), 2)),)


def _view_as_complex(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    t, dims = tensor(operands[0]), _dims(operands)
    made = next((dtype for dtype, part in PARTS.items() if part == t.dtype), None)
    if made is None:
        raise TypeRuleError("view_as_complex is only supported for floating point tensors, but got a tensor of scalar type: "
                            f"{SCALAR_TYPES[t.dtype]}")
    if not dims:
        raise TypeRuleError("Input tensor must have one or more dimensions")
    return (TensorType(made, dims[:-1]),)


def _view_dtype(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    """Return the type of a view of other elements. The last dim grows or shrinks by the ratio of the element sizes."""
    t, dims, dtype = tensor(operands[0]), _dims(operands), attrs["dtype"]
    was, size = SIZES[t.dtype], SIZES[dtype]
    if was == size:
        return (TensorType(dtype, dims),)
    if not dims:
        raise TypeRuleError("self.dim() cannot be 0 to view a tensor as elements of another size")
    last = dims[-1] * was // size if isinstance(dims[-1], int) else None
    return (TensorType(dtype, (*dims[:-1], last)),)


def _squeeze(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    dims = _dims(operands)
    if dims[attrs["dim"]] != 1:
        raise TypeRuleError("squeeze of a dim that is not known to be 1")
    return _like(operands, (*dims[: attrs["dim"]], *dims[attrs["dim"] + 1 :]))


def _parts(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    dims = _dims(operands)
    dim = own_dim(attrs["dim"], len(dims))
    return (tuple_of(_like(operands, (*dims[:dim], None, *dims[dim + 1 :]))[0]),)


def _unbind(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    return (tuple_of(_select(operands, attrs)[0]),)


def _elements(operands: Operands) -> TensorType:
    t = elem_of(operands[0])
    if not isinstance(t, TensorType) or t.dims is None:
        raise TypeRuleError(f"expected a list of tensors of one dtype and rank, not {operands[0].type}")
    return t


def _cat(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    t = _elements(operands)
    assert t.dims is not None
    dim = normal_dim(attrs["dim"], t.rank)
    items = _known_items(operands[0])
    joined = None if items is None else _sum_of_sizes([tensor(item) for item in items], dim)
    return (TensorType(t.dtype, (*t.dims[:dim], joined, *t.dims[dim + 1 :])),)


def _known_items(made: Value) -> Sequence[Value] | None:
    """Return the items of a list that is made here and does not grow; None if there is no such list."""
    grows = any("list" in user.defn.writes for user in made.users())
    return made.op.operands if made.op is not None and made.op.name == "list.new" and not grows else None


def _sum_of_sizes(types: Sequence[TensorType], dim: int) -> int | None:
    sizes = [t.dims[dim] if t.dims is not None else None for t in types]
    known = [size for size in sizes if isinstance(size, int)]
    return sum(known) if len(known) == len(sizes) else None


def _cat_items(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    types = [tensor(v) for v in operands]
    t: Type = types[0]
    for other in types[1:]:
        t = join(t, other)
    if not isinstance(t, TensorType) or t.dims is None:
        raise TypeRuleError("expected tensors of one dtype and rank")
    dim = normal_dim(attrs["dim"], t.rank)
    return (TensorType(t.dtype, (*t.dims[:dim], _sum_of_sizes(types, dim), *t.dims[dim + 1 :])),)


def _stack(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    t = _elements(operands)
    assert t.dims is not None
    dim = normal_dim(attrs["dim"], t.rank, extra=1)
    items = _known_items(operands[0])
    return (TensorType(t.dtype, (*t.dims[:dim], None if items is None else len(items), *t.dims[dim:])),)


# ORDER PAD: sc_ops.h
PAD_MODES = ("reflect", "replicate", "circular")


def _pad(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    dims = list(_dims(operands))
    for i in range(len(tuple_items(operands[1])) // 2):
        dims[len(dims) - 1 - i] = None
    return _like(operands, tuple(dims))


def _repeat(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    dims = _dims(operands)
    counts = [as_dim(v) for v in tuple_items(operands[1])]
    if len(counts) < len(dims):
        raise TypeRuleError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        )
    padded = (1,) * (len(counts) - len(dims)) + dims
    return _like(operands, tuple(_times(n, d) for n, d in zip(counts, padded, strict=True)))


def _times(count: Dim, dim: Dim) -> Dim:
    if count == 1:
        return dim
    if dim == 1:
        return count
    return count * dim if isinstance(count, int) and isinstance(dim, int) else None


def _diagonal(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    dims = _dims(operands)
    drop = {normal_dim(attrs[name], len(dims)) for name in ("dim1", "dim2")}
    if len(drop) < 2:
        raise TypeRuleError(f"diagonal dimensions cannot be identical {attrs['dim1']}, {attrs['dim2']}")
    return _like(operands, (*(d for i, d in enumerate(dims) if i not in drop), None))


def _unfold(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    dims, dim = list(_dims(operands)), attrs["dimension"]
    if dims:
        dims[dim] = None
    return _like(operands, (*dims, as_dim(operands[1])))


def _as_strided(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    return _like(operands, tuple(as_dim(v) for v in tuple_items(operands[1])))


ROWS = [
    OpDef("diagonal", "(Tensor self, SymInt offset, int dim1, int dim2) -> Tensor", _diagonal, _VIEW,
          ref="torch.diagonal", emit="view", samples=Samples(_X, extra=((0, 0, 1), (1, 0, 1), (-2, 1, 0), (9, 0, 1)))),
    OpDef("unfold", "(Tensor self, int dimension, SymInt size, SymInt step) -> Tensor", _unfold, _VIEW,
          gradient=("self",), ref="Tensor.unfold", raises=True, emit="view", samples=Samples(_X, extra=((0, 2, 1), (1, 3, 2))),
          errors=(Raises("RuntimeError", "maximum size for tensor at dimension 0 is 3 but size is 9", shapes=((3, 4),),
                         extra=(0, 9, 1)),
                  Raises("RuntimeError", "step is 0 but must be > 0", shapes=((3, 4),), extra=(0, 2, 0)))),
    # offset: from the start of the storage, or OWN_OFFSET
    OpDef("as_strided", "(Tensor self, SymInt[] size, SymInt[] stride, SymInt offset) -> Tensor", _as_strided, _VIEW,
          gradient=("self",), ref="as_strided", raises=True, emit="view",
          samples=Samples(_X, extra=(((2, 2), (4, 1), OWN_OFFSET), ((3,), (2,), 1))),
          errors=(Raises("RuntimeError", "setStorage: sizes [4, 4], strides [4, 1], storage offset 1, and itemsize 4 "
                         "requiring a storage size of 68 are out of bounds for storage of size 48", shapes=((3, 4),),
                         extra=((4, 4), (4, 1), 1)),)),
    OpDef("flip", "(Tensor self, int[] dims) -> Tensor", lambda o, a: (o[0].type,), _JOINS, gradient=("self",),
          ref="torch.flip", reads=_TENSOR,
          emit="view", samples=Samples(_X, extra=(((0,),), ((0, 1),), ((),)))),
    # Views complex elements as pairs of real and imaginary parts along a new last dim, and back.
    OpDef("view_as_real", "(Tensor self) -> Tensor", _view_as_real, _VIEW, gradient=("self",), torch=("torch.view_as_real",),
          emit="view",
          samples=Samples(_X, dtypes=("c64", "c128"))),
    OpDef("view_as_complex", "(Tensor self) -> Tensor", _view_as_complex, _VIEW, gradient=("self",),
          torch=("torch.view_as_complex",),
          raises=True, emit="view", samples=Samples((((3, 2),), ((2,),), ((0, 4, 2),))),
          errors=(Raises("RuntimeError", "Tensor must have a last dimension of size 2", shapes=((3, 3),)),)),
    # Views the bits of the elements as elements of another dtype.
    OpDef("view_dtype", "(Tensor self, *, ScalarType dtype) -> Tensor", _view_dtype, _VIEW, gradient=(), ref="Tensor.view",
          raises=True,
          emit="view_dtype", samples=Samples((((3, 4),), ((0, 8),)), extra=(("i32",), ("u8",), ("f64",), ("bf16",))),
          errors=(Raises("RuntimeError", "self.size(-1) must be divisible by 2 to view Float as Double (different element "
                         "sizes), but got 5", shapes=((3, 5),), extra=("f64",)),)),
    OpDef("select", "(Tensor self, int dim, SymInt index) -> Tensor", _select, _VIEW, ref="select",
          check="select", emit="view", samples=Samples(_X, extra=((0, 2), (1, -1))),
          errors=(Raises("IndexError", "index 3 is out of bounds for dimension 0 with size 3", shapes=((3, 4),),
                         extra=(0, 3)),)),
    OpDef("slice", "(Tensor self, int dim, SymInt start, SymInt end, SymInt step) -> Tensor", _slice, _VIEW,
          ref="slice", emit="view",
          samples=Samples(_X, extra=((0, 1, 3, 1), (1, -2, 9, 1), (1, 0, 4, 2), (0, 3, 1, 1)))),
    OpDef("transpose", "(Tensor self, int dim0, int dim1) -> Tensor", _transpose, _VIEW, gradient=("self",),
          ref="torch.transpose",
          emit="view", samples=Samples(_X, extra=((0, 1), (1, 1)))),
    OpDef("permute", "(Tensor self, int[] dims) -> Tensor", _permute, _VIEW, gradient=("self",), ref="torch.permute",
          emit="view",
          samples=Samples((((2, 3, 4),),), extra=(((2, 0, 1),),))),
    OpDef("unsqueeze", "(Tensor self, int dim) -> Tensor", _unsqueeze, _VIEW, gradient=("self",), ref="torch.unsqueeze",
          emit="view", samples=Samples(_X, extra=((0,), (2,)))),
    OpDef("squeeze", "(Tensor self, int dim) -> Tensor", _squeeze, _VIEW, gradient=("self",), ref="torch.squeeze", emit="view",
          samples=Samples((((3, 1),),), extra=((1,),))),
    OpDef("view", "(Tensor self, SymInt[] size) -> Tensor", _view, _VIEW, gradient=("self",), ref="Tensor.view", check="view",
          emit="view", samples=Samples(_X, extra=(((12,),), ((2, -1),), ((3, 2, 2),))),
          errors=(_NO_VIEW, Raises("RuntimeError", "only one dimension can be inferred", shapes=((3, 4),),
                                   extra=((-1, -1),)))),
    # Copies if the strides forbid a view, so the result may alias.
    OpDef("reshape", "(Tensor self, SymInt[] shape) -> Tensor", _view, _VIEW, gradient=("self",), ref="torch.reshape",
          check="reshape", emit="view", reads=_TENSOR, samples=Samples(_X, extra=(((12,),), ((2, -1),))), errors=(_NO_VIEW,)),
    OpDef("expand", "(Tensor self, SymInt[] size) -> Tensor", _expand, _VIEW, gradient=("self",),
          ref="Tensor.expand", check="expand",
          emit="view", samples=Samples((((3, 1),), ((),)), extra=(((3, 4),), ((2, 3, 2),))),
          errors=(Raises("RuntimeError", "The expanded size of the tensor (5) must match the existing size (3) at "
                         "non-singleton dimension 0.  Target sizes: [5].  Tensor sizes: [3]", shapes=((3,),),
                         extra=((5,),)),)),
    OpDef("alias", "(Tensor self) -> Tensor", lambda o, a: (o[0].type,), _VIEW, ref="Tensor.detach", emit="view", gradient=(),
          samples=Samples(_X)),
    # Returns the tensor itself, and lets gradients flow to `sources`, by a `user_gradient` behind it. It is not PURE, since
    # each run has gradients of its own.
    OpDef("linked", "(Tensor self, Value[] sources) -> Tensor", lambda o, a: (o[0].type,), frozenset({"VIEW"}), ref="linked",
          emit="linked", gradient=()),
    # Returns the tensor itself, as a leaf of autograd or an nn.Parameter. `source` is the tensor to which the gradients of
    # leaves flow, of which nothing is read. It is not PURE, since each run makes a leaf of its own.
    OpDef("leaf", "(Tensor self, Value[] source, *, bool parameter, bool requires_grad) -> Tensor",
          lambda o, a: (o[0].type,), frozenset({"VIEW"}), ref="leaf", emit="linked", gradient=("self",)),
    # Returns the memory of `self` as the tensor `owner`, to which the gradients flow: `owner.data = self`.
    OpDef("with_data", "(Tensor self, Tensor owner) -> Tensor", lambda o, a: (o[0].type,), frozenset({"VIEW"}),
          ref="with_data", emit="linked", gradient=("owner",)),
    # Returns the memory of `self` as the object that `argument` is, a tensor from outside to which the program gives other
    # sizes, strides or data. It FETCHES, since the caller knows this object.
    OpDef("changed_argument", "(Tensor self, Tensor argument) -> Tensor", lambda o, a: (o[0].type,),
          frozenset({"VIEW", "FETCHES"}), ref="changed_argument", emit="view"),
    # Returns an argument, which requires grad from now on. `source` is as in `leaf`.
    OpDef("leaf_argument", "(Tensor self, Value[] source) -> Tensor", lambda o, a: (o[0].type,),
          frozenset({"VIEW", "FETCHES"}), ref="leaf_argument", emit="linked", gradient=("self",)),
    # Computes the gradients of some tensors, the sources, from those of the results of `linked` ops. It does nothing else.
    # values: first the results, then the sources, then what the function `backward` takes. refused: why there is none.
    # takes: the arguments of `backward`. gives: for each of its results the number of the source. dirty: the numbers of the
    # results that are sources, which were written.
    OpDef("user_gradient", "(Value[] values, *, int results, int sources, str backward, str refused, str[] takes, int[] gives,"
          " int[] dirty) -> ()", fixed(), writes=frozenset({"io"}), emit="user_gradient"),
    OpDef("split", "(Tensor self, SymInt split_size, int dim) -> Tensor[]", _parts, _VIEW, ref="torch.split",
          raises=True, emit="parts", samples=Samples(_X, extra=((2, 1), (3, 1), (5, 0))),
          errors=(Raises("RuntimeError", "split expects split_size be non-negative, but got split_size=-1",
                         shapes=((3, 4),), extra=(-1, 0)),
                  Raises("RuntimeError", "split_size can only be 0 if dimension size is 0, but got dimension size of 3",
                         shapes=((3, 4),), extra=(0, 0)))),
    OpDef("chunk", "(Tensor self, SymInt chunks, int dim) -> Tensor[]", _parts, _VIEW, ref="torch.chunk",
          raises=True, emit="parts", samples=Samples(_X, extra=((2, 1), (3, 1))),
          errors=(Raises("RuntimeError", "chunk expects `chunks` to be greater than 0, got: 0", shapes=((3, 4),),
                         extra=(0, 0)),)),
    OpDef("unbind", "(Tensor self, int dim) -> Tensor[]", _unbind, _VIEW, ref="torch.unbind", emit="parts",
          samples=Samples(_X, extra=((0,), (1,)))),
    OpDef("cat", "(List tensors, int dim) -> Tensor", _cat, _JOINS, ref="torch.cat", reads=_TENSOR | {"list"},
          raises=True, emit="join", samples=Samples((((3, 4), (2, 4)), ((2, 3, 4), (2, 3, 4))), extra=((0,), (-1,))),
          errors=(Raises("RuntimeError", "Sizes of tensors must match except in dimension 0. Expected size 4 but got size 5 "
                         "for tensor number 1 in the list.", shapes=((3, 4), (3, 5)), extra=(0,)),)),
    # cat of a list of the operands. in_place: the result may be a view of images whose channels lie side by side.
    OpDef("cat.items", "(Value[] tensors, *, int dim, bool in_place=False) -> Tensor", _cat_items, _JOINS, ref="cat_items",
          reads=_TENSOR, raises=True, emit="cat_items", phases=MADE_BY_PASSES),
    OpDef("stack", "(List tensors, int dim) -> Tensor", _stack, _JOINS, ref="torch.stack", reads=_TENSOR | {"list"},
          raises=True, emit="join", samples=Samples((((3, 4), (3, 4)), ((2, 3, 4), (2, 3, 4))), extra=((0,), (2,))),
          errors=(Raises("RuntimeError", "stack expects each tensor to be equal size, but got [3, 4] at entry 0 and [3, 5] at "
                         "entry 1", shapes=((3, 4), (3, 5)), extra=(0,)),)),
    # Joins the `total` tensors that a loop appends to a list, as they come: in a new dim (`stack`) or along another.
    OpDef("stacked.new", "() -> Value", fixed(ROWS_TYPE), frozenset({"ALLOCATES"}), ref="rows_new", kernel="sc_stacked_new",
          phases=MADE_BY_PASSES),
    OpDef("stacked.put", "(Value stacked, Tensor item, SymInt total, *, int dim, bool stack) -> ()", fixed(),
          frozenset({"ANY_DTYPE"}), reads=_TENSOR, writes=frozenset({"list"}), raises=True, ref="stacked_put",
          kernel="sc_stacked_put", phases=MADE_BY_PASSES),
    OpDef("stacked.join", "(Value stacked, *, int dim, bool stack) -> Tensor", given, frozenset({"ALLOCATES"}),
          reads=frozenset({"list"}), raises=True, ref="stacked_join", emit="stacked_join", phases=MADE_BY_PASSES),
    # Pads by elements of self: before and after the last dim, then the dim before it, and so on.
    OpDef("pad", "(Tensor self, SymInt[] pad, str mode) -> Tensor", _pad, _JOINS | {"PLAIN"}, gradient=("self",),
          ref="torch.nn.functional.pad",
          reads=_TENSOR, raises=True, emit="pad",
          samples=Samples((((2, 3, 4, 5),), ((1, 2, 3, 3),)), dtypes=("f32", "f64"),
                          extra=tuple(((2, 1, 1, 0), mode) for mode in PAD_MODES)),
          errors=(Raises("RuntimeError", "Padding value causes wrapping around more than once.", shapes=((2, 3, 4, 5),),
                         extra=((9, 1, 0, 0), "circular")),)),
    OpDef("repeat", "(Tensor self, SymInt[] repeats) -> Tensor", _repeat, _JOINS | {"PLAIN"}, gradient=("self",),
          ref="Tensor.repeat",
          reads=_TENSOR, raises=True, emit="view", samples=Samples(_X, extra=(((2, 3),), ((2, 1, 1),), ((0, 1),))),
          errors=(Raises("RuntimeError", "Trying to create tensor with negative dimension -6: [-6, 12]", shapes=((3, 4),),
                         extra=((-2, 3),)),)),
]  # fmt: skip
