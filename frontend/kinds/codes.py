"""Code objects of functions that compiled code makes: how many parameters such a function has."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from types import CodeType

from scriptc.frontend.operations.materialize import make_tuple
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import AbstractValue, Closure, Known, Structure


@dataclass(eq=False, slots=True)
class CodeValue(AbstractValue):
    """The `__code__` of a function."""

    node: ast.FunctionDef | ast.Lambda


def attribute_of_closure(reader: Reader, owner: Closure, name: str) -> AbstractValue:
    match name:
        case "__code__":
            return CodeValue(owner.node)
        case "__defaults__":
            return make_tuple(list(owner.defaults)) if owner.defaults else Known(None)
        case "__name__":
            return Known(_name(owner.node))
    reader.reject("attribute_of_function", name=name)


def _name(node: ast.FunctionDef | ast.Lambda) -> str:
    return node.name if isinstance(node, ast.FunctionDef) else "<lambda>"


@verbs.attribute.of(CodeValue)
def attribute_of_code(reader: Reader, owner: CodeValue, name: str) -> AbstractValue:
    given = owner.node.args
    match name:
        case "co_argcount":
            return Known(len(given.posonlyargs) + len(given.args))
        case "co_posonlyargcount":
            return Known(len(given.posonlyargs))
        case "co_kwonlyargcount":
            return Known(len(given.kwonlyargs))
        case "co_name":
            return Known(_name(owner.node))
    reader.reject("attribute_of_function", name=f"__code__.{name}")


@verbs.describe.of(CodeValue)
def description_of_code(owner: CodeValue) -> str:
    return "a code object"


@verbs.structure_of.of(CodeValue)
def structure_of_code(owner: CodeValue) -> Structure:
    return Structure(("code", id(owner.node)), [], lambda parts: owner)


@verbs.python_class.of(CodeValue)
def class_of_code(reader: Reader, owner: CodeValue) -> type:
    return CodeType


@verbs.class_name_of.of(CodeValue)
def class_name_of_code(reader: Reader, owner: CodeValue) -> str:
    return "code"
