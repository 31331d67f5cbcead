"""The grammar of the fuzzer of gradients whose programs take Python containers, which loops read, change and return.

It adds to `gradient_grammar` lists of numbers, bools, strings, tuples and lists, dicts, sets, deques, lists of numbers or None,
a named tuple and an object. `argument_calls.py` makes the arguments.
"""

from __future__ import annotations

from dataclasses import replace

from tests.fuzz import gradient_grammar as base
from tests.fuzz.part_grammar import joined

PRELUDE = base.PRELUDE + '''\
import collections


class Link(typing.NamedTuple):
    i: int
    name: str
    h: torch.Tensor


@dataclasses.dataclass
class Config:
    steps: list
    rate: float
    name: str
    on: list
    h: torch.Tensor
    limit: typing.Optional[int] = None


'''

PARAMETERS = {
    "n": "int", "k": "int", "p": "float", "flag": "bool", "x": "mat", "w": "row", "s": "scalar", "ys": "rows",
        "h": "maybe",
    "ia": "numbers", "ib": "numbers", "fa": "floats", "fb": "floats", "on": "flags", "ws": "words", "gr": "grid",
        "sp": "spans",
    "tb": "table", "sc": "scores", "bg": "bag", "dq": "queue", "ho": "holes", "tx": "word", "mi": "maybe_int",
        "cf": "config",
    "ln": "link", "ed": "edges", "ne": "nest", "wi": "window",
}  # fmt: skip

_KINDS = {
    "row": 9, "mat": 3, "scalar": 2, "rows": 2, "two": 0.5, "parts": 0.3, "pair": 0.3, "state": 0.3, "box": 0.3, "sq": 0.5,
    "vec": 0.7, "ids": 0.2, "maybe": 1.5, "int": 3, "float": 2, "bool": 1.5, "numbers": 3, "floats": 2, "flags": 1.5,
    "words": 2,
    "grid": 1.2, "spans": 1, "table": 1.2, "scores": 1, "bag": 1, "queue": 0.7, "holes": 1, "word": 1.5, "maybe_int": 1,
    "config": 0.3, "link": 0.5, "edges": 0.7, "nest": 0.5, "window": 0.7,
}  # fmt: skip

_LEAVES = {
    "numbers": ["[1, 2]", "[0]", "[2, -1, 1]"], "floats": ["[0.5, -1.0]", "[2.0]"], "flags": ["[True, False]",
        "[False]"],
    "words": ['["a", "bc"]', '["abc"]'], "grid": ["[[1, 2], [0]]", "[[1]]"], "spans": ["[(1, 0.5), (0, 2.0)]"],
    "table": ['{"a": 1, "b": 2}', '{"bc": 0}'], "scores": ["{0: 0.5, 1: -1.0}", "{2: 1.5}"], "bag": ["{0, 2}", "{1}"],
    "queue": ["collections.deque([1, 2])"], "holes": ["[None, 0.5]", "[1.5, None, -0.5]"],
        "word": ['"ab"', '"c,a"', '""'],
    "maybe_int": ["None", "2"], "config": ['Config([1, 2], 0.5, "a", [True], NET.w)'], "link": ['Link(1, "ab", NET.w)'],
    "edges": ["[(NET.w, 1)]"], "nest": ["[[NET.w]]"], "window": ["collections.deque([NET.w])"],
}  # fmt: skip

