"""Programs as they are found in public code: one callable each, equal to eager at several lengths, 0 and 1 included."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from public import cells, decoding, fastrnns, filters, spectra  # noqa: F401  (they list their programs)
from public.cases import PUBLIC, Case
from settings import OPTIMIZE, sweep
from three_ways import Args, assert_same, compile_at, compiled, eager
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map

# The programs whose results have no gradients in eager: integers, or results of no_grad code.
WITHOUT_GRADIENTS = {
    "seq2seq_greedy", "beam_search", "ctc_greedy_decoder", "ctc_prefix_beam_of_strings",
    "ctc_prefix_beam_of_tuples", "rnnt_greedy", "gpt_with_cache", "gpt_with_top_k",
}  # fmt: skip

# The programs whose gradients are refused, with the reasons.
REFUSED = {
    "tree_lstm_by_index": "a function that calls itself",
}


@pytest.mark.compiled_together
@pytest.mark.parametrize("optimize", sweep([OPTIMIZE, 3], OPTIMIZE))
@pytest.mark.parametrize("case", PUBLIC, ids=[c.name for c in PUBLIC])
def test_equals_eager(case: Case, optimize: int) -> None:
    target, calls = case.make()
    made = compile_at(target, optimize)
    for given in calls:
        assert_same(eager(target, given), compiled(made, given))


# ---- gradients ----


class Graph:
    """Runs a call with arguments that require grad, and holds what it returned or raised.

    results: the floating and complex tensors that it returned. inputs: those of the arguments, and the module's parameters.
    """

    def __init__(self, target: Any, given: Args, parameters: list[Tensor]):
        args, kwargs = tree_map(_requiring_grad, copy.deepcopy((given.args, given.kwargs)))
        self.inputs = [t for t in tree_leaves((args, kwargs)) if _carries(t)] + parameters
        self.error: type[Exception] | None = None
        self.results: list[Tensor] = []
        try:
            self.results = [t for t in tree_leaves(target(*args, **kwargs)) if _carries(t)]
        except Exception as e:
            self.error = type(e)

    @property
    def requires_grad(self) -> bool:
        return any(t.requires_grad for t in self.results)

    def gradients(self) -> list[Tensor]:
        """Return the gradients of the inputs, zeros where there is none. The cotangent of a result depends on its place."""
        torch.manual_seed(3)
        cotangents = [torch.randn_like(t) for t in self.results]
        if not self.requires_grad:
            return [torch.zeros_like(t) for t in self.inputs]
        given = [c for t, c in zip(self.results, cotangents, strict=True) if t.requires_grad]
        outputs = [t for t in self.results if t.requires_grad]
        found = torch.autograd.grad(outputs, self.inputs, given, allow_unused=True)
        return [torch.zeros_like(t) if g is None else g for t, g in zip(self.inputs, found, strict=True)]


def _carries(value: Any) -> bool:
    return isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex())


def _requiring_grad(value: Any) -> Any:
    return value.detach().clone().requires_grad_() if _carries(value) else value


# They take seconds each.
LONG = {
    "awd_weight_drop", "awd_weight_drop_hidden", "ctc_greedy_decoder", "ctc_prefix_beam_of_tuples", "gpt_with_cache",
    "gpt_with_top_k", "regulator", "sru",
}  # fmt: skip


@pytest.mark.compiled_together
@pytest.mark.parametrize("case", sweep(PUBLIC, *(c for c in PUBLIC if c.name not in LONG)), ids=[c.name for c in PUBLIC])
def test_gradients_equal_eager(case: Case) -> None:
    target, calls = case.make()
    made = compile_at(target, OPTIMIZE)
    parameters = [p for p in target.parameters() if p.requires_grad] if isinstance(target, nn.Module) else []
    compared = False
    for given in calls:
        want, have = (Graph(f, given, parameters) for f in (target, made))
        assert have.error is want.error
        torch.testing.assert_close(have.results, want.results, equal_nan=True, rtol=1e-4, atol=1e-5)
        if case.name in WITHOUT_GRADIENTS:
            assert not want.requires_grad and not have.requires_grad
        elif case.name not in REFUSED:  # results may require grad in compiled code alone
            torch.testing.assert_close(have.gradients(), want.gradients(), equal_nan=True, rtol=1e-3, atol=1e-4)
            compared |= want.requires_grad
        elif want.requires_grad:
            with pytest.raises(NotImplementedError, match=REFUSED[case.name]):
                have.gradients()
            compared = True
    assert compared is (case.name not in WITHOUT_GRADIENTS)
