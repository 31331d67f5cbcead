"""The grammar of the fuzzer of layers: programs over images, sequences and weights, of the shapes that the passes match.

An `img` is an image of C channels, whose sizes all images of a call share, a `low` a smaller one; a `gate` has one pixel, a
`tok` a row of C elements for each image, a `seq` some `tok`s and a `row` C elements. Values stay small, as in
`gradient_grammar.py`.
"""

from __future__ import annotations

from tests.fuzz.productions import Grammar

CHANNELS = (1, 3, 4, 8, 16, 17, 24, 32)

# A module for each number of channels. Two layers share a bias, two a weight; some weights have unusual strides.
PRELUDE = '''\
import torch
from torch import nn
from torch.nn import functional as F


class Gated(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.norm, self.conv = nn.BatchNorm2d(c), nn.Conv2d(c, c, 1, bias=False)
        self.down, self.up = nn.Conv2d(c, 2, 1), nn.Conv2d(2, c, 1)

    def forward(self, q):
        q = F.relu(self.norm(q))
        gate = torch.sigmoid(self.up(F.silu(self.down(q.mean((2, 3), keepdim=True)))))
        return self.conv(q * gate)


class Net(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.one, self.three, self.deep = nn.Conv2d(c, c, 1), nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(c, c, 3, 1, 1, groups=c)
        self.five = nn.Conv2d(c, c, (1, 5), padding=(0, 2), bias=False)
        self.squeeze, self.widen = nn.Conv2d(2 * c, c, 1), nn.Conv2d(c, 2 * c, 3, padding=2, dilation=2)
        self.back = nn.ConvTranspose2d(c, c, 3, padding=1)
        self.norm, self.group, self.layer = nn.BatchNorm2d(c), nn.GroupNorm(1, c), nn.LayerNorm(c)
        self.gated = Gated(c)
        self.lin, self.rec, self.plain = nn.Linear(c, c), nn.Linear(c, c), nn.Linear(c, c, bias=False)
        self.f, self.i, self.o = (nn.Linear(c, c) for _ in range(3))
        self.wide = nn.Linear(c, 4 * c)
        self.tied = nn.Linear(c, c)
        self.cell, self.gru = nn.LSTMCell(c, c), nn.GRUCell(c, c)
        self.tied.weight = self.lin.weight
        self.one.bias = self.three.bias
        self.turned = nn.Parameter(torch.empty(c, c))
        self.gain, self.scale, self.s = (nn.Parameter(torch.empty(sizes)) for sizes in ((c,), (c, 1, 1), ()))
        self.register_buffer("seen", torch.linspace(-1, 1, c))
        for p in self.parameters():
            bound = (2 / p[0].numel()) ** 0.5 if p.dim() > 1 else 0.5
            nn.init.uniform_(p, -bound, bound)
        self.turned.data = self.turned.data.t()
        self.squeeze.weight.data = self.squeeze.weight.data.contiguous(memory_format=torch.channels_last)
        self.rec.weight.data = torch.cat([self.rec.weight.data] * 2, 1)[:, :c]
        for norm in (self.norm, self.gated.norm):
            norm.running_mean.uniform_(-0.5, 0.5)
            norm.running_var.uniform_(0.5, 1.5)
        self.eval()


torch.manual_seed(0)
'''
MODULES = "".join(f"NET{c} = Net({c})\nNET{c}_64 = Net({c}).double()\n" for c in CHANNELS)
PRELUDE += MODULES

PARAMETERS = {
    "n": "int", "p": "float", "flag": "bool", "x": "img", "y": "img", "t": "tok", "h": "tok", "u": "seq", "w": "row",
    "g": "gate", "m": "sq", "k": "kernel", "s": "scalar", "ids": "ids",
}  # fmt: skip

KINDS = {
    "img": 9, "low": 1.2, "gate": 1.2, "tok": 7, "seq": 2, "row": 2, "sq": 0.6, "kernel": 0.4, "scalar": 1, "toks": 1.5,
    "imgs": 1, "state": 0.8, "int": 0.5, "bool": 0.5,
}  # fmt: skip

