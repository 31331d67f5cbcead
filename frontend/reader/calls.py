"""Calls. Python functions are inlined, torch's builtin functions come from the op library, and others are rejected."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import sys
import weakref
from collections.abc import Iterator, Sequence
from types import FunctionType, MethodType
from typing import Any, get_origin

import torch
from torch.fx.graph_module import _WrappedCall

from scriptc.frontend.environment.changed_arguments import reshape_argument
from scriptc.frontend.environment.genuine import is_call_of_modules
from scriptc.frontend.environment.host_objects import holds_tensor, is_called_in_python, uncompiled
from scriptc.frontend.environment.leaves import reshape_in_place
from scriptc.frontend.environment.lookup import find_source, python_behind
from scriptc.frontend.environment.pure import is_pure, is_setting
from scriptc.frontend.environment.state import change_outside
from scriptc.frontend.environment.watching import call_in_python, watch, watch_class_attribute, watch_function
from scriptc.frontend.library.python.unbound_methods import CHANGES, call_unbound
from scriptc.frontend.library.registry import (
    DECOMPOSITIONS,
    FUNCTIONS,
    METHODS,
    PROMOTING,
    WIDENING,
    handler_of,
    library_name,
)
from scriptc.frontend.library.torch import schemas as aten
from scriptc.frontend.library.torch.argument_parser import check_parsed, own_names
from scriptc.frontend.operations.attributes import known_attribute, reads_patched
from scriptc.frontend.operations.autocast import call_with_casts
from scriptc.frontend.operations.autograd_flags import asks_for_leaf, new_leaf
from scriptc.frontend.operations.batches import batched_call, batched_method, holds_batched
from scriptc.frontend.operations.casts import cast_to, dtype_of_result
from scriptc.frontend.operations.comparison import is_new_and_held
from scriptc.frontend.operations.construction import construct
from scriptc.frontend.operations.dataclass_init import dataclass_of_init, run_dataclass_init
from scriptc.frontend.operations.extern_calls import call_extern
from scriptc.frontend.operations.logic import check_that, is_one_of
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.operations.number_arguments import as_arguments, takes_numbers
from scriptc.frontend.operations.objects import base_init, super_of
from scriptc.frontend.operations.options import without_options
from scriptc.frontend.operations.scalars import with_numbers
from scriptc.frontend.operations.sizes import size_av
from scriptc.frontend.operations.unsigned import refuse_unsigned
from scriptc.frontend.operations.writes import check_operands, write
from scriptc.frontend.reader.binding import (
    bind_arguments,
    bind_parameters,
    check_depth,
    known_texts,
    read_arguments,
    spread_argument,
)
from scriptc.frontend.reader.constant_demand import call_memoized, is_known_throughout, require_known
from scriptc.frontend.reader.dispatch import reads
from scriptc.frontend.reader.generators import manager_of
from scriptc.frontend.reader.iteration import transposed, zipped_rows
from scriptc.frontend.reader.module_calls import call_module
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.recursion import call_recursive, calls_itself
from scriptc.frontend.reader.spread_calls import call_spread
from scriptc.frontend.reader.statements import assign, inline
from scriptc.frontend.source.functions import Source, is_generator_function, statements_of
from scriptc.frontend.source.reshaping import RESHAPES, Reshape
from scriptc.frontend.values.abstract import (
    AbstractValue,
    Bound,
    Closure,
    Known,
    KnownSet,
    OneOf,
    TupleValue,
    YieldsValue,
)
from scriptc.frontend.values.alternatives import is_of_ranks, split_all
from scriptc.frontend.values.frame import Frame
from scriptc.frontend.values.predicates import (
    NoTensor,
    has_alternatives,
    is_array,
    is_known,
    is_made_tuple,
    is_none,
    is_of_numpy,
    is_tensor,
    tensor_type,
)
from scriptc.frontend.values.verbs import class_name_of, demand, is_run_time
from scriptc.ir.extern import ExternFunction


@contextlib.contextmanager
def _manager() -> Iterator[None]:
    yield


_CONTEXT_MANAGER = _manager.__code__  # the code of each function that `contextmanager` returns


_signature = functools.lru_cache(maxsize=1 << 12)(inspect.signature)  # for functions of the op library


@functools.cache
def _positional_counts(handler: Any) -> range:
    """Return the numbers of arguments that a handler takes by position alone, the reader included."""
    parameters = _signature(handler).parameters.values()
    named = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    least = sum(p.default is p.empty for p in named)
    if any(p.kind == p.KEYWORD_ONLY and p.default is p.empty for p in parameters):
        return range(0)
    any_number = any(p.kind == p.VAR_POSITIONAL for p in parameters)
    return range(least, sys.maxsize if any_number else len(named) + 1)


@functools.cache
def _tensor_parameters(function: FunctionType) -> frozenset[str]:
    """Return the parameters of a decomposition that are annotated as tensors."""
    parameters = _signature(function).parameters.values()
    return frozenset(p.name for p in parameters if p.annotation == "Tensor" and p.kind != p.VAR_POSITIONAL)


@reads(ast.Call)
def read_call(reader: Reader, node: ast.Call) -> AbstractValue:
    func = reader.evaluate(node.func)
    if is_known(func) and func.obj is zip and (rows := zipped_rows(node)) is not None:
        found = reader.evaluate(rows)
        return (
            transposed(reader, found)
            if is_run_time(reader, found)
            else call_spread(reader, func, spread_argument(reader, found), {})
        )
    args, kwargs, dicts = read_arguments(reader, node, func)
    if is_known(func) and func.obj is super and not args:
        return zero_argument_super(reader)
    return call_spread(reader, func, args, kwargs, dicts)


@reads(Reshape)
def read_reshape(reader: Reader, node: Reshape) -> AbstractValue:
    """Read `x.squeeze_(...)` of a tensor made here that only the name `x` holds."""
    assert isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute)
    owner = reader.evaluate(node.value.func.value)
    if not is_new_and_held(reader, owner, names=1):
        return reader.evaluate(node.value)
    func = Bound(owner, node.value.func.attr[:-1])
    made = call_spread(reader, func, *read_arguments(reader, node.value, func))
    assign(reader, node.target, made)
    return made


def zero_argument_super(reader: Reader) -> AbstractValue:
    first, frame = reader.position.frame.first_arg, reader.position.frame
    while frame.func is None:
        assert frame.outer is not None
        frame = frame.outer
    cell = dict(zip(frame.func.__code__.co_freevars, frame.func.__closure__ or (), strict=True)).get("__class__")
    if first is None:
        reader.emit.raise_error("RuntimeError", "super(): no arguments")
    if cell is None:
        reader.emit.raise_error("RuntimeError", "super(): __class__ cell not found")
    return super_of(reader, cell.cell_contents, first)


def call_bound(
    reader: Reader, func: Bound, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    if func.func is not None:
        return call_known(reader, func.func, [func.owner, *args], kwargs)
    if holds_batched(reader, func.owner, *args, *kwargs.values()):
        return batched_method(reader, func, args, kwargs)
    cls_name = "Tensor" if is_tensor(func.owner) else class_name_of(reader, func.owner)
    if is_of_numpy(func.owner):
        cls_name = "ndarray"
    if cls_name in ("defaultdict", "OrderedDict", "Counter") and (cls_name, func.name) not in METHODS:
        cls_name = "dict"
    if is_known(func.owner):  # a subclass of list or dict has the methods of list or dict
        bases = [c.__name__ for c in type(func.owner.obj).__mro__]
        served = (b for b in bases if (b, func.name) in METHODS or f"{b}.{func.name}" in DECOMPOSITIONS)
        cls_name = next(served, cls_name)
        if func.name in CHANGES.get(cls_name, ()) and not isinstance(func.owner, KnownSet):
            change_outside(reader, func.owner.obj)
            return Known(None)
    if cls_name == "str" and is_known(func.owner) and all(map(is_known_throughout, (*args, *kwargs.values()))):
        return call_evaluated(reader, getattr(func.owner.obj, func.name), [known_whole(reader, a) for a in args],
                                   {k: known_whole(reader, v) for k, v in kwargs.items()})  # fmt: skip
    if cls_name == "Tensor":
        args, kwargs = as_arguments(reader, args, kwargs)
        method = getattr(torch.Tensor, func.name, None)
        cast = call_with_casts(
            reader, method, [func.owner, *args], kwargs,
            lambda args, kwargs: call_bound(reader, Bound(args[0], func.name), args[1:], kwargs),
        )  # fmt: skip
        if cast is not None:
            return cast
        check_parsed(reader, method, [func.owner, *args], kwargs)
    if cls_name == "Tensor" and func.name.startswith("new_") and asks_for_leaf(kwargs):
        return new_leaf(reader, call_bound(reader, func, args, {**kwargs, "requires_grad": Known(False)}))
    handler = METHODS.get((cls_name, func.name))
    if handler is not None:
        return handle(reader, handler, f"{cls_name}.{func.name}", [func.owner, *args], kwargs)
    decomposition = DECOMPOSITIONS.get(f"{cls_name}.{func.name}")
    if decomposition is not None:
        args, kwargs = known_texts(reader, args, kwargs) if cls_name == "Tensor" else (args, kwargs)
        return call_decomposition(reader, decomposition, func.name, [func.owner, *args], kwargs)
    if is_known(func.owner):
        return call_evaluated(reader, getattr(func.owner.obj, func.name), args, kwargs)
    if cls_name == "Tensor" and func.name.endswith("_") and not func.name.endswith("__"):
        return call_inplace(reader, func, args, kwargs)
    if cls_name == "Tensor" and isinstance(method := getattr(torch.Tensor, func.name, None), FunctionType):
        return call_function(reader, method, [func.owner, *args], kwargs)
    if func.name.startswith("__"):
        reader.reject("special_method_of_builtin", kind=cls_name, name=func.name)
    reader.reject("method_of_builtin", kind=cls_name, name=func.name)


def known_whole(reader: Reader, av: AbstractValue) -> AbstractValue:
    return Known(require_known(reader, av, "an argument"))


def call_inplace(
    reader: Reader, func: Bound, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """Return `x.op_(...)`, which is `x.copy_(x.op(...))`."""
    plain = Bound(func.owner, func.name[:-1])
    if plain.name in RESHAPES and is_new_and_held(reader, func.owner, names=0):
        return call_bound(reader, plain, args, kwargs)
    reshape = lambda tensor: call_bound(reader, Bound(tensor, plain.name), args, kwargs)  # noqa: E731
    if plain.name in RESHAPES and reshape_in_place(reader, func.owner, plain.name, reshape):
        return func.owner
    if plain.name in RESHAPES and reshape_argument(reader, func.owner, plain.name, reshape):
        return func.owner
    if plain.name in RESHAPES or plain.name == "as_strided":
        reader.reject("reshape_in_place", name=plain.name)
    if ("Tensor", plain.name) not in METHODS and f"Tensor.{plain.name}" not in DECOMPOSITIONS:
        reader.reject("method_of_tensor", name=func.name)
    check_operands(reader, plain.name, func.owner, (*args, *kwargs.values()))
    return write(reader, func.owner, call_bound(reader, plain, args, kwargs))


def call_known(
    reader: Reader, obj: Any, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    obj = uncompiled(obj)
    try:
        handler = handler_of(obj)
        decomposition = DECOMPOSITIONS.get(obj)
    except TypeError:  # unhashable
        handler = decomposition = None
    if (handler or decomposition) and reads_patched(reader, obj):
        handler = decomposition = None
    if holds_batched(reader, *args, *kwargs.values()) and (found := batched_call(reader, obj, args, kwargs)) is not None:
        return found
    if (
        args
        and getattr(obj, "__name__", "") == "__init__"
        and issubclass(getattr(obj, "__objclass__", int), BaseException)
    ):
        return reader.call(base_init(reader, args[0]), args[1:], kwargs)
    if handler or decomposition:
        refuse_unsigned(reader, obj, *args, *kwargs.values())
        if takes_numbers(obj):
            args, kwargs = as_arguments(reader, args, kwargs)
        cast = call_with_casts(reader, obj, args, kwargs, lambda args, kwargs: call_known(reader, obj, args, kwargs))
        if cast is not None:
            return cast
        check_parsed(reader, obj, args, kwargs)
    if "out" in kwargs and (handler or decomposition):
        if is_array(kwargs["out"]):
            reader.reject("form_of_call", name=library_name(obj), why="the argument out is not supported")
        rest = {name: av for name, av in kwargs.items() if name != "out"}
        if is_tensor(kwargs["out"]):
            check_operands(reader, getattr(obj, "__name__", ""), kwargs["out"], (*args, *rest.values()))
        return write_into(reader, kwargs["out"], call_known(reader, obj, args, rest))
    if asks_for_leaf(kwargs) and (handler or decomposition) and obj is not torch.nn.Parameter:
        return new_leaf(reader, call_known(reader, obj, args, {**kwargs, "requires_grad": Known(False)}))
    if handler is not None:
        return handle(reader, handler, library_name(obj), args, kwargs)
    if decomposition is not None:
        if (getattr(obj, "__module__", None) or "torch").partition(".")[0] == "torch":
            args, kwargs = known_texts(reader, args, kwargs)
        return call_decomposition(reader, decomposition, getattr(obj, "__name__", ""), args, kwargs)
    if isinstance(obj, torch.nn.Module):
        for name in ("__call__", "_call_impl"):
            watch_class_attribute(reader, type(obj), name)
            if not is_call_of_modules(uncompiled(getattr(type(obj), name))):
                return reader.call(reader.attribute(Known(obj), name), args, kwargs)
        return call_module(reader, obj, args, kwargs)
    if is_call_of_modules(obj) and args and is_known(args[0]):  # as in super().__call__(...)
        return call_module(reader, args[0].obj, args[1:], kwargs)
    if isinstance(obj, ExternFunction):
        return call_extern(reader, obj, args, kwargs)
    if isinstance(obj, torch.jit.ScriptFunction):
        return call_known(reader, python_behind(reader, obj), args, kwargs)
    if isinstance(obj, _WrappedCall) and obj.cls_call is None and args and is_known(args[0]):
        return call_module(reader, args[0].obj, args[1:], kwargs)  # torch.fx replaces Module.__call__ by this
    if isinstance(obj, MethodType):
        return call_known(reader, obj.__func__, [Known(obj.__self__), *args], kwargs)
    if isinstance(obj, FunctionType):
        return call_function(reader, obj, args, kwargs)
    if isinstance(obj, functools._lru_cache_wrapper):
        return call_memoized(reader, obj, args, kwargs)
    if isinstance(origin := get_origin(obj), type) and origin is not obj and getattr(obj, "_inst", True):
        return call_known(
            reader, origin, args, kwargs
        )  # for example list[int](), typing.OrderedDict(), or a generic class of the user
    if isinstance(obj, type):
        return construct(reader, obj, args, kwargs)
    if is_called_in_python(type(obj)):
        return reader.call(known_attribute(reader, obj, "__call__"), args, kwargs)
    return call_evaluated(reader, obj, args, kwargs)


def handle(
    reader: Reader, handler: Any, name: str, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """Call a handler of the library: Python code over abstract values."""
    if name != "isinstance" and any(map(has_alternatives, (*args, *kwargs.values()))):
        n, names = len(args), [*kwargs]
        return split_all(
            reader,
            [*args, *kwargs.values()],
            lambda avs: handle(reader, handler, name, avs[:n], dict(zip(names, avs[n:], strict=True))),
        )
    args, kwargs = with_numbers(reader, name.rpartition(".")[2], args, own_names(handler, kwargs))
    if kwargs or len(args) + 1 not in _positional_counts(handler):
        try:
            _signature(handler).bind(reader, *args, **kwargs)
        except TypeError as e:
            reader.reject("form_of_call", name=name, why=e)
    try:
        result: AbstractValue = handler(reader, *args, **kwargs)
    except NoTensor as e:
        reader.emit.raise_error("TypeError", f"{name}(): a Tensor is needed, not {class_name_of(reader, e.av)}")
    return result


def call_evaluated(
    reader: Reader, obj: Any, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """Call a method that is named through Tensor, or evaluate a builtin on known values at compile time."""
    if getattr(obj, "__objclass__", None) in torch.Tensor.__mro__[:2] and args and is_tensor(args[0]):
        return call_bound(reader, Bound(args[0], obj.__name__), args[1:], kwargs)
    if args and (found := call_unbound(reader, obj, args[0], args[1:], kwargs)) is not None:
        return found
    name, owner = getattr(obj, "__name__", ""), getattr(obj, "__self__", None)
    if name == "__get__" and isinstance(owner, FunctionType) and args:
        return Known(owner) if is_none(args[0]) else Bound(args[0], owner.__name__, owner)
    if name.endswith("_") and not name.endswith("__") and args and is_tensor(args[0]):
        for home in (torch, torch._C._nn):
            plain = getattr(home, name[:-1], None)
            if getattr(home, name, None) is obj and (plain in FUNCTIONS or plain in DECOMPOSITIONS):
                return write(reader, args[0], call_known(reader, plain, args, kwargs))
    if isinstance(obj, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        return call_aten(reader, obj, args, kwargs)
    if isinstance(obj, weakref.ref) and not args:
        reader.environment.guard("REFERENT_LIVES", obj, None, obj() is not None)
        return Known(obj())
    if is_setting(obj) and not args and not kwargs:
        answer = obj()
        reader.environment.guard("CALL_GIVES", obj, None, answer)
        return Known(answer)
    if is_pure(obj) and all(is_known(av) for av in (*args, *kwargs.values())):
        watch(reader, owner)
        given = [av.obj for av in args if is_known(av)]
        result = call_in_python(reader, obj, *given, **{k: v.obj for k, v in kwargs.items() if is_known(v)})
        if is_known(result) and not holds_tensor([result.obj]):  # each call makes a new tensor
            return result
    demand(reader, Known(obj), "__call__", "is not callable")
    reader.reject("function_without_source", name=spelled(reader, library_name(obj)))


def call_decomposition(
    reader: Reader, function: Any, name: str, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    if any(map(is_of_ranks, (*args, *kwargs.values()))):
        return split_all(
            reader,
            [*args, *kwargs.values()],
            lambda avs: call_decomposition(
                reader, function, name, avs[: len(args)], dict(zip(kwargs, avs[len(args) :], strict=True))
            ),
            splits=is_of_ranks,
        )
    if function.__module__.startswith("scriptc.frontend.library.numpy."):
        check_form(reader, function, name, args, kwargs)
        return call_function(reader, function, args, kwargs)
    kwargs = without_options(reader, function, own_names(function, kwargs))
    args, kwargs = with_numbers(reader, name, *with_tensors(reader, function, args, kwargs))
    if function in PROMOTING:
        args, kwargs = promoted(reader, args, kwargs)
    given = [*args, *kwargs.values()]
    halves = {tensor_type(av).dtype for av in given if is_tensor(av)} & {"f16", "bf16"}
    asked = any(is_known(av) and isinstance(av.obj, torch.dtype) for av in given)
    if function not in WIDENING or len(halves) != 1 or asked:
        return call_function(reader, function, args, kwargs)
    (half,) = halves

    def widened(av: AbstractValue) -> AbstractValue:
        return apply_op(reader, "cast", av, dtype="f32") if is_tensor(av) and tensor_type(av).dtype == half else av

    named = {name: widened(av) for name, av in kwargs.items()}
    return round_to(reader, call_function(reader, function, [widened(av) for av in args], named), half)


def check_form(
    reader: Reader, function: Any, name: str, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> None:
    """Reject a call that a decomposition of NumPy's function does not take, such as one with an option of its own."""
    try:
        _signature(function).bind(*args, **kwargs)
    except TypeError as e:
        reader.reject("form_of_call", name=f"numpy.{name}", why=e)


