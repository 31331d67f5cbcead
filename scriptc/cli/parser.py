"""The parser of the command line: the commands and their options."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, NoReturn

from scriptc.cli import commands, onnx_commands
from scriptc.cli.commands import WRONG_USE
from scriptc.cli.terminal import complain
from scriptc.version import __version__

_EPILOG = """\
A TARGET is file.py:Name or package.module:Name: a function, a method, an nn.Module instance or class there; Name may
be dotted (model.encoder). It may also be an ONNX file, model.onnx, which gets random arguments. Arguments of the call
that is compiled: --args "torch.randn(4, 16), steps=3", evaluated with torch and the target's module; without --args,
NAME_args or example_args of that module (a tuple, or a function that returns one).

Exit status: 0 success; 1 compare, explain or doctor found something wrong; 2 an error of the user, such as Python that
cannot be compiled; 130 interrupted. A bug in scriptc shows a traceback; SCRIPTC_DEBUG=1 shows it for errors of the
user, too.

Examples:
  scriptc compare examples/rnn.py:model
  scriptc explain nets.py:Net --init 28 --args "torch.randn(1, 28)"
  scriptc ir examples/rnn.py:model --all
  scriptc c nets.py:Net --init "28, hidden=64" --eval --args "torch.randn(1, 28)"
  scriptc build nets.py:Net --args "torch.randn(1, 28)" --out build/net --name net
  scriptc profile examples/rnn.py:model --trace rnn.json
  scriptc memory examples/rnn.py:model --json
  scriptc opt --passes=licm,cse net.ir
  scriptc onnx check model.onnx
  scriptc compare model.onnx --dims batch=4
"""


class _Parser(argparse.ArgumentParser):
    """A parser that prints an error on one line, as the commands do."""

    def error(self, message: str) -> NoReturn:
        complain(f"{message} ({self.prog} --help lists what there is)")
        sys.exit(WRONG_USE)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line.

    The attribute `run` of the parsed arguments is the function that runs the command.
    """
    made = _Parser(
        prog="scriptc",
        description="Compiles the Python source of a PyTorch forward to C that needs no LibTorch.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action="version", version=f"scriptc {__version__}")
    made.set_defaults(run=None)
    subparsers = made.add_subparsers(title="commands", metavar="COMMAND")

    def add(name: str, run: Any, about: str, *, target: bool = True) -> argparse.ArgumentParser:
        command = subparsers.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".")
        command.set_defaults(run=run)
        if target:
            _add_target_options(command)
        return command

    build = add("build", commands.build, "write a directory of C that cmake builds and tests without Python or torch")
    build.add_argument("--out", required=True, type=Path, metavar="DIR", help="directory to write")
    build.add_argument("--entry", action="append", metavar="NAME=CALL",
                       help="one of several entries: train=train(x, y) for a function of the module, or "
                       "encode=.encode(x) for a method of the target")  # fmt: skip
    build.add_argument("--name", help="name of the library and prefix of its C functions (default: that of DIR)")
    build.add_argument("--embed-weights", action="store_true", help="compile the weights into the library, not a file")
    build.add_argument("--march", default="", help="the only kind of machine, such as native (default: all kinds)")
    build.add_argument("--stream", metavar="ARGUMENT", help="take this argument, a sequence, in chunks")
    build.add_argument("--bindings", choices=("pybind11",), help="also write an extension module of Python")
    build.add_argument("--source-paths", choices=("absolute", "relative", "strip"),
                       help="how errors and the C name Python files: relative to the topmost package's folder, or the "
                       "file's name alone (default: absolute; strip for an ONNX file)")  # fmt: skip

    compare = add(
        "compare", commands.compare, "run the target in eager PyTorch and compiled, and show how the results differ"
    )
    compare.add_argument("--locate", action="store_true", help="also look for the first line whose value differs")
    compare.add_argument("--against", choices=("compiled", "onnx"), default="compiled",
                         help="what to compare with eager: compiled code, or the ONNX model (default: compiled)")  # fmt: skip
    compare.add_argument("--expect-raise", action="store_true", help="succeed only if both raise")

    explain = add(
        "explain", commands.explain, "list all code that cannot be compiled, and how to rewrite it"
    )

    ir = add("ir", commands.ir, "print the tensor IR, by default after all passes")
    when = ir.add_mutually_exclusive_group()
    when.add_argument("--after", metavar="PASS", help="print the IR after the last run of PASS (`read`: before all)")
    when.add_argument("--all", action="store_true", help="print the IR as read, and after each pass that changed it")
    when.add_argument("--readings", action="store_true", help="print each reading of the source, and why it was necessary")
    ir.add_argument("--locs", action="store_true", help="print the source location of each op, too")

    add("c", commands.c, "print the generated C")

    profile = add(
        "profile",
        commands.profile,
        "show where the time of a call goes, by line and by kernel, beside the machine's peaks",
    )
    profile.add_argument(
        "--trace", type=Path, metavar="FILE", help="write a trace for Perfetto or chrome://tracing, too"
    )
    profile.add_argument("--threads", type=int, metavar="N", help="run on at most N threads (default: torch's number)")

    memory = add(
        "memory", commands.memory, "find the peak memory of a call, as a formula of the sizes of its arguments"
    )
    memory.add_argument("--gradients", action="store_true", help="of a call that autograd sees, and of its backward")

    opt = add("opt", commands.opt, "run passes on IR text and print the result", target=False)
    opt.add_argument("--passes", metavar="A,B", help="passes in order, such as clean,fuse{max=8} (default: all)")
    opt.add_argument("--locs", action="store_true", help="print the source location of each op, too")
    opt.add_argument("file", metavar="FILE", help="IR text; - reads standard input")

    about = "compile the runtime for this machine, which first calls do otherwise"
    add("build-runtime", commands.build_runtime, about, target=False)

    doctor = add("doctor", commands.doctor, "show compiler, flags, CPU and cache, and what is missing", target=False)
    check = _add_onnx_commands(subparsers)
    for command in (compare, explain, profile, memory, doctor, check):
        command.add_argument("--json", action="store_true", help="print JSON, with the keys of docs/reference/cli.md")
    return made


