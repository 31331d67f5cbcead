"""Losses and distances, as leaves of torch.nn.functional. A reduction is 0 (none), 1 (mean) or 2 (sum)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.broadcasting_decomposed import broadcast
from scriptc.frontend.library.torch.dtype_names import NAMES
from scriptc.frontend.library.torch.pointwise_decomposed import root


def reduced(loss: Tensor, reduction: int) -> Tensor:
    if reduction == 0:
        return loss
    return torch.mean(loss) if reduction == 1 else torch.sum(loss)


def enumerated(reduction: str) -> int:
    return 0 if reduction == "none" else 1 if reduction == "mean" else 2


def _check_in_place(output: Tensor, other: Tensor) -> None:
    """Raise the error of eager where it writes the product of two tensors into the first one."""
    wide = list(broadcast(tuple(output.shape), tuple(other.shape)))
    if wide != list(output.shape):
        raise RuntimeError(f"output with shape {list(output.shape)} doesn't match the broadcast shape {wide}")


def _check_unit_interval(values: Tensor, name: str) -> None:
    if not bool(torch.all((values >= 0) & (values <= 1))):
        raise RuntimeError(f"all elements of {name} should be between 0 and 1")


@decomposes("torch._C._nn.mse_loss", promotes=True)
def mse_loss(input: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    return reduced((input - target) * (input - target), reduction)


@decomposes("torch._C._nn.l1_loss")
def l1_loss(input: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    return reduced(torch.abs(input - target), reduction)


@decomposes("torch._C._nn.smooth_l1_loss", promotes=True)
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
    common = torch.result_type(input, target)
    distance = torch.abs(input.to(common) - target.to(common))
    near = torch.where(distance > delta, 0.0, distance)
    loss = torch.where(distance <= delta, 0.5 * near * near, delta * (distance - 0.5 * delta))
    return reduced(loss.to(input.dtype), reduction)


@decomposes("torch._C._nn.soft_margin_loss")
def soft_margin_loss(input: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    """Return the loss, which eager computes in a tensor of the input's dtype and shape."""
    _check_in_place(input, target)
    return reduced(torch.log1p(torch.exp(input * -target.to(input.dtype))), reduction)


@decomposes("torch._C._nn.binary_cross_entropy")
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1) -> Tensor:
    _check_unit_interval(input, "input")
    _check_unit_interval(target, "target")
    loss = -(
        target * torch.clamp(torch.log(input), min=-100) + (1 - target) * torch.clamp(torch.log1p(-input), min=-100)
    )
    return reduced(loss if weight is None else (loss * weight).to(input.dtype), reduction)


@decomposes("torch.binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 1
) -> Tensor:
    _check_in_place(target, input)
    if pos_weight is not None:
        _check_in_place(input, torch.broadcast_tensors(pos_weight, target)[0])
    if weight is not None:
        _check_in_place(target, weight)
    # the gradient at 0 is that of the second branches
    softplus = torch.where(input < 0, -input, 0.0) + torch.log1p(torch.exp(torch.where(input < 0, input, -input)))
    if pos_weight is None:
        loss = (1 - target) * input + softplus
    else:
        loss = (1 - target) * input + ((pos_weight - 1) * target + 1) * softplus
    return reduced((loss if weight is None else loss * weight).to(target.dtype), reduction)


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
    if target.dim() > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.dim() != target.dim() + 1 or input2.dim() != target.dim() + 1:
        found = f"but found inputs with sizes {list(input1.shape)} and {list(input2.shape)}."
        raise RuntimeError(f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, {found}")
    product = torch.sum(input1 * input2, -1)
    squares = (torch.sum(input1 * input1, -1) + 1e-12) * (torch.sum(input2 * input2, -1) + 1e-12)
    cosine = product / torch.sqrt(squares)
    loss = torch.where(target == 1, 1 - cosine, 0.0) + torch.where(
        target == -1, torch.clamp(cosine - margin, min=0), 0.0
    )
    return reduced(loss, reduction)


def _repeats(x: Tensor, other: Tensor, dim: int) -> int:
    """Return how often broadcasting with another tensor repeats the elements of one along a dim."""
    return other.size(dim) if x.dim() > 0 and x.size(dim) == 1 else 1


@decomposes("torch.nn.functional.cosine_similarity", "torch.cosine_similarity", widens=True)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    if not eps >= 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    rank = max(x1.dim(), x2.dim())
    x1, x2 = (x.reshape((1,) * (rank - x.dim()) + tuple(x.shape)) if x.dim() < rank else x for x in (x1, x2))
    norms = [root(torch.sum(x * x, dim, keepdim=True) * _repeats(x, other, dim)) for x, other in ((x1, x2), (x2, x1))]
    return torch.sum(x1 / torch.clamp(norms[0], min=eps) * (x2 / torch.clamp(norms[1], min=eps)), dim)


@decomposes("torch.pairwise_distance", "torch.nn.functional.pairwise_distance", widens=True)
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    return torch.linalg.vector_norm(x1 - x2 + eps, p, -1, keepdim)


@decomposes("torch.triplet_margin_loss")
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6,
    swap: bool = False, reduction: int = 1,
) -> Tensor:  # fmt: skip
    if anchor.dim() != positive.dim() or anchor.dim() != negative.dim():
        dims = f"anchor {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs"
        raise RuntimeError(
            f"The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: {dims}"
        )
    near = torch.pairwise_distance(anchor, positive, p, eps)
    far = torch.pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = torch.minimum(far, torch.pairwise_distance(positive, negative, p, eps))
    return reduced(torch.clamp(margin + near - far, min=0), reduction)


