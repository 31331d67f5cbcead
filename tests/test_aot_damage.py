"""Packages that were cut short, edited, built again or left half built; callers that pass NULL; names that C has."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import scriptc
from scriptc.backend_c.package.manifest import read, seal

pytestmark = pytest.mark.usefixtures("compiles_once")

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def half(x: torch.Tensor) -> torch.Tensor:
    return x / 2


def build(function: Any, out: Path, *args: Any, **options: Any) -> Path:
    return scriptc.build(function, *(args or (torch.ones(2, 3),)), out=out, optimize=0, march="native", **options)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return build(double, tmp_path / "net")


def library(folder: Path) -> Path:
    (path,) = (folder / "build").glob("libnet*.so")
    return path


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


# ---- damage ----


DAMAGE: dict[str, Callable[[Path], None]] = {
    "a flipped bit": lambda path: flip(path, path.stat().st_size // 2),
    "cut short": cut,
    "empty": lambda path: path.write_bytes(b""),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_library_is_built_again(folder: Path, name: str) -> None:
    assert (scriptc.load(folder)(X) == X * 2).all()
    good = library(folder).read_bytes()
    DAMAGE[name](library(folder))
    assert (scriptc.load(folder)(X) == X * 2).all()
    assert len(library(folder).read_bytes()) == len(good)


def test_a_library_of_cmake_that_was_cut_short_is_not_opened(folder: Path) -> None:
    scriptc.load(folder)
    own = library(folder)
    sealed = own.read_bytes()
    plain = sealed[: sealed.rindex(b"scriptc-sha256:")]
    other = folder / "build" / "libnet.so"  # as CMake would make it
    for size, kept in ((len(plain), True), (len(plain) - 1, False), (len(plain) // 2, False)):
        own.unlink(missing_ok=True)
        other.write_bytes(plain[:size])
        code = f"import scriptc, numpy as np; print(scriptc.load({str(folder)!r})(np.ones((1, 3), np.float32)))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout == "[[2. 2. 2.]]\n", done.stderr
        assert own.exists() is not kept


@pytest.mark.parametrize(
    "name", ["manifest.json", "python/net.py", "python/net_library.py", "src/net.c", "runtime/include/sc.h"]
)
def test_other_damage_is_an_error(folder: Path, name: str) -> None:
    path = folder / name
    path.write_text(path.read_text().replace("net", "nat", 1) if "net" in path.read_text() else path.read_text() + "x")
    with pytest.raises(RuntimeError, match=f"{re.escape(name)}.*(is damaged|is not as scriptc.build wrote it)"):
        scriptc.load(folder)
    cut(path)
    with pytest.raises(RuntimeError, match=f"{re.escape(name)}.*(is damaged|is not as scriptc.build wrote it)"):
        scriptc.load(folder)


def test_a_manifest_has_digests(folder: Path) -> None:
    text = (folder / "manifest.json").read_text()
    rows = read(text)
    written = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert written == {*rows["files"], "manifest.json"}
    for name, noted in rows["files"].items():
        assert noted["size"] == (folder / name).stat().st_size and len(noted["sha256"]) == 64
    assert seal({name: value for name, value in rows.items() if name != "sha256"}) == text
    with pytest.raises(ValueError, match="damaged"):
        read(text.replace('"optimize": 0', '"optimize": 3'))


# ---- building again ----


def test_build_load_build_load_in_one_process(folder: Path) -> None:
    first = scriptc.load(folder)
    assert (first(X) == X * 2).all()
    build(half, folder)
    second = scriptc.load(folder)
    assert (second(X) == X / 2).all() and (first(X) == X * 2).all()
    build(double, folder)
    assert (scriptc.load(folder)(X) == X * 2).all() and (second(X) == X / 2).all()
    assert library(folder)  # and no others


def maps() -> int:
    return len(Path("/proc/self/maps").read_text().splitlines())


@pytest.mark.skipif(sys.platform != "linux", reason="counts the maps of the process")
def test_a_library_goes_with_the_last_that_needs_it(folder: Path) -> None:
    model = scriptc.load(folder)
    result = model(X)
    name = library(folder).name
    assert name in Path("/proc/self/maps").read_text()
    del model
    assert name in Path("/proc/self/maps").read_text()
    view = result[1:]
    del result
    assert (view == X[1:] * 2).all()
    del view
    assert name not in Path("/proc/self/maps").read_text()
    before = maps()
    for _ in range(20):
        assert (scriptc.load(folder)(X) == X * 2).all()
    assert maps() <= before + 5


def test_files_of_the_users_stay(folder: Path, tmp_path: Path) -> None:
    (folder / "results.txt").write_text("mine")
    (folder / "src" / "extra.c").write_text("mine")
    (folder / "link").symlink_to(tmp_path)
    scriptc.load(folder)
    old = library(folder)
    build(half, folder)
    assert (folder / "results.txt").read_text() == (folder / "src" / "extra.c").read_text() == "mine"
    assert (folder / "link").is_symlink() and not old.exists()
    assert (scriptc.load(folder)(X) == X / 2).all()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net"]


def test_a_file_of_the_users_in_the_way_is_an_error(folder: Path) -> None:
    state = folder / "net.safetensors"
    state.write_text("mine")
    with pytest.raises(FileExistsError, match=r"net\.safetensors was not made by scriptc.build"):
        build(torch.nn.Linear(3, 2), folder)
    assert state.read_text() == "mine" and (scriptc.load(folder)(X) == X * 2).all()
    assert [path.name for path in folder.parent.iterdir()] == ["net"]


def test_a_directory_with_a_damaged_manifest_is_not_replaced(folder: Path) -> None:
    flip(folder / "manifest.json", 40)
    with pytest.raises(FileExistsError, match="manifest.json is damaged"):
        build(half, folder)


def test_what_a_killed_build_left_is_cleared(folder: Path, tmp_path: Path) -> None:
    code = f"""
