"""Attention of ai.onnx, where torch's function computes it; other forms are read as the function that onnx defines."""

from __future__ import annotations

from typing import Any

from scriptc.onnx.reading.operation import Operation
from scriptc.onnx.reading.registry import operator
from scriptc.onnx.reading.values import number_text


def _heads(op: Operation, index: int, attribute: str) -> int | None:
    """Return the number of heads of an input; None if the file does not tell it."""
    dims = op.dims(index)
    if dims is None:
        return None
    return op.attr(attribute) if len(dims) == 3 else dims[1]


ATTRIBUTES = {"is_causal", "scale", "q_num_heads", "kv_num_heads", "softcap", "softmax_precision", "qk_matmul_output_mode"}


def is_plain(op: Operation) -> bool:
    """Return whether torch computes the call with the precision that the operator asks for."""
    if not ATTRIBUTES.issuperset(op.node.attributes):
        return False
    if op.has(6) or op.attr("softcap", 0.0) or op.outputs > 3 or op.dtype(0) not in ("float32", "float64"):
        return False
    mask = op.dims(3) if op.has(3) else (None,)
    return _heads(op, 0, "q_num_heads") is not None and _heads(op, 1, "kv_num_heads") is not None and mask is not None


@operator("Attention", since=23)
def attention(op: Operation) -> Any:
    if not is_plain(op):
        return NotImplemented
    names = ("q_num_heads", "kv_num_heads", "kv_num_heads")
    counts = [_heads(op, i, name) for i, name in enumerate(names)]
    flat = op.rank(0) == 3
    q, k, v = (f"ox.split_heads({op[i]}, {counts[i]})" if flat else op[i] for i in range(3))
    if op.has(4):
        k = op.named((*op.node.outputs, "", "")[1] or "keys", f"torch.cat([{op[4]}, {k}], 2)")
        v = op.named((*op.node.outputs, "", "")[2] or "values", f"torch.cat([{op[5]}, {v}], 2)")
    elif op.outputs > 1:
        k, v = op.named("keys", k), op.named("values", v)
    options = []
    if op.attr("is_causal", 0) and (op.has(3) or op.has(4)):
        q = op.named("queries", q)
        past = f"{op[4]}.shape[2]" if op.has(4) else "0"
        options.append(f"ox.causal_mask_from({op.optional(3)}, {q}.shape[2], {k}.shape[2], {past})")
    elif op.attr("is_causal", 0):
        options.append("is_causal=True")
    elif op.has(3):
        options.append(op[3])
    if op.attr("scale") is not None:
        options.append(f"scale={number_text(op.attr('scale'), 'float32')}")
    if counts[0] != counts[1]:
        options.append("enable_gqa=True")
    made = f"F.scaled_dot_product_attention({', '.join([q, k, v, *options])})"
    made = f"ox.merge_heads({made})" if flat else made
    return (made, k, v)[: op.outputs] if op.outputs > 1 else made
