"""The grammar of the fuzzer of gradients with more ways to take tensors apart and to write to parts of them.

It adds to `gradient_grammar` a `cube` of two `sq`s, a `kit` and a `drawer`, which are dicts of rows by strings and ints, a
`table`, which is a list of lists of rows, views of views, ops that pick and place elements, loops on one line, and `while`
loops that tensors end.
"""

from __future__ import annotations

from dataclasses import replace

from tests.fuzz import gradient_grammar as base
from tests.fuzz.productions import Templates

_KINDS = {"cube": 2, "kit": 1.2, "drawer": 1, "table": 1.2}
_LEAVES = {
    "cube": ["torch.stack([m, m])", "torch.zeros(2, 3, 3, dtype=torch.float64)"],
    "kit": ['{"a": w, "b": NET.w}'],
    "drawer": ["{0: w, 1: NET.w}"],
    "table": ["[[w, NET.w] for q in range(2)]"],
}

_EXPRESSIONS: dict[str, list[str | tuple[float, str]]] = {
    "row": [
        "$cube[$bit][$small % 3]", "$cube[$bit, :, $bit]", "$cube.unbind(2)[$bit][0]",
        "$cube[:, 1:].flatten(0, 1)[$small]", "$cube.sum((0, 1)).tanh()",
        "$row.masked_scatter($row > $float, $row)", "$row.index_put(($ids,), $row)",
        "$row.index_put(($ids,), $row, accumulate=True).tanh()",
        "$row.scatter_add(0, $ids, $row).tanh()", "$row.scatter_reduce(0, $ids, $row, 'amax')",
        "$row.sort(0, True)[0]", "$row.topk(3).values", "$row.topk(2)[0].repeat(2)[1:]", "$mat.topk(1, 0)[0][0]",
        "$mat.sort(0)[0][$small]",
        "$mat.cumsum(0)[$small]", "$mat.cummax(0)[0][$small]", "$row.logcumsumexp(0)", "$sq.kthvalue(2, $bit)[0]",
        "$sq.median($bit)[0]",
        "$row.take($ids)", "$sq.take_along_dim($ids[None], 0)[0]", "$sq.gather($bit, $ids[:, None])[:, 0]",
        "$row.unfold(0, 2, 1).sum(1).repeat(2)[:3]",
        "$kit['a']", "$kit['b']", "$kit.get('b', $row)", "$drawer[$bit]", "$drawer.get($int, $row)", "sum($kit.values())",
        "F.embedding($ids, $sq)[$bit]",
        "$mat.tensor_split(2)[$bit].sum(0)", "torch.where($row > $row, $parts[0], $parts[1])",
        "torch.cat([$scalar[None], $row.split([1, 2])[1]])",
        "$sq.split([1, 2], 1)[$bit][:, 0]", "$sq[$bit:, $bit:].sum(0).repeat(3)[:3]",
        "torch.stack($cube.unbind(0)[$bit].unbind(0)).sum(0).tanh()",
        "$cube.diagonal(0, 1, 2)[$bit]", "$row[None].expand(2, 3)[:, $ids][$bit]", "$row.as_strided((3,), (0,))",
        "$cube.permute(2, 0, 1)[$bit].amax(0)",
        "$cube.transpose(0, 2)[$bit].t()[$bit]", "$row.where($row > $scalar, $float)", "$cube.view(6, 3)[$small]",
        "$row.diff(prepend=$scalar[None])",
        "(lambda a, b, c: b * c)(*$sq)", "max($parts, key=lambda q: float(q.sum()))",
        "sorted($two, key=lambda q: float(q.sum()))[$bit]",
        "next((q for q in $rows if q.sum() > $float), $row)", "$row.renorm(1, 0, 1.0) if $bool else $row",
        "$sq.mode($bit)[0]", "torch.cdist($sq[None], $mat[None])[0, :, :1].sum(1)",
        "$sq.roll(1, $bit)[$bit]", "$row[$row.argsort(stable=True)]", "$row.index_copy(0, torch.tensor([2, 0, 1]), $row)",
        "$row.slice_scatter($row[1:], 0, 1)",
        "$sq.select_scatter($row, $bit, $bit)[1]", "$sq.diagonal_scatter($row)[:, $bit]",
        "$table[$bit][0]", "$table[-1][-1]", "$table[$bit][$bit]", "sum(q[0] for q in $table)",
        "torch.stack($table[$bit]).sum(0)",
    ],
    "mat": [
        "$cube[$bit]", "$cube[:, $small % 3]", "$cube.flatten(0, 1)[:5]", "torch.cat($cube.unbind($bit))[:5]",
        "torch.cat($mat.split(1))", "torch.cat($mat.chunk(3)[::-1])",
        "torch.cat([*$mat.split(2)][1:] + [$mat[:1]])", "$mat.index_put((torch.tensor([0]),), $row)",
        "$mat.sort(1)[0]", "$mat.topk(3, 1)[0]", "$mat.masked_scatter($mat > $float, $mat)", "$cube[$bit, $bit:]",
        "$cube.transpose(0, 1)[$bit]", "$mat[$mat.sum(1) > $float]",
        "$mat[$mat[:, 0].argsort(stable=True)]", "torch.stack(list($kit.values()))",
        "torch.stack([$drawer[0], $drawer[1]])", "$mat.unsqueeze(0).transpose(0, 1)[:, 0]",
        "$mat[None].expand(2, -1, -1)[$bit]", "torch.where($mat.sum(1, keepdim=True) > $float, $mat, $row)",
    ],
    "sq": ["$cube[$bit]", "$cube.sum(0).tanh()", "$cube.unbind(0)[$bit]",
        "$cube.transpose(0, 1)[:, $bit].repeat(2, 1)[:3]", "$sq.sort($bit)[0]",
           "torch.cat($sq.split([2, 1], $bit), $bit)", "torch.block_diag($scalar[None, None], $sq[1:, 1:])",
           "$sq.cumprod($bit).tanh()", "torch.stack(sorted($sq, key=lambda q: float(q.sum())))"],
    "cube": ["torch.stack([$sq, $sq])", "$cube.transpose(1, 2)", "$cube.flip($bit)", "($cube * $row).tanh()",
        "($cube @ $sq).tanh()", "$cube.tanh()", "($cube + $sq)", "$sq.expand(2, 3, 3)",
             "torch.stack([$sq, $row.expand(3, 3)])", "$cube[[1, 0]]", "torch.stack($cube.unbind(0)[::-1])",
             "torch.cat($cube.chunk(3, 1), 1)", "$cube.cumsum(0)", "$cube.softmax($bit)",
             "($cube if $bool else $cube.flip(0))", "torch.einsum('ij,kjl->kil', $sq, $cube).tanh()",
             "$cube.permute(0, 2, 1).contiguous()", "torch.bmm($cube, $cube).tanh()"],
    "vec": ["$mat.sort(1)[0][:, 0]", "$vec.sort(stable=True)[0]", "$vec.cumsum(0).flip(0)",
        "$mat.masked_select($mat > $float)[:5]", "$row.split(2)[$bit]", "$row.tensor_split(2)[$bit]",
            "$vec.topk(min(1, len($vec)))[0]", "$row[$row > $float]", "$vec.index_select(0, $vec.argsort(stable=True))",
            "torch.cat([*$vec.split(1), $row[:1]])[:5]", "$cube[:, 0, $bit]"],
    "scalar": ["$cube.sum().tanh()", "$cube[$bit, $bit, $bit]", "$sq.unbind(0)[$bit].unbind(0)[$bit]", "$kit['a'].sum()",
        "$row.split(1)[$bit].sum()", "$row.topk(1)[0][0]", "$row.median()",
               "$sq.view(-1)[1:][$bit:][0]", "$row.sort(stable=True)[0][$bit]", "$vec.sum().tanh()", "next(iter($row))",
               "sum($row.unbind(0)) * $scalar"],
    "kit": [
        '{"a": $row, "b": $row}', "{k: v.tanh() for k, v in $kit.items()}", '{**$kit, "a": $row}', 'dict(zip("ab", $two))',
        "dict($kit)", '{"b": $kit["a"], "a": $kit["b"] * $row}', '({**$kit, "b": $row} if $bool else $kit)',
        'dict(zip(("a", "b"), $mat.new_ones(2, 3) * $row))', '{k: $row * i for i, k in enumerate("ab")}',
    ],
    "drawer": [
        "{0: $row, 1: $row}", "{k: v * $row for k, v in $drawer.items()}", "{**$drawer, 1: $row}", "dict(enumerate($two))",
        "{i: q for i, q in enumerate($sq[:2])}", "{1 - k: v for k, v in $drawer.items()}",
    ],
    "table": [
        "[[q, q * 2] for q in $rows]", "[[$row, $row] for _ in range(3)]", "[list($rows) for _ in range(2)]",
        "[[$row], [$row]]",
        "[[q * r for r in $two] for q in $rows]", "[[q.tanh() for q in r] for r in $table]",
        "[[$row] * 2 for _ in range($positive)]",
        "[list(q.unbind(0)) for q in $cube]", "[$rows + [$row] for _ in range(2)]", "[r[:1] + [$row] for r in $table]",
    ],
    "rows": ["[q[0] for q in $table]", "$table[0] + $table[-1][:1]", "[q for r in $table for q in r][:5]",
        "list($kit.values())", "[$kit['a'], *$rows][:5]", "sorted($rows, key=lambda q: float(q.sum()))[:5]",
        "list($cube[$bit].unbind($bit))", "list($sq.split(1)[0])", "[q[0] for q in $mat.split(1)]",
             "[$row.split([1, 2])[1].repeat(2)[:3], $row]", "[q for q in $cube[0] if q[0] > $float]",
                 "[a * b for a, b in zip($rows, $rows[::-1])]"],
    "two": ["list($kit.values())", "[$drawer[0], $drawer[1]]", "list($sq.unbind($bit))[:2]", "list($cube[:, 0])",
        "sorted($two, key=lambda q: float(q.sum()))", "[$two[1], $two[0]]"],
    "parts": ["$cube[:, $bit].unbind(0)", "($kit['b'], $kit['a'])", "tuple($two)", "(lambda q, r: (r, q * 0.5))(*$parts)",
        "tuple($mat.new_ones(2, 3).mul($row).unbind(0))"],
    "bool": ["bool($row[$bit] > $row[$bit])", "bool($cube.sum() > $float)", '("a" in $kit)', "($int in $drawer)",
        "any(bool(q.sum() > $float) for q in $rows)", "bool($row.sort(stable=True)[0][0] < $float)"],
    "ids": ["$row.topk(3)[1]", "$row.sort(stable=True)[1]", "torch.searchsorted($row.sort()[0], $row).clamp(0, 2)",
        "$sq.argmin($bit)", "torch.bucketize($row, $row.sort()[0]).clamp(max=2)"],
}  # fmt: skip

