"""The number of readings of a function, and their reasons. Decompositions of ours must not need a second reading to know what
they count."""

from __future__ import annotations

import ast
import inspect
import logging
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from reading_programs import READ, Read
from torch import Tensor

from scriptc.driver.target import target_of
from scriptc.frontend import entry
from scriptc.frontend.entry import Entry, EntryReader
from scriptc.frontend.reader import paths
from scriptc.frontend.reader.assumptions import Assumptions, Reading
from scriptc.frontend.reader.speculation import Speculation
from scriptc.frontend.values import joins
from scriptc.frontend.values.element_types import fresh, unite
from scriptc.ir.errors import CompileError, InternalError
from scriptc.ir.types import Type

ROWS, COLUMNS, X = torch.tensor([0, 1]), torch.tensor([1, 1]), torch.rand(3, 4, 5)


def masked(x: Tensor) -> Tensor:
    x[x != x] = 0
    return x


def picked(x: Tensor) -> Tensor:
    return x[ROWS, :, COLUMNS]


def placed(x: Tensor) -> Tensor:
    x[ROWS, COLUMNS] = x[0, 0]
    return x


def compared(x: Tensor) -> bool:
    return torch.equal(x, x + 1)


def added(x: Tensor) -> Tensor:
    return x.index_add(1, ROWS, x[:, :2])


def contracted(x: Tensor) -> Tensor:
    return torch.einsum("abc,abd,aac->db", x[:, :3], x[:, :3], x[:, :3])


def found(x: Tensor) -> Tensor:
    return x.transpose(0, (2, 1, 0).index(x.dim() - 2))


class Layers(torch.nn.Module):
    def __init__(self, depth: int) -> None:
        super().__init__()
        self.depth = depth
        self.layers = torch.nn.ModuleList(torch.nn.Linear(5, 5) for _ in range(depth))

    def forward(self, x: Tensor) -> Tensor:
        for i in range(self.depth):
            x = self.layers[i](x)
        return x


STACKS = [Layers(n) for n in (3, 2, 4, 3)]


def stacked(x: Tensor) -> Tensor:
    """The second reading, which unrolls the first loop, unrolls those that other calls of its text run."""
    for stack in STACKS:
        x = stack(x)
    return x


def filtered(x: Tensor) -> Tensor:
    return x.sum([i for i in range(x.dim()) if i != 1])


def readings_of(program: Callable[[Tensor], Any], monkeypatch: pytest.MonkeyPatch) -> int:
    readings, read_once = [0], entry._read_once

    def counted(*args: Any, **settings: Any) -> entry.Entry:
        readings[0] += 1
        return read_once(*args, **settings)

    monkeypatch.setattr(entry, "_read_once", counted)
    entry.read(program, None, {"x": X})
    return readings[0]


