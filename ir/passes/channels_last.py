"""Hand images from one packed convolution to the next in channels-last strides, which its kernel reads and writes fastest.

    %l = suggests_channels_last(%x, %w)                   %own = suggests_channels_last(%x, %w, %v)
    %a = conv2d_packed(%x, %p, %none, %l, %none)          %free = bool.not(%own)
    %b = relu(%a)                                         %l = suggests_channels_last(%x, %w)
    %m = suggests_channels_last(%b, %v)             =>    %a = conv2d_packed(%x, %p, %none, bool.or_(%l, %free), %none)
    %c = conv2d_packed(%b, %q, %none, %m, %none)          %b = relu(%a)
    return(%c)                                            %m = suggests_channels_last(%b, %v)
                                                          %c = conv2d_packed(%b, %q, %none, bool.and_(%m, %own), %none)
                                                          return(%c)

If neither the images that come in nor the weights suggest channels last, eager's images are all plain (contiguous), so the
strides between are free, and an image is made plain where its strides can be seen:

    return(%b)                                      =>    %r = if %own { yield(%b) } else { yield(plain(%b)) }
                                                          return(%r)

If one of them does suggest it, all ops compute eager's strides from those of their operands.

A `cat` of free images may be a view of them: see `join_in_place`.

An image is free if it is the result of a convolution, of pooling or `cat` of free images, or of pointwise ops on free images
and on what cannot decide the order of strides. Not inside of loops, where pointwise ops need plain tensors
(backend_c/emitters/nests.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scriptc.ir.analysis import Origins, may_write, writers
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Func, Module, Op, Value
from scriptc.ir.frozen_weights import known_sizes
from scriptc.ir.layouts import Layouts, ignores_strides, is_followed
from scriptc.ir.regions import is_loop, precedes
from scriptc.ir.types import TensorType

_POOLS = ("max_pool2d", "avg_pool2d")


def _rank(value: Value) -> int | None:
    return value.type.rank if isinstance(value.type, TensorType) and value.type.dims is not None else None


class _Images:
    """The free images of a function."""

    def __init__(self, func: Func):
        self.layouts = Layouts(func.body)
        ops = [op for op in func.body.walk() if op.enclosing(is_loop) is None]
        self.ops = [op for op in ops if len(op.results) == 1 and _rank(op.result) == 4 and self._inputs(op) is not None]
        writing, known = list(writers(func.body)), Origins()
        self.free = {op.result for op in self.ops if not any(may_write(w, op.result, known) for w in writing)}
        while wrong := {v for v in self.free if not self._may_be_free(v)}:
            self.free -= wrong

    def _inputs(self, op: Op) -> Sequence[Value] | None:
        """Return the tensors on whose strides those of an op's result depend; None if the op's result is no free image."""
        if op.name == "conv2d_packed":
            return ()
        if op.name in _POOLS:
            return op.operands[:1]
        if op.name == "cat.items":
            return op.operands if op.attrs["dim"] in (1, -3) else None
        if not op.has("ELEMENTWISE"):
            return None
        return [v for v in op.operands if isinstance(v.type, TensorType) and not _has_one_dim(v)]

    def _may_be_free(self, value: Value) -> bool:
        assert value.op is not None
        inputs = self._inputs(value.op)
        assert inputs is not None
        if value.op.name == "conv2d_packed":
            return any(not self.shows_strides(user, i, value) for (_, i), user in value.uses.items())
        return bool(inputs) and all(v in self.free for v in inputs)

    def shows_strides(self, user: Op, index: int, value: Value) -> bool:
        """Return whether a use of a free image depends on its strides."""
        if user.name == "suggests_channels_last" or (user.results and user.results[0] in self.free):
            return False
        if user.name == "conv2d_packed":
            return index != 0  # what is added decides the strides of the sum
        if user.has("ELEMENTWISE") or is_followed(user):
            return not self.layouts.strides_are_free(user.result)
        return not ignores_strides(user)


def _has_one_dim(value: Value) -> bool:
    """Return whether a tensor has at most one dim that is not of size 1, so that it decides no order of dims."""
    sizes = known_sizes(value)
    return sizes is not None and sum(size != 1 for size in sizes) <= 1


class _Chain:
    """Free images that depend on one another. `own` says that eager's images may be channels last."""

    def __init__(self, images: _Images, values: set[Value]):
        self.images, self.values = images, values
        self.ops = [op for op in images.ops if op.result in values]
        self.convs = [op for op in self.ops if op.name == "conv2d_packed"]
        users = dict.fromkeys(user for op in self.ops for user in op.result.users() if user.name == "conv2d_packed")
        self.behind = [user for user in users if user.result not in values and user.operands[0] in values]

    def free(self) -> bool:
        """Make the images channels last; return False if that is not possible."""
        first = self.ops[0]
        sources = self._sources()
        if any(not self._is_there(v) for v in sources) or not all(_encloses(first, op) for op in self.ops):
            return False
        b = Builder.before(first)
        own = b.op("suggests_channels_last", [self._there(v, b) for v in sources], first.loc, names=["own"]).result
        free = b.op("bool.not", [own], first.loc, names=["free"]).result
        for value in [op.result for op in self.ops]:
            self._restore(value, own)
        for conv in self.convs:
            _set_layout(conv, "bool.or_", free)
        for conv in self.behind:
            _set_layout(conv, "bool.and_", own)
        for op in self.ops:
            if op.name == "cat.items":
                op.attrs["in_place"] = True
        return True

    def _sources(self) -> list[Value]:
        """Return the tensors that decide eager's layouts: images that come in, and weights."""
        found: list[Value] = []
        for conv in [*self.convs, *self.behind]:
            image, *weights = conv.operands[3].op.operands  # type: ignore[union-attr]
            found += weights if image in self.values else [image, *weights]
        return [v for v in dict.fromkeys(found) if v not in self.images.layouts.plain]  # plain images never suggest it

    def _is_there(self, source: Value) -> bool:
        """Return whether a source can be read in front of the chain."""
        return precedes(source, self.ops[0]) or (source.op is not None and source.op.name == "param")

    def _there(self, source: Value, b: Builder) -> Value:
        op = source.op
        if op is None or precedes(source, self.ops[0]):
            return source
        return b.op("param", (), op.loc, types=[source.type], names=[source.name], **op.attrs).result

    def _restore(self, value: Value, own: Value) -> None:
        """Let the uses that show the strides of an image use one with eager's strides."""
        uses = [(user, i) for (_, i), user in value.uses.items() if self.images.shows_strides(user, i, value)]
        if not uses:
            return
        assert value.op is not None
        b, loc = Builder.after(value.op), value.op.loc
        kept, made = Block(), Block()
        choice = b.op("if", [own], loc, regions=[kept, made], types=[value.type], names=[value.name])
        for user, i in uses:
            user.set_operand(i, choice.result)
        with b.at(kept):
            b.op("yield", [value], loc)
        with b.at(made):
            b.op("yield", [b.build("plain", [value], loc)], loc)


def _encloses(first: Op, op: Op) -> bool:
    assert first.parent is not None and op.parent is not None
    return first.parent.encloses(op.parent)


def _set_layout(conv: Op, combine: str, flag: Value) -> None:
    layout = Builder.before(conv).op(combine, [conv.operands[3], flag], conv.loc).result
    conv.set_operand(3, layout)


def _chains(images: _Images) -> list[set[Value]]:
    """Return the free images in groups that depend on one another."""
    chains: list[set[Value]] = []
    for op in images.ops:
        if op.result not in images.free:
            continue
        joined = [op.result, *(v for v in op.operands if v in images.free)]
        touched = [chain for chain in chains if chain & set(joined)]
        chains = [chain for chain in chains if chain not in touched] + [set(joined).union(*touched)]
    return chains


def run(module: Module, options: Mapping[str, int]) -> bool:
    changed = False
    for func in module.funcs.values():
        images = _Images(func)
        for values in _chains(images):
            changed |= _Chain(images, values).free()
    return changed
