"""Ask torch itself whether it takes the arguments of a call, with stand-ins for values that only run time knows.

Torch's argument parser tells which kinds of values a function takes. A call with small tensors tells which dtypes its
kernels take.
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
from scriptc.frontend.values.abstract import (
    AbstractValue,
    ComplexValue,
    DictValue,
    Known,
    ListValue,
    RuntimeValue,
    TupleValue,
)
from scriptc.frontend.values.alternatives import is_kind
from scriptc.frontend.values.predicates import has_alternatives, made_of, tensor_type
from scriptc.frontend.values.verb import Question
from scriptc.ir.types import BOOL, FLOAT, INT, STR, DictType, ListType, ScalarType, SetType, TensorType, Type

_HOMES = (None, torch._C._nn, torch._C._linalg, torch._C._special, torch._C._fft)  # None is the owner of torch's own functions
# Keywords that torch takes too: those of NumPy and of overloads.
_OTHER_NAMES = {
    "axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other",
    "sections": "indices_or_sections", "indices": "indices_or_sections", "element": "elements",
    "test_element": "test_elements", "mat2": "other", "tensor": "other", "vec": "other", "values": "other", "n": "other",
    "axis0": "dim0", "axis1": "dim1", "split_sizes": "split_size", "obj": "x",
}  # fmt: skip


class _Int(int):
    """The stand-in of an int that is known only at run time."""


class _Float(float):
    """The stand-in of a float that is known only at run time."""


class _Str(str):
    """The stand-in of a string that is known only at run time."""


_Int.__name__ = "int"  # their names in torch's messages
_Float.__name__ = "float"
_Str.__name__ = "str"

_SCALARS: dict[Type, Any] = {INT: _Int(1), FLOAT: _Float(1.0), BOOL: True, STR: _Str()}

# Not called to see which dtypes they take: views, which depend on sizes, functions that leave the CPU, and recurrent layers,
# in which weights of wrong sizes crash the process.
_NOT_CALLED = frozenset("cuda gru lstm pin_memory rnn_relu rnn_tanh to view view_copy".split())
# They take an empty index of any dtype; for others, the kernel raises the error.
_OF_EMPTY = frozenset(
    ("gather", "scatter", "scatter_", "scatter_add", "scatter_add_", "scatter_reduce", "scatter_reduce_")
)
_MANY = 32  # most calls that torch is asked for where arguments have several kinds
_LARGE = 2**16  # most elements that a call with known numbers may make
_SMALL = 64  # in larger calls, numbers beyond this are replaced
_SIZES = (2, 3)  # sizes of all dims of the tensors; if one does not fit, the next is tried
# Errors of derived classes do not count.
_ERRORS = (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError)
_OF_DTYPES = ("not implemented for '", "can't be cast to the desired output type")  # the dtypes are wrong, whatever else is
_OF_DIMS = "Dimension out of range"
_OF_EQUAL_SHAPES = "for target with class probabilities"  # raised of tensors of equal sizes alone
_OF_NUMBERS = "without overflow"  # some functions do not check a number if there is one element, or if another is NaN
_refusals: dict[Hashable, Exception | None] = {}  # by function and stand-ins


@dataclass(frozen=True)
class _Tensor:
    """The stand-in of a tensor."""

    dtype: str
    rank: int

    def of_ones(self, size: int, dtype: str) -> torch.Tensor:
        return torch.ones((size,) * self.rank, dtype=torch_dtype(dtype), device="cpu")


# Arguments that a call cannot change: no functions, generators or objects of users.
_HARMLESS = (
    _Tensor, int, float, complex, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format
)  # fmt: skip


class _Unknown(Exception):
    """An argument that has no stand-in."""


class _ParseOnly(TorchFunctionMode):
    """A mode in which functions parse their arguments and do nothing else."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> None:
        return None


