"""`scriptc build-runtime` compiles what libraries are linked with, under the keys by which they find it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scriptc.backend_c import build
from scriptc.backend_c.emit import include_lines
from scriptc.runtime import kernels


def test_the_whole_runtime_is_compiled_ahead_of_the_first_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPTC_CACHE_DIR", str(tmp_path / "cache"))
    compiled: list[str] = []

    def compile_object(source: Path, _: object, out: Path) -> None:
        compiled.append(source.name)
        out.touch()

    monkeypatch.setattr(build, "compile_object", compile_object)
    monkeypatch.setattr(build, "link_shared", lambda _, out: out.touch())
    assert build.build_runtime() == len(kernels.SOURCES)
    assert {f"{name}.c" for name in kernels.SOURCES} <= set(compiled)
    compiled.clear()
    program = include_lines() + "int x;\n"
    for level in (1, 2, 3):
        build.build_library(program, f"program{level}", optimize=level, debug=False, kernels=kernels.FILES)
    assert compiled == ["program1.c", "program2.c", "program3.c"]
