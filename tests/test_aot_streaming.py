"""Packages that take sequences in chunks: chunked equals whole in C, and each state is a stream of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from streaming_programs import STREAMS
from test_aot import cmake_build, cmake_tool, environment, run

import scriptc

pytestmark = pytest.mark.usefixtures("compiles_once")
NAMES = ("seed_rnn", "tagger", "denoiser", "greedy")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    out = tmp_path_factory.mktemp("streams") / "net"
    entries = {name: (STREAMS[name][0].eval(), STREAMS[name][1]) for name in NAMES}
    return scriptc.build(entries, out=out, stream="x", march="native", optimize=0)


@pytest.fixture(scope="module")
def net(package: Path) -> Any:
    return scriptc.load(package)


def _sequence(name: str, length: int) -> torch.Tensor:
    x, dim = STREAMS[name][1][0], STREAMS[name][2]
    shape = [length if d == dim else n for d, n in enumerate(x.shape)]
    return torch.randn(shape) if x.is_floating_point() else torch.randint(0, 10, shape)


@pytest.mark.parametrize("name", NAMES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(lengths=st.lists(st.integers(1, 9), min_size=1, max_size=6), seed=st.integers(0, 1000))
def test_chunked_equals_whole_in_c(name: str, net: Any, lengths: list[int], seed: int) -> None:
    function, _, dim = STREAMS[name]
    torch.manual_seed(seed)
    x = _sequence(name, sum(lengths))
    with torch.no_grad():
        whole = function(x)
    net.state.reset()
    chunks = [getattr(net, name)(part.numpy()) for part in x.split(lengths, dim)]
    if name == "greedy":
        assert [token for tokens, _ in chunks for token in tokens] == whole[0]
        assert chunks[-1][1] == whole[1]
        return
    results = [chunk if isinstance(chunk, tuple) else (chunk,) for chunk in chunks]
    expected = whole if isinstance(whole, tuple) else (whole,)
    joined = np.concatenate([np.asarray(result[0]) for result in results], dim)
    torch.testing.assert_close(torch.from_numpy(joined), expected[0])
    if name == "seed_rnn":
        torch.testing.assert_close(torch.from_numpy(np.array(results[-1][1])), expected[1])


def test_each_state_is_a_stream(net: Any, tmp_path: Path) -> None:
    function, _, _ = STREAMS["seed_rnn"]
    first, second = torch.randn(6, 2, 3), torch.randn(6, 2, 3)
    one = net.copy()
    other = net.copy()
    one.state.reset()
    other.state.reset()
    with torch.no_grad():
        wanted = [function(x)[0] for x in (first, second)]
    found: list[list[Any]] = [[], []]
    for begin, end in ((0, 1), (1, 4), (4, 6)):
        found[0].append(np.array(one.seed_rnn(first[begin:end].numpy())[0]))
        found[1].append(np.array(other.seed_rnn(second[begin:end].numpy())[0]))
        if begin == 1:
            one.state.save(tmp_path / "state")
            one = net.copy()
            one.state.load(tmp_path / "state")
    for parts, want in zip(found, wanted, strict=True):
        torch.testing.assert_close(torch.from_numpy(np.concatenate(parts)), want)


def test_a_chunk_of_another_batch_raises_and_changes_nothing(net: Any) -> None:
    net.state.reset()
    x = torch.randn(4, 2, 3)
    net.seed_rnn(x[:2].numpy())
    with pytest.raises(RuntimeError, match="a chunk has other sizes than the chunks before"):
        net.seed_rnn(x[:2, :1].numpy())
    found = net.seed_rnn(x[2:].numpy())[0]
    torch.testing.assert_close(torch.from_numpy(np.array(found)), STREAMS["seed_rnn"][0](x)[0][2:].detach())


@pytest.mark.slow
def test_recorded_chunks_pass_in_c(package: Path, tmp_path: Path) -> None:
    cmake_build(package, tmp_path / "build", environment(tmp_path))
    run(cmake_tool("ctest"), "--test-dir", tmp_path / "build", "--output-on-failure", env=environment(tmp_path))


def test_names_that_no_entry_has(tmp_path: Path) -> None:
    function, args, _ = STREAMS["window"]
    with pytest.raises(ValueError, match="no entry has such an argument"):
        scriptc.build({"window": (function, args)}, out=tmp_path / "net", stream="y")
    with pytest.raises(ValueError, match="no entry has such an argument"):
        scriptc.build(function, *args, out=tmp_path / "net", stream="y")
