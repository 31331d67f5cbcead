"""Export every language program to ONNX: `python -m tests.onnx_export`. Each is refused, or equals eager in ONNX Runtime."""

from __future__ import annotations

import collections
import copy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import onnxruntime
import torch

from scriptc.frontend.environment.results import Chooser
from scriptc.frontend.environment.specs import ConstantSpec, Spec, is_leaf, leaves, parts, values_of
from scriptc.ir.errors import CompileError
from scriptc.ir.types import NEVER, ListType, OptionalType, TensorType, TupleType, Type
from scriptc.onnx.writing.builder import _NUMPY, dtype_of
from scriptc.onnx.writing.functions import leaf_types
from scriptc.onnx.writing.model import model_of


class Absent:
    """Stand for a leaf of an optional value that is None. Its elements do not matter."""

    def __init__(self, t: Type):
        dims = t.dims or () if isinstance(t, TensorType) else ()
        self.array = numpy.zeros([0] * len(dims), _NUMPY[dtype_of(t)])


def fed(value: Any) -> Any:
    """Return an argument as ONNX Runtime takes it."""
    if isinstance(value, Absent):
        return value.array
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


def flat(t: Type, value: Any) -> list[Any]:
    """Return a leaf of a call as the model has it: a list of tuples is a list for each leaf of the items."""
    if isinstance(t, OptionalType):
        rest = list(map(Absent, leaf_types(t.item))) if value is None else flat(t.item, value)
        return [value is not None, *rest]
    if isinstance(t, TupleType):
        values = t.cls.parts(value) if hasattr(t.cls, "parts") else value
        return [leaf for item, v in zip(t.items, values, strict=True) for leaf in flat(item, v)]
    if not isinstance(t, ListType) or t.elem == NEVER:
        return [value]
    items = [flat(t.elem, v) for v in value]
    return [[item[i] for item in items] for i in range(len(leaf_types(t)))]


def differs(got: Any, wanted: Any) -> bool:
    """Return whether a result of a runtime is another value than eager's: types, sizes and elements."""
    if isinstance(wanted, Absent):
        return False
    if isinstance(wanted, (list, tuple)):
        return len(got) != len(wanted) or any(map(differs, got, wanted))
    expected = fed(wanted)
    got = numpy.asarray(got)
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return True
    return not numpy.allclose(got, expected, rtol=1e-4, atol=1e-5, equal_nan=True)


def results_differ(spec: Spec, types: Iterator[Type], got: Iterator[Any], wanted: Any) -> bool:
    """Return whether the outputs of a model are another result than eager's."""
    if is_leaf(spec):
        return any([differs(next(got), leaf) for leaf in flat(next(types), wanted)])
    if isinstance(spec, ConstantSpec):
        return type(spec.obj) is not type(wanted)
    if not isinstance(getattr(spec, "cls", None), Chooser):
        return any([results_differ(item, types, got, part) for item, part in parts(spec, wanted)])
    next(types)
    kind, differ = int(next(got)), True
    for tag, item in zip(spec.cls.tags, spec.items[1:], strict=True):
        if tag == kind:
            differ = results_differ(item, types, got, wanted)
        else:
            for _ in leaves(item):
                for _ in leaf_types(next(types)):
                    next(got)
    return differ


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
        (func,) = (entry.module.funcs[name] for name in entry.module.entries)
        arguments = [v for a, leaf in zip(func.body.args, arguments, strict=True) for v in flat(a.type, leaf)]
    except Exception:  # an argument is made by a class of its own
        return "not compared"
    try:
        session = session_of(model)
        got = run(session, arguments)
    except Exception as e:
        return f"not run: {str(e)[:200]}"
    outputs = iter(got)
    try:
        wrong = results_differ(entry.result, iter(func.results), outputs, wanted) or next(outputs, None) is not None
    except (AttributeError, TypeError, ValueError):  # a result is made by a class of its own
        return "not compared"
    return f"wrong: {got} is not {wanted}" if wrong else "equal"


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