LEAVES = {
    "int": ["1", "2", "0", "n", "-1"],
    "float": ["0.5", "-1.5", "2.0", "0.25"],
    "bool": ["True", "False", "flag"],
    "img": ["x", "NET.scale.expand_as(x)"],
    "low": ["x[..., ::2, 1:]"],
    "gate": ["NET.gain.view(1, -1, 1, 1)", "NET.seen[None, :, None, None]"],
    "tok": ["t", "torch.zeros_like(t)"],
    "seq": ["u"],
    "row": ["NET.gain", "NET.seen", "NET.lin.bias"],
    "sq": ["NET.turned", "NET.lin.weight", "NET.rec.weight"],
    "kernel": ["NET.three.weight", "NET.three.weight.flip(0)"],
    "scalar": ["NET.s"],
    "toks": ["[t]", "[t, t]"],
    "imgs": ["[x]", "[x, x]"],
    "state": ["(t, t)"],
    "ids": ["torch.arange(C).flip(0)", "torch.zeros(C, dtype=torch.long)"],
    "conv": ["NET.one"],
    "act": ["torch.tanh"],
    "linear": ["NET.lin"],
}  # fmt: skip


def _pointwise(kind: str) -> list[str | tuple[float, str]]:
    t = f"${kind}"
    return [
        f"({t} + {t})", f"({t} * {t}).tanh()", f"$act({t})", f"$act({t})", f"torch.where({t} > $float, {t}, $float)",
        f"({t} * $scalar).tanh()", f"({t} - {t})", f"torch.maximum({t}, {t})", f"({t} if $bool else {t})", f"({t} * $float)",
        (0.4, f"{t}.detach()"), (0.5, f"{t}.clone()"), f"{t}.clamp(-0.5, 1)", f"{t}.clamp(min=$float)", f"($float - {t})",
    ]  # fmt: skip


