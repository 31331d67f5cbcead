"""The weights of a package, and the leaves of the state that its entries share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import torch

from scriptc.backend_c.package.interface import StateLeaf, Weight
from scriptc.driver.package_pipeline import TranslatedPackage, tensor_of
from scriptc.frontend.environment.host_objects import dtype_name
from scriptc.frontend.environment.specs import Kept
from scriptc.ir.analysis import calls, is_fresh, roots_in_lists, writers
from scriptc.ir.core import Func
from scriptc.ir.errors import CompileError, Diagnostic
from scriptc.ir.loc import Loc
from scriptc.ir.types import NEVER, ListType, Names, TensorType


def weights(package: TranslatedPackage) -> tuple[Weight, ...]:
    """Return the values of the weights, in the order of the program."""
    tensors = {late.name: tensor_of(late) for entry in package.entries for late in entry.tensors} | dict(package.computed)
    return tuple(_values(name, tensors[name]) for name in package.program.params)


def _values(name: str, tensor: torch.Tensor) -> Weight:
    dtype = dtype_name(tensor.dtype)
    assert dtype is not None
    flat = tensor.detach().clone(memory_format=torch.contiguous_format).reshape(-1)
    return Weight(name, dtype, tuple(tensor.shape), memoryview(flat.view(torch.uint8).numpy()))


_SAVED_AS = {"i64": "i64", "f64": "f64", "bool": "bool", "str": "u8"}  # dtypes of numbers and of text


@dataclass(frozen=True)
class PackageState:
    """leaves: of all slots, in order. first: the weights that hold first values. uses: for each entry the leaves it takes."""

    leaves: tuple[StateLeaf, ...]
    first: tuple[Weight, ...]
    uses: tuple[tuple[int, ...], ...]


def state(package: TranslatedPackage) -> PackageState:
    """Return the state that the entries keep between calls.

    Raises CompileError if a tensor shares memory with a part of the state that an entry writes to.
    """
    numbers = _leaf_numbers(package.slots)
    uses = tuple(tuple(n for i in used for n in numbers[i]) for used in package.uses)
    written: dict[int, Loc] = {}
    for used, func in zip(uses, package.functions(), strict=True):
        written |= _written(func, used)
    _refuse_shared(package, [next((written[n] for n in own if n in written), None) for own in numbers])
    leaves: list[StateLeaf] = []
    first: list[Weight] = []
    saved_names = _SavedNames()
    for at, slot in enumerate(package.slots):
        for i, (t, value) in enumerate(zip(slot.types, slot.initial, strict=True)):
            elem = t.elem if isinstance(t, ListType) else t
            dtype, rank = _SAVED_AS.get(str(elem), "i64"), None
            type_name = "tensor" if isinstance(elem, TensorType) else "i64" if elem == NEVER else str(elem)
            if isinstance(elem, TensorType):
                dtype, rank = elem.dtype, None if elem.dims is None else len(elem.dims)
            name = f"state.{slot.name}.{i}" if len(slot.types) > 1 else f"state.{slot.name}"
            if type_name == "tensor" and value is not None:
                items = value if isinstance(t, ListType) else [value]
                names = [f"{name}.{k}" for k in range(len(items))] if isinstance(t, ListType) else [name]
                first += map(_values, names, items)
                value = names if isinstance(t, ListType) else name
            is_list, number = isinstance(t, ListType), len(leaves)
            saved, kinds = saved_names.of(slot, i, is_list=is_list), tuple(kind[i] for kind in slot.kinds)
            leaves.append(
                StateLeaf(
                    slot.name, type_name, is_list, value, slot.target, i, number in written, saved, at, dtype, rank, kinds
                )
            )
    return PackageState(tuple(leaves), tuple(first), uses)


class _SavedNames:
    """Give out the names of leaves in a file of a saved state. The items of the list `log` are `log.0`, `log.1`, ...

    A slot's only tensor has the name of the slot, as the gradient `weight.grad` beside the number that says if there is one.
    """

    def __init__(self) -> None:
        self.names = Names()
        self.lists: set[str] = set()

    def of(self, slot: Kept, i: int, *, is_list: bool) -> str:
        tensors = [k for k, t in enumerate(slot.types) if isinstance(t, TensorType)]
        wish = slot.name if len(slot.types) == 1 or tensors == [i] else f"{slot.name}.{i}"
        while True:
            name = self.names.fresh(wish)
            head, _, last = name.rpartition(".")
            items = any(other.startswith(f"{name}.") and other[len(name) + 1 :].isdigit() for other in self.names.used)
            if not (last.isdigit() and head in self.lists) and not (is_list and items):
                break
        if is_list:
            self.lists.add(name)
        return name


def _leaf_numbers(slots: Sequence[Kept]) -> list[range]:
    ends = [0]
    for slot in slots:
        ends.append(ends[-1] + len(slot.types))
    return [range(begin, end) for begin, end in zip(ends, ends[1:], strict=False)]


def _written(func: Func, used: Sequence[int]) -> dict[int, Loc]:
    """Return the leaves whose tensors the function of an entry may write: their numbers, and where it does.

    used: the numbers of the leaves that the function takes as its last arguments.
    """
    n = len(func.body.args)
    found = written_arguments(func, range(n - len(used), n))
    return {used[i - (n - len(used))]: loc for i, loc in found.items()}


def written_arguments(func: Func, among: range) -> dict[int, Loc]:
    """Return the arguments of a range whose tensors the function may write: their numbers, and where it does."""
    args = {func.body.args[i]: i for i in among}
    found: dict[int, Loc] = {}
    for op in writers(func.body, "tensor"):
        for root in roots_in_lists(op.operands if calls(op) else op.operands[:1]):
            if root in args:
                found.setdefault(args[root], op.loc)
            elif root.op is not None and not is_fresh(root) and root.op.name != "param":
                return dict.fromkeys(among, op.loc)
    return found


# ---- tensors that share memory ----


class _Held(NamedTuple):
    """A tensor outside: a weight, or a first value of a slot. number: of the slot; -1 for a weight."""

    name: str
    tensor: torch.Tensor
    number: int

    def shares_memory(self, other: _Held) -> bool:
        (begin, end), (other_begin, other_end) = _extent(self.tensor), _extent(other.tensor)
        return self.number != other.number and begin < other_end and other_begin < end


def _extent(tensor: torch.Tensor) -> tuple[int, int]:
    """Return the addresses of the first byte of a tensor's elements, and of the first behind them."""
    if not tensor.numel():
        return 0, 0
    last = sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.data_ptr(), tensor.data_ptr() + (last + 1) * tensor.element_size()


def _tensors_in(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif not isinstance(value, str) and hasattr(value, "__iter__"):
        for item in value:
            yield from _tensors_in(item)


def _refuse_shared(package: TranslatedPackage, written: Sequence[Loc | None]) -> None:
    """Refuse a slot that an entry writes to if another tensor of the package shares its memory.

    Each would keep a copy of its own, and not see the writes to the other. written: for each slot where it is written.
    """
    held = [_Held(s.name, t, i) for i, s in enumerate(package.slots) for value in s.initial for t in _tensors_in(value)]
    late = {late.name: late for entry in package.entries for late in entry.tensors}
    held += [_Held(name, tensor_of(late[name]), -1) for name in package.program.params if name in late]
    for a, b in combinations(held, 2):
        loc = next((written[x.number] for x in (a, b) if x.number >= 0 and written[x.number]), None)
        if loc is not None and a.shares_memory(b):
            problem = f"'{a.name}' and '{b.name}' share memory, which the code writes to here, so a build cannot keep both"
            raise CompileError(Diagnostic(loc, problem, "use one of them alone, or clone() the other before the build"))
