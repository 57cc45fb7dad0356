"""Attention pooling (kernel regression): a value for each query as a weighted mean of known values.

f(x) = Σ_i K((x - x_i) / h) y_i / Σ_j K((x - x_j) / h): Nadaraya (1964), "On estimating regression", and Watson (1964),
"Smooth regression analysis". The queries x attend to the keys x_i, and the width h decides how far they look.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

KERNELS = ("average", "gaussian", "boxcar", "epanechnikov", "triangular")
EXAMPLES, NOISE, SEED = 50, 0.5, 1
RANGE = (0.0, 5.0)
WIDTHS = tuple(round(0.05 * step, 2) for step in range(1, 61))
"""The widths that are tried for kernels without a useful gradient."""
UPDATES, RATE = 400, 0.05

_COMPACT: dict[str, Callable[[Tensor], Tensor]] = {
    "boxcar": lambda u: (u.abs() <= 1).to(u.dtype),
    "epanechnikov": lambda u: (1 - u**2).clamp_min(0),
    "triangular": lambda u: (1 - u.abs()).clamp_min(0),
}


class Examples(NamedTuple):
    """Keys and their values [n], and noise-free values are ``truth`` of them."""

    keys: Tensor
    values: Tensor


class Pooled(NamedTuple):
    """The result of attention pooling."""

    fit: Tensor
    """[m]; NaN for a query without a key in its window."""
    weights: Tensor
    """[m, n]; rows sum to 1, or are NaN."""


def truth(x: Tensor) -> Tensor:
    """Return 2 sin x + x^0.8, the function behind the examples."""
    return 2 * torch.sin(x) + x**0.8


def make_examples(count: int = EXAMPLES, noise: float = NOISE, seed: int = SEED) -> Examples:
    """Return sorted keys in [0, 5) and their values with Gaussian noise, the same for the same seed."""
    random = torch.Generator().manual_seed(seed)
    keys = torch.rand(count, generator=random, dtype=torch.float64).sort().values * RANGE[1]
    return Examples(keys, truth(keys) + noise * torch.randn(count, generator=random, dtype=torch.float64))


def pooling_weights(
    queries: Tensor, keys: Tensor, kernel: str, width: Tensor | float, left_out: bool = False
) -> Tensor:
    """Return the weights [m, n] of the keys [n] for the queries [m].

    With the Gaussian kernel they are softmax(-((x - x_i) / h)² / 2): attention with a score. ``left_out``: query i
    does not see key i (m = n). A row without any key in its window is NaN.
    """
    distance = (queries[:, None] - keys[None, :]) / width
    hidden = torch.eye(len(keys), dtype=torch.bool) if left_out else torch.zeros_like(distance, dtype=torch.bool)
    if kernel in _COMPACT:
        closeness = _COMPACT[kernel](distance).masked_fill(hidden, 0.0)
        return closeness / closeness.sum(-1, keepdim=True)
    scores = -(distance**2) / 2 if kernel == "gaussian" else torch.zeros_like(distance)
    return scores.masked_fill(hidden, -math.inf).softmax(-1)


class KernelPooling(nn.Module):
    """Attention pooling whose width is a parameter, stored as its logarithm so that it stays positive."""

    def __init__(self, examples: Examples, kernel: str = "gaussian", width: float = 1.0) -> None:
        super().__init__()
        self.examples, self.kernel = examples, kernel
        self.log_width = nn.Parameter(torch.tensor(math.log(width), dtype=torch.float64))

    @property
    def width(self) -> Tensor:
        """Return the width h."""
        return self.log_width.exp()

    def forward(self, queries: Tensor, left_out: bool = False) -> Pooled:
        """Pool the values for queries [m]; ``left_out`` is for queries that are the keys themselves."""
        weights = pooling_weights(queries, self.examples.keys, self.kernel, self.width, left_out)
        return Pooled(weights @ self.examples.values, weights)


def pooling_error(model: KernelPooling, left_out: bool) -> Tensor:
    """Return the mean squared error at the keys.

    ``left_out``: each value is predicted from the others. Otherwise a key is among its own keys, and the error falls to
    zero as the width does: every query then returns its own noisy value. Keys alone in their window get the average.
    """
    keys, values = model.examples
    fit = model(keys, left_out).fit
    fit = torch.where(fit.isnan(), values.mean(), fit)
    return ((fit - values) ** 2).mean()


def learn_width(examples: Examples, kernel: str = "gaussian", left_out: bool = True, updates: int = UPDATES) -> float:
    """Return the width of the least error at the keys.

    The Gaussian kernel learns it by gradient descent (Adam). The others give no gradient for a key outside of the
    window, so all of WIDTHS are tried. An average has no width; its result is 1.
    """
    if kernel == "average":
        return 1.0
    if kernel != "gaussian":
        with torch.no_grad():
            errors = [float(pooling_error(KernelPooling(examples, kernel, width), left_out)) for width in WIDTHS]
        return WIDTHS[int(np.argmin(errors))]
    model = KernelPooling(examples, kernel)
    optimiser = torch.optim.Adam(model.parameters(), RATE)
    for _ in range(updates):
        optimiser.zero_grad()
        pooling_error(model, left_out).backward()
        optimiser.step()
    return float(model.width.detach())
