"""The extension module of a package: numpy arrays, torch tensors and other values in and out, errors, threads, signals."""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from test_aot import cmake_tool, run
from test_aot_pip import installed_alone
from torch import Tensor, nn

import scriptc

pytest.importorskip("pybind11")
pytestmark = [pytest.mark.usefixtures("compiles_once"), pytest.mark.slow]  # the C++ compiler takes ten seconds a module

X = torch.arange(6.0).reshape(2, 3)


class Pair(NamedTuple):
    left: Tensor
    right: int


def tree(pair: tuple[Tensor, dict[str, Tensor]], z: complex, *rest: Tensor, scale: float = 0.5, mode: str = "sum") -> Any:
    a, named = pair
    total = a * scale + named["k"] + sum(rest)
    if mode != "sum":
        total = -total
    return {"total": total, "pair": Pair(a * z.real, len(rest)), "z": z * z, "mode": mode, "none": None}


def lists(xs: list[Tensor], ints: list[int], flags: list[bool], words: list[str], text: str) -> Any:
    doubled, scaled = [], []
    for x in xs:
        doubled.append(x * 2)
    for i in range(len(ints)):
        scaled.append(ints[i] * 0.5)
    joined = text.join(words)
    others = []
    for flag in flags:
        others.append(not flag)
    return doubled, scaled, others, joined, joined.split("-"), []


def writes(x: Tensor) -> None:
    x.add_(1)


def writes_at_depth(n: int, x: Tensor) -> int:
    if n > 0:
        x.add_(1)
        return writes_at_depth(n - 1, x) + 1
    return 0


def says(n: int) -> int:
    print("n is", n)
    if n > 3:
        warnings.warn("large", stacklevel=1)
    return n


def spins(n: int) -> int:
    total = i = 0
    while i < n:
        total += i % 7
        i += 1
    return total


def positional(x: Tensor, /, n: int, *, k: int = -3) -> Tensor:
    return x * n + k


class OutOfStock(LookupError):
    pass


def takes(n: int) -> int:
    if n > 3:
        raise OutOfStock(f"no {n}")
    return n


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.h = torch.zeros(2, 3)

    def forward(self, x: Tensor) -> Tensor:
        self.h = torch.tanh(self.linear(x) + self.h)
        return self.h + 0.1 * torch.rand(2, 3)


def halves(x: Tensor) -> Tensor:
    return x / 2


def conjugate(x: Tensor) -> Tensor:
    return x * 2


ENTRIES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "tree": (tree, ((X, {"k": X}), 1 + 2j, X, X)),
    "lists": (lists, ([X, X], [1, 2], [True], ["a", "é"], "-")),
    "writes": (writes, (X.clone(),)),
    "writes_at_depth": (writes_at_depth, (2, X.clone())),
    "says": (says, (1,)),
    "spins": (spins, (3,)),
    "takes": (takes, (1,)),
    "positional": (positional, (X, 2)),
    "halves": (halves, (X.bfloat16(),)),
    "conjugate": (conjugate, (X * 1j,)),
}


def extension(folder: Path) -> ModuleType:
    """Build and import the extension module of a package."""
    options = ["-DSC_PYBIND11=ON", "-DBUILD_TESTING=OFF", f"-DPython_EXECUTABLE={sys.executable}", "-DSC_OPTIMIZE=g"]
    run(cmake_tool("cmake"), "-S", folder, "-B", folder / "build", *options)
    name = f"{folder.name}_pybind11"
    run(cmake_tool("cmake"), "--build", folder / "build", "--target", name, "-j", "2")
    (path,) = (folder / "build").glob(f"{name}.*.so")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    folder = tmp_path_factory.mktemp("bound") / "bound"
    return extension(scriptc.build(ENTRIES, out=folder, optimize=0, march="native", bindings="pybind11"))


@pytest.fixture(scope="module")
def model(built: ModuleType) -> Any:
    return built.load()


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> tuple[Counter, ModuleType]:
    torch.manual_seed(0)
    eager = Counter()
    folder = tmp_path_factory.mktemp("state") / "counter"
    return eager, extension(scriptc.build(eager, X, out=folder, optimize=0, march="native", bindings="pybind11"))


def test_containers_of_torch_tensors(model: Any) -> None:
    expected = tree((X, {"k": X + 1}), 2 - 1j, X, X)
    result = model.tree((X, {"k": X + 1}), 2 - 1j, X, X)
    assert [*result] == [*expected] and result["mode"] == "sum" and result["none"] is None
    torch.testing.assert_close(result["total"], expected["total"])
    assert type(result["pair"]).__name__ == "Pair" and result["pair"].right == 2 and result["z"] == (2 - 1j) ** 2
    torch.testing.assert_close(result["pair"].left, expected["pair"].left)


