"""Runs generated programs, many in one library: what each does in Python and compiled."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, TypeVar

import torch

import scriptc
from scriptc import runtime
from scriptc.backend_c.build import runtime_object
from scriptc.backend_c.emit import emit_program
from scriptc.backend_c.toolchain import compile_flags, compile_object, link_shared
from scriptc.dispatch.dispatcher import Dispatcher
from scriptc.driver.gradient_flow import dependencies
from scriptc.driver.options import Options
from scriptc.driver.pipeline import run_passes
from scriptc.driver.variant import Variant
from scriptc.frontend.entry import Entry, read
from scriptc.frontend.environment.signature import Signature
from scriptc.ir.analysis import draws_random_numbers
from scriptc.ir.core import Module
from scriptc.ir.verifier import verify
from tests.fuzz.calls import Order, Wide, arguments, compare, differs_from, steps
from tests.fuzz.generator import Generator
from tests.fuzz.guards import GuardsGenerator
from tests.fuzz.prelude import PRELUDE
from tests.fuzz.productions import grammar_of
from tests.three_ways import interpreted

PER_LIBRARY = 60
GUARDS_EACH = 12  # of so many programs, one reads objects that change between its calls, each of which compiles again
# Levels of the passes and of the C compiler. The C compiler optimises for a share only: it takes most of the time then.
LEVELS = ((3, 0), (0, 0), (3, 0), (1, 1), (3, 0), (3, 3), (3, 0), (0, 0), (2, 0), (3, 1))


@dataclass(frozen=True)
class Program:
    """The text of a function f<seed>, and how it is to be compiled.

    gradients: also compare its gradients. layers: it is a program of `layer_grammar`. containers: it is one of
    `argument_grammar`. freeze: its weights are frozen, so that calls run in no-grad mode.
    """

    seed: int
    text: str
    passes: int
    cc: int
    gradients: bool = False
    layers: bool = False
    containers: bool = False
    freeze: bool = False


class HasProgram(Protocol):
    @property
    def program(self) -> Program: ...


Each = TypeVar("Each", bound=HasProgram)


@dataclass(frozen=True)
class Report:
    """What became of a program. kind: same, refused (by scriptc, at compile time), wide (Python uses ints of more than 64
    bits), order (eager's result depends on the order in which it writes), or a finding: differs, internal, build, crash,
    hang, unloadable. Where gradients are compared also: written (eager's backward raises, since the program writes what
    was saved), flat (no result requires grad), raised (each call raises), rounded and zeroed (gradient_calls.compare)."""

    program: Program
    kind: str
    message: str = ""
    calls: int = 0
    raised: int = 0

    @property
    def is_finding(self) -> bool:
        return self.kind not in ("same", "refused", "wide", "order", "written", "flat", "raised", "rounded", "zeroed")


def program(seed: int, levels: tuple[int, int] | None = None, only: frozenset[str] = frozenset()) -> Program:
    """The program of a seed; levels go by the library that it falls into. only: productions, if not all."""
    passes, cc = levels or LEVELS[seed // PER_LIBRARY % len(LEVELS)]
    grammar = grammar_of(only)
    guards = only == {"guards"} or "guards" in grammar.names and seed % GUARDS_EACH == 0
    made = (GuardsGenerator if guards else Generator)(seed, f"f{seed}", grammar)
    return Program(seed, made.text(), passes, cc)


@dataclass
class _Case:
    """A program that was loaded, and its entries by signature."""

    program: Program
    function: Any
    cell: Any
    dispatcher: Dispatcher
    entries: list[Entry]

    def calls(self) -> Any:
        return arguments(self.program.seed, self.function, self.cell)


def run(programs: Sequence[Program], directory: Path, tell: Callable[[Report | int], None]) -> None:
    """Compiles programs of one level into one library and tells a report on each; before it touches one, its seed."""
    cases = []
    try:
        functions, module = loaded(programs, directory)
    except Exception as e:
        if len(programs) > 1:
            raise
        tell(Report(programs[0], "unloadable", described(e)))  # one that was made smaller
        return
    for p, function in zip(programs, functions, strict=True):
        tell(p.seed)
        if f"{function.__name__}_change" in function.__globals__:  # compiled by its calls, as users' functions are
            tell(_called(_Case(p, function, module.Cell, Dispatcher(function, Options(optimize=0)), [])))
            continue
        case = _Case(p, function, module.Cell, Dispatcher(function, Options(optimize=p.passes)), [])
        try:
            _read(case)
        except scriptc.CompileError as e:
            tell(Report(p, "refused", e.diagnostics[0].message))
        except Exception as e:
            tell(Report(p, "internal", described(e)))
        else:
            cases.append(case)
    for group, library in build_together(cases, lambda case: [entry.module for entry in case.entries], directory, tell):
        _run(group, library, tell)


def described(e: BaseException) -> str:
    """Tell an exception; of the verifier's the notes, each with the line of IR above."""
    lines, text = str(e).splitlines(), str(e)
    if noted := [i for i, line in enumerate(lines) if line.lstrip().startswith("^^^")]:
        text = "\n".join(f"{lines[i].strip()} at {lines[i - 1].strip()}" for i in noted)
    return f"{type(e).__name__}: {text}" + (f" ({e.__cause__!r})" if e.__cause__ and not noted else "")


def loaded(programs: Sequence[Program], directory: Path, prelude: str = PRELUDE) -> tuple[list[Any], ModuleType]:
    """The functions, in one file: the front end reads their source from there. The second is the module of all."""
    path = directory / f"fuzz_{programs[0].seed}.py"
    path.write_text(prelude + "\n\n".join(p.text for p in programs))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return [getattr(module, f"f{p.seed}") for p in programs], module


def _read(case: _Case) -> None:
    """Reads the program once for each signature of its calls."""
    seen = []
    target, options = case.dispatcher.target, case.dispatcher.options
    for given in case.calls():
        bound = target.bind(given.args, given.kwargs)
        if (signature := Signature().of(bound)) in seen:
            continue
        seen.append(signature)
        entry = read(target.func, target.receiver, bound)
        rename(entry.module, f"{case.program.seed}_{len(seen)}")
        verify(entry.module)
        case.entries.append(entry)
    for entry in case.entries:
        run_passes(entry.module, options)


def rename(module: Module, suffix: str) -> None:
    """Several readings of many functions stand in one library, those of the decompositions that call themselves among them."""
    for op in module.walk():
        if op.name == "call":
            op.attrs["func"] = f"{op.attrs['func']}_{suffix}"
    module.entries = [f"{name}_{suffix}" for name in module.entries]
    module.funcs = {f"{name}_{suffix}": func for name, func in module.funcs.items()}
    for name, func in module.funcs.items():
        func.name = name


def build_together(
    cases: list[Each], modules_of: Callable[[Each], Iterable[Module]], directory: Path, tell: Callable[[Report | int], None]
) -> Iterator[tuple[list[Each], Path]]:
    """Yield all cases with one library of them. If that cannot be made, yield each half, to find the program to blame."""
    if not cases:
        return
    tell(cases[0].program.seed)
    try:
        stem = directory / f"fuzz_{cases[0].program.seed}_{len(cases)}"
        library = library_of([module for case in cases for module in modules_of(case)], cases[0].program, stem)
    except Exception as e:
        if len(cases) == 1:
            tell(Report(cases[0].program, "build", described(e)[:2000]))
            return
        half = len(cases) // 2
        yield from build_together(cases[:half], modules_of, directory, tell)
        yield from build_together(cases[half:], modules_of, directory, tell)
        return
    yield cases, library


def _run(cases: list[_Case], library: Path, tell: Callable[[Report | int], None]) -> None:
    """Call the programs of a library."""
    place = 0
    for case in cases:
        for entry in case.entries:
            random = draws_random_numbers(entry.module)
            variant = Variant(entry, dependencies(entry.module), random, "", library, Options())
            case.dispatcher.callable.add_variant(case.dispatcher.spec(variant)._replace(entry=place))
            place += 1
        tell(case.program.seed)
        tell(_called(case))


def library_of(modules: Sequence[Module], first: Program, stem: Path) -> Path:
    """The library of the entries of some modules, in order. first: one of the programs, all of which have one level."""
    whole, kept = Module("fuzz"), 0
    for module in modules:
        slots = [op for op in module.walk() if "slot" in op.attrs]
        for op in slots:
            op.attrs["slot"] += kept
        kept = max([kept, *(op.attrs["slot"] + 1 for op in slots)])
        whole.funcs |= module.funcs
        whole.entries += module.entries
        whole.exceptions |= module.exceptions
        whole.params |= module.params
    source, own = stem.with_suffix(".c"), stem.with_suffix(".o")
    program = emit_program(whole)
    source.write_text(program.source)
    # Programs as they are written here compare things with themselves; all other warnings are faults of the compiler's.
    # When the C compiler optimises it also warns of paths that no program takes.
    flags = ["-Werror", "-Wno-bool-compare", "-Wno-tautological-compare"] if first.cc == 0 else []
    compile_object(source, [*compile_flags(first.cc, False), *flags, f"-I{runtime.INCLUDE_DIR}"], own)
    objects = [runtime_object(path, first.cc, False) for path in runtime.needed_sources(program.kernels)]
    return link_shared([own, *objects], stem.with_suffix(".so"))


def _called(case: _Case) -> Report:
    torch.manual_seed(case.program.seed)
    kind, raised, made = "same", 0, 0
    for step, given in steps(case.program.seed, case.function, case.cell):
        try:
            raised += compare(case.function, case.dispatcher.call, given, case.program.text, step) is not None
            made += 1
        except Wide:
            kind = "wide"
        except Order:
            kind = "order"
        except scriptc.CompileError as e:  # a call whose signature shows only when it is read
            return Report(case.program, "refused", e.diagnostics[0].message, made, raised)
        except AssertionError as e:
            return Report(case.program, "differs", described(e), made, raised)
        except Exception as e:
            return Report(case.program, "internal", described(e), made, raised)
    return Report(case.program, kind, "", made, raised)


def stage(program: Program, directory: Path) -> str:
    """Where a program that differs goes wrong: the front end, or what comes behind the IR as it was read."""
    (function,), module = loaded([program], directory)
    wrong = any(differs_from(function, interpreted, given) for _, given in steps(program.seed, function, module.Cell))
    return "the front end (or the interpreter)" if wrong else "passes or back end"


def reason(message: str) -> str:
    """A message without what is peculiar to the program."""
    return re.sub(r"'[^']*'|`[^`]*`|\b[a-z]\d+\b|\d+", "_", message.splitlines()[0] if message else "")[:110]
