"""From tensor IR to C, and from C to a shared library."""
