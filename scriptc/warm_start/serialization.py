"""Write and read records of variants: a table of nodes in JSON, from which only the values below can be made.

A node is a JSON string, int, bool or null, which represents itself, or a list: a tag and its operands. Operands that
are values are indices of earlier nodes, so that the text is never nested deeply, and equal values have one node.

    float, complex, bytes                       hexadecimal digits
    tuple, list, set, frozenset, dict           nodes of the items
    dtype, device, size                         of torch
    target, module, class of module, and steps  an object of the user's program, by its path (`object_paths.py`)
    code                                        a function or class of the user, by its path, with its description
    library                                     a function or class of torch, Python or scriptc, by module and name
    member, named                               a member of an enum, a named tuple
    the classes of `_RECORDS` and `_MAKERS`     nodes of their fields, whose types are checked

Reading calls nothing but the constructors of these. Any other text raises an error of `UNREADABLE`.
"""

from __future__ import annotations

import enum
import importlib
import json
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, CellType, FunctionType
from typing import Any, NamedTuple

import torch

from scriptc.driver.gradient_dependencies import Dependencies
from scriptc.driver.target import Target
from scriptc.frontend.environment import specs
from scriptc.frontend.environment.host_objects import is_library
from scriptc.warm_start import object_paths
from scriptc.warm_start.library_guards import LibraryGuards
from scriptc.warm_start.object_paths import Nameless

UNREADABLE = (
    Nameless, LookupError, AttributeError, TypeError, ValueError, OSError, RecursionError, MemoryError, ImportError,
)  # fmt: skip
_LITERALS = (type(None), bool, int, str)
_CODE = (type, FunctionType)
_LIBRARY = (*_CODE, BuiltinFunctionType)
# Modules to search for functions written in C, because not all of them have a `__module__`.
_BUILTINS = ("torch", "torch.nn.functional", "torch._C._nn", "torch.linalg", "torch.special", "math", "builtins")

Check = Callable[[Any], bool]


class Record(NamedTuple):
    """The content of a record. The guards of identity of its contract have a description for their expected value."""

    contract: specs.Contract  # without the library guards
    library_guards: LibraryGuards
    gradients: Dependencies
    random: bool
    source_ir: str
    library: tuple[str, str]  # the cache entry of the library, and its file name there
    files: dict[str, str]  # source files of the user, with their hashes
    keys: list[tuple[dict[Any, Any], tuple[str, ...]]]  # dicts with their keys
    sharing: list[int]  # for each object that is compared by identity, the number of its first occurrence
    functions: list[FunctionType]  # functions that were read and that no guard describes


# ---- types of fields ----


def _is(*types: type) -> Check:
    return lambda value: isinstance(value, types)


def _each(check: Check, *types: type) -> Check:
    return lambda value: type(value) in types and all(map(check, value))


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _subclass(*bases: type) -> Check:
    return lambda value: isinstance(value, type) and issubclass(value, bases)


def _anything(value: Any) -> bool:
    return True


def _is_spec(value: Any) -> bool:
    return isinstance(value, specs.Spec)


def _is_maker(value: Any) -> bool:
    """Return whether the bridge may call `value` to make a result from its items."""
    return type(value).__name__ in _MAKERS or _subclass(tuple, list, complex)(value)


def _is_dict_maker(value: Any) -> bool:
    return type(value).__name__ == "DictMaker"


_name, _number = _is(str), lambda value: type(value) is int
_names, _numbers = _each(_name, tuple), _each(_number, tuple)
_places = _is(dict, list, CellType, specs.Attributes)
_some_specs = _each(_is_spec, tuple)
_inputs = _each(_number, frozenset)


def _by_number(check: Check) -> Check:
    return lambda value: type(value) is dict and all(map(_number, value)) and all(map(check, value.values()))


def _by_text(check: Check) -> Check:
    return lambda value: type(value) is dict and all(map(_name, value)) and all(map(check, value.values()))


def _is_library(value: Any) -> bool:
    if not _names(value) or len(value) != 2:
        return False
    entry, name = value
    stem = name.removesuffix(".so").replace("_", "")
    return len(entry) == 64 and entry.isalnum() and name.endswith(".so") and (stem.isalnum() or not stem)


def _is_watched(value: Any) -> bool:
    return type(value) is tuple and len(value) == 2 and isinstance(value[0], dict) and _names(value[1])


