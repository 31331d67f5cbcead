"""What the fuzzer writes, as tables: the kinds of values that variables hold, and templates of expressions and statements.

`$kind` in a template stands for an expression of that kind, `$small` for an int that is often a valid index,
`$slice` for what
may stand in an index, `$a_kind`
for a variable of the kind,
`$me` for the variable that a statement changes. Tensors hold small multiples of powers of two in
float64, or inf and NaN,
so that sums do not depend on their order and results can be compared exactly; products are reduced so
that they stay small. Writes by tensors of indices stay in bounds: what eager has written when it finds one outside depends on
its order. No template lets a value grow without bound when it is evaluated in a loop, but for ints, which
Python has without bound and scriptc in 64 bits.
"""

from __future__ import annotations

PARAMETERS = {
    "n": "int", "k": "int", "p": "float", "flag": "bool", "s": "text", "x": "vector", "m": "matrix", "xs": "ints",
    "ys": "vectors", "d": "table", "h": "maybe", "o": "cell",
}  # fmt: skip

# How often a kind is assigned.
KINDS = {
    "int": 6, "float": 3, "bool": 2, "text": 2, "vector": 6, "matrix": 3, "ids": 1, "ints": 3, "floats": 1, "texts": 1,
    "vectors": 2, "grid": 1, "pairs": 1, "table": 1.5, "words": 0.7, "bag": 0.7, "set": 1, "maybe": 1.5, "maybe_int": 1,
    "pair": 1, "cell": 0.6, "point": 0.6, "box": 0.6, "queue": 0.6, "counts": 0.6,
}  # fmt: skip

ITEMS = {"queue": "int", "ints": "int", "floats": "float", "texts": "text", "vectors": "vector", "grid": "ints",
"pairs": "pair_of_ints"}

LEAVES = {
    "int": ["$digit", "$digit", "0", "-1"],
    "float": ["0.0", "0.5", "-1.5", "2.0", "-0.0", "3.25"],
    "bool": ["True", "False"],
    "text": ['""', '"a"', '"ab,b"', '"-7"', '"é12"'],
    "vector": [
        "torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64)", "torch.zeros(2, dtype=torch.float64)",
        "torch.tensor([0.5], dtype=torch.float64)", "torch.ones(0, dtype=torch.float64)",
    ],
    "matrix": [
        "torch.ones(2, 2, dtype=torch.float64)", "torch.zeros(1, 3, dtype=torch.float64)",
        "torch.tensor([[1.0, -2.0], [0.5, 4.0]], dtype=torch.float64)",
    ],
    "ids": ["torch.tensor([0, 1])", "torch.arange(3)", "torch.tensor([-1, 2, 0])"],
    "ints": ["[1, 2, 3]", "[0]", "[-3, 9, 4, 4]"],
    "floats": ["[0.5, -1.0]", "[2.0]"],
    "texts": ['["a", "b"]', '["ab"]', '["x", "", "y"]'],
    "vectors": ["[torch.ones(2, dtype=torch.float64)]"],
    "grid": ["[[1, 2], [3]]", "[[0]]"],
    "pairs": ["[(1, 2), (0, 5)]", "[(3, 1)]"],
    "table": ["{1: 2, 3: 4}", "{0: 0}"],
    "words": ['{"a": 1, "b": 2}'],
    "bag": ["{0: torch.ones(2, dtype=torch.float64)}"],
    "set": ["{1, 2}", "{0}"],
    "maybe": ["None"],
    "maybe_int": ["None", "4"],
    "pair": ["(1, torch.ones(1, dtype=torch.float64))"],
    "cell": ["Cell(1, torch.ones(2, dtype=torch.float64))"],
    "pair_of_ints": ["(0, 1)", "(2, -2)"],
    "point": ["Point(1, torch.ones(1, dtype=torch.float64))"],
    "box": ["Box(2, torch.ones(2, dtype=torch.float64))"],
    "queue": ["collections.deque([1, 2])"],
    "counts": ["collections.defaultdict(int)", "collections.Counter([1, 1, 2])"],
}  # fmt: skip

