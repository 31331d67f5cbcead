"""`scriptc onnx`: write, print and check ONNX files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import scriptc
from scriptc.cli import json_output
from scriptc.cli.onnx_target import needs_onnx
from scriptc.cli.target_argument import Located, UserError

OK, FAILED = 0, 1
SHOWN = 8  # elements of a tensor that are printed


def export(options: argparse.Namespace) -> int:
    needs_onnx()
    import torch

    torch.manual_seed(0)
    located = Located(options.target)
    model = located.model(options.init, options.eval)
    args, kwargs = located.arguments(options.args)
    try:
        scriptc.to_onnx(model, *args, path=options.out, opset=options.opset, stateful=options.stateful, **kwargs)
    except (OSError, TypeError, ValueError) as error:
        raise UserError(f"{options.target}: {error}") from error
    print(f"wrote {options.out}")
    return OK


def show(options: argparse.Namespace) -> int:
    """Print a file: its graph, its Python, or the IR of it as read."""
    needs_onnx()
    from scriptc.onnx.reading import read
    from scriptc.onnx.reading.errors import OnnxError
    from scriptc.onnx.reading.files import load

    if options.form == "ir":
        print(_ir(options))
        return OK
    try:
        text = _graph(load(options.file)[0]) if options.form == "graph" else read(options.file).source
    except OnnxError as error:
        raise UserError(f"{options.file}: {error}") from error
    print(text.rstrip("\n"))
    return OK


def _graph(model: Any) -> str:
    """Return the text of a model, with the number of elements in place of those of large tensors."""
    from onnx import TensorProto, printer

    def shorten(tensor: Any) -> None:
        count = 1
        for size in tensor.dims:
            count *= size
        if count <= SHOWN and tensor.data_location != TensorProto.EXTERNAL:
            return
        short = TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
        short.data_location = TensorProto.EXTERNAL
        entry = short.external_data.add()
        entry.key, entry.value = "elements", str(count)
        tensor.CopyFrom(short)

    def walk(graph: Any) -> None:
        for tensor in graph.initializer:
            shorten(tensor)
        visit(graph.node)

    def visit(nodes: Any) -> None:
        for node in nodes:
            for attribute in node.attribute:
                for tensor in ([attribute.t] if attribute.HasField("t") else [], *[attribute.tensors]):
                    for each in tensor:
                        shorten(each)
                for graph in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                    walk(graph)

    walk(model.graph)
    for function in model.functions:
        visit(function.node)
    return str(printer.to_text(model))


def _ir(options: argparse.Namespace) -> str:
    import torch

    from scriptc.cli.onnx_target import OnnxTarget
    from scriptc.driver.target import target_of
    from scriptc.frontend.entry import read
    from scriptc.ir.printer import print_module

    torch.manual_seed(0)
    found = OnnxTarget(options.file, options.dims)
    args, kwargs = found.arguments(options.args)
    target = target_of(found.found)
    entry = read(target.func, target.receiver, target.bind(args, kwargs), runs_hooks=target.runs_hooks)
    return print_module(entry.module)


def check(options: argparse.Namespace) -> int:
    """Check a file with onnx.checker and full shape inference, and list the nodes that scriptc cannot read."""
    needs_onnx()
    from onnx import checker, shape_inference

    from scriptc.onnx.reading import read
    from scriptc.onnx.reading.errors import OnnxError
    from scriptc.onnx.reading.files import load

    if not Path(options.file).is_file():
        raise UserError(f"there is no file {options.file}")
    problems: list[str] = []
    nodes = 0
    try:
        nodes = len(load(options.file)[0].graph.node)
        try:
            checker.check_model(options.file, full_check=True)
        except (checker.ValidationError, shape_inference.InferenceError, RuntimeError, ValueError) as error:
            problems.append(f"onnx.checker: {' '.join(str(error).split())}")
        read(options.file, problems=problems)
    except OnnxError as error:
        problems += str(error).splitlines()
    if options.json:
        print(json_output.dumped({"ok": not problems, "nodes": nodes, "problems": problems}))
    else:
        print("\n".join(problems) if problems else f"{options.file}: scriptc reads all {nodes} nodes")
    return FAILED if problems else OK
