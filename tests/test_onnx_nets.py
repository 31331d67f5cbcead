"""Networks as ONNX Runtime's optimizer and quantizer write them, against ONNX Runtime."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import scriptc

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
import onnx
import onnxruntime

pytestmark = pytest.mark.slow
random = np.random.default_rng(0)


class Block(nn.Module):
    """A layer of a transformer, in the form that ONNX Runtime's optimizer recognizes."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(32, 32) for _ in range(4))
        self.first, self.last = nn.LayerNorm(32, eps=1e-12), nn.LayerNorm(32, eps=1e-12)
        self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 32)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        shape = x.shape[0], x.shape[1], 4, 8
        q, k, v = (layer(x).view(shape).permute(0, 2, 1, 3) for layer in (self.q, self.k, self.v))
        weights = torch.softmax(torch.matmul(q, k.transpose(-1, -2)) / 8**0.5 + bias, -1)
        x = self.first(self.o(torch.matmul(weights, v).permute(0, 2, 1, 3).reshape(x.shape)) + x)
        return self.last(self.down(F.gelu(self.up(x))) + x)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places, self.norm = nn.Embedding(50, 32), nn.Embedding(16, 32), nn.LayerNorm(32, eps=1e-12)
        self.blocks = nn.ModuleList([Block(), Block()])

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        x = self.norm(self.words(ids) + self.places(torch.arange(ids.shape[1])))
        for block in self.blocks:
            x = block(x, (1.0 - mask[:, None, None, :].float()) * -10000.0)
        return x


class Image(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 16, 3, 2, 1), nn.Conv2d(16, 16, 3, 1, 1, groups=16)
        self.c, self.d, self.e = nn.Conv2d(16, 32, 1), nn.Conv2d(32, 32, 3, 1, 1), nn.Linear(32, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.c(F.relu6(self.b(torch.relu(self.a(x)))))
        x = F.max_pool2d(torch.relu(self.d(x) + x), 2)
        x = torch.sigmoid(F.leaky_relu(torch.cat([x, x * 0.5], 1)))[:, :32]
        return self.e(x.mean((2, 3)))


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.RNNBase]) -> None:
        super().__init__()
        self.layers = kind(8, 16, 2, bidirectional=True, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)[0][:, -1]


def exported(module: nn.Module, args: dict[str, Tensor], path: Path) -> Path:
    axes = {name: {0: "batch", 1: "length"} for name, value in args.items() if value.dim() < 4}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.eval(), tuple(args.values()), str(path), dynamo=False, input_names=list(args), dynamic_axes=axes,
            opset_version=17,
        )  # fmt: skip
    return path


