"""python -m tests.dump_programs OUT: writes the IR and the C of the programs of the tests, benchmarks and examples.

Two checkouts compile alike where `diff -r` finds no difference between what they write. No C compiler runs.

OUT holds a file for each program: the IR as read, the IR behind the passes, and the C, with the passes and without them. Where
a program cannot be compiled, its file holds the errors. Paths begin at the checkout. A program is read for its first
call; the calls of `dtypes` are all read.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import random
import sys
import sysconfig
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT)]  # as pytest has them

import buffer_programs  # noqa: E402, F401
import data_suite  # noqa: E402
import test_lower_random as numbers  # noqa: E402
from frontend_kinds import entry_of  # noqa: E402
from ir_generator import random_module  # noqa: E402
from language.cases import LANGUAGE  # noqa: E402
from programs.cases import PROGRAMS  # noqa: E402
from programs.models import LSTM, VARIANTS, HyTorchNet, HyTorchRNN, Pytorch2cNet, custom_add, lstm  # noqa: E402
from public.cases import PUBLIC  # noqa: E402
from row_cases import row_module  # noqa: E402
from state_programs import SEQUENCES  # noqa: E402

from benchmarks import models, scalar_programs  # noqa: E402
from examples.zoo import NETS  # noqa: E402
from scriptc.backend_c.emit import emit_program  # noqa: E402
from scriptc.driver.options import Options  # noqa: E402
from scriptc.driver.pipeline import translate  # noqa: E402
from scriptc.driver.target import target_of  # noqa: E402
from scriptc.ir.core import Module  # noqa: E402
from scriptc.ir.errors import CompileError  # noqa: E402
from scriptc.ir.ops import OPS  # noqa: E402
from scriptc.ir.parser import parse_module  # noqa: E402
from scriptc.ir.printer import print_module  # noqa: E402

PATHS = ((sysconfig.get_path("purelib"), "packages"), (str(ROOT), "."), (sysconfig.get_path("stdlib"), "python"))
LEVELS = ({}, {"optimize": 0})
# What only some options print.
ALL_OPTIONS = (*LEVELS, {"freeze": True}, {"freeze": True, "weights": "bfloat16"}, {"debug": True}, {"profile": True},
               {"dynamic": False})  # fmt: skip
RANDOM_MODULES = 60
Call = tuple[Any, tuple[Any, ...], dict[str, Any]]  # what is compiled, and its arguments
Text = Callable[[], str]


def shown(path: str) -> str:
    """Return a path as any checkout writes it."""
    for root, name in PATHS:
        path = path.replace(root, name)
    return path


def listed(folder: str) -> None:
    """Import the files of a folder, which list their programs."""
    for path in sorted((HERE / folder).glob("*.py")):
        importlib.import_module(f"{folder}.{path.stem}")


def programs() -> Iterator[tuple[str, tuple[dict[str, Any], ...], Callable[[], Call]]]:
    """Name, options and call of each Python program."""
    for folder, table in (("language", LANGUAGE), ("programs", PROGRAMS)):
        listed(folder)
        for program in table:
            module = program.target.__module__.rpartition(".")[2]
            calls = program.calls if module == "dtypes" else program.calls[:1]
            for i, given in enumerate(calls):
                name = f"{folder}/{module}-{program.name}{i or ''}"
                yield name, LEVELS, lambda p=program, g=given: (p.target, g.args, g.kwargs)
    listed("public")
    for case in PUBLIC:
        yield f"public/{case.name}", LEVELS, lambda c=case: first(*c.make())
    for cls, calls in SEQUENCES:
        yield f"state/{cls.__name__}", LEVELS, lambda c=cls, g=calls[0]: (c().eval(), g, {})
    for name in models.NAMES:
        yield f"benchmarks/{name}", ALL_OPTIONS, lambda n=name: (*models.named(n), {})
    for name, given in SCALAR.items():
        yield f"benchmarks/{name}", ALL_OPTIONS, lambda n=name, g=given: (getattr(scalar_programs, n), g, {})
    for name in NETS:
        yield f"zoo/{name}", LEVELS[:1], lambda n=name: image(n)
    for name, make in EXAMPLES.items():
        yield f"examples/{name}", ALL_OPTIONS, make


def first(target: Any, calls: list[Any]) -> Call:
    return target, calls[0].args, calls[0].kwargs


def image(name: str) -> Call:
    net, given = NETS[name].small()
    return net, (given,), {}


SCALAR: dict[str, tuple[Any, ...]] = {
    "fizzbuzz": (9,), "edit_distance": ([1, 2], [2]), "sieve": (9,), "tokenize": ("a b",),
    "prefix_search": ([[0.5, 0.5]], 2), "viterbi": ([0, 1], [0.5], [[0.5]], [[0.5, 0.5]]),
}  # fmt: skip
_CELL = (torch.zeros(5, 2, 3), torch.zeros(2, 4), torch.zeros(2, 4), torch.zeros(16, 3), torch.zeros(16, 4), torch.zeros(16))
EXAMPLES: dict[str, Callable[[], Call]] = {
    "HyTorchRNN": lambda: (HyTorchRNN(16, 32), ([torch.zeros(4, 16)] * 3,), {}),
    "HyTorchNet": lambda: (HyTorchNet().eval(), (torch.zeros(2, 1, 28, 28),), {}),
    "Pytorch2cNet": lambda: (Pytorch2cNet().eval(), (torch.zeros(2, 1, 28, 28),), {}),
    "LSTM": lambda: (LSTM(5, 7), (torch.zeros(4, 2, 5),), {}),
    "lstm": lambda: (lstm, _CELL, {}),
    "custom_add": lambda: (custom_add, (torch.zeros(2, 3), torch.zeros(3)), {}),
    **{
        f"variant-{v.__name__}": lambda v=v: (v, (torch.zeros(6, 2, 3), torch.zeros(2, 3), torch.zeros(3, 3)), {})
        for v in VARIANTS
    },
}


def compiled(call: Call, options: tuple[dict[str, Any], ...]) -> str:
    """Return all texts of one program."""
    parts: list[str] = []
    for chosen in options:
        target, args, kwargs = call
        target = target_of(target)
        try:
            made = translate(target, target.bind(args, kwargs), Options(**chosen))
        except CompileError as error:
            texts = [f"{shown(d.loc.file)}:{d.loc.line}: {d.message}" for d in error.diagnostics]
        else:
            read = [] if parts else [print_module(parse_module(made.source_ir))]
            texts = [shown(text) for text in (*read, print_module(made.entry.module), made.program.source)]
        parts += [f"// ---- {chosen}", *texts]
    return "\n".join(parts)


def modules() -> Iterator[tuple[str, Callable[[], Module]]]:
    """Name and IR of each program that is written in IR, or made of rows."""
    readers = {"pass-": parsed, "lower-": parsed, "c-": parsed, "frontend-": lambda case: entry_of(case).module}
    for path in sorted((HERE / "data").glob("*.test")):
        for reader in (r for prefix, r in readers.items() if path.stem.startswith(prefix)):
            for case in data_suite.parse_cases(path):
                yield f"data/{path.stem}-{case.name}", lambda r=reader, c=case: r(c)
    rows = [row for row in OPS.values() if row.samples is not None]
    for row in rows:
        yield f"rows/{row.name}", lambda r=row: row_module([r], r.name)[0]
    for seed in range(RANDOM_MODULES):
        yield f"random/{seed}", lambda s=seed: random_module(s, 20 + s % 40)
    for part in range(numbers.PROGRAMS // numbers.PER_LIBRARY):
        yield f"random/numbers-{part}", lambda p=part: numbers.random_module(p)


def parsed(case: data_suite.Case) -> Module:
    """Return the IR of a case, all of whose functions are entries."""
    module = parse_module('module "m" entries()\n' + case.text)
    module.entries = list(module.funcs)
    return module


def emitted(module: Module) -> str:
    return f"{print_module(module)}\n{emit_program(module, path=shown).source}"


def texts(only: str) -> Iterator[tuple[str, Text]]:
    for name, options, make in programs():
        if only in name:
            yield name, lambda o=options, m=make: compiled(m(), o)
    for name, given in modules():
        if only in name:
            yield name, lambda g=given: emitted(g())


def main() -> None:
    if os.environ.get("PYTHONHASHSEED") != "0":  # sets iterate in one order
        again = [sys.executable, "-m", "tests.dump_programs", *sys.argv[1:]]
        os.execve(sys.executable, again, {**os.environ, "PYTHONHASHSEED": "0"})
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT", help="a new folder")
    parser.add_argument("--only", default="", metavar="TEXT", help="those whose name holds TEXT, such as language/")
    options = parser.parse_args()
    options.out.mkdir(parents=True)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    gc.freeze()
    failed = 0
    seen: Counter[str] = Counter()
    for name, text in texts(options.only):
        torch.manual_seed(0)
        random.seed(0)
        seen[name] += 1
        path = options.out / f"{name}{'' if seen[name] == 1 else f'~{seen[name]}'}.txt"
        path.parent.mkdir(exist_ok=True)
        try:
            result = text()
        except Exception as error:  # which is what the other checkout should say too
            result = f"{type(error).__name__}: {error}"
            failed += 1
        path.write_text(result, encoding="utf-8")
    print(f"{seen.total()} programs, {failed} of which raise")


if __name__ == "__main__":
    main()
