"""C expressions, and the templates that they are made from.

A template is C in which {0}, {1}, ... stand for operands and {{ and }} for braces, as the `c` of a row has it. It is read once.
What it makes is an `Expression`, which knows where it needs parentheses. So nothing searches the text of emitted C.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property
from string import Formatter
from typing import NamedTuple


class Form(Enum):
    """How the text of an expression holds together."""

    PRIMARY = 0  # a name, a number, a call or a group, with postfixes behind it
    GROUP = 1  # parentheses around the whole
    CAST = 2  # of a template: a type in parentheses in front of an operand; it makes one of the other forms
    COMPOUND = 3  # anything else: as an operand it needs parentheses


class Expression(NamedTuple):
    """The text of a C expression with its form."""

    text: str
    form: Form = Form.PRIMARY

    @property
    def operand(self) -> str:
        """The text as an operand of any operator."""
        return f"({self.text})" if self.form is Form.COMPOUND else self.text

    @property
    def bare(self) -> str:
        """The text where it stands alone: without parentheses around the whole."""
        return self.text[1:-1] if self.form is Form.GROUP else self.text


@dataclass(frozen=True)
class Template:
    """C text, and numbers for the operands that stand between.

    words: the names in the text of the row.
    """

    pieces: tuple[str | int, ...]
    words: frozenset[str] = frozenset()

    @cached_property
    def operands(self) -> tuple[int, ...]:
        """The numbers of the operands, each as often as it stands there."""
        return tuple(p for p in self.pieces if isinstance(p, int))

    @cached_property
    def length(self) -> int:
        """The number of characters, three for each operand."""
        return sum(len(p.replace("{", "{{").replace("}", "}}")) if isinstance(p, str) else len(f"{{{p}}}") for p in self.pieces)

    @cached_property
    def form(self) -> Form:
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
        """Whether each piece is a whole argument of a call, or the whole template."""
        before, after = ("(", *self.pieces), (*self.pieces[1:], ")")
        return tuple(_ends(a, ("(", ", ")) and _begins(b, (")", ", ")) for a, b in zip(before, after, strict=False))

    def follows(self, operand: int) -> bool:
        """Return whether the C has a member of what an operand points to."""
        pairs = zip(self.pieces, self.pieces[1:], strict=False)
        return any(p == operand and isinstance(p, int) and _begins(behind, ("->",)) for p, behind in pairs)

    def fill(self, operand: Callable[[int], Expression]) -> Expression:
        """Return the expression with these operands."""
        if self.pieces == (0,):
            return operand(0)
        given = [p if isinstance(p, str) else operand(p) for p in self.pieces]
        texts = [
            e if isinstance(e, str) else e.bare if alone else e.operand for e, alone in zip(given, self._alone, strict=True)
        ]
        form = self.form
        if form is Form.CAST:  # C groups a cast of a group as its users do
            form = Form.PRIMARY if texts[-1].startswith("(") else Form.COMPOUND
        return Expression("".join(texts), form)

    def around(self, inner: Template) -> Template:
        """Return the template with the text of another one in place of its only operand."""
        pieces: list[str | int] = []
        for piece in self.pieces:
            pieces += inner.pieces if piece == 0 and isinstance(piece, int) else [piece]
        return Template(_merged(pieces), self.words | inner.words)

    def renumbered(self) -> tuple[Template, tuple[int, ...]]:
        """Return the template with its operands numbered without gaps, and their numbers before."""
        used = tuple(sorted(set(self.operands)))
        pieces = tuple(p if isinstance(p, str) else used.index(p) for p in self.pieces)
        return Template(pieces, self.words), used


def read_template(text: str, **fields: str) -> Template:
    """Return the template that `text` spells, with the values of its named fields put in."""
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
    """Return the names in the text of a row, without those of fields."""
    literal = "\0".join(literal for literal, _ in _fields(text))
    return frozenset("".join(c if c.isalnum() or c in "_\0" else " " for c in literal).split())


def _merged(pieces: list[str | int]) -> tuple[str | int, ...]:
    """Return the pieces with texts that stand side by side as one."""
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
    """Return what stands outside of all brackets, with "()" or "[]" for a bracket and "x" for an operand."""
    found, depth = [], 0
    for c in "".join("x" if isinstance(p, int) else p for p in pieces):
        depth -= c in ")]"
        if depth == 0:
            found.append(c)
        depth += c in "(["
    return "".join(found)
