"""NumPy's functions and the methods of its arrays: handlers and decompositions over tensors."""
