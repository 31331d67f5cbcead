"""Packages whose entries and arguments have names that C, C++ or their headers have."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import scriptc
from scriptc.package.entry_interface import entry_name

pytestmark = pytest.mark.usefixtures("compiles_once")

TAKEN = (
    "errno", "I", "stdin", "assert_", "isnan", "offsetof", "unix", "template", "namespace", "this", "std", "Tensor", "State",
    "v", "context", "caller", "param_x", "out_result", "n_v", "x", "result", "sc_raise", "NULL", "out_result_0", "free",
    "check",
)  # fmt: skip
SOURCE = f"""
import torch

def errno({", ".join(TAKEN)}, xs: list[torch.Tensor], n_xs, out_xs):
    out = {" + ".join(TAKEN)}
    for item in xs:
        out = out + item
    return [out + n_xs], out, str(out_xs)
"""
INCLUDES = "#include <assert.h>\n#include <complex.h>\n#include <errno.h>\n#include <math.h>\n#include <stdio.h>\n"


def test_names_that_c_or_cpp_have(tmp_path: Path) -> None:
    (tmp_path / "names.py").write_text(SOURCE)
    names: dict[str, Any] = {}
    exec(compile(SOURCE, tmp_path / "names.py", "exec"), names)
    one = torch.ones(1)
    folder = scriptc.build(
        names["errno"], *[one] * len(TAKEN), [one], 2, 3, out=tmp_path / "net", optimize=0, march="native"
    )
    given = [np.ones(1, np.float32)] * len(TAKEN)
    listed, total, text = scriptc.load(folder)(*given, [np.ones(1, np.float32)], 2, 3)
    assert total.tolist() == [len(TAKEN) + 1] and listed[0].tolist() == [len(TAKEN) + 3] and text == "3"
    (tmp_path / "user.c").write_text(INCLUDES + '#include "net.h"\nint main(void) { return net_build_id() == NULL; }\n')
    cpp = INCLUDES.replace("complex.h", "complex").replace("math.h", "cmath") + '#include "net.hpp"\n'
    (tmp_path / "user.cpp").write_text(cpp + "int main() { net::Model model; net::Context context(model); }\n")
    for command in (["cc", "user.c"], ["c++", "-std=c++17", "user.cpp"]):
        flags = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", folder / "include"]
        done = subprocess.run([*command, *flags], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["load", "errno", "Context", "assert", "class", "context_"])
def test_entries_with_names_of_others_get_an_underscore(name: str) -> None:
    assert entry_name(name) == f"{name}_"
