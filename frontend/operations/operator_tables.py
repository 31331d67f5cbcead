"""Python's operators: the function that evaluates each, and the names that ops and torch have for it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

# ast operator -> Python function, op for ints, op for floats, and op or library name for tensors
BINARY: dict[str, tuple[Callable[..., Any], str, str, str]] = {
    "Add": (operator.add, "int.add", "float.add", "add"),
    "Sub": (operator.sub, "int.sub", "float.sub", "sub"),
    "Mult": (operator.mul, "int.mul", "float.mul", "mul"),
    "Div": (operator.truediv, "int.truediv", "float.truediv", "div"),
    "FloorDiv": (operator.floordiv, "int.floordiv", "float.floordiv", "floor_divide"),
    "Mod": (operator.mod, "int.mod", "float.mod", "remainder"),
    "Pow": (operator.pow, "int.pow", "float.pow", "pow"),
    "MatMult": (operator.matmul, "", "", "matmul"),
    "BitAnd": (operator.and_, "int.and_", "", "bitwise_and"),
    "BitOr": (operator.or_, "int.or_", "", "bitwise_or"),
    "BitXor": (operator.xor, "int.xor", "", "bitwise_xor"),
    "LShift": (operator.lshift, "int.lshift", "", "bitwise_left_shift"),
    "RShift": (operator.rshift, "int.rshift", "", "bitwise_right_shift"),
}


COMPARE: dict[str, tuple[Callable[..., Any], str]] = {
    "Eq": (operator.eq, "eq"), "NotEq": (operator.ne, "ne"), "Lt": (operator.lt, "lt"),
    "LtE": (operator.le, "le"), "Gt": (operator.gt, "gt"), "GtE": (operator.ge, "ge"),
}  # fmt: skip


UNARY: dict[str, Callable[..., Any]] = {"USub": operator.neg, "UAdd": operator.pos, "Invert": operator.invert}


SYMBOLS = {
    "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**", "MatMult": "@",
    "BitAnd": "&", "BitOr": "|", "BitXor": "^", "LShift": "<<", "RShift": ">>", "Lt": "<", "LtE": "<=", "Gt": ">",
    "GtE": ">=", "USub": "-", "UAdd": "+", "Invert": "~",
}  # fmt: skip
