"""Containers and objects across the boundary of a package: leaves in C, structs in C++, values with names in Python."""

from __future__ import annotations

import dataclasses
import subprocess
from collections import OrderedDict, deque
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from test_aot_values import check_headers, output_of_cpp
from torch import Tensor

import scriptc

pytestmark = pytest.mark.usefixtures("compiles_once")

X = torch.arange(3.0)


class Both(NamedTuple):
    left: Tensor
    right: int


@dataclasses.dataclass
class Loss:
    value: Tensor
    n: int

    def mean(self) -> Tensor:
        return self.value / self.n


class Config:
    def __init__(self, scale: float, flag: bool, w: Tensor) -> None:
        self.scale, self.flag, self.w = scale, flag, w


def named(x: Tensor) -> Both:
    return Both(x + 1, x.size(0))


def data(x: Tensor) -> Loss:
    return Loss(x.sum(), x.size(0))


def keyed(x: Tensor) -> dict[Any, Any]:
    return {"class": x, "0": x.sum(), "pair": Both(x, 2), "none": None, "empty": (), "two": (1, "a")}


def integers(x: Tensor) -> Any:
    return {0: x, -1: x + 1}


def ordered(x: Tensor) -> Any:
    found = OrderedDict()
    found["a"] = x
    found["b"] = 2
    return found


def queue(x: Tensor) -> Any:
    found = deque([x], maxlen=2)
    found.append(x + 1)
    return found


def largest(x: Tensor) -> Any:
    return x.max(0)


class Output(OrderedDict):  # type: ignore[type-arg]
    """A dict whose items are attributes too, as the outputs of transformers are."""

    def __init__(self, logits: Tensor, hidden: tuple[Tensor, Tensor]) -> None:
        super().__init__()
        self.logits, self.hidden = logits, hidden
        self["logits"] = logits
        self["hidden"] = hidden


def output(x: Tensor) -> Any:
    return Output(x + 1, (x, x * 2))


def takes_objects(loss: Loss, config: Config, items: list[Any]) -> Tensor:
    y = loss.mean() * config.scale + config.w
    return y + items[0] * items[1] if config.flag else y


