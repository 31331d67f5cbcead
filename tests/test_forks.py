"""A child of a process that compiles in another thread: it has that thread's locks, and nobody to release them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import fresh_python
import pytest

HEAD = """
import faulthandler
import os
import sys
import threading
import time
from pathlib import Path

import torch

import scriptc

def f(x):
    return x + 1

def g(x):
    return x * 2

def h(x):
    return x - 1

f, g, h = (scriptc.compile(function, optimize=0) for function in (f, g, h))
gate, cache = Path(sys.argv[1]), Path(os.environ["SCRIPTC_CACHE_DIR"])
x = torch.ones(2)

def wait(condition):
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.0005)

def child(work):
    pid = os.fork()
    if not pid:
        faulthandler.dump_traceback_later(100, exit=True)
        try:
            work()
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return pid

def expect(compiled, value):
    assert compiled(x).tolist() == [value, value]

def end(pid, thread):
    assert os.waitpid(pid, 0)[1] == 0
    thread.join()
"""
PROGRAMS = {
    "while the C compiler runs": """
expect(h, 0)
gate.touch()
thread = threading.Thread(target=f, args=(x,), daemon=True)
thread.start()
wait(lambda: list(cache.glob("*.lock")))
def work():
    held = [os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{n}")]
    assert not [name for name in held if name.endswith(".lock")]
    gate.unlink()
    expect(g, 2)
    expect(f, 2)
end(child(work), thread)
expect(f, 2)
assert not list(cache.glob("*.lock")) and not list(cache.glob("*.tmp"))
""",
    "while the C compiler is started": """
expect(h, 0)
made, fresh_pipe = threading.Event(), os.pipe
def slow_pipe():
    ends = fresh_pipe()
    made.set()
    time.sleep(0.3)
    return ends
os.pipe = slow_pipe
thread = threading.Thread(target=f, args=(x,), daemon=True)
thread.start()
made.wait(60)
os.pipe = fresh_pipe
def work():
    expect(f, 2)
end(child(work), thread)
""",
    "while the compiler is imported": """
thread = threading.Thread(target=f, args=(x,), daemon=True)
assert "scriptc.driver.pipeline" not in sys.modules
thread.start()
wait(lambda: "scriptc.driver.pipeline" in sys.modules)
def work():
    expect(g, 2)
    expect(f, 2)
end(child(work), thread)
expect(f, 2)
""",
    "while the compiler imports a module of Python's": """
asked = threading.Event()
class SlowFinder:
    def find_spec(self, name, path=None, target=None):
        if name == "sysconfig":
            asked.set()
            time.sleep(0.3)
sys.modules.pop("sysconfig", None)
sys.meta_path.insert(0, SlowFinder())
thread = threading.Thread(target=f, args=(x,), daemon=True)
thread.start()
assert asked.wait(60)
def work():
    expect(g, 2)
    expect(f, 2)
end(child(work), thread)
expect(f, 2)
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_child_compiles(tmp_path: Path, name: str) -> None:
    gate, compiler = tmp_path / "gate", tmp_path / "slowcc"
    compiler.write_text(f'#!/bin/sh\nwhile [ -e {gate} ]; do sleep 0.05; done\nexec {shutil.which("cc")} "$@"\n')
    compiler.chmod(0o755)
    program = tmp_path / "program.py"
    program.write_text(HEAD + PROGRAMS[name])
    environment = os.environ | {"SCRIPTC_CACHE_DIR": str(tmp_path / "cache"), "CC": str(compiler)}
    done = fresh_python.run([program, gate], env=environment, timeout=200)
    assert done.returncode == 0, done.stderr
