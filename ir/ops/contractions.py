"""Matrix products, and weights prepared for them."""

from __future__ import annotations

from scriptc.ir.opdef import MADE_BY_PASSES, OpDef, Raises, Samples, TypeRuleError
from scriptc.ir.ops.rules import Attrs, Operands, broadcast_dims, fixed, given, tensor
from scriptc.ir.types import PACKED, Dim, ListType, TensorType, Type
from scriptc.ir.types import ROWS as ROWS_TYPE

_PURE = frozenset({"PURE"})
_PLAIN = frozenset({"PURE", "PLAIN"})
_CHECKED = frozenset({"PURE", "CHECKED", "PLAIN"})
_TENSOR = frozenset({"tensor"})
_LINEAR = Samples((((3, 5), (4, 5), (4,)), ((5,), (4, 5), (4,)), ((2, 3, 17), (33, 17), (33,)), ((0, 5), (4, 5), (4,))),
                  dtypes=("f32", "f64"))  # fmt: skip


def same_dtype(a: TensorType, b: TensorType) -> str:
    if a.dtype != b.dtype:
        from scriptc.ir.dtypes import TORCH_NAMES

        names = {"f32": "float", "f64": "double", "f16": "c10::Half", "bf16": "c10::BFloat16", "i64": "long int",
                 "c64": "c10::complex<float>", "c128": "c10::complex<double>"}
        left, right = (names.get(t.dtype, TORCH_NAMES[t.dtype]) for t in (a, b))
        raise TypeRuleError(f"expected m1 and m2 to have the same dtype, but got: {left} != {right}")
    return a.dtype