# By kind: templates, each as likely as the others. A pair gives one a weight.
EXPRESSIONS: dict[str, list[str | tuple[float, str]]] = {
    "int": [
        "($int + $int)", "($int - $int)", "($int * $int % 97)", "($int // $int)", "($int % $int)", "($int & $int)",
        "($int | $int)", "($int ^ $int)", "(-$int)", "(~$int)", "($int << $small)", "($int >> $small)",
        (0.3, "($int * 4611686018427387904)"), (0.2, "($int << 61)"), (0.2, "(9223372036854775807 - $int)"),
        "(($int % 7) ** 2)", (0.3, "(2 ** ($int % 65))"), "divmod($int, $int)[$bit]", "pow($int % 9, 3, 7)",
        "len($ints)", "len($vectors)", "len($text)", "len($table)", "len($set)", "len($grid)", "$ints[$small]",
        "$grid[$small][$small]", "$pairs[$small][$bit]", "$table[$small]", "$table.get($int, $int)",
        "$words.get($text, -1)",
        "$table.setdefault($small, $int)", "($int if $bool else $int)", "min($int, $int)", "max($int, $int, $int)",
        "max($ints)", "min($ints, default=$int)", "abs($int)", "int($float)", "int($bool)", "($int + $bool)",
        "round($float)",
        "math.floor($float)", "int($int / $int)", "sum($ints)", "sum($table.values())",
        "sum(q * q for q in $ints if q < 9)",
        "$vector.size(0)", "$matrix.shape[$bit]", "$vector.numel()", "$matrix.dim()", "int($vector.sum().item())",
        "int($vector[$small])", "int($ids[$small])", "$ids.sum().item()", "int(($vector > $int).sum())",
        "$ints.count($int)", "$ints.index($int)", "int($vector.argmax())", "$pair[0]", "$text.find($text)",
        "$text.count($text)", "ord($text[$small])", "int($text)", "int(str($int))", "$cell.n", "$cell.size",
        "len($cell.log)",
        "($maybe_int or $int)", "next(q for q in $ints if q > $int)", "next((q for q in $ints if q > $int), $int)",
        "sorted($ints)[$small]", "max($pairs)[$bit]", "max($ints, key=lambda q: -q)", "(lambda q: q + $int)($int)",
        "$ints.pop()", "$point.n", "$point[0]", "$box.n", "len($box.tag)", "len($queue)", "sum($queue)", "$queue[$small]",
        "$queue.popleft()", "$counts[$int]", "len($counts)", "sum($counts.values())",
        "functools.reduce(lambda q, r: q * 2 % 9 + r, $ints, $int)", "($pair_of_ints)[$bit]",
    ],
    "float": [
        "($float + $float)", "($float - $int)", "($int / 4)", "($float // $float)", "($float % $float)",
        "($float * 0.5)",
        "(-$float)", "float($int)", "float($bool)", "$floats[$small]", "max($float, $float)",
        "min($float, $int, key=abs)",
        "$vector.sum().item()", "$vector.tolist()[$small]", "$matrix[$small, $small].item()", "float($vector[$small])",
        "($float if $bool else $float)", "sum($floats, 0.5)", "abs($float)", (0.4, 'float("nan")'),
        (0.4, 'float("inf")'),
        (0.2, "(-math.inf)"), "round($float, 1)", "float($float > $int)", "math.copysign(2.0, $float)",
        "float(max($ints))",
        "($float ** 2 % 16)", "math.fmod($float, 4)", "math.sqrt($int * 0.0 + 4)",
    ],
    "bool": [
        "($int $cmp $int)", "($float $cmp $float)", "($float $cmp $int)", "($int < $int <= $int)", "($bool and $bool)",
        "($bool or $bool)", "(not $bool)", "($bool ^ $bool)", "($int in $ints)", "($int not in $ints)",
        "($int in $table)",
        "($int in $set)", "($text in $text)", "($text $cmp $text)", "bool($vector.sum() $cmp $int)", "($maybe is None)",
        "($maybe is not None)", "($maybe_int is None)", "($maybe_int == $int)", "($ints $cmp $ints)",
        "any(q > $int for q in $ints)",
        "all(q > $int for q in $ints)", "torch.equal($vector, $vector)", "bool($ints)", "bool($text)", "bool($set)",
        "($pairs == $pairs)", "(($int, $int) $cmp ($int, $int))", "bool(($vector > $float).any())",
        "bool(($matrix == $int).all())",
        "$text.isdigit()", "$text.startswith($text)", "math.isnan($float)", "bool(torch.isnan($vector).any())",
        "($set <= $set)",
        "($table == $table)", "($int in $queue)", "($int in $counts)", "bool($queue)", "($set.isdisjoint($set))",
        "(0 <= $int < len($ints))", "bool($int)",
        "isinstance($maybe, torch.Tensor)",
    ],
    "text": [
        "($text + $text)[:12]", "$text[$small]", "$text[$slice]", "str($int)", "str($bool)",
        'f"{$a_int}|{$a_text}"[:14]',
        'f"{$a_float:.2f}"', 'f"{$a_int:>4}{$a_bool}"', 'f"{$a_int!r:<3}{$a_float}"[:9]', "($text * ($int % 3))[:12]",
        "$text.upper()",
        '$text.replace("a", "bc")[:12]', '",".join($texts)[:16]', "$texts[$small]", "($text if $bool else $text)",
        "$text.strip()", "max($text, $text)", "chr(97 + $int % 26)", "str($ints)[:20]", '("%d-%s" % ($int, $text[:3]))',
        '"{} {}".format($int, $text)[:12]', "$text.zfill(3)", "str($float)", "$text.join($texts)[:16]",
        'f"{$a_float:+08.3f}"', 'f"{$a_int:#x}"', "$text[::-1]", '$text.partition(",")[0]', '$text.lstrip("a")', "$box.tag",
        "$text.title()",
    ],
    "vector": [
        "($vector + $vector)", "($vector - $int)", "($float - $vector)", "($vector + $float)",
        "($vector * $vector).remainder(7)",
        "$vector.relu()", "$vector.abs()", "(-$vector)", "$vector.flip(0)", "$vector.clone()",
        "$vector.cumsum(0).remainder(9)",
        "$matrix[$small]", "$matrix[:, $small]", "$matrix.sum($bit).remainder(11)", "$matrix.amax($bit)",
        "$matrix.view(-1)[:8]",
        "$matrix.reshape(-1)[:8]", "$matrix.flatten()[:8]", "$matrix.diagonal()", "$matrix.select($bit, $small)",
        "torch.where($vector > $int, $vector, $vector)", "torch.where($vector > $int, $vector, $float)",
        "$vectors[$small]",
        "torch.cat([$vector, $vector])[:8]", "$vector[$slice]", "$vector[$slice]", "$vector[$vector > $int]",
        "$vector[$ids]",
        "torch.full(($small,), $float, dtype=torch.float64)", "torch.arange($small, dtype=torch.float64)", "$pair[1]",
        "($matrix @ $vector).remainder(13)", "$vector.clamp(-2, $int)", "torch.tensor($floats, dtype=torch.float64)",
        "($vector if $bool else $vector)", "$cell.v", "$cell.step($int)", "$bag[$small]", "$bag.get($int, $vector)",
        "torch.stack($vectors).sum(0)", "sum($vectors)", "sum($vectors, $vector)", "$vector.narrow(0, $small, $small)",
        "($vector / ($vector != 0))", "$vector.sort().values", "$vector.masked_fill($vector < $int, $float)",
        "$ids.double()",
        "torch.maximum($vector, $vector)", "$vector.new_zeros($small)", "torch.zeros_like($vector)", "$vector.roll(1)",
        "$vector.index_select(0, $ids)", "torch.nonzero($vector).flatten().double()",
        "$vector.chunk(2)[$bit]",
        "$vector.expand(2, -1)[$bit]", "$vector.unfold(0, 2, 1).sum(-1)", "($vector > $int).double()",
        "torch.stack([q * 2 for q in $vectors])[0]",
        "torch.outer($vector, $vector)[$small]", "$vector.fmod($int)", "$vector.div(2, rounding_mode='floor')",
        "$vector.sign()",
        "$vector.detach()", "torch.nan_to_num($vector)", "$vector[$small:].clone()", "$point.v", "$point.moved($int).v",
        "$box.v",
    ],
    "matrix": [
        "($matrix + $matrix)", "($matrix - $vector)", "($matrix * $int).remainder(8)", "$matrix.t()", "$matrix.clone()",
        "torch.stack([$vector, $vector])", "($matrix @ $matrix).remainder(5)", "$vector[:2].unsqueeze($bit)",
        "$matrix[$slice]",
        "$matrix[$slice, $slice]", "$matrix[:, $slice]", "torch.stack($vectors)[:4]", "$matrix.transpose(0, 1)",
        "$matrix.abs()",
        "$matrix.expand(2, -1)", "($matrix if $bool else $matrix)", "torch.cat([$matrix, $matrix], $bit)[:4, :4]",
        "$matrix[$ids]",
        "$matrix.masked_fill($matrix > $int, 0)", "torch.outer($vector, $vector)[:4, :4].remainder(6)",
        "$matrix.flip($bit)",
        "$matrix.contiguous()", "$matrix.view(-1, 1)[:6]", "$matrix.tril()", "$matrix.mean($bit, keepdim=True).floor()",
        "$vector[:4].reshape(2, -1)", "torch.zeros($small, $small, dtype=torch.float64)",
        "$matrix.cumsum($bit).remainder(9)",
    ],
    "ids": [
        "torch.tensor($ints[:5])", "torch.arange($small)", "($ids + $int)", "(($ids * $ids) % 5)", "$ids.flip(0)",
        "$vector.argsort(stable=True)",
        "($vector > $int).nonzero().squeeze(1)", "torch.cat([$ids, $ids])[:6]", "($ids // $int)", "($ids % $int)",
        "$vector.long()",
        "$matrix.argmax($bit)", "$ids[$slice]",
    ],
    "ints": [
        "[$int, $int]", "[q + $int for q in $ints]", "[q // 2 for q in $ints]", "[q for q in $ints if q > $int]",
        "[q * r % 7 for q in $ints[:3] for r in $ints[:3]]", "list(range($small))",
        "list(range($small, $small, $step))",
        "($ints + $ints)[:9]", "$ints[$slice]", "$ints[::$step]", "sorted($ints)", "sorted($ints, reverse=$bool)",
        "sorted($ints, key=lambda q: q % 3)", "([$int] * ($int % 4))", "[int(q) for q in $floats]", "sorted($set)",
        "sorted($table)",
        "list($table.values())", "$ids.tolist()", "$grid[$small]", "[len(q) for q in $vectors]",
        "list(map(int, $floats))",
        "[ord(q) for q in $text]", "[q for q, _ in $pairs]", "$cell.log", "[q if q > 0 else $int for q in $ints]",
        "[*$ints, $int]",
        "list($ints)", "$ints.copy()", "list(reversed($ints))", "[i for i, q in enumerate($ints) if q $cmp $int]",
        "list($matrix.shape)",
        "[min(q, r) for q, r in zip($ints, $ints)]", "($ints if $bool else $ints)", "[y for q in $grid for y in q][:9]",
        "list(itertools.accumulate($ints))", "list(itertools.chain($ints, $ints))[:9]", "list($queue)",
        "[q * r % 5 for q, r in itertools.product($ints[:3], $ints[:3])]", "sorted($counts)",
    ],
    "floats": [
        "[$float, $float]", "[q / 2 for q in $ints]", "$vector.tolist()", "$floats[::-1]", "[q + 0.5 for q in $floats]",
        "[float(q.sum()) for q in $vectors]", "$floats[$slice]",
    ],
    "texts": [
        "[$text, $text]", '$text.split(",")', "list($text)[:8]", "[str(q) for q in $ints]", "sorted($texts)",
        "$texts[$slice]",
        "[q.upper() for q in $texts]", "list($words)", '[f"{q}:{r}" for q, r in $pairs]',
    ],
    "vectors": [
        "[$vector, $vector]", "[q + $int for q in $vectors]", "list($matrix)", "$vectors[$slice]",
        "list($matrix.unbind($bit))",
        "list($vector.split(2))", "([$vector] * ($int % 3))", "[q for q in $vectors if q.sum() > $int]",
        "list($bag.values())",
        "($vectors + $vectors)[:5]", "list(torch.unbind($matrix))[::-1]",
    ],
    "grid": [
        "[$ints, $ints]", "[[q, q + 1] for q in $ints]", "([[$int] * 2] * 2)",
        "[[0 for _ in range(2)] for _ in range($int % 4)]",
        "[q[:] for q in $grid]", "$grid[::-1]", "[list(q) for q in $pairs]", "$matrix.long().tolist()",
    ],
    "pairs": [
        "[(q, q * 2) for q in $ints]", "list(enumerate($ints))", "list(zip($ints, $ints))", "sorted($pairs)",
        "[($int, $int)]",
        "sorted($pairs, key=lambda q: -q[1])", "$pairs[$slice]", "sorted($table.items())",
        "[(r, q) for q, r in $pairs]", "sorted($counts.items())",
    ],
    "table": [
        "{q: q % 3 for q in $ints}", "dict(zip($ints, $ints))", "{$int: $int}", "dict($table)",
        "{r: q for q, r in $table.items()}",
        "{q: r for q, r in $pairs if r != $int}", "{**$table, $int: $int}",
    ],
    "words": ["{q: len(q) for q in $texts}", "{$text: $int}", "dict($words)"],
    "bag": ["{q: $vector + q for q in $ints}", "{$int: $vector}", "dict(enumerate($vectors))"],
    "set": [
        "set($ints)", "{$int, $int}", "($set | $set)", "($set & $set)", "($set - $set)", "($set ^ $set)",
        "{q % 3 for q in $ints}",
        "set($table)",
    ],
    "maybe": ["None", "$vector", "($vector if $bool else None)", "$bag.get($int)", "(None if $bool else $maybe)"],
    "maybe_int": ["$table.get($int)", "next((q for q in $ints if q > $int), None)", "($int if $bool else None)", "$int"],
    "pair": ["($int, $vector)", "($int, $vector)", "(divmod($int, $int)[0], $vector)", "($pair if $bool else $pair)"],
    "cell": ["Cell($int, $vector)", "Cell($int, $vector)"],
    "pair_of_ints": ["($int, $int)", "$pairs[$small]"],
    "point": ["Point($int, $vector)", "$point._replace(n=$int)", "$point.moved($int)", "Point(v=$vector, n=$int)"],
    "box": ["Box($int, $vector)", "Box($int, $vector, $text[:3])", "dataclasses.replace($box, n=$int)"],
    "queue": ["collections.deque($ints)", "collections.deque($ints, maxlen=3)"],
    "counts": ["collections.Counter($ints)", "collections.defaultdict(int, $table)"],
}  # fmt: skip

