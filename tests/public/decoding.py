"""Decoders: seq2seq with attention, beam search, CTC, RNN-T, a transformer with a growing cache, a tree LSTM."""

from __future__ import annotations

import collections
import math
from typing import List, Optional, Tuple  # noqa: UP035

import torch
import torch.nn as nn
import torch.nn.functional as F
from three_ways import call
from torch import Tensor

from public.cases import lengths, public

# ruff: noqa: UP006, UP007, UP045

SOS_token, EOS_token = 0, 1


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size, dropout_p=0.1):
        super().__init__()
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, input):
        embedded = self.dropout(self.embedding(input))
        output, hidden = self.gru(embedded)
        return output, hidden


class BahdanauAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.Wa = nn.Linear(hidden_size, hidden_size)
        self.Ua = nn.Linear(hidden_size, hidden_size)
        self.Va = nn.Linear(hidden_size, 1)

    def forward(self, query, keys):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys)))
        scores = scores.squeeze(2).unsqueeze(1)
        weights = F.softmax(scores, dim=-1)
        context = torch.bmm(weights, keys)
        return context, weights


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size, max_length, dropout_p=0.1):
        super().__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attention = BahdanauAttention(hidden_size)
        self.gru = nn.GRU(2 * hidden_size, hidden_size, batch_first=True)
        self.out = nn.Linear(hidden_size, output_size)
        self.dropout = nn.Dropout(dropout_p)
        self.max_length = max_length

    def forward(self, encoder_outputs, encoder_hidden, target_tensor=None):
        batch_size = encoder_outputs.size(0)
        decoder_input = torch.empty(batch_size, 1, dtype=torch.long).fill_(SOS_token)
        decoder_hidden = encoder_hidden
        decoder_outputs = []
        attentions = []
        for i in range(self.max_length):
            decoder_output, decoder_hidden, attn_weights = self.forward_step(
                decoder_input, decoder_hidden, encoder_outputs
            )
            decoder_outputs.append(decoder_output)
            attentions.append(attn_weights)
            if target_tensor is not None:
                # Teacher forcing: Feed the target as the next input
                decoder_input = target_tensor[:, i].unsqueeze(1)
            else:
                # Without teacher forcing: use its own predictions as the next input
                _, topi = decoder_output.topk(1)
                decoder_input = topi.squeeze(-1).detach()
        decoder_outputs = torch.cat(decoder_outputs, dim=1)
        decoder_outputs = F.log_softmax(decoder_outputs, dim=-1)
        attentions = torch.cat(attentions, dim=1)
        return decoder_outputs, decoder_hidden, attentions

    def forward_step(self, input, hidden, encoder_outputs):
        embedded = self.dropout(self.embedding(input))
        query = hidden.permute(1, 0, 2)
        context, attn_weights = self.attention(query, encoder_outputs)
        input_gru = torch.cat((embedded, context), dim=2)
        output, hidden = self.gru(input_gru, hidden)
        output = self.out(output)
        return output, hidden, attn_weights


class Seq2Seq(nn.Module):
    def __init__(self, vocab, hidden, max_length):
        super().__init__()
        self.encoder = EncoderRNN(vocab, hidden)
        self.decoder = AttnDecoderRNN(hidden, vocab, max_length)

    def forward(self, input, target=None):
        encoder_outputs, encoder_hidden = self.encoder(input)
        return self.decoder(encoder_outputs, encoder_hidden, target)

    def translate(self, input):
        """Greedy decoding of one sentence, until EOS."""
        with torch.no_grad():
            encoder_outputs, hidden = self.encoder(input)
            token = torch.tensor([[SOS_token]])
            decoded = []
            while len(decoded) < 2 * self.decoder.max_length:
                output, hidden, _ = self.decoder.forward_step(token, hidden, encoder_outputs)
                best = output.argmax(-1)
                if best.item() == EOS_token:
                    decoded.append(EOS_token)
                    break
                decoded.append(best.item())
                token = best
            return decoded


class RNNLanguageModel(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden)
        self.cell = nn.LSTMCell(hidden, hidden)
        self.out = nn.Linear(hidden, vocab)

    def step(self, token: Tensor, state: Tuple[Tensor, Tensor]):
        h, c = self.cell(self.embedding(token), state)
        return F.log_softmax(self.out(h), dim=-1), (h, c)


