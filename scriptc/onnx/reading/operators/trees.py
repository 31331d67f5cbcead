"""Ensembles of trees, linear models and support vector machines of ai.onnx.ml."""

from __future__ import annotations

from typing import Any

import numpy as np

from scriptc.onnx.reading.files import Array
from scriptc.onnx.reading.operation import Operation
from scriptc.onnx.reading.operators.encoders import ML
from scriptc.onnx.reading.operators.strings import kept
from scriptc.onnx.reading.registry import operator
from scriptc.onnx.reading.values import Value, number_text, other

MODES = {name: i for i, name in enumerate(("LEQ", "LT", "GTE", "GT", "EQ", "NEQ", "MEMBER"))}
POST = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
MAX_WEIGHTS = 2**26  # leaves times targets


def post_of(op: Operation) -> str:
    how = str(op.attr("post_transform", "NONE"))
    if how not in POST:
        raise op.unsupported(f"its post_transform is {how!r}")
    return how


def finished(scores: str, how: str) -> str:
    return scores if how == "NONE" else f'ox.post_transformed({scores}, "{how}")'


def numbers(op: Operation, name: str, dtype: Any) -> Array:
    """Return numbers in an attribute, or in the tensor in `NAME_as_tensor`."""
    constant = op.constant(f"{name}_as_tensor")
    if constant is not None:
        return np.reshape(constant.array, -1)
    return np.array(op.attr(name, []), dtype=dtype)


class Ensemble:
    """Nodes of trees as arrays. `ways` holds the next node for true and for false; both are the node itself at a leaf."""

    def __init__(
        self, op: Operation, features: Any, modes: list[int], splits: Array, missing: Any, ways: Array, roots: list[int]
    ):
        self.op = op
        self.roots = roots
        self.modes = modes  # -1 at a leaf
        self.splits = splits
        self.features = np.array(features, dtype=np.int64)
        self.missing = np.zeros(len(modes), dtype=bool) if not len(missing) else np.array(missing, dtype=bool)
        self.ways = ways
        self.depth = self._depth()
        if len({len(modes), len(splits), len(self.features), len(self.missing), len(ways)}) != 1:
            raise op.unsupported("its lists of nodes differ in length")
        self.members = np.zeros((1, 1))

    def _depth(self) -> int:
        """Return the length of the longest way to a leaf; raise OnnxError for nodes that come again on a way."""
        level, depth = set(self.roots), 0
        while any(self.modes[i] >= 0 for i in level):
            depth += 1
            if depth > len(self.modes):
                raise self.op.unsupported("a node of a tree is below itself")
            level = {int(i) for at in level if self.modes[at] >= 0 for i in self.ways[at]}
        return depth

    def leaves(self, x: str, dtype: str) -> str:
        """Write the walk to the leaves."""
        op = self.op
        arrays = [
            kept(op, np.array(self.roots, dtype=np.int64), "int64", "roots"),
            kept(op, self.features, "int64", "features"),
            kept(op, np.array(self.modes, dtype=np.int64), "int64", "modes"),
            kept(op, self.splits.astype(dtype), dtype, "splits"),
            kept(op, self.ways.astype(np.int64), "int64", "ways"),
            kept(op, self.missing, "bool", "missing"),
            kept(op, self.members.astype(dtype), dtype, "members"),
        ]
        kinds = sorted({mode for mode in self.modes if mode >= 0})
        return op.named("leaves", f"ox.leaves({x}, {', '.join(arrays)}, {kinds}, {self.depth})")

    def scores(self, at: str, rows: list[tuple[int, int, float]], targets: int, aggregate: str, dtype: str) -> str:
        """Write the sum of the weights of leaves: `rows` has leaf, target and weight of each."""
        op = self.op
        if len(self.modes) * targets > MAX_WEIGHTS:
            raise op.unsupported(f"it has {len(self.modes)} nodes for {targets} targets")
        weights = np.zeros((len(self.modes), targets), dtype=dtype)
        present = np.zeros((len(self.modes), targets), dtype=bool)
        for leaf, target, weight in rows:
            if not 0 <= target < targets:
                raise op.unsupported(f"a leaf has the target {target} of {targets}")
            weights[leaf, target] += weight
            present[leaf, target] = True
        names = kept(op, weights, dtype, "leaf_weights"), kept(op, present, "bool", "leaf_targets")
        return op.named("scores", f'ox.aggregated({at}, {names[0]}, {names[1]}, "{aggregate}")')