def check_parsed(
    reader: Reader, function: Any, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> None:
    """Build the error that eager raises for the kinds of the arguments, if it raises one.

    Calls in decompositions are not checked: they may pass arguments that torch refuses."""
    if not (_is_parsed(function) or _is_of_torch(function)) or is_decomposition(reader.position.frame.source.file):
        return
    given = [*args, *kwargs.values()]
    refusals = ((kinds, _refusal_of(function, kinds, kwargs)) for kinds in _kinds(given))
    raise_for_kinds(reader, given, [(kinds, e) for kinds, e in refusals if e is not None])


def raise_for_kinds(
    reader: Reader, given: list[AbstractValue], refused: list[tuple[tuple[AbstractValue, ...], Exception]]
) -> None:
    """Build an error where each argument has the kind that it has in a refused call."""
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
    """Return the keywords of a call under the names that a function of the library has for them."""
    if _OTHER_NAMES.keys().isdisjoint(kwargs):
        return kwargs
    own = inspect.signature(function).parameters
    renamed = {n: _OTHER_NAMES.get(n, n) for n in kwargs}
    return {renamed[n] if n not in own and renamed[n] in own else n: av for n, av in kwargs.items()}


def _is_parsed(function: Any) -> bool:
    """Return whether a callable parses its arguments first.

    Special methods turn TypeErrors into NotImplemented.
    """
    if isinstance(function, MethodDescriptorType):
        return issubclass(torch.Tensor, function.__objclass__) and not function.__name__.startswith("__")
    return isinstance(function, BuiltinFunctionType) and function.__self__ in _HOMES


def _is_of_torch(function: Any) -> bool:
    """Return whether a function is torch's own and written in Python."""
    return isinstance(function, FunctionType) and (function.__module__ or "").partition(".")[0] == "torch"


# ---- stand-ins ----
@Question
def _stand_in(value: AbstractValue) -> Any:
    """Return the stand-in of a value; raise _Unknown if there is none."""
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


@_stand_in.of(DictValue)
def _stand_in_of_dict(value: DictValue) -> Any:
    if value.made.cls is not dict:
        raise _Unknown
    return {}  # torch looks at the class of a dict alone


@_stand_in.of(RuntimeValue)
def _stand_in_of_run_time_value(value: RuntimeValue) -> Any:
    return _of_type(value.type)


@_stand_in.of(TensorType)
def _stand_in_of_tensor(value: RuntimeValue) -> Any:
    return _Tensor(tensor_type(value).dtype, tensor_type(value).rank)


def _of_type(type: Type) -> Any:
    if isinstance(type, TensorType) and type.dims is not None:
        return _Tensor(type.dtype, len(type.dims))
    if isinstance(type, ScalarType) and type in _SCALARS:
        return _SCALARS[type]
    if isinstance(type, DictType | SetType) and made_of(type).cls in (dict, set, frozenset):
        return made_of(type).cls()
    raise _Unknown


def _filled(
    args: list[Any], kwargs: dict[str, Any], tensor: Callable[[_Tensor], torch.Tensor]
) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a call, with tensors in place of their stand-ins."""

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
    """Return a key that differs for different stand-ins, also for True, 1 and 1.0."""
    return type(part), tuple(map(_key, part)) if type(part) in (list, tuple) else part


def _kinds(given: list[AbstractValue]) -> Iterable[tuple[AbstractValue, ...]]:
    """Return all combinations of the kinds of the arguments; nothing if there are too many."""
    each = [[*av.alternatives.values()] if has_alternatives(av) else [av] for av in given]
    return itertools.product(*each) if math.prod(map(len, each)) <= _MANY else ()


# ---- questions to torch ----
def _refusal_of(function: Any, given: tuple[AbstractValue, ...], names: Collection[str]) -> Exception | None:
    """Return the error of a call, or None. `names` are the keywords of the last arguments."""
    try:
        stand_ins = [*map(_stand_in, given)]
    except _Unknown:
        return None
    positional = len(given) - len(names)
    return _refusal(function, stand_ins[:positional], dict(zip(names, stand_ins[positional:], strict=True)))


def _refusal(function: Any, args: list[Any], kwargs: dict[str, Any]) -> Exception | None:
    key = (function, torch.get_default_dtype(), _key(args), tuple((name, _key(part)) for name, part in kwargs.items()))
    try:
        if key not in _refusals:
            with torch.autocast("cpu", enabled=False):  # the reader has cast the arguments where autocast is on
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
        with _ParseOnly(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*given, **named)
    except TypeError as e:
        return TypeError(str(e))  # a copy without the traceback
    except Exception:  # the library raises all other errors
        return None
    return None


def _may_be_called(function: Any, leaves: list[Any]) -> bool:
    """Return whether a call with stand-ins tells anything, has no effects and is small."""
    name = function.__name__
    if name in _NOT_CALLED or name.startswith("__") or not all(isinstance(leaf, _HARMLESS) for leaf in leaves):
        return False
    if any(isinstance(leaf, _Str) for leaf in leaves):  # which may choose what the function does
        return False
    return _is_small(function, leaves) and any(isinstance(leaf, _Tensor) for leaf in leaves)


def _is_small(function: Any, leaves: list[Any]) -> bool:
    factors = (int, float) if _is_of_torch(function) else int  # such as the scale of F.interpolate
    size = math.prod(max(abs(leaf), 1) for leaf in leaves if isinstance(leaf, factors))
    return size <= _LARGE


def _without_large(part: Any) -> Any:
    """Return an argument whose large and infinite numbers are replaced by stand-ins."""
    if type(part) in (list, tuple):
        return type(part)(map(_without_large, part))
    if type(part) in (int, float) and not abs(part) <= _SMALL:
        return _SCALARS[INT if type(part) is int else FLOAT]
    return part


def _with_nan(part: Any) -> Any:
    """Return an argument with NaN in the place of floats that are known only at run time."""
    if type(part) in (list, tuple):
        return type(part)(map(_with_nan, part))
    return math.nan if isinstance(part, _Float) else part


def _kernels_refusal(function: Any, args: list[Any], kwargs: dict[str, Any]) -> Exception | None:
    """Return the error of a call that is due to the dtypes and ranks of its tensors, or None.

    An error counts if its message names dtypes or dims, or if torch takes the call without `out` or with other dtypes. A
    TypeError counts if tensors of one element, which torch may take as numbers, raise it too."""
    leaves = [*_leaves([*args, *kwargs.values()])]
    dtypes = [leaf.dtype for leaf in leaves if isinstance(leaf, _Tensor)]
    dims_are_known = not any(map(_may_be_dim, leaves))
    without_out = {name: part for name, part in kwargs.items() if name != "out"}
    for size in _SIZES:
        error = _raised(function, args, kwargs, size, dtypes)
        if error is None or type(error) not in _ERRORS or _OF_EQUAL_SHAPES in str(error):
            return None
        if _OF_NUMBERS in str(error) and not (
            _raised(function, args, kwargs, 1, dtypes)
            and _raised(function, _with_nan(args), {name: _with_nan(part) for name, part in kwargs.items()}, size, dtypes)
        ):
            return None
        if (
            (isinstance(error, TypeError) and isinstance(_raised(function, args, kwargs, 1, dtypes), TypeError))
            or any(word in str(error) for word in _OF_DTYPES)
            or (dims_are_known and _OF_DIMS in str(error) and _is_raised_of_empty(function, args, kwargs, dtypes))
            or not _raised(function, args, without_out, size, dtypes)
            or not all(_raised(function, args, kwargs, size, others) for others in _other_dtypes(dtypes))
        ):
            return type(error)(str(error))  # a copy without the traceback
    return None


def _is_raised_of_empty(function: Any, args: list[Any], kwargs: dict[str, Any], dtypes: list[str]) -> bool:
    """Return whether empty tensors raise too. For empty vectors, cat takes any dim."""
    return _raised(function, args, kwargs, 0, dtypes) is not None


def _may_be_dim(leaf: Any) -> bool:
    """Return whether a stand-in may be a dim."""
    return isinstance(leaf, _Int) or isinstance(leaf, _Tensor) and not leaf.rank


def _other_dtypes(dtypes: list[str]) -> Iterator[list[str]]:
    """Yield other dtypes of the tensors, with which torch may take a call that it refuses."""
    first = dtypes[0]
    for dtype in ("f32", "f64", first):
        yield [dtype] * len(dtypes)
    yield ["f32" if d == first else d for d in dtypes]
    for i in range(1, len(dtypes)):
        yield [*dtypes[:i], first, *dtypes[i + 1 :]]
        if dtypes[i] not in ("bool", "u8"):  # not a mask, of which only set elements count
            yield [*dtypes[:i], "i64", *dtypes[i + 1 :]]


def _raised(
    function: Any, args: list[Any], kwargs: dict[str, Any], size: int, dtypes: list[str]
) -> Exception | None:  # fmt: skip
    """Return the error of a call with tensors of a size and of the given dtypes, or None."""
    dtype = iter(dtypes)
    given, named = _filled(args, kwargs, lambda t: t.of_ones(size, next(dtype)))
    try:
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]), torch.no_grad():
            warnings.simplefilter("ignore")
            function(*given, **named)
    except Exception as e:
        return e
    return None