def test_containers_of_arrays(model: Any) -> None:
    x = X.numpy()
    result = model.tree((x, {"k": x}), 1j, x[::-1].copy(), x, scale=2.0)
    np.testing.assert_allclose(result["total"], tree((X, {"k": X}), 1j, X.flip(0), X, scale=2.0)["total"].numpy())
    assert isinstance(result["total"], np.ndarray) and result["total"].flags.writeable


def test_lists_and_strings(model: Any) -> None:
    arguments = ([1, 2**62], [True, False], ["ß", "-", "\0"], "\U0001f34e-")
    expected, result = lists([X], *arguments), model.lists([X], *arguments)
    torch.testing.assert_close(result[0], expected[0])
    assert result[1:] == expected[1:]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (((X, {"j": X}), 1j, X, X), TypeError, r"'pair\[1\]': expected a dict with the keys \['k'\]"),
        (([X, {"k": X}], 1j, X, X), TypeError, "'pair': expected a tuple of 2"),
        (((X, {"k": X}), 1.0, X, X), TypeError, "'z': expected complex, got float"),
        (((X, {"k": X}), 1j, X), TypeError, "'rest': expected a tuple of 2"),
        (((X, {"k": 1}), 1j, X, X), TypeError, r"'pair\[1\]\['k'\]': expected an array or tensor"),
        (((X.double(), {"k": X}), 1j, X, X), TypeError, "expected dtype float32, got float64"),
        (((X[0], {"k": X}), 1j, X, X), TypeError, "expected 2 dimensions, got 1"),
    ],
)
def test_arguments_that_do_not_fit(
    arguments: tuple[Any, ...], error: type[Exception], message: str, model: Any
) -> None:
    with pytest.raises(error, match=message):
        model.tree(*arguments)
    with pytest.raises(TypeError, match="compiled for 'sum', got 'max'"):
        model.tree((X, {"k": X}), 1j, X, X, mode="max")
    with pytest.raises(OverflowError, match=r"'ints\[1\]': the int does not fit 64 bits"):
        model.lists([X], [1, 2**63], [True], ["a"], "-")


def test_writes_reach_the_caller(model: Any) -> None:
    x, view = torch.zeros(2, 3), np.zeros((4, 3), np.float32)
    assert model.writes(x) is None and x.eq(1).all()
    model.writes(view[::2])
    np.testing.assert_array_equal(view[:, 0], [1, 0, 1, 0])
    view.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        model.writes(view)


def test_autograd_sees_writes(model: Any) -> None:
    x, w = torch.ones(2, 3), torch.ones(2, 3, requires_grad=True)
    product = w * x
    model.positional(x, 2)
    product.sum().backward()  # positional has written nothing
    for write in (model.writes, lambda x: model.writes_at_depth(1, x)):
        product = w * x
        write(x)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.sum().backward()


def test_gradients_are_refused(model: Any) -> None:
    x = torch.ones(2, 3, requires_grad=True)
    with pytest.raises(TypeError, match="'x' requires a gradient"):
        model.positional(x, 2)
    with torch.no_grad():
        torch.testing.assert_close(model.positional(x, 2), torch.full((2, 3), -1.0))


def test_elements_of_other_kinds(model: Any) -> None:
    x = X.bfloat16()
    torch.testing.assert_close(model.halves(x), halves(x))
    ml_dtypes = pytest.importorskip("ml_dtypes")
    got = model.halves(X.numpy().astype(ml_dtypes.bfloat16))
    assert got.dtype == ml_dtypes.bfloat16 and got.astype(np.float32).tolist() == halves(x).tolist()


def test_a_tensor_that_torch_does_not_export(model: Any) -> None:
    with pytest.raises(TypeError, match=r"argument 'x': .*conj"):
        model.conjugate((X * 1j).conj())


def test_forms_of_results(built: ModuleType) -> None:
    assert isinstance(built.load(results="numpy").positional(X, 1), np.ndarray)
    assert isinstance(built.load(results="torch").positional(X.numpy(), 1), Tensor)
    exported = built.load(results="dlpack").positional(X, 1, k=0)
    assert exported.__dlpack_device__() == (1, 0)
    for read in (np.from_dlpack(exported), torch.from_dlpack(exported), torch.from_dlpack(exported.__dlpack__())):
        np.testing.assert_array_equal(np.asarray(read), X.numpy())
    with pytest.raises(ValueError, match="results is jax"):
        built.load(results="jax")


def test_signatures_and_docstrings(model: Any, counter: tuple[Counter, ModuleType]) -> None:
    assert str(inspect.signature(model.positional)) == "(x, /, n, *, k=-3)"
    assert str(inspect.signature(model.tree)) == "(pair, z, *rest, scale=0.5, mode='sum')"
    assert "n: int" in model.positional.__doc__ and "Returns float32[?, ?]" in model.positional.__doc__
    loaded = counter[1].load()
    assert str(inspect.signature(loaded.forward)) == str(inspect.signature(loaded.__call__)) == "(x)"
    with pytest.raises(TypeError):
        model.positional(n=2, x=X)
    torch.testing.assert_close(model.positional(X, n=2, k=1), positional(X, n=2, k=1))


