"""Let convolutions store their results side by side in one image, so that `cat` has nothing to copy.

    %l = bool.or_(%k, %free)                         %l = bool.or_(%k, %free)
    %a = conv2d_packed(%x, %p, %none, %l, %f)        %a = conv2d_packed(%x, %p, %none, %l, %f, %free) {room = 12, at = 0}
    %b = conv2d_packed(%x, %q, %none, %l, %f)   =>   %b = conv2d_packed(%x, %q, %none, %l, %f, %free, %a) {room = 12, at = 4}
    %c = max_pool2d(%x)                              %c = max_pool2d(%x)
    %y = cat.items(%a, %b, %c) {in_place}            %d = place(%c, %free, %a) {room = 12, at = 8}
                                                     %y = cat.items(%a, %b, %d) {in_place}

`room` is the number of channels of the image, `at` the first channel of the part, counted from that of the last operand, if
there is one behind %free. Where %free is false, images have the strides of eager, and no room (channels_last.py). Images
that later operators join with more channels share one room: the last `cat` of a DenseNet's block decides where all images of
the block lie. At run time, parts that turn out to be no channels-last images of one size stay where they are, and `cat`
copies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Module, Op, Value
from scriptc.ir.types import NONE, TensorType


@dataclass
class _Room:
    """An image that holds others, if `free`: the first channel of each."""

    free: Value
    channels: int
    places: dict[Value, int] = field(default_factory=dict)


def _channels(value: Value) -> int | None:
    t = value.type
    size = t.dims[1] if isinstance(t, TensorType) and t.dims is not None and len(t.dims) == 4 else None
    return size if isinstance(size, int) else None


def _free(part: Value) -> Value | None:
    """Return the flag that channels_last gave to the convolution that makes an image, if that can store it in a room."""
    if part.op is None or part.op.name != "conv2d_packed" or part.op.operands[2].type != NONE:
        return None
    layout = part.op.operands[3].op
    return layout.operands[1] if layout is not None and layout.name == "bool.or_" else None


def _is_view(op: Op | None) -> bool:
    return op is not None and op.name == "cat.items" and bool(op.attrs.get("in_place"))


def _parts(cat: Op) -> list[Value]:
    """Return the images that a `cat` joins, those of a `cat` among its operands one by one."""
    return [part for v in cat.operands for part in (_parts(v.op) if v.op is not None and _is_view(v.op) else [v])]


def _room_of(cat: Op, taken: set[Value]) -> _Room | None:
    """Return a room for the images that a `cat` joins, if all may lie side by side."""
    parts = _parts(cat)
    sizes = [_channels(v) for v in parts]
    flags = {flag for flag in map(_free, parts) if flag is not None}
    if len(set(parts)) < len(parts) or taken & set(parts) or None in sizes or len(flags) != 1:
        return None
    if any(v.op is None or v.op.parent is not cat.parent for v in parts):
        return None
    room = _Room(flags.pop(), sum(size for size in sizes if size is not None))
    at = 0
    for part, size in zip(parts, sizes, strict=True):
        room.places[part] = at
        at += size or 0
    return room


def _fill(room: _Room, block: Block) -> None:
    """Let the op that makes each image store it in the room, or else copy it there."""
    first: Value | None = None  # the image that is there first
    start = 0
    for op in [op for op in block.ops if op.results and op.results[0] in room.places]:
        part = op.results[0]
        at = room.places[part] - start
        where = [room.free] if first is None else [room.free, first]
        if _free(part) is not None:
            op.attrs |= {"room": room.channels, "at": at}
            op.set_operands([*op.operands, *where])
        else:
            cats = [user for user in part.users() if user.name == "cat.items"]
            placed = Builder.after(op).build("place", [part, *where], op.loc, hint=part.name, room=room.channels, at=at)
            for cat in cats:
                cat.set_operands([placed if v is part else v for v in cat.operands])
            part = placed
        if first is None:
            first, start = part, room.places[op.results[0]]


def run(module: Module, options: Mapping[str, int]) -> bool:
    changed = False
    for block in [*(f.body for f in module.funcs.values()), *(region for op in module.walk() for region in op.regions)]:
        taken: set[Value] = set()
        rooms = []
        for op in reversed(block.ops):
            room = _room_of(op, taken) if _is_view(op) else None
            if room is not None:
                rooms.append(room)
                taken |= room.places.keys()
        for room in rooms:
            _fill(room, block)
        changed |= bool(rooms)
    return changed