class BeamSearch(nn.Module):
    def __init__(self, vocab=9, hidden=5, beam_size=3):
        super().__init__()
        self.model = RNNLanguageModel(vocab, hidden)
        self.beam_size, self.hidden = beam_size, hidden

    def forward(self, start: int, max_len: int) -> Tuple[List[int], float]:
        zeros = torch.zeros(1, self.hidden)
        # (score, tokens, state)
        beams = [(0.0, [start], (zeros, zeros))]
        finished = []
        for _ in range(max_len):
            candidates = []
            for score, tokens, state in beams:
                if tokens[-1] == EOS_token:
                    finished.append((score / len(tokens), tokens))
                    continue
                logp, new_state = self.model.step(torch.tensor([tokens[-1]]), state)
                top, idx = logp[0].topk(self.beam_size)
                for p, i in zip(top.tolist(), idx.tolist()):  # noqa: B905
                    candidates.append((score + p, tokens + [i], new_state))
            if not candidates:
                break
            candidates.sort(key=lambda c: c[0], reverse=True)
            beams = candidates[: self.beam_size]
        for score, tokens, _ in beams:
            finished.append((score / len(tokens), tokens))
        best = max(finished, key=lambda f: f[0])
        return best[1], best[0]


def ctc_greedy(log_probs: Tensor, lengths: Tensor, blank: int = 0):
    """log_probs: (batch, time, classes)."""
    results = []
    best = log_probs.argmax(-1)
    for b in range(best.size(0)):
        prev = -1
        decoded = []
        for t in range(int(lengths[b])):
            c = int(best[b, t])
            if c != blank and c != prev:
                decoded.append(c)
            prev = c
        results.append(decoded)
    return results


def prefix_beam_search(ctc, alphabet: str, k: int = 5, prune: float = 0.001):
    """ctc: (time, 1 + letters) probabilities, the blank first; prefixes are strings in dicts."""
    p_blank = {"": 1.0}
    p_letter = {"": 0.0}
    beam = [""]
    for t in range(ctc.size(0)):
        row = ctc[t].tolist()
        new_blank = {}
        new_letter = {}
        for prefix in beam:
            total = p_blank[prefix] + p_letter[prefix]
            new_blank[prefix] = new_blank.get(prefix, 0.0) + row[0] * total
            new_letter.setdefault(prefix, 0.0)
            for i, c in enumerate(alphabet):
                p = row[i + 1]
                if p < prune:
                    continue
                if prefix and c == prefix[-1]:
                    new_letter[prefix] += p * p_letter[prefix]
                    extended, gain = prefix + c, p * p_blank[prefix]
                else:
                    extended, gain = prefix + c, p * total
                new_letter[extended] = new_letter.get(extended, 0.0) + gain
                if extended not in new_blank:
                    new_blank[extended] = 0.0
        beam = sorted(new_blank, key=lambda l: new_blank[l] + new_letter[l], reverse=True)[:k]  # noqa: E741
        p_blank, p_letter = new_blank, new_letter
    return beam[0], p_blank[beam[0]] + p_letter[beam[0]], len(beam)


NEG_INF = -float("inf")


def make_new_beam():
    fn = lambda: (NEG_INF, NEG_INF)  # noqa: E731
    return collections.defaultdict(fn)


def logsumexp(*args):
    if all(a == NEG_INF for a in args):
        return NEG_INF
    a_max = max(args)
    lsp = math.log(sum(math.exp(a - a_max) for a in args))
    return a_max + lsp


def decode(probs, beam_size=100, blank=0):
    """probs: (time, classes); prefixes are tuples of labels, of any length."""
    T, S = probs.shape
    probs = torch.log(probs)
    beam = [(tuple(), (0.0, NEG_INF))]
    for t in range(T):
        next_beam = make_new_beam()
        for s in range(S):
            p = probs[t, s].item()
            for prefix, (p_b, p_nb) in beam:
                if s == blank:
                    n_p_b, n_p_nb = next_beam[prefix]
                    n_p_b = logsumexp(n_p_b, p_b + p, p_nb + p)
                    next_beam[prefix] = (n_p_b, n_p_nb)
                    continue
                end_t = prefix[-1] if prefix else None
                n_prefix = prefix + (s,)
                n_p_b, n_p_nb = next_beam[n_prefix]
                if s != end_t:
                    n_p_nb = logsumexp(n_p_nb, p_b + p, p_nb + p)
                else:
                    n_p_nb = logsumexp(n_p_nb, p_b + p)
                next_beam[n_prefix] = (n_p_b, n_p_nb)
                if s == end_t:
                    n_p_b, n_p_nb = next_beam[prefix]
                    n_p_nb = logsumexp(n_p_nb, p_nb + p)
                    next_beam[prefix] = (n_p_b, n_p_nb)
        beam = sorted(next_beam.items(), key=lambda x: logsumexp(*x[1]), reverse=True)
        beam = beam[:beam_size]
    best = beam[0]
    return best[0], -logsumexp(*best[1])