# By kind: statements that change a variable in place. Lists are let grow to twenty items.
MUTATIONS = {
    "ints": [
        "$me.append($int)", "$me.insert($small, $int)", "$me.extend($ints)", "$me += $ints", "$me[$small] = $int",
        "$me[$small] += $int",
        "$me.pop()", "$me.pop($small)", "$me.reverse()", "del $me[$small]", "$me[$slice] = $ints", "del $me[$slice]",
        "$me.sort()",
        "$me.sort(key=lambda q: -q)", "$me.remove($int)", "$me.clear()", "$me[0], $me[-1] = $me[-1], $me[0]",
        "$me *= 2",
    ],
    "floats": ["$me.append($float)", "$me[$small] = $float", "$me.pop()", "$me.reverse()", "$me.extend($floats)"],
    "texts": ["$me.append($text)", "$me[$small] = $text", "$me.sort()", "$me[$small] += $text[:2]", "$me.pop(0)"],
    "vectors": [
        "$me.append($vector)", "$me[$small] = $vector", "$me.pop()", "$me[$small].add_($int)", "$me[$small] += 1",
        "$me.reverse()",
        "$me.insert(0, $vector)", "$me.extend($vectors)", "$me.clear()", "$me[$slice] = $vectors",
        "$me[$small][$small] = $int",
    ],
    "grid": [
        "$me.append($ints)", "$me[$small].append($int)", "$me[$small][$small] = $int", "$me[$small] = $ints",
        "$me[$small].sort()",
        "$me[$small] += $ints[:2]", "$me.reverse()", "$me[0], $me[-1] = $me[-1], $me[0]",
    ],
    "pairs": ["$me.append(($int, $int))", "$me.sort()", "$me[$small] = ($int, $int)", "$me.sort(key=lambda q: q[1])"],
    "table": [
        "$me[$int] = $int", "$me[$small] += $int", "$me.pop($int, None)", "$me.pop($small)", "del $me[$small]",
        "$me.update($table)",
        "$me.setdefault($int, $int)", "$me.clear()", "$me[$int] = $me.get($int, 0) + 1",
    ],
    "words": ["$me[$text] = $int", "$me[$text] = $me.get($text, 0) + 1", "$me.pop($text, 0)", "del $me[$text]"],
    "bag": ["$me[$int] = $vector", "$me[$small].mul_(2)", "$me.pop($small)", "$me.clear()"],
    "set": ["$me.add($int)", "$me.discard($int)", "$me.remove($int)", "$me |= $set", "$me -= $set", "$me.update($ints)"],
    "vector": [
        "$me[$slice] = $int", "$me[$slice] += $int", "$me.add_($int)", "$me[$small:].fill_($float)",
        "$me.clamp_(-9, 9)", "$me[$small].mul_(2)",
        "$me[$me > $int] = 0", "$me.neg_()", "$me[$slice] = $vector", "$me.copy_($vector)",
        "$me[$ids.clamp(0, $me.numel() - 1)] = $float", "$me.zero_()",
        "$me[0], $me[-1] = $me[-1], $me[0]", "$me.add_($vector)", "$me.masked_fill_($me < $int, $float)", "$me.relu_()",
        "$me *= 0.5",
        "$me.view(-1)[$small] = $float", "$me.unsqueeze(0)[0].sub_(1)", "$me[$me != $me] = 0",
        "$me[$vector > 0] = $float",
        "$me.expand(2, -1)[$bit].abs_()", "torch.add($me, $int, out=$me)",
        "$me.index_add_(0, $ids.clamp(0, $me.numel() - 1), $vector)", "$me[1:] = $me[:-1].clone()",
    ],
    "matrix": [
        "$me[$small] = $vector", "$me[:, $small] = $int", "$me[$small, $small] = $float", "$me.t().sub_(1)",
        "$me[$slice].mul_(2)",
        "$me.view(-1)[$small] = $int", "$me.add_($vector)", "$me[$small].neg_()", "$me[$slice, $slice] = $int",
        "$me.diagonal().fill_($float)",
        "$me[0], $me[-1] = $me[-1].clone(), $me[0].clone()", "$me[$me > $int] = $float",
        "$me.select($bit, $small).zero_()", "$me += $int",
        "$me.t()[$small] = $vector", "$me[$ids.clamp(0, len($me) - 1)] = $int", "$me.clamp_(-9, 9)",
        "$me.remainder_(7)", "$me[:, $slice] += $vector",
    ],
    "ids": ["$me[$small] = $int", "$me.add_($int)", "$me += $ids", "$me.remainder_(5)", "$me[$slice] = $int"],
    "cell": [
        "$me.n = $int", "$me.n += $int", "$me.v = $vector", "$me.v.add_($int)", "$me.log.append($int)",
        "$me.log = $ints", "$me.step($int)",
        "$me.v[$slice] = $float",
    ],
    "box": ["$me.n = $int", "$me.n += $int", "$me.v = $vector", "$me.v.add_($int)", "$me.tag = $text[:3]"],
    "queue": [
        "$me.append($int)", "$me.appendleft($int)", "$me.popleft()", "$me.pop()", "$me.extend($ints[:3])", "$me.rotate(1)",
        "$me.clear()",
    ],
    "counts": ["$me[$int] += 1", "$me[$int] = $int", "$me.pop($int, None)", "$me.update($ints)"],
}  # fmt: skip

