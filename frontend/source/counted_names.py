"""Names that a compiler makes with a counter, such as `_hy_gensym_x_7`.

The counter runs on in a process, so a second compilation of a text makes names with other numbers. Their order is the
same.
"""

from __future__ import annotations

import re
from types import CodeType

from scriptc.frontend.source.code_comparison import FunctionNode, all_names
from scriptc.frontend.source.nodes import all_nodes

_NUMBER = re.compile(r"\d+(?!.*\d)")
_FIELDS = "id", "arg", "attr", "name", "names", "asname", "rest"


def without_number(name: str) -> str:
    """Return a name without its last number."""
    return _NUMBER.sub("#", name)


def take_numbers(node: FunctionNode, code: CodeType) -> None:
    """Give the names of a function that its code lacks the numbers of the code's names.

    Names that differ only in the last number are paired in the order of their numbers. The caller compares the code that
    results, so a wrong pair does no harm.
    """
    own, other = _names(node), {*all_names(code)}
    pairs: dict[str, str] = {}
    lacking = _by_rest(own - other)
    for rest, names in _by_rest(other - own).items():
        pairs |= zip(lacking.get(rest, ()), names, strict=False)
    for n in all_nodes(node) if pairs else ():
        for field in _FIELDS:
            value = getattr(n, field, None)
            if isinstance(value, str):
                setattr(n, field, pairs.get(value, value))
            elif isinstance(value, list):
                setattr(n, field, [pairs.get(v, v) if isinstance(v, str) else v for v in value])


def _names(node: FunctionNode) -> set[str]:
    values = [getattr(n, field, None) for n in all_nodes(node) for field in _FIELDS]
    return {v for value in values for v in (value if isinstance(value, list) else [value]) if isinstance(v, str)}


def _by_rest(names: set[str]) -> dict[str, list[str]]:
    """Return the names that have a number, ordered by it, by the name without it."""
    found: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        if number := _NUMBER.search(name):
            found.setdefault(without_number(name), []).append((int(number[0]), name))
    return {rest: [name for _, name in sorted(numbered)] for rest, numbered in found.items()}
