"""Refuse operators for element types that only some rows write: uint64, whose bits an int64 carries, and strings."""

from __future__ import annotations

from scriptc.onnx.reading.element_types import FLOATS, INTEGERS
from scriptc.onnx.reading.operation import Operation

# These move elements, compute modulo 2**64, or have functions of their own for uint64.
EXACT = {
    "Add", "BitCast", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Compress", "Concat",
    "Constant", "ConstantOfShape", "DepthToSpace", "Div", "Equal", "Expand", "EyeLike", "Flatten", "Gather",
    "GatherElements", "GatherND", "Greater", "GreaterOrEqual", "Identity", "If", "Less", "LessOrEqual", "Loop", "Max",
    "Min", "Mod", "Mul", "NonZero", "Optional", "OptionalGetElement", "OptionalHasElement", "Reshape",
    "ReverseSequence", "Scan", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase",
    "SequenceInsert", "SequenceLength", "Shape", "Size", "Slice", "SpaceToDepth", "Split", "SplitToSequence", "Squeeze",
    "Sub", "Tile", "TopK", "Transpose", "Trilu", "Unsqueeze", "Where",
}  # fmt: skip

STRINGS = {  # operators whose rows write tensors of strings as lists
    "Cast", "CastLike", "Concat", "Constant", "Equal", "Gather", "Identity", "If", "Loop", "Optional", "OptionalGetElement",
    "OptionalHasElement", "RegexFullMatch", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase",
    "SequenceInsert", "SequenceLength", "Shape", "Size", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer",
}  # fmt: skip


def check_strings(op: Operation) -> None:
    """Raise OnnxError if the operator has tensors of strings and its row does not write them."""
    if "string" not in {*map(op.dtype, range(op.count)), *map(op.out_dtype, range(op.outputs))}:
        return
    if op.node.domain == "ai.onnx.ml" or not op.node.domain and op.node.op in STRINGS:
        return
    raise op.unsupported("it has tensors of strings, which only some operators take")


def check_uint64(op: Operation) -> None:
    """Raise OnnxError if the operator has uint64 elements and its Python is not known to be exact for them."""
    if "uint64" not in {*map(op.dtype, range(op.count)), *map(op.out_dtype, range(op.outputs))}:
        return
    name = op.node.op
    if name in ("Cast", "CastLike"):
        target = op.attr_dtype("to", "float32") if name == "Cast" else op.dtype(1) or op.out_dtype()
        if {op.dtype(0), target} <= INTEGERS | FLOATS | {"bool"}:
            return
    elif name == "Pow" and op.dtype(0) != "uint64":
        return
    elif name in ("ScatterND", "ScatterElements") and op.attr("reduction", "none") in ("none", "add"):
        return
    elif not op.node.domain and name in EXACT:
        return
    raise op.unsupported("it has uint64 elements, which are exact only in other operators")
