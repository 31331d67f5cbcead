"""`scriptc.explain`: every place at once, with its line, the calls that led there, and a rewrite; nothing is run."""

from __future__ import annotations

import ast
import itertools
import operator
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import language.rejected.programs  # noqa: F401  (it lists the programs)
import pytest
import torch
from language import statements as accepted_statements  # noqa: F401  (it lists refused programs as well)
from language.constructs import REFUSED
from language.rejected import REJECTED, Rejected, page
from three_ways import Args, assert_same, compile_at, compiled, eager

import scriptc
from scriptc.cli import main
from scriptc.driver.target import target_of
from scriptc.frontend.entry import read
from scriptc.frontend.environment.shared_state import SharedState
from scriptc.frontend.rejections import REJECTIONS, STATEMENTS_AND_EXPRESSIONS
from scriptc.frontend.rejections import __file__ as REJECTIONS_FILE
from scriptc.ir.errors import Diagnostic
from scriptc.ir.loc import Loc

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"


async def helper(x: torch.Tensor) -> torch.Tensor:
    return x


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        class Inner:
            pass

        y = helper(x)
        return y + x[7]


def good(x: torch.Tensor, n: int) -> torch.Tensor:
    for _ in range(n):
        x = x.tanh()
    return x


@torch.jit.script
def scripted(x: torch.Tensor, n: int) -> torch.Tensor:
    for i in range(n):
        x = x * i
    return x


def test_each_place_is_reported_with_a_rewrite() -> None:
    found = scriptc.explain(Net(), torch.ones(3))
    assert not found.ok and found.signature is None
    source = Path(__file__).read_text().splitlines()
    places = [(source[d.loc.line - 1].strip(), d.hint) for d in found.diagnostics]
    assert places == [
        ("class Inner:", "define the class at the top of the file"),
        ("y = helper(x)", "write a plain function, or a generator"),
    ]
    assert "2 places to change" in str(found) and "^" in str(found)


def test_a_program_that_compiles() -> None:
    found = scriptc.explain(good, torch.ones(2, 3), 4)
    assert found.ok and "good compiles for x: f32[?, ?], n: int" in str(found), str(found)


def test_compiled_and_scripted_functions() -> None:
    assert scriptc.explain(scriptc.compile(good), torch.ones(1), 1).ok
    assert scriptc.explain(scripted, torch.ones(1), 1).ok
    compiled = scriptc.compile(scripted)
    for n in range(3):
        torch.testing.assert_close(compiled(torch.ones(2), n), scripted(torch.ones(2), n))


def test_errors_inside_of_what_a_lambda_calls() -> None:
    """Its own value hangs on what is in error, which is not reported again."""
    with pytest.raises(scriptc.CompileError, match="torch.from_file is not supported"):
        scriptc.compile(lambda x: _refused(x).sum())(torch.ones(2))


def _refused(x: torch.Tensor) -> torch.Tensor:
    return torch.from_file(x)


def test_arguments_that_do_not_fit() -> None:
    with pytest.raises(TypeError, match="missing a required argument: 'n'"):
        scriptc.explain(good, torch.ones(1))


def test_a_script_module_keeps_no_python() -> None:
    with pytest.raises(TypeError, match="compile what was given to torch.jit"):
        scriptc.compile(torch.jit.script(torch.nn.Linear(1, 1)))(torch.ones(1))


@pytest.mark.parametrize(("name", "args", "status"), [("good", "torch.ones(2), 3", 0), ("Net", "torch.ones(2)", 1)])
def test_the_command(name: str, args: str, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["explain", f"{__file__}:{name}", "--args", args])
    assert end.value.code == status
    assert ("compiles for" if status == 0 else "hint: define the class") in capsys.readouterr().out


def as_pattern(template: str) -> str:
    return re.sub(r"\\\{\w+\\\}", "(?s:.+)", re.escape(template))


def places(loc: Loc | None) -> Iterator[Loc]:
    """A place, and the calls that led there."""
    while loc is not None:
        yield loc
        loc = loc.inlined_at


