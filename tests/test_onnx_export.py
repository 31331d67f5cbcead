"""Exported ONNX models equal eager over lengths and branches, from one export each."""

from __future__ import annotations

import functools
import math
import os
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

import scriptc

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnx_export import differs, fed, run, session_of  # noqa: E402

from scriptc.onnx.writing.model import model_of  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))


def check(path: Path, f: Any, calls: list[tuple[Any, ...]], *, reference: bool = True) -> Any:
    """Export from the first call, and compare both runtimes with eager on all calls."""
    file = path / "model.onnx"
    scriptc.to_onnx(f, *calls[0], path=file)
    model = onnx.load(file)
    session = session_of(model)
    for args in calls:
        with torch.no_grad():
            wanted = f(*args)
        expected = list(wanted) if isinstance(wanted, tuple) else [wanted]
        ran = [run(session, list(args))]
        if reference:
            evaluator = ReferenceEvaluator(model)
            ran.append(evaluator.run(None, dict(zip((i.name for i in session.get_inputs()), map(fed, args), strict=True))))
        for got in ran:
            assert len(got) == len(expected)
            assert not any(map(differs, got, expected)), (got, expected)
    return model


def onnx_model(f: Any, *args: Any) -> Any:
    return model_of(f, args, {}, None)[0]


class Cell(nn.Module):
    """A hand-written LSTM or GRU over the steps of a tensor."""

    def __init__(self, gates: int):
        super().__init__()
        self.x = nn.Linear(5, gates * 6)
        self.h = nn.Linear(6, gates * 6)


