"""Packages with several entries: weights and state that the entries share, in Python without torch and in C."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_aot import cmake_build, cmake_tool, environment, run
from torch import Tensor, nn

import scriptc

pytestmark = pytest.mark.usefixtures("compiles_once")

X, Y = torch.linspace(-1, 2, 15).reshape(5, 3), torch.linspace(1, 0, 5).reshape(5, 1)


def build(entries: dict[str, Any], folder: Path, **options: Any) -> Any:
    return scriptc.load(scriptc.build(entries, out=folder, **{"optimize": 0, "march": "native", **options}))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.out = nn.Linear(3, 4), nn.Linear(4, 1)
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        return self.out(torch.tanh(self.hidden(x)))


class Trainer:
    def __init__(self, net: Net) -> None:
        self.net, self.optimizer = net, torch.optim.Adam(net.parameters(), lr=0.05)
        self.losses: list[float] = []

    def train(self, x: Tensor, y: Tensor) -> Tensor:
        self.optimizer.zero_grad()
        loss = (self.net(x) - y).square().mean()
        loss.backward()
        self.optimizer.step()
        self.net.seen += len(x)
        self.losses.append(loss.item())
        return loss.detach()

    def report(self) -> tuple[float, int]:
        """Read a list that another entry changes, and a buffer that it writes to."""
        return sum(self.losses, 0.0), int(self.net.seen)


def trainer() -> Trainer:
    torch.manual_seed(0)
    made = Trainer(Net())
    made.train(X, Y)  # an optimizer makes its state in its first step
    return made


def entries_of(eager: Trainer) -> dict[str, Any]:
    return {"predict": (eager.net, (X,)), "train": (eager.train, (X, Y)), "report": (eager.report, ())}


def test_training_is_seen_by_the_other_entries(tmp_path: Path) -> None:
    eager = trainer()
    before = copy.deepcopy(eager.net.state_dict())
    folder = scriptc.build(entries_of(eager), out=tmp_path / "net", optimize=0, march="native")
    torch.testing.assert_close(eager.net.state_dict(), before, rtol=0, atol=0)  # building has not trained the net
    assert len(eager.losses) == 1
    package = scriptc.load(folder)
    for k in range(5):
        np.testing.assert_allclose(package.predict(X.numpy()), eager.net(X).detach().numpy(), rtol=1e-5, atol=1e-6)
        assert float(package.train((X * k).numpy(), Y.numpy())) == pytest.approx(float(eager.train(X * k, Y)), rel=1e-5)
        assert package.report() == pytest.approx(eager.report(), rel=1e-5)
    names = json.loads((folder / "manifest.json").read_text())["state"]
    assert {"hidden.weight", "hidden.weight.grad", "hidden.weight.exp_avg", "out.bias.step", "seen", "losses"} <= {*names}
    env = environment(tmp_path)
    cmake_build(folder, tmp_path / "build", env, "-DSC_MARCH=native")
    assert "100% tests passed" in run(cmake_tool("ctest"), "--output-on-failure", env=env, cwd=tmp_path / "build")
    printed = run(
        tmp_path / "build" / "net_test", "pairs", folder / "net.safetensors", *sorted(folder.glob("tests/pairs/*")), env=env
    )
    calls = re.findall(r"^\d+\.pair (\w+)\(", printed, flags=re.MULTILINE)
    assert calls[:9] == ["predict", "train", "report", "report", "train", "predict", "predict", "train", "report"]


def test_an_entry_takes_the_state_that_it_uses_alone(tmp_path: Path) -> None:
    folder = scriptc.build(entries_of(trainer()), out=tmp_path / "net", optimize=0, march="native")
    counts = re.findall(r"\{uses_\d, (\d+)\}, /\* (\w+) \*/", (folder / "src/net_api.c").read_text())
    assert {name: int(n) for n, name in counts} == {"predict": 4, "train": 4 * 2 + 4 * 4 + 2, "report": 2}
    assert "hidden.weight" not in (folder / "src/net.c").read_text().partition("typedef struct")[2].partition("}")[0]


class Scheduled:
    """The learning rate is a tensor, which the schedule writes to."""

    def __init__(self, net: Net) -> None:
        self.net = net
        self.optimizer = torch.optim.SGD(net.parameters(), lr=torch.tensor(0.5))
        self.schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(self.optimizer, factor=0.25, patience=0)

    def train(self, x: Tensor, y: Tensor) -> Tensor:
        self.optimizer.zero_grad()
        loss = (self.net(x) - y).square().mean()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def end_epoch(self, loss: float) -> None:
        self.schedule.step(loss)


def test_a_schedule_of_the_learning_rate(tmp_path: Path) -> None:
    torch.manual_seed(0)
    eager = Scheduled(Net())
    eager.train(X, Y)
    package = build({"train": (eager.train, (X, Y)), "end_epoch": (eager.end_epoch, (1.0,))}, tmp_path / "net")
    for validation in (1.0, 2.0, 0.5, 3.0):
        for _ in range(2):
            assert float(package.train(X.numpy(), Y.numpy())) == pytest.approx(float(eager.train(X, Y)), rel=1e-5)
        package.end_epoch(validation)
        eager.end_epoch(validation)
    assert eager.optimizer.param_groups[0]["lr"] == 0.5 / 16


net = Net()


def grow(x: Tensor) -> None:
    with torch.no_grad():
        net.out.weight.mul_(2)
        net.hidden.weight.copy_(x[:4, :3])


def apply(x: Tensor) -> Tensor:
    return net(x)


def column(x: Tensor) -> Tensor:
    return net(x).squeeze(1)  # a vector, because the written weight has one row


def test_written_tensors_keep_their_sizes(tmp_path: Path) -> None:
    package = build({"grow": (grow, (X,)), "column": (column, (X,))}, tmp_path / "net")
    np.testing.assert_allclose(package.column(X.numpy()), column(X).detach().numpy(), rtol=1e-6, atol=1e-6)


def test_functions_share_a_module_by_its_name(tmp_path: Path) -> None:
    before = copy.deepcopy(net.state_dict())
    package = build({"grow": (grow, (X,)), "apply": (apply, (X,))}, tmp_path / "net")
    torch.testing.assert_close(net.state_dict(), before, rtol=0, atol=0)
    try:
        for _ in range(2):
            np.testing.assert_allclose(package.apply(X.numpy()), net(X).detach().numpy(), rtol=1e-6, atol=1e-6)
            grow(X)
            package.grow(X.numpy())
        np.testing.assert_allclose(package.apply(X.numpy()), net(X).detach().numpy(), rtol=1e-6, atol=1e-6)
    finally:
        net.load_state_dict(before)


class Bank(nn.Module):
    """A buffer, a view of it, an alias, and kinds of values that entries assign."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.arange(12.0).reshape(3, 4))
        self.column, self.alias = self.table[1:, 2], self.table.detach()
        self.last: Any = None

    def forward(self) -> Tensor:
        return self.column * 2 + self.alias[0, :2]

    def write(self, x: Tensor) -> None:
        self.table.mul_(x)

    def through_the_view(self, x: Tensor) -> None:
        self.column.copy_(x)

    def keep(self, x: Tensor) -> None:
        self.last = x

    def keep_number(self, n: int) -> None:
        self.last = n

    def kept(self) -> float:
        return -1.0 if self.last is None else float(self.last) if isinstance(self.last, int) else self.last.sum().item()


