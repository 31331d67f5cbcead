"""The command line: `scriptc`, or `python -m scriptc`. Commands import torch and the compiler when they need them."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence

from scriptc.cli import terminal
from scriptc.cli.commands import OK, WRONG_USE
from scriptc.cli.parser import parser
from scriptc.cli.target_argument import UserError
from scriptc.cli.terminal import complain

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Exit with the status of the command; without a command, print the help."""
    for stream in (sys.stdout, sys.stderr):  # source lines may have letters that the encoding lacks
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    commands = parser()
    options = commands.parse_args(arguments)
    if options.run is None:
        commands.print_help()
        sys.exit(OK)
    try:
        status = _run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # `scriptc ir ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # drops the buffered output
        status = OK
    except KeyboardInterrupt:
        status = INTERRUPTED
    sys.exit(status)


def _run(options: argparse.Namespace) -> int:
    """Run a command and return its status.

    Prints errors of the user, and raises errors of scriptc.
    """
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
            complain(str(error))
        return WRONG_USE
    return status
