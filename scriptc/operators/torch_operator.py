"""A compiled function as an operator of PyTorch: one node in the graphs of `torch.compile`, `torch.export` and `torch.jit`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch

from scriptc.dispatch.dispatcher import Dispatcher
from scriptc.operators.gradients import refuse_gradients, register_gradients
from scriptc.operators.implementation import Implementation
from scriptc.operators.schema import rebuilder
from scriptc.operators.shapes import shapes
from scriptc.operators.symbolic_values import CannotTell

_MISSING = object()  # the default of a parameter without one
_LIBRARIES: dict[str, torch.library.Library] = {}  # by operator; an operator is defined as long as its library lives


class TorchOperator:
    """An operator of PyTorch that runs a compiled function. `Compiled.as_torch_op` makes it.

    Calls take the arguments of the function, and return its result. Under `torch.compile`, `torch.export` and other
    traces a call is one node, `op`. Elsewhere it is a call of the compiled function.

    op: the `OpOverload`, which takes the weights first if the function reads any, and returns the leaves of the result.
    schema: the schema as text.
    """

    def __init__(self, name: str, compiled: Callable[..., Any], dispatcher: Dispatcher):
        namespace, _, label = name.partition("::")
        if not re.fullmatch(r"[A-Za-z_]\w*::[A-Za-z_]\w*", name, flags=re.ASCII):
            raise ValueError(f"an operator is named like 'mylib::rnn', not {name!r}")
        if hasattr(getattr(torch.ops, namespace), label):
            raise ValueError(f"the operator {name} exists: choose another name, or call its unregister()")
        self.name = name
        self._compiled = compiled
        parameters = dispatcher.target.signature.parameters.values()
        self._parameters = {p.name: _MISSING if p.default is p.empty else p.default for p in parameters}
        self._implementation = Implementation(dispatcher)
        self.schema = self._implementation.schema.text(name)
        self._single = len(self._implementation.schema.results) == 1
        self._rebuild = rebuilder(self._implementation.schema.tree)
        self._weights = self._implementation.weights if self._implementation.schema.weights else None
        self._register(namespace, label)
        self.op = getattr(getattr(torch.ops, namespace), label).default

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the compiled function; in a trace, call the operator."""
        if not torch.compiler.is_compiling() and not torch._C._len_torch_dispatch_stack():
            return self._compiled(*args, **kwargs)
        given = {**dict(zip(self._parameters, args, strict=False)), **kwargs}
        flat: list[Any] = []
        if self._weights is not None:
            flat.append([container[key] for container, key in self._weights])
        for name, default in self._parameters.items():
            if name not in given and default is _MISSING:
                raise TypeError(f"{self.name}() missing a required argument: {name!r}")
            value = given.pop(name, default)
            flat.append(list(value) if type(value) is tuple else value)
        if given or len(args) > len(self._parameters):
            raise TypeError(f"{self.name}() got arguments that it does not take")
        made = self.op(*flat)
        return self._rebuild([made] if self._single else made)

    def __repr__(self) -> str:
        return f"<operator {self.schema}>"

    def unregister(self) -> None:
        """Remove the operator from PyTorch. Graphs that hold it cannot run any more."""
        library = _LIBRARIES.pop(self.name, None)
        if library is not None:
            library._destroy()

    def _register(self, namespace: str, label: str) -> None:
        made = self._implementation
        library = torch.library.Library(namespace, "FRAGMENT")
        tags = [torch.Tag.pt2_compliant_tag]
        if any(lifted.variant.random for lifted in made.lifted):
            tags.append(torch.Tag.nondeterministic_seeded)
        library.define(made.schema.text(label), tags=tags)
        library.impl(label, self._run, "CompositeExplicitAutograd")
        torch.library.register_fake(self.name, self._fake, lib=library)
        if made.schema.writes:
            refuse_gradients(library, label, f"{self.name} writes to its arguments, so it has no gradient")
        else:
            register_gradients(library, label, made)
        _LIBRARIES[self.name] = library

    def _run(self, *flat: Any) -> Any:
        return self._results(self._implementation.run(*flat))

    def _fake(self, *flat: Any) -> Any:
        new_size = lambda: torch.library.get_ctx().new_dynamic_size()  # noqa: E731
        try:
            return self._results(shapes(self._implementation, self.name, flat, new_size))
        except CannotTell as error:
            raise RuntimeError(f"the shapes of the results of {self.name} cannot be told without running it: {error}") from None

    def _results(self, leaves: list[Any]) -> Any:
        return leaves[0] if self._single else tuple(leaves) if leaves else None
