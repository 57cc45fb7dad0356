"""What every reader of a foreign format takes and returns: a path and what the user says, and a model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from service.bundle.manifest import AlignmentHead, DecodingDefaults, TargetLanguage
from training.export.intgemm import Intgemm
from training.export.parameters import SUPPRESSED, StateArrays
from training.export.shortlist import Shortlist
from training.imports.language_tokens import ModelLanguages
from training.imports.sentencepiece_file import SentencePieceModel
from training.imports.subwords import library_tokenizer
from training.imports.vocabulary import UNK, Vocabulary
from training.recipe import TransformerConfig

Format = Literal["opus-mt", "m2m-100", "ctranslate2", "argos", "firefox"]
Positions = Literal["transformers", "marian"]


def bundle_name(format_: str, source: str, target: str) -> str:
    """Return the name of a bundle whose user gives none."""
    return f"{format_}-{source}-{target}".lower()


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the user says of a model; everything may be left out that its files say."""

    name: str | None = None
    """The bundle's name; None: format and languages, such as ``firefox-en-es``."""
    source: Sequence[str] = ()
    """Languages; none: as the model says."""
    target: Sequence[str] = ()
    """Languages, the first of them first in the bundle; none: all that the model says."""
    spm: Path | None = None
    """For CTranslate2: the SentencePiece model of the source; None: one that stands beside it, or characters."""
    target_spm: Path | None = None
    """That of the target, if it has its own."""
    licence: str | None = None
    credit: str | None = None
    positions: Positions = "transformers"
    """For OPUS-MT. ``marian``: as it was trained, to which transformers and CTranslate2 only come close."""
    opus_text: bool = True
    """For OPUS-MT: normalise text as OPUS-MT does before subwords."""
    seven_bits: bool = False
    """For Firefox: round int8 again, for x86 processors without VNNI; always so where this is one."""
    begin: str = ""
    """For CTranslate2: the token with which every translation begins, if the caller chooses one (``target_prefix``)."""

    def name_for(self, format_: str, languages: ModelLanguages) -> str:
        """Return the bundle's name, in which ``mul`` stands for several languages of a side."""
        sides = languages.sources, [target.language for target in languages.targets]
        return self.name or bundle_name(format_, *(tags[0] if len(tags) == 1 else "mul" for tags in sides))


@dataclass(frozen=True, slots=True)
class TextSide:
    """The tokenizer of one side, and the ids of its texts."""

    tokenizer: Tokenizer
    producible: npt.NDArray[np.int64]
    """The ids that a text of this side may hold, </s> included; for the target, what a translation is made of."""
    scored: npt.NDArray[np.int64]
    """The ids that the original scores as we do."""
    rows: npt.NDArray[np.int64]
    """The original's id of each of our ids: for comparisons with the original."""

    @classmethod
    def of(cls, model: SentencePieceModel, vocabulary: Vocabulary, opus_text: bool = False) -> Self:
        """Return the side of a SentencePiece model; ``opus_text`` as in ``library_tokenizer``."""
        tokenizer = library_tokenizer(model, vocabulary.names, UNK, opus_text)
        return cls(tokenizer, vocabulary.producible(model), vocabulary.scored(), vocabulary.rows)


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a model, for its card."""

    format: Format
    name: str
    licence: str
    credit: str
    files: Mapping[str, str]
    """SHA-256 of every file that was read, by name."""
    positions: str
    text_normalised: bool
    """Whether typographic marks are replaced by plain ones before the text is cut into subwords."""
    stated: Mapping[str, float] = field(default_factory=dict)
    """Scores that the model's authors state, by test set and metric; nobody measured them here."""
    notes: str | None = None
    published: Mapping[str, str] = field(default_factory=dict)
    """What a published list says of the model, by which it is known again."""

    def document(self, network: TransformerConfig) -> dict[str, Any]:
        """Return the card's ``imported`` section."""
        return {
            "format": self.format,
            "name": self.name,
            "files": dict(sorted(self.files.items())),
            "network": network.model_dump(exclude_defaults=True) | {"kind": network.kind},
            "positions": self.positions,
            "text_normalised": self.text_normalised,
            **({"stated": dict(self.stated)} if self.stated else {}),
            **({"published": dict(self.published)} if self.published else {}),
        }


@dataclass(frozen=True, slots=True)
class ImportedModel:
    """A foreign model in our terms: our network's parameters, our order of ids."""

    name: str
    languages: ModelLanguages
    network: TransformerConfig
    parameters: StateArrays
    """Under the names of ``training.networks.Transformer``; the output bias is the file's own."""
    source: TextSide
    target: TextSide
    origin: Origin
    alignment: AlignmentHead
    decoding: DecodingDefaults
    max_tokens: int = 512
    source_end: bool = True
    """Whether a source is closed by </s>."""
    shortlist: Shortlist | None = None
    """The original's own, for int8."""
    intgemm: Intgemm | None = None
    """The original's own numbers for int8, if it has any."""

    @property
    def source_languages(self) -> tuple[str, ...]:
        """Return the source languages."""
        return self.languages.sources

    @property
    def targets(self) -> tuple[TargetLanguage, ...]:
        """Return the target languages."""
        return self.languages.targets

    def source_prefix(self, target: int = 0) -> tuple[int, ...]:
        """Return the ids in front of a source in the first language that is translated into one of the targets."""
        prefixes = self.languages.source_prefixes
        return *prefixes.get(self.source_languages[0], ()), *self.targets[target].prefix

    @property
    def vocabulary_size(self) -> int:
        """Return the number of our ids, which is the same on both sides."""
        return len(self.target.rows)

    @property
    def rows(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the original's id of each of our ids, of the source and of the target."""
        return self.source.rows, self.target.rows

    @property
    def state(self) -> StateArrays:
        """Return the parameters with the target's own pieces as the only ones within reach."""
        return self.parameters | {"output_bias": self._within_reach(self.target.producible)}

    @property
    def float_bias(self) -> npt.NDArray[np.float32]:
        """Return the output bias of float graphs, with all that the original may choose within reach."""
        return self._within_reach(self.target.scored)

    def _within_reach(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Return the output bias [V] with all other ids out of reach; <unk> is never given, as Marian suppresses it."""
        bias = self.parameters["output_bias"]
        result = np.full_like(bias, SUPPRESSED)
        result[ids] = bias[ids]
        return result


Reader = Callable[[Path, ReadOptions], ImportedModel]
"""Reads a model; raises ImportRefused in one sentence for what cannot be imported."""
