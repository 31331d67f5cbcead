"""iter(), next(), and the iterators of nn.Module: over parameters, buffers, children and modules."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from scriptc.frontend.environment.lookup import guard_children, module_attribute
from scriptc.frontend.library.python import iterators_decomposed as iterators
from scriptc.frontend.library.registry import serves
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.iteration import iterated_object
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    AbstractValue,
    GeneratorValue,
    IteratorValue,
    Known,
    ListValue,
    Moved,
    ObjectValue,
    RangeValue,
    ReversedValue,
    TupleValue,
    ZipValue,
    is_tensor,
)
from scriptc.frontend.values.verbs import class_name_of, describe, is_run_time


@serves("builtins.iter")
def iter_(r: Reader, source: AbstractValue) -> AbstractValue:
    if isinstance(source, GeneratorValue):
        return source
    if isinstance(source, ObjectValue):
        return source if source.cls is iterators.SequenceIterator else iterated_object(r, source)
    if isinstance(source, (ZipValue, ReversedValue, IteratorValue)) and is_run_time(r, source):
        return source
    if not isinstance(source, (ListValue, RangeValue, TupleValue)) and not is_tensor(source):
        source = TupleValue(r.iterate(source))
    return over(source)


@serves("builtins.next")
def next_(r: Reader, iterator: AbstractValue, *default: AbstractValue) -> AbstractValue:
    if isinstance(iterator, (GeneratorValue, ZipValue, ReversedValue, IteratorValue)):  # nobody asks it again
        return r.call(Known(iterators.first_or if default else iterators.first), [iterator, *default], {})
    if not isinstance(iterator, ObjectValue):
        if isinstance(iterator, Known) and isinstance(iterator.obj, Iterator):
            r.reject("iteration_over_outside", what=describe(iterator))
        r.emit.raise_error("TypeError", f"'{class_name_of(r, iterator)}' object is not an iterator")
    if iterator.cls is iterators.SequenceIterator and isinstance(r.items_of(iterator)["at"], Moved):
        r.reject("iterator_walked_again")
    if default and iterator.cls is iterators.SequenceIterator:
        return r.call(Known(iterators.next_or), [iterator, *default], {})
    if default:
        r.reject("next_with_default")
    return r.call(r.attribute(iterator, "__next__"), [], {})


# ---- nn.Module: the tree is known, and guarded ----
def _modules(r: Reader, root: AbstractValue, prefix: str) -> Iterator[tuple[str, torch.nn.Module]]:
    module = require_known(r, root, "the module")
    for path, found in module.named_modules(prefix=prefix):
        guard_children(r, found)
        yield path, found


def _tensors(
    r: Reader, root: AbstractValue, table: str, prefix: str, recurse: AbstractValue, once: bool
) -> Iterator[tuple[str, AbstractValue]]:
    """The parameters or buffers of a tree by name, each of them once if asked."""
    seen: set[int] = set()
    deep = require_known(r, recurse, "recurse")
    for path, module in _modules(r, root, prefix) if deep else [(prefix, require_known(r, root, "the module"))]:
        held = module.__dict__[table]
        r.environment.guard("DICT_KEYS_ARE", held, None, tuple(held))
        for name, tensor in held.items():
            if tensor is None or (once and id(tensor) in seen):
                continue
            seen.add(id(tensor))
            yield f"{path}.{name}" if path else name, module_attribute(r, module, name)


def over(sequence: AbstractValue) -> AbstractValue:
    return ObjectValue(iterators.SequenceIterator, {"sequence": sequence, "at": Known(0)})


def _iterator(items: list[AbstractValue]) -> AbstractValue:
    return over(TupleValue(items))


def _named(
    r: Reader,
    table: str,
    module: AbstractValue,
    prefix: AbstractValue,
    recurse: AbstractValue,
    remove_duplicate: AbstractValue,
) -> AbstractValue:
    found = _tensors(
        r,
        module,
        table,
        require_known(r, prefix, "prefix"),
        recurse,
        require_known(r, remove_duplicate, "remove_duplicate"),
    )
    return _iterator([TupleValue([Known(name), tensor]) for name, tensor in found])


_NO_PREFIX, _YES = Known(""), Known(True)


@serves("torch.nn.Module.named_parameters")
def named_parameters(
    r: Reader,
    self: AbstractValue,
    prefix: AbstractValue = _NO_PREFIX,
    recurse: AbstractValue = _YES,
    remove_duplicate: AbstractValue = _YES,
) -> AbstractValue:
    return _named(r, "_parameters", self, prefix, recurse, remove_duplicate)


@serves("torch.nn.Module.named_buffers")
def named_buffers(
    r: Reader,
    self: AbstractValue,
    prefix: AbstractValue = _NO_PREFIX,
    recurse: AbstractValue = _YES,
    remove_duplicate: AbstractValue = _YES,
) -> AbstractValue:
    return _named(r, "_buffers", self, prefix, recurse, remove_duplicate)


@serves("torch.nn.Module.parameters")
def parameters(r: Reader, self: AbstractValue, recurse: AbstractValue = _YES) -> AbstractValue:
    return _iterator([tensor for _, tensor in _tensors(r, self, "_parameters", "", recurse, True)])


@serves("torch.nn.Module.buffers")
def buffers(r: Reader, self: AbstractValue, recurse: AbstractValue = _YES) -> AbstractValue:
    return _iterator([tensor for _, tensor in _tensors(r, self, "_buffers", "", recurse, True)])


@serves("torch.nn.Module.named_children")
def named_children(r: Reader, self: AbstractValue) -> AbstractValue:
    module = require_known(r, self, "the module")
    guard_children(r, module)
    return _iterator([TupleValue([Known(name), Known(child)]) for name, child in module.named_children()])


@serves("torch.nn.Module.children")
def children(r: Reader, self: AbstractValue) -> AbstractValue:
    module = require_known(r, self, "the module")
    guard_children(r, module)
    return _iterator([Known(child) for child in module.children()])


@serves("torch.nn.Module.named_modules")
def named_modules(
    r: Reader, self: AbstractValue, memo: AbstractValue = Known(None), prefix: AbstractValue = _NO_PREFIX
) -> AbstractValue:
    return _iterator(
        [TupleValue([Known(n), Known(m)]) for n, m in _modules(r, self, require_known(r, prefix, "prefix"))]
    )


@serves("torch.nn.Module.modules")
def modules(r: Reader, self: AbstractValue) -> AbstractValue:
    return _iterator([Known(m) for _, m in _modules(r, self, "")])
