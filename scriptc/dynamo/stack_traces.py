"""Tell the front end from which lines of the user's program the nodes of a graph come."""

from __future__ import annotations

import linecache
import re
import weakref
from collections.abc import Iterator

import torch

from scriptc.frontend.source.origins import forget_origins, give_origins
from scriptc.ir.loc import Loc

_FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+), in (?P<name>.*)$', re.MULTILINE)
_RESUMED = re.compile(r"torch_dynamo_resume_in_(.*)_at_\d+")


def locate_nodes(graph_module: torch.fx.GraphModule) -> None:
    """Let errors of a graph name the lines of the user's program that dynamo traced."""
    for module in graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            file = type(module).forward.__code__.co_filename
            give_origins(file, dict(_origins_of(module)))
            weakref.finalize(module, forget_origins, file)


def _origins_of(module: torch.fx.GraphModule) -> Iterator[tuple[int, Loc]]:
    """Yield each line of the generated code with the user's location of its node.

    A node that has no stack trace, such as a change of the grad mode, has the location of the node before it.
    """
    nodes = list(module.graph.nodes)
    first = type(module).forward.__code__.co_firstlineno
    found: Loc | None = None
    for line, number in sorted((module._lineno_map or {}).items()):
        node = nodes[number] if number is not None and number < len(nodes) else None
        if node is not None and node.op != "output":
            found = _innermost(node.stack_trace or "") or found
        if found is not None:
            yield first + line, found


def _innermost(trace: str) -> Loc | None:
    """Return the innermost location of a stack trace, with the calls that led there; None if the trace is empty."""
    made: Loc | None = None
    for frame in _FRAME.finditer(trace):
        file, line = frame["file"], int(frame["line"])
        text = linecache.getline(file, line).rstrip()
        resumed = _RESUMED.fullmatch(frame["name"])
        name = resumed[1] if resumed else frame["name"]
        made = Loc(file, line, len(text) - len(text.lstrip()), line, len(text), name, made)
    return made
