"""The rows by family. Importing the package fills the table `ROWS`."""

from scriptc.onnx.writing.operators import images, layers, lists, numbers, ordering, places, pointwise, shapes, special
from scriptc.onnx.writing.operators.rows import ROWS, Call, Row

__all__ = [
    "ROWS", "Call", "Row", "images", "layers", "lists", "numbers", "ordering", "places", "pointwise", "shapes", "special",
]  # fmt: skip
