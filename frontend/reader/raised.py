"""Exceptions whose class has an `__init__` of its own, and the attributes of their instances.

At run time an exception is its class and its message. The attributes of an instance are a variable of its class, which
is set before the `raise`. A handler finds the variable like everything that changed in its `try`, and so does Python
when the exception leaves compiled code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FunctionType

from scriptc.frontend.environment.slots import find_target, set_target
from scriptc.frontend.environment.specs import Raised
from scriptc.frontend.operations.formatting import joined, raise_with
from scriptc.frontend.operations.materialize import apply_op, make_tuple
from scriptc.frontend.operations.objects import object_attribute
from scriptc.frontend.reader.paths import note_change
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Ident, Known, ObjectValue, RuntimeValue, TupleValue
from scriptc.frontend.values.predicates import is_object, is_unbound, without_flag
from scriptc.frontend.values.verbs import materialize
from scriptc.ir.core import Value
from scriptc.ir.exceptions import own_class


class CaughtValue(RuntimeValue):
    """A caught exception, with the attributes of the instances that it may be, by class."""

    __slots__ = ("instances", "named")

    def __init__(self, value: Value, named: Sequence[type], instances: dict[type, ObjectValue]):
        RuntimeValue.__init__(self, value)
        self.named, self.instances = named, instances  # `named` holds the classes that the `except` clause names


@dataclass
class RaisedExceptions:
    """Keep the attributes of raised exceptions: by class, the variable in the heap and the attribute names."""

    held_variables: dict[type, Ident] = field(default_factory=dict)
    held_names: dict[type, tuple[str, ...]] = field(default_factory=dict)
    unseen: set[type] = field(default_factory=set)  # classes that a recursive function raises


def exception_of(
    reader: Reader, cls: type, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """Return `cls(*args, **kwargs)` of an exception class."""
    made = ObjectValue(cls, {"args": make_tuple(list(args))})
    init = own_init(cls)
    if init is not None:
        reader.environment.guard("TYPE_ATTR_IS", cls, "__init__", init)
        reader.call(Known(init), [made, *args], kwargs)
    elif kwargs:
        reader.emit.raise_error("TypeError", f"{cls.__name__}() takes no keyword arguments")
    return made


# ---- raising ----


def note_held(reader: Reader, made: ObjectValue) -> None:
    """Set what an exception holds that is about to be raised."""
    items = reader.items_of(made)
    if own_init(made.cls) is None:
        if len(items) > 1:
            reader.reject("raised_attributes_lost", name=made.cls.__name__)
        return
    names = tuple(items)
    if reader.raised.held_names.setdefault(made.cls, names) != names:
        reader.reject("raised_with_other_attributes", name=made.cls.__name__)
    set_held(reader, made.cls, TupleValue(list(items.values())))


def set_held(reader: Reader, cls: type, held: AbstractValue) -> None:
    variable = reader.raised.held_variables.setdefault(cls, Ident(cls.__name__, -1 - len(reader.raised.held_variables)))
    reader.heap.contents[variable] = held
    note_change(reader, variable)
    if reader.recursion.nested:
        reader.raised.unseen.add(cls)
    if not reader.state.ahead:
        holder = reader.environment.raised.setdefault(cls, Raised(cls))
        target = find_target(reader, holder, "held", None, exception_name(reader, cls))
        set_target(reader, target, TupleValue([Known(reader.raised.held_names[cls]), held]))


def hold_again(reader: Reader, av: AbstractValue) -> None:
    """Set what an exception holds that is raised again: another one of its class may have been raised since."""
    for cls, made in av.instances.items() if isinstance(av, CaughtValue) else ():
        set_held(reader, cls, TupleValue(list(made.items.values())))


# ---- handlers ----


def caught_instance(reader: Reader, e: AbstractValue, classes: Sequence[type]) -> AbstractValue:
    """Return the exception that a handler for some classes has got, with what it holds."""
    if not isinstance(e, RuntimeValue):
        return e
    instances: dict[type, ObjectValue] = {}
    for cls, variable in reader.raised.held_variables.items():
        found = reader.heap.contents.get(variable)
        held = None if found is None else without_flag(found)
        if issubclass(cls, tuple(classes)) and held is not None and not is_unbound(held):
            instances[cls] = ObjectValue(
                cls, dict(zip(reader.raised.held_names[cls], reader.iterate(held), strict=True))
            )
    return CaughtValue(e.value, classes, instances) if instances else e


def caught_attribute(reader: Reader, e: AbstractValue, name: str) -> AbstractValue:
    instances = e.instances if isinstance(e, CaughtValue) else {}
    if not instances or name.startswith("__") or reader.recursion.nested or reader.raised.unseen:
        reader.reject("attribute_of_exception", name=name)
    assert isinstance(e, CaughtValue)
    only = all(own_init(cls) is not None for cls in e.named)
    return attribute_of_one(reader, e, list(instances.values()), name, only)


def attribute_of_one(
    reader: Reader, e: CaughtValue, instances: Sequence[ObjectValue], name: str, only: bool
) -> AbstractValue:
    """Return the attribute of whichever class the exception is of; `only`: it is of one of these."""
    if not instances:
        if name in ("args", "add_note", "with_traceback"):
            reader.reject("attribute_of_exception", name=name)
        class_name = apply_op(reader, "text", e, format="%n")
        text = [Known("'"), class_name, Known(f"' object has no attribute '{name}'")]
        raise_with(reader, "AttributeError", joined(reader, text))
    first, *rest = instances
    found = lambda: object_attribute(reader, first, name)  # noqa: E731
    if only and not rest:
        return found()
    is_first = is_exception(reader, e, [first.cls], exact=True)
    return reader.choose(is_first, found, lambda: attribute_of_one(reader, e, rest, name, only))


def own_init(cls: type) -> FunctionType | None:
    """Return the __init__ of an exception class if it is a Python function; else None."""
    found = getattr(cls, "__init__", None)
    return found if isinstance(found, FunctionType) else None


_LONGEST = 40  # the longest class name that an error of the runtime holds


_NO_EXCEPTIONS = (
    "KeyboardInterrupt",
    "SystemExit",
    "GeneratorExit",
)  # Python's classes that do not derive from Exception


def exception_name(reader: Reader, cls: type[BaseException]) -> str:
    """Return the name of an exception class in compiled code. The module declares classes that Python does not
    define."""
    if cls.__module__ == "builtins":
        return cls.__name__
    found = next((name for name, known in reader.environment.exceptions.items() if known is cls), None)
    if found is not None:
        return found
    bases = tuple(exception_name(reader, b) for b in cls.__bases__ if issubclass(b, BaseException))
    wanted = name = cls.__name__[:_LONGEST]
    count = 1
    while name in reader.environment.exceptions or own_class(name) is not None:
        count += 1
        name = f"{wanted}_{count}"
    reader.environment.exceptions[name] = cls
    reader.emit.module.exceptions[name] = bases
    return name


def is_exception(
    reader: Reader, av: AbstractValue, classes: Sequence[type[BaseException]], *, exact: bool = False
) -> AbstractValue:
    """Return whether an exception is an instance of some classes. If `exact`, instances of derived classes do not
    count."""
    if is_object(av):
        return Known(av.cls in classes if exact else issubclass(av.cls, tuple(classes)))
    if not exact and BaseException in classes:
        return Known(True)
    if not exact and Exception in classes:
        others = RuntimeValue(
            reader.emit.build("exc.is", [materialize(reader, av)], classes=_NO_EXCEPTIONS, exact=False)
        )
        return RuntimeValue(reader.emit.build("bool.not", [materialize(reader, others)]))
    names = tuple(exception_name(reader, c) for c in classes)
    return RuntimeValue(reader.emit.build("exc.is", [materialize(reader, av)], classes=names, exact=exact))
