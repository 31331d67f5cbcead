"""The position of the reader: the functions and statements around the current node, and the node's source location."""

from __future__ import annotations

import ast
from typing import Any

from scriptc.frontend.source.stack_room import StackLeft
from scriptc.frontend.values.abstract import AbstractValue
from scriptc.frontend.values.frame import Frame, Watch
from scriptc.ir.loc import Loc


class Position:
    """Keep the stack of frames, and the statements around the current node."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.node: ast.AST = ast.Pass()  # the node being read, where ops and errors are located
        self.watches: list[Watch] = []  # the `try` bodies around the current node
        self.handling: list[AbstractValue] = []  # the exceptions whose handlers are being read
        self.generators: list[int] = []  # by generator expression around the node: the `try` around it
        self.walked: list[AbstractValue] = []  # sequences of known length that loops around the node walk
        self.any_order = 0  # the callers around the current node whose results do not depend on the order of a set
        self.once = 0  # memoized functions around the current node that are called for their messages
        self.batches = 0  # the calls of torch.vmap around the current node
        self.has_batches = False  # the reading came through a call of torch.vmap
        self.has_unsigned = False  # the reading came through a call that makes a tensor of uint64
        self.indexes_by_tensors = 0  # the `with TransformGetItemToIndex()` around the current node
        self.stack_left: StackLeft | None = None
        self.fault: tuple[Exception, Loc] | None = None  # the last uncaught error, and its statement
        self._located: tuple[ast.AST, Frame, Loc] | None = None  # the last answer of `loc`: a node has several ops

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    @property
    def is_reentered(self) -> bool:
        """Return whether another frame is being read, whose generator expression or `yield` leads to the current frame.

        The paths of that frame restore its own variables only, so no fact about variables of this frame may be noted.
        """
        return self.frame.generators > 0 or self.frame in self.frames[:-1]

    @property
    def loc(self) -> Loc:
        node, frame = self.node, self.frames[-1]
        if self._located is None or self._located[0] is not node or self._located[1] is not frame:
            self._located = node, frame, frame.source.loc(node, frame.inlined_at)
        return self._located[2]

    def loc_of(self, node: ast.AST | Loc | None) -> Loc:
        """Return the location of a node of the current function; None stands for the current node."""
        if isinstance(node, Loc):
            return node
        return self.loc if node is None else self.frame.source.loc(node, self.frame.inlined_at)

    def note_fault(self, error: Exception) -> None:
        """Keep the current location as that of `error`, unless an inner statement has done so."""
        if self.fault is None or self.fault[0] is not error:
            self.fault = error, self.loc

    def loc_of_fault(self, error: Exception) -> Loc | None:
        """Return the location of the innermost statement that `error` left; None if it left none."""
        return self.fault[1] if self.fault is not None and self.fault[0] is error else None

    @property
    def leaves_generator(self) -> bool:
        """Return whether an exception leaves a generator expression before a `try` can catch it."""
        return bool(self.generators) and self.generators[-1] == len(self.watches)

    def leavings(self) -> list[list[Any]]:
        """Return the lists in which surrounding statements note jumps and changes."""
        finals = [final for frame in self.frames for final in frame.finals]
        exits = [noted for final in finals for _, noted in final.ways.values()]
        return [*(f.returns for f in self.frames), *exits, *(w.sites for w in self.watches)]
