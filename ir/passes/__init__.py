"""Passes over the tensor IR."""
