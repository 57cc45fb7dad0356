"""Adam (1412.6980) with decoupled weight decay (1711.05101), or Muon for the matrices between the embeddings."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.optim import AdamW, Muon, Optimizer

from training.recipe import OptimisationConfig

Parts = list[dict[str, Any]]
"""The options of each group of parameters, without the parameters."""


class MuonWithAdam(Optimizer):
    """Two optimisers that a schedule, a checkpoint and Lightning treat as one; the groups are those of both, in order.

    Muon (Jordan et al. 2024) orthogonalises the momentum of each matrix by Newton–Schulz steps. Its update has the
    size of Adam's (2502.16982, section 2.2), so one rate serves both.
    """

    def __init__(self, muon: Muon, adam: AdamW) -> None:
        self.muon, self.adam = muon, adam
        super().__init__([*muon.param_groups, *adam.param_groups], {})
        self._join()

    def _join(self) -> None:
        self.param_groups = [*self.muon.param_groups, *self.adam.param_groups]
        self.state.update({**self.muon.state, **self.adam.state})

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter; return what ``closure``, which computes the gradients, returns."""
        loss = None if closure is None else torch.enable_grad()(closure)()
        self.muon.step()
        self.adam.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        """Return the state of both."""
        return {"muon": self.muon.state_dict(), "adam": self.adam.state_dict()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore both; raises ValueError for the state of a run with Adam alone."""
        if set(state_dict) != {"muon", "adam"}:
            raise ValueError("the checkpoint is of a run with another optimisation.optimiser: begin a new run from it")
        self.muon.load_state_dict(state_dict["muon"])
        self.adam.load_state_dict(state_dict["adam"])
        self._join()


def make_optimiser(network: nn.Module, config: OptimisationConfig, fused: bool) -> Optimizer:
    """Return the optimiser of a recipe; ``fused``: one kernel for all parameters of Adam.

    Biases, layer norms and embeddings are not decayed, and are Adam's in any case. Without decay AdamW is Adam. States
    of older versions, which had one group of all parameters, can be loaded.
    """
    embeddings = {id(m.weight) for m in network.modules() if isinstance(m, nn.Embedding)}
    matrices = [p for p in network.parameters() if p.dim() > 1 and id(p) not in embeddings]
    others = [p for p in network.parameters() if p.dim() <= 1 or id(p) in embeddings]
    if config.optimiser == "muon":
        wider = [p for p in matrices if p.dim() != 2]  # kernels of convolutions
        muon = Muon(
            [p for p in matrices if p.dim() == 2],
            lr=config.peak_rate,
            weight_decay=config.weight_decay,
            adjust_lr_fn="match_rms_adamw",
        )
        return MuonWithAdam(muon, _adam([{"params": [*wider, *others], "weight_decay": 0.0}], config, fused))
    optimiser = _adam([{"params": matrices}, {"params": others, "weight_decay": 0.0}], config, fused)
    before = {id(parameter): place for place, parameter in enumerate(network.parameters())}
    order = [before[id(parameter)] for parameter in (*matrices, *others)]
    optimiser.register_load_state_dict_pre_hook(lambda own, state: _in_groups(own, state, order))
    return optimiser


def _adam(groups: list[dict[str, Any]], config: OptimisationConfig, fused: bool) -> AdamW:
    betas = (0.9, config.beta2)
    return AdamW(groups, lr=config.peak_rate, betas=betas, eps=1e-9, weight_decay=config.weight_decay, fused=fused)


def _in_groups(optimiser: Optimizer, state: dict[str, Any], order: list[int]) -> dict[str, Any] | None:
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


def parts_of(optimiser: Optimizer) -> Parts:
    """Return the options of each group, to restore them after a checkpoint has replaced them."""
    return [{key: value for key, value in group.items() if key != "params"} for group in optimiser.param_groups]
