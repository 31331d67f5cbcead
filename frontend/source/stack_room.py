"""Keep reading within the stack of the running thread.

Python limits the number of its frames, not the bytes that they take, so on a small stack the process would end before
Python raises. The free bytes give two limits: one for the Python frames of a reading, and one for the nesting of each
function's text. The second is needed since on a very small stack even Python's default limit is too high.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache

from scriptc.ir.errors import CompileError, Diagnostic
from scriptc.ir.loc import Loc

StackLeft = Callable[[], int]  # returns the free bytes of the running thread's stack

_FRAMES = 20_000  # Python frames, if the stack has room: inlined calls are read recursively
_BYTES_A_FRAME = 400  # Python 3.11 takes up to 220
_BYTES_A_NODE = 768  # for one level of nested source text; Python 3.11 takes up to 350


@contextmanager
def recursion_limit(left: StackLeft | None, loc: Loc) -> Iterator[None]:
    """Let Python recurse in the body as deeply as the stack allows. The limit is never lowered."""
    before = sys.getrecursionlimit()
    room = left() // _BYTES_A_FRAME if left is not None else _FRAMES
    sys.setrecursionlimit(max(before, min(room, _FRAMES)))
    try:
        yield
    except RecursionError as error:
        if room >= _FRAMES:
            raise
        raise _too_deep(loc) from error
    finally:
        sys.setrecursionlimit(before)


def require_room(left: StackLeft | None, node: ast.AST, loc: Loc) -> None:
    """Raise CompileError if the free stack is too small to read a function of such nesting."""
    if left is not None and nesting(node) * _BYTES_A_NODE > left():
        raise _too_deep(loc)


@lru_cache(maxsize=4096)
def nesting(node: ast.AST) -> int:
    """Return the depth of a tree: the greatest number of nested nodes."""
    deepest, pending = 0, [(node, 1)]
    while pending:
        at, depth = pending.pop()
        deepest = max(deepest, depth)
        pending += [(child, depth + 1) for child in ast.iter_child_nodes(at)]
    return deepest


def _too_deep(loc: Loc) -> CompileError:
    hint = "give the thread a larger one with threading.stack_size(), or make the first call in the main thread"
    return CompileError(Diagnostic(loc, "this function nests too deeply for the stack of this thread", hint))
