"""Operators that other packages define in `torch.ops`: a row serves them by the name of their schema."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch

import scriptc
from scriptc.ir.op_references import reference

_DEFINED: list[torch.library.Library] = []
_SCHEMAS = {
    "torchvision::nms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "torchvision::roi_align": "(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
    "int sampling_ratio, bool aligned) -> Tensor",
    "torchaudio::_lfilter_core_loop": "(Tensor input_signal_windows, Tensor a_coeff_flipped, "
    "Tensor(a!) padded_output_waveform) -> Tensor(a!)",
    "torchaudio::rnnt_loss_forward": "(Tensor logits, Tensor targets, Tensor logit_lengths, Tensor target_lengths, int blank, "
    "float clamp, bool fused_log_softmax) -> (Tensor, Tensor)",
}


def filtered_in_eager(x: torch.Tensor, coefficients: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    order = coefficients.size(1)
    for i in range(x.size(2)):
        window = output[:, :, i : i + order]
        output[:, :, i + order - 1] = x[:, :, i] - (window * coefficients).sum(-1)
    return output


def losses_in_eager(
    logits: torch.Tensor, targets: torch.Tensor, frames: torch.Tensor, counts: torch.Tensor, blank: int, fused: bool
) -> torch.Tensor:
    """Add up the paths of each sequence."""
    log_probs = logits.log_softmax(-1) if fused else logits
    losses = []
    for i in range(len(logits)):
        paths: dict[tuple[int, int], torch.Tensor] = {}
        for t in range(int(frames[i])):
            for u in range(int(counts[i]) + 1):
                stay = [paths[t - 1, u] + log_probs[i, t - 1, u, blank]] if t else []
                emit = [paths[t, u - 1] + log_probs[i, t, u - 1, int(targets[i, u - 1])]] if u else []
                paths[t, u] = torch.stack([*stay, *emit] or [torch.zeros(())]).logsumexp(0)
        losses.append(-paths[t, u] - log_probs[i, t, u, blank])
    return torch.stack(losses)


_IN_EAGER = {"_lfilter_core_loop": filtered_in_eager, "rnnt_loss_forward": losses_in_eager}


@pytest.fixture(autouse=True, scope="module")
def operators() -> None:
    """Define the operators of torchvision and torchaudio, unless these are loaded."""
    for name, schema in _SCHEMAS.items():
        space, _, short = name.partition("::")
        if not hasattr(getattr(torch.ops, space), short):
            library = torch.library.Library(space, "FRAGMENT")
            library.define(short + schema)
            library.impl(short, _IN_EAGER.get(short) or reference(short), "CPU")
            _DEFINED.append(library)


def kept(boxes: torch.Tensor, scores: torch.Tensor, threshold: float) -> torch.Tensor:
    return boxes[torch.ops.torchvision.nms(boxes, scores, iou_threshold=threshold)]


def pooled(x: torch.Tensor, boxes: list[torch.Tensor], scale: float) -> torch.Tensor:
    places = torch.cat([torch.full_like(b[:, :1], i) for i, b in enumerate(boxes)])
    rois = torch.cat([places, torch.cat(boxes)], 1)
    return torch.ops.torchvision.roi_align.default(x, rois, scale, 3, 2, -1, True)


def filtered(x: torch.Tensor, coefficients: torch.Tensor) -> torch.Tensor:
    output = x.new_zeros(x.size(0), x.size(1), x.size(2) + coefficients.size(1) - 1)
    torch.ops.torchaudio._lfilter_core_loop(x, coefficients, output)
    return output


def boxes_of(count: int) -> torch.Tensor:
    corners = torch.rand(count, 4) * 9
    return torch.cat([corners[:, :2], corners[:, :2] + corners[:, 2:]], 1)


def test_operators_follow_their_schemas() -> None:
    compiled, pool = scriptc.compile(kept, optimize=0), scriptc.compile(pooled, optimize=0)
    for count in (0, 1, 40):
        boxes, scores = boxes_of(count), torch.rand(count)
        for threshold in (0.2, 0.6):
            torch.testing.assert_close(compiled(boxes, scores, threshold), kept(boxes, scores, threshold))
        x, parts = torch.randn(2, 3, 12, 9), [boxes, boxes_of(2)]
        torch.testing.assert_close(pool(x, parts, 0.75), pooled(x, parts, 0.75))
    with pytest.raises(RuntimeError, match="same number of elements in dimension 0, got 40 and 3"):
        compiled(boxes_of(40), torch.rand(3), 0.5)
    with pytest.raises(RuntimeError, match="boxes should be a 2d tensor, got 1D"):
        scriptc.compile(kept, optimize=0)(torch.rand(4), torch.rand(1), 0.5)


def test_filters_add_up_as_in_torchaudio() -> None:
    compiled = scriptc.compile(filtered, optimize=0)
    for batch, samples, order in ((2, 30, 3), (1, 7, 1), (1, 0, 4)):
        for dtype in (torch.float32, torch.float64):
            x, coefficients = torch.rand(batch, 3, samples, dtype=dtype), torch.rand(3, order, dtype=dtype) / order
            torch.testing.assert_close(compiled(x, coefficients), filtered(x, coefficients))
    for x, coefficients in (
        (torch.ones(1, 3, 9, dtype=torch.int64), torch.ones(3, 2, dtype=torch.int64)),
        (torch.rand(1, 3, 9), torch.rand(3, 2, dtype=torch.float64)),
        (torch.rand(1, 9, 3).mT, torch.rand(3, 2)),
    ):
        with pytest.raises(RuntimeError):
            scriptc.compile(filtered, optimize=0)(x, coefficients)


def transduced(*args: torch.Tensor | float) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.ops.torchaudio.rnnt_loss_forward(*args)


def test_losses_of_transducers_and_their_gradients() -> None:
    compiled = scriptc.compile(transduced, optimize=0)
    frames, counts = (torch.tensor(n, dtype=torch.int32) for n in ((5, 3, 4), (1, 2, 0)))
    targets = torch.tensor([[1, 2], [2, 2], [3, 1]], dtype=torch.int32)
    for fused in (True, False):
        for blank in (0, 4):
            logits = torch.randn(3, 5, 3, 5, requires_grad=True)
            losses = losses_in_eager(logits, targets, frames, counts, blank, fused)
            (wanted,) = torch.autograd.grad(losses.sum(), logits)
            given = (logits.detach(), targets, frames, counts, blank)
            found, gradients = compiled(*given, -1.0, fused)
            torch.testing.assert_close(found, losses.detach())
            torch.testing.assert_close(gradients, wanted)
            torch.testing.assert_close(compiled(*given, 0.1, fused)[1], wanted.clamp(-0.1, 0.1))
    for wrong in (targets.long(), targets[:2], targets.mT):
        with pytest.raises(RuntimeError, match="targets"):
            compiled(logits.detach(), wrong, frames, counts, 0, -1.0, True)
    with pytest.raises(RuntimeError, match="blank must be within"):
        compiled(logits.detach(), targets, frames, counts, 5, -1.0, True)


def test_a_region_of_no_image_raises() -> None:
    """Eager reads memory outside of the images there."""

    def pool(x: torch.Tensor, rois: torch.Tensor) -> torch.Tensor:
        return torch.ops.torchvision.roi_align(x, rois, 1.0, 2, 2, 2, False)

    with pytest.raises(IndexError, match="region 0 names image 2 of 2"):
        scriptc.compile(pool, optimize=0)(torch.rand(2, 1, 4, 4), torch.tensor([[2.0, 0, 0, 1, 1]]))


def test_operators_without_a_row_are_rejected() -> None:
    library = torch.library.Library("scriptc_test", "DEF")
    library.define("relu(Tensor x) -> Tensor")  # ATen's function of this name computes something else
    library.impl("relu", torch.neg, "CPU")
    with pytest.raises(scriptc.CompileError, match=r"torch\.ops\.scriptc_test\.relu is not supported"):
        scriptc.compile(lambda x: torch.ops.scriptc_test.relu(x))(torch.ones(2))


class Lazy(ModuleType):
    """Finds a name when it is asked for it, and keeps what it found, as `torch.ops` does."""

    def __getattr__(self, name: str) -> Any:
        if name != "factor":
            raise AttributeError(name)
        self.factor = 3.0
        return self.factor


lazy = Lazy("lazy")


def test_modules_that_find_names_late() -> None:
    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * lazy.factor

    compiled = scriptc.compile(scaled, optimize=0)
    assert compiled(torch.ones(1)).item() == 3.0
    lazy.factor = 4.0
    assert compiled(torch.ones(1)).item() == 4.0