_VIEWS = [
    "$me[1:]", "$me[:2]", "$me.flip(0)", "$me.narrow(0, 0, 2)", "$me[::2]", "$me[1:][:1]", "$me.unsqueeze(0)[0]",
    "$me.unsqueeze(-1).squeeze(-1)", "$me.expand_as($me)", "$me.view_as($me)",
    "$me[None].transpose(0, 1)[:, 0]", "$me.view(*$me.shape)", "$me.reshape($me.shape)", "$me.detach()",
]  # fmt: skip
_ON_VIEWS = [
    ".mul_($scalar.tanh())", ".add_($scalar)", ".tanh_()", ".copy_($scalar)", ".fill_($scalar)",
        ".masked_fill_($row.sum() > $float, $scalar)", "[:1].zero_()", "[-1:].mul_($scalar)",
    ".div_($scalar.abs() + 1)", ".clamp_(min=$float)", ".sigmoid_()",
]  # fmt: skip
_PARTS = [view + write for i, view in enumerate(_VIEWS) for j, write in enumerate(_ON_VIEWS) if (i + j) % 4 == 0]

_MUTATIONS = {
    "row": [
        *_PARTS, "$me.index_put_(($ids,), $row, accumulate=True)", "$me.scatter_add_(0, $ids, $row)",
            "$me.masked_scatter_($me > $float, $row.clone())", "$me[$row > $row] = $scalar",
        "for q in range(3): $me[q:].mul_($scalar.tanh())", "for q in range(2): $me[q + 1] = $me[q] * $me[q + 1]",
            "for q in range(n): $me[:2][1:].add_($row[:1])",
        "$me.view(3, 1)[1:][:, 0].copy_($row[:2])", "$me[1:][:1].copy_($me[-1:].clone())",
        "$me.view(1, 3).t()[$bit] = $scalar", "$me[:2], $me[1:] = $row[:2], $row[1:]",
        "$me[[0, 2]] = $row[[1, 1]]", "$me[[0, 2]] *= $scalar", "$me[$ids[:1]] += $row[:1]",
        "while bool($me[0] > 0.3): $me[0] *= 0.5",
        "$me.index_copy_(0, torch.tensor([1]), $row[:1])", "$me.swapaxes(0, 0)[1:].addcmul_($row[1:], $row[1:])",
        "$me.cumsum_(0)", "$me.lerp_($row, 0.5)",
        "q = $me[1:]; q[:1] = $scalar; q += $row[:2]", "q = $me.view(1, 3); r = q[0]; q.mul_($scalar); r[1:] += $row[:2]",
            "q, r = $me[:2], $me[1:]; q.add_($scalar); r.mul_($scalar.tanh())",
    ],
    "mat": [
        *_PARTS, "for q in range(len($me)): $me[q][1:] = $me[q][:-1].clone() * $scalar",
            "for q in range(1, len($me)): $me[q] = ($me[q - 1] * $row).tanh()",
            "for q in range(len($me)): $me[q:][:1, 1:].mul_($scalar)",
        "$me[$slice][:, 1:][..., :1].mul_($scalar)", "$me.t()[1:].t()[:1] = $row[1:]", "$me[:, [0, 2]] = $row[:2]",
        "$me[:, $ids] += $row", "$me.view(-1)[1:][:1].add_($scalar)",
        "$me.index_put_((torch.tensor([0]), $ids[:1]), $scalar)", "$me.masked_scatter_($me > 0, $me.flip(0).tanh())",
        "$me.transpose(0, 1)[$bit].copy_($me[:, 2] * $scalar)",
        "$me[-1:], $me[:1] = $me[:1].clone(), $me[-1:] * $row", "while len($me) and bool($me[0, 0] > 0.2): $me[0] *= 0.5",
        "$me[$me[:, 0] > $float] = $row", "$me.scatter_(1, $ids.expand(len($me), 3), $me.tanh())",
        "q = $me[1:]; r = q[:, 1:]; q *= $scalar.tanh(); r += $scalar",
            "q = $me.t(); q[0] = $scalar; $me.mul_($row.tanh()); q[1:].add_($scalar)",
    ],
    "sq": [
        *_PARTS, "for q in range(3): $me[q, q:].mul_($scalar.tanh())", "for q in range(2): $me[q + 1] += $me[q] * $row",
            "$me.t()[1:][:, :2].copy_($sq[1:, 1:])", "$me.diagonal()[1:].add_($row[:2])",
        "$me.index_add_($bit, $ids, $sq)", "$me[$ids, $ids] = $row", "$me.view(9)[::4].mul_($row.tanh())",
        "$me[1:, 1:].t().add_($sq[:2, :2])",
        "$me.fill_diagonal_($float)", "$me.tril_()", "$me.masked_fill_($me.t() > $float, $scalar)",
        "$me.unsqueeze(0).transpose(1, 2)[0, $bit].copy_($row)", "$me[0], $me[1] = $me[1] * $row, $me[0].clone()",
        "q = $me.diagonal(); $me[0] = $row; q.mul_($scalar.tanh())",
            "q = $me[1]; $me.t()[1] = $row; q[2:] += $scalar; $me.tanh_()",
    ],
    "cube": [
        "$me[$bit] = $sq", "$me[:, $bit] = $row", "$me[$bit, 1:, :2].mul_($scalar.tanh())",
        "$me[..., $bit].copy_($sq[:2])", "$me.transpose(0, 2)[$bit].add_($scalar)", "$me[$bit].t()[$bit] = $row",
        "$me.tanh_()",
        "for q in range(2): $me[q, q + 1] += $row", "$me.flatten(0, 1)[1::2].add_($row)",
            "$me.select(1, $bit)[:, 1:].zero_()", "$me[0], $me[1] = $me[1].t().clone(), $me[0] * $scalar",
            "$me.diagonal(0, 1, 2).mul_($row.tanh())",
        "q = $me[0]; r = q[1]; $me.mul_($scalar.tanh()); r.copy_($row)", "$me[torch.tensor([True, False])] = $sq",
            "$me.view(2, 9)[:, $bit:4].add_($scalar)",
    ],
    "vec": ["$me[:1].mul_($scalar)", "$me[1:][:1] = $scalar", "for q in range(len($me)): $me[q] *= $scalar.tanh()",
        "$me[$me > $float] *= 0.5", "$me.flip(0).mul_(2)", "while len($me) and bool($me[0] > 0.2): $me[:1].mul_(0.5)"],
    "kit": ["$me['a'] = $row", "$me['b'] = $me['a'] * $row", "$me['a'], $me['b'] = $me['b'], $me['a']",
        "$me.update(b=$row)", "$me['a'] = $me.pop('a') * 0.5", "$me.update({'a': $row})"],
    "drawer": ["$me[$bit] = $row", "$me[0], $me[1] = $me[1], $me[0].tanh()", "$me[1] = $me[0] * $row",
        "for q in range(2): $me[q] = $me[1 - q] + $row"],
    "rows": [
        "$me.sort(key=lambda q: float(q.sum()))", "$me[:2] = $me[:2][::-1]", "$me.append($me.pop() * $row)",
        "$me.insert(1, $me.pop(0))", "$me[:] = [q * $row for q in $me]", "$me[1:1] = [$row]",
        "for q in range(2): $me.append($me[-1 - q] * $row)", "while len($me) > 2: $me.pop($bit)",
            "$me[0] = $me[0].clone(); $me[0].mul_($scalar)", "$me.remove($me[0]) if len($me) == 1 else None",
        "$me.reverse(); $me.append($row)", "q = $me.pop(); $me.insert(0, q + $row)",
    ],
    "table": [
        "$me[$bit][0] = $row", "$me[-1][-1] = $me[0][0] * $row", "$me.append([$row])",
        "$me.append([q * $row for q in $me[-1]])",
        "$me[0].append($row)", "$me[$bit][0], $me[0][-1] = $me[0][-1] + $row, $me[$bit][0]",
        "$me[-1].insert(0, $me[0][0].tanh())",
        "for q in range(1, len($me)): $me[q][0] = $me[q - 1][0] * $row", "for q in $me: q[0] = q[-1] * $scalar",
        "for q in range(len($me)): $me[q].append($me[q][-1] + $row)", "q = $me[-1]; q[0] = $row; $me[$bit][0] = q[0].tanh()",
        "for q in range(n): $me.append([$me[-1][0] * $row, $row])", "while len($me[0]) > 1: $me[0].pop()",
    ],
    "two": ["$me.insert(0, $me.pop() * $row)", "$me.sort(key=lambda q: float(q.sum()))", "$me[:] = $me[::-1]",
        "for q in range(2): $me[q] = $me[1 - q].tanh() + $row", "q, r = $me; $me[0] = r * $scalar; $me[1] = q"],
}  # fmt: skip

