"""Errors of compiled code name the user's lines, and packages name files as they are told to."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from settings import sweep

import scriptc

pytestmark = pytest.mark.usefixtures("compiles_once")

NETS = """\
import warnings

import torch.nn.functional as F
from torch import Tensor, nn


def checked(x: Tensor) -> Tensor:
    if x.sum() > 1e6:
        warnings.warn("large", stacklevel=1)
    return x


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(checked(self.fc(x)), target)  # LOSS


def keyed(xs: list[int]) -> list[int]:
    def key(i: int) -> int:
        return 6 // i  # KEY

    return sorted(xs, key=key)  # SORTED
"""


def line_of(marker: str) -> int:
    return next(i for i, line in enumerate(NETS.splitlines(), 1) if line.endswith(f"# {marker}"))


@pytest.fixture(scope="module")
def nets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The module `shop.parts.nets`, of a project that the user keeps in a folder of its own."""
    project = tmp_path_factory.mktemp("hidden_project")
    parts = project / "shop" / "parts"
    parts.mkdir(parents=True)
    (project / "shop" / "__init__.py").touch()
    (parts / "__init__.py").touch()
    (parts / "nets.py").write_text(NETS)
    sys.path.insert(0, str(project))
    try:
        yield importlib.import_module("shop.parts.nets")
    finally:
        sys.path.remove(str(project))
        for name in ("shop", "shop.parts", "shop.parts.nets"):
            sys.modules.pop(name, None)


def example() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(3, 4), torch.tensor([0, 1, 2])


def places(error: BaseException) -> list[tuple[str, int | None]]:
    return [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]


def test_errors_of_decompositions_have_no_frames_of_scriptc(nets: ModuleType) -> None:
    compiled = scriptc.compile(nets.Net(), optimize=0)
    with pytest.raises(Exception, match="out of bounds") as raised:
        compiled(torch.randn(3, 4), torch.tensor([0, 1, 9]))
    assert "_decomposed" not in str(raised.value)
    assert not any("_decomposed" in file for file, _ in places(raised.value))
    assert (nets.__file__, line_of("LOSS")) in places(raised.value)


def test_functions_of_the_user_keep_their_frames_within_a_decomposition(nets: ModuleType) -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        scriptc.compile(nets.keyed, optimize=0)([1, 0, 2])
    at = [line for file, line in places(raised.value) if file == nets.__file__]
    assert at == [line_of("SORTED"), line_of("KEY")]
    assert not any("_decomposed" in file for file, _ in places(raised.value))


def test_errors_of_a_package_are_at_the_users_line(nets: ModuleType, tmp_path: Path) -> None:
    folder = scriptc.build(nets.Net(), *example(), out=tmp_path / "net", optimize=0, march="native")
    assert f'"{nets.__file__}"' in (folder / "src" / "net.c").read_text()
    model = scriptc.load(folder)
    with pytest.raises(IndexError, match="out of bounds") as raised:
        model(np.zeros((3, 4), np.float32), np.array([0, 1, 9]))
    assert "_decomposed" not in str(raised.value)
    error = last_error(model)
    assert (error.file.decode(), error.line) == (nets.__file__, line_of("LOSS"))
    assert error.function.decode() == "Net.forward"
    with pytest.raises(RuntimeError, match="cannot be multiplied"):  # inside torch.nn.Linear
        model(np.zeros((3, 5), np.float32), np.array([0, 1, 2]))
    error = last_error(model)
    assert (error.file.decode(), error.line) == (nets.__file__, line_of("LOSS"))
    assert "linear.py" in error.traceback.decode()


def last_error(model):  # type: ignore[no-untyped-def]
    shared = model._shared
    return shared.loaded.c("last_error")(shared.context().handle).contents


SHOWN = {"relative": "shop/parts/nets.py", "strip": "nets.py"}


@pytest.mark.parametrize("how", sweep(SHOWN, "strip"))
def test_nothing_of_a_package_holds_the_folder_of_the_sources(nets: ModuleType, tmp_path: Path, how: str) -> None:
    shown = SHOWN[how]
    options = {"optimize": 0, "march": "native", "debug": True, "source_paths": how}
    folder = scriptc.build(nets.Net(), *example(), out=tmp_path / "net", **options)
    model = scriptc.load(folder)
    with pytest.raises(IndexError, match="out of bounds") as raised:
        model(np.zeros((3, 4), np.float32), np.array([0, 1, 9]))
    assert f"  at {shown}:{line_of('LOSS')} in Net.forward: " in str(raised.value)
    assert f'#line {line_of("LOSS")} "{shown}"' in (folder / "src" / "net.c").read_text()
    foreign = [Path(nets.__file__ or "").parents[2], Path(torch.__file__).parent, Path(scriptc.__file__).parents[1], tmp_path]
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert any(path.suffix == ".so" for path in files)
    found = [(path.name, str(d)) for path in files for d in foreign if str(d).encode() in path.read_bytes()]
    assert found == []


def test_another_way_to_show_paths_is_refused(nets: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="source_paths is one of absolute, relative, strip, not 'none'"):
        scriptc.build(nets.Net(), *example(), out=tmp_path / "net", source_paths="none")
    assert list(tmp_path.iterdir()) == []
