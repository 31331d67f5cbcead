"""A C compiler that hangs is ended, with its children, on Ctrl-C and by the time limit; the cache keeps nothing of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from pathlib import Path
from scriptc.backend_c import toolchain
from scriptc.backend_c.build import build_library
build_library("int x;", "x", optimize=0, debug=False)
"""


@pytest.mark.parametrize("way", ["interrupt", "limit"])
def test_a_hanging_compiler_is_ended(way: str, tmp_path: Path) -> None:
    marker, cache, cc = tmp_path / "child", tmp_path / "cache", tmp_path / "cc"
    cc.write_text(
        "#!/bin/sh\n"
        'case "$*" in *"x.c "*) sleep 1000 & echo $! > ' + f"{marker}.tmp; mv {marker}.tmp {marker}; wait;; esac\n"
        'exec gcc "$@"\n'
    )
    cc.chmod(0o755)
    env = {**os.environ, "CC": str(cc), "SCRIPTC_CACHE_DIR": str(cache)}
    if way == "limit":
        env["SCRIPTC_COMPILER_SECONDS"] = "1"
    with subprocess.Popen([sys.executable, "-c", SCRIPT], env=env, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 60
        while not marker.exists() and time.monotonic() < until:
            time.sleep(0.02)
        if way == "interrupt":
            process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert ("KeyboardInterrupt" if way == "interrupt" else "SCRIPTC_COMPILER_SECONDS") in errors
    with pytest.raises(ProcessLookupError):
        for _ in range(200):
            os.kill(int(marker.read_text()), 0)
            time.sleep(0.02)
    assert not list(cache.glob("*.tmp"))
    assert not list(cache.glob("*/x.*"))
