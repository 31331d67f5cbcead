"""Finding the compiler, building libraries, and the disk cache under everything that can go wrong with a disk."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

from scriptc import runtime
from scriptc.backend_c import build, cache, doctor, toolchain
from scriptc.runtime import kernels

PROGRAM = '__attribute__((visibility("default"))) int answer(void) { return %d; }\n'


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache directory of the test's own; it does not exist yet."""
    path = tmp_path / "cache"
    monkeypatch.setenv("SCRIPTC_CACHE_DIR", str(path))
    return path


@pytest.fixture
def small_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands for the real runtime, whose compilation into each test's own cache would take most of the time."""
    folder = tmp_path / "runtime"
    folder.mkdir()
    for name, needs in (("one", ()), ("two", ("one",))):
        monkeypatch.setitem(kernels.SOURCES, name, kernels.Source(name, needs=needs))
        monkeypatch.setitem(kernels.FILES, name, (name,))
        (folder / f"{name}.c").write_text(f'#include "sc.h"\nint {name}(void);\nint {name}(void) {{ return 20; }}\n')
    monkeypatch.setattr(runtime, "SOURCE_DIR", folder)
    return folder


def write(name: str, text: str = "data"):  # type: ignore[no-untyped-def]
    return lambda directory: (directory / name).write_text(text)


def fail(directory: Path) -> None:
    raise AssertionError("built again")


def without_meta(entry: Path) -> Path:
    (entry / cache.META).unlink()
    return entry


def leftovers(root: Path) -> list[str]:
    return [path.name for path in root.iterdir() if path.suffix in (".tmp", ".lock")]


# ---- the compiler ----


def test_finds_a_compiler_and_asks_it_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    toolchain._probe.cache_clear()
    first = toolchain.find_compiler()
    assert first.version and first.target
    toolchain._probe.cache_clear()
    monkeypatch.setattr(subprocess, "run", fail)  # a second process reads the answer from the cache
    assert toolchain.find_compiler() == first


@pytest.mark.parametrize("cc", ["/nonexistent", "/nonexistent -m64"])
def test_missing_compiler_says_what_to_install(root: Path, monkeypatch: pytest.MonkeyPatch, cc: str) -> None:
    monkeypatch.setenv("CC", cc)
    with pytest.raises(toolchain.ToolchainError, match="CC names .*'/nonexistent.*install one"):
        build.build_library(PROGRAM % 1, "program", optimize=0, debug=False)


