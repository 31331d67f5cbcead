"""All programs that are refused: importing this module lists them in `REJECTED`."""

from language.rejected import (  # noqa: F401
    arrays,
    containers,
    hooks,
    modules,
    objects,
    statements,
    tensors,
    torchscript,
    values,
)
