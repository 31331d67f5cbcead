"""Helpers of torch.optim. The optimizers themselves are read from torch's source."""

from __future__ import annotations

import importlib
from typing import Any

from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.materialize import make_tuple
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known

_HELPERS: Any = importlib.import_module("torch.optim.optimizer")  # torch.optim deletes the name of the module
_HEALTH_CHECKS = ("_accelerator_graph_capture_health_check", "_cuda_graph_capture_health_check")


@serves(_HELPERS._default_to_fused_or_foreach)
def default_to_fused_or_foreach(r: Reader, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
    """Return (fused, foreach) as eager chooses them for tensors on the CPU."""
    return make_tuple([Known(False), Known(False)])


@serves(*(vars(_HELPERS.Optimizer)[name] for name in _HEALTH_CHECKS if name in vars(_HELPERS.Optimizer)))
def graph_capture_health_check(r: Reader, self: AbstractValue) -> AbstractValue:
    """Check nothing: a CPU captures no graphs."""
    return Known(None)
