"""The rows by family. Importing the package fills the table `ROWS`."""

from scriptc.onnx.writing.operators import (
    float_functions,
    images,
    layers,
    lists,
    numbers,
    ordering,
    places,
    pointwise,
    shapes,
    special,
)
from scriptc.onnx.writing.operators.rows import ROWS, Call, Row

__all__ = [
    "ROWS", "Call", "Row", "float_functions", "images", "layers", "lists", "numbers", "ordering", "places", "pointwise",
    "shapes", "special",
]  # fmt: skip
