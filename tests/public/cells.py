"""Recurrent layers of papers: weight drop, SRU, IndRNN, ConvLSTM, Mogrifier, minGRU, selective scan, reservoir, stack."""

from __future__ import annotations

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from public.cases import lengths, public


class WeightDrop(nn.Module):
    """AWD-LSTM: dropout on the recurrent weights of an inner module (here in evaluation mode)."""

    def __init__(self, module, weights, dropout=0.0):
        super().__init__()
        self.module = module
        self.weights = weights
        self.dropout = dropout
        for name_w in self.weights:
            w = getattr(self.module, name_w)
            del self.module._parameters[name_w]
            self.module.register_parameter(name_w + "_raw", nn.Parameter(w.data))
            setattr(self.module, name_w, w.data)

    def _setweights(self):
        for name_w in self.weights:
            raw_w = getattr(self.module, name_w + "_raw")
            w = F.dropout(raw_w, p=self.dropout, training=self.training)
            setattr(self.module, name_w, w)

    def forward(self, *args):
        self._setweights()
        return self.module.forward(*args)


class PlainRNN(nn.Module):
    def __init__(self, ninp, nhid):
        super().__init__()
        self.weight_ih = nn.Parameter(torch.randn(nhid, ninp) * 0.3)
        self.weight_hh = nn.Parameter(torch.randn(nhid, nhid) * 0.3)

    def forward(self, x, h):
        outs = []
        for t in range(x.size(0)):
            h = torch.tanh(F.linear(x[t], self.weight_ih) + F.linear(h, self.weight_hh))
            outs.append(h)
        return torch.stack(outs), h


class AWDLanguageModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid, nlayers=2):
        super().__init__()
        self.encoder = nn.Embedding(ntoken, ninp)
        sizes = [ninp] + [nhid] * nlayers
        rnns = [PlainRNN(sizes[i], sizes[i + 1]) for i in range(nlayers)]
        self.rnns = nn.ModuleList([WeightDrop(r, ["weight_hh"], dropout=0.5) for r in rnns])
        self.decoder = nn.Linear(nhid, ntoken)
        self.lockdrop = 0.3
        self.nhid = nhid

    def locked(self, x, p):
        if not self.training or not p:
            return x
        m = x.data.new(1, x.size(1), x.size(2)).bernoulli_(1 - p)
        return x * m / (1 - p)

    def init_hidden(self, bsz):
        weight = next(self.parameters()).data
        return [weight.new_zeros(bsz, self.nhid) for _ in range(len(self.rnns))]

    def forward(self, tokens, hidden=None, return_h: bool = False):
        if hidden is None:
            hidden = self.init_hidden(tokens.size(1))
        raw_output = self.locked(self.encoder(tokens), self.lockdrop)
        new_hidden = []
        raw_outputs = []
        for layer, rnn in enumerate(self.rnns):
            raw_output, new_h = rnn(raw_output, hidden[layer])
            new_hidden.append(new_h)
            raw_outputs.append(raw_output)
            if layer != len(self.rnns) - 1:
                raw_output = self.locked(raw_output, self.lockdrop)
        output = self.locked(raw_output, self.lockdrop)
        decoded = self.decoder(output.view(output.size(0) * output.size(1), output.size(2)))
        result = decoded.view(output.size(0), output.size(1), decoded.size(1))
        if return_h:
            return result, new_hidden, raw_outputs
        return result, new_hidden


class SRUCell(nn.Module):
    """Simple recurrent unit: all products before the loop, elementwise recurrence inside."""

    def __init__(self, n_in, n_out, bidirectional=False):
        super().__init__()
        self.n_in, self.n_out = n_in, n_out
        self.k = 4 if n_in != n_out else 3
        self.weight = nn.Parameter(torch.randn(n_in, n_out * self.k) / math.sqrt(n_in))
        self.bias = nn.Parameter(torch.randn(2 * n_out) * 0.1)

    def forward(self, x, c0=None):
        length, batch, d = x.size(0), x.size(1), self.n_out
        if c0 is None:
            c0 = x.new_zeros(batch, d)
        u = (x.reshape(-1, self.n_in) @ self.weight).view(length, batch, d, self.k)
        forget_bias, reset_bias = self.bias.view(2, d)
        x_prime = u[..., 3] if self.k == 4 else x
        c = c0
        h = torch.empty(length, batch, d, dtype=x.dtype)
        for t in range(length):
            f = (u[t, ..., 1] + forget_bias).sigmoid()
            c = (c - u[t, ..., 0]) * f + u[t, ..., 0]
            r = (u[t, ..., 2] + reset_bias).sigmoid()
            h[t] = (c.tanh() - x_prime[t]) * r + x_prime[t]
        return h, c


