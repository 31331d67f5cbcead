"""Exceptions of the user's own classes out of packages: by name in C, as classes in Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from shop_errors import Missing, Orders, ShopError

import scriptc

pytestmark = pytest.mark.usefixtures("compiles_once")


def order(n: int) -> int:
    if n == 1:
        raise ShopError("no shop")
    if n == 2:
        raise Missing(n)
    if n == 3:
        raise Orders.Late("late")
    if n == 4:
        raise ValueError("plain")
    return n


class Odd(LookupError):
    pass


def odd(n: int) -> int:
    if n > 5:
        raise Odd(f"odd {n}")
    return n


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exceptions") / "shop"
    return scriptc.build({"order": (order, (0,)), "odd": (odd, (0,))}, out=out, optimize=0, march="native")


def raised(function: Any, n: int) -> BaseException:
    with pytest.raises(Exception) as caught:  # noqa: B017  (the class is what the tests look at)
        function(n)
    return caught.value


def test_the_very_classes_where_their_module_is_imported(folder: Path) -> None:
    model = scriptc.load(folder)
    assert type(raised(model.order, 1)) is ShopError and str(raised(model.order, 1)).startswith("no shop\n")
    assert type(raised(model.order, 3)) is Orders.Late and type(raised(model.odd, 6)) is Odd
    assert type(raised(model.order, 4)) is ValueError
    assert model.exceptions["ShopError"] is ShopError and model.copy().exceptions == model.exceptions


def test_a_class_with_methods_of_its_own(folder: Path) -> None:
    error = raised(scriptc.load(folder).order, 2)
    assert isinstance(error, Missing) and type(error).__name__ == "Missing"
    assert str(error).startswith("missing 2\n") and not hasattr(error, "n")


PROGRAM = """
import sys
import scriptc
model = scriptc.load(sys.argv[1])
for n in range(1, 5):
    try:
        model.order(n)
    except ValueError as error:
        bases = [base.__name__ for base in type(error).__mro__[:-4]]
        print(type(error).__module__, *bases, "|", error.args[0].splitlines()[0])
try:
    model.order(1)
except model.exceptions["ShopError"]:
    print("caught")
assert not {"torch", "shop_errors"} & {*sys.modules}
"""


def test_classes_of_the_same_names_elsewhere(folder: Path) -> None:
    """A process without the user's module gets classes of the names, with their bases."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, folder], capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "shop ShopError | no shop",
        "shop Missing ShopError | missing 2",
        "shop Late ShopError ValueError KeyError | 'late'",
        "builtins | plain",
        "caught",
    ], done.stdout + done.stderr


def test_names_in_c(folder: Path) -> None:
    header = (folder / "include" / "shop.h").read_text()
    assert " * ShopError(ValueError)\n" in header and " * Late(ShopError, KeyError)\n" in header


def test_a_class_of_the_name_that_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = scriptc.build(odd, 0, out=tmp_path / "odd", optimize=0, march="native")
    monkeypatch.setattr(sys.modules[__name__], "Odd", type("Odd", (OSError,), {}))
    error = raised(scriptc.load(folder), 6)
    assert type(error).__bases__ == (LookupError,) and type(error).__module__ == "odd"
