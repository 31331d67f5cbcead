"""Dispatch the calls of one compiled callable: hold its variants, and find or compile one when a call fits none."""

from __future__ import annotations

import itertools
import logging
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scriptc.dispatch.fork_handlers import Lock
from scriptc.dispatch.parameters import binder, keyword_only_from, parameters
from scriptc.driver.options import Options
from scriptc.driver.target import Target, has_hooks, target_of
from scriptc.driver.variant import Variant
from scriptc.frontend.environment import specs
from scriptc.frontend.environment.host_objects import is_of_library
from scriptc.frontend.environment.specs import Guard
from scriptc.frontend.environment.tensor_changes import replaces_data
from scriptc.runtime import bridge, tensors
from scriptc.runtime.bridge import GuardSpec, VariantSpec
from scriptc.warm_start.variant_cache import RecordRefused, VariantCache

MOST_TEXTS = 4  # values of one string argument that are compiled for
MANY = 8  # variants after which each further one logs a warning
EXPLAINED_FROM = 3  # variants after which reasons are counted, whatever the log level

if TYPE_CHECKING:
    from scriptc.driver.stages import Stages

_logger = logging.getLogger("scriptc")


class Dispatcher:
    """Compiles a target for each new signature, and keeps the variants."""

    def __init__(self, obj: Any, options: Options, with_hooks: Callable[..., Any] | None = None):
        """with_hooks: runs a call of a module that has hooks; None if such calls are refused."""
        self.obj = obj
        self.with_hooks = with_hooks
        self.target = target_of(obj)
        self.options = options
        self.variants: list[Variant] = []
        self._lock = Lock()
        self._changes: Counter[Any] = Counter()  # how often a number that is part of the code had changed
        self._reasons: Counter[str] = Counter()  # how often each subject was the reason for a new variant
        self.callable = bridge.Callable(self._miss)
        self.call = self.callable.call

    def _miss(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception | Callable[..., Any] | None:
        """Provide a variant for a call that fits none.

        Returns an error in the user's program: the bridge raises it, so that its traceback has no frames of scriptc. If
        hooks surround the call, returns the function that the bridge runs in place of a variant.
        """
        if self.with_hooks is not None and has_hooks(self.obj):
            return self.with_hooks
        begin = time.perf_counter()
        with self._lock.lock:
            self.target = target_of(self.obj)  # `forward` of a module may have been replaced
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
        cache = VariantCache(self.target, arguments, self.options)
        probes: list[bridge.Callable] = []  # keep the libraries loaded until the call has a variant
        recalled = cache.find(lambda variant: self._fits(variant, args, kwargs, probes))
        if recalled is not None:
            self.install(recalled)
            seconds = time.perf_counter() - begin
            _logger.info("took %s for (%s) from the disk cache in %.3f s", self.target.name, recalled, seconds)
            return
        from scriptc.driver.stages import Stages, progress

        stages = Stages(self.target.name)
        with progress(stages):
            variant = self.add(arguments, stages, cache.make)
            with stages.stage("record"):
                cache.write(variant)
        _logger.info("compiled %s for (%s) in %s", stages.name, variant, stages)

    def _fits(
        self, variant: Variant, args: tuple[Any, ...], kwargs: dict[str, Any], probes: list[bridge.Callable]
    ) -> bool:
        """Return whether a cached variant fits a call.

        Raises RecordRefused where the bridge cannot use the variant.
        """
        probe = bridge.Callable(_refuse)
        probes.append(probe)
        try:
            probe.add_variant(self.spec(variant))
        except Exception as error:  # such as that of a library that cannot be loaded
            raise RecordRefused from error
        return bool(probe.fits(*args, **kwargs))

    def _announce(self, arguments: dict[str, Any]) -> None:
        """Log the call that fits no variant, and the reason."""
        made, code = len(self.variants), self.target.func.__code__
        if not made:
            _logger.info("%s, %s:%d: first call", self.target.name, code.co_filename, code.co_firstlineno)
            return
        if made < EXPLAINED_FROM and not _logger.isEnabledFor(logging.INFO):
            return
        from scriptc.dispatch.recompile_reasons import why

        reason = why(self.target, [variant.contract for variant in self.variants], arguments)
        text = reason.text if reason else "a value that it depends on has changed"
        _logger.info("%s needs specialization %d: %s", self.target.name, made + 1, text)
        if reason is None:
            return
        self._reasons[reason.subject] += 1
        if made >= MANY:
            subject, times = self._reasons.most_common(1)[0]
            often = f"; {subject} was the reason {times} times" if times > 1 else ""
            _logger.warning("%s is compiled again and again, now %d times: %s%s; %s",
                            self.target.name, made + 1, text, often, reason.advice)  # fmt: skip

    def add(
        self, arguments: dict[str, Any], stages: Stages | None = None, meanwhile: Callable[[Variant], object] = lambda _: None,
    ) -> Variant:  # fmt: skip
        """Compile a variant for the arguments of a call. meanwhile: is called while the C compiler runs."""
        from scriptc.driver.stages import Stages

        stages = stages or Stages()
        with stages.stage("loading the compiler"):
            from scriptc.backend_c.build import build_library
            from scriptc.driver.pipeline import translate

        made = translate(self.target, arguments, self.options, self._changing(), self._varied(), stages=stages)
        name, source = made.entry.module.name, made.program.source
        variant = Variant(made.entry, made.gradients, made.random, made.source_ir, Path(), self.options, made)
        built: list[str] = []

        def wait(library: Path) -> None:
            variant.library = library
            meanwhile(variant)

        with stages.stage("C compiler"):
            variant.library = build_library(
                source, name, optimize=self.options.optimize, debug=self.options.debug, kernels=made.program.kernels,
                extensions=made.program.extensions, building=built.append, meanwhile=wait,
            )  # fmt: skip
        if not built:
            stages.rename("C compiler", "library from the disk cache")
        with stages.stage("load"):
            self.install(variant)
        return variant

    def provide(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Compile a variant for a call, without running it, unless there is one."""
        if not self.callable.fits(*args, **kwargs):
            found = self._miss(args, kwargs)
            if isinstance(found, Exception):
                raise found

    def _changing(self) -> set[Any]:
        """Return the numbers that are part of the code and have changed twice, by container and key.

        They become late-bound.
        """
        for guard in [g for v in self.variants[-1:] for g in v.contract.guards if g.kind == "DICT_EQ"]:
            if type(guard.expected) in (int, float) and guard.container.get(guard.key) != guard.expected:
                self._changes[id(guard.container), guard.key] += 1
        return {number for number, times in self._changes.items() if times >= 2}

    def _varied(self) -> set[int]:
        """Return the places of string arguments that have had `MOST_TEXTS` values.

        They become run-time values.
        """
        seen: dict[int, set[str]] = {}
        for variant in self.variants:
            for place, text in variant.contract.texts.items():
                seen.setdefault(place, set()).add(text)
        return {place for place, texts in seen.items() if len(texts) >= MOST_TEXTS}

    def install(self, variant: Variant) -> None:
        """Add a variant, which runs all later calls that it fits."""
        self.callable.add_variant(self.spec(variant))
        self.variants.append(variant)

    def spec(self, variant: Variant) -> VariantSpec:
        """Return the spec by which the bridge calls a variant."""
        entry, cut = variant.contract, variant.gradients.cut
        live: list[specs.LateBoundTensor | specs.LateBoundValue] = [*entry.values, *entry.tensors]
        return VariantSpec(
            library=variant.library,
            entry=0,
            params=parameters(self.target, entry.args),
            result=entry.result,
            live=tuple(bridge.Live(_owner_of(v.container), v.key, v.spec) for v in live),
            guards=tuple(map(_guard, (*itertools.starmap(Guard, self.target.guards), *entry.guards))),
            stores=tuple(_store(s) for s in entry.write_backs),
            random=variant.random,
            asks=variant.gradients.asks,
            keeps_bases=any(map(replaces_data, entry.write_backs)),
            cut=bytes(i in cut for i in range(len(variant.gradients.results))) if cut else None,
            positional=keyword_only_from(self.target),
            bind=binder(self.target),
            exceptions=entry.exceptions
            | {s.name: s.owner for s in entry.write_backs if isinstance(s.owner, specs.Raised)},
            grad_call=_grad_call(self.target, variant, self.spec) if variant.gradients.any() else None,
        )


def _refuse(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    raise AssertionError("a probe is not called")


def _grad_call(
    target: Target, variant: Variant, spec: Callable[[Variant], VariantSpec]
) -> Callable[..., Any]:
    """Return the function that runs a call which autograd must see.

    Its first call imports what it needs.
    """
    calls: list[Any] = []

    def call(run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        from scriptc.dispatch.autograd import call_with_grad
        from scriptc.dispatch.gradient_calls import GradientCalls

        if not calls:
            calls.append(GradientCalls(variant, spec))
        return call_with_grad(target, variant.contract, variant.gradients, calls[0], run, args, kwargs, call)

    return call


def _owner_of(container: Any) -> Any:
    return container.owner if isinstance(container, specs.Attributes) else container


def _store(store: specs.WriteBack) -> bridge.Store:
    is_argument = isinstance(store.owner, specs.PlaceSpec)
    owner, place = (None, store.owner.number) if is_argument else (store.owner, None)
    return bridge.Store(owner, place, store.key, store.path, store.direct, store.forms)


def _guard(guard: Guard) -> GuardSpec:
    expected = tensors.DTYPES[guard.expected] if guard.kind == "DEFAULT_DTYPE_IS" else guard.expected
    seldom = isinstance(guard.container, type) or is_of_library(guard.container)
    return GuardSpec(bridge.Guard[guard.kind], guard.container, guard.key, expected, seldom)
