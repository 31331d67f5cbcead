"""Operators on abstract values, with Python's results on numbers and eager's on tensors."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

import torch

from scriptc.frontend.alternatives import Alternatives
from scriptc.frontend.context import Poisoned
from scriptc.frontend.decompositions import lists
from scriptc.frontend.elementwise import MIRRORED, Elementwise
from scriptc.frontend.knowledge import Knowledge
from scriptc.frontend.objects import defines, defines_outside
from scriptc.frontend.reshaping import holds, is_held
from scriptc.frontend.shapes import identity_of, sequence_items
from scriptc.frontend.specials import METHODS, REFLECTED, Specials
from scriptc.frontend.strings import Strings
from scriptc.frontend.tables import Tables, is_dict_like, is_set_like
from scriptc.frontend.tuples import Tuples
from scriptc.frontend.unions import Unions
from scriptc.frontend.values import (
    AV,
    ClassOf,
    ComplexV,
    DictV,
    Dyn,
    Kinds,
    Known,
    KnownLengthListV,
    KnownSet,
    ListV,
    ObjectV,
    OneOf,
    Poison,
    RangeV,
    Tup,
    ViewV,
    is_bool,
    is_complex_number,
    is_dict,
    is_empty_list,
    is_run_time_text,
    is_set,
    is_tensor,
    is_text,
    tensor_type,
)
from scriptc.frontend.watching import Watching
from scriptc.frontend.writes import Writes
from scriptc.ir.core import Value
from scriptc.ir.dtypes import INEXACT
from scriptc.ir.types import BOOL, EXC, FLOAT, INT, NONE, STR, TensorType

# ast operator -> Python function, row for ints, row for floats, row or library name for tensors
BINARY: dict[str, tuple[Callable[..., Any], str, str, str]] = {
    "Add": (operator.add, "int.add", "float.add", "add"),
    "Sub": (operator.sub, "int.sub", "float.sub", "sub"),
    "Mult": (operator.mul, "int.mul", "float.mul", "mul"),
    "Div": (operator.truediv, "int.truediv", "float.truediv", "div"),
    "FloorDiv": (operator.floordiv, "int.floordiv", "float.floordiv", "floor_div"),
    "Mod": (operator.mod, "int.mod", "float.mod", "remainder"),
    "Pow": (operator.pow, "int.pow", "float.pow", "pow"),
    "MatMult": (operator.matmul, "", "", "matmul"),
    "BitAnd": (operator.and_, "int.and_", "", "bitwise_and"),
    "BitOr": (operator.or_, "int.or_", "", "bitwise_or"),
    "BitXor": (operator.xor, "int.xor", "", "bitwise_xor"),
    "LShift": (operator.lshift, "int.lshift", "", "bitwise_left_shift"),
    "RShift": (operator.rshift, "int.rshift", "", "bitwise_right_shift"),
}
COMPARE: dict[str, tuple[Callable[..., Any], str]] = {
    "Eq": (operator.eq, "eq"), "NotEq": (operator.ne, "ne"), "Lt": (operator.lt, "lt"),
    "LtE": (operator.le, "le"), "Gt": (operator.gt, "gt"), "GtE": (operator.ge, "ge"),
}  # fmt: skip
_OF_BITS = ("BitAnd", "BitOr", "BitXor", "LShift", "RShift")
_UNARY: dict[str, Callable[..., Any]] = {"USub": operator.neg, "UAdd": operator.pos, "Invert": operator.invert}
_PASS_ON = ("contiguous", "call")  # their results may be objects that existed before
_SYMBOLS = {
    "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**", "MatMult": "@",
    "BitAnd": "&", "BitOr": "|", "BitXor": "^", "LShift": "<<", "RShift": ">>", "Lt": "<", "LtE": "<=", "Gt": ">",
    "GtE": ">=", "USub": "-", "UAdd": "+", "Invert": "~",
}  # fmt: skip


class Operators(Alternatives, Strings, Knowledge, Tables, Tuples, Unions, Elementwise, Specials, Writes, Watching):
    """Mixin: arithmetic, comparisons and truth."""

    def evaluate(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> AV:
        """Python's own result on known values, which are guarded; what Python raises is raised at run time."""
        self.watch_for(function, (*args, *kwargs.values()))
        try:
            result = function(*args, **kwargs)
        except Exception as e:
            self.raises_at_run_time(type(e).__name__, str(e))
        return self.made_by_python(result)

    def binary(self, op: str, a: AV, b: AV) -> AV:
        if (found := self.text_operator(op, a, b)) is not None:
            return found
        if isinstance(a, OneOf) or isinstance(b, OneOf):
            return self.split_all(self.both_present(op, a, b), lambda avs: self.binary(op, *avs))
        self.refuse_item_sets(a, b)
        function, on_ints, on_floats, on_tensors = BINARY[op]
        if defines_outside(a, f"__{METHODS[op]}__") or defines_outside(b, f"__r{METHODS[op]}__"):
            return self.special_operator(op, a, b)
        if isinstance(a, Known) and isinstance(b, Known):
            found = self.evaluate(function, a.obj, b.obj)
            sites = tuple(site for av in (a, b) if isinstance(av, KnownSet) for site in av.sites)
            return KnownSet(found.obj, sites) if sites and isinstance(found, Known) else found
        if not is_tensor(a) and not is_tensor(b) and any(is_dict_like(av) or is_set_like(av) for av in (a, b)):
            made = self.table_operator(op, a, b)
            return self.bad_operands(op, a, b) if made is None else made
        if isinstance(a, ObjectV) or isinstance(b, ObjectV):
            return self.special_operator(op, a, b)
        if is_tensor(a) or is_tensor(b):
            own, other, prefix = (a, b, "") if is_tensor(a) else (b, a, "r")
            if (found := self.replaced_operator(f"__{prefix}{METHODS[op]}__", own, other)) is not None:
                return found
            if on_tensors == "matmul":
                return self.matmul(a, b)
            if on_tensors == "pow" and is_tensor(a):
                return self.call(Known(torch.pow), [a, b], {})  # some exponents have formulas of their own
            if not is_tensor(a) and on_tensors in ("add", "mul"):
                return self.elementwise(on_tensors, b, a)  # Tensor.__radd__ and __rmul__
            if not is_tensor(a) and on_tensors == "div":
                return self.elementwise("mul", self.elementwise("reciprocal", b), a)  # Tensor.__rtruediv__
            return self.elementwise(on_tensors, a, b)
        if (found := self.tuple_operator(op, a, b)) is not None:
            return found
        if is_complex_number(a) or is_complex_number(b):
            return self.complex_operator(op, a, b)
        columns = [sequence_items(av) for av in (a, b)]
        if columns[0] is not None and columns[1] is not None and op == "Add":
            return Tup([*columns[0], *columns[1]])
        if isinstance(a, Tup) and isinstance(b, Known) and op == "Mult":
            return Tup(self.repeated(a.items, b))
        if isinstance(b, ListV) and op == "Mult":
            a, b = b, a
        if isinstance(a, ListV) and op in ("Add", "Mult"):
            return self.list_operator(op, a, b)
        x, y = self.number(a, op, a, b), self.number(b, op, a, b)
        if FLOAT in (x.type, y.type):
            if not on_floats:
                self.bad_operands(op, a, b)
            return Dyn(self.build(on_floats, [self.to_float(x), self.to_float(y)]))
        if x.type == y.type == BOOL and op in ("BitAnd", "BitOr", "BitXor"):
            return Dyn(self.build(on_ints.replace("int.", "bool."), [x, y]))
        if op == "Pow" and not (isinstance(b, Known) and b.obj >= 0):  # an int, or a float where b is negative
            return self.choose(
                self.compare("GtE", b, Known(0)),
                lambda: Dyn(self.build(on_ints, [self.to_int(x), self.to_int(y)])),
                lambda: Dyn(self.build(on_floats, [self.to_float(x), self.to_float(y)])),
            )
        if not on_ints:
            self.bad_operands(op, a, b)
        return Dyn(self.build(on_ints, [self.to_int(x), self.to_int(y)]))

    def both_present(self, op: str, a: AV, b: AV) -> list[AV]:
        """Operands of an operator that refuses None."""
        message = f"unsupported operand type(s) for {_SYMBOLS.get(op, op)}: 'NoneType'"
        return [self.present(av, "TypeError", message) for av in (a, b)]

    def list_operator(self, op: str, a: ListV, b: AV) -> AV:
        if a.items is not None and op == "Mult" and self.is_repeated_by_hand(b, a.items):
            self.observe(a)
            return self.new_list(self.repeated(a.items, b), (self.loc, "mult"))
        if op == "Add" and not isinstance(b, ListV):
            if isinstance(b, Known) and isinstance(b.obj, list):
                return self.list_operator(op, a, self.new_list(self.iterate(b), (self.loc, "known")))
            self.bad_operands(op, a, b)
        if op == "Add" and isinstance(b, ListV) and a.items is not None and b.items is not None:
            self.observe(a)
            self.observe(b)
            return self.new_list([*a.items, *b.items], (self.loc, "add"))
        if op == "Mult":
            return self.wrap(self.build("list.repeat", [self.value(a), self.integer(b)]))
        return self.call(Known(lists.concatenated), [a, b], {})

    def bad_operands(self, op: str, a: AV, b: AV) -> NoReturn:
        symbol, left, right = _SYMBOLS.get(op, op), self.type_name(a), self.type_name(b)
        if op in COMPARE:
            text = f"'{symbol}' not supported between instances of '{left}' and '{right}'"
        else:
            name = "** or pow()" if op == "Pow" else symbol
            text = f"unsupported operand type(s) for {name}: '{left}' and '{right}'"
        self.raises_at_run_time("TypeError", text)

    def number(self, av: AV, op: str, a: AV, b: AV) -> Value:
        if isinstance(av, (Known, Dyn)) and (isinstance(av, Dyn) or isinstance(av.obj, (bool, int, float))):
            value = self.value(av)
            if value.type in (INT, FLOAT, BOOL):
                return value
        if is_text(av) or (isinstance(av, Known) and av.obj is None):
            self.bad_operands(op, a, b)
        self.fail("operator_on_others", operator=_SYMBOLS.get(op, op), a=self.type_name(a), b=self.type_name(b))

    def to_float(self, v: Value) -> Value:
        if v.type == FLOAT:
            return v
        return self.build("int.to_float" if v.type == INT else "bool.to_float", [v])

    def to_int(self, v: Value) -> Value:
        return v if v.type == INT else self.build("bool.to_int", [v])

    # ---- comparisons and truth ----
    def compare(self, op: str, a: AV, b: AV) -> AV:
        if op in COMPARE and is_text(a) and is_text(b) and (is_run_time_text(a) or is_run_time_text(b)):
            return self.compare_texts(op, a, b)
        if op in ("In", "NotIn"):
            b = self.present(b, "TypeError", "argument of type 'NoneType' is not iterable")
        elif op in ("Lt", "LtE", "Gt", "GtE"):
            a, b = self.both_present(op, a, b)
        if isinstance(a, OneOf) or isinstance(b, OneOf):
            if op in ("Is", "IsNot") and (found := self.is_none(a, b)) is not None:
                return self.negate(found) if op == "IsNot" else found
            return self.split_all([a, b], lambda avs: self.compare(op, *avs))
        if op in ("Is", "IsNot"):
            return self.identity(a, b, negate=op == "IsNot")
        if op in ("In", "NotIn"):
            return self.contains(a, b, negate=op == "NotIn")
        self.refuse_item_sets(a, b)
        function, name = COMPARE[op]
        if isinstance(a, ClassOf) and op in ("Eq", "NotEq"):
            return self.identity(a, b, negate=op == "NotEq")
        names = ("eq", name, MIRRORED.get(name, name))
        if any(isinstance(av, Known) and defines(av, f"__{n}__") for av in (a, b) for n in names):
            return self.compare_objects(op, a, b)
        if isinstance(a, Known) and isinstance(b, Known):
            return self.evaluate(function, a.obj, b.obj)
        asked = (name, MIRRORED.get(name, name))
        named = any(isinstance(av, Tup) and defines(av, f"__{n}__") for av in (a, b) for n in asked)
        if named or isinstance(a, ObjectV) or isinstance(b, ObjectV):
            return self.compare_objects(op, a, b)
        if op in ("Eq", "NotEq") and any(is_text(av) or isinstance(av, Known) and av.obj is None for av in (a, b)):
            return Known(op == "NotEq")
        if is_tensor(a) or is_tensor(b):
            if op in ("Eq", "NotEq") and (is_container(a) or is_container(b)):
                return Known(op == "NotEq")
            own, other, method = (a, b, METHODS[op]) if is_tensor(a) else (b, a, METHODS[REFLECTED.get(op, op)])
            if (found := self.replaced_operator(f"__{method}__", own, other)) is not None:
                return found
            return self.elementwise(name, a, b)
        if is_complex_number(a) or is_complex_number(b):
            return self.compare_complex(op, a, b)
        if any(is_dict_like(av) or is_set_like(av) for av in (a, b)):
            return self.compare_tables(op, a, b)
        if isinstance(a, (Tup, ListV)) or isinstance(b, (Tup, ListV)):
            return self.compare_sequences(op, a, b)
        if op in ("Eq", "NotEq") and (is_container(a) or is_container(b)):
            return Known(op == "NotEq")
        x, y = self.number(a, op, a, b), self.number(b, op, a, b)
        if (x.type, y.type) == (INT, FLOAT):
            return Dyn(self.build(f"mixed.{name}", [x, y]))
        if (x.type, y.type) == (FLOAT, INT):
            return Dyn(self.build(f"mixed.{MIRRORED.get(name, name)}", [y, x]))
        if FLOAT in (x.type, y.type):
            return Dyn(self.build(f"float.{name}", [self.to_float(x), self.to_float(y)]))
        return Dyn(self.build(f"int.{name}", [self.to_int(x), self.to_int(y)]))

    def is_none(self, a: AV, b: AV) -> AV | None:
        """`a is b` where one is None and the other may be; None where neither is."""
        for one, other in ((a, b), (b, a)):
            if isinstance(one, OneOf) and isinstance(other, Known) and other.obj is None:
                return self.is_kind(one, Kinds.NONE) if Kinds.NONE in one.alternatives else Known(False)
        return None

    def compare_sequences(self, op: str, a: AV, b: AV) -> AV:
        if (found := self.compare_tuples(op, a, b)) is not None:
            return found
        if isinstance(a, ListV) and isinstance(b, ListV) and (a.items is None or b.items is None):
            return self.call(Known(lists.COMPARISONS[op]), [a, b], {})
        if op not in ("Eq", "NotEq"):
            return self.order(op, [*self.iterate(a)], [*self.iterate(b)])
        classes = [self.python_class(av) for av in (a, b)]
        if not any(all(issubclass(c, kind) for c in classes) for kind in (list, tuple)):
            return Known(op == "NotEq")
        parts = [self.iterate(av) for av in (a, b)]
        if len(parts[0]) != len(parts[1]):
            return Known(op == "NotEq")
        result = self.all_same([*zip(*parts, strict=True)])
        return self.negate(result) if op == "NotEq" else result

    def all_same(self, pairs: Sequence[tuple[AV, AV]]) -> AV:
        """Whether the items of two sequences are the same, where nothing is asked of those behind two that are not."""
        result: AV = Known(True)
        for x, y in pairs:
            if {self.type_of(x), self.type_of(y)} <= {INT, FLOAT, BOOL}:
                result = self.both(result, self.same(x, y))
            else:
                result = self.choose(result, partial(self.same, x, y), lambda: Known(False))
        return result

    def same(self, a: AV, b: AV) -> AV:
        """`a is b or a == b`, by which Python finds items. Numbers have no identity: two NaN count as one object."""
        if is_tensor(a) and is_tensor(b):
            return self.choose(self.identity(a, b, negate=False), lambda: Known(True), lambda: self.equal_truth(a, b))
        equal = self.equal_truth(a, b)
        if FLOAT == self.type_of(a) == self.type_of(b) and not isinstance(equal, Known):
            both_nan = self.both(self.truth(self.compare("NotEq", a, a)), self.truth(self.compare("NotEq", b, b)))
            return Dyn(self.build("bool.or_", [self.value(equal), self.value(both_nan)]))
        return equal

    def equal_truth(self, a: AV, b: AV) -> AV:
        return self.truth(self.compare("Eq", a, b))

    def order(self, op: str, left: list[AV], right: list[AV]) -> AV:
        """Sequences are ordered by the first items that differ, else by length."""
        if not left or not right:
            return self.compare(op, Known(len(left)), Known(len(right)))
        return self.choose(
            self.same(left[0], right[0]) if is_tensor(left[0]) else self.equal_truth(left[0], right[0]),
            lambda: self.order(op, left[1:], right[1:]),
            lambda: self.compare(op, left[0], right[0]),
        )

    def both(self, a: AV, b: AV) -> AV:
        """Both bools, neither with effects."""
        for x, y in ((a, b), (b, a)):
            if isinstance(x, Known):
                return y if x.obj else Known(False)
        return Dyn(self.build("bool.and_", [self.value(a), self.value(b)]))

    def negate(self, av: AV) -> AV:
        return Known(not av.obj) if isinstance(av, Known) else Dyn(self.build("bool.not", [self.value(av)]))

    def identity(self, a: AV, b: AV, negate: bool) -> AV:
        result: AV
        if (found := self.same_record(a, b)) is not None:
            result = found
        elif isinstance(a, Known) and isinstance(b, Known):
            result = Known(a.obj is b.obj)
        elif is_bool(a) and is_bool(b):  # of which there are two
            result = self.compare("Eq", a, b)
        elif a is not b and is_text(a) and is_text(b):
            self.fail("identity_of_strings")
        elif isinstance(a, ClassOf) and isinstance(b, Known) and isinstance(b.obj, type):
            result = self.is_exception(a.exception, [b.obj], exact=True)
        elif any(isinstance(x, Known) and (x.obj is None or isinstance(x.obj, (bool, str, type))) for x in (a, b)):
            result = Known(False)
        elif identity_of(a) is not None or identity_of(b) is not None:
            result = Known(identity_of(a) is identity_of(b))
        elif a is b or (isinstance(a, Dyn) and isinstance(b, Dyn) and a.value is b.value):
            result = Known(True)
        elif None not in (names := [self.tensor_outside(x) for x in (a, b)]):
            result = Known(names[0] == names[1])
        elif self.is_new(a) or self.is_new(b):
            result = Known(False)
        elif is_tensor(a) and is_tensor(b):
            result = self.op("is_same", a, b)
        else:
            self.fail("identity_unknown")
        return self.negate(result) if negate else result

    def is_new(self, av: AV) -> bool:
        """Whether a tensor is an object that an op of its own has made, so that no other value is that object."""
        made = av.value.op if isinstance(av, Dyn) and is_tensor(av) else None
        return made is not None and not made.has("FETCHES") and not made.has("CONTROL") and made.name not in _PASS_ON

    def is_new_and_held(self, av: AV, names: int) -> bool:
        """Whether a value is a tensor made here that so many names hold, and no loop will give again."""
        if not isinstance(av, Dyn) or not self.is_new(av) or any(holds(w, av.value) > names for w in self.walked):
            return False
        held = (av for inner in self.frames for frame in inner.chain() for av in frame.locals.values())
        return is_held(av.value, (*held, *self.heap.values()), names)

    def tensor_outside(self, av: AV) -> str | None:
        """Which tensor that lives outside the call this is: the name of its param, or "" where the code reads it nowhere."""
        if isinstance(av, Known) and isinstance(av.obj, torch.Tensor):
            param = self.outside.param_of.get(id(av.obj))
            return "" if param is None else param.name
        live = self.live_place(av)
        if live is None:
            return None
        self.guard("DICT_IS", live.container, live.key, live.container[live.key])
        return live.name

    def contains(self, item: AV, container: AV, negate: bool) -> AV:
        if (found := self.special(container, "__contains__", [item])) is not None:
            result = self.truth(found)
        elif isinstance(item, Known) and isinstance(container, Known) and not defines(container, "__iter__"):
            result = self.evaluate(operator.contains, container.obj, item.obj)
        elif is_text(container):
            result = self.text_contains(item, container)
        elif is_tensor(container):
            result = self.call(Known(torch.Tensor.__contains__), [container, item], {})
        elif isinstance(container, ListV) and container.items is None and not is_empty_list(container):
            result = self.call(Known(lists.contains), [container, item], {})
        elif isinstance(container, RangeV):
            result = self.call(Known(lists.in_range), [item, container.start, container.stop, container.step], {})
        elif is_dict(container) or is_set(container):
            result = self.has(container, item)
        elif isinstance(container, ViewV) and container.part == "keys":
            result = self.has(container.table, item)
        elif isinstance(container, ViewV):
            result = self.call(Known(lists.contains), [container, item], {})
        elif isinstance(container, DictV) and self.is_function_table(container, item):
            result = self.choose_by_key(item, [*self.items_of(container)], lambda key: Known(True), lambda: Known(False))
        elif isinstance(container, DictV):
            result = Known(self.key_of(container, item) in self.items_of(container))
        else:
            result = Known(False)
            for x in container.items if isinstance(container, Tup) else self.iterate(container):
                result = self.negate(self.both(self.negate(result), self.negate(self.same(item, x))))
        return self.negate(result) if negate else result

    def truth(self, av: AV) -> AV:
        """bool(av), as a known or dynamic bool."""
        match av:
            case Known(obj) if not defines(av, "__bool__") and not defines(av, "__len__"):
                return self.evaluate(bool, obj)
            case Tup() if defines(av, "__bool__"):
                return self.truth_of_object(av)
            case Tup(items):
                return Known(bool(items))
            case ComplexV():
                return self.complex_truth(av)
            case DictV():
                return Known(bool(self.items_of(av)))
            case ViewV(table):
                return self.truth(table)
            case Dyn(value) if is_dict(av) or is_set(av):
                return Dyn(self.build("int.to_bool", [self.build("dict.len", [value])]))
            case OneOf():
                return self.split(av, self.truth)
            case ObjectV() | Known():
                return self.truth_of_object(av)
            case Poison():
                raise Poisoned
            case RangeV():
                return self.truth(self.call(Known(len), [av], {}))
            case ListV(items=list() as items):
                self.observe(av)
                return Known(bool(items))
            case ListV(value=value) if value is not None:
                return Dyn(self.build("int.to_bool", [self.build("list.len", [value])]))
            case Dyn(value):
                if value.type == BOOL:
                    return av
                if value.type == EXC:
                    return Known(True)
                if value.type in (INT, FLOAT):
                    return Dyn(self.build(f"{'int' if value.type == INT else 'float'}.to_bool", [value]))
                if isinstance(value.type, TensorType):
                    return Dyn(self.build("item.bool", [value]))
                if value.type == STR:
                    return Dyn(self.build("int.to_bool", [self.build("str.len", [value])]))
                if value.type == NONE:
                    return Known(False)
        assert not isinstance(av, Dyn), av
        return Known(True)  # functions, iterators and the like

    def truth_of_object(self, av: AV) -> AV:
        found = self.special(av, "__bool__", [])
        if found is None:
            length = self.special(av, "__len__", [])
            return Known(True) if length is None else self.truth(length)
        if (cls := self.python_class(found)) is not bool:
            self.raises_at_run_time("TypeError", f"__bool__ should return bool, returned {cls.__name__}")
        return found

    def unary(self, node: ast.unaryop, av: AV) -> AV:
        name = type(node).__name__
        if name == "Not":
            return self.negate(self.truth(av))
        if isinstance(av, OneOf):
            av = self.present(av, "TypeError", f"bad operand type for unary {_SYMBOLS.get(name, name)}: 'NoneType'")
            return self.split(av, lambda a: self.unary(node, a))
        if (found := self.special(av, f"__{METHODS[name]}__", [])) is not None:
            return found
        if isinstance(av, Known):
            return self.evaluate(_UNARY[name], av.obj)
        if is_tensor(av):
            if (found := self.replaced_operator(f"__{METHODS[name]}__", av)) is not None:
                return found
            if name == "UAdd":
                return self.call(Known(torch.positive), [av], {})
            if name == "Invert" and tensor_type(av).dtype in INEXACT:
                message = "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
                self.raises_at_run_time("TypeError", message)
            return self.elementwise("neg" if name == "USub" else "bitwise_not", av)
        if isinstance(av, ComplexV):
            return self.complex_unary(name, av)
        value = self.number(av, name, av, av)
        if value.type == FLOAT:
            return av if name == "UAdd" else Dyn(self.build("float.neg", [value]))
        value = self.to_int(value)
        return Dyn(value) if name == "UAdd" else Dyn(self.build("int.neg" if name == "USub" else "int.invert", [value]))

    def inplace(self, op: str, a: AV, b: AV) -> AV:
        """`a op= b`: writes through a tensor, extends a list, else the plain operator."""
        if isinstance(a, OneOf):
            return self.split(self.both_present(op, a, b)[0], lambda av: self.inplace(op, av, b))
        if isinstance(a, KnownSet):
            self.promote(a)
        if isinstance(a, Known) and isinstance(a.obj, (list, dict, set)):
            self.change_outside(a.obj)
            return a
        if is_tensor(a):
            if (found := self.replaced_operator(f"__i{METHODS[op]}__", a, b)) is not None:
                return found
            self.check_overlap(a, b)
            if op in _OF_BITS and (is_tensor(b) or self.type_of(b) == FLOAT):  # else their kernels say that they take no floats
                self.check_category(a, self.result_dtype(a, b))
            return self.write(a, self.binary(op, a, b))
        if (is_dict_like(a) or is_set_like(a)) and (made := self.table_operator(op, a, b, inplace=True)) is not None:
            return made
        if isinstance(a, ListV) and op == "Add" and not a.is_tuple:
            self.call(self.attribute(a, "extend"), [b], {})
            return a
        if isinstance(a, ListV) and op == "Mult":
            self.store_item(a, Known(slice(None)), self.binary(op, a, b))
            return a
        if (found := self.special(a, f"__i{METHODS[op]}__", [b])) is not None:
            return found
        return self.binary(op, a, b)

    def append(self, target: ListV, item: AV) -> None:
        if isinstance(target, KnownLengthListV):
            self.edit(target, lambda items: items.append(item))
            return
        value = self.stored(target, item)
        list_value = self.mutate(target)
        self.widen(list_value.type, 0, value.type)
        self.effect("list.append", [list_value, self.item_for(list_value, value)])


def is_container(av: AV) -> bool:
    """Whether a value is a list, a tuple, a dict or a set, none of which equals a number or a tensor."""
    if isinstance(av, Known):
        return type(av.obj) in (tuple, list, dict, set, frozenset)
    return isinstance(av, (Tup, ListV)) or is_dict_like(av) or is_set_like(av)
