"""Guards of the bridge that need no torch, each with what makes it fail. Imported by tests that have torch, and in Pythons
without it (data/bridge_without_torch.py)."""

import sys
import weakref
from array import array
from collections import OrderedDict, deque

from scriptc.runtime.bridge import Guard, GuardSpec


class Base:
    def method(self):
        pass


class Derived(Base):
    pass


def _cell(value):
    return (lambda: value).__closure__[0]


def guards():
    """Pairs of a guard that holds and a change after which it does not; the change is None where it never holds."""
    marker = object()
    d = {"is": marker, "eq": (1, "a"), "hook": {}}
    yield GuardSpec(Guard.DICT_IS, d, "is", marker), lambda: d.update({"is": 1})
    yield GuardSpec(Guard.DICT_EQ, d, "eq", (1, "a")), lambda: d.update(eq=(1, "b"))
    yield GuardSpec(Guard.DICT_EQ, d, "is2", marker), None
    yield GuardSpec(Guard.DICT_MISSING, d, "new"), lambda: d.update(new=None)
    has = {"a": 1}
    yield GuardSpec(Guard.DICT_HAS, has, "a"), has.clear
    yield GuardSpec(Guard.DICT_EMPTY, d["hook"]), lambda: d["hook"].update(a=1)
    cell = _cell(marker)
    yield GuardSpec(Guard.CELL_IS, cell, None, marker), lambda: setattr(cell, "cell_contents", 1)
    number = _cell(1.5)
    yield GuardSpec(Guard.CELL_EQ, number, None, 1.5), lambda: setattr(number, "cell_contents", 2.5)
    empty = _cell(1)
    yield GuardSpec(Guard.CELL_EQ, empty, None, 1), lambda: delattr(empty, "cell_contents")
    method = Base.method
    yield GuardSpec(Guard.TYPE_ATTR_IS, Derived, "method", method), lambda: setattr(Derived, "method", print)
    items = [marker, d]
    yield GuardSpec(Guard.LIST_ITEMS_ARE, items, None, tuple(items)), lambda: items.append(1)
    keyed = {"a": 1, "b": 2}
    yield GuardSpec(Guard.DICT_KEYS_ARE, keyed, None, tuple(keyed)), lambda: keyed.update(c=3)
    ordered = [marker, d]
    yield GuardSpec(Guard.LIST_ITEMS_ARE, ordered, None, tuple(ordered)), lambda: ordered.reverse()
    yield from _guards_of_objects()
    yield from _guards_of_what_seldom_changes()
    kept = [Derived()]
    yield GuardSpec(Guard.REFERENT_LIVES, weakref.ref(kept[0]), None, True), kept.clear
    yield GuardSpec(Guard.REFERENT_LIVES, weakref.ref(Derived()), None, True), None
    limit = sys.getrecursionlimit
    yield GuardSpec(Guard.CALL_GIVES, limit, None, limit()), lambda: sys.setrecursionlimit(limit() + 1)


def _guards_of_objects():
    obj, other = Derived(), Derived()
    yield GuardSpec(Guard.OBJECT_IS, obj, None, (Derived, vars(obj))), lambda: setattr(obj, "__class__", Base)
    yield GuardSpec(Guard.OBJECT_IS, other, None, (Derived, vars(other))), lambda: setattr(other, "__dict__", {})
    numbers, bytes_of = array("d", [1.0, 2.0]), bytearray(b"ab")
    yield GuardSpec(Guard.BYTES_ARE, numbers, None, ("d", (2,), numbers.tobytes())), lambda: numbers.reverse()
    yield GuardSpec(Guard.BYTES_ARE, bytes_of, None, ("B", (2,), b"ab")), lambda: bytes_of.append(1)
    yield GuardSpec(Guard.BYTES_ARE, memoryview(b"a.b.")[::2], None, ("B", (2,), b"a.")), None
    queue, some = deque([1, 2.5]), {1, 2}
    yield GuardSpec(Guard.ITERATION_GIVES, queue, None, (1, 2.5)), lambda: queue.rotate()
    yield GuardSpec(Guard.ITERATION_GIVES, some, None, (1, 2)), lambda: some.add(3)
    yield GuardSpec(Guard.ITERATION_GIVES, deque([1]), None, (1, 2)), None
    ordered = OrderedDict(a=1, b=2)
    yield GuardSpec(Guard.DICT_KEYS_ARE, ordered, None, ("a", "b")), lambda: ordered.move_to_end("a")
    for change in ("clear", "popitem", "setdefault", "update", "__ior__"):
        yield _guard_of_ordered_dict(change)
    slotted = Slotted()
    slotted.a = 1
    yield GuardSpec(Guard.ATTRIBUTE_IS, slotted, "a", 1), lambda: setattr(slotted, "a", 2)

    def function(a=1, *, b=2):
        return a

    def parts(f):
        return f.__code__, f.__defaults__, f.__kwdefaults__

    yield GuardSpec(Guard.FUNCTION_IS, function, None, parts(function)), lambda: setattr(function, "__defaults__", (2,))
    bare = lambda: 1  # noqa: E731
    yield GuardSpec(Guard.FUNCTION_IS, bare, None, parts(bare)), lambda: setattr(bare, "__code__", Base.method.__code__)


def _guard_of_ordered_dict(change):
    """Return a guard that holds until an OrderedDict gets or loses an item by the method `change`, and that change."""
    if change in ("clear", "popitem"):
        held = OrderedDict(a=1)
        return GuardSpec(Guard.DICT_HAS, held, "a"), getattr(held, change)
    empty = OrderedDict()
    args = ("a", 1) if change == "setdefault" else ({"a": 1},)
    return GuardSpec(Guard.DICT_EMPTY, empty), lambda: getattr(empty, change)(*args)


def _guards_of_what_seldom_changes():
    for seldom in (False, True):
        cls, base = type("Made", (Base,), {"a": 1}), type("OtherBase", (Base,), {})
        yield GuardSpec(Guard.TYPE_ATTR_IS, cls, "a", 1, seldom), lambda cls=cls: setattr(cls, "a", 2)
        yield GuardSpec(Guard.TYPE_MISSING, cls, "b", None, seldom), lambda cls=cls: setattr(cls, "b", 2)
        yield GuardSpec(Guard.MRO_IS, cls, None, cls.__mro__, seldom), lambda cls=cls, b=base: setattr(cls, "__bases__", (b,))
        names = {"a": 1}
        yield GuardSpec(Guard.DICT_EQ, names, "a", 1, seldom), lambda names=names: names.update(a=2)


class Slotted:
    __slots__ = ("a",)
