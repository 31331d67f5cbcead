"""Whether torch takes the arguments of a call: torch itself is asked, with stand-ins for what is known only at run time.

Its parser says which kinds of values a function takes; a call with small tensors, which dtypes its kernels are made for.
"""

from __future__ import annotations

import inspect
import itertools
import math
import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from scriptc.frontend.environment.host_objects import torch_dtype
from scriptc.frontend.library.registry import is_decomposition
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, ComplexValue, Known, ListValue, RuntimeValue, TupleValue
from scriptc.frontend.values.alternatives import is_kind
from scriptc.frontend.values.predicates import has_alternatives, tensor_type
from scriptc.frontend.values.verb import Question
from scriptc.ir.types import BOOL, FLOAT, INT, ListType, ScalarType, TensorType, Type

_HOMES = (None, torch._C._nn, torch._C._linalg, torch._C._special, torch._C._fft)  # None: of torch itself
# What torch takes by the names of NumPy and of overloads.
_OTHER_NAMES = {
    "axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other",
    "sections": "indices_or_sections", "indices": "indices_or_sections", "element": "elements",
    "test_element": "test_elements", "mat2": "other", "tensor": "other", "vec": "other", "values": "other", "n": "other",
    "axis0": "dim0", "axis1": "dim1", "split_sizes": "split_size", "obj": "x",
}  # fmt: skip


class _Int(int):
    """What stands for an int that is known only at run time."""


_Int.__name__ = "int"  # in the messages of what refuses it

_NUMBERS: dict[Type, Any] = {INT: _Int(1), FLOAT: 1.0, BOOL: True}

# What is not called to see which dtypes it takes: views, which depend on sizes, and what leaves the CPU.
_NOT_CALLED = frozenset(("cuda", "pin_memory", "to", "view", "view_copy"))
# They take an index of any dtype that has no elements; of others the kernel says so.
_OF_EMPTY = frozenset(
    ("gather", "scatter", "scatter_", "scatter_add", "scatter_add_", "scatter_reduce", "scatter_reduce_")
)
_MANY = 32  # calls of arguments of several kinds that torch is asked for
_LARGE = 2**16  # elements that known numbers may ask for
_SMALL = 64  # where they ask for more, numbers up to this stay
_SIZES = (2, 3)  # of all dims of the tensors of a call; where one does not fit, the next is tried
# Not those of classes derived from them.
_ERRORS = (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError)
_OF_DTYPES = ("not implemented for '", "can't be cast to the desired output type")  # whatever else may be wrong
_OF_DIMS = "Dimension out of range"
_refusals: dict[Hashable, Exception | None] = {}  # by calls of stand-ins


@dataclass(frozen=True)
class _Tensor:
    """What stands for a tensor."""

    dtype: str
    rank: int

    def of_ones(self, size: int, dtype: str) -> torch.Tensor:
        return torch.ones((size,) * self.rank, dtype=torch_dtype(dtype), device="cpu")


# What a call leaves as it is: no functions, generators or objects of the user's.
_HARMLESS = (
    _Tensor, int, float, complex, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format
)  # fmt: skip


class _Unknown(Exception):
    """An argument for which nothing can stand in."""


class _ParseOnly(TorchFunctionMode):
    """Under it, functions parse their arguments and do nothing else."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> None:
        return None


def check_parsed(
    reader: Reader, function: Any, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> None:
    """Raises at run time what eager raises for the kinds of the arguments. Our own decompositions may say what torch
    does not take."""
    if not (_is_parsed(function) or _is_of_torch(function)) or is_decomposition(reader.position.frame.source.file):
        return
    given = [*args, *kwargs.values()]
    refusals = ((kinds, _refusal_of(function, kinds, kwargs)) for kinds in _kinds(given))
    raise_for_kinds(reader, given, [(kinds, e) for kinds, e in refusals if e is not None])


def raise_for_kinds(
    reader: Reader, given: list[AbstractValue], refused: list[tuple[tuple[AbstractValue, ...], Exception]]
) -> None:
    """Raises where each argument is of the kind that it has in one of the calls refused."""
    if not refused:
        return
    at = next((i for i, av in enumerate(given) if has_alternatives(av)), None)
    if at is None:
        ((_, refusal),) = refused
        reader.emit.raise_error(type(refusal).__name__, str(refusal))
    several = given[at]
    assert has_alternatives(several)
    for number, kind in several.alternatives.items():

        def check(kind: AbstractValue = kind) -> AbstractValue:
            raise_for_kinds(reader, [*given[:at], kind, *given[at + 1 :]], [r for r in refused if r[0][at] is kind])
            return Known(None)

        if any(kinds[at] is kind for kinds, _ in refused):
            reader.choose(is_kind(reader, several, number), check, lambda: Known(None))


def own_names(function: Any, kwargs: dict[str, AbstractValue]) -> dict[str, AbstractValue]:
    """The keywords of a call, where torch takes other names as well, as a function of the library has them."""
    if _OTHER_NAMES.keys().isdisjoint(kwargs):
        return kwargs
    own = inspect.signature(function).parameters
    renamed = {n: _OTHER_NAMES.get(n, n) for n in kwargs}
    return {renamed[n] if n not in own and renamed[n] in own else n: av for n, av in kwargs.items()}


def _is_parsed(function: Any) -> bool:
    """Whether a callable parses its arguments before all else. Special methods turn TypeErrors into NotImplemented."""
    if isinstance(function, MethodDescriptorType):
        return issubclass(torch.Tensor, function.__objclass__) and not function.__name__.startswith("__")
    return isinstance(function, BuiltinFunctionType) and function.__self__ in _HOMES


def _is_of_torch(function: Any) -> bool:
    """Whether a function is torch's own and written in Python."""
    return isinstance(function, FunctionType) and (function.__module__ or "").partition(".")[0] == "torch"


