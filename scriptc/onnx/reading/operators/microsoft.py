"""Operators of com.microsoft, which ONNX Runtime's optimizer and exporters of transformers write."""

from __future__ import annotations

import itertools
from typing import Any

from scriptc.onnx.reading.operation import Operation
from scriptc.onnx.reading.operators.math import gemm as plain_gemm
from scriptc.onnx.reading.operators.neural import conv as plain_conv
from scriptc.onnx.reading.operators.neural import shape_text
from scriptc.onnx.reading.registry import operator
from scriptc.onnx.reading.values import number_text

DOMAIN = "com.microsoft"


def short(number: float) -> str:
    return number_text(number, "float32")


def some(op: Operation, *results: str) -> Any:
    """Return the results for the outputs that the call has."""
    return tuple(results[: op.outputs])


# norms


@operator("SimplifiedLayerNormalization")
@operator("SimplifiedLayerNormalization", domain=DOMAIN)
def simplified_layer_norm(op: Operation) -> Any:
    return f"ox.rms_norm({op[0]}, {op[1]}, {op.attr('axis', -1)}, {short(op.attr('epsilon', 1e-5))})"


@operator("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", domain=DOMAIN)
def skip_layer_norm(op: Operation) -> Any:
    simple = op.node.op == "SkipSimplifiedLayerNormalization"
    if any(name for name in op.node.outputs[1:3]):
        raise op.unsupported("the mean and the deviation of the norm are results for training only")
    bias, epsilon = 3 if simple else 4, short(op.attr("epsilon", 1e-12))
    text = f"{op[0]} + {op[1]} + {op[bias]}" if op.has(bias) else f"{op[0]} + {op[1]}"
    total = op.named(op.node.outputs[3] if op.outputs > 3 else "sum", text)
    if simple:
        made = f"ox.rms_norm({total}, {op[2]}, -1, {epsilon})"
    else:
        made = f"F.layer_norm({total}, {shape_text(op, 2)}, {op[2]}, {op.optional(3)}, {epsilon})"
    return some(op, made, "None", "None", total) if op.outputs > 1 else made


@operator("EmbedLayerNormalization", domain=DOMAIN)
def embed_layer_norm(op: Operation) -> Any:
    values = ", ".join(op.optional(i) for i in range(9))
    names = [op.fresh(name or "unused") for name in (*op.node.outputs, "", "")[:3]]
    op.emit(f"{', '.join(names)} = ox.embed_layer_norm({values}, {short(op.attr('epsilon', 1e-12))})")
    return some(op, *names)


# activations


@operator("Gelu", domain=DOMAIN)
def gelu(op: Operation) -> Any:
    return f"F.gelu({op[0]})"


@operator("BiasGelu", domain=DOMAIN)
def bias_gelu(op: Operation) -> Any:
    return f"F.gelu({op[0]} + {op[1]})"


@operator("FastGelu", domain=DOMAIN)
def fast_gelu(op: Operation) -> Any:
    return f'F.gelu({op[0]}{f" + {op[1]}" if op.has(1) else ""}, approximate="tanh")'


@operator("QuickGelu", domain=DOMAIN)
def quick_gelu(op: Operation) -> Any:
    alpha = op.attr("alpha", 1.702)
    return f"F.silu({op[0]})" if alpha == 1.0 else f"{op[0]} * torch.sigmoid({short(alpha)} * {op[0]})"


@operator("BiasAdd", domain=DOMAIN)
def bias_add(op: Operation) -> Any:
    return f"{op[0]} + {op[1]} + {op[2]}"


def activated(op: Operation, text: str) -> str:
    """Return the activation that a fused operator applies to its result."""
    name = op.attr("activation", "")
    alpha, beta = op.attr("activation_alpha"), op.attr("activation_beta")
    numbers = list(op.attr("activation_params") or [n for n in (alpha, beta) if n is not None])
    texts = [short(number) for number in numbers]
    simple = {"": "{}", "Relu": "torch.relu({})", "Tanh": "torch.tanh({})", "Sigmoid": "torch.sigmoid({})"}
    if name in simple:
        return simple[name].format(text)
    if name == "LeakyRelu":
        return f"F.leaky_relu({text}, {texts[0] if texts else 0.01})"
    if name == "Clip" and len(texts) == 2:
        return f"torch.clamp({text}, {texts[0]}, {texts[1]})"
    if name == "HardSigmoid":
        low, high = texts if len(texts) == 2 else ("0.2", "0.5")
        return f"ox.hard_sigmoid({text}, {low}, {high})"
    raise op.unsupported(f"its activation is {name!r}")


