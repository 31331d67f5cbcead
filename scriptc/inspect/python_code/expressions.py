"""The Python of one op of the IR: an operator, a function of PyTorch or Python, or a call of `ops`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from scriptc.ir.core import Op, Value
from scriptc.ir.dtypes import TORCH_NAMES
from scriptc.ir.handlers import handlers
from scriptc.ir.types import ListType, ObjectType, ScalarType, TensorType, TupleType, Type

ATOM, POWER, UNARY, PRODUCT, SUM, SHIFT, BIT_AND, BIT_XOR, BIT_OR, COMPARISON, NOT, LOWEST = range(12, 0, -1)

_BINARY = {
    "add": ("+", SUM), "sub": ("-", SUM), "mul": ("*", PRODUCT), "truediv": ("/", PRODUCT), "floordiv": ("//", PRODUCT),
    "mod": ("%", PRODUCT), "pow": ("**", POWER), "lshift": ("<<", SHIFT), "rshift": (">>", SHIFT),
    "and_": ("&", BIT_AND), "or_": ("|", BIT_OR), "xor": ("^", BIT_XOR), "matmul": ("@", PRODUCT),
    "eq": ("==", COMPARISON), "ne": ("!=", COMPARISON), "lt": ("<", COMPARISON), "le": ("<=", COMPARISON),
    "gt": (">", COMPARISON), "ge": (">=", COMPARISON), "is_": ("is", COMPARISON),
}  # fmt: skip
_UNARY = {"neg": ("-", UNARY), "invert": ("~", UNARY), "not_": ("not ", NOT)}
# Ops of tensors whose operator is that of a Python function of another name.
_SAME_NAME = "add sub mul matmul eq ne lt le gt ge".split()
_TENSOR_OPERATORS = {"div": "truediv", "floor_divide": "floordiv", **dict(zip(_SAME_NAME, _SAME_NAME, strict=True))}
_END = 2**63 - 1  # an end of a slice beyond all sizes

TEXTS, texts = handlers()


@dataclass(frozen=True)
class Text:
    """The text of an expression and how tightly its outermost operator binds."""

    text: str
    binds: int = ATOM

    def __str__(self) -> str:
        return self.text

    def within(self, binds: int) -> str:
        """Return the text as an operand of an operator that binds so tightly."""
        return self.text if self.binds >= binds else f"({self.text})"


def literal(value: Any) -> str:
    """Return a constant as Python."""
    if isinstance(value, float) and not math.isfinite(value):
        return "math.nan" if math.isnan(value) else "math.inf" if value > 0 else "-math.inf"
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))}{',' * (len(value) == 1)})"
    return repr(value)


class Expressions:
    """Write ops as expressions.

    text_of: the text of a value. outside: the name of an object that the Python needs, such as a class.
    """

    def __init__(self, text_of: Callable[[Value], Text], outside: Callable[[str, Any], str]):
        self.text_of = text_of
        self.outside = outside

    def of(self, op: Op) -> Text:
        """Return the expression of an op. An op without results is a statement."""
        special = TEXTS.get(op.name)
        found = special(self, op) if special is not None else None
        if found is not None:
            return found if isinstance(found, Text) else Text(found)
        name = op.defn.ref or (op.defn.torch[0] if op.defn.torch else "")
        operator = name.removeprefix("operator.") if name.startswith("operator.") else _TENSOR_OPERATORS.get(op.name, "")
        if not op.attrs and operator:
            if operator in _BINARY and len(op.operands) == 2:
                return self._binary(op, *_BINARY[operator])
            if operator in _UNARY and len(op.operands) == 1:
                sign, binds = _UNARY[operator]
                return Text(f"{sign}{self.within(op, 0, binds)}", binds)
            if operator == "getitem":
                return Text(f"{self.within(op, 0)}[{self[op, 1]}]")
            if operator == "setitem":
                return Text(f"{self.within(op, 0)}[{self[op, 1]}] = {self[op, 2]}")
            if operator == "contains":
                return Text(f"{self.within(op, 1, COMPARISON + 1)} in {self.within(op, 0, COMPARISON + 1)}", COMPARISON)
        return self._call(op, name)

    def __getitem__(self, at: tuple[Op, int]) -> str:
        """Return the text of an operand."""
        op, index = at
        return self.text_of(op.operands[index]).text

    def within(self, op: Op, index: int, binds: int = ATOM) -> str:
        return self.text_of(op.operands[index]).within(binds)

    def values(self, values: Sequence[Value]) -> str:
        return ", ".join(self.text_of(v).text for v in values)

    def tuple_of(self, values: Sequence[Value]) -> str:
        return f"({self.values(values)}{',' * (len(values) == 1)})"

    def _binary(self, op: Op, sign: str, binds: int) -> Text:
        # A comparison of comparisons would be a chain, and a power binds to the right.
        left = binds + (binds in (COMPARISON, POWER))
        return Text(f"{self.within(op, 0, left)} {sign} {self.within(op, 1, binds + 1)}", binds)

    def _call(self, op: Op, name: str) -> Text:
        head, _, rest = name.partition(".")
        plain = head in ("torch", "math", "builtins") and rest
        method = head in ("Tensor", "str", "list", "set", "float") and rest
        if op.has("ELEMENTWISE") and any(not isinstance(v.type, TensorType) for v in op.operands):
            plain = method = ""  # most of torch's functions take only tensors, as `ops` does not
        if not plain and not method:
            return Text(f"ops.{op.name}({', '.join([*self._operands(op), *self._attributes(op)])})")
        positional, keywords = self._arguments(op)
        if method:
            receiver, *positional = positional
            receiver = self.within(op, 0)
            return Text(f"{receiver}.{rest}({', '.join([*positional, *keywords])})")
        name = {"torch": name, "math": name, "builtins": rest}[head].replace("torch.nn.functional.", "F.")
        return Text(f"{name}({', '.join([*positional, *keywords])})")

    def _operands(self, op: Op) -> list[str]:
        return [self.text_of(v).text for v in op.operands]

    def _attributes(self, op: Op) -> list[str]:
        return [f"{key}={literal(value)}" for key, value in op.attrs.items()]

    def _arguments(self, op: Op) -> tuple[list[str], list[str]]:
        """Return the positional arguments and the keyword arguments, in the order of the schema."""
        positional: list[str] = []
        keywords: list[str] = []
        rest = self._operands(op)
        for arg in op.defn.args:
            if arg.is_operand:
                taken = rest if arg.is_list and arg.type == "Value" else [rest.pop(0)]
                positional += taken
            elif arg.name in op.attrs:
                text = attribute(arg.name, op.attrs[arg.name])
                if arg.keyword_only:
                    keywords.append(f"{arg.name}={text}")
                else:
                    positional.append(text)
        return positional, keywords

    # ---- ops that Python writes in a way of its own ----

    @texts("const")
    def const(self, op: Op) -> Text:
        text = literal(op.attrs["value"])
        return Text(text, UNARY if text.startswith("-") else ATOM)

    @texts("undef")
    def undef(self, op: Op) -> str:
        return "None"

    @texts("size")
    def size(self, op: Op) -> str:
        return f"{self.within(op, 0)}.size({literal(op.attrs['dim'])})"

    @texts("cast")
    def cast(self, op: Op) -> str:
        return f"{self.within(op, 0)}.to({dtype(op.attrs['dtype'])})"

    @texts("item.float", "item.int", "item.bool")
    def item(self, op: Op) -> str:
        return f"{op.name.removeprefix('item.')}({self[op, 0]})"

    @texts("neg", "bitwise_not")
    def unary(self, op: Op) -> Text:
        return Text(f"{'-' if op.name == 'neg' else '~'}{self.within(op, 0, UNARY)}", UNARY)

    @texts("linear")
    def linear(self, op: Op) -> str:
        return f"F.linear({self.values(op.operands)})"

    @texts("sum", "mean", "amax", "amin", "all", "any")
    def reduction(self, op: Op) -> str | None:
        dims, keepdim, wanted = op.attrs["dim"], op.attrs["keepdim"], op.attrs["dtype"]
        given = op.operands[0].type
        if not dims or not isinstance(given, TensorType) or set(op.attrs) - {"dim", "keepdim", "dtype"}:
            return None
        every = given.dims is not None and len(dims) == len(given.dims) and not keepdim
        parts = [literal(dims[0] if len(dims) == 1 else dims)] if not every else []
        parts += ["keepdim=True"] if keepdim else []
        if op.name in ("all", "any"):
            return None if wanted != "bool" else f"{self.within(op, 0)}.{op.name}({', '.join(parts)})"
        if wanted != given.dtype:
            if op.name not in ("sum", "mean"):
                return None
            parts.append(f"dtype={dtype(wanted)}")
        elif given.dtype == "bool":
            return None
        return f"{self.within(op, 0)}.{op.name}({', '.join(parts)})"

    @texts("slice")
    def slice(self, op: Op) -> str | None:
        bounds = list(op.operands[1:])
        steps = [literal(op.attrs[k]) if k in op.attrs else None for k in ("start", "end", "step")]
        texts_of = [self.text_of(bounds.pop(0)).text if s is None else s for s in steps]
        return self._item_of(op, _slice_text(*texts_of))

    @texts("select")
    def select(self, op: Op) -> str | None:
        index = literal(op.attrs["index"]) if "index" in op.attrs else self[op, 1]
        return self._item_of(op, index)

    def _item_of(self, op: Op, item: str) -> str | None:
        given, dim = op.operands[0].type, op.attrs["dim"]
        if dim < 0 and (not isinstance(given, TensorType) or given.dims is None):
            return None
        dim += len(given.dims or ()) * (dim < 0)  # type: ignore[attr-defined]
        return f"{self.within(op, 0)}[{', '.join([*[':'] * dim, item])}]"

    @texts("where")
    def where(self, op: Op) -> str:
        wanted = op.attrs["dtype"]
        text = f"torch.where({self.values(op.operands)})"
        kinds = {v.type.dtype for v in op.operands[1:] if isinstance(v.type, TensorType)}
        return text if kinds == {wanted} and len(op.operands) == 3 else f"{text}.to({dtype(wanted)})"

    @texts("tuple")
    def tuple(self, op: Op) -> str:
        found = op.result.type
        assert isinstance(found, TupleType)
        if not isinstance(found.cls, type):
            return self.tuple_of(op.operands)
        name = self.outside(found.cls.__name__, found.cls)
        return f"{name}({self.values(op.operands) if hasattr(found.cls, '_fields') else self.tuple_of(op.operands)})"

    @texts("tuple.get")
    def tuple_get(self, op: Op) -> str:
        return f"{self.within(op, 0)}[{op.attrs['index']}]"

    @texts("tuple.new")
    def tuple_new(self, op: Op) -> str:
        return self.tuple_of(op.operands)

    @texts("list.new")
    def list_new(self, op: Op) -> str:
        return f"[{self.values(op.operands)}]"

    @texts("list.slice")
    def list_slice(self, op: Op) -> str:
        return f"{self.within(op, 0)}[{_slice_text(*(self[op, i] for i in (1, 2, 3)))}]"

    @texts("list.argsort")
    def list_argsort(self, op: Op) -> str:
        values = self.within(op, 0)
        return f"sorted(range(len({values})), key={values}.__getitem__, reverse={op.attrs['reverse']})"

    @texts("list.at")
    def list_at(self, op: Op) -> str:
        return f"{self.within(op, 0)}[{self[op, 1]}]"

    @texts("list.delete")
    def list_delete(self, op: Op) -> str:
        return f"del {self.within(op, 0)}[{self[op, 1]}]"

    @texts("list.splice")
    def list_splice(self, op: Op) -> str:
        return f"{self.within(op, 0)}[{self[op, 1]}:{self[op, 2]}] = {self[op, 3]}"

    @texts("list.tensor")
    def list_tensor(self, op: Op) -> str:
        found = op.result.type
        assert isinstance(found, TensorType)
        return f"torch.tensor({self[op, 0]}, dtype={dtype(found.dtype)})"

    @texts("dict.new", "set.new")
    def empty_table(self, op: Op) -> str:
        return "{}" if op.name == "dict.new" else "set()"

    @texts("cell.new")
    def cell_new(self, op: Op) -> str:
        return f"[{self[op, 0]}]"

    @texts("cell.get")
    def cell_get(self, op: Op) -> str:
        return f"{self.within(op, 0)}[0]"

    @texts("cell.set")
    def cell_set(self, op: Op) -> str:
        return f"{self.within(op, 0)}[0] = {self[op, 1]}"

    @texts("optional.present")
    def present(self, op: Op) -> Text:
        return Text(f"{self.within(op, 0, COMPARISON + 1)} is not None", COMPARISON)

    @texts("optional.unwrap")
    def unwrap(self, op: Op) -> Text:
        return self.text_of(op.operands[0])

    @texts("call")
    def call(self, op: Op) -> str:
        return f"{function_name(op.attrs['func'])}({self.values(op.operands)})"

    @texts("text")
    def text(self, op: Op) -> str:
        return f"text({', '.join([literal(op.attrs['format']), *self._operands(op)])})"

    @texts("exc.is")
    def exc_is(self, op: Op) -> Text:
        classes = ", ".join(self.outside(name, None) for name in op.attrs["classes"])
        if op.attrs["exact"]:
            return Text(f"type({self[op, 0]}) in ({classes},)", COMPARISON)
        return Text(f"isinstance({self[op, 0]}, ({classes},))")

    @texts("object.new")
    def object_new(self, op: Op) -> str:
        record = _record(op.result.type)
        held = [f"{name!r}: {text}" for name, text in zip(record.names, self._operands(op), strict=True)]
        if record.cls is dict:
            return f"{{{', '.join(held)}}}"
        cls = "None" if record.cls is None else self.outside(record.cls.__name__, record.cls)
        return f"instance({cls}, {{{', '.join(held)}}})"

    @texts("object.get")
    def object_get(self, op: Op) -> str:
        return self._field(op)

    @texts("object.set")
    def object_set(self, op: Op) -> str:
        return f"{self._field(op)} = {self[op, 1]}"

    def _field(self, op: Op) -> str:
        record = _record(op.operands[0].type)
        name = record.names[op.attrs["field"]]
        if record.cls is dict:
            return f"{self.within(op, 0)}[{name!r}]"
        return f"{self.within(op, 0)}.{name}" if name.isidentifier() else f"vars({self[op, 0]})[{name!r}]"


def _record(found: Type) -> Any:
    assert isinstance(found, ObjectType)
    return found.record


def _slice_text(start: str, end: str, step: str) -> str:
    start = "" if start == "None" or (start == "0" and step == "1") else start
    end = "" if end in ("None", str(_END)) else end
    return f"{start}:{end}" + ("" if step in ("1", "None") else f":{step}")


def attribute(name: str, value: Any) -> str:
    """Return an attribute of an op as an argument."""
    return dtype(value) if name == "dtype" and value is not None else literal(value)


def dtype(name: str) -> str:
    return f"torch.{TORCH_NAMES[name]}"


def function_name(name: str) -> str:
    """Return the name of a function of the IR as Python has names."""
    return "".join(c if c.isalnum() else "_" for c in name)


def python_type(found: Type) -> str:
    """Return a type of the IR as an annotation."""
    if isinstance(found, TensorType):
        return "Tensor"
    if isinstance(found, ScalarType):
        return {"i64": "int", "f64": "float", "none": "None", "c128": "complex"}.get(found.name, found.name)
    if isinstance(found, ListType):
        return f"tuple[{python_type(found.elem)}, ...]" if found.is_tuple else f"list[{python_type(found.elem)}]"
    if isinstance(found, TupleType):
        return f"tuple[{', '.join(map(python_type, found.items))}]"
    return "Any"