_AUGMENTED = {
    "row": ["while bool(($me.abs() > 0.3).any()): $me = $me * $scalar.tanh() * 0.5",
        "$me = $me.masked_scatter($me > $float, $row)", "while bool($me.sum() > 0.5): $me = ($me - 0.5).tanh()"],
    "cube": ["$me = ($me @ $me).tanh()", "$me = torch.stack([$me[1], $sq])", "$me = $me.transpose(1, 2) * $row"],
    "kit": ["$me = {k: v.tanh() * $row for k, v in $me.items()}", "$me = {'a': $me['b'], 'b': $row}"],
    "drawer": ["$me = {k: v + $row for k, v in $me.items()}"],
    "mat": ["$me = $me[$me.sum(1) > $float]", "$me = torch.cat([$me[1:], $me[:1] * $row])",
        "$me = torch.stack([q * $scalar for q in $me]) if len($me) else $me"],
    "parts": ["$me = $me[0] * $row, $me[0]", "$me = tuple(q.tanh() for q in $me)"],
}  # fmt: skip

_LOOPS: list[tuple[str, list[str]]] = [
    ("$1 in $cube", ["sq"]), ("$1 in $kit.values()", ["row"]), ("$1, $2 in $drawer.items()", ["int", "row"]),
    ("$1 in $row.split(1)", ["vec"]), ("$1, $2 in zip(*$cube)", ["row", "row"]),
    ("$1, $2 in zip($sq.unbind(0), $sq.unbind(1))", ["row", "row"]), ("$1 in $mat.chunk(2)", ["mat"]),
    ("$1 in sorted($rows, key=lambda q: float(q.sum()))[:4]", ["row"]),
    ("$1 in range(int($row.argmax()) + 1)", ["int"]), ("$1, $2 in enumerate($cube[$bit])", ["int", "row"]),
]  # fmt: skip

