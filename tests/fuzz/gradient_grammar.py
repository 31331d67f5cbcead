"""The grammar of the fuzzer of gradients: programs over tensors of a few shapes, through most of which gradients flow.

A `row` has three elements, a `mat` some rows, a `sq` three rows, a `vec` some elements and a `scalar` no dims; `two` is a list
of two rows. Values stay small: what could grow in a loop goes through `tanh`. No template has an infinite derivative at a
finite value.
"""

from __future__ import annotations

from tests.fuzz.productions import Grammar

# A module that programs read, by `NET` in each dtype, and helpers.
PRELUDE = '''\
import dataclasses
import functools
import math
import typing

import torch
from torch import nn
from torch.nn import functional as F


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.gain = nn.Parameter(torch.linspace(-1, 1, 3))

    def forward(self, q):
        return torch.tanh(self.lin(q)) * self.gain


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.w = nn.Parameter(torch.tensor([0.5, -1.0, 0.25]))
        self.s = nn.Parameter(torch.tensor(0.75))
        self.fixed = nn.Parameter(torch.tensor([1.0, 0.5, -0.5]), requires_grad=False)
        self.ws = nn.ParameterList([torch.tensor([1.0, 0.0, -1.0]), torch.tensor([0.5, 0.5, 0.25])])
        self.layers = nn.ModuleList([Scaled(), nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 3), nn.Tanh())])
        self.register_buffer("seen", torch.tensor([0.25, -0.25, 1.0]))

    def forward(self, q):
        for layer in self.layers:
            q = torch.tanh(layer(q))
        return q * self.w + self.seen


class Step(typing.NamedTuple):
    h: torch.Tensor
    c: torch.Tensor


@dataclasses.dataclass
class Box:
    n: int
    v: torch.Tensor


def mixed(a, b, k=2):
    for i in range(k):
        a = torch.tanh(a * b) + a
    return a


torch.manual_seed(0)
NET = Net().double()
NET32 = Net()


'''
DTYPE = "torch.float64"  # as texts have it; some programs have float32 in its place

PARAMETERS = {
    "n": "int", "k": "int", "p": "float", "flag": "bool", "x": "mat", "w": "row", "m": "sq", "v": "vec", "s": "scalar",
    "ys": "rows", "h": "maybe", "ids": "ids",
}  # fmt: skip

KINDS = {
    "row": 8, "mat": 5, "sq": 2, "vec": 2.5, "scalar": 3, "rows": 2, "two": 1.5, "maybe": 2, "parts": 1, "pair": 0.7,
    "state": 0.6, "box": 0.4, "int": 1.5, "float": 1, "bool": 0.7, "ids": 0.7,
}  # fmt: skip

LEAVES = {
    "int": ["$digit", "2", "0", "-1", "1"],
    "float": ["0.0", "0.5", "-1.5", "2.0", "1.0"],
    "bool": ["True", "False"],
    "row": ["torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)", "torch.zeros(3, dtype=torch.float64)", "NET.w", "NET.seen"],
    "mat": ["torch.ones(2, 3, dtype=torch.float64)", "torch.zeros(1, 3, dtype=torch.float64)"],
    "sq": ["torch.eye(3, dtype=torch.float64)", "NET.lin.weight"],
    "vec": ["torch.ones(2, dtype=torch.float64)", "torch.zeros(0, dtype=torch.float64)"],
    "scalar": ["torch.tensor(0.5, dtype=torch.float64)", "NET.s"],
    "rows": ["[torch.ones(3, dtype=torch.float64)]", "[NET.w]"],
    "two": ["[torch.ones(3, dtype=torch.float64), NET.w]"],
    "maybe": ["None"],
    "parts": ["(NET.w, torch.ones(3, dtype=torch.float64))"],
    "pair": ["(NET.w, NET.s)"],
    "state": ["Step(NET.w, torch.zeros(3, dtype=torch.float64))"],
    "box": ["Box(1, torch.ones(3, dtype=torch.float64))"],
    "ids": ["torch.tensor([0, 2, 1])", "torch.tensor([2, 2, 0])", "torch.arange(3)"],
    "layer": ["NET.layers[0]", "NET.lin"],
}  # fmt: skip


