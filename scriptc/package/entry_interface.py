"""Describe an entry of the front end for a package: leaves in C, and trees for the Python loader."""

from __future__ import annotations

import inspect
import re
from typing import Any

import torch

from scriptc.backend_c.c_names import CNames
from scriptc.backend_c.package.interface import EntryInterface, Leaf
from scriptc.backend_c.package.reserved import KEYWORDS, MACROS
from scriptc.driver.target import Target
from scriptc.frontend.entry import Entry
from scriptc.frontend.environment import specs as front
from scriptc.frontend.environment.results import (
    ArrayMaker,
    Chooser,
    DequeMaker,
    DictMaker,
    LeafMaker,
    Maker,
    MappingMaker,
    NumpyScalarMaker,
    SetMaker,
)
from scriptc.ir.core import Func
from scriptc.ir.errors import CompileError, Diagnostic
from scriptc.package.state_leaves import written_arguments

# Names that the bodies of C functions and C++ methods in a package use.
_USED = """context state caller package levels weights embedded code free v c k out why std detail Tensor View Error Model
Context State DLTensor context_ check""".split()
_API = """load free level machine_has build_id context context_new context_free context_set_threads context_set_output
context_set_read_only context_set_stack context_set_check context_seed seed state cancel set_stack request_check
state_new state_free state_reset state_copy state_save state_load
last_error free_tensors free_array model get set_threads entries check copy exceptions
Context Free context_""".split()
_FOREIGN: dict[type[front.Spec], tuple[str, str]] = {  # what cannot cross, and what to write instead
    front.InstanceSpec: ("an object that exists at run time", "return its numbers and tensors"),
    front.MapSpec: ("a dict with keys known only at run time", "use a list of the keys and a list of the values"),
    front.SetSpec: ("a set", "use a sorted list"),
    front.QueueSpec: ("a deque", "pass a list, or make the deque part of the state"),
    front.PlaceSpec: ("an object that is also an argument, or a part of one,", "return its attributes"),
}
_CONSTANTS = (bool, int, float, str, type(None))


def entry_name(wish: str) -> str:
    """Return the name of an entry's method, and the end of the name of its C function."""
    name = re.sub(r"\W", "_", wish, flags=re.ASCII).lstrip("_") or "call"
    return f"{name}_" if name in _API or name in KEYWORDS or name in MACROS else name


def interface(
    name: str, group: str, target: Target, entry: Entry, func: Func, state: tuple[int, ...]
) -> EntryInterface:
    """Return the interface of an entry.

    group: the name in Python. func: of the module. state: the numbers of the leaves of the state that the entry takes.

    Raises CompileError if a value cannot cross the C boundary.
    """
    return _Describer(entry, func).describe(name, group, target, state)


