"""Operators on abstract values, with Python's results on numbers and eager's on tensors."""

from __future__ import annotations

import ast
from collections import OrderedDict
from typing import NoReturn

import numpy as np
import torch

from scriptc.frontend.environment.state import change_outside
from scriptc.frontend.environment.watching import call_in_python
from scriptc.frontend.library.python import lists_decomposed as lists
from scriptc.frontend.operations.attributes import replaced_operator
from scriptc.frontend.operations.casts import dtype_of_result
from scriptc.frontend.operations.complexes import complex_operator
from scriptc.frontend.operations.containers import container_behind
from scriptc.frontend.operations.counters import are_counters, signed_counter
from scriptc.frontend.operations.elementwise import elementwise, multiply_matrices
from scriptc.frontend.operations.indices import integer, single_index
from scriptc.frontend.operations.logic import bad_operands, negated, to_float, to_int
from scriptc.frontend.operations.materialize import item_for, new_list, stored, wrap
from scriptc.frontend.operations.objects import special
from scriptc.frontend.operations.operator_tables import BINARY, SYMBOLS
from scriptc.frontend.operations.runtime_dicts import is_dict_like, is_set_like, refuse_item_sets, table_operator
from scriptc.frontend.operations.special_methods import METHODS, special_operator
from scriptc.frontend.operations.strings import text_operator
from scriptc.frontend.operations.tuples import is_repeated_by_hand, repeated, tuple_operator
from scriptc.frontend.operations.writes import check_category, check_overlap, write
from scriptc.frontend.reader.contents import edit
from scriptc.frontend.reader.kept_items import keep_list_of
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.refinements import all_items, note_new_length
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import (
    AbstractValue,
    Known,
    KnownSet,
    ListValue,
    RuntimeValue,
    TupleValue,
)
from scriptc.frontend.values.alternatives import present, split, split_all
from scriptc.frontend.values.predicates import (
    has_alternatives,
    has_known_length,
    is_complex_number,
    is_known,
    is_made_list,
    is_made_tuple,
    is_none,
    is_object,
    is_sequence,
    is_tensor,
    is_text,
    run_time_type,
)
from scriptc.frontend.values.structure import sequence_items
from scriptc.frontend.values.user_classes import defines_outside
from scriptc.frontend.values.verbs import class_name_of, dict_behind, materialize, python_class, type_of
from scriptc.ir.core import Value
from scriptc.ir.types import BOOL, FLOAT, INT

_OF_BITS = ("BitAnd", "BitOr", "BitXor", "LShift", "RShift")


