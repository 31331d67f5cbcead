"""Templates of objects that are dicts or lists, of objects whose own code finds their attributes, and of dicts whose keys
only some paths give. `tests/fuzz/prelude.py` has the classes."""

from __future__ import annotations

KINDS = {"found": 1.2, "named": 1, "tally": 0.7, "stack": 0.8, "finds": 0.6, "extras": 1.2}
LEAVES = {
    "found": ["Found(torch.ones(2, dtype=torch.float64), 3)"], "named": ["Named(a=1, b=torch.ones(2, dtype=torch.float64))"],
    "tally": ["Tally(a=1)"], "stack": ["Stack([1, 2])"], "finds": ["Finds(3)"], "extras": ['{"a": 4}', "{}"],
}  # fmt: skip
EXPRESSIONS = {
    "found": [
        "Found($vector)", "Found($vector, $int)",
        "Found($a_vector, n=$int, w=$same)", "Found(v=$vector, w=$vector)",
        "dataclasses.replace($found, n=$int)", "Found(**$found)", "Found(*$found.to_tuple()[:1])",
    ],
    "named": [
        "Named(a=$int, b=$vector)", "Named($named, a=$int)", 'Named([("b", $vector), ("a", $int)])', "Named({**$named})",
        "Named(b=$vector, a=2, c=$int)",
    ],
    "tally": ["Tally(a=$int)", "Tally(zip($texts, $ints))", "Tally($words)", "Tally()"],
    "stack": ["Stack($ints[:4])", "Stack([$int])", "Stack(q for q in $ints[:3])", "Stack($stack)"],
    "finds": ["Finds($int)"],
    "extras": ['{"a": $int}', '{"b": $int, "a": 2}', '{**$extras, "c": $int}', "dict($extras)", "{}"],
    "int": [
        "len($found)", "len($found.to_tuple())", "($found.n or $int)", '$found.get("n", $int)', '$found["n"]',
        "sum(len(q) for q in $found)", "$named.a", '$named["a"]', "len($named)", '$named.get("c", $int)', "$named.c",
        'getattr($named, "c", $int)', "sum(len(q) for q in $named)", "$tally[$text]", '$tally["zz"]', "$tally.total()",
        "$tally.get($text, $int)", "len($tally)", "$stack[$small]", "$stack.top", "$stack.push($int)", "len($stack)",
        "sum($stack)", "$stack.pushed", "$stack.pop()", "$finds.k", "$finds.abc", "$finds.zz", "len($finds.log)",
        'getattr($finds, "_u", $int)', '$extras.get("a", $int)', '$extras["b"]', "scaled($int, **$extras)",
        "scaled($int, **$extras, **{'d': 1})", '$extras.pop("a", $int)', '$extras.setdefault("b", $int)', "LEVEL.get()",
        "len($extras)", "sum($extras.values())", '($extras.get("c") or $int)',
    ],
    "vector": [
        "$found.v", '$found["v"]', "$found[0]", '$found.get("w", $vector)', "$found.to_tuple()[0]", "$named.b", '$named["b"]',
        '($found["v"] + $found.v)', 'dict($found)["v"]',
    ],
    "bool": [
        '("n" in $found)', "($found.w is None)", '($found["v"] is $found.v)', "isinstance($found, dict)",
        'hasattr($named, "c")', '("c" in $named)', "($text in $tally)", "($int in $stack)", "bool($stack)",
        "($stack == $ints)", '("a" in $extras)', '($extras == {"a": $int})', "bool($extras)", 'hasattr($finds, "_u")',
        "($tally == $words)", "isinstance($stack, list)",
    ],
    "ints": [
        "list($stack)", "($stack + $ints)[:9]", "$stack[$slice]", "sorted($stack)", "[q for q in $stack]", "$finds.log",
        "list($tally.values())", "list($extras.values())", "[*$stack, $int]",
    ],
    "texts": [
        "list($found)", "sorted($found)", "list($named)", "list($tally)", "sorted($tally)", "list($extras)", "[*$extras]",
    ],
    "words": ["dict($tally)", "{**$tally}"],
    "text": ['",".join($found.keys())', "next(iter($named))"],
}  # fmt: skip
MUTATIONS = {
    "found": [
        "$me.v = $vector", '$me["v"] = $vector', "$me.n = $int", '$me["n"] = $int', "$me.v.add_($int)", '$me["v"].mul_(2)',
        "$me.w = $vector", "$me.w = None", '$me["w"] = $vector', '$me.move_to_end("v")', '$me.pop("w", None)',
    ],
    "named": [
        "$me.a = $int", "$me.a += $int", '$me["a"] = $int', "$me.c = $int", "del $me.c", '$me.pop("c", 0)', "$me.b = $vector",
        "$me.update(a=$int)", '$me.setdefault("c", $int)', 'del $me["a"]', "$me.b.add_($int)", '$me["c"] = $me["a"]',
    ],
    "tally": [
        "$me[$text] = $int", "$me[$text] += $int", "$me.pop($text, 0)", "del $me[$text]", "$me.update(a=$int)", "$me[$text]",
    ],
    "stack": [
        "$me.append($int)", "$me.push($int)", "$me.pop()", "$me[$small] = $int", "$me.extend($ints[:2])", "$me.sort()",
        "$me.insert(0, $int)", "$me.reverse()", "del $me[$small]", "$me += $ints[:2]", "$me.clear()", "$me[$slice] = $ints[:2]",
        "$me.pushed = $int",
    ],
    "finds": ["$me.k = $int", "$me.zz = $int", "del $me.zz", "$me.k += $me.abcd", "$me.log.append($int)"],
    "extras": [
        '$me["a"] = $int', 'del $me["a"]', '$me.pop("b", None)', '$me.setdefault("c", $int)', "$me.update(b=$int)",
        '$me["b"] = $me.get("a", 0)', '$me["c"] += $int', "$me.clear()",
    ],
}  # fmt: skip
ITEMS = {"stack": "int"}
LOOPS: list[tuple[str, list[str]]] = [
    ("$1 in $stack[:5]", ["int"]), ("$1 in $found", ["text"]), ("$1 in $named", ["text"]), ("$1, $2 in $extras.items()",
        ["text", "int"]),
    ("$1, $2 in list($tally.items())[:5]", ["text", "int"]), ("$1, $2 in enumerate($stack[:4])", ["int", "int"]),
]  # fmt: skip
UNPACKINGS: list[tuple[str, dict[str, str]]] = [
    ("$1, *$2 = $found.to_tuple()", {"$1": "vector"}), ("$1, $2 = $stack", {"$1": "int", "$2": "int"}),
]  # fmt: skip
