"""Operators as the classes of objects define them."""

from __future__ import annotations

from scriptc.frontend.context import Context
from scriptc.frontend.objects import class_of, is_generated
from scriptc.frontend.values import AV, Known, Tup

METHODS = {
    "Add": "add", "Sub": "sub", "Mult": "mul", "Div": "truediv", "FloorDiv": "floordiv", "Mod": "mod", "Pow": "pow",
    "MatMult": "matmul", "BitAnd": "and", "BitOr": "or", "BitXor": "xor", "LShift": "lshift", "RShift": "rshift",
    "Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge", "USub": "neg", "UAdd": "pos",
    "Invert": "invert",
}  # fmt: skip
REFLECTED = {"Lt": "Gt", "Gt": "Lt", "LtE": "GtE", "GtE": "LtE"}  # a < b asks b whether b > a


class Specials(Context):
    """Mixin: the methods by which classes define operators."""

    def special_operator(self, op: str, a: AV, b: AV) -> AV:
        name = METHODS[op]
        ways = [(a, f"__{name}__", b)]
        if not same_class(a, b):
            ways.insert(0 if derives(b, a) else 1, (b, f"__r{name}__", a))
        for owner, method, other in ways:
            if (found := self.answer(owner, method, other)) is not None:
                return found
        self.bad_operands(op, a, b)

    def answer(self, owner: AV, method: str, other: AV) -> AV | None:
        """What a method says; None where there is none, or where it leaves it to the other operand."""
        found = self.special(owner, method, [other])
        return None if isinstance(found, Known) and found.obj is NotImplemented else found

    def compare_objects(self, op: str, a: AV, b: AV) -> AV:
        ways = [(op, a, b), (REFLECTED.get(op, op), b, a)]
        for way, owner, other in reversed(ways) if derives(b, a) else ways:
            if (found := self.compared_by(way, owner, other)) is not None:
                return found
        if op not in ("Eq", "NotEq"):
            self.bad_operands(op, a, b)
        return self.identity(a, b, negate=op == "NotEq")

    def compared_by(self, op: str, owner: AV, other: AV) -> AV | None:
        """What the class of one operand says to a comparison; None where it says nothing."""
        method = f"__{METHODS[op]}__"
        if is_generated(owner, method):  # what `dataclass` writes
            if not same_class(owner, other):
                return None
            return self.compare_sequences(op, *(Tup(self.compared_fields(o)) for o in (owner, other)))
        found = self.answer(owner, method, other)
        if found is None and op == "NotEq":  # object.__ne__
            equal = self.compared_by("Eq", owner, other)
            return None if equal is None else self.negate(self.truth(equal))
        return found


def same_class(a: AV, b: AV) -> bool:
    return class_of(a) is class_of(b) is not None


def derives(a: AV, b: AV) -> bool:
    """Whether the class of one operand derives from that of the other, so that it is asked first."""
    below, above = class_of(a), class_of(b)
    return below is not None and above is not None and below is not above and issubclass(below, above)
