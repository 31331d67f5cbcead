"""A specialization of a compiled callable: the library to call, and the IR that it was built from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scriptc.driver.gradient_dependencies import Dependencies
from scriptc.driver.options import Options
from scriptc.frontend.environment.specs import Contract, describe

if TYPE_CHECKING:
    from scriptc.driver.pipeline import Translated
    from scriptc.ir.core import Module


@dataclass(eq=False, repr=False)
class Variant:
    """One specialization and the library that holds it. random: whether it draws random numbers."""

    contract: Contract
    gradients: Dependencies
    random: bool
    source_ir: str  # the IR before the passes, with locations
    library: Path
    options: Options
    _translated: Translated | None = None

    def __str__(self) -> str:
        return ", ".join(f"{a.name}: {describe(a.spec)}" for a in self.contract.args)

    def read_module(self) -> Module:
        """Return the IR before the passes, a new module each time.

        In the process that compiled the variant, locations have the calls that led there.
        """
        if self._translated is not None:
            from scriptc.ir.cloning import clone_module

            return clone_module(self._translated.source)
        from scriptc.ir.parser import parse_module

        return parse_module(self.source_ir)

    @property
    def translated(self) -> Translated:
        """Return the IR and the C.

        A variant of an earlier process is translated from its IR at first use.
        """
        if self._translated is None:
            from scriptc.driver.pipeline import translated_again

            self._translated = translated_again(self.contract, self.source_ir, self.options)
        return self._translated

    @property
    def c_source(self) -> str:
        """Return the C source of the library."""
        if self._translated is not None:
            return self._translated.program.source
        return self.library.with_suffix(".c").read_text(encoding="utf-8")