class _Describer:
    def __init__(self, entry: Entry, func: Func):
        self.entry, self.func = entry, func
        self.loc = func.loc
        self.names = CNames()
        for word in sorted(KEYWORDS | MACROS | {*_USED}):
            self.names.fresh(word)
        self.baked: list[str] = []

    def describe(self, name: str, group: str, target: Target, state: tuple[int, ...]) -> EntryInterface:
        arguments = [leaf for arg in self.entry.args for leaf in self.leaves(arg.spec, arg.name, argument=True)]
        results = self.leaves(self.entry.result, "result", argument=False)
        fields = self.fields(results) if _is_named(self.entry.result) else None
        tree = {
            "parameters": [self.parameter(target, arg) for arg in self.entry.args],
            "result": self.tree(self.entry.result),
        }
        declared = f"{target.func.__qualname__}, {re.split(r'[/]', self.loc.file)[-1]}:{self.loc.line}"
        written = frozenset(written_arguments(self.func, range(len(arguments))))
        return EntryInterface(
            name, group, declared, tuple(arguments), tuple(results), tuple(self.baked), tree, state, written, fields
        )

    def leaves(self, spec: front.Spec, name: str, *, argument: bool) -> list[Leaf]:
        match spec:
            case front.ConstantSpec(obj):
                if argument:
                    self.baked.append(f"{name} = {_short(obj)}")
                return []
            case front.TupleSpec(_, Chooser()):
                what = f"'{name}' may have one of several types, which the C API cannot pass"
                raise self.refusal(what, "return values of one type, such as a flag beside a tensor in the place of None")
            case front.TupleSpec(items, cls):
                parts = zip(_field_names(cls, len(items)) or range(len(items)), items, strict=True)
                return [leaf for key, s in parts for leaf in self.leaves(s, f"{name}_{key}", argument=argument)]
            case front.ObjectSpec(_, keys, items):
                parts = zip(keys, items, strict=True)
                return [leaf for key, s in parts for leaf in self.leaves(s, f"{name}_{key}", argument=argument)]
            case front.ItemsSpec(items):
                return [leaf for i, s in enumerate(items) for leaf in self.leaves(s, f"{name}_{i}", argument=argument)]
            case front.DictSpec(keys, items):
                pairs = zip(keys, items, strict=True)
                return [leaf for k, s in pairs for leaf in self.leaves(s, f"{name}_{k}", argument=argument)]
            case front.ListSpec(_, cls) if cls is tuple:
                raise self.refusal(
                    f"'{name}' is a tuple whose length is known only at run time, which the C API cannot pass",
                    "pass or return a list",
                )
            case front.ListSpec(None):
                return [Leaf(self.fresh(name), "nothing", is_list=True)]
            case front.ListSpec(front.TensorSpec(dtype, sizes)):
                return [Leaf(self.fresh(name), "tensor", True, dtype, sizes)]
            case front.ListSpec(front.ScalarSpec(kind)):
                return [Leaf(self.fresh(name), kind, True)]
            case front.ListSpec(front.ListSpec(front.TensorSpec(dtype, sizes), inner)) if inner is list:
                return [Leaf(self.fresh(name), "tensor", True, dtype, sizes, is_nested=True)]
            case front.ListSpec(front.ListSpec(front.ScalarSpec(kind), inner)) if inner is list:
                return [Leaf(self.fresh(name), kind, True, is_nested=True)]
            case front.TensorSpec(dtype, sizes):
                return [Leaf(self.fresh(name), "tensor", False, dtype, sizes)]
            case front.ScalarSpec(kind):
                return [Leaf(self.fresh(name), kind)]
        what, hint = _FOREIGN.get(type(spec)) or _list_refusal(spec)
        raise self.refusal(f"'{name}' is {what}, which the C API cannot pass", hint)

    def fields(self, results: list[Leaf]) -> tuple[str, ...]:
        """Return the members of the struct in C++ that holds the results: the names of the leaves without `result_`."""
        names, found = CNames(), []
        for leaf in filter(lambda leaf: leaf.in_c, results):
            wish = leaf.name.removeprefix("result_")
            wish = f"item_{wish}" if wish[:1].isdigit() else f"{wish}_" if wish in KEYWORDS | MACROS else wish
            found.append(names.fresh(wish))
        return tuple(found)

    def fresh(self, wish: str) -> str:
        """Return a fresh name for a leaf.

        The names that c_api.py and cpp_api.py derive from it are fresh, too.
        """
        while True:
            name = self.names.fresh(wish)
            made = [f"n_{name}", f"lengths_{name}", f"param_{name}", *(f"out_{n}{name}" for n in ("", "n_", "lengths_"))]
            if not any(other in self.names.names.used for other in made):
                break
        for other in made:
            self.names.fresh(other)
        return name

    def tree(self, spec: front.Spec, *, argument: bool = False) -> dict[str, Any]:
        match spec:
            case front.ConstantSpec(obj) if isinstance(obj, _CONSTANTS):
                return {"is": "known", "value": obj}
            case front.ConstantSpec(obj) if type(obj) is tuple and all(isinstance(item, _CONSTANTS) for item in obj):
                return {"is": "tuple", "class": "tuple", "fields": None, "items": [{"is": "known", "value": o} for o in obj]}
            case front.ConstantSpec(obj):
                if not argument:
                    what = f"the result contains {_short(obj)}, which exists only in Python"
                    raise self.refusal(what, "return tensors and numbers")
                return {"is": "opaque", "text": _short(obj)}
            case front.TensorSpec(dtype, sizes):
                return {"is": "tensor", "dtype": dtype, "sizes": list(sizes)}
            case front.ScalarSpec(kind):
                return {"is": "number", "type": kind}
            case front.ListSpec(elem):
                return {"is": "list", "of": None if elem is None else self.tree(elem)}
            case front.TupleSpec((item,), ArrayMaker(flips=()) | LeafMaker() | NumpyScalarMaker()):
                # loaders give arrays for tensors
                return self.tree(item)
            case front.TupleSpec(_, SetMaker()):
                raise self.refusal("the result contains a set, which exists only in Python", "return tensors and numbers")
            case front.TupleSpec((_, content), DequeMaker()):
                return self.tree(content)  # loaders give a list
            case front.TupleSpec(items, DictMaker(keys=tuple(keys))):
                return self.dict_tree(keys, items, argument=argument)
            case front.TupleSpec(items, cls):
                fields = _field_names(cls, len(items))
                parts = [self.tree(item, argument=argument) for item in items]
                named = fields is not None and all(re.fullmatch(r"[^\W\d_]\w*", field) for field in fields)
                return {"is": "tuple", "class": cls.__name__, "fields": list(fields or ()) if named else None, "items": parts}
            case front.ItemsSpec(items):
                parts = [self.tree(item, argument=argument) for item in items]
                return {"is": "tuple", "class": "list", "fields": None, "items": parts}
            case front.ObjectSpec(cls, names, items):
                parts = [self.tree(item, argument=argument) for item in items]
                for name, part in zip(names, parts, strict=True):
                    if part["is"] == "opaque":
                        what = f"the attribute '{name}' of the argument is {part['text']}, which the C API cannot pass"
                        raise self.refusal(what, "use tensors, numbers and strings as attributes")
                return {"is": "object", "class": cls.__name__, "fields": list(names), "items": parts}
            case front.DictSpec(keys, items):
                return self.dict_tree(keys, items, argument=argument)
        raise AssertionError(spec)  # refused by `leaves`

    def dict_tree(self, keys: tuple[Any, ...], items: tuple[front.Spec, ...], *, argument: bool) -> dict[str, Any]:
        if not all(type(key) in (str, int) for key in keys):
            raise self.refusal("the C API cannot pass a dict whose keys are neither strings nor ints", "use strings as keys")
        parts = [self.tree(item, argument=argument) for item in items]
        return {"is": "dict", "keys": list(keys), "items": parts}

    def parameter(self, target: Target, arg: front.ArgSpec) -> dict[str, Any]:
        parameter = target.signature.parameters[arg.name]
        optional = parameter.default is not inspect.Parameter.empty
        row = {"name": arg.name, "kind": parameter.kind.name, "optional": optional}
        if optional and isinstance(parameter.default, _CONSTANTS):
            row["default"] = parameter.default
        return {**row, "spec": self.tree(arg.spec, argument=True)}

    def refusal(self, message: str, hint: str) -> CompileError:
        return CompileError(Diagnostic(self.loc, message, hint))


