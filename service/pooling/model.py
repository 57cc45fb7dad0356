"""Runs the graph of attention pooling, which holds its examples and the learned widths.

`python -m training pooling` makes `pooling.onnx`; training/pooling.py has the formulas.
"""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from service.bundle.checksums import digest_of

Kernel = Literal["average", "gaussian", "boxcar", "epanechnikov", "triangular"]
KERNELS: tuple[Kernel, ...] = get_args(Kernel)  # in the order of their numbers in the graph
FloatArray = npt.NDArray[np.float64]

GRAPH = Path(__file__).with_name("pooling.onnx")
QUERIES = np.arange(0.0, 5.0, 0.1)  # the default: 50 points over the range of the examples


@dataclass(frozen=True, slots=True, eq=False)
class Pooling:
    """A fitted curve, and the weights that it is the weighted mean of."""

    kernel: Kernel
    width: float
    learned: bool  # whether the width was learned
    queries: FloatArray  # [m]
    keys: FloatArray  # [n]
    values: FloatArray  # [n]
    truth: FloatArray  # [m], the function behind the values
    fit: FloatArray  # [m], NaN for a query without a key in its window
    weights: FloatArray  # [m, n], NaN likewise
    digest: str  # "sha256:…" of the graph

    @property
    def error(self) -> float | None:
        """Return the mean squared distance from the truth, where the fit is known; None if it is nowhere."""
        known = ~np.isnan(self.fit)
        return float(((self.fit - self.truth)[known] ** 2).mean()) if known.any() else None


def pool(kernel: Kernel, width: float | None = None, queries: FloatArray = QUERIES) -> Pooling:
    """Return the pooled values of some queries; without a width, with the learned one of the kernel."""
    session, digest = _opened()
    number = np.array(KERNELS.index(kernel), np.int64)
    if width is None:
        [widths] = session.run(["widths"], {"queries": queries[:1], "width": np.array(1.0), "kernel": number})
        chosen = float(widths[number])
    else:
        chosen = width
    names = ["keys", "values", "fit", "weights"]
    feeds = {"queries": queries, "width": np.array(chosen), "kernel": number}
    keys, values, fit, weights = session.run(names, feeds)
    return Pooling(kernel, chosen, width is None, queries, keys, values, truth(queries), fit, weights, digest)


def truth(x: FloatArray) -> FloatArray:
    """Return 2 sin x + x^0.8, the function behind the examples; 0 stands for negative numbers in the power."""
    return np.asarray(2 * np.sin(x) + np.maximum(x, 0.0) ** 0.8, np.float64)


@functools.cache
def _opened() -> tuple[Any, str]:
    """Return the session and the digest of the graph; it is opened at the first use, in milliseconds."""
    import onnxruntime  # here, because the HTTP process needs it for nothing else

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    content = GRAPH.read_bytes()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return session, digest_of(content)
