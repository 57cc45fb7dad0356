"""The result of every reader of a foreign format, from which a bundle is made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from service.bundle.manifest import AlignmentHead, DecodingDefaults, TargetLanguage
from training.export.parameters import SUPPRESSED, StateArrays
from training.export.shortlist import Shortlist
from training.recipe import TransformerConfig

Format = Literal["opus-mt", "ctranslate2", "argos", "firefox"]
Positions = Literal["transformers", "marian"]


@dataclass(frozen=True, slots=True)
class TextSide:
    """The tokenizer of one side, and the ids of its texts."""

    tokenizer: Tokenizer
    producible: npt.NDArray[np.int64]
    """The ids that a text of this side may hold, </s> included; for the target, what a translation is made of."""


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
        }


def _no_rows() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    return np.zeros(0, np.int64), np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class ImportedModel:
    """A foreign model in our terms: our network's parameters, our order of ids."""

    name: str
    source_languages: tuple[str, ...]
    targets: tuple[TargetLanguage, ...]
    network: TransformerConfig
    state: StateArrays
    """Under the names of ``training.networks.Transformer``; the target's own pieces are the only ones within reach."""
    float_bias: npt.NDArray[np.float32]
    """The output bias of float graphs, with all that the original may choose within reach."""
    source: TextSide
    target: TextSide
    vocabulary_size: int
    unknown: int
    origin: Origin
    alignment: AlignmentHead
    decoding: DecodingDefaults
    max_tokens: int
    source_end: bool = True
    """Whether a source is closed by </s>."""
    rows: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] = field(default_factory=_no_rows)
    """The original's id of each of our ids, of the source and of the target: for comparisons with the original."""
    shortlist: Shortlist | None = None
    """The original's own, for int8."""


def only(bias: npt.NDArray[np.float32], ids: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    """Return the output bias [V] with all other ids out of reach; <unk> is never given, as Marian suppresses it."""
    result = np.full_like(bias, SUPPRESSED)
    result[ids] = bias[ids]
    return result
