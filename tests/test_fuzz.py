"""A few programs of the fuzzer (`python -m tests.fuzz` runs thousands), and what it makes of programs that fail."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from settings import sweep
from three_ways import call

from scriptc.dispatch.dispatcher import Dispatcher
from scriptc.dispatch.recorded_calls import _Recorded
from tests.fuzz import batch, children
from tests.fuzz.batch import Program, program
from tests.fuzz.calls import Wide, compare, steps
from tests.fuzz.children import run_batches
from tests.fuzz.gradient_batch import GRAMMARS, gradient_program
from tests.fuzz.minimise import minimised
from tests.fuzz.prelude import PRELUDE
from tests.fuzz.productions import PRODUCTIONS, chosen


@pytest.mark.parametrize("levels", sweep([(0, 0), (3, 0), (3, 3)], (3, 0)))
def test_programs_agree_with_python(levels: tuple[int, int]) -> None:
    programs = [program(seed, levels) for seed in range(900_000, 900_020)]
    (reports,) = run_batches([programs])
    assert [r.program.seed for r in reports if r.kind == "same"], "none was run"
    wrong = [f"{r.kind}: {r.message}\n{r.program.text}" for r in reports if r.is_finding]
    assert not wrong, "\n".join(wrong)


def broken(monkeypatch: pytest.MonkeyPatch, compare: Callable[..., Any]) -> list[children.Report]:
    """What is reported of two programs when the second's comparison is this one."""
    whole = batch.compare

    def chosen(function: Any, *rest: Any) -> Any:
        return (compare if "1 + 1" in rest[2] else whole)(function, *rest)

    monkeypatch.setattr(batch, "compare", chosen)
    texts = ["def f1(n):\n    return n\n", "def f2(n):\n    n = n * 2\n    if n > 100:\n        n -= 1\n    return 1 + 1, n\n"]
    (reports,) = run_batches([[Program(seed, text, 0, 0) for seed, text in enumerate(texts, 1)]])
    return sorted(reports, key=lambda r: r.program.seed)


def test_a_crash_is_laid_at_its_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: Any) -> None:
        import os
        import signal

        os.kill(os.getpid(), signal.SIGSEGV)

    first, second = broken(monkeypatch, crash)
    assert first.kind == "same" and second.kind == "crash" and "SIGSEGV" in second.message


@pytest.mark.slow
def test_what_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*_: Any) -> None:
        while True:
            time.sleep(1)

    monkeypatch.setattr(children, "SILENCE", 6)
    first, second = broken(monkeypatch, hang)
    assert first.kind == "same" and second.kind == "hang"


def test_findings_are_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: Any) -> None:
        raise AssertionError("result: 1, but eager: 2")

    _, report = broken(monkeypatch, wrong)
    assert report.kind == "differs"
    assert minimised(report, 60).text == "def f2(n):\n    return 1 + 1\n"


def test_ints_beyond_64_bits_are_no_fault() -> None:
    text = "def f3(n):\n    try:\n        return (n + 9) * 2**61 > 0\n    except OverflowError:\n        return 5\n"
    (reports,) = run_batches([[Program(3, text, 0, 0)]])
    assert [r.kind for r in reports] == ["wide"]


def test_results_that_depend_on_the_order_of_writes_are_no_fault() -> None:
    bodies = ("v = x[:1].expand(2); v[v > 9] = 1", "torch.zeros(1).expand(2).zero_()", "m = x.new_ones(3, 3); m.add_(m.t()[1])")
    texts = [f"def f{i}(x):\n    m = x\n    {body}\n    return m\n" for i, body in enumerate(bodies)]
    (reports,) = run_batches([[Program(i, text, 0, 0) for i, text in enumerate(texts)]])
    assert [r.kind for r in reports] == ["order"] * 3


def test_ints_that_a_key_computes_are_seen() -> None:
    """abs(-2**63) has more than 64 bits, although what is returned has not."""

    def overflows(n: int) -> float:
        raise OverflowError

    text = "def smallest(n):\n    return min(1.5, ~n, key=abs)\n"
    names: dict[str, Any] = {}
    exec(PRELUDE + text, names)
    with pytest.raises(Wide):
        compare(names["smallest"], overflows, call(2**63 - 1), text)


