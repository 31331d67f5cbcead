"""The C API of packages where a caller passes NULL: an error with a message, and never a crash."""

from __future__ import annotations

import ctypes
import os
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import scriptc

pytestmark = pytest.mark.usefixtures("compiles_once")


class Sums(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.total = torch.zeros(3)

    def forward(self, x: torch.Tensor, names: list[str]) -> tuple[torch.Tensor, list[int], str]:
        self.total = self.total + x.sum(0)
        return self.total, [len(name) for name in names], names[0]


class Error(ctypes.Structure):
    _fields_ = [("type", ctypes.c_char_p), ("message", ctypes.c_char_p)]


def test_null_is_an_error(tmp_path: Path) -> None:
    example = torch.ones(2, 3), ["a", "bc"]
    folder = scriptc.build(Sums(), *example, out=tmp_path / "net", optimize=0, march="native")
    scriptc.load(folder)  # builds the library
    net = ctypes.CDLL(str(next((folder / "build").glob("libnet-*.so"))))
    for name in ("load", "context_new", "state_new"):
        getattr(net, f"net_{name}").restype = ctypes.c_void_p
    net.net_level.restype = ctypes.c_char_p
    net.net_last_error.restype = ctypes.POINTER(Error)
    for name in ("machine_has", "state_reset", "state_copy", "state_save", "state_load"):
        getattr(net, f"net_{name}").restype = ctypes.c_bool
    none, pointer = ctypes.c_void_p(None), ctypes.c_void_p

    def message(context: Any) -> bytes:
        return b"%s: %s" % ((error := net.net_last_error(context).contents).type, error.message)

    assert net.net_context_new(none) is None and net.net_state_new(none) is None
    assert net.net_level(none) == b"" and not net.net_machine_has(none)
    assert not net.net_state_reset(none) and not net.net_state_copy(none, none)
    why = ctypes.create_string_buffer(64)
    for in_or_out in (net.net_state_save, net.net_state_load):
        assert not in_or_out(none, b"file", none, 0)
        assert not in_or_out(none, b"file", why, 64) and why.value == b"the state is NULL"
    contexts = ("free", "set_threads", "seed", "set_read_only", "set_stack")
    for name in ("free", "state_free", "cancel", "request_check", *(f"context_{name}" for name in contexts)):
        getattr(net, f"net_{name}")(none, 1)
    net.net_context_set_output(none, none)
    assert message(none) == b"TypeError: the context is NULL"

    weights = os.fsencode(folder / "net.safetensors")
    assert net.net_load(none, none, 0) is None and net.net_load(b"nowhere", none, 0) is None
    model = pointer(net.net_load(weights, none, 0))
    context, state = pointer(net.net_context_new(model)), pointer(net.net_state_new(model))
    net.net_context_set_output(context, none)
    for in_or_out in (net.net_state_save, net.net_state_load):
        assert not in_or_out(state, none, why, 64) and why.value == b"no path of a state was given"
        assert not in_or_out(state, b"/nowhere/file", none, 0)
    outs = [ctypes.byref(pointer()), ctypes.byref(pointer()), ctypes.byref(ctypes.c_int64()), ctypes.byref((pointer * 2)())]
    arguments = [none, none, ctypes.c_int64(0)]
    assert net.net_forward(none, state, *arguments, *outs) == 2
    for i in range(4):
        passed = [none if k == i else out for k, out in enumerate(outs)]
        assert net.net_forward(context, state, *arguments, *passed) == 2
        assert re.fullmatch(rb"TypeError: result '\w+': the pointer is NULL", message(context))
    assert net.net_forward(context, none, *arguments, *outs) == 2
    assert net.net_forward(context, state, *arguments, *outs) == 2
    assert message(context) == b"TypeError: argument 'x': a tensor is NULL"
