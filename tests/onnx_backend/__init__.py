"""Run the backend tests of `onnx`: `python -m tests.onnx_backend [--eager] [--kind node] [--only TEXT] [--record FILE]`."""
