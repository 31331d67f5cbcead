"""Builds modules with the real runtime and calls their entries on torch tensors, through a small driver in C."""

from __future__ import annotations

import ctypes as c
import random
import subprocess
from pathlib import Path
from typing import Any

import torch

from scriptc.backend_c.build import build_library
from scriptc.backend_c.emit import emit_program
from scriptc.backend_c.toolchain import find_compiler
from scriptc.ir.core import Module
from scriptc.ir.types import BOOL, FLOAT, INT, STR, ListType, TensorType, Type, is_counted
from scriptc.runtime import INCLUDE_DIR, tensors

DRIVER = Path(__file__).parent / "compiled" / "driver.c"
DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
          torch.float16, torch.bfloat16, torch.float32, torch.float64,
          torch.complex64, torch.complex128]  # fmt: skip


def assert_no_warnings(module: Module, directory: Path) -> None:
    """Generated C is clean under the warnings that C people turn on."""
    source = directory / "generated.c"
    source.write_text(emit_program(module).source)
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Wpedantic", "-Wno-psabi", "-Werror", "-fsyntax-only"]
    subprocess.run([*find_compiler().command, *flags, f"-I{INCLUDE_DIR}", str(source)], check=True)


class Box(c.Union):
    """sc_value"""

    _fields_ = [("i", c.c_int64), ("f", c.c_double), ("b", c.c_bool), ("p", c.c_void_p)]


class Raised(Exception):
    """What a compiled program raised: the exception's name, its message and the line."""

    def __init__(self, type: str, message: str, line: int):
        super().__init__(f"{type}: {message}")
        self.type, self.message, self.line = type, message, line


WORD = c.CFUNCTYPE(c.c_uint32, c.c_void_p)
PRINT = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(c.c_char), c.c_size_t)
WARN = c.CFUNCTYPE(None, c.c_void_p, c.c_char_p, c.c_char_p, c.c_void_p)


