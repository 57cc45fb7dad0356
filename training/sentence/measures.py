"""Measurements: retrieval of translations, accuracy of the classifiers, overlap of the hops."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer

from training.data.batching import pad
from training.sentence.data import HeldOut, encode_texts
from training.sentence.loss import overlap
from training.sentence.network import SentenceNetwork

Floats = npt.NDArray[np.float32]
TOGETHER = 256
"""Sentences of a batch."""


class Encoded(NamedTuple):
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
    parts: list[Encoded] = []
    device = next(network.eval().parameters()).device
    with torch.inference_mode():
        for start in range(0, len(order), TOGETHER):
            ids, lengths = pad([rows[i] for i in order[start : start + TOGETHER]])
            output = network(ids.to(device), lengths.to(device))
            likeliest = output.languages.argmax(-1), output.domains.argmax(-1)
            of_hops = overlap(output.attention), hop_cosines(output.attention)
            parts.append(Encoded(*(each.cpu().numpy() for each in (output.embedding, *likeliest, *of_hops))))
    back = np.argsort(np.array(order))
    return Encoded(*(np.concatenate(arrays)[back] for arrays in zip(*parts, strict=True)))


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
    both_sides = Encoded(*(np.concatenate(arrays) for arrays in zip(*[firsts, seconds], strict=True)))
    spoken = [pair.first_language for pair in pairs] + [pair.second_language for pair in pairs]
    result["language"] = float((both_sides.languages == [languages.index(each) for each in spoken]).mean())
    result["domain"] = float((both_sides.domains == [domains.index(pair.domain) for pair in pairs] * 2).mean())
    result["overlap"] = float(both_sides.overlaps.mean())
    result["hop cosine"] = float(both_sides.cosines.mean())
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
