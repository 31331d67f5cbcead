"""Fold constant numbers, branches on constants, constant sizes, proved checks and loops of zero iterations.

    %a = const() {value = 2} -> (i64)                 %c = const() {value = 6} -> (i64)
    %b = const() {value = 3} -> (i64)                 return(%c)
    %c = int.mul(%a, %b) -> (i64)            =>
    %n = size(%x) {dim = 1} -> (i64)                  (%x: f32[B, 16], so %n is 16)
    check(%x, %x) {of = "add"}                        (gone: proved by the types)

Ops that would raise are left. Types of results are refined where types of operands were.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from scriptc.ir.analysis import may_be_leaf, may_stand_for
from scriptc.ir.core import Module, Op
from scriptc.ir.opdef import TypeRuleError
from scriptc.ir.ops import OPS
from scriptc.ir.ops.checks import is_proved
from scriptc.ir.ranges import UNKNOWN, constant, constant_int, in_dim, iterations
from scriptc.ir.regions import exits, is_loop, target
from scriptc.ir.rewrite import Rewriter, Rule, fits, inlines, on, rewrite
from scriptc.ir.shapes import Shapes
from scriptc.ir.types import ScalarType, TensorType, Type, join_dim

_PYTHON_TYPES = {"i64": int, "f64": float, "bool": bool, "str": str}
_LONGEST_SHIFT = 63  # a longer shift gives an int beyond i64, and may exhaust memory


@cache
def _python_function(name: str) -> Callable[..., Any] | None:
    """Return the reference of a row if it is a Python function on numbers and strings."""
    module, _, attr = name.rpartition(".")
    return getattr(importlib.import_module(module), attr) if module in ("operator", "builtins", "math") else None


def _evaluate(op: Op) -> Any:
    """Return the value of a scalar op on constants; UNKNOWN if it raises or does not fit the result's type."""
    ref = op.defn.ref
    function = _python_function(ref) if ref else None
    operands = [constant(v) for v in op.operands]
    if function is None or not operands or any(v is UNKNOWN for v in operands):
        return UNKNOWN
    if op.name == "str.repeat":  # the result may exhaust memory
        return UNKNOWN
    if op.name in ("int.lshift", "int.pow") and not 0 <= operands[1] <= _LONGEST_SHIFT:  # type: ignore[operator]
        return UNKNOWN
    try:
        value = function(*operands)
    except (ArithmeticError, ValueError, TypeError, IndexError):
        return UNKNOWN
    t = op.result.type
    if not isinstance(t, ScalarType) or type(value) is not _PYTHON_TYPES.get(t.name):
        return UNKNOWN
    return UNKNOWN if isinstance(value, int) and not -(2**63) <= value < 2**63 else value


def fold_scalar(op: Op, rw: Rewriter) -> bool:
    if not op.has("PURE") or len(op.results) != 1 or (value := _evaluate(op)) is UNKNOWN:
        return False
    rw.replace(op, [rw.const_before(op, value)])
    return True


@on("size", "numel")
def fold_size(op: Op, rw: Rewriter) -> bool:
    t = op.operands[0].type
    if not isinstance(t, TensorType) or t.dims is None:
        return False
    dims = t.dims if op.name == "numel" else (t.dims[op.attrs["dim"]],)
    product = 1
    for d in dims:
        if not isinstance(d, int):
            return False
        product *= d
    if product >= 2**63:  # the view before this op raises
        return False
    rw.replace(op, [rw.const_before(op, product)])
    return True


def _check_folder() -> Rule:
    shapes = Shapes()  # one for all checks, so that each value is searched once

    @on("check", "check.bound", "check.free", "check.unpack", "check.step", "check.leaf", "check.detached", "check.store")
    def fold_check(op: Op, rw: Rewriter) -> bool:
        """Remove a check that its operands prove."""
        if not _cannot_fail(op, shapes):
            return False
        rw.erase_unused(op)
        return True

    return fold_check


def _cannot_fail(op: Op, shapes: Shapes) -> bool:
    match op.name:
        case "check":
            attrs = {k: v for k, v in op.attrs.items() if k != "of"}
            kind = OPS[op.attrs["of"]].check
            if kind == "select":
                return in_dim(op.operands[1], op.operands[0], attrs["dim"])
            if kind is not None and is_proved(kind, op.operands, attrs):
                return True
            return kind == "broadcast" and shapes.are_broadcast(op.operands)
        case "check.bound" | "check.free":
            return constant(op.operands[0]) is True
        case "check.unpack":
            return constant_int(op.operands[0]) == op.attrs["count"]
        case "check.step":
            return constant_int(op.operands[0]) not in (None, 0)
        case "check.leaf" | "check.detached":
            return not may_be_leaf(op.operands[0])
        case "check.store":
            dst, src = op.operands
            return shapes.fits_into(src, dst)
    return False


