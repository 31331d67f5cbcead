"""Tensors, operators and library functions that are refused."""

from __future__ import annotations

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from language.rejected import write

X = torch.arange(3.0)
M = torch.ones(2, 3)


@write("out_of_other_rank", lambda x: x + 1, (X,))
def out_of_another_rank(x):
    out = torch.zeros(1, 1)
    return torch.add(x, 1, out=out)  # refused


@write("round_of_tensor", lambda x: torch.round(x), (X,))
def rounds(x):
    return round(x)  # refused


@write("tensor_of_tensor", lambda x: x.clone(), (X,))
def tensor_again(x):
    return torch.tensor(x)  # refused


@write("random_without_bounds", lambda x: x.random_(0, 1), (X,))
def draws_without_bounds(x):
    return x.random_()  # refused


@write("random_of_dtype", lambda x: torch.empty(3).uniform_().long(), (X,))
def draws_integers(x):
    return torch.rand(3, dtype=torch.int64)  # refused


@write("storage_offset", lambda x, n: n, (X, 0))
def offset(x, n):
    return x.storage_offset()  # refused


@write("nextafter_of_half", lambda x: torch.nextafter(x.float(), x.float() + 1), (X.to(torch.bfloat16),))
def next_in_half(x):
    return torch.nextafter(x, x + 1)  # refused


@write("argument_of_creation", lambda n: torch.ones(n), (3,))
def on_another_device(n):
    return torch.ones(n, device="meta")  # refused


def _off(x):
    with torch.autocast("cpu"):
        y = x.relu()
    return torch.einsum("ij->i", y)


@write("autocast_of", _off, (X,))
def einsum_under_autocast(x):
    with torch.autocast("cpu"):
        return torch.einsum("ij->i", x.relu())  # refused


@write("gradients_on", lambda x: x + 1, (X,), around=torch.no_grad)
def gradients(x):
    with torch.set_grad_enabled(True):  # refused
        return x + 1


W = torch.ones(3, requires_grad=True)


@write("attribute_of_autograd", lambda x: x + 1, (X,))
def asks_for_a_graph(x):
    return x if (x * W).grad_fn is None else x + 1  # refused


@write("gradient_of_other", lambda x: torch.autograd.grad((x * W).sum(), [W]), (X,))
def of_something_else(x):
    return torch.autograd.grad([(x * W).sum(), x.size(0)], [W])  # refused


@write("gradients_of_gradients", lambda x: torch.autograd.grad((x * W).sum(), W), (X,))
def of_gradients(x):
    return torch.autograd.grad((x * W).sum(), W, create_graph=True)  # refused


def _with_grad(x):
    h = x * W
    return torch.autograd.grad(h.sum(), h)


@write("gradient_of_inner", _with_grad, (X,))
def backward_of_a_part(x):
    h = x * W
    h.sum().backward(inputs=[h])  # refused
    return x


def _inside(x):
    with torch.set_grad_enabled(False):
        return x * 2


@write("grad_mode_left", _inside, (X,))
def without_a_with(x):  # refused
    torch.set_grad_enabled(False)
    return x * 2


@write("is_parameter", lambda x, flag: x + 1 if flag else x, (X, False))
def asks_for_a_parameter(x, flag):
    return x + 1 if isinstance(x, torch.nn.Parameter) else x  # refused


def by_rows(x, rows):
    first, second = rows
    return x[first, second]


@write("index_of_lists", by_rows, (M, [[0, 1], [1, 0]]))
def by_lists_of_unknown_length(x, rows):
    return x[rows]  # refused


@write("index_of_other", lambda x: x[1], (X,))
def indexes_by_a_string(x):
    return x[{}]  # refused


@write("view_as_bool", lambda x: x.int().to(torch.uint8) != 0, (X,))
def views_as_bools(x):
    return x.int().to(torch.uint8).view(torch.bool)  # refused


def put_where(x):
    x[x[0] > 1] = 2.0
    return x


@write("mask_without_dims", put_where, (X,))
def masks_without_dims(x):
    return x.index_put((x[0] > 1,), x)  # refused


@write("method_of_tensor", lambda x: torch.empty(3).normal_().abs() * 0 + x, (X,))
def unknown_in_place(x):
    return x.geometric_(0.5)  # refused


@write("function_without_source", lambda x: x + 1, (X,))
def calls_numpy(x):
    return torch.from_file("a") + 1  # refused


@write("form_of_call", lambda x: x.sum(0), (X,))
def size_by_an_unknown_name(x):
    return abs(x, bogus=True)  # refused


@write("not_known", lambda x: x.sum(0), (torch.arange(3),))
def dim_of_a_tensor(x):
    return x.sum(x[0])  # refused


@write("computed_at_run_time", lambda x, n: x.sum(0), (M, 2))
def dim_that_is_computed(x, n):
    d = 0
    for _ in range(n):
        d = int(x.sum()) - 6
    return x.sum(d)  # refused


