"""The loss of RNN transducers: an operator of torchaudio."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise RuntimeError(message)


def _check_arguments(
    logits: Tensor, targets: Tensor, logit_lengths: Tensor, target_lengths: Tensor, blank: int
) -> None:
    is_float = logits.dtype == torch.float32 or logits.dtype == torch.float16
    _check(is_float, "logits must be float32 or float16 (half) type")
    _check(targets.dtype == torch.int32, "targets must be int32 type")
    _check(logit_lengths.dtype == torch.int32, "logit_lengths must be int32 type")
    _check(target_lengths.dtype == torch.int32, "target_lengths must be int32 type")
    _check(logits.is_contiguous(), "logits must be contiguous")
    _check(targets.is_contiguous(), "targets must be contiguous")
    _check(logit_lengths.is_contiguous(), "logit_lengths must be contiguous")
    _check(target_lengths.is_contiguous(), "target_lengths must be contiguous")
    _check(logits.dim() == 4, "logits must be 4-D (batch, time, target, class)")
    _check(targets.dim() == 2, "targets must be 2-D (batch, max target length)")
    _check(logit_lengths.dim() == 1, "logit_lengths must be 1-D")
    _check(target_lengths.dim() == 1, "target_lengths must be 1-D")
    batch = logits.size(0)
    _check(logit_lengths.size(0) == batch, "batch dimension mismatch between logits and logit_lengths")
    _check(target_lengths.size(0) == batch, "batch dimension mismatch between logits and target_lengths")
    _check(targets.size(0) == batch, "batch dimension mismatch between logits and targets")
    _check(0 <= blank < logits.size(3), "blank must be within [0, logits.shape[-1])")
    _check(logits.size(1) == int(logit_lengths.max()), "input length mismatch")
    _check(logits.size(2) == int(target_lengths.max()) + 1, "output length mismatch")
    _check(targets.size(1) + 1 == logits.size(2), "target length mismatch")


@decomposes("torch.ops.torchaudio.rnnt_loss_forward")
def rnnt_loss_forward(
    logits: Tensor, targets: Tensor, logit_lengths: Tensor, target_lengths: Tensor, blank: int, clamp: float,
    fused_log_softmax: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return the losses [batch], and the gradients of their sum for the logits [batch, frames, targets + 1, classes].

    A path through the grid of frames and targets stays at a target and ends a frame, or emits the next target.
    """
    _check_arguments(logits, targets, logit_lengths, target_lengths, blank)
    kept = logits.detach().float()
    log_probs = torch.log_softmax(kept, -1) if fused_log_softmax else kept
    batch, frames, states = kept.size(0), kept.size(1), kept.size(2)
    last_frame, last_state = logit_lengths.long() - 1, target_lengths.long()
    labels = targets.long()[:, None, :, None].expand(batch, frames, states - 1, 1)
    stays = log_probs[..., blank]
    emits = torch.gather(log_probs[:, :, : states - 1], 3, labels).squeeze(3)

    # The log-probability of all paths to a point of the grid.
    before = torch.full((batch, frames, states), -math.inf)
    before[:, 0, 0] = 0.0
    for t in range(frames):
        for u in range(states):
            if t > 0:
                before[:, t, u] = torch.logaddexp(before[:, t, u], before[:, t - 1, u] + stays[:, t - 1, u])
            if u > 0:
                before[:, t, u] = torch.logaddexp(before[:, t, u], before[:, t, u - 1] + emits[:, t, u - 1])

    # The log-probability of all paths from a point to the end. Points outside of the grid of a sequence have none.
    after = torch.full((batch, frames + 1, states + 1), -math.inf)
    for i in range(frames):
        t = frames - 1 - i
        for k in range(states):
            u = states - 1 - k
            onward = after[:, t + 1, u] + stays[:, t, u]
            if u + 1 < states:
                onward = torch.logaddexp(onward, after[:, t, u + 1] + emits[:, t, u])
            is_last = (last_frame == t) & (last_state == u)
            is_inside = (last_frame >= t) & (last_state >= u)
            after[:, t, u] = torch.where(is_last, stays[:, t, u], torch.where(is_inside, onward, -math.inf))
    costs = -after[:, 0, 0]

    # A gradient is the share of the paths through a point, less the share of these that take the class.
    times, places = torch.arange(frames)[:, None], torch.arange(states)
    is_inside = (times <= last_frame[:, None, None]) & (places <= last_state[:, None, None])
    is_last = (times == last_frame[:, None, None]) & (places == last_state[:, None, None])
    reach = before + costs[:, None, None]
    share = (log_probs + reach[..., None] + after[:, :frames, :states, None]).exp()
    gradients = share if fused_log_softmax else torch.full_like(share, -0.0)
    stayed = (stays + reach + torch.where(is_last, 0.0, after[:, 1:, :states])).exp()
    emitted = (emits + reach[:, :, : states - 1] + after[:, :frames, 1:states]).exp()
    has_stayed = (labels.squeeze(3) == blank) & (times < last_frame[:, None, None])  # torchaudio takes one of both
    emitted = torch.where(has_stayed, 0.0, emitted)
    taken = torch.zeros_like(share)
    taken[:, :, : states - 1] = taken[:, :, : states - 1].scatter(3, labels, emitted[..., None])
    taken[..., blank] += stayed
    gradients = gradients - taken
    if clamp > 0:
        gradients = gradients.clamp(-clamp, clamp)
    gradients = torch.where(is_inside[..., None], gradients, 0.0)
    return costs.to(logits.dtype), gradients.to(logits.dtype)
