"""torch.nn.attention.flex_attention: masks, functions of scores, and what it returns beside the attention."""

from __future__ import annotations

import pytest
import torch
from settings import OPTIMIZE
from torch.nn.attention.flex_attention import AuxRequest, BlockMask, create_block_mask, flex_attention

import scriptc

pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")

SIZES = ((2, 2, 5, 8), (1, 2, 7, 8))


def causal(batch, head, q, kv):
    return q >= kv


MASK = create_block_mask(causal, 1, 1, 5, 5, device="cpu")


def plain(q, k, v):
    return flex_attention(q, k, v)


def in_heads(q, k, v):
    """The query has the strides that a product of all heads gives it, and the result has them too."""
    return flex_attention(q.transpose(1, 2).contiguous().transpose(1, 2), k, v)


def biased(q, k, v):
    def score(value, batch, head, q_index, kv_index):
        return value + (q_index - kv_index) * 0.5

    return flex_attention(q, k, v, score_mod=score, scale=0.3)


def masked_here(q, k, v):
    n = q.shape[2]
    return flex_attention(q, k, v, block_mask=create_block_mask(causal, 1, 1, n, n, device="cpu"))


def rows_without_keys(q, k, v):
    n = q.shape[2]

    def later(batch, head, q_index, kv_index):
        return q_index < kv_index

    return flex_attention(q, k, v, block_mask=create_block_mask(later, None, None, n, n, device="cpu"))


def in_groups(q, k, v):
    return flex_attention(q, k[:, :1], v[:, :1], enable_gqa=True)


def with_sums(q, k, v):
    return flex_attention(q, k, v, return_aux=AuxRequest(lse=True))


def half(q, k, v):
    return flex_attention(q.bfloat16(), k.bfloat16(), v.bfloat16())


def of_other_heads(q, k, v):
    return flex_attention(q, k[:, :1], v)


def under_autocast(q, k, v):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return flex_attention(q, k, v)


# Eager traces each of them for a second or more.
SLOW = [plain, in_groups, in_heads, rows_without_keys, half, of_other_heads, under_autocast]
PROGRAMS = [masked_here, *(pytest.param(p, marks=pytest.mark.slow) for p in (biased, with_sums, *SLOW))]


def outcome(f, args):
    try:
        return f(*args)
    except Exception as e:
        return type(e), str(e).split("\n  at ")[0]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_attention(program):
    compiled = scriptc.compile(program, optimize=OPTIMIZE)
    torch.manual_seed(0)
    for sizes in SIZES:
        args = tuple(torch.randn(sizes) for _ in range(3))
        with torch.no_grad():
            found, wanted = outcome(compiled, args), outcome(program, args)
        if isinstance(wanted, tuple) and isinstance(wanted[0], type):
            assert found == wanted
            continue
        torch.testing.assert_close(found, wanted)
        if isinstance(wanted, torch.Tensor):
            assert found.stride() == wanted.stride()


@pytest.mark.slow
def test_a_mask_made_outside():
    def masked(q, k, v):
        return flex_attention(q, k, v, block_mask=MASK)

    compiled = scriptc.compile(masked, optimize=OPTIMIZE)
    for sizes in SIZES:  # the second is longer than the mask
        args = tuple(torch.randn(sizes) for _ in range(3))
        found, wanted = outcome(compiled, args), outcome(masked, args)
        if isinstance(wanted, torch.Tensor):
            torch.testing.assert_close(found, wanted)
        else:
            assert found == wanted


def test_a_mask_of_blocks():
    def blocks(counts, columns):
        mask = BlockMask.from_kv_blocks(counts, columns, BLOCK_SIZE=4)
        return mask.q_num_blocks, mask.q_indices, mask.seq_lengths

    counts = torch.tensor([[[1, 2, 0]]], dtype=torch.int32)
    columns = torch.tensor([[[[2, 0, 1], [1, 0, 2], [0, 1, 2]]]], dtype=torch.int32)
    found, wanted = scriptc.compile(blocks, optimize=OPTIMIZE)(counts, columns), blocks(counts, columns)
    torch.testing.assert_close(found, wanted)


@pytest.mark.slow
def test_no_gradients():
    args = tuple(torch.randn(SIZES[0], requires_grad=True) for _ in range(3))
    found, wanted = outcome(scriptc.compile(plain, optimize=OPTIMIZE), args), outcome(plain, args)
    assert found == wanted
    assert wanted[0] is NotImplementedError


def test_torch_compile_inside():
    def inside(x):
        return torch.compile(torch.relu)(x) + torch.compile(lambda t: t * 2, backend="eager")(x)

    x = torch.randn(3)
    assert torch.equal(scriptc.compile(inside, optimize=OPTIMIZE)(x), torch.relu(x) + x * 2)
