"""Random numbers. Each op draws from the one generator, whose memory is of a class of its own, and fills a tensor."""

from __future__ import annotations

from scriptc.ir.opdef import OpDef
from scriptc.ir.ops.rules import fixed
from scriptc.ir.types import FLOAT, INT

_WRITES = frozenset({"tensor", "random"})
_READS = frozenset({"random"})
_READS_TENSOR = frozenset({"tensor", "random"})
_PYTHON = frozenset({"python random"})  # the generator behind the module `random`

ROWS = [
    # kind: uniform (from, to), normal (mean, std), bernoulli (p, unused), exponential (lambda, unused)
    OpDef("random.fill", "(Tensor dst, Scalar a, Scalar b, *, str kind) -> ()", fixed(), reads=_READS, writes=_WRITES,
          raises=True, ref="random_fill", emit="random_fill"),
    # integers in low..high-1
    OpDef("random.ints", "(Tensor dst, SymInt low, SymInt high) -> ()", fixed(), reads=_READS, writes=_WRITES,
          raises=True, ref="Tensor.random_", kernel="sc_random_ints"),
    OpDef("random.bernoulli", "(Tensor dst, Tensor p) -> ()", fixed(), reads=_READS_TENSOR, writes=_WRITES, raises=True,
          ref="Tensor.bernoulli_", kernel="sc_random_bernoulli"),
    # a permutation of 0..n-1
    OpDef("random.permute", "(Tensor dst) -> ()", fixed(), reads=_READS, writes=_WRITES, raises=True,
          ref="random_permute", kernel="sc_random_permute"),
    # slopes of rrelu for the elements of a contiguous x: 1 where that is positive
    OpDef("random.slopes", "(Tensor dst, Tensor x, Scalar lower, Scalar upper) -> ()", fixed(), reads=_READS_TENSOR,
          writes=_WRITES, raises=True, ref="random_slopes", kernel="sc_random_slopes"),
    # places in rows of weights, whose running sums are given, with replacement
    OpDef("random.places", "(Tensor dst, Tensor sums) -> ()", fixed(), reads=_READS_TENSOR, writes=_WRITES, raises=True,
          ref="random_places", kernel="sc_random_places"),
    OpDef("python.random", "() -> Scalar", fixed(FLOAT), reads=_PYTHON, writes=_PYTHON, raises=True, ref="random.random",
          kernel="sc_python_random"),
    OpDef("python.bits", "(SymInt k) -> Scalar", fixed(INT), reads=_PYTHON, writes=_PYTHON, raises=True,
          ref="random.getrandbits", kernel="sc_python_bits"),
]  # fmt: skip
