"""Run Python programs in processes that have imported torch and nothing of scriptc.

Importing torch takes longer than most programs that tests start. One process imports torch, and is forked for each
program. Each fork then does what `python program.py`, `python -c program` or `python -m program` does.

Programs that depend on flags of the interpreter, on `sys.orig_argv`, or on environment variables that Python, torch or
OpenMP read when they start, need a process of their own. On macOS all programs have one, since its libraries do not
work in forks.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from types import ModuleType, TracebackType
from typing import Any

IS_FORKED = sys.platform != "darwin"
_LENGTH = 8  # bytes in front of each message
_PERIOD = 0.01  # seconds between two looks at a program that runs


def run(
    arguments: Sequence[object], *, cwd: object = None, env: Mapping[str, str] | None = None, timeout: float = 600.0,
    check: bool = False,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Do what `subprocess.run([sys.executable, *arguments], capture_output=True, text=True, ...)` does."""
    command = list(map(str, arguments))
    if not IS_FORKED:
        whole = [sys.executable, *command]
        return subprocess.run(whole, cwd=str(cwd or "."), env=env, timeout=timeout, check=check, capture_output=True, text=True)
    asked = {"arguments": command, "cwd": str(cwd or os.getcwd()), "environment": dict(env or os.environ), "timeout": timeout}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        connection = _server()
        socket.send_fds(connection, [b"\0"], [out.fileno(), err.fileno()])
        _send(connection, asked)
        status = _receive(connection)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
    if status is None:
        raise subprocess.TimeoutExpired(command, timeout, *texts)
    if check and status:
        raise subprocess.CalledProcessError(status, command, *texts)
    return subprocess.CompletedProcess(command, status, *texts)


@functools.cache
def _server() -> socket.socket:
    """Return the connection to the process that is forked for each program."""
    ours, its = socket.socketpair()
    process = subprocess.Popen([sys.executable, __file__, str(its.fileno())], pass_fds=[its.fileno()])
    its.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _send(connection: socket.socket, message: Any) -> None:
    data = json.dumps(message).encode()
    connection.sendall(len(data).to_bytes(_LENGTH, "little") + data)


def _receive(connection: socket.socket) -> Any:
    length = int.from_bytes(_read(connection, _LENGTH), "little")
    return json.loads(_read(connection, length))


def _read(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def _serve(connection: socket.socket) -> dict[str, Any]:
    """Answer requests. Return a request in the process that was forked for it."""
    while True:
        begun, files, *_ = socket.recv_fds(connection, 1, 2)
        if not begun:
            os._exit(0)
        asked = _receive(connection)
        pid = os.fork()
        if pid == 0:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for i, file in enumerate(files, 1):
                os.dup2(file, i)
                os.close(file)
            connection.close()
            return asked
        for file in files:
            os.close(file)
        _send(connection, _status(pid, asked["timeout"]))


def _status(pid: int, timeout: float) -> int | None:
    """Wait for a process and return its exit status, as `subprocess` has it; end it after `timeout` seconds."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(_PERIOD)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return None


def _report(kind: type[BaseException], error: BaseException, frames: TracebackType | None) -> None:
    """Write what Python writes about an exception that ends a program, without the frames of this file."""
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    sys.__excepthook__(kind, error.with_traceback(frames), frames)


def _start(asked: dict[str, Any]) -> None:
    """Do what Python does with its arguments."""
    import numpy

    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["cwd"])
    random.seed()
    numpy.random.seed()
    sys.argv = asked["arguments"]
    first = sys.argv[0]
    sys.excepthook = _report
    # The first entry is the folder of this file.
    paths = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:1] = ["" if first == "-c" else os.getcwd() if first == "-m" else os.path.dirname(os.path.abspath(first))]
    sys.path[1:1] = [path for path in paths if path not in sys.path]
    main = sys.modules["__main__"] = ModuleType("__main__")
    if first == "-m":
        import runpy

        name = sys.argv.pop(1)
        runpy._run_module_as_main(name)  # type: ignore[attr-defined]
        return
    if first == "-c":
        text = sys.argv.pop(1)
        code = compile(text, "<string>", "exec")
    else:
        with open(first, "rb") as file:
            code = compile(file.read(), first, "exec")
        main.__file__ = first
    exec(code, main.__dict__)


if __name__ == "__main__":
    import gc

    import torch  # noqa: F401

    gc.freeze()
    _start(_serve(socket.socket(fileno=int(sys.argv[1]))))
