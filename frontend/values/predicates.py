"""Predicates over abstract values: their kind, their run-time form, and their owner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

from typing_extensions import TypeIs

from scriptc.frontend.environment.specs import PlaceSpec
from scriptc.frontend.values.abstract import (
    RECORDS,
    AbstractValue,
    ArrayValue,
    BatchedValue,
    Bound,
    BufferValue,
    CallerLocation,
    Closure,
    ComplexValue,
    DictValue,
    HeapValue,
    Known,
    KnownLengthListValue,
    KnownSet,
    ListValue,
    Made,
    MaybeUnbound,
    Native,
    NumpyScalarValue,
    ObjectValue,
    OneOf,
    PartialValue,
    Poison,
    RangeValue,
    RecordDictValue,
    RecordValue,
    RuntimeValue,
    TupleValue,
    Unbound,
    UnsignedValue,
    YieldsValue,
)
from scriptc.ir.core import Op, Value
from scriptc.ir.types import BOOL, EXC, STR, DictType, ListType, NeverType, ObjectType, SetType, TensorType, Type


def is_known(av: AbstractValue | None) -> TypeIs[Known]:
    """Return whether a value is a Python object known at compile time."""
    return isinstance(av, Known)


def is_known_set(av: AbstractValue) -> TypeIs[KnownSet]:
    """Return whether a value is a set of known items that compiled code made."""
    return isinstance(av, KnownSet)


def has_alternatives(av: AbstractValue | None) -> TypeIs[OneOf]:
    """Return whether a value is one of several kinds, which a tag tells apart at run time."""
    return isinstance(av, OneOf)


def is_none(av: AbstractValue) -> bool:
    return isinstance(av, Known) and av.obj is None


def is_object(av: AbstractValue) -> TypeIs[ObjectValue]:
    """Return whether a value is an instance of a user's class, made in compiled code or an argument."""
    return isinstance(av, ObjectValue)


def is_buffer(av: AbstractValue) -> TypeIs[BufferValue]:
    """Return whether a value is an nn.Buffer that compiled code made, and that no module holds yet."""
    return isinstance(av, BufferValue)


def is_record(av: AbstractValue) -> TypeIs[RecordValue | RecordDictValue]:
    """Return whether a value is an object or a dict that exists at run time."""
    return isinstance(av, RECORDS)


def is_on_heap(av: AbstractValue) -> TypeGuard[HeapValue]:
    """Return whether the reader's heap has the content of a value."""
    return isinstance(av, (DictValue, KnownLengthListValue, ObjectValue)) and not isinstance(av, RECORDS)


def is_made_sequence(av: AbstractValue) -> TypeIs[TupleValue | ListValue]:
    """Return whether a value is a tuple or a list that is not known as a whole."""
    return isinstance(av, (TupleValue, ListValue))


def is_any_length_tuple(av: AbstractValue) -> TypeGuard[ListValue]:
    """Return whether a value is a tuple whose length is known only at run time."""
    return isinstance(av, ListValue) and av.is_tuple


def is_list(av: AbstractValue) -> TypeGuard[ListValue]:
    """Return whether a value is a list that compiled code made or gets."""
    return isinstance(av, ListValue) and not av.is_tuple


def is_unbound(av: AbstractValue) -> TypeIs[Unbound]:
    return isinstance(av, Unbound)


def may_be_unbound(av: AbstractValue) -> TypeIs[MaybeUnbound]:
    """Return whether some paths leave a name, an attribute or a key unbound, and others do not."""
    return isinstance(av, MaybeUnbound)


def without_flag(av: AbstractValue) -> AbstractValue:
    """Return the value of a name, assuming that the name is bound."""
    return av.av if isinstance(av, MaybeUnbound) else av


def ssa_value(av: AbstractValue) -> Value | None:
    """Return the SSA value of a number, string, tensor, or dict or set with run-time keys; None for other values."""
    return av.value if isinstance(av, RuntimeValue) else None


def run_time_type(av: AbstractValue) -> Type | None:
    """Return the type of an SSA value; None for other values."""
    return av.value.type if isinstance(av, RuntimeValue) else None