def _pointwise(kind: str) -> list[str | tuple[float, str]]:
    """Return templates that keep the shape."""
    t = f"${kind}"
    return [
        f"({t} + {t})", f"({t} - {t})", f"({t} * {t}).tanh()", f"({t} * $scalar).tanh()", f"({t} * $float)", f"($float - {t})",
        f"{t}.tanh()", f"{t}.sigmoid()", f"torch.relu({t})", f"{t}.abs()", f"torch.where({t} > $float, {t}, {t})",
        f"{t}.clamp(-1, 1)", f"torch.maximum({t}, {t})", f"({t} / ({t}.abs() + 1))", f"{t}.clone()", f"({t} if $bool else {t})",
        (0.5, f"{t}.detach()"), (0.5, f"torch.zeros_like({t})"), f"torch.sqrt({t} * {t} + 1)", f"{t}.square().tanh()",
        f"F.softplus({t})", f"{t}.masked_fill({t} > $float, $float)", f"torch.where({t} > $float, $float, {t})",
        (0.5, f"torch.lerp({t}, {t}, 0.25)"), (0.5, f"mixed({t}, {t})"), (0.3, f"{t}.float().to(torch.float64)"),
        (0.5, f"(lambda q: q * 0.5 + {t})({t})"), f"torch.minimum({t}, {t})", f"torch.add({t}, {t}, alpha=$float)",
        (0.3, f"{t}.round()"), (0.5, f"mixed({t}, $scalar, $small)"),
    ]  # fmt: skip


