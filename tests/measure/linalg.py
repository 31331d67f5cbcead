"""Matrix decompositions by PyTorch's own samples, which the operators that count leave out."""

from __future__ import annotations

import torch

from .command import Measure
from .opinfo import LISTED, OPS, programs

# Those of other homes than torch.linalg.
_OLDER = ("cholesky cholesky_inverse cholesky_solve geqrf logdet lu lu_solve lu_unpack matrix_exp norm.nuc ormqr pinverse "
          "qr svd triangular_solve").split()  # fmt: skip

# Not called by their names: pinv.singular makes its matrix of two others.
_MADE_UP = {"linalg.pinv.singular"}


def names(dtype: str) -> list[str]:
    listed = {*LISTED.read_text().split(), *_MADE_UP}
    wanted = [n for n in OPS if (n.startswith("linalg.") or n in _OLDER) and n not in listed]
    return [n for n in wanted if OPS[n].supports_dtype(getattr(torch, dtype), "cpu")]


MEASURE = Measure(
    package="tests.linalg",
    variants=("float32", "float64"),
    names=names,
    calls=programs,
    samples=6,
    title="Linear algebra in {variant}",
    intro="`python -m tests.linalg --variant {variant}`: PyTorch's own samples (`op_db`) of matrix decompositions, which the "
    "540 functions leave out, the first {count} of each. {passed} of {total} agree with eager in value, dtype and shape on "
    "every sample.",
)