ENTRIES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    function.__name__: (function, (X,)) for function in (named, data, keyed, integers, ordered, queue, output, largest)
}
ENTRIES["takes_objects"] = (takes_objects, (Loss(X, 3), Config(2.0, True, X), [X, 2]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("containers") / "it"
    return scriptc.build(ENTRIES, out=out, optimize=0, march="native", bindings="pybind11")


def check(model: Any) -> None:
    """Compare what Python gets with eager."""
    x = X.numpy()
    both, loss, held = model.named(x), model.data(x), model.keyed(x)
    assert type(both).__name__ == "Both" and both.right == 3 and both.left.tolist() == [1, 2, 3]
    assert loss.value == 3 and loss.n == 3
    assert [*held] == [*keyed(X)] and held["pair"].right == 2
    assert held["none"] is None and held["empty"] == () and held["two"] == (1, "a")
    assert {key: value.tolist() for key, value in model.integers(x).items()} == {0: [0, 1, 2], -1: [1, 2, 3]}
    found = model.ordered(x)
    assert isinstance(found, dict) and [*found] == ["a", "b"] and found["b"] == 2
    both = model.output(x)
    assert both.logits.tolist() == [1, 2, 3] and [h.tolist() for h in both.hidden] == [[0, 1, 2], [0, 2, 4]]
    assert [item.tolist() for item in model.queue(x)] == [[0, 1, 2], [1, 2, 3]]
    assert model.largest(x).values == 2 and model.largest(x).indices == 2
    eager = takes_objects(Loss(X + 1, 2), Config(0.5, True, X), [X, 3])
    config = SimpleNamespace(scale=0.5, flag=True, w=x)
    got = model.takes_objects(SimpleNamespace(value=x + 1, n=2), config, [x, 3])
    np.testing.assert_allclose(got, eager.numpy())
    with pytest.raises(TypeError, match="'loss': expected an object with the attribute 'n'"):
        model.takes_objects(SimpleNamespace(value=x), config, [x, 3])
    with pytest.raises(TypeError, match="compiled for True, got False"):
        model.takes_objects(Loss(x, 1), SimpleNamespace(scale=0.5, flag=False, w=x), [x, 3])
    with pytest.raises(TypeError, match="'items': expected a list of 2"):
        model.takes_objects(Loss(x, 1), config, [x])


def test_the_loader(folder: Path) -> None:
    check(scriptc.load(folder))


@pytest.mark.slow
def test_the_extension_module(folder: Path) -> None:
    pytest.importorskip("pybind11")
    from test_aot_pybind11 import extension

    check(extension(folder).load())


PROGRAM = """
#include <cstdio>
#include "it.hpp"
int main() {
    it::Model model;
    it::Context context(model);
    float x[] = {1, 2, 4}, y[] = {0, 0, 1};
    it::View view(x, {3}), other(y, {3});
    it::named_result both = context.named(view);
    auto held = context.keyed(view);
    auto [value, n] = context.data(view);
    std::printf("%g %d %g %g", both.left.data<float>()[0], (int)both.right, held.class_.data<float>()[2],
                held.pair_left.data<float>()[1]);
    std::printf(" %g %g %d", held.item_0.data<float>()[0], value.data<float>()[0], (int)n);
    auto [zero, other_one] = context.integers(view);
    std::printf(" %d %g", (int)context.largest(view).indices.data<int64_t>()[0], zero.data<float>()[0]);
    std::printf(" %g\\n", context.takes_objects(view, 2, 0.5, other, view, 3).data<float>()[2]);
}
"""


def test_structs_in_cpp(folder: Path, tmp_path: Path) -> None:
    check_headers(folder.parent)
    header = " ".join((folder / "include" / "it.h").read_text().split())
    assert "DLManagedTensorVersioned **result_left, int64_t *result_right" in header
    assert "const DLTensor *loss_value, int64_t loss_n" in header
    assert output_of_cpp(PROGRAM, folder, tmp_path).split() == "2 3 4 2 7 7 3 2 1 14".split()


def test_recorded_calls(folder: Path, tmp_path: Path) -> None:
    scriptc.load(folder)
    library = next((folder / "build").glob("libit-*.so"))
    flags = ["-I", folder / "include", "-I", folder / "tests"]
    subprocess.run(["cc", *flags, folder / "tests" / "it_test.c", library, "-lm", "-o", tmp_path / "driver"], check=True)
    pairs = sorted((folder / "tests").rglob("*.pair"))
    done = subprocess.run([tmp_path / "driver", "pairs", "none", *pairs], capture_output=True, text=True)
    assert len(pairs) >= 5 * len(ENTRIES) and not done.returncode, done.stdout + done.stderr


def deep(x: Tensor) -> Any:
    out = []
    for i in range(x.size(0)):
        out.append([[x], [x] * i])
    return out


def pairs(x: Tensor) -> Any:
    return [(x[i], i) for i in range(x.size(0))]


def keys(x: Tensor) -> Any:
    return {i: x[i] for i in range(x.size(0))}


def a_set(n: int) -> Any:
    return {i % 3 for i in range(n)}


def length(x: Tensor) -> Any:
    return tuple(x[i] for i in range(x.size(0)))


def maybe(x: Tensor) -> Any:
    return {"tensor": x if x.sum() > 0 else None}


def sets_key(d: dict[str, Tensor], x: Tensor) -> Tensor:
    d["k"] = x
    return x


def sets_attribute(config: Config) -> Tensor:
    config.scale = config.scale + 1
    return config.w


def sets_item(items: list[Any]) -> Tensor:
    items[1] = items[1] + 1
    return items[0]


def first(rows: Any) -> Any:
    return rows[0][0]


def of_key(table: dict[int, Tensor], k: int) -> Tensor:
    return table[k]


def calls(config: Config) -> Tensor:
    return config.scale(config.w)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (deep, (X,), r"'result' is a list of lists of containers.*\n(.*\n)*.*flat lists"),
        (pairs, (X,), r"'result' is a list of tuples or objects, .*\n(.*\n)*.*one list for each part"),
        (keys, (X,), r"'result' is a dict with keys known only at run time, .*\n(.*\n)*.*a list of the keys"),
        (a_set, (5,), r"'result' is a set, .*\n(.*\n)*.*a sorted list"),
        (length, (X,), r"'result' is a tuple whose length is known only at run time"),
        (maybe, (X,), r"'result_tensor' may have one of several types, .*\n(.*\n)*.*a flag beside a tensor"),
        (sets_key, ({"k": X}, X), r"changes a dict or an object of the caller, .*\n.*d\[.k.\] = x"),
        (sets_attribute, (Config(1.0, True, X),), r"changes a dict or an object of the caller, .*\n.*config.scale = "),
        (sets_item, ([X, 2],), r"changes a dict or an object of the caller, .*\n.*items\[1\] = "),
        (first, ([[(X, 1)], [(X, 2)]],), r"'rows' is a list of lists of containers"),
        (of_key, ({1: X, 2: X}, 1), r"'table' is a dict with keys known only at run time"),
        (calls, (Config(torch.relu, True, X),), r"the attribute 'scale' of the argument is a builtin"),
    ],
)
def test_refusals_say_what_to_write(
    function: Callable[..., Any], arguments: tuple[Any, ...], message: str, tmp_path: Path
) -> None:
    with pytest.raises(scriptc.CompileError, match=message):
        scriptc.build(function, *arguments, out=tmp_path / "no")
