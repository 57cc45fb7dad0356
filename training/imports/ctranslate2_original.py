"""The original implementation that ``check`` compares CTranslate2 folders and Argos packages with: CTranslate2."""

from __future__ import annotations

import importlib.metadata
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece

from service.bundle.limits import length_limit
from service.bundle.manifest import DecodingDefaults
from training.imports.check import Ids, Scored
from training.imports.ctranslate2 import piece_lists
from training.imports.errors import ImportRefused
from training.imports.files import read_optional_object
from training.imports.source import ImportedModel

_TOGETHER = 32
"""Sentences of one call; they do not change each other's results noticeably."""


class Ctranslate2Original:
    """A model in CTranslate2, computed in float32 whatever its weights are stored as."""

    def __init__(self, folder: Path, model: ImportedModel, source_pieces: Path) -> None:
        """Load the model and the SentencePiece model of the source; the target's pieces are joined."""
        try:
            import ctranslate2
        except ImportError as error:
            raise ImportRefused("check needs CTranslate2: pip install ctranslate2") from error
        self.name = f"CTranslate2 {importlib.metadata.version('ctranslate2')}"
        self._translator: Any = ctranslate2.Translator(
            str(folder), device="cpu", compute_type="float32", inter_threads=1, intra_threads=1
        )
        self._pieces: Any = sentencepiece.SentencePieceProcessor(model_file=str(source_pieces))
        self._decoder: Any = model.target.tokenizer.decoder
        config = read_optional_object(folder / "config.json")
        self._end = str(config.get("eos_token", "</s>"))
        self._names = piece_lists(folder)
        self._ids = {piece: number for number, piece in enumerate(self._names[0])}
        self._unknown = self._ids[str(config.get("unk_token", "<unk>"))]
        self._limit = model.max_tokens
        # What the library appends itself must not be given.
        self._appends_end = bool(config.get("add_source_eos", False))
        self._needs_end = model.source_end and not self._appends_end

    def encode(self, text: str) -> list[int]:
        """Return the ids of a source text without its end."""
        return [self._ids.get(piece, self._unknown) for piece in self._pieces.encode(text, out_type=str)]

    def translate(self, texts: Sequence[str], decoding: DecodingDefaults) -> list[str]:
        """Return a translation of each text, as Argos Translate asks for it; <unk> is never chosen.

        The longest translation depends on the source as in the service, so only sources of one length run together.
        """
        sources = [self._source(self._pieces.encode(text, out_type=str)) for text in texts]
        order = sorted(range(len(texts)), key=lambda at: len(sources[at]))
        found: dict[int, str] = {}
        for length, same in itertools.groupby(order, key=lambda at: len(sources[at])):
            group = list(same)
            results = self._translator.translate_batch(
                [sources[at] for at in group],
                max_batch_size=_TOGETHER,
                beam_size=decoding.beam_size,
                length_penalty=decoding.length_penalty,
                disable_unk=True,
                max_decoding_length=length_limit(length + self._appends_end, self._limit),
            )
            found |= {
                at: str(self._decoder.decode(result.hypotheses[0])) for at, result in zip(group, results, strict=True)
            }
        return [found[at] for at in range(len(texts))]

    def score(self, source: Ids, target: Ids) -> Scored:
        """Return the log-probabilities of a translation; the library does not give every head's attention."""
        pieces = [self._names[0][number] for number in source]
        if self._appends_end and pieces and pieces[-1] == self._end:
            pieces = pieces[:-1]
        (found,) = self._translator.score_batch([pieces], [[self._names[1][number] for number in target[:-1]]])
        return Scored(np.array(found.log_probs, np.float32), None)

    def _source(self, pieces: Sequence[str]) -> list[str]:
        return [*pieces, self._end] if self._needs_end else list(pieces)
