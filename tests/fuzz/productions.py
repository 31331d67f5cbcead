"""What the fuzzer's grammar consists of: a core, and productions beside it that a run may be limited to."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from tests.fuzz import closures, containers, grammar, iterators

Templates = dict[str, list[str]]


@dataclass(frozen=True)
class Production:
    """Templates beside those of `grammar.py`, which has the same tables."""

    kinds: dict[str, float] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)
    leaves: Templates = field(default_factory=dict)
    expressions: Templates = field(default_factory=dict)
    mutations: Templates = field(default_factory=dict)
    items: dict[str, str] = field(default_factory=dict)
    loops: list[tuple[str, list[str]]] = field(default_factory=list)
    unpackings: list[tuple[str, dict[str, str]]] = field(default_factory=list)


VIEWS = Production(
    kinds={"twins": 1, "nest": 1, "shelf": 1, "tree": 1},
    leaves={
        "twins": ["(lambda q: (q, q))(torch.ones(3, dtype=torch.float64))"],
        "nest": ["[(1, torch.ones(2, dtype=torch.float64))]"],
        "shelf": ['{"a": [torch.ones(2, dtype=torch.float64)], "b": []}'],
        "tree": ["(torch.zeros(2, dtype=torch.float64), [], {})"],
    },
    expressions={
        "twins": [
            "($a_vector, $same[1:])", "($a_vector, $same)", "($a_matrix[0], $same[:, 0])", "$twins[::-1]",
            "($a_vector[::2], $same.view(-1))", "tuple($a_matrix.unbind(0))[:1] + ($same.view(-1),)",
            "($a_vector, $same.t())",
            "($twins if $bool else ($vector, $vector))", "(lambda q: (q, q.flatten()))($vector)",
        ],
        "nest": [
            "[($int, $a_vector), ($int, $same[1:])]", "[(i, q) for i, q in enumerate($vectors)]", "$nest[$slice]",
            "[(len(q), q[1:]) for q in $vectors]", "($nest + $nest)[:5]", "[(q + 1, r) for q, r in $nest]",
            "[(i, r) for i, r in enumerate($matrix)]", "[($int, $twins[$bit])]",
        ],
        "shelf": [
            '{"a": [$a_vector, $same[:2]], "b": [$same[1:]]}', '{"a": $a_vectors, "b": $same}',
            '{"a": list($matrix), "b": $vectors}',
            '{q: [r for _, r in $nest] for q in "ab"}', '{"a": [$twins[0]], "b": [$twins[1], $vector]}', "dict($shelf)",
            '{**$shelf, "a": $vectors}', "{q: r[:1] for q, r in $shelf.items()}",
            '{"b": [q.view(-1) for q in $vectors], "a": []}',
        ],
        "tree": [
            "($a_vector, [$same[1:], $same], {$int: $same[:1]})", "($vector, $vectors, $bag)",
            "($twins[0], list($twins), $bag)",
            "($a_matrix[0], list($same), {i: q for i, q in enumerate($same)})",
        ],
        "vector": [
            "$twins[$bit]", "$nest[$small][1]", '$shelf["a"][$small]', '$shelf["b"][$small]', "$tree[0]", "$tree[1][$small]",
            "$tree[2][$small]", "max($nest, key=lambda q: q[0])[1]", '$shelf.get($text, $vectors)[$small]',
        ],
        "vectors": ["[$a_vector, $same[1:], $same]", '$shelf["a"]', "$tree[1]", "[q for _, q in $nest]", "list($twins)",
                    '($shelf["a"] + $shelf["b"])[:5]'],
        "bag": ["$tree[2]", "{q: r for q, r in $nest}"],
        "int": ["$nest[$small][0]", 'len($shelf["a"])', "len($nest)", "sum(len(q) for q in $shelf.values())",
                "sum(q for q, _ in $nest)", "len($tree[2])"],
        "bool": ["($twins[0] is $twins[1])", '("a" in $shelf)', "any(r is $vector for _, r in $nest)",
                 '($shelf["a"] is $vectors)'],
    },
    mutations={
        "twins": ["$me[0].add_($int)", "$me[1].mul_(2)", "$me[$bit][$small] = $int", "$me[0][1:] = $float",
                  "$me[1].copy_($vector)",
                  "$me[$bit][$me[0] > $int] = 0"],
        "nest": ["$me[$small][1].add_($int)", "$me.append(($int, $a_vector))", "$me[$small] = ($int, $vector)",
                 "$me.reverse()",
                 "$me[$small][1][$small] = $int", "$me.pop()", "$me.sort(key=lambda q: q[0])",
                 "$me[0], $me[-1] = $me[-1], $me[0]",
                 "$me.insert(0, ($int, $me[-1][1][1:]))"],
        "shelf": ['$me["a"][$small].add_($int)', '$me["b"].append($me["a"][$small])', '$me["a"].append($a_vector[1:])',
                  '$me["a"], $me["b"] = $me["b"], $me["a"]', '$me["b"] = $me["a"]', '$me["a"][$small][$small] = $float',
                  '$me["b"].clear()',
                  '$me["a"] = [q[:1] for q in $me["b"]]', '$me["b"][$small].zero_()', '$me["a"].pop()'],
        "tree": ["$me[0].add_($int)", "$me[1].append($me[0])", "$me[1][$small].mul_(2)", "$me[2][$int] = $me[0][1:]",
                 "$me[2][$small].sub_(1)", "$me[1].reverse()", "$me[1][$small] = $vector", "$me[2].clear()"],
    },
    items={"nest": "pair", "shelf": "vectors"},
    loops=[
        ("$1, $2 in $nest[:4]", ["int", "vector"]), ("$1 in $twins", ["vector"]), ('$1 in $shelf["a"][:4]', ["vector"]),
        ("$1, $2 in $shelf.items()", ["text", "vectors"]), ("$1 in $tree[1][:4]", ["vector"]),
        ("$1, $2 in list($tree[2].items())[:4]", ["int", "vector"]),
    ],
)  # fmt: skip

TEXTS = Production(
    expressions={
        "text": [
            'f"{$a_int:$spec_int}"[:24]', 'f"{$a_float:$spec_float}"[:24]', 'f"{$a_text:$spec_text}"[:24]',
            'f"{$a_bool:$spec_bool}"[:24]', '("$percent_int" % $int)[:24]', '("$percent_float" % $float)[:24]',
            '("$percent_text|%s" % ($text, $int))[:24]', '"{:$spec_int}|{!r}".format($int, $text)[:24]',
            '"{1:$spec_text}{0:$spec_float}".format($float, $text)[:24]', 'f"{$a_int=}|{$a_float=:.2f}"[:24]',
            'f"{$a_text!r:$spec_text}"[:24]', 'f"{$a_int + 1:$spec_int}{$a_text[:2]}"[:24]', "format($int, '$spec_int')[:24]",
            "format($float, '$spec_float')[:24]", 'f"{$a_float:{$positive}.{$positive}f}"', 'f"{$a_int:>{$positive}}"[:24]',
            'f"{$a_vector.sum().item():$spec_float}"[:24]', 'f"{$a_vector[$bit]:.2f}"', 'f"{$a_vector}"[:60]',
            "str($ints[:4])",
            "repr($text)", "str($pair_of_ints)", "str($vector.shape)", 'f"{$a_ints[:3]}{$a_floats[:2]}"[:40]',
            "str(float($int))",
            '"%(a)s-%(b)5d" % {"a": $text, "b": $int}', "str($float * 1e16)", "str($float / 1e5)", "repr($floats[:3])[:40]",
            'f"{$a_maybe_int}|{$a_bool!s:>6}"[:24]', "hex($int)", "bin($int)[:24]", "oct($int)", "str($table)[:40]",
            '"%c%c" % (97 + $int % 26, $text[:1] or "x")', "$text.center($positive * 3, '*')", "$text.ljust(5, '.')",
            "$text.swapcase()",
        ],
        "float": ['float(f"{$a_float:.1f}")', "float(str($float))", 'float("%.2e" % $float)'],
        "int": ['len(f"{$a_float}")', 'int(f"{$a_int:d}")', "int(hex($int), 16)", "len(str($float))"],
    },
)  # fmt: skip

STEPS = Production(
    expressions={
        "ints": [
            "$ints[$end:$end:$back]", "$ints[::$back]", "list(range($small, $small, $back))",
            "list(range(9)[$end:$end:$back])",
            "[q for q in $ints[$end::$back]]", "list($ints[$end:$end:$back])[:$end]",
            "list(range(9))[slice($edge, None, $back)]",
        ],
        "text": ["$text[$end:$end:$back]", "$text[::$back]", "($text * 2)[$end::$back][:12]", '"abcdef"[$end:$end:$back]'],
        "texts": ["$texts[$end:$end:$back]", "list($text[:6])[::$back]"],
        "vectors": ["$vectors[$end:$end:$back]", "$vectors[::$back]"],
        "pairs": ["$pairs[$end:$end:$back]", "list(enumerate($ints))[::$back]"],
        "grid": ["$grid[$end:$end:$back]", "[q[::$back] for q in $grid]"],
        "floats": ["$floats[$end:$end:$back]", "$vector.tolist()[::$back]"],
        "int": [
            "sum($ints[::$back])", "len(range($int, $int, $back))", "len($text[$end:$end:$back])",
            "range($edge, $edge, $back)[$small]",
            "sum(range($small, $small, $back))", "(7, 8, 9)[::$back][$small]", "len(slice($edge, $edge, $back).indices(5))",
        ],
        "bool": ["($int in range($edge, $edge, $back))", "($ints[::-1] == $ints)", "($text[::-1] $cmp $text)"],
        "pair_of_ints": ["(3, 4)[::-1]", "$pair_of_ints[::-1]"],
    },
    mutations={
        "ints": ["$me[::$back] = $ints", "$me[$end:$end:$back] = $ints", "del $me[::$back]", "del $me[$end:$end:$back]",
                 "$me[::-1] = $me[:]", "$me[$end:$end:$back] = $me[$end:$end:$back]"],
        "texts": ["$me[::-1] = $me[:]", "del $me[::$back]"],
        "vectors": ["$me[::-1] = $me[:]", "del $me[$end::$back]"],
    },
    loops=[
        ("$1 in range($small, $edge, $back)", ["int"]), ("$1 in $ints[::$back][:6]", ["int"]), ("$1 in $text[::$back][:6]",
            ["text"]),
        ("$1, $2 in zip($ints[::-1], range(4, -1, -1))", ["int", "int"]), ("$1 in reversed(range($small, $edge, $back))",
            ["int"]),
        ("$1, $2 in enumerate($vectors[::-1][:4], -1)", ["int", "vector"]),
    ],
)  # fmt: skip

SCALARS = Production(
    kinds={"cells": 5},
    parameters={"w": "odd_float", "z": "odd_int"},
    leaves={
        "cells": ["torch.arange(3).to($dtype)", "torch.ones(2, dtype=$dtype)", "torch.zeros(1, dtype=$dtype)",
                  "torch.ones(0, dtype=$dtype)"],
        "odd_float": ["$weird_float"],
        "odd_int": ["$weird_int"],
    },
    expressions={
        "cells": [
            "torch.full((2,), $odd, dtype=$dtype)", "torch.full((2,), $odd)", "torch.full_like($cells, $odd)",
            "$cells.new_full((2,), $odd)",
            "torch.tensor([$odd], dtype=$dtype)", "torch.tensor($odd)", "torch.where($cells > 0, $cells, $odd)",
            "($cells + $odd)",
            "torch.where($cells == 0, $odd, $cells)", "($odd - $cells)", "($cells * $odd)", "$cells.clamp(min=$odd)",
            "$cells.clamp(max=$odd)", "$cells.clamp($odd, $odd)", "$cells.masked_fill($cells == 0, $odd)",
            "torch.fill($cells, $odd)",
            "($cells == $odd).to($dtype)", "($cells < $odd).to($dtype)", "($odd >= $cells).to($dtype)",
            "$cells.index_fill(0, torch.tensor([0]), $odd)",
            "torch.where($cells > 0, $odd, $odd)", "torch.add($cells, $cells, alpha=$odd)",
            "torch.nn.functional.pad($cells, (1, 1), value=$odd)",
            "torch.maximum($cells, torch.tensor($odd, dtype=$cells.dtype))", "$cells.clone()",
            "torch.nn.functional.hardtanh($cells, $odd, $odd)",
            "torch.nn.functional.threshold($cells, $odd, $odd)", "torch.scalar_tensor($odd, dtype=$dtype)",
            "$cells.scatter(0, torch.tensor([0]), $odd)",
            "torch.eq($cells, $odd).to($dtype)", "torch.rsub($cells, $odd)", "torch.isclose($cells, $cells).to($dtype)",
            "$cells[:1]",
            "torch.nan_to_num($cells, $odd_float)", "torch.cat([$cells, torch.tensor([$odd])])[:4]", "($cells ^ $odd_int)",
            "($cells & $odd_int)",
        ],
        "odd_float": ["$weird_float", "$weird_float", "float($odd_int)", "(-$odd_float)", "($odd_float + $odd_float)"],
        "odd_int": ["$weird_int", "$weird_int", "(-$odd_int)", "int($bool)"],
        "bool": ["bool(($cells == $odd).any())", "($odd_float $cmp $odd_int)", "($odd_int $cmp $odd_int)",
                 "(math.isinf($odd_float))"],
        "text": ["str($odd_float)", "str($odd_int)"],
    },
    mutations={
        "cells": [
            "$me.fill_($odd)", "$me[0] = $odd", "$me[:1] = $odd", "$me.add_($odd)", "$me += $odd", "$me -= $odd",
            "$me.mul_($odd)",
            "$me.clamp_(min=$odd)", "$me.clamp_(max=$odd)", "$me.masked_fill_($me == 0, $odd)", "$me[$me == 0] = $odd",
            "$me.copy_($cells)",
            "$me.index_fill_(0, torch.tensor([0]), $odd)", "$me.sub_($me, alpha=$odd)",
            "$me.unsqueeze(0).fill_diagonal_($odd)",
        ],
    },
)  # fmt: skip

CLOSURES = Production(expressions=closures.EXPRESSIONS)  # and statements that the generator writes
ITERATORS = Production(
    iterators.KINDS, {}, iterators.LEAVES, iterators.EXPRESSIONS, iterators.MUTATIONS, {}, iterators.LOOPS, iterators.UNPACKINGS
)  # and generators that the program defines
CONTAINERS = Production(
    containers.KINDS, {}, containers.LEAVES, containers.EXPRESSIONS, containers.MUTATIONS, containers.ITEMS, containers.LOOPS,
    containers.UNPACKINGS,
)  # fmt: skip
GUARDS = Production()  # whole programs, by `guards.py`

PRODUCTIONS = {
    "core": Production(), "views": VIEWS, "texts": TEXTS, "steps": STEPS, "scalars": SCALARS, "closures": CLOSURES,
    "iterators": ITERATORS, "containers": CONTAINERS, "guards": GUARDS,
}  # fmt: skip


@dataclass(frozen=True)
class Grammar:
    """The tables that a generator writes programs from: those of `grammar.py` with those of some productions, by default.

    often: factors of the frequencies of statements, by the name of the method that writes them. given: the parameters that
    each program has. results: the kinds that a program may return, of which it chooses some for all its paths; if there
    are none, each path returns some variables. copied: kinds of variables that a copy often replaces before a write.
    taken, given_back, shared: the kinds that inner functions take, return, and change by `nonlocal`. recursion: how often
    an inner function calls itself.
    """

    kinds: dict[str, float]
    parameters: dict[str, str]
    leaves: Templates
    expressions: dict[str, list[str | tuple[float, str]]]
    mutations: Templates
    items: dict[str, str]
    loops: list[tuple[str, list[str]]]
    names: frozenset[str]
    augmented: Templates = field(default_factory=lambda: grammar.AUGMENTED)
    slices: list[str] = field(default_factory=lambda: grammar.SLICES)
    unpackings: list[tuple[str, dict[str, str]]] = field(default_factory=lambda: grammar.UNPACKINGS)
    unpacked: str = "vector"
    optionals: dict[str, str] = field(default_factory=lambda: {"maybe": "vector", "maybe_int": "int"})
    cases: list[tuple[str, list[str]]] = field(default_factory=lambda: grammar.CASES)
    closures: Templates = field(default_factory=lambda: closures.CLOSURES)
    closure_lines: list[str] = field(default_factory=lambda: closures.CLOSURE_LINES)
    raises: list[str] = field(default_factory=lambda: grammar.RAISES)
    caught: list[str] = field(default_factory=lambda: grammar.CAUGHT)
    rebound: Sequence[str] = ("int", "float", "vector", "bool", "text", "ints")
    taken: Sequence[str] = ("int", "int", "float", "vector", "ints", "text", "table", "maybe")
    given_back: Sequence[str] = ("int", "float", "vector", "ints", "text", "bool")
    shared: Sequence[str] = ("int", "vector", "ints")
    recursion: float = 0.4
    often: dict[str, float] = field(default_factory=dict)
    given: Sequence[str] = ("n", "x", "xs")
    results: Sequence[str] = ()
    copied: Sequence[str] = ()


@lru_cache
def grammar_of(only: frozenset[str] = frozenset()) -> Grammar:
    """Return the core with all productions, or with some alone, whose templates then weigh more."""
    names, weight = (only, 6) if only else (frozenset(PRODUCTIONS), 1)
    kinds, parameters = dict(grammar.KINDS), dict(grammar.PARAMETERS)
    leaves, items, loops = dict(grammar.LEAVES), dict(grammar.ITEMS), list(grammar.LOOPS)
    expressions = {kind: list(found) for kind, found in grammar.EXPRESSIONS.items()}
    unpackings = list(grammar.UNPACKINGS)
    mutations = {kind: list(found) for kind, found in grammar.MUTATIONS.items()}
    for production in (PRODUCTIONS[name] for name in PRODUCTIONS if name in names):
        kinds |= {kind: weight * often for kind, often in production.kinds.items()}
        parameters |= production.parameters
        leaves |= production.leaves
        items |= production.items
        loops += production.loops * weight
        unpackings += production.unpackings * weight
        for kind, found in production.expressions.items():
            expressions.setdefault(kind, []).extend((weight, template) for template in found)
        for kind, found in production.mutations.items():
            mutations.setdefault(kind, []).extend(found * weight)
    return Grammar(kinds, parameters, leaves, expressions, mutations, items, loops, names, unpackings=unpackings)


def chosen(names: Collection[str]) -> frozenset[str]:
    """The productions of a command line; ValueError for a name that is none."""
    if odd := sorted(set(names) - PRODUCTIONS.keys()):
        raise ValueError(f"no production '{odd[0]}'; there are {', '.join(PRODUCTIONS)}")
    return frozenset(names)