def _is_summary(value: Any) -> bool:
    if type(value) is not tuple or len(value) != 2:
        return False
    return type(value[0]) is tuple and _each(_is_name_of_library, list)(value[1])


def _is_name_of_library(value: Any) -> bool:
    return type(value) is tuple and len(value) == 3 and _name(value[0])


# The types of the fields of the classes in records, in order. The bridge checks guards by their kind.
_RECORDS: dict[type, tuple[Check, ...]] = {
    specs.TensorSpec: (_name, _each(_or_none(_number), tuple)),
    specs.ScalarSpec: (lambda value: value in ("i64", "f64", "bool", "str"),),
    specs.ConstantSpec: (_anything,),
    specs.ListSpec: (_or_none(_is_spec), _subclass(list, tuple)),
    specs.MapSpec: (_or_none(_is_spec), _or_none(_is_spec), _or_none(_is_dict_maker)),
    specs.SetSpec: (_or_none(_is_spec), _subclass(set, frozenset)),
    specs.OptionalSpec: (_is_spec,),
    specs.TupleSpec: (_some_specs, _is_maker),
    specs.DictSpec: (_is(tuple), _some_specs),
    specs.ObjectSpec: (_is(type), _names, _some_specs),
    specs.ItemsSpec: (_some_specs,),
    specs.QueueSpec: (_is(specs.ListSpec), _or_none(_number)),
    specs.PlaceSpec: (_number,),
    specs.ArgSpec: (_name, _is_spec),
    specs.LateBoundTensor: (_name, _places, _anything, _is(specs.TensorSpec)),
    specs.LateBoundValue: (_places, _anything, _is_spec),
    specs.WriteBack: (_name, _anything, _anything, _or_none(_is(tuple)), _or_none(_is(dict)), _some_specs),
    specs.Guard: (_name, _anything, _anything, _anything),
    specs.Raised: (_subclass(BaseException),),
    specs.Contract: (
        _each(_is(specs.ArgSpec), list), _is_spec, _each(_is(specs.LateBoundTensor), list),
        _each(_is(specs.Guard), list), _each(_is(specs.LateBoundValue), list), _by_number(_name),
        _each(_is(specs.WriteBack), list),
        lambda value: type(value) is dict and all(map(_name, value)) and all(map(_subclass(BaseException), value.values())),
    ),
    Dependencies: (
        _each(_inputs, list), _by_number(_inputs), _by_number(_inputs), _is(bool), _by_text(_inputs), _is(bool), _inputs,
        _inputs, _inputs,
    ),
    Record: (
        _is(specs.Contract), _each(_is_summary, list), _is(Dependencies), _is(bool), _name, _is_library,
        lambda value: type(value) is dict and all(map(_name, (*value, *value.values()))), _each(_is_watched, list),
        _each(_number, list), _each(_is(FunctionType), list),
    ),
}  # fmt: skip
_BY_NAME = {cls.__name__: cls for cls in _RECORDS}
# Makers of results: the names and types of their fields. Their module, `frontend.environment.results`, is imported when a
# record has one.
_MAKERS: dict[str, tuple[tuple[str, ...], tuple[Check, ...]]] = {
    "Maker": (("cls", "names"), (_is(type), _names)),
    "MappingMaker": (("cls", "names", "keys", "places"), (_is(type), _names, _is(tuple), _numbers)),
    "DictMaker": (("cls", "factory", "keys"), (_subclass(dict), _or_none(_is(*_CODE)), _or_none(_is(tuple)))),
    "DequeMaker": ((), ()),
    "SetMaker": (("items",), (_is(tuple),)),
    "ArrayMaker": (("flips",), (_numbers,)),
    "LeafMaker": (("parameter", "requires_grad"), (_is(bool), _is(bool))),
    "NumpyScalarMaker": (("dtype",), (_name,)),
    "Chooser": (("tags",), (_numbers,)),
}


def _fields(obj: Any) -> list[Any]:
    """Return the fields of an instance of a class of `_RECORDS`, in order."""
    if isinstance(obj, tuple):
        return list(obj)
    names = ("cls",) if isinstance(obj, specs.Raised) else type(obj).__match_args__
    return [getattr(obj, name) for name in names]


# ---- writing ----


def write(record: Record, paths: object_paths.Paths, outside: set[int]) -> bytes:
    """Return the text of a record.

    outside: ids of the objects that the variant depends on. A container among them is written as a path, never as its
    items.
    Raises Nameless for a value that the format lacks.
    """
    writer = _Writer(paths, outside)
    writer.add(record)
    return json.dumps(writer.nodes, separators=(",", ":")).encode()