def test_views_of_what_another_entry_writes(tmp_path: Path) -> None:
    eager = Bank()
    package = build({"read": (eager, ()), "write": (eager.write, (torch.ones(4),))}, tmp_path / "bank")
    for k in (2.0, 3.0):
        package.write(np.full(4, k, np.float32))
        eager.write(torch.full((4,), k))
        np.testing.assert_array_equal(package.read(), eager().numpy())


def test_memory_that_two_entries_reach_by_different_tensors_is_refused(tmp_path: Path) -> None:
    eager = Bank()
    entries = {"whole": (lambda: eager.table.sum(), ()), "part": (eager.through_the_view, (torch.ones(2),))}
    with pytest.raises(scriptc.CompileError, match=r"'column' and 'table' share memory.*\n.*self\.column\.copy_"):
        scriptc.build(entries, out=tmp_path / "no")


log = [1.0]
table = {"rate": 1.0}


class Keeper:
    def __init__(self) -> None:
        self.log, self.table = log, table

    def add(self, x: float) -> None:
        self.log.append(x)

    def put(self, x: float) -> None:
        self.table["rate"] = x

    def rate(self) -> float:
        return self.table["rate"]


def total() -> float:
    return sum(log, 0.0)


def rate() -> float:
    return table["rate"]


def test_containers_that_another_entry_changes(tmp_path: Path) -> None:
    eager = Keeper()
    entries = {"add": (eager.add, (2.0,)), "total": (total, ()), "put": (eager.put, (2.0,)), "rate": (eager.rate, ())}
    package = build(entries, tmp_path / "kept")
    package.add(5.0)
    package.put(7.0)
    assert (package.total(), package.rate()) == (6.0, 7.0) and (log, table) == ([1.0], {"rate": 1.0})
    with pytest.raises(scriptc.CompileError, match=r"dict from outside cannot be changed.*\n.*table\[.rate.\]"):
        scriptc.build({"put": (eager.put, (2.0,)), "rate": (rate, ())}, out=tmp_path / "no")


