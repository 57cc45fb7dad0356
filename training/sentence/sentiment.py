"""Classifies reviews of films as good or bad with each encoder of one size, on the same data (SANS's question)."""

import gzip
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import torch
from torch import Tensor, nn

from training.data.batching import pad
from training.sentence.encoders import ENCODERS, WIDTH, EncodedReview
from training.tables import markdown

UNKNOWN = 1
"""The id of every word that occurs once; 0 is padding."""
Review = tuple[int, list[str]]
"""1 for good and 0 for bad, and the words."""
PARTS = ("train", "dev", "test")
SHOWN = 3
"""Words that are named of each sentence."""


@dataclass(frozen=True, slots=True)
class Options:
    """How each network is trained."""

    epochs: int = 6
    batch: int = 100
    rate: float = 3e-3
    dropout: float = 0.5
    max_words: int = 200


class Classifier(nn.Module):
    """Embeddings of words, one encoder, one linear layer."""

    def __init__(self, encoder: nn.Module, vocabulary: int, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, WIDTH, padding_idx=0)
        nn.init.normal_(self.embedding.weight[1:].data, std=WIDTH**-0.5)
        self.encoder, self.dropout = encoder, nn.Dropout(dropout)
        self.output = nn.Linear(int(encoder.size), 2)  # type: ignore[arg-type]

    def forward(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, EncodedReview]:
        """Return logits [B, 2] and what the encoder found."""
        encoded: EncodedReview = self.encoder(self.dropout(self.embedding(ids)), lengths)
        return self.output(self.dropout(encoded.vector)), encoded


@dataclass(frozen=True, slots=True)
class EncoderResult:
    """One encoder with one seed."""

    encoder: str
    seed: int
    accuracy: float
    """Of the test reviews, after the epoch that was best on the development reviews."""
    epoch: int
    seconds: float
    """Processor time of an epoch."""
    parameters: int
    """Of encoder and output layer, without embeddings."""
    attended: list[list[str]]
    """The words with the largest weights in each shown sentence."""


def read_reviews(folder: Path, max_words: int) -> dict[str, list[Review]]:
    """Return the reviews of each part: aclImdb's folders, or ``*.train.tsv.gz`` and so on with lines "1<TAB>text".

    aclImdb has no development part: every tenth review of its training part is taken. Raises ValueError.
    """
    if (folder / "train" / "pos").is_dir():
        train, test = (_imdb(folder / part, max_words) for part in ("train", "test"))
        splits = {"train": [review for i, review in enumerate(train) if i % 10], "dev": train[::10], "test": test}
    else:
        splits = {part: _table(folder, part, max_words) for part in PARTS}
    for part, reviews in splits.items():
        if {label for label, _ in reviews} != {0, 1}:
            raise ValueError(f"{folder}: the {part} part needs reviews of both kinds, 0 and 1")
    return splits


def _table(folder: Path, part: str, max_words: int) -> list[Review]:
    paths = [*folder.glob(f"*.{part}.tsv"), *folder.glob(f"*.{part}.tsv.gz")]
    if len(paths) != 1:
        raise ValueError(f"{folder} needs one file *.{part}.tsv or .tsv.gz, or the folders train/pos, train/neg, …")
    [path] = paths
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    for number, row in enumerate(rows, 1):
        if len(row) != 2 or row[0] not in ("0", "1") or not row[1].split():
            raise ValueError(f'{path}, line {number}: each line is "0" or "1", a tab, and the review')
    return [(int(label), text.split()[:max_words]) for label, text in rows]


def _imdb(folder: Path, max_words: int) -> list[Review]:
    paths = [
        (label, path) for label, kind in enumerate(("neg", "pos")) for path in sorted((folder / kind).glob("*.txt"))
    ]
    texts = [(label, path.read_text(encoding="utf-8").lower().replace("<br />", " ")) for label, path in paths]
    return [(label, text.split()[:max_words]) for label, text in texts if text.split()]