class _Writer:
    def __init__(self, paths: object_paths.Paths, outside: set[int]):
        self.paths, self.outside = paths, outside
        self.nodes: list[Any] = []
        self.equal: dict[Any, int] = {}  # node numbers by content
        self.same: dict[int, tuple[int, Any]] = {}  # (node number, object) by id, for values with identity

    def add(self, obj: Any) -> int:
        """Return the number of the node of a value, which is written if it has none."""
        if type(obj) in _LITERALS:
            return self.unique((type(obj), obj), obj)
        if isinstance(obj, (str, int, float, tuple)):
            return self.constant(obj)
        if id(obj) in self.same:
            return self.same[id(obj)][0]
        path = self.paths.of(obj)
        if isinstance(obj, _CODE) and not is_library(obj.__module__):
            at = self.path(path or object_paths.path_by_name(obj))
            return self.node("code", at, self.add(object_paths.description(obj)))
        if isinstance(obj, _CODE) or path is None and isinstance(obj, BuiltinFunctionType):
            return self.library(obj)
        if path is not None:
            made = self.path(path)
        else:
            made = self.constant(obj) if isinstance(obj, (enum.Enum, specs.Spec)) else self.content(obj)
        self.same[id(obj)] = made, obj
        return made

    def unique(self, key: Any, node: Any) -> int:
        """Return the number of the node of a key. `node` is added if the key has none."""
        if key not in self.equal:
            self.equal[key] = self.new(node)
        return self.equal[key]

    def new(self, node: Any) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def node(self, *parts: str | int) -> int:
        return self.unique(parts, parts)

    def constant(self, obj: Any) -> int:
        """Write a value that no other value with equal content can be told from."""
        cls = type(obj)
        if isinstance(obj, enum.Enum):
            return self.node("member", self.add(cls), obj.name)
        if cls is float:
            return self.node("float", obj.hex())
        if cls is torch.Size:
            return self.node("size", *obj)
        if cls is tuple:
            return self.node("tuple", *map(self.add, obj))
        if cls in _RECORDS:
            return self.node(cls.__name__, *map(self.add, _fields(obj)))
        if hasattr(cls, "_fields"):
            return self.node("named", self.add(cls), *map(self.add, obj))
        raise Nameless(cls.__qualname__)

    def content(self, obj: Any) -> int:
        """Write a mutable value, or a value of torch."""
        cls = type(obj)
        if cls in _RECORDS:
            return self.new((cls.__name__, *map(self.add, _fields(obj))))
        if cls.__module__ == "scriptc.frontend.environment.results" and cls.__name__ in _MAKERS:
            names, _ = _MAKERS[cls.__name__]
            return self.node(cls.__name__, *(self.add(getattr(obj, name)) for name in names))
        if cls is dict and id(obj) not in self.outside:
            return self.new(("dict", *(self.add(part) for item in obj.items() for part in item)))
        if cls in (list, set, frozenset) and id(obj) not in self.outside:
            return self.new((cls.__name__, *map(self.add, obj)))
        if cls is bytes:
            return self.node("bytes", obj.hex())
        if cls is complex:
            return self.node("complex", obj.real.hex(), obj.imag.hex())
        if cls is torch.dtype:
            return self.node("dtype", str(obj).removeprefix("torch."))
        if cls is torch.device:
            return self.node("device", str(obj))
        raise Nameless(cls.__qualname__)

    def path(self, steps: object_paths.Steps) -> int:
        root, *rest = steps
        at = self.node(*root)
        for name, *operands in rest:
            at = self.node(name, at, *map(self.add, operands))
        return at

    def library(self, obj: Any) -> int:
        for module in (obj.__module__, *_BUILTINS):
            try:
                if module is not None and _library(module, obj.__qualname__) is obj:
                    return self.node("library", module, obj.__qualname__)
                if isinstance(obj, BuiltinFunctionType) and _library(module, obj.__name__) is obj:
                    return self.node("library", module, obj.__name__)
            except UNREADABLE:
                continue
        return self.path(self.paths.of(obj) or object_paths.path_by_name(obj))


# ---- reading ----


