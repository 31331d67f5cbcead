"""Comparisons, identity and `in`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import torch

from scriptc.frontend.environment.leaves import is_leaf
from scriptc.frontend.environment.lookup import late_binding_of
from scriptc.frontend.environment.state import is_new
from scriptc.frontend.environment.watching import call_in_python
from scriptc.frontend.library.python import lists_decomposed as lists
from scriptc.frontend.operations.attributes import replaced_operator
from scriptc.frontend.operations.complexes import compare_complex
from scriptc.frontend.operations.containers import container_behind
from scriptc.frontend.operations.elementwise import MIRRORED, elementwise
from scriptc.frontend.operations.held_tensors import holds, is_held
from scriptc.frontend.operations.logic import bad_operands, logical_and, negated, to_float, to_int
from scriptc.frontend.operations.materialize import any_length, apply_op, wrap
from scriptc.frontend.operations.objects import compared_fields, special
from scriptc.frontend.operations.operator_tables import COMPARE
from scriptc.frontend.operations.operators import both_present, number_operand
from scriptc.frontend.operations.records import same_record
from scriptc.frontend.operations.runtime_dicts import (
    compare_tables,
    is_dict_like,
    is_set_like,
    refuse_item_sets,
)
from scriptc.frontend.operations.special_methods import METHODS, REFLECTED, answer, derives, same_class
from scriptc.frontend.operations.strings import compare_texts
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.raised import is_exception
from scriptc.frontend.values.abstract import AbstractValue, ClassOf, Kinds, Known, ListValue, RuntimeValue, TupleValue
from scriptc.frontend.values.alternatives import is_kind, present, split_all
from scriptc.frontend.values.predicates import (
    has_alternatives,
    is_any_length_tuple,
    is_bool,
    is_complex_number,
    is_function,
    is_known,
    is_made_list,
    is_made_sequence,
    is_made_tuple,
    is_none,
    is_object,
    is_plain_tuple,
    is_run_time_text,
    is_tensor,
    is_text,
    ssa_value,
)
from scriptc.frontend.values.structure import identity_of, sequence_items
from scriptc.frontend.values.user_classes import defines, is_generated
from scriptc.frontend.values.verb import Verb
from scriptc.frontend.values.verbs import dict_behind, is_run_time, materialize, operator_of, python_class, type_of
from scriptc.ir.types import BOOL, FLOAT, INT, NEVER, ListType


def is_container(av: AbstractValue) -> bool:
    """Return whether a value is a list, tuple, dict or set. None of these equals a number or a tensor."""
    if is_known(av):
        return type(av.obj) in (tuple, list, dict, set, frozenset)
    return is_made_sequence(av) or is_dict_like(av) or is_set_like(av)


def compare_objects(reader: Reader, op: str, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    ways = [(op, a, b), (REFLECTED.get(op, op), b, a)]
    for way, owner, other in reversed(ways) if derives(b, a) else ways:
        if (found := compared_by(reader, way, owner, other)) is not None:
            return found
    if op not in ("Eq", "NotEq"):
        bad_operands(reader, op, a, b)
    return identity(reader, a, b, negate=op == "NotEq")


def compared_by(reader: Reader, op: str, owner: AbstractValue, other: AbstractValue) -> AbstractValue | None:
    """Return the result of the comparison method of one operand's class; None if the class has none."""
    method = f"__{METHODS[op]}__"
    if is_generated(owner, method):  # `dataclass` generated the method
        if not same_class(owner, other):
            return None
        return compare_sequences(reader, op, *(TupleValue(compared_fields(reader, o)) for o in (owner, other)))
    found = answer(reader, owner, method, other)
    if found is None and op == "NotEq":  # object.__ne__ negates __eq__
        equal = compared_by(reader, "Eq", owner, other)
        return None if equal is None else negated(reader, reader.truth(equal))
    return found


def compare_tuples(reader: Reader, op: str, a: AbstractValue, b: AbstractValue) -> AbstractValue | None:
    """Compare operands of which one is a tuple of any length; return None if neither is."""
    if not any(is_any_length_tuple(av) for av in (a, b)):
        return None
    if not (is_plain_tuple(a) and is_plain_tuple(b)):
        return Known(op == "NotEq") if op in ("Eq", "NotEq") else bad_operands(reader, op, a, b)
    for one, other in ((a, b), (b, a)):
        if (items := sequence_items(one)) is not None and op in ("Eq", "NotEq"):
            assert isinstance(other, ListValue)
            equal = equals_items(reader, other, items)
            return negated(reader, equal) if op == "NotEq" else equal
    both = [ListValue(any_length(reader, av)) for av in (a, b)]
    return reader.call(Known(lists.COMPARISONS[op]), both, {})


