"""Dicts and sets with keys known at run time: references with identity. A set is a dict without values.

A *position* is the index at which a dict stores a key. A position is valid until the next `dict.walk`. Keys are
numbers, strings, and tuples of these.
"""

from __future__ import annotations

from scriptc.ir.opdef import OUT_OF_MEMORY, OpDef, TypeRuleError
from scriptc.ir.ops.rules import Attrs, Operands, elem_of, fixed, key_of
from scriptc.ir.types import BOOL, FLOAT, INT, NEVER, ListType, TupleType, Type, dict_of, is_subtype, set_of

_MAKES = frozenset({"ALLOCATES"})
_PURE = frozenset({"PURE"})
_CHECKED = frozenset({"PURE", "FETCHES", "CHECKED"})
_MEMORY = frozenset({"list"})


def _dict(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    return (dict_of(NEVER, NEVER),)


def _set(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    return (set_of(NEVER),)


def _key(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    return (key_of(operands[0]),)


def _value(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    key_of(operands[0])
    return (elem_of(operands[0]),)


def _fits(operands: Operands) -> None:
    key = key_of(operands[0])
    if not is_subtype(operands[1].type, key):
        raise TypeRuleError(f"a {operands[0].type} has no keys of type {operands[1].type}")


def has_hash(t: Type) -> bool:
    """Return whether values of a type hash alike in all processes. Strings do not."""
    if isinstance(t, TupleType):
        return all(map(has_hash, t.items))
    if isinstance(t, ListType) and t.is_tuple:
        return has_hash(t.elem)
    return t in (INT, FLOAT, BOOL, NEVER)


def _hash(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    if not has_hash(operands[0].type):
        raise TypeRuleError(f"{operands[0].type} has no hash")
    return (INT,)


def _find(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    if key_of(operands[0]) != NEVER:
        _fits(operands)
    return (INT,)


def _add(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    _fits(operands)
    return ()


def _store(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    _fits(operands)
    return _put(operands, attrs)


def _put(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    if not is_subtype(operands[2].type, elem_of(operands[0])):
        raise TypeRuleError(f"a {operands[0].type} cannot hold {operands[2].type}")
    return ()


def _enter(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    _store(operands, attrs)
    return (INT,)


def _same(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    keys = [key_of(v) for v in operands]
    if NEVER not in keys and keys[0] != keys[1]:
        raise TypeRuleError(f"a {operands[0].type} cannot hold the keys of a {operands[1].type}")
    return ()


def _made(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    _same(operands, attrs)
    return (set_of(key_of(operands[0])),)


_MEMORY_ENDS = (OUT_OF_MEMORY,)

ROWS = [
    OpDef("hash", "(Value self) -> SymInt", _hash, _PURE, ref="builtins.hash", reads=_MEMORY, emit="hash_"),
    OpDef("dict.new", "() -> Value", _dict, _MAKES, emit="dict_new"),
    OpDef("dict.len", "(Value self) -> SymInt", fixed(INT), _PURE, ref="builtins.len", reads=_MEMORY, emit="dict_len"),
    # the index of a key, or -1
    OpDef("dict.find", "(Value self, Value key) -> SymInt", _find, _PURE, reads=_MEMORY, emit="dict_find"),
    OpDef("dict.key", "(Value self, SymInt position) -> Value", _key, _CHECKED, reads=_MEMORY, emit="dict_key"),
    OpDef("dict.at", "(Value self, SymInt position) -> Value", _value, _CHECKED, reads=_MEMORY, emit="dict_at"),
    OpDef("dict.set", "(Value self, Value key, Value value) -> ()", _store, ref="operator.setitem", writes=_MEMORY,
          raises=True, emit="dict_set", errors=_MEMORY_ENDS),
    # as dict.set of a key that is absent; returns the position of the key
    OpDef("dict.enter", "(Value self, Value key, Value value) -> SymInt", _enter, writes=_MEMORY, raises=True,
          emit="dict_enter", errors=_MEMORY_ENDS),
    # the position of a key, which is entered with a value if it is absent
    OpDef("dict.find_or_enter", "(Value self, Value key, Value value) -> SymInt", _enter, ref="dict.setdefault",
          reads=_MEMORY, writes=_MEMORY, raises=True, emit="dict_find_or_enter", errors=_MEMORY_ENDS),
    # replaces the value of a present key
    OpDef("dict.put", "(Value self, SymInt position, Value value) -> ()", _put, writes=_MEMORY, emit="dict_put"),
    OpDef("dict.remove", "(Value self, SymInt position) -> ()", fixed(), writes=_MEMORY, emit="dict_remove"),
    OpDef("dict.clear", "(Value self) -> ()", fixed(), writes=_MEMORY, emit="dict_clear"),
    # starts a walk: until a key is added or removed, the positions are 0 to len - 1 in Python's order; returns the
    # argument of `dict.unchanged`
    OpDef("dict.walk", "(Value self) -> SymInt", fixed(INT), writes=_MEMORY, raises=True, emit="dict_walk",
          errors=_MEMORY_ENDS),
    # raises RuntimeError if a key was added or removed since the walk began
    OpDef("dict.unchanged", "(Value self, SymInt walk) -> ()", fixed(), reads=_MEMORY, raises=True,
          kernel="sc_dict_unchanged"),
    OpDef("set.new", "() -> Value", _set, _MAKES, emit="set_new"),
    OpDef("set.add", "(Value self, Value key) -> ()", _add, ref="set.add", writes=_MEMORY, raises=True, emit="set_add",
          errors=_MEMORY_ENDS),
    # requires that the set is not empty
    OpDef("set.pop", "(Value self) -> Value", _key, ref="set.pop", writes=_MEMORY, emit="set_pop"),
    # A set's order depends on how the set was made, so these follow Python's algorithms. `merge` also accepts the keys
    # of a dict.
    OpDef("set.merge", "(Value self, Value other) -> ()", _same, ref="set.update", reads=_MEMORY, writes=_MEMORY,
          raises=True, kernel="sc_set_merge", errors=_MEMORY_ENDS),
    OpDef("set.keep", "(Value self, Value other) -> ()", _same, ref="set.intersection_update", reads=_MEMORY, writes=_MEMORY,
          raises=True, kernel="sc_set_keep", errors=_MEMORY_ENDS),
    OpDef("set.drop", "(Value self, Value other) -> ()", _same, ref="set.difference_update", reads=_MEMORY, writes=_MEMORY,
          raises=True, kernel="sc_set_drop", errors=_MEMORY_ENDS),
    OpDef("set.flip", "(Value self, Value other) -> ()", _same, ref="set.symmetric_difference_update", reads=_MEMORY,
          writes=_MEMORY, raises=True, kernel="sc_set_flip", errors=_MEMORY_ENDS),
    OpDef("set.and", "(Value self, Value other) -> Value", _made, _MAKES, ref="set.intersection", reads=_MEMORY,
          raises=True, kernel="sc_set_and", errors=_MEMORY_ENDS),
    OpDef("set.minus", "(Value self, Value other) -> Value", _made, _MAKES, ref="set.difference", reads=_MEMORY,
          raises=True, kernel="sc_set_minus", errors=_MEMORY_ENDS),
]  # fmt: skip
