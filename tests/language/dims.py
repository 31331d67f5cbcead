"""Lists of dims that the program makes: what a function of torch takes of them is known at compile time."""

from __future__ import annotations

import math

import torch

from language.cases import cases

X = torch.arange(120.0).view(2, 3, 4, 5)


@cases(X, X.transpose(0, 3))
def left_out_by_a_test(x):
    kept = [i for i in range(x.dim()) if i != 2]
    others = [i for i in range(x.dim()) if i not in (0, 2)]
    return x.sum(kept, keepdim=True), x.mean(others), [x.shape[i] for i in others]


@cases(X, X[0])
def sliced(x):
    axes = [i for i in range(len(x.shape))]  # noqa: C416
    for axis in axes[2:]:
        x = x.mean(axis, keepdim=True)
    return x.mean(dim=axes[:-2]), x.amax([i for i in range(1, x.dim())][::-1])


@cases(X, X[0])
def deleted_and_sorted(x):
    axes = list(range(x.dim()))
    del axes[2]
    del axes[0]
    mean = x
    for axis in reversed(sorted(axes)):  # noqa: C413
        mean = mean.mean(axis, True)
    axes.append(0)
    axes.sort(reverse=True)
    for axis in axes:
        x = x.sum(axis)
    return mean, x


@cases((X, 1), (X, 3))
def removed(x, n):
    dims = list(range(x.dim()))
    dims.remove(1)
    dims.pop()
    collected = []
    for i in range(x.dim()):
        if i != 1:
            collected.append(i)
    return x.amax(dims) * n, x.mean(collected)


@cases(X)
def sorted_by_a_key(x):
    order = sorted(range(x.dim()), key=lambda i: -i)
    back = [d for d in range(-1, -x.dim(), -1)]  # noqa: C416
    back.sort()
    by_parity = sorted([i for i in range(x.dim()) if i % 2 == 0] + [1, 3], key=lambda i: i % 2)
    return x.permute(order), x.flip(back), x.permute(by_parity), by_parity


@cases((X, 5), (X, 0))
def sorted_as_far_as_known(x, n):
    asked = []

    def key(i):
        asked.append(i)
        return -i

    found = sorted([3, 1, 2], key=key), asked
    try:
        sorted([1, "a"])
    except TypeError as e:
        return found, sorted([n, 2, 1]), sorted({3, 1, 2}), sorted("hello"), sorted([2, 1], key=lambda i: i * n), str(e)


def folded(x, by):
    """Needs the number of dims at compile time."""
    return torch.stack((x[..., 0::2] * by, x[..., 1::2]), dim=x.dim()).reshape(x.shape)


@cases((X[0, 0], 2, 0), (X[0, 0], 2, 1), (X[0, 0], 0, 2))
def of_one_of_several_ranks(x, by, way):
    if way:
        x = x.reshape(-1, 2, 2)
    if way > 1:
        x = x[0]
    before = x.dim()
    x = folded(x[..., :4], by=by)
    return folded(x, by + 1).reshape(-1, 2), before


@cases((X, 1), (X, 2), (X[0], 2))
def left_out_by_an_argument(x, k):
    return x.sum([i for i in range(x.dim()) if i != k])


IMAGE = torch.arange(162.0).view(2, 1, 9, 9)


@cases((IMAGE, X), (IMAGE[:, :, :5, 1:], X), (IMAGE[:1, :, 1:], X[0]))
def kernel_of_a_size(image, x):
    k = image.shape[-1] // 4 + 1
    pooled = torch.nn.functional.avg_pool2d(image, k, stride=k // 2 + 1, padding=k // 2)
    return pooled, x.sum()


@cases(((IMAGE,), IMAGE[:1]), ((IMAGE[:, :, 2:],), IMAGE[:1, :, 2:]), ((IMAGE[:, :, 2:],), IMAGE))
def kernel_of_the_size_of_an_item(images, images_0):
    """The names of the item and of the second argument are spelt alike."""
    high = torch.cat((images[0], images[0][:, :, :2]), 2).shape[2]
    dilated = torch.nn.functional.conv2d(images[0], torch.ones(1, 1, 2, 2), dilation=max(1, high // 4))
    return dilated, images[0].shape[2] == images_0.shape[2], images[0].sum(2) + images_0.sum(2)


@cases((IMAGE, 2), (IMAGE[:1, :, 1:, 1:], 1), (IMAGE[:1], 3))
def kernel_of_the_size_of_an_appended_item(image, n):
    made = []
    for i, kept in enumerate((True, False, True)):
        image = torch.nn.functional.avg_pool2d(image + i, 2, 1, 1)
        if kept:
            made.append(image)
    scales = []
    for _ in range(n):
        scales.append(image * 2)
    return torch.nn.functional.avg_pool2d(torch.cat((made[0], image[:, :, 2:, 2:]), 1), made[0].shape[-1] // 3), scales


@cases({"x": X}, {"x": X[:, :2]})
def dims_of_a_size(x):
    found = []
    for i in range(x.shape[1]):
        found += [i] if i != 1 else []
    return x.sum(found)


@cases((X, 2), (X[:, :2], 2), (X, 3))
def kinds_by_a_size(x, n):
    parts = (x, "text", 2.5, None)
    return parts[x.shape[1] - 1], parts[n]


@cases((X[0, 0], 1), (X[0, 0, :, :3], 1), (X[0], 2))
def pads_as_pairs(x, dim):
    pad = [(0, 0)] * x.ndim
    pad[dim] = (0, -x.shape[dim] % 4)
    return torch.nn.functional.pad(x, pad=sum(pad[::-1], ()))


@cases((X,), (X[:, :1],))
def shapes_of_several_ranks(x):
    """As einops unpacks tensors: -1 stands for a size that follows from the others, and no size is negative."""
    shapes = []
    for t in (x, x[0], x[0, 0]):
        shapes.append(t.shape[2:])
    lengths = [-1 if -1 in shape else math.prod(shape) for shape in shapes]
    places = [0] * len(shapes) + [x.numel()]
    if sum(int(n == -1) for n in lengths) == 0:
        for i, n in enumerate(lengths[:-1]):
            places[i + 1] = places[i] + n
    else:
        unknown = lengths.index(-1)
        for i in range(unknown):
            places[i + 1] = places[i] + lengths[i]
    flat = x.reshape(-1)
    found = [flat[places[i] : places[i] + lengths[i]].reshape((*shape, 1)) for i, shape in enumerate(shapes)]
    return found, places, x.shape[0] > -1, -2 == len(places)


@cases((X[0, 0], 2), (X[0, 0], 3), (X[0], 2))
def dims_from_a_range_in_a_zip(x, n):
    for dim, size, step in zip(range(1, x.dim()), (2, n), (1, 2)):  # noqa: B905
        x = x.unfold(dim, size, step)
    return x


@cases((X[0, 0],), (X[0, 0, :2],), (X[0, 0, :1],))
def kinds_where_a_size_decides(x):
    """No type holds a pair and a generator, so the code is read for each size."""
    pair = x, x + 1
    if len(x) > 1:
        pair = map(lambda t: t[:1], pair)
    first, second = pair
    found = first + second if x.shape[0] != 2 else "two"
    return found, second
