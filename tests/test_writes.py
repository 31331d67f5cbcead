"""Writes through tensors: whether an operand may lie in what is written, and what is tested of indices in front."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import torch
from settings import sweep
from statements import agree, module_of, statements
from three_ways import Args, assert_same, call, compile_at, compiled, eager, interpreted

# y is a vector, m a matrix in the same memory, i a vector of indices. Eager looks for overlaps by the addresses of the
# operands as they are given, before it broadcasts them; an assignment to a subscript broadcasts first.
OVERLAPS = """
    y[:] = y[:1] | y.copy_(y[:1]) | y.copy_(y[0]) | y[:] = y[0] | y[1:] = y[:-1] | y[...] = y | y[:2] = y[-2:] | y[0] = y[-1]
    y[1:] += y[:-1] | y += y[:1] | y += y[1] | y -= y[:] | y[:1] += y[:1] | y[::2] += y[::2] | y[:2] -= y[::2]
    m += m[0] | m[:] = m[0] | m[:] = m[:, :1] | m[:] = m[None] | m[:] = m[None, :1] | m.copy_(m.t())
    m[0] = m[1] | m[:, 0] = m[:, 1]
    y.fill_(y[0]) | y.fill_(y[-1]) | y.fill_(y[:1]) | y.masked_fill_(y > 0, y[2]) | y.index_fill_(0, i, y[2])
    y.clamp_(y[:1]) | y.clamp_(max=y[0]) | y.clamp_(min=y[:]) | y.lerp_(y[:1], 0.5) | y.addcmul_(y[:1], y) | y.pow_(y[:1])
    y.floor_divide_(y[:1]) | y.mul_(y[None]) | y.logical_and_(y[:1]) | y.copysign_(y[:1]) | y.sub_(y[:1], alpha=2)
    y.eq_(y[1:2]) | m.addr_(y[:2], y[2:]) | y[:2].addmv_(m, y[2:])
    y[i] = y[:2] | y[i] = y[0] | y[i] = y[2:] | y[:2][i] = y[2:] | y[y > 1] = y[:1] | y[y > 1] = y[0] | y[y > 5] = y[:2]
    y.index_put_((i,), y[:2]) | y.put_(i, y[:2]) | y.index_copy_(0, i, y[:2]) | y.index_copy_(0, i, y[::2])
    y.index_add_(0, i, y[:2]) | y.scatter_(0, i, y) | y.scatter_(0, i, y[:2]) | y.scatter_add_(0, i, y[:])
    y.scatter_reduce_(0, i, y[:2], "amax") | y.index_reduce_(0, i, y[:2], "prod") | y.masked_scatter_(y > 1, y[:2])
    i[i] = 5 | i[i[:]] = 5 | i[i[:1]] = 5 | i.index_fill_(0, i, 5) | i.scatter_(0, i, 5) | i.index_add_(0, i, i + 1)
    torch.add(y, 1, out=y[:]) | torch.add(y[1:], 1, out=y[:3]) | torch.mul(y, y[:1], out=y) | torch.maximum(y[:1], y, out=y)
    torch.where(y > 1, y[0], y, out=y) | torch.clamp(y, min=y[0], out=y) | torch.gather(y, 0, i, out=y[:2])
    torch.index_select(y, 0, i, out=y[:2]) | torch.cat([y[:2], y[:2]], out=y) | torch.stack([y[0], y[1]], out=y[:2])
"""

# The same of what was made here: z is new, but not what is done with a view of it.
MADE_HERE = """
    z = m * 2; z.t().add_(z) | z = m * 2; z.add_(z.t()) | z = y * 2; z[:1].add_(z) | z = y * 2; z[:] = z[:1] | z = y * 2; y += z
    z = i * 1; z[z] = 5 | z = [m * 2, m]; z[0].t().add_(z[0]) | z = y + 1; y[:] = z; z += y
"""


def tried(group: list[str]) -> str:
    """A function that makes each statement on values of its own, and returns what they become and which raised."""
    lines = ["import torch\n\n", "def tried(x, places):", "    ys, indices, raised = [], [], []"]
    for statement in group:
        lines += ["    y, i = x.clone(), places.clone()", "    m = y.view(2, 2)", "    raised.append(0)", "    try:"]
        lines += [f"        {part.strip()}" for part in statement.split(";")]
        lines += ["    except (RuntimeError, IndexError) as e:", "        raised[-1] = 1 + int(isinstance(e, IndexError))"]
        lines += ["    ys.append(y)", "    indices.append(i)"]
    return "\n".join([*lines, "    return ys, indices, raised\n"])


_ALL = statements(OVERLAPS)
_GROUPS = [*(_ALL[k : k + 18] for k in range(0, len(_ALL), 18)), statements(MADE_HERE)]


@pytest.mark.parametrize("group", _GROUPS, ids=lambda s: s[0])
def test_overlaps(group: list[str], lasting_path: Path) -> None:
    function = module_of(tried(group), lasting_path).tried
    agree(function, [call(torch.arange(4.0), torch.tensor([1, 0]))])


PLACING = """
def index_add(x, i, s):
    return x.index_add({d}, i, s)


def index_add_scaled(x, i, s):
    return x.index_add_({d}, i, s, alpha=2)


def index_reduce(x, i, s):
    return x.index_reduce_({d}, i, s, "amax")


def index_copy(x, i, s):
    return x.index_copy_({d}, i, s)


def index_fill(x, i, s):
    return x.index_fill_({d}, i, 7.0)
"""


def _placed(dim: int) -> list[Args]:
    """Indices in and out of bounds, of tensors with and without elements, and sources of right and of wrong shapes."""
    calls = []
    for shape in ((), (0,), (3,), (0, 3), (3, 0), (2, 3)):
        for index in ([], [0], [-1], [1, 0], [3], 0):
            i = torch.tensor(index, dtype=torch.int64)
            fitting = [i.numel() if d == dim else n for d, n in enumerate(shape)]
            for source in {tuple(fitting), (), (2,)}:
                calls.append(call(torch.arange(float(torch.Size(shape).numel())).reshape(shape), i, torch.ones(source)))
    return calls


@pytest.mark.parametrize("dim", sweep([0, 1], 1))
@pytest.mark.parametrize("name", ["index_add", "index_add_scaled", "index_reduce", "index_copy", "index_fill"])
@pytest.mark.filterwarnings("ignore:index_reduce")
def test_places_and_sources(name: str, dim: int, lasting_path: Path) -> None:
    function = getattr(module_of(textwrap.dedent(PLACING.format(d=dim)), lasting_path), name)
    calls = _placed(dim)
    for given in calls:
        assert_same(eager(function, given), interpreted(function, given))
    target = compile_at(function, 0)
    for given in calls:
        x, i, s = given.args
        if x.dim() == s.dim() == 1 + dim and i.dim() == 1:  # one signature
            assert_same(eager(function, given), compiled(target, given))