_EXPRESSIONS: dict[str, list[str | tuple[float, str]]] = {
    "row": [
        "($row * $int).tanh()", "torch.sin($row * $numbers[$small])", "($row * $floats[$small]).tanh()",
        "$mat[$numbers[$small]]",
        "$rows[$numbers[$small]]", "$sq[$numbers[$small] % 3]", "($row.tanh() if $flags[$small] else $row)",
        "torch.cos($row * len($words[$small]))", "torch.sin($row * $table.get($word, 2))",
        "torch.sin($row + $table[$word])",
        "($row * $scores.get($small, 0.5)).tanh()", "($row + $scores[$small]).tanh()",
        "sum(($row * q for q in $floats[:4]), $row)",
        "(torch.sin($row) if $small in $bag else $row)", "torch.sin($row * len($bag))",
        "torch.sin($row * $queue[$small])",
        "($row if $holes[$small] is None else $row.tanh())", "torch.sin($row * len($word))", "$config.h", "$link.h",
        "torch.sin($config.h * $config.rate)", "torch.sin($row * $link.i + len($link.name))", "$edges[$small][0]",
        "torch.sin($edges[$small][0] * $edges[$bit][1])", "$nest[$small][$small]", "torch.stack($nest[$small]).sum(0)",
        "$window[$small]", "torch.sin($window[0] * $row)", "torch.sin($row * $grid[$small][$small])",
        "torch.sin($row * sum($grid[$small]))", "torch.sin($row * $spans[$small][0] + $spans[$small][1])",
        "($row * torch.tensor($floats[:1], dtype=torch.float64)).tanh()", "torch.sin($row * ord($word[$small]))",
        "torch.sin($row * sum($table.values()))", "torch.sin($row * max($numbers))",
        "torch.where(torch.tensor($flags[:1]), $row, $row)",
        "torch.sin($row * ($maybe_int or 1))", "torch.sin($row * $numbers.pop())", "torch.sin($row * $queue.popleft())",
        "$row[torch.tensor($numbers[:1]) % 3].expand(3)", "max($rows, key=lambda q: float(q.sum()))",
    ],
    "mat": ["$mat[$numbers]", "torch.stack([$row * q for q in $floats[:4]])", "torch.stack([$row for q in $flags[:4]])",
            "$mat[torch.tensor($numbers)]", "torch.stack($nest[$small])[:5]",
        "torch.cat([$mat] + [q[None] for q in $rows])[:5]"],
    "vec": ["torch.tensor($floats, dtype=torch.float64) * $scalar", "$mat[:, 0][$numbers]", "$row[$numbers]"],
    "rows": [
        "[$row * q for q in $floats[:4]]", "[$mat[q] for q in $numbers]", "[$row for q in $words[:4] if q in $table]",
        "list($window)", "$nest[$small]", "[q * r for q, r in $edges]",
        "[$row.tanh() if q else $row for q in $flags[:4]]",
        "[q for q, r in zip($rows, $flags) if r]", "[$rows[q] for q in $numbers]", "[q for r in $nest for q in r][:5]",
    ],
    "int": [
        "$numbers[$small]", "len($numbers)", "sum($numbers) % 7", "max($numbers, default=$int)", "$table[$word]",
        "$table.get($word, $int)",
        "len($words)", "len($word)", "len($bag)", "$queue[$small]", "$spans[$small][0]", "len($grid[$small])",
        "$link.i",
        "$grid[$small][$small]", "$numbers.index($int)", "$numbers.count($int)", "($maybe_int or $int)",
        "len($config.steps)",
        "sum($flags)", "$numbers.pop()", "$numbers.pop(0)", "$queue.popleft()", "$edges[$small][1]",
        "$words.index($word)",
        "$table.setdefault($word, $int % 5)", "sorted($numbers)[$small]", "$config.steps[$small]",
        "sum($grid[$small])", "len($table)",
    ],
    "float": ["$floats[$small]", "sum($floats) % 4", "$scores.get($small, $float)", "$scores[$small]",
        "$spans[$small][1]",
              "$config.rate", "max($floats, default=$float)", "($holes[$small] or $float)", "$floats.pop()"],
    "bool": ["$flags[$small]", "($int in $numbers)", "($word in $words)", "($word in $table)", "($int in $bag)",
        "any($flags)",
             "all($flags)", "($word == $word)", "bool($numbers)", "($holes[$small] is None)", "($maybe_int is None)",
        "bool($queue)",
             "$config.on[$small]", "$word.startswith($word)", "($small in $scores)", "($numbers == $numbers)",
        "$flags.pop()"],
    "numbers": [
        "[$int, $int]", "$numbers[$slice]", "($numbers + $numbers)[:6]", "sorted($numbers)", "list($numbers)",
        "[q % 5 for q in $numbers]",
        "[len(q) for q in $words]", "[q for q in $numbers if q > $int]", "$grid[$small]", "list($queue)[:5]",
        "list($table.values())",
        "sorted($bag)", "[q for q, r in $spans]", "$config.steps", "list(range($positive))", "$numbers[::-1]",
        "$numbers.copy()",
        "($numbers if $bool else $numbers)", "[i for i, q in enumerate($flags) if q]", "([$int] * $bit)",
    ],
    "floats": ["[$float, $float]", "$floats[$slice]", "[q * 0.5 for q in $floats]", "list($scores.values())",
        "sorted($floats)",
               "[r for q, r in $spans]", "[q / 2 for q in $numbers]", "($floats if $bool else $floats)",
        "[q for q in $holes if q]"],
    "flags": ["[$bool, $bool]", "[not q for q in $flags]", "$flags[$slice]", "[q > 0 for q in $numbers]", "$config.on",
              "[q in $table for q in $words]", "($flags if $bool else $flags)", "[q is None for q in $holes]"],
    "words": ["[$word, $word]", "$words[$slice]", "sorted($words)", "list($table)", "$word.split(',')",
        "[q + $word[:1] for q in $words]",
              "($words if $bool else $words)", "list($word)[:4]", "[q.upper() for q in $words]"],
    "grid": ["[$numbers, $numbers]", "$grid[$slice]", "[q[:2] for q in $grid]", "list($grid)",
        "[[q] for q in $numbers]"],
    "spans": ["[($int, $float)]", "list(zip($numbers, $floats))", "$spans[$slice]", "sorted($spans)",
        "[(q + 1, r) for q, r in $spans]"],
    "table": ["dict($table)", '{"a": $int, $word: $int}', "{q: len(q) for q in $words}",
        "dict(zip($words, $numbers))", "{}"],
    "scores": ["dict($scores)", "{$int: $float}", "{q: r for q, r in $spans}", "dict(enumerate($floats))"],
    "bag": ["set($numbers)", "{$int, $int}", "($bag | $bag)", "($bag - $bag)", "{q % 3 for q in $numbers}",
        "set($bag)"],
    "queue": ["collections.deque($numbers)", "collections.deque([$int, $int])"],
    "holes": ["[$float, None]", "$holes[$slice]", "[q if q > 0 else None for q in $floats]", "list($holes)"],
    "word": ["$words[$small]", "($word + $word)[:6]", "$word[$slice]", "str($int)", "$link.name", "$config.name",
        "$words.pop()",
             "','.join($words)[:8]", "($word if $bool else $word)", "max($words, default='b')", "$word.upper()",
        "min($table, default='')"],
    "maybe_int": ["None", "$int", "($int if $bool else None)", "$config.limit", "$table.get($word)"],
    "link": ["Link($int, $word, $row)", "$link._replace(i=$int)", "$link._replace(h=$row)"],
    "config": ["dataclasses.replace($config, rate=$float)", "Config($numbers, $float, $word, $flags, $row)"],
    "edges": ["[($row, $int)]", "$edges[$slice]", "[(q.tanh(), r + 1) for q, r in $edges]",
        "list(zip($rows, $numbers))"],
    "nest": ["[$rows, $rows]", "[[q * 0.5 for q in r] for r in $nest]", "$nest[$slice]"],
    "window": ["collections.deque($rows)", "collections.deque($rows, 3)"],
}  # fmt: skip