def binary(reader: Reader, op: str, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    if op == "Mult":
        a, b = (single_index(reader, v) if is_tensor(v) and is_repeatable(other) else v for v, other in ((a, b), (b, a)))
    if (found := text_operator(reader, op, a, b)) is not None:
        return found
    if has_alternatives(a) or has_alternatives(b):
        return split_all(reader, both_present(reader, op, a, b), lambda avs: reader.binary(op, *avs))
    for operand in (a, b):
        if (found := verbs.operator_of(reader, operand, op, a, b)) is not None:
            return found
    refuse_item_sets(reader, a, b)
    if is_object(a) or is_object(b):
        if op == "BitOr" and any(is_object(av) and issubclass(av.cls, OrderedDict) for av in (a, b)):
            reader.reject("operator_on_others", operator="|", a=class_name_of(reader, a), b=class_name_of(reader, b))
        a = container_behind(reader, a, f"__{METHODS[op]}__")
        b = container_behind(reader, b, f"__r{METHODS[op]}__", f"__{METHODS[op]}__")
    function, on_ints, on_floats, on_tensors = BINARY[op]
    if defines_outside(a, f"__{METHODS[op]}__") or defines_outside(b, f"__r{METHODS[op]}__"):
        return special_operator(reader, op, a, b)
    if is_known(a) and is_known(b):
        found = call_in_python(reader, function, a.obj, b.obj)
        if is_known(found) and isinstance(found.obj, np.ndarray):  # the caller may write to what a call returns
            reader.reject("array_made_at_compile_time")
        sites = tuple(site for av in (a, b) if isinstance(av, KnownSet) for site in av.sites)
        return KnownSet(found.obj, sites) if sites and is_known(found) else found
    tables = dict_behind(reader, a), dict_behind(reader, b)
    if not is_tensor(a) and not is_tensor(b) and any(is_dict_like(av) or is_set_like(av) for av in tables):
        made = table_operator(reader, op, *tables)
        return bad_operands(reader, op, a, b) if made is None else made
    if is_object(a) or is_object(b):
        return special_operator(reader, op, a, b)
    if is_tensor(a) or is_tensor(b):
        own, other, prefix = (a, b, "") if is_tensor(a) else (b, a, "r")
        if (found := replaced_operator(reader, f"__{prefix}{METHODS[op]}__", own, other)) is not None:
            return found
        if on_tensors == "matmul":
            return multiply_matrices(reader, a, b)
        if on_tensors == "pow" and is_tensor(a):
            return reader.call(Known(torch.pow), [a, b], {})  # torch.pow has formulas for some exponents
        if not is_tensor(a) and on_tensors in ("add", "mul"):
            return elementwise(reader, on_tensors, b, a)  # as in Tensor.__radd__ and __rmul__
        if not is_tensor(a) and on_tensors == "div":
            return elementwise(reader, "mul", elementwise(reader, "reciprocal", b), a)  # as in Tensor.__rtruediv__
        return elementwise(reader, on_tensors, a, b)
    if (found := tuple_operator(reader, op, a, b)) is not None:
        return found
    if is_complex_number(a) or is_complex_number(b):
        return complex_operator(reader, op, a, b)
    columns = [sequence_items(av) for av in (a, b)]
    if columns[0] is not None and columns[1] is not None and op == "Add":
        return TupleValue([*columns[0], *columns[1]])
    if is_made_tuple(a) and is_known(b) and op == "Mult":
        return TupleValue(repeated(reader, a.items, b))
    if op == "Mult" and (is_made_list(b) or is_list_outside(b)):
        a, b = b, a
    if op in ("Add", "Mult") and is_list_outside(a):
        a = new_list(reader, reader.iterate(a), (reader.position.loc, "known"))
    if is_made_list(a) and op in ("Add", "Mult"):
        return list_operator(reader, op, a, b)
    x, y = number_operand(reader, a, op, a, b), number_operand(reader, b, op, a, b)
    if FLOAT in (x.type, y.type):
        if not on_floats:
            bad_operands(reader, op, a, b)
        return RuntimeValue(reader.emit.build(on_floats, [to_float(reader, x), to_float(reader, y)]))
    if x.type == y.type == BOOL and op in ("BitAnd", "BitOr", "BitXor"):
        return RuntimeValue(reader.emit.build(on_ints.replace("int.", "bool."), [x, y]))
    if op == "Pow" and not (is_known(b) and b.obj >= 0):  # the result is an int, or a float where b is negative
        return reader.choose(
            reader.compare("GtE", b, Known(0)),
            lambda: RuntimeValue(reader.emit.build(on_ints, [to_int(reader, x), to_int(reader, y)])),
            lambda: RuntimeValue(reader.emit.build(on_floats, [to_float(reader, x), to_float(reader, y)])),
        )
    if not on_ints:
        bad_operands(reader, op, a, b)
    return RuntimeValue(reader.emit.build(on_ints, [to_int(reader, x), to_int(reader, y)]))


def is_repeatable(av: AbstractValue) -> bool:
    """Return whether `*` repeats a value, and takes a tensor beside it for an index."""
    return is_sequence(av) or is_text(av) or is_known(av) and isinstance(av.obj, bytes)


def both_present(reader: Reader, op: str, a: AbstractValue, b: AbstractValue) -> list[AbstractValue]:
    """Return the operands of an operator without the alternative None, for which the operator raises."""
    message = f"unsupported operand type(s) for {SYMBOLS.get(op, op)}: 'NoneType'"
    return [present(reader, av, "TypeError", message) for av in (a, b)]


def is_list_outside(av: AbstractValue) -> bool:
    """Return whether a value is a list that exists while the function is compiled."""
    return is_known(av) and isinstance(av.obj, list)


def list_operator(reader: Reader, op: str, a: ListValue, b: AbstractValue) -> AbstractValue:
    if a.items is not None and op == "Mult" and is_repeated_by_hand(b, a.items):
        a.observed = True
        return new_list(reader, repeated(reader, a.items, b), (reader.position.loc, "mult"))
    if op == "Add" and not is_made_list(b):
        if is_list_outside(b):
            return list_operator(reader, op, a, new_list(reader, reader.iterate(b), (reader.position.loc, "known")))
        bad_operands(reader, op, a, b)
    if op == "Add" and is_made_list(b) and a.items is not None and b.items is not None:
        a.observed = True
        b.observed = True
        return new_list(reader, [*a.items, *b.items], (reader.position.loc, "add"))
    if op == "Add" and (first := all_items(reader, a)) is not None and (rest := all_items(reader, b)) is not None:
        return new_list(reader, [*first, *rest], (reader.position.loc, "add"))
    if op == "Mult":
        note_new_length(materialize(reader, a))
        return wrap(reader, reader.emit.build("list.repeat", [materialize(reader, a), integer(reader, b)]))
    return reader.call(Known(lists.concatenated), [a, b], {})


def number_operand(reader: Reader, av: AbstractValue, op: str, a: AbstractValue, b: AbstractValue) -> Value:
    if is_known(av) and isinstance(av.obj, (bool, int, float)) or run_time_type(av) in (INT, FLOAT, BOOL):
        return materialize(reader, av)
    if is_text(av) or is_none(av):
        bad_operands(reader, op, a, b)
    reader.reject(
        "operator_on_others", operator=SYMBOLS.get(op, op), a=class_name_of(reader, a), b=class_name_of(reader, b)
    )


def truth_of_object(reader: Reader, av: AbstractValue) -> AbstractValue:
    found = special(reader, av, "__bool__", [])
    if found is None:
        length = special(reader, av, "__len__", [])
        return Known(True) if length is None else reader.truth(length)
    if (cls := python_class(reader, found)) is not bool:
        reader.emit.raise_error("TypeError", f"__bool__ should return bool, returned {cls.__name__}")
    return found


def unary(reader: Reader, node: ast.unaryop, av: AbstractValue) -> AbstractValue:
    name = type(node).__name__
    if name == "Not":
        return negated(reader, reader.truth(av))
    if has_alternatives(av):
        av = present(reader, av, "TypeError", f"bad operand type for unary {SYMBOLS.get(name, name)}: 'NoneType'")
        return split(reader, av, lambda a: reader.unary(node, a))
    if (found := special(reader, av, f"__{METHODS[name]}__", [])) is not None:
        return found
    if are_counters(reader, av) and (signed := signed_counter(reader, name, av)) is not None:
        return signed
    return verbs.unary(reader, av, name)


def bad_operand(reader: Reader, name: str, av: AbstractValue) -> NoReturn:
    """Raise Python's error for a value without a unary operator."""
    own = class_name_of(reader, av)
    reader.emit.raise_error("TypeError", f"bad operand type for unary {SYMBOLS.get(name, name)}: '{own}'")


def inplace(reader: Reader, op: str, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    """Return `a op= b`: write through a tensor, extend a list, or else apply the plain operator."""
    if has_alternatives(a):
        return split(reader, both_present(reader, op, a, b)[0], lambda av: reader.inplace(op, av, b))
    if (changed := verbs.inplace_of(reader, a, op, b)) is not None:
        return changed
    if isinstance(a, KnownSet):
        reader.speculation.promote(a)
    if is_known(a) and isinstance(a.obj, (list, dict, set)):
        change_outside(reader, a.obj)
        return a
    if is_tensor(a):
        if (found := replaced_operator(reader, f"__i{METHODS[op]}__", a, b)) is not None:
            return found
        check_overlap(reader, a, b)
        if op in _OF_BITS and (is_tensor(b) or type_of(b) == FLOAT):  # else the kernel raises that it takes no floats
            check_category(reader, a, dtype_of_result(reader, a, b))
        return write(reader, a, reader.binary(op, a, b))
    if (is_dict_like(a) or is_set_like(a)) and (made := table_operator(reader, op, a, b, inplace=True)) is not None:
        return made
    if is_made_list(a) and op == "Add" and not a.is_tuple:
        reader.call(reader.attribute(a, "extend"), [b], {})
        return a
    if is_made_list(a) and op == "Mult":
        reader.store_item(a, Known(slice(None)), reader.binary(op, a, b))
        return a
    if (found := special(reader, a, f"__i{METHODS[op]}__", [b])) is not None:
        return found
    held = container_behind(reader, a, f"__{METHODS[op]}__")
    if held is not a:  # list and dict change in place
        reader.inplace(op, held, b)
        return a
    return reader.binary(op, a, b)


def append_item(reader: Reader, target: ListValue, item: AbstractValue) -> None:
    if has_known_length(target):
        edit(reader, target, lambda items: items.append(item))
        return
    keep_list_of(reader, target, item)
    value = stored(reader, target, item)
    list_value = reader.speculation.mutate(target, resizes=True)
    reader.speculation.widen(list_value.type, 0, value.type)
    reader.emit.effect("list.append", [list_value, item_for(reader, list_value, value)])
