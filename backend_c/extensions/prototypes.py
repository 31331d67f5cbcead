"""Read the prototypes of an extension's headers.

The C preprocessor runs over the headers. Lines that come from system headers, and from scriptc's, are dropped, and the
types that they would have declared are declared in a few words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from pycparser import c_ast
from pycparser.c_parser import CParser, ParseError

from scriptc.backend_c.extensions.errors import ExtensionError
from scriptc.ir.extern import MOST_PARAMETERS, ExternPrototype, ExternType

TH_DTYPES = {
    "THFloatTensor": "f32", "THDoubleTensor": "f64", "THLongTensor": "i64", "THIntTensor": "i32", "THShortTensor": "i16",
    "THCharTensor": "i8", "THByteTensor": "u8",
}  # fmt: skip
CUDA_DTYPES = {"THCudaTensor": "f32"}
_TENSORS = {"DLTensor": "", **TH_DTYPES, **CUDA_DTYPES}
# (bits, signed) by the words of a C type, without `int` beside others and `signed` beside others, in alphabetical order. A
# long has 64 bits on all machines that scriptc runs on.
_INTEGERS = {
    "char": (8, True), "char unsigned": (8, False), "short": (16, True), "short unsigned": (16, False),
    "int": (32, True), "unsigned": (32, False), "long": (64, True), "long unsigned": (64, False),
    "long long": (64, True), "long long unsigned": (64, False),
    "int8_t": (8, True), "int16_t": (16, True), "int32_t": (32, True), "int64_t": (64, True),
    "uint8_t": (8, False), "uint16_t": (16, False), "uint32_t": (32, False), "uint64_t": (64, False),
    "size_t": (64, False), "ssize_t": (64, True), "ptrdiff_t": (64, True), "intptr_t": (64, True), "uintptr_t": (64, False),
}  # fmt: skip
_KNOWN = sorted({*_TENSORS, *(name for name in _INTEGERS if name.endswith("_t")), "sc_status", "FILE", "va_list"})
_PREAMBLE = "".join(f"typedef int {name};\n" for name in _KNOWN)
# What pycparser does not read, in the words of headers of C compilers.
PARSER_MACROS = (
    "-D__attribute__(x)=", "-D__extension__=", "-D__restrict=restrict", "-D__inline=inline", "-D__asm__(x)=",
    "-D_Noreturn=", "-D__const=const", "-Dbool=_Bool",
)  # fmt: skip
_MARKER = re.compile(r'#\s*(?:line\s+)?(\d+)\s+"((?:[^"\\]|\\.)*)"((?:\s+\d+)*)\s*$')


def read_prototypes(text: str, headers: Sequence[Path]) -> tuple[ExternPrototype, ...]:
    """Return the functions that preprocessed headers declare, in the order of their declarations.

    headers: the files whose declarations count. Those of other files only define types.
    """
    kept = _own_lines(text)
    try:
        tree = CParser().parse(_PREAMBLE + kept, "scriptc_extension.h")
    except ParseError as e:
        raise ExtensionError(f"scriptc cannot read the declarations of the extension's headers: {e}") from None
    own, typedefs = {str(path) for path in headers}, dict[str, c_ast.Node]()
    found: dict[str, ExternPrototype] = {}
    for node in tree.ext:
        if isinstance(node, c_ast.Typedef) and node.name not in _KNOWN:
            typedefs[node.name] = node.type
        elif isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl):
            if "static" not in node.storage and node.coord and node.coord.file in own:
                found[node.name] = _Reader(typedefs, node).prototype()
    return tuple(found.values())


def _own_lines(text: str) -> str:
    """Return the lines that are not of system headers, with markers that say which file and line each is of."""
    kept, is_system = list[str](), False
    for line in text.splitlines():
        marker = _MARKER.match(line)
        if marker is not None:
            is_system = "3" in marker[3].split() or marker[2].startswith("<")
            if not is_system:
                kept.append(f'# {marker[1]} "{unescaped(marker[2])}"')
        elif not is_system and not line.lstrip().startswith("#"):
            kept.append(line)
    return "\n".join([*kept, ""])


def unescaped(name: str) -> str:
    """Return the file name of a marker, in which the preprocessor writes other bytes than ASCII in octal."""
    data = re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m[1], 8)]), name.encode(errors="surrogateescape"))
    return re.sub(rb'\\(["\\])', rb"\1", data).decode(errors="surrogateescape")


class _Reader:
    """Reads one declaration."""

    def __init__(self, typedefs: Mapping[str, c_ast.Node], declaration: c_ast.Decl) -> None:
        self.typedefs, self.declaration = typedefs, declaration
        coord = declaration.coord
        self.where = f"{coord.file}:{coord.line}"

    def prototype(self) -> ExternPrototype:
        function, name = self.declaration.type, self.declaration.name
        result = self.type_of(function.type, f"what {name} returns")
        if result.kind in ("tensor", "str"):
            self.refuse(f"{name} returns a pointer ({result.text}); return a number, an sc_status or nothing, and write "
                        "tensors that the function is given")  # fmt: skip
        parameters = dict[str, ExternType]()
        if function.args is not None and len(function.args.params) > MOST_PARAMETERS:
            self.refuse(f"{name} has more than {MOST_PARAMETERS} parameters")
        for number, parameter in enumerate(self.parameters(function), 1):
            known = parameter.name or f"argument {number}"
            label = parameter.name or f"argument{number}"
            parameters[label] = self.type_of(parameter.type, f"{known} of {name}")
            if parameters[label].kind in ("status", "none"):
                self.refuse(f"{known} of {name} is of the type {parameters[label].text}, which is of results alone")
        return ExternPrototype(name, tuple(parameters.items()), result, self.where)

    def parameters(self, function: c_ast.FuncDecl) -> Iterator[c_ast.Node]:
        given = function.args.params if function.args is not None else []
        for parameter in given:
            if isinstance(parameter, c_ast.EllipsisParam):
                self.refuse(f"{self.declaration.name} takes any number of arguments (...), which Python cannot pass")
            if isinstance(parameter, c_ast.ID):
                self.refuse(f"{self.declaration.name} is declared without the types of its parameters")
            is_void = _text(parameter.type) == "void"
            if not (is_void and len(given) == 1 and parameter.name is None):
                yield parameter

    def type_of(self, node: c_ast.Node, what: str) -> ExternType:
        text = _text(node)
        names, constant, depth = self.resolved(node)
        plain = [name for name in names if name not in ("int", "signed")]
        words = " ".join(sorted(plain)) or "int"
        if depth == 0:
            if words == "void":
                return ExternType("none", "void")
            if words == "sc_status":
                return ExternType("status", text, 32)
            if words == "_Bool":
                return ExternType("bool", text, 1)
            if words in ("float", "double"):
                return ExternType("float", text, 32 if words == "float" else 64)
            if words in _INTEGERS:
                bits, signed = _INTEGERS[words]
                return ExternType("int", text, bits, signed)
        if depth == 1 and words in _TENSORS:
            return ExternType("tensor", text, dtype=_TENSORS[words], written=not constant)
        if depth == 1 and words == "char" and constant:
            return ExternType("str", text)
        advice = "take a number, a `const char *` or a `DLTensor *`"
        if depth == 1 and (words in _INTEGERS or words in ("float", "double", "void")):
            advice = "take a `DLTensor *`, whose data is such a pointer"
        self.refuse(f"{what} is of the type `{text}`, for which Python has no value: {advice}")

    def resolved(self, node: c_ast.Node) -> tuple[list[str], bool, int]:
        """Return the words of a type behind its typedefs, whether it (or what it points to) is const, and its stars."""
        depth, constant = 0, False
        while True:
            if isinstance(node, (c_ast.PtrDecl, c_ast.ArrayDecl)):
                depth, constant, node = depth + 1, False, node.type
            elif isinstance(node, (c_ast.TypeDecl, c_ast.Typename, c_ast.Decl)):
                constant = constant or "const" in getattr(node, "quals", ())
                node = node.type
            elif isinstance(node, c_ast.IdentifierType) and len(node.names) == 1 and node.names[0] in self.typedefs:
                node = self.typedefs[node.names[0]]
            elif isinstance(node, c_ast.IdentifierType):
                return list(node.names), constant, depth
            elif isinstance(node, c_ast.Enum):
                return ["int"], constant, depth
            else:
                return [_text(node)], constant, depth

    def refuse(self, message: str) -> NoReturn:
        raise ExtensionError(f"{self.where}: {message}")


def _text(node: c_ast.Node) -> str:
    """Return a type as C, without the name of what has the type."""
    if isinstance(node, c_ast.PtrDecl):
        inner = _text(node.type)
        return inner + ("*" if inner.endswith("*") else " *")
    if isinstance(node, c_ast.ArrayDecl):
        return f"{_text(node.type)} *"
    if isinstance(node, (c_ast.TypeDecl, c_ast.Typename, c_ast.Decl)):
        quals = [] if isinstance(node, c_ast.Decl) else list(node.quals or ())
        return " ".join([*quals, _text(node.type)])
    if isinstance(node, c_ast.IdentifierType):
        return " ".join(node.names)
    if isinstance(node, (c_ast.Struct, c_ast.Union, c_ast.Enum)):
        return f"{type(node).__name__.lower()} {node.name or '{...}'}"
    return "a function"
