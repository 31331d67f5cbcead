"""Damaged ONNX files are read, or OnnxError says what is wrong (see onnx_mutations.py)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fresh_python
import pytest

onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc gives the memory that is in use")

from onnx_mutations import MODELS, read_all  # noqa: E402  needs onnx


def test_two_hundred_damaged_files() -> None:
    root = Path(__file__).parent.parent
    done = fresh_python.run(["-m", "tests.onnx_mutations", "--child", 0, 200], cwd=root, timeout=120)
    said = dict(map(json.loads, done.stdout.splitlines()))
    assert len(said) == 200, done.stderr
    assert {number: text for number, text in said.items() if text.startswith("finding")} == {}
    assert 20 < sum(text == "read" for text in said.values()) < 150


@pytest.mark.slow
def test_ten_thousand_damaged_files() -> None:
    assert [row for row in read_all(0, 10000, True) if row[1].startswith("finding")] == []


def long_name(model: Any) -> None:
    tensor = model.graph.initializer[0]
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="x" * 3000)


def many_ints(model: Any) -> None:
    model.graph.input[1].type.tensor_type.shape.dim[0].dim_value = 10**12


def strange_attribute(model: Any) -> None:
    model.graph.node[2].attribute.append(onnx.helper.make_attribute("speed", 3))


def attribute_of_another_type(model: Any) -> None:
    model.graph.node[2].attribute[0].CopyFrom(onnx.helper.make_attribute("pads", "SAME"))


def version_of_no_operator(model: Any) -> None:
    model.opset_import.add(domain="own", version=2**40)


CASES = [
    (long_name, "File name too long"), (many_ints, "read"), (strange_attribute, "Conv that makes 'c' has an attribute 'speed'"),
    (attribute_of_another_type, "Conv that makes 'c' has an attribute 'pads' of the type 3"),
    (version_of_no_operator, "'own' has no version 1099511627776"),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "said"), CASES)
def test_an_error_names_what_is_wrong(damage: Callable[[Any], None], said: str, tmp_path: Path) -> None:
    from onnx_mutations import seeds

    from scriptc.onnx.reading import OnnxError, read

    model = onnx.ModelProto.FromString(seeds(False)[1])
    damage(model)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    if said == "read":
        assert "shape" in read(tmp_path / "m.onnx").source
    else:
        with pytest.raises(OnnxError, match=said):
            read(tmp_path / "m.onnx")


def test_an_equation_for_which_shape_inference_has_no_end_is_refused() -> None:
    from scriptc.onnx.reading import OnnxError, read

    text = '<ir_version: 8, opset_import: ["" : 17]> m (double x) => (double y) { y = Einsum<equation = "-?">(x) }'
    with pytest.raises(OnnxError, match="Einsum that makes 'y' has an attribute 'equation'"):
        read(onnx.parser.parse_model(text))


def test_a_declared_number_of_scales_makes_no_list() -> None:
    from scriptc.onnx.reading import read

    text = """<ir_version: 9, opset_import: ["" : 19]>
    m (float[1, 1, 2, 2] x, float[2147483648] s) => (float[1, 1, h, w] y) { y = Resize<axes = [3, 2]>(x, , s) }"""
    assert "s.tolist()" in read(onnx.parser.parse_model(text)).source


def test_names_that_are_no_utf_8() -> None:
    from scriptc.onnx.reading import OnnxError, read

    content = onnx.parser.parse_model(MODELS[0]).SerializeToString().replace(b"Identity", b"Ident\xfft!")
    with pytest.raises(OnnxError, match="GraphProto 'step' has a text that is no UTF-8: op_type"):
        read(content)
