"""Calls: Python functions are followed, torch's leaves come from the op library, all else is refused by name."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any, get_origin

import torch
from torch.fx.graph_module import _WrappedCall

from scriptc.frontend import aten
from scriptc.frontend.alternatives import is_of_ranks
from scriptc.frontend.frame import Frame
from scriptc.frontend.genuine import is_call_of_modules
from scriptc.frontend.iteration import zipped_rows
from scriptc.frontend.library import DECOMPOSITIONS, FUNCTIONS, METHODS, WIDENING, library_name
from scriptc.frontend.lookup import Lookup
from scriptc.frontend.objects import Objects
from scriptc.frontend.options import without_options
from scriptc.frontend.outside import holds_tensor, is_called_in_python, is_library, uncompiled
from scriptc.frontend.pure import is_pure, is_setting
from scriptc.frontend.records import Records
from scriptc.frontend.reshaping import RESHAPES, Reshape
from scriptc.frontend.scope import listed
from scriptc.frontend.shapes import sequence_items
from scriptc.frontend.source import Source, statements_of
from scriptc.frontend.torch_parser import TorchParser, own_names
from scriptc.frontend.unbound import CHANGES, Unbound
from scriptc.frontend.values import (
    AV,
    Bound,
    Closure,
    DictV,
    Dyn,
    Known,
    KnownSet,
    ManagerV,
    Native,
    NoTensor,
    ObjectV,
    OneOf,
    PartialV,
    SuperV,
    Tup,
    describe,
    is_run_time_text,
    is_tensor,
    tensor_type,
)

_MAX_DEPTH = 200  # inlined calls

_GLOBAL_HOOKS = (
    "_global_forward_hooks",
    "_global_forward_pre_hooks",
    "_global_backward_hooks",
    "_global_backward_pre_hooks",
)


@contextlib.contextmanager
def _manager() -> Iterator[None]:
    yield


_CONTEXT_MANAGER = _manager.__code__  # of what decorated generators become


_signature = functools.lru_cache(maxsize=1 << 12)(inspect.signature)  # of functions of the op library


@functools.cache
def _tensor_parameters(function: FunctionType) -> frozenset[str]:
    """The parameters of a decomposition that are annotated as tensors."""
    parameters = _signature(function).parameters.values()
    return frozenset(p.name for p in parameters if p.annotation == "Tensor" and p.kind != p.VAR_POSITIONAL)


@dataclass(frozen=True)
class Spread:
    """A starred argument that is one of several sequences."""

    value: OneOf


class Calls(Objects, Records, TorchParser, Unbound, Lookup):
    """Mixin: calls."""

    def e_Call(self, node: ast.Call) -> AV:
        func = self.eval(node.func)
        if isinstance(func, Known) and func.obj is zip and (rows := zipped_rows(node)) is not None:
            found = self.eval(rows)
            return self.transposed(found) if self.is_run_time(found) else self.call_spread(func, self.spread(found), {})
        args, kwargs = self.arguments(node)
        if isinstance(func, Known) and func.obj is super and not args:
            return self.zero_argument_super()
        return self.call_spread(func, args, kwargs)

    def e_Reshape(self, node: Reshape) -> AV:
        """x.squeeze_(...), where x is the only name of a tensor made here."""
        assert isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute)
        owner = self.eval(node.value.func.value)
        if not self.is_new_and_held(owner, names=1):
            return self.eval(node.value)
        args, kwargs = self.arguments(node.value)
        made = self.call_spread(Bound(owner, node.value.func.attr[:-1]), args, kwargs)
        self.assign(node.target, made)
        return made

    def call_spread(self, func: AV, args: Sequence[AV | Spread], kwargs: dict[str, AV]) -> AV:
        """The call for each sequence that a starred argument may be."""
        at = next((i for i, a in enumerate(args) if isinstance(a, Spread)), None)
        if at is None:
            return self.call(func, [a for a in args if not isinstance(a, Spread)], kwargs)
        spread = args[at]
        assert isinstance(spread, Spread)
        return self.split(
            spread.value,
            lambda a: self.call_spread(func, [*args[:at], *self.iterate(a), *args[at + 1 :]], kwargs),
        )

    def spread(self, av: AV) -> list[AV | Spread]:
        """What a starred argument gives."""
        found = self.present(av, "TypeError", "argument after * must be an iterable, not NoneType")
        if not isinstance(found, OneOf):
            return [*self.iterate(found)]
        lengths = {None if items is None else len(items) for items in map(sequence_items, found.alternatives.values())}
        return [Spread(found)] if None in lengths or len(lengths) > 1 else [*self.iterate(found)]

    def arguments(self, node: ast.Call) -> tuple[list[AV | Spread], dict[str, AV]]:
        args: list[AV | Spread] = []
        for a in node.args:
            if isinstance(a, ast.Starred):
                args += self.spread(self.eval(a.value))
            else:
                args.append(self.eval(a))
        kwargs: dict[str, AV] = {}
        for keyword in node.keywords:
            value = self.eval(keyword.value)
            if keyword.arg is not None:
                kwargs[keyword.arg] = value
            elif isinstance(value, DictV):
                kwargs |= self.items_of(value)
            elif isinstance(value, Known) and isinstance(value.obj, dict):
                kwargs |= self.known_keywords(value.obj)
            else:
                self.fail("double_star_of_other", what=describe(value))
        return args, kwargs

    def zero_argument_super(self) -> AV:
        first, frame = self.frame.first_arg, self.frame
        while frame.func is None:
            assert frame.outer is not None
            frame = frame.outer
        cell = dict(zip(frame.func.__code__.co_freevars, frame.func.__closure__ or (), strict=True)).get("__class__")
        if first is None:
            self.raises_at_run_time("RuntimeError", "super(): no arguments")
        if cell is None:
            self.raises_at_run_time("RuntimeError", "super(): __class__ cell not found")
        return self.super_of(cell.cell_contents, first)

    def super_of(self, cls: type, first: AV) -> AV:
        if isinstance(first, Known) and not hasattr(first.obj, "_fields"):
            return self.evaluate(super, cls, first.obj)
        if isinstance(first, (ObjectV, Tup)) and not issubclass(first.cls, cls) or isinstance(first, Dyn):
            self.raises_at_run_time("TypeError", "super(type, obj): obj must be an instance or subtype of type")
        return SuperV(cls, first)

    def call(self, func: AV, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        match func:
            case OneOf():
                func = self.present(func, "TypeError", "'NoneType' object is not callable")
                return self.split(func, lambda f: self.call(f, args, kwargs))
            case Bound(owner=OneOf() as owner, name=name, func=method):
                return self.split(owner, lambda o: self.call(Bound(o, name, method), args, kwargs))
            case ObjectV():
                return self.call(self.attribute(func, "__call__"), args, kwargs)
            case Native(run):
                return run(*args, **kwargs)
            case PartialV(inner, first, named):
                return self.call(inner, [*first, *args], {**named, **kwargs})
            case Known(functools.partial() as made):
                inner, first = self.attribute(func, "func"), self.iterate(self.attribute(func, "args"))
                return self.call(inner, [*first, *args], {**self.known_keywords(made.keywords), **kwargs})
            case Closure():
                return self.call_closure(func, args, kwargs)
            case Bound():
                return self.call_bound(func, args, kwargs)
            case Known(obj):
                return self.call_known(obj, args, kwargs)
        self.demand(func, "__call__", "is not callable")
        self.fail("call_of_other", what=describe(func))

    def call_bound(self, func: Bound, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        if func.func is not None:
            return self.call_known(func.func, [func.owner, *args], kwargs)
        kind = "Tensor" if is_tensor(func.owner) else self.type_name(func.owner)
        if kind in ("defaultdict", "OrderedDict", "Counter") and (kind, func.name) not in METHODS:
            kind = "dict"
        if isinstance(func.owner, Known):  # a user's list or dict has the methods of lists and dicts
            kinds = [c.__name__ for c in type(func.owner.obj).__mro__]
            kind = next((k for k in kinds if (k, func.name) in METHODS or f"{k}.{func.name}" in DECOMPOSITIONS), kind)
            if func.name in CHANGES.get(kind, ()) and not isinstance(func.owner, KnownSet):
                self.change_outside(func.owner.obj)
                return Known(None)
        if kind == "str" and isinstance(func.owner, Known) and all(map(self.is_known, (*args, *kwargs.values()))):
            return self.call_evaluated(getattr(func.owner.obj, func.name), [self.known_whole(a) for a in args],
                                       {k: self.known_whole(v) for k, v in kwargs.items()})  # fmt: skip
        if kind == "Tensor":
            self.check_parsed(getattr(torch.Tensor, func.name, None), [func.owner, *args], kwargs)
        handler = METHODS.get((kind, func.name))
        if handler is not None:
            return self.handle(handler, f"{kind}.{func.name}", [func.owner, *args], kwargs)
        decomposition = DECOMPOSITIONS.get(f"{kind}.{func.name}")
        if decomposition is not None:
            args, kwargs = self.known_texts(args, kwargs) if kind == "Tensor" else (args, kwargs)
            return self.call_decomposition(decomposition, func.name, [func.owner, *args], kwargs)
        if isinstance(func.owner, Known):
            return self.call_evaluated(getattr(func.owner.obj, func.name), args, kwargs)
        if kind == "Tensor" and func.name.endswith("_") and not func.name.endswith("__"):
            return self.call_inplace(func, args, kwargs)
        if kind == "Tensor" and isinstance(method := getattr(torch.Tensor, func.name, None), FunctionType):
            return self.call_function(method, [func.owner, *args], kwargs)
        self.fail("slot_of_builtin" if func.name.startswith("__") else "method_of_builtin", kind=kind, name=func.name)

    def known_texts(self, args: Sequence[AV], kwargs: dict[str, AV]) -> tuple[Sequence[AV], dict[str, AV]]:
        """Arguments of torch, whose strings are equations, modes and the like."""

        def known(av: AV) -> AV:
            return Known(self.known(av, "a string that torch is given")) if is_run_time_text(av) else av

        return [known(a) for a in args], {k: known(v) for k, v in kwargs.items()}

    def known_whole(self, av: AV) -> AV:
        return Known(self.known(av, "an argument"))

    def call_inplace(self, func: Bound, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        """x.op_(...) is x.copy_(x.op(...))."""
        plain = Bound(func.owner, func.name[:-1])
        if plain.name in RESHAPES and self.is_new_and_held(func.owner, names=0):
            return self.call_bound(plain, args, kwargs)
        if plain.name in RESHAPES or plain.name == "as_strided":
            self.fail("reshape_in_place", name=plain.name)
        if ("Tensor", plain.name) not in METHODS and f"Tensor.{plain.name}" not in DECOMPOSITIONS:
            self.fail("method_of_tensor", name=func.name)
        self.check_operands(plain.name, func.owner, (*args, *kwargs.values()))
        return self.write(func.owner, self.call_bound(plain, args, kwargs))

    def call_known(self, obj: Any, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        obj = uncompiled(obj)
        try:
            handler = FUNCTIONS.get(obj)
            decomposition = DECOMPOSITIONS.get(obj)
        except TypeError:  # unhashable
            handler = decomposition = None
        if (handler or decomposition) and self.reads_patched(obj):
            handler = decomposition = None
        if args and getattr(obj, "__name__", "") == "__init__" and issubclass(getattr(obj, "__objclass__", int), BaseException):
            return self.call(self.base_init(args[0]), args[1:], kwargs)
        if handler or decomposition:
            self.check_parsed(obj, args, kwargs)
        if "out" in kwargs and (handler or decomposition):
            rest = {name: av for name, av in kwargs.items() if name != "out"}
            if is_tensor(kwargs["out"]):
                self.check_operands(getattr(obj, "__name__", ""), kwargs["out"], (*args, *rest.values()))
            return self.into(kwargs["out"], self.call_known(obj, args, rest))
        if handler is not None:
            return self.handle(handler, library_name(obj), args, kwargs)
        if decomposition is not None:
            if (getattr(obj, "__module__", None) or "torch").partition(".")[0] == "torch":
                args, kwargs = self.known_texts(args, kwargs)
            return self.made_by(obj, self.call_decomposition(decomposition, getattr(obj, "__name__", ""), args, kwargs))
        if isinstance(obj, torch.nn.Module):
            for name in ("__call__", "_call_impl"):
                self.watch_class_attribute(type(obj), name)
                if not is_call_of_modules(uncompiled(getattr(type(obj), name))):
                    return self.call(self.attribute(Known(obj), name), args, kwargs)
            return self.call_module(obj, args, kwargs)
        if is_call_of_modules(obj) and args and isinstance(args[0], Known):  # super().__call__(...)
            return self.call_module(args[0].obj, args[1:], kwargs)
        if isinstance(obj, torch.jit.ScriptFunction):
            return self.call_known(self.python_behind(obj), args, kwargs)
        if isinstance(obj, _WrappedCall) and obj.cls_call is None and args and isinstance(args[0], Known):
            return self.call_module(args[0].obj, args[1:], kwargs)  # what torch.fx has in the place of Module.__call__
        if isinstance(obj, MethodType):
            return self.call_known(obj.__func__, [Known(obj.__self__), *args], kwargs)
        if isinstance(obj, FunctionType):
            return self.call_function(obj, args, kwargs)
        if isinstance(obj, functools._lru_cache_wrapper):
            return self.call_memoised(obj, args, kwargs)
        if isinstance(origin := get_origin(obj), type) and origin is not obj and getattr(obj, "_inst", True):
            return self.call_known(origin, args, kwargs)  # list[int](), typing.OrderedDict(), a class with type variables
        if isinstance(obj, type):
            return self.construct(obj, args, kwargs)
        if is_called_in_python(type(obj)):
            return self.call(self.known_attribute(obj, "__call__"), args, kwargs)
        return self.call_evaluated(obj, args, kwargs)

    def handle(self, handler: Any, name: str, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        """A function of the op library: Python code over abstract values."""
        if name != "isinstance" and any(isinstance(a, OneOf) for a in (*args, *kwargs.values())):
            n, names = len(args), [*kwargs]
            return self.split_all(
                [*args, *kwargs.values()],
                lambda avs: self.handle(handler, name, avs[:n], dict(zip(names, avs[n:], strict=True))),
            )
        args, kwargs = self.with_numbers(name.rpartition(".")[2], args, own_names(handler, kwargs))
        try:
            bound = _signature(handler).bind(self, *args, **kwargs)
        except TypeError as e:
            self.fail("form_of_call", name=name, why=e)
        try:
            result: AV = handler(*bound.args, **bound.kwargs)
        except NoTensor as e:
            self.raises_at_run_time("TypeError", f"{name}(): a Tensor is needed, not {self.type_name(e.av)}")
        return result

    def call_evaluated(self, obj: Any, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        """A method named through Tensor, or a builtin of known values, run at compile time."""
        if getattr(obj, "__objclass__", None) in torch.Tensor.__mro__[:2] and args and is_tensor(args[0]):
            return self.call_bound(Bound(args[0], obj.__name__), args[1:], kwargs)
        if args and (found := self.call_unbound(obj, args[0], args[1:], kwargs)) is not None:
            return found
        name = getattr(obj, "__name__", "")
        if name.endswith("_") and not name.endswith("__") and args and is_tensor(args[0]):
            for home in (torch, torch._C._nn):
                plain = getattr(home, name[:-1], None)
                if getattr(home, name, None) is obj and (plain in FUNCTIONS or plain in DECOMPOSITIONS):
                    return self.write(args[0], self.call_known(plain, args, kwargs))
        if isinstance(obj, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
            return self.call_aten(obj, args, kwargs)
        if isinstance(obj, weakref.ref) and not args:
            self.guard("REFERENT_LIVES", obj, None, obj() is not None)
            return Known(obj())
        if is_setting(obj) and not args and not kwargs:
            answer = obj()
            self.guard("CALL_GIVES", obj, None, answer)
            return Known(answer)
        if is_pure(obj) and all(isinstance(av, Known) for av in (*args, *kwargs.values())):
            owner = getattr(obj, "__self__", None)
            self.watch(owner)
            given = [av.obj for av in args if isinstance(av, Known)]
            result = self.evaluate(obj, *given, **{k: v.obj for k, v in kwargs.items() if isinstance(v, Known)})
            if isinstance(result, Known) and not holds_tensor([result.obj]):  # a tensor is made anew at each call
                return result
        self.demand(Known(obj), "__call__", "is not callable")
        self.fail("function_without_source", name=self.spelled(library_name(obj)))

    def call_decomposition(self, function: Any, name: str, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        if any(map(is_of_ranks, (*args, *kwargs.values()))):
            return self.split_all(
                [*args, *kwargs.values()],
                lambda avs: self.call_decomposition(
                    function, name, avs[: len(args)], dict(zip(kwargs, avs[len(args) :], strict=True))
                ),
                splits=is_of_ranks,
            )
        kwargs = without_options(self, function, own_names(function, kwargs))
        args, kwargs = self.with_numbers(name, *self.with_tensors(function, args, kwargs))
        given = [*args, *kwargs.values()]
        halves = {tensor_type(av).dtype for av in given if is_tensor(av)} & {"f16", "bf16"}
        asked = any(isinstance(av, Known) and isinstance(av.obj, torch.dtype) for av in given)
        if function not in WIDENING or len(halves) != 1 or asked:
            return self.call_function(function, args, kwargs)
        (half,) = halves

        def widened(av: AV) -> AV:
            return self.op("cast", av, dtype="f32") if is_tensor(av) and tensor_type(av).dtype == half else av

        named = {name: widened(av) for name, av in kwargs.items()}
        return self.rounded(self.call_function(function, [widened(av) for av in args], named), half)

    def with_tensors(
        self, function: Any, args: Sequence[AV], kwargs: dict[str, AV]
    ) -> tuple[Sequence[AV], dict[str, AV]]:  # fmt: skip
        """Arguments of a decomposition: what it takes as a Tensor must be one, else eager raises TypeError."""
        names, name = _tensor_parameters(function), function.__name__

        def checked(name_of: str, av: AV) -> AV:
            return self.sure_tensor(av, f"{name}(): argument '{name_of}' must be Tensor") if name_of in names else av

        params = _signature(function).parameters
        found = [checked(p, av) for p, av in zip(params, args, strict=False)]
        return [*found, *args[len(found) :]], {p: checked(p, av) for p, av in kwargs.items()}

    def sure_tensor(self, av: AV, message: str) -> AV:
        """The value where it is a tensor; where it is of another kind, TypeError."""
        held = av.alternatives if isinstance(av, OneOf) else {0: av}
        others = [tag for tag, a in held.items() if not is_tensor(a)]
        if others:
            fails = lambda: self.raises_at_run_time("TypeError", message)  # noqa: E731
            wrong = self.is_one_of(av, others) if isinstance(av, OneOf) else Known(True)
            self.choose(wrong, fails, lambda: Known(None))
            found = {tag: a for tag, a in held.items() if tag not in others}
            return next(iter(found.values())) if len(found) == 1 else OneOf(av.tag, found)  # type: ignore[attr-defined]
        return av

    def rounded(self, av: AV, dtype: str) -> AV:
        """What is float32 in a result, in a half type."""
        if isinstance(av, Tup):
            return Tup([self.rounded(item, dtype) for item in av.items], av.cls)
        return self.op("cast", av, dtype=dtype) if is_tensor(av) and tensor_type(av).dtype == "f32" else av

    def into(self, out: AV, result: AV) -> AV:
        """What a call with `out` returns: `out`, behind the writes."""
        if isinstance(out, Known) and out.obj is None:
            return result
        if not is_tensor(out):
            for target, part in zip(self.iterate(out), self.iterate(result), strict=True):
                self.into(target, part)
            return out
        if tensor_type(out).rank != tensor_type(result).rank:
            self.fail("out_of_other_rank")
        for dim in range(tensor_type(out).rank):
            self.check_that(
                self.compare("Eq", self.size_av(out, dim), self.size_av(result, dim)), "RuntimeError",
                "scriptc: out= has another shape than the result, and is not resized",
            )  # fmt: skip
        return self.write(out, result)

    def spelled(self, name: str) -> str:
        """A callable as the program spells it, so that it can be found there."""
        func = self.node.func if isinstance(self.node, ast.Call) else None
        return ast.unparse(func) if isinstance(func, (ast.Name, ast.Attribute)) else name

    def call_aten(self, op: Any, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        """torch.ops.aten.name.overload: what the library has under that name, else what torch calls by it."""
        schema = (
            op._schema if isinstance(op, torch._ops.OpOverload) else aten.overload_of(op, len(args), kwargs)._schema
        )
        name = schema.name.removeprefix("aten::")
        args, kwargs = aten.by_schema(schema, args, kwargs)
        if "out" in kwargs:
            rest = {key: av for key, av in kwargs.items() if key != "out"}
            return self.into(kwargs["out"], self.call_aten(op, args, rest))
        for target in (f"aten.{name}.{schema.overload_name}", f"aten.{name}", f"Tensor.{name}"):
            kind, _, method = target.partition(".")
            if (function := DECOMPOSITIONS.get(target)) is not None:
                return self.call_decomposition(function, name, *aten.by_name(function, 0, schema, args, kwargs))
            if (handler := METHODS.get((kind, method))) is not None:
                return self.handle(handler, name, *aten.by_name(handler, 1, schema, args, kwargs))
        for home in (torch, torch._C._nn, torch.nn.functional):
            if (found := getattr(home, name, None)) is not None:
                function = DECOMPOSITIONS.get(found)
                if function is not None:
                    args, kwargs = aten.by_name(function, 0, schema, args, kwargs)
                return self.call_known(found, args, kwargs)
        if name.endswith("_"):
            return self.call_bound(Bound(args[0], name), args[1:], kwargs)
        self.fail("aten_operator", name=schema.name.replace("::", "."))

    def call_module(self, module: torch.nn.Module, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        """module(...): its forward, between its own forward hooks."""
        self.refuse_torchscript(module)
        self.guard_hooks(module, ("_backward_hooks", "_backward_pre_hooks"))
        for hook in self.own_hooks(module, "_forward_pre_hooks", kwargs):
            changed = self.call(hook, [Known(module), self.tuple_of(list(args))], {})
            if isinstance(changed, OneOf):
                self.fail("hook_returns_sometimes")
            if not (isinstance(changed, Known) and changed.obj is None):
                args = self.iterate(changed) if issubclass(self.python_class(changed), tuple) else [changed]
        result = self.call(self.attribute(Known(module), "forward"), args, kwargs)
        for hook in self.own_hooks(module, "_forward_hooks", kwargs):
            before = result
            changed = self.call(hook, [Known(module), self.tuple_of(list(args)), before], {})
            result = self.split(changed, functools.partial(_unless_none, before))
        return result

    def own_hooks(self, module: torch.nn.Module, name: str, kwargs: dict[str, AV]) -> list[AV]:
        """The hooks of one kind that a module has; which these are is guarded."""
        table = module.__dict__.get(name)
        if table is None:
            self.raises_at_run_time("AttributeError", f"'{type(module).__name__}' object has no attribute '{name}'")
        if not table:
            self.guard("DICT_EMPTY", table, None, None)
            return []
        if kwargs or module.__dict__.get(f"{name}_with_kwargs"):
            self.fail("hook_and_keywords")
        self.guard("DICT_KEYS_ARE", table, None, tuple(table))
        for key, hook in table.items():
            self.guard("DICT_IS", table, key, hook)
        return [Known(hook) for hook in table.values()]

    def guard_hooks(
        self, module: torch.nn.Module,
        names: tuple[str, ...] = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"),
    ) -> None:  # fmt: skip
        for name in _GLOBAL_HOOKS:
            table = getattr(torch.nn.modules.module, name)
            if table:
                self.fail("hooks_on_all_modules")
            self.guard("DICT_EMPTY", table, None, None)
        for name in names:
            table = module.__dict__.get(name)
            if table:
                self.fail("hooks_on_container", kind=type(module).__name__)
            if table is not None:  # else own_hooks says that there is none
                self.guard("DICT_EMPTY", table, None, None)

    def call_function(self, func: FunctionType, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        """Follows a Python function: its body runs in place."""
        wrapped = getattr(func, "__wrapped__", None)
        if func.__code__ is _CONTEXT_MANAGER and isinstance(wrapped, FunctionType):
            return ManagerV(wrapped, args, kwargs)
        self.watch_function(func)
        if inspect.iscoroutinefunction(func) or inspect.isgeneratorfunction(func):
            self.fail("call_of_generator", name=func.__qualname__)
        source = self.source_of(func)
        frame = Frame(source, func, self.loc)
        self.check_depth(frame, func.__qualname__)
        self.bind_arguments(frame, func, args, kwargs)
        return self.follow(frame, source.node)

    def bind_arguments(self, frame: Frame, func: FunctionType, args: Sequence[AV], kwargs: dict[str, AV]) -> None:
        node = frame.source.node
        defaults = [Known(d) for d in func.__defaults__ or ()]
        named = func.__kwdefaults__ or {}
        kw_defaults: dict[str, AV] = {k: Known(v) for k, v in named.items()}
        if named and not is_library(func.__module__):
            kw_defaults = self.known_keywords(named)
        names = [a.arg for a in node.args.kwonlyargs]
        self.bind(frame, node.args, args, kwargs, defaults, [kw_defaults.get(n) for n in names], func.__qualname__)

    def check_depth(self, frame: Frame, name: str) -> None:
        if frame.depth() > _MAX_DEPTH:
            self.fail("call_depth", name=name, depth=_MAX_DEPTH)

    def call_closure(self, func: Closure, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        outer = func.frame.source
        name = getattr(func.node, "name", "<lambda>")
        source = Source(func.node, outer.file, f"{outer.name}.{name}")
        frame = Frame(source, None, self.loc, outer=func.frame)
        for scope in func.scopes:
            frame.locals |= scope
        self.check_depth(frame, name)
        self.bind(frame, func.node.args, args, kwargs, func.defaults, func.kw_defaults, frame.qualified_name)
        return self.follow(frame, func.node)

    def follow(self, frame: Frame, node: ast.FunctionDef | ast.Lambda) -> AV:
        body = statements_of(node)
        return self.call_recursive(frame, body) if self.calls_itself(frame) else self.inline(frame, body)

    def bind(
        self, frame: Frame, spec: ast.arguments, args: Sequence[AV], kwargs: dict[str, AV], defaults: Sequence[AV],
        kw_defaults: Sequence[AV | None], name: str,
    ) -> None:  # fmt: skip
        """Binds arguments to parameters as Python does; its TypeErrors are raised at run time."""
        params = [a.arg for a in (*spec.posonlyargs, *spec.args)]
        kwargs = dict(kwargs)
        bound: dict[str, AV] = dict(zip(params, args, strict=False))
        extra = list(args[len(params) :])
        if extra and spec.vararg is None:
            plural = "s" if len(params) != 1 else ""
            were = "was" if len(args) == 1 else "were"
            self.raises_at_run_time(
                "TypeError", f"{name}() takes {len(params)} positional argument{plural} but {len(args)} {were} given"
            )
        if spec.vararg is not None:
            bound[spec.vararg.arg] = Tup(extra)
        keyword_only = [a.arg for a in spec.kwonlyargs]
        for key in list(kwargs):
            if key in params[len(spec.posonlyargs) :] or key in keyword_only:
                if key in bound:
                    self.raises_at_run_time("TypeError", f"{name}() got multiple values for argument '{key}'")
                bound[key] = kwargs.pop(key)
        for param, default in zip(reversed(params), reversed(defaults), strict=False):
            bound.setdefault(param, default)
        for param, kw_default in zip(keyword_only, kw_defaults, strict=True):
            if kw_default is not None:
                bound.setdefault(param, kw_default)
        for kind, names in (("positional", params), ("keyword-only", keyword_only)):
            if missing := [p for p in names if p not in bound]:
                self.raises_at_run_time("TypeError", f"{name}() missing {len(missing)} required {kind} {listed(missing)}")
        if spec.kwarg is not None:
            bound[spec.kwarg.arg] = DictV(kwargs)
        elif kwargs:
            self.raises_at_run_time("TypeError", f"{name}() got an unexpected keyword argument '{next(iter(kwargs))}'")
        frame.locals.update({k: self.tensor_default(v, k) for k, v in bound.items()})
        if params:
            frame.first_arg = bound[params[0]]

    def tensor_default(self, av: AV, name: str) -> AV:
        if isinstance(av, Known) and isinstance(av.obj, torch.Tensor):
            return self.live_tensor(av.obj, {name: av.obj}, name, name)
        return av


def _unless_none(first: AV, second: AV) -> AV:
    return first if isinstance(second, Known) and second.obj is None else second
