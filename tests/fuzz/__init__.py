"""A differential fuzzer of the whole compiler: `python -m tests.fuzz` makes random Python functions over tensors, numbers,
containers, generators, iterators and control flow, and compares what compiled code does with what Python does."""