class SRU(nn.Module):
    def __init__(self, n_in, n_out, layers):
        super().__init__()
        self.rnn_lst = nn.ModuleList([SRUCell(n_in if i == 0 else n_out, n_out) for i in range(layers)])

    def forward(self, x, c0=None):
        if c0 is None:
            c0 = [None] * len(self.rnn_lst)
        prev, last = x, []
        for i, rnn in enumerate(self.rnn_lst):
            h, c = rnn(prev, c0[i])
            prev = h
            last.append(c)
        return prev, torch.stack(last)


class IndRNNCell(nn.Module):
    def __init__(self, input_size, hidden_size, nonlinearity="relu", recurrent_max_abs=None):
        super().__init__()
        self.hidden_size = hidden_size
        self.nonlinearity = nonlinearity
        self.recurrent_max_abs = recurrent_max_abs
        self.weight_ih = nn.Parameter(torch.randn(hidden_size, input_size) * 0.3)
        self.weight_hh = nn.Parameter(torch.randn(hidden_size))
        self.bias_ih = nn.Parameter(torch.randn(hidden_size))
        if self.nonlinearity == "tanh":
            self.activation = torch.tanh
        elif self.nonlinearity == "relu":
            self.activation = F.relu
        else:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")

    def forward(self, input, hx):
        weight = self.weight_hh
        if self.recurrent_max_abs:
            weight = weight.clamp(-self.recurrent_max_abs, self.recurrent_max_abs)
        return self.activation(F.linear(input, self.weight_ih, self.bias_ih) + torch.mul(weight, hx))


class IndRNN(nn.Module):
    def __init__(self, input_size, hidden_size, n_layer=1, batch_norm=False, batch_first=False, bidirectional=False):
        super().__init__()
        self.hidden_size = hidden_size
        self.n_layer = n_layer
        self.batch_first = batch_first
        self.time_index = 1 if batch_first else 0
        self.batch_index = 0 if batch_first else 1
        directions = 2 if bidirectional else 1
        self.bidirectional = bidirectional
        cells, cells_bi = [], []
        for i in range(n_layer):
            in_size = input_size if i == 0 else hidden_size * directions
            cells.append(IndRNNCell(in_size, hidden_size, recurrent_max_abs=1.0))
            cells_bi.append(IndRNNCell(in_size, hidden_size, recurrent_max_abs=1.0))
        self.cells = nn.ModuleList(cells)
        self.cells_bi = nn.ModuleList(cells_bi if bidirectional else [])

    def forward(self, x, hidden=torch.tensor(float("nan"))):  # noqa: B008
        time_index = self.time_index
        batch_index = self.batch_index
        hiddens = []
        i = 0
        for cell in self.cells:
            hx = x.new_zeros(x.size(batch_index), self.hidden_size)
            outputs = []
            for x_t in x.unbind(time_index):
                hx = cell(x_t, hx)
                outputs.append(hx)
            x_cell = torch.stack(outputs, time_index)
            if self.bidirectional:
                outputs_bi = []
                hx_bi = x.new_zeros(x.size(batch_index), self.hidden_size)
                for x_t in reversed(torch.unbind(x, time_index)):
                    hx_bi = self.cells_bi[i](x_t, hx_bi)
                    outputs_bi.append(hx_bi)
                x_cell = torch.cat([x_cell, torch.stack(outputs_bi[::-1], time_index)], 2)
                hx = torch.cat([hx, hx_bi], -1)
            hiddens.append(hx)
            x = x_cell
            i = i + 1
        return x, torch.cat(hiddens, -1)


class ConvLSTMCell(nn.Module):
    def __init__(self, input_dim, hidden_dim, kernel_size, bias):
        super().__init__()
        self.hidden_dim = hidden_dim
        padding = kernel_size[0] // 2, kernel_size[1] // 2
        self.conv = nn.Conv2d(input_dim + hidden_dim, 4 * hidden_dim, kernel_size, padding=padding, bias=bias)

    def forward(self, input_tensor, cur_state):
        h_cur, c_cur = cur_state
        combined = torch.cat([input_tensor, h_cur], dim=1)
        combined_conv = self.conv(combined)
        cc_i, cc_f, cc_o, cc_g = torch.split(combined_conv, self.hidden_dim, dim=1)
        i = torch.sigmoid(cc_i)
        f = torch.sigmoid(cc_f)
        o = torch.sigmoid(cc_o)
        g = torch.tanh(cc_g)
        c_next = f * c_cur + i * g
        h_next = o * torch.tanh(c_next)
        return h_next, c_next

    def init_hidden(self, batch_size, image_size):
        height, width = image_size
        return (torch.zeros(batch_size, self.hidden_dim, height, width, device=self.conv.weight.device),
                torch.zeros(batch_size, self.hidden_dim, height, width, device=self.conv.weight.device))  # fmt: skip


