"""Compute products of a carried value where the value changes, and carry them with it.

    loop L carry (%h = %a) {                          %p = linear_packed(%a, %w, %b)
      %y = linear_packed(%h, %w, %b)                  loop L carry (%h = %a, %y = %p) {
      ...                                               ...
      if %c { break(%h) } else { yield() }      =>      if %c { break(%h, %y) } else { yield() }
      ...                                               ...
      yield(%g)                                         %q = linear_packed(%g, %w, %b)
    }                                                   yield(%g, %q)
                                                      }

It pays where iterations leave the value as it is: the state of a transducer's predictor, which changes with each label, while a
loop over frames around the loop over labels passes it on. One product more is computed, of the last value. So only products
that cannot raise are carried, and only where no op of the loops may write what they read. A product that is written, or that
escapes, stays, since each iteration makes another tensor.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from scriptc.ir.analysis import (
    escapes,
    interferes,
    is_invariant,
    is_written,
    may_be_undefined,
    passed_undefined,
    writers,
)
from scriptc.ir.builder import Builder
from scriptc.ir.cloning import clone_op
from scriptc.ir.core import Module, Op, Value
from scriptc.ir.regions import RegionArgument, ancestor_in, is_loop, region_argument_of
from scriptc.ir.types import TensorType


@dataclass
class _Product:
    """A product of a value that nested loops carry, inner loops first."""

    op: Op
    carried: list[RegionArgument]


def run(module: Module, options: Mapping[str, int]) -> bool:
    changed = False
    passed = passed_undefined(module)
    for op in [op for op in module.walk() if op.name == "linear_packed"]:
        product = _carried_product(op, passed)
        if product is not None and _pays(product):
            _carry(product)
            changed = True
    return changed


def _carried_product(op: Op, passed: Collection[Value]) -> _Product | None:
    """Return a product of a value that loops carry, if it cannot raise, and no op of the loops may write what it reads."""
    value, *others = op.operands
    inner = region_argument_of(value)
    if inner is None or not is_loop(inner.op) or inner.inner is not value or not _fits(op):
        return None
    if op.parent is not inner.op.regions[0] or not all(is_invariant(v, inner.op) for v in others):
        return None
    carried = [inner]
    while (around := _around(carried[-1])) is not None and all(is_invariant(v, around.op) for v in others):
        carried.append(around)
    loop = carried[-1].op
    if any(interferes(writer, op) for writer in writers(loop)) or escapes(op.result) or is_written(op.result, loop):
        return None
    states = [user.operands[i] for argument in carried for user, i in argument.operands]
    if any(v.type != value.type or may_be_undefined(v, passed) for v in states):
        return None
    return _Product(op, carried)


def _fits(op: Op) -> bool:
    """Return whether the shapes of a product are known and fit."""
    x, packed, bias = (v.type for v in op.operands)
    made = op.operands[1].op
    weights = [w.type for w in made.operands] if made is not None and made.name.startswith("pack_linear") else []
    if not weights or not isinstance(x, TensorType) or not x.dims or not isinstance(x.dims[-1], int):
        return False
    if any(not isinstance(w, TensorType) or w.dims is None or len(w.dims) != 2 or w.dims[1] != x.dims[-1] for w in weights):
        return False
    return not isinstance(bias, TensorType) or bias.dims == (op.attrs["features"],)


def _around(argument: RegionArgument) -> RegionArgument | None:
    """Return the argument of the loop around a loop that only passes the inner loop's argument on."""
    start, result = argument.into_inner[0], argument.result
    around = region_argument_of(start[0].operands[start[1]])
    if around is None or not is_loop(around.op) or start[0].parent is not around.op.regions[0]:
        return None
    passed = [user.operands[i] for user, i in around.operands if user is not around.op]
    return around if around.inner is start[0].operands[start[1]] and all(v in (result, around.inner) for v in passed) else None


def _pays(product: _Product) -> bool:
    """Return whether an iteration that has computed the product may leave the value as it is, and pass it to another one."""
    inner = product.carried[0]
    body = inner.op.regions[0]
    for user, i in inner.operands:
        if user is inner.op or (user.name == "break" and len(product.carried) == 1):
            continue
        at = ancestor_in(body, user)
        if at is not None and product.op.is_before(at) and _may_be(user.operands[i], inner.inner):
            return True
    return False


def _may_be(value: Value, carried: Value | None) -> bool:
    """Return whether a value is a carried one, or the result of branches of which one passes it on."""
    if value is carried:
        return True
    choice = _choice(value)
    return choice is not None and any(_may_be(user.operands[i], carried) for user, i in choice.into_result)


def _choice(value: Value) -> RegionArgument | None:
    return region_argument_of(value) if value.op is not None and value.op.name == "if" else None


def _carry(product: _Product) -> None:
    op = product.op
    products: dict[Value, Value] = {}
    for argument in product.carried:
        assert argument.inner is not None and argument.result is not None
        for old, places in ((argument.inner, argument.op.regions[0].args), (argument.result, argument.op.results)):
            products[old] = Value(op.result.type, old.owner, op.result.name)
            places.append(products[old])
    for argument in product.carried:
        for user, i in argument.operands:
            user.set_operands([*user.operands, _product_of(product, user.operands[i], user, products)])
    inner = product.carried[0].inner
    assert inner is not None
    op.replace_with([products[inner]])


def _product_of(product: _Product, value: Value, user: Op, products: dict[Value, Value]) -> Value:
    """Return the product of a value that `user` passes on: one that is carried, of branches, or a new one."""
    if value in products:
        return products[value]
    inner, choice = product.carried[0], _choice(value)
    if choice is not None and inner.op.regions[0].encloses(value.block) and _may_be(value, inner.inner):
        made = Value(product.op.result.type, choice.op, product.op.result.name)
        for leaving, i in choice.into_result:
            leaving.set_operands([*leaving.operands, _product_of(product, leaving.operands[i], leaving, products)])
        choice.op.results.append(made)
        products[value] = made
        return made
    return clone_op(Builder.before(user), product.op, {}, operands=[value, *product.op.operands[1:]]).result
