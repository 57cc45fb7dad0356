"""Gradient × input: how much each source token's embedding adds to the log-probability of each target token.

To first order, log p loses this number when an embedding is scaled to zero (Denil, Demiraj and de Freitas, 1412.6815).
It needs gradients, which the served graphs do not have, so it runs here, on a run folder.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from service.bundle.vocabulary import BOS
from training.networks.bahdanau import Bahdanau
from training.networks.interface import Network
from training.networks.transformer import Transformer


def gradient_times_input(network: Network, source: Sequence[int], target: Sequence[int]) -> Tensor:
    """Return [T, S] for a source and a target, both ending with </s>: row t belongs to target token t."""
    found: list[Tensor] = []

    def as_leaf(embedded: Tensor) -> Tensor:
        found.append(embedded.detach().requires_grad_())
        return found[-1]

    logprobs = target_logprobs(network, source, target, as_leaf)  # [T]
    [embedded] = found
    rows = []
    for logprob in logprobs:
        [gradient] = torch.autograd.grad(logprob, embedded, retain_graph=True)
        rows.append((gradient * embedded).sum(-1)[0].detach())
    return torch.stack(rows)


def target_logprobs(
    network: Network, source: Sequence[int], target: Sequence[int], change: Callable[[Tensor], Tensor]
) -> Tensor:
    """Return the log-probability of each target token, [T]; `change` replaces the source's embeddings [1, S, E]."""
    with _changed_output(_source_embedding(network), change):
        memory = network.encode(torch.tensor([source]), torch.tensor([len(source)]))
    decoded = network.decode(torch.tensor([[BOS, *target[:-1]]]), memory)
    logprobs = network.logits(decoded.hidden).log_softmax(-1)[0]  # [T, V]
    return logprobs.gather(1, torch.tensor(target)[:, None])[:, 0]


def _source_embedding(network: Network) -> nn.Module:
    if isinstance(network, Transformer):
        return network.embedding if network.source_embedding is None else network.source_embedding
    if isinstance(network, Bahdanau):
        return network.source_embedding
    raise ValueError("gradient × input is computed for a Transformer or a recurrent network")


@contextmanager
def _changed_output(module: nn.Module, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    handle = module.register_forward_hook(lambda _module, _inputs, output: change(output))
    try:
        yield
    finally:
        handle.remove()
