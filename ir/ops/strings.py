"""Python's str: immutable, by code points.

A string of one character is `str.chr` of its code point, so passes can turn work on characters into work on numbers
(passes/character_codes.py).
"""

from __future__ import annotations

from typing import Any

from scriptc.ir.opdef import Infer, OpDef, Raises, Samples, TypeRuleError, calls
from scriptc.ir.ops.rules import Attrs, Operands, fixed
from scriptc.ir.types import BOOL, EXC, FLOAT, INT, STR, Type, list_of

_PURE = frozenset({"PURE"})
_CHECKED = frozenset({"PURE", "CHECKED"})
_LIST = frozenset({"list"})
_STRINGS = list_of(STR)
Calls = tuple[tuple[Any, ...], ...]


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


def _row(name: str, result: Type, operands: str, ref: str, sampled: Calls, *errors: Raises, types: tuple[Type, ...] = (),
         kernel: str | None = None, c: str | None = None, emit: str | None = None,
         traits: frozenset[str] = _PURE, serves: tuple[str, ...] = ()) -> OpDef:  # fmt: skip
    """Return a row. operands: their names. types: those of the first operands; the others are strings. serves: the
    methods that need no handler."""
    names = operands.split()
    held = (*types, *(STR,) * (len(names) - len(types)))
    schema = "(" + ", ".join(f"{_NAMES.get(t, 'Value')} {n}" for t, n in zip(held, names, strict=True)) + ") -> Value"
    reads = _LIST if _STRINGS in held else frozenset()
    return OpDef(name, schema, _rule(result, *held), traits, serves, ref, kernel=kernel, c=c, emit=emit, raises=bool(errors),
                 reads=reads, samples=calls(*sampled), errors=errors)  # fmt: skip


_COMPARE = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_SPAN = (STR, STR, INT, INT)
_INDEX = (STR, INT)
_CODE = (INT,)
MAPPINGS = ("upper", "lower", "title", "capitalize", "swapcase", "casefold")
# The character classes, with the bit of sc_unicode.h that tests each.
CLASSES = {"isalpha": "ALPHA", "isdecimal": "DECIMAL", "isdigit": "DIGIT", "isnumeric": "NUMERIC", "isspace": "SPACE",
           "isprintable": "PRINTABLE", "isalnum": "ALNUM"}  # fmt: skip

# Sample arguments, by the operands of a row. Strings have code points of 1, 2 and 4 bytes.
_APPLE = "\U0001f34e"
_A_TEXT: Calls = (
    ("",), ("abc",), ("Ab c1",), (" \t\n",), ("42",), ("ǆungla ŉ",), ("Straße",), ("ΑΣ",), ("٣½",), (_APPLE,), ("_x9",),
    ('"\'\\\x00',),
)  # fmt: skip
_TEXTS: Calls = (("a", "b"), ("b", "a"), ("ab", "a"), ("", "a"), ("a", "a"), ("é", "e"), (_APPLE, "ﬁ"), ("", ""))
_A_CODE: Calls = tuple((ord(c),) for c in f"aZ5 _\n\x85é²ΣǅŉK٣½{_APPLE}")
_FOUND: Calls = (
    ("banana", "an", 0, 6), ("banana", "an", -3, 99), ("banana", "", 2, 4), (f"é{_APPLE}", _APPLE, 0, 2), ("", "", 1, 0),
)  # fmt: skip


