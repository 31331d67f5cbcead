"""Compile the gradients of a variant: a library with a forward entry that keeps values, and a backward entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scriptc.backend_c.build import build_library
from scriptc.backend_c.emit import emit_program
from scriptc.driver.garbage_collector import collector_paused
from scriptc.driver.options import Options
from scriptc.driver.pass_order import passes_of
from scriptc.driver.variant import Variant
from scriptc.frontend.derivatives import LibraryDerivatives
from scriptc.frontend.environment.results import spec_of_type
from scriptc.frontend.environment.specs import Spec
from scriptc.ir.core import Module
from scriptc.ir.errors import bugs_at
from scriptc.ir.gradients import checkpoints, detached, inside, tuple_lists
from scriptc.ir.gradients.activity import Flow
from scriptc.ir.gradients.reached import numbers_for
from scriptc.ir.gradients.replaced_data import refuse_changed_arguments, refuse_older_data
from scriptc.ir.gradients.reversal import fresh_labels
from scriptc.ir.gradients.reverse import differentiate
from scriptc.ir.passes.manager import run_pipeline
from scriptc.ir.phases import OPTIMIZED
from scriptc.ir.verifier import verify

FORWARD, BACKWARD = 0, 1  # the numbers of the entries


@dataclass(frozen=True)
class GradientCode:
    """The library that computes a variant and its gradients.

    params: the number of params of the program.
    takes: for each leaf of the result whether it takes a gradient.
    outputs: the specs of the tensors, and lists of tensors, that the forward entry returns after its results: the leaves that
    take gradients, then tensors that are in containers or in state when the call is over.
    fetched: the specs of the lists that the forward entry returns after these, of tensors that it took out of nested containers
    among its arguments.
    kept: the specs of the values that the backward entry takes first. The forward entry returns them after these, but those
    that are inputs.
    kept_inputs: for each of `kept` the number of the input that it is, or None.
    cotangents: the specs of the gradients of the outputs, which the backward entry takes after the kept values.
    flags: the numbers of the outputs for which it takes, after those, whether their gradients are given.
    reaches: for each output the numbers of the inputs, out of those that have gradients, that its gradient may reach.
    uncertain: the numbers of those of these inputs that it may reach or not. For BITS of them at a time, the forward entry
    returns last a number for each output, with the bits of those that its gradient reaches.
    gradients: the specs of the values that the backward entry returns: gradients of inputs, then a list for each of `fetched`,
    with the gradients of its tensors from the last to the first.
    arrives: for each input whether its gradient is among these; no other gradient reaches the others.
    reads: the numbers of the params that the backward entry reads.
    random: whether the backward entry draws random numbers.
    forward, backward: the numbers of the entries in the library.
    """

    library: Path
    params: int
    takes: tuple[bool, ...]
    outputs: tuple[Spec, ...]
    fetched: tuple[Spec, ...]
    kept: tuple[Spec, ...]
    kept_inputs: tuple[int | None, ...]
    cotangents: tuple[Spec, ...]
    flags: tuple[int, ...]
    reaches: tuple[frozenset[int], ...]
    uncertain: tuple[int, ...]
    gradients: tuple[Spec, ...]
    arrives: tuple[bool, ...]
    reads: tuple[int, ...]
    random: bool
    forward: int = FORWARD
    backward: int = BACKWARD

    @property
    def numbers(self) -> int:
        """Return how many numbers with bits the forward entry returns."""
        return numbers_for(len(self.uncertain), len(self.outputs))


@collector_paused()
def compile_gradients(variant: Variant, arguments: Sequence[int], params: Sequence[int]) -> GradientCode:
    """Compile the gradients of a variant with respect to some of its arguments and params, by number.

    Raises CompileError where an op of the program has no gradient.
    """
    module, options = variant.read_module(), variant.options
    with bugs_at(module.funcs[module.entries[FORWARD]].loc):
        code = differentiated(module, options, arguments, params)
        run_pipeline(module, passes_of(options))
        program = emit_program(module, debug=options.debug, flush_denormals=options.flush_denormals)
    library = build_library(
        program.source, f"{module.name}.gradients", optimize=options.optimize, debug=options.debug, kernels=program.kernels,
        extensions=program.extensions,
    )
    return replace(code, library=library)


def differentiated(module: Module, options: Options, arguments: Sequence[int], params: Sequence[int]) -> GradientCode:
    """Make the IR of a variant that of its gradients, before the passes, in place. Return their code without a library."""
    (name,) = module.entries
    refuse_older_data(module.funcs[name])
    refuse_changed_arguments(module.funcs[name])
    checkpoints.gather(module)
    freed = inside.run(module, LibraryDerivatives(), cuts_loops=options.cuts_loops)
    body = module.funcs[name].body
    inside.refuse_freed(module.funcs[name], Flow([body]).sources(body.ops[-1].operands), freed)
    detached.run(module)
    run_pipeline(module, "clean,split_lists,clean")
    if tuple_lists.run(module, fresh_labels("U")):  # `inside` has made labels with a T
        run_pipeline(module, "clean")
    names = list(module.params)
    made = differentiate(module, name, arguments, [names[i] for i in params], LibraryDerivatives(),
                         cuts_loops=options.cuts_loops)  # fmt: skip
    verify(module, OPTIMIZED)
    numbers = numbers_for(len(made.uncertain), made.outputs)
    own = len(made.forward.results) - made.kept.count(None) - numbers
    kept = tuple(spec_of_type(a.type) for a in made.backward.body.args[: len(made.kept)])
    fetched = tuple(map(spec_of_type, made.forward.results[own - made.fetched : own]))
    first = own - made.fetched - made.outputs
    outputs = tuple(map(spec_of_type, made.forward.results[first : first + made.outputs]))
    cotangents = tuple(spec_of_type(a.type) for a in made.backward.body.args[len(made.kept) :][: made.outputs])
    gradients = tuple(map(spec_of_type, made.backward.results))
    random = any("random" in op.defn.writes for op in made.backward.body.walk())
    read = {op.attrs["name"] for op in made.backward.body.walk() if op.name == "param"}
    reads = tuple(i for i, name in enumerate(names) if name in read)
    return GradientCode(
        Path(), len(names), made.takes, outputs, fetched, kept, made.kept, cotangents, made.flags, made.reaches, made.uncertain,
        gradients, made.arrives, reads, random,
    )
