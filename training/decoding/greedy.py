"""Greedy search."""

from collections.abc import Sequence

import torch
from torch import Tensor

from service.bundle.limits import length_limit
from service.bundle.vocabulary import BOS, EOS, PAD
from training.decoding import repetition
from training.decoding.batches import evaluating, length_groups, pad_sources
from training.networks.build import Network


def greedy(
    network: Network, source: Tensor, lengths: Tensor, max_length: int, allowed: Tensor | None = None
) -> list[list[int]]:
    """Return the most likely token of every step, ids without the end token, from [B, S] and [B].

    A row also ends at its ``length_limit``, so that an untrained network stops. As in the service, it cannot repeat
    itself without end. ``allowed``, bool [B, V], are the tokens that each translation may contain; None: all.
    """
    memory = network.encode(source, lengths)
    state = network.start(memory)
    results: list[list[int]] = [[] for _ in range(len(source))]
    limits = [length_limit(length, max_length) for length in lengths.tolist()]
    rows = list(range(len(source)))
    tokens = torch.full_like(lengths, BOS)
    past = torch.zeros((len(source), 0), dtype=torch.int64, device=source.device)  # [rows, T]
    most = repetition.limits_of(source, lengths)
    while rows:
        logits, state, _ = network.step(tokens, state, memory)
        logits[:, [PAD, BOS]] = float("-inf")
        if allowed is not None:
            logits.masked_fill_(~allowed[torch.tensor(rows, device=logits.device)], float("-inf"))
        repetition.forbid(logits[:, None], past[:, None], most)
        tokens = logits.argmax(-1)
        past = torch.cat([past, tokens[:, None]], dim=1)
        live = []
        for place, (row, token) in enumerate(zip(rows, tokens.tolist(), strict=True)):
            if token != EOS:
                results[row].append(token)
                if len(results[row]) < limits[row]:
                    live.append(place)
        if len(live) < len(rows):
            kept = torch.tensor(live, dtype=torch.int64, device=tokens.device)
            rows, tokens, memory = [rows[place] for place in live], tokens[kept], memory.select(kept)
            past, most = past[kept], most[kept]
            state = tuple(array[kept] for array in state)
    return results


def translate_greedy(network: Network, sources: Sequence[Sequence[int]], max_length: int) -> list[list[int]]:
    """Return the greedy translations of many sentences, in their order; ids have no end tokens on either side."""
    results: list[list[int]] = [[] for _ in sources]
    with evaluating(network) as device:
        for group in length_groups(sources):
            found = greedy(network, *pad_sources([sources[i] for i in group], device), max_length)
            for index, ids in zip(group, found, strict=True):
                results[index] = ids
    return results