_UNPACKINGS: list[tuple[str, dict[str, str]]] = [
    ("$1, $2, $3 = $sq.split(1)", {"$1": "mat", "$2": "mat", "$3": "mat"}), ("$1, $2 = $cube", {"$1": "sq", "$2": "sq"}),
    ("$1, $2 = $cube.unbind(0)", {"$1": "sq", "$2": "sq"}),
    ("$1, $2 = $row.sort(stable=True)", {"$1": "row", "$2": "ids"}), ("$1, $2 = $row.topk(3)", {"$1": "row", "$2": "ids"}),
    ("$1, $2 = $kit.values()", {"$1": "row", "$2": "row"}),
    ("$1, $2 = $sq.split([1, 2], 0)", {"$1": "mat", "$2": "mat"}), ("$1, ($2, $3) = $row, $two", {"$1": "row", "$2": "row",
    "$3": "row"}), ("$1, *$2 = $rows", {"$1": "row", "$2": "rows"}),
    ("$1, $2 = ($row, $row) if $bool else ($row, $row)", {"$1": "row", "$2": "row"}), ("*$1, $2 = $mat", {"$1": "rows",
    "$2": "row"}), ("$1, $2, $3 = $cube[:, :, 0].new_ones(3, 3) * $row", {"$1": "row", "$2": "row", "$3": "row"}),
    ("$1, $2, $3 = $row.chunk(3)", {"$1": "vec", "$2": "vec", "$3": "vec"}),
    ("$1, $2 = $mat.tensor_split(2)", {"$1": "mat", "$2": "mat"}),
    ("$1, $2, $3 = $cube.chunk(3, 2)[0][0].t().expand(3, 3)", {"$1": "row"}),
]  # fmt: skip


