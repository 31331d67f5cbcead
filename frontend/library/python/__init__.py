"""Builtins, and the modules of Python's standard library that compiled code may call."""
