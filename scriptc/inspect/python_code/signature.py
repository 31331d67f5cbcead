"""Write how an entry takes its arguments apart, reads what is outside of it, and puts its result together."""

from __future__ import annotations

import builtins
import operator
import re
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

from scriptc.driver.target import Target
from scriptc.frontend.environment.specs import (
    Attributes,
    ConstantSpec,
    Contract,
    DictSpec,
    ItemsSpec,
    ListSpec,
    MapSpec,
    ObjectSpec,
    OptionalSpec,
    PlaceSpec,
    QueueSpec,
    ScalarSpec,
    SetSpec,
    Spec,
    TensorSpec,
    TupleSpec,
    describe,
    is_leaf,
)
from scriptc.inspect.python_code.expressions import literal
from scriptc.inspect.python_code.operations import differs
from scriptc.ir.core import Module
from scriptc.ir.types import Names

_PLAIN = (bool, int, float, str, bytes, type(None), type(Ellipsis))


class Signature:
    """The signature of an entry as Python.

    objects: the objects outside that the Python names, by name.
    first: what the body reads first, by name.
    """

    def __init__(self, target: Target, contract: Contract, module: Module):
        self.contract = contract
        self.receiver = target.receiver
        self.tensors = {tensor.name: tensor for tensor in contract.tensors}
        self.objects: dict[str, Any] = {}
        self.ids: dict[int, str] = {}
        self.names = Names()
        for name in "self leave torch F Tensor math ops text exception instance made warnings Any".split():
            self.names.fresh(name)
        for name in vars(builtins):
            self.names.fresh(name)
        self.args = {arg.name: self.names.fresh(arg.name) for arg in contract.args}
        self.places = [place for arg in contract.args for place in _places(arg.spec, self.args[arg.name])]
        self.name = self.names.fresh(target.func.__name__)
        # A function that sets attributes reads the tensors outside first, under names of their own.
        sets = any(op.name == "state.set" for op in module.walk())
        read = dict.fromkeys(op.attrs["name"] for op in module.walk() if op.name == "param") if sets else {}
        self.locals = {name: self.names.fresh(re.sub(r"\W", "_", name)) for name in read}
        self.first = {local: self.tensor(name) for name, local in self.locals.items()}

    # ---- what is outside ----

    def is_builtin(self, name: str) -> bool:
        return name not in self.contract.exceptions and hasattr(builtins, name)

    def outside(self, name: str, obj: Any) -> str:
        """Return the name of an object outside of the Python. None stands for the class of an exception."""
        if obj is None:
            obj = self.contract.exceptions.get(name) or getattr(builtins, name)
        builtin = str(getattr(obj, "__name__", ""))
        if getattr(builtins, builtin, None) is obj:
            return builtin
        if id(obj) not in self.ids:
            fresh = self.ids[id(obj)] = self.names.fresh(name if name.isidentifier() else "outside")
            self.objects[fresh] = obj
        return self.ids[id(obj)]

    def tensor(self, name: str) -> str:
        """Return the text of a tensor outside of the arguments."""
        found = self.tensors[name]
        return self._reached(name, found.container[found.key]) or f"{self._container(found.container)}[{literal(found.key)}]"

    def read_tensor(self, name: str) -> str:
        """Return the text of a tensor outside of the arguments, in the body."""
        return self.locals.get(name) or self.tensor(name)

    def _reached(self, path: str, wanted: Any) -> str | None:
        """Return `self.path` if that is the object."""
        if self.receiver is None or not path:
            return None
        found, text = self.receiver, "self"
        for part in path.split("."):
            try:
                if part.isidentifier():
                    found, text = getattr(found, part), f"{text}.{part}"
                else:
                    found, text = found[int(part)], f"{text}[{part}]"
            except (AttributeError, TypeError, ValueError, LookupError):
                return None
        return text if found is wanted else None

    def _container(self, container: Any) -> str:
        if isinstance(container, Attributes):
            return f"vars({self.owner(container.owner)})"
        return self.outside("outside", container)

    def owner(self, owner: Any) -> str:
        """Return the text of an object: an argument, the receiver or what it holds, or an object outside."""
        if isinstance(owner, PlaceSpec):
            return self.places[owner.number]
        if owner is self.receiver:
            return "self"
        paths = {id(m): path for path, m in getattr(self.receiver, "named_modules", lambda: ())()}
        return self._reached(paths.get(id(owner), ""), owner) or self.outside(type(owner).__name__.lower(), owner)

    # ---- arguments ----

    def head(self) -> str:
        """Return the lines in front of the body."""
        params = [self.args[arg.name] + f": {_annotation(arg.spec)}" for arg in self.contract.args]
        first = ["self"] if self.receiver is not None else []
        shown = ", ".join(f"{arg.name}: {describe(arg.spec)}" for arg in self.contract.args)
        lines = [f"def {self.name}({', '.join([*first, *params])}):"]
        return "\n".join([*lines, *([f"    # {shown}"] if shown else [])])

    def leaves(self) -> Iterator[str]:
        """Yield the text of each parameter of the entry function."""
        for arg in self.contract.args:
            for _, text in self._leaves(arg.spec, self.args[arg.name]):
                yield text
        for value in self.contract.values:
            container = value.container
            if isinstance(container, Attributes):
                text = f"{self.owner(container.owner)}.{value.key}"
            else:
                text = self._attribute_of(container, value.key) or f"{self._container(container)}[{literal(value.key)}]"
            for _, leaf in self._leaves(value.spec, text):
                yield leaf

    def _attribute_of(self, container: Any, key: Any) -> str | None:
        """Return the text of an attribute, given the dict of the object's attributes."""
        if self.receiver is None or not isinstance(key, str) or not key.isidentifier():
            return None
        for path, module in getattr(self.receiver, "named_modules", lambda: [("", self.receiver)])():
            if vars(module) is container:
                prefix = self._reached(path, module) if path else "self"
                return f"{prefix}.{key}" if prefix else None
        return None

    def _leaves(self, spec: Spec, text: str) -> Iterator[tuple[Spec, str]]:
        if is_leaf(spec):
            yield spec, text
        for item, part in self._parts(spec, text):
            yield from self._leaves(item, part)

    def _parts(self, spec: Spec, text: str) -> Iterator[tuple[Spec, str]]:
        """Yield the parts of a value that is no leaf, as `specs.parts` does, with the text of each."""
        match spec:
            case TupleSpec(items, cls) if cls is complex:
                yield from zip(items, (f"{text}.real", f"{text}.imag"), strict=True)
            case TupleSpec(items, cls) if hasattr(cls, "parts"):
                maker = self.outside("maker", cls)
                yield from ((item, f"{maker}.parts({text})[{i}]") for i, item in enumerate(items))
            case TupleSpec(items) | ItemsSpec(items):
                yield from ((item, f"{text}[{i}]") for i, item in enumerate(items))
            case QueueSpec():
                raise ValueError("a deque among the arguments cannot be printed as Python")
            case DictSpec(keys, items):
                yield from ((item, f"{text}[{self.known(key)}]") for key, item in zip(keys, items, strict=True))
            case ObjectSpec(_, names, items):
                yield from ((item, f"{text}.{name}") for name, item in zip(names, items, strict=True))

    def known(self, value: Any) -> str:
        """Return the text of an object that is known when the code is compiled."""
        if isinstance(value, tuple) and type(value) is tuple:
            return f"({', '.join(map(self.known, value))}{',' * (len(value) == 1)})"
        return literal(value) if type(value) in _PLAIN else self.outside(getattr(value, "__name__", "known"), value)

    # ---- results ----

    def result(self, values: Sequence[str]) -> str:
        """Return the result, given the texts of its leaves."""
        return self._built(self.contract.result, iter(values))

    def _built(self, spec: Spec, values: Iterator[str], *, may_be_none: bool = False) -> str:
        """Return the text of a value. may_be_none: it is the part of a union, absent where the value is of another kind."""
        if is_leaf(spec) or isinstance(spec, OptionalSpec):
            text = next(values)
            return f"made({self.outside('spec', spec)}, {text})" if differs(spec) else text
        match spec:
            case ConstantSpec(obj):
                return self.known(obj)
            case PlaceSpec(number):
                return self.places[number]
            case TupleSpec(items, cls):
                parts = [self._built(item, values, may_be_none=not isinstance(cls, type)) for item in items]
                if cls is complex:
                    made = f"complex({', '.join(parts)})"
                    return f"None if {parts[0]} is None else {made}" if may_be_none else made
                inner = ", ".join(parts)
                together = f"({inner}{',' * (len(parts) == 1)})"
                if cls is tuple:
                    return together
                maker = self.outside(getattr(cls, "__name__", "maker"), cls)
                return f"{maker}({inner})" if hasattr(cls, "_fields") else f"{maker}({together})"
            case DictSpec(keys, items):
                pairs = [f"{self.known(k)}: {self._built(i, values)}" for k, i in zip(keys, items, strict=True)]
                return f"{{{', '.join(pairs)}}}"
            case ItemsSpec(items):
                return f"[{', '.join(self._built(item, values) for item in items)}]"
        raise ValueError(f"a result such as {describe(spec)} cannot be printed as Python")

    def assignment(self, target: int, form: int, values: Sequence[str]) -> str:
        """Return the statement that sets an attribute or item outside of the call."""
        slot = self.contract.write_backs[target]
        owner = self.owner(slot.owner)
        if slot.path is None:
            place = f"{owner}.{slot.key}"
        else:
            place = reduce(operator.add, (f"[{self.known(key)}]" for key in (*slot.path, slot.key)), owner)
        return f"del {place}" if form < 0 else f"{place} = {self._built(slot.forms[form], iter(values))}"


