"""The Transformer's table of positions, without PyTorch: networks, graphs and imports have the same numbers."""

import math

import numpy as np
import numpy.typing as npt


def sinusoidal_table(length: int, width: int, layout: str) -> npt.NDArray[np.float32]:
    """Return the position table [length, width] of 1706.03762, section 3.5.

    ``interleaved``: PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(…). ``halves``: the same columns, but
    all sines come before all cosines. ``marian``: as ``halves``, with the rates 10000^(-i / (d/2 - 1)). ``none``: 0.
    ``learned`` begins with 0.
    """
    table = np.zeros((length, width), np.float32)
    if layout in ("none", "learned"):
        return table
    positions = np.arange(length, dtype=np.float32)[:, None]
    last = 2 * max((width + 1) // 2 - 1, 1)
    rate = np.float32(-math.log(10_000) / (last if layout == "marian" else width))
    angles = positions * np.exp(np.arange(0, width, 2, dtype=np.float32) * rate)
    sines, cosines = np.sin(angles), np.cos(angles)[:, : width // 2]
    if layout in ("halves", "marian"):
        return np.concatenate([sines, cosines], axis=1)
    table[:, 0::2], table[:, 1::2] = sines, cosines
    return table
