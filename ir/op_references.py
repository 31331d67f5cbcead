"""The references of op rows, which the interpreter calls: a torch function, or a composition of several."""

from __future__ import annotations

import builtins
import functools
import importlib
import math
from collections.abc import Callable, Mapping
from typing import Any

from scriptc.ir.dtypes import TORCH_NAMES
from scriptc.ir.integer_references import references as integer_references
from scriptc.ir.ops.views import OWN_OFFSET
from scriptc.ir.sign_references import references as sign_references
from scriptc.ir.sign_references import suggests_channels_last as suggests


@functools.cache
def log_sum_exp(*logs: float) -> float:
    largest = max(logs)
    return largest + math.log(sum(math.exp(log - largest) for log in logs))


def resolve(name: str) -> Callable[..., Any]:
    """Return the callable that a dotted name stands for: of a module, an operator of torch, or a method.

    Methods of `Tensor` and of Python's builtin classes are called with the object first.
    """
    import torch

    head, *rest = name.split(".")
    first: Any = torch.Tensor if head == "Tensor" else getattr(builtins, head, None) or importlib.import_module(head)
    found: Callable[..., Any] = functools.reduce(getattr, rest, first)
    return found


def _own_refs() -> Mapping[str, Callable[..., Any]]:
    """Return the references that are compositions of functions of torch and NumPy, by name."""
    import numpy
    import torch

    def reduce(name: str) -> Callable[..., Any]:
        def run(x: Any, dim: tuple[int, ...], keepdim: bool, dtype: Any, first: bool = False, equal_nan: bool = False) -> Any:
            if name == "prod":
                x = x.to(dtype, copy=True)
                for d in sorted(dim, reverse=True):
                    x = torch.prod(x, d, keepdim)
                return x
            if name == "sum_squares":
                wide = x.to(dtype) if dtype == torch.float64 else x.to(dtype).to(torch.float32)
                return torch.sum(wide * wide, dim, keepdim).to(dtype)
            f: Callable[..., Any] = getattr(torch, name)
            if not dim:  # torch reads an empty tuple as all dims
                return x.to(torch.bool if name in ("all", "any") else dtype, copy=True).to(dtype)
            if name in ("sum", "mean"):
                return f(x, dim, keepdim, dtype=dtype)
            return f(x, dim, keepdim)

        return run

    def slice_(x: Any, dim: int, start: int, end: int, step: int) -> Any:
        return x[(slice(None),) * dim + (slice(start, end, step),)]

    def select(x: Any, dim: int, index: int) -> Any:
        return x[(slice(None),) * (dim % max(x.dim(), 1)) + (index,)]

    def empty(size: Any, dtype: Any) -> Any:
        return torch.empty(size, dtype=dtype).zero_()

    def where(c: Any, a: Any, b: Any, dtype: Any) -> Any:
        return torch.where(c, a, b).to(dtype)

    def extreme(name: str) -> Callable[..., Any]:
        def run(*operands: Any) -> Any:
            dtype = next(x.dtype for x in operands if isinstance(x, torch.Tensor))
            return getattr(torch, name)(*(torch.as_tensor(x, dtype=dtype) for x in operands))

        return run

    def linear_packed(x: Any, w: Any, bias: Any, features: int) -> Any:
        return torch.nn.functional.linear(x, w, bias)

    def linear_activated(x: Any, w: Any, bias: Any, activation: Any, features: int) -> Any:
        return activation(torch.nn.functional.linear(x, w, bias))

    def linear_argmax(x: Any, w: Any, bias: Any, estimate: Any, keepdim: bool) -> Any:
        return torch.argmax(torch.nn.functional.linear(x, w, bias), -1, keepdim)

    def conv_transpose2d(x: Any, w: Any, bias: Any, arranged: Any, *how: Any) -> Any:
        return torch.conv_transpose2d(x, w if arranged is None else arranged, bias, *how)

    def convolution_backward(grad: Any, x: Any, w: Any, how: tuple[Any, ...], place: int) -> Any:
        stride, padding, dilation, groups = how
        sizes = zip(grad.shape[2:], x.shape[2:], w.shape[2:], stride, padding, dilation, strict=True)
        missing = [(n + 2 * p - d * (k - 1) - 1) // s + 1 - size for size, n, k, s, p, d in sizes]
        whole = torch.nn.functional.pad(grad, (0, missing[1], 0, missing[0]))
        mask = [i == place for i in range(3)]
        return torch.ops.aten.convolution_backward(
            whole, x, w, None, stride, padding, dilation, False, (0, 0), groups, mask
        )[place].contiguous()  # fmt: skip

    def conv2d_backward_input(grad: Any, w: Any, height: int, width: int, *how: Any) -> Any:
        x = grad.new_zeros(grad.shape[0], w.shape[1] * how[3], height, width)
        return convolution_backward(grad, x, w, how, 0)

    def conv2d_backward_weight(x: Any, grad: Any, height: int, width: int, *how: Any) -> Any:
        w = grad.new_zeros(grad.shape[1], x.shape[1] // how[3], height, width)
        return convolution_backward(grad, x, w, how, 1)

    def layer_norm_backward(grad: Any, x: Any, sizes: Any, weight: Any, eps: float) -> Any:
        wide = torch.float64 if x.dtype == torch.float64 else torch.float32
        whole = torch.ones(sizes, dtype=wide) if weight is None else weight
        _, mean, scale = torch.native_layer_norm(x, sizes, whole, None, eps)
        first, second, _ = torch.ops.aten.native_layer_norm_backward(
            grad, x, sizes, mean, scale, whole, None, [True, True, False]
        )  # fmt: skip
        return first, second.to(wide)

    def max_pool2d_backward(grad: Any, x: Any, *how: Any) -> Any:
        _, index = torch.ops.aten.max_pool2d_with_indices(x, *how)
        return torch.ops.aten.max_pool2d_with_indices_backward(grad, x, *how, index)

    def conv2d_packed(
        x: Any, packed: Any, add: Any, channels_last: bool, activation: Any, *where: Any, weight: Any, stride: Any,
        padding: Any, dilation: Any, groups: int, low: float, high: float, add_first: bool = False, in_place: bool = False,
        room: int = 0, at: int = 0,
    ) -> Any:  # fmt: skip
        w, bias, *prologue = packed
        made = torch.conv2d(prologue[0](x) if prologue else x, w, bias, stride, padding, dilation, groups)
        if add is not None:
            made = made.add_(add) if in_place else add + made if add_first else made + add
        order = torch.channels_last if channels_last else torch.contiguous_format
        made = made.clamp(low, high)
        return (made if activation is None else activation(made)).contiguous(memory_format=order)

    def with_prologue(applied: bool, scale: Any, shift: Any, packed: Any, least: float, most: float) -> Any:
        def prologue(x: Any) -> Any:
            scaled = x * scale if shift is None else x * scale + shift
            return scaled.clamp(least, most)

        return (*packed, prologue) if applied else packed

    def suggests_channels_last(*tensors: Any) -> bool:
        return any(suggests(x.shape, x.stride()) for x in tensors if x.dim() == 4)

    def scatter(x: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool) -> Any:
        if reduce == "set":
            return torch.scatter(x, dim, index, src)
        name = {"add": "sum"}.get(reduce, reduce)
        return torch.scatter_reduce(x, dim, index, src, name, include_self=include_self)

    def arg_scan(x: Any, dim: int, largest: bool) -> Any:
        return (torch.cummax if largest else torch.cummin)(x, dim)[1]

    def extreme_scan(x: Any, dim: int, largest: bool) -> Any:
        return (torch.cummax if largest else torch.cummin)(x, dim)[0].contiguous()

    def argsort(x: Any, dim: int, descending: bool, stable: bool) -> Any:
        return torch.sort(x, dim=dim, descending=descending, stable=stable)[1]

    def topk(x: Any, k: int, dim: int, largest: bool, sorted: bool) -> Any:
        return torch.topk(x, k if x.dim() else 1, dim, largest, sorted)[1].contiguous()

    def kthvalue(x: Any, k: int, dim: int) -> Any:
        return torch.kthvalue(x, k, dim, keepdim=True)[1]

    def resample(x: Any, index: Any, weight: Any, dim: int) -> Any:
        shape = [-1 if d == dim else 1 for d in range(x.dim())]
        parts = [x.index_select(dim, i) * w.reshape(shape) for i, w in zip(index, weight, strict=True)]
        return sum(parts[1:], parts[0])

    def nms(boxes: Any, scores: Any, threshold: float) -> Any:
        if boxes.dtype not in (torch.float32, torch.float64):
            names = {torch.int64: "Long", torch.float16: "Half", torch.bfloat16: "BFloat16"}
            raise NotImplementedError(f"\"nms_kernel\" not implemented for '{names.get(boxes.dtype, boxes.dtype)}'")
        if boxes.shape[1] != 4:
            raise RuntimeError(f"boxes should have 4 elements in dimension 1, got {boxes.shape[1]}")
        if len(boxes) != len(scores):
            raise RuntimeError("boxes and scores should have same number of elements in dimension 0, got "
                               f"{len(boxes)} and {len(scores)}")  # fmt: skip
        kept, left = [], torch.sort(scores, descending=True, stable=True)[1]
        areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        while len(left):
            first, left = left[0], left[1:]
            kept.append(first)
            low, high = torch.maximum(boxes[first, :2], boxes[left, :2]), torch.minimum(boxes[first, 2:], boxes[left, 2:])
            shared = (high - low).clamp(min=0).prod(1)
            left = left[~((shared / (areas[first] + areas[left] - shared)).double() > threshold)]
        return torch.stack(kept) if kept else torch.empty(0, dtype=torch.int64)

    def roi_align(x: Any, rois: Any, scale: float, height: int, width: int, ratio: int, aligned: bool) -> Any:
        if rois.shape[1] != 5:
            raise RuntimeError("rois must have shape as Tensor[K, 5]")
        if not x.dtype.is_floating_point:
            raise NotImplementedError("\"roi_align_forward_kernel\" not implemented for 'Long'")

        def weights(start: Any, end: Any, bins: int, size: int) -> Any:
            """Return the mean, over the samples of each bin, of the weights of the elements along one dim."""
            start = start * scale - 0.5 * aligned
            length = end * scale - 0.5 * aligned - start
            length = length if aligned else length.clamp(min=1)
            samples = ratio if ratio > 0 else max(int((length / bins).ceil()), 0)
            sampled = torch.zeros(bins, size, dtype=x.dtype)
            for at in range(bins * samples):
                place = start + at // samples * length / bins + (at % samples + 0.5) * length / bins / samples
                if -1 <= place <= size:
                    place = place.clamp(0, size - 1)
                    low = int(place)
                    sampled[at // samples, low] += 1 - (place - low)
                    sampled[at // samples, min(low + 1, size - 1)] += place - low
            return sampled / max(samples, 1)

        out = x.new_empty(len(rois), x.shape[1], height, width)
        for i, (image, left, top, right, bottom) in enumerate(rois):
            rows, columns = weights(top, bottom, height, x.shape[2]), weights(left, right, width, x.shape[3])
            out[i] = rows @ x[int(image)] @ columns.T
        return out

    def plain(x: Any) -> Any:
        new = torch.empty(x.shape, dtype=x.dtype)
        return x if x.stride() == new.stride() else new.copy_(x)

    def proved(xs: Any, index: int) -> int:
        assert 0 <= index < len(xs), f"an index that was proved lies outside: {index} of {len(xs)}"
        return index

    def as_strided(x: Any, size: Any, stride: Any, offset: int) -> Any:
        return torch.as_strided(x, size, stride, None if offset == OWN_OFFSET else offset)

    def power(a: Any, b: Any) -> Any:
        """Return the power. For small exponents of complex tensors, the front end builds other ops, as eager does."""
        if isinstance(a, torch.Tensor) and a.is_complex() and not isinstance(b, torch.Tensor):
            return torch.pow(a, torch.tensor(b, dtype=a.dtype))
        return torch.pow(a, b)

    def heaviside(a: Any, b: Any) -> Any:
        """Return torch.heaviside, for numbers too."""
        dtype = next(v.dtype for v in (a, b) if isinstance(v, torch.Tensor))
        return torch.heaviside(*(v if isinstance(v, torch.Tensor) else torch.tensor(v, dtype=dtype) for v in (a, b)))

    def linear_add(x: Any, w: Any, bias: Any, addend: Any, features: int, first: bool) -> Any:
        product = torch.nn.functional.linear(x, w, bias)
        return addend + product if first else product + addend

    def linear_rows(rows: Any, source: Any, index: int, stop: int, w: Any, bias: Any, dim: int, **how: Any) -> Any:
        row = source[index] if isinstance(source, list) else source.select(dim, index)
        return torch.nn.functional.linear(row, w, bias)

    def concat(*tensors: Any, slot: int = 0, store: str = "") -> Any:
        joined = torch.cat(tensors) if len(tensors) > 1 else tensors[0].clone()
        return joined.to(getattr(torch, TORCH_NAMES[store])).to(joined.dtype) if store else joined

    def random_fill(dst: Any, a: float, b: float, kind: str) -> None:
        getattr(dst, f"{kind}_")(*([a, b] if kind in ("uniform", "normal") else [a]))

    def random_slopes(dst: Any, x: Any, lower: float, upper: float) -> None:
        torch.ops.aten.rrelu_with_noise(x, dst, lower, upper, True)

    def random_places(dst: Any, sums: Any) -> None:
        weights = torch.diff(sums, dim=-1, prepend=torch.zeros_like(sums[..., :1]))
        dst.copy_(torch.multinomial(weights, dst.size(-1), replacement=True))

    def stacked_put(stacked: Any, item: Any, total: int, dim: int, stack: bool) -> None:
        stacked.append(item)

    def stacked_join(stacked: Any, dim: int, stack: bool) -> Any:
        return torch.stack(stacked, dim) if stack else torch.cat(stacked, dim)

    def outer_sum_add(added: Any, *matrices: Any) -> None:
        for i, (first, x) in enumerate(zip(added[0] if added else matrices, matrices, strict=True)):
            if first.size(1) != x.size(1):
                sizes = f"The size of tensor a ({first.size(1)}) must match the size of tensor b ({x.size(1)})"
                raise RuntimeError(f"{sizes} at non-singleton dimension {min(i, 1)}")
            if i and len(x) != len(matrices[0]):
                sizes = f"({matrices[0].size(1)}x{len(matrices[0])} and {len(x)}x{x.size(1)})"
                raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied {sizes}")
        added.append([x.clone() for x in matrices])

    def outer_sum_part(added: Any, part: int) -> Any:
        if not added:
            raise RuntimeError("a sum of no matrices has no sizes")
        left, *rights = (torch.cat(rows) for rows in zip(*added, strict=True))
        return left.sum(0) if part < 0 else left.T @ rights[part]

    def tensor_text(
        x: Any, precision: int, threshold: int, edgeitems: int, linewidth: int, default: Any, scientific: int
    ) -> str:  # fmt: skip
        options = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
        with torch._tensor_str.printoptions(**options, sci_mode=None if scientific < 0 else bool(scientific)):
            return str(x.detach())

    def eigh(A: Any, vectors: bool) -> Any:
        batch = A.shape[:-2]
        values, v = torch.linalg.eigh(A) if vectors else (torch.linalg.eigvalsh(A), A.new_empty(*batch, 0, 0))
        return values, v, torch.zeros(batch, dtype=torch.int32)

    def svd(A: Any, vectors: bool, full: bool) -> Any:
        batch = A.shape[:-2]
        info = torch.where(A.isnan().flatten(-2).any(-1), -4, 0).to(torch.int32)
        A = torch.where(info.view(*batch, 1, 1) == 0, A, 0)
        if vectors:
            u, values, vh = torch.linalg.svd(A, full_matrices=full)
        else:
            u, values, vh = A.new_empty(*batch, 0, 0), torch.linalg.svdvals(A), A.new_empty(*batch, 0, 0)
        return u, values, vh, info

    def numpy_fill(dst: Any, a: float, b: float, normals: bool) -> Any:
        draw = numpy.random.standard_normal if normals else numpy.random.random_sample
        return dst.copy_(torch.as_tensor(a + b * draw(tuple(dst.shape))))

    def changed_argument(x: Any, argument: Any) -> Any:
        argument.data = x
        return argument

    def check_other(x: Any, other: Any) -> None:
        if x is other:
            raise NotImplementedError("a tensor changes that is another argument, or is read elsewhere, too")

    def check_absent(x: Any, items: Any) -> None:
        for item in items:
            check_other(x, item)

    def any_requires_grad(x: Any) -> bool:
        if isinstance(x, torch.Tensor):
            return bool(x.requires_grad)
        items = x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else ()
        return any(map(any_requires_grad, items))

    own: dict[str, Callable[..., Any]] = {
        "numpy_fill": numpy_fill,
        "numpy_ints": lambda dst, low, high: dst.copy_(torch.as_tensor(numpy.random.randint(low, high, tuple(dst.shape)))),
        "numpy_shuffle": lambda dst: dst.copy_(torch.from_numpy(numpy.random.permutation(len(dst)))),
        "tensor_text": tensor_text, "linalg:eigh": eigh, "linalg:svd": svd,
        "random_fill": random_fill, "random_slopes": random_slopes, "random_places": random_places,
        "random_permute": lambda dst: dst.copy_(torch.randperm(len(dst))),
        "random_state": lambda dst: dst.copy_(torch.get_rng_state()),
        "heaviside": heaviside, "power": power, "plain": plain,
        "scatter": scatter, "arg_scan": arg_scan, "extreme_scan": extreme_scan, "argsort": argsort, "as_strided": as_strided,
        "scan:cumsum": torch.cumsum, "scan:cumprod": torch.cumprod,
        "scan:logcumsumexp": lambda x, dim, dtype: torch.logcumsumexp(x, dim),
        "slice": slice_, "select": select, "empty": empty, "where": where, "linear_packed": linear_packed,
        "pack_estimate": lambda weight: weight, "linear_argmax": linear_argmax, "linear_activated": linear_activated,
        "linear_add": linear_add, "linear_rows": linear_rows, "rows_new": list,
        "concat": concat,
        "cat_items": lambda *tensors, dim, in_place=False: torch.cat(tensors, dim),
        "outer_sum_new": lambda matrices: [], "outer_sum_add": outer_sum_add, "outer_sum_part": outer_sum_part,
        "linked": lambda x, sources: x,
        "with_data": lambda x, owner: x,
        "leaf": lambda x, *source, parameter, requires_grad: x,
        "changed_argument": changed_argument,
        "leaf_argument": lambda x, *source: x,
        "check:other": check_other,
        "check:absent": check_absent,
        "requires_grad": lambda x: bool(x.requires_grad),
        "any_requires_grad": any_requires_grad,
        "is_defined": lambda x: x is not None,
        "size_or_zero": lambda x, dim: x.size(dim) if isinstance(x, torch.Tensor) else 0,
        "topk": topk, "kthvalue": kthvalue, "resample": resample, "nms": nms, "roi_align": roi_align,
        "conv_transpose2d": conv_transpose2d,
        "conv2d_backward_input": conv2d_backward_input, "conv2d_backward_weight": conv2d_backward_weight,
        "max_pool2d_backward": max_pool2d_backward,
        "layer_norm_backward": layer_norm_backward,
        "pack_conv": lambda w, bias, depthwise, dense=False: (w.clone(), bias), "conv2d_packed": conv2d_packed,
        "with_prologue": with_prologue,
        "place": lambda x, *where, room, at: x.clone(),
        "suggests_channels_last": suggests_channels_last,
        "arrange_transposed": lambda w, *how: w.clone(),
        "stacked_put": stacked_put, "stacked_join": stacked_join,
        "frexp_mantissa": lambda x: torch.frexp(x)[0],
        "frexp_exponent": lambda x: torch.frexp(x)[1].to(x.dtype),
        "floor_div": lambda a, b: torch.div(a, b, rounding_mode="floor"),
        "trunc_div": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
        "log_sum_exp": log_sum_exp,
        "float_item": lambda x: float(x.item()), "int_item": lambda x: int(x.item()),
    }  # fmt: skip
    own |= {
        "list:at": lambda xs, i: xs[proved(xs, i)], "list:put": lambda xs, i, x: xs.__setitem__(proved(xs, i), x),
        "str:code": lambda s, i: ord(s[i]), "str:slice": lambda s, *bounds: s[slice(*bounds)],
        "str:escaped": lambda s: s.encode("ascii", "backslashreplace").decode(),
        "str:push": lambda s, code: s + chr(code), "str:holds": lambda s, code: chr(code) in s,
        "code:islinebreak": lambda code: len(f"a{chr(code)}b".splitlines()) == 2,
    }  # fmt: skip
    tests = ("isalpha", "isdecimal", "isdigit", "isnumeric", "isspace", "isprintable", "isalnum", "islower", "isupper", "lower",
             "upper")  # fmt: skip
    def of_code(name: str) -> Callable[..., Any]:
        return lambda code: getattr(chr(code), name)()

    own |= {f"code:{n}": of_code(n) for n in tests}
    own |= {n: extreme(n) for n in ("maximum", "minimum")}
    own |= sign_references()
    own |= integer_references()
    own |= {f"reduce:{n}": reduce(n) for n in ("sum", "mean", "sum_squares", "prod", "amax", "amin", "all", "any")}
    return own


@functools.cache
def reference(op_name: str) -> Callable[..., Any]:
    """Return the interpreter's callable for an op: the row's `ref`, by default the first of its torch names."""
    from scriptc.ir.ops import OPS

    defn = OPS[op_name]
    name = defn.ref or defn.torch[0]
    return _own_refs().get(name) or resolve(name)
