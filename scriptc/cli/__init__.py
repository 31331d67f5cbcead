"""The command line: `scriptc`, or `python -m scriptc`. torch and the compiler load only where a command needs them."""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import scriptc
from scriptc.cli import json_output, terminal
from scriptc.cli.target_argument import Call, Located, UserError, described

if TYPE_CHECKING:
    from scriptc.driver.target import Target

OK, FAILED, WRONG_USE, INTERRUPTED = 0, 1, 2, 130

_EPILOG = """\
A TARGET is file.py:Name or package.module:Name: a function, a method, an nn.Module instance or class there; Name may
be dotted (model.encoder). Arguments of the call that is compiled: --args "torch.randn(4, 16), steps=3", evaluated
with torch and the target's module; without --args, NAME_args or example_args of that module (a tuple, or a function
that returns one).

Exit status: 0 success; 1 compare, explain or doctor found something wrong; 2 an error of the user, such as Python that
cannot be compiled; 130 interrupted. A bug in scriptc shows a traceback; SCRIPTC_DEBUG=1 shows it for errors of the user, too.

Examples:
  scriptc compare examples/rnn.py:model
  scriptc explain nets.py:Net --init 28 --args "torch.randn(1, 28)"
  scriptc ir examples/rnn.py:model --all
  scriptc c nets.py:Net --init "28, hidden=64" --eval --args "torch.randn(1, 28)"
  scriptc build nets.py:Net --args "torch.randn(1, 28)" --out build/net --name net
  scriptc profile examples/rnn.py:model --trace rnn.json
  scriptc memory examples/rnn.py:model --json
  scriptc opt --passes=licm,cse net.ir
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Exit with the status of the command; without a command, print the help."""
    for stream in (sys.stdout, sys.stderr):  # source lines hold letters that a locale may lack
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.run is None:
        parser.print_help()
        sys.exit(OK)
    try:
        status = _run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # `scriptc ir ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still buffered goes nowhere
        status = OK
    except KeyboardInterrupt:
        status = INTERRUPTED
    sys.exit(status)


def _run(options: argparse.Namespace) -> int:
    """The status of a command; errors of the user are printed, those of scriptc raised."""
    from scriptc.backend_c.toolchain import ToolchainError
    from scriptc.ir.errors import CompileError

    try:
        status: int = options.run(options)
    except (UserError, ToolchainError, CompileError) as error:
        if os.environ.get("SCRIPTC_DEBUG", "") not in ("", "0"):
            raise
        if isinstance(error, CompileError):
            print(terminal.diagnostics(str(error), sys.stderr), file=sys.stderr)
        else:
            _complain(str(error))
        return WRONG_USE
    return status


