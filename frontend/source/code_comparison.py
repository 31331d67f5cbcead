"""Compare the code object of a function with the code that a text compiles to.

`equal_code` is exact, except for positions in the file. `is_rewritten` accepts code whose text a tool rewrote at
import: pytest rewrites `assert`, and typeguard adds type checks. The code must then contain the instructions of each
line of the text, in order, and any other instructions must bear the mark of a tool.
"""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from types import CodeType, EllipsisType, NoneType
from typing import Any, NamedTuple, TypeVar

from scriptc.frontend.source.nodes import all_nodes

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Node = TypeVar("_Node", bound=ast.AST)


class Token(NamedTuple):
    """An instruction, with its name, constant or number. Lines count from the first line of the function."""

    line: int
    category: str
    text: str
    value: Any = None


_FLAGS = (
    inspect.CO_VARARGS
    | inspect.CO_VARKEYWORDS
    | inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)
# Flags of `from __future__`. The bit that is left out is another flag in Python 3.14, for docstrings.
_FUTURE = 0xFFF0000 & ~0x4000000
_SILENT = frozenset(  # instructions without an effect of their own
    "NOP CACHE RESUME EXTENDED_ARG PRECALL PUSH_NULL POP_TOP MAKE_CELL COPY_FREE_VARS LOAD_CLOSURE RETURN_GENERATOR".split()
)
_JUMPS = frozenset([*dis.hasjrel, *dis.hasjabs])
_JUMP = re.compile("IF_(NOT_)?(TRUE|FALSE|NONE)")
_NAMING = frozenset([*dis.hasname, *dis.haslocal, *dis.hasfree])
_METHOD_BIT = sys.version_info >= (3, 12)  # whether LOAD_ATTR has a bit for method calls


# ---- what a text compiles to ----


def compiled(node: FunctionNode, code: CodeType) -> Iterator[tuple[CodeType, str | None]]:
    """Yield the code objects that a function's node may compile to, with the name of the class around the function.

    The features of `from __future__` and the free variables are those of `code`. The class matters only if names are
    private to it. Defaults, decorators and annotations are no part of a function's code.
    """
    bare = _without_surroundings(node)
    outer = [name for name in code.co_freevars if name != "__class__"]
    for owner in classes_around(bare, code):
        body: list[ast.stmt] = [bare if isinstance(bare, ast.stmt) else ast.copy_location(ast.Expr(bare), bare)]
        if outer:
            names = [_at_start(ast.arg(name)) for name in outer]
            body = [_at_start(_definition("_", ast.arguments([], names, None, [], [], None, []), body))]
        if owner is not None:
            made = _at_start(ast.ClassDef(owner, [], [], body, []))
            made.type_params = []  # type: ignore[attr-defined, unused-ignore]
            body = [made]
        imports = [_at_start(ast.Import([_at_start(ast.alias(name))])) for name in _imported(code)]
        module = ast.Module([*imports, *body], [])
        found = compile(module, code.co_filename, "exec", code.co_flags & _FUTURE, dont_inherit=True)
        for _ in range(bool(outer) + (owner is not None)):
            found = next(c for c in found.co_consts if isinstance(c, CodeType))
        yield from ((c, owner) for c in found.co_consts if isinstance(c, CodeType))


def _at_start(node: _Node) -> _Node:
    """Give a node the location that `ast.fix_missing_locations` gives it, which visits the whole function."""
    vars(node).update(lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)
    return node


