"""The command line: `scriptc`, or `python -m scriptc`. torch and the compiler load only where a command needs them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scriptc.cli_target import Call, Located, UserError

if TYPE_CHECKING:
    from scriptc.target import Target

OK, FAILED, WRONG_USE = 0, 1, 2

_EPILOG = """\
A TARGET is file.py:Name or package.module:Name: a function, a method, an nn.Module instance or class there; Name may
be dotted (model.encoder). Arguments of the call that is compiled: --args "torch.randn(4, 16), steps=3", evaluated
with torch and the target's module; without --args, NAME_args or example_args of that module (a tuple, or a function
that returns one).

Exit status: 0 success; 1 compare, explain or doctor found something wrong; 2 an error of the user, such as Python that
cannot be compiled. A bug in scriptc shows a traceback.

Examples:
  scriptc compare examples/rnn.py:model
  scriptc explain nets.py:Net --init 28 --args "torch.randn(1, 28)"
  scriptc ir examples/rnn.py:model --all
  scriptc c nets.py:Net --init "28, hidden=64" --eval --args "torch.randn(1, 28)"
  scriptc build nets.py:Net --args "torch.randn(1, 28)" --out build/net --name net
  scriptc profile examples/rnn.py:model --trace rnn.json
  scriptc opt --passes=licm,cse net.ir
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Exits with the status of the command."""
    options = _parser().parse_args(arguments)
    from scriptc.ir.errors import CompileError

    try:
        status = options.run(options)
    except (UserError, CompileError) as error:
        print(f"scriptc: {error}" if isinstance(error, UserError) else error, file=sys.stderr)
        status = WRONG_USE
    except BrokenPipeError:  # `scriptc ir ... | head`
        sys.stderr.close()
        status = OK
    sys.exit(status)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scriptc",
        description="Compiles the Python source of a PyTorch forward to C that needs no LibTorch.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

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

    compare = add("compare", _compare, "run the target in eager PyTorch and compiled, and show how the results differ")
    compare.add_argument("--locate", action="store_true", help="also look for the first line whose value differs")

    add("explain", _explain, "list every place that cannot be compiled, and what to write there instead")

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

    opt = add("opt", _opt, "run passes on IR text and print what they make of it", target=False)
    opt.add_argument("--passes", required=True, metavar="A,B", help="passes in order, such as clean,fuse{max=8}")
    opt.add_argument("--locs", action="store_true", help="with the source location of each op")
    opt.add_argument("file", metavar="FILE", help="IR text; - reads standard input")

    add("doctor", _doctor, "show compiler, flags, CPU and cache, and what is missing", target=False)
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
    return {
        "optimize": options.optimize,
        "dynamic": not options.static,
        "freeze": options.freeze,
        "weights": options.weights,
        "flush_denormals": options.flush_denormals,
        "debug": options.debug,
    }


def _bind(options: argparse.Namespace) -> tuple[Target, dict[str, Any]]:
    """The function behind the target, and the arguments of one call by name."""
    from scriptc.target import target_of

    model, (args, kwargs) = _read_target(options)
    try:
        target = target_of(model)
        return target, target.bind(args, kwargs)
    except TypeError as error:
        raise UserError(f"{options.target}: {error}") from error


def _build(options: argparse.Namespace) -> int:
    import scriptc

    model, (args, kwargs) = _read_target(options)
    if kwargs:
        raise UserError("build takes the arguments of the call by position")
    written = {"out": options.out, "name": options.name, "embed_weights": options.embed_weights, "march": options.march}
    try:
        scriptc.build(model, *args, **written, **_compile_options(options))
    except (ValueError, FileExistsError) as error:
        raise UserError(str(error)) from error
    print(f"wrote {options.out}; cmake -S {options.out} -B {options.out}/build configures it")
    return OK


def _compare(options: argparse.Namespace) -> int:
    import scriptc

    model, (args, kwargs) = _read_target(options)
    compiled = scriptc.compile(model, **_compile_options(options))
    report = scriptc.compare(compiled, *args, locate=options.locate, **kwargs)
    print(report)
    return OK if report.ok else FAILED


def _explain(options: argparse.Namespace) -> int:
    import scriptc

    model, (args, kwargs) = _read_target(options)
    try:
        explanation = scriptc.explain(model, *args, **kwargs)
    except TypeError as error:
        raise UserError(f"{options.target}: {error}") from error
    print(explanation)
    return OK if explanation.ok else FAILED


def _ir(options: argparse.Namespace) -> int:
    from scriptc.frontend.entry import read
    from scriptc.ir.core import Module
    from scriptc.ir.printer import print_module
    from scriptc.options import Options
    from scriptc.pipeline import optimise

    target, arguments = _bind(options)
    chosen = Options(**_compile_options(options))
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
    from scriptc.options import Options
    from scriptc.pipeline import translate

    print(translate(*_bind(options), Options(**_compile_options(options))).program.source)
    return OK


def _profile(options: argparse.Namespace) -> int:
    import torch

    import scriptc

    model, (args, kwargs) = _read_target(options)
    if options.threads is not None:
        if options.threads < 1:
            raise UserError("--threads is at least 1")
        torch.set_num_threads(options.threads)
    found = scriptc.compile(model, **_compile_options(options)).profile(*args, **kwargs)
    print(found)
    if options.trace:
        found.save_trace(options.trace)
        print(f"\nwrote {options.trace}; ui.perfetto.dev shows it")
    return OK


def _opt(options: argparse.Namespace) -> int:
    from scriptc.ir.parser import parse_module
    from scriptc.ir.passes.manager import PipelineError, run_pipeline
    from scriptc.ir.printer import print_module
    from scriptc.ir.verifier import VerifyError, verify

    try:
        text = sys.stdin.read() if options.file == "-" else Path(options.file).read_text()
    except OSError as error:
        raise UserError(str(error)) from error
    module = parse_module(text, "<stdin>" if options.file == "-" else options.file)
    try:
        verify(module)
    except VerifyError as error:  # of the user's text; behind a pass it would be a bug in that pass
        raise UserError(str(error)) from error
    try:
        run_pipeline(module, options.passes, verify=True)
    except PipelineError as error:
        raise UserError(str(error)) from error
    print(print_module(module, locs=options.locs))
    return OK


def _doctor(options: argparse.Namespace) -> int:
    from scriptc.backend_c.doctor import examine
    from scriptc.tables import table

    rows = examine()
    print(table(("check", "found", ""), [(r.check, r.value, "ok" if r.ok else "MISSING") for r in rows]))
    for row in rows:
        if row.advice:
            print(f"{row.check}: {row.advice}")
    return OK if all(row.ok for row in rows) else FAILED
