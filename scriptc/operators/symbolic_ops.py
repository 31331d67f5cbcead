"""The ops that a symbolic run does not leave to their references: checks, effects, views by index, and containers."""

from __future__ import annotations

import math
from typing import Any

from scriptc.ir.core import Op
from scriptc.ir.op_references import reference
from scriptc.operators.symbolic_run import DEPENDS_ON_DATA, Env, SymbolicRun, runs
from scriptc.operators.symbolic_values import (
    UNDEFINED,
    UNKNOWN,
    Items,
    Maybe,
    Reference,
    Repeated,
    Unknown,
    Varying,
    depends_on_data,
    length,
)


@runs("check")
def do_check(run: SymbolicRun, op: Op, operands: list[Any], env: Env) -> list[Any]:
    """Raise what the check certainly raises. A check that depends on data passes."""
    if any(depends_on_data(v) or isinstance(v, (Unknown, Reference, Maybe)) for v in operands):
        return []
    try:
        run.concrete.apply(op.attrs["of"], operands, {k: v for k, v in op.attrs.items() if k != "of"})
    except DEPENDS_ON_DATA:
        pass
    except Exception as error:
        run.fail(error)
    return []


@runs(
    "check.bound", "check.free", "check.unpack", "check.step", "check.store", "check.leaf", "check.detached",
    "check.overlap", "user_gradient", "checkpoint.begin", "checkpoint.end", "copy_", "state.set",
    "kept.put", "print", "warn", "dict.unchanged",
)  # fmt: skip
def do_nothing(run: SymbolicRun, op: Op, operands: list[Any], env: Env) -> list[Any]:
    return []


@runs("const")
def do_const(run: SymbolicRun, op: Op, operands: list[Any], env: Env) -> list[Any]:
    return [op.attrs["value"]]


@runs("param")
def do_param(run: SymbolicRun, op: Op, operands: list[Any], env: Env) -> list[Any]:
    return [run.params[op.attrs["name"]]]


@runs("undef")
def do_undef(run: SymbolicRun, op: Op, operands: list[Any], env: Env) -> list[Any]:
    return [UNDEFINED]


@runs("exc.is", "kept.has", "hash")
def do_unknown(run: SymbolicRun, op: Op, operands: list[Any], env: Env) -> list[Any]:
    return [run.unknown(op.result.type)]


@runs("select")
def do_select(run: SymbolicRun, op: Op, operands: list[Any], env: Env) -> list[Any]:
    x, dim = operands[0], op.attrs["dim"]
    kept = [d for d in range(x.dim()) if d != dim % max(x.dim(), 1)]
    return [x.new_empty_strided([x.shape[d] for d in kept], [x.stride(d) for d in kept])]


@runs("slice")
def do_slice(run: SymbolicRun, op: Op, operands: list[Any], env: Env) -> list[Any]:
    if any(depends_on_data(v) for v in operands[1:]):
        x, dim = operands[0], op.attrs["dim"]
        sizes = tuple(None if d == dim % max(x.dim(), 1) else n for d, n in enumerate(x.shape))
        return [run.values.tensor(x.dtype, sizes)]
    return run.apply(op, operands)


# ---- tuples, lists, objects, cells ----


@runs("tuple", "tuple.new")
def do_tuple(run: SymbolicRun, op: Op, operands: list[Any], env: Env) -> list[Any]:
    return [tuple(operands)] if op.name == "tuple" else [run.new(Items(tuple(operands)))]


@runs("tuple.get")
def do_tuple_get(run: SymbolicRun, op: Op, operands: list[Any], env: Env) -> list[Any]:
    whole = operands[0]
    return [whole[op.attrs["index"]] if isinstance(whole, tuple) else run.unknown(op.result.type)]


@runs("list.new", "object.new", "cell.new")
def do_new(run: SymbolicRun, op: Op, operands: list[Any], env: Env) -> list[Any]:
    return [run.new(Items(tuple(operands)))]


@runs("list.len")
def do_list_len(run: SymbolicRun, op: Op, operands: list[Any], env: Env) -> list[Any]:
    return [length(run.heap[operands[0]])]


@runs("list.append")
def do_list_append(run: SymbolicRun, op: Op, operands: list[Any], env: Env) -> list[Any]:
    held = run.heap[operands[0]]
    if isinstance(held, Items):
        run.put(operands[0], Items((*held.values, operands[1])))
    else:
        item = run.values.alike(held.item, run.values.generalized(operands[1]))
        run.put(operands[0], Repeated(item, held.length + 1))
    return []