def _of_list(item: str, *more: str) -> list[str]:
    """Return statements that change a list of these items, and more."""
    return [
        f"$me.append({item})", f"$me[$small] = {item}", f"$me.insert($bit, {item})", "$me.pop()", "del $me[$slice]",
        "$me.reverse()",
        "$me[0], $me[-1] = $me[-1], $me[0]", "$me.clear()", "$me[:] = $me[$slice]", *more,
    ]  # fmt: skip


_MUTATIONS = {
    "numbers": _of_list("$int % 5", "$me.sort()", "$me[$small] += 1", "$me.extend($numbers[:3])", "$me += [1]"),
    "floats": _of_list("$float", "$me.sort()", "$me[$small] *= 0.5"),
    "flags": _of_list("$bool", "$me[$small] = not $me[$small]"),
    "words": _of_list("$word", "$me.sort(key=len)", "$me[$small] += 'a'"),
    "grid": _of_list("$numbers", "$me[$small].append($int % 5)", "$me[$small][$small] = $int % 5",
        "$me[$small].sort()"),
    "spans": _of_list("($int, $float)", "$me.sort()"),
    "holes": _of_list("$float", "$me.append(None)", "$me[$small] = None"),
    "table": ["$me[$word] = $int % 5", "$me[$word] = $me.get($word, 0) + 1", "$me.pop($word, None)", "del $me[$word]",
        "$me.clear()",
              "$me.update($table)"],
    "scores": ["$me[$small] = $float", "$me[$small] = $me.get($small, 1.0) * 0.5", "$me.pop($small, None)",
        "del $me[$small]"],
    "bag": ["$me.add($int % 5)", "$me.discard($int)", "$me.remove($int)", "$me |= $bag", "$me.clear()"],
    "queue": ["$me.append($int % 5)", "$me.appendleft($int % 5)", "$me.popleft()", "$me.pop()", "$me[$small] = 2"],
    "config": ["$me.rate = $float", "$me.steps.append($int % 5)", "$me.name = $word", "$me.on[$small] = $bool",
        "$me.h = $row",
               "$me.limit = $maybe_int", "$me.rate *= 0.5"],
    "edges": _of_list("($row, $int)"),
    "nest": _of_list("$rows", "$me[$small].append($row)", "$me[$small][$small] = $row"),
    "window": ["$me.append($row)", "$me.popleft()", "$me.append($me.popleft() * $row)", "$me[$small] = $row"],
}  # fmt: skip

