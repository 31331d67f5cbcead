"""The interpreter, which runs the IR with torch. It defines the meaning of the IR.

Only this module and the references import torch, and only when a program runs.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from scriptc.ir.core import Block, Func, Module, Op, Value
from scriptc.ir.dtypes import TORCH_NAMES
from scriptc.ir.exceptions import argument, classes, own_class
from scriptc.ir.extern import FUNCTIONS
from scriptc.ir.handlers import handlers
from scriptc.ir.op_references import reference
from scriptc.ir.text_formats import formatted
from scriptc.ir.types import ObjectType, TensorType, TupleType

Env = dict[Value, Any]
RUNS, runs = handlers()

MAX_DEPTH = 1000  # nested calls, as in Python


class _Leave(BaseException):
    """A terminator on its way to the op that it leaves."""

    def __init__(self, op: Op, values: list[Any]):
        self.op = op
        self.values = values


def _field(op: Op) -> str:
    """Return the name of the field that an op accesses."""
    t = op.operands[0].type
    assert isinstance(t, ObjectType)
    return t.record.names[op.attrs["field"]]


def _held(made: Any) -> dict[str, Any]:
    """Return the fields of an object."""
    return made if isinstance(made, dict) else vars(made)


def _is_dense(t: Any) -> bool:
    """Return whether the elements fill a stretch of memory, in any order of dims."""
    expected = 1
    for stride, size in sorted((s, n) for s, n in zip(t.stride(), t.shape, strict=True) if n != 1):
        if stride != expected:
            return False
        expected *= size
    return True


def _overlap(a: Any, b: Any) -> str:
    """Return how tensors share memory before a write, in eager's terms: none, partial, full or unknown."""
    if a is b:
        return "full"
    if not a.numel() or not b.numel():
        return "none"
    if not (_is_dense(a) and _is_dense(b)):
        return "unknown"
    (a_begin, a_end), (b_begin, b_end) = ((t.data_ptr(), t.data_ptr() + t.numel() * t.element_size()) for t in (a, b))
    if a_begin >= b_end or b_begin >= a_end:
        return "none"
    return "full" if (a_begin, a_end, a.stride()) == (b_begin, b_end, b.stride()) else "partial"