def equals_items(reader: Reader, av: ListValue, items: Sequence[AbstractValue]) -> AbstractValue:
    """Return `av == (*items,)`."""
    value = materialize(reader, av)

    def same() -> AbstractValue:
        result: AbstractValue = Known(True)
        for i, item in enumerate(items):
            found = wrap(reader, reader.emit.build("list.at", [value, reader.emit.const(i)]))
            result = reader.choose(result, partial(are_same, reader, found, item), lambda: Known(False))
        return result

    if isinstance(value.type, ListType) and value.type.elem == NEVER:
        return Known(not items)
    length = reader.emit.build("list.len", [value])
    return reader.choose(reader.compare("Eq", RuntimeValue(length), Known(len(items))), same, lambda: Known(False))


def compare(reader: Reader, op: str, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    if op in ("In", "NotIn"):
        b = present(reader, b, "TypeError", "argument of type 'NoneType' is not iterable")
    elif op in ("Lt", "LtE", "Gt", "GtE"):
        a, b = both_present(reader, op, a, b)
    if op in COMPARE and is_text(a) and is_text(b) and (is_run_time_text(a) or is_run_time_text(b)):
        return compare_texts(reader, op, a, b)
    if has_alternatives(a) or has_alternatives(b):
        if op in ("Is", "IsNot") and (found := none_test(reader, a, b)) is not None:
            return negated(reader, found) if op == "IsNot" else found
        return split_all(reader, [a, b], lambda avs: reader.compare(op, *avs))
    if op in ("Is", "IsNot"):
        return identity(reader, a, b, negate=op == "IsNot")
    if op in ("In", "NotIn"):
        return contained(reader, a, b, negate=op == "NotIn")
    for operand in (a, b):
        if (decided := operator_of(reader, operand, op, a, b)) is not None:
            return decided
    refuse_item_sets(reader, a, b)
    a, b = container_behind(reader, a, "__eq__"), container_behind(reader, b, "__eq__")
    function, name = COMPARE[op]
    if isinstance(a, ClassOf) and op in ("Eq", "NotEq"):
        return identity(reader, a, b, negate=op == "NotEq")
    asked = (f"__{name}__", f"__{MIRRORED.get(name, name)}__")
    if any(is_known(av) and (defines(av, "__eq__") or any(defines(av, n) for n in asked)) for av in (a, b)):
        return compare_objects(reader, op, a, b)
    if is_known(a) and is_known(b):
        return call_in_python(reader, function, a.obj, b.obj)
    named = any(is_made_tuple(av) and any(defines(av, n) for n in asked) for av in (a, b))
    if named or is_object(a) or is_object(b):
        return compare_objects(reader, op, a, b)
    if op in ("Eq", "NotEq") and any(is_text(av) or is_none(av) for av in (a, b)):
        return Known(op == "NotEq")
    if is_tensor(a) or is_tensor(b):
        if op in ("Eq", "NotEq") and (is_container(a) or is_container(b)):
            return Known(op == "NotEq")
        own, other, method = (a, b, METHODS[op]) if is_tensor(a) else (b, a, METHODS[REFLECTED.get(op, op)])
        if (found := replaced_operator(reader, f"__{method}__", own, other)) is not None:
            return found
        return elementwise(reader, name, a, b)
    if is_count(a) and is_negative(b) or is_negative(a) and is_count(b):  # -1 stands for an unknown size in many lists
        return call_in_python(reader, function, *((1, -1) if is_negative(b) else (-1, 1)))
    if is_complex_number(a) or is_complex_number(b):
        return compare_complex(reader, op, a, b)
    tables = dict_behind(reader, a), dict_behind(reader, b)
    if any(is_dict_like(av) or is_set_like(av) for av in tables):
        return compare_tables(reader, op, *tables)
    if is_made_sequence(a) or is_made_sequence(b):
        return compare_sequences(reader, op, a, b)
    if op in ("Eq", "NotEq") and (is_container(a) or is_container(b)):
        return Known(op == "NotEq")
    x, y = number_operand(reader, a, op, a, b), number_operand(reader, b, op, a, b)
    if (x.type, y.type) == (INT, FLOAT):
        return RuntimeValue(reader.emit.build(f"mixed.{name}", [x, y]))
    if (x.type, y.type) == (FLOAT, INT):
        return RuntimeValue(reader.emit.build(f"mixed.{MIRRORED.get(name, name)}", [y, x]))
    if FLOAT in (x.type, y.type):
        return RuntimeValue(reader.emit.build(f"float.{name}", [to_float(reader, x), to_float(reader, y)]))
    return RuntimeValue(reader.emit.build(f"int.{name}", [to_int(reader, x), to_int(reader, y)]))


def is_count(av: AbstractValue) -> bool:
    """Return whether a run-time int is never negative: a size, a length, or a sum or product of such ints."""
    todo, seen = [ssa_value(av)], set()
    while todo:
        value = todo.pop()
        if value in seen:
            continue
        seen.add(value)
        made = value.op if value is not None else None
        if made is None or value is None or value.type != INT:
            return False
        if made.name in ("int.mul", "int.add"):
            todo += made.operands
        elif made.name not in ("size", "list.len") and not (made.name == "const" and made.attrs["value"] >= 0):
            return False
    return True


def is_negative(av: AbstractValue) -> bool:
    return is_known(av) and type(av.obj) is int and av.obj < 0


def none_test(reader: Reader, a: AbstractValue, b: AbstractValue) -> AbstractValue | None:
    """Return `a is b` where one is None and the other may be None; None for other operands."""
    for one, other in ((a, b), (b, a)):
        if has_alternatives(one) and is_none(other):
            return is_kind(reader, one, Kinds.NONE) if Kinds.NONE in one.alternatives else Known(False)
    return None


def compare_sequences(reader: Reader, op: str, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    if (found := compare_tuples(reader, op, a, b)) is not None:
        return found
    if is_made_list(a) and is_made_list(b) and (a.items is None or b.items is None):
        return reader.call(Known(lists.COMPARISONS[op]), [a, b], {})
    if op not in ("Eq", "NotEq"):
        return compare_in_order(reader, op, [*reader.iterate(a)], [*reader.iterate(b)])
    classes = [python_class(reader, av) for av in (a, b)]
    if not any(all(issubclass(c, kind) for c in classes) for kind in (list, tuple)):
        return Known(op == "NotEq")
    parts = [reader.iterate(av) for av in (a, b)]
    if len(parts[0]) != len(parts[1]):
        return Known(op == "NotEq")
    result = all_same(reader, [*zip(*parts, strict=True)])
    return negated(reader, result) if op == "NotEq" else result


def all_same(reader: Reader, pairs: Sequence[tuple[AbstractValue, AbstractValue]]) -> AbstractValue:
    """Return whether two sequences have the same items. Pairs after the first difference are not compared."""
    result: AbstractValue = Known(True)
    for x, y in pairs:
        if {type_of(x), type_of(y)} <= {INT, FLOAT, BOOL}:
            result = logical_and(reader, result, are_same(reader, x, y))
        else:
            result = reader.choose(result, partial(are_same, reader, x, y), lambda: Known(False))
    return result


def are_same(reader: Reader, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    """Return `a is b or a == b`, the test by which Python finds items. Numbers have no identity, so NaN finds NaN."""
    if is_tensor(a) and is_tensor(b):
        return reader.choose(
            identity(reader, a, b, negate=False), lambda: Known(True), lambda: equal_truth(reader, a, b)
        )
    if (has_alternatives(a) or has_alternatives(b)) and _may_be_tensor(a) and _may_be_tensor(b):
        return split_all(reader, [a, b], lambda avs: are_same(reader, *avs))
    equal = equal_truth(reader, a, b)
    if FLOAT == type_of(a) == type_of(b) and not is_known(equal):
        both_nan = logical_and(
            reader, reader.truth(reader.compare("NotEq", a, a)), reader.truth(reader.compare("NotEq", b, b))
        )
        return RuntimeValue(reader.emit.build("bool.or_", [materialize(reader, equal), materialize(reader, both_nan)]))
    return equal


def _may_be_tensor(av: AbstractValue) -> bool:
    return any(map(is_tensor, av.alternatives.values())) if has_alternatives(av) else is_tensor(av)


def equal_truth(reader: Reader, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    return reader.truth(reader.compare("Eq", a, b))


def compare_in_order(reader: Reader, op: str, left: list[AbstractValue], right: list[AbstractValue]) -> AbstractValue:
    """Order two sequences by their first pair of different items, else by length."""
    if not left or not right:
        return reader.compare(op, Known(len(left)), Known(len(right)))
    return reader.choose(
        are_same(reader, left[0], right[0]) if is_tensor(left[0]) else equal_truth(reader, left[0], right[0]),
        lambda: compare_in_order(reader, op, left[1:], right[1:]),
        lambda: reader.compare(op, left[0], right[0]),
    )


def identity(reader: Reader, a: AbstractValue, b: AbstractValue, negate: bool) -> AbstractValue:
    result: AbstractValue
    if (found := same_record(reader, a, b)) is not None:
        result = found
    elif is_known(a) and is_known(b):
        result = Known(a.obj is b.obj)
    elif is_bool(a) and is_bool(b):  # True and False each are one object
        result = reader.compare("Eq", a, b)
    elif a is not b and is_text(a) and is_text(b):
        reader.reject("identity_of_strings")
    elif isinstance(a, ClassOf) and is_known(b) and isinstance(b.obj, type):
        result = is_exception(reader, a.exception, [b.obj], exact=True)
    elif is_function(a) and is_function(b) and is_known(a) != is_known(b):
        result = Known(False)  # compiled code makes the function
    elif any(is_known(x) and (x.obj is None or isinstance(x.obj, (bool, str, type))) for x in (a, b)):
        result = Known(False)
    elif identity_of(a) is not None or identity_of(b) is not None:
        result = Known(identity_of(a) is identity_of(b))
    elif a is b or ssa_value(a) is ssa_value(b) is not None:
        result = Known(True)
    elif None not in (names := [tensor_outside(reader, x) for x in (a, b)]):
        result = Known(names[0] == names[1])
    elif is_new(reader, a) or is_new(reader, b):
        result = Known(False)
    elif is_tensor(a) and is_tensor(b):
        result = apply_op(reader, "is_same", a, b)
    else:
        reader.reject("identity_unknown")
    return negated(reader, result) if negate else result


def is_new_and_held(reader: Reader, av: AbstractValue, names: int) -> bool:
    """Return whether a value is a tensor made here that exactly `names` names hold, and that no loop carries."""
    value = ssa_value(av)
    if value is None or is_leaf(value) or not is_new(reader, av):
        return False
    if any(holds(w, value) > names for w in reader.position.walked):
        return False
    held = (av for inner in reader.position.frames for frame in inner.chain() for av in frame.locals.values())
    return is_held(value, (*held, *reader.heap.contents.values()), names)


def tensor_outside(reader: Reader, av: AbstractValue) -> str | None:
    """Return the name of the param of a tensor outside, "" if the code never reads the tensor, None for other
    values."""
    if is_known(av) and isinstance(av.obj, torch.Tensor):
        param = reader.environment.param_of.get(id(av.obj))
        return "" if param is None else param.name
    late = late_binding_of(reader, av)
    if late is None:
        return None
    reader.environment.guard("DICT_IS", late.container, late.key, late.container[late.key])
    return late.name


def contained(reader: Reader, item: AbstractValue, container: AbstractValue, negate: bool) -> AbstractValue:
    """Return `item in container`, or `item not in container`."""
    found = special(reader, container, "__contains__", [item])
    result = contains(reader, container, item) if found is None else reader.truth(found)
    return negated(reader, result) if negate else result


@Verb
def contains(reader: Reader, container: AbstractValue, item: AbstractValue) -> AbstractValue:
    """Return `item in container` for a container whose class has no `__contains__` of the user's."""
    if is_run_time(reader, container):
        return reader.call(Known(lists.contains), [container, item], {})
    return is_among(reader, item, reader.iterate(container))


def is_among(reader: Reader, item: AbstractValue, others: Iterable[AbstractValue]) -> AbstractValue:
    """Return whether an item equals one of some values."""
    result: AbstractValue = Known(False)
    for x in others:
        result = negated(
            reader, logical_and(reader, negated(reader, result), negated(reader, are_same(reader, item, x)))
        )
    return result
