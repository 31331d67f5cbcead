"""Python's str: immutable, by code points. A string of one character is `str.chr` of its code, so that what asks for
characters one by one can work on numbers (passes/character_codes.py)."""

from __future__ import annotations

from scriptc.ir.opdef import Infer, OpDef, TypeRuleError
from scriptc.ir.ops.rules import Attrs, Operands, fixed
from scriptc.ir.types import BOOL, EXC, FLOAT, INT, STR, Type, list_of

_PURE = frozenset({"PURE"})
_GUARDED = frozenset({"PURE", "GUARDED"})
_LIST = frozenset({"list"})
_STRINGS = list_of(STR)


def _rule(result: Type, *operands: Type) -> Infer:
    def infer(given: Operands, attrs: Attrs) -> tuple[Type, ...]:
        for v, wanted in zip(given, operands, strict=True):
            if v.type != wanted:
                raise TypeRuleError(f"expected {wanted}, not {v.type}")
        return (result,)

    return infer


def _text(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    for v in operands:
        if v.type not in (INT, FLOAT, BOOL, STR, EXC):
            raise TypeRuleError(f"a text cannot hold {v.type}")
    return (STR,)


_NAMES: dict[Type, str] = {INT: "SymInt", FLOAT: "Scalar"}


def _row(name: str, result: Type, operands: str, ref: str, *types: Type, kernel: str | None = None, c: str | None = None,
         emit: str | None = None, raises: bool = False, traits: frozenset[str] = _PURE) -> OpDef:  # fmt: skip
    """`operands` names them; their types are `types`, by default strings."""
    names = operands.split()
    held = (*types, *(STR,) * (len(names) - len(types)))
    schema = "(" + ", ".join(f"{_NAMES.get(t, 'Value')} {n}" for t, n in zip(held, names, strict=True)) + ") -> Value"
    reads = _LIST if _STRINGS in held else frozenset()
    return OpDef(name, schema, _rule(result, *held), traits, ref=ref, kernel=kernel, c=c, emit=emit, raises=raises,
                 reads=reads)  # fmt: skip


_COMPARE = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_SPAN = (STR, STR, INT, INT)
MAPPINGS = ("upper", "lower", "title", "capitalize", "swapcase", "casefold")
# Tests of all characters of a string, with the bit of sc_unicode.h that each has.
CLASSES = {"isalpha": "ALPHA", "isdecimal": "DECIMAL", "isdigit": "DIGIT", "isnumeric": "NUMERIC", "isspace": "SPACE",
           "isprintable": "PRINTABLE", "isalnum": "ALNUM"}  # fmt: skip

ROWS = [
    _row("str.len", INT, "self", "builtins.len", c="{0}->len"),
    # index: Python's, from either end; IndexError
    _row("str.code", INT, "self index", "str:code", STR, INT, kernel="sc_str_get", raises=True),
    # index: proved to lie in 0..len-1
    _row("str.code_at", INT, "self index", "str:code", STR, INT, c="(int64_t)sc_str_code({0}, {1})", traits=_GUARDED),
    # code: proved to be one
    _row("str.chr", STR, "code", "builtins.chr", INT, kernel="sc_str_chr", traits=_GUARDED),
    _row("str.eq", BOOL, "a b", "operator.eq", c="sc_str_equal({0}, {1})"),
    _row("str.ne", BOOL, "a b", "operator.ne", c="!sc_str_equal({0}, {1})"),
    *(_row(f"str.{n}", BOOL, "a b", f"operator.{n}", c=f"(sc_str_compare({{0}}, {{1}}) {sign} 0)")
      for n, sign in _COMPARE.items()),
    _row("str.concat", STR, "a b", "operator.add", emit="str_concat"),
    _row("str.push", STR, "a code", "str:push", STR, INT, emit="str_push", traits=_GUARDED),  # a + chr(code)
    _row("str.repeat", STR, "self times", "operator.mul", STR, INT, kernel="sc_str_repeat"),
    # bounds: Python's; what stands for None is beyond the end. step: not 0
    _row("str.slice", STR, "self start stop step", "str:slice", STR, INT, INT, INT, kernel="sc_str_slice", traits=_GUARDED),
    _row("str.contains", BOOL, "self sub", "operator.contains", c="(sc_str_find({0}, {1}, 0, {0}->len) >= 0)"),
    _row("str.holds", BOOL, "self code", "str:holds", STR, INT, c="sc_str_holds({0}, {1})"),  # chr(code) in self
    *(_row(f"str.{n}", INT, "self sub start stop", f"str.{n}", *_SPAN, kernel=f"sc_str_{n}")
      for n in ("find", "rfind", "count")),
    *(_row(f"str.{n}", BOOL, "self sub start stop", f"str.{n}", *_SPAN, c=f"sc_str_{n}({{0}}, {{1}}, {{2}}, {{3}})")
      for n in ("startswith", "endswith")),
    _row("str.replace", STR, "self old new count", "str.replace", STR, STR, STR, INT, kernel="sc_str_replace"),
    _row("str.join", STR, "self parts", "str.join", STR, _STRINGS, kernel="sc_str_join"),
    *(_row(f"str.{n}", STR, "self", f"str.{n}", kernel=f"sc_str_{n}") for n in MAPPINGS),
    *(_row(f"str.{n}", BOOL, "self", f"str.{n}", c=f"sc_str_all({{0}}, SC_{bit}, {str(n == 'isprintable').lower()})")
      for n, bit in CLASSES.items()),
    *(_row(f"str.{n}", BOOL, "self", f"str.{n}", c=f"sc_str_{n}({{0}})")
      for n in ("islower", "isupper", "istitle", "isidentifier", "isascii")),
    # of the code of one character
    *(_row(f"code.{n}", BOOL, "code", f"code:{n}", INT, c=f"sc_code_is({{0}}, SC_{bit})")
      for n, bit in (*CLASSES.items(), ("islower", "LOWER"), ("isupper", "UPPER"), ("islinebreak", "LINEBREAK"))),
    *(_row(f"code.{n}", STR, "code", f"code:{n}", INT, kernel=f"sc_code_{n}") for n in ("lower", "upper")),
    _row("str.repr", STR, "self", "builtins.repr", kernel="sc_str_repr"),
    _row("str.escaped", STR, "self", "str:escaped", kernel="sc_str_escaped"),  # ascii(x) of repr(x)
    _row("parse.int", INT, "text base", "builtins.int", STR, INT, kernel="sc_int_parse", raises=True),
    _row("parse.float", FLOAT, "text", "builtins.float", kernel="sc_float_parse", raises=True),
    _row("format.int", STR, "value spec", "builtins.format", INT, STR, kernel="sc_int_format", raises=True),
    _row("format.float", STR, "value spec", "builtins.format", FLOAT, STR, kernel="sc_float_format", raises=True),
    _row("format.str", STR, "value spec", "builtins.format", STR, STR, kernel="sc_str_format", raises=True),
    # str(self) under torch's print options; scientific: -1 where the numbers decide
    OpDef("text.tensor", "(Tensor self, SymInt precision, SymInt threshold, SymInt edgeitems, SymInt linewidth, "
          "ScalarType default, int scientific) -> Value", fixed(STR), _PURE | {"ANY_DTYPE"}, reads=frozenset({"tensor"}),
          ref="tensor_text", kernel="sc_tensor_text"),
    # numbers, strings and exceptions put into a format as ir/text_formats.py describes it
    OpDef("text", "(Value[] values, *, str format) -> Value", _text, _PURE, emit="text"),
]  # fmt: skip
