"""Models of ai.onnx.ml: ensembles of trees, linear models and support vector machines."""

from __future__ import annotations

import torch
from torch import Tensor

LEQ, LT, GTE, GT, EQ, NEQ, MEMBER = 0, 1, 2, 3, 4, 5, 6


def branches(value: Tensor, mode: Tensor, split: Tensor, modes, members: Tensor) -> Tensor:
    """Return whether samples go to the true branch of their nodes. `modes` are those that the ensemble has."""
    made = torch.zeros_like(value, dtype=torch.bool)
    for kind in modes:
        if kind == LEQ:
            met = value <= split
        elif kind == LT:
            met = value < split
        elif kind == GTE:
            met = value >= split
        elif kind == GT:
            met = value > split
        elif kind == EQ:
            met = value == split
        elif kind == NEQ:
            met = value != split
        else:  # the split is the number of a row of `members`, which NaN fills
            rows = members.index_select(0, torch.clamp(split, 0, members.shape[0] - 1).to(torch.int64).reshape(-1))
            met = torch.any(rows == value.reshape(-1, 1), 1).reshape(value.shape)
        made = torch.where(mode == kind, met, made)
    return made


def leaves(
    x: Tensor, roots: Tensor, features: Tensor, modes: Tensor, splits: Tensor, ways: Tensor, missing: Tensor,
    members: Tensor, kinds, depth: int,
) -> Tensor:  # fmt: skip
    """Return the leaf of each sample in each tree. Both ways of a leaf lead to the leaf itself."""
    at = roots.unsqueeze(0).expand(x.shape[0], roots.shape[0])
    for _ in range(depth):
        flat = at.reshape(-1)
        value = torch.gather(x, 1, features.index_select(0, flat).reshape(at.shape))
        split, mode = splits.index_select(0, flat).reshape(at.shape), modes.index_select(0, flat).reshape(at.shape)
        yes = branches(value, mode, split, kinds, members)
        yes = yes | torch.isnan(value) & missing.index_select(0, flat).reshape(at.shape)
        both = ways.index_select(0, flat).reshape(at.shape[0], at.shape[1], 2)
        at = torch.where(yes, both[:, :, 0], both[:, :, 1])
    return at


def aggregated(at: Tensor, weights: Tensor, present: Tensor, aggregate: str) -> Tensor:
    """Return the sum, average, minimum or maximum of the weights of leaves, for each sample and target."""
    flat = at.reshape(-1)
    parts = weights.index_select(0, flat).reshape(at.shape[0], at.shape[1], weights.shape[1])
    if aggregate == "SUM":
        return torch.sum(parts, 1)
    if aggregate == "AVERAGE":
        return torch.sum(parts, 1) / at.shape[1]
    given = present.index_select(0, flat).reshape(parts.shape)
    if aggregate == "MIN":
        best = torch.amin(torch.where(given, parts, float("inf")), 1)
    else:
        best = torch.amax(torch.where(given, parts, -float("inf")), 1)
    return torch.where(torch.any(given, 1), best, torch.zeros_like(best))


def post_transformed(scores: Tensor, how: str) -> Tensor:
    if how == "LOGISTIC":
        return torch.sigmoid(scores)
    if how == "SOFTMAX":
        return torch.softmax(scores, -1)
    if how == "SOFTMAX_ZERO":  # zeros stay
        most = torch.amax(scores, -1, keepdim=True)
        shares = torch.where(torch.abs(scores) > 1e-7, torch.exp(scores - most), torch.zeros_like(scores))
        return shares / torch.sum(shares, -1, keepdim=True)
    if how == "PROBIT":
        return 1.4142135381698608 * torch.erfinv(2 * scores - 1)
    return scores


def two_classes(score: Tensor, how: str, mirrored: bool) -> Tensor:
    """Return the scores of two classes from that of the second one, as ONNX Runtime does: only LOGISTIC changes them."""
    if how == "LOGISTIC":
        return torch.cat([torch.sigmoid(-score), torch.sigmoid(score)], 1)
    return torch.cat([-score if mirrored else 1 - score, score], 1)


def linear_scores(x: Tensor, coefficients: Tensor, intercepts: Tensor) -> Tensor:
    return x.to(torch.float32) @ coefficients.t() + intercepts


def kernel_values(x: Tensor, vectors: Tensor, kernel: str, gamma: float, offset: float, degree: float) -> Tensor:
    """Return the kernel of each sample and each support vector."""
    if kernel == "RBF":
        apart = x.unsqueeze(1) - vectors
        return torch.exp(-gamma * torch.sum(apart * apart, 2))
    product = x @ vectors.t()
    if kernel == "LINEAR":
        return product
    if kernel == "POLY":
        return torch.pow(gamma * product + offset, degree)
    return torch.tanh(gamma * product + offset)


def pair_scores(values: Tensor, coefficients: Tensor, counts, rho: Tensor) -> Tensor:
    """Return the score of each pair of classes of a support vector machine. `counts` are the support vectors by class."""
    starts = [0]
    for count in counts:
        starts.append(starts[-1] + count)
    made: list[Tensor] = []
    for i in range(len(counts)):
        for j in range(i + 1, len(counts)):
            first = values[:, starts[i] : starts[i + 1]] @ coefficients[j - 1, starts[i] : starts[i + 1]]
            second = values[:, starts[j] : starts[j + 1]] @ coefficients[i, starts[j] : starts[j + 1]]
            made.append(first + second + rho[len(made)])
    return torch.stack(made, 1)


def votes(scores: Tensor, count: int) -> Tensor:
    """Return how many pairs each class wins."""
    columns = [torch.zeros(scores.shape[0], dtype=torch.int64) for _ in range(count)]
    pair = 0
    for i in range(count):
        for j in range(i + 1, count):
            wins = scores[:, pair] > 0
            columns[i] = columns[i] + wins.to(torch.int64)
            columns[j] = columns[j] + torch.logical_not(wins).to(torch.int64)
            pair += 1
    return torch.stack(columns, 1)