class Transducer(nn.Module):
    """RNN-T: prediction network, joint network, greedy decoding with several symbols per frame."""

    def __init__(self, features, vocab, hidden):
        super().__init__()
        self.blank = vocab
        self.vocab = vocab
        self.encoder = nn.LSTM(features, hidden, batch_first=True, bidirectional=True)
        self.embed = nn.Embedding(vocab + 1, hidden, padding_idx=self.blank)
        self.predictor = nn.LSTMCell(hidden, hidden)
        self.joint_enc = nn.Linear(2 * hidden, hidden)
        self.joint_pred = nn.Linear(hidden, hidden)
        self.joint_out = nn.Linear(hidden, vocab + 1)

    def predict(self, label: int, state: Optional[Tuple[Tensor, Tensor]]):
        y = self.embed(torch.tensor([label]))
        state = self.predictor(y, state)
        return state[0], state

    def joint(self, f, g):
        return self.joint_out(torch.tanh(self.joint_enc(f) + self.joint_pred(g)))

    @torch.no_grad()
    def forward(self, x: Tensor, max_symbols: Optional[int] = None) -> List[List[int]]:
        encoded, _ = self.encoder(x)
        hypotheses = []
        for b in range(encoded.size(0)):
            hidden = None
            label: List[int] = []
            last = self.blank
            for time_idx in range(encoded.size(1)):
                f = encoded[b, time_idx, :].unsqueeze(0)
                not_blank = True
                symbols_added = 0
                while not_blank and (max_symbols is None or symbols_added < max_symbols):
                    g, hidden_prime = self.predict(last, hidden)
                    logp = self.joint(f, g)[0, :]
                    v, k = logp.max(0)
                    k = k.item()
                    if k == self.blank:
                        not_blank = False
                    else:
                        label.append(k)
                        hidden = hidden_prime
                        last = k
                    symbols_added += 1
            hypotheses.append(label)
        return hypotheses


class CausalSelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        assert dim % heads == 0
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x, past: Optional[Tuple[Tensor, Tensor]] = None):
        B, T, C = x.size()
        q, k, v = self.qkv(x).split(C, dim=2)
        q, k, v = (t.view(B, T, self.heads, C // self.heads).transpose(1, 2) for t in (q, k, v))
        if past is not None:
            k = torch.cat([past[0], k], dim=2)
            v = torch.cat([past[1], v], dim=2)
        S = k.size(2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        mask = torch.ones(T, S, dtype=torch.bool).tril(S - T)
        att = att.masked_fill(~mask, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.proj(y), (k, v)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = CausalSelfAttention(dim, heads)
        self.mlp = nn.ModuleDict(dict(c_fc=nn.Linear(dim, 4 * dim), c_proj=nn.Linear(4 * dim, dim), act=nn.GELU()))

    def forward(self, x, past=None):
        a, present = self.attn(self.ln_1(x), past)
        x = x + a
        m = self.mlp
        x = x + m.c_proj(m.act(m.c_fc(self.ln_2(x))))
        return x, present


class GPT(nn.Module):
    def __init__(self, vocab=11, dim=8, heads=2, layers=2, block_size=32):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.wpe = nn.Embedding(block_size, dim)
        self.h = nn.ModuleList([Block(dim, heads) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def step(self, idx, past=None):
        offset = 0 if past is None else past[0][0].size(2)
        pos = torch.arange(offset, offset + idx.size(1))
        x = self.wte(idx) + self.wpe(pos)
        presents = []
        for i, block in enumerate(self.h):
            x, present = block(x, None if past is None else past[i])
            presents.append(present)
        return self.lm_head(self.ln_f(x)), presents

    @torch.no_grad()
    def forward(self, idx, max_new_tokens: int, temperature: float = 1.0, top_k: Optional[int] = None):
        logits, past = self.step(idx)
        for i in range(max_new_tokens):
            logits = logits[:, -1, :] / temperature
            if top_k is not None:
                v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                logits[logits < v[:, [-1]]] = -float("Inf")
            probs = F.softmax(logits, dim=-1)
            idx_next = probs.argmax(dim=-1, keepdim=True)
            idx = torch.cat((idx, idx_next), dim=1)
            if i + 1 < max_new_tokens:
                logits, past = self.step(idx_next, past)
        return idx


class Tree:
    def __init__(self, value: int, children=()):
        self.value = value
        self.children = list(children)


class ChildSumTreeLSTM(nn.Module):
    def __init__(self, vocab, in_dim, mem_dim):
        super().__init__()
        self.in_dim = in_dim
        self.mem_dim = mem_dim
        self.emb = nn.Embedding(vocab, in_dim)
        self.ioux = nn.Linear(self.in_dim, 3 * self.mem_dim)
        self.iouh = nn.Linear(self.mem_dim, 3 * self.mem_dim)
        self.fx = nn.Linear(self.in_dim, self.mem_dim)
        self.fh = nn.Linear(self.mem_dim, self.mem_dim)

    def node_forward(self, inputs, child_c, child_h):
        child_h_sum = torch.sum(child_h, dim=0, keepdim=True)
        iou = self.ioux(inputs) + self.iouh(child_h_sum)
        i, o, u = torch.split(iou, iou.size(1) // 3, dim=1)
        i, o, u = torch.sigmoid(i), torch.sigmoid(o), torch.tanh(u)
        f = torch.sigmoid(self.fh(child_h) + self.fx(inputs).repeat(len(child_h), 1))
        fc = torch.mul(f, child_c)
        c = torch.mul(i, u) + torch.sum(fc, dim=0, keepdim=True)
        h = torch.mul(o, torch.tanh(c))
        return c, h

    def forward(self, tree):
        states = [self.forward(child) for child in tree.children]
        inputs = self.emb(torch.tensor([tree.value]))
        if len(states) == 0:
            child_c = inputs.new_zeros(1, self.mem_dim)
            child_h = inputs.new_zeros(1, self.mem_dim)
        else:
            child_c, child_h = zip(*states)  # noqa: B905
            child_c, child_h = torch.cat(child_c, dim=0), torch.cat(child_h, dim=0)
        return self.node_forward(inputs, child_c, child_h)


class IndexedTreeLSTM(ChildSumTreeLSTM):
    """The same over trees whose nodes are numbered: any tree from one build."""

    def forward(self, node: int, words: List[int], children: List[List[int]]):
        inputs = self.emb(torch.tensor([words[node]]))
        if len(children[node]) == 0:
            child_c = inputs.new_zeros(1, self.mem_dim)
            child_h = inputs.new_zeros(1, self.mem_dim)
        else:
            cs, hs = [], []
            for child in children[node]:
                c, h = self.forward(child, words, children)
                cs.append(c)
                hs.append(h)
            child_c, child_h = torch.cat(cs, dim=0), torch.cat(hs, dim=0)
        return self.node_forward(inputs, child_c, child_h)


@public
def seq2seq():
    return Seq2Seq(9, 4, 6), lengths(lambda n: (torch.randint(0, 9, (2, n)),), 5, 1, 8)


@public
def seq2seq_teacher_forcing():
    return Seq2Seq(9, 4, 6), lengths(lambda n: (torch.randint(0, 9, (2, n)), torch.randint(0, 9, (2, 6))), 5, 1)


@public
def seq2seq_greedy():
    model = Seq2Seq(5, 4, 6).eval()
    return model.translate, lengths(lambda n: (torch.randint(0, 5, (1, n)),), 5, 1, 3, 4, 8, 2)


@public
def beam_search():
    return BeamSearch(), [call(s, n) for s, n in ((0, 5), (3, 1), (4, 8), (2, 0), (1, 4))]


@public
def ctc_greedy_decoder():
    def given(n):
        return torch.randn(3, n, 4), torch.tensor([n, max(n - 1, 0), n // 2])

    return ctc_greedy, lengths(given)


@public
def ctc_prefix_beam_of_strings():
    return prefix_beam_search, lengths(lambda n: (torch.randn(n, 4).softmax(-1), "abc"))


@public
def ctc_prefix_beam_of_tuples():
    return decode, [call(torch.randn(n, 4).softmax(-1), k) for n, k in ((5, 4), (1, 100), (0, 3), (9, 2), (3, 1))]


@public
def rnnt_greedy():
    return Transducer(3, 5, 4), [call(torch.randn(2, n, 3), m) for n, m in ((5, 3), (1, 2), (7, 4), (4, 0))]


@public
def gpt_with_cache():
    model = GPT()
    return model, [call(torch.randint(0, 11, (b, n)), m) for b, n, m in ((1, 4, 5), (2, 1, 3), (1, 3, 0), (1, 2, 1))]


@public
def gpt_with_top_k():
    return GPT(), [call(torch.randint(0, 11, (1, 3)), 4, 0.7, 3), call(torch.randint(0, 11, (2, 5)), 2, 1.5, 20)]


@public
def tree_lstm():
    trees = [Tree(1), Tree(2, [Tree(3), Tree(1)]), Tree(0, [Tree(4, [Tree(2), Tree(3), Tree(1)]), Tree(2)])]
    return ChildSumTreeLSTM(5, 3, 4), [call(t) for t in trees]


@public
def tree_lstm_by_index():
    model = IndexedTreeLSTM(5, 3, 4)
    leaf = (0, [3], [[]])
    tree = (4, [3, 1, 2, 0, 4], [[], [], [0, 1], [], [2, 3]])
    return model, [call(*tree), call(*leaf), call(2, *tree[1:])]
