"""The commands. Each returns its exit status, and imports torch and the compiler when it needs them."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scriptc
from scriptc.cli import json_output, terminal
from scriptc.cli.onnx_target import OnnxTarget, is_onnx
from scriptc.cli.target_argument import Call, Located, UserError, described
from scriptc.cli.terminal import complain

if TYPE_CHECKING:
    from scriptc.driver.target import Target

OK, FAILED, WRONG_USE = 0, 1, 2


def _read_target(options: argparse.Namespace) -> tuple[Any, Call]:
    """Return the target and the arguments of the call.

    Their random numbers are the same in every run.
    """
    import torch

    torch.manual_seed(0)
    located = _located(options)
    return located.model(options.init, options.eval), located.arguments(options.args)


def _located(options: argparse.Namespace) -> Located | OnnxTarget:
    if is_onnx(options.target):
        return OnnxTarget(options.target, options.dims)
    if options.dims is not None:
        raise UserError("--dims is for ONNX files; Python takes the sizes of --args")
    return Located(options.target)


def _read_entries(options: argparse.Namespace) -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Return the entries that `--entry` names."""
    import torch

    if options.args is not None:
        raise UserError("--entry gives the arguments of each entry, so --args has no use")
    torch.manual_seed(0)
    located = _located(options)
    return located.entries(located.model(options.init, options.eval), options.entry)


def _compile_options(options: argparse.Namespace) -> dict[str, Any]:
    from scriptc.driver.options import Options

    chosen = {
        "optimize": options.optimize,
        "dynamic": not options.static,
        "freeze": options.freeze,
        "weights": options.weights,
        "fold_norms": not options.no_fold_norms,
        "flush_denormals": options.flush_denormals,
        "debug": options.debug,
        "checkpoint": options.checkpoint,
    }
    try:
        Options.of(chosen)
    except ValueError as error:
        raise UserError(str(error)) from error
    return chosen


def _bind(options: argparse.Namespace) -> tuple[Target, dict[str, Any]]:
    """Return the target function, and the arguments of the call by name."""
    model, call = _read_target(options)
    return _bound(options, model, call)


def _bound(options: argparse.Namespace, model: Any, call: Call) -> tuple[Target, dict[str, Any]]:
    from scriptc.driver.target import target_of

    args, kwargs = call
    try:
        target = target_of(model)
        return target, target.bind(args, kwargs)
    except TypeError as error:
        raise UserError(f"{options.target}: {error}") from error


def _compiled(options: argparse.Namespace) -> tuple[Any, Call]:
    """Return the compiled target, and the arguments of a call that fit it."""
    model, call = _read_target(options)
    chosen = _compile_options(options)
    _bound(options, model, call)
    return scriptc.compile(model, **chosen), call