def session_of(path: Path, target: Path | None = None) -> Any:
    """Return a session; it writes the optimized model to `target`."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if target is not None:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = str(target)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def check(path: Path, calls: list[dict[str, Tensor]], wanted: set[str], tolerance: float = 1e-4) -> None:
    """Compare a file with ONNX Runtime. wanted: operators that the file must have."""
    assert wanted <= {node.op_type for node in onnx.load(path).graph.node}
    session, module = session_of(path), scriptc.from_onnx(path)
    names = [value.name for value in session.get_inputs()]
    for target in (module, scriptc.compile(module), scriptc.compile(module, freeze=True)):
        for args in calls:
            given = [args[name] for name in names]
            expected = session.run(None, {name: args[name].numpy() for name in names})[0]
            with torch.no_grad():
                torch.testing.assert_close(target(*given), torch.from_numpy(expected), rtol=tolerance, atol=tolerance)


def test_a_transformer_after_the_optimizer(tmp_path: Path) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers.optimizer import optimize_model

    calls = []
    for batch, length in ((2, 9), (1, 5)):
        mask = torch.ones(batch, length, dtype=torch.int64)
        mask[0, 4:] = 0
        calls.append({"ids": torch.randint(0, 50, (batch, length)), "mask": mask})
    file = exported(Encoder(), calls[0], tmp_path / "plain.onnx")
    check(file, calls, {"Softmax"})
    optimize_model(str(file), "bert", num_heads=4, hidden_size=32, opt_level=0).save_model_to_file(str(tmp_path / "fused.onnx"))
    check(tmp_path / "fused.onnx", calls, {"SkipLayerNormalization", "BiasGelu", "Attention"})
    quantize_dynamic(file, tmp_path / "bytes.onnx", weight_type=QuantType.QInt8)
    check(tmp_path / "bytes.onnx", calls, {"MatMulInteger", "DynamicQuantizeLinear"})
    session_of(tmp_path / "bytes.onnx", tmp_path / "fused_bytes.onnx")
    check(tmp_path / "fused_bytes.onnx", calls, {"DynamicQuantizeMatMul", "MatMulIntegerToFloat"})


@pytest.mark.parametrize("per_channel", [False, True])
def test_a_quantized_network_for_images(per_channel: bool, tmp_path: Path) -> None:
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Samples(CalibrationDataReader):
        def __init__(self) -> None:
            self.samples = iter([{"x": random.standard_normal((1, 3, 16, 16)).astype(np.float32)} for _ in range(3)])

        def get_next(self) -> Any:
            return next(self.samples, None)

    call = {"x": torch.randn(1, 3, 16, 16)}
    file = exported(Image(), call, tmp_path / "plain.onnx")
    for form, wanted in ((QuantFormat.QDQ, "DequantizeLinear"), (QuantFormat.QOperator, "QLinearConv")):
        made = tmp_path / f"{form.name}.onnx"
        quantize_static(
            file, made, Samples(), quant_format=form, per_channel=per_channel,
            activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
        )  # fmt: skip
        check(made, [call], {wanted}, 2e-2)  # a result between two bytes may go to either
        session_of(made, tmp_path / f"{form.name}_fused.onnx")
        check(tmp_path / f"{form.name}_fused.onnx", [call], {"QLinearConv", "QLinearAdd", "QLinearSigmoid", "QGemm"}, 2e-2)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_networks(kind: type[nn.RNNBase], tmp_path: Path) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic

    calls = [{"x": torch.randn(1, length, 8)} for length in (6, 3)]
    file = exported(Recurrent(kind), calls[0], tmp_path / "plain.onnx")
    check(file, [*calls, {"x": torch.randn(3, 4, 8)}], {kind.__name__})
    if kind is nn.LSTM:
        quantize_dynamic(file, tmp_path / "bytes.onnx", weight_type=QuantType.QUInt8)
        check(tmp_path / "bytes.onnx", calls, {"DynamicQuantizeLSTM"})


def decoder(path: Path) -> None:
    """Write a layer of a language model in the form of ONNX Runtime's generation tools: weights of 4 bits, and a cache."""
    from onnx import TensorProto, helper, numpy_helper

    nodes: list[Any] = []
    weights: list[Any] = []

    def constant(name: str, array: Any) -> str:
        weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def call(op: str, inputs: list[str], *outputs: str, domain: str = "", **attributes: Any) -> str:
        nodes.append(helper.make_node(op, inputs, list(outputs), domain=domain, **attributes))
        return outputs[0]

    def product(x: str, name: str, size: int, outputs: int) -> str:
        numbers = random.integers(0, 256, (outputs, size // 16, 8)).astype(np.uint8)
        zeros = random.integers(0, 256, (outputs, size // 32)).astype(np.uint8)
        factors = random.uniform(0.005, 0.02, (outputs, size // 16)).astype(np.float32)
        parts = [x, constant(f"{name}_q", numbers), constant(f"{name}_s", factors), constant(f"{name}_z", zeros)]
        return call("MatMulNBits", parts, name, domain="com.microsoft", K=size, N=outputs, bits=4, block_size=16)

    def floats(*shape: int) -> Any:
        return random.standard_normal(shape).astype(np.float32)

    angles = np.arange(32)[:, None] / 10000 ** (np.arange(8) / 8)
    sums = call("ReduceSum", ["mask", constant("axis", np.array([1]))], "sums")
    last = call("Sub", [sums, constant("one", np.array([1]))], "last")
    flat = call("Reshape", [call("Cast", [last], "last32", to=TensorProto.INT32), constant("all", np.array([-1]))], "seqlens")
    size = call("Gather", [call("Shape", ["mask"], "sizes"), constant("second", np.array(1))], "total")
    total = call("Cast", [size], "total32", to=TensorProto.INT32)
    x = call("Gather", [constant("table", floats(50, 64)), "ids"], "x")
    a = call("SimplifiedLayerNormalization", [x, constant("norm", floats(64))], "a", axis=-1, epsilon=1e-5)
    parts = [product(a, "q", 64, 64), product(a, "k", 64, 32), product(a, "v", 64, 32), "past_k", "past_v", flat, total]
    parts += [constant("cos", np.cos(angles).astype(np.float32)), constant("sin", np.sin(angles).astype(np.float32))]
    options = {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1}
    call("GroupQueryAttention", parts, "b", "new_k", "new_v", domain="com.microsoft", **options)
    parts = [x, product("b", "o", 64, 64), constant("norm_2", floats(64))]
    c = call("SkipSimplifiedLayerNormalization", parts, "c", domain="com.microsoft", epsilon=1e-5)
    call("MatMul", [c, constant("head", floats(64, 50))], "logits")

    def info(name: str, dtype: int, *dims: Any) -> Any:
        return helper.make_tensor_value_info(name, dtype, dims)

    cache = [info(f"{kind}_{part}", 1, "b", 2, kind, 16) for kind in ("past", "new") for part in ("k", "v")]
    inputs = [info("ids", 7, "b", "s"), info("mask", 7, "b", "t"), *cache[:2]]
    graph = helper.make_graph(nodes, "decoder", inputs, [info("logits", 1, "b", "s", 50), *cache[2:]], weights)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)


def test_a_language_model_with_a_cache(tmp_path: Path) -> None:
    decoder(tmp_path / "decoder.onnx")
    session, module = session_of(tmp_path / "decoder.onnx"), scriptc.from_onnx(tmp_path / "decoder.onnx")
    targets = [module, scriptc.compile(module), scriptc.compile(module, freeze=True)]
    for batch in (1, 2):
        ids, past = random.integers(0, 50, (batch, 5)), [np.zeros((batch, 2, 0, 16), np.float32)] * 2
        for length in (5, 6, 7, 8):
            given = [ids, np.ones((batch, length), np.int64), *past]
            expected = session.run(None, dict(zip(("ids", "mask", "past_k", "past_v"), given, strict=True)))
            for target in targets:
                with torch.no_grad():
                    made = target(*map(torch.from_numpy, given))
                torch.testing.assert_close(made, tuple(map(torch.from_numpy, expected)), rtol=1e-4, atol=1e-4)
            ids, past = expected[0][:, -1:].argmax(-1), expected[1:]
