"""Tensors indexed: by ints, slices, None and `...`, which make views, and by tensors, lists and masks, which pick elements.
And sequences of Python's, indexed by tensors."""

from __future__ import annotations

import torch

from scriptc.frontend.context import Context
from scriptc.frontend.objects import defines
from scriptc.frontend.values import (
    AV,
    Bound,
    Dyn,
    Known,
    ListV,
    RangeV,
    Tup,
    describe,
    is_complex_number,
    is_tensor,
    is_text,
    tensor_type,
)
from scriptc.ir.dtypes import FLOATING, INEXACT, INTEGRAL
from scriptc.ir.types import BOOL, FLOAT, INT, STR, ListType


class Indexing(Context):
    """Mixin: subscripts of tensors."""

    def put(self, view: AV, picked: dict[int, AV], value: AV, *, accumulate: bool) -> AV:
        """A copy of a tensor with a value where tensors index it."""
        from scriptc.frontend.decompositions.indexing import put_mask, put_tensors

        if not is_tensor(value):
            value = self.new_filled((), value, tensor_type(view).dtype)
        if (only := _mask_in(picked)) is not None:
            return self.call(Known(put_mask), [view, *only, value, Known(accumulate)], {})
        places = Tup(list(picked.values()))
        return self.call(Known(put_tensors), [view, Known(tuple(picked)), places, value, Known(accumulate)], {})

    def is_indexed_by_ints(self, owner: AV) -> bool:
        """Whether what indexes a value is asked for its `__index__`."""
        if isinstance(owner, Known):
            kinds = (list, tuple, str, range, torch.nn.ModuleList, torch.nn.Sequential, torch.nn.ParameterList)
            return isinstance(owner.obj, kinds) and not defines(owner, "__getitem__")
        return isinstance(owner, (Tup, ListV, RangeV)) or is_text(owner)

    def place_of(self, tensor: AV) -> AV:
        """The int that a tensor gives as an index or size."""
        refusal = "TypeError", "only integer tensors of a single element can be converted to an index"
        if tensor_type(tensor).dtype in INEXACT:
            self.raises_at_run_time(*refusal)
        count = self.call(Bound(tensor, "numel"), [], {})
        self.check_that(self.compare("Eq", count, Known(1)), *refusal)
        return Dyn(self.build("item.int", [self.value(tensor)]))

    def index_tensor(self, tensor: AV, index: AV) -> AV:
        """Ints, slices, None and `...` make views; tensors, lists and masks pick elements."""
        view, picked = self.indexed(tensor, index)
        if not picked:
            return view
        from scriptc.frontend.decompositions.indexing import index_mask, index_tensors

        if (only := _mask_in(picked)) is not None:
            return self.call(Known(index_mask), [view, *only], {})
        return self.call(Known(index_tensors), [view, Known(tuple(picked)), Tup(list(picked.values()))], {})

    def indexed(self, tensor: AV, index: AV) -> tuple[AV, dict[int, AV]]:
        """What the basic parts of an index make of a tensor, and the tensors in it by the dims that they index: one mask
        alone, by the first of its dims, or tensors of places."""
        if isinstance(index, ListV) and index.is_tuple:
            self.fail("index_of_unknown_length")
        parts: list[AV] = list(index.items) if isinstance(index, Tup) and index.cls is tuple else [index]
        if isinstance(index, Known) and isinstance(index.obj, tuple):
            parts = [Known(o) for o in index.obj]
        rank = tensor_type(tensor).rank
        consumed = sum(self.indexed_dims(p) for p in parts)
        if consumed > rank:
            self.raises_at_run_time("IndexError", f"too many indices for tensor of dimension {rank}")
        return self.basic_index(tensor, parts, rank - consumed)

    def indexed_dims(self, part: AV) -> int:
        """How many dims of a tensor an index takes."""
        if isinstance(part, Known) and (part.obj is None or part.obj is Ellipsis) or self.is_bool(part):
            return 0
        is_mask = is_tensor(part) and tensor_type(part).dtype in ("bool", "u8")
        return tensor_type(part).rank if is_mask else 1

    def basic_index(self, tensor: AV, parts: list[AV], skipped: int) -> tuple[AV, dict[int, AV]]:
        """The view that ints, slices, None and `...` give, and the tensors that index it further, by dim."""
        dim, result = 0, tensor
        picked: dict[int, AV] = {}
        alone = sum(map(self.picks, parts)) == 1
        for part in parts:
            obj = part.obj if isinstance(part, Known) else ...
            if isinstance(part, Known) and obj is None:
                result, dim = self.op("unsqueeze", result, dim=dim), dim + 1
            elif isinstance(part, Known) and obj is Ellipsis:
                dim += skipped
            elif self.is_bool(part) or is_tensor(part) and tensor_type(part).dtype == "u8" and not tensor_type(part).rank:
                picked[dim] = self.mask_of_one(part)
                result, dim = self.op("unsqueeze", result, dim=dim), dim + 1
            elif is_tensor(part) and tensor_type(part).dtype in INTEGRAL and not tensor_type(part).rank:
                at = self.build("item.int", [self.value(part)])
                result = Dyn(self.build("select", [self.value(result), at], dim=dim))
            elif self.is_slice(part):
                result, dim = self.slice_dim(result, dim, part), dim + 1
            elif self.is_integer(part):
                result = Dyn(self.build("select", [self.value(result), self.integer(part)], dim=dim))
            elif alone and self.is_mask(part):
                self.check_mask(part, result, dim)
                picked[dim] = self.cast(part, "bool")
                dim += tensor_type(part).rank
            else:
                for index in self.index_tensors_of(part, result, dim):
                    picked[dim] = index
                    dim += 1
        return (result if result is not tensor or picked else self.view_of(tensor)), picked

    def picks(self, part: AV) -> bool:
        """Whether a part of an index picks elements, rather than making a view."""
        basic = isinstance(part, Known) and (part.obj is None or part.obj is Ellipsis)
        return not (basic or self.is_slice(part) or self.is_integer(part))

    def is_mask(self, part: AV) -> bool:
        return is_tensor(part) and tensor_type(part).dtype in ("bool", "u8") and tensor_type(part).rank > 0

    def check_mask(self, mask: AV, tensor: AV, dim: int) -> None:
        """That a mask has the sizes of the dims from `dim` on."""
        for i in range(tensor_type(mask).rank):
            same = self.compare("Eq", self.size_av(mask, i), self.size_av(tensor, dim + i))
            self.check_that(same, "IndexError", "The shape of the mask does not match the shape of the indexed tensor")

    def is_bool(self, part: AV) -> bool:
        """Whether an index is a bool, or a tensor of one: a mask without dims."""
        if is_tensor(part):
            return tensor_type(part).dtype == "bool" and not tensor_type(part).rank
        return self.type_of(part) == BOOL

    def mask_of_one(self, part: AV) -> AV:
        """The places that a mask without dims stands for, in a dim of one: that one, or none."""
        count = self.call(Known(int), [self.truth(part)], {})
        return self.new_filled([count], Known(0), "i64")

    def listed_places(self, part: AV) -> AV:
        """A list in an index as a tensor, or one of several ranks; one without items is a tensor of floats."""
        held = self.value(part).type if isinstance(part, ListV) and part.items is None else None
        if isinstance(held, ListType) and held.elem == STR:
            self.raises_at_run_time("TypeError", "new(): invalid data type 'str'")
        made = self.call(Known(torch.tensor), [part], {})
        return self.split(made, lambda t: self.cast(t, "i64") if tensor_type(t).dtype in FLOATING else t)

    def with_places(self, index: AV) -> AV:
        """The index of a tensor with lists whose length is known only at run time as tensors."""
        if isinstance(index, Tup) and index.cls is tuple:
            return Tup([self.with_places(i) for i in index.items])
        return self.listed_places(index) if isinstance(index, ListV) and not index.is_tuple and index.items is None else index

    def index_tensors_of(self, part: AV, tensor: AV, dim: int) -> list[AV]:
        """The tensors of places that an index of `tensor` from `dim` on stands for: a mask stands for one per dim."""
        if isinstance(part, RangeV):
            steps = self.call(Known(torch.arange), [self.call(Known(len), [part], {})], {})
            part = self.binary("Add", self.binary("Mult", steps, part.step), part.start)
        if isinstance(part, Known) and isinstance(part.obj, range):
            part = Known([*part.obj])
        if isinstance(part, (ListV, Tup)) or (isinstance(part, Known) and isinstance(part.obj, (list, tuple))):
            part = self.listed_places(part)
        if is_text(part):
            self.raises_at_run_time("TypeError", "new(): invalid data type 'str'")
        if is_complex_number(part) or self.type_of(part) == FLOAT:
            taken = "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices"
            self.raises_at_run_time("IndexError", f"{taken} (got {self.type_name(part)})")
        if not is_tensor(part):
            self.fail("index_of_other", what=describe(part))
        t = tensor_type(part)
        if t.dtype in ("i64", "i32"):
            return [part]
        if t.dtype not in ("bool", "u8"):
            self.raises_at_run_time("IndexError", "tensors used as indices must be long, int, byte or bool tensors")
        self.check_mask(part, tensor, dim)
        places = self.op("nonzero", part)
        return [Dyn(self.build("select", [self.value(places), self.const(i)], dim=1)) for i in range(t.rank)]

    def is_integer(self, av: AV) -> bool:
        if isinstance(av, Known):
            return isinstance(av.obj, int) and not isinstance(av.obj, bool)
        return isinstance(av, Dyn) and av.type == INT

    def slice_dim(self, tensor: AV, dim: int, part: AV) -> AV:
        bounds: list[AV]
        if isinstance(part, Known):
            bounds = [Known(getattr(part.obj, n)) for n in ("start", "stop", "step")]
        else:
            assert isinstance(part, Tup)
            bounds = list(part.items)
        start, stop, step = (None if isinstance(b, Known) and b.obj is None else b for b in bounds)
        if isinstance(step, Known) and isinstance(step.obj, int) and step.obj <= 0:
            self.raises_at_run_time("ValueError", "step must be greater than zero")
        operands = [
            self.value(tensor),
            self.integer(start) if start is not None else self.const(0),
            self.integer(stop) if stop is not None else self.const(2**63 - 1),
            self.integer(step) if step is not None else self.const(1),
        ]
        return Dyn(self.build("slice", operands, dim=dim))


def _mask_in(picked: dict[int, AV]) -> list[AV] | None:
    """The dim and the mask, where a mask alone picks."""
    return next(([Known(dim), index] for dim, index in picked.items() if tensor_type(index).dtype == "bool"), None)