EXPRESSIONS: dict[str, list[str | tuple[float, str]]] = {
    "int": [
        "($int + $int)", "($int % 5)", "len($rows)", "$mat.shape[0]", "$vec.numel()", "int($row.sum() > $float)",
        "($int if $bool else $int)", "$row.argmax().item()", "$ids[$bit].item()", "min($int, 4)", "$box.n", "$mat.size(0)",
    ],
    "float": [
        "($float * 0.5)", "(-$float)", "($int % 4 / 4)", "($float if $bool else $float)", "$row.sum().tanh().item()",
        "float($bool)", "min($float, 1.0)",
    ],
    "bool": [
        "($int $cmp $int)", "bool($row.sum() > $float)", "bool(($row > $float).any())", "($maybe is None)", "(not $bool)",
        "($float < $float)", "(len($rows) > 1)", "bool($scalar < $float)", "($int % 2 == 0)",
    ],
    "row": [
        *_pointwise("row"), "$mat[$small]", "$mat[$small]", "$mat.sum(0)", "$mat[$slice].sum(0)", (0.5, "$mat.mean(0)"),
        "$mat.amax(0)", "$mat.max(0)[0]", "$mat.min(0).values", "$mat.select(0, $small)", "$sq[:, $bit]", "$sq.diagonal()",
        "$sq[$bit]", "$sq[$small % 3]", "$rows[$small]", "$rows[-1]", "$rows[$int]", "torch.stack($rows).sum(0)", "sum($rows)",
        "sum($rows, $row)", "$row.cumsum(0)", "$row.flip(0)", "$row.roll(1)", "$row.softmax(0)", "$row.log_softmax(0)",
        "($sq @ $row).tanh()", "($row @ $sq).tanh()", "$row[$ids]", "$row.gather(0, $ids)", "$row.index_select(0, $ids)",
        "torch.cat([$row[:1], $row[1:]])", "torch.cat([$row[$bit:], $row])[:3]", "$row.view(3)", "$row.reshape(1, 3)[0]",
        "$row.unsqueeze(0)[0]", "$row.expand(2, 3)[$bit]", "$row.expand(2, 3).sum(0)", "$parts[$bit]", "$pair[0]",
        "torch.stack([$scalar, $scalar, $scalar])", "torch.stack([q * 2 for q in $row])", "$mat.unbind(0)[$small]",
        "torch.split($mat, 1)[$small][0]", "$mat.chunk(2)[$bit].sum(0)", "$mat.t()[:, $small]", "$row.sort().values",
        "F.layer_norm($row, (3,))", "F.linear($row, $sq).tanh()", "NET.lin($row).tanh()", "NET($row)", "(NET.w * $row)",
        "$layer($row).tanh()", "$row.new_zeros(3)", "$state.h", "$state.c", "$box.v", "$mat.prod(0).tanh()",
        "(NET.fixed * $row)", "torch.cummax($row, 0)[0]", "$row.scatter(0, $ids, $row)", "$row.index_add(0, $ids, $row)",
        "torch.stack($parts)[$bit]", "$mat.narrow(0, $small, 1)[0]", "torch.zeros(3, dtype=torch.float64)",
        "torch.where($sq[0] > 0, $row, $scalar)", "$row.norm() * $row.tanh()", "F.normalize($row + 2, dim=0)",
        "$row.cumprod(0).tanh()", "$sq.view(-1)[$bit:3 + $bit]", "$two[$bit]", "$two[-1]", "torch.stack($two).sum(0)",
        "torch.einsum('i,ij->j', $row, $sq).tanh()",
    ],
    "mat": [
        *_pointwise("mat"), "($mat + $row)", "($mat * $row).tanh()", "($mat @ $sq).tanh()", "$mat[$slice]", "$mat[$slice]",
        "torch.cat([$mat, $mat])[:5]", "torch.cat([$mat, $row.unsqueeze(0)])[:5]", "torch.stack($rows)[:5]",
        "torch.stack([$row, $row])", "$mat.flip(0)", "$mat.cumsum($bit)", "$mat.softmax(1)", "$mat.t().t()",
        "$mat.reshape(-1, 3)", "$row.expand(2, 3)", "$row.expand($positive, -1)", "$mat[$ids]", "$sq[$ids]",
        "torch.where($mat > $row, $mat, $row)", "($mat - $mat.mean(1, keepdim=True))", "NET.lin($mat).tanh()",
        "torch.outer($row, $row).tanh()", "$mat.chunk(2)[0]", "$mat.narrow(0, 0, 1)", "($vec[:4].unsqueeze(1) * $row).tanh()",
        "$mat.max(1, keepdim=True)[0] * $mat.tanh()", "$sq[:2]", "NET($mat)", "$layer($mat).tanh()", "torch.stack($rows)",
        "torch.zeros($positive, 3, dtype=torch.float64)", "$mat.split(2)[$bit]", "$mat.index_select(0, $ids)", "$sq",
        "F.layer_norm($mat, (3,))", "$mat.transpose(0, 1).contiguous().t()",
        "torch.baddbmm($sq[None], $sq[None], $sq[None])[0].tanh()",
        "torch.cat([q.unsqueeze(0) for q in $mat])", "$mat.gather(1, $ids.expand($mat.shape[0], 3))",
        "torch.vstack([$mat, $row])[:5]",
    ],
    "sq": [
        *_pointwise("sq"), "($sq @ $sq).tanh()", "$sq.t()", "($sq * $row).tanh()", "torch.outer($row, $row).tanh()",
        "$sq.tril()", "$sq.triu()", "NET.lin.weight", "torch.stack([$row, $row, $row])", "torch.diag($row)",
        "$sq.softmax($bit)", "($mat.t() @ $mat).tanh()", "$sq.cumsum($bit)", "$row.expand(3, 3)",
        "torch.cat([$sq[:1], $sq[1:]])", "torch.cat([$sq[:, :1], $sq[:, 1:]], 1)", "$sq.permute(1, 0)", "$sq[[2, 0, 1]]",
        "torch.stack($sq.unbind($bit))", "torch.stack($sq.unbind($bit), 1)", "$sq.flip($bit)", "$sq.view(9).view(3, 3)",
    ],
    "vec": [
        *_pointwise("vec"), "$mat.sum(1)", "($mat @ $row).tanh()", "$mat.amax(1)", "$mat[:, $bit]", "($vec + $scalar)",
        "$vec[$slice]", "torch.cat([$vec, $vec])[:5]", "$row", "$mat.reshape(-1)[:5]", "$vec.cumsum(0)", "$vec.flip(0)",
        "torch.stack([q.sum() for q in $rows])", "$vec[$vec > $float]", "$mat.flatten()[:4]", "$mat.logsumexp(1)",
        "$vec.repeat(2)[:5]", "$vec[1:]", "$mat.mean(1)", "$mat.diagonal()", "torch.cat([$vec, $scalar.view(1)])[-5:]",
    ],
    "scalar": [
        *_pointwise("scalar"), "$row.sum()", "$mat.sum()", "$vec.sum()", "$row[$bit]", "$row[-1]", "$mat.mean()", "$row.max()",
        "$row.min()", "($row @ $row).tanh()", "$row.norm()", "$row.logsumexp(0)", "$vec.prod().tanh()", "$sq.trace()",
        "$rows[$small].sum()", "$pair[1]", "torch.tensor($float, dtype=torch.float64)", "$row.mean()", "$row.std()",
        "$sq.max()",
        "F.mse_loss($row, $row)", "$vec[$small]", "NET.s", "$row.select(0, $bit)", "sum([q.sum() for q in $rows], $scalar)",
        "$sq[$bit, $bit]", "$sq[1][$bit]", "$mat[$small, $bit]", "$mat.amax()", "$row.prod().tanh()", "$row.var()",
        "torch.dot($row, $row).tanh()", "F.cross_entropy($row, torch.tensor(1))", "$state.h.sum()",
    ],
    "rows": [
        "[$row, $row]", "[q * 2 for q in $rows]", "[q for q in $mat]", "list($mat.unbind(0))", "($rows + $rows)[:5]",
        "$rows[$slice]", "[q.tanh() for q in $mat]", "list($parts)", "[$row for _ in range(2)]", "[$row]",
        "[q + $row for q in $rows]", "[q for q in $rows if q.sum() > $float]", "$rows[::-1]", "list(reversed($rows))",
        "$rows[$int::-1]", "$rows[$int:$int:2]", "$rows[$int:$int:-1]", "($rows * $bit)[:5]", "$rows.copy()",
        "[$row for _ in range(n)]", "list($mat[:n].unbind(0))", "list($mat.unbind(0)[::-1])",
        "($rows + [$row] + $rows)[-5:]", "list((*$rows, $row))[:5]",
        "[q * $row for q in $rows[::-1]]", "(($rows if $bool else $rows[1:]) + [$row])[:5]",
    ],
    "two": [
        "[$row, $row]", "[q.tanh() * $row for q in $two]", "$two[::-1]", "$two[:1] + [$row]", "list($two)", "$two",
        "[torch.where($row > $float, q, r) for q, r in zip($two, $two)]", "[NET.lin(q).tanh() for q in $two]",
        "($two if $bool else $two)",
    ],
    "maybe": ["None", "None", "$row", "($row if $bool else None)", "(None if $bool else $row)"],
    "parts": [
        "($row, $row)", "($row, $row)", "$parts[::-1]", "tuple($sq.unbind(0))[:2]", "$sq.unbind($bit)[1:]",
        "($parts[1], $parts[0])", "($row, $parts[0])",
    ],
    "pair": ["($row, $scalar)", "($pair[0] * 2, $scalar)"],
    "state": ["Step($row, $row)", "$state._replace(c=$row)", "Step($state.c, $state.h.tanh())"],
    "box": ["Box($int, $row)", "dataclasses.replace($box, v=$row)"],
    "ids": [
        "$row.argsort(stable=True)", "$sq.argmax($bit)", "$ids.flip(0)", "(($ids + 1) % 3)", "$sq.max($bit)[1]",
        "($row > $float).long()",
    ],
    "layer": ["NET.layers[0]", "NET.lin", "NET.layers[$bit]"],
}  # fmt: skip


