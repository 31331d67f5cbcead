"""The C of a whole module: weights, locations, functions, entries and the program, in this order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from scriptc.backend_c.c_types import declare, list_member
from scriptc.backend_c.function import FunctionPrinter, has_many_loops
from scriptc.backend_c.instrument import Site, instrument
from scriptc.backend_c.interrupts import insert_stops
from scriptc.backend_c.literals import c_str_object, c_string
from scriptc.backend_c.locations import LocTable
from scriptc.backend_c.loop_verifier import verify_loops
from scriptc.backend_c.lower import lower
from scriptc.backend_c.outline import outline
from scriptc.backend_c.ownership import insert_counts
from scriptc.backend_c.program_names import ProgramNames, signature
from scriptc.backend_c.writer import comment, wrap
from scriptc.ir.core import Func, Module, Op
from scriptc.ir.extern import trampoline_name
from scriptc.ir.loc import Loc

MANY_WEIGHTS = 50  # more are copied one by one: GCC would look for vectors in them
HEADERS = ("sc.h", "sc_ops.h", "sc_element.h", "sc_math.h", "sc_special.h", "sc_scalar.h", "sc_str.h")

# For programs that access memory as elements of several types: C compilers assume that such accesses do not alias.
_ANY_ALIAS = """\
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-strict-aliasing")
#endif
"""


def include_lines(headers: Iterable[str] = HEADERS) -> str:
    """Return the lines with which a program includes headers."""
    return "".join(f'#include "{header}"\n' for header in headers)


@dataclass(frozen=True)
class CEntry:
    name: str
    n_args: int  # parameters, then all weights
    n_results: int


@dataclass(frozen=True)
class CProgram:
    """Generated C, and what its callers need to know.

    locs: the rows of the table of locations.
    params: the names of the weights.
    sites: the sites that instrumented code counts in.
    kernels: the functions of the runtime that the C calls.
    extensions: the keys of the libraries of extensions that the C calls.
    """

    source: str
    entries: tuple[CEntry, ...]
    locs: tuple[Loc, ...]
    params: tuple[str, ...]
    sites: tuple[Site, ...] = ()
    kernels: frozenset[str] = frozenset()
    extensions: tuple[str, ...] = ()


def lower_to_loops(module: Module) -> Module:
    """Return a module of the tensor IR in the loop IR that is printed."""
    lowered = lower(module)
    insert_stops(lowered)
    insert_counts(lowered)
    verify_loops(lowered)
    return lowered


def emit_program(
    module: Module, *, debug: bool = False, profile: bool = False, flush_denormals: bool = False,
    path: Callable[[str], str] = str,
) -> CProgram:  # fmt: skip
    """Return the C of a module, which exports `sc_program_get`.

    debug: add #line directives that point at the user's source.
    profile: count time by line and kernel.
    flush_denormals: run entries with denormals flushed to zero.
    path: see `LocTable`.
    """
    loops = lower_to_loops(module)
    _keep_reachable(loops)
    sites = tuple(instrument(loops)) if profile else ()
    splits = {name: has_many_loops(func) for name, func in loops.funcs.items()}
    outlined = {} if debug else outline(loops)  # a debugger shows the place of each line
    if outlined:
        verify_loops(loops)
    names, locs, once = ProgramNames(loops), LocTable(path), _run_once(loops)
    functions = {
        name: FunctionPrinter(
            loops, func, names, locs, debug=debug, part=name in outlined, once=name in once,
            splits=name in once or splits[outlined.get(name, name)],
        )
        for name, func in loops.funcs.items()
    }  # fmt: skip
    bodies = [printer.print(_heading(module.funcs.get(name, printer.func))) for name, printer in functions.items()]
    kernels = frozenset(name for printer in functions.values() for name in printer.kernels)
    called = {op.attrs["func"] for op in loops.walk() if op.name == "call"}
    prototypes = [
        "\n".join(wrap(inlining + signature(f, names, [declare(a.type, functions[n].variables[a]) for a in f.body.args]) + ";"))
        for n, f in loops.funcs.items()
        if n in called
        for inlining in ["SC_NOINLINE " if n in outlined else ""]
    ]
    entries = tuple(
        CEntry(e, len(loops.funcs[e].body.args) + len(loops.params), len(loops.funcs[e].results)) for e in loops.entries
    )
    headers = [*HEADERS, *(["sc_profile.h"] if profile else []), *(["sc_fp.h"] if flush_denormals else [])]
    retyped = any(op.name == "view_dtype" for op in module.walk())
    externs = sorted({(op.attrs["library"], op.attrs["function"]) for op in module.walk() if op.name == "extern.call"})
    headers += ["sc_extern.h"] if externs else []
    parts = [
        _ANY_ALIAS if retyped else "",
        include_lines(headers),
        "".join(f"sc_extern_function {trampoline_name(*extern)};\n" for extern in externs),
        _weights(loops, names),
        locs.text(),
        "".join(f"static const sc_str {name} = {c_str_object(text)};\n" for text, name in names.texts.items()),
        "\n".join(prototypes) + "\n" if prototypes else "",
        *bodies,
        *(_entry(loops, loops.funcs[e], names, n_locs=len(locs.rows), flush=flush_denormals) for e in loops.entries),
        _program(loops, names, entries, len(locs.rows)),
    ]
    source = "\n".join(part for part in parts if part)
    extensions = tuple(sorted({key for key, _ in externs}))
    return CProgram(source, entries, tuple(locs.rows), tuple(loops.params), sites, kernels, extensions)


def _keep_reachable(module: Module) -> None:
    """Remove functions that no entry calls: C compilers warn about them."""
    reached: dict[str, Func] = {}
    pending = list(module.entries)
    while pending:
        name = pending.pop()
        if name not in reached:
            reached[name] = module.funcs[name]
            pending += [op.attrs["func"] for op in reached[name].body.walk() if op.name == "call"]
    module.funcs = {name: func for name, func in module.funcs.items() if name in reached}


def _run_once(module: Module) -> set[str]:
    """Return the functions whose results are kept, so that they run once in the life of a context."""
    calls = [op for op in module.walk() if op.name == "call"]
    return {op.attrs["func"] for op in calls} - {op.attrs["func"] for op in calls if not _fills_a_slot(op)} - {*module.entries}


def _fills_a_slot(op: Op) -> bool:
    """Return whether an op stands in a branch for a value that is not kept yet."""
    assert op.parent is not None
    choice = op.parent.parent
    asked = choice.operands[0].op if choice is not None and choice.name == "if" else None
    if choice is None or asked is None or asked.attrs.get("kernel") != "sc_has_kept":
        return False
    return choice.regions[1] is op.parent


def _heading(func: Func) -> str:
    """Return the comment above a function: its signature in the types of the IR, and its source."""
    args = ", ".join(f"{a.name or '_'}: {a.type}" for a in func.body.args)
    head = f"{func.name}({args}) -> ({', '.join(map(str, func.results))})"
    if not func.source:
        return "\n".join(wrap(comment(head)))
    lines = [line.replace("*/", "* /").replace("/*", "/ *").rstrip() for line in func.source]
    return "\n".join([*wrap(f"/* {head}"), " *", *(f" *     {line}".rstrip() for line in lines), " */"])


def _weights(module: Module, names: ProgramNames) -> str:
    if not names.weights:
        return ""
    members = [
        f"    sc_tensor *{names.members[p.name]}; {comment(f'{p.name}: {p.type}')}" for p in module.params.values()
    ]
    return "\n".join([f"typedef struct {names.weights} {{", *members, f"}} {names.weights};", ""])


def _entry(module: Module, func: Func, names: ProgramNames, *, n_locs: int, flush: bool) -> str:
    """Return the C of the function that callers reach, which unpacks arguments and weights and boxes results."""
    n = len(func.body.args)
    straight = "SC_STRAIGHT " if len(module.params) > MANY_WEIGHTS else ""
    lines = [f"{straight}static int {names.entries[func.name]}(sc_ctx *cx, const sc_value *args, sc_value *results) {{"]
    used = [f"args[{i}].{list_member(a.type)}" for i, a in enumerate(func.body.args)]
    if names.weights:
        weights = ", ".join(f"args[{n + i}].t" for i in range(len(module.params)))
        lines.append(f"    const {names.weights} w = {{{weights}}};")
        used.insert(0, "&w")
    used += [f"&results[{i}].{list_member(t)}" for i, t in enumerate(func.results)]
    if not func.results:
        lines.append("    (void)results;")
    if not n and not names.weights:
        lines.append("    (void)args;")
    if n_locs:
        lines.append("    cx->locs = locs;")
    call = f"{names.functions[func.name]}({', '.join(['cx', *used])})"
    if flush:
        lines += ["    const uint64_t mode = sc_fp_mode();", "    sc_fp_set(mode | SC_FP_FLUSH);"]
        lines += [f"    const int status = {call};", "    sc_fp_set(mode);", "    return status;"]
    else:
        lines.append(f"    return {call};")
    lines += ["}", ""]
    return "\n".join(piece for line in lines for piece in wrap(line))


def _program(module: Module, names: ProgramNames, entries: tuple[CEntry, ...], n_locs: int) -> str:
    rows = [f"    {{{c_string(e.name)}, {names.entries[e.name]}, {e.n_args}, {e.n_results}}}," for e in entries]
    locs = "locs" if n_locs else "NULL"
    return "\n".join([
        "static const sc_entry entries[] = {", *rows, "};", "",
        "#ifndef SC_LEVEL", '#define SC_LEVEL "native"', "#endif", "",
        "static const sc_program program = {",
        f"    SC_ABI_VERSION, {c_string(module.name)}, SC_LEVEL, {len(entries)}, entries, {locs}, {n_locs},",
        "};", "",
        '__attribute__((visibility("default"))) const sc_program *sc_program_get(void);', "",
        "const sc_program *sc_program_get(void) {", "    return &program;", "}", "",
    ])  # fmt: skip
