"""Adam (1412.6980), with decoupled weight decay (1711.05101) only on matrices."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from training.recipe import OptimisationConfig

Parts = list[dict[str, Any]]
"""The options of each group of parameters, without the parameters."""


def make_optimiser(network: nn.Module, config: OptimisationConfig, fused: bool) -> torch.optim.AdamW:
    """Return the optimiser of a recipe; ``fused``: one kernel for all parameters.

    Biases, layer norms and embeddings are not decayed. Without decay AdamW is Adam. States of older versions, which had
    one group of all parameters, can be loaded.
    """
    embeddings = {id(m.weight) for m in network.modules() if isinstance(m, nn.Embedding)}
    decayed = [p for p in network.parameters() if p.dim() > 1 and id(p) not in embeddings]
    others = [p for p in network.parameters() if p.dim() <= 1 or id(p) in embeddings]
    groups: list[dict[str, Any]] = [{"params": decayed}, {"params": others, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(
        groups,
        lr=config.peak_rate,
        betas=(0.9, config.beta2),
        eps=1e-9,
        weight_decay=config.weight_decay,
        fused=fused,
    )
    before = {id(parameter): place for place, parameter in enumerate(network.parameters())}
    order = [before[id(parameter)] for parameter in (*decayed, *others)]
    optimiser.register_load_state_dict_pre_hook(lambda own, state: _in_groups(own, state, order))
    return optimiser


def _in_groups(optimiser: torch.optim.Optimizer, state: dict[str, Any], order: list[int]) -> dict[str, Any] | None:
    """Divide a state of one group into the groups of ``optimiser``; ``order``: the parameters' indices in it."""
    if len(state["param_groups"]) != 1:
        return None
    new = {old: place for place, old in enumerate(order)}
    groups, first = [], 0
    for group in optimiser.param_groups:
        size = len(group["params"])
        groups.append({**state["param_groups"][0], "params": list(range(first, first + size))})
        first += size
    return {**state, "state": {new[old]: own for old, own in state["state"].items()}, "param_groups": groups}


def parts_of(optimiser: torch.optim.Optimizer) -> Parts:
    """Return the options of each group, to restore them after a checkpoint has replaced them."""
    return [{key: value for key, value in group.items() if key != "params"} for group in optimiser.param_groups]
