"""Export every language program to ONNX: `python -m tests.onnx_export`. Each is refused, or equals eager in ONNX Runtime."""

from __future__ import annotations

import collections
import copy
import sys
from pathlib import Path
from typing import Any

import numpy
import onnxruntime
import torch

from scriptc.frontend.environment.specs import values_of
from scriptc.ir.errors import CompileError
from scriptc.onnx.writing.model import model_of


def fed(value: Any) -> Any:
    """Return an argument as ONNX Runtime takes it."""
    if isinstance(value, (list, tuple, collections.deque)):
        return [fed(v) for v in value]
    if isinstance(value, torch.Tensor):
        return value.detach().numpy()
    return numpy.array(value)


def session_of(model: Any) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(session: onnxruntime.InferenceSession, leaves: list[Any]) -> list[Any]:
    return session.run(None, dict(zip((i.name for i in session.get_inputs()), map(fed, leaves), strict=True)))


def differs(got: Any, wanted: Any) -> bool:
    """Return whether a result of a runtime is another value than eager's: types, sizes and elements."""
    if isinstance(wanted, (list, tuple)):
        return len(got) != len(wanted) or any(map(differs, got, wanted))
    expected = fed(wanted)
    got = numpy.asarray(got)
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return True
    return not numpy.allclose(got, expected, rtol=1e-4, atol=1e-5, equal_nan=True)


def outcome(target: Any, given: Any) -> str:
    """Return what came of one call: equal, refused, raises, not run, or wrong or internal with the details."""
    try:
        wanted = target(*copy.deepcopy(given.args), **copy.deepcopy(given.kwargs))
    except Exception:
        return "eager raises"
    try:
        model, entry = model_of(target, copy.deepcopy(given.args), copy.deepcopy(given.kwargs), None)
    except CompileError:
        return "refused"
    except Exception as e:
        return f"internal: {type(e).__name__}: {str(e)[:300]}"
    try:
        bound = zip(_bound(target, given, entry), entry.args, strict=True)
        arguments = [v for value, argument in bound for v in values_of(argument.spec, value)]
        expected = list(values_of(entry.result, wanted))
    except Exception:  # an argument or a result is made by a class of its own
        return "not compared"
    try:
        session = session_of(model)
        got = run(session, arguments)
    except Exception as e:
        return f"not run: {str(e)[:200]}"
    if len(got) != len(expected) or any(map(differs, got, expected)):
        return f"wrong: {got} is not {expected}"
    return "equal"


def _bound(target: Any, given: Any, entry: Any) -> list[Any]:
    from scriptc.driver.target import target_of

    bound = target_of(target).bind(copy.deepcopy(given.args), copy.deepcopy(given.kwargs))
    return [bound[a.name] for a in entry.args]


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    import test_language

    counts: collections.Counter[str] = collections.Counter()
    programs: collections.Counter[str] = collections.Counter()
    for program, name in zip(test_language.LANGUAGE, test_language.IDS, strict=True):
        found = set()
        for given in program.calls:
            result = outcome(program.target, given)
            kind = result.partition(":")[0]
            counts[kind] += 1
            found.add(kind)
            if kind in ("wrong", "internal", "not run"):
                print(name, result.replace("\n", " ")[:400], flush=True)
        order = ("wrong", "internal", "not run", "not compared", "refused", "equal", "eager raises")
        worst = next((k for k in order if k in found), "none")
        programs[worst] += 1
    print("programs, by the worst of their calls:", dict(programs))
    print("calls:", dict(counts))


if __name__ == "__main__":
    main()
