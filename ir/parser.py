"""The parser of the text form of the IR. It imports lark only when it reads a text."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from scriptc.ir.core import Block, Func, Module, Op, Param, Value
from scriptc.ir.dtypes import DTYPES
from scriptc.ir.errors import CompileError, Diagnostic
from scriptc.ir.loc import Loc
from scriptc.ir.ops import OPS
from scriptc.ir.types import (
    ACTIVATION,
    BOOL,
    COMPLEX,
    EXC,
    FLOAT,
    INT,
    ITER,
    NEVER,
    NONE,
    PACKED,
    ROWS,
    STR,
    CellType,
    ElemType,
    ObjectType,
    OptionalType,
    PtrType,
    Record,
    TensorType,
    TupleType,
    Type,
    TypeVariable,
    dict_of,
    list_of,
    set_of,
    tuple_of,
)

_NAMED_TYPES: dict[str, Type] = {
    str(t): t for t in (INT, FLOAT, BOOL, COMPLEX, STR, NONE, NEVER, PACKED, ACTIVATION, ROWS, EXC, ITER)
}  # fmt: skip
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


@cache
def _lark() -> Any:
    from lark import Lark

    grammar = (Path(__file__).parent / "grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=True)


def parse_module(text: str, file: str = "<ir>") -> Module:
    """Return the module of a text. Raise CompileError with line and column if the text is not IR."""
    from lark import UnexpectedInput

    try:
        tree = _lark().parse(text)
    except UnexpectedInput as e:
        line, col = max(e.line, 1), max(e.column - 1, 0)
        raise CompileError(Diagnostic(Loc(file, line, col), f"not IR text: {_reason(e)}")) from e
    return _Reader(file).module(tree.children[0])


def _reason(e: Any) -> str:
    token = getattr(e, "token", None)
    return f"unexpected {str(token)!r}" if token is not None else str(e).splitlines()[0]


def _unquote(token: str) -> str:
    def replace(m: re.Match[str]) -> str:
        return chr(int(m[1], 16)) if m[1] else _ESCAPES.get(m[2], m[2])

    return re.sub(r"\\u\{([0-9a-f]+)\}|\\(.)", replace, str(token)[1:-1])


def _items(tree: Any) -> list[Any]:
    return [c for c in tree.children if c is not None]


class _Reader:
    """Turn the parse tree into IR. Value names are unique in a function, so one table for each function suffices."""

    def __init__(self, file: str):
        self.file = file
        self.values: dict[str, Value] = {}
        self.records: dict[str, Record] = {}

    def error(self, node: Any, message: str) -> CompileError:
        line = getattr(node, "line", None) or node.meta.line
        col = getattr(node, "column", None) or node.meta.column
        return CompileError(Diagnostic(Loc(self.file, line, col - 1), message))

    def module(self, tree: Any) -> Module:
        header, *rest = tree.children
        name, *entries = _items(header) if header is not None else ['"m"']  # functions alone, as test data has them
        module = Module(_unquote(name), entries=[str(entry)[1:] for entry in entries])
        for child in rest:
            if child.data == "param":
                text, t = child.children
                module.params[_unquote(text)] = Param(_unquote(text), self.type(t))  # type: ignore[arg-type]
            elif child.data == "exception":
                made, *bases = (_unquote(text) for text in _items(child))
                module.exceptions[made] = tuple(bases)
            elif child.data == "record":
                head, *types = [c for c in child.children if c is not None]
                record = module.records[_unquote(head)] = self.record(_unquote(head))
                record.names = tuple(f"f{i}" for i in range(len(types)))
                record.fields = [TypeVariable(self.type(t), fixed=True) for t in types]
            else:
                func = self.func(child)
                module.funcs[func.name] = func
        return module

    def func(self, tree: Any) -> Func:
        symbol, params, results, loc, *ops = tree.children
        self.values = {}
        body = Block()
        self.arguments(body, params)
        self.ops(body, ops)
        return Func(str(symbol)[1:], body, self.types(results), self.loc(loc, symbol))

    def arguments(self, block: Block, typed_values: Any) -> None:
        for pair in _items(typed_values):
            token, t = pair.children
            block.args.append(self.define(token, Value(self.type(t), block)))

    def define(self, token: Any, value: Value) -> Value:
        name = str(token)[1:]
        if name in self.values:
            raise self.error(token, f"{token} is defined twice")
        value.name = name
        self.values[name] = value
        return value

    def use(self, token: Any) -> Value:
        try:
            return self.values[str(token)[1:]]
        except KeyError:
            raise self.error(token, f"{token} is not defined here") from None

    def ops(self, block: Block, trees: list[Any]) -> None:
        for tree in trees:
            if tree is None:
                continue
            results, body = tree.children
            op = getattr(self, body.data)(body)
            tokens = _items(results) if results is not None else []
            if len(tokens) != len(op.results):
                raise self.error(body, f"{op.name} has {len(op.results)} result types but {len(tokens)} names")
            for token, value in zip(tokens, op.results, strict=True):
                self.define(token, value)
            block.append(op)

    def region(self, tree: Any, block: Block) -> tuple[Block, Any]:
        loc, *ops = tree.children
        self.ops(block, ops)
        return block, loc

    def loop(self, tree: Any) -> Op:
        label, counter, *rest = tree.children
        carried, results, region_tree = rest[:-2], rest[-2], rest[-1]
        block = Block()
        operands = []
        if counter is not None:
            variable, *bounds = counter.children
            operands += [self.use(b) for b in bounds]
            block.args.append(self.define(variable, Value(INT, block)))
        initial = [(self.use(c.children[2]), c) for c in carried if c is not None]
        for value, c in initial:
            operands.append(value)
            block.args.append(self.define(c.children[0], Value(self.type(c.children[1]), block)))
        region, loc = self.region(region_tree, block)
        attrs = {"label": str(label), "counted": counter is not None}
        return Op(OPS["loop"], operands, self.types(results), attrs, self.loc(loc, tree), [region])

    def if_(self, tree: Any) -> Op:
        condition, results, then, orelse = tree.children
        operand = self.use(condition)
        then_block, loc = self.region(then, Block())
        else_block, _ = self.region(orelse, Block())
        return Op(OPS["if"], [operand], self.types(results), {}, self.loc(loc, tree), [then_block, else_block])

    def generic(self, tree: Any) -> Op:
        name, *rest = tree.children
        if str(name) not in OPS:
            raise self.error(name, f"there is no op {name}")
        operands: list[Value] = []
        attrs: dict[str, Any] = {}
        types: list[Type] = []
        regions: list[Block] = []
        loc: Any = None
        no_grad = False
        for child in rest:
            if child is None:
                continue
            if not hasattr(child, "data"):
                operands.append(self.use(child))
            elif child.data == "no_grad":
                no_grad = True
            elif child.data == "attrs":
                attrs = {str(a.children[0]): self.literal(a.children[1]) for a in child.children}
            elif child.data == "types":
                types = self.types(child)
            elif child.data == "loc":
                loc = child
            else:
                typed_values, region_tree = child.children
                block = Block()
                if typed_values is not None:
                    self.arguments(block, typed_values)
                region, region_loc = self.region(region_tree, block)
                loc = loc or region_loc
                regions.append(region)
        return Op(OPS[str(name)], operands, types, attrs, self.loc(loc, name), regions, no_grad=no_grad)

    def literal(self, tree: Any) -> Any:
        match tree.data:
            case "string":
                return _unquote(tree.children[0])
            case "int":
                return int(tree.children[0])
            case "float":
                return float(tree.children[0])
            case "tuple":
                return tuple(self.literal(c) for c in _items(tree))
            case other:
                return {"true": True, "false": False, "none": None}[other]

    def types(self, tree: Any) -> list[Type]:
        return [] if tree is None else [self.type(t) for t in _items(tree)]

    def type(self, tree: Any) -> Type:
        name, *rest = tree.children
        args = [c for c in rest if c is not None]
        match tree.data:
            case "tensor" if name in DTYPES:
                return TensorType(str(name), tuple(self.dim(d) for d in args))
            case "tensor_any_rank" if name in DTYPES:
                return TensorType(str(name), None)
            case "type_name" if name in _NAMED_TYPES:
                return _NAMED_TYPES[name]
            case "type_of_any_length" if name == "tuple":
                return tuple_of(self.type(args[0]))
            case "type_of":
                if name == "tuple":
                    return TupleType(tuple(self.type(a) for a in args))
                if name == "list" and len(args) == 1:
                    return list_of(self.type(args[0]))
                if name == "set" and len(args) == 1:
                    return set_of(self.type(args[0]))
                if name == "dict" and len(args) == 2:
                    return dict_of(*map(self.type, args))
                if name in ("optional", "cell") and len(args) == 1:
                    return {"optional": OptionalType, "cell": CellType}[str(name)](self.type(args[0]))
                if name == "object" and len(args) == 1:
                    return ObjectType(self.record(str(args[0].children[0])))
                if name in ("elem", "ptr") and len(args) == 1:
                    return {"elem": ElemType, "ptr": PtrType}[str(name)](str(args[0].children[0]))
        raise self.error(tree, f"there is no type {name}")

    def record(self, name: str) -> Record:
        return self.records.setdefault(name, Record(name))

    def dim(self, tree: Any) -> int | str | None:
        if not tree.children:
            return None
        token = tree.children[0]
        return int(token) if token.type == "INT" else str(token)

    def loc(self, tree: Any, anchor: Any) -> Loc:
        if tree is not None:
            file, line, col = tree.children
            return Loc(_unquote(file), int(line), int(col))
        line = getattr(anchor, "line", None) or anchor.meta.line
        return Loc(self.file, line)