_AUGMENTED = {
    "int": ["$me += $numbers[$small]", "$me = $me + len($word)"],
    "row": ["$me = torch.sin($me * $int + $row)", "$me = torch.sin($me * $float)", "$me = $me.tanh() * $row"],
    "word": ["$me += $word[:1]", "$me = $me[1:]"],
    "numbers": ["$me = $me[1:]", "$me = $me + [$int]"],
    "words": ["$me = $me[:-1]"],
    "table": ["$me = {q: r + 1 for q, r in $me.items()}"],
    "link": ["$me = Link($me.i + 1, $me.name, $me.h * $row)"],
    "edges": ["$me = [(q * $row, r) for q, r in $me]"],
    "maybe_int": ["$me = $int", "$me = None", "$me = None if $bool else $int"],
}  # fmt: skip

_LOOPS: list[tuple[str, list[str]]] = [
    ("$1 in $a_numbers[:4]", ["int"]), ("$1 in $a_floats[:4]", ["float"]), ("$1 in $a_flags[:4]", ["bool"]),
    ("$1 in $a_words[:4]", ["word"]), ("$1 in $a_grid[:3]", ["numbers"]), ("$1, $2 in $a_spans[:4]", ["int", "float"]),
    ("$1, $2 in $a_table.items()", ["word", "int"]), ("$1, $2 in $a_scores.items()", ["int", "float"]),
        ("$1 in sorted($a_bag)", ["int"]),
    ("$1 in $a_bag", ["int"]), ("$1 in $a_queue", ["int"]), ("$1 in $a_word[:4]", ["word"]),
        ("$1, $2 in $a_edges[:3]", ["row", "int"]),
    ("$1 in $a_nest[:3]", ["rows"]), ("$1 in $a_window", ["row"]), ("$1, $2 in zip($a_numbers, $a_words)", ["int",
        "word"]),
    ("$1, $2 in enumerate($a_flags)", ["int", "bool"]), ("$1 in range(len($a_numbers))", ["int"]),
        ("$1 in range(len($a_words))", ["int"]),
    ("$1, $2 in zip($a_rows, $a_numbers)", ["row", "int"]), ("$1 in $a_config.steps[:4]", ["int"]),
        ("$1 in range(len($a_holes))", ["int"]),
    ("$1 in $a_numbers", ["int"]), ("$1 in $a_words", ["word"]), ("$1 in $a_table", ["word"]),
        ("$1 in sorted($a_table)", ["word"]),
]  # fmt: skip