def _writes(*more: str) -> list[str]:
    """Return statements that write to a tensor of any shape, and more."""
    return [
        "$me.mul_(0.5)", "$me.fill_($float)", "$me.zero_()", "$me *= 0.5", "$me.tanh_()", "$me.sigmoid_()", "$me.relu_()",
        "$me.clamp_(-1, 1)", "$me.masked_fill_($me > $float, 0.5)", "$me[$me > $float] = 0", "$me += $scalar.tanh()",
        "$me.mul_($scalar.tanh())", "$me.neg_()", "$me.add_($scalar, alpha=0.5)", "$me.copy_($scalar)", *more,
    ]  # fmt: skip


MUTATIONS = {
    "row": _writes(
        "$me[$bit] = $scalar", "$me[$bit] = $float", "$me[$slice] = $scalar", "$me[$slice] += $scalar", "$me.add_($row)",
        "$me.mul_($row.tanh())", "$me.copy_($row)", "$me += $row.tanh()", "$me[0], $me[-1] = $me[-1].clone(), $me[0].clone()",
        "$me[1:] = $me[:-1].clone()", "$me[$ids] = $row", "$me.index_add_(0, $ids, $row)", "$me.view(3)[$bit] = $scalar",
        "$me.unsqueeze(0)[0].mul_(0.5)", "$me[1:].add_($scalar)", "$me.sub_($row, alpha=0.5)", "$me.div_($row.abs() + 1)",
        "$me[$bit] *= $scalar.tanh()", "$me.detach().mul_(0.5)", "$me[:2].copy_($me[1:].clone())",
        "$me.scatter_(0, $ids, $row)",
        "$me.index_fill_(0, $ids[:1], $float)", "$me[$bit] = $me[2] * $me[1]", "$me.masked_fill_($me > 0, $scalar)",
        "torch.tanh_($me)", "$me[$row > 0] = $float", "$me[-1] += $row.sum().tanh()",
    ),
    "mat": _writes(
        "$me[$small] = $row", "$me[:, $bit] = $scalar", "$me[$small] += $row.tanh()", "$me[$slice].mul_(0.5)",
        "$me.t().mul_(0.5)", "$me[$small, $bit] = $scalar", "$me[$small].copy_($row)", "$me += $row.tanh()",
        "$me.select(0, $small).zero_()", "$me[$slice] = $row", "$me[:, :2] = $me[:, 1:].clone()",
        "$me.view(-1)[$small] = $float",
        "$me.diagonal().fill_($float)", "$me[$slice, $bit].add_($scalar)", "$me.narrow(0, 0, 1).mul_(0.5)", "$me.add_($mat)",
        "$me[$small][$bit] = $scalar", "$me[$small].tanh_()", "$me.t()[$bit] = 0.5", "$me[0] = $me[-1] * $row",
        "$me[$slice].add_($row)", "$me.narrow(0, 0, 1).fill_($scalar)",
    ),
    "sq": _writes(
        "$me[$bit] = $row", "$me[:, $bit] = $row", "$me.t()[$bit] = $row", "$me.diagonal().copy_($row)", "$me.t().add_($sq)",
        "$me[$bit][1:] = $scalar", "$me[$slice] = $row", "$me.copy_($sq)", "$me[$ids] = $row", "$me.t()[1:].mul_(0.5)",
        "$me.diagonal().mul_($scalar.tanh())", "$me[1:, :2] = $me[:2, 1:].clone()", "$me.view(9)[$small] = $scalar",
    ),
    "vec": _writes("$me[$small] = $scalar", "$me[1:] = $me[:-1].clone()", "$me[$slice].mul_(0.5)", "$me[$slice] = $scalar"),
    "scalar": _writes("$me.add_($row.sum().tanh())", "$me.copy_($row[$bit])"),
    "rows": [
        "$me.append($row)", "$me.append($row)", "$me.append($row)", "$me.append($me[-1].tanh() * $row)",
        "$me.append($me[0] + 1)",
        "$me.extend($rows)", "$me[$small] = $row", "$me.pop()", "$me[$small].mul_(0.5)", "$me += [$row]",
        "$me.append($mat[$small])", "$me.insert($int, $row)", "$me.insert(0, $row)", "$me.insert($small, $me[-1].tanh())",
        "$me.pop(0)", "$me.pop($int)", "del $me[$small]", "del $me[$slice]", "$me[$slice] = $rows[:3]", "$me[-1] = $row",
        "$me[$bit:$int] = $rows[:3]", "$me[::2] = [q * 0.5 for q in $me[::2]]", "$me.reverse()", "$me += $rows[:3]",
        "$me.extend($mat.unbind(0)[:2])", "$me[0], $me[-1] = $me[-1], $me[0] * $row", "$me[$small] = $me[$bit] * $row",
        "$me[:] = $me[$slice]", "$me.clear()", "$me.append($me.pop(0).tanh())", "$me += $me[:2]",
    ],
    "two": [
        "$me[$bit] = $row", "$me[0], $me[1] = $me[1], $me[0] * $row", "$me.append($me.pop(0).tanh())", "$me.reverse()",
        "$me[$bit].mul_(0.5)", "$me[:] = [$row, $row]",
    ],
    "box": ["$me.v = $row", "$me.v = $me.v * 0.5 + $row", "$me.n += 1"],
}  # fmt: skip