class Plain:
    def __init__(self) -> None:
        self.h = torch.zeros(3)
        self.holder = {"h": self.h}

    def write(self, x: Tensor) -> None:
        self.h.add_(x)

    def assign(self, x: Tensor) -> None:
        self.h = x * 2

    def read(self) -> Tensor:
        return self.h + 1

    def read_held(self) -> Tensor:
        return self.holder["h"] + 1


def test_an_attribute_that_entries_write_to_and_assign(tmp_path: Path) -> None:
    eager = Plain()
    entries = {"read": (eager.read, ()), "write": (eager.write, (torch.ones(3),)), "assign": (eager.assign, (torch.ones(3),))}
    package = build(entries, tmp_path / "plain")
    for name, n in (("write", 3), ("assign", 3), ("write", 3), ("assign", 5), ("write", 5)):
        getattr(package, name)(np.full(n, 4, np.float32))
        getattr(eager, name)(torch.full((n,), 4.0))
        np.testing.assert_array_equal(package.read(), eager.read().numpy())


def test_a_tensor_that_an_entry_takes_off_its_attribute_is_refused(tmp_path: Path) -> None:
    eager = Plain()
    entries = {"write": (eager.write, (torch.ones(3),)), "assign": (eager.assign, (torch.ones(3),))}
    with pytest.raises(scriptc.CompileError, match=r"only as one attribute.*\n.*self\.holder"):
        scriptc.build({"read": (eager.read_held, ()), **entries}, out=tmp_path / "no")


def test_entries_assign_values_of_several_kinds(tmp_path: Path) -> None:
    eager = Bank()
    entries = {"kept": (eager.kept, ()), "number": (eager.keep_number, (3,)), "tensor": (eager.keep, (torch.ones(2),))}
    package = build(entries, tmp_path / "bank")
    assert package.kept() == -1.0
    package.number(7)
    assert package.kept() == 7.0
    package.tensor(np.full(3, 2, np.float32))
    assert package.kept() == 6.0
    package.state.reset()
    assert package.kept() == -1.0


