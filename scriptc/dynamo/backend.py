"""The function that torch.compile calls with each graph that dynamo has traced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MethodType
from typing import Any

import torch

from scriptc.dispatch.dispatcher import Dispatcher
from scriptc.driver.options import Options
from scriptc.dynamo.stack_traces import locate_nodes


def compile_graph(
    graph_module: torch.fx.GraphModule, example_inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None
) -> Callable[..., Any]:
    """Return a function that computes a graph, and that compiles it at its first call.

    options: those of `scriptc.compile`, without `freeze`. By default, `dynamic` says whether the graph has symbols for sizes.
    Raises TypeError and ValueError for other options.
    Errors of the graph are raised by that call, so that dynamo neither wraps them nor runs the graph in Python instead.
    """
    # Without symbols, dynamo guards all sizes, so that they may as well be known here.
    has_symbols = any(isinstance(given, torch.SymInt) for given in example_inputs)
    made = Options.of({"dynamic": has_symbols, **(options or {})})
    if made.freeze:
        raise ValueError("freeze=True does not work with torch.compile, which passes weights as arguments; use scriptc.compile")
    # dynamo makes the code of a graph when it is first needed. The front end reads that code.
    getattr(type(graph_module), "force_recompile", torch.fx.GraphModule.recompile)(graph_module)
    locate_nodes(graph_module)
    # Not the module: a call of a GraphModule takes any arguments, and its `forward` takes those of the graph.
    return Dispatcher(MethodType(type(graph_module).forward, graph_module), made).call
