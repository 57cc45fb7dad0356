"""The text of a recipe: the keys of its corpora, their cleaning and their vocabulary."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from training.git_folder import Place
from training.network_config import Section

VariantKind = Literal["typed", "names", "titles", "wrapped"]


class CorpusConfig(Section):
    """One source of sentence pairs: a named corpus, a local TSV, or a pair of line-aligned files."""

    name: str
    """Name in ``training.data.corpora``, or any label when ``path`` or ``corpus`` is given."""
    corpus: str | None = None
    """Name in ``training.data.corpora``, if it differs from ``name``; a corpus may have several language pairs."""
    topics: tuple[str, ...] = ()
    """Reads only these files of our own text: those with running text, whose lines can be joined."""
    source_language: str | None = None
    """The language of this corpus, if the recipe has several source languages."""
    path: Path | None = None
    """A local TSV (source, tab, target; optionally .gz), or the source half of a pair of files.

    Relative to the recipe.
    """
    target_path: Path | None = None
    """The target half of a pair of line-aligned files."""
    licence: str | None = None
    """The licence of the text at ``path``, for the model card; named corpora have their own."""
    credit: str | None = None
    """The credit for the text at ``path``, for the model card."""
    weight: float = Field(1.0, gt=0)
    """The uses of each pair in an epoch: 2 is twice, 0.25 is a random quarter, a new one in every epoch."""
    max_words: int = Field(80, ge=1)
    """Pairs with more white-space words than this on either side are left out."""
    max_pairs: int | None = Field(None, ge=1)
    """Keep at most this many pairs, chosen by hash so that the choice is stable."""
    one_translation: bool = False
    """Keeps the first pair of each source sentence, so that a model can learn what it should answer: an idiom that has
    six translations in the text teaches none of them."""
    first_pairs: int | None = Field(None, ge=1)
    """Read only the first pairs of the text, as d2l.ai does: its corpus begins with the shortest sentences."""
    variants_of: str | None = None
    """Makes ``max_pairs`` pairs from the training pairs of this corpus. The vocabulary is not learnt from them."""
    kind: VariantKind = "typed"
    """The kind of variants. ``typed``: as careless users type, with text to copy (``training.data.augmentation``).
    ``names``: with other people in them. ``titles``: titles, labels and lists of its short pairs
    (``training.data.titles``). ``wrapped``: with a part in brackets, quotation marks or between other signs on both
    sides (``training.data.wrapping``), which an aligner finds."""
    number_templates: bool = False
    """Makes ``max_pairs`` pairs of our own sentences with random numbers, amounts, times, dates and codes
    (``training.data.number_templates``), in English, French and German. Digits repeat in two fifths of the values."""
    noun_templates: bool = False
    """Makes ``max_pairs`` pairs of our own sentences with random nouns (``training.data.noun_templates``), in English,
    French and German, for gender, case and agreement."""
    made_up_grammar: bool = False
    """Makes ``max_pairs`` English–French pairs of a small made-up grammar (``training.data.made_up_grammar``)."""
    same_pairs_as: str | None = None
    """Uses the training pairs of the corpus of this name once more, with another segmentation into subwords. The
    vocabulary is not learnt from them."""
    join: int = Field(1, ge=1)
    """Joins 1 to this many pairs in a row to one training pair of at most ``max_words`` words (2105.01691), so that a
    corpus of short sentences teaches long ones. Development pairs are not joined."""
    subword_dropout: float = Field(0.0, ge=0, lt=1)
    """The probability of leaving out each merge of the sources' byte-pair encoding (BPE-dropout, 1910.13267) when the
    pairs are encoded. The model then learns rare words in the pieces that unknown words consist of. 0.1 is usual."""
    development: int = Field(0, ge=0)
    """The number of distinct source sentences of this corpus that are held out as development data."""

    @property
    def origin(self) -> str | None:
        """Return the name of the corpus that it is made from, if it has no text of its own."""
        return self.variants_of or self.same_pairs_as

    @model_validator(mode="after")
    def _keys_fit(self) -> CorpusConfig:
        if self.variants_of is not None and (self.max_pairs is None or self.path is not None or self.development):
            raise ValueError("a corpus of variants needs max_pairs, and neither path nor development")
        for key in ("number_templates", "noun_templates", "made_up_grammar"):
            if getattr(self, key) and (self.max_pairs is None or self.path or self.corpus or self.variants_of):
                raise ValueError(f"a corpus with {key} needs max_pairs, and neither path, corpus nor variants_of")
        if self.same_pairs_as is not None and (self.path or self.max_pairs or self.development or self.variants_of):
            raise ValueError("a corpus with same_pairs_as has no path, max_pairs, development or variants_of")
        if self.topics and ((self.corpus or self.name) != "everyday" or self.path or self.variants_of):
            raise ValueError("topics are files of our own text: give them to `everyday` alone")
        if self.kind != "typed" and self.variants_of is None:
            raise ValueError(f"kind {self.kind} is for a corpus of variants: give variants_of")
        if self.join > 1 and self.origin is not None:
            raise ValueError(f"join is a key of the corpus with the text, here {self.origin}")
        if self.path is None and (self.licence or self.credit):
            raise ValueError("licence and credit are for text with a path: named corpora have their own")
        return self


class CleaningConfig(Section):
    """The conditions for a pair to be used in training."""

    max_ratio: float = Field(3.0, ge=1)
    """Largest ratio of the two sides' lengths, in characters, if one of them has ``ratio_from`` characters."""
    ratio_from: int = Field(40, ge=1)
    """Short pairs such as "Go." / "Vas-y !" may have any ratio."""
    max_words: int | None = Field(None, ge=1)
    """The limit of ``max_words`` for all corpora; the limit of a corpus counts if it is lower."""
    without: tuple[str, ...] = ()
    """Words whose pairs are left out, whatever their case: a name that one book repeats becomes the translation of
    every similar name (*Michael* became *Michel Strogoff*)."""

    def longest(self, max_words: int) -> int:
        """Return the most words of a pair of a corpus with its own limit."""
        return max_words if self.max_words is None else min(max_words, self.max_words)


class VocabularyConfig(Section):
    """The joint subword vocabulary (byte-pair encoding)."""

    size: int = Field(8000, ge=300, le=65_535)
    """Number of entries, including 3 special tokens and 256 bytes; ids have 16 bits."""
    min_frequency: int = Field(2, ge=1)
    """A merge is learnt only if its pair occurs this often."""
    lowercase: bool = False
    """Lower-case the text: only for benchmarks whose metric ignores case."""
    words: bool = False
    """Whole words, the ``size`` most frequent of both languages, as in 1409.0473; every other word is ``UNK``. For
    comparisons with papers: the quality of such a model ends with its words."""
    pretokenised: bool = False
    """The text is already tokenised by white space, so punctuation and digits are not split again."""
    same_as: Place | None = None
    """A run folder or bundle whose vocabulary is used instead of a new one. If ``start_from`` is the same folder, every
    parameter can be copied. The path is relative to the working directory, as for ``start_from``."""
