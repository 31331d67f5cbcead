"""One compiled callable: its variants, and what happens when a call fits none of them."""

from __future__ import annotations

import itertools
import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scriptc.dispatch.bridge_specs import binder, keyword_only_from, parameters, to_bridge
from scriptc.dispatch.fork_handlers import Lock
from scriptc.driver.gradient_dependencies import Dependencies
from scriptc.driver.options import Options
from scriptc.driver.target import Target, target_of
from scriptc.driver.variant import Variant
from scriptc.frontend.environment import specs
from scriptc.frontend.environment.host_objects import is_of_library
from scriptc.frontend.environment.specs import Contract, Guard
from scriptc.runtime import bridge, tensors
from scriptc.runtime.bridge import GuardSpec, VariantSpec
from scriptc.warm_start.variant_cache import Records, Refused

MOST_TEXTS = 4  # values of one string argument that are compiled for
MANY = 8  # recompilations from which on each is warned about
EXPLAINED_FROM = 3  # recompilations from which on reasons are counted, also where nobody reads the log

if TYPE_CHECKING:
    from scriptc.driver.stages import Stages

_logger = logging.getLogger("scriptc")


class Dispatcher:
    """Compiles a target for each new signature and keeps the results."""

    def __init__(self, obj: Any, options: Options):
        self.obj = obj
        self.target = target_of(obj)
        self.options = options
        self.variants: list[Variant] = []
        self._lock = Lock()
        self._changes: Counter[Any] = Counter()  # how often a number that was baked in had changed
        self._reasons: Counter[str] = Counter()  # what was why it was compiled again
        self.callable = bridge.Callable(self._miss)
        self.call = self.callable.call

    def _miss(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception | None:
        """Serve a call that no variant fits. An error of the user's program is given back: the bridge raises it, so that
        no frame of ours stands in its traceback."""
        begin = time.perf_counter()
        with self._lock.lock:
            self.target = target_of(self.obj)  # a module may have been given another forward
            try:
                arguments = self.target.bind(args, kwargs)
            except TypeError as error:
                from scriptc.driver.tracebacks import shortened

                return shortened(error)
            try:
                self._serve(arguments, args, kwargs, begin)
            except Exception as error:
                from scriptc.driver.tracebacks import is_the_users, shortened

                if not is_the_users(error):
                    raise
                return shortened(error)
        return None

    def _serve(self, arguments: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any], begin: float) -> None:
        """Find a variant for a call in the cache, or compile it."""
        self._announce(arguments)
        records = Records(self.target, arguments, self.options)
        probes: list[bridge.Callable] = []  # their libraries stay loaded meanwhile
        recalled = records.recall(lambda variant: self._fits(variant, args, kwargs, probes))
        if recalled is not None:
            self.install(recalled)
            seconds = time.perf_counter() - begin
            _logger.info("took %s for (%s) from the disk cache in %.3f s", self.target.name, recalled, seconds)
            return
        from scriptc.driver.stages import Stages, progress

        stages = Stages(self.target.name)
        with progress(stages):
            variant = self.add(arguments, stages)
            with stages.stage("record"):
                records.remember(variant)
        _logger.info("compiled %s for (%s) in %s", stages.name, variant, stages)

    def _fits(
        self, variant: Variant, args: tuple[Any, ...], kwargs: dict[str, Any], probes: list[bridge.Callable]
    ) -> bool:
        """Return whether a variant that an earlier process made takes a call; Refused where the bridge cannot use it."""
        probe = bridge.Callable(_refuse)
        probes.append(probe)
        try:
            probe.add_variant(self.spec(variant))
        except Exception as error:  # as of a library that cannot be loaded
            raise Refused from error
        return bool(probe.fits(*args, **kwargs))

    def _announce(self, arguments: dict[str, Any]) -> None:
        """Log for what call there is no variant, and why."""
        made, code = len(self.variants), self.target.func.__code__
        if not made:
            _logger.info("%s, %s:%d: first call", self.target.name, code.co_filename, code.co_firstlineno)
            return
        if made < EXPLAINED_FROM and not _logger.isEnabledFor(logging.INFO):
            return
        from scriptc.dispatch.recompile_reasons import why

        reason = why(self.target, [variant.contract for variant in self.variants], arguments)
        text = reason.text if reason else "something that it reads is other than it was"
        _logger.info("%s needs specialization %d: %s", self.target.name, made + 1, text)
        if reason is None:
            return
        self._reasons[reason.place] += 1
        if made >= MANY:
            place, times = self._reasons.most_common(1)[0]
            often = f"; {place} was the reason {times} times" if times > 1 else ""
            _logger.warning("%s is compiled again and again, now for the %dth time: %s%s; %s",
                            self.target.name, made + 1, text, often, reason.advice)  # fmt: skip

    def add(self, arguments: dict[str, Any], stages: Stages | None = None) -> Variant:
        """Compiles for one call."""
        from scriptc.driver.stages import Stages

        stages = stages or Stages()
        with stages.stage("loading the compiler"):
            from scriptc.backend_c.build import build_library
            from scriptc.driver.pipeline import translate

        made = translate(self.target, arguments, self.options, self._changing(), self._varied(), stages=stages)
        name, source = made.entry.module.name, made.program.source
        built: list[str] = []
        with stages.stage("C compiler"):
            library = build_library(
                source, name, optimize=self.options.optimize, debug=self.options.debug, kernels=made.program.kernels,
                building=built.append,
            )  # fmt: skip
        if not built:
            stages.rename("C compiler", "library from the disk cache")
        variant = Variant(made.entry, made.gradients, made.random, made.source_ir, library, self.options, made)
        with stages.stage("load"):
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
        from scriptc.dispatch.autograd import call_with_grad

        return call_with_grad(target, contract, gradients, run, args, kwargs)

    return call


def _store(store: specs.Store) -> bridge.Store:
    owner = to_bridge(store.owner) if isinstance(store.owner, specs.PlaceSpec) else store.owner
    return bridge.Store(owner, store.key, store.path, store.direct, tuple(map(to_bridge, store.forms)))


def _guard(guard: Guard) -> GuardSpec:
    expected = tensors.DTYPES[guard.expected] if guard.kind == "DEFAULT_DTYPE_IS" else guard.expected
    seldom = isinstance(guard.container, type) or is_of_library(guard.container)
    return GuardSpec(bridge.Guard[guard.kind], guard.container, guard.key, expected, seldom)