EXPRESSIONS: dict[str, list[str | tuple[float, str]]] = {
    "int": ["len($toks)", "$seq.shape[0]", "$img.shape[0]", "min($int, 3)", "($int + 1)", "$img.shape[-1] % 3"],
    "float": ["p", "-$float"],
    "bool": ["bool($tok.sum() > $float)", "($int > $int)", "(not $bool)", "bool($scalar < $float)", "($img.shape[0] > 1)"],
    "conv": ["NET.one", "NET.three", "NET.deep", "NET.five", "NET.back", "NET.gated"],
    "linear": ["NET.lin", "NET.rec", "NET.plain", "NET.tied", "NET.f", "NET.i", "NET.o"],
    "act": [
        "torch.tanh", "F.relu", "torch.sigmoid", "F.silu", "F.gelu", "F.hardswish", "F.relu6", "F.elu", "F.leaky_relu",
        "(lambda q: F.gelu(q, approximate='tanh'))", "(lambda q: q * torch.sigmoid(1.7 * q))", "F.mish", "F.softplus",
        "(lambda q: q * F.relu6(q + 3) / 6)", "(lambda q: F.relu(q, inplace=False).square().tanh())",
    ],
    "img": [
        *_pointwise("img"), "NET.one($img)", "NET.three($img)", "$conv($img)", "$conv($img)", "$act($conv($img))",
        "$act($conv($img) + $img)", "NET.one(F.relu(NET.norm($img)))", "NET.one($img * $gate)",
        "NET.one(F.relu($img * NET.scale + $gate))",
        "NET.one(F.relu6($img * NET.scale))", "NET.one(torch.sigmoid($gate) * $conv($img))", "NET.norm($conv($img))",
        "F.relu(NET.norm(NET.three($img)))", "NET.squeeze(torch.cat([$img, $img], 1))",
        "NET.squeeze(torch.cat([$conv($img), $img], 1))", "NET.squeeze(torch.cat([NET.one($a_img), NET.three($same)], 1))",
        "NET.squeeze(F.relu(torch.cat([$conv($a_img), $conv($same)], 1)))", "NET.widen($img)[:, :C]",
        "NET.widen($img).chunk(2, 1)[1]",
        "(lambda q, r: q * torch.sigmoid(r))(*NET.widen($img).chunk(2, 1))", "torch.cat([$img[:, :1], $img[:, 1:]], 1)",
        "F.conv2d($img, $kernel, None, padding=1)", "F.conv2d($img, $kernel, $row, padding='same')",
        "F.conv2d($img, $sq[:, :, None, None])",
        "F.conv2d($img, $kernel[:, :, 1:2, 1:2], $row)", "F.conv2d($img, NET.three.weight, NET.one.bias, padding=1)",
        "F.conv2d($img, $row.view(-1, 1, 1, 1).expand(C, 1, 3, 3), padding=1, groups=C).tanh()",
        "F.conv_transpose2d($img, $kernel, $row, padding=1)", "F.conv2d($img, NET.deep.weight * $scalar, None, 1, 1, 1, C)",
        "F.conv2d($img, torch.cat([$kernel, $kernel])[::2][:C], None, padding=1)",
        "F.max_pool2d($img, 3, 1, 1)", "F.avg_pool2d($img, 3, 1, 1)",
        "F.avg_pool2d($img, (1, 3), 1, (0, 1), count_include_pad=False)",
        "F.conv2d($img, $kernel, None, padding=2, dilation=2)", "NET.group($img)", "($img * $gate).tanh()", "($img + $gate)",
        "($img + $row[:, None, None])", "($img * $tok[:, :, None, None]).tanh()",
        "$img.contiguous(memory_format=torch.channels_last)",
        "$img.transpose(2, 3).contiguous().transpose(2, 3)", "$img.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)",
        "NET.lin($img.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)", "NET.layer($img.movedim(1, 3)).movedim(3, 1)",
        "$img.flip(1)",
        "$img[:, $ids]", "F.interpolate($img, scale_factor=2)[..., ::2, 1::2]",
        "F.pad($img, (1, 1, 1, 1))[:, :, 1:-1, 2:][:, :, :, :]",
        "torch.cat([$img[:1], $img[1:]])", "$img.flatten(2).softmax(-1).view_as($img)", "$gate.expand_as($img)",
        "torch.stack($imgs).sum(0)",
        "$imgs[-1]", "sum($imgs)", "torch.cat($imgs, 1)[:, -C:]", "$imgs[$bit]", "F.normalize($img + 2, dim=1)",
        "($img + F.relu(NET.norm($img)))", "F.batch_norm($img, NET.seen, NET.seen.exp(), NET.gain, $row, False)",
        "F.batch_norm($img, None, None, $row, None, True)", "$img.mean(1, keepdim=True).expand_as($img)",
        "F.conv2d(F.pad($img, (1, 1, 1, 1)), $kernel)",
        "F.conv2d(F.pad($img, (1, 1, 1, 1), mode='replicate'), $kernel, $row)",
        "F.adaptive_avg_pool2d($low, $img.shape[2:])", "F.interpolate($low, size=$img.shape[2:], mode='nearest')",
        "F.interpolate($low, size=tuple($img.shape[2:]), mode='bilinear', align_corners=False)",
        "NET.three(NET.three($img).relu())",
        "torch.roll($img, 1, 3)", "$img.cumsum(1).tanh()",
        "F.pixel_shuffle(F.pixel_unshuffle(F.interpolate($img, scale_factor=2), 2), 2)[..., ::2, ::2]",
        "F.unfold($img, 1).view_as($img)",
    ],
    "low": [
        "F.max_pool2d($img, 2)", "F.max_pool2d($img, 3, 2, 1, ceil_mode=True)", "F.avg_pool2d($img, 2)",
        "F.avg_pool2d($img, 3, 2, 1, ceil_mode=True)",
        "F.conv2d($img, $kernel, $row, stride=2, padding=1)", "F.conv2d($img, $kernel, None, stride=(1, 2), padding=(0, 1))",
        "F.conv2d($img, NET.deep.weight, None, 2, 1, 1, C)",
        "F.conv_transpose2d($img, $kernel, None, stride=2, output_padding=1)",
        "$conv($low)", "NET.norm($low)", "F.relu($low)", "$img[..., 1:, :]", "F.adaptive_avg_pool2d($img, (1, 2))",
        "F.adaptive_max_pool2d($img, 2)",
        "F.lp_pool2d($img.abs() + 0.1, 2, 2)", "F.conv2d($img[..., ::2, :], $kernel, padding=(2, 1))",
    ],
    "gate": [
        "$img.mean((2, 3), keepdim=True)", "F.adaptive_avg_pool2d($img, 1)", "torch.sigmoid($gate)", "NET.one($gate)",
        "$act(NET.three($gate))",
        "$tok[:, :, None, None]", "$img.amax((2, 3), True)", "$row.view(1, C, 1, 1)",
        "torch.sigmoid(NET.one(F.adaptive_avg_pool2d($img, 1)))",
        "($gate * $float)", "$img.logsumexp((2, 3), keepdim=True).sigmoid()",
    ],
    "tok": [
        *_pointwise("tok"), "NET.lin($tok)", "$linear($tok)", "$linear($tok)", "$act($linear($tok))",
            "($linear($tok) + $linear($tok))",
        "torch.tanh(NET.lin($a_tok) + NET.rec($same))", "(NET.plain($tok) + NET.rec($tok)).tanh()", "NET.wide($tok)[:, :C]",
        "(lambda q: q[0].sigmoid() * q[1].tanh() + q[2] * q[3])(NET.wide($tok).chunk(4, 1))", "$seq[$small]", "$seq[-1]",
        "$seq[$int]", "$seq.sum(0)",
        "$seq.mean(0)", "F.linear($tok, $sq)", "F.linear($tok, $sq.t(), $row)", "($tok @ $sq)",
        "($tok @ NET.turned.t()).tanh()",
        "F.linear($tok, NET.lin.weight, NET.rec.bias)", "F.linear($tok, $row.expand(C, C)).tanh()",
        "F.linear($tok, NET.lin.weight + $sq)",
        "torch.addmm($row, $tok, $sq)", "$img.mean((2, 3))", "$img.flatten(2).sum(-1).tanh()", "$img.amax((-2, -1))",
        "NET.layer($tok)",
        "F.layer_norm($tok, (C,))", "$tok.softmax(-1)", "($tok + $row)", "($tok * $row).tanh()",
        "torch.stack($toks).sum(0)", "sum($toks)",
        "$toks[-1]", "$toks[$small]", "$state[0]", "$state[1]", "NET.gru($tok, $tok)", "NET.cell($tok, $state)[0]",
        "NET.tied(NET.lin($tok)).tanh()",
        "F.linear($tok, NET.wide.weight[:C], NET.wide.bias[C:2 * C])", "$seq.unbind(0)[$small]", "$seq.amax(0)",
        "$tok[:, $ids]",
        "torch.cat([$tok[:1], $tok[1:]])", "F.linear($tok.contiguous(), $sq, None)",
        "torch.bmm($tok[:, None], $sq.expand($tok.shape[0], C, C))[:, 0].tanh()",
        "torch.einsum('nc,dc->nd', $tok, $sq).tanh()", "F.dropout($tok, 0.5, False)",
        "(NET.f($a_tok).sigmoid() * NET.i($same).tanh() + NET.o($same))",
        "NET.lin(torch.cat([$tok, $tok])[:$tok.shape[0]])",
        "F.linear(torch.cat([$a_tok, $same], 1), torch.cat([$sq, $sq], 1)).tanh()",
    ],
    "seq": [
        *_pointwise("seq"), "NET.lin($seq)", "$act($linear($seq))", "torch.stack($toks)", "$seq.flip(0)", "$seq[$slice]",
            "torch.cat([$seq, $tok[None]])[-5:]",
        "$seq.cumsum(0).tanh()", "($seq + $tok)", "NET.layer($seq)", "$seq.transpose(0, 1).contiguous().transpose(0, 1)",
        "($seq @ $sq).tanh()",
        "F.linear($seq, $sq, $row)", "F.scaled_dot_product_attention($seq, $seq[:1], $seq[:1])",
        "torch.cat([$seq[:1], NET.rec($seq[1:])])",
        "F.scaled_dot_product_attention($a_seq, $same, $same, is_causal=True)", "$tok.expand(3, -1, -1)",
    ],
    "row": [
        *_pointwise("row"), "$tok.sum(0).tanh()", "$img.sum((0, 2, 3)).tanh()", "$sq[$bit % C]", "$sq.sum(0).tanh()",
            "NET.lin($row).tanh()", "$row.flip(0)",
        "$row[$ids]", "NET.lin.bias", "NET.gain", "($sq @ $row).tanh()", "$img.mean((0, 2, 3)).nan_to_num().tanh()",
        "$row.softmax(0)", "$tok.amax(1).sum() * $row",
    ],
    "sq": ["$sq.t()", "($sq @ $sq).tanh()", "$sq * $row", "NET.turned", "NET.turned.t()", "NET.rec.weight",
        "$row.expand(C, C)", "($tok.t() @ $tok).tanh()",
           "torch.outer($row, $row).tanh()", "NET.wide.weight.view(4, C, C)[$bit]",
           "NET.wide.weight.chunk(4)[$bit].contiguous()", "$sq.flip(0)"],
    "kernel": ["NET.three.weight", "$kernel.flip(2)", "$kernel.transpose(0, 1)", "$kernel * $gate",
        "$kernel.contiguous(memory_format=torch.channels_last)",
               "NET.three.weight * $scalar", "$kernel.transpose(2, 3)", "$sq[:, :, None, None].expand(C, C, 3, 3) * 0.2",
               "F.pad($sq[:, :, None, None], (1, 1, 1, 1))"],
    "scalar": [*_pointwise("scalar"), "$tok.sum().tanh()", "$img.sum().tanh()", "$row.sum().tanh()", "NET.s",
        "$row.norm()", "$img.std().nan_to_num().tanh()",
               "$seq.sum().tanh()", "F.mse_loss($tok, $tok).nan_to_num().tanh()"],
    "toks": [
        "[$tok, $tok]", "list($seq)", "list($seq.unbind(0))", "[q for q in $seq]", "[NET.lin(q) for q in $seq]",
            "[NET.rec(q).tanh() for q in $toks]",
        "$toks[::-1]", "[$linear(q) + $tok for q in $seq]", "list(NET.wide($tok).chunk(4, 1))",
        "list(NET.wide($tok).split(C, -1))", "($toks + [$tok])[-5:]",
    ],
    "imgs": ["[$img, $img]", "[NET.one($img), $img]", "[NET.three(q) for q in $imgs]", "list(NET.widen($img).chunk(2, 1))",
        "[$img]", "($imgs + [$conv($imgs[-1])])[-4:]"],
    "state": ["($tok, $tok)", "NET.cell($tok, $state)", "NET.cell($tok, ($tok, $tok))", "($state[1], $state[0])"],
    "ids": ["$row.argsort(stable=True)", "$ids.flip(0)"],
}  # fmt: skip