class Data:
    """Reviews as ids."""

    def __init__(self, parts: dict[str, list[Review]]) -> None:
        counts = Counter(word for _, words in parts["train"] for word in words)
        self.words = {word: i for i, word in enumerate(sorted(w for w, n in counts.items() if n > 1), UNKNOWN + 1)}
        self.labels = {part: np.array([label for label, _ in reviews]) for part, reviews in parts.items()}
        self.ids = {part: [self.encode(words) for _, words in reviews] for part, reviews in parts.items()}

    def encode(self, words: Sequence[str]) -> list[int]:
        """Return the ids of words."""
        return [self.words.get(word, UNKNOWN) for word in words]

    def batches(self, part: str, size: int, order: np.random.Generator) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Give ids, lengths and labels in batches of about equal lengths, in a random order."""
        rows = self.ids[part]
        by_length = np.argsort(np.array([len(row) for row in rows]) + order.uniform(0, 3, len(rows)), kind="stable")
        groups = np.array_split(by_length, -(-len(rows) // size))
        for group in (groups[i] for i in order.permutation(len(groups))):
            ids, lengths = pad([rows[i] for i in group])
            yield ids, lengths, torch.from_numpy(self.labels[part][group])


def compare(data: Data, shown: Sequence[str], seeds: int, options: Options) -> Iterator[EncoderResult]:
    """Train every encoder with every seed; the sentences that are ``shown`` say what it attends to."""
    for seed in range(1, seeds + 1):
        for name in ENCODERS:
            yield train(name, data, shown, seed, options)


def train(name: str, data: Data, shown: Sequence[str], seed: int, options: Options) -> EncoderResult:
    """Train one encoder; returns what it reached on the test reviews."""
    torch.manual_seed(seed)
    network = Classifier(ENCODERS[name](), len(data.words) + UNKNOWN + 1, options.dropout)
    optimiser = torch.optim.Adam(network.parameters(), options.rate)
    order, best, seconds = np.random.default_rng(seed), (-1.0, 0.0, 0), 0.0
    attended: list[list[str]] = []
    for epoch in range(1, options.epochs + 1):
        began = time.process_time()
        network.train()
        for ids, lengths, labels in data.batches("train", options.batch, order):
            logits, encoding = network(ids, lengths)
            loss = nn.functional.cross_entropy(logits, labels) + encoding.penalty
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        seconds += time.process_time() - began
        development = accuracy(network, data, "dev")
        if development > best[0]:
            best = (development, accuracy(network, data, "test"), epoch)
            attended = [attended_words(network, data, text.split()) for text in shown]
    size = sum(p.numel() for part in (network.encoder, network.output) for p in part.parameters())
    return EncoderResult(name, seed, best[1], best[2], seconds / options.epochs, size, attended)


@torch.inference_mode()
def accuracy(network: Classifier, data: Data, part: str) -> float:
    """Return the share of a part's reviews that are classified rightly."""
    network.eval()
    right = [network(ids, lengths)[0].argmax(1) == labels
             for ids, lengths, labels in data.batches(part, 100, np.random.default_rng(0))]  # fmt: skip
    return float(torch.cat(right).float().mean())


@torch.inference_mode()
def attended_words(network: Classifier, data: Data, words: list[str]) -> list[str]:
    """Return the words of a sentence with the largest weights, none if all are equal."""
    ids, lengths = pad([data.encode(words)])
    weights = network.eval()(ids, lengths)[1].weights[0]
    if torch.allclose(weights, weights.mean()):
        return []
    return [words[i] for i in weights.topk(min(SHOWN, len(words))).indices.tolist()]


def summary(results: Sequence[EncoderResult]) -> str:
    """Return the table of all encoders, a mean over the seeds."""
    rows = []
    for name in dict.fromkeys(result.encoder for result in results):
        encoder_results = [result for result in results if result.encoder == name]
        scores = [100 * result.accuracy for result in encoder_results]
        spread = f" ± {stdev(scores):.1f}" if len(encoder_results) > 1 else ""
        path: str = ENCODERS[name]().path  # type: ignore[assignment]
        attended = "; ".join(", ".join(words) for words in encoder_results[0].attended if words) or "all alike"
        seconds = mean(result.seconds for result in encoder_results)
        rows.append(
            (
                name,
                f"{mean(scores):.1f}{spread}",
                f"{seconds:.1f}",
                path,
                f"{encoder_results[0].parameters:,}",
                attended,
            )
        )
    head = ("encoder", "accuracy, %", "seconds an epoch", "path between words", "parameters", "attends to (seed 1)")
    return markdown(head, rows)


def report(results: Sequence[EncoderResult], data: Data, options: Options) -> dict[str, object]:
    """Return everything that was measured, for a JSON file."""
    sizes = {part: len(rows) for part, rows in data.ids.items()}
    return {"reviews": sizes, "words": len(data.words), "options": asdict(options),
            "results": [asdict(result) for result in results]}  # fmt: skip
