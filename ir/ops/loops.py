"""The loop IR: what is left to print as C. Its ops stand beside structure ops, `const`, `undef` and `call`.

Templates are C text with {0}, {1}, ... for operands, {{ and }} for braces, and {loc} for the row of the location table.
Nothing here is decided by the printer: order, buffers, ownership and loops are what this text says.
"""

from __future__ import annotations

from scriptc.ir.opdef import OpDef
from scriptc.ir.ops.rules import fixed, given

_PURE = frozenset({"PURE"})
_MEMORY = frozenset({"tensor", "list"})

ROWS = [
    # A C function. fails: "null" (returns an object, NULL is failure), "status" (returns -1 on failure, a result goes
    # through a pointer behind the arguments), "never" (returns its result).
    OpDef("c.call", "(Value[] operands, *, str fn, str args, str fails) -> Value", given, raises=True,
          reads=_MEMORY, writes=_MEMORY | {"io"}),
    # A C expression over scalars and over what never changes in an object, such as sizes.
    OpDef("c.expr", "(Value[] operands, *, str text) -> Value", given, _PURE),
    # A C expression that reads memory, evaluated where it stands. An object read this way is borrowed.
    OpDef("c.read", "(Value[] operands, *, str text) -> Value", given, _PURE, reads=_MEMORY),
    OpDef("c.weight", "(*, str name) -> Tensor", given, _PURE),
    # Makes tensors of `dtypes` over the broadcast shape of the inputs and runs its region once per row, with the
    # iteration as argument. `args` lists the operands of the iteration behind the results; NULL stands for a number.
    # Bit i of `last`: the i-th of them is released next, and a result may take its memory.
    OpDef("c.rows", "(Tensor[] inputs, *, str args, str[] dtypes, int last) -> Tensor[]", given, raises=True, reads=_MEMORY),
    # A view that lives in a C variable of this block, for c.rows and checks of sizes: not counted, never stored.
    OpDef("c.view", "(Value[] operands, *, str fn, str args) -> Tensor", given, _PURE),
    # A new contiguous tensor whose sizes `args` lists. `over`: operands of its sizes, strides and dtype; the one that `take`
    # says (-1: none) is released behind the next loop, and the result may be that very object.
    OpDef("c.new", "(Value[] operands, *, str dtype, str[] sizes, int[] over, int take) -> Tensor", given, raises=True),
    # Runs its region for 0 <= k < n; iterations are independent, so that an innermost one may be vectorised. Pointers into
    # the `kept` objects are used in it.
    OpDef("c.for", "(SymInt n, Value[] kept) -> ()", fixed(), reads=_MEMORY, writes=_MEMORY),
    OpDef("c.load", "(Value pointer, Value index) -> Value", given, _PURE, reads=_MEMORY),
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
