"""The loop IR, which is printed as C. Its ops are used beside structure ops, `const`, `undef` and `call`.

The printer decides nothing: the ops state order, buffers, ownership and loops. docs/internals/loop-ir.md defines them.

An EXPRESSION is printed by the `c` of its row, a C expression in which {0}, {1}, ... are the operands, {name} is an
attribute, {T} the C type of an element or of a pointer's target, and {member} the member of sc_value that holds the
result.
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
    # Calls a function of runtime/kernels, whose row says how it fails. `args` lists the arguments between the context
    # and the pointers to results (backend_c/arguments.py). If `reuse`, the kernel may take over its first operand,
    # which is released after the call.
    OpDef("c.call", "(Value[] operands, *, str kernel, str[] args, bool reuse=False) -> Value", given, raises=True,
          reads=_MEMORY, writes=_MEMORY | {"io"}),
    # A view in a C variable of this block, for c.rows and checks of sizes. It is not counted and never stored.
    OpDef("c.view", "(Value[] operands, *, str kernel, str[] args) -> Tensor", given, _PURE),
]  # fmt: skip

# Expressions over scalars, elements, pointers, and the immutable parts of objects.
EXPRESSIONS = [
    # Computes the `c` of the row `of`, on numbers, or on elements that are computed in `dtype`.
    OpDef("c.expr", "(Value[] operands, *, str of, str? dtype=None) -> Value", given, _EXPRESSION),
    # Converts a number or element to the result's type.
    OpDef("c.cast", "(Value self) -> Value", given, _EXPRESSION,
          c={"number": "({T}){0}", "whole": "sc_{source}_to_{target}({0})", "nonzero": "({0} != 0)", "real": "__real__ ({0})",
             "from_half": "sc_{source}_to_f32({0})", "to_half": "sc_f32_to_{target}({0})"}),
    OpDef("c.size", "(Tensor self, *, int dim) -> SymInt", fixed(INT), _EXPRESSION, c="{0}->size[{dim}]"),
    # dim: counted from the last dim, which is 1
    OpDef("c.size_back", "(Tensor self, *, int dim) -> SymInt", fixed(INT), _EXPRESSION, c="{0}->size[{0}->rank - {dim}]"),
    OpDef("c.stride", "(Tensor self, *, int dim) -> SymInt", fixed(INT), _EXPRESSION, c="{0}->stride[{dim}]"),
    # The product of the operands and a factor.
    OpDef("c.product", "(SymInt[] factors, *, int factor) -> SymInt", fixed(INT), _EXPRESSION, c={"operand": "{0}"}),
    # Moves a pointer by `count` steps. `step` is None if the step is the operand `by`.
    OpDef("c.offset", "(Value pointer, SymInt count, SymInt[] by, *, int? step) -> Value", _same_pointer, _EXPRESSION,
          c={"one": "({0} + {1})", "number": "({0} + {1} * {step})", "operand": "({0} + {1} * {2})"}),
    OpDef("c.present", "(Value self) -> Value", fixed(BOOL), _EXPRESSION, c="({0} != NULL)"),
    # classes: the names of exceptions
    OpDef("c.exc_is", "(Value self, *, str[] classes) -> Value", fixed(BOOL), _EXPRESSION, c="sc_exc_is({0}, {classes})"),
    # Operations or bytes: `factor` for each element.
    OpDef("c.work", "(Tensor self, *, int factor) -> Scalar", fixed(FLOAT), _EXPRESSION, c="{factor} * (double){0}->numel"),
]  # fmt: skip

# Expressions that read memory, so they are evaluated in program order. An object that is read is borrowed.
READS = [
    OpDef("c.len", "(Value self) -> SymInt", fixed(INT), _EXPRESSION, reads=_MEMORY, c="{0}->len"),
    # An item of a list, and the key or value of an item of a dict. leaf: its index in the tuple object that the item is, or -1.
    # stride: of items of the dict. place: in the item
    OpDef("c.item", "(Value self, SymInt index, *, int leaf) -> Value", given, _EXPRESSION, reads=_MEMORY,
          c="{0}->items[{1}]{leaf}.{member}"),
    OpDef("c.key", "(Value self, SymInt position, *, int leaf, int stride) -> Value", given, _EXPRESSION, reads=_MEMORY,
          c="sc_dict_item({0}, {1}, {stride})->key{leaf}.{member}"),
    OpDef("c.value", "(Value self, SymInt position, *, int leaf, int stride, int place) -> Value", given, _EXPRESSION,
          reads=_MEMORY, c="sc_dict_row({0}, {1}, {stride})[{place}]{leaf}.{member}"),
    OpDef("c.flag", "(Value self, SymInt index) -> Value", fixed(BOOL), _EXPRESSION, reads=_MEMORY, c="{0}->bools[{1}]"),
    # A leaf of an object.
    OpDef("c.field", "(Value self, *, int index) -> Value", given, _EXPRESSION, reads=_MEMORY,
          c="{0}->items[{index}].{member}"),
    # A pointer to the first element of a tensor.
    OpDef("c.data", "(Tensor self) -> Value", given, _EXPRESSION, reads=_MEMORY, c="(({T} *){0}->data)"),
    # For an iteration over rows: the length of a row, and a pointer to an operand's row. Results precede operands.
    OpDef("c.row_len", "(Value self) -> SymInt", fixed(INT), _EXPRESSION, reads=_MEMORY, c="{0}->n"),
    OpDef("c.row", "(Value self, *, int operand) -> Value", given, _EXPRESSION, reads=_MEMORY, c="{0}->p[{operand}]"),
    # The row of the op's location in the table of locations; the first of consecutive rows with the locations of several
    # `c.line`; the row that comes `offset` rows behind another.
    OpDef("c.line", "() -> SymInt", fixed(INT), _EXPRESSION, c=""),
    OpDef("c.lines", "(SymInt[] lines) -> SymInt", fixed(INT), _EXPRESSION, c=""),
    OpDef("c.line_behind", "(SymInt row, *, int offset) -> SymInt", fixed(INT), _EXPRESSION, c="({0} + {offset})"),
    # The depth of Python calls on the stack.
    OpDef("c.depth", "() -> SymInt", fixed(INT), _EXPRESSION, reads=_MEMORY, c="cx->depth"),
    OpDef("c.load", "(Value pointer, SymInt index) -> Value", _element, _EXPRESSION, reads=_MEMORY),
]  # fmt: skip

STATEMENTS = [
    OpDef("c.weight", "(*, str name) -> Tensor", given, _PURE),
    # Makes tensors of `dtypes` in the broadcast shape of the inputs, and runs its region once for each row, with the
    # iteration as argument. `args` lists the operands of the iteration, after the results; None stands for a number. If
    # bit i of `last` is set, operand i is dead after the op, and a result may take its memory.
    OpDef("c.rows", "(Tensor[] inputs, *, str[] args, str[] dtypes, int last) -> Tensor[]", given, raises=True, reads=_MEMORY),
    # Makes a contiguous tensor of these sizes. The operands `over` have the tensor's sizes, strides and dtype. Operand
    # `take` (-1: none) is released after the next loop, and the result may reuse its object.
    OpDef("c.new", "(Value[] operands, *, str dtype, str[] sizes, int[] over, int take) -> Tensor", given, raises=True),
    # Runs its region for 0 <= k < n. Iterations are independent, so an innermost loop may be vectorized. Pointers into
    # the `kept` objects are used in the region.
    OpDef("c.for", "(SymInt n, Value[] kept) -> ()", fixed(), reads=_MEMORY, writes=_MEMORY),
    # A function of one element, as one of `n` elements behind a pointer, which its region takes and changes in place. It is a
    # C function of its own, so that the region uses nothing of the function around it.
    OpDef("c.activation", "() -> Value", given, _PURE),
    OpDef("c.store", "(Value pointer, Value index, Value element) -> ()", fixed(), writes=_MEMORY),
    OpDef("c.retain", "(Value object) -> ()", fixed(), writes=_MEMORY),
    OpDef("c.release", "(Value object) -> ()", fixed(), writes=_MEMORY),
    # A C variable that holds one value after another, and owns a reference to the object that it holds.
    OpDef("c.cell", "(Value initial) -> Value", given, frozenset({"ALLOCATES"})),
    OpDef("c.get", "(Value cell) -> Value", given, _PURE, reads=frozenset({"cell"})),
    OpDef("c.set", "(Value cell, Value value) -> ()", fixed(), writes=frozenset({"cell"})),
    # The next op fails at this row of the table of locations, not at its own location.
    OpDef("c.at", "(SymInt row) -> ()", fixed(), writes=_MEMORY),
    # Raises if the call is to end. If `sparse`, the loop that begins with the op may skip the test in most iterations.
    OpDef("c.stop", "(*, bool sparse) -> ()", fixed(), raises=True),
    # If the next op fails, releases the objects, then jumps to the handler of the innermost `try` around it, or leaves
    # the function.
    OpDef("c.unwind", "(Value[] objects) -> ()", fixed(), writes=_MEMORY),
]  # fmt: skip

ROWS = [replace(row, phases=(LOOP,)) for row in (*CALLS, *EXPRESSIONS, *READS, *STATEMENTS)]