def promoted(
    reader: Reader, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> tuple[Sequence[AbstractValue], dict[str, AbstractValue]]:  # fmt: skip
    """Return arguments whose tensors have the dtype that eager's type promotion gives them all."""
    dtype = dtype_of_result(reader, *(av for av in (*args, *kwargs.values()) if is_tensor(av)))
    return [cast_to(reader, av, dtype) for av in args], {n: cast_to(reader, av, dtype) for n, av in kwargs.items()}


def with_tensors(
    reader: Reader, function: Any, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> tuple[Sequence[AbstractValue], dict[str, AbstractValue]]:  # fmt: skip
    """Return the arguments of a decomposition; raise TypeError, as eager does, where a tensor parameter gets no
    tensor."""
    names, name = _tensor_parameters(function), function.__name__

    def checked(name_of: str, av: AbstractValue) -> AbstractValue:
        return sure_tensor(reader, av, f"{name}(): argument '{name_of}' must be Tensor") if name_of in names else av

    params = _signature(function).parameters
    found = [checked(p, av) for p, av in zip(params, args, strict=False)]
    return [*found, *args[len(found) :]], {p: checked(p, av) for p, av in kwargs.items()}


def sure_tensor(reader: Reader, av: AbstractValue, message: str) -> AbstractValue:
    """Return the value if it is a tensor; raise TypeError for its other alternatives."""
    held = av.alternatives if has_alternatives(av) else {0: av}
    others = [tag for tag, a in held.items() if not is_tensor(a)]
    if others:
        fails = lambda: reader.emit.raise_error("TypeError", message)  # noqa: E731
        wrong = is_one_of(reader, av, others) if has_alternatives(av) else Known(True)
        reader.choose(wrong, fails, lambda: Known(None))
        found = {tag: a for tag, a in held.items() if tag not in others}
        return next(iter(found.values())) if len(found) == 1 else OneOf(av.tag, found)  # type: ignore[attr-defined]
    return av


def round_to(reader: Reader, av: AbstractValue, dtype: str) -> AbstractValue:
    """Return a result whose float32 parts are rounded to a half type."""
    if is_made_tuple(av):
        return TupleValue([round_to(reader, item, dtype) for item in av.items], av.cls)
    return apply_op(reader, "cast", av, dtype=dtype) if is_tensor(av) and tensor_type(av).dtype == "f32" else av


def write_into(reader: Reader, out: AbstractValue, result: AbstractValue) -> AbstractValue:
    """Return the `out` argument of a call after the result is written into it."""
    if is_none(out):
        return result
    if not is_tensor(out):
        for target, part in zip(reader.iterate(out), reader.iterate(result), strict=True):
            write_into(reader, target, part)
        return out
    if tensor_type(out).rank != tensor_type(result).rank:
        reader.reject("out_of_other_rank")
    for dim in range(tensor_type(out).rank):
        check_that(reader,
            reader.compare("Eq", size_av(reader, out, dim), size_av(reader, result, dim)), "RuntimeError",
            "scriptc: out= has another shape than the result, and is not resized",
        )  # fmt: skip
    return write(reader, out, result)


def spelled(reader: Reader, name: str) -> str:
    """Return the name of a callable as the program spells it, so that users can find the call."""
    func = reader.position.node.func if isinstance(reader.position.node, ast.Call) else None
    return ast.unparse(func) if isinstance(func, (ast.Name, ast.Attribute)) else name


def call_aten(
    reader: Reader, op: Any, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """Call `torch.ops.space.name.overload`: the library's function of that name, else torch's own caller of an op of ATen."""
    schema = op._schema if isinstance(op, torch._ops.OpOverload) else aten.overload_of(op, len(args), kwargs)._schema
    space, _, name = schema.name.partition("::")
    args, kwargs = aten.by_schema(schema, args, kwargs)
    packet = getattr(op, "overloadpacket", op)
    cast = call_with_casts(reader, packet, args, kwargs, lambda args, kwargs: call_aten(reader, op, args, kwargs))
    if cast is not None:
        return cast
    if "out" in kwargs:
        rest = {key: av for key, av in kwargs.items() if key != "out"}
        return write_into(reader, kwargs["out"], call_aten(reader, op, args, rest))
    is_aten = space == "aten"
    for target in (f"{space}.{name}.{schema.overload_name}", f"{space}.{name}", f"Tensor.{name}")[: 3 if is_aten else 2]:
        cls_name, _, method = target.partition(".")
        if (function := DECOMPOSITIONS.get(target)) is not None:
            return call_decomposition(reader, function, name, *aten.by_name(function, 0, schema, args, kwargs))
        if (handler := METHODS.get((cls_name, method))) is not None:
            return handle(reader, handler, name, *aten.by_name(handler, 1, schema, args, kwargs))
    for home in (torch, torch._C._nn, torch.nn.functional) if is_aten else ():
        if (found := getattr(home, name, None)) is not None:
            function = DECOMPOSITIONS.get(found)
            if function is not None:
                args, kwargs = aten.by_name(function, 0, schema, args, kwargs)
            return call_known(reader, found, args, kwargs)
    if name.endswith("_") and is_aten:
        return call_bound(reader, Bound(args[0], name), args[1:], kwargs)
    reader.reject("aten_operator", name=schema.name.replace("::", "."))


def call_function(
    reader: Reader, func: FunctionType, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """Inline a Python function: read its body at the call."""
    wrapped = getattr(func, "__wrapped__", None)
    if func.__code__ is _CONTEXT_MANAGER and isinstance(wrapped, FunctionType):
        return manager_of(reader, reader.call(Known(wrapped), args, kwargs))
    if (cls := dataclass_of_init(func, args)) is not None:
        return run_dataclass_init(reader, cls, func, args, kwargs)
    has_ranks, count = any(map(is_of_ranks, (*args, *kwargs.values()))), len(args)
    if has_ranks and reader.position.loc in reader.assumptions.split:
        return split_all(
            reader,
            [*args, *kwargs.values()],
            lambda avs: call_function(reader, func, avs[:count], dict(zip(kwargs, avs[count:], strict=True))),
            splits=is_of_ranks,
        )
    watch_function(reader, func)
    if inspect.iscoroutinefunction(func) or inspect.isasyncgenfunction(func):
        reader.reject("call_of_async", name=func.__qualname__)
    source = find_source(reader, func)
    frame = Frame(source, func, reader.position.loc, has_ranks=has_ranks)
    check_depth(reader, frame, func.__qualname__)
    bind_arguments(reader, frame, func, args, kwargs)
    return follow(reader, frame, source.node)


def call_closure(
    reader: Reader, func: Closure, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    outer = func.frame.source
    name = getattr(func.node, "name", "<lambda>")
    source = Source(func.node, outer.file, f"{outer.name}.{name}")
    frame = Frame(source, None, reader.position.loc, outer=func.frame)
    for scope in func.scopes:
        frame.locals |= scope
    check_depth(reader, frame, name)
    bind_parameters(reader, frame, func.node.args, args, kwargs, func.defaults, func.kw_defaults, frame.qualified_name)
    return follow(reader, frame, func.node)


def follow(reader: Reader, frame: Frame, node: ast.FunctionDef | ast.Lambda) -> AbstractValue:
    if is_generator_function(node):
        return YieldsValue(frame, node)
    body = statements_of(node)
    return call_recursive(reader, frame, body) if calls_itself(reader, frame) else inline(reader, frame, body)