def joined(first: Templates, *more: Templates) -> Templates:
    """Return the templates of all tables."""
    kinds = dict.fromkeys(kind for table in (first, *more) for kind in table)
    return {kind: [t for table in (first, *more) for t in table.get(kind, [])] for kind in kinds}


GRAMMAR = replace(
    base.GRAMMAR,
    kinds={**base.KINDS, **_KINDS},
    leaves=joined(base.LEAVES, _LEAVES),
    expressions=joined(base.EXPRESSIONS, _EXPRESSIONS, _EXPRESSIONS),  # type: ignore[arg-type]
    mutations=joined(base.MUTATIONS, _MUTATIONS, _MUTATIONS),
    augmented=joined(base.AUGMENTED, _AUGMENTED, _AUGMENTED),
    loops=base.LOOPS + _LOOPS,
    unpackings=base.UNPACKINGS + _UNPACKINGS,
    copied=(*base.GRAMMAR.copied, "cube"),
    results=(*base.GRAMMAR.results, "cube"),
    taken=(*base.GRAMMAR.taken, "kit", "two"),
    given_back=(*base.GRAMMAR.given_back, "two", "parts"),
    shared=(*base.GRAMMAR.shared, "two", "kit", "mat"),
    recursion=0.0,
    often={**base.GRAMMAR.often, "mutation": 1.5, "branch": 1.5, "unpacking": 2, "leave": 2, "function": 0.7, "handled": 0.4},
)
