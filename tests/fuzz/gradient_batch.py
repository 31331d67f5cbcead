"""Runs generated programs and their gradients, many in one library: what each does in eager and compiled."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import scriptc
from scriptc.dispatch.autograd import call_with_grad
from scriptc.dispatch.dispatcher import Dispatcher
from scriptc.dispatch.gradient_calls import GradientCall, GradientCalls
from scriptc.driver.gradient_flow import dependencies
from scriptc.driver.gradient_pipeline import GradientCode, differentiated
from scriptc.driver.options import Options
from scriptc.driver.pass_order import passes_of
from scriptc.driver.pipeline import run_passes
from scriptc.driver.variant import Variant
from scriptc.frontend.entry import Entry, read
from scriptc.frontend.environment.signature import Signature
from scriptc.frontend.environment.specs import LateBoundTensor
from scriptc.ir.core import Module, Param
from scriptc.ir.errors import CompileError
from scriptc.ir.passes.manager import run_pipeline
from scriptc.ir.printer import print_module
from scriptc.ir.verifier import verify
from tests.fuzz import argument_grammar, gradient_grammar, layer_grammar, part_grammar
from tests.fuzz.batch import Program, Report, build_together, described, loaded, rename
from tests.fuzz.generator import Generator
from tests.fuzz.gradient_calls import Refused, arguments, start
from tests.fuzz.productions import Grammar

# Levels of the passes and of the C compiler, by library: a share for the passes, a small one for the C compiler's.
LEVELS = ((3, 0), (0, 0), (3, 0), (0, 0), (3, 0), (2, 0), (3, 0), (0, 0), (3, 0), (3, 3))
FLOATS_EACH = 5  # of so many programs, one is of float32
PER_LIBRARY = 30


def gradient_program(
    seed: int, levels: tuple[int, int] | None = None, grammar: Grammar = gradient_grammar.GRAMMAR
) -> Program:
    """The program of a seed; levels go by the library that it falls into."""
    passes, cc = levels or LEVELS[seed // PER_LIBRARY % len(LEVELS)]
    text = Generator(seed, f"f{seed}", grammar).text()
    if seed % FLOATS_EACH == 0:
        text = text.replace(gradient_grammar.DTYPE, "torch.float32").replace("NET.", "NET32.").replace("NET(", "NET32(")
    return Program(seed, text, passes, cc, gradients=True)


def part_program(seed: int, levels: tuple[int, int] | None = None) -> Program:
    return gradient_program(seed, levels, part_grammar.GRAMMAR)


def layer_program(seed: int, levels: tuple[int, int] | None = None) -> Program:
    """The program of layers of a seed. Of three libraries with all passes, one has frozen weights."""
    library = seed // PER_LIBRARY
    passes, cc = levels or LEVELS[library % len(LEVELS)]
    text = Generator(seed, f"f{seed}", layer_grammar.GRAMMAR).text()
    rng = random.Random(seed)
    channels, wide = rng.choice(layer_grammar.CHANNELS), "_64" if rng.random() < 0.15 else ""
    text = re.sub(r"\bC\b", str(channels), re.sub(r"\bNET\b", f"NET{channels}{wide}", text))
    return Program(seed, text, passes, cc, gradients=True, layers=True, freeze=passes >= 2 and library % 3 == 2)


def argument_program(seed: int, levels: tuple[int, int] | None = None) -> Program:
    return replace(gradient_program(seed, levels, argument_grammar.GRAMMAR), containers=True)


GRAMMARS = {"rows": gradient_program, "parts": part_program, "layers": layer_program, "arguments": argument_program}


@dataclass
class _Case:
    """A program that was loaded, with the code of each signature of its calls."""

    program: Program
    function: Any
    dispatcher: Dispatcher
    codes: list[_Code] = field(default_factory=list)

    def modules(self) -> Iterator[Module]:
        for code in self.codes:
            yield code.entry.module
            yield from (module for module, _ in code.gradients.values())


@dataclass
class _Code:
    """Hold the code of one signature of arguments. gradients: by the inputs that require grad; refused: why there are none."""

    signature: Any
    entry: Entry
    variant: Variant
    gradients: dict[frozenset[int], tuple[Module, GradientCode]] = field(default_factory=dict)
    refused: dict[frozenset[int], str] = field(default_factory=dict)


def run(programs: Sequence[Program], directory: Path, tell: Callable[[Report | int], None]) -> None:
    """Compiles programs of one level into one library and tells a report on each; before it touches one, its seed."""
    try:
        functions, _ = loaded(programs, directory, _prelude(programs[0]))
    except Exception as e:
        if len(programs) > 1:
            raise
        tell(Report(programs[0], "unloadable", described(e)))  # one that was made smaller
        return
    cases = [
        _Case(p, f, Dispatcher(f, Options(optimize=p.passes, freeze=p.freeze)))
        for p, f in zip(programs, functions, strict=True)
    ]
    cases = [case for case in cases if _tried(case, _read, tell)]
    _share_params([code.entry for case in cases for code in case.codes])
    tried = [case for case in cases if _tried(case, _differentiate, tell)]
    for group, library in build_together(tried, lambda case: case.modules(), directory, tell):
        _run(group, library, tell)


def _prelude(program: Program) -> str:
    made: Any = layer_grammar if program.layers else argument_grammar if program.containers else gradient_grammar
    return str(made.PRELUDE)


def _tried(case: _Case, step: Callable[[_Case], None], tell: Callable[[Report | int], None]) -> bool:
    """Takes one step with a program; whether it went well, if not a report is told."""
    tell(case.program.seed)
    try:
        step(case)
    except CompileError as e:
        tell(Report(case.program, "refused", e.diagnostics[0].message))
    except Exception as e:
        tell(Report(case.program, "internal", described(e)))
    else:
        return True
    return False


def _read(case: _Case) -> None:
    """Reads the program once for each signature of its calls."""
    seen = []
    target, options = case.dispatcher.target, case.dispatcher.options
    for given in arguments(case.program, case.function):
        bound = target.bind(given, {})
        if (signature := Signature().of(bound)) in seen:
            continue
        seen.append(signature)
        entry = read(target.func, target.receiver, bound)
        rename(entry.module, f"{case.program.seed}_{len(seen)}")
        case.codes.append(_Code(signature, entry, Variant(entry, dependencies(entry.module), False, "", Path(), options)))


def _share_params(entries: list[Entry]) -> None:
    """Gives all entries the same params, as an entry of a library takes those of all its modules."""
    tensors: dict[str, LateBoundTensor] = {}
    params: dict[str, Param] = {}
    names: dict[int, str] = {}  # by tensor
    for entry in entries:
        renamed = {}
        for live in entry.tensors:
            name = names.setdefault(id(live.container[live.key]), f"param{len(names)}")
            renamed[live.name] = name
            tensors.setdefault(name, live._replace(name=name))
            params[name] = Param(name, entry.module.params[live.name].type)
        for op in entry.module.walk():
            if op.name == "param":
                op.attrs["name"] = renamed[op.attrs["name"]]
    for entry in entries:
        entry.tensors[:] = tensors.values()
        entry.module.params = dict(params)


def _differentiate(case: _Case) -> None:
    """Builds the gradients that the calls of a program need, and runs the passes."""
    target, options = case.dispatcher.target, case.dispatcher.options
    for code in case.codes:
        code.variant.gradients = dependencies(code.entry.module)
        code.variant.source_ir = print_module(code.entry.module, locs=True)
    for given in () if case.program.freeze else arguments(case.program, case.function):
        bound = target.bind(given, {})
        signature = Signature().of(bound)
        code = next(c for c in case.codes if c.signature == signature)
        wanted = _wanted(case, code, given)
        if wanted is None or wanted[0] in code.gradients or wanted[0] in code.refused:
            continue
        requires, count = wanted
        first = count - len(code.entry.tensors)
        inputs = sorted(requires)
        module = code.variant.read_module()
        try:
            made = differentiated(
                module, code.variant.options, [i for i in inputs if i < first], [i - first for i in inputs if i >= first]
            )
        except CompileError as e:
            code.refused[requires] = str(e)
            continue
        rename(module, f"_{len(code.gradients)}")
        run_pipeline(module, passes_of(options))
        verify(module)
        code.gradients[requires] = module, made
    for code in case.codes:
        run_passes(code.entry.module, options)


class _Found(Exception):
    """Carries what a call asks for: the inputs that require grad, and how many inputs there are."""


class _Asking:
    def __init__(self) -> None:
        self.plans: dict[frozenset[int], Any] = {}

    def run_without(self, args: Any, kwargs: Any) -> Any:
        raise _Found

    def compile(self, requires: frozenset[int], count: int) -> Any:
        raise _Found(requires, count)


def _wanted(case: _Case, code: _Code, given: tuple[Any, ...]) -> tuple[frozenset[int], int] | None:
    """Return the gradient code that a call asks its variant for; None if the call needs none."""

    def plain(*args: Any, **kwargs: Any) -> Any:
        raise _Found

    try:
        call_with_grad(case.dispatcher.target, code.entry, code.variant.gradients, _Asking(), plain, given, {})  # type: ignore[arg-type]
    except _Found as found:
        return found.args or None  # type: ignore[return-value]
    except ValueError:  # a list of another length, for which the dispatcher compiles another variant
        return None
    return None


def _run(cases: list[_Case], library: Path, tell: Callable[[Report | int], None]) -> None:
    """Call the programs of a library."""
    place = 0
    for case in cases:
        for code in case.codes:
            place = _install(case, code, library, place)
        tell(case.program.seed)
        tell(_called(case))


def _install(case: _Case, code: _Code, library: Path, place: int) -> int:
    """Adds a variant whose entries are in the library from a place on; the place behind them."""
    code.variant.library = library
    spec = case.dispatcher.spec(code.variant)._replace(entry=place, guards=())
    calls = GradientCalls(code.variant, lambda variant: spec)
    calls.calls |= code.refused
    place += 1
    for requires, (module, made) in code.gradients.items():
        assert len(module.entries) == 2
        made = replace(made, library=library, forward=place, backward=place + 1)
        calls.calls[requires] = GradientCall(made, spec, code.entry, sorted(requires))
        place += 2
    target, contract, gradients = case.dispatcher.target, code.entry, code.variant.gradients

    def call(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return call_with_grad(target, contract, gradients, calls, run, args, kwargs, call)

    case.dispatcher.callable.add_variant(spec._replace(grad_call=call if gradients.any() else None))
    return place


def _steps(case: _Case, later: bool) -> Iterator[tuple[int, Callable[[], str]]]:
    """Yield functions that compare the calls of a program.

    later: gradients are compared in the opposite order, after all calls.
    """
    ends: list[tuple[int, Callable[[], str]]] = []
    for step, given in enumerate(arguments(case.program, case.function)):
        begin = partial(start, case.program, case.function, case.dispatcher.call, given, step)
        if not later:
            yield step, lambda begin=begin: begin()()  # type: ignore[misc]
            continue

        def begun(step: int = step, begin: Callable[[], Callable[[], str]] = begin) -> str:
            ends.append((step, begin()))
            return "begun"

        yield step, begun
    yield from reversed(ends)


def _called(case: _Case) -> Report:
    kinds, raised, made = set[str](), 0, 0
    later = case.program.containers and case.program.seed % 2 == 1
    for step, finish in _steps(case, later):
        try:
            outcome = finish()
        except scriptc.CompileError as e:  # a call whose signature shows only when it is read
            return Report(case.program, "refused", e.diagnostics[0].message, made, raised)
        except Refused as e:
            return Report(case.program, "refused", str(e), made, raised)
        except AssertionError as e:
            return Report(case.program, "differs", f"step {step}: {described(e)}", made, raised)
        except Exception as e:
            return Report(case.program, "internal", f"step {step}: {described(e)}", made, raised)
        if outcome != "begun":
            kinds.add(outcome)
            raised += outcome == "raised"
            made += 1
    kind = next((k for k in ("rounded", "zeroed", "same", "written", "raised", "flat") if k in kinds), "same")
    return Report(case.program, kind, "", made, raised)
