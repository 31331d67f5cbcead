"""torch.utils.checkpoint: the code of a function whose values backward code computes again."""

from __future__ import annotations

import torch
from torch.utils.checkpoint import noop_context_fn

from scriptc.frontend.library.registry import serves
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known

_TRUE, _FALSE, _NONE = Known(True), Known(False), Known(None)


@serves(
    "torch.utils.checkpoint.checkpoint", "torch.utils.checkpoint.checkpoint.__wrapped__",
    torch.ops.higher_order.tag_activation_checkpoint,  # of graphs of dynamo
)  # fmt: skip
def checkpoint(
    r: Reader, function: AbstractValue, *args: AbstractValue, use_reentrant: AbstractValue = _NONE,
    context_fn: AbstractValue = Known(noop_context_fn), determinism_check: AbstractValue = Known("default"),
    debug: AbstractValue = _FALSE, early_stop: AbstractValue = _TRUE, preserve_rng_state: AbstractValue = _TRUE,
    **kwargs: AbstractValue,
) -> AbstractValue:  # fmt: skip
    """Call a function. Marks tell differentiation where its code begins and ends."""
    if require_known(r, use_reentrant, "use_reentrant") is not False:
        r.reject("checkpoint_reentrant")
    if require_known(r, context_fn, "context_fn") is not noop_context_fn:
        r.reject("checkpoint_context")
    if require_known(r, determinism_check, "determinism_check") not in ("default", "none") or require_known(
        r, debug, "debug"
    ):
        r.reject("checkpoint_debug")
    preserve = bool(require_known(r, preserve_rng_state, "preserve_rng_state"))
    if r.emit.builder.no_grad:
        return r.call(function, list(args), kwargs)
    r.emit.effect("checkpoint.begin", [], preserve=preserve)
    result = r.call(function, list(args), kwargs)
    r.emit.effect("checkpoint.end", [])
    return result