class ConvLSTM(nn.Module):
    def __init__(self, input_dim, hidden_dim, kernel_size, num_layers, batch_first=False, return_all_layers=False):
        super().__init__()
        self.num_layers = num_layers
        self.batch_first = batch_first
        self.return_all_layers = return_all_layers
        self.cell_list = nn.ModuleList(
            [
                ConvLSTMCell(input_dim if i == 0 else hidden_dim[i - 1], hidden_dim[i], kernel_size[i], True)
                for i in range(num_layers)
            ]
        )

    def forward(self, input_tensor, hidden_state=None):
        if not self.batch_first:
            # (t, b, c, h, w) -> (b, t, c, h, w)
            input_tensor = input_tensor.permute(1, 0, 2, 3, 4)
        b, _, _, h, w = input_tensor.size()
        if hidden_state is not None:
            raise NotImplementedError()
        else:
            hidden_state = self._init_hidden(batch_size=b, image_size=(h, w))
        layer_output_list = []
        last_state_list = []
        seq_len = input_tensor.size(1)
        cur_layer_input = input_tensor
        for layer_idx in range(self.num_layers):
            h, c = hidden_state[layer_idx]
            output_inner = []
            for t in range(seq_len):
                h, c = self.cell_list[layer_idx](input_tensor=cur_layer_input[:, t, :, :, :], cur_state=[h, c])
                output_inner.append(h)
            layer_output = torch.stack(output_inner, dim=1)
            cur_layer_input = layer_output
            layer_output_list.append(layer_output)
            last_state_list.append([h, c])
        if not self.return_all_layers:
            layer_output_list = layer_output_list[-1:]
            last_state_list = last_state_list[-1:]
        return layer_output_list, last_state_list

    def _init_hidden(self, batch_size, image_size):
        init_states = []
        for i in range(self.num_layers):
            init_states.append(self.cell_list[i].init_hidden(batch_size, image_size))
        return init_states


class MogrifierLSTM(nn.Module):
    def __init__(self, input_sz: int, hidden_sz: int, mog_iterations: int):
        super().__init__()
        self.input_size = input_sz
        self.hidden_size = hidden_sz
        self.mog_iterations = mog_iterations
        self.Wih = nn.Parameter(torch.randn(input_sz, hidden_sz * 4) * 0.3)
        self.Whh = nn.Parameter(torch.randn(hidden_sz, hidden_sz * 4) * 0.3)
        self.bih = nn.Parameter(torch.randn(hidden_sz * 4) * 0.1)
        self.bhh = nn.Parameter(torch.randn(hidden_sz * 4) * 0.1)
        self.Q = nn.Parameter(torch.randn(hidden_sz, input_sz) * 0.3)
        self.R = nn.Parameter(torch.randn(input_sz, hidden_sz) * 0.3)

    def mogrify(self, xt, ht):
        for i in range(1, self.mog_iterations + 1):
            if i % 2 == 0:
                ht = (2 * torch.sigmoid(xt @ self.R)) * ht
            else:
                xt = (2 * torch.sigmoid(ht @ self.Q)) * xt
        return xt, ht

    def forward(self, x, init_states=None):
        batch_sz, seq_sz, _ = x.size()
        hidden_seq = []
        if init_states is None:
            ht = torch.zeros((batch_sz, self.hidden_size)).to(x.device)
            Ct = torch.zeros((batch_sz, self.hidden_size)).to(x.device)
        else:
            ht, Ct = init_states
        for t in range(seq_sz):
            xt = x[:, t, :]
            xt, ht = self.mogrify(xt, ht)
            gates = (xt @ self.Wih + self.bih) + (ht @ self.Whh + self.bhh)
            ingate, forgetgate, cellgate, outgate = gates.chunk(4, 1)
            ft = torch.sigmoid(forgetgate)
            it = torch.sigmoid(ingate)
            Ct_candidate = torch.tanh(cellgate)
            ot = torch.sigmoid(outgate)
            Ct = (ft * Ct) + (it * Ct_candidate)
            ht = ot * torch.tanh(Ct)
            hidden_seq.append(ht.unsqueeze(0))
        hidden_seq = torch.cat(hidden_seq, dim=0)
        hidden_seq = hidden_seq.transpose(0, 1).contiguous()
        return hidden_seq, (ht, Ct)


