"""The schema of an operator: which values of PyTorch's operator language stand for the arguments and results of a function."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from scriptc.driver.target import Target
from scriptc.driver.variant import Variant
from scriptc.frontend.environment.results import Chooser
from scriptc.frontend.environment.specs import (
    ConstantSpec,
    DictSpec,
    ItemsSpec,
    ListSpec,
    ScalarSpec,
    Spec,
    TensorSpec,
    TupleSpec,
    describe,
    is_leaf,
    leaves,
)
from scriptc.ir.analysis import calls, is_written, may_write, roots, roots_in_lists
from scriptc.ir.core import Module, Op, Value
from scriptc.ir.types import DictType, ListType, ObjectType

_SCALARS = {"i64": "SymInt", "f64": "float", "bool": "bool", "str": "str"}
_CONSTANTS = {bool: "bool", int: "SymInt", float: "float", str: "str"}
_ANNOTATIONS = {torch.Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str"}


class NotAnOperator(TypeError):
    """Say why a function has no operator schema."""


@dataclass(frozen=True)
class Argument:
    """One parameter of an operator.

    type: without `?`, such as "Tensor[]"; "" while only None was seen.
    default: the default in the schema, as text; "" for none.
    as_tuple: the function takes a tuple where the operator takes a list.
    written: the function writes to the tensors.
    """

    name: str
    type: str
    optional: bool = False
    default: str = ""
    as_tuple: bool = False
    written: bool = False

    def text(self, alias: str) -> str:
        kind = self.type.replace("Tensor", f"Tensor({alias}!)") if self.written else self.type
        return f"{kind}{'?' * self.optional} {self.name}{f'={self.default}' if self.default else ''}"


@dataclass(frozen=True)
class Schema:
    """The interface of an operator. weights: the tensors outside of the function come as a list in front."""

    arguments: tuple[Argument, ...]
    results: tuple[str, ...]
    weights: bool
    tree: Spec

    def text(self, name: str) -> str:
        parts = [argument.text(f"a{i}") for i, argument in enumerate(self.arguments)]
        results = self.results[0] if len(self.results) == 1 else f"({', '.join(self.results)})"
        return f"{name}({', '.join(['Tensor[] weights'] * self.weights + parts)}) -> {results}"

    def backward_text(self, name: str) -> str:
        """Return the schema of the operator that computes gradients."""
        parts = [replace(argument, default="").text("") for argument in self.arguments]
        parts = ["Tensor?[] grads", "bool[] needs", *["Tensor[] weights"] * self.weights, *parts]
        return f"{name}({', '.join(parts)}) -> Tensor[]"

    @property
    def writes(self) -> bool:
        return any(argument.written for argument in self.arguments)


def schema_of(target: Target, variants: Sequence[Variant]) -> Schema:
    """Return the schema of a function by the calls that it is compiled for.

    Raises NotAnOperator for an argument or a result that operators of PyTorch do not have, and for state.
    """
    for variant in variants:
        _check_effects(variant)
    parameters = target.signature.parameters
    hints = _hints(target)
    specs = [{arg.name: arg.spec for arg in variant.contract.args} for variant in variants]
    arguments = [_argument(parameters[name], [s[name] for s in specs], hints.get(name)) for name in specs[0]]
    written = frozenset().union(*map(_written, variants))
    arguments = [replace(a, written=a.name in written) for a in arguments]
    last = max((i for i, a in enumerate(arguments) if not a.default), default=-1)
    arguments = [replace(a, default="") if i < last else a for i, a in enumerate(arguments)]  # defaults come last
    trees = [variant.contract.result for variant in variants]
    if any(_structure(tree) != _structure(trees[0]) for tree in trees):
        raise NotAnOperator(f"{target.name} returns values of several structures: {describe(trees[0])} and others")
    results = tuple(_result(leaf) for leaf in _result_leaves(trees[0]))
    return Schema(tuple(arguments), results, any(v.contract.tensors for v in variants), trees[0])


def _check_effects(variant: Variant) -> None:
    contract = variant.contract
    if contract.write_backs:
        where = contract.write_backs[0].name
        raise NotAnOperator(f"the function assigns to {where}: an operator has no state; return the new value")
    if contract.values:
        raise NotAnOperator(
            f"the function reads {contract.values[0].key}, which changes between calls: an operator sees its arguments "
            "only; make it an argument"
        )
    module = variant.read_module()
    params = [op for op in module.walk() if op.name == "param"]
    for op in params:
        if is_written(op.result, module.funcs[module.entries[0]].body):
            raise NotAnOperator(
                f"the function writes to {op.attrs['name']}, a tensor outside: an operator declares the tensors to which "
                "it writes; make it an argument, or call eval() if it is a running statistic"
            )


def _written(variant: Variant) -> frozenset[str]:
    """Return the names of the arguments whose tensors a variant writes to."""
    module: Module = variant.read_module()
    body = module.funcs[module.entries[0]].body
    values = iter(body.args)
    found: set[str] = set()
    for arg in variant.contract.args:
        own = [next(values) for _ in leaves(arg.spec)]
        if any(_writes(op, value, "list") for op in body.walk() for value in own if isinstance(value.type, ListType)):
            raise NotAnOperator(f"the function changes its argument {arg.name}, a list: return a new list")
        if any(_writes(op, value, "tensor") for op in body.walk() for value in own):
            found.add(arg.name)
    return frozenset(found)


def _writes(op: Op, value: Value, memory: str) -> bool:
    """Return whether an op writes to an argument under the name of that argument.

    Another argument may be the same tensor, but that is a fact of a call, not of the function.
    """
    if memory not in op.defn.writes or op.regions:
        return False
    if calls(op):
        return may_write(op, value)
    targets = roots(op.operands[0]) if memory == "list" else roots_in_lists(op.operands[:1])
    return value in targets or (any(isinstance(t.type, (DictType, ObjectType)) for t in targets) and may_write(op, value))


def _argument(parameter: inspect.Parameter, specs: Sequence[Spec], hint: tuple[str, bool] | None) -> Argument:
    name = parameter.name
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise NotAnOperator(f"the function takes {parameter}: an operator has a fixed number of arguments; take a list")
    found = {_argument_type(name, spec) for spec in specs} - {""}
    if len(found) > 1:
        raise NotAnOperator(f"the argument {name} has had several types: {', '.join(sorted(found))}")
    default = None if parameter.default is parameter.empty else parameter.default
    kind = next(iter(found), hint[0] if hint else "")
    if not kind:
        raise NotAnOperator(f"the argument {name} was None in each call: annotate it, such as {name}: Tensor | None = None")
    has_none = any(isinstance(s, ConstantSpec) and s.obj is None for s in specs)
    optional = has_none or (hint is not None and hint[1]) or (parameter.default is None)
    as_tuple = any(isinstance(s, TupleSpec) or (isinstance(s, ListSpec) and s.cls is tuple) for s in specs)
    text = "" if parameter.default is parameter.empty else _default(default)
    return Argument(name, kind, optional, text, as_tuple)


def _argument_type(name: str, spec: Spec) -> str:
    match spec:
        case TensorSpec():
            return "Tensor"
        case ScalarSpec(kind):
            return _SCALARS[kind]
        case ConstantSpec(None):
            return ""
        case ConstantSpec(obj) if type(obj) in _CONSTANTS:
            return _CONSTANTS[type(obj)]
        case ListSpec(None):
            return "Tensor[]"
        case ListSpec(elem) if elem is not None:
            item = _argument_type(name, elem)
        case ItemsSpec(items) | TupleSpec(items) if items and getattr(spec, "cls", tuple) in (tuple, torch.Size):
            kinds = {_argument_type(name, part) for part in items}
            item = kinds.pop() if len(kinds) == 1 else ""
        case _:
            item = ""
    if item in ("Tensor", "SymInt", "float", "bool", "str"):
        return f"{item}[]"
    raise NotAnOperator(
        f"the argument {name} is {describe(spec)}: an operator takes tensors, numbers, strings, and lists of one type of them"
    )


def _default(value: Any) -> str:
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    return f'"{value}"' if isinstance(value, str) and value.isprintable() and '"' not in value else ""


def _hints(target: Target) -> dict[str, tuple[str, bool]]:
    """Return the types of annotated parameters in the operator language, and whether they may be None."""
    try:
        annotations = typing.get_type_hints(target.func)
    except Exception:  # names that do not exist at run time
        return {}
    return {name: hint for name, annotation in annotations.items() if (hint := _hint(annotation)) is not None}


def _hint(annotation: Any) -> tuple[str, bool] | None:
    parts = typing.get_args(annotation)
    if type(None) in parts:
        inner = [_hint(part) for part in parts if part is not type(None)]
        return (inner[0][0], True) if len(inner) == 1 and inner[0] is not None else None
    if typing.get_origin(annotation) in (list, tuple) and parts:
        items = {_hint(part) for part in parts if part is not ...}
        item = items.pop() if len(items) == 1 else None
        return (f"{item[0]}[]", False) if item is not None else None
    return (_ANNOTATIONS[annotation], False) if annotation in _ANNOTATIONS else None


# ---- results ----


def _result_leaves(tree: Spec) -> Iterator[Spec]:
    """Yield the leaves of a result; raise NotAnOperator if its structure depends on the call."""
    if is_leaf(tree):
        yield tree
        return
    if isinstance(getattr(tree, "cls", None), Chooser) or not isinstance(tree, (TupleSpec, DictSpec, ItemsSpec, ConstantSpec)):
        raise NotAnOperator(f"the result holds {describe(tree)}: an operator returns tensors, numbers and lists of tensors")
    for item in getattr(tree, "items", ()):
        yield from _result_leaves(item)


def _result(leaf: Spec) -> str:
    match leaf:
        case TensorSpec():
            return "Tensor"
        case ScalarSpec(kind) if kind != "str":
            return _SCALARS[kind]
        case ListSpec(TensorSpec()):
            return "Tensor[]"
    raise NotAnOperator(f"the result holds {describe(leaf)}: an operator returns tensors, numbers and lists of tensors")


def _structure(tree: Spec) -> Any:
    if isinstance(tree, TensorSpec):
        return "Tensor"
    if is_leaf(tree) or isinstance(tree, ConstantSpec):
        return tree
    return type(tree), getattr(tree, "cls", None), getattr(tree, "keys", None), *map(_structure, getattr(tree, "items", ()))


def rebuilder(tree: Spec) -> Callable[[Sequence[Any]], Any]:
    """Return a function that makes the result of a call from its leaves. Dynamo can trace it."""
    count = 0

    def build(spec: Spec) -> Callable[[Sequence[Any]], Any]:
        nonlocal count
        if is_leaf(spec):
            count += 1
            place = count - 1
            return lambda values: values[place]
        if isinstance(spec, ConstantSpec):
            return lambda values: spec.obj
        items = [build(item) for item in spec.items]  # type: ignore[attr-defined]
        if isinstance(spec, DictSpec):
            keys = spec.keys
            return lambda values: {key: item(values) for key, item in zip(keys, items, strict=True)}
        cls: Any = list if isinstance(spec, ItemsSpec) else spec.cls  # type: ignore[attr-defined]
        if hasattr(cls, "_fields") or cls is complex:
            return lambda values: cls(*[item(values) for item in items])
        return lambda values: cls([item(values) for item in items])

    return build(tree)
