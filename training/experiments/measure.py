"""The measurements of one variant: quality, alignment error, size and speed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from torch import nn

from service.bundle.manifest import AlignmentHead
from service.bundle.vocabulary import BOS
from training.alignment.gold import Gold
from training.alignment.head_search import rank_heads
from training.data.batching import collate
from training.data.dataset import EncodedPairs
from training.data.sampling import spread
from training.decoding.beam_search import SearchOptions
from training.decoding.greedy import translate_greedy
from training.decoding.translate import search
from training.evaluation.scored_pairs import samples, score_pairs
from training.evaluation.scores import Bucket, score, score_by_length
from training.evaluation.test_sets import TestSet
from training.export.architecture import make_graphs
from training.export.precision import Arithmetic
from training.export.sessions import Stepper
from training.runs.folder import RunFolder
from training.trainer.checkpoints import Trained
from training.trainer.data import PairData
from training.trainer.module import batch_losses

SPEED_UPDATES = 8
SERVED_ROWS, SERVED_STEPS = 16, 12


@dataclass(frozen=True, slots=True)
class Quality:
    """Greedy BLEU of a test set, as a whole and by the length of the source."""

    bleu: float
    signature: str
    by_length: list[Bucket]


def sample_of(test: TestSet, count: int) -> TestSet:
    """Return about ``count`` sentences of a test set, spread evenly over it."""
    chosen = spread([""] * len(test.sources), count)
    return TestSet(test.name, [test.sources[i] for i in chosen], [test.references[i] for i in chosen])


def quality(trained: Trained, test: TestSet, edges: Sequence[int]) -> Quality:
    """Translate a test set by the recipe's search and return its BLEU; ``edges`` are the buckets' largest lengths.

    A sentence longer than the network's limit loses its end.
    """
    limit = trained.recipe.max_tokens
    sources = [trained.tokenizer.encode(text).ids[: limit - 1] for text in test.sources]
    how = trained.recipe.search
    if how.beam_size == 1:
        found = translate_greedy(trained.network, sources, limit)
    else:
        options = SearchOptions(how.beam_size, how.length_penalty, limit, length_rule=how.length_rule)
        found = [hypotheses[0].ids for hypotheses in search(trained.network, sources, options)]
    texts = [trained.tokenizer.decode(ids) for ids in found]
    whole = score(texts, test.references, "cased")[0]
    return Quality(whole.score, whole.signature, score_by_length(test.sources, texts, test.references, edges))


def alignment(trained: Trained, text: tuple[list[str], list[str]], links: Sequence[Gold]) -> AlignmentHead:
    """Return the head and step that agree best with links, with the alignment error rate.

    Every target word is linked to the source word with the most weight: no threshold is fitted.
    """
    return rank_heads(samples(score_pairs(trained, *text), links), thresholds=(None,))[0]


def parameters(network: nn.Module) -> int:
    """Return the number of trained parameters."""
    return sum(parameter.numel() for parameter in network.parameters())


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let PyTorch use one thread: on a busy machine several wait for each other and use processor time meanwhile."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@_one_thread()
def training_speed(trained: Trained, folder: RunFolder) -> float:
    """Return the target tokens per second of processor time in updates of a network, on one thread.

    The updates are made on a copy of its parameters, which are put back.
    """
    network, recipe = trained.network, trained.recipe
    assert isinstance(network, nn.Module)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    optimiser = torch.optim.Adam(network.parameters(), lr=0.0)
    batches = list(islice(PairData(recipe, folder).batches().stream(), SPEED_UPDATES + 1))
    vocabulary, tokens, began = trained.tokenizer.get_vocab_size(), 0, 0.0
    network.train()
    for number, batch in enumerate(batches):
        if number == 1:  # the first update allocates
            began, tokens = time.process_time(), 0
        losses = batch_losses(trained.network, batch, recipe.optimisation, vocabulary)
        optimiser.zero_grad()
        losses.mean.backward()
        optimiser.step()
        tokens += int(losses.tokens)
    seconds = time.process_time() - began
    network.eval()
    network.load_state_dict(before)
    return tokens / seconds


def serving_speed(trained: Trained, bundle: Path, pairs: EncodedPairs) -> float:
    """Return the target tokens per second of processor time that the exported int8 graphs produce.

    A batch of sentences is encoded, and each of its rows is decoded for a fixed number of steps, on one thread.
    """
    chosen = [i % len(pairs) for i in range(SERVED_ROWS)]
    batch = collate([pairs.source[i] for i in chosen], [pairs.target[i] for i in chosen])
    graphs = make_graphs(trained.recipe.network, Arithmetic())
    stepper = Stepper(graphs, bundle, "int8", SERVED_STEPS + 1)
    best = float("inf")
    for _ in range(4):
        began = time.process_time()
        stepper.start(batch.source.numpy(), batch.source_lengths.numpy())
        tokens = torch.full((SERVED_ROWS,), BOS).numpy()
        for _ in range(SERVED_STEPS):
            tokens = stepper.step(tokens, 1)[0][:, 0]
        best = min(best, time.process_time() - began)
    return SERVED_ROWS * SERVED_STEPS / best
