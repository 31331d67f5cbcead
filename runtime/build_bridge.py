"""The build of scriptc.runtime._bridge, the C side of bridge.py; setup.py names `ffibuilder` in cffi_modules."""

import os

from cffi import FFI

_HERE = os.path.dirname(os.path.relpath(__file__))
_SOURCES = (
    "bridge execute frame guards host interrupt match openmp plan profile record record_backward result spec stable_abi store "
    "tensor"
).split()

ffibuilder = FFI()
_DECLARATIONS = """
    void *sc_bridge_type(void);
    void *sc_bridge_team(int openmp);
    size_t sc_bridge_stack_left(void);
    void sc_bridge_main_thread(unsigned long ident);
    const void *sc_bridge_open(const char *path, void **library, char *error, int room);
    void sc_bridge_close(void *library);
    const char *sc_bridge_shortcuts(void);
    void sc_bridge_stable_abi_only(void);
"""
ffibuilder.cdef(_DECLARATIONS)
ffibuilder.set_source(
    "scriptc.runtime._bridge",
    _DECLARATIONS,
    sources=[os.path.join(_HERE, "src", "bridge", f"{name}.c") for name in _SOURCES]
    + [os.path.join(_HERE, "src", f"sc_{name}.c") for name in ("core", "dict", "signal", "stack", "tables", "team")],
    include_dirs=[os.path.join(_HERE, "include")],
    depends=[
        *(os.path.join(_HERE, "src", "bridge", name) for name in ("bridge.h", "record.h", "spec_kinds.h", "stable_abi.h")),
        *(os.path.join(_HERE, "include", f"sc{name}.h") for name in ("", "_fp", "_ops", "_profile", "_signal", "_team")),
    ],
    extra_compile_args=["-std=gnu11", "-O2", "-fvisibility=hidden", "-pthread"],
    extra_link_args=["-pthread"],
    define_macros=[("Py_LIMITED_API", "0x030A0000"), ("SC_SHARES_CONTEXTS", None)],  # Python 3.10, as in setup.py
    py_limited_api=True,
)
