"""ONNX models, read into Python and written. Importing this package needs neither `onnx` nor torch."""