AUGMENTED = {
    "int": ["$me += $int", "$me -= $int", "$me //= $int", "$me %= $int", "$me *= 2", "$me ^= $int", "$me <<= 1",
        "any(($me := q) > $int for q in $ints)", "[$me := ($me + q) % 9 for q in $ints]"],
    "float": ["$me += $float", "$me -= $int", "$me *= 0.5", "$me %= $float"],
    "text": ["$me += $text[:2]", "$me = $me[:10]"],
    "vector": ["$me += $int", "$me -= $vector", "$me = $me + $vector"],
    "bool": ["$me = not $me", "$me &= $bool", "$me |= $bool"],
}  # fmt: skip

# Loops: what stands behind `for`, and the kinds that the names it binds have ($1, $2).
LOOPS: list[tuple[str, list[str]]] = [
    ("$1 in range($small)", ["int"]), ("$1 in range(0, $small)", ["int"]), ("$1 in range($small, -2, -1)", ["int"]),
    ("$1 in $ints[:6]", ["int"]), ("$1, $2 in enumerate($ints[:6])", ["int", "int"]),
    ("$1 in $vectors[:5]", ["vector"]),
    ("$1 in $matrix[:5]", ["vector"]), ("$1 in $vector.tolist()", ["float"]),
    ("$1, $2 in zip($ints[:5], $floats)", ["int", "float"]),
    ("$1 in $text[:6]", ["text"]), ("$1, $2 in list($table.items())[:5]", ["int", "int"]),
    ("$1 in sorted($set)[:5]", ["int"]),
    ("$1, $2 in $pairs[:5]", ["int", "int"]), ("$1 in reversed($ints[:5])", ["int"]), ("$1 in $grid[:4]", ["ints"]),
    ("$1 in list($table)[:5]", ["int"]), ("$1, $2 in enumerate($vectors[:4], 1)", ["int", "vector"]),
    ("$1 in $texts[:5]", ["text"]),
    ("$1, $2 in zip($vectors[:4], $ints)", ["vector", "int"]),
    ("$1, $2 in sorted($words.items())[:5]", ["text", "int"]),
    ("$1 in (1, 2, 4)", ["int"]), ("$1 in map(abs, $ints[:4])", ["int"]), ("$1 in iter($ints[:4])", ["int"]),
    ("$1, $2 in $counts.items()", ["int", "int"]), ("$1 in filter(None, $ints[:4])", ["int"]),
]  # fmt: skip