class Loop(nn.Module):
    """A recursive function of one name in two entries, and a weight that two entries pack."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Tensor, n: int) -> Tensor:
        for _ in range(n):
            x = torch.relu(self.linear(x))
        return x

    def depth(self, n: int) -> int:
        return 0 if n <= 0 else 1 + self.depth(n - 2)

    def halves(self, n: int) -> int:
        return 0 if n <= 0 else 1 + self.depth(n) + self.halves(n - 3)


def test_entries_without_state(tmp_path: Path) -> None:
    torch.manual_seed(0)
    eager = Loop()
    entries = {"a": (eager, (X, 3)), "b": (eager.forward, (X, 1)), "depth": (eager.depth, (9,)), "halves": (eager.halves, (9,))}
    package = build(entries, tmp_path / "loop", optimize=1)
    assert package.state is None
    for function in (package.a, package.b):
        np.testing.assert_allclose(function(X.numpy(), 4), eager(X, 4).detach().numpy(), rtol=1e-5, atol=1e-6)
    assert [package.depth(20), package.halves(20)] == [eager.depth(20), eager.halves(20)]
    with pytest.raises(TypeError, match="several entries"):
        package(X.numpy(), 1)
    weights = json.loads((tmp_path / "loop/manifest.json").read_text())["weights"]["tensors"]
    assert [w["name"] for w in weights] == ["linear.weight", "linear.bias"]  # once
    env = environment(tmp_path)
    cmake_build(tmp_path / "loop", tmp_path / "build", env, "-DSC_MARCH=native")
    assert "100% tests passed" in run(cmake_tool("ctest"), "--output-on-failure", env=env, cwd=tmp_path / "build")


class Item:
    def __init__(self, value: Any) -> None:
        self.value = value


def sum_of_ints(n: int) -> int:
    items = []
    for i in range(n):
        items.append(Item(i))
    total = 0
    for item in items:
        total += item.value
    return total


def sum_of_floats(n: int) -> float:
    items = []
    for i in range(n):
        items.append(Item(i * 0.5))
    total = 0.0
    for item in items:
        total += item.value
    return total


@pytest.mark.parametrize("optimize", [0, 2])
def test_one_class_holds_other_types_in_each_entry(optimize: int, tmp_path: Path) -> None:
    package = build({"ints": (sum_of_ints, (5,)), "floats": (sum_of_floats, (5,))}, tmp_path / "items", optimize=optimize)
    assert (package.ints(7), package.floats(7)) == (21, 10.5)


def exception(base: type[Exception]) -> type[Exception]:
    return type("Bad", (base,), {})


BadValue, BadKey = exception(ValueError), exception(KeyError)


def raises_value(n: int) -> int:
    if n > 9:
        raise BadValue("x")
    return n


def raises_key(n: int) -> int:
    if n > 9:
        raise BadKey("x")
    return n


def test_two_exception_classes_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(scriptc.CompileError, match=r"two exception classes are named Bad\ndef raises_value"):
        scriptc.build({"a": (raises_value, (5,)), "b": (raises_key, (5,))}, out=tmp_path / "no")


def test_names_of_entries(tmp_path: Path) -> None:
    eager = Bank()
    with pytest.raises(ValueError, match="'a_b' would be named a_b in C"):
        scriptc.build({"a-b": (eager.kept, ()), "a_b": (eager.kept, ())}, out=tmp_path / "no")
    with pytest.raises(ValueError, match="give one entry or more"):
        scriptc.build({}, out=tmp_path / "no")
    entries = {"state_save": (eager.kept, ()), "load": (eager.kept, ()), "class": (eager.keep_number, (3,))}
    package = build(entries, tmp_path / "p")
    assert sorted(package.entries) == ["class_", "load_", "state_save_"]
    package.class_(5)
    assert package.load_() == package.state_save_() == 5.0


def test_an_entry_that_cannot_be_compiled_says_so_at_its_line(tmp_path: Path) -> None:
    with pytest.raises(scriptc.CompileError, match=r"a compiled function cannot be a generator itself"):
        scriptc.build({"good": (apply, (X,)), "bad": (generates, (X,))}, out=tmp_path / "no")
    assert not (tmp_path / "no").exists()


def generates(x: Tensor) -> Any:
    yield x