def _called(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function that runs the target's code; raise UserError for what that code raises."""
    try:
        return call(*args, **kwargs)
    except OSError as error:  # the message names the file
        raise UserError(str(error)) from error
    except Exception as error:
        if _is_ours(error):
            raise
        raise UserError(f"the call raised {described(error)}") from error


def _dims_advice(options: argparse.Namespace) -> str:
    """Return what to do where the made-up inputs of an ONNX file do not fit it."""
    return "; --dims NAME=SIZE gives named dims other sizes" if is_onnx(options.target) and options.args is None else ""


def _is_ours(error: Exception) -> bool:
    """Return whether an error is of a class of scriptc, or was raised in a file of scriptc."""
    from scriptc import backend_c, frontend, ir, runtime
    from scriptc.backend_c.toolchain import BuildError, ToolchainError
    from scriptc.ir.errors import CompileError, InternalError

    folders = [package.__path__[0] for package in (scriptc, backend_c, frontend, ir, runtime)]
    last = traceback.extract_tb(error.__traceback__)[-1].filename
    own = isinstance(error, (BuildError, CompileError, InternalError, ToolchainError))
    return own or any(Path(last).is_relative_to(folder) for folder in folders)


def build(options: argparse.Namespace) -> int:
    chosen = _compile_options(options)
    args: tuple[Any, ...] = ()
    if options.entry:
        model = _read_entries(options)
    else:
        model, call = _read_target(options)
        args, kwargs = call
        if kwargs:
            raise UserError("build takes the arguments of the call by position")
        _bound(options, model, call)
    names = ("out", "name", "embed_weights", "march", "source_paths", "bindings", "stream")
    written = {name: getattr(options, name) for name in names}
    if options.source_paths is None:  # the Python of an ONNX file is in a folder that does not last
        written["source_paths"] = "strip" if is_onnx(options.target) else "absolute"
    try:
        _called(scriptc.build, model, *args, **written, **chosen)
    except ValueError as error:
        raise UserError(str(error)) from error
    except UserError as error:
        raise UserError(f"{error}{_dims_advice(options)}") from error
    print(f"wrote {options.out}; cmake -S {options.out} -B {options.out}/build configures it")
    return OK


def compare(options: argparse.Namespace) -> int:
    import torch

    torch.manual_seed(0)
    located = _located(options)
    model, (args, kwargs) = located.model(options.init, options.eval), located.arguments(options.args)
    chosen = _compile_options(options)
    try:
        compiled = scriptc.compile(model, **chosen)
    except TypeError as error:
        raise UserError(f"{options.target}: {error}") from error
    report = scriptc.compare(compiled, *args, locate=options.locate, against=options.against, **kwargs)
    if isinstance(located, OnnxTarget) and not report.raised:
        report = replace(report, rows=(*report.rows, *located.elsewhere(compiled, args)))
    failure = report.failure(expect_raise=options.expect_raise)

    def paint(row: int, column: int, text: str) -> str:
        verdict = "green" if report.rows[row].ok else "red"
        return terminal.painted(text, verdict, sys.stdout) if column == len(report.rows[row].cells()) - 1 else text

    if options.json:
        print(json_output.dumped(json_output.comparison(report, failure)))
    else:
        print(report.text(terminal.width_of(sys.stdout), paint))
    if failure and report.agrees:  # otherwise the table shows the failure
        advice = "" if options.expect_raise or not report.raised else "; --expect-raise counts that as success"
        advice += _dims_advice(options) if report.raised else ""
        complain(f"{failure}{advice}")
    return FAILED if failure else OK


def explain(options: argparse.Namespace) -> int:
    model, call = _read_target(options)
    _bound(options, model, call)
    args, kwargs = call
    try:
        found = scriptc.explain(model, *args, **kwargs)
    except TypeError as error:
        raise UserError(f"{options.target}: {error}") from error
    print(
        json_output.dumped(json_output.explanation(found))
        if options.json
        else terminal.diagnostics(str(found), sys.stdout)
    )
    return OK if found.ok else FAILED


def ir(options: argparse.Namespace) -> int:
    from scriptc.driver.options import Options
    from scriptc.driver.pipeline import run_passes
    from scriptc.frontend.entry import read
    from scriptc.ir.core import Module
    from scriptc.ir.printer import print_module

    chosen = Options(**_compile_options(options))
    target, arguments = _bind(options)
    on_reading = print if options.readings else None
    entry = read(
        target.func, target.receiver, arguments, dynamic=chosen.dynamic, on_reading=on_reading, runs_hooks=target.runs_hooks
    )
    if options.readings:
        return OK
    stages = [("read", print_module(entry.module, locs=options.locs))]

    def note(name: str, module: Module) -> None:
        stages.append((name, print_module(module, locs=options.locs)))

    run_passes(entry.module, chosen, after=note)
    if options.all:
        changed = [stage for before, stage in zip([("", ""), *stages], stages, strict=False) if before[1] != stage[1]]
        print("\n".join(f"// after {name}\n{text}" for name, text in changed))
    elif options.after is None:
        print(stages[-1][1])
    else:
        texts = dict(stages)
        if options.after not in texts:
            raise UserError(f"no pass {options.after} ran; these did: {', '.join(texts)}")
        print(texts[options.after])
    return OK


def c(options: argparse.Namespace) -> int:
    from scriptc.driver.options import Options
    from scriptc.driver.pipeline import translate

    chosen = Options(**_compile_options(options))
    print(translate(*_bind(options), chosen).program.source)
    return OK


def profile(options: argparse.Namespace) -> int:
    import torch

    compiled, (args, kwargs) = _compiled(options)
    if options.threads is not None:
        if options.threads < 1:
            raise UserError("--threads is at least 1")
        torch.set_num_threads(options.threads)
    found = _called(compiled.profile, *args, **kwargs)
    print(json_output.dumped(json_output.profile(found)) if options.json else found.text(terminal.width_of(sys.stdout)))
    if options.trace:
        try:
            found.save_trace(options.trace)
        except OSError as error:
            raise UserError(str(error)) from error
        print(f"\nwrote {options.trace}; ui.perfetto.dev shows it", file=sys.stderr if options.json else sys.stdout)
    return OK


def memory(options: argparse.Namespace) -> int:
    compiled, (args, kwargs) = _compiled(options)
    if options.gradients:
        try:
            training = _called(compiled.memory, *args, gradients=True, **kwargs)
        except (ValueError, NotImplementedError) as error:  # the call has no gradients, or none that are supported
            raise UserError(str(error)) from error
        print(json_output.dumped(json_output.training_memory(training)) if options.json else training)
        return OK
    found = _called(compiled.memory, *args, **kwargs)
    print(json_output.dumped(json_output.memory(found)) if options.json else found)
    return OK


def opt(options: argparse.Namespace) -> int:
    from scriptc.driver.options import Options
    from scriptc.driver.pass_order import passes_of
    from scriptc.ir.parser import parse_module
    from scriptc.ir.passes.manager import PipelineError, run_pipeline
    from scriptc.ir.phases import OPTIMIZED
    from scriptc.ir.printer import print_module
    from scriptc.ir.verifier import VerifyError, verify

    try:
        text = sys.stdin.read() if options.file == "-" else Path(options.file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(str(error) if isinstance(error, OSError) else f"{options.file} is not a text file") from error
    module = parse_module(text, "<stdin>" if options.file == "-" else options.file)
    try:
        verify(module, OPTIMIZED)
    except VerifyError as error:  # an error in the user's text; after a pass it would be a bug in that pass
        raise UserError(str(error)) from error
    try:
        run_pipeline(module, passes_of(Options()) if options.passes is None else options.passes, verify=True)
    except PipelineError as error:
        raise UserError(str(error)) from error
    print(print_module(module, locs=options.locs))
    return OK


def build_runtime(options: argparse.Namespace) -> int:
    from scriptc.backend_c.build import build_runtime
    from scriptc.backend_c.cache import current

    count = build_runtime()
    print(f"{count} object files of the runtime are in {current().root}")
    return OK


def doctor(options: argparse.Namespace) -> int:
    from scriptc.backend_c.doctor import examine
    from scriptc.inspect.text_table import table

    rows = examine()
    if options.json:
        print(json_output.dumped(json_output.checks(rows)))
        return OK if all(row.ok for row in rows) else FAILED

    def paint(row: int, column: int, text: str) -> str:
        return terminal.painted(text, "green" if rows[row].ok else "red", sys.stdout) if column == 1 else text

    cells = [(row.check, "ok" if row.ok else "MISSING", row.value) for row in rows]
    print(table(("check", "", "found"), cells, width=terminal.width_of(sys.stdout), paint=paint))
    for row in rows:
        if row.advice:
            print(f"{row.check}: {row.advice}")
    return OK if all(row.ok for row in rows) else FAILED
