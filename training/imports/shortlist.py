"""Shortlists for imported models, learned from a parallel text of the user.

What our own models learn from their training pairs, an import learns from a text that its user has. The lists decide
which tokens a step scores, so the text should be like what will be translated. How often they change a translation is
measured on pairs that were not learned from.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tokenizers import Tokenizer

from service.bundle.vocabulary import PAD
from training.data.dataset import EncodedPairs, encoded_side
from training.data.subwords import UNREACHABLE
from training.export.float_graphs import FloatGraphs
from training.export.shortlist import ListSizes, Shortlist, TargetTokens, Tokens, learn_shortlist
from training.imports.calibration import LONGEST, encode_sources
from training.imports.files import ImportRefused
from training.imports.source import ImportedModel

Pair = tuple[str, str]
HELD_OUT = 200
"""Most pairs that the effect is measured on; at most a tenth of the text."""
LEAST_PAIRS = 100
MOST_ENTRIES = 65_535
"""Tokens of a list have 16 bits."""
MOST_COPIES = 8
"""Target tokens that spell one source token."""


@dataclass(frozen=True, slots=True)
class LearnedShortlist:
    """A shortlist and what it does."""

    shortlist: Shortlist
    pairs: int
    """Pairs that it was learned from."""
    measured: int
    """Held-out sentences that were translated with and without it."""
    changed: int
    """Those whose greedy translation it changes."""
    mean_tokens: float
    """Mean number of tokens that a step scores for a held-out sentence."""

    def document(self) -> dict[str, int]:
        """Return the figures for the model card."""
        return {
            "pairs": self.pairs,
            "tokens": round(self.mean_tokens),
            "held_out": self.measured,
            "changed": self.changed,
        }

    def __str__(self) -> str:
        share = 100 * self.changed / max(1, self.measured)
        return (
            f"shortlist from {self.pairs} pairs: {self.mean_tokens:.0f} tokens a sentence; it changes "
            f"{self.changed} of {self.measured} held-out translations ({share:.1f} %)"
        )


def learn_import_shortlist(model: ImportedModel, graphs: FloatGraphs, pairs: Sequence[Pair]) -> LearnedShortlist:
    """Learn a shortlist from pairs of text, and measure it on every tenth of them, at most HELD_OUT.

    Raises ImportRefused for too few pairs, and for a model with several targets.
    """
    if len(model.targets) > 1:
        targets = ", ".join(target.language for target in model.targets)
        raise ImportRefused(f"a shortlist is for one target language, but the model has {targets}: choose with --to")
    if model.vocabulary_size > MOST_ENTRIES:
        raise ImportRefused(
            f"a shortlist is for at most {MOST_ENTRIES} pieces, but the model has {model.vocabulary_size}: leave out "
            "--shortlist-text"
        )
    filled = [(source, target) for source, target in pairs if source.strip() and target.strip()]
    if len(filled) < LEAST_PAIRS:
        raise ImportRefused(f"the text for the shortlist has {len(filled)} pairs; at least {LEAST_PAIRS} are needed")
    step = max(10, len(filled) // HELD_OUT)
    learned, held = [pair for at, pair in enumerate(filled) if at % step], filled[::step][:HELD_OUT]
    shortlist = learn_shortlist(
        [_encoded(model, learned)], [1.0], model.vocabulary_size, ListSizes(), target_tokens(model)
    )
    sources = encode_sources(model, [source for source, _ in held])
    allowed = [shortlist.allowed(source) for source in sources]
    plain, listed = (graphs.translate(sources, LONGEST, lists) for lists in (None, allowed))
    changed = sum(one != with_list for one, with_list in zip(plain, listed, strict=True))
    mean = float(np.mean([row.sum() for row in allowed]))
    return LearnedShortlist(shortlist, len(learned), len(sources), changed, mean)


def _encoded(model: ImportedModel, pairs: Sequence[Pair]) -> EncodedPairs:
    sides = []
    for place, side in enumerate((model.source, model.target)):
        encoded = side.tokenizer.encode_batch_fast([pair[place] for pair in pairs], add_special_tokens=False)
        sides.append(encoded_side([encoding.ids for encoding in encoded]))
    return EncodedPairs(*sides)


def target_tokens(model: ImportedModel) -> TargetTokens:
    """Return what the target's ids are: those that a translation may hold, and how they spell each source token.

    The two SentencePiece models cut the same name differently, so a name is copied with other tokens than it was read
    with.
    """
    producible = np.zeros(model.vocabulary_size, bool)
    producible[model.target.producible] = True
    spelled = _spellings(model.source.tokenizer, model.target.tokenizer)
    copies: Tokens = np.full((model.vocabulary_size, MOST_COPIES), PAD, np.uint16)
    for number, ids in spelled.items():
        kept = [token for token in ids if producible[token]][:MOST_COPIES]
        copies[number, : len(kept)] = kept
    return TargetTokens(copies, producible)


def _spellings(source: Tokenizer, target: Tokenizer) -> dict[int, list[int]]:
    """Return the target tokens of every piece that a source text may be cut into."""
    pieces = {number: piece for piece, number in source.get_vocab().items() if not piece.startswith(UNREACHABLE)}
    return {number: [token.id for token in target.model.tokenize(piece)] for number, piece in pieces.items() if piece}
