"""One small function for each op row, dtype, shape and variation of its `samples`: what the row tests run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Func, Module, Value
from scriptc.ir.dtypes import COMPLEX, INEXACT, TORCH_NAMES
from scriptc.ir.loc import Loc
from scriptc.ir.opdef import OpDef
from scriptc.ir.types import FLOAT, INT, PACKED, TensorType, Type

LOC = Loc("<rows>", 1)
SPECIAL = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-40, -1e30]
Shapes = tuple[tuple[int, ...], ...]


@dataclass
class RowCase:
    """`inputs` makes the arguments anew, for ops that write; `low` and `high` bound their values."""

    row: OpDef
    name: str
    dtypes: list[str]
    shapes: Shapes
    numbers: list[Any]
    with_number: bool

    def inputs(self, layout: str) -> list[Any]:
        tensors = [self.tensor(d, s, i, layout) for i, (d, s) in enumerate(zip(self.dtypes, self.shapes, strict=True))]
        return [*tensors, *self.numbers]

    def tensor(self, dtype: str, shape: tuple[int, ...], index: int, layout: str) -> Any:
        samples = self.row.samples
        assert samples is not None
        generator = torch.Generator().manual_seed(index)
        order = shape[::-1] if layout == "transposed" else shape
        values = torch.rand(order, generator=generator, dtype=torch.float64)
        values = values * (samples.high - samples.low) + samples.low
        if layout == "special" and dtype in INEXACT and values.numel():
            flat = values.view(-1)
            for i in range(0, len(flat), 2):
                flat[i] = SPECIAL[(i // 2 + index * 3) % len(SPECIAL)]
        if dtype in COMPLEX:
            values = torch.complex(values, values.flip(tuple(range(values.dim()))))
        elif dtype == "bool":
            values = values > (samples.high + samples.low) / 2
        elif dtype in ("u8", "i8", "i16", "i32", "i64"):
            values = values.abs() if dtype == "u8" else values
        made = values.to(getattr(torch, TORCH_NAMES[dtype]))
        return made.permute(tuple(reversed(range(len(shape))))) if layout == "transposed" else made


def row_cases(row: OpDef) -> Iterator[tuple[RowCase, Func]]:
    """All dtypes with the first shapes, all shapes with the first dtype; every variation."""
    samples = row.samples
    assert samples is not None
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


def _case(
    row: OpDef, dtype: str, shapes: Shapes, extra: tuple[Any, ...], numbers: tuple[Any, ...]
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
    types: tuple[Type, ...] | None = (PACKED,) if row.name == "pack_linear" else None
    op = build.op(row.name, operands, LOC, types=types, **attrs)
    results = [v for v in op.results if v.type != PACKED] or ([tensors[0]] if row.writes else [])
    build.op("return", results, LOC)
    text = "_".join([row.name.replace(".", "_"), dtype, *("x".join(map(str, s)) or "s" for s in shapes)])
    case = RowCase(row, text, dtypes, tuple(kept), given, bool(numbers))
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
        elif arg.type == "ScalarType" and not (arg.keyword_only is False and extra):
            attrs[arg.name] = "bool" if row.name in ("all", "any") else dtype
        else:
            attrs[arg.name] = extra.pop(0)
    return operands, attrs


def row_module(rows: list[OpDef], name: str) -> tuple[Module, list[RowCase]]:
    module, cases = Module(name), []
    for row in rows:
        for case, func in row_cases(row):
            func.name = case.name = f"{case.name}_{len(cases)}"
            module.funcs[func.name] = func
            module.entries.append(func.name)
            cases.append(case)
    return module, cases
