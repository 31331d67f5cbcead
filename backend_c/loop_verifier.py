"""Check the loop IR by the rules of docs/internals/loop-ir.md.

Calls fit the prototypes of kernels, and expressions the templates of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from scriptc.backend_c.arguments import operands_of
from scriptc.backend_c.c_types import c_type
from scriptc.backend_c.elements import element_template
from scriptc.ir.core import Attr, Module, Op
from scriptc.ir.errors import InternalError
from scriptc.ir.handlers import handlers
from scriptc.ir.ops import OPS
from scriptc.ir.phases import LOOP
from scriptc.ir.types import BOOL, FLOAT, INT, NEVER, ElemType, PtrType, Type
from scriptc.ir.verifier import verify
from scriptc.runtime.kernels import KERNELS, Parameter

CHECKS, checks = handlers()

_NUMBERS: dict[Type, tuple[str, ...]] = {  # C types to which C converts without loss
    INT: ("int64_t", "double"),
    BOOL: ("bool", "int64_t", "double"),
    FLOAT: ("double",),
}
_WHOLE = ("int", "int64_t", "uint64_t", "unsigned", "sc_items")
_TAGGED = {
    "text": ("const char *",), "char": ("char",), "function": ("sc_extern_function *",), "enum": _WHOLE,
    "dtype": ("int", "int64_t"), "sizes": ("const int64_t *",),
    "tensors": ("sc_tensor *const *", "const sc_tensor *const *"), "value": ("sc_value",), "leaves": ("const sc_value *",),
    "key": ("const sc_value *",), "parts": ("const sc_value *",), "loc": ("int",), "reuse": ("bool",),
}  # fmt: skip


def verify_loops(module: Module) -> None:
    """Raise VerifyError where a module breaks a rule of the loop IR."""
    verify(module, replace(LOOP, checks=CHECKS))


@checks("c.call")
def _call(op: Op) -> Iterator[str]:
    kernel = KERNELS.get(op.attrs["kernel"])
    if kernel is None:
        yield f"no row of runtime/kernels is called {op.attrs['kernel']}"
        return
    parameters = list(kernel.parameters[1:] if kernel.takes_context else kernel.parameters)
    results = [c_type(r.type) for r in op.results]
    if kernel.fails == "status":
        outs = parameters[len(parameters) - len(results) :] if results else []
        del parameters[len(parameters) - len(outs) :]
        wanted = [out.type[:-1].strip() for out in outs]
    else:
        wanted = [] if kernel.result == "void" else [kernel.result]
    if [t.replace(" ", "") for t in results] != [t.replace(" ", "") for t in wanted]:
        yield f"results are {', '.join(results) or 'none'} where {kernel.name} gives {', '.join(wanted) or 'none'}"
    yield from _arguments(op, parameters, op.attrs["args"], kernel.name)
    if (("reuse",) in op.attrs["args"]) != ("reuse" in op.attrs):
        yield "the attribute reuse belongs to the argument of that name"


@checks("c.view")
def _view(op: Op) -> Iterator[str]:
    kernel = KERNELS.get(op.attrs["kernel"])
    if kernel is None or not kernel.name.endswith("_here"):
        yield f"{op.attrs['kernel']} is no function that fills a view"
        return
    yield from _arguments(op, kernel.parameters[1:], op.attrs["args"], kernel.name)


def _arguments(op: Op, parameters: Sequence[Parameter], args: Sequence[Attr], name: str) -> Iterator[str]:
    fixed = [p for p in parameters if p.type != "..."]
    if len(args) != len(fixed) and (len(fixed) == len(parameters) or len(args) < len(fixed)):
        yield f"{len(args)} arguments where {name} takes {len(fixed)}"
        return
    for parameter, entry in zip(fixed, args, strict=False):
        if any(i >= len(op.operands) for i in operands_of(entry)):
            yield f"argument {parameter.name} names an operand that is not there"
        elif not _fits(op, parameter.type, entry):
            yield f"argument {parameter.name} does not fit {parameter.type}"


def _fits(op: Op, wanted: str, entry: Attr) -> bool:
    """Return whether an argument can be given for a parameter of a C type."""
    match entry:
        case None:
            return wanted.endswith("*")
        case bool():
            return wanted == "bool"
        case int():
            return wanted in (*_WHOLE, "double")
        case float():
            return wanted == "double"
        case str():
            t = op.operands[int(entry[1:])].type
            if t in _NUMBERS:
                return wanted in _NUMBERS[t] or (t == INT and wanted == "int")
            return t == NEVER or c_type(t) == wanted.removeprefix("const ")
        case (tag, *_):
            return wanted in _TAGGED.get(tag, ())
    return False


@checks("c.expr")
def _expr(op: Op) -> Iterator[str]:
    row = OPS.get(op.attrs["of"])
    if row is None or row.c is None:
        yield f"{op.attrs['of']} has no row with a C expression"
        return
    dtype = op.attrs.get("dtype")
    if (dtype is not None) != isinstance(op.result.type, ElemType):
        yield "an element is computed in a dtype, and a number in none"
        return
    try:
        count = len(row.operand_args) if dtype is None else len(element_template(row.name, dtype)[1])
    except InternalError as error:
        yield str(error)
        return
    if count != len(op.operands):
        yield f"{len(op.operands)} operands where {row.name} takes {count}"


@checks("c.cast")
def _cast(op: Op) -> Iterator[str]:
    held = (ElemType, type(INT))
    if len(op.operands) != 1 or not isinstance(op.operands[0].type, held) or not isinstance(op.result.type, held):
        yield "a cast makes a number or element of another"


@checks("c.load", "c.store")
def _element(op: Op) -> Iterator[str]:
    pointer = op.operands[0].type
    element = op.result.type if op.results else op.operands[2].type
    if not isinstance(pointer, PtrType) or element != ElemType(pointer.dtype):
        yield f"{element} does not go with {pointer}"
    if op.operands[1].type != INT:
        yield "an index is an i64"


@checks("c.rows")
def _rows(op: Op) -> Iterator[str]:
    used = [i for entry in op.attrs["args"] for i in operands_of(entry)]
    if sorted(set(used)) != list(range(len(op.operands))):
        yield "`args` names each operand"
    if len(op.attrs["dtypes"]) != len(op.results):
        yield f"{len(op.attrs['dtypes'])} dtypes for {len(op.results)} results"


@checks("c.activation")
def _activation(op: Op) -> Iterator[str]:
    region = op.regions[0]
    if [type(a.type) for a in region.args] != [PtrType, *[type(INT)] * 3]:
        yield "an activation takes a pointer, the number of rows, and the length and the stride of a row"
    if any(not region.encloses(v.block) for inner in region.walk() for v in inner.operands):
        yield "an activation uses nothing of the function around it"


@checks("c.new")
def _new(op: Op) -> Iterator[str]:
    numbers = {i for entry in op.attrs["sizes"] for i in operands_of(entry)}
    if any(i >= len(op.operands) or op.operands[i].type != INT for i in numbers):
        yield "a size is an i64"
    if op.attrs["take"] != -1 and op.attrs["take"] not in op.attrs["over"]:
        yield "what is taken is one of `over`"


@checks("c.lines")
def _lines(op: Op) -> Iterator[str]:
    if not op.operands or any(v.op is None or v.op.name != "c.line" for v in op.operands):
        yield "the operands of c.lines are c.line"


@checks("c.unwind", "c.at")
def _before_failure(op: Op) -> Iterator[str]:
    assert op.parent is not None
    at = op.parent.ops.index(op) + 1
    if op.name == "c.at" and at < len(op.parent.ops) and op.parent.ops[at].name == "c.unwind":
        at += 1
    if at == len(op.parent.ops) or not op.parent.ops[at].defn.raises:
        yield f"an op that may fail follows {op.name}"
