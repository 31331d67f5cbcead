"""Small functions for the samples and errors of op rows, which the row tests run."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Func, Module, Value
from scriptc.ir.dtypes import COMPLEX, INEXACT, TORCH_NAMES
from scriptc.ir.loc import Loc
from scriptc.ir.opdef import OpDef, Raises, Shapes
from scriptc.ir.types import BOOL, FLOAT, INT, NEVER, NONE, STR, TensorType, Type, join, list_of, tuple_of

LOC = Loc("<rows>", 1)
SPECIAL = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-40, -1e30]


@dataclass
class RowCase:
    """A function of one op, and the arguments to call it with, made anew for each run as some ops write them.

    numbers: arguments behind the tensors. calls: the arguments of all calls, of a function without tensors.
    raises: the error that all calls raise.
    """

    row: OpDef
    name: str
    dtypes: list[str]
    shapes: Shapes
    numbers: list[Any]
    with_number: bool
    calls: tuple[tuple[Any, ...], ...] = ()
    raises: Raises | None = None

    def inputs(self, layout: str) -> list[list[Any]]:
        """Return the arguments of each call."""
        if self.calls:
            calls = [deepcopy(list(call)) for call in self.calls]
            return tree_map_only(torch.Tensor, broadcast, calls) if layout == "broadcast" else calls
        tensors = [self.tensor(d, s, i, layout) for i, (d, s) in enumerate(zip(self.dtypes, self.shapes, strict=True))]
        return [[*tensors, *self.numbers]]

    def tensor(self, dtype: str, shape: tuple[int, ...], index: int, layout: str) -> Any:
        samples = self.row.samples
        assert samples is not None
        low, high = (samples.low, samples.high) if self.raises is None else (self.raises.value, self.raises.value)
        generator = torch.Generator().manual_seed(index)
        order = shape[::-1] if layout == "transposed" else shape
        values = torch.rand(order, generator=generator, dtype=torch.float64)
        values = values * (high - low) + low
        if layout == "special" and dtype in INEXACT and values.numel():
            flat = values.view(-1)
            for i in range(0, len(flat), 2):
                flat[i] = SPECIAL[(i // 2 + index * 3) % len(SPECIAL)]
        if dtype in COMPLEX:
            values = torch.complex(values, values.flip(tuple(range(values.dim()))))
        elif dtype == "bool":
            values = values > (high + low) / 2
        elif dtype in ("u8", "i8", "i16", "i32", "i64"):
            values = values.abs() if dtype == "u8" else values
        made = values.to(getattr(torch, TORCH_NAMES[dtype]))
        if layout == "broadcast":
            return broadcast(made)
        return made.permute(tuple(reversed(range(len(shape))))) if layout == "transposed" else made


def broadcast(t: torch.Tensor) -> torch.Tensor:
    """Return a tensor of the same shape whose every other dim, from the last but one, repeats its first element."""
    for dim in range(t.dim() - 2, -1, -2):
        t = t.narrow(dim, 0, 1).clone().expand(t.shape) if t.size(dim) else t
    return t


def row_cases(row: OpDef) -> Iterator[tuple[RowCase, Func]]:
    """All dtypes with the first shapes, all shapes with the first dtype; every variation."""
    samples = row.samples
    assert samples is not None
    if samples.calls:
        yield from call_cases(row, samples.calls)
        return
    all_shapes: tuple[Shapes, ...] = samples.shapes or ((),)
    for i, dtype in enumerate(samples.dtypes):
        for shapes in all_shapes if i == 0 else all_shapes[:1]:
            for extra in samples.extra:
                yield from _case(row, dtype, shapes, extra, ())
    if sum(a.type == "Operand" for a in row.operand_args) == 2 and len(row.operand_args) == 2:
        for dtype in samples.dtypes:
            whole = dtype not in INEXACT
            for number in (2,) if whole and dtype != "bool" else (True,) if dtype == "bool" else (2, 0.3):
                for shapes in ((all_shapes[0][0], ()), ((), all_shapes[0][0])):
                    yield from _case(row, dtype, shapes, (), (number,))


def error_cases(row: OpDef) -> Iterator[tuple[RowCase, Func]]:
    """Yield a function for each error of a row that inputs lead to."""
    for error in row.errors:
        if error.call is not None:
            yield from call_cases(row, (error.call,), error)
        elif error.shapes is not None:
            assert row.samples is not None
            dtype = error.dtype or row.samples.dtypes[0]
            yield from _case(row, dtype, error.shapes, error.extra, (), error)


def call_cases(row: OpDef, calls: tuple[tuple[Any, ...], ...], error: Raises | None = None) -> Iterator[tuple[RowCase, Func]]:
    """Yield a function for all calls whose operands have the same types, and whose attributes are the same."""
    groups: dict[Any, list[tuple[Any, ...]]] = {}
    for call in calls:
        groups.setdefault(_signature(row, call), []).append(call)
    for number, group in enumerate(groups.values()):
        name = "_".join([row.name.replace(".", "_"), "calls" if error is None else "raises", str(number)])
        arguments = tuple(tuple(_operand_values(row, call)) for call in group)
        yield RowCase(row, name, [], (), [], False, arguments, error), _call_function(row, group[0], name)


def type_of(value: Any) -> Type:
    """Return the type of an argument of a call."""
    if isinstance(value, (list, tuple)):
        elem: Type = NEVER
        for item in value:
            elem = join(elem, type_of(item))
        return list_of(elem) if isinstance(value, list) else tuple_of(elem)
    return {bool: BOOL, int: INT, float: FLOAT, str: STR, type(None): NONE}[type(value)]


def _operand_values(row: OpDef, call: tuple[Any, ...]) -> list[Any]:
    """Return the operands of a call. One of type `Value[]` is a tuple of operands."""
    values: list[Any] = []
    for arg, value in zip(row.args, call, strict=True):
        if arg.is_operand:
            values += value if arg.is_list else [value]
    return values


def _signature(row: OpDef, call: tuple[Any, ...]) -> tuple[Any, ...]:
    attributes = tuple(value for arg, value in zip(row.args, call, strict=True) if not arg.is_operand)
    return tuple(str(type_of(v)) for v in _operand_values(row, call)), attributes


def _call_function(row: OpDef, call: tuple[Any, ...], name: str) -> Func:
    body = Block([(type_of(v), "a") for v in _operand_values(row, call)])
    build = Builder(body)
    attrs = {arg.name: value for arg, value in zip(row.args, call, strict=True) if not arg.is_operand}
    op = build.op(row.name, body.args, LOC, **attrs)
    written = body.args[:1] if row.writes and not op.results else []
    build.op("return", [*op.results, *written], LOC)
    return Func(name, body, [v.type for v in (*op.results, *written)], LOC)


def _case(
    row: OpDef, dtype: str, shapes: Shapes, extra: tuple[Any, ...], numbers: tuple[Any, ...], error: Raises | None = None
) -> Iterator[tuple[RowCase, Func]]:
    """`numbers` replace the operands whose shape is ()."""
    body = Block()
    build = Builder(body)
    tensors: list[Value] = []
    dtypes: list[str] = []
    kept: list[tuple[int, ...]] = []
    given: list[Any] = []
    assert row.samples is not None
    kinds = row.samples.kinds
    for i, shape in enumerate(shapes):
        t: Type
        if numbers and shape == ():
            t = FLOAT if isinstance(numbers[0], float) else INT if not isinstance(numbers[0], bool) else None  # type: ignore[assignment]
            if t is None:
                tensors.append(build.const(numbers[0], LOC))
                continue
            given.append(numbers[0])
        else:
            dtypes.append(kinds[i] if i < len(kinds) and kinds[i] else dtype)
            kept.append(shape)
            t = TensorType(dtypes[-1], (None,) * len(shape))
            if row.name == "squeeze":
                t = TensorType(dtypes[-1], shape)
        tensors.append(Value(t, body, f"a{i}"))
    body.args += [v for v in tensors if v.op is None and isinstance(v.type, TensorType)]
    body.args += [v for v in tensors if v.op is None and not isinstance(v.type, TensorType)]
    operands, attrs = _arguments(row, build, dtype, tensors, list(extra))
    op = build.op(row.name, operands, LOC, **attrs)
    results = op.results or ([tensors[0]] if row.writes else [])
    build.op("return", results, LOC)
    text = "_".join([row.name.replace(".", "_"), dtype, *("x".join(map(str, s)) or "s" for s in shapes)])
    case = RowCase(row, text, dtypes, tuple(kept), given, bool(numbers), raises=error)
    yield case, Func(text, body, [v.type for v in results], LOC)


def _arguments(
    row: OpDef, build: Builder, dtype: str, tensors: list[Value], extra: list[Any]
) -> tuple[list[Value], dict[str, Any]]:
    operands: list[Value] = []
    attrs: dict[str, Any] = {}
    pending = list(tensors)
    for arg in row.args:
        if arg.type == "List":
            operands.append(build.build("list.new", pending, LOC))
        elif arg.is_operand and pending and not (arg.type in ("SymInt", "Scalar") and extra):
            operands.append(pending.pop(0))
        elif arg.is_operand:
            value = extra.pop(0)
            if arg.is_list:
                operands.append(build.build("tuple", [build.const(v, LOC) for v in value], LOC))
            else:
                operands.append(build.const(value, LOC))
        elif arg.type == "ScalarType" and not extra:
            attrs[arg.name] = dtype
        else:
            attrs[arg.name] = extra.pop(0) if extra or arg.required else arg.default
    return operands, attrs


def row_module(rows: list[OpDef], name: str) -> tuple[Module, list[RowCase]]:
    module, cases = Module(name), []
    for row in rows:
        for case, func in chain(row_cases(row), error_cases(row)):
            func.name = case.name = f"{case.name}_{len(cases)}"
            module.funcs[func.name] = func
            module.entries.append(func.name)
            cases.append(case)
    return module, cases