AUGMENTED = {
    "int": ["$me += $int % 3", "$me = $me + 1", "$me -= 1"],
    "float": ["$me *= 0.5", "$me = -$me"],
    "bool": ["$me = not $me", "$me = $me and $bool"],
    "row": ["$me = $me + $row", "$me = ($me * $row).tanh()", "$me = torch.tanh($me + $scalar)", "$me = NET.lin($me).tanh()"],
    "mat": ["$me = $me + $row", "$me = ($me @ $sq).tanh()", "$me = $me[1:]", "$me = torch.cat([$me, $row[None]])[-4:]"],
    "sq": ["$me = ($me @ $sq).tanh()", "$me = $me + $sq.t()"],
    "scalar": ["$me = $me + $row.sum()", "$me = ($me * $scalar).tanh()"],
    "vec": ["$me = torch.cat([$me, $scalar.view(1)])[-4:]", "$me = $me[1:] * 0.5"],
    "maybe": ["$me = $row", "$me = None", "$me = $row if $me is None else $me * $row.tanh()"],
    "two": ["$me = [q.tanh() + $row for q in $me]", "$me = [$me[1], $row * $me[0]]", "$me = $two"],
    "parts": ["$me = $me[1], $row", "$me = $me[1], $me[0].tanh()"],
    "state": ["$me = Step($me.h.tanh() * $row, $me.c + $me.h)", "$me = $me._replace(h=$row)"],
}  # fmt: skip

