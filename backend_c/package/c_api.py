"""NAME.h, NAME_api.c and NAME_level.c: a typed C function for each entry."""

from __future__ import annotations

from scriptc.backend_c.literals import c_const, c_str_object, c_string
from scriptc.backend_c.package import runtime_files, weights
from scriptc.backend_c.package.interface import MEMBERS, EntryInterface, Leaf, Package
from scriptc.backend_c.package.templates import fill
from scriptc.backend_c.writer import wrap
from scriptc.ir.dtypes import C_ENUM

LEVELS = ("baseline", "avx2", "avx512")  # of x86-64, from the plainest to the fastest
_ROWS = {kind: f"SC_ROWS_{kind.upper()}S" for kind in ("tensor", "i64", "f64", "bool", "str")}  # of sc_rows


def header(package: Package) -> str:
    declarations = "\n".join(_documentation(e) + _prototype(package, e) + ";\n" for e in package.entries)
    if package.state:
        declarations = fill("state.h", name=package.name, NAME=package.name.upper(), leaves=_leaf_list(package)) + declarations
    notes = {"load": _load_note(package), "exceptions": _exception_note(package)}
    return fill("name.h", name=package.name, NAME=package.name.upper(), declarations=declarations, **notes)


def api(package: Package, build_id: str) -> str:
    functions = "\n".join(_function(package, i, e) for i, e in enumerate(package.entries))
    embedded, pointer, length = "", "NULL", 0
    if package.embed_weights and package.weights:
        embedded, length = weights.as_c_array(package.weights, "embedded")
        pointer = "embedded"
    return fill(
        "name_api.c",
        name=package.name,
        build_id=build_id,
        levels=_levels(package),
        weights=_weights(package),
        state=_state(package),
        weights_name="weights" if package.weights else "NULL",
        n_params=str(len(package.program.params)),
        user_rows=_user_rows(package),
        user_rows_name="user_rows" if package.user_rows else "NULL",
        leaves="leaves" if package.state else "NULL",
        uses="uses" if package.state else "NULL",
        n_leaves=str(len(package.state)),
        n_weights=str(len(package.weights)),
        checksum=f"0x{weights.checksum(package.weights):08x}u",
        embedded_array=embedded,
        embedded=pointer,
        embedded_bytes=str(length),
        functions=functions + (fill("state_api.c", name=package.name) if package.state else ""),
    )


def level(package: Package) -> str:
    included = "\n".join(f'#include "{name}.c"' for name in runtime_files.kernel_sources(package.program.kernels))
    return fill("name_level.c", name=package.name, kernels=included)


def _exception_note(package: Package) -> str:
    if not package.exceptions:
        return ""
    rows = [f" * {each.name}({', '.join(each.bases)})" for each in package.exceptions]
    return "\n".join([" Its `type` may also be a class of the model's own:", *rows, " *"])


def _load_note(package: Package) -> str:
    if package.embed_weights or not package.weights:
        return "The weights are part of the library: weights_path is ignored and may be NULL."
    return f"weights_path: {package.name}.safetensors. It is mapped, and checked against the weights of the build."


def _levels(package: Package) -> str:
    rows = [f"    {{{c_string(name)}, {package.name}_program_{name}}}," for name in LEVELS]
    declared = [f"const sc_program *{package.name}_program_{name}(void);" for name in LEVELS]
    native = f"{package.name}_program_native"
    return "\n".join([
        "#if defined(SC_ONE_LEVEL)",
        f"const sc_program *{native}(void);",
        f'static const sc_level levels[] = {{{{"native", {native}}}}};',
        "#else", *declared, "static const sc_level levels[] = {", *rows, "};", "#endif",
    ])  # fmt: skip


def _weights(package: Package) -> str:
    if not package.weights:
        return ""
    rows = [
        f"    {{{c_string(w.name)}, {C_ENUM[w.dtype]}, {len(w.sizes)}, {{{', '.join(map(str, w.sizes)) or '0'}}}}},"
        for w in package.weights
    ]
    return "\n".join(["static const sc_weight weights[] = {", *rows, "};", ""])


def _user_rows(package: Package) -> str:
    if not package.user_rows:
        return ""
    return "\n".join([*wrap(f"static const int user_rows[] = {{{', '.join(map(str, package.user_rows))}}};"), ""])


def _leaf_list(package: Package) -> str:
    return "\n".join(" * " + name for name in dict.fromkeys(leaf.name for leaf in package.state))


