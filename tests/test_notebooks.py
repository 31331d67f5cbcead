"""Cells of a notebook compile as files do: one kernel runs them, one after the other."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from scriptc.api.explain import Explanation
from scriptc.inspect.comparison_report import Report, Row
from scriptc.inspect.memory import Memory
from scriptc.inspect.profile import Profile
from scriptc.inspect.profile import Row as Line
from scriptc.ir.errors import Diagnostic
from scriptc.ir.loc import Loc

# A line of dashes ends a cell.
CELLS = """
import torch, scriptc
x = torch.arange(3.0)
def helper(x):
    return x + 1
@scriptc.compile(optimize=0)
def f(x):
    return helper(x) * 2
f(x).tolist()  # first
---
f(x).tolist()  # again
---
def helper(x):
    return x + 5
---
f(x).tolist()  # helper
---
class Net(torch.nn.Module):
    def forward(self, x):
        return f.__wrapped__(x) - 1
net = scriptc.compile(Net(), optimize=0)
net(x).tolist()  # class
---
class Net(torch.nn.Module):
    def forward(self, x):
        return x - 7
scriptc.compile(Net(), optimize=0)(x).tolist(), net(x).tolist()  # redefined
---
@scriptc.compile(optimize=0)
def refused(x):
    y = x + 1
    return torch.tensor(y)
---
refused(x)  # compile error
---
@scriptc.compile(optimize=0)
def raises(x, n):

    return x.view(n)
---
raises(x, 4)  # run-time error
---
def leaves(x):
    return exit(x)
scriptc.compile(leaves)(x)  # exit
---
scriptc.explain(refused, x)
---
scriptc.compare(f, x)
---
f.memory(x)
---
f.profile(x)
"""


@pytest.fixture(scope="module")
def cells() -> dict[str, Any]:
    """The outputs of cells, by their last lines."""
    texts = [cell.strip() for cell in CELLS.split("---\n")]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in texts])
    NotebookClient(notebook, timeout=240, kernel_name="python3", allow_errors=True).execute()
    return {text.rpartition("\n")[2]: cell.outputs for text, cell in zip(texts, notebook.cells, strict=True)}


def shown(cells: dict[str, Any], line: str, form: str = "text/plain") -> str:
    """What a cell shows; the text of its error."""
    (output,) = cells[line]
    if output.output_type == "error":
        return re.sub("\x1b\\[[0-9;]*m", "", "\n".join(output.traceback))
    return output.data[form]


def test_cells_are_compiled_and_redefined(cells: dict[str, Any]) -> None:
    assert shown(cells, "f(x).tolist()  # first") == "[2.0, 4.0, 6.0]"
    assert shown(cells, "f(x).tolist()  # again") == "[2.0, 4.0, 6.0]"
    assert shown(cells, "f(x).tolist()  # helper") == "[10.0, 12.0, 14.0]"
    assert shown(cells, "net(x).tolist()  # class") == "[9.0, 11.0, 13.0]"
    line = "scriptc.compile(Net(), optimize=0)(x).tolist(), net(x).tolist()  # redefined"
    assert shown(cells, line) == "([-7.0, -6.0, -5.0], [9.0, 11.0, 13.0])"


def test_errors_point_at_cells(cells: dict[str, Any]) -> None:
    message = shown(cells, "refused(x)  # compile error")
    assert "CompileError: Cell In[7]:4:12: error: " in message
    assert "\n    return torch.tensor(y)\n           ^~~~~~~~~~~~~~~\n" in message
    message = shown(cells, "raises(x, 4)  # run-time error")
    assert re.search(r"Cell In\[9\], line 4\b.*\n(.*\n)*-+> 4     return x.view\(n\)", message)
    assert "invalid for input of size 3" in message
    assert "\nCell In[11]:2:12: note: reached through exit(x) in leaves\n" in shown(cells, "scriptc.compile(leaves)(x)  # exit")


class Table(HTMLParser):
    """The cells of tables. Raise AssertionError where tags do not match."""

    def __init__(self, text: str):
        super().__init__()
        self.cells: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag != "br":
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


DISPLAYS = {
    "scriptc.explain(refused, x)": ("Cell In[7]:4:12", "return torch.tensor(y)"),
    "scriptc.compare(f, x)": ("output", "float32[3]", "equal"),
    "f.memory(x)": ("x.size(0)", "formula", "measured"),
    "f.profile(x)": ("Cell In[3]:2", "return x + 5", "GB/s"),
}


@pytest.mark.parametrize("line", DISPLAYS)
def test_results_are_tables(cells: dict[str, Any], line: str) -> None:
    found = Table(shown(cells, line, "text/html")).cells
    assert set(DISPLAYS[line]) <= set(found)
    assert DISPLAYS[line][0] in shown(cells, line) and len(shown(cells, line)) < 2000


def _memory(name: str) -> Any:
    return Memory(name, {}, {}, (), {}, 1, 1)


def _profile(name: str) -> Any:
    row = Line("file", 1, name, "", 1, 1, 0, 0)
    return Profile(name, 1, 1.0, (row,), SimpleNamespace(threads=1, flops=1, bytes=1), ((0, 1, 2),) * 1000, 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("made", [
    lambda name: Report((Row(name, name, "equal", True),), name),
    lambda name: Explanation(name, (Diagnostic(Loc("file", 1), name, name),)),
    _memory, _profile,
])  # fmt: skip
def test_what_is_shown_is_escaped(made: Callable[[str], Any]) -> None:
    text = made("<script>&amp;")._repr_html_()
    assert "<script" not in text and "&lt;script&gt;&amp;amp;" in text
    assert len(repr(made("f"))) < 1000
    Table(text)
