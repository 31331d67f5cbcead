"""Lists (references with identity) and tuples (values). Ops that read a list also read a tuple of any length."""

from __future__ import annotations

from scriptc.ir.dtypes import FLOATING, INTEGRAL
from scriptc.ir.opdef import MADE_BY_PASSES, OUT_OF_MEMORY, OpDef, Raises, Samples, TypeRuleError, calls
from scriptc.ir.ops.rules import Attrs, Operands, elem_of, fixed, items_of, tensor
from scriptc.ir.types import (
    BOOL,
    FLOAT,
    INT,
    NEVER,
    STR,
    OptionalType,
    TensorType,
    TupleType,
    Type,
    is_subtype,
    is_tuple,
    join,
    layout,
    list_of,
    tuple_of,
)

_PURE = frozenset({"PURE"})
_FETCHES = frozenset({"PURE", "FETCHES"})
_CHECKED = _FETCHES | {"CHECKED"}
_READS = frozenset({"list"})
_WRITES = frozenset({"list"})


def _common(operands: Operands) -> Type:
    elem: Type = NEVER
    for v in operands:
        elem = join(elem, v.type)
    return elem


def _new(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    return (list_of(_common(operands)),)


def _new_tuple(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    return (tuple_of(_common(operands)),)


def _tuple_of_items(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    return (tuple_of(elem_of(operands[0])),)


def _joined(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    for v in operands:
        if not is_tuple(v.type):
            raise TypeRuleError(f"expected a tuple of any length, not {v.type}")
    return (join(operands[0].type, operands[1].type),)


def _longer(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    if not is_tuple(operands[0].type) or not is_subtype(operands[1].type, elem_of(operands[0])):
        raise TypeRuleError(f"a {operands[0].type} has no items of type {operands[1].type}")
    return (operands[0].type,)


def _changed(operands: Operands) -> None:
    if is_tuple(operands[0].type):
        raise TypeRuleError("a tuple does not change")


def _get(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    return (elem_of(operands[0]),)


def _store(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    _changed(operands)
    elem, value = elem_of(operands[0]), operands[-1].type
    if not is_subtype(value, elem):
        raise TypeRuleError(f"a list of {elem} cannot hold {value}")
    return ()


def _copy(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    elem_of(operands[0])
    return (operands[0].type,)


def _changes(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    _changed(operands)
    return ()


def _splice(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    _changed(operands)
    held, wanted = elem_of(operands[3]), elem_of(operands[0])
    if not is_subtype(held, wanted) or (held != NEVER and layout(held) != layout(wanted)):  # the op copies items as they are
        raise TypeRuleError(f"a {operands[0].type} cannot hold the items of a {operands[3].type}")
    return ()


def _order(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    if elem_of(operands[0]) not in (INT, FLOAT, BOOL, STR, NEVER):
        raise TypeRuleError(f"a {operands[0].type} has no order")
    return (list_of(INT),)


_DTYPE_OF = {INT: "i64", FLOAT: "f64", BOOL: "bool"}


def _tensor(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    elem = elem_of(operands[0])
    if elem not in _DTYPE_OF:
        raise TypeRuleError(f"a {operands[0].type} does not hold numbers")
    return (TensorType(_DTYPE_OF[elem], (None,)),)


def _elements(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    t = tensor(operands[0])
    if t.dims is None or len(t.dims) != 1 or t.dtype not in FLOATING | INTEGRAL:
        raise TypeRuleError(f"a {t} is no list of numbers")
    return (list_of(FLOAT if t.dtype in FLOATING else INT),)


def _tuple(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    return (TupleType(tuple(v.type for v in operands)),)


def _item(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    return (items_of(operands[0])[attrs["index"]],)


def _present(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    return (BOOL,)


def _unwrap(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    t = operands[0].type
    if not isinstance(t, OptionalType):
        raise TypeRuleError(f"expected an optional value, not {t}")
    return (t.item,)


_MEMORY = (OUT_OF_MEMORY,)
_ASSIGNED = "list assignment index out of range"

ROWS = [
    OpDef("tuple", "(Value[] items) -> Value", _tuple, _PURE, emit="tuple_"),
    OpDef("tuple.get", "(Value self, int index) -> Value", _item, _FETCHES, emit="tuple_get"),
    OpDef("list.new", "(Value[] items) -> Value", _new, frozenset({"ALLOCATES"}), emit="list_new",
          samples=calls(((1, 2, 3),), (("a", "é"),), ((0.5,),))),
    OpDef("list.len", "(Value self) -> SymInt", fixed(INT), _PURE, ref="builtins.len", reads=_READS, emit="list_len",
          samples=calls(([1, 2],), ((0.5, 1.5, 2.5),))),
    # index: Python's, from either end
    OpDef("list.get", "(Value self, SymInt index) -> Value", _get, _FETCHES, ref="operator.getitem", reads=_READS,
          raises=True, emit="list_get", samples=calls(([1, 2, 3], 0), ([1, 2, 3], -3), (["a", "b"], -1), ((0.5,), 0)),
          errors=(Raises("IndexError", "list index out of range", ([1, 2], 2)),
                  Raises("IndexError", "list index out of range", ([1, 2], -3)),
                  Raises("IndexError", "tuple index out of range", ((1, 2), 2)))),
    # index: proved to lie in 0..len-1
    OpDef("list.at", "(Value self, SymInt index) -> Value", _get, _CHECKED, ref="list:at", reads=_READS, emit="list_at",
          samples=calls(([1, 2, 3], 2), (["a", "b"], 0), ((True, False), 1))),
    OpDef("list.set", "(Value self, SymInt index, Value value) -> ()", _store, ref="operator.setitem", writes=_WRITES,
          raises=True, emit="list_set", samples=calls(([1, 2, 3], -1, 5), (["a", "b"], 0, "c")),
          errors=(Raises("IndexError", _ASSIGNED, ([1], 1, 0)),)),
    # index: proved to lie in 0..len-1
    OpDef("list.put", "(Value self, SymInt index, Value value) -> ()", _store, ref="list:put", writes=_WRITES, emit="list_put",
          samples=calls(([1, 2, 3], 2, 5), (["a", "b"], 0, "c"))),
    OpDef("list.append", "(Value self, Value value) -> ()", _store, ref="list.append", writes=_WRITES, raises=True,
          emit="list_append", samples=calls(([1], 2), (["a"], "b"), ([0.5], 1.5)), errors=_MEMORY),
    # `items` items are about to be appended
    OpDef("list.room", "(Value self, SymInt items) -> ()", _changes, writes=_WRITES, raises=True, kernel="sc_list_room",
          phases=MADE_BY_PASSES, samples=calls(([1, 2], 9), (["a"], 0), ([True], -1)), errors=_MEMORY),
    OpDef("list.insert", "(Value self, SymInt index, Value value) -> ()", _store, ref="list.insert", writes=_WRITES,
          raises=True, emit="list_insert", samples=calls(([1, 2], 1, 9), ([1, 2], -99, 9), ([1, 2], 99, 9), (["a"], 0, "b")),
          errors=_MEMORY),
    OpDef("list.delete", "(Value self, SymInt index) -> ()", _changes, ref="operator.delitem", writes=_WRITES, raises=True,
          kernel="sc_list_delete", samples=calls(([1, 2, 3], 0), ([1, 2, 3], -1), (["a", "b"], 1)),
          errors=(Raises("IndexError", _ASSIGNED, ([1], 1)),)),
    # bounds: Python's; what stands for None is beyond the end
    OpDef("list.slice", "(Value self, SymInt start, SymInt stop, SymInt step) -> Value", _copy, frozenset({"ALLOCATES"}),
          ref="operator.getitem", reads=_READS, raises=True, kernel="sc_list_slice",
          samples=calls(([1, 2, 3, 4], 1, 99, 2), ([1, 2, 3, 4], -1, 0, -1), (["a", "b"], 0, 1, 1), ((1, 2, 3), 1, 3, 1)),
          errors=(Raises("ValueError", "slice step cannot be zero", ([1], 0, 1, 0)),)),
    OpDef("list.repeat", "(Value self, SymInt times) -> Value", _copy, frozenset({"ALLOCATES"}), ref="operator.mul",
          reads=_READS, raises=True, kernel="sc_list_repeat", samples=calls(([1, 2], 3), ([1, 2], -1), (["a"], 2)),
          errors=(Raises("MemoryError", "", ([1, 2], 2**62)),)),
    OpDef("list.splice", "(Value self, SymInt start, SymInt stop, Value other) -> ()", _splice, ref="operator.setitem",
          reads=_READS, writes=_WRITES, raises=True, kernel="sc_list_splice",
          samples=calls(([1, 2, 3], 0, 2, [9]), ([1, 2, 3], 1, 1, [8, 9]), (["a", "b"], -1, 99, ["c"])), errors=_MEMORY),
    # the indices that sort numbers or strings, equal ones in their order
    # most: how many places of the order are needed, the first ones; -1: all
    OpDef("list.argsort", "(Value self, *, bool reverse, int most=-1) -> Value", _order, frozenset({"ALLOCATES"}),
          ref="builtins.sorted", reads=_READS, raises=True, emit="list_argsort",
          samples=calls(([3, 1, 2, 1], False, -1), ([3, 1, 2, 1], True, -1), ([0.5, -0.5], False, -1),
                        (["b", "é", "a"], False, -1), ([3, 1, 2, 1], False, 3), (["b", "é", "a", "é"], True, 2)),
          errors=_MEMORY),
    # the numbers as a tensor of i64, f64 or bool
    OpDef("list.tensor", "(Value self) -> Tensor", _tensor, _PURE, ref="torch.tensor", reads=_READS, raises=True,
          emit="list_tensor", samples=calls(([1, 2, 3],), ([0.5, -0.0],), ([True, False],)), errors=_MEMORY),
    # the elements of a tensor of one dim, as Tensor.tolist gives them: floats or ints
    OpDef("list.of_tensor", "(Tensor self) -> Value", _elements, frozenset({"ALLOCATES"}), ref="Tensor.tolist",
          reads=frozenset({"tensor"}), raises=True, kernel="sc_list_of_tensor", phases=MADE_BY_PASSES,
          samples=Samples(shapes=(((3,),), ((0,),)), dtypes=("f32", "f64", "f16", "i64", "u8")), errors=_MEMORY),
    # tuples of any length
    OpDef("tuple.new", "(Value[] items) -> Value", _new_tuple, frozenset({"ALLOCATES"}), emit="list_new",
          samples=calls(((1, 2),), (("a",),))),
    OpDef("tuple.of", "(Value self) -> Value", _tuple_of_items, frozenset({"ALLOCATES"}), ref="builtins.tuple", reads=_READS,
          raises=True, emit="tuple_of", samples=calls(([1, 2],), (["a"],)), errors=_MEMORY),
    OpDef("tuple.join", "(Value self, Value other) -> Value", _joined, frozenset({"ALLOCATES"}), ref="operator.add",
          reads=_READS, raises=True, kernel="sc_tuple_join", samples=calls(((1,), (2, 3)), (("a",), ("b",))), errors=_MEMORY),
    # `simplify` makes it of a tuple that is joined with a tuple of one item
    OpDef("tuple.append", "(Value self, Value item) -> Value", _longer, frozenset({"ALLOCATES"}), reads=_READS, raises=True,
          emit="tuple_append", errors=_MEMORY),
    OpDef("optional.present", "(Value self) -> Value", _present, _PURE, emit="optional_present"),
    OpDef("optional.unwrap", "(Value self) -> Value", _unwrap, _CHECKED, emit="optional_unwrap"),
]  # fmt: skip
