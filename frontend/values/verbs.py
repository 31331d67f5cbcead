"""The protocol of values: the operations of Python and of the compiler on values of any kind.

`frontend/kinds` has a file for each kind of value, which answers the verbs that the kind supports:

    @verbs.truth.of(TupleValue)
    def tuple_truth(reader: Reader, owner: TupleValue) -> AbstractValue:

The class of a value selects the answer. For an SSA value the type does: a scalar type itself, or the class of any other
type. If a kind has no answer, the default here applies, which rejects the value or is right for most kinds.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NoReturn

from scriptc.frontend.environment.specs import Spec
from scriptc.frontend.operations.operator_tables import SYMBOLS
from scriptc.frontend.reader.errors import Conflict
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Bound, Known, Structure
from scriptc.frontend.values.predicates import has_method, has_one_class, is_known
from scriptc.frontend.values.verb import Question, Verb
from scriptc.frontend.values.walk import Walk
from scriptc.ir.core import Value
from scriptc.ir.types import Type

# ---- what Python asks ----


@Verb
def attribute(reader: Reader, owner: AbstractValue, name: str) -> AbstractValue:
    """Return `owner.name`."""
    return Bound(owner, name)


@Verb
def store_attribute(reader: Reader, owner: AbstractValue, name: str, value: AbstractValue) -> None:
    """Execute `owner.name = value`."""
    reader.reject("attribute_assigned", name=name, what=describe(owner))


@Verb
def item(reader: Reader, owner: AbstractValue, index: AbstractValue) -> AbstractValue:
    """Return `owner[index]`; neither is one of several kinds."""
    reader.reject("subscript_of_other", what=describe(owner))


@Verb
def store_item(reader: Reader, owner: AbstractValue, index: AbstractValue, value: AbstractValue) -> None:
    """Execute `owner[index] = value`; neither owner nor index is one of several kinds."""
    reader.reject("item_assigned", what=describe(owner))


@Verb
def delete_item(reader: Reader, owner: AbstractValue, index: AbstractValue) -> None:
    """Execute `del owner[index]`."""
    reader.reject("item_deleted", what=describe(owner))


@Verb
def call(
    reader: Reader, func: AbstractValue, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """Return `func(*args, **kwargs)`."""
    demand(reader, func, "__call__", "is not callable")
    reader.reject("call_of_other", what=describe(func))


@Verb
def walk(reader: Reader, sequence: AbstractValue, site: Any) -> Walk:
    """Return the walk of a loop at `site` over a sequence. The site None asks for all items at once."""
    reader.emit.raise_error("TypeError", f"'{class_name_of(reader, sequence)}' object is not iterable")


@Verb
def truth(reader: Reader, owner: AbstractValue) -> AbstractValue:
    """Return `bool(owner)`, as a known or dynamic bool. Functions, iterators and similar values are true."""
    return Known(True)


@Verb
def length(reader: Reader, owner: AbstractValue) -> AbstractValue:
    """Return `len(owner)`."""
    reader.reject("len_of_other")


@Verb
def unary(reader: Reader, operand: AbstractValue, name: str) -> AbstractValue:
    """Return the result of a unary operator, by the name of its class in `ast`: UAdd, USub or Invert."""
    own = class_name_of(reader, operand)
    reader.reject("operator_on_others", operator=SYMBOLS.get(name, name), a=own, b=own)


@Verb
def operator_of(
    reader: Reader, owner: AbstractValue, op: str, a: AbstractValue, b: AbstractValue
) -> AbstractValue | None:
    """Return `a op b`, of which `owner` is one operand, if its kind decides about operators and comparisons."""
    return None


@Verb
def inplace_of(reader: Reader, owner: AbstractValue, op: str, value: AbstractValue) -> AbstractValue | None:
    """Return `owner op= value` of a value that the operator changes, if its kind decides about this."""
    return None


@Verb
def python_class(reader: Reader, owner: AbstractValue) -> type:
    """Return `type(owner)`."""
    reader.reject("class_unknown")


@Verb
def class_name_of(reader: Reader, owner: AbstractValue) -> str:
    """Return the name of the Python class, as in Python's error messages."""
    return type(owner).__name__