class HandLSTM(Cell):
    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        out = []
        for t in range(x.shape[0]):
            i, f, g, o = (self.x(x[t]) + self.h(h)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            out.append(h)
        return torch.stack(out), c


class HandGRU(Cell):
    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        for t in range(x.shape[0]):
            a, b = self.x(x[t]), self.h(h)
            r = torch.sigmoid(a[:, :6] + b[:, :6])
            z = torch.sigmoid(a[:, 6:12] + b[:, 6:12])
            n = torch.tanh(a[:, 12:] + r * b[:, 12:])
            h = (1 - z) * n + z * h
        return h


class Greedy(nn.Module):
    """Greedy decoding that stops at the token 0."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(7, 6)
        self.cell = nn.Linear(12, 6)
        self.out = nn.Linear(6, 7)

    def forward(self, h: Tensor, limit: int) -> tuple[Tensor, int]:
        token = torch.ones(1, dtype=torch.long)
        count = 0
        for _ in range(limit):
            h = torch.tanh(self.cell(torch.cat([self.embed(token), h], 1)))
            token = self.out(h).argmax(1)
            if token.item() == 0:
                break
            count += 1
        return h, count


def halvings(x: Tensor) -> tuple[Tensor, int]:
    n = 0
    while x.abs().sum() > 1:
        x = x / 2
        n += 1
    return x, n


def branches(x: Tensor, flag: int) -> Tensor:
    if flag > 2:
        return x * 2
    for i in range(3, flag, -2):
        if i == 1:
            return x - i
    return x + flag


def test_rnn_over_a_list(tmp_path: Path) -> None:
    import rnn

    calls = [(rnn.sequence(n, b),) for n, b in ((4, 3), (1, 1), (9, 2))]
    model = check(tmp_path, rnn.model, calls)
    assert {n.op_type for n in model.graph.node} >= {"Loop"}
    assert model.graph.input[0].name == "inputs"
    assert any(n.doc_string.startswith("rnn.py:") for n in model.graph.node)


def test_lstm_loop(tmp_path: Path) -> None:
    calls = [(torch.randn(n, b, 5), torch.randn(b, 6), torch.randn(b, 6)) for n, b in ((4, 3), (2, 2), (9, 4))]
    check(tmp_path, HandLSTM(4), calls)


def test_gru_loop(tmp_path: Path) -> None:
    check(tmp_path, HandGRU(3), [(torch.randn(n, b, 5), torch.randn(b, 6)) for n, b in ((4, 3), (2, 2), (0, 4))])


@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers(tmp_path: Path, layer: Any) -> None:
    net = layer(5, 6)

    def f(x: Tensor) -> Tensor:
        return net(x)[0]

    check(tmp_path, f, [(torch.randn(n, b, 5),) for n, b in ((4, 3), (2, 2), (9, 4))], reference=False)


def beams_of_tuples(x: Tensor, width: int) -> tuple[Tensor, list[tuple[float, Tensor, int]]]:
    beams = [(0.0, x[0], 0)]
    for t in range(x.shape[0]):
        grown = []
        for score, state, length in beams:
            for k in range(2):
                grown.append((score + float(state[k]), x[t] + k, length + k))
        grown.sort(key=lambda beam: beam[0])
        beams = grown[:width]
    return beams[0][1], beams


def test_beams_of_tuples_are_sequences_side_by_side(tmp_path: Path) -> None:
    model = onnx_model(beams_of_tuples, torch.randn(4, 3), 2)
    assert [o.name for o in model.graph.output] == ["output_0", "beams_0", "beams_1", "beams_2"]
    session = session_of(model)
    for steps, width in ((4, 2), (1, 3), (6, 1)):
        x = torch.randn(steps, 3)
        best, beams = beams_of_tuples(x, width)
        assert not any(map(differs, run(session, [x, width]), [best, *map(list, zip(*beams, strict=True))]))


def test_a_list_of_tuples_as_an_argument() -> None:
    def f(pairs: list[tuple[Tensor, int]], more: list[int]) -> Tensor:
        total = torch.zeros(2)
        for x, n in pairs:
            total = total + x * n
        order = sorted(more, reverse=True)
        order[1:2] = more
        for place, n in enumerate(order):
            total = total + place * n
        return total

    pairs = [(torch.ones(2), 2), (torch.ones(2), 3), (torch.ones(2), 4)]
    model = onnx_model(f, pairs, [1])
    assert [i.name for i in model.graph.input] == ["pairs_0", "pairs_1", "more"]
    session = session_of(model)
    for count, more in ((3, [4, 1, 9]), (2, []), (0, [7])):
        given = pairs[:count]
        got = run(session, [[x for x, _ in given], [n for _, n in given], more])
        assert not differs(got[0], f(given, more))


def test_a_result_of_several_kinds_has_an_output_for_each() -> None:
    def f(x: Tensor, n: int) -> Tensor | int | None:
        if n > 3:
            return x * n
        return n if n > 1 else None

    model = onnx_model(f, torch.ones(2), 2)
    names = [o.name for o in model.graph.output]
    session = session_of(model)
    for n in (0, 2, 5):
        got = dict(zip(names, run(session, [torch.ones(2), n]), strict=True))
        wanted = f(torch.ones(2), n)
        made = got.get(f"output_{got['output_kind']}")
        assert made is None if wanted is None else not differs(made, wanted)


def test_greedy_decoding(tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = Greedy()
    check(tmp_path, net, [(torch.randn(1, 6), n) for n in (5, 20, 3, 20, 20, 1, 0)], reference=False)


def test_while_on_data(tmp_path: Path) -> None:
    check(tmp_path, halvings, [(torch.full((n, 2), 3.0),) for n in (2, 5, 0)])


def test_branches(tmp_path: Path) -> None:
    check(tmp_path, branches, [(torch.randn(3), n) for n in (5, 2, 0, -3)])


def test_nets(tmp_path: Path) -> None:
    image = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, groups=2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5), nn.LogSoftmax(1),
    ).eval()  # fmt: skip
    check(tmp_path, image, [(torch.randn(b, 3, 8, 8),) for b in (2, 5)], reference=False)
    encoder = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).eval()
    check(tmp_path, encoder, [(torch.randn(b, n, 16),) for b, n in ((2, 5), (3, 9))], reference=False)


def masked_attention(x: Tensor, mask: Tensor) -> Tensor:
    return torch.nn.functional.scaled_dot_product_attention(x, x * 2, x, mask)


def test_attention_without_keys_is_zero(tmp_path: Path) -> None:
    masks = torch.tensor([[True, False, True], [False] * 3, [True] * 3]), torch.zeros(2, 2, dtype=torch.bool)
    check(tmp_path, masked_attention, [(torch.randn(2, len(m), 4), m) for m in masks])


@pytest.mark.parametrize("stride, ops", [(2, ["MaxPool", "AveragePool"]), (4, None)])
def test_pools_that_round_up(tmp_path: Path, stride: int, ops: list[str] | None) -> None:
    """They are ONNX's own where no window begins behind the image, as it does with the larger stride."""

    def f(x: Tensor) -> tuple[Tensor, Tensor]:
        most = torch.nn.functional.max_pool2d(x, 3, stride, ceil_mode=True)
        return most, torch.nn.functional.avg_pool2d(x, 3, stride, 0, True)

    model = check(tmp_path, f, [(torch.randn(1, 2, h, w),) for h, w in ((7, 8), (8, 9), (5, 10))])
    assert ops is None or ops == [n.op_type for n in model.graph.node]


def test_a_raise_stops_the_model(tmp_path: Path) -> None:
    def f(x: Tensor) -> Tensor:
        if x.shape[0] > 3:
            raise ValueError("too long")
        return x * 2

    model = check(tmp_path, f, [(torch.ones(2),), (torch.ones(3),)])
    assert "If" not in [n.op_type for n in model.graph.node]
    with pytest.raises(Exception, match="out of"):
        run(session_of(model), [torch.ones(5)])


def test_a_raise_in_a_loop_stops_the_model(tmp_path: Path) -> None:
    def f(x: Tensor) -> tuple[Tensor, list[Tensor]]:
        total, parts = torch.zeros(2), []
        for t in range(x.shape[0]):
            for i in range(x.shape[1]):
                value = float(x[t, i])
                if value < 0:
                    raise ValueError("negative")
                if value > 10:
                    break
                parts.append(x[t] * value)
            total = total + x[t]
        while total.sum() < 100:  # does not end where an exception left zeros
            total = total * 2
        return total, parts

    model = onnx_model(f, torch.ones(2, 2))
    session = session_of(model)
    for x in (torch.ones(2, 2), torch.tensor([[20.0, -1.0], [3.0, 4.0], [1.0, 11.0]])):
        assert not any(map(differs, run(session, [x]), f(x)))
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        run(session, [torch.tensor([[0.0, 0.0], [0.0, -1.0]])])


def test_a_variable_of_the_environment_that_is_not_set(tmp_path: Path) -> None:
    """`os.environ.get` is a `try` around a lookup that raises."""

    def f(x: Tensor) -> Tensor:
        return -x if os.environ.get("SCRIPTC_NOT_SET", "0") == "1" else x * 2

    model = check(tmp_path, f, [(torch.ones(2),)])
    assert [n.op_type for n in model.graph.node] == ["Mul"]


def test_a_try_around_raises(tmp_path: Path) -> None:
    def f(x: Tensor, n: int) -> tuple[Tensor, int]:
        count = 0
        for i in range(n):
            try:
                count = count + 1
                if i % 3 == 0:
                    raise KeyError(i)
                if i % 3 == 1:
                    raise ValueError("one")
                x = x * 2
                count = count + 10
            except ValueError:
                x = x + count
            except LookupError:
                x = x - i
        return x, count

    check(tmp_path, f, [(torch.ones(2), n) for n in (5, 0, 3)], reference=False)


def test_a_try_around_indices_and_divisions(tmp_path: Path) -> None:
    def f(x: Tensor, n: int) -> Tensor:
        parts = []
        for i in range(3):
            parts.append(x + i)
        try:
            x = parts[n] * (6 // (n - 1))
        except IndexError:
            x = x - 1
        except ZeroDivisionError:
            x = x - 2
        return x

    check(tmp_path, f, [(torch.ones(2), n) for n in (2, 0, 1, 3, -3, -4)], reference=False)


def test_a_try_that_lets_an_exception_pass_stops_the_model() -> None:
    def f(x: Tensor, n: int) -> Tensor:
        try:
            if n > 3:
                raise ValueError("large")
            if n < 0:
                raise KeyError("small")
        except KeyError:
            return x
        return x + n

    session = session_of(onnx_model(f, torch.ones(2), 1))
    for n in (1, -1):
        assert not differs(run(session, [torch.ones(2), n])[0], f(torch.ones(2), n))
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        run(session, [torch.ones(2), 4])


def test_functions_of_floats_are_exact_to_some_units() -> None:
    """Runtimes lack most of these for doubles."""

    def f(a: float, b: float) -> tuple[float, ...]:
        inverse = math.asinh(a), math.acosh(b + 1), math.atan(a), math.atan2(a, -b), math.asin(b), math.acos(b), math.atanh(b)
        return *inverse, math.expm1(a), math.log1p(b), math.sinh(a), math.hypot(a, b)

    session = session_of(onnx_model(f, 0.5, 0.25))
    for a in (1e-12, -3e-5, 0.7, -2.5, 40.0):
        for b in (1e-13, 0.3, 0.999999):
            for made, wanted in zip(run(session, [a, b]), f(a, b), strict=True):
                assert abs(float(made) - wanted) <= 4 * math.ulp(wanted)


def named(x: Tensor, pair: tuple[Tensor, int]) -> dict[str, Any]:
    return {"logits": x * 2, "parts": [x], "n": pair[1] + 1}


def wrapped(f: Any) -> Any:
    @functools.wraps(f)
    def call(x: Tensor, *args: Any, **kwargs: Any) -> Any:
        return f(x, *args, **kwargs)

    return call


@wrapped
def masked(x: Tensor, mask: Tensor, *, scale: Tensor) -> Tensor:
    return x * mask * scale


def of_variables(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return two variables, one of which has the name of an argument."""
    if x.shape[0] > 2:
        y = x + 1
        return x, y
    y = x * 2
    x = x - 1
    return x, y


class Outputs(NamedTuple):
    scores: Tensor
    rest: tuple[int, int]


def test_names_of_inputs_and_outputs() -> None:
    def outputs(f: Any, *args: Any) -> list[str]:
        return [output.name for output in onnx_model(f, *args).graph.output]

    assert outputs(named, torch.ones(2), (torch.ones(1), 3)) == ["logits", "parts", "n"]
    assert [i.name for i in onnx_model(named, torch.ones(2), (torch.ones(1), 3)).graph.input] == ["x", "pair_0", "pair_1"]
    given = onnx_model(lambda *args: masked(*args, scale=args[0]), torch.ones(2), torch.ones(2)).graph.input
    assert [i.name for i in given] == ["args_0", "args_1"]
    model = model_of(masked, (torch.ones(2), torch.ones(2)), {"scale": torch.ones(2)}, None)[0]
    assert [i.name for i in model.graph.input] == ["x", "mask", "scale"]
    assert outputs(of_variables, torch.ones(2)) == ["x_out", "y"]
    assert outputs(lambda x: (x * 2, x.shape[0]), torch.ones(2)) == ["output_0", "output_1"]
    assert outputs(lambda x: Outputs(x * 2, (1, x.shape[0])), torch.ones(2)) == ["scores", "rest_1"]
    assert outputs(lambda x: {"a.b": x * 2}, torch.ones(2)) == ["a_b"]


def test_opsets_and_external_data(tmp_path: Path) -> None:
    net = nn.Sequential(nn.Linear(40, 40), nn.LayerNorm(40), nn.Softmax(1)).eval()
    x = torch.randn(3, 40)
    for opset in (17, 21, 23):
        file = tmp_path / f"{opset}.onnx"
        for _ in range(2):  # a file that is there is replaced
            scriptc.to_onnx(net, torch.randn(2, 40), path=file, opset=opset, external_data=opset == 17)
        assert (tmp_path / f"{opset}.onnx.data").exists() == (opset == 17)
        session = onnxruntime.InferenceSession(str(file))
        assert not differs(run(session, [x])[0], net(x).detach())
    held = onnx.load(tmp_path / "17.onnx", load_external_data=False).graph.initializer
    assert {e.value for t in held for e in t.external_data if e.key == "location"} == {"17.onnx.data"}
    with pytest.raises(ValueError, match="opset 16"):
        scriptc.to_onnx(net, x, path=tmp_path / "16.onnx", opset=16)


def test_graphs_are_tidy() -> None:
    image = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True)).eval()
    assert [n.op_type for n in onnx_model(image, torch.randn(1, 3, 8, 8)).graph.node] == ["Conv", "Mul", "Add", "Relu"]
    x = torch.randn(2, 3, 8, 8) * 4
    for layer, op in ((nn.LeakyReLU(0.2), "LeakyRelu"), (nn.Hardswish(), "HardSwish"), (nn.Hardsigmoid(), "HardSigmoid")):
        model = onnx_model(layer, x)
        assert [n.op_type for n in model.graph.node] == [op]
        assert not differs(run(session_of(model), [x])[0], layer(x))


class Counted(nn.Module):
    """Count calls in an attribute, and branch on it."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(self.calls):
            x = x + 1
        self.calls += 1
        return x


def test_state_is_refused(tmp_path: Path) -> None:
    with pytest.raises(scriptc.CompileError, match="changes between calls"):
        scriptc.to_onnx(Counted(), torch.ones(3), path=tmp_path / "no.onnx")


class Running(nn.Module):
    """Keep a running sum and a count, which loops and branches set."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.register_buffer("total", torch.zeros(2))

    def forward(self, x: Tensor) -> Tensor:
        for row in x:
            if row.sum() > 0:
                self.total = self.total + row
                self.count += 1
        if self.count > 3:
            self.count = 0
        return x + self.total


def test_attributes_that_change_are_inputs_and_outputs(tmp_path: Path) -> None:
    model = Running()
    scriptc.to_onnx(model, torch.randn(3, 2), path=tmp_path / "running.onnx", stateful=True)
    session = session_of(onnx.load(tmp_path / "running.onnx"))
    assert [i.name for i in session.get_inputs()] == ["x"]
    assert [o.name for o in session.get_outputs()] == ["output", "total_out", "count_out"]
    state: dict[str, Any] = {}  # the first call takes the defaults
    for rows in (3, 1, 4):
        x = torch.randn(rows, 2)
        made, total, count = session.run(None, {"x": x.numpy(), **state})
        state = {"total": total, "count": count}
        assert not differs(made, model(x)) and not differs(total, model.total) and int(count) == model.count


def test_an_attribute_that_changes_its_type_is_refused() -> None:
    class Changing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last = torch.zeros(2)

        def forward(self, x: Tensor) -> Tensor:
            y = x + self.last
            self.last = x.double()
            return y

    with pytest.raises(scriptc.CompileError, match="changes its type"):
        model_of(Changing(), (torch.ones(2),), {}, None, stateful=True)


def test_to_onnx_tells_which_warnings_the_model_does_not_give(tmp_path: Path) -> None:
    def f(x: Tensor) -> Tensor:
        if x.shape[0] > 2:
            warnings.warn("many rows", stacklevel=1)
        return x * 2

    with pytest.warns(UserWarning, match="does not give this warning: many rows"):
        scriptc.to_onnx(f, torch.ones(2), path=tmp_path / "f.onnx")
    assert not differs(run(session_of(onnx.load(tmp_path / "f.onnx")), [torch.ones(3)])[0], torch.ones(3) * 2)


def test_refusals_name_every_place(tmp_path: Path) -> None:
    def f(x: Tensor) -> Tensor:
        print(x.shape[0])
        return x + torch.rand(3)

    with pytest.raises(scriptc.CompileError) as caught:
        scriptc.to_onnx(f, torch.ones(3), path=tmp_path / "no.onnx")
    lines = {d.loc.text.strip() for d in caught.value.diagnostics}
    assert lines == {"print(x.shape[0])", "return x + torch.rand(3)"}
    assert not (tmp_path / "no.onnx").exists()
