"""States of packages in files: saved, read by the package `safetensors`, and loaded again, in Python, C and C++."""

from __future__ import annotations

import copy
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_aot import cmake_build, environment, run
from test_aot_entries import Bank, X, Y, entries_of, trainer
from test_aot_state import Quiet, inputs

import scriptc

pytestmark = pytest.mark.usefixtures("compiles_once")
stored = pytest.importorskip("safetensors.numpy")


@pytest.fixture(scope="module")
def streaming(tmp_path_factory: pytest.TempPathFactory) -> tuple[Quiet, Path]:
    torch.manual_seed(0)
    model = Quiet()
    return model, scriptc.build(model, inputs(1)[0], out=tmp_path_factory.mktemp("s") / "s", optimize=0, march="native")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scriptc.build(entries_of(trainer()), out=tmp_path_factory.mktemp("t") / "t", optimize=0, march="native")


def test_a_state_of_every_form_comes_back(streaming: tuple[Quiet, Path], tmp_path: Path) -> None:
    xs = [x.numpy() for x in inputs(6)]
    path = tmp_path / "state.safetensors"
    first, second = scriptc.load(streaming[1]), scriptc.load(streaming[1])
    first.state.save(path)
    for k in range(4):
        second.state.load(path)
        for x in xs[k : k + 2]:
            np.testing.assert_allclose(second(x), first(x), rtol=1e-6, atol=1e-7)
        first.state.save(path)
    found = stored.load_file(path)
    assert bytes(found["said"]).decode() and bytes(found["words.0"]).decode() == "π"
    assert (found["counts"].dtype, found["counts"].shape) == (np.int64, (2,))
    assert found["steps"].shape == () and found["done"].dtype == np.bool_
    assert {"norm.running_mean", "h", "log.0", "recent.1", "pair", "pair.1"} <= found.keys()


def test_names_are_those_of_state_dict(trained: Path, tmp_path: Path) -> None:
    package, eager = scriptc.load(trained), trainer()
    for _ in range(3):
        package.train(X.numpy(), Y.numpy())
        eager.train(X, Y)
    package.state.save(tmp_path / "state.safetensors")
    found = {name: torch.from_numpy(value) for name, value in stored.load_file(tmp_path / "state.safetensors").items()}
    weights = eager.net.state_dict()
    torch.testing.assert_close({name: found[name] for name in weights}, weights)
    expected = {*weights, "losses"}
    for name, parameter in eager.net.named_parameters():
        for key, value in {"grad": parameter.grad, **eager.optimizer.state[parameter]}.items():
            torch.testing.assert_close(found[f"{name}.{key}"], value)
            expected.add(f"{name}.{key}")
    assert found.keys() == expected