# products


@operator("FusedGemm", domain=DOMAIN)
def fused_gemm(op: Operation) -> Any:
    return activated(op, plain_gemm(op))


@operator("FusedConv", domain=DOMAIN)
def fused_conv(op: Operation) -> Any:
    text = plain_conv(op)
    return activated(op, f"{text} + {op[3]}" if op.has(3) else text)


@operator("FusedMatMul", "TransposeMatMul", domain=DOMAIN)
def fused_matmul(op: Operation) -> Any:
    if op.attr("transBatchA", 0) or op.attr("transBatchB", 0):
        raise op.unsupported("it exchanges the batch and the rows of a matrix")
    turned = [bool(op.attr(name, 0)) and op.rank(i) != 1 for i, name in enumerate(("transA", "transB"))]
    left, right = (f"{op[i]}.transpose(-1, -2)" if turned[i] else op[i] for i in (0, 1))
    alpha = op.attr("alpha", 1.0)
    return f"torch.matmul({left}, {right})" + (f" * {short(alpha)}" if alpha != 1.0 else "")


@operator("MatMulNBits", domain=DOMAIN)
def matmul_n_bits(op: Operation) -> Any:
    bits = op.attr("bits", 4)
    if bits not in (2, 4, 8) or op.has(4) or op.attr("weight_prepacked", 0):
        raise op.unsupported("its weights have no plain blocks of 2, 4 or 8 bits")
    values = ", ".join(op.optional(i) for i in (0, 1, 2, 3, 5))
    return f"ox.matmul_n_bits({values}, {bits}, {op.need('block_size')}, {op.need('K')})"


# attention


def scale_of(op: Operation) -> str:
    scale = op.attr("scale")
    return short(scale) if scale else "None"


def check_rank_of_mask(op: Operation, index: int, batch: int) -> None:
    """Refuse masks in forms that have more than one meaning."""
    if not op.has(index):
        return
    dims, first = op.dims(index), (op.dims(batch) or (None,))[0]
    if dims is None or len(dims) > 3:
        raise op.unsupported("its mask must have from 1 to 3 dims, which the file tells")
    if len(dims) == 1 and None not in (dims[0], first) and dims[0] != first:
        raise op.unsupported("its mask has starts and ends of sequences")


def with_present(op: Operation, text: str) -> Any:
    """Return the attention, and the keys and values as one tensor."""
    if op.outputs == 1:
        return f"{text}[0]"
    made, k, v = op.fresh(op.node.outputs[0] or "made"), op.fresh("k"), op.fresh("v")
    op.emit(f"{made}, {k}, {v} = {text}")
    return made, f"torch.stack([{k}, {v}])"


@operator("Attention", domain=DOMAIN)
def attention(op: Operation) -> Any:
    if op.attr("do_rotary", 0) or op.attr("past_present_share_buffer", 0):
        raise op.unsupported("it rotates its inputs, or shares a buffer of past keys")
    check_rank_of_mask(op, 3, 0)
    values = ", ".join(op.optional(i) for i in range(6))
    rest = f"{op.need('num_heads')}, {op.attr('qkv_hidden_sizes')}, {bool(op.attr('unidirectional', 0))}"
    text = f"ox.packed_attention({values}, {rest}, {scale_of(op)}, {short(op.attr('mask_filter_value', -10000.0))})"
    return with_present(op, text)