def g(x):
    return torch.where(x >= 0, x + 0.5, x.sigmoid())


class MinGRU(nn.Module):
    def __init__(self, dim, expansion_factor=1.0):
        super().__init__()
        dim_inner = int(dim * expansion_factor)
        self.to_hidden_and_gate = nn.Linear(dim, dim_inner * 2, bias=False)
        self.to_out = nn.Linear(dim_inner, dim, bias=False) if expansion_factor != 1.0 else nn.Identity()

    def forward(self, x, prev_hidden=None, return_next_prev_hidden=False):
        seq_len = x.shape[1]
        hidden, gate = self.to_hidden_and_gate(x).chunk(2, dim=-1)
        hidden, gate = g(hidden), gate.sigmoid()
        h = prev_hidden if prev_hidden is not None else torch.zeros_like(hidden[:, :1])
        outs = []
        for t in range(seq_len):
            h = torch.lerp(h, hidden[:, t : t + 1], gate[:, t : t + 1])
            outs.append(h)
        out = torch.cat(outs, dim=1) if outs else hidden
        next_prev_hidden = out[:, -1:]
        out = self.to_out(out)
        if not return_next_prev_hidden:
            return out
        return out, next_prev_hidden


class MambaBlock(nn.Module):
    """A minimal selective state space block, with the scan as a loop."""

    def __init__(self, d_model, d_state=4, expand=2, dt_rank=2, d_conv=3):
        super().__init__()
        self.d_inner = int(expand * d_model)
        self.dt_rank, self.d_state = dt_rank, d_state
        self.in_proj = nn.Linear(d_model, self.d_inner * 2, bias=False)
        self.conv1d = nn.Conv1d(
            self.d_inner, self.d_inner, bias=True, kernel_size=d_conv, groups=self.d_inner, padding=d_conv - 1
        )
        self.x_proj = nn.Linear(self.d_inner, dt_rank + d_state * 2, bias=False)
        self.dt_proj = nn.Linear(dt_rank, self.d_inner, bias=True)
        A = torch.arange(1, d_state + 1, dtype=torch.float32).repeat(self.d_inner, 1)
        self.A_log = nn.Parameter(torch.log(A))
        self.D = nn.Parameter(torch.ones(self.d_inner))
        self.out_proj = nn.Linear(self.d_inner, d_model, bias=False)

    def forward(self, x):
        (b, l, d) = x.shape  # noqa: E741
        x_and_res = self.in_proj(x)
        (x, res) = x_and_res.split(split_size=[self.d_inner, self.d_inner], dim=-1)
        x = x.transpose(1, 2)
        x = self.conv1d(x)[:, :, :l]
        x = x.transpose(1, 2)
        x = F.silu(x)
        y = self.ssm(x)
        y = y * F.silu(res)
        return self.out_proj(y)

    def ssm(self, x):
        (d_in, n) = self.A_log.shape
        A = -torch.exp(self.A_log.float())
        D = self.D.float()
        x_dbl = self.x_proj(x)
        (delta, B, C) = x_dbl.split(split_size=[self.dt_rank, n, n], dim=-1)
        delta = F.softplus(self.dt_proj(delta))
        return self.selective_scan(x, delta, A, B, C, D)

    def selective_scan(self, u, delta, A, B, C, D):
        (b, l, d_in) = u.shape  # noqa: E741
        n = A.shape[1]
        deltaA = torch.exp(torch.einsum("bld,dn->bldn", delta, A))
        deltaB_u = torch.einsum("bld,bln,bld->bldn", delta, B, u)
        x = torch.zeros((b, d_in, n), device=deltaA.device)
        ys = []
        for i in range(l):
            x = deltaA[:, i] * x + deltaB_u[:, i]
            y = torch.einsum("bdn,bn->bd", x, C[:, i, :])
            ys.append(y)
        y = torch.stack(ys, dim=1)  # shape (b, l, d_in)
        return y + u * D


class Reservoir(nn.Module):
    """Echo state network: fixed random weights, leaky states, washout, a linear readout."""

    def __init__(self, inputs, size, outputs, leak=0.3, spectral_radius=0.9, washout=1):
        super().__init__()
        w = torch.rand(size, size) - 0.5
        w *= spectral_radius / torch.linalg.matrix_norm(w, 2)
        self.register_buffer("w", w)
        self.register_buffer("w_in", torch.rand(size, inputs) - 0.5)
        self.readout = nn.Linear(size, outputs)
        self.leak, self.washout = leak, washout

    @torch.no_grad()
    def states(self, u):
        s = torch.zeros(self.w.size(0))
        kept = []
        for step, u_t in enumerate(u):
            s = (1 - self.leak) * s + self.leak * torch.tanh(self.w_in @ u_t + self.w @ s)
            if step >= self.washout:
                kept.append(s)
        return kept, s

    def forward(self, u):
        kept, last = self.states(u)
        if not kept:
            return None, last
        return self.readout(torch.stack(kept)), last