@runs("list.set", "list.put")
def do_list_set(run: SymbolicRun, op: Op, operands: list[Any], env: Env) -> list[Any]:
    place, index, new = operands
    held = run.heap[place]
    if isinstance(held, Repeated):
        run.put(place, Repeated(run.values.alike(held.item, run.values.generalized(new)), held.length))
    elif isinstance(index, int):
        at = index % max(len(held.values), 1)
        run.put(place, Items((*held.values[:at], new, *held.values[at + 1 :])))
    else:
        run.put(place, Items(tuple(run.values.joined(value, new, (), run.same) for value in held.values)))
    return []


@runs("list.get", "list.at")
def do_list_get(run: SymbolicRun, op: Op, operands: list[Any], env: Env) -> list[Any]:
    held, index = run.heap[operands[0]], operands[1]
    if isinstance(held, Items) and isinstance(index, int):
        return [held.values[index]]
    if isinstance(held, Items) and len({id(v) for v in held.values}) == 1:
        return [held.values[0]]
    item = run.values.summary(held)
    return [run.unknown(op.result.type) if item is None else run.typed(run.values.one_of(item), op.result.type)]


@runs("list.slice", "list.repeat", "tuple.of", "tuple.join")
def do_list_part(run: SymbolicRun, op: Op, operands: list[Any], env: Env) -> list[Any]:
    contents = [run.heap[v] for v in operands if isinstance(v, Reference)]
    held = [each.values for each in contents if isinstance(each, Items)]
    if len(held) == len(contents) and all(isinstance(v, (int, Reference)) for v in operands):
        given = [held[0], *(held[1:] if op.name == "tuple.join" else operands[1:])]
        made = given[0][slice(*given[1:])] if op.name == "list.slice" else reference(op.name)(*given)
        return [run.new(Items(tuple(made)))]
    items = [*map(run.values.summary, contents)]
    item = items[0] if len(items) == 1 else run.values.alike(*items)
    lengths = [*map(length, contents)]
    if op.name == "list.slice":
        return [run.new(Repeated(item, run.values.size()))]
    return [run.new(Repeated(item, math.prod([*lengths, operands[1]]) if op.name == "list.repeat" else sum(lengths)))]


@runs("list.insert", "list.delete", "list.splice")
def do_list_change(run: SymbolicRun, op: Op, operands: list[Any], env: Env) -> list[Any]:
    held = run.heap[operands[0]]
    item, new = run.values.summary(held), operands[-1]
    grows = {"list.insert": 1, "list.delete": -1}.get(op.name)
    if op.name == "list.insert":
        item = run.values.alike(item, run.values.generalized(new))
    elif op.name == "list.splice" and isinstance(new, Reference):
        item = run.values.alike(item, run.values.summary(run.heap[new]))
    run.put(operands[0], Repeated(item, run.values.size() if grows is None else length(held) + grows))
    return []


@runs("cell.get", "object.get")
def do_get(run: SymbolicRun, op: Op, operands: list[Any], env: Env) -> list[Any]:
    held = run.heap[operands[0]]
    assert isinstance(held, Items)
    return [held.values[op.attrs.get("field", 0)]]


@runs("cell.set", "object.set")
def do_set(run: SymbolicRun, op: Op, operands: list[Any], env: Env) -> list[Any]:
    held, place = run.heap[operands[0]], op.attrs.get("field", 0)
    assert isinstance(held, Items)
    run.put(operands[0], Items((*held.values[:place], operands[1], *held.values[place + 1 :])))
    return []


@runs("optional.present")
def do_optional_present(run: SymbolicRun, op: Op, operands: list[Any], env: Env) -> list[Any]:
    return [UNKNOWN if isinstance(operands[0], (Maybe, Unknown)) else operands[0] is not None]


@runs("optional.unwrap")
def do_optional_unwrap(run: SymbolicRun, op: Op, operands: list[Any], env: Env) -> list[Any]:
    value = operands[0].value if isinstance(operands[0], Maybe) else operands[0]
    return [run.typed(value, op.result.type)]


@runs("stack", "cat")
def do_joined(run: SymbolicRun, op: Op, operands: list[Any], env: Env) -> list[Any]:
    """Join the tensors of a list. Those of a list of any length have the sizes that stand for all."""
    held, dim = run.heap[operands[0]], op.attrs["dim"]
    if isinstance(held, Items):
        return run.apply(op, [list(held.values)])
    if not isinstance(held.item, Varying):
        return [run.unknown(op.result.type)]
    sizes = list(held.item.sizes)
    if op.name == "stack":
        sizes.insert(dim % (len(sizes) + 1), held.length)
    else:
        at = dim % max(len(sizes), 1)
        sizes[at] = None if sizes[at] is None else held.length * sizes[at]
    return [run.values.tensor(held.item.dtype, tuple(sizes))]