def heads_with_bias(op: Operation, index: int, heads: int, rank: int) -> str:
    """Return queries, keys or values as heads, with their part of the bias of the projections."""
    text = op[index]
    if rank == 4:
        return text
    if op.has(3):
        size = f"{op[0]}.shape[2]"
        text += f" + {op[3]}[{('', size, f'2 * {size}')[index]}:{(size, f'2 * {size}', '')[index]}]"
    return f"ox.split_heads({text}, {heads})"


@operator("MultiHeadAttention", domain=DOMAIN)
def multi_head_attention(op: Operation) -> Any:
    heads = op.need("num_heads")
    if op.has(8) or op.has(9) or op.outputs > 3 and op.node.outputs[3]:
        raise op.unsupported("it shares a buffer of past keys, or returns its scores")
    check_rank_of_mask(op, 4, 0)
    if not op.has(2) or op.need_rank(0) != 3:
        raise op.unsupported("its queries, keys and values lie in one tensor")
    q, k, v = (heads_with_bias(op, i, heads, op.need_rank(i)) for i in range(3))
    values = ", ".join([q, k, v, *(op.optional(i) for i in range(4, 8))])
    rest = f"{bool(op.attr('unidirectional', 0))}, {scale_of(op)}, {short(op.attr('mask_filter_value', -10000.0))}"
    text = f"ox.multi_head_attention({values}, {rest})"
    if op.outputs == 1:
        return f"{text}[0]"
    names = [op.fresh(name or "unused") for name in (*op.node.outputs, "", "")[:3]]
    op.emit(f"{', '.join(names)} = {text}")
    return some(op, *names)


@operator("GroupQueryAttention", domain=DOMAIN, ints=(6,))
def grouped_query_attention(op: Operation) -> Any:
    heads, shared = op.need("num_heads"), op.need("kv_num_heads")
    odd = ("sliding_window_cache", "qk_output", "kv_cache_bit_width")
    if any(op.attr(name, 0) for name in odd) or any(op.has(i) for i in range(12, 17)) or not op.attr("causal", 1):
        raise op.unsupported("it has a quantized or sliding cache, returns its scores, or is not causal")
    if op.has(1):
        q = f"ox.split_heads({op[0]}, {heads})"
        k, v = (f"ox.split_heads({op[i]}, {shared})" for i in (1, 2))
    else:
        packed = op.named("packed", f"ox.split_heads({op[0]}, {heads + 2 * shared})")
        edges = [0, heads, heads + shared, heads + 2 * shared]
        q, k, v = (f"{packed}[:, {a}:{b}]" for a, b in itertools.pairwise(edges))
    rotary = [op[7], op[8]] if op.attr("do_rotary", 0) else ["None", "None"]
    sink = op.optional(11)
    if op.attr("smooth_softmax", 0) == 1 and not op.has(11):
        sink = f"torch.zeros({heads}, dtype={op.torch_dtype(op.dtype(0))})"
    values = [q, k, v, op.optional(3), op.optional(4), op[5], op.int_text(6), *rotary, op.optional(9), op.optional(10), sink]
    rest = f"{bool(op.attr('rotary_interleaved', 0))}, {op.attr('local_window_size', -1)}"
    names = [op.fresh(name or "unused") for name in (*op.node.outputs, "", "")[:3]]
    softcap = short(op.attr("softcap", 0.0))
    op.emit(f"{', '.join(names)} = ox.grouped_query_attention({', '.join(values)}, {rest}, {scale_of(op)}, {softcap})")
    return some(op, *names)


@operator("RotaryEmbedding", domain=DOMAIN)
def rotary_embedding(op: Operation) -> Any:
    if op.attr("is_packed_batching", 0) or op.attr("scale", 1.0) != 1.0:
        raise op.unsupported("it has packed batches or a scale")
    rest = f"{op[1]}, {op[2]}, {op[3]}, {bool(op.attr('interleaved', 0))}"
    if op.need_rank(0) == 4:
        return f"ox.rotary({op[0]}, {rest})"
    heads = op.attr("num_heads", 0)
    count = str(heads) if heads else f"{op[0]}.shape[2] // (2 * {op[2]}.shape[1])"
    return f"ox.merge_heads(ox.rotary(ox.split_heads({op[0]}, {count}), {rest}))"


