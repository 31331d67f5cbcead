"""The rows by family. Importing the package fills the table `ROWS`."""

from scriptc.onnx.writing.operators import layers, lists, numbers, pointwise, shapes
from scriptc.onnx.writing.operators.rows import ROWS, Call

__all__ = ["ROWS", "Call", "layers", "lists", "numbers", "pointwise", "shapes"]