_WRITES = [
    "$me.relu_()", "$me.mul_($float)", "$me.tanh_()", "$me.sigmoid_()", "$me += $scalar", "$me.clamp_(-0.5, 0.5)",
    "$me.zero_()", "$me[:1].mul_(0.5)",
    "$me[$me > $float] = 0.25", "$me.masked_fill_($me < 0, $float)", "F.silu($me, inplace=True)",
    "F.hardswish($me, inplace=True)", "$me[1:] = 0.5",
]  # fmt: skip
MUTATIONS = {
    "img": [*_WRITES, "$me += $img", "$me.add_($img, alpha=0.5)", "$me.copy_($img)", "$me[:, :1] = $img[:, -1:]",
        "$me *= $gate.tanh()", "$me[:, ::2] += $gate[:, ::2]",
            "$me.copy_($conv($img))", "$me[:, 0].copy_($img[:, -1])", "$me[..., :1, :] = $gate", "$me += $conv($img)",
            "$me.sub_($conv($me))", "$me.copy_($me.flip(3))",
            "$me[:, :, 1:] = $conv($me)[:, :, 1:]", "$me.permute(0, 2, 3, 1).add_($row)",
            "$me.flatten(2)[:, :, :1].mul_(0.5)"],
    "tok": [*_WRITES, "$me += $tok", "$me.copy_($linear($me))", "$me[:, :1] = $tok[:, -1:]", "$me[0:1] = $row",
        "$me += $linear($tok)", "$me.t()[$bit % C].mul_(0.5)"],
    "seq": [*_WRITES, "$me[$small] = $tok", "$me[$small] += $linear($tok)", "$me[$slice] = $tok",
        "$me[$small].copy_($linear($me[$small]))", "$me[:, :, 0] = $scalar"],
    "row": [*_WRITES, "$me[0] = $scalar", "$me.add_($row)"],
    "toks": ["$me.append($tok)", "$me.append($linear($me[-1]).tanh())", "$me[$small] = $tok", "$me.reverse()",
        "$me.insert(0, $tok)", "$me.append($toks[0] + 1)", "$me.pop()"],
    "imgs": ["$me.append($conv($me[-1]))", "$me.append($img)", "$me[-1] = $img",
        "$me.append(NET.three(F.relu(NET.norm($me[0]))))"],
}  # fmt: skip

