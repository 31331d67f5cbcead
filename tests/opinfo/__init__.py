"""The measure of the op library: PyTorch's own samples (`op_db`), each called in a compiled function as a user would."""
