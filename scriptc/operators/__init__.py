"""Compiled functions as operators of PyTorch: their schemas, shapes, implementations and gradients."""
