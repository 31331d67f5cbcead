"""ONNX files read into Python. Importing this package needs neither `onnx` nor torch."""