def listed(op: Operation) -> tuple[Ensemble, dict[tuple[int, int], int]]:
    """Return the ensemble of a TreeEnsembleClassifier or TreeEnsembleRegressor, and its nodes by tree and number."""
    trees, ids = op.attr("nodes_treeids", []), op.attr("nodes_nodeids", [])
    places = {pair: i for i, pair in enumerate(zip(trees, ids, strict=True))}
    modes = []
    for mode in op.node.attributes.get("nodes_modes", []):
        if mode != "LEAF" and mode.removeprefix("BRANCH_") not in MODES:
            raise op.unsupported(f"a node has the mode {mode!r}")
        modes.append(MODES.get(mode.removeprefix("BRANCH_"), -1))
    yes, no = op.attr("nodes_truenodeids", []), op.attr("nodes_falsenodeids", [])
    ways = np.array([(i, i) for i in range(len(modes))], dtype=np.int64).reshape(-1, 2)
    below: set[int] = set()
    for i, mode in enumerate(modes):
        if mode >= 0:
            ways[i] = places[trees[i], yes[i]], places[trees[i], no[i]]
            below.update(int(way) for way in ways[i])
    roots = [i for i in range(len(modes)) if i not in below]
    if len(roots) != len(set(trees)):
        raise op.unsupported("a tree has several roots, or none")
    missing = op.attr("nodes_missing_value_tracks_true", [])
    splits = numbers(op, "nodes_values", np.float32)
    return Ensemble(op, op.attr("nodes_featureids", []), modes, splits, missing, ways, roots), places


def features(op: Operation, kind: str) -> str:
    """Return the input as floats of the type `kind`."""
    rows = op[0] if op.need_rank(0) == 2 else f"{op[0]}.reshape(1, -1)"
    return rows if op.dtype(0) == kind else f"{rows}.to(torch.{kind})"


def leaf_rows(op: Operation, places: dict[tuple[int, int], int], prefix: str) -> list[tuple[int, int, float]]:
    trees, nodes, targets = (op.attr(f"{prefix}_{name}", []) for name in ("treeids", "nodeids", "ids"))
    weights = numbers(op, f"{prefix}_weights", np.float32)
    return [(places[t, n], k, w) for t, n, k, w in zip(trees, nodes, targets, weights, strict=True)]


def with_base(op: Operation, scores: str, dtype: str) -> str:
    base = numbers(op, "base_values", np.float32)
    if not base.size:
        return scores
    shown = number_text(base[0], "float32") if base.size == 1 else kept(op, base.astype(dtype), dtype, "base_values")
    return op.named("scores", f"{scores} + {shown}")


@operator("TreeEnsembleRegressor", domain=ML)
def tree_regressor(op: Operation) -> Any:
    aggregate, dtype = op.attr("aggregate_function", "SUM"), "float64" if op.dtype(0) == "float64" else "float32"
    if aggregate not in ("SUM", "AVERAGE", "MIN", "MAX"):
        raise op.unsupported(f"its aggregate_function is {aggregate!r}")
    ensemble, places = listed(op)
    at = ensemble.leaves(features(op, dtype), dtype)
    rows = leaf_rows(op, places, "target")
    scores = with_base(op, ensemble.scores(at, rows, op.attr("n_targets", 1), aggregate, dtype), dtype)
    made = finished(scores, post_of(op))
    return made if dtype == "float32" else f"{made}.to(torch.float32)"


@operator("TreeEnsembleClassifier", domain=ML)
def tree_classifier(op: Operation) -> Any:
    dtype, how = "float64" if op.dtype(0) == "float64" else "float32", post_of(op)
    ensemble, places = listed(op)
    at = ensemble.leaves(features(op, dtype), dtype)
    rows = leaf_rows(op, places, "class")
    names, whole = classes(op)
    count = len(names or whole)
    columns = {target for _, target, _ in rows}
    if count == 2 and len(columns) == 1:
        base = numbers(op, "base_values", np.float32)
        positive = all(weight >= 0 for _, _, weight in rows) and bool((base >= 0).all())
        scores = ensemble.scores(at, [(leaf, 0, weight) for leaf, _, weight in rows], 1, "SUM", dtype)
        if base.size:
            scores = op.named("scores", f"{scores} + {number_text(base[-1], 'float32')}")
        best = f"({scores} > {0.5 if positive else 0.0}).to(torch.int64).squeeze(1)"
        if columns == {0}:
            if how == "PROBIT":
                raise op.unsupported("PROBIT of one score for two classes")
            made = f'ox.two_classes({scores}, "{how}", {not positive})'
        else:
            made = finished(f"torch.cat([torch.zeros_like({scores}), {scores}], 1)", how)
    else:  # the class with the largest score, as in the reference evaluator; ONNX Runtime has other labels for two classes
        scores = with_base(op, ensemble.scores(at, rows, count, "SUM", dtype), dtype)
        best, made = f"torch.argmax({scores}, 1)", finished(scores, how)
    return chosen(op, best, made if dtype == "float32" else f"({made}).to(torch.float32)", names, whole)


