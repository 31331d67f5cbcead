"""Each feature of the language does the same in Python, in the IR interpreter and in C: values and exception types."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from language import (  # noqa: F401  (they list their programs)
    arguments,
    arrays,
    classes,
    complexes,
    constructors,
    containers,
    copies,
    custom_functions,
    dicts,
    dims,
    exceptions,
    expressions,
    generators,
    handlers,
    iterators,
    kinds,
    known_lengths,
    leaves,
    libraries,
    lists,
    lookups,
    made_modules,
    managers,
    modules,
    objects,
    optional,
    pairs,
    queues,
    raised,
    records,
    recursion,
    reshaping,
    sequences,
    sets,
    specials,
    split_paths,
    statements,
    strings,
    tensor_data,
    tuples,
    unions,
    unrolled,
    views,
)
from language.cases import CONSTRUCTS, LANGUAGE, with_constructs
from language.constructs import ACCEPTED, REFUSED
from three_ways import Program, assert_same, compile_at, compiled, eager, interpreted

# Programs that show no construct of their own.
UNNAMED = {
    "expressions.boolean_values", "lists.sieve", "modules.Stateful", "optional.equal_to_none", "optional.isinstance_of_tensor",
    "optional.passed_on",
}  # fmt: skip
PAGE = Path(__file__).parent.parent / "docs" / "reference" / "language.md"
IDS = [f"{p.target.__module__.rpartition('.')[2]}-{p.name}" for p in LANGUAGE]


@pytest.mark.compiled_together
@pytest.mark.parametrize("program", LANGUAGE, ids=IDS)
def test_three_ways_agree(program: Program) -> None:
    target = compile_at(program.target, 0)
    for given in program.calls:
        assert_same(eager(program.target, given), compiled(target, given))
        assert_same(eager(program.target, given), interpreted(program.target, given, target))


def constructs(section: str) -> set[str]:
    """Return the first cells of the tables in a section of the page."""
    text = PAGE.read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| construct |")]
    return {re.split(r"(?<!\\)\|", row)[1].strip().replace("\\|", "|") for row in rows}


def test_constructs_of_the_page_have_programs() -> None:
    assert constructs("Accepted") == ACCEPTED.keys() | {c.name.replace("\\|", "|") for c in CONSTRUCTS}
    assert constructs("Rejected") == REFUSED.keys()


def test_declared_constructs_are_rows_of_the_page() -> None:
    assert PAGE.read_text() == with_constructs(PAGE.read_text()), "run PYTHONPATH=tests python -m language"


def test_constructs_name_programs_that_exist() -> None:
    ids = {i.replace("-", ".", 1) for i in IDS}
    named = {program for programs in ACCEPTED.values() for program in programs.split()}
    named |= {f"{p.__module__.rpartition('.')[2]}.{p.__name__}" for c in CONSTRUCTS for p in c.programs}
    assert named <= ids
    assert {i for i in ids if not re.match(r"expressions\.math_", i)} <= named | UNNAMED
