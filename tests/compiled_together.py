"""Run functions so that the C of their compilations is compiled and linked once for all of them.

Starting the C compiler and the linker costs ten times as much as compiling a small program. `run_together` runs each
function in a thread of its own, one at a time. A function that wants a library which the cache does not have waits while
the others go on. When all of them wait or have ended, their programs become one C file and one library. Each function
then gets a copy of that library in which a number chooses its program, through the cache, as if it had been built alone.

Only programs at -O0 without debug information are compiled together. At other opt levels, functions in one file may
influence how the C compiler optimizes each other. Under sanitizers, and elsewhere than on Linux, each function builds
its own libraries: macOS loads no library of which a byte was changed.
"""

from __future__ import annotations

import random
import re
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch

from scriptc import runtime
from scriptc.backend_c import build, toolchain
from scriptc.backend_c.cache import current
from scriptc.backend_c.emit import include_lines
from scriptc.driver import gradient_pipeline

IS_TAKEN = sys.platform == "linux" and not toolchain.sanitizing()
AT_A_TIME = 16  # functions: a library holds the kernels that any of its programs calls
_INCLUDES = include_lines()
_MARK = b"number of the program: "  # in a library of several programs, in front of the number
_NAMES = re.compile(
    r"^(?:SC_[A-Z]+ )*static (?:SC_[A-Z]+ )*(?:const )?\w+ \**(\w+)|^typedef struct (\w+)|(?<=\*)(sc_program_get)", re.M
)
# Uses of the table of locations. Structs of the runtime have a member of this name, so it cannot be a macro.
_LOCATIONS = re.compile(r"^(static const sc_loc |    cx->locs = |    SC_ABI_VERSION, .* entries, )locs\b", re.M)


@dataclass
class _Request:
    """A program whose library a function waits for. key: of the library in the cache."""

    key: str
    source: str
    kernels: Iterable[str]


@dataclass
class _Run:
    """A function in its thread. It may run while `turn` is given; `rest` is given when it waits or has ended."""

    body: Callable[[], object]
    turn: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    rest: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    request: _Request | None = None
    error: BaseException | None = None

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def _work(self) -> None:
        self.turn.acquire()
        self.error = _error_of(self.body)
        self.rest.release()

    def go_on(self) -> bool:
        """Let the function run until it waits for a library, or ends. Return whether it waits."""
        self.turn.release()
        self.rest.acquire()
        return self.request is not None

    def wait_for(self, request: _Request) -> None:
        """Let others run until the library is made. Random numbers go on from where this function was."""
        self.request = request
        states = torch.get_rng_state(), random.getstate()
        self.rest.release()
        self.turn.acquire()
        torch.set_rng_state(states[0])
        random.setstate(states[1])
        self.request = None


def run_together(bodies: Sequence[Callable[[], object]]) -> list[BaseException | None]:
    """Run functions and return what each raised. Nothing but random numbers may be common to two of them."""
    if not IS_TAKEN:
        return [_error_of(body) for body in bodies]
    errors: list[BaseException | None] = []
    for start in range(0, len(bodies), AT_A_TIME):
        runs = [_Run(body) for body in bodies[start : start + AT_A_TIME]]
        made: dict[str, bytes] = {}  # libraries by their keys
        with _patched(runs, made):
            active = runs
            while active := [run for run in active if run.go_on()]:
                made |= _build({run.request.key: run.request for run in active if run.request})
        errors += [run.error for run in runs]
    return errors


def _error_of(body: Callable[[], object]) -> BaseException | None:
    try:
        body()
    except BaseException as error:
        return error
    return None