def _matmul(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    a, b = tensor(operands[0]), tensor(operands[1])
    dtype = same_dtype(a, b)
    if not a.dims or not b.dims:
        raise TypeRuleError(f"both arguments to matmul need to be at least 1D, but they are {a} and {b}")
    rows: tuple[Dim, ...] = a.dims[-2:-1]
    cols: tuple[Dim, ...] = b.dims[-1:] if len(b.dims) > 1 else ()
    batch = broadcast_dims([a.dims[:-2], b.dims[:-2]])
    assert batch is not None
    return (TensorType(dtype, (*batch, *rows, *cols)),)


def _linear(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    x, w = tensor(operands[0]), tensor(operands[1])
    if not x.dims or w.dims is None or len(w.dims) not in (1, 2):
        raise TypeRuleError(f"linear needs an input of at least 1 dim and a weight of 1 or 2, not {x} and {w}")
    return (TensorType(same_dtype(x, w), (*x.dims[:-1], *w.dims[:-1])),)


def _concat(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    first = tensor(operands[0])
    sizes = [(tensor(v).dims or (None,))[0] for v in operands]
    known = [d for d in sizes if isinstance(d, int)]
    assert first.dims
    return (TensorType(first.dtype, (sum(known) if len(known) == len(sizes) else None, *first.dims[1:])),)


def _linear_packed(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    x, packed = tensor(operands[0]), operands[1].op
    assert x.dims is not None
    return (TensorType(x.dtype, (*x.dims[:-1], attrs["features"] if packed is None or attrs["features"] else None)),)


def _linear_add(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    (product,) = _linear_packed(operands, attrs)
    assert isinstance(product, TensorType)
    return (TensorType(product.dtype, broadcast_dims([product.dims, tensor(operands[3]).dims])),)


def _linear_argmax(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    dims = tensor(operands[0]).dims
    assert dims
    return (TensorType("i64", (*dims[:-1], 1) if attrs["keepdim"] else dims[:-1]),)


def _linear_rows(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    source = operands[1].type
    t = source.elem if isinstance(source, ListType) else source
    assert isinstance(t, TensorType) and t.dims is not None
    dims = t.dims if isinstance(source, ListType) else (*t.dims[: attrs["dim"]], *t.dims[attrs["dim"] + 1 :])
    return (TensorType(t.dtype, (*dims[:-1], attrs["features"] or None)),)


ROWS = [
    OpDef("matmul", "(Tensor self, Tensor other) -> Tensor", _matmul, _PLAIN, gradient=("self", "other"),
          torch=("torch.matmul", "Tensor.matmul"),
          reads=_TENSOR, check="matmul", kernel="sc_matmul", tolerance_ulp=64,
          samples=Samples((((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4, 5)),
                           ((2, 1, 3, 4), (5, 4, 2)), ((3, 0), (0, 2))), dtypes=("f32", "f64", "i64", "bf16")),
          errors=(Raises("RuntimeError", "mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)", shapes=((3, 4), (5, 6))),
                  Raises("RuntimeError", "size mismatch, got input (3), mat (3x4), vec (5)", shapes=((3, 4), (5,))),
                  Raises("RuntimeError", "inconsistent tensor size, expected tensor [4] and src [5] to have the same number "
                         "of elements, but got 4 and 5 elements respectively", shapes=((4,), (5,))))),
    OpDef("linear", "(Tensor input, Tensor weight, Tensor? bias) -> Tensor", _linear, _PLAIN,
          gradient=("input", "weight", "bias"), ref="torch.nn.functional.linear", reads=_TENSOR, check="linear",
          kernel="sc_linear", samples=_LINEAR,
          tolerance_ulp=64,
          errors=(Raises("RuntimeError", "mat1 and mat2 shapes cannot be multiplied (3x5 and 6x4)",
                         shapes=((3, 5), (4, 6), (4,))),
                  Raises("RuntimeError", "The expanded size of the tensor (4) must match the existing size (3) at "
                         "non-singleton dimension 1.  Target sizes: [3, 4].  Tensor sizes: [3]",
                         shapes=((3, 5), (4, 5), (3,))))),
    # Concatenates tensors along the first dim.
    OpDef("concat", "(Value[] tensors) -> Tensor", _concat, frozenset({"PURE", "ALLOCATES", "PLAIN", "ANY_DTYPE"}),
          reads=_TENSOR, ref="concat", emit="concat", phases=MADE_BY_PASSES),
    # Packs the weights [N, K] of several linears as one weight, in the panel layout of the kernels.
    OpDef("pack_linear", "(Value[] weights) -> Value", fixed(PACKED), _PURE, reads=_TENSOR, ref="concat", emit="concat",
          phases=MADE_BY_PASSES),
    # pack_linear for constant weights, made once and kept from call to call; `slot` numbers the results. `store` is the
    # dtype that the weights are rounded to, "" for the dtype of the weights.
    OpDef("pack_linear.kept", "(Value[] weights, *, int slot, str store='') -> Value", fixed(PACKED), _PURE,
          reads=_TENSOR, ref="concat", emit="pack_kept", phases=MADE_BY_PASSES),
    # `features` is N if it is known, else 0. Guarded: the check of the replaced linear precedes the op.
    OpDef("linear_packed", "(Tensor input, Value weight, Tensor? bias, *, int features) -> Tensor", _linear_packed,
          _CHECKED, ref="linear_packed", reads=_TENSOR, emit="linear_packed", tolerance_ulp=64, phases=MADE_BY_PASSES),
    # activation(linear), for float32.
    OpDef("linear_activated", "(Tensor input, Value weight, Tensor? bias, Value activation, *, int features) -> Tensor",
          _linear_packed, _CHECKED, ref="linear_activated", reads=_TENSOR, emit="linear_activated", tolerance_ulp=64,
          phases=MADE_BY_PASSES),
    # addend + linear, or linear + addend if not `first`; raises the errors of that sum.
    OpDef("linear_add", "(Tensor input, Value weight, Tensor? bias, Tensor addend, *, int features, bool first) -> Tensor",
          _linear_add, _CHECKED, ref="linear_add", reads=_TENSOR, raises=True, emit="linear_add", tolerance_ulp=64,
          phases=MADE_BY_PASSES),
    # Packs signed bytes that a weight f32[N, K] is about, and their scales.
    OpDef("pack_estimate", "(Tensor weight) -> Value", fixed(PACKED), _PURE, reads=_TENSOR, ref="pack_estimate",
          kernel="sc_pack_estimate", phases=MADE_BY_PASSES),
    # argmax over the last dim of linear_packed, of float32, which `estimate` is made of the weight for. N and K are not 0.
    OpDef("linear_argmax", "(Tensor input, Value weight, Tensor? bias, Value estimate, *, bool keepdim) -> Tensor",
          _linear_argmax, _CHECKED, ref="linear_argmax", reads=_TENSOR, kernel="sc_linear_argmax", phases=MADE_BY_PASSES),
    # The sum over a loop of left^T right, for one left matrix [rows, M] and right ones [rows, N] of each iteration: gradients
    # of weights. Part i is that of right matrix i, part -1 the sum of left's rows. `matrices` counts all.
    OpDef("outer_sum.new", "(*, int matrices) -> Value", fixed(ROWS_TYPE), frozenset({"ALLOCATES"}), ref="outer_sum_new",
          kernel="sc_outer_sum_new", phases=MADE_BY_PASSES),
    OpDef("outer_sum.add", "(Value sum, Value[] matrices) -> ()", fixed(), reads=_TENSOR, writes=frozenset({"list"}),
          raises=True, ref="outer_sum_add", emit="outer_sum_add", phases=MADE_BY_PASSES),
    OpDef("outer_sum.part", "(Value sum, *, int part) -> Tensor", given, frozenset({"ALLOCATES", "PLAIN"}),
          reads=frozenset({"list"}), raises=True, ref="outer_sum_part", kernel="sc_outer_sum_part", phases=MADE_BY_PASSES,
          tolerance_ulp=64),
    # Holds the rows that a loop computes ahead; made anew for each run of the loop.
    OpDef("rows.new", "() -> Value", fixed(ROWS_TYPE), frozenset({"ALLOCATES"}), ref="rows_new", kernel="sc_rows_new",
          phases=MADE_BY_PASSES),
    # linear of `source` at an index: an item of a list, or a slice of a tensor along `dim`. `index` is the counter of a
    # loop that counts by `step` (1 or -1) to `stop`. If `sure`, only an error ends the loop early. The op may compute
    # the rows of later iterations too. It raises the errors of the linear.
    OpDef("linear_rows",
          "(Value rows, Value source, SymInt index, SymInt stop, Value weight, Tensor? bias, *, int dim, int step, bool sure, "
          "int features) -> Tensor", _linear_rows, _CHECKED, ref="linear_rows", reads=frozenset({"tensor", "list"}),
          raises=True, emit="linear_rows", tolerance_ulp=64, phases=MADE_BY_PASSES),
]  # fmt: skip
