"""`scriptc.latency`: how long a compiled call takes, here or on another machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

from scriptc.api.compile import compile
from scriptc.dispatch.dispatcher import Dispatcher
from scriptc.inspect.latency import Latency, Machine, estimated_latency, measured_latencies


@overload
def latency(
    model: Mapping[str, Any], *args: Any, machine: Machine | None = None, samples: int = 51, threads: int = 1, **kwargs: Any
) -> dict[str, Latency]: ...
@overload
def latency(
    model: Any, *args: Any, machine: Machine | None = None, samples: int = 51, threads: int = 1, **kwargs: Any
) -> Latency: ...
def latency(
    model: Any, *args: Any, machine: Machine | None = None, samples: int = 51, threads: int = 1, **kwargs: Any
) -> Latency | dict[str, Latency]:
    """Return the time of compiled calls as a `Latency`: the median and the quartiles.

    The calls run warm, on copies of the arguments, without gradients, and in one thread on one core unless `threads` says
    otherwise. State that they write is put back.

    model: a function, method or nn.Module, compiled or not; or several by name, whose calls take turns, so that a slow moment
        of the machine affects all alike. The result then has their names.
    args: the positional arguments of the call; further keywords are its keyword arguments.
    machine: estimate the time on this machine, in place of measuring it here. Operations, bytes and memory are counted here.
    samples: the number of samples, of at least a millisecond each.
    threads: the number of threads.

    Raises what the call raises, and ValueError for fewer than one sample or thread.
    """
    if samples < 1 or threads < 1:
        raise ValueError("latency takes at least one sample and one thread")
    several = isinstance(model, Mapping)
    dispatchers = {name: _dispatcher(each) for name, each in (model.items() if several else [("", model)])}
    if machine is not None:
        found = {n: estimated_latency(d, args, kwargs, machine, threads=threads) for n, d in dispatchers.items()}
        return found if several else found[""]
    if not several:
        dispatchers = {dispatchers[""].target.name: dispatchers[""]}
    made = measured_latencies(dispatchers, args, kwargs, samples=samples, threads=threads)
    return made if several else next(iter(made.values()))


def _dispatcher(model: Any) -> Dispatcher:
    found = getattr(model, "_dispatcher", None)
    if not isinstance(found, Dispatcher):
        found = compile(model)._dispatcher
    assert isinstance(found, Dispatcher)
    return found