def _definition(name: str, arguments: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    made = ast.FunctionDef(name, arguments, body, [], None)
    made.type_params = []  # type: ignore[attr-defined, unused-ignore]
    return made


def _without_surroundings(node: FunctionNode) -> FunctionNode:
    """Return a copy of a function's node that shares its body."""
    old = node.args

    def bare(arg: ast.arg | None) -> Any:
        return arg and ast.copy_location(ast.arg(arg.arg), arg)

    arguments = ast.arguments(
        [bare(a) for a in old.posonlyargs], [bare(a) for a in old.args], bare(old.vararg),
        [bare(a) for a in old.kwonlyargs], [None] * len(old.kwonlyargs), bare(old.kwarg), [],
    )  # fmt: skip
    if isinstance(node, ast.Lambda):
        return ast.copy_location(ast.Lambda(arguments, node.body), node)
    kind: Any = type(node)
    made: FunctionNode = kind(node.name, arguments, node.body, [], None)
    made.type_params = []  # type: ignore[union-attr, unused-ignore]
    return ast.copy_location(made, node)


def classes_around(node: FunctionNode, code: CodeType) -> Iterator[str | None]:
    """Yield the names of classes that may be around a function, None for no class. Private names in the code contain
    the name."""
    mangled = {n for n in all_names(code) if n[:1] == "_" and "__" in n[1:] and n[-2:] != "__"}
    private = {name for _, _, name in private_names(node)} if mangled else ()
    found = {n.removesuffix(p)[1:] for n in mangled for p in private if n.endswith(p)}
    yield from sorted(found - {""})
    yield "_" if "__class__" in code.co_freevars else None


def private_names(function: FunctionNode) -> Iterator[tuple[ast.AST, str, str]]:
    """Yield the names in a function that a class around it would make private, as (node, field, name)."""
    for node in all_nodes(function):
        for field, value in ast.iter_fields(node):
            of_others = node is function or isinstance(node, (ast.alias, ast.keyword))
            if field in ("id", "attr", "asname", "rest", "names") or field in ("name", "arg") and not of_others:
                names = value if isinstance(value, list) else [value]
                yield from ((node, field, n) for n in names if isinstance(n, str) and n[:2] == "__" and n[-2:] != "__")


def make_private(function: FunctionNode, owner: str | None) -> None:
    """Mangle private names in a function as the class `owner` does."""
    owner = (owner or "").lstrip("_")
    for node, field, name in list(private_names(function)) if owner else ():
        value, full = getattr(node, field), f"_{owner}{name}"
        setattr(node, field, [full if n == name else n for n in value] if isinstance(value, list) else full)


_LOADS = {
    op: name for name, op in dis.opmap.items() if re.search("LOAD_(GLOBAL|NAME|DEREF|FAST(_BORROW|_CHECK)?)$", name)
}
_PAIRS = {
    op for op, name in _LOADS.items() if name.count("_FAST") == 2
}  # the argument's low four bits index the second name
_GLOBAL, _ATTRIBUTE, _METHOD, _SUPER, _CACHE = map(
    dis.opmap.get, ("LOAD_GLOBAL", "LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "CACHE")
)


def _imported(code: CodeType) -> set[str]:
    """Return the names that the module of a code object imports, as far as the code shows them.

    From Python 3.11 on, a call of an attribute of an imported name does not look for a method. From Python 3.12 on, a
    call of an attribute of `super()` has its own instruction, unless the module binds `super` itself.
    """
    if sys.version_info < (3, 11):
        return set()
    uses = set(_attribute_uses(code))
    if "super" in all_names(code):
        uses.add(("super", False))
    return {name for name, is_method in uses if not is_method and (name, True) not in uses}


def _attribute_uses(code: CodeType) -> Iterator[tuple[str, bool]]:
    """Yield each name whose attribute is loaded, and whether the attribute is loaded as a method."""
    last, high = "", 0
    for op, arg in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        arg |= high
        high = arg << 8 if op == dis.EXTENDED_ARG else 0
        if op == dis.EXTENDED_ARG or op == _CACHE:
            continue
        if op == _SUPER:
            yield "super", True
        if last and op in (_METHOD, _ATTRIBUTE):
            yield last, op == _METHOD or _METHOD_BIT and bool(arg & 1)
        last = _loaded(code, op, arg) if op in _LOADS else ""
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _attribute_uses(const)


def _loaded(code: CodeType, op: int, arg: int) -> str:
    """Return the name that an instruction of Python 3.11 or later loads."""
    if op == _GLOBAL:
        return code.co_names[arg >> 1]
    if _LOADS[op] == "LOAD_NAME":
        return code.co_names[arg]
    name: str = code._varname_from_oparg(arg & 15 if op in _PAIRS else arg)  # type: ignore[attr-defined]
    return name


def all_names(code: CodeType) -> Iterator[str]:
    yield from (*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars)
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from all_names(const)


# ---- the exact comparison ----


def equal_code(a: CodeType, b: CodeType) -> bool:
    """Return whether two code objects do the same. Names, files and lines do not count."""
    return (
        signature(a) == signature(b)
        and a.co_code == b.co_code
        and a.co_names == b.co_names
        and a.co_varnames == b.co_varnames
        and a.co_freevars == b.co_freevars
        and a.co_cellvars == b.co_cellvars
        and getattr(a, "co_exceptiontable", None) == getattr(b, "co_exceptiontable", None)
        and _equal_constants(a.co_consts, b.co_consts)
    )


def signature(code: CodeType) -> tuple[Any, ...]:
    """Return the interface of a code object: its arguments, and whether it is a generator or a coroutine."""
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    flags = code.co_flags & _FLAGS
    last = code.co_argcount + code.co_kwonlyargcount
    last += bool(flags & inspect.CO_VARARGS) + bool(flags & inspect.CO_VARKEYWORDS)
    return *counts, flags, code.co_varnames[:last]


def _equal_constants(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, CodeType):
        return equal_code(a, b)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_equal_constants, a, b))
    if isinstance(a, frozenset):
        return len(a) == len(b) and all(map(_equal_constants, sorted(a, key=repr), sorted(b, key=repr)))
    return _spelled(a) == _spelled(b)


def _spelled(constant: Any) -> str:
    """Return the text of a constant, which distinguishes 0.0 from -0.0. Qualified names lose their prefix."""
    if isinstance(constant, str) and ".<locals>." in constant:
        constant = constant.rpartition(".")[2]
    return repr(constant)


# ---- the comparison with rewritten code ----