@contextmanager
def _patched(runs: list[_Run], made: dict[str, bytes]) -> Iterator[None]:
    """Let `runs` wait for the libraries that they want, and take them from `made`."""
    real, compile_object, link_shared = build.build_library, build.compile_object, build.link_shared
    by_thread = {run.thread: run for run in runs}

    def waiting(c_source: str, name: str, *, optimize: int, debug: bool, kernels: Iterable[str] = (), **rest: Any) -> Path:
        run = by_thread.get(threading.current_thread())
        if run is not None and not optimize and not debug and c_source.startswith(f"{_INCLUDES}\n"):
            key = build.library_key(c_source, name, optimize=optimize, debug=debug)
            if current().find(key) is None:
                run.wait_for(_Request(key, c_source, kernels))
            if key in made:
                kernels = ()  # they are in the library
        return real(c_source, name, optimize=optimize, debug=debug, kernels=kernels, **rest)

    def key_of(out: Path) -> str:
        return out.parent.name.removesuffix(".tmp")

    def compile_or_take(source: Path, flags: Sequence[str], out: Path) -> None:
        if key_of(out) in made:
            out.touch()  # the object file is in the library
        else:
            compile_object(source, flags, out)

    def link_or_take(objects: Sequence[Path], out: Path) -> Path:
        if key_of(out) not in made:
            return link_shared(objects, out)
        out.write_bytes(made[key_of(out)])
        return out

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "build_library", waiting)
        patch.setattr(gradient_pipeline, "build_library", waiting)
        patch.setattr(build, "compile_object", compile_or_take)
        patch.setattr(build, "link_shared", link_or_take)
        yield


def _build(requests: dict[str, _Request]) -> dict[str, bytes]:
    """Return a library for each program; nothing if the C compiler rejects them, which it then does one by one."""
    if len(requests) < 2:
        return {}
    flags = toolchain.program_flags(0, debug=False)
    text = _INCLUDES + "".join(_renamed(r.source, i) for i, r in enumerate(requests.values())) + _chooser(len(requests))
    kernels = {kernel for request in requests.values() for kernel in request.kernels}
    with TemporaryDirectory() as folder:
        source, compiled = Path(folder, "together.c"), Path(folder, "together.o")
        source.write_text(text, encoding="utf-8")
        try:
            environment = build._environment_key()
            objects = [build.runtime_object(path, 0, False, environment) for path in runtime.needed_sources(kernels)]
            toolchain.compile_object(source, [*flags, f"-I{runtime.INCLUDE_DIR}", *build.header_flags(text, flags)], compiled)
            data = toolchain.link_shared([compiled, *objects], Path(folder, "together.so")).read_bytes()
        except toolchain.BuildError:
            return {}
    before, mark, after = data.partition(_MARK)
    return {key: b"".join((before, mark, struct.pack("=I", i), after[4:])) for i, key in enumerate(requests)}


def _renamed(source: str, number: int) -> str:
    """Return a program whose names at file scope have an ending with a number.

    No name of a program has such an ending: C would expand it again.
    """
    text = _LOCATIONS.sub(rf"\1locs_{number}", source[len(_INCLUDES) :])
    names = {name for groups in _NAMES.findall(text) for name in groups if name} - {f"locs_{number}"}
    defined = "".join(f"#define {name} {name}_of_program_{number}\n" for name in sorted(names))
    return f"{defined}{text}" + "".join(f"#undef {name}\n" for name in sorted(names))


def _chooser(count: int) -> str:
    """Return the C of the function that the bridge asks for the program."""
    rows = ", ".join(f"sc_program_get_of_program_{i}" for i in range(count))
    mark = ", ".join(map(str, _MARK))
    return f"""
static const volatile struct {{ char mark[{len(_MARK)}]; unsigned char number[4]; }} chosen = {{{{{mark}}}, {{0}}}};
__attribute__((visibility("default"))) const sc_program *sc_program_get(void);
const sc_program *sc_program_get(void) {{
    const sc_program *(*const programs[])(void) = {{{rows}}};
    unsigned number;
    unsigned char bytes[4];
    for (int i = 0; i < 4; i++) bytes[i] = chosen.number[i];
    __builtin_memcpy(&number, bytes, 4);
    return programs[number]();
}}
"""
