"""@{name}_library: find the compiled library of @{name} for its loader, and build it where it is missing or damaged."""

import _ctypes
import contextlib
import ctypes as c
import fcntl
import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

NAME = "@{name}"
FOLDER = Path(__file__).resolve().parent.parent
TIME_LIMIT = "SCRIPTC_COMPILER_SECONDS"  # environment variable: the time limit
ELF, SEAL = b"\x7fELF", b"scriptc-sha256:"  # how a library begins; what precedes the digest that is appended to one


def read_manifest():
    """Return the rows of the manifest; RuntimeError where it is damaged."""
    path = FOLDER / "manifest.json"
    text = path.read_text(encoding="utf-8")
    try:
        manifest = json.loads(text)
        rest = {name: value for name, value in manifest.items() if name != "sha256"}
        digest = hashlib.sha256((json.dumps(rest, indent=1, ensure_ascii=False) + "\n").encode()).hexdigest()
        if manifest["sha256"] == digest:
            return manifest
    except (ValueError, AttributeError, KeyError):
        pass
    raise RuntimeError(f"{path} is damaged: build the package again")


def _check_sources(manifest):
    for name, noted in manifest["files"].items():
        if not name.endswith((".c", ".h", ".inc")):
            continue
        path = FOLDER / name
        if not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != noted["sha256"]:
            raise RuntimeError(f"{path} is not as scriptc.build wrote it: build the package again, or its library by CMake")


def build(manifest, library):
    """Build the shared library with the C compiler that CC names, or cc, gcc or clang."""
    try:
        chosen = shlex.split(os.environ.get("CC", ""))
    except ValueError as error:
        raise RuntimeError(f"CC is {os.environ['CC']!r}, which is no command ({error})") from None
    _check_sources(manifest)
    found = [[path] for path in map(shutil.which, ("cc", "gcc", "clang")) if path]
    if not chosen and not found:
        raise RuntimeError(f"{library} is not built, and there is no C compiler (cc, gcc or clang) to build it")
    recipe, compiler = manifest["build"], chosen or found[0]
    flags = [*compiler, *recipe["flags"], *(f"-I{FOLDER / folder}" for folder in recipe["include"])]
    if recipe["hides_folders"]:
        flags += [f"-fdebug-prefix-map={folder}=." for folder in (FOLDER, Path.cwd())]
    levels = recipe["levels"] if platform.machine() in ("x86_64", "AMD64") else {"native": []}
    one = ["-DSC_ONE_LEVEL"] if list(levels) == ["native"] else []
    library.parent.mkdir(exist_ok=True)
    _clear_leftovers(library.parent)
    with tempfile.TemporaryDirectory(prefix="making-", dir=library.parent) as folder, _lock(folder):
        jobs = [(FOLDER / source, one, Path(folder, f"{i}.o")) for i, source in enumerate(recipe["sources"])]
        for level, more in levels.items():
            jobs.append((FOLDER / recipe["level"], [*more, f"-DSC_LEVEL_NAME={level}"], Path(folder, f"{level}.o")))
        commands = [[*flags, *more, "-c", str(source), "-o", str(out)] for source, more, out in jobs]
        objects = [out for *_, out in jobs]
        for row in recipe.get("extensions", ()):  # C functions of the user
            own = [*compiler, *row["flags"], *(f"-I{FOLDER / folder}" for folder in row["include"])]
            for source in row["sources"]:
                objects.append(Path(folder, f"extension{len(objects)}.o"))
                commands.append([*own, "-c", str(FOLDER / source), "-o", str(objects[-1])])
        with ThreadPoolExecutor(2) as pool, _ended_on_interrupt():
            list(pool.map(_run, commands))
        made = Path(folder, library.name)
        linked = [*map(str, objects), "-o", str(made), *recipe.get("libraries", ())]
        _run([*compiler, "-shared", *linked, "-lm", "-pthread"])
        data = made.read_bytes()
        if data.startswith(ELF):  # the loader ignores what follows the end
            made.write_bytes(data + SEAL + hashlib.sha256(data).hexdigest().encode())
        os.replace(made, library)
    for other in library.parent.glob(f"lib{NAME}-*.so"):  # earlier builds; open libraries stay usable
        if other != library and re.fullmatch("[0-9a-f]{32}", other.stem.rpartition("-")[2]):
            other.unlink(missing_ok=True)