LOOPS: list[tuple[str, list[str]]] = [
    ("$1 in range($small)", ["int"]), ("$1 in range($bit, $small)", ["int"]), ("$1 in range($small, -2, -1)", ["int"]),
    ("$1 in range(n)", ["int"]), ("$1 in range(n)", ["int"]), ("$1 in $mat", ["row"]), ("$1 in $mat", ["row"]),
    ("$1 in $rows[:4]", ["row"]), ("$1, $2 in enumerate($mat)", ["int", "row"]), ("$1, $2 in zip($mat, $rows)", ["row", "row"]),
    ("$1 in $mat.unbind(0)", ["row"]), ("$1 in NET.ws", ["row"]), ("$1 in NET.layers", ["layer"]), ("$1 in $vec", ["scalar"]),
    ("$1 in $mat.split(2)", ["mat"]), ("$1 in reversed(range($positive))", ["int"]), ("$1 in range($mat.shape[0])", ["int"]),
    ("$1, $2 in enumerate($rows[:4], 1)", ["int", "row"]), ("$1 in $sq", ["row"]), ("$1 in $parts", ["row"]),
    ("$1 in $two", ["row"]), ("$1, $2 in zip($two, $two)", ["row", "row"]),
]  # fmt: skip

UNPACKINGS: list[tuple[str, dict[str, str]]] = [
    ("$1, $2 = $sq.chunk(2)", {"$1": "mat", "$2": "mat"}), ("$1, $2, $3 = $sq.unbind($bit)", {"$1": "row", "$2": "row",
    "$3": "row"}),
    ("$1, $2, $3 = $row", {"$1": "scalar", "$2": "scalar", "$3": "scalar"}), ("$1, $2 = $parts", {"$1": "row", "$2": "row"}),
    ("$first, $second = $int, $row", {"$first": "int", "$second": "row"}), ("$1, $2 = $mat.max(0)", {"$1": "row"}),
    ("$1, $2 = $row.sort(stable=True)", {"$1": "row", "$2": "ids"}), ("$1, $2 = $sq.min(1)", {"$1": "row", "$2": "ids"}),
    ("$1, $2 = torch.split($row, [1, 2])", {"$1": "vec", "$2": "vec"}), ("$1, $2 = $pair", {"$1": "row", "$2": "scalar"}),
    ("$1, $2, $3 = torch.cat([$sq, $sq, $sq], 1).chunk(3, 1)", {"$1": "sq", "$2": "sq", "$3": "sq"}),
    ("$1, $2 = $state", {"$1": "row", "$2": "row"}), ("$1, $2 = $rows[0], $rows[-1]", {"$1": "row", "$2": "row"}),
]  # fmt: skip

