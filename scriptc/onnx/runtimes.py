"""Run a model in ONNX Runtime, or in the reference evaluator of `onnx` where ONNX Runtime cannot."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from scriptc.inspect.comparison_report import Row
from scriptc.onnx.reading.element_types import to_torch

RTOL, ATOL = 1e-3, 1e-5  # sums have another order in each runtime; ONNX's own tests allow as much


def run_elsewhere(path: str | os.PathLike[str], inputs: dict[str, Any]) -> tuple[str, list[Any]]:
    """Return the name of the first runtime that can run a model, and the results.

    Raises RuntimeError with what each runtime said if none can.
    """
    said = []
    for name, run in (("onnxruntime", _onnxruntime), ("reference", _reference)):
        try:
            return name, run(os.fspath(path), inputs)
        except ImportError:
            said.append(f"{name} is not installed")
        except Exception as error:  # of a class of the runtime
            said.append(f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:200]}")
    raise RuntimeError("; ".join(said))


def session_of(model: str | bytes) -> Any:
    """Return a session of ONNX Runtime for a file or the bytes of a model; raise ImportError if it is not installed."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _onnxruntime(path: str, inputs: dict[str, Any]) -> list[Any]:
    return list(session_of(path).run(None, inputs))


def _reference(path: str, inputs: dict[str, Any]) -> list[Any]:
    from onnx.reference import ReferenceEvaluator

    with np.errstate(all="ignore"):
        return list(ReferenceEvaluator(path).run(None, inputs))


def compared(name: str, runtime: str, actual: Any, expected: Any, kind: Any) -> Iterator[Row]:
    """Yield rows that compare an output of a compiled model with that of a runtime."""
    path = f"{name} ({runtime})"
    if isinstance(expected, list) and isinstance(actual, list):
        if len(actual) != len(expected):
            yield Row(path, f"list of {len(actual)}", f"{runtime} has {len(expected)} items", False)
            return
        inner = kind.element if kind is not None and kind.kind == "sequence" else kind
        for i, pair in enumerate(zip(actual, expected, strict=True)):
            yield from compared(f"{name}[{i}]", runtime, *pair, inner)
        return
    if not isinstance(actual, np.ndarray) or not isinstance(expected, (np.ndarray, np.generic)):
        same = bool(actual == expected)
        yield Row(path, type(actual).__name__, "same" if same else f"{runtime} differs", same)
        return
    value = f"{actual.dtype}{list(actual.shape)}"
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        yield Row(path, value, f"{runtime} has {expected.dtype}{list(expected.shape)}", False)
    elif actual.dtype == object or actual.dtype.kind in "US":
        same = bool((actual == expected).all())
        yield Row(path, value, "same" if same else f"{runtime} differs", same)
    else:
        yield _numbers(path, value, runtime, *(to_torch(a, str(a.dtype)) for a in (actual, np.asarray(expected))))


def _numbers(path: str, value: str, runtime: str, actual: torch.Tensor, expected: torch.Tensor) -> Row:
    exact = not (expected.is_floating_point() or expected.is_complex())
    rtol, atol = (0.0, 0.0) if exact else (RTOL, ATOL)
    wide = torch.complex128 if expected.is_complex() else torch.int64 if exact else torch.float64
    close = torch.isclose(actual.to(wide), expected.to(wide), rtol=rtol, atol=atol, equal_nan=True)
    apart = torch.where(actual == expected, 0.0, (actual.to(wide) - expected.to(wide)).abs().double())
    largest = float(apart.nan_to_num(nan=0.0 if bool(close.all()) else float("inf")).max()) if apart.numel() else 0.0
    ok = bool(close.all())
    verdict = ("same" if largest == 0 else "close") if ok else f"{runtime} differs"
    return Row(path, value, verdict, ok, max_abs=largest, rtol=rtol, atol=atol)