@write("tensor_outside", lambda x: x + 1, (X,))
def uses_a_sparse_tensor(x):
    return x + SPARSE  # refused


SPARSE = torch.eye(3).to_sparse()


@write("function_without_source", lambda x: x.sort().values, (X,))
def operator_by_name(x):
    return torch.fft.hfft(x)  # refused


def resized_as_floats(x):
    made = torch.nn.functional.interpolate(x.float(), size=(4, 4), mode="bilinear")
    return made.round().to(torch.uint8)


@write("resized_bytes", resized_as_floats, (torch.arange(9, dtype=torch.uint8).reshape(1, 1, 3, 3),))
def resizes_bytes(x):
    return torch.nn.functional.interpolate(x, size=(4, 4), mode="bilinear")  # refused


def gradient_of_gelu(g, x):
    cdf = 0.5 * (1 + torch.erf(x * 0.5**0.5))
    return g * (cdf + x * torch.exp(-0.5 * x * x) * 0.3989422804014327)


@write("aten_operator", gradient_of_gelu, (X, X))
def operator_of_autograd(g, x):
    return torch.ops.aten.gelu_backward(g, x)  # refused


@write("complex32", lambda x: torch.complex(x.float(), x.float()), (X.half(),))
def halves_of_complex(x):
    return torch.complex(x, x)  # refused


@write("complex_number", lambda x, n: torch.arange(n), (X, 2))
def bound_that_is_complex(x, n):
    return torch.arange(complex(n, 1.0))  # refused


@write("data_assigned", lambda x: x.data.copy_(x * 2), (X,))
def data_of_an_argument(x):
    if x.sum() > 100:
        x.data = x * 2  # refused
    return x.data


@write("argument_in_container", lambda x, rows: x.detach().unsqueeze(0) + rows[0][0], (X, [[X * 2], [X]]))
def argument_that_a_list_of_lists_may_hold(x, rows):
    x.unsqueeze_(0)  # refused
    return x + rows[0][0]


@write("data_of_result", lambda x: (W + 0 * x).detach(), (X,))
def weight_with_other_data(x):
    W.data = W.data * 1  # refused
    return W


def _another(x):
    x = x.detach().requires_grad_()
    return x * 2


@write("requires_grad_set", _another, (X,))
def argument_that_becomes_a_leaf(x):
    if x.sum() > 100:
        x.requires_grad_()  # refused
    return x * 2


def _second_tensor(x):
    y = torch.zeros(3)
    if x.sum() > 0:
        y = y + 1
    y = y.detach().requires_grad_()
    return (y + x).detach()


@write("requires_grad_late", _second_tensor, (X,))
def leaf_on_one_path(x):
    y = torch.zeros(3)
    if x.sum() > 0:
        y.requires_grad_()  # refused
    return (y + x).detach()


@write("requires_grad_late", _another, (X,))
def argument_that_was_used_before(x):
    y = x * 2
    x.requires_grad_()  # refused
    return y


@write("requires_grad_late", lambda x: torch.ones(3) + x, (X,))
def view_of_what_becomes_a_leaf(x):
    y = torch.ones(3)
    first = y[:1]
    y.requires_grad_()  # refused
    return (first * x).detach()


@write("leaf_in_container", lambda x: torch.nn.Parameter(x * 1), (X,))
def leaves_of_a_list(x):
    return [torch.nn.Parameter(x * i) for i in range(x.size(0))]  # refused


def _scaled(x, scale):
    p = torch.nn.Parameter(torch.ones(3))
    if x.sum() > 100:
        scale.w = p
        return x * p
    return x


class _Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(3))


@write("leaf_with_results", _scaled, (X, _Scale()))
def leaf_and_what_depends_on_it(x, scale):
    if x.sum() > 100:
        scale.w = torch.nn.Parameter(torch.ones(3))  # refused
        return x * scale.w
    return x


def _asked(x):
    p = torch.nn.Parameter(torch.ones(3))
    (gradient,) = torch.autograd.grad((p * x).sum(), p)
    return p, gradient


@write("leaf_with_gradient", _asked, (X,))
def leaf_that_has_a_gradient(x):
    p = torch.nn.Parameter(torch.ones(3))  # refused
    (p * x).sum().backward()
    return p


def attends_by_any_backend(x):
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        return torch.nn.functional.scaled_dot_product_attention(x, x, x)


@write("attention_backend", attends_by_any_backend, (torch.ones(1, 2, 3, 4),))
def attends_by_one_backend(x):
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):  # refused
        return torch.nn.functional.scaled_dot_product_attention(x, x, x)


@write("batched", lambda x: x - x.sum(-1, keepdim=True), (X.reshape(1, 3),))
def reduces_under_vmap(x):
    return torch.vmap(lambda row: row - row.sum())(x)  # refused