@pytest.mark.parametrize("name", sorted(PRODUCTIONS.keys() - {"guards", "scalars"}))
def test_productions_agree_with_python(name: str) -> None:
    programs = [program(seed, (3, 0), frozenset({name})) for seed in range(910_000, 910_010)]
    (reports,) = run_batches([programs])
    wrong = [f"{r.kind}: {r.message}\n{r.program.text}" for r in reports if r.is_finding]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", sorted(PRODUCTIONS))
def test_programs_depend_on_the_seed_alone(name: str) -> None:
    texts = [[program(seed, (3, 0), frozenset({name})).text for seed in range(20)] for _ in range(2)]
    assert texts[0] == texts[1]
    assert len({*texts[0]}) == 20
    for text in texts[0]:
        compile(text, "<program>", "exec")


def test_only_productions_that_there_are() -> None:
    assert chosen(["views", "guards"]) == {"views", "guards"}
    with pytest.raises(ValueError, match="no production 'view'; there are core, views"):
        chosen(["view"])


OUTSIDE = """
f1_k = [1]
def f1(n):
    return n + f1_k[0]
def f1_change(step):
    f1_k[0] = step * 2
    if step == 2:
        raise ValueError
def f1_restore():
    f1_k.append("restored")
"""


def test_what_lives_outside_changes_between_calls() -> None:
    """Each call is compared behind its change, also one that fails on its way, and what was changed is put back."""
    names: dict[str, Any] = {}
    exec(PRELUDE + OUTSIDE, names)
    found = [names["f1"](0) for _ in steps(1, names["f1"], names["Cell"])]
    assert found == [0, 2, 4, 6] and names["f1_k"] == [6, "restored"]
    (reports,) = run_batches([[Program(1, OUTSIDE, 0, 0)]])
    assert [(r.kind, r.calls) for r in reports] == [("same", 4)]


def test_a_guard_that_is_missing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Dispatcher, "spec", lambda self, variant: spec(self, variant)._replace(guards=()))
    (reports,) = run_batches([[Program(1, OUTSIDE.replace("f1_k[0] =", "f1_k[:] = [step, step]; f1_k[0] ="), 0, 0)]])
    assert [r.kind for r in reports] == ["differs"]


spec = Dispatcher.spec


# ---- gradients ----


def assert_gradients_agree(programs: list[Program]) -> None:
    (reports,) = run_batches([programs])
    assert "same" in {r.kind for r in reports}, "no gradient was compared"
    wrong = [f"{r.kind}: {r.message}\n{r.program.text}" for r in reports if r.is_finding]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("levels", [(0, 0), (3, 0)])
def test_gradients_agree_with_eager(levels: tuple[int, int]) -> None:
    assert_gradients_agree([gradient_program(seed, levels) for seed in range(900_000, 900_015)])


@pytest.mark.slow
@pytest.mark.parametrize("levels", [(0, 0), (2, 0), (3, 0), (3, 3)])
@pytest.mark.parametrize("start", range(910_000, 910_200, 40))
def test_gradients_of_more_programs_agree_with_eager(levels: tuple[int, int], start: int) -> None:
    assert_gradients_agree([gradient_program(seed, levels) for seed in range(start, start + 40)])


@pytest.mark.parametrize("grammar", ["parts", "layers", "arguments"])
def test_gradients_of_other_grammars_agree_with_eager(grammar: str) -> None:
    assert_gradients_agree([GRAMMARS[grammar](seed, (3, 0)) for seed in range(900_000, 900_004)])


@pytest.mark.slow
@pytest.mark.parametrize("levels", [(0, 0), (3, 0), (3, 3)])
@pytest.mark.parametrize("grammar", ["parts", "layers", "arguments"])
def test_gradients_of_more_programs_of_other_grammars_agree_with_eager(grammar: str, levels: tuple[int, int]) -> None:
    assert_gradients_agree([GRAMMARS[grammar](seed, levels) for seed in range(910_000, 910_030)])