def demand(reader: Reader, owner: AbstractValue, method: str, complaint: str) -> None:
    """Raise Python's error if the class of a value lacks the method for an operator."""
    is_class = is_known(owner) and isinstance(owner.obj, type)  # list[int] is no class, but acts as one
    if has_one_class(owner) and not is_class and not has_method(python_class(reader, owner), method):
        reader.emit.raise_error("TypeError", f"'{class_name_of(reader, owner)}' object {complaint}")


@Verb
def text_parts(reader: Reader, value: AbstractValue, *, quoted: bool = False) -> Iterator[AbstractValue]:
    """Yield the strings and values that make up `str(value)`, or `repr(value)` if `quoted`. Values need a
    conversion."""
    reader.reject("text_of_other", what=describe(value))


@Verb
def raise_value(reader: Reader, exception: AbstractValue) -> NoReturn:
    """Execute `raise exception`."""
    reader.emit.raise_error("TypeError", "exceptions must derive from BaseException")


# ---- what the compiler asks ----


@Verb
def as_argument(reader: Reader, value: AbstractValue) -> AbstractValue:
    """Return what a function of torch or Python takes for a value: the Python number of a NumPy scalar."""
    return value


@Verb
def materialize(reader: Reader, value: AbstractValue) -> Value:
    """Return the SSA value of a number, string, tensor, list or None."""
    reader.reject("no_run_time_value", who="this", what=describe(value))


@Verb
def is_run_time(reader: Reader, sequence: AbstractValue) -> bool:
    """Return whether the number of items is known only at run time, or is too large to take the items one by one."""
    return False


@Verb
def unrolled_ranges(reader: Reader, sequence: AbstractValue) -> AbstractValue:
    """Return the sequence with known ranges as tuples of their numbers."""
    return sequence


@Verb
def taken(reader: Reader, sequence: AbstractValue) -> AbstractValue:
    """Return the sequence with all items taken from it, if it makes them one by one."""
    return sequence


@Question
def walked_sequence(sequence: AbstractValue) -> AbstractValue:
    """Return the sequence that an iterator finally walks."""
    return sequence


@Question
def is_walked(sequence: AbstractValue) -> bool:
    """Return whether `iter()` accepts a value. For an object, only a call of `iter()` tells."""
    return True


@Verb
def dict_behind(reader: Reader, value: AbstractValue) -> AbstractValue:
    """Return the dict whose items a mapping shows; all other values stand for themselves."""
    return value


@Question
def describe(value: AbstractValue) -> str:
    """Return a description of the value for messages."""
    return f"a {type(value).__name__.removesuffix('Value').lower()}"


@Question
def structure_of(value: AbstractValue) -> Structure | None:
    """Return the structure of a value with parts; None for a value that joins as a whole."""
    return None


@Question
def type_of(value: AbstractValue) -> Type | None:
    """Return the type of a number or tensor, without building ops; None for other values."""
    return None


@Question
def joined_type(value: AbstractValue) -> Type:
    """Return the type of the SSA value that a path passes to a join. Raise Conflict if there is none."""
    raise Conflict(describe(value))


@Question
def held_values(value: AbstractValue) -> Sequence[AbstractValue] | None:
    """Return the values that a value holds; None if they cannot be listed. A function holds the values of its frame."""
    return None


@Question
def frozen(value: AbstractValue) -> AbstractValue:
    """Return a settled value that stays as it is. Other lists of known length ask the reader for their items."""
    return value


@Question
def result_of(value: AbstractValue) -> tuple[Spec, list[AbstractValue]]:
    """Return the tree of a value and its dynamic leaves in order. Raise Conflict if it cannot leave compiled code."""
    raise Conflict(f"{describe(value)}, which cannot be returned from compiled code")


@Question
def kind_of(value: AbstractValue) -> Hashable:
    """Return the kind of a value: values of one kind have a plan other than `OneOfPlan`. Raise Conflict if there is
    none."""
    structure = structure_of(value)
    if structure is None:
        raise Conflict(describe(value))
    return structure.key


@Question
def boxed(value: AbstractValue) -> tuple[Any, AbstractValue] | None:
    """Return the maker and the part of a value that containers hold as a tuple of its part; None for other values."""
    return None


@Question
def with_content(value: AbstractValue, held: dict[Any, AbstractValue]) -> AbstractValue:
    """Return an object, dict or list of known length with another original content."""
    raise AssertionError(value)


@Question
def leaf_kinds(value: AbstractValue) -> Iterator[Hashable]:
    """Yield keys that distinguish values without parts as arguments of a recursive function."""
    yield id(value)