@on("if")
def fold_if(op: Op, rw: Rewriter) -> bool:
    if (value := constant(op.operands[0])) is UNKNOWN:
        return False
    region = op.regions[0 if value else 1]
    if not inlines(op, region):
        return False
    rw.inline_region(op, region)
    return True


def fold_loop(op: Op, rw: Rewriter) -> bool:
    """Replace a loop of zero iterations by its initial values."""
    if not is_loop(op) or iterations(op) != 0 or not all(map(fits, op.operands[3:], op.results)):
        return False
    rw.replace(op, op.operands[3:])
    return True


@on("tuple.get")
def fold_tuple_get(op: Op, rw: Rewriter) -> bool:
    if (made := op.operands[0].op) is None or made.name != "tuple":
        return False
    item = made.operands[op.attrs["index"]]
    if not fits(item, op.result):
        return False
    rw.replace(op, [item])
    return True


@on("tuple")
def fold_tuple(op: Op, rw: Rewriter) -> bool:
    """Replace a tuple of all items of a tuple, in order, by that tuple."""
    first = op.operands[0].op if op.operands else None
    whole = first.operands[0] if first is not None and first.name == "tuple.get" else None
    if whole is None or whole.type != op.result.type:
        return False
    for i, item in enumerate(op.operands):
        if item.op is None or item.op.name != "tuple.get" or item.op.operands[0] is not whole or item.op.attrs["index"] != i:
            return False
    rw.replace(op, [whole])
    return True


@on("cast")
def fold_cast(op: Op, rw: Rewriter) -> bool:
    """Fold a conversion to the tensor's own dtype, unless a write or a test of identity can tell the copy from it."""
    if not isinstance(t := op.operands[0].type, TensorType) or t.dtype != op.attrs["dtype"]:
        return False
    if not may_stand_for(op.operands[0], op.result):
        return False
    rw.replace(op, op.operands)
    return True


def _refined(known: Type, found: Type) -> Type:
    """Return `known`, with the sizes that only `found` has."""
    if not isinstance(known, TensorType) or not isinstance(found, TensorType) or known.dtype != found.dtype:
        return known
    if known.dims is None or found.dims is None or len(known.dims) != len(found.dims):
        return known
    dims = tuple(f if k is None else k for k, f in zip(known.dims, found.dims, strict=True))
    return known if dims == known.dims else TensorType(known.dtype, dims)


def refine_types(op: Op, rw: Rewriter) -> bool:
    """Refine the sizes of results by the row's type rule, and those of region results by their exits."""
    if not any(isinstance(r.type, TensorType) and r.type.dims is not None and None in r.type.dims for r in op.results):
        return False
    found = _exit_types(op) if op.regions else _rule_types(op)
    changed = False
    for result, t in zip(op.results, found, strict=False):
        better = _refined(result.type, t)
        if better is not result.type:
            rw.retype(result, better)
            changed = True
    return changed


def _rule_types(op: Op) -> list[Type]:
    try:
        return list(op.defn.infer(op.operands, op.attrs))
    except TypeRuleError:  # constants, weights and calls declare their types
        return []


def _exit_types(op: Op) -> list[Type]:
    if is_loop(op) or not op.has("CONTROL"):
        return []  # the types of all carried values would have to be inferred together
    leaving = [t for t in exits(op) if target(t) is op]
    return [_common([t.operands[k].type for t in leaving], r.type) for k, r in enumerate(op.results)]


def _common(types: list[Type], fallback: Type) -> Type:
    """Return the sizes on which all tensor types agree."""
    tensors = [t for t in types if isinstance(t, TensorType) and t.dims is not None]
    if not tensors or len(tensors) != len(types) or len({(t.dtype, t.rank) for t in tensors}) > 1:
        return fallback
    dims = tensors[0].dims
    for t in tensors[1:]:
        assert dims is not None and t.dims is not None
        dims = tuple(map(join_dim, dims, t.dims))
    return TensorType(tensors[0].dtype, dims)


def run(module: Module, options: Mapping[str, int]) -> bool:
    rules = [fold_scalar, fold_size, _check_folder(), fold_if, fold_loop, fold_tuple_get, fold_tuple, fold_cast, refine_types]
    return rewrite(module, rules)
