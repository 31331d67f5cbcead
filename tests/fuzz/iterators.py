"""Templates of generators, and of objects that are walked by their own code.

`$gen_int` and `$gen_vector` stand for a call of a generator that the program defines, or for another iterator.
"""

from __future__ import annotations

KINDS = {"down": 0.8, "walk": 0.6}
LEAVES = {"down": ["Down(3)"], "walk": ["iter([1, 2])"]}
# What stands for a call of a generator if the program has none that yields such values.
OTHERS = {
    "int": ["Down($small)", "Evens($int, $ints)", "(q + 1 for q in $ints)", "iter($ints)", "map(abs, $ints)", "iter($down)"],
    "vector": ["Rows($vectors)", "(q * 2 for q in $vectors)", "iter($matrix)"],
}
EXPRESSIONS = {
    "int": [
        "sum($gen_int)", "next($gen_int, $int)", "next($gen_int)", "len(list($gen_int))", "max($gen_int, default=$int)",
        "sum(q * 2 for q in $gen_int)", "functools.reduce(lambda q, r: (q - r) % 97, $gen_int, $int)",
        "next((i for i, q in enumerate($gen_int) if q > $int), -1)", "len([*$gen_int])", "sorted($gen_int)[$small]",
        "sum(q - r for q, r in zip($gen_int, $ints))", "next(iter($gen_int), 0)", "next($down, $int)",
        "$down.asked", "$down.n", "next($walk, $int)", "next($walk)",
    ],
    "bool": ["($int in $gen_int)", "any(q > $int for q in $gen_int)", "all(q > $int for q in $gen_int)", "($int in $down)"],
    "ints": [
        "list($gen_int)[:9]", "[*$gen_int, $int][:9]", "[q for q in $gen_int if q > $int][:9]", "sorted($gen_int)[:9]",
        "[i + q for i, q in enumerate($gen_int, 1)][:9]", "[q + r for q, r in zip($gen_int, $ints)]",
        "[q + r for q, r in zip($ints, $gen_int)]", "list(map(lambda q: q - 1, $gen_int))[:9]", "list($down)", "list($walk)",
        "list(filter(None, $gen_int))[:9]", "list(itertools.islice($gen_int, 2))", "[q for q in Evens($int, $ints)]",
        "list(itertools.takewhile(lambda q: q < $int, $gen_int))[:9]",
        "[q + r for q in $gen_int for r in $ints[:2]][:9]",
    ],
    "vectors": ["list($gen_vector)[:5]", "[q + 1 for q in $gen_vector][:5]", "[*$gen_vector][:5]"],
    "vector": [
        "next($gen_vector, $vector)", "sum([q.sum() for q in $gen_vector], $vector)", "torch.stack(list($gen_vector)).sum(0)",
        "next($gen_vector)", "Rows($vectors)[$small]",
    ],
    "set": ["set($gen_int)", "{q % 3 for q in $gen_int}"],
    "table": ["{q: q % 3 for q in $gen_int}", "dict(enumerate($gen_int))", "dict(zip($gen_int, $ints))"],
    "pairs": ["list(enumerate($gen_int))[:5]", "list(zip($gen_int, $ints))[:5]"],
    "down": ["Down($small)", "Down($int)"],
    "walk": ["iter($ints)", "iter($ints[:3])"],
}  # fmt: skip
MUTATIONS = {
    "down": ["next($me, 0)", "$me.n = $small", "next($me)", "$me.asked += 1"],
    "ints": ["$me.extend(list($gen_int)[:5])", "$me[:] = list($gen_int)[:9]"],
}
LOOPS: list[tuple[str, list[str]]] = [
    ("$1 in $gen_int", ["int"]), ("$1 in $gen_int", ["int"]), ("$1 in $gen_vector", ["vector"]),
    ("$1, $2 in enumerate($gen_int)", ["int", "int"]), ("$1, $2 in zip($gen_int, $vectors)", ["int", "vector"]),
    ("$1, $2 in zip($ints, $gen_vector)", ["int", "vector"]), ("$1 in map(abs, $gen_int)", ["int"]),
    ("$1 in (q - 1 for q in $gen_int)", ["int"]), ("$1 in $down", ["int"]), ("$1 in $walk", ["int"]),
    ("$1 in Rows($vectors)", ["vector"]), ("$1, $2 in enumerate($gen_vector, 1)", ["int", "vector"]),
]  # fmt: skip
UNPACKINGS: list[tuple[str, dict[str, str]]] = [
    ("$1, $2 = $gen_int", {"$1": "int", "$2": "int"}), ("$1, *$2 = $gen_int", {"$1": "int", "$2": "ints"}),
    ("*$1, $2 = $gen_vector", {"$1": "vectors", "$2": "vector"}),
]  # fmt: skip
