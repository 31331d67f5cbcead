"""Builds scriptc.runtime._bridge, the C side of bridge.py; setup.py names `ffibuilder` in cffi_modules."""

import os

from cffi import FFI

_HERE = os.path.dirname(os.path.relpath(__file__))
_SOURCES = ["bridge", "execute", "frame", "host", "match", "result", "spec", "store", "tensor"]

ffibuilder = FFI()
ffibuilder.cdef("""
    void *sc_bridge_type(void);
    const void *sc_bridge_open(const char *path, char *error, int room);
""")
ffibuilder.set_source(
    "scriptc.runtime._bridge",
    "void *sc_bridge_type(void);\nconst void *sc_bridge_open(const char *path, char *error, int room);\n",
    sources=[os.path.join(_HERE, "src", "bridge", f"{name}.c") for name in _SOURCES]
    + [os.path.join(_HERE, "src", f"sc_{name}.c") for name in ("core", "dict")],
    include_dirs=[os.path.join(_HERE, "include")],
    depends=[
        os.path.join(_HERE, "src", "bridge", "bridge.h"),
        *(os.path.join(_HERE, "include", f"sc{name}.h") for name in ("", "_ops")),
    ],
    extra_compile_args=["-std=gnu11", "-O2", "-fvisibility=hidden"],
    define_macros=[("_CFFI_NO_LIMITED_API", None), ("SC_SHARES_CONTEXTS", None)],
    py_limited_api=False,
)
