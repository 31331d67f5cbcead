"""A compiler that compiles each text once: tests that build the same C again take the object file from an earlier build.

`wrapper` writes a command that stands for a C or C++ compiler. It runs this file, which looks for an object file that the same
compiler made, with the same flags, from the same texts of the source and of all headers. Precompiled headers are
kept like object files. Everything that is no plain compilation of one file, and everything that fails or warns, goes to the
compiler itself. A build starts this file for each source, so that it imports little: json alone would double its time.

Each package gives the symbols of the runtime names of its own, by the header `sc_names.h`. An object file that another
package has made of the same texts is taken too: objcopy renames its symbols.
"""

from __future__ import annotations

import os
import sys

try:
    from _blake2 import blake2b  # hashlib loads OpenSSL, which takes as long as the rest of a start
except ImportError:
    from hashlib import blake2b

# With these the object file names the folders that it was made from, so that those must be the same.
NAMES_FOLDERS = ("-g", "-fsanitize", "-fdebug-prefix-map", "-ffile-prefix-map", "-fprofile", "--coverage")
# These write more than an object file and its dependencies, or read more than files.
NOT_PLAIN = ("-", "-E", "-S", "-M", "-MM", "-MMD", "-include")
SEVERAL = {"-ffast-math", "-funsafe-math-optimizations"}  # about several things, of which later flags may revoke one
FORMAT = 3  # of the files beside object files
NAMES = "sc_names.h"  # rows `#define sc_raise sc_raise_in_PACKAGE`
NOT_PLAIN_BEGIN = ("-save-temps", "-fopt-info", "-fprofile", "--coverage", "-Wp,", "@")


def wrapper(real: str, path: str | os.PathLike[str], store: str | os.PathLike[str]) -> str:
    """Write a command at `path` that does what the compiler `real` does, and keeps object files in `store`."""
    import shlex
    import shutil

    compiler, objcopy = os.path.realpath(real), shutil.which("objcopy") or ""
    command = [sys.executable, "-I", "-S", os.path.abspath(__file__), os.fspath(store), objcopy, compiler]
    with open(path, "w", encoding="utf-8") as file:
        # Without -c nothing is taken from the store: such a command need not start Python.
        links = f'case " $* " in *" -c "*) ;; *) exec {shlex.quote(compiler)} "$@" ;; esac'
        file.write(f'#!/bin/sh\n{links}\nexec {shlex.join(command)} "$@"\n')
    os.chmod(path, 0o755)
    return os.fspath(path)


def main(store: str, objcopy: str, compiler: str, arguments: list[str]) -> int:
    plain = _plain(arguments)
    if plain is None:
        os.execv(compiler, [compiler, *arguments])
    source, out, folders, flags, dependencies = plain
    info = os.stat(compiler)
    named: list[object] = [len(folders)]
    if any(flag.startswith(NAMES_FOLDERS) for flag in flags):
        named = [os.getcwd(), os.path.abspath(source), *folders]
    made_by = [compiler, info.st_size, info.st_mtime_ns, _cpu() if "-march=native" in flags else ""]
    key = _digest(ascii([FORMAT, made_by, _unordered(flags), named, os.path.basename(source)]), source)
    roots = [os.path.dirname(os.path.abspath(source)), *map(os.path.abspath, folders)]
    known = os.path.join(store, key)
    found = _stored(store, key, roots)
    if found is not None and _write(out, *found[1:], objcopy):
        files = found[0]
    else:
        import subprocess  # a command that finds its object file needs neither
        import tempfile

        with tempfile.TemporaryDirectory() as directory:
            listed = os.path.join(directory, "files")
            command = [compiler, *_without(arguments, dependencies), "-MD", "-MF", listed]
            done = subprocess.run(command, capture_output=True)
            sys.stdout.buffer.write(done.stdout)
            sys.stderr.buffer.write(done.stderr)
            if done.returncode:
                return done.returncode
            with open(listed, "rb") as file:
                files = _dependencies(os.fsdecode(file.read()))
        if not done.stderr:
            _keep(known, roots, files, out)
    if "-MF" in dependencies:
        target = dependencies[dependencies.index("-MT") + 1] if "-MT" in dependencies else out
        with open(dependencies[dependencies.index("-MF") + 1], "w", encoding="utf-8") as file:
            file.write(f"{target}: {' '.join(name.replace(' ', chr(92) + ' ') for name in files)}\n")
    return 0


def _plain(arguments: list[str]) -> tuple[str, str, list[str], list[str], list[str]] | None:
    """Return source, output, folders of headers, other flags and flags of dependencies, where a command compiles one file."""
    sources, out, folders, flags, dependencies = [], "", [], [], []
    rest = iter(arguments)
    for argument in rest:
        if argument in ("-o", "-I", "-isystem", "-MF", "-MT", "-x"):
            value = next(rest, "")
            if argument == "-o":
                out = value
            elif argument == "-x":
                if value != "c-header":
                    return None
                flags.append("-xc-header")
            elif argument in ("-MF", "-MT"):
                dependencies += [argument, value]
            else:
                folders.append(value)
        elif argument == "-MD":
            dependencies.append(argument)
        elif argument.startswith("-I"):
            folders.append(argument[2:])
        elif argument in NOT_PLAIN or argument.startswith(NOT_PLAIN_BEGIN):
            return None
        elif argument.startswith("-"):
            flags.append(argument)
        else:
            sources.append(argument)
    suffixes = ".h" if "-xc-header" in flags else (".c", ".cpp")
    if "-c" not in flags or len(sources) != 1 or not sources[0].endswith(suffixes) or not out:
        return None
    return sources[0], out, folders, flags, dependencies


