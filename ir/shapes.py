"""Sizes that are equal without being constant, by the origin of each dim of a value.

A dim is the set of sizes that were broadcast to it: numbers, symbols, and dims of the values at which the search ends.
If the value exists, all sizes of the set fit together: each is 1 or the size of the dim. So dims with equal sets have
equal sizes, and a dim whose set is a subset of another's broadcasts to that one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from scriptc.ir.core import Op, Value
from scriptc.ir.opdef import TypeRuleError
from scriptc.ir.types import TensorType

Atom = int | str | tuple[Value, int]
Size = frozenset[Atom]
Shape = tuple[Size, ...]

# The deepest search, so that the depth does not grow with the program.
MAX_DEPTH = 40
_ONE: Size = frozenset([1])


def broadcast(shapes: Iterable[Shape]) -> Shape:
    """Return the shape to which shapes broadcast; None if they certainly do not."""
    result: Shape = ()
    for shape in shapes:
        n = max(len(result), len(shape))
        padded = ((_ONE,) * (n - len(s)) + s for s in (result, shape))
        result = tuple(x | y for x, y in zip(*padded, strict=True))
    return result


def settled(shape: Shape) -> Shape:
    """Return the normal form of sizes: a number other than 1 is the size, and a 1 beside other sizes is left out."""
    return tuple(map(_settled, shape))


def _settled(size: Size) -> Size:
    number = next((a for a in size if isinstance(a, int) and a != 1), None)
    if number is not None:
        return frozenset([number])
    return size - _ONE or _ONE


def is_known(shape: Shape) -> bool:
    """Return whether every dim is a number or a symbol."""
    return all(len(size) == 1 and not isinstance(next(iter(size)), tuple) for size in settled(shape))


class Shapes:
    """Find the shapes of values, each once."""

    def __init__(self) -> None:
        self.found: dict[Value, Shape | None] = {}

    def of(self, value: Value, depth: int = 0) -> Shape | None:
        """Return the shape of a value; None if it is no tensor of known rank."""
        if value not in self.found:
            self.found[value] = self._find(value, depth)
        return self.found[value]

    def _find(self, value: Value, depth: int) -> Shape | None:
        t, op = value.type, value.op
        if not isinstance(t, TensorType) or t.dims is None:
            return None
        passed: Sequence[Size | None] = [None] * len(t.dims)
        if None in t.dims and op is not None and not op.regions and depth < MAX_DEPTH:
            passed = self._passed_on(op, value, depth + 1) or passed
        known = (frozenset() if d is None else frozenset([d]) for d in t.dims)
        own = (frozenset([(value, i)]) for i in range(len(t.dims)))
        return tuple((p or frozenset()) | k or o for p, k, o in zip(passed, known, own, strict=True))

    def _passed_on(self, op: Op, value: Value, depth: int) -> Sequence[Size | None] | None:
        """Return the size that each dim takes over from the operands."""
        if op.has("ELEMENTWISE"):
            shapes = [self.of(v, depth) for v in op.operands if isinstance(v.type, TensorType)]
            return broadcast([s for s in shapes if s is not None]) if None not in shapes else None
        # The type rule is called with a symbol for each unknown dim, to see which symbols reach the result.
        meaning: dict[str, Size] = {}
        operands = [self._with_symbols(v, meaning, depth) for v in op.operands]
        try:
            t = op.defn.infer(operands, op.attrs)[op.results.index(value)]
        except TypeRuleError:  # constants, weights and calls declare their types
            return None
        if not isinstance(t, TensorType) or t.dims is None:
            return None
        return [meaning.get(d) if isinstance(d, str) else None for d in t.dims]

    def _with_symbols(self, value: Value, meaning: dict[str, Size], depth: int) -> Value:
        shape = self.of(value, depth)
        if shape is None or not isinstance(value.type, TensorType) or value.type.dims is None:
            return value
        dims = list(value.type.dims)
        for i, size in enumerate(shape):
            if dims[i] is None:
                symbol = f"?{len(meaning)}"
                meaning[symbol] = size
                dims[i] = symbol
        return Value(TensorType(value.type.dtype, tuple(dims)), value.owner)

    def are_broadcast(self, values: Sequence[Value]) -> bool:
        """Return whether tensors certainly broadcast with one another."""
        shapes = [self.of(v) for v in values if isinstance(v.type, TensorType)]
        return None not in shapes and all(_fit(a, b) for a, b in combinations(filter(None, shapes), 2))

    def fits_into(self, value: Value, into: Value) -> bool:
        """Return whether a tensor certainly broadcasts to exactly the sizes of another."""
        small, large = self.of(value), self.of(into)
        if small is None or large is None or len(small) > len(large):
            return False
        pairs = zip(reversed(settled(small)), reversed(settled(large)), strict=False)
        return all(s == _ONE or s <= t for s, t in pairs)


def _fit(a: Shape, b: Shape) -> bool:
    pairs = zip(reversed(a), reversed(b), strict=False)
    return all(x <= y or y <= x or _ONE in (x, y) or _settled(x) == _settled(y) for x, y in pairs)
