"""Control flow, constants and weights.

`loop` runs its region until a `break`. A counted loop has the operands start, stop, step and the initial carried
values; its region takes the counter and the carried values. Other loops have only carried values. `yield` and
`continue` give the carried values of the next iteration, `break` the results of the loop. `scope` runs its region once;
a `break` to its label leaves it early.
"""

from __future__ import annotations

from scriptc.ir.opdef import ALL_PHASES, MADE_BY_PASSES, OUT_OF_MEMORY, READ_ONLY, OpDef, TypeRuleError
from scriptc.ir.ops.rules import Attrs, Operands, fixed, given
from scriptc.ir.types import ACTIVATION, BOOL, Type

_CONTROL = frozenset({"CONTROL"})
_LEAVES = frozenset({"TERMINATOR"})
_STATE = frozenset({"state"})


def _fuse(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    raise TypeRuleError("the result types of fuse are those of the values that its region yields")


ROWS = [
    OpDef("const", "() -> Value", given, frozenset({"PURE"}), emit="const", phases=ALL_PHASES),
    OpDef("param", "(str name) -> Tensor", given, frozenset({"PURE", "FETCHES"}), emit="param"),
    OpDef("if", "(Value cond) -> Value", given, _CONTROL, emit="if_", phases=ALL_PHASES),
    OpDef("loop", "(Value[] init, *, str label, bool counted) -> Value", given, _CONTROL, emit="loop", phases=ALL_PHASES),
    OpDef("scope", "(*, str label) -> Value", given, _CONTROL, emit="scope", phases=ALL_PHASES),
    OpDef("yield", "(Value[] values) -> ()", fixed(), _LEAVES, emit="yield_", phases=ALL_PHASES),
    OpDef("continue", "(Value[] values, *, str to) -> ()", fixed(), _LEAVES, emit="continue_", phases=ALL_PHASES),
    OpDef("break", "(Value[] values, *, str to) -> ()", fixed(), _LEAVES, emit="break_", phases=ALL_PHASES),
    OpDef("return", "(Value[] values) -> ()", fixed(), _LEAVES, emit="return_", phases=ALL_PHASES),
    # message: the text, or a format of ir/text_formats.py if there are values
    OpDef("raise", "(Value[] values, *, str type, str message) -> ()", fixed(), _LEAVES, raises=True, emit="raise_",
          phases=ALL_PHASES),
    # Ends a block whose end is unreachable: after an `if` or `loop` whose paths all leave.
    OpDef("unreachable", "() -> ()", fixed(), _LEAVES, emit="unreachable", phases=ALL_PHASES),
    OpDef(
        "call", "(Value[] args, *, str func) -> Value", given, raises=True, emit="call",
        reads=frozenset({"tensor", "list"}), writes=frozenset({"tensor", "list", "io"}), phases=ALL_PHASES,
    ),
    # Assigns a value, whose leaves are the operands, to a slot. The front end numbers the slots (`target`) and the
    # forms of the values (`form`). Form -1 deletes the attribute or item.
    OpDef("state.set", "(Value[] values, *, str name, int target, int form) -> ()", fixed(), writes=_STATE,
          raises=True, emit="state_set", errors=(OUT_OF_MEMORY,)),
    # These keep a value that is computed from frozen weights from call to call; `slot` numbers the values. `kept.get`
    # requires that `kept.has` is true. plain: the strides are those of a new contiguous tensor.
    OpDef("kept.has", "(*, int slot) -> Value", fixed(BOOL), reads=_STATE, emit="kept_has", phases=MADE_BY_PASSES),
    OpDef("kept.get", "(*, int slot, bool plain) -> Value", given, reads=_STATE, emit="kept_get",
          phases=MADE_BY_PASSES),
    OpDef("kept.put", "(Value made, *, int slot) -> ()", fixed(), writes=_STATE, raises=True, emit="kept_put",
          errors=(OUT_OF_MEMORY,), phases=MADE_BY_PASSES),
    # The gradients of the first `outputs` values with respect to the next `inputs` ones, given the gradients of the outputs.
    # Replaced when a function has been read (ir/gradients/inside.py). retain: the graph may be asked again.
    OpDef("autograd.grad", "(Value[] values, *, int outputs, int inputs, bool retain) -> Value", given, gradient=(),
          reads=frozenset({"tensor"}), phases=READ_ONLY),
    OpDef("fuse", "(Value[] inputs) -> Value", _fuse, frozenset({"PURE"}), reads=frozenset({"tensor"}), emit="fuse",
          phases=MADE_BY_PASSES),
    # A function of one element, which its region computes by elementwise ops of the argument and constants.
    OpDef("activation", "() -> Value", fixed(ACTIVATION), frozenset({"PURE"}), emit="activation", phases=MADE_BY_PASSES),
    # The front end marks the first and the last op of a function that `checkpoint` was called with. preserve: the state of
    # the generator of random numbers is restored for backward code.
    OpDef("checkpoint.begin", "(*, bool preserve) -> ()", fixed(), writes=frozenset({"io"}), emit="checkpoint_mark"),
    OpDef("checkpoint.end", "() -> ()", fixed(), writes=frozenset({"io"}), emit="checkpoint_mark"),
    # A scope that is left only at its end. Backward code runs the region again, in place of keeping its values.
    # repeats: eager repeats the effects of the region, too, so that differentiation refuses these.
    OpDef("checkpoint", "(*, str label, bool preserve, bool repeats) -> Value", given, _CONTROL, emit="scope"),
    # The value of a name on a path that never assigns the name. check.bound precedes each use.
    OpDef("undef", "() -> Value", given, frozenset({"PURE"}), emit="undef", phases=ALL_PHASES),
    # message: a format of ir/text_formats.py
    OpDef("warn", "(Value[] values, *, str category, str message) -> ()", fixed(), writes=frozenset({"io"}), raises=True,
          emit="warn", errors=(OUT_OF_MEMORY,)),
    OpDef("print", "(Value[] values, *, str format) -> ()", fixed(), writes=frozenset({"io"}), emit="print_"),
]  # fmt: skip