def read(text: bytes, target: Target) -> Record:
    """Return the record of a text, with the objects of this process.

    Raises an error of UNREADABLE where one differs.
    """
    values: list[Any] = []
    for node in json.loads(text):
        if type(node) is list:
            values.append(_READERS[node[0]](values, node, target))
        elif type(node) in _LITERALS:
            values.append(node)
        else:
            raise ValueError(type(node))
    found = values[-1]
    _require(type(found) is Record, "a record")
    return found


_Reader = Callable[[list[Any], list[Any], Target], Any]


def _items(values: list[Any], node: list[Any]) -> list[Any]:
    return [values[i] for i in node[1:]]


def _read_dict(values: list[Any], node: list[Any], target: Target) -> dict[Any, Any]:
    items = _items(values, node)
    return dict(zip(items[::2], items[1::2], strict=True))


def _read_dtype(values: list[Any], node: list[Any], target: Target) -> torch.dtype:
    found = vars(torch)[node[1]]
    _require(type(found) is torch.dtype, "a dtype")
    return found


def _read_step(values: list[Any], node: list[Any], target: Target) -> Any:
    name, at, *operands = node
    return object_paths.step(values[at], (name, *(values[i] for i in operands)))


def _read_code(values: list[Any], node: list[Any], target: Target) -> Any:
    found = values[node[1]]
    _require(isinstance(found, _CODE) and object_paths.description(found) == values[node[2]], "code")
    return found


def _read_member(values: list[Any], node: list[Any], target: Target) -> enum.Enum:
    cls = values[node[1]]
    _require(isinstance(cls, enum.EnumMeta), "an enum")
    return cls.__members__[node[2]]


def _read_named(values: list[Any], node: list[Any], target: Target) -> Any:
    cls, *items = _items(values, node)
    _require(_subclass(tuple)(cls) and len(cls._fields) == len(items), "a named tuple")
    return tuple.__new__(cls, items)


def _read_record(values: list[Any], node: list[Any], target: Target) -> Any:
    cls, items = _BY_NAME[node[0]], _items(values, node)
    _check(_RECORDS[cls], items)
    if not issubclass(cls, specs.Spec):
        return cls(*items)
    made = object.__new__(cls)
    made.__dict__.update(zip(cls.__match_args__, items, strict=True))
    return made


def _read_maker(values: list[Any], node: list[Any], target: Target) -> Any:
    from scriptc.frontend.environment import results

    items = _items(values, node)
    _check(_MAKERS[node[0]][1], items)
    return getattr(results, node[0])(*items)


def _check(checks: tuple[Check, ...], items: list[Any]) -> None:
    _require(len(checks) == len(items), "fields")
    for check, item in zip(checks, items, strict=True):
        _require(check(item), "a field")


_READERS: dict[str, _Reader] = {
    "float": lambda values, node, target: float.fromhex(node[1]),
    "complex": lambda values, node, target: complex(float.fromhex(node[1]), float.fromhex(node[2])),
    "bytes": lambda values, node, target: bytes.fromhex(node[1]),
    "tuple": lambda values, node, target: tuple(_items(values, node)),
    "list": lambda values, node, target: _items(values, node),
    "set": lambda values, node, target: set(_items(values, node)),
    "frozenset": lambda values, node, target: frozenset(_items(values, node)),
    "dict": _read_dict,
    "dtype": _read_dtype,
    "device": lambda values, node, target: torch.device(node[1]),
    "size": lambda values, node, target: torch.Size(node[1:]),
    "target": lambda values, node, target: target,
    "module": lambda values, node, target: vars(sys.modules[node[1]]),
    "class of module": lambda values, node, target: type(sys.modules[node[1]]),
    "code": _read_code,
    "library": lambda values, node, target: _library(node[1], node[2]),
    "member": _read_member,
    "named": _read_named,
    **dict.fromkeys(object_paths.STEPS, _read_step),
    **dict.fromkeys(_BY_NAME, _read_record),
    **dict.fromkeys(_MAKERS, _read_maker),
}


def _library(module: str, qualname: str) -> Any:
    """Return a function or class of a library by its name.

    Of scriptc's front end alone, the module may be imported.
    """
    _require(is_library(module), "a library")
    if module.startswith("scriptc.frontend.") and module not in sys.modules:
        importlib.import_module(module)
    first, *rest = qualname.split(".")
    found = vars(sys.modules[module])[first]
    for name in rest:
        _require(isinstance(found, type), "a class")
        found = vars(found)[name]
    _require(isinstance(found, _LIBRARY), "a function or class")
    return found


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise Nameless(what)