def test_a_state_dict_from_python_is_loaded(trained: Path, tmp_path: Path) -> None:
    package, eager = scriptc.load(trained), trainer()
    package.state.save(tmp_path / "state.safetensors")
    torch.manual_seed(7)
    other = type(eager.net)()
    new = stored.load_file(tmp_path / "state.safetensors") | {name: t.numpy() for name, t in other.state_dict().items()}
    stored.save_file(new, tmp_path / "new.safetensors")
    package.state.load(tmp_path / "new.safetensors")
    np.testing.assert_allclose(package.predict(X.numpy()), other(X).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_values_of_several_kinds(tmp_path: Path) -> None:
    bank, path = Bank(), tmp_path / "state.safetensors"
    entries = {"kept": (bank.kept, ()), "number": (bank.keep_number, (3,)), "tensor": (bank.keep, (torch.ones(2),))}
    package = scriptc.load(scriptc.build(entries, out=tmp_path / "bank", optimize=0, march="native"))
    changes = (lambda: None, lambda: package.number(7), lambda: package.tensor(np.full(3, 2, np.float32)))
    for change, expected in zip(changes, (-1.0, 7.0, 6.0), strict=True):
        package.state.reset()
        change()
        package.state.save(path)
        package.number(1000)
        package.state.load(path)
        assert package.kept() == expected
    assert {name: value.shape for name, value in stored.load_file(path).items()} == {"last": (3,)}


def test_what_does_not_fit_is_refused(trained: Path, tmp_path: Path) -> None:
    package, good, bad = scriptc.load(trained), tmp_path / "good", tmp_path / "bad"
    package.train(X.numpy(), Y.numpy())
    before = package.predict(X.numpy())
    package.state.save(good)
    tensors = stored.load_file(good)
    weight = tensors["hidden.weight"]
    changes: list[tuple[dict[str, Any], str]] = [
        ({"hidden.weight": None}, "tensor 'hidden.weight' is missing"),
        ({"hidden.weight": weight.T.copy()}, "'hidden.weight' has size 3 in dimension 0, compiled for 4"),
        ({"hidden.weight": weight[0].copy()}, "'hidden.weight' has 1 dimensions, compiled for 2"),
        ({"hidden.weight": weight.astype(np.float64)}, "'hidden.weight' has dtype F64, compiled for F32"),
        ({"losses": None}, "tensor 'losses' is missing"),
        ({"losses": np.zeros((), np.float64)}, "'losses' has 0 dimensions, compiled for 1"),
        ({"other": weight}, "unknown tensor 'other'"),
        ({"hidden.weight.0": weight}, "unknown tensor 'hidden.weight.0'"),
    ]
    for change, why in changes:
        stored.save_file({name: value for name, value in (tensors | change).items() if value is not None}, bad)
        with pytest.raises(RuntimeError, match=why):
            package.state.load(bad)
    stored.save_file({name: value for name, value in tensors.items() if name != "hidden.weight.grad"}, bad)
    package.state.load(bad)  # a gradient may be None
    package.state.load(good)
    special = "not a regular file"
    for path, why in ((tmp_path, special), (tmp_path / "none/x", "No such file"), (Path(os.devnull), special)):
        for in_or_out in (package.state.load, package.state.save):
            with pytest.raises(RuntimeError, match=why):
                in_or_out(path)
    np.testing.assert_array_equal(package.predict(X.numpy()), before)


def test_damaged_files_are_refused(streaming: tuple[Quiet, Path], tmp_path: Path) -> None:
    package, path = scriptc.load(streaming[1]), tmp_path / "state"
    for x in inputs(3):
        package(x.numpy())
    package.state.save(path)
    content = path.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    for n in range(0, len(content), max(1, len(content) // 60)):
        path.write_bytes(content[:n])
        with pytest.raises(RuntimeError, match="state '"):
            package.state.load(path)
    after = content.index(b"}") + 1  # what the checksum is of
    for at in (*range(after, header, 7), *range(header, len(content), 11)):
        path.write_bytes(content[:at] + bytes([content[at] ^ (1 << at % 8)]) + content[at + 1 :])
        with pytest.raises(RuntimeError, match="state '"):
            package.state.load(path)
    for at in range(after):  # such a file may be sound, and must not crash
        path.write_bytes(content[:at] + bytes([content[at] ^ (1 << at % 8)]) + content[at + 1 :])
        try:
            package.state.load(path)
        except RuntimeError as e:
            assert "state '" in str(e)
    path.write_bytes(content)
    package.state.load(path)


SAVES = """
import resource, sys, numpy as np, scriptc
package = scriptc.load(sys.argv[1])
if len(sys.argv) > 3:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
    try:
        package.state.save(sys.argv[2])
    except RuntimeError as e:
        print(e)
    sys.exit()
x, y = np.ones((5, 3), np.float32), np.ones((5, 1), np.float32)
while True:
    package.train(x, y)
    package.state.save(sys.argv[2])
    print("saved", flush=True)
"""


def test_a_disk_that_is_full_keeps_the_earlier_file(trained: Path, tmp_path: Path) -> None:
    package, path = scriptc.load(trained), tmp_path / "state"
    package.state.save(path)
    earlier = path.read_bytes()
    message = run(sys.executable, "-c", SAVES, trained, path, len(earlier) // 2)
    assert message == f"cannot write state '{path}': File too large\n"
    assert path.read_bytes() == earlier and os.listdir(tmp_path) == ["state"]


def test_a_kill_keeps_a_whole_file(trained: Path, tmp_path: Path) -> None:
    package, path = scriptc.load(trained), tmp_path / "state"
    for k in range(4):
        process = subprocess.Popen([sys.executable, "-c", SAVES, trained, path], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None and process.stdout.readline() == "saved\n"
        time.sleep(0.01 * k)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        package.state.load(path)
        assert np.isfinite(package.train(X.numpy(), Y.numpy()))


def test_a_link_stays_a_link(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "file").write_bytes(b"")
    package = scriptc.load(trained)
    package.state.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").stat().st_size > 100
    package.state.load(tmp_path / "link")


PROGRAMS = {
    "CMakeLists.txt": """
cmake_minimum_required(VERSION 3.18)
project(device LANGUAGES C CXX)
set(CMAKE_CXX_STANDARD 17)
add_subdirectory(${PACKAGE} package)
add_executable(train train.c)
add_executable(predict predict.cpp)
target_compile_options(train PRIVATE -Wall -Wextra -Werror)
target_compile_options(predict PRIVATE -Wall -Wextra -Werror)
target_link_libraries(train PRIVATE t)
target_link_libraries(predict PRIVATE t)
""",
    "train.c": """
#include <stdio.h>
#include "t.h"

int main(int argc, char **argv)
{
    char why[256] = "";
    t_model *model = t_load(argv[1], why, sizeof why);
    t_context *context = t_context_new(model);
    t_state *state = t_state_new(model);
    double x[15], y[5];
    int64_t sizes[2] = {5, 3}, columns[2] = {5, 1};
    DLTensor xs = {.data = x, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 64, 1}, .shape = sizes};
    DLTensor ys = xs;
    ys.data = y;
    ys.shape = columns;
    for (int i = 0; i < 15; i++) x[i] = i / 7.0 - 1;
    for (int i = 0; i < 5; i++) y[i] = 1 - i / 4.0;
    if (!state || argc < 3) return puts(why), 1;
    for (int step = 0; step < 300; step++) {
        DLManagedTensorVersioned *loss;
        if (t_train(context, state, &xs, &ys, &loss)) return puts(t_last_error(context)->message), 1;
        printf("%.17g\\n", *(double *)loss->dl_tensor.data);
        loss->deleter(loss);
    }
    if (!t_state_save(state, argv[2], why, sizeof why)) return puts(why), 1;
    t_state_free(state);
    t_context_free(context);
    t_free(model);
    return 0;
}
""",
    "predict.cpp": """
#include <cstdio>
#include "t.hpp"

int main(int, char **argv)
{
    t::Model model(argv[1]);
    t::Context context(model);
    t::State state(model);
    state.load(argv[2]);
    std::vector<double> data(15);
    for (int i = 0; i < 15; i++) data[i] = i / 7.0 - 1;
    t::View x(data.data(), {5, 3});
    for (double value : context.predict(state, x).values<double>()) std::printf("%.17g\\n", value);
    try {
        state.load("nowhere");
    } catch (const std::runtime_error &error) {
        std::printf("%s\\n", error.what());
    }
    state.save(argv[2]);
}
""",
}


def test_one_program_trains_and_another_predicts(tmp_path: Path) -> None:
    """No Python is in these processes."""
    eager = trainer()
    eager.net.double()
    eager.optimizer = torch.optim.Adam(eager.net.parameters(), lr=0.05)
    x = (torch.arange(15, dtype=torch.float64) / 7 - 1).reshape(5, 3)
    y = (1 - torch.arange(5, dtype=torch.float64) / 4).reshape(5, 1)
    eager.train(x, y)  # an optimizer makes its state in its first step
    entries = {"predict": (eager.net, (x,)), "train": (eager.train, (x, y))}
    folder = scriptc.build(entries, out=tmp_path / "t", optimize=1, march="native")
    source = tmp_path / "device"
    source.mkdir()
    for name, text in PROGRAMS.items():
        (source / name).write_text(text)
    env = environment(tmp_path)
    cmake_build(source, tmp_path / "build", env, f"-DPACKAGE={folder}", "-DBUILD_TESTING=OFF")
    weights, saved = folder / "t.safetensors", tmp_path / "saved.safetensors"
    losses = [float(line) for line in run(tmp_path / "build/train", weights, saved, env=env).splitlines()]
    assert losses == pytest.approx([float(eager.train(x, y)) for _ in range(300)], rel=1e-9)
    *values, message = run(tmp_path / "build/predict", weights, saved, env=env).splitlines()
    assert [float(v) for v in values] == pytest.approx(eager.net(x).flatten().tolist(), rel=1e-9)
    assert message == "cannot read state 'nowhere': No such file or directory"
    found = stored.load_file(saved)
    after = copy.deepcopy(eager.net)
    after.load_state_dict({name: torch.from_numpy(found[name]) for name in after.state_dict() if name in found}, strict=False)
    torch.testing.assert_close(after.state_dict(), eager.net.state_dict(), rtol=1e-9, atol=1e-12)
