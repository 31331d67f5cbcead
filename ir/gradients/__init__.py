"""Reverse-mode differentiation of functions of the tensor IR (docs/internals/gradients.md)."""
