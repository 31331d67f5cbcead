"""State of builds ahead of time: each slot has one layout for all kinds of values that it may have at entry or be set to.

The kinds are found by reading again until no assignment adds one; the plan by which paths would join such values then says
which leaves make one up. The leaves are parameters of the entry function and operands of each `state.set`; the C API keeps
them from call to call. Tensors outside that the code writes to are slots as well.
"""

from __future__ import annotations

import itertools
from typing import Any, NoReturn

from scriptc.frontend.assumptions import Place
from scriptc.frontend.context import UserError
from scriptc.frontend.decompositions.queues import Deque
from scriptc.frontend.joins import Conflict, Plan, unify
from scriptc.frontend.rejections import rejection
from scriptc.frontend.results import result_of
from scriptc.frontend.signature import Signature
from scriptc.frontend.specs import (
    DictSpec,
    Kept,
    KnownSpec,
    ListSpec,
    PlaceSpec,
    QueueSpec,
    ScalarSpec,
    Spec,
    TensorSpec,
    TupleSpec,
    values_of,
)
from scriptc.frontend.specs import describe as described
from scriptc.frontend.state import ABSENT, Slot, State, frozen
from scriptc.frontend.values import AV, DictV, Known, KnownLengthListV, Maybe, ObjectV, OneOf, Tup, Unbound, describe
from scriptc.ir.analysis import writes_to
from scriptc.ir.core import Block

_MOST_KINDS = 8
_SCALARS = {bool: "bool", int: "i64", float: "f64"}


class KeptState(State):
    """Mixin: slots of builds ahead of time."""

    def kept_value(self, at: Any, slot: Slot, signature: Signature) -> AV:
        """What a slot holds at entry where one specialisation serves all kinds of values that it may have."""
        name, key = f"state.{slot.name}", slot.place.key
        obj = ABSENT if slot.container is None else slot.container[key]
        if slot.container is None and hasattr(type(slot.place.owner), key):
            obj = getattr(type(slot.place.owner), key)
        first: Any = ABSENT if obj is ABSENT else self.slot_spec(obj, slot.name, signature)
        if isinstance(first, PlaceSpec):
            self.refuse_kept(slot, "object_kept_twice", other=self.other_place(obj))
        if first is not ABSENT:
            self.open_items(obj, first, slot.place.loc)
        kinds = self.assume.kinds.setdefault(at, [first])
        if len(kinds) > _MOST_KINDS:
            self.refuse_kept(slot, "state_of_many_kinds")
        kinds[:] = dict.fromkeys(k if k is ABSENT else self.filled(k, name) for k in kinds)
        for kind in kinds:
            if kind is not ABSENT and not _is_kept(kind):
                self.refuse_kept(slot, "state_of_structure", what=described(kind))
        try:
            avs = [self.scratch(k, name)[0] for k in kinds]
            slot.plan = unify(avs, self.kinds, fresh=True, mark=-1)
        except Conflict as e:
            self.refuse_kept(slot, "state_of_two_kinds", why=e)
        slot.initial = self.initial_leaves(slot.plan, kinds[0], obj, name)
        return slot.plan.rebuild(iter([self.parameter(t, name) for t in slot.plan.types()]), name)

    def slot_spec(self, obj: Any, name: str, signature: Signature) -> Spec:
        if not self.ahead:
            return super().slot_spec(obj, name, signature)
        with signature.known_keys():
            return _general(super().slot_spec(obj, name, signature))

    def other_place(self, obj: Any) -> str:
        """What the place is called where an object was found first."""
        slots = [s for s in self.slots.values() if s.container is not None]
        return next((s.name for s in slots if s.container[s.place.key] is obj), "an argument")

    def refuse_kept(self, slot: Slot, key: str, **details: object) -> NoReturn:
        raise UserError(slot.place.loc, *rejection(key, name=slot.name, **details))

    def scratch(self, spec: Any, name: str) -> tuple[AV, Block]:
        """A value of a kind, as if it were an argument of a block of its own."""
        saved, self.body = self.body, Block()
        try:
            return (Unbound() if spec is ABSENT else self.argument(spec, name, kept=True)), self.body
        finally:
            self.body = saved

    def initial_leaves(self, plan: Plan, spec: Any, obj: Any, name: str) -> tuple[Any, ...]:
        av, block = self.scratch(spec, name)
        given = dict(zip(block.args, () if spec is ABSENT else values_of(spec, obj), strict=True))
        with self.builder.at(Block()):
            leaves = list(plan.flatten(self, av))
        return tuple(given[v] if v in given else v.op.attrs.get("value") if v.op else None for v in leaves)

    def keep(self, at: Any, slot: Slot, value: AV) -> None:
        """Sets a slot that a build keeps: its leaves, whatever kind the value has."""
        assert slot.plan is not None
        held = frozen(self.settled(value, self.heap))
        kinds = self.assume.kinds[at]
        try:
            more = [k for k in _kinds_of(held) if k not in kinds]
            if not more:
                leaves = list(slot.plan.flatten(self, held))
        except Conflict as e:
            self.fail("state_of_structure", name=slot.name, what=e)
        if more:
            kinds += more
            self.outdate(f"'{slot.name}' takes values of another kind")
            return
        target = self.target(slot.place.owner, slot.place.key, None, slot.name)
        self.effect("state.set", leaves, name=slot.name, target=target.number, form=0)
        slot.target = target.number

    def find_written(self) -> bool:
        """Whether the code writes to tensors outside that are no slots yet."""
        more = False
        for op in self.module.walk():
            if op.name == "param" and writes_to(op.result):
                live = next(v for v in self.outside.live if v.name == op.attrs["name"])
                tensor = live.container[live.key] if isinstance(live.container, dict) else None
                if tensor is not None and id(tensor) not in self.assume.written:
                    self.assume.written.add(id(tensor))
                    self.assume.state[id(live.container), live.key] = Place(
                        live.container, live.key, op.loc, is_item=True
                    )  # fmt: skip
                    more = True
        return more

    def kept_places(self) -> list[Kept]:
        return [
            Kept(
                slot.name, slot.container if slot.container is not None else vars(slot.place.owner), slot.place.key,
                tuple(slot.plan.types()), slot.initial, slot.target,
            )  # fmt: skip
            for slot in self.slots.values()
            if slot.plan is not None
        ]


