"""Make calls of the same net in other systems. Each maker returns a call without arguments, or raises Unavailable.

JAX and ONNX Runtime get the sequence as one tensor in their own type, stacked before the call. Eager, torch.jit,
torch.compile and scriptc get the arguments of the model.
"""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from benchmarks.onnx_session import Unavailable, onnx_session
from examples.rnn import TestModel

Call = Callable[[], Any]


def frozen_script(model: torch.nn.Module, *inputs: Any) -> Call:
    try:
        frozen = torch.jit.freeze(torch.jit.script(model))
    except Exception as error:
        raise Unavailable(f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}") from error
    return lambda: frozen(*inputs)


def torch_compile(model: Callable[..., Any], *inputs: Any, timeout: float) -> Call:
    return call_of_torch_compile(model, lambda compiled: lambda: compiled(*inputs), timeout=timeout)


def call_of_torch_compile(
    model: Callable[..., Any], call_of: Callable[[Callable[..., Any]], Call], *, timeout: float
) -> Call:
    """Return what `call_of` makes of the compiled model, after a first call, which compiles."""
    torch._dynamo.reset()
    call = call_of(torch.compile(model))
    try:
        with time_limit(timeout):
            call()
    except Exception as error:
        raise Unavailable(f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}") from error
    return call


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    def stop(signum: int, frame: object) -> None:
        raise TimeoutError(f"not compiled after {seconds:g} s")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _jax(model: torch.nn.Module) -> tuple[Any, Any, dict[str, Any]]:
    """Return jax, jax.numpy and the transposed weights, which JAX multiplies much faster than `hid @ weight.T` in a
    loop.
    """
    try:
        import jax
        import jax.numpy as jnp
    except ImportError as error:
        raise Unavailable(str(error)) from error
    return jax, jnp, {name: jnp.asarray(p.detach().t().contiguous().numpy()) for name, p in model.named_parameters()}


def jax_scan(model: TestModel, inputs: list[torch.Tensor]) -> Call:
    jax, jnp, weights = _jax(model)
    xs = jnp.asarray(torch.stack(inputs).numpy())

    @jax.jit
    def forward(w: Any, xs: Any) -> Any:
        def step(hid: Any, x: Any) -> Any:
            ours = hid @ w["hid_to_hid.weight"] + w["hid_to_hid.bias"]
            return jax.nn.sigmoid(ours + x @ w["in_to_hid.weight"] + w["in_to_hid.bias"]), None

        return jax.lax.scan(step, jnp.tile(w["hid_init"].T, (xs.shape[1], 1)), xs)[0]

    return lambda: forward(weights, xs).block_until_ready()


def jax_lstm(model: torch.nn.LSTM, inputs: torch.Tensor) -> Call:
    jax, jnp, weights = _jax(model)
    xs = jnp.asarray(inputs.numpy())

    @jax.jit
    def forward(w: Any, xs: Any) -> Any:
        def step(state: Any, x: Any) -> Any:
            gates = x @ w["weight_ih_l0"] + w["bias_ih_l0"] + state[0] @ w["weight_hh_l0"] + w["bias_hh_l0"]
            i, f, g, o = jnp.split(gates, 4, axis=1)
            c = jax.nn.sigmoid(f) * state[1] + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zeros = jnp.zeros((xs.shape[1], model.hidden_size))
        return jax.lax.scan(step, (zeros, zeros), xs)[1]

    return lambda: forward(weights, xs).block_until_ready()


def jax_gradients(name: str, model: torch.nn.Module, inputs: Any, cotangent: torch.Tensor) -> Call:
    """Return a call that computes the gradients of a cell's weights, jitted for the length of `inputs`."""
    try:
        import jax

        from benchmarks.jax_cells import CELLS
    except ImportError as error:
        raise Unavailable(str(error)) from error
    weights = {key: jax.numpy.asarray(p.detach().numpy()) for key, p in model.named_parameters()}
    stacked = torch.stack(inputs) if isinstance(inputs, list) else inputs
    xs, units, given = jax.numpy.asarray(stacked.numpy()), cotangent.shape[-1], jax.numpy.asarray(cotangent.numpy())

    def loss(w: dict[str, Any], xs: Any) -> Any:
        return (CELLS[name]({key: p.T for key, p in w.items()}, xs, units) * given).sum()

    both = jax.jit(jax.value_and_grad(loss))

    def call() -> list[Any]:
        gradients = jax.block_until_ready(both(weights, xs))[1]  # JAX sorts the keys of dicts
        return [gradients[key] for key in weights]

    return call


def onnx_runtime(model: TestModel, inputs: list[torch.Tensor]) -> Call:
    """Return a call of ONNX Runtime's fused RNN operator, its fastest way."""
    bias = torch.cat([model.in_to_hid.bias, model.hid_to_hid.bias])
    weights = {"W": model.in_to_hid.weight, "R": model.hid_to_hid.weight, "B": bias}
    return _onnx("RNN", weights, torch.stack(inputs), ["", "H"], activations=["Sigmoid"])


def onnx_lstm(model: torch.nn.LSTM, inputs: torch.Tensor) -> Call:
    def gates(w: torch.Tensor) -> torch.Tensor:
        """Return the gates in ONNX's order: input, output, forget, cell."""
        i, f, g, o = w.chunk(4)
        return torch.cat([i, o, f, g])

    w, r, b, c = map(gates, model.parameters())
    return _onnx("LSTM", {"W": w, "R": r, "B": torch.cat([b, c])}, inputs, ["H"])


def _onnx(
    operator: str, weights: dict[str, torch.Tensor], inputs: torch.Tensor, results: list[str], **attrs: Any
) -> Call:
    """Return a call of a recurrent operator on a sequence, for its first result that has a name."""
    try:
        from onnx import TensorProto, helper, numpy_helper
    except ImportError as error:
        raise Unavailable(str(error)) from error
    hidden = weights["R"].shape[1]
    node = helper.make_node(operator, ["X", "W", "R", "B"], results, hidden_size=hidden, direction="forward", **attrs)
    graph = helper.make_graph(
        [node],
        "recurrent",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, None, None])],
        [helper.make_tensor_value_info("H", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(w.detach().unsqueeze(0).numpy(), name) for name, w in weights.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = onnx_session(made.SerializeToString(), threads=1)
    feed = {"X": inputs.numpy()}
    return lambda: session.run(None, feed)[0]


@contextmanager
def exported(net: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> Iterator[tuple[Path, list[str]]]:
    """Export a net with fixed sizes as an ONNX file, and name its inputs."""
    names = [f"input_{i}" for i in range(len(inputs))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.onnx"
        try:
            torch.onnx.export(net, inputs, path, input_names=names, dynamo=True)
        except Exception as error:
            raise Unavailable(f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}") from error
        yield path, names


def net_in_onnx_runtime(net: torch.nn.Module, *inputs: torch.Tensor, threads: int) -> Call:
    with exported(net, inputs) as (path, names):
        session = onnx_session(path, threads)
    feed = {name: x.numpy() for name, x in zip(names, inputs, strict=True)}
    return lambda: session.run(None, feed)[0]


def net_in_openvino(net: torch.nn.Module, *inputs: torch.Tensor, threads: int) -> Call:
    """Return a call in float32, which OpenVINO would lower on processors that have 16-bit products."""
    try:
        import openvino
    except ImportError as error:
        raise Unavailable(str(error)) from error
    config = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    with exported(net, inputs) as (path, _):
        compiled = openvino.Core().compile_model(path, "CPU", config)
    request, arrays = compiled.create_infer_request(), [x.numpy() for x in inputs]
    return lambda: request.infer(arrays)[0]
