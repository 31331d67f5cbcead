"""What `for` walks: sequences that are known are unrolled, all others are counted loops over an index."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from scriptc.frontend.cells import is_of_numbers, is_union
from scriptc.frontend.context import Context, NeedsKnown, Poisoned, UserError, Walk
from scriptc.frontend.decompositions import lists
from scriptc.frontend.decompositions.iterators import SequenceIterator
from scriptc.frontend.decompositions.itertools import ENDLESS
from scriptc.frontend.decompositions.queues import Deque
from scriptc.frontend.joins import kind_of
from scriptc.frontend.objects import class_of, defines
from scriptc.frontend.rejections import rejection
from scriptc.frontend.shapes import LONG, UNROLL_LIMIT, sequence_items
from scriptc.frontend.values import (
    AV,
    DictV,
    Dyn,
    GeneratorV,
    IteratorV,
    Known,
    KnownLengthListV,
    ListV,
    Moved,
    ObjectV,
    OneOf,
    Poison,
    RangeV,
    ReversedV,
    Tup,
    ViewV,
    ZipV,
    describe,
    is_dict,
    is_empty_list,
    is_run_time_text,
    is_set,
    is_tensor,
    tensor_type,
)
from scriptc.ir.types import ListType, OptionalType, ScalarType, TupleType


def _is_walked(av: AV) -> bool:
    """Whether `iter()` takes it; of objects only it knows, by asking them."""
    match av:
        case Dyn() if is_tensor(av):
            return tensor_type(av).rank > 0
        case Dyn():
            return is_run_time_text(av) or not isinstance(av.type, ScalarType)
        case Known(obj):
            return not isinstance(obj, (int, float, type(None))) or hasattr(obj, "__iter__")
    return True


def zipped_rows(node: ast.Call) -> ast.expr | None:
    """The rows of zip(*rows), where nothing else is given."""
    match node:
        case ast.Call(args=[ast.Starred(rows)], keywords=[] | [ast.keyword("strict", ast.Constant(False))]):
            return rows
    return None


class Iteration(Context):
    """Mixin: iteration over abstract values."""

    def iterate(self, av: AV) -> list[AV]:
        """All items of a sequence of known length."""
        av = self.unrolled_ranges(av)
        walk = self.iteration(av, None)
        if walk.items is not None and walk.limit is None:
            return list(walk.items)
        if walk.items is None and walk.count is None:
            return []
        error = UserError(self.loc, *rejection("length_unknown", what=describe(av)))
        walked = av
        while isinstance(walked, (GeneratorV, ReversedV, IteratorV)):
            walked = walked.sequence if isinstance(walked, GeneratorV) else walked.part
        if isinstance(walked, ListV) and not walked.is_tuple:
            if walked.value is not None and is_of_numbers(walked.value.type):
                raise NeedsKnown(walked.value, error)
            self.keep_length(walked, error)
        raise error

    def is_run_time(self, av: AV) -> bool:
        """Whether the number of items is known only at run time, or too large to take them one by one."""
        match av:
            case Known() if defines(av, "__iter__"):
                return True
            case GeneratorV():
                return self.is_run_time(av.sequence) or bool(av.node.generators[0].ifs or av.node.generators[1:])
            case ListV():
                return av.items is None and not is_empty_list(av)
            case RangeV(start, stop, step):
                bounds = [b.obj for b in (start, stop, step) if isinstance(b, Known)]
                return len(bounds) < 3 or len(range(*bounds)) > LONG
            case ZipV(parts):
                return any(map(self.is_run_time, parts))
            case ReversedV(part) | IteratorV(part):
                return self.is_run_time(part)
            case ViewV():
                return True
            case OneOf(alternatives=alternatives):
                return any(map(self.is_run_time, alternatives.values()))
            case ObjectV():
                items = self.items_of(av)
                if av.cls is SequenceIterator:
                    return self.is_run_time(items["sequence"])
                return av.cls in ENDLESS or hasattr(av.cls, "__iter__")
            case Dyn():
                if is_dict(av) or is_set(av) or is_run_time_text(av):
                    return True
                has_items = is_tensor(av) and tensor_type(av).rank > 0
                return has_items and not self.is_short(self.size_av(av, 0))
        return False

    def is_short(self, count: AV) -> bool:
        """Whether so many items are taken one by one."""
        return isinstance(count, Known) and count.obj <= LONG

    def unrolled_ranges(self, av: AV) -> AV:
        """The sequence with the numbers of known ranges written out."""
        match av:
            case RangeV(start, stop, step) if all(isinstance(b, Known) for b in (start, stop, step)):
                return Tup(self.known_range(av))
            case ZipV(parts):
                return replace(av, parts=[self.unrolled_ranges(p) for p in parts])
            case ReversedV(part) | IteratorV(part):
                return replace(av, part=self.unrolled_ranges(part))
            case GeneratorV(sequence=sequence):
                return replace(av, sequence=self.unrolled_ranges(sequence))
        return av

    def spend(self, av: GeneratorV | ZipV | ReversedV | IteratorV) -> None:
        """Notes that an iterator is walked: it has no items behind that, or only some."""
        if av.ident in self.heap:
            self.fail("iterator_walked_again")
        self.heap[av.ident] = Known(True)
        if any(av.ident.serial < watch.mark for watch in self.watches):
            self.note_change(av.ident)

    def checked_iterable(self, av: AV, quality: str = "iterable") -> AV:
        """What `iter()` takes, without None: what cannot be walked raises where an iterator over it is made."""
        av = self.present(av, "TypeError", f"'NoneType' object is not {quality}")
        match av:
            case OneOf(alternatives=alternatives) if any(not _is_walked(a) for a in alternatives.values()):
                self.split(av, lambda a: self.checked_iterable(a, quality))
            case Dyn() if is_tensor(av) and not _is_walked(av):
                self.raises_at_run_time("TypeError", "iteration over a 0-d tensor")
            case _ if not _is_walked(av):
                self.raises_at_run_time("TypeError", f"'{self.type_name(av)}' object is not {quality}")
        return av

    def transposed(self, av: AV) -> AV:
        """zip(*av) of a sequence whose length is known only at run time."""
        rows = av if isinstance(av, ListV) else self.call(Known(list), [av], {})
        held = self.value(rows).type
        assert isinstance(held, ListType)
        row = held.elem.item if isinstance(held.elem, OptionalType) else held.elem
        if not isinstance(row, TupleType) or is_union(row):
            return IteratorV(self.call(Known(lists.transposed), [rows], {}))
        columns = [self.column(rows, i) for i in range(len(row.items))]
        count = lambda: Known(len(columns))  # noqa: E731
        none = self.compare("Eq", self.call(Known(len), [rows], {}), Known(0))
        if len({str(self.value(c).type) for c in columns}) == 1:  # one list of columns, none if there are no rows
            made = self.call(Known(lists.first_of), [Tup(columns), self.choose(none, lambda: Known(0), count)], {})
            return IteratorV(made)
        shapes = [Tup(columns), Tup([])]
        tags = [self.kinds.tag(kind_of(s)) for s in shapes]
        which = self.choose(none, lambda: Known(tags[1]), lambda: Known(tags[0]))
        return IteratorV(OneOf(self.value(which), dict(zip(tags, shapes, strict=True))))

    def column(self, rows: AV, i: int) -> AV:
        made = self.new_list([], (self.loc, "column", i))
        self.call(Known(lists.add_column), [made, rows, Known(i)], {})
        return self.call(Known(tuple), [made], {})

    def iteration(self, av: AV, site: Any) -> Walk:
        if isinstance(av, (GeneratorV, ZipV, ReversedV, IteratorV)):
            self.spend(av)
        self.refuse_item_sets(av)
        match av:
            case Tup(items):
                return Walk(items=list(items))
            case GeneratorV():
                return self.walk_generator(av, site)
            case ObjectV(cls) if cls is SequenceIterator and not self.is_run_time(self.items_of(av)["sequence"]):
                return Walk(items=self.asked_items(av))
            case ObjectV(cls) if cls is Deque:
                return self.walk_queue(av, self.iteration(self.items_of(av)["_items"], site))
            case ObjectV(cls) if cls in ENDLESS:
                return Walk(count=(Known(0), self.call(Known(len), [av], {}), Known(1)), item=lambda i: self.subscript(av, i))
            case ObjectV():
                return self.iteration(self.iterated_object(av), site)
            case Known() if defines(av, "__iter__"):
                return self.iteration(self.iterated_object(av), site)
            case OneOf():
                found = self.checked_iterable(av)
                if isinstance(found, OneOf) and all(sequence_items(a) for a in found.alternatives.values()):
                    found = self.split(found, lambda a: Tup(self.iterate(a)))  # tuples of different classes
                return self.walk_several(found) if isinstance(found, OneOf) else self.iteration(found, site)
            case DictV():
                return Walk(items=[Known(k) for k in self.items_of(av)])
            case ViewV():
                return self.walk_table(av)
            case Dyn() if is_dict(av) or is_set(av):
                return self.walk_table(av)
            case KnownLengthListV():
                return Walk(items=self.current_items(av))
            case ListV(items=list() as items):
                self.observe(av)
                return Walk(items=list(items))
            case ListV() if is_empty_list(av):
                return Walk()
            case ListV(value=value) if value is not None:
                return self.walk_list(av)
            case RangeV(start, stop, step):
                bounds = [b.obj for b in (start, stop, step) if isinstance(b, Known)]  # they may not be by now
                if len(bounds) == 3 and bounds[2] and self.assume.unrolls(site, len(range(*bounds))):
                    return Walk(items=self.known_range(av))
                # The length is asked for, since a range may end in front of its start.
                return Walk(
                    count=(start, stop, step), item=lambda i: i, length=lambda: self.call(Known(len), [av], {})
                )  # fmt: skip
            case Dyn() if is_tensor(av):
                self.checked_iterable(av)
                count = self.size_av(av, 0)
                if site is None and isinstance(count, Known) and self.is_short(count):
                    return Walk(
                        items=[Dyn(self.build("select", [av.value, self.const(i)], dim=0)) for i in range(count.obj)]
                    )
                return Walk(count=(Known(0), count, Known(1)), item=lambda i: self.row(av, i))
            case Dyn(value) if is_run_time_text(av):
                length = Dyn(self.build("str.len", [value]))
                return Walk(count=(Known(0), length, Known(1)), item=lambda i: self.character(value, self.value(i)))
            case IteratorV(part):
                return self.iteration(part, site)
            case ZipV():
                return self.walk_zip(av, site)
            case ReversedV(RangeV() as part):
                return self.iteration(self.reversed_range(part), site)
            case ReversedV(part):
                walk = self.iteration(part, site)
                if walk.items is not None and walk.limit is None:
                    return Walk(items=list(walk.items)[::-1])
                if walk.items is None and walk.count is None:
                    return Walk()
                assert walk.count is not None and walk.item is not None and self.starts_at_zero(walk.count)
                last = self.binary("Sub", walk.count[1], Known(1))
                return Walk(count=(last, Known(-1), Known(-1)), item=walk.item)
            case Known() if _is_walked(av):
                return Walk(items=self.known_items(av))
            case Poison():
                raise Poisoned
        self.raises_at_run_time("TypeError", f"'{self.type_name(av)}' object is not iterable")

    def walk_several(self, av: OneOf) -> Walk:
        """Over one of several sequences, each item of which is that of the sequence that it is."""
        found = av.alternatives.values()
        if not all(sequence_items(a) is not None or isinstance(a, ListV) or is_tensor(a) for a in found):
            for alternative in found:
                self.promote(alternative)
            self.fail("iteration_over_one_of_several", what=describe(av))
        length = lambda: self.split(av, lambda a: self.call(Known(len), [a], {}))  # noqa: E731

        def item_of(a: AV, i: AV) -> AV:
            known = sequence_items(a)
            return self.subscript(a, i) if known is None else self.chosen_item(known, i)

        item = lambda i: self.split(av, lambda a: item_of(a, i))  # noqa: E731
        lists = [a.value for a in found if isinstance(a, ListV) and a.value is not None]
        return Walk(count=(Known(0), length(), Known(1)), item=item, length=length, lists=lists)

    def chosen_item(self, items: Sequence[AV], at: AV) -> AV:
        """The item of a known tuple at a place known only at run time, which lies within it."""
        if not items:
            self.raises_at_run_time("IndexError", "tuple index out of range")
        if len(items) == 1:
            return items[0]
        middle = len(items) // 2
        first = self.compare("Lt", at, Known(middle))
        behind = lambda: self.chosen_item(items[middle:], Dyn(self.value(self.binary("Sub", at, Known(middle)))))  # noqa: E731
        return self.choose(first, lambda: self.chosen_item(items[:middle], at), behind)

    def current_items(self, av: KnownLengthListV) -> Iterator[AV]:
        """The items one by one; as in Python, the loop that walks a list may change it."""
        i = 0
        while i < len(av.items):
            yield av.items[i]
            i += 1

    def walk_queue(self, av: ObjectV, walk: Walk) -> Walk:
        """Over a deque, as over its items, but that it must not change meanwhile."""
        began = self.items_of(av)["_changes"]

        def check() -> None:
            same = self.compare("Eq", self.items_of(av)["_changes"], began)
            self.check_that(same, "RuntimeError", "deque mutated during iteration")

        def checked(items: Iterable[AV]) -> Iterator[AV]:
            for item in items:
                check()
                yield item
            check()

        def length() -> AV:
            assert walk.length is not None
            check()
            return walk.length()

        if walk.items is not None:
            return replace(walk, items=checked(walk.items))
        return replace(walk, length=length)

    def iterated_object(self, av: ObjectV | Known) -> AV:
        """What the __iter__ of an object returns, where that is iter() of something."""
        if isinstance(av, ObjectV) and av.cls is SequenceIterator:
            return self.rest_of(av)
        found = self.special(av, "__iter__", [])
        if found is None:
            self.raises_at_run_time("TypeError", f"'{self.type_name(av)}' object is not iterable")
        if class_of(found) is not SequenceIterator and defines(found, "__next__"):
            self.fail("iteration_over_value", what=describe(found))
        return found

    def rest_of(self, av: ObjectV) -> AV:
        """What an iterator has not given yet. Who walks it may stop early, so that it is not asked again."""
        items = self.items_of(av)
        if isinstance(items["at"], Moved):
            self.fail("iterator_walked_again")
        sequence, at = items["sequence"], items["at"]
        if isinstance(sequence, ObjectV) and sequence.cls in ENDLESS:
            start = self.call(self.attribute(sequence, "behind"), [at], {})
            rest: AV = ObjectV(sequence.cls, {**self.items_of(sequence), "start": start})
        else:
            rest = self.subscript(sequence, Tup([at, Known(None), Known(None)], slice))
        self.set_items(av, {**items, "at": Moved()})
        return rest

    def asked_items(self, av: ObjectV) -> Iterator[AV]:
        """The items that an iterator over a sequence of known length still has, each taken when it is asked for."""
        sequence = self.items_of(av)["sequence"]
        known = self.iterate(sequence)
        while (at := self.known(self.items_of(av)["at"], "how far an iterator has come")) < len(known):
            self.set_items(av, {"sequence": sequence, "at": Known(at + 1)})
            yield known[at]

    def walk_list(self, av: ListV) -> Walk:
        value = av.value
        assert value is not None and isinstance(value.type, ListType)
        length = lambda: Dyn(self.build("list.len", [value]))  # noqa: E731

        def item(i: AV) -> AV:
            return self.fetched(value, self.value(i))

        return Walk(count=(Known(0), length(), Known(1)), item=item, length=length, lists=[value])

    def row(self, tensor: AV, index: AV) -> AV:
        """tensor[i] for a counter that lies within it, so that no check is needed."""
        op = self.builder.op("select", [self.value(tensor), self.value(index)], self.loc, proved=True, dim=0)
        return Dyn(op.result)

    def starts_at_zero(self, count: tuple[AV, AV, AV]) -> bool:
        start, _, step = count
        return isinstance(start, Known) and start.obj == 0 and isinstance(step, Known) and step.obj == 1

    def walk_zip(self, av: ZipV, site: Any) -> Walk:
        walks = [self.iteration(p, None if isinstance(p, RangeV) else site) for p in av.parts]
        if any(w.items is None and w.count is None for w in walks):
            if not av.strict:
                return Walk()
            walks = [Walk(items=[]) if w.items is None and w.count is None else w for w in walks]
        if all(w.items is not None and w.limit is None for w in walks):
            columns = [list(w.items or []) for w in walks]
            rows: list[Sequence[AV]] = list(zip(*columns, strict=False))
            if av.offset is None:
                return Walk(items=self.known_rows(rows, [len(c) for c in columns] if av.strict else []))
            return Walk(items=[self.enumerated(av.offset, i, r[0]) for i, r in enumerate(rows)])
        walks = [self.counted(w) for w in walks]
        assert all(w.items is not None or w.count is not None and self.starts_at_zero(w.count) for w in walks)

        def least(lengths: list[AV]) -> AV:
            if all(isinstance(length, Known) for length in lengths):
                return Known(min(length.obj for length in lengths if isinstance(length, Known)))
            found = lengths[0]
            for other in lengths[1:]:
                found = Dyn(self.build("int.min", [self.value(found), self.value(other)]))
            return found

        limits = [w.limit for w in walks if w.limit is not None]
        counted = [w for w in walks if w.count is not None]
        length = lambda: least([*map(self.length_of, counted), *(limit() for limit in limits)])  # noqa: E731

        def item(i: AV) -> AV:
            row = [w.item(i) for w in walks]  # type: ignore[misc]
            if av.offset is None:
                return Tup(row)
            return Tup([self.binary("Add", av.offset, i), row[0]])

        if len(counted) < len(walks):
            if av.strict and limits:
                self.fail("zip_strict")
            finish = (lambda: self.check_equal([*map(self.length_of, walks)])) if av.strict else None
            made = self.limited_rows(walks)
            if av.offset is None:
                return Walk(items=(Tup(r) for r in made), limit=length, finish=finish)
            items = (self.enumerated(av.offset, i, r[0]) for i, r in enumerate(made))
            return Walk(items=items, limit=length, finish=walks[0].finish)
        changing = [v for w in walks for v in w.lists]
        finish = (lambda: self.check_equal([*map(self.length_of, walks)])) if av.strict else None
        if av.offset is not None:
            finish = walks[0].finish  # of what is enumerated
        return Walk(count=(Known(0), length(), Known(1)), item=item, length=length, lists=changing, finish=finish)

    def limited_rows(self, walks: list[Walk]) -> Iterator[list[AV]]:
        """The rows of a zip of known sequences and others, each made when it is asked for."""
        for i, row in enumerate(zip(*(w.items for w in walks if w.items is not None), strict=False)):
            known = iter(row)
            at = Dyn(self.value(Known(i)))
            yield [next(known) if w.item is None else w.item(at) for w in walks]

    def length_of(self, walk: Walk) -> AV:
        """How many items a walk by an index that starts at zero has by now, or one over known items without a limit."""
        if walk.items is not None:
            return Known(len(list(walk.items)))
        if walk.length is not None:
            return walk.length()
        assert walk.count is not None
        return walk.count[1]

    def enumerated(self, start: AV, i: int, item: AV) -> AV:
        """An item of enumerate."""
        return Tup([self.binary("Add", start, Known(i)), item])

    def known_rows(self, rows: list[Sequence[AV]], lengths: list[int]) -> Iterator[AV]:
        """The items of a zip of known sequences, and behind the last what a strict one raises."""
        yield from (Tup(r) for r in rows)
        self.check_equal([Known(n) for n in lengths])

    def check_equal(self, lengths: Sequence[AV]) -> None:
        """What zip(strict=True) asks when one of its sequences has ended."""
        for i, length in enumerate(lengths[1:]):
            equal = self.compare("Eq", lengths[0], length)
            self.check_that(equal, "ValueError", f"zip() argument {i + 2} is shorter or longer than argument 1")

    def counted(self, walk: Walk) -> Walk:
        """A walk by an index that starts at zero; over items that no list can hold it stays as it is."""
        if walk.items is not None and walk.limit is None:
            items = list(walk.items)
            made = self.new_list(items, (self.loc, "zip"))
            return Walk(items=items) if made.value is None else self.walk_list(made)
        if walk.count is None or self.starts_at_zero(walk.count) or walk.item is None:
            return walk
        start, _, step = walk.count
        length = self.call(Known(len), [RangeV(*walk.count)], {})
        item = walk.item

        def at(i: AV) -> AV:
            return item(self.binary("Add", start, self.binary("Mult", i, step)))

        return Walk(count=(Known(0), length, Known(1)), item=at)

    def reversed_range(self, av: RangeV) -> RangeV:
        count = self.call(Known(len), [av], {})
        last = self.binary("Add", av.start, self.binary("Mult", self.binary("Sub", count, Known(1)), av.step))
        step = self.binary("Sub", Known(0), av.step)
        return RangeV(last, self.binary("Add", av.start, step), step)

    def known_range(self, av: RangeV) -> list[AV]:
        bounds = [self.known(b, "the bounds of an unrolled range") for b in (av.start, av.stop, av.step)]
        return self.known_numbers(range(*bounds))

    def known_numbers(self, numbers: range) -> list[AV]:
        if len(numbers) > UNROLL_LIMIT:
            self.fail("too_long_to_unroll", count=len(numbers))
        return [Known(i) for i in numbers]

    def unrolled_walk(self, walk: Walk, site: Any) -> Walk:
        """Return the items of a walk by an index one by one, where its loop is unrolled and its trip count is known."""
        bounds = [b.obj for b in walk.count or () if isinstance(b, Known)]
        if len(bounds) < 3 or walk.lists or walk.item is None or not self.assume.unrolls(site, len(range(*bounds))):
            return walk
        return Walk(items=map(walk.item, self.known_numbers(range(*bounds))), finish=walk.finish)
