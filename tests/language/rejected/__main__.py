"""Prints docs/reference/rejections.md: `PYTHONPATH=tests python -m language.rejected`."""

from language.rejected import page, programs  # noqa: F401  (the programs that the page tells of)

print(page(), end="")
