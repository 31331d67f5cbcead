"""A process that finds its builds on disk loads the cache and the bridge, and nothing of the compiler."""

from __future__ import annotations

import uuid
from pathlib import Path

import fresh_python
import pytest

HEAD = """
import sys
import torch
from torch import nn
import scriptc
"""
TAIL = """
torch.testing.assert_close(compiled(*args), model(*args))
print(*(name for name in sys.modules if name.startswith("scriptc.")))
"""
PROGRAMS = {
    "function": """
def model(x, by=2.0):
    while x.sum() < 100.0:
        x = x * by
    return x
args = torch.ones(3),
compiled = scriptc.compile(model)
""",
    "module": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
        self.scale = 2.0
    def forward(self, xs):
        h = torch.zeros(2, 3)
        for x in xs:
            for layer in self.layers:
                h = torch.tanh(layer(x + h)) * self.scale
        return h
torch.manual_seed(0)
model = Net().requires_grad_(False)
args = [torch.ones(2, 3) for _ in range(4)],
compiled = scriptc.compile(model)
""",
    "function within a function of torch": """
def model(x):
    return nn.functional.max_pool2d(x, 2)
args = torch.arange(16.0).reshape(1, 4, 4),
compiled = scriptc.compile(model)
""",
}
# Each takes milliseconds to import, and only reading source, running passes or emitting C needs it.
COMPILER = {
    "scriptc.driver.pipeline", "scriptc.driver.stages", "scriptc.driver.tracebacks", "scriptc.dispatch.recompile_reasons",
    "scriptc.frontend.entry",
    "scriptc.frontend.source.functions", "scriptc.frontend.values.abstract", "scriptc.frontend.values.element_types",
    "scriptc.ir.core", "scriptc.ir.opdef", "scriptc.ir.types", "scriptc.backend_c.build", "scriptc.backend_c.emit",
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_warm_start_loads_nothing_of_the_compiler(tmp_path: Path, name: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"{HEAD}MARK = '{uuid.uuid4()}'\n{PROGRAMS[name]}{TAIL}")
    cold, warm = (_loaded(program) for _ in range(2))
    assert "scriptc.driver.pipeline" in cold
    assert not COMPILER & warm


def test_the_modules_of_the_compiler_exist() -> None:
    names = "\n".join(f"import {name}" for name in sorted(COMPILER))
    fresh_python.run(["-c", names], check=True)


def _loaded(program: Path) -> set[str]:
    return set(fresh_python.run([program], check=True).stdout.split())