@contextlib.contextmanager
def _lock(folder):
    """Yield whether a folder is free, and hold its lock if so. The lock ends with the process."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(descriptor)


def _clear_leftovers(folder):
    """Remove what killed builds left."""
    for left in folder.glob("making-*"):
        try:
            with _lock(left) as free:
                if free:
                    shutil.rmtree(left, ignore_errors=True)
        except OSError:  # another process was faster
            pass


_running = set()  # compilers, each the leader of a process group
_interrupted = threading.Event()  # a compiler that starts now must end at once


def _run(command):
    """Run a compiler that ends, with all its children, with the one who waits for it, or at the time limit."""
    asked = os.environ.get(TIME_LIMIT, "").strip()
    try:
        limit = float(asked) if asked else None
    except ValueError:
        raise RuntimeError(f"{TIME_LIMIT} is {asked!r}, which is no number of seconds") from None
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace",
        start_new_session=True,
    ) as process:  # fmt: skip
        _running.add(process)
        if _interrupted.is_set():  # an interrupt before the line above could not end the compiler
            _end(process)
        try:
            errors = process.communicate(timeout=limit)[1]
        except subprocess.TimeoutExpired:
            _end(process)
            raise RuntimeError(f"building {NAME} took longer than {TIME_LIMIT}={asked}: {shlex.join(command)}") from None
        except BaseException:
            _end(process)
            raise
        finally:
            _running.discard(process)
    if process.returncode:
        raise RuntimeError(f"building {NAME} failed: {shlex.join(command)}\n{errors}")


def _end(process):
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def _ended_on_interrupt():
    """End the commands of all threads where KeyboardInterrupt or the like leaves the body.

    They end before anything waits for these threads.
    """
    _interrupted.clear()
    try:
        yield
    except Exception:
        raise
    except BaseException:
        _interrupted.set()
        for process in tuple(_running):
            _end(process)
        raise


def _is_whole(path, identity):
    """Return whether a library is of this build, and complete. Opening one that is not could end the process."""
    try:
        data = path.read_bytes()
    except OSError:
        return False
    if identity.encode() not in data:
        return False
    size = len(SEAL) + 64
    if data[-size:].startswith(SEAL):
        return hashlib.sha256(data[:-size]).hexdigest().encode() == data[-64:]
    return not data.startswith(ELF) or _has_all_parts(data)


def _has_all_parts(data):
    """Return whether a file of 64 bits ends after all parts that its headers name; CMake seals none."""
    if len(data) < 64:
        return False
    segments, sections = struct.unpack_from("<2Q", data, 32)
    size, n, section_size, n_sections = struct.unpack_from("<4H", data, 54)
    if max(segments + size * n, sections + section_size * n_sections) > len(data):
        return False
    headers = (struct.unpack_from("<4Q", data, segments + size * i + 8) for i in range(n))
    return all(offset + in_file <= len(data) for offset, _, _, in_file in headers)


def open_library(manifest):
    """Open the library of this very build: the loader's own, else CMake's. A stale or damaged library is built anew.

    Each build has a file of its own: a process that has opened a library by its name gets no other library by that
    name.
    """
    identity, folder = manifest["build_id"], FOLDER / "build"
    own = folder / f"lib{NAME}-{identity}.so"
    for path in (own, folder / f"lib{NAME}.so"):
        if _is_whole(path, identity):
            lib = c.CDLL(str(path))
            build_id = getattr(lib, f"{NAME}_build_id")
            build_id.restype = c.c_char_p
            if build_id().decode() == identity:
                return lib
            close(lib)
    build(manifest, own)
    return c.CDLL(str(own))


def close(lib):
    """Unload a library. Nobody may call its functions any more. When the interpreter ends, the library stays loaded."""
    if _ctypes is not None and hasattr(_ctypes, "dlclose"):
        _ctypes.dlclose(lib._handle)