def _state(package: Package) -> str:
    if not package.state:
        return ""
    places = {w.name: i for i, w in enumerate(package.weights)}
    arrays: list[str] = []
    rows: list[str] = []

    def first_value(kind: str, value: object) -> str:
        if kind != "str":
            return f"{{.{MEMBERS[kind]} = {c_const(value).text}}}"
        name = f"text_{len(arrays)}"
        arrays.append(f"static const sc_str {name} = {c_str_object(str(value))};")
        return f"{{.s = (sc_str *)&{name}}}"

    for i, leaf in enumerate(package.state):
        initial = leaf.initial
        target = -1 if leaf.target is None else leaf.target
        flags = ", ".join(map(_bool, (leaf.kind == "tensor", leaf.kind == "bool", leaf.kind == "str", leaf.is_list)))
        number, weight, n, numbers = "{0}", -1, 0, "NULL"
        if leaf.is_list:
            n = len(initial or ())
            if leaf.kind == "tensor" and n:
                weight = places[initial[0]]
            elif n:
                numbers = f"leaf_{i}"
                values = ", ".join(first_value(leaf.kind, v) for v in initial)
                arrays.append(f"static const sc_value {numbers}[] = {{{values}}};")
        elif leaf.kind == "tensor":
            weight = -1 if initial is None else places[initial]
        elif initial is not None:
            number = first_value(leaf.kind, initial)
        fixed = [k if isinstance(k, int) else None for k in leaf.kinds]
        fixed_to = "NULL"
        if any(value is not None for value in fixed):
            fixed_to = f"fixed_{i}"
            arrays.append(f"static const int64_t {fixed_to}[] = {{{', '.join(str(int(value or 0)) for value in fixed)}}};")
        rank = 255 if leaf.rank is None else leaf.rank
        given = sum(1 << k for k, what in enumerate(leaf.kinds) if what != "missing")
        bits = sum(1 << k for k, value in enumerate(fixed) if value is not None)
        cells = [flags, number, str(weight), str(n), numbers, str(target), str(leaf.position), _bool(leaf.written)]
        cells += [c_string(leaf.saved), C_ENUM[leaf.dtype], str(rank), str(leaf.slot), str(len(leaf.kinds)), hex(given)]
        cells += [hex(bits), fixed_to]
        rows += [f"    {line}" for line in wrap(f"{{{', '.join(cells)}}},")]
    return "\n".join([*arrays, "static const sc_leaf leaves[] = {", *rows, "};", *_uses(package), ""])


def _uses(package: Package) -> list[str]:
    """Return the lines with the leaves that each entry takes, by number."""
    lists = [f"{{{', '.join(map(str, entry.state)) or '0'}}}" for entry in package.entries]
    lines = [line for i, numbers in enumerate(lists) for line in wrap(f"static const int uses_{i}[] = {numbers};")]
    rows = [f"    {{uses_{i}, {len(e.state)}}}, /* {e.name} */" for i, e in enumerate(package.entries)]
    return [*lines, "static const sc_uses uses[] = {", *rows, "};"]


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _documentation(entry: EntryInterface) -> str:
    lines = [f"/* {entry.declared}", " *"]
    lines += [f" * {leaf.name}: {leaf.describe()}" for leaf in entry.arguments if leaf.in_c]
    lines += [f" * part of the build: {text}" for text in entry.baked]
    lines += [f" * {leaf.name} (out): {leaf.describe()}" for leaf in entry.results if leaf.in_c]
    return "\n".join(lines) + " */\n"


def _prototype(package: Package, entry: EntryInterface) -> str:
    parameters = [f"{package.name}_context *context"]
    parameters += [f"{package.name}_state *state"] if package.state else []
    parameters += [p for leaf in entry.arguments for p in leaf.arguments()]
    parameters += [p for leaf in entry.results for p in leaf.outputs()]
    return "\n".join(wrap(f"{package.name.upper()}_API int {package.name}_{entry.name}({', '.join(parameters)})"))