RAISES = [
    'raise KeyError($int)', 'raise ValueError(f"{$a_int}")', 'raise RuntimeError("no")', "assert $bool",
    "$ints[$small]", "1 // $int",
    "raise Stop($int)", "raise Stop($int) from None", 'assert $bool, f"{$a_int} is wrong"', "$table[$int]",
    "int($text)", "raise IndexError", "torch.stack($vectors)",
]  # fmt: skip
CAUGHT = [
    "IndexError", "ZeroDivisionError", "Exception", "(ValueError, RuntimeError)", "(LookupError, AssertionError)",
    "KeyError", "ValueError",
    "RuntimeError", "ArithmeticError", "Stop", "(Stop, IndexError)",
]  # fmt: skip
SLICES = [
    "$small", "$small:", ":$small", "$small:$small", "::2", ":", "-2:", ":-1", "$small:$small:$positive", "1:", ":2",
]  # fmt: skip

# Assignments to several names, and the kinds that the names have then: $1, $2 and $3 are new, $first and $second are often
# an int and a vector that are there.
UNPACKINGS: list[tuple[str, dict[str, str]]] = [
    ("$first, $second = $pair", {"$first": "int", "$second": "vector"}), ("$1, *$2 = $ints", {"$1": "int", "$2": "ints"}),
    ("$1, $2 = $ints[:2]", {"$1": "int", "$2": "int"}), ("*$1, $2 = $vectors", {"$1": "vectors", "$2": "vector"}),
    ("$1, $2 = $vector[:2]", {}), ("($1, $2), $3 = $pair_of_ints, $text", {"$1": "int", "$2": "int", "$3": "text"}),
    ("$1, $2 = divmod($int, $int)", {"$1": "int", "$2": "int"}), ("$1, $2 = $matrix.shape", {"$1": "int", "$2": "int"}),
    ("$1, $2 = $vector.sort(stable=True)", {"$1": "vector", "$2": "ids"}),
    ("$1, $2 = $point", {"$1": "int", "$2": "vector"}), ("$1, *$2 = $pair_of_ints, $int", {"$1": "int"}),
    ("$1, $2 = $matrix.max($bit)", {"$1": "vector"}), ("$1 = $2, $3 = $pair_of_ints", {"$2": "int", "$3": "int"}),
]  # fmt: skip

# What a `match` tests, and patterns of its cases.
CASES: list[tuple[str, list[str]]] = [
    ("$int % 5", ["0", "1 | 2", "3", "w if w > 3"]), ("$text[:2]", ['"a"', '"ab" | "b"', '""']),
    ("$ints", ["[]", "[1, _]", "[_, *_]"]), ("$pair_of_ints", ["(0, _)", "(1, 2)"]), ("$maybe_int", ["None", "int()"]),
]  # fmt: skip
