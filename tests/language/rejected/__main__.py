"""Prints docs/reference/rejections.md: `PYTHONPATH=tests python -m language.rejected`."""

from language.rejected import containers, modules, objects, page, statements, tensors, torchscript, values  # noqa: F401  (they list their programs)

print(page(), end="")