ROWS = [
    _row("str.len", INT, "self", "builtins.len", _A_TEXT, c="{0}->len"),
    # Returns whether a string is defined, as `is_defined` does of a tensor.
    _row("str.is_defined", BOOL, "self", "is_defined", _A_TEXT, c="({0} != NULL)"),
    # index: Python's, from either end
    _row("str.code", INT, "self index", "str:code", (("abc", 0), ("abc", -1), (f"é{_APPLE}", 1)),
         Raises("IndexError", "string index out of range", ("abc", 3)),
         Raises("IndexError", "string index out of range", ("", -1)), types=_INDEX, kernel="sc_str_get"),
    # index: proved to lie in 0..len-1
    _row("str.code_at", INT, "self index", "str:code", (("abc", 0), (f"é{_APPLE}", 1)), types=_INDEX,
         c="(int64_t)sc_str_code({0}, {1})", traits=_CHECKED),
    # code: proved to be a code point
    _row("str.chr", STR, "code", "builtins.chr", _A_CODE, types=_CODE, kernel="sc_str_chr", traits=_CHECKED),
    _row("str.eq", BOOL, "a b", "operator.eq", _TEXTS, c="sc_str_equal({0}, {1})"),
    _row("str.ne", BOOL, "a b", "operator.ne", _TEXTS, c="!sc_str_equal({0}, {1})"),
    *(_row(f"str.{n}", BOOL, "a b", f"operator.{n}", _TEXTS, c=f"(sc_str_compare({{0}}, {{1}}) {sign} 0)")
      for n, sign in _COMPARE.items()),
    _row("str.concat", STR, "a b", "operator.add", _TEXTS, emit="str_concat"),
    # a + chr(code)
    _row("str.push", STR, "a code", "str:push", (("", 97), ("ab", 233), ("é", 0x1F34E)), types=_INDEX, emit="str_push",
         traits=_CHECKED),
    _row("str.repeat", STR, "self times", "operator.mul", (("ab", 3), ("ab", 0), ("é", -1)), types=_INDEX,
         kernel="sc_str_repeat"),
    # bounds: Python's; what stands for None is beyond the end. step: not 0
    _row("str.slice", STR, "self start stop step", "str:slice",
         (("abcdef", 1, 5, 2), ("abcdef", -2, 99, 1), ("abcdef", 5, 0, -2), (f"aé{_APPLE}", 1, 3, 1), ("abc", 2, 1, 1)),
         types=(STR, INT, INT, INT), kernel="sc_str_slice", traits=_CHECKED),
    _row("str.contains", BOOL, "self sub", "operator.contains", (*_TEXTS, ("banana", "nan")),
         c="(sc_str_find({0}, {1}, 0, {0}->len) >= 0)"),
    # chr(code) in self
    _row("str.holds", BOOL, "self code", "str:holds", (("abc", 98), ("abc", 0x1F34E), ("", 97)), types=_INDEX,
         c="sc_str_holds({0}, {1})"),
    *(_row(f"str.{n}", INT, "self sub start stop", f"str.{n}", _FOUND, types=_SPAN, kernel=f"sc_str_{n}")
      for n in ("find", "rfind", "count")),
    *(_row(f"str.{n}", BOOL, "self sub start stop", f"str.{n}", _FOUND, types=_SPAN,
           c=f"sc_str_{n}({{0}}, {{1}}, {{2}}, {{3}})")
      for n in ("startswith", "endswith")),
    _row("str.replace", STR, "self old new count", "str.replace",
         (("banana", "an", "é", -1), ("banana", "a", "", 2), ("ab", "", "-", -1), ("ab", "c", "d", -1)),
         types=(STR, STR, STR, INT), kernel="sc_str_replace"),
    _row("str.join", STR, "self parts", "str.join", ((", ", ["a", "é", _APPLE]), ("", ["a"]), ("-", ["", ""])),
         types=(STR, _STRINGS), kernel="sc_str_join"),
    *(_row(f"str.{n}", STR, "self", f"str.{n}", _A_TEXT, kernel=f"sc_str_{n}") for n in MAPPINGS),
    *(_row(f"str.{n}", BOOL, "self", f"str.{n}", _A_TEXT, c=f"sc_str_all({{0}}, SC_{bit}, {str(n == 'isprintable').lower()})")
      for n, bit in CLASSES.items()),
    *(_row(f"str.{n}", BOOL, "self", f"str.{n}", _A_TEXT, c=f"sc_str_{n}({{0}})")
      for n in ("islower", "isupper", "istitle", "isidentifier", "isascii")),
    # tests the code of one character
    *(_row(f"code.{n}", BOOL, "code", f"code:{n}", _A_CODE, types=_CODE, c=f"sc_code_is({{0}}, SC_{bit})")
      for n, bit in (*CLASSES.items(), ("islower", "LOWER"), ("isupper", "UPPER"), ("islinebreak", "LINEBREAK"))),
    *(_row(f"code.{n}", STR, "code", f"code:{n}", _A_CODE, types=_CODE, kernel=f"sc_code_{n}") for n in ("lower", "upper")),
    _row("str.repr", STR, "self", "builtins.repr", _A_TEXT, kernel="sc_str_repr"),
    # ascii(x) of repr(x)
    _row("str.escaped", STR, "self", "str:escaped", _A_TEXT, kernel="sc_str_escaped"),
    _row("float.hex", STR, "self", "float.hex",
         ((0.0,), (-0.0,), (1.0,), (-0.1,), (5e-324,), (1.7e308,), (float("inf"),), (float("-inf"),), (float("nan"),)),
         types=(FLOAT,), kernel="sc_float_hex", serves=("float.hex",)),
    _row("parse.int", INT, "text base", "builtins.int", ((" -42 ", 10), ("0x1f", 0), ("zz", 36), ("1_000", 10), ("٣", 10)),
         Raises("ValueError", "invalid literal for int() with base 10: '4.5'", ("4.5", 10)),
         Raises("ValueError", "int() base must be >= 2 and <= 36, or 0", ("1", 1)),
         Raises("OverflowError", "Python int too large to convert to C long", ("9223372036854775808", 10)),
         types=_INDEX, kernel="sc_int_parse"),
    _row("parse.float", FLOAT, "text", "builtins.float", (("2.5e3",), (" -inf ",), ("nan",), ("1_0.5",), ("1e999",)),
         Raises("ValueError", "could not convert string to float: 'x'", ("x",)), kernel="sc_float_parse"),
    _row("format.int", STR, "value spec", "builtins.format",
         ((42, ""), (-42, "+,d"), (255, "#x"), (5, "08b"), (97, "c"), (1234567, ".2e"), (3, "*^9")),
         Raises("ValueError", "Unknown format code 's' for object of type 'int'", (1, "s")),
         Raises("ValueError", "Precision not allowed in integer format specifier", (1, ".2d")), types=(INT, STR),
         kernel="sc_int_format"),
    _row("format.float", STR, "value spec", "builtins.format",
         ((2.5, ""), (-0.0, "z.1f"), (1e20, ",.2f"), (0.125, ".0%"), (float("nan"), ">6"), (12345.678, ".3g")),
         Raises("ValueError", "Unknown format code 'd' for object of type 'float'", (1.0, "d")), types=(FLOAT, STR),
         kernel="sc_float_format"),
    _row("format.str", STR, "value spec", "builtins.format", (("ab", ""), ("ab", ">5"), ("abcdef", "é^9.3")),
         Raises("ValueError", "Unknown format code 'd' for object of type 'str'", ("a", "d")), types=(STR, STR),
         kernel="sc_str_format"),
    # str(self) under torch's print options; scientific: -1 where the numbers decide
    OpDef("text.tensor", "(Tensor self, SymInt precision, SymInt threshold, SymInt edgeitems, SymInt linewidth, "
          "ScalarType default, int scientific) -> Value", fixed(STR), _PURE | {"ANY_DTYPE"}, reads=frozenset({"tensor"}),
          ref="tensor_text", kernel="sc_tensor_text",
          samples=Samples((((3, 4),), ((),), ((0, 2),)), dtypes=("f32", "i64", "bool"),
                          extra=((4, 1000, 3, 80, "f32", -1), (2, 5, 1, 80, "f32", 1)))),
    # formats numbers, strings and exceptions by a format of ir/text_formats.py
    OpDef("text", "(Value[] values, *, str format) -> Value", _text, _PURE, emit="text",
          samples=calls(((), "50%%"), ((1, -0.5, True, "é"), "%i|%r|%b|%s"))),
]  # fmt: skip
