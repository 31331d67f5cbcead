"""Prints docs/reference/rejections.md: `PYTHONPATH=tests python -m language.rejected`."""

from language.rejected import (  # noqa: F401  (they list their programs)
    arrays,
    containers,
    hooks,
    modules,
    objects,
    page,
    statements,
    tensors,
    torchscript,
    values,
)

print(page(), end="")