CLOSURES = {
    "row": ["c = c * 0.5 + q % 3", "c = c.tanh() + a", "c = (c * a).tanh()", "c = NET.lin(c).tanh()"],
    "scalar": ["c = c * 0.5 + q % 2", "c = c + a.tanh()"],
}
CLOSURE_LINES = ["d = (lambda t=d: t - 1)()", "for i in range(q % 3):\n    d += i", "c = c.detach() if d > 7 else c"]

GRAMMAR = Grammar(
    kinds=KINDS,  # type: ignore[arg-type]
    parameters=PARAMETERS,
    leaves=LEAVES,
    expressions=EXPRESSIONS,
    mutations=MUTATIONS,
    items={"rows": "row"},
    loops=LOOPS,
    names=frozenset({"closures", "gradients", "modules"}),
    augmented=AUGMENTED,
    slices=["1:", ":2", ":-1", "-2:", "::2", ":", "$bit:", "$small:", ":$small"],
    unpackings=UNPACKINGS,
    unpacked="row",
    optionals={"maybe": "row"},
    cases=[("$int % 4", ["0", "1 | 2", "3"])],
    closures=CLOSURES,
    closure_lines=CLOSURE_LINES,
    raises=["raise ValueError('no')", "assert $bool", "$row[$int]"],
    caught=["ValueError", "Exception", "IndexError"],
    rebound=("row", "mat", "scalar", "vec"),
    taken=("row", "row", "scalar", "mat", "int", "float", "maybe"),
    given_back=("row", "row", "scalar", "mat", "int", "bool"),
    shared=("row", "scalar", "int"),
    recursion=0.05,
    often={
        "augmented": 1.6, "optional": 2.5, "handled": 0.7, "rebind": 0.4, "deletion": 0.3, "leave": 1.5, "loop": 1.3,
        "managed": 2,
    },  # fmt: skip
    given=("n", "x", "w", "m", "s"),
    results=("row", "row", "mat", "scalar", "vec", "sq", "rows", "two", "maybe"),
    copied=("row", "mat", "sq", "vec", "scalar"),
)
