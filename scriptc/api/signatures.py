"""`scriptc.signatures`: several example calls of one entry of a package."""

from __future__ import annotations

from typing import Any


class Signatures:
    """Example calls of one function, each a tuple of arguments. See `signatures`.

    named: the calls by the names of their functions in C; "" for names that the build chooses.
    """

    def __init__(self, named: tuple[tuple[str, tuple[Any, ...]], ...]):
        self.named = named


def signatures(*examples: tuple[Any, ...], **named: tuple[Any, ...]) -> Signatures:
    """Return several example calls of one function, for `scriptc.build`, which compiles the function for each.

    The calls may differ in numbers, dtypes and ranks of tensors, None and other arguments, and in the structure of
    containers. In C and C++, each call has a function of its own: NAME_step, NAME_step_2 and so on. In Python they are one
    function, which takes the first signature that its arguments fit.

        scriptc.build({"step": (model.step, scriptc.signatures((x,), (x, h)))}, out="net")

    examples: the arguments of each call, as a tuple.
    named: more calls, by the names of their functions in C.

    Raises TypeError if a call is no tuple, and ValueError if there is no call.
    """
    calls = [*(("", call) for call in examples), *named.items()]
    for name, call in calls:
        if type(call) is not tuple:
            what = f"{name}=" if name else "a call"
            raise TypeError(f"{what} is a {type(call).__name__}: give the arguments of each call as a tuple, such as (x,)")
    if not calls:
        raise ValueError("signatures() has no call: give the arguments of each call as a tuple")
    return Signatures(tuple(calls))