class Interpreter:
    """Run functions of a module on torch tensors, Python numbers, lists and tuples.

    params: tensors by the names that `param` ops read.
    exceptions: classes that the module declares, by name.
    warnings: the (category, message) pairs of the run.
    state: the values that were set, in order: (target, form, values).
    """

    def __init__(
        self, module: Module, params: Mapping[str, Any] | None = None,
        exceptions: Mapping[str, type[BaseException]] | None = None,
    ):  # fmt: skip
        import torch

        self.torch = torch
        self.module = module
        self.params = dict(params or {})
        self.exceptions = classes(module, exceptions or {})
        self.warnings: list[tuple[str, str]] = []
        self.state: list[tuple[int, int, list[Any]]] = []

    def run(self, name: str, *args: Any) -> tuple[Any, ...]:
        """Call a function; return the tuple of its results. Raise the exceptions of torch and Python."""
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, 20 * MAX_DEPTH))
        self.depth = 0
        try:
            return self.call(self.module.funcs[name], list(args))
        finally:
            sys.setrecursionlimit(limit)

    def call(self, func: Func, args: list[Any]) -> tuple[Any, ...]:
        env: Env = dict(zip(func.body.args, args, strict=True))
        try:
            self.block(func.body, env)
        except _Leave as leave:
            return tuple(leave.values)
        raise AssertionError("a function ends by return")

    def block(self, block: Block, env: Env) -> list[Any]:
        """Run to the terminator; return the values of a yield, or _Leave."""
        for op in block.ops:
            operands = [env[v] for v in op.operands]
            if op.has("TERMINATOR"):
                if op.name == "yield":
                    return operands
                if op.name == "unreachable":
                    raise AssertionError(f"unreachable code was reached at {op.loc}")
                if op.name == "raise":
                    raise self.exception(op, operands)
                if op.name == "reraise":
                    raise operands[0]
                raise _Leave(op, operands)
            special = RUNS.get(op.name)
            results = special(self, op, operands, env) if special else self.apply(op.name, operands, op.attrs)
            if special is None and len(op.results) == 1:
                results = (results,)
            env.update(zip(op.results, results, strict=True) if op.results else ())
        raise AssertionError("a block ends in a terminator")

    def class_of(self, name: str) -> type[BaseException]:
        found = self.exceptions.get(name) or own_class(name)
        assert found is not None, f"there is no exception {name}"
        return found

    def exception(self, op: Op, operands: list[Any]) -> BaseException:
        error = self.class_of(op.attrs["type"])
        message = formatted(op.attrs["message"], operands) if operands else op.attrs["message"]
        args = () if not message else (argument(message) if issubclass(error, KeyError) else message,)
        if op.attrs["type"] not in self.exceptions or error.__module__ == "numpy.exceptions":
            return error(*args)  # no op has run its __init__
        made = error.__new__(error)  # the op that made the exception has run its __init__
        made.args = args
        return made

    def apply(self, name: str, operands: list[Any], attrs: Mapping[str, Any]) -> Any:
        """Run one op by its reference. The arguments are in the order of the row's schema; dtypes are torch's."""
        from scriptc.ir.ops import OPS

        args: list[Any] = []
        keywords: dict[str, Any] = {}
        rest = list(operands)
        for arg in OPS[name].args:
            if arg.is_operand:
                args += rest if arg.is_list and arg.type == "Value" else [rest.pop(0)]
            elif arg.name in attrs:
                value = self.attr(arg.name, attrs[arg.name])
                if arg.keyword_only:
                    keywords[arg.name] = value
                else:
                    args.append(value)
        try:
            return reference(name)(*args, **keywords)
        except TypeError:
            if "ELEMENTWISE" not in OPS[name].traits:
                raise
        given = [value for value in args if isinstance(value, self.torch.Tensor)]
        tensors = [self.as_tensor(value, given) for value in args]  # some functions of torch take only tensors
        return reference(name)(*tensors, **keywords)

    def as_tensor(self, value: Any, others: list[Any]) -> Any:
        """Return a Python number as a tensor without dims.

        Beside a single tensor, the number is converted as torch converts it. Otherwise it has the widest dtype of its
        category.
        """
        if isinstance(value, self.torch.Tensor):
            return value
        wide = self.torch.tensor(value, dtype={float: self.torch.float64, complex: self.torch.complex128}.get(type(value)))
        return wide.to(self.torch.result_type(others[0], value)) if len(others) == 1 else wide

    def attr(self, name: str, value: Any) -> Any:
        return getattr(self.torch, TORCH_NAMES[value]) if name == "dtype" else value

    @runs("const")
    def do_const(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        return (op.attrs["value"],)

    @runs("param")
    def do_param(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        return (self.params[op.attrs["name"]],)

    @runs("undef")
    def do_undef(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        return (None,)

    @runs("if")
    def do_if(self, op: Op, operands: list[Any], env: Env) -> list[Any]:
        return self.block(op.regions[0 if operands[0] else 1], env)

    @runs("try")
    def do_try(self, op: Op, operands: list[Any], env: Env) -> list[Any]:
        body, handler = op.regions
        try:
            return self.block(body, env)
        except Exception as e:
            env.update(dict.fromkeys(handler.args, e))
        return self.block(handler, env)

    @runs("exc.is")
    def do_exc_is(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        classes = tuple(map(self.class_of, op.attrs["classes"]))
        return (type(operands[0]) in classes if op.attrs["exact"] else isinstance(operands[0], classes),)

    @runs("cell.new")
    def do_cell_new(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        return ([operands[0]],)

    @runs("cell.get")
    def do_cell_get(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        return (operands[0][0],)

    @runs("cell.set")
    def do_cell_set(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        operands[0][0] = operands[1]
        return ()

    @runs("scope")
    def do_scope(self, op: Op, operands: list[Any], env: Env) -> list[Any]:
        try:
            return self.block(op.regions[0], env)
        except _Leave as leave:
            return self.caught(leave, op)

    def caught(self, leave: _Leave, op: Op) -> list[Any]:
        if leave.op.attrs.get("to") != op.attrs["label"]:
            raise leave
        return leave.values

    @runs("loop")
    def do_loop(self, op: Op, operands: list[Any], env: Env) -> list[Any]:
        body, counted = op.regions[0], op.attrs["counted"]
        carried = operands[3:] if counted else operands
        counter = iter(range(*operands[:3])) if counted else None
        while True:
            args = list(carried)
            if counter is not None:
                try:
                    args.insert(0, next(counter))
                except StopIteration:
                    return carried
            env.update(zip(body.args, args, strict=True))
            try:
                carried = self.block(body, env)
            except _Leave as leave:
                values = self.caught(leave, op)
                if leave.op.name == "break":
                    return values
                carried = values

    @runs("call")
    def do_call(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        if self.depth >= MAX_DEPTH:
            raise RecursionError("maximum recursion depth exceeded")
        self.depth += 1
        try:
            return self.call(self.module.funcs[op.attrs["func"]], operands)
        finally:
            self.depth -= 1

    @runs("fuse")
    def do_fuse(self, op: Op, operands: list[Any], env: Env) -> list[Any]:
        return self.block(op.regions[0], dict(zip(op.regions[0].args, operands, strict=True)))

    @runs("activation")
    def do_activation(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        body = op.regions[0]
        return (lambda x: self.block(body, {**env, body.args[0]: x})[0],)

    @runs("checkpoint")
    def do_checkpoint(self, op: Op, operands: list[Any], env: Env) -> list[Any]:
        return self.block(op.regions[0], env)

    @runs("user_gradient", "checkpoint.begin", "checkpoint.end")
    def do_mark(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        return ()

    @runs("extern.call")
    def do_extern_call(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        key, name = op.attrs["library"], op.attrs["function"]
        if (key, name) not in FUNCTIONS:
            raise RuntimeError(f"the interpreter cannot call {name}, since this process has not loaded its extension")
        with self.torch.no_grad():
            result = FUNCTIONS[key, name](*operands)
        return tuple(int(result) for _ in op.results) if isinstance(result, bool) else (result,) * len(op.results)

    @runs("extern.written")
    def do_extern_written(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        return ()

    @runs("check")
    def do_check(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        attrs = {k: v for k, v in op.attrs.items() if k != "of"}
        self.apply(op.attrs["of"], operands, attrs)
        return ()

    @runs("check.bound")
    def do_check_bound(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        if not operands[0]:
            name = op.attrs["name"]
            raise UnboundLocalError(f"cannot access local variable '{name}' where it is not associated with a value")
        return ()

    @runs("check.free")
    def do_check_free(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        if not operands[0]:
            name = op.attrs["name"]
            where = "where it is not associated with a value in enclosing scope"
            raise NameError(f"cannot access free variable '{name}' {where}")
        return ()

    @runs("check.unpack")
    def do_check_unpack(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        length, count = operands[0], op.attrs["count"]
        if length > count:
            raise ValueError(f"too many values to unpack (expected {count})")
        if length < count:
            raise ValueError(f"not enough values to unpack (expected {count}, got {length})")
        return ()

    @runs("check.step")
    def do_check_step(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        range(0, 0, operands[0])
        return ()

    @runs("check.store")
    def do_check_store(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        dst, src = operands
        if self.torch.broadcast_shapes(dst.shape, src.shape) != dst.shape:
            shapes = [f"[{', '.join(map(str, t.shape))}]" for t in (dst, src)]
            raise RuntimeError(f"output with shape {shapes[0]} doesn't match the broadcast shape {shapes[1]}")
        return ()

    @runs("check.leaf", "check.detached")
    def do_check_leaf(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        return ()  # autograd does not see interpreted calls

    @runs("check.overlap")
    def do_check_overlap(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        if (found := _overlap(*operands)) == "partial" or (found == "full" and op.attrs["apart"]):
            raise RuntimeError("unsupported operation: some elements of the input tensor and the written-to tensor refer "
                               "to a single memory location. Please clone() the tensor before performing the operation.")
        return ()

    @runs("tuple")
    def do_tuple(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        assert isinstance(op.result.type, TupleType)
        cls = op.result.type.cls
        if not isinstance(cls, type):
            return (tuple(operands),)
        return (cls(*operands) if hasattr(cls, "_fields") else cls(operands),)

    @runs("tuple.get")
    def do_tuple_get(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        return (operands[0][op.attrs["index"]],)

    @runs("tuple.append")
    def do_tuple_append(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        items, item = operands
        return ((*items, item),)

    @runs("list.slice")
    def do_list_slice(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        values, start, stop, step = operands
        return (values[slice(start, stop, step)],)

    @runs("list.delete")
    def do_list_delete(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        del operands[0][operands[1]]
        return ()

    @runs("list.splice")
    def do_list_splice(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        values, start, stop, other = operands
        values[start:stop] = list(other)
        return ()

    @runs("list.argsort")
    def do_list_argsort(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        (values,) = operands
        order = sorted(range(len(values)), key=values.__getitem__, reverse=op.attrs["reverse"])
        return (order if op.attrs.get("most", -1) < 0 else order[: op.attrs["most"]],)

    @runs("list.tensor")
    def do_list_tensor(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        assert isinstance(op.result.type, TensorType)
        return (self.torch.tensor(operands[0], dtype=getattr(self.torch, TORCH_NAMES[op.result.type.dtype])),)

    @runs("text")
    def do_text(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        return (formatted(op.attrs["format"], operands),)

    @runs("state.set")
    def do_state_set(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        self.state.append((op.attrs["target"], op.attrs["form"], operands))
        return ()

    @runs("kept.has")
    def do_kept_has(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        return (False,)  # a stored value equals the recomputed value

    @runs("kept.put")
    def do_kept_put(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        return ()

    @runs("print")
    def do_print(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        print(formatted(op.attrs["format"], operands), end="")
        return ()

    @runs("list.new")
    def do_list_new(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        return (list(operands),)

    @runs("list.room")
    def do_list_room(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        return ()

    @runs("tuple.new")
    def do_tuple_new(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        return (tuple(operands),)

    @runs("object.new")
    def do_object_new(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        assert isinstance(op.result.type, ObjectType)
        record = op.result.type.record
        held = dict(zip(record.names, operands, strict=True))
        if record.cls is dict:
            return (held,)
        made: Any = SimpleNamespace() if record.cls is None else object.__new__(record.cls)
        made.__dict__.update(held)
        return (made,)

    @runs("object.get")
    def do_object_get(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        return (_held(operands[0])[_field(op)],)

    @runs("object.set")
    def do_object_set(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        _held(operands[0])[_field(op)] = operands[1]
        return ()

    # The position of an item in a dict or set is its index among the keys.
    @runs("dict.new")
    def do_dict_new(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        return ({},)

    @runs("set.new")
    def do_set_new(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        return (set(),)

    @runs("dict.find")
    def do_dict_find(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        table, key = operands
        return (list(table).index(key) if key in table else -1,)

    @runs("dict.key")
    def do_dict_key(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        return (list(operands[0])[operands[1]],)

    @runs("dict.at")
    def do_dict_at(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        return (list(operands[0].values())[operands[1]],)

    @runs("dict.enter")
    def do_dict_enter(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        table, key, value = operands
        table[key] = value
        return (list(table).index(key),)

    @runs("dict.find_or_enter")
    def do_dict_find_or_enter(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        table, key, value = operands
        table.setdefault(key, value)
        return (list(table).index(key),)

    @runs("dict.put")
    def do_dict_put(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        table, position, value = operands
        table[list(table)[position]] = value
        return ()

    @runs("dict.remove")
    def do_dict_remove(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        table, position = operands
        key = list(table)[position]
        table.remove(key) if isinstance(table, set) else table.pop(key)
        return ()

    @runs("dict.clear")
    def do_dict_clear(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        operands[0].clear()
        return ()

    @runs("dict.walk")
    def do_dict_walk(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        return (len(operands[0]),)

    @runs("dict.unchanged")
    def do_dict_unchanged(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        table, length = operands
        if len(table) != length:
            what = "Set" if isinstance(table, set) else "dictionary"
            raise RuntimeError(f"{what} changed size during iteration")
        return ()

    @runs("optional.present")
    def do_optional_present(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        return (operands[0] is not None,)

    @runs("optional.unwrap")
    def do_optional_unwrap(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        return (operands[0],)

    @runs("warn")
    def do_warn(self, op: Op, operands: list[Any], env: Env) -> tuple[Any, ...]:
        self.warnings.append((op.attrs["category"], formatted(op.attrs["message"], operands)))
        return ()
