"""Gradient × input: how much each source token's embedding adds to the log-probability of each target token.

To first order, log p loses this number when an embedding is scaled to zero (Denil, Demiraj and de Freitas, 1412.6815).
It needs gradients, which the served graphs do not have, so it runs here, on a run folder.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from service.bundle.vocabulary import BOS
from training.networks.build import Network
from training.networks.transformer import Transformer


def gradient_times_input(network: Network, source: Sequence[int], target: Sequence[int]) -> Tensor:
    """Return [T, S] for a source and a target, both ending with </s>: row t belongs to target token t."""
    found: list[Tensor] = []

    def as_leaf(embedded: Tensor) -> Tensor:
        found.append(embedded.detach().requires_grad_())
        return found[-1]

    logprobs = target_logprobs(network, source, target, as_leaf)  # [T]
    gradients = [torch.autograd.grad(logprob, found[0], retain_graph=True)[0] for logprob in logprobs]
    return torch.stack([(gradient * found[0]).sum(-1)[0].detach() for gradient in gradients])


def target_logprobs(
    network: Network, source: Sequence[int], target: Sequence[int], change: Callable[[Tensor], Tensor]
) -> Tensor:
    """Return the log-probability of each target token, [T]; `change` replaces the source's embeddings [1, S, E]."""
    table = network.source_embedding
    if table is None:
        assert isinstance(network, Transformer)
        table = network.embedding
    handle = table.register_forward_hook(lambda _module, _inputs, output: change(output))
    memory = network.encode(torch.tensor([source]), torch.tensor([len(source)]))
    handle.remove()  # the target may have the same table
    decoded = network.decode(torch.tensor([[BOS, *target[:-1]]]), memory)
    logprobs = network.logits(decoded.hidden).log_softmax(-1)[0]  # [T, V]
    return logprobs.gather(1, torch.tensor(target)[:, None])[:, 0]