def test_exceptions_of_the_users_own_classes(model: Any, built: ModuleType) -> None:
    with pytest.raises(OutOfStock, match="no 4\n  at .*in takes"):
        model.takes(4)
    code = f"""
import importlib.util
spec = importlib.util.spec_from_file_location("bound_pybind11", {built.__file__!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
model = module.load()
try:
    model.takes(4)
except LookupError as error:
    print(type(error) is model.exceptions["OutOfStock"], type(error).__module__, type(error).__name__)
"""
    assert run(sys.executable, "-c", code) == "True bound OutOfStock\n"


def test_prints_and_warnings(model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.warns(UserWarning, match="large") as caught:
        assert model.says(4) == 4
    assert caught[0].filename == __file__ and capsys.readouterr().out == "n is 4\n"


def test_calls_run_at_the_same_time(model: Any) -> None:
    """A call that ends when another thread has run Python."""
    done = threading.Event()
    thread = threading.Thread(target=lambda: (model.spins(200_000_000), done.set()))
    thread.start()
    turns = 0
    while not done.is_set():
        turns += 1
        done.wait(0.001)
    thread.join()
    assert turns > 10


def test_ctrl_c_ends_a_call(built: ModuleType) -> None:
    code = f"""
import importlib.util, os, signal, sys, threading
spec = importlib.util.spec_from_file_location("bound_pybind11", {built.__file__!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
model = module.load()
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    model.spins(10**15)
except KeyboardInterrupt:
    print("ended", model.spins(8))
assert not {{"torch", "numpy"}} & {{*sys.modules}}
if not (child := os.fork()):
    os._exit(model.spins(3))
print(os.waitpid(child, 0)[1] >> 8)
"""
    assert run(sys.executable, "-c", code).split() == ["ended", "21", "3"]


def test_states(counter: tuple[Counter, ModuleType], tmp_path: Path) -> None:
    eager, module = counter
    model = module.load()
    torch.manual_seed(3)
    model.seed(3)
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(model(X), eager(X))
    other = model.copy()
    model.seed(1)
    other.seed(1)
    torch.testing.assert_close(model(X), other(X), rtol=0, atol=0)
    model.state.save(tmp_path / "state")
    model.seed(2)
    expected = model(X)
    model.state.reset()
    model.state.load(tmp_path / "state")
    model.seed(2)
    torch.testing.assert_close(model(X), expected, rtol=0, atol=0)
    with pytest.raises(RuntimeError, match="No such file"):
        model.state.load(tmp_path / "missing")
    with pytest.raises(TypeError, match="another model"):
        model.state = module.load().state
    with pytest.raises(RuntimeError, match="No such file"):
        module.load(tmp_path / "missing")


def test_threads_with_a_state_each(counter: tuple[Counter, ModuleType]) -> None:
    model = counter[1].load()
    scores: dict[int, list[Any]] = {}

    def stream(k: int) -> None:
        mine = model.copy()
        mine.seed(0)
        scores[k] = [mine(X.numpy() * t) for t in range(100)]

    threads = [threading.Thread(target=stream, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(1, 4):
        np.testing.assert_array_equal(scores[k], scores[0])
    shared = [threading.Thread(target=lambda: [model(X) for _ in range(50)]) for _ in range(2)]  # one waits for the other
    for thread in shared:
        thread.start()
    for thread in shared:
        thread.join()


def test_a_wheel(counter: tuple[Counter, ModuleType], tmp_path: Path) -> None:
    """pip installs loader and extension module; the module finds the weights, and works without torch."""
    pytest.importorskip("scikit_build_core")
    eager, module = counter
    folder = Path(module.__file__ or "").parent.parent
    python, _ = installed_alone(folder, "counter-1.0.0-cp3*.whl", tmp_path)
    code = """
import sys, counter, counter_pybind11, numpy as np
x = np.arange(6, dtype=np.float32).reshape(2, 3)
models = counter_pybind11.load(), counter.load()
for model in models:
    model.seed(5)
print([model(x).tolist() for model in models], "torch" in sys.modules)
"""
    out = run(python, "-I", "-c", code, cwd=tmp_path)
    results = json.loads(out.replace(" False", "").replace("(", "[").replace(")", "]"))
    torch.manual_seed(5)
    eager.h = torch.zeros(2, 3)
    torch.testing.assert_close(torch.tensor(results), eager(X).detach().expand(2, 2, 3))


def test_other_bindings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bindings='boost'"):
        scriptc.build(halves, X, out=tmp_path / "no", bindings="boost")