def defining_op(av: AbstractValue) -> Op | None:
    """Return the op that computes a value; None for values that no op computes."""
    return av.value.op if isinstance(av, RuntimeValue) else None


def is_tensor(av: AbstractValue) -> bool:
    return isinstance(av, RuntimeValue) and isinstance(av.type, TensorType)


def is_batched(av: AbstractValue) -> TypeIs[BatchedValue]:
    """Return whether a value is a tensor inside of torch.vmap."""
    return isinstance(av, BatchedValue)


def is_poison(av: AbstractValue) -> TypeIs[Poison]:
    """Return whether a value is that of a statement with an error that the reading reports."""
    return isinstance(av, Poison)


def is_array(av: AbstractValue) -> TypeIs[ArrayValue]:
    return isinstance(av, ArrayValue)


def is_numpy_scalar(av: AbstractValue) -> TypeIs[NumpyScalarValue]:
    return isinstance(av, NumpyScalarValue)


def is_unsigned(av: AbstractValue) -> TypeIs[UnsignedValue]:
    return isinstance(av, UnsignedValue)


def is_of_numpy(av: AbstractValue) -> TypeIs[ArrayValue | NumpyScalarValue]:
    """Return whether a value is a NumPy array or a NumPy scalar."""
    return isinstance(av, (ArrayValue, NumpyScalarValue))


class NoTensor(Exception):
    """Say that a function got a value that is no tensor."""

    def __init__(self, av: AbstractValue):
        super().__init__(av)
        self.av = av


def tensor_type(av: AbstractValue) -> TensorType:
    if not (isinstance(av, RuntimeValue) and isinstance(av.type, TensorType)):
        raise NoTensor(av)
    return av.type


def of_value(value: Value) -> AbstractValue:
    """Return the abstract value of an SSA value."""
    if isinstance(value.type, ListType):
        return ListValue(value)
    if isinstance(value.type, ObjectType):
        cls = value.type.record.cls
        return RecordDictValue(value) if cls is dict else RecordValue(cls, value)
    return RuntimeValue(value)


def home_of(av: AbstractValue) -> CallerLocation | None:
    return av.home if isinstance(av, (DictValue, KnownLengthListValue, ObjectValue)) else None


def place_of_caller(av: AbstractValue) -> PlaceSpec | None:
    """Return the place of a dict, object or list that is an argument; None for other values."""
    home = home_of(av)
    return None if home is None else home.place


def is_of_caller(av: AbstractValue) -> bool:
    return place_of_caller(av) is not None


def is_plain_tuple(av: AbstractValue) -> bool:
    """Return whether a value is a plain tuple of known length, of any length, or one of several such tuples."""
    match av:
        case OneOf():
            return all(map(is_plain_tuple, av.alternatives.values()))
        case TupleValue():
            return av.cls is tuple
        case ListValue():
            return av.is_tuple
    return isinstance(av, Known) and type(av.obj) is tuple


def is_dict(av: AbstractValue) -> bool:
    """Return whether a value is a dict with run-time keys."""
    return isinstance(av, RuntimeValue) and isinstance(av.type, DictType)


def is_set(av: AbstractValue) -> bool:
    """Return whether a value is a set with run-time keys."""
    return isinstance(av, RuntimeValue) and isinstance(av.type, SetType)


def made_of(t: Type) -> Made:
    """Return the class of a run-time dict or set, with its factory."""
    assert isinstance(t, (DictType, SetType))
    found: Made | None = t.key_variable.find().python
    return found or Made(dict if isinstance(t, DictType) else set)


def python_of(t: Type) -> type:
    return made_of(t).cls


def has_kinds(av: AbstractValue) -> bool:
    """Return whether a value, or a part of a tuple or a slice, is one of several kinds."""
    return isinstance(av, OneOf) or isinstance(av, TupleValue) and any(map(has_kinds, av.items))


def is_text(av: AbstractValue) -> bool:
    """Return whether a value is a string: a known one, one made at run time, or one of several."""
    if isinstance(av, OneOf):
        return all(map(is_text, av.alternatives.values()))
    return isinstance(av.obj, str) if isinstance(av, Known) else isinstance(av, RuntimeValue) and av.type == STR


