"""Statements. The reader follows control flow that is decided at compile time, and builds IR for all other."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from scriptc.frontend.environment.state import delete_attribute, is_plain_attribute
from scriptc.frontend.operations.formatting import joined, raise_with
from scriptc.frontend.operations.materialize import any_length, new_list
from scriptc.frontend.operations.objects import delete_attribute_of_object
from scriptc.frontend.operations.runtime_dicts import refuse_item_sets
from scriptc.frontend.reader.constant_demand import demand_constant
from scriptc.frontend.reader.dispatch import STATEMENTS, runs
from scriptc.frontend.reader.errors import NeedsKnown, Poisoned, Restart, Terminated, UserError
from scriptc.frontend.reader.iterables import item_at
from scriptc.frontend.reader.jumps import leave_with
from scriptc.frontend.reader.names import load
from scriptc.frontend.reader.paths import (
    Env,
    branch,
    changed,
    fill_exits,
    note_change,
    plan_joins,
    rebind,
    splice_block,
)
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.rejections import STATEMENTS_AND_EXPRESSIONS
from scriptc.frontend.source.nodes import all_nodes, returns
from scriptc.frontend.source.scope import assigned, declared, shared_names
from scriptc.frontend.source.stack_room import require_room
from scriptc.frontend.values.abstract import (
    AbstractValue,
    Closure,
    DictValue,
    Ident,
    Known,
    ListValue,
    Poison,
    RuntimeValue,
    TupleValue,
    Unbound,
)
from scriptc.frontend.values.alternatives import present
from scriptc.frontend.values.frame import Frame
from scriptc.frontend.values.predicates import (
    has_alternatives,
    is_known,
    is_made_list,
    is_object,
    is_plain_tuple,
    is_tensor,
)
from scriptc.frontend.values.verb import Verb
from scriptc.frontend.values.verbs import describe, is_run_time
from scriptc.ir.core import Block, Value


def run(reader: Reader, stmts: Sequence[ast.stmt]) -> bool:
    for i, stmt in enumerate(stmts):
        behind = stmts[i + 1 :]
        if behind and isinstance(stmt, ast.If) and ("if", reader.position.loc_of(stmt)) in reader.assumptions.split:
            return run_statement(reader, stmt, behind)
        if not run_statement(reader, stmt):
            return False
    return True


def run_statement(reader: Reader, stmt: ast.stmt, behind: Sequence[ast.stmt] = ()) -> bool:
    """Read a statement. behind: the statements that each path of an `if` reads for itself."""
    saved, reader.position.node = reader.position.node, stmt
    try:
        if isinstance(stmt, ast.If):
            return run_if(reader, stmt, behind)
        handler = STATEMENTS.get(type(stmt))
        if handler is None:
            reader.reject(STATEMENTS_AND_EXPRESSIONS[type(stmt)])
        return handler(reader, stmt)
    except Terminated:
        return False
    except Poisoned:
        return poison(reader, stmt, *behind)
    except NeedsKnown as e:
        demand_constant(reader, e.value, e.error.message)
        reader.diagnostics.report(e.error)
        return poison(reader, stmt, *behind)
    except UserError as e:
        reader.diagnostics.report(e)
        return poison(reader, stmt, *behind)
    except (RecursionError, Restart):
        raise
    except Exception as e:
        reader.position.note_fault(e)
        raise
    finally:
        reader.position.node = saved


def poison(reader: Reader, *stmts: ast.stmt) -> bool:
    """Poison the names or the result of statements in error, so that no second error reports them."""
    reader.diagnostics.poisoned = True
    for name in assigned(stmts):
        reader.position.frame.locals[name] = Poison()
    if isinstance(stmts[-1], ast.Return):
        leave_with(reader, Poison())
        return False
    return True


# ---- simple statements ----


@runs(ast.Pass)
def run_pass(reader: Reader, node: ast.Pass) -> bool:
    return True


@runs(ast.Expr)
def run_expr(reader: Reader, node: ast.Expr) -> bool:
    if not isinstance(node.value, ast.Constant):
        reader.evaluate(node.value)
    return True


@runs(ast.Assign)
def run_assign(reader: Reader, node: ast.Assign) -> bool:
    value = reader.evaluate(node.value)
    for target in node.targets:
        assign(reader, target, value)
    return True


@runs(ast.AnnAssign)
def run_ann_assign(reader: Reader, node: ast.AnnAssign) -> bool:
    if node.value is not None:
        assign(reader, node.target, reader.evaluate(node.value))
    return True


@runs(ast.AugAssign)
def run_aug_assign(reader: Reader, node: ast.AugAssign) -> bool:
    op = type(node.op).__name__
    match node.target:
        case ast.Name():
            assign(reader, node.target, reader.inplace(op, reader.evaluate(node.target), reader.evaluate(node.value)))
        case ast.Subscript():
            owner, index = reader.evaluate(node.target.value), reader.evaluate(node.target.slice)
            old = reader.subscript(owner, index)
            new = reader.inplace(op, old, reader.evaluate(node.value))
            if new is not old or not isinstance(owner, (Known, DictValue, ListValue)):  # else it was changed in place
                reader.store_item(owner, index, new)
        case _:
            owner, name = reader.evaluate(node.target.value), node.target.attr
            old = reader.attribute(owner, name)
            new = reader.inplace(op, old, reader.evaluate(node.value))
            as_it_was = new is old and (is_plain_attribute(owner, name) or is_tensor(owner) and name == "data")
            if not as_it_was:
                reader.store_attribute(owner, name, new)
    return True


@runs(ast.Delete)
def run_delete(reader: Reader, node: ast.Delete) -> bool:
    for target in node.targets:
        delete(reader, target)
    return True


def delete(reader: Reader, target: ast.expr) -> None:
    match target:
        case ast.Name(id=name):
            load(reader, name)
            bind_name(reader, name, Unbound())
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            for t in targets:
                delete(reader, t)
        case ast.Subscript():
            reader.delete_item(reader.evaluate(target.value), reader.evaluate(target.slice))
        case ast.Attribute():
            delete_attribute_of(reader, reader.evaluate(target.value), target.attr)


def delete_attribute_of(reader: Reader, owner: AbstractValue, name: str) -> None:
    """Execute `del owner.name`."""
    if is_known(owner):
        delete_attribute(reader, owner.obj, name)
        return
    if not is_object(owner):
        reader.reject("attribute_deleted", what=describe(owner))
    delete_attribute_of_object(reader, owner, name)


@runs(ast.Assert)
def run_assert(reader: Reader, node: ast.Assert) -> bool:
    if not __debug__:  # `python -O` compiles no assertions
        return True
    condition = reader.test(node.test)
    if is_known(condition) and condition.obj:
        return True

    def fails() -> bool:
        if node.msg is None:
            reader.emit.raise_error("AssertionError", "")
        raise_with(reader, "AssertionError", reader.evaluate(node.msg))

    if is_known(condition):
        return fails()
    return reader.branch(condition, lambda: True, fails, frozenset())


@runs(ast.Import)
def run_import(reader: Reader, node: ast.Import) -> bool:
    import sys

    for alias in node.names:
        module = sys.modules.get(alias.name)
        if module is None:
            reader.reject("import_of_new", name=alias.name)
        name = alias.asname or alias.name.split(".")[0]
        bind_name(reader, name, Known(module if alias.asname else sys.modules[name]))
    return True


@runs(ast.ImportFrom)
def run_import_from(reader: Reader, node: ast.ImportFrom) -> bool:
    import sys

    module = sys.modules.get(node.module or "")
    for alias in node.names:
        if module is None or node.level or not hasattr(module, alias.name):
            reader.reject("import_unfollowed")
        bind_name(reader, alias.asname or alias.name, Known(getattr(module, alias.name)))
    return True


@runs(ast.FunctionDef)
def run_function_def(reader: Reader, node: ast.FunctionDef) -> bool:
    decorators = [reader.evaluate(d) for d in node.decorator_list]
    made: AbstractValue = closure(reader, node)
    for decorator in reversed(decorators):
        if is_known(decorator) and hasattr(decorator.obj, "__enter__"):
            reader.reject("decorator_inside")
        made = reader.call(decorator, [made], {})
    bind_name(reader, node.name, made)
    return True


def closure(reader: Reader, node: ast.FunctionDef | ast.Lambda) -> Closure:
    defaults = [reader.evaluate(d) for d in node.args.defaults]
    kw_defaults = [None if d is None else reader.evaluate(d) for d in node.args.kw_defaults]
    read = {n.id for n in all_nodes(node) if isinstance(n, ast.Name)}
    scopes = [scope for scope in reader.position.frame.scopes if not read.isdisjoint(scope)]
    return Closure(node, reader.position.frame, defaults, kw_defaults, scopes)


# ---- branches ----


@runs(ast.If)
def run_if(reader: Reader, node: ast.If, behind: Sequence[ast.stmt] = ()) -> bool:
    """Read an `if`. behind: the statements that each path reads for itself, so that the paths join after these."""
    condition = reader.test(node.test)
    if is_known(condition):
        return reader.run([*(node.body if condition.obj else node.orelse), *behind])
    then, orelse = [*node.body, *behind], [*node.orelse, *behind]
    last = behind[-1] if behind else node
    names = assigned([*then, *orelse]) & reader.position.frame.live.after[last]
    return branch(reader, condition, lambda: reader.run(then), lambda: reader.run(orelse), names, splits=True)


# ---- binding ----


def assign(reader: Reader, target: ast.expr, value: AbstractValue) -> None:
    match target:
        case ast.Name(id=name):
            if isinstance(value, RuntimeValue) and not value.value.name and value.value.op is not None:
                value.value.name = name
            if is_made_list(value) and value.value is not None and not value.value.name:
                value.value.name = name
            bind_name(reader, name, value)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            unpack(reader, targets, value)
        case ast.Starred(value=inner):
            assign(reader, inner, value)
        case ast.Subscript():
            reader.store_item(reader.evaluate(target.value), reader.evaluate(target.slice), value)
        case ast.Attribute():
            reader.store_attribute(reader.evaluate(target.value), target.attr, value)
        case _:
            raise AssertionError(target)


def bind_name(reader: Reader, name: str, value: AbstractValue) -> None:
    frame = reader.position.frame
    kind = declared(frame.source.node).get(name)
    if kind is ast.Global:
        reader.reject("global_assigned", name=name)
    if kind is ast.Nonlocal:
        owner = frame.outer
        while owner is not None and name not in owner.cells:
            owner = owner.outer
        if owner is None:
            reader.reject("outer_variable_assigned", name=name)
        reader.heap.contents[owner.cells[name]] = value
        note_change(reader, owner.cells[name])
    elif name in frame.cells:
        reader.heap.contents[frame.cells[name]] = value
        note_change(reader, frame.cells[name])
    else:
        frame.locals[name] = value
        note_change(reader, name)


@runs(ast.Global, ast.Nonlocal)
def run_global(reader: Reader, node: ast.Global | ast.Nonlocal) -> bool:
    return True  # `bind_name` looks at these statements


def unpack(reader: Reader, targets: list[ast.expr], value: AbstractValue) -> None:
    starred = [i for i, t in enumerate(targets) if isinstance(t, ast.Starred)]
    if starred and has_alternatives(value) and is_plain_tuple(value):
        value = ListValue(any_length(reader, value))  # the alternatives differ in length
    if starred and not has_alternatives(value) and is_run_time(reader, value):
        value = value if is_made_list(value) else reader.call(Known(list), [value], {})
    if starred and is_made_list(value) and is_run_time(reader, value):
        items = unpacked_around(reader, value, starred[0], len(targets) - starred[0] - 1)
    else:
        items = unpacked(reader, value, None if starred else len(targets))
        items = with_rest(reader, items, starred[0], len(targets)) if starred else items
    for t, item in zip(targets, items, strict=True):
        assign(reader, t, item)


def with_rest(reader: Reader, items: list[AbstractValue], at: int, count: int) -> list[AbstractValue]:
    """Return known items as `count` targets take them. The target at one position is starred."""
    after = count - at - 1
    if len(items) < count - 1:
        reader.emit.raise_error(
            "ValueError", f"not enough values to unpack (expected at least {count - 1}, got {len(items)})"
        )
    rest = new_list(reader, items[at : len(items) - after], (reader.position.loc, "star"))
    return [*items[:at], rest, *items[len(items) - after :]]


def unpacked_around(reader: Reader, value: ListValue, before: int, after: int) -> list[AbstractValue]:
    """Return the items that `*_, rest, *_` takes from a list of run-time length."""
    length = reader.call(Known(len), [value], {})
    enough = reader.compare("GtE", length, Known(before + after))
    message = [Known(f"not enough values to unpack (expected at least {before + after}, got "), length, Known(")")]
    reader.branch(enough, lambda: True, lambda: raise_with(reader, "ValueError", joined(reader, message)), frozenset())
    last = reader.binary("Sub", length, Known(after))
    rest = reader.call(
        Known(list), [reader.subscript(value, TupleValue([Known(before), last, Known(None)], slice))], {}
    )
    return [
        *(item_at(reader, value, i) for i in range(before)), rest, *(item_at(reader, value, i - after) for i in range(after))
    ]  # fmt: skip


@Verb
def unpacked_items(reader: Reader, value: AbstractValue, count: int | None) -> list[AbstractValue]:
    """Return the items of an unpacked value. If the length is known only at run time, check that there are `count`."""
    return reader.iterate(value)


def counted_items(reader: Reader, value: AbstractValue, length: Value, count: int) -> list[AbstractValue]:
    """Return `count` items of a value of run-time length."""
    reader.emit.effect("check.unpack", [length], count=count)
    return [item_at(reader, value, i) for i in range(count)]


def unpacked(reader: Reader, value: AbstractValue, count: int | None) -> list[AbstractValue]:
    """Return the items of a value that is unpacked into `count` targets. None accepts any number."""
    value = present(reader, value, "TypeError", "cannot unpack non-iterable NoneType object")
    refuse_item_sets(reader, value)
    found = unpacked_items(reader, value, count)
    if count is not None and len(found) != count:
        if len(found) > count:
            reader.emit.raise_error("ValueError", f"too many values to unpack (expected {count})")
        reader.emit.raise_error("ValueError", f"not enough values to unpack (expected {count}, got {len(found)})")
    return found


# ---- functions ----


def _returns_inside(body: Sequence[ast.stmt]) -> bool:
    """Return whether the last statement of a function is a compound one that returns."""
    last = body[-1:]
    return any(map(returns, last)) and not isinstance(last[0], ast.Return)


def inline(reader: Reader, frame: Frame, body: Sequence[ast.stmt]) -> AbstractValue:
    """Read the body of an inlined function; return its result."""
    frame.label = reader.emit.fresh_label()
    mark, before = Ident().serial, dict(reader.heap.contents)
    if not any(map(returns, body[:-1])) and not _returns_inside(body):
        frame.block, frame.called_in = Block(), reader.emit.builder.block
    with reader.emit.builder.at(frame.block or Block()) as block:
        reader.position.frames.append(frame)
        saved, reader.position.node = reader.position.node, frame.source.node
        try:
            enter(reader, frame)
            if reader.run(body):
                leave_with(reader, Known(None))
        finally:
            reader.position.node = saved
            reader.position.frames.pop()
    sites = frame.returns
    if not sites:
        splice_block(reader, block)
        raise Terminated
    if len(sites) == 1 and block.ops[-1] is sites[0].op:
        sites[0].op.erase()
        splice_block(reader, block)
        reader.heap.contents = sites[0].heap
        return sites[0].av
    result = "·result of " + frame.source.name
    envs: list[Env] = [{result: s.av, **s.heap} for s in sites]
    keys = {k for env in envs for k in changed(before, env, mark)}
    keys |= {*frame.cells.values()} if frame.is_kept else set()
    reader.heap.contents = before
    plans = plan_joins(reader, keys, envs, fresh=True, mark=mark)
    fill_exits(reader, [(s.op, env) for s, env in zip(sites, envs, strict=True)], plans, envs)
    types = [t for plan in plans.values() for t in plan.types()]
    op = reader.emit.builder.op("scope", (), reader.position.loc, regions=[block], types=types, label=frame.label)
    rebind(reader, plans, op.results, envs, mark)
    return reader.position.frame.locals.pop(result)


def enter(reader: Reader, frame: Frame) -> None:
    """Move variables that inner functions assign to the heap."""
    require_room(reader.position.stack_left, frame.source.node, frame.source.loc(frame.source.node, frame.inlined_at))
    for name in shared_names(frame.source.node):
        cell = frame.cells[name] = Ident(name)
        reader.heap.contents[cell] = frame.locals.pop(name, Unbound())
