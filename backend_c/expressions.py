"""C expressions, and the templates that they are made from.

A template is C text in which {0}, {1}, ... stand for operands and {{ and }} for braces, such as the `c` of a row. A
template is read once. Filling a template gives an `Expression`, which knows where it needs parentheses. So nothing
searches emitted C.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property
from string import Formatter
from typing import NamedTuple


class Form(Enum):
    """The outermost structure of a C expression, which decides where the expression needs parentheses."""

    PRIMARY = 0  # a name, a number, a call or a group, and its postfixes
    GROUP = 1  # parentheses around the whole
    CAST = 2  # of templates only: a type in parentheses, and an operand
    COMPOUND = 3  # anything else, which needs parentheses as an operand


class Expression(NamedTuple):
    """The text of a C expression with its form."""

    text: str
    form: Form = Form.PRIMARY

    @property
    def operand(self) -> str:
        """Return the text as an operand of any operator."""
        return f"({self.text})" if self.form is Form.COMPOUND else self.text

    @property
    def bare(self) -> str:
        """Return the text as an argument or a whole expression, without parentheses around the whole."""
        return self.text[1:-1] if self.form is Form.GROUP else self.text


@dataclass(frozen=True)
class Template:
    """C text with the numbers of operands in between.

    words: the identifiers in the text.
    """

    pieces: tuple[str | int, ...]
    words: frozenset[str] = frozenset()

    @cached_property
    def operands(self) -> tuple[int, ...]:
        """Return the numbers of the operands, each as often as it occurs."""
        return tuple(p for p in self.pieces if isinstance(p, int))

    @cached_property
    def length(self) -> int:
        """Return the number of characters of the template as a row spells it."""
        spelled = (p.replace("{", "{{").replace("}", "}}") if isinstance(p, str) else f"{{{p}}}" for p in self.pieces)
        return sum(map(len, spelled))

    @cached_property
    def form(self) -> Form:
        """Return the form of the template. A CAST becomes PRIMARY or COMPOUND when the template is filled."""
        outline = _outline(self.pieces)
        if outline == "()":
            return Form.GROUP
        if outline == "()x" and not isinstance(self.pieces[-1], str):
            return Form.CAST
        head, *members = outline.replace("->", ".").replace("()", "").replace("[]", "").split(".")
        is_atom = not head if outline.startswith("()") else head.isidentifier()
        return Form.PRIMARY if is_atom and all(map(str.isidentifier, members)) else Form.COMPOUND

    @cached_property
    def _alone(self) -> tuple[bool, ...]:
        """Return for each piece whether it is a whole argument of a call, or the whole template."""
        before, after = ("(", *self.pieces), (*self.pieces[1:], ")")
        return tuple(_ends(a, ("(", ", ")) and _begins(b, (")", ", ")) for a, b in zip(before, after, strict=False))

    def follows(self, operand: int) -> bool:
        """Return whether the C accesses a member of what an operand points to."""
        pairs = zip(self.pieces, self.pieces[1:], strict=False)
        return any(p == operand and isinstance(p, int) and _begins(after, ("->",)) for p, after in pairs)

    def fill(self, operand: Callable[[int], Expression]) -> Expression:
        """Return the expression with these operands."""
        if self.pieces == (0,):
            return operand(0)
        given = [p if isinstance(p, str) else operand(p) for p in self.pieces]
        pairs = zip(given, self._alone, strict=True)
        texts = [e if isinstance(e, str) else e.bare if alone else e.operand for e, alone in pairs]
        form = self.form
        if form is Form.CAST:  # a cast of a group needs no further parentheses
            form = Form.PRIMARY if texts[-1].startswith("(") else Form.COMPOUND
        return Expression("".join(texts), form)

    def around(self, inner: Template) -> Template:
        """Return the template with another one in place of its only operand."""
        pieces: list[str | int] = []
        for piece in self.pieces:
            pieces += inner.pieces if piece == 0 and isinstance(piece, int) else [piece]
        return Template(_merged(pieces), self.words | inner.words)

    def renumbered(self) -> tuple[Template, tuple[int, ...]]:
        """Return the template with its operands numbered without gaps, and the old numbers in order."""
        used = tuple(sorted(set(self.operands)))
        pieces = tuple(p if isinstance(p, str) else used.index(p) for p in self.pieces)
        return Template(pieces, self.words), used


def read_template(text: str, **fields: str) -> Template:
    """Return the template that a text spells, with values in place of its named fields."""
    pieces: list[str | int] = []
    for literal, field in _fields(text):
        pieces.append(literal)
        if field is not None:
            pieces.append(int(field) if field.isdigit() else fields[field])
    return Template(_merged(pieces), _words(text))


@cache
def _fields(text: str) -> tuple[tuple[str, str | None], ...]:
    return tuple((literal, field) for literal, field, _, _ in Formatter().parse(text))


@cache
def _words(text: str) -> frozenset[str]:
    """Return the identifiers in the text of a template; fields of a name end in NUL."""
    literal = "\0".join(literal for literal, _ in _fields(text))
    return frozenset("".join(c if c.isalnum() or c in "_\0" else " " for c in literal).split())


def _merged(pieces: list[str | int]) -> tuple[str | int, ...]:
    """Return the pieces with adjacent texts joined."""
    merged: list[str | int] = []
    for piece in pieces:
        last = merged[-1] if merged else 0
        if isinstance(piece, str) and isinstance(last, str):
            merged[-1] = last + piece
        elif piece != "":
            merged.append(piece)
    return tuple(merged)


def _begins(piece: str | int, texts: tuple[str, ...]) -> bool:
    return isinstance(piece, str) and piece.startswith(texts)


def _ends(piece: str | int, texts: tuple[str, ...]) -> bool:
    return isinstance(piece, str) and piece.endswith(texts)


def _outline(pieces: tuple[str | int, ...]) -> str:
    """Return the text outside of all brackets, with "()" or "[]" for brackets and "x" for operands."""
    found, depth = [], 0
    for c in "".join("x" if isinstance(p, int) else p for p in pieces):
        depth -= c in ")]"
        if depth == 0:
            found.append(c)
        depth += c in "(["
    return "".join(found)
