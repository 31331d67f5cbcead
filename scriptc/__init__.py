"""Compiles the Python source of a PyTorch forward to C that needs no LibTorch."""
