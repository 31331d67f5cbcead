"""Modules that torch.export made: the checks of their arguments, and the branches in their graphs."""

from __future__ import annotations

import collections
import importlib
from typing import Any

import torch
import torch.utils._pytree as pytree

from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch import exported_decomposed as decomposed
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known
from scriptc.frontend.values.predicates import (
    has_alternatives,
    has_known_keys,
    is_known,
    is_list,
    is_made_tuple,
)
from scriptc.frontend.values.verbs import describe, python_class
from scriptc.ir.types import STR, ListType, ScalarType, TensorType, TupleType, Type

_LENGTHS = 32  # lists that are longer have the message for lists of this length


@serves("torch.export._unlift._check_inputs_match")
def check_inputs_match(r: Reader, args: AbstractValue, kwargs: AbstractValue, in_spec: AbstractValue) -> AbstractValue:
    """Raise torch's error if the structure of the arguments is not that of the example of the export.

    torch's own function decides, given arguments of the same structure. A list of unknown length first has the length of
    the example; then the length is checked at run time.
    """
    check = importlib.import_module("torch.export._unlift")._check_inputs_match
    spec = require_known(r, in_spec, "the structure of the arguments")
    lists: list[tuple[list[Any], Any, AbstractValue]] = []
    given = _form(r, args, spec.child(0), lists), _form(r, kwargs, spec.child(1), lists)
    wrong = _complaint(check, given, spec)
    for form, item, av in lists:
        length, messages = len(form), []
        for n in range(_LENGTHS + 1):
            form[:] = [item] * n
            messages.append((_complaint(check, given, spec) or ("", ""))[1])
        form[:] = [item] * length
        r.call(Known(decomposed.has_length), [av, Known(-1 if wrong else length), Known(tuple(messages))], {})
    if wrong is not None:
        r.emit.raise_error(*wrong)
    return Known(None)


def _complaint(check: Any, given: tuple[Any, Any], spec: Any) -> tuple[str, str] | None:
    """Return the class and the message of the error for arguments; None for arguments that fit."""
    try:
        check(*given, spec)
    except (ValueError, AssertionError) as e:
        return type(e).__name__, str(e)
    return None


@serves("torch.export._unlift._check_input_constraints_for_module")
def check_input_constraints(
    r: Reader, self: AbstractValue, args: AbstractValue, kwargs: AbstractValue
) -> AbstractValue:
    module: Any = require_known(r, self, "the module")
    if module.graph.find_nodes(op="placeholder"):
        r.reject("exported_without_guards")
    return check_inputs_match(r, args, kwargs, r.attribute(self, "_in_spec"))


@serves(torch.ops.higher_order.cond)
def cond(
    r: Reader, pred: AbstractValue, true_fn: AbstractValue, false_fn: AbstractValue, operands: AbstractValue
) -> AbstractValue:
    """Read a branch of a graph. torch traced both sides when it made the graph."""
    return r.call(Known(decomposed.cond), [pred, true_fn, false_fn, operands], {})


def _form(r: Reader, av: AbstractValue, spec: Any, lists: list[tuple[list[Any], Any, AbstractValue]]) -> Any:
    """Return an object of the structure of a value, as pytree sees it. Its leaves are bare objects.

    spec: the structure of the example, if it has one here.
    lists: takes the lists of unknown length, each with its form and that of an item.
    """
    if is_known(av):
        return av.obj
    for each in av.alternatives.values() if has_alternatives(av) else [av]:
        cls = python_class(r, each)
        if cls not in pytree.SUPPORTED_NODES and not pytree.is_namedtuple_class(cls):
            continue
        if has_known_keys(each) and cls in (dict, collections.OrderedDict) and each is av:
            children = dict(zip(spec.context, spec.children(), strict=True)) if _is_of(spec, cls) else {}
            return cls((key, _form(r, item, children.get(key), lists)) for key, item in r.items_of(each).items())
        if is_list(each) and each is av and each.value is not None:
            assert isinstance(each.value.type, ListType)
            item = _form_of_type(r, each.value.type.elem)
            form = [item] * (spec.num_children if _is_of(spec, list) else 0)
            lists.append((form, item, av))
            return form
        if (is_made_tuple(each) or is_list(each)) and each is av:
            items = r.iterate(each)
            specs = spec.children() if spec is not None and spec.num_children == len(items) else [None] * len(items)
            forms = [_form(r, item, child, lists) for item, child in zip(items, specs, strict=True)]
            return cls(*forms) if pytree.is_namedtuple_class(cls) else cls(forms)
        r.reject("exported_arguments", what=describe(av))
    return object()


def _is_of(spec: Any, cls: type) -> bool:
    return spec is not None and spec.type is cls


def _form_of_type(r: Reader, t: Type) -> Any:
    if isinstance(t, (TensorType, ScalarType)) or t == STR:
        return object()
    if isinstance(t, TupleType) and t.cls is None:
        return tuple(_form_of_type(r, item) for item in t.items)
    r.reject("exported_arguments", what="a list of such items")
