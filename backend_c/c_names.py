"""Names in C: the names of the user where C allows them, unique in their scope."""

from __future__ import annotations

import re

from scriptc.ir.types import Names

_KEYWORDS = """auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while asm typeof
bool true false""".split()
# Macros that the included headers (or GNU C itself) define, and names that generated functions use themselves.
_TAKEN = "I unix linux i386 errno stdin stdout stderr assert offsetof cx w it iter args results locs entries program".split()


def identifier(text: str) -> str:
    """Return text as part of an identifier: "fc1_weight" for "fc1.weight"."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    return name if name and not name[0].isdigit() else f"_{name}"


class CNames:
    """The names of one scope. Reserved names get a prefix or an underscore, repeated ones a number."""

    def __init__(self, outer: CNames | None = None) -> None:
        known: dict[str, int] = outer.names.used if outer else dict.fromkeys((*_KEYWORDS, *_TAKEN), 1)
        self.names: Names = Names(dict(known))
        self.everywhere: set[str] = outer.everywhere if outer else set()

    def fresh(self, wish: str) -> str:
        name = identifier(wish)
        if name.startswith(("sc_", "SC_", "__")) or re.fullmatch(r"_?[A-Z][A-Z0-9_]+|_[A-Z]\w*|u?int\w*_t", name):
            name = f"v_{name.lstrip('_')}"  # names that macros and the runtime may define
        elif name in _KEYWORDS or name in _TAKEN:
            name += "_"
        name = self.names.fresh(name)
        self.everywhere.add(name)
        return name

    def unseen(self, wish: str) -> str:
        """Return a name that is also new in all scopes inside this one."""
        taken = set(self.everywhere)
        name = self.fresh(wish)
        while name in taken:
            name = self.fresh(wish)
        return name