def classes(op: Operation) -> tuple[list[str], list[int]]:
    """Return the labels of a classifier: strings, or else ints."""
    attributes = op.node.attributes
    names = [str(name) for name in attributes.get("classlabels_strings", [])]
    whole = attributes.get("classlabels_int64s") or attributes.get("classlabels_ints") or []
    if not names and not whole:
        raise op.unsupported("it has no labels")
    return names, whole


def chosen(op: Operation, best: str, scores: str, names: list[str], whole: list[int]) -> Any:
    """Return the label of the best class, and the scores."""
    index = op.named("best", best)
    if names:
        label = other(op.named(op.node.outputs[0] or "label", f'ox.strings_of_numbers({index}, {names!r}, "")'))
    elif whole == list(range(len(whole))):
        label = Value(index)
    else:
        labels = kept(op, np.array(whole, dtype=np.int64), "int64", "labels")
        label = Value(op.named(op.node.outputs[0] or "label", f"{labels}.index_select(0, {index})"))
    if op.outputs == 1:
        return label
    return label, Value(op.named(op.node.outputs[1] or "scores", scores))


@operator("TreeEnsemble", domain=ML)
def tree_ensemble(op: Operation) -> Any:
    dtype = op.dtype(0) or "float32"
    wide = "float32" if dtype == "float16" else dtype
    modes_of, weights, splits = op.constant("nodes_modes"), op.constant("leaf_weights"), op.constant("nodes_splits")
    if modes_of is None or weights is None or splits is None:
        raise op.unsupported("it lacks nodes_modes, nodes_splits or leaf_weights")
    order = (MODES["LEQ"], MODES["LT"], MODES["GTE"], MODES["GT"], MODES["EQ"], MODES["NEQ"], MODES["MEMBER"])
    modes = [order[int(mode)] for mode in np.reshape(modes_of.array, -1)]
    count = len(modes)
    leaf_count = weights.array.size
    ways = np.array([(i, i) for i in range(count + leaf_count)], dtype=np.int64).reshape(-1, 2)
    for column, side in enumerate(("true", "false")):
        ids, is_leaf = op.need(f"nodes_{side}nodeids"), op.need(f"nodes_{side}leafs")
        for i in range(count):
            ways[i, column] = ids[i] + (count if is_leaf[i] else 0)
            if not 0 <= ids[i] < (leaf_count if is_leaf[i] else count):
                raise op.unsupported(f"node {i} leads to the node {ids[i]}, which does not exist")
    numbers_of_splits = np.concatenate([np.reshape(splits.array, -1).astype(np.float64), np.zeros(leaf_count)])
    members, at = op.constant("membership_values"), 0
    sets: list[list[float]] = []
    for i, mode in enumerate(modes):  # sets follow one another, each behind with a NaN
        if mode == MODES["MEMBER"] and members is not None:
            given = np.reshape(members.array, -1).astype(np.float64)
            end = next(k for k in range(at, given.size) if np.isnan(given[k]))
            numbers_of_splits[i] = len(sets)
            sets.append([float(value) for value in given[at:end]])
            at = end + 1
    missing = op.attr("nodes_missing_value_tracks_true", [])
    ensemble = Ensemble(
        op, [*op.need("nodes_featureids"), *[0] * leaf_count], modes + [-1] * leaf_count, numbers_of_splits,
        [*missing, *[0] * leaf_count] if missing else [], ways, list(op.need("tree_roots")),
    )  # fmt: skip
    if sets:
        ensemble.members = np.full((len(sets), max(1, *map(len, sets))), np.nan)
        for i, values in enumerate(sets):
            ensemble.members[i, : len(values)] = values
    leaves = ensemble.leaves(features(op, wide), wide)
    flat = np.reshape(weights.array, -1)
    rows = [(count + i, target, float(flat[i])) for i, target in enumerate(op.need("leaf_targetids"))]
    aggregate = ("AVERAGE", "SUM", "MIN", "MAX")[op.attr("aggregate_function", 1)]
    scores = ensemble.scores(leaves, rows, op.attr("n_targets", 1), aggregate, wide)
    made = finished(scores, ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")[op.attr("post_transform", 0)])
    return made if wide == dtype else f"{made}.to(torch.float16)"


@operator("LinearRegressor", domain=ML)
def linear_regressor(op: Operation) -> Any:
    how, targets = post_of(op), op.attr("targets", 1)
    return finished(_linear(op, targets), "NONE" if targets == 1 and how != "PROBIT" else how)  # as in ONNX Runtime


def _linear(op: Operation, rows: int) -> str:
    coefficients = np.array(op.need("coefficients"), dtype=np.float32).reshape(rows, -1)
    intercepts = np.array(op.attr("intercepts") or [0.0] * rows, dtype=np.float32)
    names = kept(op, coefficients, "float32", "coefficients"), kept(op, intercepts, "float32", "intercepts")
    return op.named("scores", f"ox.linear_scores({features(op, 'float32')}, {names[0]}, {names[1]})")


@operator("LinearClassifier", domain=ML)
def linear_classifier(op: Operation) -> Any:
    names, whole = classes(op)
    how, rows = post_of(op), len(op.attr("intercepts", [])) or len(names or whole)
    scores = _linear(op, rows)
    if rows == 1:
        if how == "PROBIT":
            raise op.unsupported("PROBIT of one score")
        best = f"({scores} > 0).to(torch.int64).squeeze(1)"
        made = f'ox.two_classes({scores}, "{how}", False)' if len(names or whole) == 2 else finished(scores, how)
        return chosen(op, best, made, names, whole)
    return chosen(op, f"torch.argmax({scores}, 1)", finished(scores, how), names, whole)


def _kernel(op: Operation, vectors: Array) -> str:
    kernel, rest = op.attr("kernel_type", "LINEAR"), (op.attr("kernel_params") or [0.0, 0.0, 0.0])
    if kernel not in ("LINEAR", "POLY", "RBF", "SIGMOID") or len(rest) != 3:
        raise op.unsupported(f"its kernel is {kernel!r} with {len(rest)} numbers")
    shown = ", ".join(number_text(np.float32(number), "float32") for number in rest)
    name = kept(op, vectors, "float32", "support_vectors")
    return op.named("kernel", f'ox.kernel_values({features(op, "float32")}, {name}, "{kernel}", {shown})')


@operator("SVMRegressor", domain=ML)
def svm_regressor(op: Operation) -> Any:
    count, rho = op.attr("n_supports", 0), (op.attr("rho") or [0.0])[0]
    coefficients = np.array(op.need("coefficients"), dtype=np.float32)
    if count:
        vectors = np.array(op.attr("support_vectors", []), dtype=np.float32).reshape(count, -1)
    else:  # a linear model
        vectors, coefficients = coefficients.reshape(1, -1), np.ones(1, np.float32)
    values, weights = _kernel(op, vectors), kept(op, coefficients.reshape(-1, 1), "float32", "coefficients")
    made = op.named("scores", f"{values} @ {weights} + {number_text(np.float32(rho), 'float32')}")
    if op.attr("one_class", 0):
        return f"torch.where({made} > 0, 1.0, -1.0)"
    return finished(made, post_of(op))


@operator("SVMClassifier", domain=ML)
def svm_classifier(op: Operation) -> Any:
    counts, (names, whole) = op.attr("vectors_per_class", []), classes(op)
    if not counts or op.attr("prob_a") or op.attr("prob_b"):
        raise op.unsupported("it is linear or has probabilities")
    total, how = sum(counts), post_of(op)
    if how != "NONE" or len(counts) != len(names or whole) or len(counts) < 3:
        raise op.unsupported(f"it has {len(counts)} classes and the post_transform {how}")
    values = _kernel(op, np.array(op.need("support_vectors"), dtype=np.float32).reshape(total, -1))
    coefficients = np.array(op.need("coefficients"), dtype=np.float32).reshape(len(counts) - 1, total)
    rho = kept(op, np.array(op.need("rho"), dtype=np.float32), "float32", "rho")
    weights = kept(op, coefficients, "float32", "coefficients")
    scores = op.named("scores", f"ox.pair_scores({values}, {weights}, {counts}, {rho})")
    return chosen(op, f"torch.argmax(ox.votes({scores}, {len(counts)}), 1)", scores, names, whole)
