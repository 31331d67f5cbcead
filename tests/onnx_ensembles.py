"""Random models of ai.onnx.ml, for comparisons with ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper

MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def model_of(node: Any, kind: int, width: int, outputs: list[tuple[int, list[Any]]], version: int = 3) -> Any:
    """Return a model of one node of ai.onnx.ml, from rows of features."""
    infos = [helper.make_tensor_value_info(name, *each) for name, each in zip(node.output, outputs, strict=True)]
    graph = helper.make_graph([node], "m", [helper.make_tensor_value_info("x", kind, ["n", width])], infos)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def random_nodes(rng: np.random.Generator, trees: int, depth: int, width: int, modes: list[str]) -> dict[str, list[Any]]:
    """Return the nodes of random trees as attributes."""
    made: dict[str, list[Any]] = {}

    def add(**values: Any) -> None:
        for name, value in values.items():
            made.setdefault(f"nodes_{name}", []).append(value)

    for tree in range(trees):
        pending, count = [(0, 0)], 1
        while pending:
            number, level = pending.pop(0)
            leaf = level >= depth or level > 0 and rng.random() < 0.2
            yes, no = (0, 0) if leaf else (count, count + 1)
            add(
                treeids=tree, nodeids=number, featureids=int(rng.integers(width)), truenodeids=yes, falsenodeids=no,
                values=float(rng.integers(-3, 4)) / 2, modes="LEAF" if leaf else str(rng.choice(modes)),
                missing_value_tracks_true=int(rng.integers(2)),
            )  # fmt: skip
            if not leaf:
                pending += [(yes, level + 1), (no, level + 1)]
                count += 2
    return made


def random_leaves(rng: np.random.Generator, nodes: Any, targets: int, prefix: str, low: float) -> dict[str, Any]:
    """Return random weights of all leaves as attributes."""
    rows = zip(nodes["nodes_treeids"], nodes["nodes_nodeids"], nodes["nodes_modes"], strict=True)
    leaves = [(tree, number, target) for tree, number, mode in rows if mode == "LEAF" for target in range(targets)]
    columns = zip(("treeids", "nodeids", "ids"), zip(*leaves, strict=True), strict=True)
    made: dict[str, Any] = {f"{prefix}_{name}": list(column) for name, column in columns}
    made[f"{prefix}_weights"] = [float(w) for w in rng.uniform(low, 1, len(leaves)).astype(np.float32)]
    return made


def tree_model(seed: int) -> tuple[Any, Any]:
    """Return a random ensemble of trees, and rows of features, some of which are NaN."""
    rng = np.random.default_rng(seed)
    width, trees, double = int(rng.integers(1, 6)), int(rng.integers(1, 8)), bool(rng.random() < 0.3)
    modes = MODES[:1] if rng.random() < 0.4 else MODES
    nodes = random_nodes(rng, trees, int(rng.integers(1, 5)), width, modes)
    low = float(rng.choice([-1.0, 0.0]))
    x = (rng.integers(-4, 5, (17, width)) / 2).astype(np.float64 if double else np.float32)
    x[rng.random(x.shape) < 0.1] = np.nan
    kind = 11 if double else 1
    if rng.random() < 0.5:
        targets = int(rng.integers(1, 4))
        rest = random_leaves(rng, nodes, targets, "target", low)
        rest["n_targets"] = targets
        rest["aggregate_function"] = str(rng.choice(["SUM", "AVERAGE", "MIN", "MAX"]))
        if rng.random() < 0.5:
            rest["base_values"] = [float(i) for i in range(targets)]
        node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", **nodes, **rest)
        return model_of(node, kind, width, [(1, ["n", targets])]), x
    labels, columns = int(rng.integers(2, 5)), 1
    if labels > 2 or rng.random() < 0.5:
        columns = labels
    rest = random_leaves(rng, nodes, columns, "class", low)
    rest["post_transform"] = str(rng.choice(["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]))
    named = bool(rng.random() < 0.3)
    if named:
        rest["classlabels_strings"] = [f"c{i}" for i in range(labels)]
    else:
        rest["classlabels_int64s"] = [*range(1, labels + 1)]
    node = helper.make_node("TreeEnsembleClassifier", ["x"], ["label", "scores"], domain="ai.onnx.ml", **nodes, **rest)
    return model_of(node, kind, width, [(8 if named else 7, ["n"]), (1, ["n", labels])]), x


def linear_model(seed: int) -> tuple[Any, Any]:
    """Return a random linear model or support vector machine, and rows of features."""
    rng = np.random.default_rng(seed)
    width = int(rng.integers(1, 6))
    x = rng.standard_normal((9, width)).astype(np.float32)

    def some(*shape: int) -> list[float]:
        return [float(v) for v in rng.standard_normal(shape).astype(np.float32).reshape(-1)]

    kind = int(rng.integers(4))
    how = str(rng.choice(["NONE", "LOGISTIC", "SOFTMAX"]))
    kernel = {"kernel_type": str(rng.choice(["LINEAR", "POLY", "RBF", "SIGMOID"])), "kernel_params": [0.5, 0.25, 2.0]}
    if kind == 0:
        targets = int(rng.integers(1, 4))
        rest = {"coefficients": some(targets, width), "intercepts": some(targets), "targets": targets, "post_transform": how}
        node = helper.make_node("LinearRegressor", ["x"], ["y"], domain="ai.onnx.ml", **rest)
        return model_of(node, 1, width, [(1, ["n", targets])]), x
    if kind == 1:
        labels = int(rng.integers(2, 5))
        rows = 1 if labels == 2 and rng.random() < 0.7 else labels
        rest = {"coefficients": some(rows, width), "intercepts": some(rows), "classlabels_ints": [*range(5, 5 + labels)]}
        node = helper.make_node("LinearClassifier", ["x"], ["l", "y"], domain="ai.onnx.ml", post_transform=how, **rest)
        return model_of(node, 1, width, [(7, ["n"]), (1, ["n", labels])]), x
    if kind == 2:
        count = int(rng.integers(1, 5))
        rest = {"coefficients": some(count), "support_vectors": some(count, width), "n_supports": count, **kernel}
        rest["rho"] = some(1)
        node = helper.make_node("SVMRegressor", ["x"], ["y"], domain="ai.onnx.ml", **rest)
        return model_of(node, 1, width, [(1, ["n", 1])]), x
    counts = [int(i) for i in rng.integers(1, 4, int(rng.integers(3, 5)))]
    pairs = len(counts) * (len(counts) - 1) // 2
    rest = {
        "coefficients": some(len(counts) - 1, sum(counts)), "support_vectors": some(sum(counts), width), "rho": some(pairs),
        "vectors_per_class": counts, "classlabels_ints": [*range(len(counts))], **kernel,
    }  # fmt: skip
    node = helper.make_node("SVMClassifier", ["x"], ["l", "y"], domain="ai.onnx.ml", **rest)
    return model_of(node, 1, width, [(7, ["n"]), (1, ["n", pairs])]), x


def close(model: Any, x: Any, made: Any, expected: Any) -> None:
    """Check results against those of ONNX Runtime."""
    attributes = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in model.graph.node[0].attribute}
    labels = attributes.get("classlabels_int64s") or attributes.get("classlabels_strings") or []
    if len(labels) == 2 and len(set(attributes["class_ids"])) == 2:  # ONNX Runtime returns labels that the model does not have
        made, expected = made[1:], expected[1:]
    for actual, wanted in zip(made, expected, strict=True):
        if np.asarray(wanted).dtype.kind in "iOU":
            assert list(actual) == list(wanted), onnx.printer.to_text(model)
        else:
            np.testing.assert_allclose(actual, wanted, rtol=2e-5, atol=2e-6, err_msg=str(model.graph.node[0].op_type))