def test_a_compiler_whose_quotes_do_not_close(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", '"x')
    with pytest.raises(toolchain.ToolchainError, match="CC is '\"x', which is no command .No closing quotation"):
        toolchain.find_compiler()


@pytest.mark.parametrize("text", ["{}", "[1, 2]", '{"command": 3}', "no JSON"])
def test_a_damaged_answer_of_the_compiler_is_asked_for_again(
    root: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    toolchain._probe.cache_clear()
    first = toolchain.find_compiler()
    (probe,) = root.glob("*/probe.json")
    good = probe.read_text()
    for with_digest in (False, True):
        probe.write_text(text)
        if with_digest:
            cache._write_meta(without_meta(probe.parent), probe.parent.name)
        toolchain._probe.cache_clear()
        assert toolchain.find_compiler() == first
        assert probe.read_text() == good


def test_no_compiler_on_the_path(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(toolchain.ToolchainError, match="looked for cc, gcc, clang.*install one"):
        toolchain.find_compiler()


def test_a_compiler_that_does_not_work(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "mycc"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    with pytest.raises(toolchain.ToolchainError, match="mycc --version does not work"):
        toolchain.find_compiler()


def test_flags(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SCRIPTC_SANITIZE", raising=False)
    native = toolchain.find_compiler().native
    for optimize in range(4):
        flags = toolchain.compile_flags(optimize, debug=False)
        assert f"-O{optimize}" in flags and "-g" not in flags
        assert set(native) & set(flags) == (set(native) if optimize == 3 else set())
        extra = toolchain.find_compiler().program if optimize > 1 else ()
        assert toolchain.program_flags(optimize, debug=False) == [*flags, *extra]
    assert "-g" in toolchain.compile_flags(0, debug=True)
    monkeypatch.setenv("SCRIPTC_SANITIZE", "1")
    assert "-fsanitize=address,undefined" in toolchain.compile_flags(0, debug=False)


# ---- libraries ----


def test_builds_once_and_keeps_the_c(root: Path, small_runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = build.build_library(PROGRAM % 42, "Net.forward", optimize=0, debug=True)
    assert ctypes.CDLL(str(library)).answer() == 42
    assert (library.parent / "Net_forward.c").read_text() == PROGRAM % 42
    assert str(library.parent / "Net_forward.c").encode() in library.read_bytes()  # where a debugger looks
    assert library.parent.parent == root and not leftovers(root)
    monkeypatch.setattr(subprocess, "run", fail)
    assert build.build_library(PROGRAM % 42, "Net.forward", optimize=0, debug=True) == library


def test_what_matters_changes_the_entry(root: Path, small_runtime: Path) -> None:
    one = build.build_library(PROGRAM % 1, "p", optimize=0, debug=False)
    two = build.build_library(PROGRAM % 2, "p", optimize=0, debug=False)
    three = build.build_library(PROGRAM % 1, "p", optimize=1, debug=False)
    assert len({one, two, three}) == 3


@pytest.mark.parametrize("damage", ["flipped bit", "truncated", "cut and filled up"])
def test_a_damaged_library_is_built_again(root: Path, small_runtime: Path, damage: str) -> None:
    """It is not loaded: the processor would run what stands there."""
    library = build.build_library(PROGRAM % 42, "program", optimize=0, debug=False)
    good = library.read_bytes()
    data = bytearray(good)
    if damage == "flipped bit":
        data[data.index(b"answer") + 2] ^= 4
    else:
        data = data[: len(data) // 2] + (b"" if damage == "truncated" else bytes(len(data) - len(data) // 2))
    library.write_bytes(data)
    assert cache.current().find(library.parent.name) is None
    again = build.build_library(PROGRAM % 42, "program", optimize=0, debug=False)
    assert again == library and again.read_bytes() == good
    assert ctypes.CDLL(str(again)).answer() == 42


def test_a_damaged_object_of_the_runtime_is_compiled_again(root: Path, small_runtime: Path) -> None:
    object_ = build.runtime_object(small_runtime / "one.c", 0, False)
    good = object_.read_bytes()
    object_.write_bytes(good[:-1] + b"x")
    assert build.runtime_object(small_runtime / "one.c", 0, False).read_bytes() == good


def test_runtime_is_linked_in_and_hidden(root: Path, small_runtime: Path) -> None:
    program = "int one(void);\nint two(void);\n" + PROGRAM.replace("%d", "one() + two() + 2")
    first = build.build_library(program, "program", optimize=0, debug=False, kernels=["one", "two"])
    library = ctypes.CDLL(str(first))
    assert library.answer() == 42 and not hasattr(library, "one")
    (small_runtime / "one.c").write_text("int one(void);\nint one(void) { return 21; }\n")
    second = build.build_library(program, "program", optimize=0, debug=False, kernels=["one", "two"])
    assert ctypes.CDLL(str(second)).answer() == 43


def test_only_what_is_needed_is_compiled(root: Path, small_runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (small_runtime / "two.c").write_text("int one(void);\nint two(void);\nint two(void) { return one(); }\n")
    compiled: list[str] = []
    real = toolchain.compile_object
    monkeypatch.setattr(
        build, "compile_object", lambda source, *rest: (compiled.append(source.stem), real(source, *rest))
    )
    program = "int one(void);\n" + PROGRAM.replace("%d", "one()")
    build.build_library(program, "first", optimize=0, debug=False, kernels=["one"])
    assert sorted(compiled) == ["first", "one"]
    program = "int two(void);\n" + PROGRAM.replace("%d", "two()")
    build.build_library(program, "second", optimize=0, debug=False, kernels=["two"])
    assert sorted(compiled[2:]) == ["second", "two"]


WITH_HEADERS = '#include "sc.h"\n#include "sc_math.h"\n' + PROGRAM


@pytest.fixture
def precompiled(root: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Note where headers are precompiled to."""
    if not toolchain.find_compiler().is_gcc:
        pytest.skip("GCC alone precompiles headers")
    made: list[Path] = []
    real = toolchain.compile_object

    def compile_object(source: Path, flags: list[str], out: Path) -> None:
        real(source, flags, out)
        if out.suffix == ".gch":
            made.append(out)

    monkeypatch.setattr(build, "compile_object", compile_object)
    return made


def test_headers_are_precompiled_once_for_each_set_of_flags(precompiled: list[Path]) -> None:
    for number, optimize in ((1, 0), (2, 0), (1, 1), (2, 1)):
        library = build.build_library(WITH_HEADERS % number, "program", optimize=optimize, debug=False)
        assert ctypes.CDLL(str(library)).answer() == number
    assert len(precompiled) == 2


def test_precompiled_headers_change_no_library(
    precompiled: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = build.build_library(WITH_HEADERS % 1, "program", optimize=3, debug=False)
    monkeypatch.setenv("SCRIPTC_CACHE_DIR", str(tmp_path / "without"))
    monkeypatch.setattr(build, "header_flags", lambda *given: ())
    second = build.build_library(WITH_HEADERS % 1, "program", optimize=3, debug=False)
    assert first != second and first.read_bytes() == second.read_bytes() and len(precompiled) == 1


def test_damaged_precompiled_headers_are_made_again(root: Path, precompiled: list[Path]) -> None:
    build.build_library(WITH_HEADERS % 1, "program", optimize=0, debug=False)
    (stored,) = root.glob("*/*.gch")
    stored.write_bytes(stored.read_bytes()[:100_000])
    library = build.build_library(WITH_HEADERS % 2, "program", optimize=0, debug=False)
    assert ctypes.CDLL(str(library)).answer() == 2
    assert len(precompiled) == 2 and cache.current().find(stored.parent.name)


def test_headers_behind_a_pragma_are_compiled_under_it(precompiled: list[Path]) -> None:
    pragma = '#pragma GCC optimize("no-strict-aliasing")\n'
    build.build_library(pragma + WITH_HEADERS % 1, "program", optimize=0, debug=False)
    assert not precompiled


@pytest.mark.parametrize("source", ["int broken( {\n", "int missing(void);\n" + PROGRAM.replace("%d", "missing()")])
def test_refused_c_is_an_internal_error_that_keeps_the_c(root: Path, small_runtime: Path, source: str) -> None:
    with pytest.raises(toolchain.BuildError, match="internal scriptc error") as caught:
        build.build_library(source, "program", optimize=0, debug=False)
    error = caught.value
    assert error.source.read_text() == source and str(error.source) in str(error)
    assert error.command[0] in str(error) and error.stderr.strip() in str(error)
    assert not leftovers(root)
    shutil.rmtree(error.source.parent)


def test_compiler_out_of_disk_space_goes_elsewhere(
    root: Path, small_runtime: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The compiler, not we, meets the full disk: only its message says so."""
    script = tmp_path / "fullcc"
    message = os.strerror(errno.ENOSPC)
    script.write_text(f'#!/bin/sh\ncase "$*" in *{root}*) echo "as: {message}" >&2; exit 1;; esac\nexec cc "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    with pytest.warns(RuntimeWarning, match=message):
        library = build.build_library(PROGRAM % 7, "program", optimize=0, debug=False)
    assert ctypes.CDLL(str(library)).answer() == 7
    assert root not in library.parents


# ---- the cache ----


def test_keys_keep_parts_apart() -> None:
    keys = [("ab", "c"), ("a", "bc"), ("abc",), (["ab"], "c"), (b"ab", "c"), ("ab", "c", None), (1,), ("1",), (True,)]
    assert len({cache.cache_key(*parts) for parts in keys}) == len(keys)
    assert cache.cache_key("a", 1) == cache.cache_key("a", 1)


def test_directory_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SCRIPTC_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache.cache_directory() == Path("/somewhere/scriptc")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert cache.cache_directory() == Path("/home/me/.cache/scriptc")


def test_directory_is_for_the_user_alone(root: Path) -> None:
    entry = cache.cached("key", write("file"))
    assert entry == root / "key"
    assert root.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_directory_that_others_can_write_is_refused(root: Path, mode: int) -> None:
    root.mkdir()
    root.chmod(mode)
    with pytest.warns(RuntimeWarning, match="others can write it"):
        entry = cache.cached("key", write("file"))
    assert root not in entry.parents and not list(root.iterdir())


def test_directory_of_somebody_else_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root.mkdir(mode=0o700)
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(cache.CacheRefused, match=f"belongs to user {owner}"):
        cache.Cache(root)


@pytest.mark.parametrize("mode", [0o777, 0o772, 0o770])
def test_directory_below_one_that_others_can_write_is_refused(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    """They could put another in its place."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(mode)
    monkeypatch.setattr(cache, "_is_private_group", lambda info: False)
    monkeypatch.setenv("SCRIPTC_CACHE_DIR", str(shared / "mine" / "cache"))
    with pytest.warns(RuntimeWarning, match=f"below {shared}, which others can write, its mode is 0{mode:o}"):
        entry = cache.cached("key", write("file"))
    assert shared not in entry.parents
    shared.chmod(mode | 0o1000)  # as /tmp is: what others own there nobody may rename
    assert cache.Cache(shared / "mine" / "cache").root == shared / "mine" / "cache"


def test_directory_below_one_of_the_owners_own_group(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many systems give each user a group, and let it write."""
    import grp
    import pwd

    monkeypatch.setattr(pwd, "getpwuid", lambda uid: SimpleNamespace(pw_name="me"))
    root.mkdir()
    for mode, name, members, expected in (
        (0o775, "me", [], True),
        (0o775, "me", ["me"], True),
        (0o775, "me", ["me", "you"], False),
        (0o775, "users", [], False),
        (0o777, "me", [], False),
    ):
        root.chmod(mode)
        group = SimpleNamespace(gr_name=name, gr_mem=members)
        monkeypatch.setattr(grp, "getgrgid", lambda gid, group=group: group)
        assert cache._is_private_group(root.stat()) is expected


@pytest.mark.parametrize("how", ["others may write the file", "others may write the entry", "a link", "another key"])
def test_entries_that_may_be_of_others_are_built_again(root: Path, tmp_path: Path, how: str) -> None:
    entry = cache.cached("key", write("lib.so", "good"))
    if how == "others may write the file":
        (entry / "lib.so").chmod(0o666)
    elif how == "others may write the entry":
        entry.chmod(0o777)
    elif how == "a link":
        entry.rename(tmp_path / "key")
        entry.symlink_to(tmp_path / "key")
    else:
        entry.rename(root / "other")
        entry = root / "other"
    assert cache.current().find(entry.name) is None
    assert cache.cached(entry.name, write("lib.so", "again")) == entry
    assert (entry / "lib.so").read_text() == "again" and not entry.is_symlink()
    cache.cached(entry.name, fail)


def test_entries_of_somebody_else_are_not_used(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.cached("key", write("file"))
    store, owner = cache.current(), os.geteuid()
    assert store.find("key") is not None
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert store.find("key") is None


def test_files_are_their_owners_alone_whatever_the_umask(root: Path) -> None:
    before = os.umask(0)
    try:
        entry = cache.cached("key", write("file"))
    finally:
        os.umask(before)
    assert not any(path.stat().st_mode & 0o022 for path in (entry, *entry.iterdir()))
    assert cache.cached("key", fail) == entry


@pytest.mark.parametrize("how", ["a file is there", "parent is a file", "not writable"])
def test_unusable_directory_falls_back_with_one_warning(root: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    if how == "a file is there":
        root.write_text("")
    elif how == "parent is a file":
        root.write_text("")
        monkeypatch.setenv("SCRIPTC_CACHE_DIR", str(root / "below"))
    else:
        root.mkdir(mode=0o700)
        monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != root)  # the superuser may write anything
    with pytest.warns(RuntimeWarning, match="does not use the cache directory"):
        first = cache.cached("key", write("file"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.cached("key", fail) == first
    assert first.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("function", ["replace", "mkdir", "write_text"])
def test_full_disk_falls_back(root: Path, monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    cache.cached("early", write("file"))
    owner = os if function == "replace" else Path
    original = getattr(owner, function)

    def full(path: Path, *rest: object, **named: object) -> object:
        if root in Path(path).parents:
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(path, *rest, **named)

    monkeypatch.setattr(owner, function, full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        entry = cache.cached("key", write("file"))
    assert (entry / "file").read_text() == "data" and root not in entry.parents
    assert not leftovers(root)


def test_cleared_directory_is_made_again(root: Path) -> None:
    cache.cached("key", write("file"))
    shutil.rmtree(root)
    assert (cache.cached("key", write("file")) / "file").exists()
    assert root.stat().st_mode & 0o777 == 0o700


def test_failing_build_leaves_nothing(root: Path) -> None:
    for error in (ValueError, KeyboardInterrupt):

        def produce(directory: Path, error: type[BaseException] = error) -> None:
            (directory / "half").write_text("")
            raise error

        with pytest.raises(error):
            cache.cached("key", produce)
    assert list(root.iterdir()) == []
    assert (cache.cached("key", write("file")) / "file").exists()


@pytest.mark.parametrize("damage", ["missing", "truncated", "no meta", "bad meta", "odd meta"])
def test_corrupted_entry_is_built_again(root: Path, damage: str) -> None:
    entry = cache.cached("key", write("lib.so", "good"))
    if damage == "missing":
        (entry / "lib.so").unlink()
    elif damage == "truncated":
        (entry / "lib.so").write_text("go")
    elif damage == "no meta":
        (entry / "meta.json").unlink()
    else:
        (entry / "meta.json").write_text("{" if damage == "bad meta" else "[]")
    assert cache.cached("key", write("lib.so", "again")) == entry
    assert (entry / "lib.so").read_text() == "again"
    cache.cached("key", fail)


def child(code: str) -> subprocess.Popen[str]:
    program = "import time, sys\nfrom pathlib import Path\nfrom scriptc.backend_c import cache\n" + code
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)


def test_two_processes_build_once(root: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = f"""
def produce(directory):
    with open({str(log)!r}, "a") as log:
        log.write("built\\n")
    time.sleep(0.5)
    (directory / "file").write_text("data")
print(cache.cached("key", produce))
"""
    children = [child(code) for _ in range(3)]
    assert {process.communicate(timeout=60)[0].strip() for process in children} == {str(root / "key")}
    assert log.read_text() == "built\n"
    assert not leftovers(root)


def test_killed_build_is_taken_over(root: Path) -> None:
    code = """
def produce(directory):
    (directory / "file").write_text("half")
    print("started", flush=True)
    time.sleep(600)
cache.cached("key", produce)
"""
    process = child(code)
    assert process.stdout and process.stdout.readline() == "started\n"
    process.kill()
    process.communicate()
    assert sorted(leftovers(root)) == ["key.lock", "key.tmp"]
    entry = cache.cached("key", write("other"))
    assert sorted(path.name for path in entry.iterdir()) == ["meta.json", "other"]
    assert not leftovers(root)


def test_prune_drops_the_least_recently_used(root: Path) -> None:
    entries = [cache.cached(f"key{i}", write("file", "x" * 1000)) for i in range(4)]
    for age, entry in zip((40, 30, 20, 10), entries, strict=True):
        then = time.time() - age * 3600
        os.utime(entry / "meta.json", (then, then))
    cache.cached("key0", fail)  # used just now
    store = cache.current()
    assert store.size() > 4000
    assert store.prune(2 * store.size() // 4) == 2
    assert [entry.exists() for entry in entries] == [True, False, False, True]
    assert store.prune(0) == 1 and entries[0].exists()  # whoever has just asked for it may still load it
    assert store.prune(0, grace=-1) == 1
    assert list(root.iterdir()) == [root / cache.LOOK]


def test_a_process_that_builds_once_prunes_where_nobody_did_lately(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    monkeypatch.setattr(cache.Cache, "prune", lambda store: (looks.append(store), (store.root / cache.LOOK).touch()))
    for key in ("first", "second"):
        cache.Cache(root).entry(key, write("file"))
    assert len(looks) == 1
    os.utime(root / cache.LOOK, (0, 0))
    cache.Cache(root).entry("third", write("file"))
    assert len(looks) == 2


@pytest.mark.parametrize("megabytes, looks", [("2048", 1), ("0.001", 4)])
def test_a_process_looks_again_when_it_built_its_share_of_the_room(
    root: Path, monkeypatch: pytest.MonkeyPatch, megabytes: str, looks: int
) -> None:
    monkeypatch.setenv("SCRIPTC_CACHE_MAX_MB", megabytes)
    seen, prune = [], cache.Cache.prune
    monkeypatch.setattr(cache.Cache, "prune", lambda store: (seen.append(store), prune(store)))
    for i in range(3 * cache.PRUNE_EVERY + 1):
        cache.cached(f"key{i}", write("file"))
    assert len(seen) == looks


def test_prune_clears_what_a_dead_builder_left_and_spares_a_living_one(root: Path) -> None:
    store = cache.current()
    (root / "dead.tmp").mkdir()

    def produce(directory: Path) -> None:
        (directory / "file").write_text("data")
        store.prune(-1, grace=-1)

    assert (store.entry("alive", produce)).exists()
    assert not (root / "dead.tmp").exists()


def test_size_limit_is_read_from_the_environment(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPTC_CACHE_MAX_MB", "0.001")
    entry = cache.cached("old", write("file", "x" * 2000))
    os.utime(entry / "meta.json", (0, 0))
    cache.current().prune()
    assert not entry.exists()


@pytest.mark.parametrize("text", ["", "  "])
def test_no_size_limit_is_the_usual_one(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SCRIPTC_CACHE_MAX_MB", text)
    assert cache._max_bytes() == cache.DEFAULT_MAX_MB * 2**20
    monkeypatch.setenv("SCRIPTC_CACHE_MAX_MB", "inf")
    assert cache._max_bytes() == sys.maxsize


@pytest.mark.parametrize("text", ["many", "-1", "nan", "2 GB"])
def test_a_size_limit_that_is_no_number_is_told(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SCRIPTC_CACHE_MAX_MB", text)
    with pytest.warns(RuntimeWarning, match=f"SCRIPTC_CACHE_MAX_MB is '{text}', which is no number of megabytes"):
        assert cache._max_bytes() == cache.DEFAULT_MAX_MB * 2**20


# ---- doctor ----


def test_doctor_on_this_machine(root: Path) -> None:
    rows = {row.check: row for row in doctor.examine()}
    wanted = {"Python headers", "C compiler", "flags", "vector ISA", "cache", "torch", "DLPack exchange API", "cmake"}
    assert wanted <= set(rows)
    assert rows["C compiler"].ok and str(root) in rows["cache"].value
    assert all(row.ok or row.advice for row in rows.values())


def test_doctor_on_a_poor_machine(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/nonexistent")
    root.write_text("")
    with pytest.warns(RuntimeWarning, match="not a directory|File exists"):
        rows = {row.check: row for row in doctor.examine()}
    assert not rows["C compiler"].ok and "install" in rows["C compiler"].advice
    assert not rows["cache"].ok and "cannot be used" in rows["cache"].advice