# ---- stand-ins ----
@Question
def _stand_in(value: AbstractValue) -> Any:
    """Return what a call of torch is made with in place of a value."""
    raise _Unknown


@_stand_in.of(Known)
def _stand_in_of_known(value: Known) -> Any:
    return value.obj


@_stand_in.of(ComplexValue)
def _stand_in_of_complex(value: ComplexValue) -> Any:
    return 1j


@_stand_in.of(TupleValue)
def _stand_in_of_tuple(value: TupleValue) -> Any:
    if value.cls is not tuple and not issubclass(value.cls, torch.Size):
        raise _Unknown
    return tuple(_stand_in(item) for item in value.items)


@_stand_in.of(ListValue)
def _stand_in_of_list(value: ListValue) -> Any:
    if value.items is not None:
        return [_stand_in(item) for item in value.items]
    if value.value is None or not isinstance(value.value.type, ListType):
        raise _Unknown
    return [_of_type(value.value.type.elem)]


@_stand_in.of(RuntimeValue)
def _stand_in_of_run_time_value(value: RuntimeValue) -> Any:
    return _of_type(value.type)


@_stand_in.of(TensorType)
def _stand_in_of_tensor(value: RuntimeValue) -> Any:
    return _Tensor(tensor_type(value).dtype, tensor_type(value).rank)


def _of_type(type: Type) -> Any:
    if isinstance(type, TensorType) and type.dims is not None:
        return _Tensor(type.dtype, len(type.dims))
    if isinstance(type, ScalarType) and type in _NUMBERS:
        return _NUMBERS[type]
    raise _Unknown


