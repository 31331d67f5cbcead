"""Expressions. Operands are evaluated once each, from left to right."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Sequence
from functools import partial

from scriptc.frontend.environment.state import open_queue
from scriptc.frontend.environment.watching import call_in_python
from scriptc.frontend.operations.logic import negated
from scriptc.frontend.operations.materialize import make_tuple, new_list
from scriptc.frontend.operations.runtime_dicts import is_dict_like, new_dict, new_set
from scriptc.frontend.operations.tuples import tuple_of_items
from scriptc.frontend.reader.comprehensions import SET_METHODS, display
from scriptc.frontend.reader.dispatch import EXPRESSIONS, reads
from scriptc.frontend.reader.errors import Poisoned
from scriptc.frontend.reader.names import load
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.statements import assign, closure
from scriptc.frontend.rejections import STATEMENTS_AND_EXPRESSIONS
from scriptc.frontend.values.abstract import AbstractValue, Known, Poison, TupleValue
from scriptc.frontend.values.alternatives import split_all
from scriptc.frontend.values.predicates import has_method, is_known, is_object
from scriptc.frontend.values.verbs import class_name_of, dict_behind


def evaluate(reader: Reader, node: ast.expr) -> AbstractValue:
    saved, reader.position.node = reader.position.node, node
    try:
        cls = type(node)
        if cls not in EXPRESSIONS:
            reader.reject(STATEMENTS_AND_EXPRESSIONS[cls])
        av = EXPRESSIONS[cls](reader, node)
    finally:
        reader.position.node = saved
    if isinstance(av, Poison):
        raise Poisoned
    if isinstance(av, Known) and isinstance(av.obj, deque):
        if type(av.obj) is deque:
            open_queue(reader, av.obj)
        reader.reject("content_unguarded", kind=type(av.obj).__name__)
    return av


@reads(ast.Constant)
def read_constant(reader: Reader, node: ast.Constant) -> AbstractValue:
    return Known(node.value)


@reads(ast.Name)
def read_name(reader: Reader, node: ast.Name) -> AbstractValue:
    return load(reader, node.id)


@reads(ast.Attribute)
def read_attribute(reader: Reader, node: ast.Attribute) -> AbstractValue:
    return reader.attribute(reader.evaluate(node.value), node.attr)


@reads(ast.BinOp)
def read_bin_op(reader: Reader, node: ast.BinOp) -> AbstractValue:
    left = reader.evaluate(node.left)
    return reader.binary(type(node.op).__name__, left, reader.evaluate(node.right))


@reads(ast.UnaryOp)
def read_unary_op(reader: Reader, node: ast.UnaryOp) -> AbstractValue:
    return reader.unary(node.op, reader.evaluate(node.operand))


@reads(ast.Compare)
def read_compare(reader: Reader, node: ast.Compare) -> AbstractValue:
    return chain(reader, reader.evaluate(node.left), list(zip(node.ops, node.comparators, strict=True)))


def chain(reader: Reader, left: AbstractValue, rest: list[tuple[ast.cmpop, ast.expr]]) -> AbstractValue:
    """Return `a < b < c`. `b` is evaluated once, and `c` only if `a < b`."""
    (op, node), *more = rest
    right = reader.evaluate(node)
    result = reader.compare(type(op).__name__, left, right)
    if not more:
        return result
    return reader.choose(reader.truth(result), lambda: chain(reader, right, more), lambda: result)


@reads(ast.BoolOp)
def read_bool_op(reader: Reader, node: ast.BoolOp) -> AbstractValue:
    return boolean(reader, isinstance(node.op, ast.And), node.values)


def boolean(reader: Reader, is_and: bool, nodes: Sequence[ast.expr]) -> AbstractValue:
    first, *rest = nodes
    value = reader.evaluate(first)
    if not rest:
        return value
    more = lambda: boolean(reader, is_and, rest)  # noqa: E731
    then, orelse = (more, lambda: value) if is_and else (lambda: value, more)
    return reader.choose(reader.truth(value), then, orelse)


def test(reader: Reader, node: ast.expr) -> AbstractValue:
    """Return the truth of an expression, as an `if` asks for it. `and` and `or` then need no common type."""
    match node:
        case ast.BoolOp(op=op, values=[first, *rest]):
            value = reader.test(first)
            if not rest:
                return value
            more = lambda: reader.test(ast.copy_location(ast.BoolOp(op, rest), node))  # noqa: E731
            then, orelse = (more, lambda: value) if isinstance(op, ast.And) else (lambda: value, more)
            return reader.choose(value, then, orelse)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return negated(reader, reader.test(operand))
    saved, reader.position.node = reader.position.node, node
    try:
        return reader.truth(reader.evaluate(node))
    finally:
        reader.position.node = saved


@reads(ast.IfExp)
def read_if_exp(reader: Reader, node: ast.IfExp) -> AbstractValue:
    return reader.choose(
        reader.test(node.test), lambda: reader.evaluate(node.body), lambda: reader.evaluate(node.orelse)
    )


# ---- displays ----


@reads(ast.Tuple)
def read_tuple(reader: Reader, node: ast.Tuple) -> AbstractValue:
    items, grown = display(reader, node.elts, lambda: new_list(reader, [], (reader.position.loc, "tuple")))
    return make_tuple(items) if grown is None else tuple_of_items(reader, grown)


@reads(ast.List)
def read_list(reader: Reader, node: ast.List) -> AbstractValue:
    site = (reader.position.loc, "list")
    items, grown = display(reader, node.elts, lambda: new_list(reader, [], site))
    return new_list(reader, items, site) if grown is None else grown


@reads(ast.Dict)
def read_dict(reader: Reader, node: ast.Dict) -> AbstractValue:
    site = (reader.position.loc, "dict")
    pairs: list[tuple[AbstractValue, AbstractValue]] = []
    made: AbstractValue | None = None
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        key = None if key_node is None else reader.evaluate(key_node)
        value = reader.evaluate(value_node)
        if key is not None and made is None:
            pairs.append((key, value))
            continue
        made = new_dict(reader, pairs, site) if made is None else made
        if key is None:
            split_all(reader, [value], partial(merge_dict, reader, made))
        else:
            reader.store_item(made, key, value)
    return new_dict(reader, pairs, site) if made is None else made


def merge_dict(reader: Reader, made: AbstractValue, avs: Sequence[AbstractValue]) -> AbstractValue:
    """Execute `**av` in the display of a dict; avs: this one value."""
    (av,) = avs
    by_keys = is_object(av) and has_method(av.cls, "keys")
    if not is_dict_like(dict_behind(reader, av)) and not by_keys:
        reader.emit.raise_error("TypeError", f"'{class_name_of(reader, av)}' object is not a mapping")
    return reader.call(reader.attribute(made, "update"), [av], {})


@reads(ast.NamedExpr)
def read_named_expr(reader: Reader, node: ast.NamedExpr) -> AbstractValue:
    value = reader.evaluate(node.value)
    assign(reader, node.target, value)
    return value


@reads(ast.Set)
def read_set(reader: Reader, node: ast.Set) -> AbstractValue:
    site = (reader.position.loc, "set")
    items, grown = display(reader, node.elts, lambda: new_set(reader, [], site), SET_METHODS)
    if grown is not None:
        return grown
    if len(items) > 2 and all(isinstance(n, ast.Constant) for n in node.elts):
        items = reader.iterate(call_in_python(reader, frozenset, tuple(i.obj for i in items if is_known(i))))
    return new_set(reader, items, site)


@reads(ast.Lambda)
def read_lambda(reader: Reader, node: ast.Lambda) -> AbstractValue:
    return closure(reader, node)


@reads(ast.Slice)
def read_slice(reader: Reader, node: ast.Slice) -> AbstractValue:
    parts = [Known(None) if p is None else reader.evaluate(p) for p in (node.lower, node.upper, node.step)]
    if all(is_known(p) for p in parts):
        return Known(slice(*(p.obj for p in parts if is_known(p))))
    return TupleValue(parts, slice)


@reads(ast.Subscript)
def read_subscript(reader: Reader, node: ast.Subscript) -> AbstractValue:
    owner = reader.evaluate(node.value)
    return reader.subscript(owner, reader.evaluate(node.slice))
