"""Write runtime/src/sc_unicode.inc: the properties of code points in Python's str, as runs of equal ones.

    python runtime/tools/unicode_tables.py > runtime/src/sc_unicode.inc

A row of `unicode_runs` is the first code point of a run and the kind of all in the run. A kind is a set of properties
and the differences to upper, lower, title and folded case. Where a case is no single character, `unicode_special` has
it.
"""

import sys
import unicodedata
from collections.abc import Callable, Iterable

KIND_BITS = 11  # the bits of a row that hold the kind; the rest is the code point
CASES = ("upper", "lower", "title", "casefold")


def is_ignorable(c: str) -> bool:
    """Return whether a character is Case_Ignorable, which the rule for the final sigma reveals."""
    return f"A{c}Σ".lower()[-1] == "ς" and f"{c}Σ".lower()[-1] == "σ"


# In the order of the bits in sc_str.h.
PROPERTIES: tuple[Callable[[str], bool], ...] = (
    str.isalpha, str.isdecimal, str.isdigit, str.isnumeric, str.isspace, str.isprintable, str.islower, str.isupper,
    lambda c: c.istitle() and not c.isupper(), str.isidentifier, lambda c: f"a{c}".isidentifier(), is_ignorable,
    lambda c: len(f"a{c}b".splitlines()) == 2,
)  # fmt: skip


def cases(c: str) -> list[str]:
    # lower() of a lone sigma is σ, as everywhere except at the end of a word
    return [getattr(c, name)() for name in CASES]


def kind_of(code: int) -> tuple[int, ...]:
    c = chr(code)
    properties = sum(1 << i for i, has in enumerate(PROPERTIES) if has(c))
    return properties, *(ord(s) - code if len(s) == 1 else 0 for s in cases(c))


def table(name: str, ctype: str, rows: Iterable[str]) -> str:
    lines, line = [f"static const {ctype} {name}[] = {{"], "   "
    for row in rows:
        if len(line) + len(row) > 118:
            lines.append(line)
            line = "   "
        line += f" {row},"
    return "\n".join([*lines, line, "};"])


def main() -> None:
    kinds: dict[tuple[int, ...], int] = {}
    runs: list[int] = []
    special: list[str] = []
    last = None
    for code in range(0x110000):
        kind = kinds.setdefault(kind_of(code), len(kinds))
        # decimal digits come in runs of ten from 0, so a digit's value is its offset in the run
        if kind != last or unicodedata.decimal(chr(code), None) == 0:
            runs.append(code << KIND_BITS | kind)
        last = kind
        for i, s in enumerate(cases(chr(code))):
            if len(s) > 1:
                codes = ", ".join(map(str, [ord(x) for x in s] + [0] * (3 - len(s))))
                special.append(f"{{{code}, {i}, {len(s)}, {{{codes}}}}}")
    assert len(kinds) < 1 << KIND_BITS
    print(f"/* Written by runtime/tools/unicode_tables.py from Unicode {unicodedata.unidata_version}. */")
    print(
        table("unicode_kinds", "struct unicode_kind", (f"{{{k[0]}, {{{', '.join(map(str, k[1:]))}}}}}" for k in kinds))
    )
    print(table("unicode_runs", "uint32_t", map(hex, runs)))
    print(table("unicode_special", "struct unicode_special", special))
    print(f"{len(kinds)} kinds, {len(runs)} runs, {len(special)} special", file=sys.stderr)


main()
