"""The options of `compile` and `build`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypedDict

WEIGHTS = ("float32", "bfloat16", "float16")
CHECKPOINTS = ("none", "sqrt")


class CompileOptions(TypedDict, total=False):
    """The options of `scriptc.compile` and `scriptc.build`, as keyword arguments.

    optimize: 0 (no passes, C at -O0) to 3 (all passes, C at -O3 for this machine). Default: 3.
    dynamic: False makes the sizes of tensor arguments part of the signature. Default: True.
    freeze: parameters and buffers do not change between calls, so values that follow from them alone are computed
        once. Default: False for `compile`, True for `build`.
    debug: generate #line directives and compile with -g, so that a debugger steps through the Python source. Default:
        False.
    flush_denormals: denormal numbers count as zero inside compiled calls. Default: False.
    profile: generate the instrumented code that `Compiled.profile` uses. Default: False.
    weights: "bfloat16" or "float16" keeps frozen float32 weights of linears rounded to that dtype. Sums stay float32.
        Needs freeze=True, and optimize=2 or 3. Default: "float32".
    fold_norms: where weights are frozen, the scales and shifts behind convolutions, such as those of a BatchNorm in
        evaluation, are multiplied into weights and added to biases. Results differ by rounding. Default: True.
    checkpoint: "sqrt" lets backward run loops again, in chunks of about as many iterations as there are chunks, so that
        a loop of n iterations keeps the values of about sqrt(n). "none" keeps those of all iterations. Default: "none".
    """

    optimize: Literal[0, 1, 2, 3]
    dynamic: bool
    freeze: bool
    debug: bool
    flush_denormals: bool
    profile: bool
    weights: Literal["float32", "bfloat16", "float16"]
    fold_norms: bool
    checkpoint: Literal["none", "sqrt"]


@dataclass(frozen=True)
class Options:
    """The options of one compilation.

    optimize: the opt level, from 0 (no passes, -O0) to 3 (all passes, -O3 for this machine).
    dynamic: whether compiled code takes tensors of other sizes. False makes the sizes part of the signature.
    freeze: whether to assume that weights do not change between calls. Values that depend on weights alone are then
    computed once, and kept.
    flush_denormals: whether compiled calls treat denormal numbers as zero.
    profile: whether to instrument the code for `compiled.profile`.
    weights: the weight format of frozen linears, "float32", "bfloat16" or "float16". Sums are float32 in each of them.
    fold_norms: whether what is computed for each channel behind convolutions of frozen weights becomes part of the weights.
    debug: whether to emit #line directives and to pass -g, so that a debugger steps through the Python source.
    checkpoint: "sqrt" if backward runs the loops of forward again, in chunks, else "none".
    """

    optimize: int = 3
    dynamic: bool = True
    freeze: bool = False
    debug: bool = False
    flush_denormals: bool = False
    profile: bool = False
    weights: str = "float32"
    fold_norms: bool = True
    checkpoint: str = "none"

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Options:
        """Return checked options.

        Raises TypeError for a name that is no option, and ValueError for a value that an option cannot have.
        """
        names = [f.name for f in fields(cls)]
        for name, value in options.items():
            if name not in names:
                import difflib

                near = difflib.get_close_matches(name, names, 1, 0.5)
                nearest = f"; did you mean '{near[0]}'?" if near else "."
                raise TypeError(f"there is no option '{name}'{nearest} Options: {', '.join(names)}")
            if isinstance(getattr(cls, name), bool) and not isinstance(value, bool):
                raise ValueError(f"{name} is True or False, not {value!r}")
        made = cls(**options)
        if made.optimize not in (0, 1, 2, 3):
            raise ValueError(f"optimize is 0, 1, 2 or 3, not {made.optimize!r}")
        if made.checkpoint not in CHECKPOINTS:
            raise ValueError(f"checkpoint is one of {', '.join(CHECKPOINTS)}, not {made.checkpoint!r}")
        if made.weights not in WEIGHTS:
            raise ValueError(f"weights is one of {', '.join(WEIGHTS)}, not {made.weights!r}")
        if made.weights != "float32" and (not made.freeze or made.optimize < 2):
            raise ValueError(f"weights={made.weights!r} needs freeze=True, and optimize=2 or 3")
        return made

    @property
    def cuts_loops(self) -> bool:
        """Return whether backward code runs loops again, in chunks."""
        return self.checkpoint == "sqrt"

    def given(self) -> CompileOptions:
        """Return the options that are not the defaults, as `scriptc.compile` takes them."""
        changed = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        return changed  # type: ignore[return-value]