def _filled(
    args: list[Any], kwargs: dict[str, Any], tensor: Callable[[_Tensor], torch.Tensor]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call, with tensors."""

    def filled(part: Any) -> Any:
        if isinstance(part, _Tensor):
            return tensor(part)
        return type(part)(map(filled, part)) if type(part) in (list, tuple) else part

    return [*map(filled, args)], {name: filled(part) for name, part in kwargs.items()}


def _leaves(part: Any) -> Iterator[Any]:
    if type(part) in (list, tuple):
        for p in part:
            yield from _leaves(p)
    else:
        yield part


def _key(part: Any) -> Hashable:
    """Equal for equal stand-ins alone, while True == 1 == 1.0."""
    return type(part), tuple(map(_key, part)) if type(part) in (list, tuple) else part


def _kinds(given: list[AbstractValue]) -> Iterable[tuple[AbstractValue, ...]]:
    """The arguments of a call, each of one kind: all that they may be of, where these are few."""
    each = [[*av.alternatives.values()] if has_alternatives(av) else [av] for av in given]
    return itertools.product(*each) if math.prod(map(len, each)) <= _MANY else ()


# ---- asking ----
def _refusal_of(function: Any, given: tuple[AbstractValue, ...], names: Collection[str]) -> Exception | None:
    """names: of the last arguments."""
    try:
        stand_ins = [*map(_stand_in, given)]
    except _Unknown:
        return None
    by_place = len(given) - len(names)
    return _refusal(function, stand_ins[:by_place], dict(zip(names, stand_ins[by_place:], strict=True)))


def _refusal(function: Any, args: list[Any], kwargs: dict[str, Any]) -> Exception | None:
    key = (function, torch.get_default_dtype(), _key(args), tuple((name, _key(part)) for name, part in kwargs.items()))
    try:
        if key not in _refusals:
            _refusals[key] = _asked(function, args, kwargs)
        return _refusals[key]
    except TypeError:  # unhashable
        return _asked(function, args, kwargs)


def _asked(function: Any, args: list[Any], kwargs: dict[str, Any]) -> Exception | None:
    refusal = _parsers_refusal(function, args, kwargs) if _is_parsed(function) else None
    if not _is_small(function, [*_leaves([*args, *kwargs.values()])]):
        args, kwargs = _without_large(args), {name: _without_large(part) for name, part in kwargs.items()}
    leaves = [*_leaves([*args, *kwargs.values()])]
    is_asked = _may_be_called(function, leaves) and ("out" in kwargs or function.__name__ not in _OF_EMPTY)
    return refusal or (_kernels_refusal(function, args, kwargs) if is_asked else None)


def _parsers_refusal(function: Any, args: list[Any], kwargs: dict[str, Any]) -> Exception | None:
    given, named = _filled(args, kwargs, lambda t: t.of_ones(1, t.dtype))
    try:
        with _ParseOnly():
            function(*given, **named)
    except TypeError as e:
        return TypeError(str(e))  # without its traceback
    except Exception:  # what else it is, the library says
        return None
    return None


def _may_be_called(function: Any, leaves: list[Any]) -> bool:
    """Whether a call with stand-ins shows something, has no effects and is small."""
    name = function.__name__
    if name in _NOT_CALLED or name.startswith("__") or not all(isinstance(leaf, _HARMLESS) for leaf in leaves):
        return False
    return _is_small(function, leaves) and any(isinstance(leaf, _Tensor) for leaf in leaves)


def _is_small(function: Any, leaves: list[Any]) -> bool:
    factors = (int, float) if _is_of_torch(function) else int  # as of F.interpolate
    size = math.prod(max(abs(leaf), 1) for leaf in leaves if isinstance(leaf, factors))
    return size <= _LARGE


def _without_large(part: Any) -> Any:
    """The arguments of a call, in which numbers that are large or not finite are like those that only the program knows."""
    if type(part) in (list, tuple):
        return type(part)(map(_without_large, part))
    if type(part) in (int, float) and not abs(part) <= _SMALL:
        return _NUMBERS[INT if type(part) is int else FLOAT]
    return part


def _kernels_refusal(function: Any, args: list[Any], kwargs: dict[str, Any]) -> Exception | None:
    """What a call raises for the dtypes and ranks of its tensors: where torch says so, or takes the call without `out`, or
    with some tensors of other dtypes. A TypeError counts that comes of one element as well, which may stand for a number."""
    leaves = [*_leaves([*args, *kwargs.values()])]
    dtypes = [leaf.dtype for leaf in leaves if isinstance(leaf, _Tensor)]
    dims_are_known = not any(map(_may_be_dim, leaves))
    without_out = {name: part for name, part in kwargs.items() if name != "out"}
    for size in _SIZES:
        error = _raised(function, args, kwargs, size, dtypes)
        if error is None or type(error) not in _ERRORS:
            return None
        if (
            (isinstance(error, TypeError) and isinstance(_raised(function, args, kwargs, 1, dtypes), TypeError))
            or any(word in str(error) for word in _OF_DTYPES)
            or (dims_are_known and _OF_DIMS in str(error) and _is_raised_of_empty(function, args, kwargs, dtypes))
            or not _raised(function, args, without_out, size, dtypes)
            or not all(_raised(function, args, kwargs, size, others) for others in _other_dtypes(dtypes))
        ):
            return type(error)(str(error))  # without its traceback
    return None


def _is_raised_of_empty(function: Any, args: list[Any], kwargs: dict[str, Any], dtypes: list[str]) -> bool:
    """cat, which passes over empty vectors, takes any dim of theirs."""
    return _raised(function, args, kwargs, 0, dtypes) is not None


def _may_be_dim(leaf: Any) -> bool:
    """Whether it stands for a number that may be a dim."""
    return isinstance(leaf, _Int) or isinstance(leaf, _Tensor) and not leaf.rank


def _other_dtypes(dtypes: list[str]) -> Iterator[list[str]]:
    """Dtypes with which the tensors of a call may be taken that are refused with these."""
    first = dtypes[0]
    for dtype in ("f32", "f64", first):
        yield [dtype] * len(dtypes)
    yield ["f32" if d == first else d for d in dtypes]
    for i in range(1, len(dtypes)):
        yield [*dtypes[:i], first, *dtypes[i + 1 :]]
        if dtypes[i] not in ("bool", "u8"):  # masks, whose elements that are set count
            yield [*dtypes[:i], "i64", *dtypes[i + 1 :]]


def _raised(
    function: Any, args: list[Any], kwargs: dict[str, Any], size: int, dtypes: list[str]
) -> Exception | None:  # fmt: skip
    """What a call with tensors of a size and of the given dtypes, in their order, raises."""
    dtype = iter(dtypes)
    given, named = _filled(args, kwargs, lambda t: t.of_ones(size, next(dtype)))
    try:
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]), torch.no_grad():
            warnings.simplefilter("ignore")
            function(*given, **named)
    except Exception as e:
        return e
    return None
