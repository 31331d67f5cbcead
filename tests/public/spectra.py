"""Models that compute with complex numbers: LRU, S4D as a recurrence, rotary embeddings, a spectrogram without FFT."""

from __future__ import annotations

import math

import torch
import torch.nn as nn

from public.cases import lengths, public


class LRU(nn.Module):
    """A linear recurrent unit with a diagonal complex state."""

    def __init__(self, in_features, out_features, state_features, rmin=0.0, rmax=1.0, max_phase=6.283):
        super().__init__()
        self.out_features = out_features
        self.D = nn.Parameter(torch.randn([out_features, in_features]) / math.sqrt(in_features))
        u1 = torch.rand(state_features)
        u2 = torch.rand(state_features)
        self.nu_log = nn.Parameter(torch.log(-0.5 * torch.log(u1 * (rmax + rmin) * (rmax - rmin) + rmin**2)))
        self.theta_log = nn.Parameter(torch.log(max_phase * u2))
        lambda_abs = torch.exp(-torch.exp(self.nu_log))
        self.gamma_log = nn.Parameter(torch.log(torch.sqrt(torch.ones_like(lambda_abs) - torch.square(lambda_abs))))
        B_re = torch.randn([state_features, in_features]) / math.sqrt(2 * in_features)
        B_im = torch.randn([state_features, in_features]) / math.sqrt(2 * in_features)
        self.B = nn.Parameter(torch.complex(B_re, B_im))
        C_re = torch.randn([out_features, state_features]) / math.sqrt(state_features)
        C_im = torch.randn([out_features, state_features]) / math.sqrt(state_features)
        self.C = nn.Parameter(torch.complex(C_re, C_im))
        self.state = torch.complex(torch.zeros(state_features), torch.zeros(state_features))

    def forward(self, input):
        lambda_abs = torch.exp(-torch.exp(self.nu_log))
        lambda_re = lambda_abs * torch.cos(torch.exp(self.theta_log))
        lambda_im = lambda_abs * torch.sin(torch.exp(self.theta_log))
        lambda_c = torch.complex(lambda_re, lambda_im)
        gammas = torch.exp(self.gamma_log).unsqueeze(-1)
        norm_B = gammas * self.B
        state = self.state
        output = torch.empty([i for i in input.shape[:-1]] + [self.out_features])
        for i, batch in enumerate(input):
            out_seq = torch.empty(input.shape[1], self.out_features)
            for j, step in enumerate(batch):
                state = lambda_c * state + norm_B @ step.to(dtype=self.B.dtype)
                out_step = (self.C @ state).real + self.D @ step
                out_seq[j] = out_step
            output[i] = out_seq
        return output


