"""The pass manager, which reads pipelines such as `clean,prepare_weights,fuse{max=8}` and runs them.

SCRIPTC_VERIFY=1 verifies after every pass; SCRIPTC_DUMP=name prints the IR after each run of that pass.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence

from scriptc.ir.core import Module
from scriptc.ir.passes import CLEANING, PASSES
from scriptc.ir.phases import OPTIMIZED
from scriptc.ir.printer import print_module
from scriptc.ir.verifier import verify as verify_module

# In a pipeline: the cleaning passes, again and again until none changes anything. A pass is left out while the module is as
# the pass found it.
CLEAN = "clean"
MAX_ROUNDS = 10

Step = tuple[str, Mapping[str, int]]  # a pass and its options
_STEP = re.compile(r"\s*(?P<name>\w+)\s*(?:\{(?P<options>[^}]*)\})?\s*(?:,|$)")


class PipelineError(Exception):
    """Say that the text of a pipeline names an unknown pass, or cannot be parsed."""


def parse_pipeline(text: str) -> list[Step]:
    """Return a text such as `licm,cse,fuse{max=8}` as (name, options) pairs."""
    steps: list[Step] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            raise PipelineError(f"cannot read the pipeline at {text[at:]!r}; write e.g. licm,cse,fuse{{max=8}}")
        name = match["name"]
        if name not in PASSES and name != CLEAN:
            raise PipelineError(f"there is no pass {name}; passes: {', '.join([CLEAN, *PASSES])}")
        steps.append((name, _options(match["options"] or "")))
        at = match.end()
    return steps


def _options(text: str) -> dict[str, int]:
    options: dict[str, int] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        key, _, value = part.partition("=")
        if not value.strip().lstrip("-").isdigit():
            raise PipelineError(f"an option is name=number, not {part!r}")
        options[key.strip()] = int(value)
    return options


def run_pipeline(
    module: Module,
    pipeline: str | Sequence[Step],
    *,
    verify: bool = False,
    after: Callable[[str, Module], None] | None = None,
) -> bool:
    """Run the passes in order; return whether any changed the module. `after` gets the name of each pass that ran."""
    verify = verify or os.environ.get("SCRIPTC_VERIFY") == "1"

    def run(name: str, options: Mapping[str, int]) -> bool:
        changed = PASSES[name](module, options)
        if verify:
            verify_module(module, OPTIMIZED)
        if os.environ.get("SCRIPTC_DUMP") == name:
            print(f"// after {name}\n{print_module(module)}", file=sys.stderr)
        if after is not None:
            after(name, module)
        return changed

    changes = 0  # passes that changed the module
    cleaned: dict[str, int] = {}  # by cleaning pass: the changes before its last run
    for name, options in parse_pipeline(pipeline) if isinstance(pipeline, str) else pipeline:
        if name != CLEAN:
            changes += run(name, options)
            continue
        for _ in range(options.get("rounds", MAX_ROUNDS)):
            before = changes
            for cleaner in CLEANING:
                if cleaned.get(cleaner) != changes:  # otherwise the pass would find what it left
                    cleaned[cleaner] = changes
                    changes += run(cleaner, {})
            if changes == before:
                break
    return changes > 0
