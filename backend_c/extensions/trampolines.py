"""The C functions through which Python and compiled code call an extension: one for each prototype.

Each has the same type, `sc_extension_function` of sc_extension.h. It checks values that the types of Python do not
tell, such as the range of an int, and calls the function of the extension with arguments of its own types.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scriptc.backend_c.extensions.prototypes import CUDA_DTYPES
from scriptc.backend_c.literals import c_string
from scriptc.ir.dtypes import TORCH_NAMES
from scriptc.ir.extern import ExternPrototype, ExternType, trampoline_name

_MEMBERS = {"tensor": "t", "int": "i", "bool": "i", "float": "f", "str": "s"}


def trampolines(
    prototypes: Sequence[ExternPrototype], headers: Sequence[str], key: str, *, with_cuda: bool = False
) -> str:
    """Return the C file. headers: the names by which the file includes the extension's headers. key: of the library."""
    includes = ['#include "sc_extension.h"\n', *(f'#include "{header}"\n' for header in headers), "\n"]
    return "".join([*includes, *(_trampoline(p, trampoline_name(key, p.name), with_cuda) for p in prototypes)])


def _trampoline(prototype: ExternPrototype, name: str, with_cuda: bool) -> str:
    arguments = ", ".join(_argument(i, t) for i, (_, t) in enumerate(prototype.parameters))
    call, result = f"{prototype.name}({arguments})", prototype.result
    lines = [
        f"sc_extension_function {name};",
        f"SC_EXTENSION_EXPORT int {name}("
        "sc_extension_error *error, const sc_extension_value *args, sc_extension_value *result) {",
        "    sc_extension_call call;",
        *(["    volatile int status = 0;"] if result.kind == "status" else []),
        *([] if prototype.parameters else ["    (void)args;"]),
        *([] if result.kind not in ("none", "status") else ["    (void)result;"]),
        "    sc_extension_begin(&call, error);",
        *(f"    sc_extension_use_stream(args[{i}].t);" for i in _tensors(prototype) if with_cuda),
        "    if (!_setjmp(call.leave)) {",
    ]
    if checks := [*_checks(prototype)]:
        lines.append(f"        if ({' || '.join(checks)}) return sc_extension_end(&call);")
    match result.kind:
        case "none":
            lines.append(f"        {call};")
        case "status":
            lines.append(f"        status = {call};")
        case "float":
            lines.append(f"        result->f = (double){call};")
        case _:
            lines.append(f"        {result.text} value = {call};")
            if result.bits == 64 and not result.signed:
                lines.append(f'        if (value > INT64_MAX) sc_fail_as("OverflowError", "{prototype.name} returned an int '
                             'that does not fit 64 bits with a sign");')  # fmt: skip
            lines.append("        result->i = (int64_t)value;")
    lines.append("    }")
    if result.kind == "status":
        lines.append(f"    return sc_extension_end_status(&call, {c_string(prototype.name)}, status);")
    else:
        lines.append("    return sc_extension_end(&call);")
    return "\n".join([*lines, "}", "", ""])


def _tensors(prototype: ExternPrototype) -> list[int]:
    return [i for i, (_, t) in enumerate(prototype.parameters) if t.kind == "tensor"]


def _argument(index: int, t: ExternType) -> str:
    value = f"args[{index}].{_MEMBERS[t.kind]}"
    return f"({t.text}){value}" if t.kind in ("int", "float") else f"{value} != 0" if t.kind == "bool" else value


def _checks(prototype: ExternPrototype) -> Iterator[str]:
    for index, (name, t) in enumerate(prototype.parameters):
        value = f"args[{index}].{_MEMBERS[t.kind]}"
        texts = ", ".join(map(c_string, (prototype.name, name, t.text)))
        if t.kind == "int" and t.bits < 64:
            yield f"sc_extension_check_int({value}, {t.bits}, {str(t.signed).lower()}, {texts})"
        elif t.kind == "float" and t.bits == 32:
            yield f"sc_extension_check_float({value}, {texts})"
        elif t.kind == "tensor" and t.dtype:
            is_cuda = any(name in t.text for name in CUDA_DTYPES)
            yield f"sc_extension_check_tensor({value}, {c_string(TORCH_NAMES[t.dtype])}, {str(is_cuda).lower()}, {texts})"