def is_rewritten(found: CodeType, code: CodeType, node: FunctionNode) -> bool:
    """Return whether a tool made `code` from the text of `node`, which compiles to `found`.

    Each line must have the same instructions in the same order. Instructions without an effect of their own do not
    count, since they differ between releases of Python. Two tools add instructions and leave marks: pytest rewrites
    `assert` with names that no text can spell, and typeguard's decorator wraps values in calls of functions that it
    imports.
    """
    if signature(found) != signature(code):
        return False
    begin = first_line(node)
    text, own = list(_tokens(found, begin)), list(_tokens(code, code.co_firstlineno))
    has_marks = not all(map(_can_be_spelled, all_names(code)))
    changed = _lines_of_asserts(node, begin) if has_marks else frozenset()
    return _by_line(text, changed) == _by_line(own, changed) or _is_checked(text, own, node)


def first_line(node: FunctionNode) -> int:
    """Return the line that Python counts as a function's first: the line of its first decorator."""
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])


def _can_be_spelled(name: str) -> bool:
    return name.isidentifier() or name.startswith(".")  # ".0" is the argument of a comprehension


def _lines_of_asserts(node: FunctionNode, begin: int) -> frozenset[int]:
    found = (n for n in all_nodes(node) if isinstance(n, ast.Assert))
    return frozenset(line - begin for n in found for line in range(n.lineno, (n.end_lineno or n.lineno) + 1))


def _tokens(code: CodeType, begin: int) -> Iterator[Token]:
    """Yield the instructions of a code object, with nested ones."""
    lines, line = dict(dis.findlinestarts(code)), 0
    for found in dis.get_instructions(code):
        line = (lines.get(found.offset) or line + begin) - begin
        name, value = found.opname, found.argval
        if name == "KW_NAMES":
            value = code.co_consts[found.arg or 0]
        if isinstance(value, CodeType):
            yield Token(line, "code", value.co_name)
            yield from _tokens(value, begin)
        elif name.count("_FAST") == 2:  # one instruction stands for two
            for part, variable in zip(re.findall("LOAD|STORE", name), value, strict=True):
                yield Token(line, part, variable)
        elif found.opcode in dis.hasconst or name in ("KW_NAMES", "LOAD_SMALL_INT"):
            yield Token(line, "constant", _spelled(value), value)
        elif name in _SILENT:
            continue
        elif isinstance(value, str) and found.opcode in _NAMING:
            yield Token(line, name.partition("_")[0], value)
        elif found.opcode in _JUMPS:
            test = _JUMP.search(name)
            yield Token(line, "jump", test[0] if test else name)
        else:
            yield Token(line, name, str(found.arg))


def _by_line(tokens: Iterable[Token], without: frozenset[int]) -> dict[int, list[tuple[str, str]]]:
    found: dict[int, list[tuple[str, str]]] = {}
    for token in tokens:
        if token.line not in without:
            found.setdefault(token.line, []).append((token.category, token.text))
    return found


def _is_checked(text: list[Token], own: list[Token], node: FunctionNode) -> bool:
    """Return whether code has all names and constants of a text, and only those additional ones that type checks need.

    Additional names may be arguments, names that the code imports or binds, builtins, `__class__`, and names in
    annotations.
    """
    added = _names(own) - _names(text)
    if not _names(own, "IMPORT") - _names(text, "IMPORT") or not _names(text) <= _names(own):
        return False
    constants, own_constants = _constants(text), _constants(own)
    annotated = [a for n in all_nodes(node) for a in (getattr(n, "annotation", None), getattr(n, "returns", None)) if a]
    parts = [n for a in annotated for n in all_nodes(a)]
    words = {n.arg for n in all_nodes(node.args) if isinstance(n, ast.arg)} | {"__class__"}
    words |= {n.id if isinstance(n, ast.Name) else n.attr for n in parts if isinstance(n, (ast.Name, ast.Attribute))}
    known = {repr(n.value) for n in parts if isinstance(n, ast.Constant)} | {"0"}  # an import loads the constant 0
    numbers = {c for c, value in own_constants.items() if not isinstance(value, (str, NoneType, EllipsisType))}
    return (
        added <= _names(own, "IMPORT") | _names(own, "STORE") | vars(builtins).keys() | words
        and constants.keys() <= own_constants.keys()
        and numbers - constants.keys() <= known
    )


def _names(tokens: Iterable[Token], *categories: str) -> set[str]:
    return {t.text for t in tokens if t.category in (categories or ("LOAD", "STORE", "DELETE", "IMPORT"))}


def _constants(tokens: Iterable[Token]) -> dict[str, Any]:
    """Return constants by their text. Constants in tuples and sets count one by one."""
    found: dict[str, Any] = {}
    todo = [t.value for t in tokens if t.category == "constant"]
    while todo:
        value = todo.pop()
        if isinstance(value, (tuple, frozenset)):
            todo += value
        else:
            found[_spelled(value)] = value
    return found
