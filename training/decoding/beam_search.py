"""Batched beam search over either network."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from service.bundle.end_of_search import lookahead_tokens, score_to_go_on, score_to_win
from service.bundle.limits import WRAP_TOKENS, length_limit
from service.bundle.manifest import EarlyStopping
from service.bundle.vocabulary import BOS, EOS, PAD
from training.decoding import repetition
from training.networks.build import Network
from training.networks.interface import Memory, State


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """The options of a search; the defaults are those of the service."""

    beam_size: int = 4
    length_penalty: float = 1.0
    """α: hypotheses are compared by log-probability / length^α; the length includes the end token."""
    max_length: int = 256
    """The most tokens of a translation and of a source, including the end token."""
    wrap_tokens: int = WRAP_TOKENS
    """Sentences with more source tokens, including the end token, are translated in parts."""
    early_stopping: EarlyStopping | None = None
    """When a search ends (``service.bundle.end_of_search``); None: by our own rule."""

    forbidden: tuple[int, ...] = ()
    """Tokens that no translation contains, beside the special ones."""

    def divisor(self, length: int) -> float:
        """Return what the log-probability of a hypothesis is divided by; the length includes the end token."""
        return float(length**self.length_penalty)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One translation."""

    ids: list[int]
    """Without the end token."""
    score: float
    """Sum of log-probabilities (nats) / length^α."""
    finished: bool
    """False if it was cut off at the length limit."""


@dataclass(slots=True)
class _Sentence:
    """A sentence in the search: its index in the batch, its length limit and its results so far."""

    index: int
    limit: int
    results: list[Hypothesis] = field(default_factory=list)

    def best_first(self) -> list[Hypothesis]:
        """Return the results in the order of their scores."""
        return sorted(self.results, key=lambda hypothesis: -hypothesis.score)


@dataclass(slots=True)
class _Beams:
    """The live rows: A sentences with K beams each, N = A · K."""

    sentences: list[_Sentence]
    memory: Memory
    state: State
    scores: Tensor
    """Summed log-probabilities [A, K]."""
    ids: Tensor
    """[A, K, steps so far]."""
    most: Tensor
    """The longest allowed repetition of each period [A, 16]."""

    def keep(self, places: list[int]) -> None:
        """Keep only these sentences."""
        kept = torch.tensor(places, dtype=torch.int64, device=self.scores.device)
        beams = self.scores.shape[1]
        rows = (kept[:, None] * beams + torch.arange(beams, device=kept.device)).flatten()
        self.sentences = [self.sentences[place] for place in places]
        self.memory = self.memory.select(rows)
        self.state = tuple(array[rows] for array in self.state)
        self.scores, self.ids, self.most = self.scores[kept], self.ids[kept], self.most[kept]


def beam_search(network: Network, source: Tensor, lengths: Tensor, options: SearchOptions) -> list[list[Hypothesis]]:
    """Return up to ``beam_size`` hypotheses of each sentence, best first, from [B, S] and [B].

    Each step ranks the best 2 · K continuations of a sentence. An end token among the first K finishes a
    hypothesis; the first K others stay live. ``service.bundle.end_of_search`` says when a sentence is done; at its
    limit the first K are finished as they are. No hypothesis repeats itself without end
    (``training.decoding.repetition``).
    """
    beams = _start(network, source, lengths, options)
    all_sentences = list(beams.sentences)
    while beams.sentences:
        tokens = beams.ids[:, :, -1] if beams.ids.shape[2] else torch.full_like(beams.scores, BOS, dtype=torch.int64)
        logits, beams.state, _ = network.step(tokens.flatten(), beams.state, beams.memory)
        logprobs = logits.float().log_softmax(-1).view(*beams.scores.shape, -1)  # [A, K, V]
        logprobs[:, :, [PAD, BOS, *options.forbidden]] = float("-inf")
        _advance(beams, logprobs, options)
        best = beams.scores.amax(1).tolist()
        live = [p for p, s in enumerate(beams.sentences) if not _is_done(s, best[p], beams.ids.shape[2], options)]
        if len(live) < len(beams.sentences):
            beams.keep(live)
    return [sentence.best_first() for sentence in all_sentences]


def _start(network: Network, source: Tensor, lengths: Tensor, options: SearchOptions) -> _Beams:
    size = options.beam_size
    rows = torch.arange(len(source), device=source.device).repeat_interleave(size)
    memory = network.encode(source, lengths).select(rows)
    scores = torch.full((len(source), size), float("-inf"), device=source.device)
    scores[:, 0] = 0.0  # all beams are equal before the first step, so only one of them counts
    limits = [length_limit(length, options.max_length) for length in lengths.tolist()]
    sentences = [_Sentence(index, limit) for index, limit in enumerate(limits)]
    ids = torch.zeros((len(source), size, 0), dtype=torch.int64, device=source.device)
    most = repetition.limits_of(source, lengths)
    return _Beams(sentences, memory, network.start(memory), scores, ids, most)


def _advance(beams: _Beams, logprobs: Tensor, options: SearchOptions) -> None:
    """Rank continuations, record finished hypotheses, and move the K best others into the rows."""
    size, vocabulary = logprobs.shape[1:]
    repetition.forbid(logprobs, beams.ids, beams.most)
    totals = (beams.scores[:, :, None] + logprobs).flatten(1)  # [A, K · V]
    scores, order = totals.topk(min(2 * size, totals.shape[1]))  # [A, 2K]
    parents, tokens = order // vocabulary, order % vocabulary
    ended = tokens == EOS
    steps = beams.ids.shape[2] + 1
    at_limit = torch.tensor([steps >= sentence.limit for sentence in beams.sentences], device=scores.device)
    for place, rank in ((ended | at_limit[:, None]) & scores.isfinite())[:, :size].nonzero().tolist():
        ids, finished = beams.ids[place, parents[place, rank]].tolist(), bool(ended[place, rank])
        score = float(scores[place, rank]) / options.divisor(steps)
        whole = ids if finished else [*ids, int(tokens[place, rank])]
        beams.sentences[place].results.append(Hypothesis(whole, score, finished))
    ranks = torch.arange(scores.shape[1], device=scores.device)
    chosen = (ranks + ended * scores.shape[1]).sort(-1).values[:, :size] % scores.shape[
        1
    ]  # the K best unfinished ones, in order
    parents, tokens = parents.gather(1, chosen), tokens.gather(1, chosen)
    beams.scores = scores.gather(1, chosen)
    before = beams.ids.gather(1, parents[:, :, None].expand(-1, -1, steps - 1))
    beams.ids = torch.cat([before, tokens[:, :, None]], dim=2)
    rows = (parents + torch.arange(len(parents), device=parents.device)[:, None] * size).flatten()
    beams.state = tuple(array[rows] for array in beams.state)


def _is_done(sentence: _Sentence, best_live: float, steps: int, options: SearchOptions) -> bool:
    """Return whether no live hypothesis can win; ``best_live`` is the largest sum of log-probabilities."""
    if steps >= sentence.limit:
        return True
    if not sentence.results:
        return False
    scores = [hypothesis.score for hypothesis in sentence.results]
    ahead = steps + lookahead_tokens(options.early_stopping, sentence.limit)
    if score_to_win(scores, 1) >= best_live / options.divisor(min(ahead, sentence.limit)):
        return True
    to_go_on = score_to_go_on(scores, 1, options.beam_size, options.early_stopping)
    return bool(to_go_on >= best_live / options.divisor(steps))
