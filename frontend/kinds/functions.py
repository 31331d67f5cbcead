"""Functions made in compiled code, methods, and prepared calls: partial objects and context managers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType

from scriptc.frontend.kinds.codes import attribute_of_closure
from scriptc.frontend.reader.calls import call_bound, call_closure
from scriptc.frontend.reader.managers import generated, run_within
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import (
    AbstractValue,
    Bound,
    Closure,
    ManagerValue,
    Native,
    PartialValue,
    Structure,
)
from scriptc.frontend.values.alternatives import split
from scriptc.frontend.values.closures import function_parts
from scriptc.frontend.values.predicates import has_alternatives
from scriptc.frontend.values.verbs import describe
from scriptc.ir.core import Value


@verbs.describe.of(Closure, Bound)
def function_description(owner: Closure | Bound) -> str:
    return "a function"


@verbs.structure_of.of(Closure)
def closure_structure(owner: Closure) -> Structure:
    return Structure(*function_parts(owner))


@verbs.structure_of.of(Bound)
def bound_structure(owner: Bound) -> Structure:
    name, func = owner.name, owner.func
    return Structure(("bound", name, id(func)), [owner.owner], lambda parts: Bound(parts[0], name, func))


@verbs.structure_of.of(PartialValue)
def partial_structure(owner: PartialValue) -> Structure:
    names, n = [*owner.kwargs], 1 + len(owner.args)
    return Structure(
        ("partial", n, *names),
        [owner.func, *owner.args, *owner.kwargs.values()],
        lambda parts: PartialValue(parts[0], parts[1:n], dict(zip(names, parts[n:], strict=True))),
    )


@verbs.held_values.of(PartialValue)
def held_by_partial(owner: PartialValue) -> Sequence[AbstractValue]:
    return (owner.func, *owner.args, *owner.kwargs.values())


@verbs.materialize.of(Closure, Bound, PartialValue, Native)
def materialize_function(reader: Reader, owner: AbstractValue) -> Value:
    reader.reject("function_as_value", who="this", what=describe(owner))


@verbs.python_class.of(Closure)
def class_of_closure(reader: Reader, owner: Closure) -> type:
    return FunctionType


@verbs.python_class.of(Bound)
def class_of_method(reader: Reader, owner: Bound) -> type:
    return MethodType


@verbs.class_name_of.of(Closure, Bound)
def class_name_of_function(reader: Reader, owner: Closure | Bound) -> str:
    return "function"


@verbs.class_name_of.of(PartialValue)
def class_name_of_partial(reader: Reader, owner: PartialValue) -> str:
    return "functools.partial"


@verbs.attribute.of(Closure)
def read_closure_attribute(reader: Reader, owner: Closure, name: str) -> AbstractValue:
    return attribute_of_closure(reader, owner, name)


@verbs.attribute.of(Bound)
def read_function_attribute(reader: Reader, owner: Bound, name: str) -> AbstractValue:
    reader.reject("attribute_of_function", name=name)


@verbs.call.of(Closure)
def call_closure_value(
    reader: Reader, func: Closure, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    return call_closure(reader, func, args, kwargs)


@verbs.call.of(Bound)
def call_method(
    reader: Reader, func: Bound, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    if has_alternatives(func.owner):
        name, method = func.name, func.func
        return split(reader, func.owner, lambda o: reader.call(Bound(o, name, method), args, kwargs))
    return call_bound(reader, func, args, kwargs)


@verbs.call.of(Native)
def call_native(
    reader: Reader, func: Native, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    return func.run(*args, **kwargs)


@verbs.call.of(PartialValue)
def call_partial(
    reader: Reader, func: PartialValue, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    return reader.call(func.func, [*func.args, *args], {**func.kwargs, **kwargs})


@verbs.call.of(ManagerValue)
def call_manager(
    reader: Reader, manager: ManagerValue, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    reader.reject("decorator_inside")


@run_within.of(ManagerValue)
def run_within_generator(
    reader: Reader, manager: ManagerValue, node: ast.With, enter: Callable[[AbstractValue], bool]
) -> bool:
    return generated(reader, node, manager, enter)
