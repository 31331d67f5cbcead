"""Packages: directories with everything that a compiled model needs outside of Python. See docs/guide/aot.md."""