class StackRNN(nn.Module):
    """A stack-augmented RNN: soft push, pop and no-op on a differentiable stack."""

    def __init__(self, vocab, hidden, stack_width, stack_depth):
        super().__init__()
        self.hidden_size, self.stack_width, self.stack_depth = hidden, stack_width, stack_depth
        self.encoder = nn.Embedding(vocab, hidden)
        self.rnn = nn.GRUCell(hidden + stack_width, hidden)
        self.controls = nn.Linear(hidden, 3)
        self.push = nn.Linear(hidden, stack_width)
        self.decoder = nn.Linear(hidden, vocab)

    def stack_augmentation(self, input_val, prev_stack, controls):
        batch_size = prev_stack.size(0)
        controls = controls.view(-1, 3, 1, 1)
        zeros_at_the_bottom = torch.zeros(batch_size, 1, self.stack_width)
        a_push, a_pop, a_no_op = controls[:, 0], controls[:, 1], controls[:, 2]
        stack_down = torch.cat((prev_stack[:, 1:], zeros_at_the_bottom), dim=1)
        stack_up = torch.cat((input_val, prev_stack[:, :-1]), dim=1)
        new_stack = a_no_op * prev_stack + a_push * stack_up
        new_stack = new_stack + a_pop * stack_down
        return new_stack

    def forward(self, inp):
        b, n = inp.shape
        hidden = torch.zeros(b, self.hidden_size)
        stack = torch.zeros(b, self.stack_depth, self.stack_width)
        logits = []
        for t in range(n):
            x = self.encoder(inp[:, t])
            stack_controls = F.softmax(self.controls(hidden), dim=1)
            stack_input = torch.tanh(self.push(hidden)).unsqueeze(1)
            stack = self.stack_augmentation(stack_input, stack, stack_controls)
            stack_top = stack[:, 0, :]
            hidden = self.rnn(torch.cat((x, stack_top), dim=1), hidden)
            logits.append(self.decoder(hidden))
        return torch.stack(logits, 1), (hidden, stack)


@public
def awd_weight_drop():
    return AWDLanguageModel(11, 3, 4), lengths(lambda n: (torch.randint(0, 11, (n, 2)),), 5, 1, 7, 2)


@public
def awd_weight_drop_hidden():
    model = AWDLanguageModel(11, 3, 4)
    return model, lengths(lambda n: (torch.randint(0, 11, (n, 2)), [torch.randn(2, 4)] * 2, n % 2 == 0), 5, 1, 4)


@public
def sru():
    return SRU(3, 4, 2), lengths(lambda n: (torch.randn(n, 2, 3),))


@public
def ind_rnn():
    return IndRNN(3, 4, n_layer=2), lengths(lambda n: (torch.randn(n, 2, 3),))


@public
def ind_rnn_bidirectional():
    model = IndRNN(3, 4, n_layer=2, batch_first=True, bidirectional=True)
    return model, lengths(lambda n: (torch.randn(2, n, 3),))


@public
def conv_lstm():
    model = ConvLSTM(2, [3, 4], [(3, 3), (1, 3)], 2, batch_first=True)
    return model, lengths(lambda n: (torch.randn(2, n, 2, 5, 6),))


@public
def mogrifier():
    return MogrifierLSTM(3, 4, 5), lengths(lambda n: (torch.randn(2, n, 3),))


@public
def min_gru():
    return MinGRU(4, 1.5), lengths(lambda n: (torch.randn(2, n, 4),))


@public
def min_gru_with_state():
    return MinGRU(4, 1.5), lengths(lambda n: (torch.randn(2, n, 4), torch.rand(2, 1, 6), True))


@public
def mamba():
    return MambaBlock(4), lengths(lambda n: (torch.randn(2, n, 4),), 5, 1, 9, 3, 0)


@public
def reservoir():
    return Reservoir(2, 6, 3), lengths(lambda n: (torch.randn(n, 2),))


@public
def stack_rnn():
    return StackRNN(7, 4, 3, 5), lengths(lambda n: (torch.randint(0, 7, (2, n)),))