AUGMENTED = {
    "int": ["$me += 1"],
    "img": ["$me = $conv($me)", "$me = $me + $conv($me)", "$me = F.relu(NET.norm($me))", "$me = $act($conv($me) + $me)",
        "$me = NET.squeeze(torch.cat([$me, $conv($me)], 1))"],
    "tok": ["$me = torch.tanh(NET.lin($tok) + NET.rec($me))", "$me = NET.gru($tok, $me)",
        "$me = $me + $linear($me).tanh()", "$me = $act($linear($me))",
            "$me = NET.rec($me) + $tok", "$me = $me * NET.f($me).sigmoid() + NET.i($me)"],
    "seq": ["$me = $me[1:]", "$me = NET.lin($me).tanh()", "$me = torch.cat([$me, $tok[None]])[-4:]"],
    "row": ["$me = ($me * $row).tanh()"],
    "state": ["$me = NET.cell($tok, $me)", "$me = ($me[0].tanh(), $linear($me[1]))", "$me = ($me[1], $me[0] + $me[1])"],
    "scalar": ["$me = ($me * $scalar).tanh()"],
}  # fmt: skip

LOOPS: list[tuple[str, list[str]]] = [
    ("$1 in range($seq.shape[0])", ["int"]), ("$1 in $seq", ["tok"]), ("$1 in $seq", ["tok"]), ("$1 in u", ["tok"]),
    ("$1 in u.unbind(0)", ["tok"]),
    ("$1 in $toks[:4]", ["tok"]), ("$1, $2 in enumerate($seq)", ["int", "tok"]), ("$1, $2 in zip($seq, $seq.flip(0))", [
    "tok", "tok"]),
    ("$1 in range(n)", ["int"]), ("$1 in range(2)", ["int"]), ("$1 in (NET.one, NET.three)", ["conv"]),
    ("$1 in (NET.lin, NET.rec, NET.lin)", ["linear"]),
    ("$1 in $imgs[:3]", ["img"]), ("$1 in reversed(range($seq.shape[0]))", ["int"]),
]  # fmt: skip