def _complain(message: str) -> None:
    """Print an error of the user, on one line."""
    line = "; ".join(part.strip() for part in message.splitlines() if part.strip())
    print(f"{terminal.painted('scriptc:', 'red', sys.stderr)} {line}", file=sys.stderr)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with a command line on one line, as all errors of the user are told."""

    def error(self, message: str) -> NoReturn:
        _complain(f"{message} ({self.prog} --help lists what there is)")
        sys.exit(WRONG_USE)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="scriptc",
        description="Compiles the Python source of a PyTorch forward to C that needs no LibTorch.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"scriptc {scriptc.__version__}")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    def add(name: str, run: Any, about: str, *, target: bool = True) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".")
        command.set_defaults(run=run)
        if target:
            _add_target_options(command)
        return command

    build = add("build", _build, "write a directory of C that cmake builds and tests without Python or torch")
    build.add_argument("--out", required=True, type=Path, metavar="DIR", help="directory to write")
    build.add_argument("--name", help="name of the library and prefix of its C functions (default: that of DIR)")
    build.add_argument("--embed-weights", action="store_true", help="compile the weights in, instead of a file of them")
    build.add_argument("--march", default="", help="one kind of machine alone, such as native (default: all, at load)")
    build.add_argument("--source-paths", choices=("absolute", "relative", "strip"), default="absolute",
                       help="how errors and the C name Python files: relative to the topmost package's folder, or the "
                       "file's name alone (default: absolute)")  # fmt: skip

    compare = add("compare", _compare, "run the target in eager PyTorch and compiled, and show how the results differ")
    compare.add_argument("--locate", action="store_true", help="also look for the first line whose value differs")
    compare.add_argument("--expect-raise", action="store_true", help="succeed where both raise, and only there")

    explain = add("explain", _explain, "list every place that cannot be compiled, and what to write there instead")

    ir = add("ir", _ir, "print the tensor IR, by default as the passes leave it")
    when = ir.add_mutually_exclusive_group()
    when.add_argument("--after", metavar="PASS", help="as it is behind the last run of this pass (read: before all)")
    when.add_argument("--all", action="store_true", help="from the front end on, each time that a pass changed it")
    ir.add_argument("--locs", action="store_true", help="with the source location of each op")

    add("c", _c, "print the generated C")

    profile = add(
        "profile", _profile, "show where the time of a call goes, by line and by kernel, beside the machine's peaks"
    )
    profile.add_argument(
        "--trace", type=Path, metavar="FILE", help="write a trace for Perfetto or chrome://tracing, too"
    )
    profile.add_argument("--threads", type=int, metavar="N", help="run on at most N threads (default: torch's number)")

    memory = add("memory", _memory, "find the peak memory of a call, as a formula of the sizes of its arguments")

    opt = add("opt", _opt, "run passes on IR text and print what they make of it", target=False)
    opt.add_argument("--passes", metavar="A,B", help="passes in order, such as clean,fuse{max=8} (default: all)")
    opt.add_argument("--locs", action="store_true", help="with the source location of each op")
    opt.add_argument("file", metavar="FILE", help="IR text; - reads standard input")

    doctor = add("doctor", _doctor, "show compiler, flags, CPU and cache, and what is missing", target=False)
    for command in (compare, explain, profile, memory, doctor):
        command.add_argument("--json", action="store_true", help="print JSON, with the keys of docs/reference/cli.md")
    return parser


def _add_target_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("target", metavar="TARGET", help="file.py:Name or package.module:Name")
    command.add_argument("--args", metavar="EXPR", help="arguments of the call, as between its parentheses")
    command.add_argument("--init", metavar="EXPR", help="arguments of the constructor, if the target is a class")
    command.add_argument("--eval", action="store_true", help="put a module into evaluation mode first")
    command.add_argument("--optimize", type=int, choices=range(4), default=3, help="0 none to 3 all (default: 3)")
    command.add_argument("--static", action="store_true", help="sizes of arguments are those of --args, and no others")
    command.add_argument("--freeze", action="store_true", help="weights never change between calls")
    command.add_argument("--weights", choices=("float32", "bfloat16", "float16"), default="float32",
                         help="what frozen weights of linears are kept in (default: float32)")  # fmt: skip
    command.add_argument("--flush-denormals", action="store_true", help="denormal numbers count as zero")
    command.add_argument("--debug", action="store_true", help="a debugger steps through the Python source")


def _read_target(options: argparse.Namespace) -> tuple[Any, Call]:
    """The same random weights and inputs in every run."""
    import torch

    torch.manual_seed(0)
    located = Located(options.target)
    return located.model(options.init, options.eval), located.arguments(options.args)


def _compile_options(options: argparse.Namespace) -> dict[str, Any]:
    from scriptc.driver.options import Options

    chosen = {
        "optimize": options.optimize,
        "dynamic": not options.static,
        "freeze": options.freeze,
        "weights": options.weights,
        "flush_denormals": options.flush_denormals,
        "debug": options.debug,
    }
    try:
        Options.of(chosen)
    except ValueError as error:
        raise UserError(str(error)) from error
    return chosen


def _bind(options: argparse.Namespace) -> tuple[Target, dict[str, Any]]:
    """The function behind the target, and the arguments of one call by name."""
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
    """The compiled target, and the arguments of a call that fit it."""
    model, call = _read_target(options)
    chosen = _compile_options(options)
    _bound(options, model, call)
    return scriptc.compile(model, **chosen), call


def _called(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function that runs the target's code; raise UserError for what that code raises."""
    try:
        return call(*args, **kwargs)
    except OSError as error:  # it names its file
        raise UserError(str(error)) from error
    except Exception as error:
        if _is_ours(error):
            raise
        raise UserError(f"the call raised {described(error)}") from error


def _is_ours(error: Exception) -> bool:
    """Return whether an error is one of scriptc's own, or was raised in scriptc's own files."""
    from scriptc import backend_c, frontend, ir, runtime
    from scriptc.backend_c.toolchain import BuildError, ToolchainError
    from scriptc.ir.errors import CompileError, InternalError

    folders = [package.__path__[0] for package in (scriptc, backend_c, frontend, ir, runtime)]
    last = traceback.extract_tb(error.__traceback__)[-1].filename
    known = isinstance(error, (BuildError, CompileError, InternalError, ToolchainError))
    return known or any(Path(last).is_relative_to(folder) for folder in folders)