def explained(row: Rejected) -> Sequence[Diagnostic]:
    """What stands against a call, or a build."""
    if not row.ahead:
        return scriptc.explain(row.refused, *row.calls[0].args).diagnostics
    with pytest.raises(scriptc.CompileError) as error:
        read_ahead(row.refused, row.calls[0])
    return error.value.diagnostics


def read_ahead(model: Any, given: Args) -> None:
    """What a build ahead of time reads."""
    target = target_of(model)
    read(target.func, target.receiver, target.bind(given.args, {}), ahead=SharedState())


@pytest.mark.parametrize("row", REJECTED, ids=[r.name for r in REJECTED])
def test_what_is_rejected_says_where_and_what_to_write(row: Rejected) -> None:
    if row.refused is None:
        pytest.skip("this Python does not have the syntax")
    with row.around():
        found = explained(row)
    marked = [(d, loc) for d in found for loc in places(d.loc) if "# refused" in loc.text]
    assert marked, "\n".join(map(str, found))
    diagnostic, loc = marked[0]
    reason, rewrite = REJECTIONS[row.key]
    assert re.fullmatch(as_pattern(reason), diagnostic.message), diagnostic.message
    assert diagnostic.hint and re.fullmatch(as_pattern(rewrite), diagnostic.hint), diagnostic.hint
    code = loc.text.partition("#")[0].rstrip()
    assert len(code) - len(code.lstrip()) <= loc.col < len(code)
    if row.ahead:
        return
    with row.around(), pytest.raises(scriptc.CompileError):
        for given in row.calls:
            scriptc.compile(row.refused, optimize=0)(*given.args)


@pytest.mark.compiled_together
@pytest.mark.parametrize("row", REJECTED, ids=[r.name for r in REJECTED])
def test_what_is_written_instead_compiles(row: Rejected) -> None:
    if row.ahead:
        read_ahead(row.instead, row.calls[0])
    target = compile_at(row.instead, 0)
    for given in row.calls:
        assert_same(eager(row.instead, given), compiled(target, given))


def test_each_row_has_a_program() -> None:
    assert set(REJECTIONS) == {r.key for r in REJECTED}


def test_each_place_that_refuses_has_a_row() -> None:
    newer = {"except_star", "type_statement"}  # of Python 3.11 and 3.12
    folder, used = Path(REJECTIONS_FILE).parent, newer | set(STATEMENTS_AND_EXPRESSIONS.values())
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            name = ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
            is_error = name == "error" and ".diagnostics." in f".{ast.unparse(node.func)}"
            if is_error or name in ("reject", "refuse", "refuse_kept", "rejection"):
                given = [c for a in node.args for c in ((a.body, a.orelse) if isinstance(a, ast.IfExp) else (a,))]
                keys = [a.value for a in given if isinstance(a, ast.Constant) and isinstance(a.value, str)]
                passes_on = path.name in ("diagnostics.py", "reader.py", "speculation.py", "aot_kinds.py")
                variable = passes_on or "STATEMENTS_AND_EXPRESSIONS" in ast.unparse(node)
                assert keys or variable, f"{path.name}:{node.lineno} names no row"
                used |= set(keys)
    assert used == REJECTIONS.keys()


def test_refused_constructs_name_programs_that_exist() -> None:
    assert {program for programs in REFUSED.values() for program in programs.split()} <= {r.name for r in REJECTED}


def test_the_page_of_rejections_is_the_table() -> None:
    command = "PYTHONPATH=tests python -m language.rejected > docs/reference/rejections.md"
    assert (REFERENCE / "rejections.md").read_text() == page(), f"run {command}"


def test_more_arguments_than_an_operator_takes() -> None:
    """None takes the place of what a function of the library was registered with."""
    for call in (lambda x: operator.iadd(x, x, 1), lambda x: operator.neg(x, "Not"), lambda x: list(itertools.combinations(x))):
        with pytest.raises(scriptc.CompileError, match="too many|missing a required"):
            scriptc.compile(call)(torch.ones(1))


def test_no_iterator_is_returned() -> None:
    with pytest.raises(scriptc.CompileError, match="which cannot be returned from compiled code"):
        scriptc.compile(lambda xs: iter(xs))([1, 2])
