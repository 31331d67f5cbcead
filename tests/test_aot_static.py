"""Two packages that one C program links statically."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from test_aot import cmake_build, environment
from torch import nn

import scriptc

pytestmark = pytest.mark.usefixtures("compiles_once")

PROGRAM = """
#include <stdio.h>
#include "first.h"
#include "second.h"

int main(void)
{
    char why[256];
    first_model *f = first_load(NULL, why, sizeof why);
    second_model *s = second_load(NULL, why, sizeof why);
    if (!f || !s) return puts(why), 1;
    first_context *fc = first_context_new(f);
    second_context *sc = second_context_new(s);
    second_state *state = second_state_new(s);
    scriptc_string words[] = {{"a", 1}, {"bc", 2}};
    int64_t *lengths, n, total;
    if (first_lengths(fc, words, 2, &lengths, &n)) return puts(first_last_error(fc)->message), 1;
    for (int k = 0; k < 2; k++)
        if (second_forward(sc, state, lengths[1], &total)) return puts(second_last_error(sc)->message), 1;
    printf("%lld %lld %lld\\n", (long long)lengths[0], (long long)lengths[1], (long long)total);
    first_lengths(fc, words, 0, &lengths, &n);
    puts(first_last_error(fc)->message);
    first_context_free(fc);
    second_context_free(sc);
    second_state_free(state);
    first_free(f);
    second_free(s);
}
"""


def lengths(words: list[str]) -> list[int]:
    found = [len(words[0])]
    for word in words[1:]:
        found.append(len(word))
    return found


class Adder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.total = torch.zeros((), dtype=torch.int64)

    def forward(self, n: int) -> int:
        self.total = self.total + n
        return int(self.total)


def external_symbols(library: Path) -> set[str]:
    out = subprocess.run(["nm", "-g", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {found[1] for found in re.finditer(r"(?m)^[0-9a-f]+ [A-Za-z] (\w+)$", out)}


def test_two_static_packages_in_one_program(tmp_path: Path) -> None:
    env = environment(tmp_path)
    options = {"optimize": 0, "march": "native", "embed_weights": True}
    scriptc.build(lengths, ["a", "b"], out=tmp_path / "first", **options)
    scriptc.build(Adder(), 2, out=tmp_path / "second", **options)
    libraries = []
    for name in ("first", "second"):
        build = tmp_path / "build" / name
        cmake_build(tmp_path / name, build, env, "-DBUILD_SHARED_LIBS=OFF", "-DBUILD_TESTING=OFF", "-DSC_OPTIMIZE=g")
        libraries.append(build / f"lib{name}.a")
    if shutil.which("nm"):
        first, second = map(external_symbols, libraries)
        assert not first & second and "first_lengths" in first and "sc_model_load_in_first" in first
        assert {name for name in first if not name.startswith("first_")} == {n for n in first if n.endswith("_in_first")}
    program = tmp_path / "program.c"
    program.write_text(PROGRAM)
    flags = ["-Wall", "-Wextra", "-Werror", *(f"-I{tmp_path / name / 'include'}" for name in ("first", "second"))]
    subprocess.run(["cc", *flags, program, *libraries, "-lm", "-pthread", "-o", tmp_path / "program"], check=True)
    done = subprocess.run([tmp_path / "program"], capture_output=True, text=True)
    assert done.stdout == "1 2 4\nlist index out of range\n", done.stdout + done.stderr
