"""Functions that share variables: what the inner ones do with them, and expressions that make functions and call them."""

from __future__ import annotations

# By kind of the shared variable `c`: statements that change it. `q` is the argument of the function, `a` and `b` are those
# of the function around.
CLOSURES = {
    "int": ["c = (c * 3 + q) % 101 - b", "c -= q % 7", "c = a if q > 2 else c + 1"],
    "float": ["c = c * 0.5 + q % 8", "c = -c", "c = a if c > 3 else c + 0.5"],
    "text": ["c = (c + 'ab'[q % 2])[-6:]", "c = c[::-1] or 'z'", "c = f'{q}{c}'[:5]"],
    "vector": ["c = c + q", "c.add_(q)", "c = c[1:] if len(c) > 1 else a", "c = c.clone()"],
    "ints": ["c = c[-4:] + [q]", "c[:1] = [q]", "c = [*c, q][-5:]"],
}
CLOSURE_LINES = [
    "def e():\n    nonlocal d\n    d += 2\ne()", "for i in range(q % 3):\n    d += i", "if d > 40:\n    d -= 37",
    "d = (lambda t=d: t - 1)()", "try:\n    d += 6 // q\nexcept ZeroDivisionError:\n    d -= 1\nfinally:\n    d += 1",
    "d = sum(t + d for t in range(2)) % 50", "d += [lambda t: t + d, lambda t: t - d][q % 2](1) % 9",
]  # fmt: skip
EXPRESSIONS = {
    "ints": [
        "[f() for f in [lambda i=i: i * $int for i in range(3)]]", "[g() for g in [lambda: i for i in range(3)]]",
        "[f($int) for f in (lambda q: q + 1, lambda q, r=$int: q - r)]", "list(map(lambda q, r: q - r, $ints, $ints))",
        "sorted($ints, key=lambda q, r=$int: (q - r) % 5)", "[(lambda: q + r)() for q in $ints[:3] for r in range(2)]",
    ],
    "int": [
        "(lambda *q, r=$int: sum(q) + r)($int, $int)", "(lambda q, /, r=2, **s: q * r + len(s))($int, t=1)",
        "functools.partial(lambda q, r: q - r, $int)($int)", "(lambda f: f(f($int)))(lambda q: q * 2 % 9)",
        "(lambda q: (lambda r: q - r))($int)($int)",
        "(lambda q, *r, s=1, **t: q + len(r) + s + t.get('u', 5))($int, *$ints[:3], u=$int)",
        "max($ints, key=lambda q: (lambda r: -r)(q))",
    ],
    "vector": ["(lambda q, f=lambda r: r * 2: f(q))($vector)", "(lambda q: q[1:])($vector)"],
}  # fmt: skip
