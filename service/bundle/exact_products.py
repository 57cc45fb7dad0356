"""Shows whether a processor adds up products of eight-bit integers exactly; x86 without VNNI does not (ADR 4)."""

import base64
from collections.abc import Callable
from typing import Any

import numpy as np

WEIGHT_BITS = "weight_bits"
"""The entry of a graph's metadata that is "8" if its products need such a processor; other weights have seven bits."""
_PRODUCT = base64.b64decode(  # MatMulInteger of a, uint8 [1, 4], and b, int8 [4, 16]
    "CAg6XAoYCgFhCgFiEgFjIg1NYXRNdWxJbnRlZ2VyEgFnWhMKAWESDgoMCAISCAoCCAEKAggEWhMKAWISDgoMCAMSCAoCCAQKAggQYhMKAWMSDgoM"
    "CAYSCAoCCAEKAggQQgQKABAN"
)


def products_are_exact(open_session: Callable[[bytes], Any]) -> bool:
    """Return whether the largest products come out right; ``open_session`` opens a graph in ONNX Runtime."""
    a, b = np.full((1, 4), 255, np.uint8), np.full((4, 16), 127, np.int8)
    (product,) = open_session(_PRODUCT).run(None, {"a": a, "b": b})
    return bool((product == a.astype(np.int32) @ b.astype(np.int32)).all())