UNPACKINGS: list[tuple[str, dict[str, str]]] = [
    ("$1, $2 = NET.widen($img).chunk(2, 1)", {"$1": "img", "$2": "img"}),
    ("$1, $2, $3, _ = NET.wide($tok).chunk(4, -1)", {"$1": "tok", "$2": "tok", "$3": "tok"}),
    ("$1, $2 = NET.cell($tok, $state)", {"$1": "tok", "$2": "tok"}), ("$1, $2 = $state", {"$1": "tok", "$2": "tok"}),
    ("$1, $2, $3 = (m($a_tok) + NET.rec(h) for m in (NET.f, NET.i, NET.o))", {"$1": "tok", "$2": "tok", "$3": "tok"}),
    ("$1, $2 = NET.f($a_tok).sigmoid(), NET.i($same).tanh()", {"$1": "tok", "$2": "tok"}),
    ("$1, $2 = NET.one($a_img), NET.three($same)", {"$1": "img", "$2": "img"}),
    ("$1, $2, $3 = NET.lin($a_tok), NET.tied($same), NET.rec($same)", {"$1": "tok", "$2": "tok", "$3": "tok"}),
]  # fmt: skip

GRAMMAR = Grammar(
    kinds=KINDS,  # type: ignore[arg-type]
    parameters=PARAMETERS,
    leaves=LEAVES,
    expressions=EXPRESSIONS,
    mutations=MUTATIONS,
    items={"toks": "tok", "imgs": "img"},
    loops=LOOPS,
    names=frozenset({"modules"}),
    augmented=AUGMENTED,
    slices=["1:", ":2", ":-1", "::2", ":"],
    unpackings=UNPACKINGS,
    unpacked="tok",
    optionals={},
    cases=[("$int % 3", ["0", "1"])],
    raises=["raise ValueError('no')"],
    caught=["ValueError"],
    rebound=("tok", "img"),
    taken=("tok", "img", "scalar"),
    given_back=("tok", "img", "row"),
    shared=("tok", "img"),
    recursion=0.0,
    often={
        "augmented": 2, "optional": 0, "handled": 0.3, "rebind": 0, "deletion": 0.2, "leave": 0.7, "loop": 1.3, "check": 0,
        "managed": 0.7, "cases": 0.3, "branch": 0.7, "function": 0.7, "mutation": 0.8,
    },  # fmt: skip
    given=("n", "p", "flag", "x", "t", "h", "u"),
    results=("img", "img", "tok", "tok", "seq", "low", "row", "toks", "scalar"),
    copied=("img", "tok", "seq", "row"),
)
