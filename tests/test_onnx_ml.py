"""Operators of ai.onnx.ml: compiled models against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compiled_together import run_together

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from onnx_ensembles import close, linear_model, tree_model  # noqa: E402  needs onnx

X = np.array([[1.0, -2.0, 0.5], [0.0, 4.0, np.nan], [3.0, 3.0, 3.0]], dtype=np.float32)
WHOLE = np.array([[1, 2, 3], [3, 7, 1]], dtype=np.int64)
WORDS = np.array([["a", "b", "z"], ["b", "b", "a"]], dtype=object)
F, I, S = "float[n, k]", "int64[n, k]", "string[n, k]"  # noqa: E741
CASES: list[tuple[str, str, str, Any]] = [
    ("LabelEncoder<keys_int64s = [3, 1, 3], values_floats = [0.5, 1.5, 9.0], default_float = -2.0>", I, F, WHOLE),
    ('LabelEncoder<keys_strings = ["a", "b"], values_int64s = [7, 8], default_int64 = 5>', S, I, WORDS),
    ('LabelEncoder<keys_int64s = [3, 1], values_strings = ["three", "one"], default_string = "?">', I, S, WHOLE),
    ('LabelEncoder<keys_strings = ["b", "a"], values_strings = ["c", "d"]>', S, S, WORDS),
    ("LabelEncoder<keys_floats = [nan, 3.0, 0.5], values_int64s = [1, 2, 3]>", F, I, X),
    ('CategoryMapper<cats_int64s = [1, 2, 3], cats_strings = ["a", "b", "c"], default_int64 = 9>', S, I, WORDS),
    ('CategoryMapper<cats_int64s = [1, 2, 3], cats_strings = ["a", "b", "c"], default_string = "none">', I, S, WHOLE),
    ("OneHotEncoder<cats_int64s = [3, 1, 7]>", I, "float[n, k, m]", WHOLE),
    ('OneHotEncoder<cats_strings = ["b", "a"], zeros = 1>', S, "float[n, k, m]", WORDS),
    ("Scaler<offset = [0.5, 1.0, 2.0], scale = [2.0, 1.0, 3.0]>", F, F, X),
    ("Scaler<offset = [1.0], scale = [0.5]>", I, F, WHOLE),
    ('Normalizer<norm = "MAX">', F, F, X[[0, 2]]),
    ('Normalizer<norm = "L1">', F, F, X[[0, 2]]),
    ('Normalizer<norm = "L2">', I, F, WHOLE),
    ("Binarizer<threshold = 0.5>", F, F, X[[0, 2]]),
    ("Imputer<replaced_value_float = nan, imputed_value_floats = [7.0, 8.0, 9.0]>", F, F, X),
    ("Imputer<replaced_value_int64 = 3, imputed_value_int64s = [5]>", I, I, WHOLE),
]  # fmt: skip


def model_of(node: str, kind: str, made: str, extra: str = "") -> Any:
    call = f"ai.onnx.ml.{node}(x{extra})"
    text = f'<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 4]> m ({kind} x) => ({made} y) {{ y = {call} }}'
    model = onnx.parser.parse_model(text.replace("nan", "0.125"))
    if "nan" in text:
        for attribute in model.graph.node[0].attribute:
            if attribute.type == onnx.AttributeProto.FLOAT and attribute.f == 0.125:
                attribute.f = float("nan")
            for i, value in enumerate(attribute.floats):
                attribute.floats[i] = float("nan") if value == 0.125 else value
    return model


def expected_of(model: Any, x: Any) -> list[Any]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    made: list[Any] = onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, {"x": x})
    return made


def compiled_of(model: Any, x: Any) -> Any:
    from scriptc.onnx import backend

    return backend.prepare(model, optimize=0).run([x])


def together(bodies: list[Callable[[], None]]) -> None:
    assert [str(error) for error in run_together(bodies) if error is not None] == []


def test_encoders() -> None:
    def check(node: str, kind: str, made: str, x: Any) -> None:
        model = model_of(node, kind, made)
        actual, expected = compiled_of(model, x)[0], expected_of(model, x)[0]
        assert actual.dtype == expected.dtype and actual.shape == expected.shape, node
        if expected.dtype == object:
            assert actual.tolist() == expected.tolist(), node
        else:
            np.testing.assert_allclose(actual, expected, rtol=1e-6, err_msg=node)

    together([lambda case=case: check(*case) for case in CASES])  # type: ignore[misc]


def test_features_and_maps() -> None:
    def extracted() -> None:
        text = """<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>
        m (float[n, 3] x) => (float[n, 2] y, float[n, 7] z) {
          at = Constant<value_ints = [2, 0]>()
          y = ai.onnx.ml.ArrayFeatureExtractor(x, at)
          z = ai.onnx.ml.FeatureVectorizer<inputdimensions = [3, 4]>(x, y)
        }"""
        model = onnx.parser.parse_model(text)
        for actual, wanted in zip(compiled_of(model, X), expected_of(model, X), strict=True):
            np.testing.assert_array_equal(actual, wanted)

    def zipped() -> None:
        node = helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_strings=["a", "b", "c"])
        kind = helper.make_sequence_type_proto(helper.make_map_type_proto(8, helper.make_tensor_type_proto(1, [])))
        model = one_node(node, helper.make_tensor_type_proto(1, ["n", 3]), kind)
        assert compiled_of(model, X[[0, 2]])[0] == expected_of(model, X[[0, 2]])[0]

    def vectorized() -> None:
        node = helper.make_node("DictVectorizer", ["x"], ["y"], domain="ai.onnx.ml", string_vocabulary=["b", "c", "a"])
        given = helper.make_map_type_proto(8, helper.make_tensor_type_proto(1, []))
        model = one_node(node, given, helper.make_tensor_type_proto(1, [1, 3]))
        x = {"a": 1.5, "c": -2.0, "z": 4.0}
        assert compiled_of(model, x)[0].tolist() == [[0.0, -2.0, 1.5]] == expected_of(model, x)[0].tolist()

    helper = onnx.helper

    def one_node(node: Any, given: Any, made: Any) -> Any:
        graph = helper.make_graph([node], "m", [helper.make_value_info("x", given)], [helper.make_value_info("y", made)])
        imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
        return helper.make_model(graph, opset_imports=imports, ir_version=8)

    together([extracted, zipped, vectorized])


def test_unknown_categories_raise() -> None:
    model = model_of("OneHotEncoder<cats_int64s = [3, 1], zeros = 0>", I, "float[n, k, m]")
    with pytest.raises(ValueError, match="none of the categories"):
        compiled_of(model, WHOLE)


def check_random(make: Callable[[int], Any], seed: int, eager: bool = False) -> None:
    from scriptc import from_onnx
    from scriptc.onnx.backend import CompiledModel
    from scriptc.onnx.reading import read

    model, x = make(seed)
    made = CompiledModel(from_onnx(model), read(model)).run([x]) if eager else compiled_of(model, x)
    close(model, x, made, expected_of(model, x))


def test_random_models() -> None:
    rows = [(tree_model, seed) for seed in range(4)] + [(linear_model, seed) for seed in range(3)]
    together([lambda row=row: check_random(*row) for row in rows])  # type: ignore[misc]


@pytest.mark.slow
def test_many_random_models() -> None:
    for make in (tree_model, linear_model):
        for seed in range(500):
            check_random(make, seed, eager=True)
    rows = [(make, seed) for make in (tree_model, linear_model) for seed in range(64)]
    together([lambda row=row: check_random(*row) for row in rows])  # type: ignore[misc]
