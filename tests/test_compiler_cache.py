"""The compiler that tests share takes an object file from an earlier build only where all texts and flags are the same."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from compiler_cache import wrapper

CC = shutil.which("cc") or "cc"


class Cached:
    """A wrapped compiler that notes how often the real one runs."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "log"
        self.log.touch()
        real = folder / "real"
        real.write_text(f'#!/bin/sh\necho >> "{self.log}"\nexec {CC} "$@"\n')
        real.chmod(0o755)
        self.command = wrapper(str(real), folder / "cc", folder / "store")

    def project(self, name: str, value: str = "1", body: str = "return VALUE;") -> Path:
        """Write a source and its header into a folder of their own."""
        made = self.folder / name
        (made / "with space").mkdir(parents=True, exist_ok=True)
        (made / "with space" / "value.h").write_text(f"#define VALUE {value}\n")
        (made / "one.c").write_text(f'#include "value.h"\nint one(void) {{ {body} }}\n')
        return made

    def compile(
        self, project: Path, *flags: str, source: str = "one.c"
    ) -> tuple[bool, subprocess.CompletedProcess[str]]:
        """Compile, and return whether the real compiler ran."""
        before = self.log.read_text()
        out = ["-c", str(project / source), "-o", str(project / "one.o")]
        command = [self.command, *flags, f"-I{project / 'with space'}", *out]
        done = subprocess.run(command, capture_output=True, text=True)
        return self.log.read_text() != before, done


@pytest.fixture
def cached(tmp_path: Path) -> Cached:
    return Cached(tmp_path)


def test_equal_texts_are_compiled_once_in_whatever_folder(cached: Cached) -> None:
    first, second = cached.project("first"), cached.project("second")
    assert cached.compile(first, "-O1")[0]
    assert not cached.compile(first, "-O1")[0]
    assert not cached.compile(second, "-O1")[0]
    assert (second / "one.o").read_bytes() == (first / "one.o").read_bytes()


def test_cpp_is_compiled_once(cached: Cached) -> None:
    projects = [cached.project(name) for name in ("first", "second")]
    for project in projects:
        (project / "one.cpp").write_text('#include "value.h"\nint one() { return VALUE; }\n')
    assert [cached.compile(project, "-O1", source="one.cpp")[0] for project in projects] == [True, False]


def symbols(project: Path) -> str:
    return subprocess.run(["nm", str(project / "one.o")], capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(shutil.which("objcopy") is None, reason="no objcopy")
def test_packages_share_objects_whose_symbols_have_names_of_their_own(cached: Cached) -> None:
    body = "return other(VALUE); } int sc_two(void) { return sc_one() + sc_two();"
    made = {}
    for package in ("first", "second", "third"):
        project = made[package] = cached.project(package, body=body)
        names = "".join(f"#define {name} {name}_in_{package}\n" for name in ("sc_one", "sc_two"))
        (project / "with space" / "sc_names.h").write_text(f"/* of {package} */\n{names}")
        text = (project / "one.c").read_text().replace("int one", "int other(int);\nint sc_one")
        (project / "one.c").write_text(f'#include "sc_names.h"\n{text}')
    assert [cached.compile(made[package], "-O1")[0] for package in ("first", "second", "first")] == [True, False, False]
    assert symbols(made["second"]) == symbols(made["first"]).replace("_in_first", "_in_second")
    assert "sc_two_in_first" in symbols(made["first"]) and "other" in symbols(made["first"])
    (made["third"] / "with space" / "sc_names.h").write_text("#define sc_one sc_one_in_third\n")
    assert cached.compile(made["third"], "-O1")[0]


def test_other_flags_texts_and_headers_are_compiled(cached: Cached) -> None:
    assert cached.compile(cached.project("first"), "-O1")[0]
    assert cached.compile(cached.project("first"), "-O2")[0]
    assert cached.compile(cached.project("first", value="2"), "-O1")[0]
    assert cached.compile(cached.project("first", body="return -VALUE;"), "-O1")[0]


def test_the_order_of_flags_matters_only_where_the_last_one_counts(cached: Cached) -> None:
    project = cached.project("first")
    assert cached.compile(project, "-O1", "-fno-math-errno", "-Wall")[0]
    assert not cached.compile(project, "-fno-math-errno", "-Wall", "-O1", "-Wall")[0]
    for flags in (("-O1", "-O2"), ("-fmath-errno", "-fno-math-errno"), ("-DX=1", "-UX"), ("-ffast-math", "-fno-math-errno")):
        assert cached.compile(project, *flags)[0] and cached.compile(project, *reversed(flags))[0], flags


def test_objects_that_name_their_folder_are_not_shared(cached: Cached) -> None:
    first, second = cached.project("first"), cached.project("second")
    assert cached.compile(first, "-g")[0]
    assert not cached.compile(first, "-g")[0]
    assert cached.compile(second, "-g")[0]


def test_errors_and_warnings_come_each_time(cached: Cached) -> None:
    for body, flag, message in (("return x;", "-O1", "error"), ("int x; return VALUE;", "-Wall", "unused variable")):
        project = cached.project(message.replace(" ", "_"), body=body)
        for _ in range(2):
            ran, done = cached.compile(project, flag)
            assert ran and message in done.stderr and (done.returncode != 0) == (message == "error")


def test_a_damaged_object_is_compiled_again(cached: Cached) -> None:
    project = cached.project("first")
    cached.compile(project)
    whole = (project / "one.o").read_bytes()
    for stored in (cached.folder / "store").glob("*.o"):
        stored.write_bytes(whole[:-1])
    assert cached.compile(project)[0] and (project / "one.o").read_bytes() == whole


def test_headers_are_precompiled_once(cached: Cached) -> None:
    for name, ran in (("first", True), ("second", False)):
        header = cached.project(name) / "with space" / "value.h"
        before = cached.log.read_text()
        subprocess.run([cached.command, "-x", "c-header", "-c", str(header), "-o", f"{header}.gch"], check=True)
        assert (cached.log.read_text() != before) is ran
        source = header.with_name("uses.c")
        source.write_text("int value = VALUE;\n")
        used = ["-Winvalid-pch", "-Werror", "-include", str(header), "-c", str(source), "-o", f"{source}.o"]
        subprocess.run([cached.command, *used], check=True)


def test_dependencies_are_written_for_make(cached: Cached) -> None:
    project = cached.project("first")
    for name in ("made", "found"):
        cached.compile(project, "-MD", "-MT", "target", "-MF", str(project / name))
    assert "with\\ space/value.h" in (project / "found").read_text()
    assert (project / "made").read_text() == (project / "found").read_text()
