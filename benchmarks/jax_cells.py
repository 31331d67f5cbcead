"""The recurrent cells of cell_models, and torch's own layers, in JAX: `lax.scan` over a step.

Each takes the weights by torch's names, matrices transposed, and a sequence (step, batch, feature), and returns all states,
the Elman net the last one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

Weights = dict[str, Any]
Step = Callable[[Any, Any], tuple[Any, Any]]


def _linear(w: Weights, name: str, x: Any) -> Any:
    product = x @ w[f"{name}.weight"]
    return product + w[f"{name}.bias"] if f"{name}.bias" in w else product


def _norm(w: Weights, name: str, x: Any) -> Any:
    centered = x - x.mean(-1, keepdims=True)
    variance = (centered * centered).mean(-1, keepdims=True)
    return centered * jax.lax.rsqrt(variance + 1e-5) * w[f"{name}.weight"] + w[f"{name}.bias"]


def _states(step: Step, inputs: Any, batch: int, units: int, count: int = 1) -> Any:
    """Return what the step yields from zero on; count: the number of tensors that the state is."""
    zeros = jnp.zeros((batch, units), jnp.float32)
    return jax.lax.scan(step, (zeros,) * count, inputs)[1]


def _lstm_step(gates_of: Callable[[Any, Any], Any], cell: Callable[[Any], Any] = lambda c: c) -> Step:
    def step(state: Any, x: Any) -> Any:
        h, c = state
        i, f, g, o = jnp.split(gates_of(x, h), 4, axis=1)
        c = cell(jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g))
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return step


def _gru_step(of_input: Callable[[Any], Any], of_state: Callable[[Any], Any]) -> Step:
    def step(state: Any, x: Any) -> Any:
        (h,) = state
        x_r, x_z, x_n = jnp.split(of_input(x), 3, axis=1)
        h_r, h_z, h_n = jnp.split(of_state(h), 3, axis=1)
        update = jax.nn.sigmoid(x_z + h_z)
        h = (1 - update) * jnp.tanh(x_n + jax.nn.sigmoid(x_r + h_r) * h_n) + update * h
        return (h,), h

    return step


def lstm(w: Weights, xs: Any, units: int) -> Any:
    step = _lstm_step(lambda x, h: _linear(w, "x_to_gates", x) + _linear(w, "h_to_gates", h))
    return _states(step, xs, xs.shape[1], units, 2)


def gru(w: Weights, xs: Any, units: int) -> Any:
    step = _gru_step(lambda x: _linear(w, "x_to_gates", x), lambda h: _linear(w, "h_to_gates", h))
    return _states(step, xs, xs.shape[1], units)


def layer_norm_lstm(w: Weights, xs: Any, units: int) -> Any:
    def gates(x: Any, h: Any) -> Any:
        return _norm(w, "norm_x", _linear(w, "x_to_gates", x)) + _norm(w, "norm_h", _linear(w, "h_to_gates", h))

    return _states(_lstm_step(gates, lambda c: _norm(w, "norm_c", c)), xs, xs.shape[1], units, 2)


def sru(w: Weights, xs: Any, units: int) -> Any:
    def step(state: Any, each: Any) -> Any:
        (c,), (candidate, forget, reset, x) = state, each
        forget = jax.nn.sigmoid(forget + w["v_f"] * c + w["b_f"])
        reset = jax.nn.sigmoid(reset + w["v_r"] * c + w["b_r"])
        c = forget * c + (1 - forget) * candidate
        return (c,), reset * c + (1 - reset) * x

    return _states(step, (*jnp.split(_linear(w, "project", xs), 3, axis=2), xs), xs.shape[1], units)


def min_gru(w: Weights, xs: Any, units: int) -> Any:
    def step(state: Any, x: Any) -> Any:
        z = jax.nn.sigmoid(_linear(w, "gate", x))
        h = (1 - z) * state[0] + z * _linear(w, "candidate", x)
        return (h,), h

    return _states(step, xs, xs.shape[1], units)


def ind_rnn(w: Weights, xs: Any, units: int) -> Any:
    def step(state: Any, x: Any) -> Any:
        h = jax.nn.relu(_linear(w, "x_to_hidden", x) + w["recurrent"] * state[0])
        return (h,), h

    return _states(step, xs, xs.shape[1], units)


def elman(w: Weights, xs: Any, units: int) -> Any:
    def step(h: Any, x: Any) -> Any:
        return jax.nn.sigmoid(_linear(w, "hid_to_hid", h) + _linear(w, "in_to_hid", x)), None

    return jax.lax.scan(step, jnp.broadcast_to(w["hid_init"].T, (xs.shape[1], units)), xs)[0]


def layer_lstm(w: Weights, xs: Any, units: int) -> Any:
    def gates(x: Any, h: Any) -> Any:
        return x @ w["weight_ih_l0"] + w["bias_ih_l0"] + h @ w["weight_hh_l0"] + w["bias_hh_l0"]

    return _states(_lstm_step(gates), xs, xs.shape[1], units, 2)


def layer_gru(w: Weights, xs: Any, units: int) -> Any:
    step = _gru_step(lambda x: x @ w["weight_ih_l0"] + w["bias_ih_l0"], lambda h: h @ w["weight_hh_l0"] + w["bias_hh_l0"])
    return _states(step, xs, xs.shape[1], units)


CELLS: dict[str, Callable[[Weights, Any, int], Any]] = {
    "LSTM": lstm, "GRU": gru, "layer-norm LSTM": layer_norm_lstm, "SRU": sru, "minGRU": min_gru, "IndRNN": ind_rnn,
    "Elman": elman, "nn.LSTM": layer_lstm, "nn.GRU": layer_gru,
}  # fmt: skip