def _field_names(cls: Any, n: int) -> tuple[str, ...] | None:
    """Return the names of the parts of a named tuple, a dataclass or another object with known attributes."""
    match cls:
        case MappingMaker(names=names, keys=keys, places=places):
            items = (f"{key}_item" if key in names else key for key in keys)  # unless the attribute is the same value
            found = dict(reversed([*zip(places, (*names, *items), strict=True)]))
            names = tuple(found[place] for place in sorted(found))
        case Maker(names=names):
            pass
        case _:
            names = getattr(cls, "_fields", None) or getattr(cls, "__match_args__", None) or ()
    fits = len({*names}) == n and all(isinstance(name, str) and name.isidentifier() for name in names)
    return tuple(names) if fits else None


def _is_named(spec: front.Spec) -> bool:
    """Return whether a result is a dict or has named parts."""
    match spec:
        case front.DictSpec() | front.TupleSpec(_, DictMaker()):
            return True
        case front.TupleSpec(items, cls):
            return _field_names(cls, len(items)) is not None
    return False


def _list_refusal(spec: front.Spec) -> tuple[str, str]:
    """Return what a list that cannot cross is, and what to write instead."""
    match getattr(spec, "elem", None):
        case front.ListSpec():
            return "a list of lists of containers, or of lists that are always empty", "use flat lists, or tensors"
        case front.TupleSpec() | front.InstanceSpec() | front.DictSpec():
            return "a list of tuples or objects", "use one list for each part"
        case front.OptionalSpec():
            return "a list with items that are None", "use a list of the items and a list of flags"
    return "a list of containers", "use flat lists, or tensors"


def _short(obj: Any) -> str:
    return repr(obj) if isinstance(obj, (*_CONSTANTS, torch.dtype)) else f"a {type(obj).__name__}"