def _general(spec: Spec) -> Spec:
    """A spec in which numbers are not part of the signature."""
    match spec:
        case KnownSpec(bool() | int() | float() as number) if type(number) in _SCALARS:
            return ScalarSpec(_SCALARS[type(number)])
        case TupleSpec(items, cls):
            return TupleSpec(tuple(map(_general, items)), cls)
        case DictSpec(keys, items):
            return DictSpec(keys, tuple(map(_general, items)))
        case TensorSpec(dtype, sizes):
            return TensorSpec(dtype, (None,) * len(sizes))
    return spec


def _kinds_of(av: AV) -> list[Any]:
    """The specs of all kinds that a value may have; Conflict where one cannot be kept."""
    match av:
        case Unbound():
            return [ABSENT]
        case Maybe(_, inner):
            return [ABSENT, *_kinds_of(inner)]
        case OneOf(alternatives=alternatives):
            return [k for a in alternatives.values() for k in _kinds_of(a)]
        case Tup(items, cls):
            return [TupleSpec(tuple(parts), cls) for parts in itertools.product(*map(_kinds_of, items))]
        case DictV(items):
            rows = itertools.product(*map(_kinds_of, items.values()))
            return [DictSpec(tuple(items), tuple(parts)) for parts in rows]
        case ObjectV(cls, items) if cls is Deque:
            if not isinstance(items["maxlen"], Known):
                raise Conflict("a deque whose maxlen is known only at run time")
            return [QueueSpec(content, items["maxlen"].obj) for content in _kinds_of(items["_items"])]
        case ObjectV() | KnownLengthListV():
            raise Conflict(describe(av))
        case Known(obj) if not isinstance(obj, (bool, int, float, str, type(None), tuple)):
            raise Conflict(describe(av))
    try:
        spec = _general(result_of(av)[0])
    except Conflict as e:
        raise Conflict(describe(av)) from e
    if not _is_kept(spec):
        raise Conflict(described(spec))
    return [spec]


def _is_kept(spec: Spec) -> bool:
    """Whether a state can keep values of a spec: its leaves are tensors, numbers, strings, and lists of one kind of these."""
    match spec:
        case ListSpec(elem, cls):
            return cls is list and (elem is None or isinstance(elem, (TensorSpec, ScalarSpec)))
        case TupleSpec(items, cls):
            return cls is not list and all(map(_is_kept, items))
        case DictSpec(_, items):
            return all(map(_is_kept, items))
        case QueueSpec(content):
            return _is_kept(content)
    return isinstance(spec, (TensorSpec, ScalarSpec, KnownSpec))
