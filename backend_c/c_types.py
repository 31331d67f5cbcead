"""C types of loop IR values."""

from __future__ import annotations

from scriptc.ir.dtypes import C_TYPES
from scriptc.ir.errors import InternalError
from scriptc.ir.types import (
    ACTIVATION,
    BOOL,
    COMPLEX,
    EXC,
    FLOAT,
    INT,
    NEVER,
    PACKED,
    ROWS,
    STR,
    DictType,
    ElemType,
    ListType,
    ObjectType,
    OptionalType,
    PtrType,
    SetType,
    TensorType,
    Type,
)

_SCALARS: dict[Type, str] = {
    INT: "int64_t", FLOAT: "double", BOOL: "bool", COMPLEX: "sc_c128", STR: "sc_str *", PACKED: "sc_packed *",
    ACTIVATION: "sc_activation *", ROWS: "sc_list *", EXC: "sc_exc *", NEVER: "void *",
}  # fmt: skip
_MEMBERS: dict[Type, str] = {INT: "i", FLOAT: "f", BOOL: "b", STR: "s", NEVER: "p"}


def c_type(t: Type) -> str:
    """Return the type of a C variable; a type that ends in `*` takes the name without a space."""
    if isinstance(t, OptionalType):
        return c_type(t.item)
    if isinstance(t, TensorType):
        return "sc_tensor *"
    if isinstance(t, (ListType, ObjectType)):
        return "sc_list *"
    if isinstance(t, (DictType, SetType)):
        return "sc_dict *"
    if isinstance(t, ElemType):
        return C_TYPES[t.dtype]
    if isinstance(t, PtrType):
        return ("uint8_t" if t.dtype == "bool" else C_TYPES[t.dtype]) + " *"  # GCC does not vectorize over bool arrays
    if t not in _SCALARS:
        raise InternalError(f"no C type for {t}")
    return _SCALARS[t]


def declare(t: Type, name: str) -> str:
    text = c_type(t)
    return text + name if text.endswith("*") else f"{text} {name}"


def list_member(t: Type) -> str:
    """Return the member of sc_value that holds a value of this type."""
    if isinstance(t, OptionalType):
        return list_member(t.item)
    if isinstance(t, TensorType):
        return "t"
    if isinstance(t, (ListType, ObjectType)):
        return "l"
    if isinstance(t, (DictType, SetType)):
        return "d"
    if t not in _MEMBERS:
        raise InternalError(f"lists of {t} have no C form yet")
    return _MEMBERS[t]


def zero(t: Type) -> str:
    """Return the C of a value that nothing reads."""
    if t in (INT, FLOAT, COMPLEX):
        return "0"
    return "false" if t == BOOL else "NULL"