class S4D(nn.Module):
    """A diagonal state space, run as a recurrence."""

    def __init__(self, d_model, N=8, dt_min=0.001, dt_max=0.1):
        super().__init__()
        log_dt = torch.rand(d_model) * (math.log(dt_max) - math.log(dt_min)) + math.log(dt_min)
        C = torch.randn(d_model, N // 2, dtype=torch.cfloat)
        self.C = nn.Parameter(torch.view_as_real(C))
        self.log_dt = nn.Parameter(log_dt)
        self.log_A_real = nn.Parameter(torch.log(0.5 * torch.ones(d_model, N // 2)))
        self.A_imag = nn.Parameter(math.pi * torch.arange(N // 2).repeat(d_model, 1).float())
        self.D = nn.Parameter(torch.randn(d_model))

    def discretised(self):
        dt = torch.exp(self.log_dt)
        C = torch.view_as_complex(self.C)
        A = -torch.exp(self.log_A_real) + 1j * self.A_imag
        dtA = A * dt.unsqueeze(-1)
        C = C * (torch.exp(dtA) - 1.0) / A
        return torch.exp(dtA), C

    def step(self, u, state, dA, C):
        next_state = dA * state + u.unsqueeze(-1)
        y = 2 * (C * next_state).real.sum(-1)
        return y + self.D * u, next_state

    def forward(self, u):
        """(B, L, H) -> (B, L, H)"""
        dA, C = self.discretised()
        state = torch.zeros(u.shape[0], *dA.shape, dtype=dA.dtype)
        ys = []
        for t in range(u.shape[1]):
            y, state = self.step(u[:, t], state, dA, C)
            ys.append(y)
        if not ys:
            return u
        return torch.stack(ys, dim=1)


def precompute_freqs_cis(dim: int, end: int, theta: float = 10000.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
    t = torch.arange(end, device=freqs.device)
    freqs = torch.outer(t, freqs).float()
    freqs_cis = torch.polar(torch.ones_like(freqs), freqs)
    return freqs_cis


def reshape_for_broadcast(freqs_cis: torch.Tensor, x: torch.Tensor):
    ndim = x.ndim
    assert 0 <= 1 < ndim
    assert freqs_cis.shape == (x.shape[1], x.shape[-1])
    shape = [d if i == 1 or i == ndim - 1 else 1 for i, d in enumerate(x.shape)]
    return freqs_cis.view(*shape)


def apply_rotary_emb(xq, xk, freqs_cis):
    xq_ = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2))
    xk_ = torch.view_as_complex(xk.float().reshape(*xk.shape[:-1], -1, 2))
    freqs_cis = reshape_for_broadcast(freqs_cis, xq_)
    xq_out = torch.view_as_real(xq_ * freqs_cis).flatten(3)
    xk_out = torch.view_as_real(xk_ * freqs_cis).flatten(3)
    return xq_out.type_as(xq), xk_out.type_as(xk)


class RotaryAttention(nn.Module):
    def __init__(self, dim, n_heads, max_len):
        super().__init__()
        self.n_heads = n_heads
        self.head_dim = dim // n_heads
        self.wq = nn.Linear(dim, dim, bias=False)
        self.wk = nn.Linear(dim, dim, bias=False)
        self.wv = nn.Linear(dim, dim, bias=False)
        self.freqs_cis = precompute_freqs_cis(self.head_dim, max_len)

    def forward(self, x, start_pos: int):
        bsz, seqlen, _ = x.shape
        xq = self.wq(x).view(bsz, seqlen, self.n_heads, self.head_dim)
        xk = self.wk(x).view(bsz, seqlen, self.n_heads, self.head_dim)
        xv = self.wv(x).view(bsz, seqlen, self.n_heads, self.head_dim)
        freqs_cis = self.freqs_cis[start_pos : start_pos + seqlen]
        xq, xk = apply_rotary_emb(xq, xk, freqs_cis=freqs_cis)
        scores = torch.matmul(xq.transpose(1, 2), xk.permute(0, 2, 3, 1)) / math.sqrt(self.head_dim)
        output = torch.matmul(torch.softmax(scores.float(), dim=-1), xv.transpose(1, 2))
        return output.transpose(1, 2).reshape(bsz, seqlen, -1)


class Spectrogram(nn.Module):
    """Log magnitudes and phases of windowed frames, by a matrix of the Fourier transform."""

    def __init__(self, n_fft=16, hop=4):
        super().__init__()
        self.n_fft = n_fft
        self.hop = hop
        k = torch.arange(n_fft // 2 + 1)
        n = torch.arange(n_fft)
        self.register_buffer("basis", torch.exp(-2j * math.pi * torch.outer(n, k) / n_fft))
        self.register_buffer("window", torch.hann_window(n_fft))

    def forward(self, signal):
        frames = signal.unfold(-1, self.n_fft, self.hop) * self.window
        spectrum = frames.to(self.basis.dtype) @ self.basis
        power = spectrum.real**2 + spectrum.imag**2
        shift = spectrum[:, 1:] * spectrum[:, :-1].conj()
        return torch.log1p(power), spectrum.abs(), torch.angle(shift), power.sum(-1)


@public
def lru():
    return LRU(3, 2, 8), lengths(lambda n: (torch.randn(2, n, 3),))


@public
def s4d_recurrence():
    return S4D(3), lengths(lambda n: (torch.randn(2, n, 3),))


@public
def rotary_attention():
    return RotaryAttention(8, 2, 32), lengths(lambda n: (torch.randn(2, n, 8), 3))


@public
def spectrogram():
    return Spectrogram(), lengths(lambda n: (torch.randn(2, n),), 64, 16, 40, 17)