@pytest.mark.parametrize("program", [masked, picked, placed, compared, added, contracted, found])
def test_read_once(program: Callable[[Tensor], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    assert readings_of(program, monkeypatch) == 1


@pytest.mark.parametrize("program", [stacked, filtered])
def test_read_twice(program: Callable[[Tensor], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    assert readings_of(program, monkeypatch) == 2


def counted_in_many_loops(x: Tensor) -> Tensor:
    for i in range(2):
        x = x.transpose(0, i)
    for i in range(2):
        x = x.transpose(1, i)
    for i, _ in enumerate(range(2)):
        x = x.transpose(2, i)
    return x


def test_reasons_are_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each loop needs a reading of its own, and the bound is below that."""
    assert readings_of(counted_in_many_loops, monkeypatch) == 4
    monkeypatch.setattr(entry, "_MAX_READINGS", 2)
    with pytest.raises(CompileError) as caught:
        entry.read(counted_in_many_loops, None, {"x": X})
    (found,) = caught.value.diagnostics
    first = counted_in_many_loops.__code__.co_firstlineno
    assert found.loc.line == first + 4
    assert "counted_in_many_loops was read 2 times" in found.message
    assert all(f"must be known at compile time, but it is computed here (line {first + n})" in found.message for n in (2, 4))


def test_a_reading_that_assumes_nothing_new_is_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of the reader's own, which asks for another reading for nothing."""
    monkeypatch.setattr(Speculation, "unroll", lambda self, site, why: self._read_again("unroll", why))
    with pytest.raises(CompileError, match="counted_in_many_loops was read 1 times"):
        entry.read(counted_in_many_loops, None, {"x": X})


# ---- reasons ----


def read(program: Read, on_reading: Callable[[Reading], object] | None = None) -> Entry:
    target = target_of(program.target)
    arguments = target.bind(program.given, {})
    options = {name: value() if name == "ahead" else value for name, value in program.options.items()}
    return entry.read(target.func, target.receiver, arguments, on_reading=on_reading, **options)


def name_of(program: Read) -> str:
    return getattr(program.target, "__name__", type(program.target).__name__)


@pytest.mark.parametrize("program", READ, ids=name_of)
def test_reasons(program: Read) -> None:
    readings: list[Reading] = []
    read(program, readings.append)
    assert [reading.number for reading in readings] == list(range(1, len(readings) + 1))
    assert tuple(reason.name for reading in readings for reason in reading.reasons) == program.reasons
    assert all(reading.reasons for reading in readings[1:])
    assert all(reason.loc is not None for reading in readings for reason in reading.reasons)


def methods_that_read_again() -> Iterator[tuple[ast.FunctionDef, list[str]]]:
    """Yield the methods of `Speculation` that note a reason, and the names that they give it."""
    (cls,) = ast.parse(textwrap.dedent(inspect.getsource(Speculation))).body
    for method in (m for m in cls.body if isinstance(m, ast.FunctionDef) and m.name not in ("_outdate", "_read_again")):  # type: ignore[attr-defined]
        calls = [call for call in ast.walk(method) if isinstance(call, ast.Call)]
        noted = [call for call in calls if ast.unparse(call.func) in ("self._outdate", "self._read_again")]
        if noted:
            yield method, [ast.literal_eval(call.args[0]) for call in noted]


def test_each_reason_has_a_method_a_docstring_and_a_program() -> None:
    methods = dict((method.name, (method, names)) for method, names in methods_that_read_again())
    for name, (method, names) in methods.items():
        assert set(names) == {name}
        doc = ast.get_docstring(method) or ""
        assert [line.partition(":")[0] for line in doc.splitlines()[-3:]] == ["Assumed", "Refuted", "Next"], name
    assert methods.keys() == {name for program in READ for name in program.reasons}


CHANGES = {"add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update"}


def changes_of_assumptions(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what changes a field of the assumptions, calls the methods of `Speculation` that note a reason, or restarts."""

    def is_field(node: ast.AST) -> bool:
        while isinstance(node, ast.Subscript):
            node = node.value
        return isinstance(node, ast.Attribute) and ast.unparse(node.value).endswith("assumptions")

    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete)):
            targets = node.targets if isinstance(node, (ast.Assign, ast.Delete)) else [node.target]
            yield from (target for target in targets if is_field(target))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in CHANGES and is_field(node.func.value) or node.func.attr in ("_read_again", "_outdate"):
                yield node
        elif isinstance(node, ast.Raise) and node.exc is not None and "Restart" in ast.unparse(node.exc):
            yield node


def test_only_speculation_changes_assumptions() -> None:
    folder = Path(entry.__file__).parent
    found = [
        f"{path.relative_to(folder)}:{node.lineno}"  # type: ignore[attr-defined]
        for path in sorted(folder.rglob("*.py"))
        if path.name != "speculation.py"
        for node in changes_of_assumptions(ast.parse(path.read_text()))
    ]
    assert not found


# ---- the order that makes readings end ----


class Snapshot:
    """Keep the five parts of the order of `Assumptions`, as they were in front of a reading."""

    def __init__(self, assumptions: Assumptions, changing: set[Any]) -> None:
        a = assumptions
        grown = {
            name: frozenset(getattr(a, name))
            for name in (
                "unrolled", "unrolled_text", "known_args", "varied", "growing", "recursive", "tries", "mutated",
                "run_time_lists",
                "free_keys", "records", "state", "changed", "written", "outgrown", "split",
            )
        }  # fmt: skip
        grown["flags"] = frozenset(name for name in ("unions", "parted", "tabled", "keeps_items") if getattr(a, name))
        grown["baked in"] = frozenset(changing - a.changing)
        grown["attributes"] = frozenset(at for at, place in a.state.items() if not place.is_item)
        grown["kinds"] = frozenset((at, str(kind)) for at, kinds in a.kinds.items() for kind in kinds)
        grown["kinds under keys"] = frozenset((at, kind) for at, kinds in a.key_kinds.items() for kind in kinds)
        grown["late"] = frozenset((key, name) for key, record in a.records.items() for name in record.late)
        grown["constants"] = frozenset((key, name) for key, record in a.records.items() for name in record.constants)
        self.sets = (
            frozenset((name, item) for name, items in grown.items() for item in items),
            frozenset(a.untabled),
            frozenset(a.known_length),
            frozenset(a.tables),
        )
        self.elements = {site: fresh(t) for site, t in a.elements.items()}

    def is_below(self, other: Snapshot) -> bool:
        for mine, theirs in zip(self.sets, other.sets, strict=True):
            if mine != theirs:
                return mine < theirs
        wider = all(site in other.elements and fits(t, other.elements[site]) for site, t in self.elements.items())
        return wider and {s: str(t) for s, t in self.elements.items()} != {s: str(t) for s, t in other.elements.items()}


def fits(narrow: Type, wide: Type) -> bool:
    return str(unite(fresh(narrow), fresh(wide), unions=True)) == str(wide)


def snapshots(program: Read, monkeypatch: pytest.MonkeyPatch) -> list[Snapshot]:
    """Return the assumptions in front of each reading of a program."""
    made: list[Assumptions] = []

    def recorded(**fields: Any) -> Assumptions:
        made.append(Assumptions(**fields))
        return made[0]

    monkeypatch.setattr(entry, "Assumptions", recorded)
    found: list[Snapshot] = []
    changing = set(program.options.get("changing", ()))
    read(program, lambda reading: found.append(Snapshot(made[0], changing)))
    return found


@pytest.mark.parametrize("program", READ, ids=name_of)
def test_each_reading_assumes_more_than_the_one_before(program: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    found = snapshots(program, monkeypatch)
    assert all(below.is_below(above) for below, above in zip(found, found[1:], strict=False))
    assert not found[0].is_below(found[0])


class TurnsIntoAnAttribute(torch.nn.Module):
    """A list that the second reading finds to be replaced, which the first took for one that is changed."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = [torch.ones(3)]

    def forward(self, x: Tensor) -> Tensor:
        self.last = x
        self.seen.append(x)
        y = self.last + 1
        self.seen = [y]
        return y


def test_a_place_turns_from_an_item_into_an_attribute(monkeypatch: pytest.MonkeyPatch) -> None:
    found = snapshots(Read(TurnsIntoAnAttribute(), (torch.ones(3),), (), {}), monkeypatch)
    assert len(found) == 3
    assert all(below.is_below(above) for below, above in zip(found, found[1:], strict=False))


# ---- faults ----


class Window:
    def __init__(self) -> None:
        self.seen = 0
        self.items: list[int] = []

    def add(self, n: int) -> None:
        self.seen += 1
        self.items.append(n)
        if len(self.items) > 3:
            del self.items[0]


def count(*items: int) -> int:
    return len(items)


def counted_in_a_window(ns: list[int]) -> int:
    window = Window()
    for n in ns:
        window.add(n)
    return count(*window.items)


def test_an_object_that_holds_a_list_of_several_lengths_holds_one_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each join would multiply the lists that the object may hold, were each length taken for a list of its own."""

    def planned(avs: Any, *args: Any, **settings: Any) -> Any:
        plan = joins.unify(avs, *args, **settings)
        assert plan.key().count("one of") <= 1
        return plan

    monkeypatch.setattr(paths, "unify", planned)
    with pytest.raises(CompileError, match="a list must have the same length on all paths"):
        entry.read(counted_in_a_window, None, {"ns": [1, 2, 3]})


class Keeps(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        self.seen = x
        return torch.relu(x)


def breaks(method: Callable[..., Any], error: Exception, when: Callable[[EntryReader], bool]) -> Callable[..., Any]:
    """Return a method of the reader that raises an error of ours where `when` says so."""

    def broken(reader: EntryReader, *args: Any) -> Any:
        if when(reader):
            raise error
        return method(reader, *args)

    return broken


def test_a_fault_behind_a_new_slot_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the next reading would not meet it."""
    broken = breaks(EntryReader.call, KeyError("broken"), lambda reader: reader.speculation.outdated)
    monkeypatch.setattr(EntryReader, "call", broken)
    with pytest.raises(InternalError, match="KeyError: 'broken'"):
        entry.read(Keeps.forward, Keeps(), {"x": X})


def test_a_type_error_of_ours_is_a_fault_with_the_line_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EntryReader, "call", breaks(EntryReader.call, TypeError("broken"), lambda reader: True))
    with pytest.raises(InternalError, match="return torch.relu.x.: TypeError: broken") as caught:
        entry.read(Keeps.forward, Keeps(), {"x": X})
    assert caught.value.loc is not None
    assert caught.value.loc.line == Keeps.forward.__code__.co_firstlineno + 2


def test_a_fault_in_front_of_the_body_has_the_line_of_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry, "same_containers", lambda *_: [].pop())
    with pytest.raises(InternalError, match="IndexError") as caught:
        entry.read(masked, None, {"x": X})
    assert caught.value.loc is not None and caught.value.loc.line == masked.__code__.co_firstlineno


class Sparse(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen = torch.eye(3).to_sparse()

    def forward(self, x: Tensor) -> Tensor:
        self.seen = x
        return x


def test_what_cannot_be_passed_is_a_plain_type_error() -> None:
    with pytest.raises(TypeError, match="the tensor 'x' cannot be passed to compiled code") as argument:
        entry.read(masked, None, {"x": torch.eye(3).to_sparse()})
    with pytest.raises(TypeError, match="the tensor 'seen' cannot be passed to compiled code") as state:
        entry.read(Sparse.forward, Sparse(), {"x": X})
    assert argument.type is state.type is TypeError


# ---- what is told ----


def test_readings_are_told_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []
    with caplog.at_level(logging.DEBUG, "scriptc"):
        entry.read(filtered, None, {"x": X}, on_reading=lambda reading: told.append(str(reading)))
    why = "the length of a list must be known: the dims of a reduction must be known at compile time, but it is a list"
    line = filtered.__code__.co_firstlineno + 1
    assert told == ["reading 1", f"reading 2: {__file__}:{line}:5: keep_items: {why}"]
    assert caplog.messages == ["reading filtered", f"reading filtered again because {why} (line {line})"]


def ends_by_what_is_refused(x: Tensor) -> Tensor:
    layers, i = (torch.sin, torch.cos), 0
    while True:
        x = layers[i % 2](x)
        x = torch.linalg.eigvals(x)
        i += 1
        if x.sum() > 3:
            break
    return x


def test_a_loop_whose_condition_an_error_hides_is_not_read_to_the_end() -> None:
    target = target_of(ends_by_what_is_refused)
    with pytest.raises(CompileError) as refused:
        entry.read(target.func, target.receiver, target.bind((X[0, :, :4],), {}))
    assert "eigvals is not supported" in str(refused.value) and "do not end the loop" not in str(refused.value)
