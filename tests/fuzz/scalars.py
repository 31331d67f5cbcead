"""Numbers at the edges of their types, which programs mix with tensors of every dtype."""

from __future__ import annotations

WEIRD_FLOATS = (
    'float("nan")', 'float("inf")', '-float("inf")', "-0.0", "0.0", "5e-324", "1e-40", "1e300", "-1e300", "65504.0",
    "65520.0",
    "3.4e38", "3.5e38", "0.1", "2.5", "-1.5", "1e16", "9007199254740993.0", "255.5", "2147483648.0", "1.0", "-1.0", "256.0",
)  # fmt: skip
WEIRD_INTS = (
    "2**31", "2**31 - 1", "-2**31", "2**63 - 1", "-2**63", "255", "256", "-1", "127", "128", "-129", "65504", "65536",
    "2**24 + 1",
    "2**53 + 1", "0", "1", "True", "32767", "32768",
)  # fmt: skip
DTYPES = (
    "torch.float64", "torch.float32", "torch.float16", "torch.bfloat16", "torch.int64", "torch.int32", "torch.int16",
    "torch.int8",
    "torch.uint8", "torch.bool",
)  # fmt: skip