def _build(options: argparse.Namespace) -> int:
    model, call = _read_target(options)
    chosen = _compile_options(options)
    args, kwargs = call
    if kwargs:
        raise UserError("build takes the arguments of the call by position")
    _bound(options, model, call)
    names = ("out", "name", "embed_weights", "march", "source_paths")
    written = {name: getattr(options, name) for name in names}
    try:
        _called(scriptc.build, model, *args, **written, **chosen)
    except ValueError as error:
        raise UserError(str(error)) from error
    print(f"wrote {options.out}; cmake -S {options.out} -B {options.out}/build configures it")
    return OK


def _compare(options: argparse.Namespace) -> int:
    model, (args, kwargs) = _read_target(options)
    chosen = _compile_options(options)
    try:
        compiled = scriptc.compile(model, **chosen)
    except TypeError as error:
        raise UserError(f"{options.target}: {error}") from error
    report = scriptc.compare(compiled, *args, locate=options.locate, **kwargs)
    failure = report.failure(expect_raise=options.expect_raise)

    def paint(row: int, column: int, text: str) -> str:
        verdict = "green" if report.rows[row].ok else "red"
        return terminal.painted(text, verdict, sys.stdout) if column == len(report.rows[row].cells()) - 1 else text

    if options.json:
        print(json_output.dumped(json_output.comparison(report, failure)))
    else:
        print(report.text(terminal.width_of(sys.stdout), paint))
    if failure and report.agrees:  # else the table says it
        advice = "" if options.expect_raise or not report.raised else "; --expect-raise counts that as success"
        _complain(f"{failure}{advice}")
    return FAILED if failure else OK


def _explain(options: argparse.Namespace) -> int:
    model, call = _read_target(options)
    _bound(options, model, call)
    args, kwargs = call
    try:
        found = scriptc.explain(model, *args, **kwargs)
    except TypeError as error:
        raise UserError(f"{options.target}: {error}") from error
    print(
        json_output.dumped(json_output.explanation(found)) if options.json else terminal.diagnostics(str(found), sys.stdout)
    )
    return OK if found.ok else FAILED


def _ir(options: argparse.Namespace) -> int:
    from scriptc.driver.options import Options
    from scriptc.driver.pipeline import optimise
    from scriptc.frontend.entry import read
    from scriptc.ir.core import Module
    from scriptc.ir.printer import print_module

    chosen = Options(**_compile_options(options))
    target, arguments = _bind(options)
    entry = read(target.func, target.receiver, arguments, dynamic=chosen.dynamic)
    stages = [("read", print_module(entry.module, locs=options.locs))]

    def note(name: str, module: Module) -> None:
        stages.append((name, print_module(module, locs=options.locs)))

    optimise(entry.module, chosen, after=note)
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


def _c(options: argparse.Namespace) -> int:
    from scriptc.driver.options import Options
    from scriptc.driver.pipeline import translate

    chosen = Options(**_compile_options(options))
    print(translate(*_bind(options), chosen).program.source)
    return OK


def _profile(options: argparse.Namespace) -> int:
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


def _memory(options: argparse.Namespace) -> int:
    compiled, (args, kwargs) = _compiled(options)
    found = _called(compiled.memory, *args, **kwargs)
    print(json_output.dumped(json_output.memory(found)) if options.json else found)
    return OK


def _opt(options: argparse.Namespace) -> int:
    from scriptc.driver.options import Options
    from scriptc.driver.pass_order import passes_of
    from scriptc.ir.parser import parse_module
    from scriptc.ir.passes.manager import PipelineError, run_pipeline
    from scriptc.ir.printer import print_module
    from scriptc.ir.verifier import VerifyError, verify

    try:
        text = sys.stdin.read() if options.file == "-" else Path(options.file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(str(error) if isinstance(error, OSError) else f"{options.file} is no text") from error
    module = parse_module(text, "<stdin>" if options.file == "-" else options.file)
    try:
        verify(module)
    except VerifyError as error:  # of the user's text; behind a pass it would be a bug in that pass
        raise UserError(str(error)) from error
    try:
        run_pipeline(module, passes_of(Options()) if options.passes is None else options.passes, verify=True)
    except PipelineError as error:
        raise UserError(str(error)) from error
    print(print_module(module, locs=options.locs))
    return OK


def _doctor(options: argparse.Namespace) -> int:
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
