"""The loop IR: what is left to print as C. Its ops stand beside structure ops, `const`, `undef` and `call`.

The printer decides nothing: order, buffers, ownership and loops are what the ops say. docs/internals/loop-ir.md defines them.

An EXPRESSION is spelled by the `c` of its row, a C expression in which {0}, {1}, ... are the operands, {name} is an attribute,
{T} the C type of an element or of what a pointer points to, and {member} the member of sc_value that holds the result.
"""

from __future__ import annotations

from dataclasses import replace

from scriptc.ir.opdef import LOOP, OpDef
from scriptc.ir.ops.rules import Attrs, Operands, fixed, given
from scriptc.ir.types import BOOL, FLOAT, INT, ElemType, PtrType, Type

_PURE = frozenset({"PURE"})
_EXPRESSION = frozenset({"PURE", "EXPRESSION"})
_MEMORY = frozenset({"tensor", "list"})


def _element(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    pointer = operands[0].type
    assert isinstance(pointer, PtrType)
    return (ElemType(pointer.dtype),)


def _same_pointer(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    assert isinstance(operands[0].type, PtrType)
    return (operands[0].type,)


CALLS = [
    # A function of runtime/kernels, whose row says how it fails. `args` lists its arguments, but for the context in front and
    # the pointers to results at the end (backend_c/arguments.py). reuse: the kernel may take over its first operand, which
    # is released behind the call.
    OpDef("c.call", "(Value[] operands, *, str kernel, str[] args, bool reuse=False) -> Value", given, raises=True,
          reads=_MEMORY, writes=_MEMORY | {"io"}),
    # A view that lives in a C variable of this block, for c.rows and checks of sizes: not counted, never stored.
    OpDef("c.view", "(Value[] operands, *, str kernel, str[] args) -> Tensor", given, _PURE),
]  # fmt: skip

# Expressions over scalars, elements and pointers, and over what never changes in an object.
EXPRESSIONS = [
    # What the row `of` computes by its `c`: of numbers, or of elements that are computed in `dtype`.
    OpDef("c.expr", "(Value[] operands, *, str of, str? dtype=None) -> Value", given, _EXPRESSION),
    # A number or element as one of the result's type.
    OpDef("c.cast", "(Value self) -> Value", given, _EXPRESSION,
          c={"number": "({T}){0}", "whole": "sc_{source}_to_{target}({0})", "nonzero": "({0} != 0)", "real": "__real__ ({0})",
             "from_half": "sc_{source}_to_f32({0})", "to_half": "sc_f32_to_{target}({0})"}),
    OpDef("c.size", "(Tensor self, *, int dim) -> SymInt", fixed(INT), _EXPRESSION, c="{0}->size[{dim}]"),
    # dim: counted from the last one, which is 1
    OpDef("c.size_back", "(Tensor self, *, int dim) -> SymInt", fixed(INT), _EXPRESSION, c="{0}->size[{0}->rank - {dim}]"),
    OpDef("c.stride", "(Tensor self, *, int dim) -> SymInt", fixed(INT), _EXPRESSION, c="{0}->stride[{dim}]"),
    # The product of the operands and a factor.
    OpDef("c.product", "(SymInt[] factors, *, int factor) -> SymInt", fixed(INT), _EXPRESSION, c={"operand": "{0}"}),
    # A pointer, moved by so many steps; `step` is none where the step is an operand.
    OpDef("c.offset", "(Value pointer, SymInt count, SymInt[] by, *, int? step) -> Value", _same_pointer, _EXPRESSION,
          c={"one": "({0} + {1})", "number": "({0} + {1} * {step})", "operand": "({0} + {1} * {2})"}),
    OpDef("c.present", "(Value self) -> Value", fixed(BOOL), _EXPRESSION, c="({0} != NULL)"),
    # classes: the names of exceptions
    OpDef("c.exc_is", "(Value self, *, str[] classes) -> Value", fixed(BOOL), _EXPRESSION, c="sc_exc_is({0}, {classes})"),
    # As many operations or bytes for each element.
    OpDef("c.work", "(Tensor self, *, int factor) -> Scalar", fixed(FLOAT), _EXPRESSION, c="{factor} * (double){0}->numel"),
]  # fmt: skip

# Expressions that read memory, and are evaluated where they stand. An object that is read is borrowed.
READS = [
    OpDef("c.len", "(Value self) -> SymInt", fixed(INT), _EXPRESSION, reads=_MEMORY, c="{0}->len"),
    # An item of a list, and the key or value of an item of a dict. leaf: of the tuple object that the item is, or -1
    OpDef("c.item", "(Value self, SymInt index, *, int leaf) -> Value", given, _EXPRESSION, reads=_MEMORY,
          c="{0}->items[{1}]{leaf}.{member}"),
    OpDef("c.key", "(Value self, SymInt place, *, int leaf) -> Value", given, _EXPRESSION, reads=_MEMORY,
          c="{0}->items[{1}].key{leaf}.{member}"),
    OpDef("c.value", "(Value self, SymInt place, *, int leaf) -> Value", given, _EXPRESSION, reads=_MEMORY,
          c="{0}->items[{1}].value{leaf}.{member}"),
    OpDef("c.flag", "(Value self, SymInt index) -> Value", fixed(BOOL), _EXPRESSION, reads=_MEMORY, c="{0}->bools[{1}]"),
    # A leaf of an object.
    OpDef("c.field", "(Value self, *, int index) -> Value", given, _EXPRESSION, reads=_MEMORY,
          c="{0}->items[{index}].{member}"),
    # Where the elements of a tensor begin.
    OpDef("c.data", "(Tensor self) -> Value", given, _EXPRESSION, reads=_MEMORY, c="(({T} *){0}->data)"),
    # Of an iteration over rows: how many elements a row has, and where that of an operand begins, results first.
    OpDef("c.row_len", "(Value self) -> SymInt", fixed(INT), _EXPRESSION, reads=_MEMORY, c="{0}->n"),
    OpDef("c.row", "(Value self, *, int operand) -> Value", given, _EXPRESSION, reads=_MEMORY, c="{0}->p[{operand}]"),
    # How many Python calls are on the stack.
    OpDef("c.depth", "() -> SymInt", fixed(INT), _EXPRESSION, reads=_MEMORY, c="cx->depth"),
    OpDef("c.load", "(Value pointer, SymInt index) -> Value", _element, _EXPRESSION, reads=_MEMORY),
]  # fmt: skip

STATEMENTS = [
    OpDef("c.weight", "(*, str name) -> Tensor", given, _PURE),
    # Makes tensors of `dtypes` over the broadcast shape of the inputs and runs its region once per row, with the
    # iteration as argument. `args` lists the operands of the iteration behind the results; none stands for a number.
    # Bit i of `last`: the i-th of them is released next, and a result may take its memory.
    OpDef("c.rows", "(Tensor[] inputs, *, str[] args, str[] dtypes, int last) -> Tensor[]", given, raises=True, reads=_MEMORY),
    # A new contiguous tensor of these sizes. `over`: operands of its sizes, strides and dtype; the one that `take`
    # says (-1: none) is released behind the next loop, and the result may be that very object.
    OpDef("c.new", "(Value[] operands, *, str dtype, str[] sizes, int[] over, int take) -> Tensor", given, raises=True),
    # Runs its region for 0 <= k < n; iterations are independent, so that an innermost one may be vectorised. Pointers into
    # the `kept` objects are used in it.
    OpDef("c.for", "(SymInt n, Value[] kept) -> ()", fixed(), reads=_MEMORY, writes=_MEMORY),
    OpDef("c.store", "(Value pointer, Value index, Value element) -> ()", fixed(), writes=_MEMORY),
    OpDef("c.retain", "(Value object) -> ()", fixed(), writes=_MEMORY),
    OpDef("c.release", "(Value object) -> ()", fixed(), writes=_MEMORY),
    # A C variable that holds one value after another, and counts the object that it holds.
    OpDef("c.cell", "(Value initial) -> Value", given, frozenset({"ALLOCATES"})),
    OpDef("c.get", "(Value cell) -> Value", given, _PURE, reads=frozenset({"cell"})),
    OpDef("c.set", "(Value cell, Value value) -> ()", fixed(), writes=frozenset({"cell"})),
    # Raises where the call is to end. sparse: may be looked at once in many iterations of the loop that begins with it.
    OpDef("c.stop", "(*, bool sparse) -> ()", fixed(), raises=True),
    # Where the op behind it fails: releases the objects, then goes to the handler of the innermost `try` around it, or
    # leaves the function.
    OpDef("c.unwind", "(Value[] objects) -> ()", fixed(), writes=_MEMORY),
]  # fmt: skip

ROWS = [replace(row, phases=(LOOP,)) for row in (*CALLS, *EXPRESSIONS, *READS, *STATEMENTS)]