def _add_onnx_commands(subparsers: Any) -> argparse.ArgumentParser:
    """Add `scriptc onnx` with its commands; return that which checks a file."""
    about = "write, print and check ONNX files"
    group = subparsers.add_parser("onnx", help=about, description=about[0].upper() + about[1:] + ".")
    inner = group.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(name: str, run: Any, about: str) -> argparse.ArgumentParser:
        command: argparse.ArgumentParser = inner.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".")
        command.set_defaults(run=run)
        return command

    export = add("export", onnx_commands.export, "write a function or module as an ONNX file")
    _add_call_options(export, "file.py:Name or package.module:Name")
    export.add_argument("-o", "--out", required=True, type=Path, metavar="FILE", help="file to write")
    export.add_argument("--opset", type=int, metavar="N", help="version of ONNX's operators, from 17 on (default: 21)")
    export.add_argument("--stateful", action="store_true", help="make attributes that the call sets inputs and outputs")
    show = add("print", onnx_commands.show, "print the graph of an ONNX file, or what scriptc makes of it")
    show.add_argument("file", metavar="FILE")
    show.add_argument("--form", choices=("graph", "python", "ir"), default="graph",
                      help="the nodes, the Python of scriptc.from_onnx, or the IR as read (default: graph)")  # fmt: skip
    show.add_argument("--args", metavar="EXPR", help="arguments of the call, for --form ir")
    show.add_argument("--dims", metavar="SIZES", help="sizes of named dims, for --form ir, such as n=4,t=16")
    check = add("check", onnx_commands.check, "check an ONNX file, and list the nodes that scriptc cannot read")
    check.add_argument("file", metavar="FILE")
    return check


def _add_call_options(command: argparse.ArgumentParser, target: str) -> None:
    command.add_argument("target", metavar="TARGET", help=target)
    command.add_argument("--args", metavar="EXPR", help="arguments of the call, as between its parentheses")
    command.add_argument("--init", metavar="EXPR", help="arguments of the constructor, if the target is a class")
    command.add_argument("--eval", action="store_true", help="put a module into evaluation mode first")


def _add_target_options(command: argparse.ArgumentParser) -> None:
    _add_call_options(command, "file.py:Name, package.module:Name, or model.onnx")
    command.add_argument("--dims", metavar="SIZES", help="sizes of the named dims of an ONNX file, such as n=4,t=16")
    command.add_argument("--optimize", type=int, choices=range(4), default=3, help="0 none to 3 all (default: 3)")
    command.add_argument("--static", action="store_true", help="accept no other sizes of arguments than those of --args")
    command.add_argument("--freeze", action="store_true", help="assume that weights never change between calls")
    command.add_argument("--weights", choices=("float32", "bfloat16", "float16"), default="float32",
                         help="dtype in which frozen weights of linears are kept (default: float32)")  # fmt: skip
    command.add_argument("--no-fold-norms", action="store_true",
                         help="keep scales and shifts behind convolutions out of frozen weights")  # fmt: skip
    command.add_argument("--checkpoint", choices=("none", "sqrt"), default="none",
                         help="sqrt: backward runs loops again, in chunks, and keeps less (default: none)")  # fmt: skip
    command.add_argument("--flush-denormals", action="store_true", help="treat denormal numbers as zero")
    command.add_argument("--debug", action="store_true", help="let a debugger step through the Python source")
