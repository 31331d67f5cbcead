"""Random numbers. Each op fills a tensor from the one generator, whose memory is a class of its own."""

from __future__ import annotations

from scriptc.ir.opdef import NO_ERROR, OpDef, Raises, Samples, calls
from scriptc.ir.ops.rules import fixed
from scriptc.ir.types import FLOAT, INT

_WRITES = frozenset({"tensor", "random"})
_READS = frozenset({"random"})
_READS_TENSOR = frozenset({"tensor", "random"})
_PYTHON = frozenset({"python random"})  # the generator behind the module `random`

_NUMPY = frozenset({"numpy random"})  # the generator behind the functions of `np.random`
_NUMPY_WRITES = frozenset({"tensor", "numpy random"})

STATE_BYTES = 5056  # of torch.get_rng_state()
_NO_GENERATOR = (Raises("RuntimeError", "internal scriptc error: this call has no generator of random numbers"),)
_NO_NUMPY = (Raises("RuntimeError", "internal scriptc error: this call has no generator of NumPy"),)
_SHAPES = (((3, 4),), ((5, 7),), ((),))
_ROWS = (((12,),), ((35,),), ((),))  # contiguous in each layout

ROWS = [
    # kind: uniform (from, to), normal (mean, std), bernoulli (p, unused), exponential (lambda, unused)
    OpDef("random.fill", "(Tensor dst, Scalar a, Scalar b, *, str kind) -> ()", fixed(), reads=_READS, writes=_WRITES,
          raises=True, ref="random_fill", emit="random_fill", errors=_NO_GENERATOR, tolerance_ulp=16,
          samples=Samples(_SHAPES, extra=((0.0, 2.0, "uniform"), (0.5, 2.0, "normal"), (0.3, 0.0, "bernoulli"),
                                          (1.5, 0.0, "exponential")))),
    # integers in low..high-1
    OpDef("random.ints", "(Tensor dst, SymInt low, SymInt high) -> ()", fixed(), reads=_READS, writes=_WRITES,
          raises=True, ref="Tensor.random_", kernel="sc_random_ints", errors=_NO_GENERATOR,
          samples=Samples(_SHAPES, dtypes=("i64", "f32", "u8"), extra=((0, 10), (3, 100)))),
    OpDef("random.bernoulli", "(Tensor dst, Tensor p) -> ()", fixed(), reads=_READS_TENSOR, writes=_WRITES, raises=True,
          ref="Tensor.bernoulli_", kernel="sc_random_bernoulli",
          samples=Samples((((3, 4), (3, 4)), ((5, 7), (7,))), 0.0, 1.0),
          errors=(Raises("RuntimeError", "Expected p_in >= 0 && p_in <= 1 to be true, but got false.", shapes=((2,), (2,)),
                         value=2.0),)),
    # a permutation of 0..n-1
    OpDef("random.permute", "(Tensor dst) -> ()", fixed(), reads=_READS, writes=_WRITES, raises=True,
          ref="random_permute", kernel="sc_random_permute", errors=_NO_GENERATOR,
          samples=Samples((((9,),), ((0,),)), dtypes=("i64",))),
    # slopes of rrelu for the elements of a contiguous x: 1 for positive elements
    OpDef("random.slopes", "(Tensor dst, Tensor x, Scalar lower, Scalar upper) -> ()", fixed(), reads=_READS_TENSOR,
          writes=_WRITES, raises=True, ref="random_slopes", kernel="sc_random_slopes", errors=_NO_GENERATOR, tolerance_ulp=1,
          samples=Samples((((9,), (9,)),), extra=((0.1, 0.3),))),
    # draws indices into rows of weights with replacement; `sums` are the running sums of the weights
    OpDef("random.places", "(Tensor dst, Tensor sums) -> ()", fixed(), reads=_READS_TENSOR, writes=_WRITES, raises=True,
          ref="random_places", kernel="sc_random_places", errors=_NO_GENERATOR),
    # reads the state of the generator, a tensor of STATE_BYTES bytes; and sets the state
    OpDef("random.state", "(Tensor dst) -> ()", fixed(), reads=_READS, writes=_WRITES, raises=True, ref="random_state",
          kernel="sc_random_state", errors=_NO_GENERATOR),
    OpDef("random.restore", "(Tensor state) -> ()", fixed(), reads=_READS_TENSOR, writes=_READS, raises=True,
          ref="torch.set_rng_state", kernel="sc_random_restore", errors=_NO_GENERATOR),
    # NumPy's global generator: fill a contiguous float64 tensor with numbers in [0, 1) or normal numbers, times b plus a; a
    # contiguous int64 tensor with integers in low..high-1; and one with the shuffled numbers 0..n-1
    OpDef("numpy.fill", "(Tensor dst, Scalar a, Scalar b, *, bool normals) -> ()", fixed(), reads=_NUMPY,
          writes=_NUMPY_WRITES, raises=True,
          ref="numpy_fill", kernel="sc_numpy_fill", errors=_NO_NUMPY,
          samples=Samples(_ROWS, dtypes=("f64",), extra=((0.0, 1.0, False), (-1.0, 3.0, False), (0.5, 2.0, True)))),
    OpDef("numpy.ints", "(Tensor dst, SymInt low, SymInt high) -> ()", fixed(), reads=_NUMPY, writes=_NUMPY_WRITES,
          raises=True, ref="numpy_ints", kernel="sc_numpy_ints", errors=_NO_NUMPY,
          samples=Samples(_ROWS, dtypes=("i64",), extra=((0, 10), (3, 4), (-5, 2**40), (0, 2**32)))),
    OpDef("numpy.shuffle", "(Tensor dst) -> ()", fixed(), reads=_NUMPY, writes=_NUMPY_WRITES, raises=True,
          ref="numpy_shuffle", kernel="sc_numpy_shuffle", errors=_NO_NUMPY,
          samples=Samples((((9,),), ((0,),)), dtypes=("i64",))),
    OpDef("python.random", "() -> Scalar", fixed(FLOAT), reads=_PYTHON, writes=_PYTHON, raises=True, ref="random.random",
          kernel="sc_python_random", samples=calls(()), errors=(NO_ERROR,)),
    OpDef("python.bits", "(SymInt k) -> Scalar", fixed(INT), reads=_PYTHON, writes=_PYTHON, raises=True,
          ref="random.getrandbits", kernel="sc_python_bits", samples=calls((0,), (5,), (33,), (63,)),
          errors=(Raises("ValueError", "number of bits must be non-negative", (-1,)),
                  Raises("OverflowError", "Python int too large to convert to C long", (200,)))),
]  # fmt: skip
