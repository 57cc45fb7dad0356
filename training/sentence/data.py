"""Prepares the text of a run (vocabulary, encoded pairs, held-out pairs) and draws batches from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer
from torch import Tensor

from service.bundle.vocabulary import EOS, read_tokenizer
from training.data.batching import pad
from training.data.cleaning import Pair, clean
from training.data.dataset import EncodedPairs, encode_pairs
from training.data.reading import read_corpus, read_pairs
from training.data.split import held_out, split, subset
from training.data.subwords import train_tokenizer
from training.files import write_json, write_lines
from training.recipe import CleaningConfig
from training.sentence.loss import PairKeys
from training.sentence.recipe import SentenceCorpus, SentenceRecipe

POOL = 8
"""Batches whose pairs are drawn and sorted by length together."""
VOCABULARY_TEXT = 400_000
"""Sentences from which the vocabulary is learnt, drawn as batches are."""


class SentenceFolder:
    """The paths of a run's files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.recipe = path / "recipe.json"
        self.tokenizer = path / "tokenizer.json"
        self.statistics = path / "statistics.json"
        self.held_out = path / "held-out.tsv"
        self.checkpoint = path / "last.ckpt"
        self.history = path / "history.json"

    def corpus(self, corpus: SentenceCorpus) -> Path:
        """Return the encoded training pairs of one corpus."""
        return self.path / f"corpus-{corpus.name}.npz"

    def load_tokenizer(self) -> Tokenizer:
        """Return the vocabulary."""
        return read_tokenizer(self.tokenizer)

    def load_held_out(self) -> list[HeldOut]:
        """Return the held-out pairs."""
        lines = self.held_out.read_text(encoding="utf-8").splitlines()
        return [HeldOut(*line.split("\t")) for line in lines]


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A pair that training never sees."""

    corpus: str
    domain: str
    first_language: str
    second_language: str
    first: str
    second: str


def prepare(recipe: SentenceRecipe, folder: SentenceFolder, mirror: Path | None, cache: Path) -> dict[str, object]:
    """Read, clean, split and encode the corpora; returns the numbers of pairs, which are also written."""
    folder.path.mkdir(parents=True, exist_ok=True)
    texts = [_cleaned(corpus, mirror, cache) for corpus in recipe.corpora]
    chosen = [held_out(pairs, corpus.held_out) for corpus, pairs in zip(recipe.corpora, texts, strict=True)]
    everywhere = set().union(*chosen)
    training, held = [], []
    for corpus, pairs, own in zip(recipe.corpora, texts, chosen, strict=True):
        kept, development = split(pairs, everywhere)
        training.append(kept)
        for first, second in split(development, own)[1]:
            held.append("\t".join((corpus.corpus, corpus.domain, *corpus.languages, first, second)))
    write_lines(folder.held_out, held)
    tokenizer = train_tokenizer(_vocabulary_text(recipe, training), recipe.vocabulary)
    tokenizer.save(str(folder.tokenizer), pretty=False)
    counts: dict[str, object] = {"held out": len(held)}
    for corpus, pairs in zip(recipe.corpora, training, strict=True):
        encoded = encode_pairs(pairs, tokenizer, recipe.max_tokens)
        encoded.save(folder.corpus(corpus))
        counts[corpus.name] = len(encoded)
    folder.recipe.write_text(recipe.model_dump_json(indent=2) + "\n", encoding="utf-8")
    write_json(folder.statistics, counts)
    return counts


def _cleaned(corpus: SentenceCorpus, mirror: Path | None, cache: Path) -> list[Pair]:
    pairs = read_pairs(corpus.path) if corpus.path else read_corpus(corpus.corpus, *corpus.languages, mirror, cache)
    cleaned = list(clean(pairs, CleaningConfig(), corpus.max_words))
    if len(cleaned) <= corpus.held_out:
        raise ValueError(f"corpus {corpus.name} has {len(cleaned)} pairs, too few to hold {corpus.held_out} out")
    return subset(cleaned, corpus.max_pairs)


def _vocabulary_text(recipe: SentenceRecipe, training: Sequence[Sequence[Pair]]) -> Iterator[str]:
    random = np.random.default_rng((recipe.seed, 0))
    shares = _shares(recipe)
    for pairs, share in zip(training, shares, strict=True):
        wanted = min(len(pairs), round(share * VOCABULARY_TEXT / 2))
        for i in random.choice(len(pairs), wanted, replace=False).tolist():
            yield from pairs[i]


def _shares(recipe: SentenceRecipe) -> npt.NDArray[np.float64]:
    weights = np.array([corpus.weight for corpus in recipe.corpora], np.float64)
    return np.asarray(weights / weights.sum(), np.float64)


@dataclass(frozen=True, slots=True)
class Batch:
    """P pairs as 2 · P rows: the first sentences, then their translations."""

    ids: Tensor
    """int64 [2P, N]; each row ends with the end token and padding."""
    lengths: Tensor
    """int64 [2P]."""
    keys: PairKeys


class Batches:
    """Draws batches from the corpora of a prepared folder by their weights."""

    def __init__(self, recipe: SentenceRecipe, folder: SentenceFolder) -> None:
        self._corpora = [EncodedPairs.load(folder.corpus(corpus)) for corpus in recipe.corpora]
        most = recipe.optimisation.max_tokens
        self._lengths = [np.maximum(c.source.lengths, c.target.lengths) for c in self._corpora]
        self._usable = [np.flatnonzero(lengths <= most) for lengths in self._lengths]
        for corpus, usable in zip(recipe.corpora, self._usable, strict=True):
            if not len(usable):
                raise ValueError(f"corpus {corpus.name} has no pair of at most {most} tokens: raise max_tokens")
        self._shares = _shares(recipe)
        languages, domains = recipe.languages, recipe.domains
        self._languages = np.array([[languages.index(each) for each in c.languages] for c in recipe.corpora])
        self._domains = np.array([domains.index(corpus.domain) for corpus in recipe.corpora])
        self._pairs, self._seed = recipe.optimisation.pairs, recipe.seed

    def draw(self, update: int) -> Batch:
        """Return the batch of one update, which depends only on the seed and the update.

        Pairs are drawn for ``POOL`` batches at a time and sorted by length: batches then have little padding, and
        the negatives of a pair are about as long as its translation.
        """
        pool, number = divmod(update, POOL)
        random = np.random.default_rng((self._seed, 1, pool))
        drawn = random.choice(len(self._corpora), self._pairs * POOL, p=self._shares)
        places = np.array([int(random.choice(self._usable[c])) for c in drawn.tolist()])
        longest = np.array([self._lengths[c][i] for c, i in zip(drawn.tolist(), places.tolist(), strict=True)])
        order = np.argsort(longest + random.uniform(-1, 1, len(longest)))
        part = order.reshape(POOL, self._pairs)[random.permutation(POOL)[number]]
        corpora, places = drawn[part], places[part]
        rows = [self._corpora[c].source[i] for c, i in zip(corpora.tolist(), places.tolist(), strict=True)]
        rows += [self._corpora[c].target[i] for c, i in zip(corpora.tolist(), places.tolist(), strict=True)]
        ids, lengths = pad(rows)
        hashes = torch.tensor([hash(row.tobytes()) for row in rows])
        languages = torch.from_numpy(self._languages[corpora].T.reshape(-1))
        domains = torch.from_numpy(np.tile(self._domains[corpora], 2))
        return Batch(ids, lengths, PairKeys(hashes, languages, domains))


def encode_texts(tokenizer: Tokenizer, texts: Sequence[str], max_tokens: int) -> list[list[int]]:
    """Return the ids of texts with the end token; a text that is too long loses its last tokens."""
    return [[*encoding.ids[: max_tokens - 1], EOS] for encoding in tokenizer.encode_batch_fast(list(texts))]
