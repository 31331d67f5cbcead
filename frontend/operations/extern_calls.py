"""Calls of C functions of extensions, with the checks that the call from Python has."""

from __future__ import annotations

from collections.abc import Sequence

from scriptc.frontend.environment.dependencies import record_this_process
from scriptc.frontend.environment.gradient_slots import lasting_tensor
from scriptc.frontend.operations.logic import check_that, negated
from scriptc.frontend.operations.resizing import resize
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, RuntimeValue
from scriptc.frontend.values.alternatives import split_all
from scriptc.frontend.values.predicates import (
    has_alternatives,
    has_known_keys,
    is_known,
    is_none,
    is_of_numpy,
    is_tensor,
    tensor_type,
)
from scriptc.frontend.values.verbs import class_name_of, materialize, type_of
from scriptc.ir.core import Value
from scriptc.ir.dtypes import INEXACT
from scriptc.ir.extern import REQUIRES_GRAD, ExternFunction, ExternType
from scriptc.ir.types import BOOL, FLOAT, INT, STR, Type

_TAKES = {"int": (INT, BOOL), "float": (FLOAT, INT, BOOL), "bool": (BOOL,), "str": (STR,)}
_RESULTS: dict[str, Type] = {"int": INT, "bool": INT, "float": FLOAT}


def call_extern(
    reader: Reader, function: ExternFunction, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """Call a C function. Its meta function runs first, so that outputs have the sizes that C code gives them."""
    prototype = function.prototype
    if kwargs:
        message = f"{type(function).__name__}.__call__() got an unexpected keyword argument '{next(iter(kwargs))}'"
        reader.emit.raise_error("TypeError", message)
    if len(args) != len(prototype.parameters):
        reader.emit.raise_error("TypeError", prototype.wrong_count(len(args)))
    if any(map(has_alternatives, args)):
        return split_all(reader, list(args), lambda avs: call_extern(reader, function, avs, {}))
    function.is_compiled = True
    record_this_process()
    values = [_argument(reader, function, index, av) for index, av in enumerate(args)]
    if function.shape_function is not None:
        with reader.emit.grad_mode(False):
            _resize_outputs(reader, function, args)
        values = [materialize(reader, av) if is_tensor(av) else value for av, value in zip(args, values, strict=True)]
    written = tuple(i for i, (name, _) in enumerate(prototype.parameters) if name in function.written)
    with reader.emit.grad_mode(False):
        _mark(reader, [values[i] for i in written])
        kind = prototype.result.kind
        types = [_RESULTS[kind]] if kind in _RESULTS else []
        op = reader.emit.builder.op("extern.call", values, reader.position.loc, types=types, library=function.library.key,
                                    function=prototype.name, written=written)  # fmt: skip
        _mark(reader, [values[i] for i in written])
    if not types:
        return Known(None)
    result = RuntimeValue(op.result)
    return reader.compare("NotEq", result, Known(0)) if kind == "bool" else result


def _resize_outputs(reader: Reader, function: ExternFunction, args: Sequence[AbstractValue]) -> None:
    """Give the outputs the sizes that the meta function returns by their names."""
    name, by_name = function.prototype.name, dict(zip((n for n, _ in function.prototype.parameters), args, strict=True))
    found = reader.call(Known(function.shape_function), list(args), {})
    if is_none(found):
        return
    if not has_known_keys(found) or not (items := reader.items_of(found)).keys() <= function.written:
        why = f"its meta function must return a dict of sizes by the names of outputs, of {sorted(function.written)}"
        reader.reject("form_of_call", name=name, why=why)
    for output, sizes in items.items():
        why = f"{name} gives {output} other sizes, which may have other names; make it with these sizes: torch.empty(...)"
        resize(reader, by_name[output], reader.iterate(sizes), name, why)


def _mark(reader: Reader, tensors: Sequence[Value]) -> None:
    for tensor in dict.fromkeys(tensors):
        reader.emit.effect("extern.written", [tensor])


def _argument(reader: Reader, function: ExternFunction, index: int, av: AbstractValue) -> Value:
    name, t = function.prototype.parameters[index]
    if t.kind == "tensor" and is_tensor(av):
        _refuse_gradients(reader, f"{function.prototype.name}: {name} {REQUIRES_GRAD}", av)
        return materialize(reader, av)
    if is_of_numpy(av):
        reader.reject("form_of_call", name=function.prototype.name, why=f"{name} is a NumPy value in compiled code")
    if t.kind == "tensor" or not is_known(av) and type_of(av) not in _TAKES[t.kind]:
        reader.emit.raise_error("TypeError", function.prototype.wrong_kind(index, class_name_of(reader, av)))
    return _known(reader, function, index, av) if is_known(av) else _number(reader, t, av)


def _known(reader: Reader, function: ExternFunction, index: int, av: Known) -> Value:
    """Return a Python object as an argument, or raise what the call from Python raises."""
    (name, t), obj = function.prototype.parameters[index], av.obj
    label = f"{function.prototype.name}: {name}"
    if type(obj) not in (bool, int, float, str):
        if hasattr(type(obj), "__index__" if t.kind == "int" else "__float__"):
            reader.reject("form_of_call", name=function.prototype.name, why=f"{name} is {type(obj).__name__}, no number")
        reader.emit.raise_error("TypeError", function.prototype.wrong_kind(index, class_name_of(reader, av)))
    kinds = {"int": (bool, int), "float": (bool, int, float), "bool": (bool,), "str": (str,)}
    if type(obj) not in kinds[t.kind]:
        reader.emit.raise_error("TypeError", function.prototype.wrong_kind(index, type(obj).__name__))
    if t.kind == "str" and "\0" in obj:
        reader.emit.raise_error("ValueError", f"{label} has a NUL character, which ends a string in C")
    if t.kind == "int":
        unsigned = t.bits == 64 and not t.signed
        if not (0 <= obj < 2**64 if unsigned else -(2**63) <= obj < 2**63):
            reader.emit.raise_error("OverflowError", f"{label} is {obj}, which does not fit {t.text}")
    if t.kind == "float":
        try:
            obj = float(obj)
        except OverflowError as e:
            reader.emit.raise_error("OverflowError", str(e))
    return reader.emit.const(int(obj) if t.kind == "int" else obj)


def _number(reader: Reader, t: ExternType, av: AbstractValue) -> Value:
    if t.kind == "str":
        reader.reject("form_of_call", name="a C function", why="a str must be known when the code is compiled")
    converted = {"int": int, "float": float, "bool": bool}[t.kind]
    return materialize(reader, reader.call(Known(converted), [av], {}))


def _refuse_gradients(reader: Reader, message: str, tensor: AbstractValue) -> None:
    """Raise for a tensor that requires grad, in grad mode."""
    if reader.emit.builder.no_grad or tensor_type(tensor).dtype not in INEXACT:
        return
    if (at := lasting_tensor(reader, tensor)) is not None and isinstance(at.container, dict):
        requires = reader.attribute(tensor, "requires_grad")
        check_that(reader, negated(reader, requires), "RuntimeError", message)
    else:
        reader.emit.check_detached(materialize(reader, tensor), message)