CARRIED = """
def f1(n, p, x, w, m, s, ys, h):
    for i1 in range(0, w.argmax().item() % 3):
        v2 = NET.fixed * w
        for i6, i7 in zip(torch.relu(torch.ones(2, 3, dtype=torch.float64)), [q + v2 for q in ys]):
            w = w.clone()
            w.scatter_(0, m.argmax(1), v2)
            w = w.clone()
            torch.tanh_(w)
            m = m.sigmoid() - m.flip(1)
    return x, ys, w
"""


def test_gradients_that_loops_carry_have_the_type_of_all_paths() -> None:
    assert_gradients_agree([Program(1, CARRIED, 3, 0, gradients=True)])


NO_ITEMS = """
def f1145(n, p, x, w, ia, ib, ws, gr, sc, bg, ho, ln, ed, ne):
    for i4 in ws:
        v5, v6 = (sorted({q % 3 for q in ib}), [q.upper() for q in ws])
        return (gr, ed, i4, v5)
    return (gr, ed, ('ab' + 'ab')[:6], sorted(bg))
"""


def test_items_of_an_empty_list_have_a_form_in_c() -> None:
    (reports,) = run_batches([[Program(1145, NO_ITEMS, 3, 0, gradients=True, containers=True)]])
    assert [r.kind for r in reports] == ["same"]


SQUARE = "def f2(x, w):\n    return w * w, x @ w\n"


def test_a_wrong_gradient_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    forward = _Recorded.forward

    def halving(ctx: Any, record: Any, *inputs: Any) -> Any:
        outputs = forward(ctx, record, *inputs)
        ctx.apply = lambda *grads: tuple(None if g is None else g / 2 for g in record.backward(*grads))
        return outputs

    assert_gradients_agree([Program(2, SQUARE, 0, 0, gradients=True)])
    monkeypatch.setattr(_Recorded, "forward", staticmethod(halving))
    (reports,) = run_batches([[Program(2, SQUARE, 0, 0, gradients=True)]])
    assert [r.kind for r in reports] == ["differs"]


WRITES_TO_ROWS = """
def f{seed}(x, w, ys):
    for row in x * 2:
        try:
            row.tanh_()
            ys[0] = w
        finally:
            x = x[9]
    return x
"""
CATCHES_THE_REFUSAL = """
def f{seed}(x):
    for row in x * 2:
        try:
            row.tanh_()
        except RuntimeError:
            pass
    return row * 1
"""
WRITES_TO_AN_OLDER_VIEW = """
def f{seed}(m, w):
    q = m.diagonal()
    m[0] = w
    q.mul_(0)
    return m * 1
"""
RETURNS_A_WRITTEN_ROW = """
def f{seed}(x, w):
    for row in x * 2:
        w = row
        row.detach().mul_(0.5)
    return w
"""


@pytest.mark.parametrize("text", [WRITES_TO_ROWS, CATCHES_THE_REFUSAL, WRITES_TO_AN_OLDER_VIEW, RETURNS_A_WRITTEN_ROW])
def test_views_that_eager_refuses_are_no_fault(text: str) -> None:
    programs = [Program(seed, text.format(seed=seed), 0, 0, gradients=True) for seed in range(2, 6)]
    (reports,) = run_batches([programs])
    assert not any(r.is_finding or r.kind == "refused" for r in reports)


def test_sizes_that_are_refused_are_no_agreement() -> None:
    text = "def f2(x):\n    return torch.nn.functional.pixel_unshuffle(x[None, None, :0], 3)\n"
    (reports,) = run_batches([[Program(2, text, 0, 0, gradients=True)]])
    assert [r.kind for r in reports] == ["refused"] and "pixel_unshuffle" in reports[0].message


def test_gradients_that_are_refused_are_no_agreement() -> None:
    text = "def f2(x, w):\n    return w.sum() * 0 if len(x) == 0 else x[0].sum() * w + f2(x[1:], w)\n"
    (reports,) = run_batches([[Program(2, text, 0, 0, gradients=True)]])
    assert [r.kind for r in reports] == ["refused"] and "calls itself" in reports[0].message