def _unordered(flags: list[str]) -> list[str]:
    """Return flags in an order that all commands of the same flags share; as they stand, if one may revoke another."""
    different = set(flags)
    about = {_subject(flag) for flag in different}
    return flags if len(about) < len(different) or about & SEVERAL else sorted(different)


def _subject(flag: str) -> str:
    """Return what a flag is about, which flags share of which the last one counts."""
    if flag.startswith("-O"):
        return "-O"
    name = flag.partition("=")[0]
    if name.startswith("-U"):
        return f"-D{name[2:]}"
    return f"{name[:2]}{name[5:]}" if name[2:5] == "no-" else name


def _dependencies(text: str) -> list[str]:
    """Return the files that a rule of make names."""
    import re

    names = re.split(r"(?<!\\)\s+", text.replace("\\\n", " ").partition(": ")[2].strip())
    return [re.sub(r"\\([ #\\])", r"\1", name).replace("$$", "$") for name in names]


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            first = file.read().partition("\n\n")[0]
    except OSError:
        return ""
    return "\n".join(line for line in first.splitlines() if line.startswith(("model", "stepping", "flags", "CPU")))


def _without(arguments: list[str], dependencies: list[str]) -> list[str]:
    left = list(arguments)
    for argument in dependencies:
        left.remove(argument)
    return left


def _hash(data: bytes) -> str:
    return blake2b(data, digest_size=32).hexdigest()


def _digest(text: str, path: str) -> str:
    with open(path, "rb") as file:
        return _hash(text.encode() + b"\0" + file.read())


def _digest_of_header(path: str) -> str:
    """Return a hash of a file; of `sc_names.h`, a hash of the names without the ending that the package gives them."""
    rows = _renamings(path)
    return _hash(b"\n".join(sorted(rows))) if rows else _digest("", path)


def _renamings(path: str) -> dict[bytes, bytes]:
    """Return the names in `sc_names.h` and what they become; nothing for other files, or where they become anything else."""
    if os.path.basename(path) != NAMES:
        return {}
    with open(path, "rb") as file:
        rows = [line.split() for line in file.read().splitlines() if line.startswith(b"#define ")]
    renamed = {words[1]: words[2] for words in rows if len(words) == 3}
    endings = {new[len(name) :] if new.startswith(name) else b"" for name, new in renamed.items()}
    return renamed if len(endings) == 1 and endings != {b""} else {}


def _write(out: str, data: bytes, renamed: list[tuple[bytes, bytes]], objcopy: str) -> bool:
    """Write an object file whose symbols are renamed. Return False if objcopy is missing or fails."""
    with open(out, "wb") as file:
        file.write(data)
    if not renamed:
        return True
    names = f"{out}.names"
    with open(names, "wb") as file:
        file.writelines(b"%s %s\n" % row for row in renamed)
    try:
        process = os.posix_spawn(objcopy, [objcopy, f"--redefine-syms={names}", out], os.environ)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    except OSError:
        return False
    finally:
        os.remove(names)


def _stored(store: str, key: str, roots: list[str]) -> tuple[list[str], bytes, list[tuple[bytes, bytes]]] | None:
    """Return what an object file was made from, the object file, and its symbols that have other names now.

    All files that it was made from are as they were. Sources of one text may include files of several texts: each has an
    object file.
    """
    digests: dict[str, str] = {}
    try:
        names = [name for name in os.listdir(store) if name.startswith(key) and name.endswith(".txt")]
    except FileNotFoundError:
        return None
    for name in names:
        found = _fitting(os.path.join(store, name.removesuffix(".txt")), roots, digests)
        if found is not None:
            return found
    return None


def _fitting(
    known: str, roots: list[str], digests: dict[str, str]
) -> tuple[list[str], bytes, list[tuple[bytes, bytes]]] | None:
    """Return what `_stored` does of the object file that a name stands for, where the files are as they were.

    digests: those of files that were read before.
    """
    try:
        with open(f"{known}.txt", encoding="utf-8", errors="surrogateescape") as file:
            digest, ending, *parts = file.read().split("\0")
        files: list[str] = []
        renamed: list[tuple[bytes, bytes]] = []
        for part in parts:
            root, noted, name = part.split(" ", 2)
            path = name if root == "-1" else os.path.normpath(os.path.join(roots[int(root)], name))
            if path not in digests:
                digests[path] = _digest_of_header(path)
            if digests[path] != noted:
                return None
            files.append(path)
            for name, new in _renamings(path).items():
                old = name + os.fsencode(ending)
                renamed += [(old, new)] if old != new else []
        with open(f"{known}.o", "rb") as file:
            data = file.read()
        return (files, data, renamed) if _hash(data) == digest else None
    except (OSError, ValueError, IndexError):
        return None


def _keep(known: str, roots: list[str], files: list[str], out: str) -> None:
    import tempfile

    parts, ending = [], ""
    for path in map(os.path.abspath, files):
        for name, new in _renamings(path).items():
            ending = os.fsdecode(new[len(name) :])
        inside = [i for i, root in enumerate(roots) if path.startswith(root + os.sep)]
        root = max(inside, key=lambda i: len(roots[i])) if inside else -1
        parts.append(f"{root} {_digest_of_header(path)} {os.path.relpath(path, roots[root]) if root >= 0 else path}")
    os.makedirs(os.path.dirname(known), exist_ok=True)
    with open(out, "rb") as file:
        data = file.read()
    known += "-" + _hash("\0".join(parts).encode(errors="surrogateescape"))
    noted = "\0".join((_hash(data), ending, *parts)).encode(errors="surrogateescape")
    for suffix, content in ((".o", data), (".txt", noted)):
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(known))
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, known + suffix)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4], sys.argv[4:]))
