"""Fill the `return` ops of a function in, once all of them are known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scriptc.frontend.environment.context_variables import refuse_changed_variables
from scriptc.frontend.environment.specs import ConstantSpec, Spec
from scriptc.frontend.environment.state import check_returned
from scriptc.frontend.reader.errors import Conflict, ItemConflict, UserError
from scriptc.frontend.reader.paths import identities, repeated_lists, settle_leaving
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.rejections import rejection
from scriptc.frontend.values.abstract import AbstractValue, KnownSet
from scriptc.frontend.values.frame import ReturnSite
from scriptc.frontend.values.joins import unify
from scriptc.frontend.values.predicates import is_known_set
from scriptc.frontend.values.structure import parts_of
from scriptc.frontend.values.verbs import describe, frozen, materialize, result_of
from scriptc.ir.builder import Builder
from scriptc.ir.core import Value
from scriptc.ir.types import Type, join


def fill_returns(reader: Reader, sites: list[ReturnSite]) -> tuple[Spec, list[Type]]:
    """Fill in the operands of returns; return the tree of the result and the types of its leaves.

    Raises UserError if the returns differ in kind.
    """
    if not sites:
        return ConstantSpec(None), []
    try:
        for site in sites:
            check_returned(reader, site.av, site.heap)
            refuse_changed_variables(reader, site.heap)
            held = settle_leaving(reader, site.av, site.heap, site.op.loc)
            for known in _repeated_sets(held):
                reader.speculation.promote(known)  # one object at run time
            idents = list(identities(held))
            shared = repeated_lists(held)
            for repeated in shared:
                reader.speculation.forget_length(repeated.site, "is twice in the result")
            if shared:
                reader.speculation.allow_unions()  # such a list is built at each place anew, unless it is a run-time list
            if shared or len(set(idents)) < len(idents):
                raise UserError(site.op.loc, *rejection("returned_twice"))
            site.av = frozen(held)
        plan = unify([s.av for s in sites], reader.kinds, fresh=True, mark=-1)  # each path returns its own objects
        found: Spec | None = None
        types: list[Type] = []
        for site in sites:
            reader.emit.builder = Builder.before(site.op)
            av = site.av if len(sites) == 1 else plan.rebuild(_flattened(reader, plan, site.av), "")
            spec, leaf_avs = result_of(av)
            values = [materialize(reader, leaf) for leaf in leaf_avs]
            if found is not None and spec != found:
                raise Conflict(f"{describe(sites[0].av)} and {describe(site.av)}")
            types = (
                [v.type for v in values]
                if found is None
                else [join(t, v.type) for t, v in zip(types, values, strict=True)]
            )
            found = spec
            site.op.set_operands(values)
    except Conflict as e:
        if isinstance(e, ItemConflict):
            reader.speculation.allow_unions()
        raise UserError(reader.position.loc, *rejection("returns_differ", why=e)) from e
    assert found is not None
    return found, types


def _repeated_sets(av: AbstractValue) -> Iterator[KnownSet]:
    """Yield the sets of known items that a value holds more than once."""
    seen: set[int] = set()
    todo = [av]
    while todo:
        part = todo.pop()
        if is_known_set(part):
            if id(part.obj) in seen:
                yield part
            seen.add(id(part.obj))
        todo += parts_of(part)


def _flattened(reader: Reader, plan: Any, av: AbstractValue) -> Iterator[Value]:
    return iter(list(plan.flatten(reader, av)))
