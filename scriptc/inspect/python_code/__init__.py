"""`compiled.code`: what was compiled as Python, in the form that it was specialized to."""

from __future__ import annotations

from typing import Any

from scriptc.driver.target import Target
from scriptc.frontend.environment.specs import (
    Contract,
    InstanceSpec,
    ListSpec,
    MapSpec,
    OptionalSpec,
    Spec,
    TupleSpec,
    leaves,
)
from scriptc.inspect.python_code.signature import Signature
from scriptc.inspect.python_code.statements import FunctionPrinter
from scriptc.ir.core import Func, Module
from scriptc.ir.passes.manager import run_pipeline
from scriptc.ir.types import DictType, ListType, ObjectType, OptionalType, TupleType, Type

_IMPORTS = (
    ("math.", "import math"), ("warnings.", "import warnings"), ("Any", "from typing import Any"), ("torch.", "import torch"),
    ("F.", "import torch.nn.functional as F"), ("Tensor", "from torch import Tensor"),
)  # fmt: skip
_OWN = ("ops.", "text(", "exception(", "instance(", "made(")


class PythonCode(str):
    """The text of a function, and the objects outside that it names.

    `exec(code, {**code.outside})` defines the function.
    """

    outside: dict[str, Any]
    name: str

    def function(self) -> Any:
        """Return the function that the text defines. A method takes the module as its first argument."""
        names = dict(self.outside)
        exec(compile(self, "<scriptc code>", "exec"), names)
        return names[self.name]


def python_code(target: Target, contract: Contract, module: Module) -> PythonCode:
    """Return the IR in front of the passes as Python.

    Raises ValueError if the program has a part that cannot be printed.
    """
    notes = []
    if any(op.name == "user_gradient" for op in module.walk()):
        run_pipeline(module, "drop_gradient_marks")
        notes.append("# The gradients of custom autograd.Functions are not part of this text.")
    signature = Signature(target, contract, module)
    entry = module.funcs[module.entries[0]]
    taken = [leaf for spec in (*(a.spec for a in contract.args), *(v.spec for v in contract.values)) for leaf in leaves(spec)]
    for spec, arg in zip(taken, entry.body.args, strict=True):
        _name_fields(spec, arg.type)
    for spec, kind in zip(leaves(contract.result), entry.results, strict=True):
        _name_fields(spec, kind)
    called = _called(module, entry)
    inner = [FunctionPrinter(func, signature, is_entry=False).text() for func in called]
    body = FunctionPrinter(entry, signature, is_entry=True).text()
    if inner:  # inside of the entry, where `self` is
        head, _, rest = body.partition(":\n")
        nested = "\n".join(f"    {line}" for text in inner for line in text.split("\n"))
        body = f"{head}:\n{nested}\n\n{rest}"
    imports = [line for mark, line in _IMPORTS if mark in body]
    own = [mark[:-1] for mark in _OWN if mark in body]
    if own:
        imports.append(f"from scriptc.inspect.python_code.operations import {', '.join(own)}")
    notes += [f"# {name}: {_noted(obj)}" for name, obj in signature.objects.items()]
    code = PythonCode("\n".join([*imports, *notes, "", "", body, ""]))
    code.outside = signature.objects
    code.name = signature.name
    return code


def _called(module: Module, entry: Func) -> list[Func]:
    """Return the functions that an entry calls, itself or through others, in the order of the module."""
    found, open_ = {entry.name}, [entry]
    while open_:
        for op in open_.pop().body.walk():
            if op.name == "call" and op.attrs["func"] not in found:
                found.add(op.attrs["func"])
                open_.append(module.funcs[op.attrs["func"]])
    return [func for func in module.funcs.values() if func.name in found and func is not entry]


def _name_fields(spec: Spec | None, kind: Type) -> None:
    """Give the records of the IR, whose text has no names, the classes and names of a spec."""
    match spec, kind:
        case InstanceSpec(cls, names, fields), ObjectType(record):
            if record.names != names:
                record.cls, record.names = cls, names
                for i, field in enumerate(fields()):
                    _name_fields(field, record.type_of(i))
        case ListSpec(item), ListType():
            _name_fields(item, kind.elem)
        case OptionalSpec(item), OptionalType(inner):
            _name_fields(item, inner)
        case MapSpec(key, item), DictType():
            _name_fields(key, kind.key)
            _name_fields(item, kind.elem)
        case TupleSpec(items), TupleType(kinds):
            for item, inner in zip(items, kinds, strict=True):
                _name_fields(item, inner)


def _noted(obj: Any) -> str:
    """Return an object outside in words."""
    if isinstance(obj, type):
        return f"{obj.__module__}.{obj.__qualname__}"
    name = getattr(obj, "__name__", None)
    return f"{type(obj).__name__} {name}" if name else f"an object of {type(obj).__name__}"