import os, pathlib, time, torch, scriptc
pathlib.Path.write_bytes = lambda path, data: (print("writing", flush=True), time.sleep(600))
scriptc.build(lambda x: x + 1, torch.ones(2, 3), out={str(folder)!r}, optimize=0)
"""
    process = subprocess.Popen([sys.executable, "-c", code.replace("lambda x: x + 1", "torch.nn.Linear(3, 2)")],
                               stdout=subprocess.PIPE, text=True)  # fmt: skip
    assert process.stdout and process.stdout.readline() == "writing\n"
    (left,) = tmp_path.glob(".net-scriptc-*")
    build(double, tmp_path / "net")
    assert left.exists()  # somebody is in it
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert left.exists() and (scriptc.load(folder)(X) == X * 2).all()
    build(half, folder)
    assert [path.name for path in tmp_path.iterdir()] == ["net"]


def test_a_build_that_was_killed_between_two_renames_is_undone(folder: Path, tmp_path: Path) -> None:
    (folder / "results.txt").write_text("mine")
    left = tmp_path / ".net-scriptc-abc"
    left.mkdir()
    folder.rename(left / "old")
    build(half, folder)
    assert (folder / "results.txt").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["net"]


def test_a_library_that_is_being_built_is_left_alone(folder: Path) -> None:
    (folder / "build" / "making-alive").mkdir(parents=True)
    (folder / "build" / "making-dead").mkdir()
    lock = os.open(folder / "build" / "making-alive", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        scriptc.load(folder)
    finally:
        os.close(lock)
    assert sorted(path.name for path in (folder / "build").glob("making-*")) == ["making-alive"]


def test_a_command_whose_quotes_do_not_close(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", '"x')
    with pytest.raises(RuntimeError, match="CC is '\"x', which is no command"):
        scriptc.load(folder)


def test_a_manifest_of_an_earlier_format_is_replaced(folder: Path) -> None:
    path = folder / "manifest.json"
    rows = json.loads(path.read_text())
    del rows["sha256"]
    path.write_text(json.dumps(rows | {"format": 1, "files": sorted(rows["files"])}))
    (folder / "results.txt").write_text("mine")
    build(half, folder)
    assert (scriptc.load(folder)(X) == X / 2).all() and (folder / "results.txt").read_text() == "mine"
