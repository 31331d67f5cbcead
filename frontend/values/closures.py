"""Functions made in compiled code, and the variables that they capture."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace

from scriptc.frontend.values.abstract import AbstractValue, Closure
from scriptc.frontend.values.frame import Frame


def function_parts(av: Closure) -> tuple[Hashable, list[AbstractValue], Callable[[list[AbstractValue]], AbstractValue]]:
    """Return the key, the parts and the maker of the structure of a function made here.

    The parts are its defaults, and the captured variables of comprehensions and of functions that have returned.
    Variables of running functions join separately.
    """
    scopes = [*av.scopes, *(frame.locals for frame in _left_frames(av.frame))]
    own = {*_left_frames(av.frame)}
    held = [
        (i, name) for i, scope in enumerate(scopes) for name, v in scope.items()
        if not (isinstance(v, Closure) and v.frame in own)
    ]  # fmt: skip
    kw_names = [i for i, default in enumerate(av.kw_defaults) if default is not None]

    def make(parts: list[AbstractValue]) -> AbstractValue:
        rest = iter(parts)
        defaults = [next(rest) for _ in av.defaults]
        kw_defaults = [None if default is None else next(rest) for default in av.kw_defaults]
        made: list[dict[str, AbstractValue]] = [dict(scope) for scope in scopes]
        for i, name in held:
            made[i][name] = next(rest)
        n = len(av.scopes)
        return Closure(av.node, _rebuilt(av.frame, made[n:]), defaults, kw_defaults, made[:n])

    parts = [*av.defaults, *(d for d in av.kw_defaults if d is not None), *(scopes[i][name] for i, name in held)]
    around = [(f.source.node, *f.cells.values()) if f.is_left else f for f in _around(av.frame)]
    return ("function", av.node, *around, *kw_names, *held), parts, make


def _around(frame: Frame) -> Iterator[Frame]:
    """Yield a frame and, if its function has returned, the frames around it up to the first running one."""
    for found in frame.chain():
        yield found
        if not found.is_left:
            break


def _left_frames(frame: Frame) -> list[Frame]:
    return [found for found in _around(frame) if found.is_left]


def _rebuilt(frame: Frame, scopes: Sequence[dict[str, AbstractValue]]) -> Frame:
    """Return copies of the frames of functions that have returned, with other variables."""
    if not scopes:
        return frame
    assert frame.outer is not None or len(scopes) == 1
    outer = _rebuilt(frame.outer, scopes[1:]) if frame.outer is not None else None
    made = replace(frame, locals=scopes[0], outer=outer)
    made.locals = reframed(scopes[0], frame, made)
    return made


def reframed(variables: dict[str, AbstractValue], old: Frame, new: Frame) -> dict[str, AbstractValue]:
    """Return variables whose functions capture one frame in place of another."""
    return {k: replace(v, frame=new) if isinstance(v, Closure) and v.frame is old else v for k, v in variables.items()}
