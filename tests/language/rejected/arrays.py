"""NumPy code that is refused."""

from __future__ import annotations

import numpy as np
import torch

from language.rejected import write

M = torch.arange(6.0).reshape(2, 3)


@write("array_of_other", lambda x: np.array([ord(c) for c in "ab"]), (M,))
def array_of_text(x):
    return np.array("ab")  # refused


ANGLES = np.arange(4.0)
ANGLES.setflags(write=False)
WRITABLE = ANGLES.copy()


@write("array_made_at_compile_time", lambda x: x * float((WRITABLE * 2)[1]), (M,))
def twice_a_read_only_array(x):
    return x * float((ANGLES * 2)[1])  # refused


@write("attribute_of_array", lambda x: x.numpy().T.sum(), (M,))
def strides_of_an_array(x):
    return x.numpy().strides  # refused


@write("array_with_tensor", lambda x: torch.from_numpy(x.numpy()) + x, (M,))
def adds_a_tensor(x):
    return x.numpy() + x  # refused


@write("numpy_function", lambda x: torch.erf(x).numpy(), (M,))
def spaces(x):
    return np.spacing(x.numpy())  # refused


@write("numpy_random", lambda x: x * float(np.random.normal()) * 0, (M,))
def other_distribution(x):
    return x * float(np.random.gamma(2.0)) * 0  # refused


def every_second(x, n):
    return x.numpy()[0, ::2]


@write("slice_of_array", every_second, (M, 2))
def slice_with_a_computed_step(x, n):
    return x.numpy()[0, :: n + x.size(0)]  # refused


@write("tensor_in_numpy", lambda x: np.exp(x.numpy()), (M,))
def exp_of_a_tensor(x):
    return np.exp(x)  # refused


@write("view_of_reversed_array", lambda x: x.numpy()[::-1].copy()[0], (M,))
def view_of_a_reversed_array(x):
    return x.numpy()[::-1][0]  # refused


@write("view_of_read_only_array", lambda x: np.broadcast_to(x.numpy()[0], (2, 3)).copy()[0], (M,))
def view_of_a_broadcast_array(x):
    return np.broadcast_to(x.numpy()[0], (2, 3))[0]  # refused