class Compiled:
    """A module as a library. Calls draw from copies of torch's generator, and from Python's.

    live: objects left when arguments and results of the last call are released. printed, warnings: what calls printed, and the
    categories and messages of what they warned of. state: what the last call set outside of itself.
    """

    def __init__(self, module: Module, *, optimize: int = 0):
        self.module = module
        self.program = emit_program(module)
        source = f"{self.program.source}\n{DRIVER.read_text()}"
        kernels = {*self.program.kernels, "sc_str_of", "sc_list_new"}  # and those of the driver
        library = build_library(source, module.name, optimize=optimize, debug=False, kernels=kernels)
        self.lib = c.CDLL(str(library))
        for name in ("new", "tensor", "list", "str", "describe"):
            getattr(self.lib, f"drv_{name}").restype = c.c_void_p
        for name in ("live", "bytes_peak", "list_len", "str_codes"):
            getattr(self.lib, f"drv_{name}").restype = c.c_int64
        for name in ("error", "message"):
            getattr(self.lib, f"drv_{name}").restype = c.c_char_p
        self.lib.drv_list_at.restype = Box
        self.given: list[Any] = []
        self.live = 0
        self.peak = 0
        self.printed = ""
        self.targets = {op.attrs["target"] for op in module.walk() if op.name == "state.set"}
        self.state: dict[int, tuple[int, int]] = {}
        self.warnings: list[tuple[str, str]] = []
        self.hooks = WORD(lambda _: random.getrandbits(32)), PRINT(self.on_print), WARN(self.on_warn)

    def on_print(self, user: Any, text: Any, nbytes: int) -> None:
        self.printed += text[:nbytes].decode()

    def on_warn(self, user: Any, category: bytes, message: bytes, where: Any) -> None:
        self.warnings.append((category.decode(), message.decode()))

    def run(self, name: str, *args: Any, params: dict[str, Any] | None = None) -> tuple[Any, ...]:
        """Calls an entry; returns its results as torch tensors, numbers and lists."""
        func = self.module.funcs[name]
        self.state = {}
        cx = c.c_void_p(self.lib.drv_new())
        rng = torch.get_rng_state()
        numpy_rng, numpy_address = tensors.numpy_begin()
        self.lib.drv_lend(cx, c.c_void_p(rng.data_ptr()), c.c_void_p(numpy_address), *self.hooks)
        try:
            self.given.clear()
            types = [a.type for a in func.body.args] + [p.type for p in self.module.params.values()]
            values = [*args, *((params or {})[p] for p in self.module.params)]
            boxes = (Box * (len(values) + 1))(*(self.give(cx, v, t) for v, t in zip(values, types, strict=True)))
            results = (Box * (len(func.results) + 1))()
            if self.lib.drv_call(cx, self.module.entries.index(name), boxes, results) < 0:
                raise self.error(cx)
            self.state = self.set_outside(cx)
            taken = tuple(self.take(box, t) for box, t in zip(results, func.results, strict=False))
            for box, t in zip(results, func.results, strict=False):
                if is_counted(t):
                    self.lib.drv_release(cx, c.c_void_p(box.p))
            for pointer in self.given:
                self.lib.drv_release(cx, c.c_void_p(pointer))
            self.live = self.lib.drv_live(cx)
            self.peak = self.lib.drv_bytes_peak(cx)
            return taken
        finally:
            self.lib.drv_free(cx)

    def set_outside(self, cx: c.c_void_p) -> dict[int, tuple[int, int]]:
        """Return what `state.set` set its targets to: forms, and first leaves as ints."""
        leaf, found = Box(), {}
        for target in self.targets:
            if (form := self.lib.drv_target(cx, target, c.byref(leaf))) >= 0:
                found[target] = (form, leaf.i)
        return found

    def error(self, cx: c.c_void_p) -> Raised:
        loc = c.c_int()
        kind = self.lib.drv_error(cx, c.byref(loc)).decode()
        line = self.program.locs[loc.value].line if loc.value >= 0 else -1
        return Raised(kind, self.lib.drv_message(cx).decode(), line)

    def give(self, cx: c.c_void_p, value: Any, t: Type) -> Box:
        box = self.boxed(cx, value, t)
        if is_counted(t):
            self.given.append(box.p)
        return box

    def boxed(self, cx: c.c_void_p, value: Any, t: Type) -> Box:
        if isinstance(t, TensorType):
            n = value.dim()
            sizes, strides = (c.c_int64 * n)(*value.shape), (c.c_int64 * n)(*value.stride())
            dtype = DTYPES.index(value.dtype)
            return Box(p=self.lib.drv_tensor(cx, c.c_void_p(value.data_ptr()), dtype, n, sizes, strides))
        if isinstance(t, ListType):
            items = (Box * len(value))(*(self.give(cx, v, t.elem) for v in value))
            return Box(p=self.lib.drv_list(cx, 1 if is_counted(t.elem) else 2 * (t.elem == BOOL), c.c_int64(len(value)), items))
        if t == STR:
            return Box(p=self.lib.drv_str(cx, (c.c_uint32 * len(value))(*map(ord, value)), c.c_int64(len(value))))
        return Box(f=value) if t == FLOAT else Box(i=value) if t == INT else Box(b=value)

    def take(self, box: Box, t: Type) -> Any:
        if isinstance(t, TensorType):
            described = (c.c_int64 * 32)()
            data = self.lib.drv_describe(c.c_void_p(box.p), described)
            dtype, rank = DTYPES[described[0]], described[1]
            size, stride = described[2 : 2 + rank], described[2 + rank : 2 + 2 * rank]
            out = torch.empty_strided(size, stride, dtype=dtype)
            if out.numel():
                extent = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
                c.memmove(out.data_ptr(), data, extent * out.element_size())
            return out
        if isinstance(t, ListType):
            held = c.c_void_p(box.p)
            taken = [self.take(self.lib.drv_list_at(held, c.c_int64(i)), t.elem) for i in range(self.lib.drv_list_len(held))]
            return tuple(taken) if t.is_tuple else taken
        if t == STR:
            codes = (c.c_uint32 * self.lib.drv_str_codes(c.c_void_p(box.p), None))()
            self.lib.drv_str_codes(c.c_void_p(box.p), codes)
            return "".join(map(chr, codes))
        return box.f if t == FLOAT else box.i if t == INT else box.b
