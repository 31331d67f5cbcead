"""The table of kernels agrees with the C: files, definitions, prototypes, and what each file calls."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from scriptc import runtime
from scriptc.backend_c import build, toolchain
from scriptc.backend_c.emit import include_lines
from scriptc.backend_c.package import runtime_files
from scriptc.ir.dtypes import C_ENUM, C_TYPES, SIZES
from scriptc.runtime import tensors
from scriptc.runtime.kernels import FILES, KERNELS, SOURCES, UNITY, sources_of, written
from scriptc.runtime.kernels.core import INLINE

HEADERS = ("sc_dict.h", "sc_extern.h", "sc_ops.h", "sc_str.h", "sc_special.h", "sc_scalar.h", "sc_profile.h")


@cache
def symbols(name: str) -> tuple[set[str], set[str]]:
    """Return what a file of the runtime defines for others, and what it leaves undefined."""
    path = build.runtime_object(runtime.SOURCE_DIR / f"{name}.c", 0, False)
    lines = subprocess.run(["nm", str(path)], capture_output=True, text=True, check=True).stdout.splitlines()
    found = [line.split()[-2:] for line in lines]
    return {s for kind, s in found if kind in "TDBR"}, {s for kind, s in found if kind == "U"}


def test_every_file_has_a_row() -> None:
    assert {path.stem for path in runtime.SOURCE_DIR.glob("*.c")} == {*SOURCES, "sc_all"}


def test_written_files_are_up_to_date() -> None:
    """`python -m scriptc.runtime.kernels` writes them."""
    for path, text in written.texts().items():
        assert path.read_text() == text, path


def test_what_depends_on_the_level_is_in_the_unity_build() -> None:
    """A file whose functions are SC_KERNEL is compiled for each level."""
    unity = {source.name for source in UNITY}
    for path in runtime.c_sources():
        assert ("SC_KERNEL" in path.read_text()) <= (path.stem in unity), path.stem


def test_headers_declare_no_kernel_without_a_row() -> None:
    text = "\n".join(path.read_text() for path in runtime.INCLUDE_DIR.glob("*.h"))
    assert set(re.findall(r"^SC_KERNEL [^;{}=\[]*?\b(sc_\w+)\(", text, re.MULTILINE)) <= KERNELS.keys()


@pytest.mark.parametrize("name", SOURCES)
def test_a_file_defines_its_kernels(name: str) -> None:
    assert {k.name for k in SOURCES[name].kernels} <= symbols(name)[0]


@pytest.mark.parametrize("name", SOURCES)
def test_a_file_needs_the_files_that_it_calls(name: str) -> None:
    """The row may name files that only code of other ISA levels calls."""
    homes = {symbol: other for other in SOURCES for symbol in symbols(other)[0]}
    called = {homes[symbol] for symbol in symbols(name)[1] & homes.keys()}
    assert called <= set(SOURCES[name].needs)


@pytest.mark.parametrize("name", SOURCES)
def test_a_file_links_with_what_it_needs(name: str, tmp_path: Path) -> None:
    kernels = [k.name for k in SOURCES[name].kernels]
    needed = {name, *sources_of(kernels), *(file for n in SOURCES[name].needs for file in _closure(n))}
    objects = [build.runtime_object(runtime.SOURCE_DIR / f"{n}.c", 0, False) for n in sorted(needed)]
    toolchain.link_shared(objects, tmp_path / "library.so")


def _closure(name: str) -> set[str]:
    found: set[str] = set()
    wanted = {name}
    while wanted:
        found |= wanted
        wanted = {needed for n in wanted for needed in SOURCES[n].needs} - found
    return found


def _compiled(source: str, directory: Path, *flags: str) -> Path:
    (directory / "table.c").write_text(include_lines(HEADERS) + source)
    command = [*toolchain.find_compiler().command, "-std=gnu11", "-O0", f"-I{runtime.INCLUDE_DIR}", *flags, "-c"]
    subprocess.run([*command, str(directory / "table.c"), "-o", str(directory / "table.o")], check=True)
    return directory / "table.o"


def test_rows_have_the_prototypes_of_the_headers(tmp_path: Path) -> None:
    """A second declaration that differs from the first is an error in C."""
    kernels = [f"{'static inline' if k.inline else 'SC_KERNEL'} {k.prototype};" for k in KERNELS.values()]
    _compiled("\n".join(kernels) + "\n", tmp_path, "-Wno-attributes", "-w")


def test_dtypes_have_the_numbers_of_the_headers(tmp_path: Path) -> None:
    asserted = [f'_Static_assert({C_ENUM[name]} == {i}, "");' for i, name in enumerate(tensors.DTYPES)]
    asserted += [f'_Static_assert(SC_NDTYPES == {len(asserted)} && SC_MAX_RANK == {tensors.MAX_RANK}, "");']
    asserted += [f'_Static_assert(sizeof({C_TYPES[name]}) == {size}, "");' for name, size in SIZES.items()]
    _compiled("\n".join(['#include "sc_element.h"', *asserted]) + "\n", tmp_path)


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The functions that each inline function calls: each has a section of its own, with relocations."""
    used = "const void *const used[] = {" + ", ".join(f"(const void *){kernel.name}" for kernel in INLINE) + "};\n"
    made = _compiled(f"extern const void *const used[];\n{used}", tmp_path_factory.mktemp("inline"), "-ffunction-sections")
    found: dict[str, set[str]] = {}
    for line in subprocess.run(["readelf", "-rW", str(made)], capture_output=True, text=True, check=True).stdout.splitlines():
        if section := re.match(r"Relocation section '\.rela?\.(?:text\.)?([\w.]+)'", line):
            names = found.setdefault(section[1], set())
        elif (fields := line.split())[4:]:
            names.add(fields[4].removeprefix(".text."))
    assert found.keys() >= {kernel.name for kernel in INLINE if kernel.needs}
    return found


@pytest.mark.parametrize("kernel", INLINE, ids=lambda kernel: kernel.name)
def test_an_inline_function_needs_the_files_that_it_calls(kernel, called: dict[str, set[str]]) -> None:
    seen, todo = set[str](), [kernel.name]
    while todo:
        name = todo.pop()
        todo += [other for other in called.get(name, ()) if other not in seen]
        seen.add(name)
    homes = {symbol: other for other in SOURCES for symbol in symbols(other)[0]}
    assert {homes[symbol] for symbol in seen if symbol in homes} <= set(FILES[kernel.name])


def test_a_package_includes_what_its_program_needs() -> None:
    """Other kernels are extern, so that no compiler warns of static functions without a definition."""
    included, header = runtime_files.kernel_sources({"sc_linear"}), runtime_files.kernels_header({"sc_linear"})
    assert "sc_gemm" in included and "sc_sort" not in included
    assert re.search(r"^SC_KERNEL .*\bsc_linear\(", header, re.MULTILINE)
    assert re.search(r"^extern .*\bsc_argsort\(", header, re.MULTILINE)
