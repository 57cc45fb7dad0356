"""The last product of both networks, from hidden states to logits."""

from torch import Tensor
from torch.nn import functional


def partial_linear(hidden: Tensor, weight: Tensor, bias: Tensor, rows: Tensor | None) -> Tensor:
    """Return x Wᵀ + b for all rows of W [V, E], or only for ``rows``, int64 [C]: [..., E] → [..., V] or [..., C]."""
    if rows is None:
        return functional.linear(hidden, weight, bias)
    return functional.linear(hidden, weight[rows], bias[rows])
