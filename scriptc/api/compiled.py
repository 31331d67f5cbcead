"""The base class of compiled functions and methods, and the methods that look inside of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, overload

from scriptc.dispatch.dispatcher import Dispatcher
from scriptc.driver.variant import Variant

if TYPE_CHECKING:
    from scriptc.inspect.memory import Memory
    from scriptc.inspect.profile import Profile
    from scriptc.inspect.python_code import PythonCode
    from scriptc.inspect.training_memory import TrainingMemory
    from scriptc.operators.torch_operator import TorchOperator

P = ParamSpec("P")
Q = ParamSpec("Q")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")
# What compiled functions and modules have.
NAMES = ("ir", "code", "c_source", "signatures", "profile", "memory", "as_torch_op")
SHOWN = 4  # the most signatures in a repr
_HELP = """\
Compiled by scriptc. To look inside, after a call:
  .signatures()   the argument types it is compiled for
  .ir()           the IR after all passes, .ir("read") before them
  .code           the same as Python that runs
  .c_source()     the generated C
  .profile(...)   the time of such a call by line and kernel
  .memory(...)    the peak memory of such a call, as a formula of the sizes
  .as_torch_op("lib::name")   an operator of PyTorch that runs it
  .__wrapped__    the Python that was compiled"""


class Inspection:
    """The methods that show specializations. The first call of a signature makes its specialization."""

    _dispatcher: Dispatcher

    def ir(self, after: str | None = None, signature: int = -1) -> str:
        """Return the IR of a specialization as text.

        after: the name of a pass, for the IR after its last run; "read" for the IR before all passes; None for
            the IR after all passes.
        signature: an index into `signatures()`; the latest by default.

        Raises RuntimeError if nothing is compiled yet, and ValueError if no pass of that name ran.
        """
        from scriptc.driver.pipeline import run_passes
        from scriptc.ir.parser import parse_module
        from scriptc.ir.printer import print_module

        variant = self._variant(signature)
        if after == "read":
            return print_module(parse_module(variant.source_ir))
        if after is None:
            return print_module(variant.translated.entry.module)
        texts: dict[str, str] = {}
        module = parse_module(variant.source_ir)
        run_passes(module, self._dispatcher.options, lambda name, m: texts.update({name: print_module(m)}))
        if after not in texts:
            raise ValueError(f"no pass {after!r} ran; passes that did: read, {', '.join(texts)}")
        return texts[after]

    @property
    def code(self) -> PythonCode:
        """Return what was compiled last, as Python: the specialized form, with library functions and modules inlined.

        The text runs: `compiled.code.function()` returns the function that it defines. The function of a module takes
        the module as its first argument.

        Raises RuntimeError if nothing is compiled yet, and ValueError for gradients and custom `autograd.Function`s inside
        of the compiled code.
        """
        from scriptc.inspect.python_code import python_code

        variant = self._variant(-1)
        return python_code(self._dispatcher.target, variant.contract, variant.read_module())

    def c_source(self, signature: int = -1) -> str:
        """Return the generated C of a specialization.

        signature: an index into `signatures()`; the latest by default.

        Raises RuntimeError if nothing is compiled yet.
        """
        return self._variant(signature).c_source

    def signatures(self) -> list[str]:
        """Return the argument types of each specialization, in order, such as `x: f32[?, 8], n: int`."""
        return [str(v) for v in self._dispatcher.variants]

    def profile(self, /, *args: Any, **kwargs: Any) -> Profile:
        """Return the time of a call by source line and kernel, as a `Profile`.

        The call runs many times on copies of the arguments, without gradients. State that the calls write is put back.
        """
        from scriptc.inspect.profile import profile

        return profile(self._dispatcher, args, kwargs)

    @overload
    def memory(self, /, *args: Any, gradients: Literal[False] = False, **kwargs: Any) -> Memory: ...
    @overload
    def memory(self, /, *args: Any, gradients: Literal[True], **kwargs: Any) -> TrainingMemory: ...
    def memory(self, /, *args: Any, gradients: bool = False, **kwargs: Any) -> Memory | TrainingMemory:
        """Return the peak memory of a call as a formula of its sizes, as a `Memory`.

        The call runs many times, on copies of the arguments and on random arguments of other sizes. State that the
        calls write is put back. Without arguments, the result that was found last is returned; RuntimeError if there
        is none.

        gradients: find the memory of a call that autograd sees, and of its backward, as a `TrainingMemory`. Arguments and
            weights require grad as they do in the given call.
        """
        from scriptc.inspect.memory import last_memory, memory

        if gradients:
            from scriptc.inspect.training_memory import training_memory

            return training_memory(self._dispatcher, args, kwargs)
        found = last_memory(self._dispatcher)
        if args or kwargs or (found is None and not self._dispatcher.target.signature.parameters):
            found = memory(self._dispatcher, args, kwargs)
        if found is None:
            raise RuntimeError("memory() was not called before: give the arguments of a call")
        return found

    def as_torch_op(self, name: str, /, *args: Any, **kwargs: Any) -> TorchOperator:
        """Register the function as an operator of PyTorch, and return the operator.

        Under `torch.compile(fullgraph=True)`, `torch.export` and `torch.jit.script` a call of the operator is one node.
        Its schema comes from the calls that the function is compiled for, and from annotations: tensors, numbers, strings,
        lists of one type of them, optional ones, and tensors to which the function writes. Its results are fresh contiguous
        tensors.

        name: the namespace and the name, such as "mylib::rnn".
        args, kwargs: the arguments of one call, for which the function is compiled first.

        Raises TypeError if an argument, a result or an effect of the function is none of an operator, RuntimeError if
        nothing is compiled yet and no arguments are given, and ValueError if the name is taken.
        """
        from scriptc.operators.torch_operator import TorchOperator

        if args or kwargs:
            self._dispatcher.provide(args, kwargs)
        self._variant(-1)
        return TorchOperator(name, self, self._dispatcher)  # type: ignore[arg-type]

    def _variant(self, signature: int) -> Variant:
        if not self._dispatcher.variants:
            raise RuntimeError("there is no specialization yet: call it once")
        return self._dispatcher.variants[signature]


class Compiled(Inspection, Generic[P, R_co]):
    """A compiled function or method.

    `scriptc.compile` makes it. P are the parameters of the original, and R is its result, for type checkers.
    `__wrapped__` is the original. Compiled modules have the methods below too, but for names that their class defines
    itself.
    """

    __name__: str
    __qualname__: str
    __wrapped__: Callable[P, R_co]

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
        @overload
        def __get__(self, obj: None, owner: type | None = None) -> Compiled[P, R_co]: ...
        @overload
        def __get__(
            self: Compiled[Concatenate[S, Q], R_co], obj: S, owner: type | None = None
        ) -> Compiled[Q, R_co]: ...
        def __get__(self, obj: Any, owner: type | None = None) -> Any: ...

    @property
    def __defaults__(self) -> tuple[Any, ...] | None:
        defaults: tuple[Any, ...] | None = inspect.unwrap(self.__wrapped__).__defaults__
        return defaults

    @property
    def __kwdefaults__(self) -> dict[str, Any] | None:
        defaults: dict[str, Any] | None = inspect.unwrap(self.__wrapped__).__kwdefaults__
        return defaults

    def __getattribute__(self, name: str) -> Any:
        # An instance has the docstring of the original. `help` reads the class, whose `__doc__` is the property `DOC`.
        if name == "__doc__":
            return object.__getattribute__(self, "__dict__").get(name)
        return object.__getattribute__(self, name)

    def __repr__(self) -> str:
        return f"<{self._described()}: {state_of(vars(self).get('_dispatcher'))}>"

    def _described(self) -> str:
        raise NotImplementedError


def _help_text(obj: Compiled[..., Any]) -> str:
    own = vars(obj).get("__doc__")
    return f"{inspect.cleandoc(own)}\n\n{_HELP}" if own else _HELP


def _set_doc(obj: Compiled[..., Any], text: str | None) -> None:
    vars(obj)["__doc__"] = text


# The `__doc__` of the class of a compiled function: `help` shows the docstring of the original, and how to look inside.
DOC = property(_help_text, _set_doc)


def signature_text(function: Callable[..., Any]) -> str:
    """Return the name and parameters of a function, as in its definition."""
    try:
        return f"{function.__qualname__}{inspect.signature(function)}"
    except (ValueError, TypeError):
        return f"{function.__qualname__}(...)"


def state_of(dispatcher: Dispatcher | None) -> str:
    """Return the signatures that a callable is compiled for, in words."""
    texts = [] if dispatcher is None else [*dict.fromkeys(f"({variant})" for variant in dispatcher.variants)]
    if not texts:
        return "compiled, not called yet"
    more = [f"{len(texts) - SHOWN} more"] if len(texts) > SHOWN else []
    return f"compiled for {' and '.join([*texts[:SHOWN], *more])}"
