"""Verbs: how the answer for a kind of value is found, and that a new kind is one class and its answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from scriptc.frontend import kinds
from scriptc.frontend.reader.errors import Conflict
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values import abstract, verbs
from scriptc.frontend.values.abstract import AbstractValue, Known, KnownSet, ListValue, OneOf, RuntimeValue, TupleValue
from scriptc.frontend.values.verb import Question, Verb
from scriptc.ir.core import Block, Value
from scriptc.ir.types import BOOL, EXC, INT, STR, TensorType, list_of

NO_READER = cast(Reader, None)  # these answers follow from the value alone


def run_time(t: Any) -> RuntimeValue:
    return RuntimeValue(Value(t, Block()))


def test_the_answer_is_that_of_the_nearest_class() -> None:
    @Question
    def name(value: AbstractValue) -> str:
        return "default"

    name.of(RuntimeValue)(lambda value: "run time")
    name.of(TensorType)(lambda value: "tensor")
    name.of(INT, BOOL)(lambda value: "number")
    name.of(Known)(lambda value: "known")
    assert name(TupleValue([])) == "default"
    assert name(run_time(TensorType("f32", (2,)))) == "tensor"
    assert [name(run_time(t)) for t in (INT, BOOL, STR, EXC)] == ["number", "number", "run time", "run time"]
    assert name(KnownSet({1})) == "known", "a class of values inherits the answers of its base"


def test_an_answer_given_later_is_found() -> None:
    @Verb
    def size(reader: Reader, value: AbstractValue) -> int:
        return 0

    assert size(NO_READER, TupleValue([])) == 0
    size.of(TupleValue)(lambda reader, value: 1)
    assert size(NO_READER, TupleValue([])) == 1


def test_a_kind_has_one_answer_to_a_verb() -> None:
    with pytest.raises(AssertionError, match="two answers"):
        verbs.truth.of(TupleValue)(lambda reader, value: Known(True))


def test_a_new_kind_is_a_class_and_its_answers() -> None:
    @dataclass(eq=False, slots=True)
    class PairValue(AbstractValue):
        first: AbstractValue
        second: AbstractValue

    verbs.held_values.of(PairValue)(lambda pair: [pair.first, pair.second])
    pair = PairValue(Known(1), run_time(INT))
    assert verbs.describe(pair) == "a pair"
    assert verbs.held_values(pair) == [pair.first, pair.second]
    with pytest.raises(Conflict, match="a pair, which cannot be returned"):
        verbs.result_of(pair)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Known(1.5), "1.5"),
        (Known([1]), "list"),
        (run_time(INT), "int"),
        (run_time(TensorType("f32", (2, 3))), "a tensor"),
        (run_time(EXC), "an exception"),
        (TupleValue([Known(1), Known(2)]), "a tuple of 2"),
        (ListValue(Value(list_of(INT), Block())), "a list"),
        (OneOf(Value(INT, Block()), {0: Known(None), 1: run_time(INT)}), "None or int"),
    ],
)
def test_values_in_words(value: AbstractValue, words: str) -> None:
    assert verbs.describe(value) == words


def test_values_of_one_form_have_one_structure() -> None:
    known, made = Known((1, 2)), TupleValue([run_time(INT), Known(3)])
    structures = [verbs.structure_of(v) for v in (known, made)]
    assert structures[0] is not None and structures[1] is not None
    assert structures[0].key == structures[1].key
    rebuilt = structures[0].make([Known(5), Known(6)])
    assert isinstance(rebuilt, TupleValue) and [verbs.describe(i) for i in rebuilt.items] == ["5", "6"]


def test_each_kind_of_value_has_answers() -> None:
    """A class of values that no file in `frontend/kinds` mentions could not be used in any way."""
    answered = {kind for verb in vars(verbs).values() if isinstance(verb, (Verb, Question)) for kind in verb.answered()}
    classes = {c for c in vars(abstract).values() if isinstance(c, type) and issubclass(c, AbstractValue)}
    own = classes - {AbstractValue, abstract.ManagerValue, abstract.Moved}  # entered by `with` alone; never a value
    assert own <= {base for kind in answered if isinstance(kind, type) for base in [kind, *kind.__subclasses__()]}


def test_each_file_of_kinds_is_registered() -> None:
    files = {path.stem for path in Path(kinds.__file__).parent.glob("*.py")} - {"__init__"}
    assert {module.__name__.rpartition(".")[2] for module in kinds.KINDS} == files
