"""One compiled callable: its variants, and what happens when a call fits none of them."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scriptc import remembered
from scriptc.frontend import specs
from scriptc.frontend.specs import Contract, Guard
from scriptc.options import Options
from scriptc.runtime import bridge, tensors
from scriptc.runtime.bridge import GuardSpec, VariantSpec
from scriptc.specs import binder, keyword_only_from, parameters, to_bridge
from scriptc.target import Target, target_of
from scriptc.variant import Dependencies, Variant

MOST_TEXTS = 4  # values of one string argument that are compiled for

if TYPE_CHECKING:
    from scriptc.memory import Memory


class Dispatcher:
    """Compiles a target for each new signature and keeps the results."""

    def __init__(self, obj: Any, options: Options):
        self.obj = obj
        self.target = target_of(obj)
        self.options = options
        self.variants: list[Variant] = []
        self.memory: Memory | None = None  # what `compiled.memory` found last
        self._lock = threading.RLock()
        self._changes: Counter[Any] = Counter()  # how often a number that was baked in had changed
        self.callable = bridge.Callable(self._miss)
        self.call = self.callable.call

    def _miss(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A call that no variant fits: find one that does in the cache, or compile it."""
        with self._lock:
            self.target = target_of(self.obj)  # a module may have been given another forward
            arguments = self.target.bind(args, kwargs)
            records = remembered.Records(self.target, arguments, self.options)
            for variant in records.recall():
                probe = bridge.Callable(_refuse)
                probe.add_variant(self.spec(variant))
                if probe.fits(*args, **kwargs):
                    return self.install(variant)
            records.remember(self.add(arguments))

    def add(self, arguments: dict[str, Any]) -> Variant:
        """Compiles for one call."""
        from scriptc.backend_c.build import build_library
        from scriptc.pipeline import translate

        made = translate(self.target, arguments, self.options, self._changing(), self._varied())
        name, source = made.entry.module.name, made.program.source
        library = build_library(source, name, optimize=self.options.optimize, debug=self.options.debug)
        variant = Variant(made.entry, made.gradients, made.random, made.source_ir, library, self.options, made)
        self.install(variant)
        return variant

    def _changing(self) -> set[Any]:
        """Numbers outside that were baked in and have changed twice since: from now on they are read at each call."""
        for guard in [g for v in self.variants[-1:] for g in v.contract.guards if g.kind == "DICT_EQ"]:
            if type(guard.expected) in (int, float) and guard.container.get(guard.key) != guard.expected:
                self._changes[id(guard.container), guard.key] += 1
        return {place for place, times in self._changes.items() if times >= 2}

    def _varied(self) -> set[int]:
        """Places of string arguments that were baked in with four values: from now on they are run-time values."""
        seen: dict[int, set[str]] = {}
        for variant in self.variants:
            for place, text in variant.contract.texts.items():
                seen.setdefault(place, set()).add(text)
        return {place for place, texts in seen.items() if len(texts) >= MOST_TEXTS}

    def install(self, variant: Variant) -> None:
        """From now on, calls that the variant fits run it."""
        self.callable.add_variant(self.spec(variant))
        self.variants.append(variant)

    def spec(self, variant: Variant) -> VariantSpec:
        """How the bridge calls a variant."""
        entry = variant.contract
        live: list[specs.Live | specs.LiveValue] = [*entry.values, *entry.live]
        return VariantSpec(
            library=variant.library,
            entry=0,
            params=parameters(self.target, entry.args),
            result=to_bridge(entry.result),
            live=tuple(bridge.Live(v.container, v.key, to_bridge(v.spec)) for v in live),
            guards=tuple(map(_guard, (*itertools.starmap(Guard, self.target.guards), *entry.guards))),
            stores=tuple(_store(s) for s in entry.stores),
            random=variant.random,
            positional=keyword_only_from(self.target),
            bind=binder(self.target),
            exceptions=entry.exceptions | {s.name: s.owner for s in entry.stores if isinstance(s.owner, specs.Raised)},
            grad_call=_grad_call(self.target, entry, variant.gradients) if variant.gradients.any() else None,
        )


def _refuse(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    raise AssertionError("nobody calls what only tells whether a variant fits")


def _grad_call(target: Target, contract: Contract, gradients: Dependencies) -> Callable[..., Any]:
    """Runs a call that autograd must see; what that needs is loaded by the first one."""

    def call(run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        from scriptc.autograd import call_with_grad

        return call_with_grad(target, contract, gradients, run, args, kwargs)

    return call


def _store(store: specs.Store) -> bridge.Store:
    owner = to_bridge(store.owner) if isinstance(store.owner, specs.PlaceSpec) else store.owner
    return bridge.Store(owner, store.key, store.path, store.direct, tuple(map(to_bridge, store.forms)))


def _guard(guard: Guard) -> GuardSpec:
    expected = tensors.DTYPES[guard.expected] if guard.kind == "DEFAULT_DTYPE_IS" else guard.expected
    return GuardSpec(bridge.Guard[guard.kind], guard.container, guard.key, expected)