def _function(package: Package, index: int, entry: EntryInterface) -> str:
    n, results = len(entry.arguments), entry.results
    lines = [_prototype(package, entry), "{"]
    for leaf in entry.arguments:
        if leaf.is_nested and leaf.kind != "tensor":
            lines.append(f"    static const sc_param param_{leaf.name} = {{.name = {c_string(leaf.name)}}};")
        if leaf.kind == "tensor":
            sizes = ", ".join("-1" if size is None else str(size) for size in leaf.sizes) or "0"
            row = f"{{{c_string(leaf.name)}, {C_ENUM[leaf.dtype]}, {len(leaf.sizes)}, {{{sizes}}}}}"
            lines.append(f"    static const sc_param param_{leaf.name} = {row};")
    lines.append("    sc_caller *caller = (sc_caller *)context;")
    lines.append("    if (!caller) return SCRIPTC_BAD_ARGUMENT;")
    room = n + len(entry.state) + len(package.program.params)
    lines.append(f"    sc_value args[{room or 1}], results[{len(results) or 1}];")
    lines.append("    sc_call_begin(caller);")
    pointers = [(leaf, name) for leaf in results if leaf.in_c for name in leaf.parts()]
    lines += [f"    if ({name}) {line}" for leaf, name in pointers for line in _clear(leaf) if line.startswith(f"*{name} ")]
    for leaf, name in pointers:
        lines.append(f'    if (!{name} && sc_raise(caller->cx, "TypeError", "result \'{leaf.name}\': the pointer is NULL"))')
        lines.append("        return sc_call_end(caller, SCRIPTC_BAD_ARGUMENT);")
    takes = [(i, leaf) for i, leaf in enumerate(entry.arguments) if leaf.is_object]
    lines += [
        f"    args[{i}].{MEMBERS[leaf.kind]} = {leaf.name};"
        for i, leaf in enumerate(entry.arguments)
        if (i, leaf) not in takes
    ]
    for i, leaf in takes:
        lines.append(f"    if ({_take(leaf, i)}) return sc_call_end(caller, SCRIPTC_BAD_ARGUMENT);")
    state = "NULL"
    if package.state:
        state = "(sc_state *)state"
        lines.append('    if (!state && sc_raise(caller->cx, "TypeError", "the state is NULL"))')
        lines.append("        return sc_call_end(caller, SCRIPTC_BAD_ARGUMENT);")
    steps = [f"sc_call_run(caller, {index}, {n}, {state}, args, results)"]
    steps += [_give(leaf, i) for i, leaf in enumerate(results) if leaf.in_c and leaf.is_object]
    lines.append(f"    if ({' || '.join(steps)}) {{")
    lines += [f"        {line}" for leaf in results for line in _drop(leaf)]
    lines += ["        return sc_call_end(caller, SCRIPTC_RAISED);", "    }"]
    for i, leaf in enumerate(results):
        if leaf.kind in MEMBERS and not leaf.is_object:
            lines.append(f"    *{leaf.name} = results[{i}].{MEMBERS[leaf.kind]};")
    lines += ["    return sc_call_end(caller, SCRIPTC_OK);", "}", ""]
    return "\n".join(piece for line in lines for piece in (wrap(line) if "\n" not in line else [line]))


def _clear(leaf: Leaf) -> list[str]:
    """Return the statements that define the results where the call fails."""
    if not leaf.in_c:
        return []
    if leaf.is_list:
        rows = [f"*{leaf.lengths} = NULL;"] if leaf.is_nested else []
        return [f"*{leaf.name} = NULL;", *rows, f"*{leaf.count} = 0;"]
    if leaf.kind == "str":
        return [f"*{leaf.name} = (scriptc_string){{NULL, 0}};"]
    return [f"*{leaf.name} = {'NULL' if leaf.kind == 'tensor' else '0'};"]


def _take(leaf: Leaf, i: int) -> str:
    if not leaf.in_c:
        return f'sc_take_i64s(caller, "{leaf.name}", NULL, 0, &args[{i}])'
    if leaf.kind == "str" and not leaf.is_list:
        return f'sc_take_str(caller, "{leaf.name}", {leaf.name}, &args[{i}])'
    if not leaf.is_list:
        return f"sc_take_tensor(caller, &param_{leaf.name}, {leaf.name}, &args[{i}])"
    if leaf.is_nested:
        passed = ", ".join([_ROWS[leaf.kind], f"&param_{leaf.name}", *leaf.parts()])
        return f"sc_take_rows(caller, {passed}, &args[{i}])"
    what = f"&param_{leaf.name}" if leaf.kind == "tensor" else f'"{leaf.name}"'
    suffix = "tensors" if leaf.kind == "tensor" else f"{leaf.kind}s"
    return f"sc_take_{suffix}(caller, {what}, {leaf.name}, {leaf.count}, &args[{i}])"


def _give(leaf: Leaf, i: int) -> str:
    if not leaf.is_list:
        return f"sc_give_{leaf.kind}(caller, results[{i}], {leaf.name})"
    if leaf.is_nested:
        return f"sc_give_rows(caller, {_ROWS[leaf.kind]}, results[{i}], {', '.join(leaf.parts())})"
    suffix = "tensors" if leaf.kind == "tensor" else f"{leaf.kind}s"
    return f"sc_give_{suffix}(caller, results[{i}], {leaf.name}, {leaf.count})"


def _drop(leaf: Leaf) -> list[str]:
    if leaf.is_nested and leaf.kind == "tensor":
        return [f"sc_drop_rows({', '.join(leaf.parts())});"]
    if leaf.kind == "tensor":
        return [f"sc_drop_tensors({leaf.name}, {leaf.count});" if leaf.is_list else f"sc_drop_tensor({leaf.name});"]
    if leaf.kind == "str" and not leaf.is_list:
        return [f"free((void *){leaf.name}->data);", *_clear(leaf)]
    rows = [f"free(*{leaf.lengths});"] if leaf.is_nested else []
    return [f"free(*{leaf.name});", *rows, *_clear(leaf)] if leaf.is_list and leaf.in_c else []
