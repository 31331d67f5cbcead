"""Builds scriptc.runtime._bridge, the C side of bridge.py; setup.py names `ffibuilder` in cffi_modules."""

import os

from cffi import FFI

_HERE = os.path.dirname(os.path.relpath(__file__))
_SOURCES = ["bridge", "execute", "frame", "host", "match", "profile", "result", "spec", "store", "tensor"]

ffibuilder = FFI()
_DECLARATIONS = """
    void *sc_bridge_type(void);
    void *sc_bridge_team(void);
    const void *sc_bridge_open(const char *path, char *error, int room);
"""
ffibuilder.cdef(_DECLARATIONS)
ffibuilder.set_source(
    "scriptc.runtime._bridge",
    _DECLARATIONS,
    sources=[os.path.join(_HERE, "src", "bridge", f"{name}.c") for name in _SOURCES]
    + [os.path.join(_HERE, "src", name) for name in ("sc_core.c", "sc_dict.c", "sc_team.c")],
    include_dirs=[os.path.join(_HERE, "include")],
    depends=[os.path.join(_HERE, "src", "bridge", "bridge.h")]
    + [os.path.join(_HERE, "include", name) for name in ("sc.h", "sc_fp.h", "sc_ops.h", "sc_profile.h", "sc_team.h")],
    extra_compile_args=["-std=gnu11", "-O2", "-fvisibility=hidden", "-pthread"],
    extra_link_args=["-pthread"],
    define_macros=[("_CFFI_NO_LIMITED_API", None), ("SC_SHARES_CONTEXTS", None)],
    py_limited_api=False,
)
