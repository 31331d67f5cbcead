"""The whole compiler on one page: from Python to C."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from scriptc.backend_c.emit import CProgram, emit_program
from scriptc.driver.garbage_collector import collector_paused
from scriptc.driver.gradient_dependencies import Dependencies
from scriptc.driver.gradient_flow import dependencies
from scriptc.driver.options import Options
from scriptc.driver.pass_order import passes_of
from scriptc.driver.stages import Stages
from scriptc.driver.target import Target
from scriptc.frontend.derivatives import LibraryDerivatives
from scriptc.frontend.entry import Entry, read
from scriptc.frontend.environment.specs import Contract
from scriptc.ir.analysis import draws_random_numbers
from scriptc.ir.cloning import clone_module
from scriptc.ir.core import Module
from scriptc.ir.errors import bugs_at
from scriptc.ir.gradients import checkpoints, inside
from scriptc.ir.parser import parse_module
from scriptc.ir.passes.manager import run_pipeline
from scriptc.ir.phases import READ
from scriptc.ir.printer import name_values, print_module
from scriptc.ir.verifier import verify
from scriptc.runtime.bridge import stack_left


@dataclass(frozen=True)
class Translated:
    """One specialization as IR and C.

    source: the IR before the passes, in which locations have the calls that led there; `entry.module` is the IR after them.
    source_ir: its text, with locations.
    gradients: the inputs from which gradients would flow to each output.
    random: whether the code draws random numbers.
    """

    entry: Entry
    source: Module
    source_ir: str
    gradients: Dependencies
    random: bool
    program: CProgram


def differentiate_inside(module: Module, options: Options) -> None:
    """Replace the ops by which a program asks for gradients by backward code, and drop the marks of checkpoints."""
    checkpoints.gather(module)
    inside.run(module, LibraryDerivatives(), cuts_loops=options.cuts_loops)
    checkpoints.flatten_module(module)


def run_passes(module: Module, options: Options, after: Callable[[str, Module], None] | None = None) -> None:
    """Run the passes of an opt level on a module, in place.

    `after` is called after each with its name and the module.
    """
    run_pipeline(module, passes_of(options), after=after)


@collector_paused()
def translate(
    target: Target, arguments: Mapping[str, Any], options: Options, changing: Collection[Any] = (),
    varied: Collection[int] = (), *, stages: Stages | None = None,
) -> Translated:  # fmt: skip
    """Translate Python source to C, specialized on one call.

    changing, varied: see `frontend.entry.read`. stages: records the time of each stage.
    """
    stages = stages or Stages()
    # Python to tensor IR
    with stages.stage("front end"):
        entry = read(
            target.func, target.receiver, arguments, dynamic=options.dynamic, changing=changing, varied=varied,
            left=stack_left, runs_hooks=target.runs_hooks,
        )  # fmt: skip
    return _translated(entry, options, stages)


@collector_paused()
def translated_again(contract: Contract, source_ir: str, options: Options) -> Translated:
    """Translate a variant from its contract and the IR in front of the passes.

    The result equals that of the `translate` that read the IR.
    """
    return _translated(Entry(**contract.parts(), module=parse_module(source_ir), kept=[], dependencies=()), options, Stages())


def _copied(module: Module) -> Module:
    """Return a copy in which values have the names that a later process will read."""
    copy = clone_module(module)
    for func in copy.funcs.values():
        for value, name in name_values(func).items():
            value.name = name
    return copy


def _translated(entry: Entry, options: Options, stages: Stages) -> Translated:
    source = _copied(entry.module)
    source_ir = print_module(source, locs=True)
    gradients = dependencies(entry.module)
    with bugs_at(next(iter(entry.module.funcs.values())).loc):
        # tensor IR to better tensor IR
        with stages.stage("passes"):
            verify(entry.module, READ)
            differentiate_inside(entry.module, options)
            run_passes(entry.module, options)
        # tensor IR to loop IR to C
        with stages.stage("C generation"):
            program = emit_program(
                entry.module, debug=options.debug, profile=options.profile, flush_denormals=options.flush_denormals
            )
    return Translated(entry, source, source_ir, gradients, draws_random_numbers(entry.module), program)
