"""ONNX models as Python modules: the text, the values in eager, and compiled."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import scriptc

onnx = pytest.importorskip("onnx")
helper, FLOAT = onnx.helper, onnx.TensorProto.FLOAT

LOOP = """
<ir_version: 8, opset_import: ["" : 17]>
sums (float[n, 4] x, int64 times) => (float[n, 4] y) {
  limit = Constant<value_float = 3.0>()
  yes = Constant<value = bool {1}>()
  y = Loop(times, yes, x) <body = step (int64 i, bool going, float[n, 4] h) => (bool on, float[n, 4] g) {
    on = Identity(going)
    d = Div(h, limit)
    g = Add(d, x)
  }>
}
"""
RESHAPED = """
<ir_version: 8, opset_import: ["" : 17]>
halves (float[n, 4] x) => (float[a, b] y) {
  sizes = Shape(x)
  zero = Constant<value_int = 0>()
  rows = Gather(sizes, zero)
  axes = Constant<value_ints = [0]>()
  first = Unsqueeze(rows, axes)
  rest = Constant<value_ints = [2, -1]>()
  all = Concat<axis = 0>(first, rest)
  z = Reshape(x, all)
  last = Constant<value_ints = [-1]>()
  s = ReduceSum<keepdims = 0>(z, last)
  y = Relu(s)
}
"""
LAYERS = """
<ir_version: 8, opset_import: ["" : 17]>
layers (float[n, 2, 4, 4] x) => (float[n, 1, 8, 8] y)
  <float[1, 2, 1, 1] w = {1.0, -2.0}, float[1] b = {0.5}, float low = {0.0}, float high = {6.0}, float[1, 1, 4, 4] v = {
    1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}> {
  c = Conv(x, w, b)
  d = Clip(c, low, high)
  e = ConvTranspose<strides = [2, 2], pads = [1, 1, 1, 1]>(d, v)
  y = Max(low, e)
}
"""


def test_layers_are_those_of_torch_with_parameters_as_weights(tmp_path: Path) -> None:
    """Compiled code packs weights and folds norms only if biases are parameters, however small they are."""
    module = scriptc.from_onnx(onnx.parser.parse_model(LAYERS), path=tmp_path / "layers.py")
    text = (tmp_path / "layers.py").read_text()
    for part in ("F.conv2d(x, self.w, self.b, ", "torch.clamp(c, 0.0, 6.0)", "F.conv_transpose2d(", "torch.clamp(e, min=0.0)"):
        assert part in text
    x = torch.randn(2, 2, 4, 4)
    made = torch.clamp(torch.nn.functional.conv2d(x, module.w, module.b), 0, 6)
    assert torch.equal(module(x), torch.relu(torch.nn.functional.conv_transpose2d(made, module.v, None, 2, 1)))


def test_a_loop_is_a_for_loop_and_its_trip_count_is_an_argument(tmp_path: Path) -> None:
    module = scriptc.from_onnx(onnx.parser.parse_model(LOOP), path=tmp_path / "sums.py")
    assert "for i in range(times):" in (tmp_path / "sums.py").read_text()
    x = torch.randn(2, 4)
    expected = x
    for _ in range(3):
        expected = expected / 3.0 + x
    assert torch.equal(module(x, 3), expected)
    assert torch.equal(scriptc.compile(module, optimize=0)(x, 3), expected)


def test_shape_arithmetic_is_arithmetic_on_ints(tmp_path: Path) -> None:
    module = scriptc.from_onnx(onnx.parser.parse_model(RESHAPED), path=tmp_path / "halves.py")
    assert "x.reshape(x.shape[0], 2, -1)" in (tmp_path / "halves.py").read_text()
    compiled = scriptc.compile(module, optimize=0)
    for rows in (2, 5):
        x = torch.randn(rows, 4)
        assert torch.equal(compiled(x), torch.relu(x.reshape(rows, 2, 2).sum(-1)))


@pytest.mark.parametrize("content, said", [(b"", "empty"), (b"\xff\xff not onnx", "no ONNX model")])
def test_a_file_that_is_no_model_is_an_error(tmp_path: Path, content: bytes, said: str) -> None:
    from scriptc.onnx.reading import OnnxError

    (tmp_path / "net.onnx").write_bytes(content)
    with pytest.raises(OnnxError, match=said):
        scriptc.from_onnx(tmp_path / "net.onnx")


def test_external_data_stays_in_the_folder_of_the_model(tmp_path: Path) -> None:
    from scriptc.onnx.reading import OnnxError

    (tmp_path / "secret").write_bytes(np.zeros(4, np.float32).tobytes())
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "secret")
    for location in ("../secret", "link", str(tmp_path / "secret")):
        weight = onnx.TensorProto(name="w", data_type=1, dims=[4], data_location=onnx.TensorProto.EXTERNAL)
        weight.external_data.add(key="location", value=location)
        info = [onnx.helper.make_tensor_value_info(name, 1, [4]) for name in ("x", "y")]
        graph = onnx.helper.make_graph([onnx.helper.make_node("Add", ["x", "w"], ["y"])], "g", info[:1], info[1:], [weight])
        (folder / "net.onnx").write_bytes(onnx.helper.make_model(graph).SerializeToString())
        with pytest.raises(OnnxError, match="outside of the folder"):
            scriptc.from_onnx(folder / "net.onnx")


POOL = """
<ir_version: 8, opset_import: ["" : 17]>
pooled (float[1, 1, 5] x) => (float[1, 1, m] y) {{
  y = MaxPool<kernel_shape = [3], strides = [2], pads = [{before}, {after}]>(x)
}}
"""


def test_a_max_pool_may_have_pads_that_differ(tmp_path: Path) -> None:
    from scriptc.onnx.reading import OnnxError

    module = scriptc.from_onnx(onnx.parser.parse_model(POOL.format(before=0, after=2)), path=tmp_path / "pooled.py")
    x = torch.tensor([[[-5.0, -4.0, -3.0, -2.0, -1.0]]])
    assert torch.equal(module(x), torch.tensor([[[-3.0, -1.0, -1.0]]]))
    assert torch.equal(scriptc.compile(module, optimize=0)(x), module(x))
    with pytest.raises(OnnxError, match="pads alone"):
        scriptc.from_onnx(onnx.parser.parse_model(POOL.format(before=3, after=0)), path=tmp_path / "none.py")


@pytest.mark.parametrize("text", ['VALID"); import os #', "VALID\n", "a'b"])
def test_texts_of_attributes_do_not_become_code(text: str) -> None:
    from scriptc.onnx.reading import OnnxError

    x = helper.make_tensor_value_info("x", FLOAT, [1, 1, 4])
    y = helper.make_tensor_value_info("y", FLOAT, None)
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2], auto_pad=text)
    with pytest.raises(OnnxError):
        scriptc.from_onnx(helper.make_model(helper.make_graph([node], "g", [x], [y])))


def test_the_text_about_a_model_does_not_become_code() -> None:
    x = helper.make_tensor_value_info("x", FLOAT, [2])
    y = helper.make_tensor_value_info("y", FLOAT, [2])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y], doc_string='"""\nraise 1\n"""\\')
    assert scriptc.from_onnx(helper.make_model(graph))(torch.tensor([-1.0, 1.0])).tolist() == [0, 1]


def test_operators_of_integer_constants_are_computed_when_a_model_is_read(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["" : 18]>
    m (float[2, 3, n] x) => (float[a, b] y) {
      axis = Constant<value_ints = [-3]>()
      count = Neg(axis)
      ones = ConstantOfShape<value = int64[1] {1}>(count)
      first = Constant<value_ints = [-1]>()
      low = Constant<value_ints = [-9]>()
      zero = Constant<value_ints = [0]>()
      step = Constant<value_ints = [-2]>()
      two = Slice(ones, first, low, zero, step)
      all = Concat<axis = 0>(two, first)
      shape = Shape(x)
      rank = Size(shape)
      one = Constant<value_int = 1>()
      start = Sub(rank, one)
      axes = Range(start, rank, one)
      z = Reshape(x, all)
      y = ReduceSum<keepdims = 0>(z, axes)
    }"""
    module = scriptc.from_onnx(onnx.parser.parse_model(text), path=tmp_path / "m.py")
    assert "z = x.reshape(1, 1, -1)\n        y = torch.sum(z, (2,)" in (tmp_path / "m.py").read_text()
    assert torch.equal(module(torch.ones(2, 3, 4)), torch.full((1, 1), 24.0))


def test_weights_may_have_names_of_attributes_of_modules() -> None:
    infos = [helper.make_tensor_value_info(name, FLOAT, [9]) for name in ("x", "y")]
    names = ("forward", "training", "_buffers")
    weights = [onnx.numpy_helper.from_array(np.full(9, 2, np.float32), name) for name in names]
    nodes = [helper.make_node("Sum", ["x", *names], ["y"])]
    module = scriptc.from_onnx(helper.make_model(helper.make_graph(nodes, "g", infos[:1], infos[1:], weights)))
    assert module(torch.zeros(9)).tolist() == [6] * 9
