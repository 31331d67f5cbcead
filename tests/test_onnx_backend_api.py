"""scriptc behind the interface of ONNX backends, which ONNX's own tests drive."""

from __future__ import annotations

import importlib
import unittest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled_together import run_together

onnx = pytest.importorskip("onnx")
helper = onnx.helper

MODULES = (  # of ONNX's tests of operators, with the tests that are run
    ("add", "test_add_bcast"), ("argmax", "test_argmax_negative_axis_keepdims_example"),
    ("bitshift", "test_bitshift_right_uint8"), ("castlike", "test_castlike_FLOAT_to_FLOAT8E4M3FN"),
    ("clip", "test_clip_default_int8_inbounds"), ("compress", "test_compress_0"),
    ("concat", "test_concat_3d_axis_negative_3"), ("conv", "test_conv_with_strides_and_asymmetric_padding"),
    ("convtranspose", "test_convtranspose_group_2"), ("cumsum", "test_cumsum_1d_reverse_exclusive"),
    ("depthtospace", "test_depthtospace_crd_mode_example"), ("einsum", "test_einsum_batch_diagonal"),
    ("equal", "test_equal_string_broadcast"), ("expand", "test_expand_dim_unchanged"),
    ("gathernd", "test_gathernd_example_int32_batch_dim1"), ("gelu", "test_gelu_tanh_1"),
    ("gemm", "test_gemm_all_attributes"), ("groupnormalization", "test_group_normalization_epsilon"),
    ("if_", "test_if"), ("isinf", "test_isinf_positive"), ("layernormalization", "test_layer_normalization_2d_axis0"),
    ("layernormalization", "test_layer_normalization_4d_axis_negative_3_expanded"),
    ("logsoftmax", "test_logsoftmax_large_number"), ("loop", "test_loop11"), ("matmul", "test_matmul_4d"),
    ("mod", "test_mod_mixed_sign_int16"), ("nonmaxsuppression", "test_nonmaxsuppression_two_batches"),
    ("nonzero", "test_nonzero_example"), ("onehot", "test_onehot_with_axis"), ("pad", "test_wrap_pad"),
    ("pow", "test_pow_types_float32_int64"), ("reducesumsquare", "test_reduce_sum_square_keepdims_example"),
    ("resize", "test_resize_upsample_scales_cubic"), ("scan", "test_scan9_sum"),
    ("scatterelements", "test_scatter_elements_with_negative_indices"),
    ("sequence_map", "test_sequence_map_add_2_sequences"), ("slice", "test_slice_neg_steps"),
    ("split", "test_split_variable_parts_2d_opset18"), ("string_concat", "test_string_concat_broadcasting"),
    ("string_split", "test_string_split_maxsplit"),
    ("stringnormalizer", "test_strnormalizer_export_monday_insensintive_upper_twodim"),
    ("tfidfvectorizer", "test_tfidfvectorizer_tf_batch_uniandbigrams_skip5"), ("topk", "test_top_k_negative_axis"),
    ("trilu", "test_tril_square_neg"), ("unique", "test_unique_sorted_with_axis"),
    ("unsqueeze", "test_unsqueeze_unsorted_axes"), ("where", "test_where_long_example"),
)  # fmt: skip
FOLDERS = {
    "pytorch-operator": {"test_operator_maxpool", "test_operator_permute2"},
    "simple": {"test_sequence_model4", "test_expand_shape_model2"},
}


def runner_of(monkeypatch: pytest.MonkeyPatch, names: set[str] | None, **options: Any) -> Any:
    """Return ONNX's own runner with scriptc as the backend, which calls `prepare` with `options`, but for whole nets.

    names: of the tests to load; None for all. Loading all tests makes the data of all, which takes some seconds.
    """
    from onnx.backend.test import runner
    from onnx.backend.test.case import node

    import scriptc.onnx.backend

    load, kinds = runner.load_model_tests, ("node", "real", "simple", "pytorch-converted", "pytorch-operator")
    if names is not None:
        for name, _ in MODULES:
            importlib.import_module(f"{node.__name__}.{name}")
    cases = {kind: node._NodeTestCases if kind == "node" and names is not None else load(kind=kind) for kind in kinds}
    wanted = {k: [case for case in rows if names is None or case.name in names] for k, rows in cases.items()}
    monkeypatch.setattr(runner, "load_model_tests", lambda kind: wanted[kind])
    every = {case.name: {} if kind == "real" else options for kind, rows in wanted.items() for case in rows}
    return runner.Runner(scriptc.onnx.backend, __name__, every)


