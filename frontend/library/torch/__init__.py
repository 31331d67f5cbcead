"""Functions, methods and modules of torch, and how torch parses their arguments."""