def is_run_time_text(av: AbstractValue) -> bool:
    return isinstance(av, RuntimeValue) and av.type == STR


def is_empty_list(av: AbstractValue) -> bool:
    """Return whether a value is a list that is empty by the signature."""
    return isinstance(av, ListValue) and av.value is not None and isinstance(av.value.type, ListType) and isinstance(
        av.value.type.elem, NeverType
    ) and av.value.type.variable.find().fixed  # fmt: skip


def is_function(av: AbstractValue) -> bool:
    """Return whether a value is a function, a method or a module."""
    if isinstance(av, Known):
        return callable(av.obj) and not isinstance(av.obj, type)
    return isinstance(av, (Closure, Bound, PartialValue, Native))


def is_bool(av: AbstractValue) -> bool:
    return type(av.obj) is bool if isinstance(av, Known) else isinstance(av, RuntimeValue) and av.type == BOOL


def is_complex_number(av: AbstractValue) -> bool:
    return isinstance(av, ComplexValue) or isinstance(av, Known) and type(av.obj) is complex


def has_one_class(av: AbstractValue) -> bool:
    """Return whether the Python class of a value is known, and its instances are data: no functions, iterators or
    exceptions."""
    if isinstance(av, RuntimeValue):
        return av.type != EXC
    return isinstance(av, (
        Known, TupleValue, ListValue, DictValue, ObjectValue, RangeValue, ComplexValue, ArrayValue, NumpyScalarValue,
    ))  # fmt: skip


def has_method(cls: type, name: str) -> bool:
    """Return whether instances of a class have a method. `hasattr` would find methods of the metaclass as well."""
    return any(name in vars(base) for base in cls.__mro__)


def known_objects(avs: Sequence[AbstractValue]) -> list[Any] | None:
    """Return the Python objects of values that are all known; None if one is not."""
    found = [av.obj for av in avs if isinstance(av, Known)]
    return found if len(found) == len(avs) else None


def is_made_list(av: AbstractValue) -> TypeIs[ListValue]:
    """Return whether a value is a list of compiled code, or a tuple whose length is known only at run time."""
    return isinstance(av, ListValue)


def is_made_tuple(av: AbstractValue) -> TypeIs[TupleValue]:
    """Return whether a value is a tuple of known length, of any class of tuples, that compiled code made."""
    return isinstance(av, TupleValue)


def is_sequence(av: AbstractValue) -> bool:
    """Return whether a value is a list or a tuple, one that is known at compile time included."""
    if isinstance(av, Known):
        return isinstance(av.obj, (tuple, list))
    return isinstance(av, (TupleValue, ListValue))


def is_generator(av: AbstractValue) -> TypeIs[YieldsValue]:
    """Return whether a value is the call of a function with `yield`."""
    return isinstance(av, YieldsValue)


def has_known_keys(av: AbstractValue) -> TypeIs[DictValue]:
    """Return whether a value is a dict of compiled code whose keys are known."""
    return isinstance(av, DictValue)


def has_known_length(av: AbstractValue) -> TypeIs[KnownLengthListValue]:
    """Return whether a value is a list whose length is known wherever the program reads it."""
    return isinstance(av, KnownLengthListValue)


def is_made_parameter(tensor: AbstractValue) -> bool:
    """Return whether a value is an nn.Parameter that compiled code makes."""
    op = defining_op(tensor)
    return op is not None and op.name == "leaf" and bool(op.attrs["parameter"])


def argument_behind(value: Value) -> Value | None:
    """Return the argument of a block that a tensor is, perhaps changed by the program; None for other values."""
    while value.op is not None and value.op.name in ("changed_argument", "leaf_argument"):
        value = value.op.operands[1 if value.op.name == "changed_argument" else 0]
    return value if value.op is None and isinstance(value.type, TensorType) else None


def param_behind(tensor: AbstractValue) -> Op | None:
    """Return the op that reads the tensor outside that a value is, perhaps with other data; None for other values."""
    op = defining_op(tensor)
    while op is not None and op.name == "with_data":
        op = op.operands[1].op
    return op if op is not None and op.name == "param" else None
