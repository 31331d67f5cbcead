"""Tensor IR as ONNX: a graph builder, control flow, and one row for each op of the IR."""
