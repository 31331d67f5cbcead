"""A callable as an ONNX model: the reading, the passes, the signature, the weights."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import onnx
import torch
from onnx import ModelProto, helper, numpy_helper

from scriptc.driver.target import target_of
from scriptc.frontend.entry import Entry, read
from scriptc.frontend.environment.results import ArrayMaker, DequeMaker
from scriptc.frontend.environment.specs import PlaceSpec, Spec
from scriptc.ir.core import Func, Value
from scriptc.ir.errors import CompileError, Diagnostic
from scriptc.ir.passes.manager import run_pipeline
from scriptc.ir.types import BOOL, FLOAT, INT, NEVER, ListType, TensorType, Type
from scriptc.onnx.writing.builder import ELEMENT_TYPES, Unsupported, type_proto
from scriptc.onnx.writing.functions import FunctionWriter, aliased_changes, leaf_types
from scriptc.onnx.writing.leaf_names import input_names, numbered, output_names
from scriptc.onnx.writing.state import Outside, SetAttribute, outside_of
from scriptc.onnx.writing.tidying import tidy
from scriptc.version import __version__

DEFAULT_OPSET = 21
OLDEST_OPSET = 17
MOST_BYTES = 2**31 - 2**24  # of weights in one file: protobuf has 2 GiB for a whole model
_DTYPES: dict[Type, torch.dtype] = {INT: torch.int64, FLOAT: torch.float64, BOOL: torch.bool}
_PASSES = (
    "drop_gradient_marks,clean,raises_to_exits{unbounded=1},clean,split_lists,read_lists,clean,forward_writes,clean,"
    "single_exit,dce"
)
_ALIASED = (
    "a list changes that the caller holds, or that has another name, which ONNX's sequences cannot say",
    "copy the list by a loop that appends its items to a new list, and use one variable for it",
)


def model_of(
    obj: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], opset: int | None, *, stateful: bool = False
) -> tuple[ModelProto, Entry]:
    """Return the model of a call, and what the front end read. Raise CompileError with every place that has no ONNX form.

    stateful: attributes that the call sets are inputs and outputs.
    """
    newest = onnx.defs.onnx_opset_version()
    opset = DEFAULT_OPSET if opset is None else opset
    if not OLDEST_OPSET <= opset <= newest:
        raise ValueError(f"opset {opset} is not supported: choose one from {OLDEST_OPSET} to {newest}")
    target = target_of(obj)
    arguments = target.bind(args, dict(kwargs))
    entry = read(target.func, target.receiver, arguments, runs_hooks=target.runs_hooks)
    run_pipeline(entry.module, _PASSES)
    (func,) = (entry.module.funcs[name] for name in entry.module.entries)
    writer = FunctionWriter(func, opset)
    arguments_of_func = iter(func.body.args)
    inputs = _inputs(writer, entry, func, arguments_of_func, input_names(target.func, target.receiver, entry.args))
    outside = outside_of(entry, arguments_of_func)
    defaults = _state(writer, entry, func, outside, inputs) if stateful else []
    if not stateful:
        _refuse_outside(writer, func, outside)
    for op in aliased_changes(func):
        if not op.name.startswith(("dict", "set")):
            writer.diagnostics.append(Diagnostic(op.loc, *_ALIASED))
    used = set(writer.graph.used)
    names = [writer.graph.fresh(f"{n}_out" if n in used else n) for n in output_names(target.func, entry.result)]
    last = writer.block(func.body.ops)
    outputs: list[onnx.ValueInfoProto] = []
    if not writer.diagnostics and last is not None and last.name == "return":
        try:
            outputs = _outputs(writer, func, names, writer.passed(last.operands, func.results))
            outputs += _state_outputs(writer)
        except Unsupported as e:
            writer.diagnostics.append(Diagnostic(func.loc, e.message, e.hint))
    if last is not None and last.name != "return":
        writer.diagnostics.append(Diagnostic(func.loc, "a call that always raises has no ONNX form", "leave the call out"))
    for message, hint in _without_form(entry.result):
        writer.diagnostics.append(Diagnostic(func.loc, message, hint))
    if not writer.diagnostics and not outputs:
        message, hint = "a model without results has no ONNX form", "return what the call computes"
        writer.diagnostics.append(Diagnostic(func.loc, message, hint))
    if writer.diagnostics or last is None:
        raise CompileError(sorted(writer.diagnostics, key=lambda d: (d.loc.file, d.loc.line, d.loc.col)))
    size = 0
    for live in entry.tensors:
        if name := writer.params.get(live.name):
            tensor = live.container[live.key]
            size += tensor.numel() * tensor.element_size()
            writer.graph.initializers[name] = _weight(tensor, name)
    graph = writer.graph.graph(target.name, inputs, outputs)
    tidy(graph)
    graph.initializer.extend(defaults)  # no constants: a call may give other values
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], producer_name="scriptc")
    model.producer_version = __version__
    model.ir_version = helper.find_min_ir_version_for(list(model.opset_import))
    graph.doc_string = f"{target.name}, written from {func.loc.file.replace(chr(92), '/').rpartition('/')[2]}:{func.loc.line}"
    if size < MOST_BYTES:  # a larger model is checked where it is written
        onnx.checker.check_model(model, full_check=True)
    for message, op in writer.left_out.items():
        warnings.warn(f"{op.loc.file}:{op.loc.line}: the ONNX model does not give this warning: {message}", stacklevel=3)
    return model, entry


def _without_form(spec: Spec) -> Iterator[tuple[str, str]]:
    """Yield a message and a hint for each part of a result whose leaves only its maker understands."""
    cls = getattr(spec, "cls", None)
    if isinstance(cls, DequeMaker) or (isinstance(cls, ArrayMaker) and cls.flips):
        yield f"a result that is a {cls.__name__} has no ONNX form", "return tensors, numbers or lists"
    elif isinstance(spec, PlaceSpec):
        yield "a list or an object that is an argument has no ONNX form as a result", "leave it out of the result"
    for item in getattr(spec, "items", ()):
        yield from _without_form(item)


def _inputs(
    writer: FunctionWriter, entry: Entry, func: Func, args: Iterator[Value], names: list[list[str]]
) -> list[onnx.ValueInfoProto]:
    made = []
    for arg, of_arg in zip(entry.args, names, strict=True):
        for wanted in of_arg:
            made += _input(writer, func, next(args), wanted, f"the argument `{arg.name}`")
    return made


def _input(writer: FunctionWriter, func: Func, value: Value, wanted: str, what: str) -> list[onnx.ValueInfoProto]:
    """Return the inputs of the model for an argument of the function: several for a list of tuples, none if it has no form."""
    try:
        types = leaf_types(value.type)
        names = [writer.graph.fresh(n) for n in numbered(wanted, len(types))]
        made = []
        for name, t in zip(names, types, strict=True):
            dims: list[int | str | None] = []
            if isinstance(t, TensorType) and t.dims is not None:
                dims = [f"{name}_dim{d}" if size is None else size for d, size in enumerate(t.dims)]
            made.append(helper.make_value_info(name, type_proto(t, tuple(dims))))
        writer.env[value] = tuple(names)
        return made
    except Unsupported:
        message = f"{what} of type {value.type} has no ONNX form"
        writer.diagnostics.append(Diagnostic(func.loc, message, "pass tensors, numbers, lists of these, or of tuples of these"))
        writer.refused.add(value)
        return []


def _refuse_outside(writer: FunctionWriter, func: Func, outside: list[Outside]) -> None:
    for _, value, _, _ in outside:  # stand-ins, so that the places behind are found, too
        try:
            writer.env[value] = tuple(map(writer.placeholder, leaf_types(value.type)))
        except Unsupported:
            writer.refused.add(value)
    if outside:
        message = "a value outside that changes between calls has no ONNX form"
        writer.diagnostics.append(Diagnostic(func.loc, message, "take it as an argument and return it, or pass stateful=True"))


def _state(
    writer: FunctionWriter, entry: Entry, func: Func, outside: list[Outside], inputs: list[onnx.ValueInfoProto]
) -> list[onnx.TensorProto]:
    """Make inputs of values outside, and note the attributes that the function sets. Return the defaults of the inputs."""
    defaults = []
    for name, value, at_export, target in outside:
        made = _input(writer, func, value, name, f"the attribute `{name}`")
        if len(made) != 1 or isinstance(value.type, ListType):
            if made:
                message = f"the attribute `{name}` of type {value.type} has no ONNX form"
                writer.diagnostics.append(Diagnostic(func.loc, message, "take it as an argument and return it"))
            continue
        inputs += made
        defaults.append(_weight(torch.as_tensor(at_export, dtype=_DTYPES.get(value.type)), made[0].name))
        if target is not None:
            present = Value(value.type, func.body, name)
            writer.env[present] = writer.env[value]
            writer.state[target] = SetAttribute(name, present, entry.write_backs[target].forms)
    return defaults


def _state_outputs(writer: FunctionWriter) -> list[onnx.ValueInfoProto]:
    made = []
    for name, value, _ in writer.state.values():
        made.append(_output(writer, writer.env[value][0], value.type, writer.graph.fresh(f"{name}_out"), sizes_are_known=False))
    return made


def _outputs(writer: FunctionWriter, func: Func, wanted: list[str], names: list[str]) -> list[onnx.ValueInfoProto]:
    types = [leaf for t in func.results for leaf in leaf_types(t)]
    if len(wanted) == len(func.results):
        wanted = [name for n, t in zip(wanted, func.results, strict=True) for name in numbered(n, len(leaf_types(t)))]
    made = []
    for i, (n, t) in enumerate(zip(names, types, strict=True)):
        name = wanted[i] if len(wanted) == len(names) else writer.graph.fresh(f"output_{i}")
        made.append(_output(writer, n, t, name, sizes_are_known=True))
    return made


def _output(writer: FunctionWriter, value: str, t: Type, name: str, *, sizes_are_known: bool) -> onnx.ValueInfoProto:
    """Return an output of the model, with a node that gives it. The model stops there if it has raised.

    sizes_are_known: numbers among the dims of the type are sizes of the value.
    """
    (failed,) = writer.env[writer.failed]
    if writer.graph.known(failed) is None:
        value = _unless(writer, failed, value, t)
    writer.graph.identity(value, name)
    dims = None
    if isinstance(t, TensorType) and t.dims is not None:
        known = [sizes_are_known and isinstance(size, int) for size in t.dims]
        dims = tuple(size if k else f"{name}_dim{d}" for d, (size, k) in enumerate(zip(t.dims, known, strict=True)))
    return helper.make_value_info(name, type_proto(t, dims))


def _unless(writer: FunctionWriter, failed: str, name: str, t: Type) -> str:
    """Return a result, with a node that stops the model where `failed` is 1."""
    g = writer.graph
    if not isinstance(t, ListType):
        return g.node("Gather", g.node("Unsqueeze", name, g.ints(0)), failed, axis=0)
    place = g.node("SequenceLength", name)
    longer = g.node("SequenceInsert", name, writer.placeholder(TensorType("f32", ()) if t.elem == NEVER else t.elem))
    return g.node("SequenceErase", longer, g.node("Add", place, failed))


def _weight(tensor: Any, name: str) -> onnx.TensorProto:
    tensor = tensor.detach().cpu().contiguous()
    if str(tensor.dtype) == "torch.bfloat16":
        raw = tensor.view(torch.int16).numpy().tobytes()
        return helper.make_tensor(name, ELEMENT_TYPES["bf16"], list(tensor.shape), raw, raw=True)
    return numpy_helper.from_array(tensor.numpy(), name)