def cpu_tests(runner: Any) -> dict[str, unittest.TestCase]:
    """Return the tests for the CPU by name."""
    found = {}
    for case in runner.test_cases.values():
        for test in unittest.defaultTestLoader.loadTestsFromTestCase(case):
            name = test.id().rpartition(".")[2]
            if name.endswith("_cpu"):
                found[name] = test
    return found


@pytest.mark.filterwarnings("ignore")
def test_onnx_drives_the_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {name for _, name in MODULES}.union(*FOLDERS.values())
    tests = cpu_tests(runner_of(monkeypatch, names, optimize=0))
    assert tests.keys() == {f"{name}_cpu" for name in names}
    errors = run_together([test.debug for test in tests.values()])
    assert {name: str(error) for name, error in zip(tests, errors, strict=True) if error is not None} == {}


def test_a_prepared_model_takes_and_returns_arrays() -> None:
    from scriptc.onnx import backend

    text = """<ir_version: 8, opset_import: ["" : 17]>
    m (float[n] x, int64[2] shape) => (float[a, b] y) { y = Reshape(x, shape) }"""
    prepared = backend.prepare(onnx.parser.parse_model(text), "CPU", optimize=0)
    x = np.arange(6, dtype=np.float32)
    made = prepared.run([x, np.array([2, 3])])
    assert np.array_equal(made[0], x.reshape(2, 3)) and made["y"] is made[0]
    assert prepared.run({"shape": np.array([3, 2]), "x": x})[0].shape == (3, 2)
    with pytest.raises(ValueError, match="2 inputs"):
        prepared.run([x])
    with pytest.raises(ValueError, match=r"takes the inputs \['x', 'shape'\]"):
        prepared.run({"x": x})
    with pytest.raises(TypeError, match="input 'x' has elements of float64"):
        prepared.run([x.astype(np.float64), np.array([2, 3])])
    with pytest.raises(ValueError, match=r"input 'shape' has the sizes \[3\]"):
        prepared.run([x, np.array([1, 2, 3])])


def test_devices_options_and_models_that_cannot_be_read() -> None:
    from scriptc.onnx import backend

    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17, "other" : 1]>
    m (float[n] x) => (float[n] y) { y = other.Widget(x) }""")
    assert backend.supports_device("CPU") and not backend.supports_device("CUDA") and not backend.supports_device("CUDA:1")
    assert not backend.is_compatible(model)
    model.graph.node[0].CopyFrom(helper.make_node("Relu", ["x"], ["y"]))
    assert backend.is_compatible(model) and not backend.is_compatible(model, "CUDA")
    with pytest.raises(ValueError, match="no device 'CUDA'"):
        backend.prepare(model, "CUDA")
    with pytest.raises(TypeError, match="speed"):
        backend.prepare(model, speed=3)


def test_a_node_runs_with_its_version_of_the_operators() -> None:
    from scriptc.onnx import backend

    x = np.arange(3, dtype=np.float32)
    squeeze = helper.make_node("Squeeze", ["x"], ["y"], axes=[0])
    made = backend.run_node(squeeze, [x[None]], outputs_info=[(np.float32, (3,))], opset_version=11, optimize=0)
    assert np.array_equal(made[0], x)
    with pytest.raises(ValueError, match="Unrecognized attribute: axes"):
        backend.run_node(squeeze, [x[None]], optimize=0)
    top = helper.make_node("TopK", ["x", "k"], ["v", "i"])
    values, indices = backend.run_node(top, {"k": np.array([2]), "x": x}, optimize=0)
    assert values.tolist() == [2, 1] and indices.tolist() == [2, 1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_onnx_drives_the_backend_with_all_tests(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """docs/guide/onnx.md lists the tests that fail."""
    monkeypatch.setenv("ONNX_HOME", str(tmp_path))  # the runner writes data of whole nets there
    tests = cpu_tests(runner_of(monkeypatch, None, optimize=0))
    errors = run_together([test.debug for test in tests.values()])
    failed = [name for name, error in zip(tests, errors, strict=True) if error is not None]
    assert len(tests) > 2000 and len(failed) < 150, failed
