"""Losses and distances, as leaves of torch.nn.functional. A reduction is 0 (none), 1 (mean) or 2 (sum)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.dtype_names import NAMES
from scriptc.frontend.library.torch.pointwise_decomposed import root


def reduced(loss: Tensor, reduction: int) -> Tensor:
    if reduction == 0:
        return loss
    return torch.mean(loss) if reduction == 1 else torch.sum(loss)


def enumerated(reduction: str) -> int:
    return 0 if reduction == "none" else 1 if reduction == "mean" else 2


@decomposes("torch._C._nn.mse_loss")
def mse_loss(input: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    return reduced((input - target) * (input - target), reduction)


@decomposes("torch._C._nn.l1_loss")
def l1_loss(input: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    return reduced(torch.abs(input - target), reduction)


@decomposes("torch._C._nn.smooth_l1_loss")
def smooth_l1_loss(input: Tensor, target: Tensor, reduction: int = 1, beta: float = 1.0) -> Tensor:
    if not beta >= 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if input.dtype == torch.float16 and beta >= 65520:  # infinite in float16
        beta = math.inf
    distance = torch.abs(input - target)
    if beta == 0:
        return reduced(distance, reduction)
    near = torch.where(distance >= beta, 0.0, distance)  # the square of an infinite distance would make a NaN of the gradient 0
    return reduced(torch.where(distance < beta, 0.5 * near * near / beta, distance - 0.5 * beta), reduction)


@decomposes("torch._C._nn.huber_loss")
def huber_loss(input: Tensor, target: Tensor, reduction: int = 1, delta: float = 1.0) -> Tensor:
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    distance = torch.abs(input - target)
    near = torch.where(distance > delta, 0.0, distance)
    return reduced(torch.where(distance <= delta, 0.5 * near * near, delta * (distance - 0.5 * delta)), reduction)


@decomposes("torch._C._nn.soft_margin_loss")
def soft_margin_loss(input: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    return reduced(torch.log1p(torch.exp(-target * input)), reduction)


@decomposes("torch._C._nn.binary_cross_entropy")
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1) -> Tensor:
    loss = -(
        target * torch.clamp(torch.log(input), min=-100) + (1 - target) * torch.clamp(torch.log1p(-input), min=-100)
    )
    return reduced(loss if weight is None else loss * weight, reduction)


@decomposes("torch.binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 1
) -> Tensor:
    # the gradient at 0 is that of the second branches
    softplus = torch.where(input < 0, -input, 0.0) + torch.log1p(torch.exp(torch.where(input < 0, input, -input)))
    if pos_weight is None:
        loss = (1 - target) * input + softplus
    else:
        loss = (1 - target) * input + ((pos_weight - 1) * target + 1) * softplus
    return reduced(loss if weight is None else loss * weight, reduction)


@decomposes("torch.poisson_nll_loss")
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    loss = torch.exp(input) - target * input if log_input else input - target * torch.log(input + eps)
    if full:
        stirling = target * torch.log(target) - target + 0.5 * torch.log(2 * math.pi * target)
        loss = loss + torch.where(target <= 1, 0.0, stirling)
    return reduced(loss, reduction)


@decomposes("torch.kl_div")
def kl_div(input: Tensor, target: Tensor, reduction: int = 1, *, log_target: bool = False) -> Tensor:
    if log_target:
        return reduced(torch.exp(target) * (target - input), reduction)
    return reduced(torch.xlogy(target, target) - target * input, reduction)


@decomposes("torch.margin_ranking_loss")
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1
) -> Tensor:
    return reduced(torch.clamp(-target * (input1 - input2) + margin, min=0), reduction)


@decomposes("torch.hinge_embedding_loss")
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 1) -> Tensor:
    apart = torch.where(target != 1, torch.clamp(margin - input, min=0), 0.0)
    return reduced(apart + torch.where(target != -1, input, 0.0), reduction)


@decomposes("torch.cosine_embedding_loss", widens=True)
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1
) -> Tensor:
    product = torch.sum(input1 * input2, -1)
    squares = (torch.sum(input1 * input1, -1) + 1e-12) * (torch.sum(input2 * input2, -1) + 1e-12)
    cosine = product / torch.sqrt(squares)
    loss = torch.where(target == 1, 1 - cosine, 0.0) + torch.where(
        target == -1, torch.clamp(cosine - margin, min=0), 0.0
    )
    return reduced(loss, reduction)


@decomposes("torch.nn.functional.cosine_similarity", "torch.cosine_similarity", widens=True)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    if not eps >= 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    norms = [root(torch.sum(x * x, dim, keepdim=True)) for x in (x1, x2)]
    return torch.sum(x1 / torch.clamp(norms[0], min=eps) * (x2 / torch.clamp(norms[1], min=eps)), dim)


@decomposes("torch.pairwise_distance", "torch.nn.functional.pairwise_distance", widens=True)
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    return torch.linalg.vector_norm(x1 - x2 + eps, p, -1, keepdim)


@decomposes("torch.triplet_margin_loss")
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6,
    swap: bool = False, reduction: int = 1,
) -> Tensor:  # fmt: skip
    near = torch.pairwise_distance(anchor, positive, p, eps)
    far = torch.pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = torch.minimum(far, torch.pairwise_distance(positive, negative, p, eps))
    return reduced(torch.clamp(margin + near - far, min=0), reduction)


@decomposes("torch._C._nn.multi_margin_loss")
def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, reduction: int = 1
) -> Tensor:
    x = input.reshape(1, -1) if input.dim() < 2 else input
    index = target.reshape(-1, 1)
    own = torch.gather(x, 1, index)
    loss = torch.clamp(margin - own + x, min=0)
    loss = loss if p == 1 else loss * loss
    if weight is not None:
        loss = loss * weight[target.reshape(-1)].unsqueeze(1)
    others = torch.arange(x.size(1)).unsqueeze(0) != index
    loss = torch.mean(torch.where(others, loss, 0.0), 1)
    return reduced(loss.reshape(target.shape) if reduction == 0 else loss, reduction)


@decomposes("torch._C._nn.multilabel_margin_loss")
def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    x = input.reshape(1, -1) if input.dim() < 2 else input
    labels = target.reshape(x.shape)
    valid = torch.cumprod((labels >= 0).to(torch.int64), 1) != 0  # the first -1 ends the labels
    safe = torch.where(valid, labels, 0)
    is_target = torch.zeros_like(x).scatter_add(1, safe, valid.to(x.dtype)) > 0
    own = torch.gather(x, 1, safe).unsqueeze(2)
    loss = torch.clamp(1 - own + x.unsqueeze(1), min=0)
    counted = valid.unsqueeze(2) & ~is_target.unsqueeze(1)
    result = torch.sum(torch.where(counted, loss, 0.0), (1, 2)) / x.size(1)
    if reduction == 0:
        return result.reshape(input.shape[:-1])
    return reduced(result, reduction)


def _nll(input: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int) -> Tensor:
    """Return the negative log likelihood; classes are dim 1, or dim 0 without a batch."""
    _check_classes(input, target, weight)
    dim = 1 if input.dim() > 1 else 0
    kept = target != ignore_index
    outside = kept & ((target < 0) | (target >= input.size(dim)))
    if bool(torch.any(outside)):
        first = torch.argmax(outside.reshape(-1).to(torch.uint8))
        raise IndexError(f"Target {int(target.reshape(-1)[first])} is out of bounds.")
    safe = torch.where(kept, target, 0)
    if input.size(dim) == 0:  # all targets are ignored
        picked = torch.zeros(target.shape, dtype=input.dtype)
    else:
        picked = -torch.gather(input, dim, safe.unsqueeze(dim)).squeeze(dim)
    if weight is None:
        weights = kept.to(input.dtype)
    else:
        weights = torch.where(kept, torch.index_select(weight, 0, safe.reshape(-1)).reshape(safe.shape), 0.0)
    loss = torch.where(kept, picked * weights, 0.0)
    if reduction == 1:
        return torch.sum(loss) / torch.sum(weights)
    return loss if reduction == 0 else torch.sum(loss)


def _check_classes(input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    """Raise the error of eager for class indices or weights whose sizes do not fit the input."""
    if input.dim() < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {input.dim()})")
    if input.dim() == 1:
        if target.dim() == 1 and target.size(0) != 1:
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.size(0)}")
    elif input.size(0) != (batch := target.size(0) if target.dim() > 0 else 0):  # eager reads 0 where there is no dim
        raise ValueError(f"Expected input batch_size ({input.size(0)}) to match target batch_size ({batch}).")
    elif target.dim() == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if input.dim() <= 2 and target.dim() > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input.dim() > 2:
        wanted, found = [input.size(0), *input.shape[2:]], [*target.shape]
        if wanted != found and input.dim() == 4:
            raise RuntimeError(f"size mismatch (got input: {[*input.shape]} , target: {found}")
        if wanted != found:
            raise RuntimeError(f"Expected target size {wanted}, got {found}")
    if weight is not None and (weight.dim() != 1 or weight.numel() != input.size(1 if input.dim() > 1 else 0)):
        raise RuntimeError(f"weight tensor should be defined either for all classes or no classes but got {[*weight.shape]}")


@decomposes("torch._C._nn.nll_loss_nd", "torch._C._nn.nll_loss", "torch._C._nn.nll_loss2d")
def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1, ignore_index: int = -100
) -> Tensor:
    return _nll(input, target, weight, reduction, ignore_index)


def _lengths(lengths: Tensor | list[int] | int) -> Tensor:
    return lengths.to(torch.int64).reshape(-1) if isinstance(lengths, Tensor) else torch.tensor(lengths).reshape(-1)


def _shifted(alpha: Tensor, by: int) -> Tensor:
    return torch.constant_pad_nd(alpha, [by, -by], -math.inf)


def _log_sum(a: Tensor, b: Tensor) -> Tensor:
    """Return `logaddexp` of log probabilities. If both are of impossible events, their gradients are 0."""
    possible = (a > -math.inf) | (b > -math.inf)
    return torch.where(possible, torch.logaddexp(torch.where(possible, a, 0.0), torch.where(possible, b, 0.0)), -math.inf)


@decomposes("torch.ctc_loss")
def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor | list[int], target_lengths: Tensor | list[int],
    blank: int = 0, reduction: int = 1, zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """Return CTC losses.

    alpha[n, k] is the log probability of all paths to symbol k of blank, label, blank, ...
    """
    batched = log_probs.dim() == 3
    logs = log_probs if batched else log_probs.unsqueeze(1)
    steps, sizes = _lengths(input_lengths), _lengths(target_lengths)
    longest = int(torch.amax(sizes))
    places = torch.arange(longest).expand(logs.size(1), longest)
    inside = places < sizes.unsqueeze(1)
    if targets.dim() == 2:
        rows = targets
    else:  # targets of all samples, concatenated
        rows = targets.reshape(1, -1).expand(logs.size(1), targets.size(0))
        places = places + (torch.cumsum(sizes, 0) - sizes).unsqueeze(1)
    labels = torch.gather(rows, 1, torch.where(inside, places, 0)).to(torch.int64)
    states = torch.full((logs.size(1), 2 * longest + 1), blank, dtype=torch.int64)
    states[:, 1::2] = torch.where(inside, labels, blank)
    skips = torch.zeros_like(states, dtype=torch.bool)
    skips[:, 3::2] = labels[:, 1:] != labels[:, :-1]
    alpha = torch.where(torch.arange(2 * longest + 1) < 2, torch.gather(logs[0], 1, states), -math.inf)
    for t in range(1, logs.size(0)):
        ways = _log_sum(alpha, _shifted(alpha, 1))
        ways = _log_sum(ways, torch.where(skips, _shifted(alpha, 2), -math.inf))
        alpha = torch.where((t < steps).unsqueeze(1), ways + torch.gather(logs[t], 1, states), alpha)
    last = 2 * sizes.unsqueeze(1)
    ends = torch.gather(alpha, 1, last), torch.gather(alpha, 1, torch.clamp(last - 1, min=0))
    loss = -torch.where(last > 0, _log_sum(ends[0], ends[1]), ends[0]).squeeze(1)
    # eager's gradient is that of a loss of unnormalized log probabilities: a term that is 0 adds their total's
    chances = torch.where(torch.arange(logs.size(0)).unsqueeze(1) < steps, torch.sum(torch.exp(logs), -1), 0.0)
    loss = loss + torch.sum(chances - chances.detach(), 0)
    loss = torch.where(steps > 0, loss, torch.where(sizes > 0, math.inf, 0.0))
    if zero_infinity:
        loss = torch.where(loss == math.inf, 0.0, loss)
    if reduction == 1:
        return torch.mean(loss / torch.clamp(sizes, min=1))
    return torch.sum(loss) if reduction == 2 else loss if batched else loss.reshape(())


@decomposes("torch._C._nn.cross_entropy_loss")
def cross_entropy_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1, ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    are_probabilities = target.dim() == input.dim() and [*target.shape] == [*input.shape]
    if are_probabilities and not target.is_floating_point():
        kind = NAMES[target.dtype]
        raise RuntimeError(f"Expected floating point type for target with class probabilities, got {kind}")
    dim = 0 if input.dim() == 1 else 1
    logs = torch.log_softmax(input, dim)
    shape = [1, -1] + [1] * (input.dim() - 2) if input.dim() > 1 else [-1]
    classes = input.size(dim)
    if label_smoothing > 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    if are_probabilities:
        if weight is not None and (weight.dim() != 1 or weight.numel() != classes):
            raise RuntimeError("cross_entropy: weight tensor should be defined either for all classes or no classes")
        share = label_smoothing / max(classes, 1)
        wanted = target * (1 - label_smoothing) + share if label_smoothing > 0 else target
        weighted = logs * wanted if weight is None else logs * wanted * weight.reshape(shape)
        if reduction == 1:
            return -torch.sum(weighted) / (input.numel() // max(classes, 1))
        return -torch.sum(weighted, dim) if reduction == 0 else -torch.sum(weighted)
    loss = _nll(logs, target, weight, reduction, ignore_index)
    if label_smoothing <= 0:
        return loss
    kept = target != ignore_index
    smooth = -torch.sum(logs if weight is None else logs * weight.reshape(shape), dim)
    smooth = torch.where(kept, smooth, 0.0)
    if reduction == 0:
        return (1 - label_smoothing) * loss + label_smoothing / classes * smooth
    total = torch.sum(smooth)
    if reduction == 1:
        if weight is None:
            total = total / torch.sum(kept.to(input.dtype))
        else:
            safe = torch.where(kept, target, 0)
            each = torch.index_select(weight, 0, safe.reshape(-1)).reshape(safe.shape)
            total = total / torch.sum(torch.where(kept, each, 0.0))
    return (1 - label_smoothing) * loss + label_smoothing / classes * total