def _places(spec: Spec, text: str) -> Iterator[str]:
    """Yield the texts of the objects with a place in an argument, in the order of `specs.placed`."""
    if isinstance(spec, (DictSpec, ObjectSpec, ItemsSpec, QueueSpec)):
        yield text
    match spec:
        case TupleSpec(items) | ItemsSpec(items):
            for i, item in enumerate(items):
                yield from _places(item, f"{text}[{i}]")
        case DictSpec(keys, items):
            for key, item in zip(keys, items, strict=True):
                yield from _places(item, f"{text}[{literal(key)}]")
        case ObjectSpec(_, names, items):
            for name, item in zip(names, items, strict=True):
                yield from _places(item, f"{text}.{name}")


def _annotation(spec: Spec) -> str:
    match spec:
        case TensorSpec():
            return "Tensor"
        case ScalarSpec(kind):
            return {"i64": "int", "f64": "float"}.get(kind, kind)
        case ListSpec(elem, cls):
            inner = _annotation(elem) if elem is not None else "Any"
            return f"{cls.__name__}[{inner}{', ...' if cls is tuple else ''}]"
        case TupleSpec(items, cls) if cls is tuple:
            return f"tuple[{', '.join(map(_annotation, items)) or '()'}]"
        case MapSpec(key, item):
            return f"dict[{_annotation(key)}, {_annotation(item)}]" if key is not None and item is not None else "dict"
        case SetSpec():
            return "set"
    return "Any"
