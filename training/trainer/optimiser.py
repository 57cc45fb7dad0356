"""Adam (1412.6980) with decoupled weight decay (1711.05101)."""

from typing import Any

from torch import nn
from torch.optim import AdamW

from training.recipe import OptimisationConfig


def make_optimiser(network: nn.Module, config: OptimisationConfig, fused: bool) -> AdamW:
    """Return the optimiser of a recipe; ``fused``: one kernel for all parameters.

    Biases, layer norms and embeddings are not decayed. Without decay AdamW is Adam.
    """
    embeddings = {id(m.weight) for m in network.modules() if isinstance(m, nn.Embedding)}
    matrices = [p for p in network.parameters() if p.dim() > 1 and id(p) not in embeddings]
    others = [p for p in network.parameters() if p.dim() <= 1 or id(p) in embeddings]
    groups: list[dict[str, Any]] = [{"params": matrices}, {"params": others, "weight_decay": 0.0}]
    return AdamW(
        groups,
        lr=config.peak_rate,
        betas=(0.9, config.beta2),
        eps=1e-9,
        weight_decay=config.weight_decay,
        fused=fused,
    )
