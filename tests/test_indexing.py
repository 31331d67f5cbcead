"""Indices that are bools, masks or tensors without dims, and values that are assigned through indices, in tables of
statements."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from settings import sweep
from statements import agree, module_of, statements
from three_ways import assert_same, call, eager, interpreted

READ = """
    x[True] | x[False] | x[None, True] | x[True, None] | x[True, True] | x[True, False] | x[True, 1] | x[1, True] | x[..., True]
    x[True, ...] | x[:, True] | x[:, False] | x[True, 1:2] | x[True, m] | x[False, m] | x[t] | x[f] | x[t, 1] | x[1, t]
    x[..., t]
    x[None, t] | x[t, f] | x[t, m] | x[t, :, i] | x[i, t] | x[s > 1] | x[k] | x[not k] | x[u] | x[i] | x[i, i] | x[:, i]
    s[True]
    s[False] | s[t] | s[f] | s[...] | s[None, True] | s[s < 1] | s[k] | s[()] | s[0] | x[m, True] | x[m, None]
    y[True, 0, True]
    y[:, True, i] | y[i, True, i] | y[:, t, :, i] | e[True] | e[f] | x[[True, False, True]] | x[(True,)] | x[[True]]
    x[:, m[0]] | x[range(3)] | x[range(x.size(0)), q] | x[:, range(1, 4, 2)] | x[range(2, -1, -1)] | x[range(0)] | x[range(9)]
    x[range(2), (1, 0)] | x[range(i), [3]] | x[range(x.size(0)), tuple(n % 3 for n in range(x.size(0)))] | x[q, range(3), None]
    x[1.0] | x[0, 1.0] | x[2j] | x["a"] | x[[0.5]] | x[s] | x.index_put((s > 1,), s) | torch.index_put(x, (s < 1,), s)
    x.clone().index_put_((s > 1,), s) | x.index_put((i,), s) | x.index_put((i, p), s, accumulate=True) | x.index_put((i, i), s)
    x[i, i, i] | x[True, 1, 1, 1] | x[p, q] | x[:, p[:1]] | x[:, p[:0]] | x.expand(3) | x.expand()
"""
WRITTEN = """
    x[True] | x[False] | x[None, True] | x[t] | x[f] | s[True] | s[False] | s[t] | x[k] | x[True, 1] | x[t, 1] | x[..., t]
    x[t, m]
    x[m] | e[t] | x[i, t] | x[i] | x[range(3)] | x[range(3), q]
"""
BY_MASKS = """
    z[a] | z[b] | z[c] | z[:, g] | z[:, h] | z[b, 1] | z[c, 1] | z[c, ..., None] | z[None, b] | z[b, :2] | z[c, 0:1, 1]
    z[c.byte()] | z[:0][a[:0]] | z[a & ~a] | z[b & ~b] | z[a[:1]] | z[h] | z.transpose(0, 2)[a.transpose(0, 2)]
    z.permute(2, 0, 1)[:, b] | torch.index_put(z, (a,), s) | z.index_put((b,), s.expand(5), accumulate=True)
    z.index_put((c,), s, accumulate=True) | z[b, i] | z.to(torch.complex64)[b] | (z > 2)[c] | z.long()[a] | z[c, h]
    z[..., h, :]
"""
BY_MASKS_WRITTEN = """
    z[a] | z[b] | z[c] | z[:, g] | z[:, h] | z[b, 1] | z[c, 1:3] | z.transpose(0, 2)[a.transpose(0, 2)] | z[a & ~a]
"""
BY_MASKS_VALUES = """
    1.5 | s | True | torch.ones(5) | torch.ones(4, 1) | torch.arange(1.0 * a.sum()) | torch.ones(1) | torch.ones(7)
    torch.arange(5.0 * b.sum()).view(-1, 5) | torch.ones(1, 1, 5) | torch.ones(0) | s.long()
"""
VALUES = "9.0 | s + 9 | torch.ones(1) | torch.ones(1, 1) | torch.ones(3, 4) | torch.ones(1, 3, 4) | torch.ones(2) | x | s"
_PARAMETERS = {
    "x": torch.arange(12.0).view(3, 4), "y": torch.arange(24.0).view(2, 3, 4), "s": torch.tensor(2.5), "t": torch.tensor(True),
    "f": torch.tensor(False), "m": torch.arange(12).view(3, 4) > 4, "u": torch.tensor(1, dtype=torch.uint8),
    "i": torch.tensor(1), "e": torch.empty(0, 4), "p": torch.tensor([0, 1]), "q": torch.tensor([0, 1, 2]), "k": True,
    "z": torch.arange(60.0).view(3, 4, 5).sin() * 40, "a": torch.arange(60).view(3, 4, 5) % 3 == 1,
    "b": torch.arange(12).view(3, 4) % 5 < 2, "c": torch.tensor([True, False, True]),
    "g": torch.arange(20).view(4, 5) % 3 == 0, "h": torch.tensor([True, False, False, True]),
}  # fmt: skip


PARTS = 3  # of the statements


def _bodies() -> list[str]:
    tables = ((WRITTEN, VALUES), (BY_MASKS_WRITTEN, BY_MASKS_VALUES))
    stores = [(place, value) for places, values in tables for place in statements(places) for value in statements(values)]
    changed = ["z[a] += 1", "z[b] *= z[b]", "z[c] -= z[c].mean()", "z[:, h] /= 2"]
    return [
        *(f"return {e}" for e in statements(READ + BY_MASKS)),
        *(f"{place} = {value}\n    return {place[0]}" for place, value in stores),
        *(f"{change}\n    return z" for change in changed),
    ]


@pytest.mark.parametrize("part", sweep(range(PARTS), 0))
def test_bools_and_tensors_without_dims_index(part: int, lasting_path: Path) -> None:
    names, bodies = ", ".join(_PARAMETERS), _bodies()[part::PARTS]
    source = "".join(f"def f{i}({names}):\n    {body}\n" for i, body in enumerate(bodies))
    module, given = module_of(f"import torch\n{source}", lasting_path), call(**_PARAMETERS)
    for i, body in enumerate(bodies):
        function = getattr(module, f"f{i}")
        try:
            if part == 0 and i % (24 // PARTS) == 0:
                agree(function, [given])
            else:
                assert_same(eager(function, given), interpreted(function, given))
        except AssertionError as e:
            raise AssertionError(body) from e