_UNPACKINGS: list[tuple[str, dict[str, str]]] = [
    ("$1, $2, $3 = $link", {"$1": "int", "$2": "word", "$3": "row"}), ("$1, $2 = $spans[$small]", {"$1": "int",
        "$2": "float"}),
    ("$1, $2 = $edges[$small]", {"$1": "row", "$2": "int"}), ("$1, *$2 = $numbers", {"$1": "int", "$2": "numbers"}),
    ("$1, $2 = $numbers, $words", {"$1": "numbers", "$2": "words"}), ("$1, $2 = $numbers[0], $numbers[-1]",
        {"$1": "int", "$2": "int"}),
    ("$1, $2 = $grid[0], $grid", {"$1": "numbers", "$2": "grid"}), ("$1, _, $2 = $word.partition(',')", {"$1": "word",
        "$2": "word"}),
]  # fmt: skip

_LISTS = {"numbers": "int", "floats": "float", "flags": "bool", "words": "word", "grid": "numbers", "nest": "rows",
          "queue": "int", "window": "row", "holes": "float"}  # fmt: skip

GRAMMAR = replace(
    base.GRAMMAR,
    kinds=_KINDS,
    parameters=PARAMETERS,
    leaves=joined(base.LEAVES, _LEAVES),
    expressions=joined(base.EXPRESSIONS, _EXPRESSIONS, _EXPRESSIONS),  # type: ignore[arg-type]
    mutations=joined(base.MUTATIONS, _MUTATIONS),
    items=base.GRAMMAR.items | _LISTS | {"spans": "", "edges": ""},
    augmented=joined(base.AUGMENTED, _AUGMENTED, _AUGMENTED),
    loops=base.LOOPS[:8] + _LOOPS * 2,
    unpackings=base.UNPACKINGS[4:5] + _UNPACKINGS,
    optionals={"maybe": "row", "maybe_int": "int"},
    cases=[*base.GRAMMAR.cases, ("$word", ["'a'", "'b' | 'bc'", "''"])],
    raises=["raise ValueError($word)", "assert $bool", "$row[$int]", "raise KeyError($word)", "$table[$word]",
        "$numbers[$int]"],
    caught=["ValueError", "Exception", "IndexError", "KeyError", "LookupError"],
    rebound=("row", "scalar", "numbers", "word"),
    taken=("row", "row", "int", "numbers", "words", "word", "floats", "flags", "table"),
    given_back=("row", "row", "int", "numbers", "word", "bool", "words"),
    shared=("row", "int", "numbers", "table"),
    often={**base.GRAMMAR.often, "augmented": 1.3, "mutation": 1.3, "loop": 2, "cases": 0.7, "optional": 1, "leave": 2,
           "function": 0.6},
    given=("n", "x", "w", "ia", "ws"),
    results=("row", "row", "row", "scalar", "rows", "numbers", "floats", "words", "table", "grid", "word", "int",
        "maybe", "flags",
             "bag", "spans", "config", "link", "edges", "window", "queue", "holes"),
)  # fmt: skip
