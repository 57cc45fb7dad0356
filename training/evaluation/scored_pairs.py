"""Scores given translations with a trained network, and aligns their words by its attention."""

from collections.abc import Sequence
from dataclasses import dataclass

from service.bundle.alignment import FloatArray, Groups, white_space_words, word_groups
from service.bundle.manifest import AlignmentHead
from service.bundle.vocabulary import visible_range
from training.alignment.gold import Gold, Links
from training.alignment.head_search import AlignedPair, find_links
from training.decoding.forced import cross_attention
from training.trainer.checkpoints import Trained


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """One sentence pair; it has no attention if one side is empty."""

    attention: FloatArray | None
    """[L, H, T, S]."""
    sources: Groups
    """Token indices of each white-space word."""
    targets: Groups

    def links(self, head: AlignmentHead) -> Links:
        """Return the word alignment of a head, 0-based; none if one side is empty."""
        if self.attention is None:
            return frozenset()
        return find_links(head, self.attention, self.sources, self.targets)


def score_pairs(trained: Trained, sources: Sequence[str], targets: Sequence[str]) -> list[ScoredPair]:
    """Score every target as the translation of its source.

    Raises ValueError if the numbers of lines differ, or if a line has more tokens than the network has positions.
    """
    if len(sources) != len(targets):
        raise ValueError(f"{len(sources)} source lines, but {len(targets)} target lines")
    encoded = [[trained.tokenizer.encode(text) for text in side] for side in (sources, targets)]
    whole = [i for i, pair in enumerate(zip(*encoded, strict=True)) if all(side.ids for side in pair)]
    too_long = [i + 1 for i in whole if max(len(side[i].ids) for side in encoded) >= trained.recipe.max_tokens]
    if too_long:
        raise ValueError(f"line {too_long[0]} has more than {trained.recipe.max_tokens - 1} tokens")
    weights = cross_attention(trained.network, *([side[i].ids for i in whole] for side in encoded))
    results = dict(zip(whole, weights, strict=True))
    return [
        ScoredPair(results.get(i), tokens_of_words(source, one.offsets), tokens_of_words(target, two.offsets))
        for i, (source, target, one, two) in enumerate(zip(sources, targets, *encoded, strict=True))
    ]


def tokens_of_words(text: str, offsets: Sequence[tuple[int, int]]) -> Groups:
    """Return the tokens of each white-space word of a line, from the tokenizer's offsets."""
    return word_groups([visible_range(text, *offset)[0] for offset in offsets], white_space_words(text))


def samples(pairs: Sequence[ScoredPair], gold: Sequence[Gold]) -> list[AlignedPair]:
    """Return the samples that heads are measured on, without pairs that have an empty side.

    Raises ValueError if the numbers of pairs differ.
    """
    if len(pairs) != len(gold):
        raise ValueError(f"{len(pairs)} sentence pairs, but {len(gold)} lines of gold alignments")
    return [
        AlignedPair(pair.attention, pair.sources, pair.targets, truth)
        for pair, truth in zip(pairs, gold, strict=True)
        if pair.attention is not None
    ]