def _check_samples(input: Tensor) -> None:
    """Raise the error of eager unless an input has the scores of all classes, for one sample or for a batch."""
    if input.dim() > 2 or (input.dim() > 0 and input.size(-1) == 0):
        found = list(input.shape)
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {found}")


def _check_dtypes(input: Tensor, target: Tensor, kernel: str) -> None:
    if not input.is_floating_point():
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{NAMES[input.dtype]}'")
    if target.dtype != torch.int64:
        raise RuntimeError(f"expected scalar type Long but found {NAMES[target.dtype]}")


def _check_range(target: Tensor, first: int, count: int, message: str) -> None:
    if bool(torch.any((target < first) | (target >= count))):
        raise RuntimeError(message)


@decomposes("torch._C._nn.multi_margin_loss")
def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, reduction: int = 1
) -> Tensor:
    _check_samples(input)
    x = input.reshape(1, -1) if input.dim() < 2 else input
    if target.dim() > 1 or target.numel() != x.size(0):
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
            f"Expected target size [{x.size(0)}], but got {list(target.shape)}. Input has shape {list(input.shape)}."
        )
    if weight is not None and weight.numel() != x.size(1):
        raise RuntimeError(f"inconsistent weight size, expected {x.size(1)} but got {list(weight.shape)}")
    _check_dtypes(input, target, "multi_margin_loss_cpu_kernel")
    _check_range(target, 0, x.size(1), "target out of range")
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
    _check_samples(input)
    x = input.reshape(1, -1) if input.dim() < 2 else input
    single = input.dim() < 2 and target.dim() < 2
    if target.numel() != input.numel() if single else [*target.shape] != [*input.shape]:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    _check_dtypes(input, target, "multilabel_margin_loss_forward_out_frame")
    _check_range(target, -1, x.size(1), "argument #2 'target' is out of range")
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
    target = (target.reshape(()) if input.dim() == 1 else target).to(torch.int64)
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
    if input.dim() > 2 and input.dim() != 4 and input.numel() == 0 and target.numel() > 0:
        sizes = f"input: {[*input.shape[:2], 0, 0]} , target: {[target.size(0), 1, target.numel() // target.size(0)]}"
        raise RuntimeError(f"size mismatch (got {sizes}")
    if target.dtype == torch.bool:
        raise RuntimeError("expected target dtype to be Long or Byte, but got Bool")
    if input.dim() > 2 and target.dtype != torch.int64:
        raise RuntimeError(f"expected scalar type Long but found {NAMES[target.dtype]}")
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
    if are_probabilities and ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    dim = 0 if input.dim() == 1 else 1
    logs = torch.log_softmax(input, dim)
    shape = [1, -1] + [1] * (input.dim() - 2) if input.dim() > 1 else [-1]
    classes = input.size(dim)
    if label_smoothing > 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    if are_probabilities:
        if weight is not None and (weight.dim() != 1 or weight.numel() != classes):
            raise RuntimeError(
                f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got weight "
                f"tensor of shape: {list(weight.shape)}"
            )
        share = label_smoothing / max(classes, 1)
        wanted = target * (1 - label_smoothing) + share if label_smoothing > 0 else target
        weighted = logs * wanted if weight is None else logs * wanted * weight.reshape(shape)
        if reduction == 1:
            return -torch.sum(weighted) / (input.numel() // max(classes, 1))
        return -torch.sum(weighted, dim) if reduction == 0 else -torch.sum(weighted)
    loss = _nll(logs, target, weight, reduction, ignore_index)
    if label_smoothing <= 0:
        return loss
    if input.dim() == 1 and target.dim() == 1:
        raise RuntimeError("output with shape [] doesn't match the broadcast shape [1]")
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
