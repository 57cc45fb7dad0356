"""Measurements: retrieval of translations, accuracy of the classifiers, overlap of the hops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer

from training.sentence.data import HeldOut, encode_texts, padded
from training.sentence.loss import overlap
from training.sentence.network import SentenceNetwork

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Encoded:
    """The network's outputs for S sentences, in their order."""

    embeddings: Floats
    """[S, D]"""
    languages: npt.NDArray[np.int64]
    """The likeliest language [S]."""
    domains: npt.NDArray[np.int64]
    """The likeliest domain [S]."""
    overlaps: Floats
    """‖A Aᵀ − I‖²_F [S]."""
    cosines: Floats
    """The mean cosine of two different hops of a sentence [S]; 1 for a single hop."""


def encode(network: SentenceNetwork, tokenizer: Tokenizer, texts: Sequence[str], max_tokens: int) -> Encoded:
    """Run the network over texts, in batches of similar length."""
    rows = encode_texts(tokenizer, texts, max_tokens)
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    parts: list[tuple[Floats, ...]] = []
    network.eval()
    device = next(network.parameters()).device
    with torch.inference_mode():
        for chunk in _chunks(order, 256):
            ids, lengths = padded([rows[i] for i in chunk])
            output = network(ids.to(device), lengths.to(device))
            fields = (
                output.embedding, output.languages.argmax(-1), output.domains.argmax(-1), overlap(output.attention),
                hop_cosines(output.attention),
            )  # fmt: skip
            parts.append(tuple(field.cpu().numpy() for field in fields))
    back = np.argsort(np.array(order))
    joined = [np.concatenate([part[field] for part in parts])[back] for field in range(5)]
    return Encoded(joined[0], joined[1].astype(np.int64), joined[2].astype(np.int64), joined[3], joined[4])


def hop_cosines(attention: torch.Tensor) -> torch.Tensor:
    """Return the mean cosine of two different rows of A: [B, r, N] → [B]; 1 means that all hops are the same."""
    hops = attention.shape[1]
    if hops == 1:
        return torch.ones(len(attention))
    unit = torch.nn.functional.normalize(attention, dim=-1)
    gram = unit @ unit.transpose(1, 2)
    return (gram.sum(dim=(1, 2)) - hops) / (hops * (hops - 1))


def top1(queries: Floats, answers: Floats) -> float:
    """Return the share of queries whose nearest answer is the one of the same row, by cosine."""
    return float(((queries @ answers.T).argmax(axis=1) == np.arange(len(queries))).mean())


def held_out_measures(
    network: SentenceNetwork,
    tokenizer: Tokenizer,
    pairs: Sequence[HeldOut],
    classes: tuple[Sequence[str], Sequence[str]],
    max_tokens: int,
) -> dict[str, float]:
    """Return accuracies on held-out pairs: retrieval of each language pair in both directions, languages, domains.

    ``classes`` are the recipe's languages and domains. Pairs whose sentences occur twice are counted once.
    """
    languages, domains = classes
    firsts = encode(network, tokenizer, [pair.first for pair in pairs], max_tokens)
    seconds = encode(network, tokenizer, [pair.second for pair in pairs], max_tokens)
    result: dict[str, float] = {}
    for both in dict.fromkeys((pair.first_language, pair.second_language) for pair in pairs):
        rows = distinct(pairs, both)
        one, other = firsts.embeddings[rows], seconds.embeddings[rows]
        result[f"{both[0]}-{both[1]}"] = top1(one, other)
        result[f"{both[1]}-{both[0]}"] = top1(other, one)
    wanted_languages = [languages.index(p.first_language) for p in pairs] + [
        languages.index(p.second_language) for p in pairs
    ]
    wanted_domains = [domains.index(p.domain) for p in pairs] * 2
    result["language"] = float((np.concatenate([firsts.languages, seconds.languages]) == wanted_languages).mean())
    result["domain"] = float((np.concatenate([firsts.domains, seconds.domains]) == wanted_domains).mean())
    result["overlap"] = float(np.concatenate([firsts.overlaps, seconds.overlaps]).mean())
    result["hop cosine"] = float(np.concatenate([firsts.cosines, seconds.cosines]).mean())
    return result


def distinct(pairs: Sequence[HeldOut], languages: tuple[str, str]) -> list[int]:
    """Return the rows of one language pair, without those that repeat a sentence of an earlier row."""
    firsts, seconds, rows = set(), set(), []
    for row, pair in enumerate(pairs):
        if (pair.first_language, pair.second_language) != languages:
            continue
        first, second = pair.first.lower(), pair.second.lower()
        if first in firsts or second in seconds:
            continue
        firsts.add(first)
        seconds.add(second)
        rows.append(row)
    return rows


def _chunks(items: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
