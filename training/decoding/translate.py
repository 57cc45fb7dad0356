"""From source ids to translations with the PyTorch networks: greedy, beam search and forced decoding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from service.bundle.limits import length_limit
from service.bundle.vocabulary import BOS, EOS, PAD, visible_range
from service.bundle.wrapping import Segment, Span, cut_sentence, join, whole_text
from training.data.batching import collate
from training.decoding import repetition
from training.decoding.beam_search import Hypothesis, SearchOptions, beam_search
from training.networks.interface import Network

BATCH_TOKENS = 4096
"""Source positions of a batch, padding and beams counted."""


@contextmanager
def evaluating(network: Network) -> Iterator[torch.device]:
    """Switch dropout and gradients off for a while; gives the network's device."""
    module = network if isinstance(network, nn.Module) else nn.Identity()
    before = module.training
    module.eval()
    try:
        with torch.no_grad():
            yield next((parameter.device for parameter in module.parameters()), torch.device("cpu"))
    finally:
        module.train(before)


def pad_sources(sources: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Ids without end tokens → int64 [B, S] closed by the end token and padded, int64 [B]."""
    lengths = [len(source) + 1 for source in sources]
    padded = torch.full((len(sources), max(lengths)), PAD)
    for row, source in enumerate(sources):
        padded[row, : len(source)] = torch.tensor(source, dtype=torch.int64)
        padded[row, len(source)] = EOS
    return padded.to(device), torch.tensor(lengths, device=device)


def length_groups(sources: Sequence[Sequence[int]], rows_each: int = 1) -> Iterator[list[int]]:
    """Indices in batches of similar length, longest first (a batch too big fails at once, not at the end)."""
    group: list[int] = []
    for index in sorted(range(len(sources)), key=lambda i: -len(sources[i])):
        longest = len(sources[group[0]]) if group else 0
        if group and (len(group) + 1) * rows_each * (longest + 1) > BATCH_TOKENS:
            yield group
            group = []
        group.append(index)
    if group:
        yield group


def greedy(network: Network, source: Tensor, lengths: Tensor, max_length: int) -> list[list[int]]:
    """Return the most likely token at every step: [B, S], [B] → ids without the end token.

    A row also ends at its ``length_limit``, so that an untrained network is not waited for, and does not repeat itself
    for ever, as the service's does not.
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
    """Greedy translations of many sentences, ids without end tokens on both sides, in the order given."""
    results: list[list[int]] = [[] for _ in sources]
    with evaluating(network) as device:
        for group in length_groups(sources):
            found = greedy(network, *pad_sources([sources[i] for i in group], device), max_length)
            for index, ids in zip(group, found, strict=True):
                results[index] = ids
    return results


def search(
    network: Network,
    sources: Sequence[Sequence[int]],
    options: SearchOptions,
    progress: Callable[[int], object] | None = None,
) -> list[list[Hypothesis]]:
    """The hypotheses of every source, best first; ``progress`` is called with each batch's number of sentences."""
    results: list[list[Hypothesis]] = [[] for _ in sources]
    with evaluating(network) as device:
        for group in length_groups(sources, options.beam_size):
            padded = pad_sources([sources[i] for i in group], device)
            for index, hypotheses in zip(group, beam_search(network, *padded, options), strict=True):
                results[index] = hypotheses
            if progress is not None:
                progress(len(group))
    return results


def translate(
    network: Network,
    tokenizer: Tokenizer,
    sentences: Sequence[str],
    options: SearchOptions,
    progress: Callable[[int], object] | None = None,
) -> list[str]:
    """Return one translation for each sentence; an empty one stays empty.

    A sentence over the limits of ``options`` is translated in parts, as the service does.
    """
    segments = [segments_of(sentence, tokenizer, options) for sentence in sentences]
    found = iter(search(network, [each.ids[:-1] for own in segments for each in own], options, progress))
    texts = []
    for sentence, own in zip(sentences, segments, strict=True):
        translations = [tokenizer.decode(next(found)[0].ids) for _ in own]
        texts.append(join(sentence, [(each.start, each.end) for each in own], translations).text)
    return texts


class _SentenceTokenizer:
    """A run's tokenizer as `service.bundle.wrapping` needs it."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, the end token last."""
        return [*self._tokenizer.encode(text).ids, EOS]

    def token_spans(self, text: str) -> list[Span]:
        """Return the range of each token, without the end token."""
        return [visible_range(text, *offsets) for offsets in self._tokenizer.encode(text).offsets]


def segments_of(sentence: str, tokenizer: Tokenizer, options: SearchOptions) -> list[Segment]:
    """Return the parts of a sentence that the service would translate; the rest of it is copied."""
    cut, limit = _SentenceTokenizer(tokenizer), min(options.wrap_tokens, options.max_length)
    return [
        segment
        for span in whole_text(sentence)
        for segment in cut_sentence(sentence, span, cut, limit, options.max_length)
    ]


@dataclass(frozen=True, slots=True)
class Forced:
    """What the network says about a given translation of T tokens, the end token counted."""

    logprobs: npt.NDArray[np.float32]
    """[T]."""
    ranks: npt.NDArray[np.int64]
    """[T], 1 for the most likely token."""
    attention: npt.NDArray[np.float32]
    """Cross attention [L, H, T, S]: row t belongs to the step that produces token t."""


def force(network: Network, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[Forced]:
    """Score given targets by teacher forcing; ids without end tokens on both sides, results in the order given."""
    results: dict[int, Forced] = {}
    longer = [max(s, t, key=len) for s, t in zip(sources, targets, strict=True)]
    with evaluating(network) as device:
        for group in length_groups(longer):
            results.update(zip(group, _force(network, sources, targets, group, device), strict=True))
    return [results[index] for index in range(len(sources))]


def _force(
    network: Network,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    group: list[int],
    device: torch.device,
) -> Iterator[Forced]:
    closed = [[np.array([*side[i], EOS], np.uint16) for i in group] for side in (sources, targets)]
    batch = collate(closed[0], closed[1]).to(device)
    decoded = network.decode(batch.target_in, network.encode(batch.source, batch.source_lengths))
    logits = network.logits(decoded.hidden).float()  # [B, T, V]
    chosen = logits.gather(-1, batch.target_out[:, :, None])  # [B, T, 1]
    logprobs = (chosen[:, :, 0] - logits.logsumexp(-1)).cpu().numpy()
    ranks = ((logits > chosen).sum(-1) + 1).cpu().numpy()
    weights = decoded.cross_attention.float().cpu().numpy()
    for row, (source, target) in enumerate(
        zip(batch.source_lengths.tolist(), batch.target_lengths.tolist(), strict=True)
    ):
        yield Forced(logprobs[row, :target], ranks[row, :target], weights[row, :, :, :target, :source])
