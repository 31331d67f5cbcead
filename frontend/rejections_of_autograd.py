"""The rejections of code that asks autograd for gradients, or sets which tensors have them."""

from __future__ import annotations

OF_AUTOGRAD: dict[str, tuple[str, str]] = {
    "argument_in_container": (
        "this changes the shape, data or requires_grad of an argument, which a container that is another argument may hold",
        "change a copy: x = x.detach()",
    ),
    "attribute_of_autograd": (
        "compiled code cannot read '{name}', which belongs to autograd",
        "compute on values, not on autograd's state",
    ),
    "data_assigned": (
        "assignment to .data of this tensor is not supported",
        "write into it: x.data.copy_(new)",
    ),
    "data_of_result": (
        "a tensor from outside whose .data is assigned leaves the call",
        "return a copy: x.clone()",
    ),
    "grad_mode_left": (
        "set_grad_enabled() that is not switched back on every path is not supported",
        "use it in a with statement",
    ),
    "gradient_of_inner": (
        "backward() with inputs other than parameters and tensors outside is not supported",
        "use torch.autograd.grad()",
    ),
    "gradient_of_other": (
        "autograd.grad() of other values than floating-point tensors is not supported",
        "pass tensors, or a list or tuple of tensors",
    ),
    "gradients_of_gradients": (
        "{name}=True is not supported in compiled code, which computes no gradients of gradients",
        "leave {name} out",
    ),
    "gradients_on": (
        "compiled code cannot switch gradients on in a call without grad mode",
        "call the function outside of torch.no_grad()",
    ),
    "leaf_in_container": (
        "a tensor that requires grad, made here, leaves the call in a container or on some paths only",
        "return it itself, or make it outside",
    ),
    "leaf_with_gradient": (
        "a tensor that requires grad, made here, leaves the call, and backward() adds to its .grad",
        "use torch.autograd.grad()",
    ),
    "leaf_with_results": (
        "a tensor that requires grad, made in a branch or loop, leaves the call together with values that depend on it",
        "make it before the branch or loop",
    ),
    "requires_grad_late": (
        "compiled code cannot change whether this tensor requires grad, as it may have other names or was made elsewhere",
        "write x = x.detach().requires_grad_()",
    ),
    "requires_grad_set": (
        "{name} of a tensor from outside is not supported",
        "set it outside, or write x = x.detach().requires_grad_()",
    ),
}
