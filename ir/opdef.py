"""The declaration of an operator: one row with all facts that every stage needs.

A schema is written in ATen's schema language. Its types separate operands from attributes. `Tensor`, `Scalar`,
`SymInt`, `float`-valued `SymFloat`, `Value` (anything) and lists `Tensor[]`, `SymInt[]` are operands, whose values may
be known only at run time. `int`, `bool`, `float`, `str`, `ScalarType` and lists of them are attributes, which are known
when the op is built. `Operand` is a tensor or a Python number. A `?` admits None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scriptc.ir.core import Value
    from scriptc.ir.types import Type

OPERAND_TYPES = frozenset({"Tensor", "Scalar", "Operand", "SymInt", "Value", "List"})

# Traits of ops, which generic passes ask for.
# PURE: the op has no effects. It may still raise if its row says so.
# VIEW: results alias the first operand.
# ELEMENTWISE: the op broadcasts its operands and computes each element of the result by the row's `c`.
# FETCHES: results are objects that existed before the op.
# CHECKED: a check, a test or loop bounds in front of the op make its operands fit, so the op never moves ahead of them.
# FLOATING: the front end casts integral tensors to the default dtype first, as eager does.
# PLAIN: tensors among the results are contiguous, whatever the strides of the operands.
# ANY_DTYPE: the op only copies or tests elements, so complex elements are supported.
# EXPRESSION: an op of the loop IR that is a C expression, which may be written where its result is used.
# WIDE_NUMBER: a number as second operand keeps its precision beside half tensors; others are rounded to their dtype.
TRAITS = frozenset({
    "PURE", "ELEMENTWISE", "COMMUTATIVE", "TERMINATOR", "VIEW", "ALLOCATES", "CONTROL", "FETCHES", "CHECKED",
    "FLOATING", "ANY_DTYPE", "WIDE_NUMBER", "PLAIN", "EXPRESSION",
})  # fmt: skip

# The phases of a program (ir/phases.py): tensor IR as the front end reads it and as passes leave it, and the loop IR.
READ, OPTIMIZED, LOOP = "read", "optimized", "loop"
TENSOR = (READ, OPTIMIZED)
MADE_BY_PASSES = (OPTIMIZED,)
READ_ONLY = (READ,)
ALL_PHASES = (READ, OPTIMIZED, LOOP)


Shapes = tuple[tuple[int, ...], ...]  # one shape per tensor operand


class TypeRuleError(Exception):
    """Say that an op does not take some operands or attributes. The message is for users."""


@dataclass(frozen=True, slots=True)
class SchemaArg:
    """One parameter of a schema."""

    name: str
    type: str  # without `?` and `[]`
    is_list: bool
    optional: bool
    keyword_only: bool
    default: Any = ...  # ... where there is none
    size: int | None = None  # the fixed length of a list

    @property
    def is_operand(self) -> bool:
        return self.type in OPERAND_TYPES

    @property
    def required(self) -> bool:
        return self.default is ...


_ARG = re.compile(r"(?P<type>\w+)(?P<list>\[(?P<size>\d*)\])?(?P<opt>\?)?\s+(?P<name>\w+)(?:\s*=\s*(?P<default>.+))?$")
_DEFAULTS = {"None": None, "True": True, "False": False, "[]": (), "inf": float("inf")}


def parse_schema(schema: str) -> tuple[SchemaArg, ...]:
    """Read the parameter list of an ATen schema such as "(Tensor self, SymInt[] size, *, bool pin=False)"."""
    args: list[SchemaArg] = []
    keyword_only = False
    end = schema.index(") ->") if ") ->" in schema else schema.rindex(")")
    body = schema[schema.index("(") + 1 : end]
    for part in filter(None, (p.strip() for p in re.split(r",\s*(?![^\[]*\])", body))):
        if part == "*":
            keyword_only = True
            continue
        m = _ARG.match(part)
        if m is None:
            raise ValueError(f"bad schema argument {part!r} in {schema!r}")
        default: Any = ...
        if (text := m["default"]) is not None:
            default = _DEFAULTS[text] if text in _DEFAULTS else _number(text)
        size = int(m["size"]) if m["size"] else None
        args.append(SchemaArg(m["name"], m["type"], bool(m["list"]), bool(m["opt"]), keyword_only, default, size))
    return tuple(args)


def _number(text: str) -> Any:
    if text.startswith("["):
        return tuple(int(x) for x in text[1:-1].split(","))
    return float(text) if "." in text or "e" in text else int(text) if text.lstrip("-").isdigit() else text


@dataclass(frozen=True)
class Samples:
    """The inputs on which tests compare the interpreter, which calls eager, with the C of a row.

    shapes: those of the tensor operands, one tuple a variation. low, high: the bounds of the elements.
    dtypes: the dtypes that are sampled. kinds: the dtypes of operands that have another one ("" for the sampled one).
    extra: further positional arguments, numbers and tuples, one tuple a variation.
    finite: infinities and NaN are not sampled.
    calls: arguments of rows without tensor operands, operands and attributes in the order of the schema, one tuple a call.
    """

    shapes: tuple[Shapes, ...] = ()
    low: float = -3.0
    high: float = 3.0
    dtypes: tuple[str, ...] = ("f32", "f64")
    extra: tuple[tuple[Any, ...], ...] = ((),)
    kinds: tuple[str, ...] = ()
    finite: bool = False
    calls: tuple[tuple[Any, ...], ...] = ()


def calls(*arguments: tuple[Any, ...]) -> Samples:
    """Return the samples of a row whose arguments are Python values."""
    return Samples(dtypes=(), calls=arguments)


@dataclass(frozen=True)
class Raises:
    """An error of a row: the exception's name, its message in eager's words, and inputs that raise it.

    call: the arguments, as in `Samples.calls`.
    shapes, extra, dtype, value: tensor operands of one value, as in `Samples`.

    An error without inputs depends on the machine or the caller.
    """

    type: str
    message: str = ""
    call: tuple[Any, ...] | None = None
    shapes: Shapes | None = None
    extra: tuple[Any, ...] = ()
    dtype: str | None = None
    value: float = 1.0

    @property
    def has_inputs(self) -> bool:
        return self.call is not None or self.shapes is not None


OUT_OF_MEMORY = Raises("MemoryError")
NO_ERROR = Raises("")  # a kernel whose prototype can report errors, although no input makes the kernel fail


Infer = Callable[[Sequence["Value"], Mapping[str, Any]], Sequence["Type"]]


@dataclass(frozen=True)
class OpDef:
    """An operator.

    infer: operand values and attributes -> result types; raises TypeRuleError.
    torch: dotted names of the callables that this row serves when a user calls them ("torch.tanh", "Tensor.tanh").
    ref: dotted name of what the interpreter calls, by default the first of `torch`.
    reads, writes: classes of memory ("tensor", "list", "state", "random", "io") that running the op reads or writes.
    raises: whether running the op may raise. check: name of the `check` kind that guards it, after which it cannot.
    errors: the errors that the op or its check raises.
    samples: inputs on which tests compare the interpreter with C.
    gradient: the operands for which a `@derives` function of the library computes a gradient; () if all gradients are zero;
    None if gradients are not supported, or are computed by ir/gradients itself (partial views, writes, lists).
    takes: of an elementwise op, the dtypes that it computes in; by default those of its samples.
    phases: the phases of a compilation (ir/phases.py) in which the op may occur.
    How C is made: `c` is a C expression for one element or number, over {0}, {1}, ... with {T} the C type and {t} the dtype;
    `kernel` a function of runtime/kernels; `emit` a function of backend_c/emitters. A row has one of them, or `emit` and what
    it chooses from.
    """

    name: str
    schema: str
    infer: Infer
    traits: frozenset[str] = frozenset()
    torch: tuple[str, ...] = ()
    ref: str | None = None
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    raises: bool = False
    check: str | None = None
    c: str | Mapping[str, str] | None = None
    kernel: str | None = None
    emit: str | None = None
    samples: Samples | None = None
    errors: tuple[Raises, ...] = ()
    gradient: tuple[str, ...] | None = None
    tolerance_ulp: float = 0.0
    takes: tuple[str, ...] = ()
    phases: tuple[str, ...] = TENSOR
    args: tuple[SchemaArg, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "args", parse_schema(self.schema))
        if not self.takes and self.samples is not None:
            object.__setattr__(self, "takes", self.samples.dtypes)
        if bad := self.traits - TRAITS:
            raise ValueError(f"{self.name}: unknown traits {sorted(bad)}")

    @property
    def operand_args(self) -> list[SchemaArg]:
        return [a for a in self.args if a.is_operand]

    @property
    def attr_args(self) -> list[SchemaArg]:
        return [a for a in self.args if not a.is_operand]

    @property
    def takes_complex(self) -> bool:
        """Return whether tensors with complex elements may be operands."""
        if "ELEMENTWISE" in self.traits and "ANY_DTYPE" not in self.traits:
            return "c64" in self.takes
        looks = "tensor" in self.reads and "VIEW" not in self.traits and any(a.type == "Tensor" for a in self.args)
        return not looks or "ANY_DTYPE" in self.traits

    @property
    def pure(self) -> bool:
        """Return whether the op may be moved, merged and dropped, memory permitting."""
        return "PURE" in self.traits
