"""The README's first program runs as it stands, and prints what the README says."""

from __future__ import annotations

from pathlib import Path

import fresh_python
from readme_program import README, first_program


def test_the_first_block_is_a_program_that_runs(tmp_path: Path) -> None:
    program, output = first_program()
    assert README.read_text().index("```") == README.read_text().index("```python")
    (tmp_path / "first.py").write_text(program)
    done = fresh_python.run(["first.py"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == output
