"""Imported models in their own engines, transformers and CTranslate2, with which ``check`` compares their bundles."""

import importlib.metadata
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece

from service.bundle.limits import length_limit
from service.bundle.manifest import DecodingDefaults
from training.imports.argos import PIECES, unpacked
from training.imports.check import Engine, Ids, Scored
from training.imports.ctranslate2 import piece_lists, source_pieces
from training.imports.files import ImportRefused, read_optional_object
from training.imports.source import ImportedModel, ReadOptions
from training.imports.subwords import opus_normalizers
from training.imports.vocabulary import UNK


class TransformersEngine:
    """A MarianMT or M2M-100 model in transformers."""

    def __init__(self, folder: Path, model: ImportedModel) -> None:
        """Load model and tokenizer; texts are normalised as the import does it, which MarianTokenizer leaves out."""
        try:
            from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
        except ImportError as error:
            raise ImportRefused("--check needs transformers: pip install transformers sentencepiece") from error
        self.name = f"transformers {importlib.metadata.version('transformers')}"
        self._model: Any = AutoModelForSeq2SeqLM.from_pretrained(folder, attn_implementation="eager")
        self._model.train(False)
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self._normalizers = opus_normalizers() if model.origin.text_normalised else []
        self._prefix = [int(model.rows[0][number]) for number in model.source_prefix()]
        self._begin = [int(model.rows[1][number]) for number in model.targets[0].begin]
        pad = int(str(self._model.config.pad_token_id))
        self._never = self._model.generation_config.bad_words_ids or [[pad]]
        self._forces_end = self._model.generation_config.forced_eos_token_id is not None
        self._not_scored = [pad, int(model.rows[1][UNK])]  # tokens that Marian does not have or never writes

    def encode(self, text: str) -> list[int]:
        """Return the ids of a source text without its end."""
        ids: list[int] = self._tokenizer(self._plain(text), add_special_tokens=False)["input_ids"]
        return ids

    def translate(self, texts: Sequence[str], decoding: DecodingDefaults) -> list[str]:
        """Return a translation of each text with these search settings, and otherwise the model's own."""
        import torch

        lines: list[str] = []
        for text in texts:
            ids = torch.tensor([[*self._prefix, *self.encode(text), self._model.config.eos_token_id]])
            with torch.no_grad():
                rows = self._model.generate(
                    input_ids=ids,
                    attention_mask=torch.ones_like(ids),
                    num_beams=decoding.beam_size,
                    length_penalty=decoding.length_penalty,
                    early_stopping=decoding.early_stopping or False,
                    do_sample=False,
                    max_length=min(2 * ids.shape[1] + 9 + self._forces_end, 512),  # ours, the start, and a forced end
                    bad_words_ids=self._never,
                    forced_bos_token_id=next(iter(self._begin), None),
                )
            lines.append(self._tokenizer.decode(rows[0], skip_special_tokens=True))
        return lines

    def score(self, source: Ids, target: Ids) -> Scored:
        """Return log-probabilities and cross-attention of a translation."""
        import torch

        with torch.no_grad():
            outputs = self._model(
                input_ids=torch.tensor([list(source)]), labels=torch.tensor([list(target)]), output_attentions=True
            )
        logits = outputs.logits[0]
        logits[:, self._not_scored] = -1e9
        logprobs = logits.log_softmax(-1).gather(-1, torch.tensor(list(target))[:, None])[:, 0]
        return Scored(logprobs.numpy(), torch.stack(outputs.cross_attentions, 1)[0].numpy())

    def _plain(self, text: str) -> str:
        for normalizer in self._normalizers:
            text = normalizer.normalize_str(text)
        return text


_TOGETHER = 32
"""Sentences of one call; they do not change each other's results noticeably."""


class Ctranslate2Engine:
    """A model in CTranslate2, computed in float32 whatever its weights are stored as."""

    def __init__(self, folder: Path, model: ImportedModel, spm: Path | None) -> None:
        """Load the model and the SentencePiece model of the source, if it has one; the target's pieces are joined."""
        try:
            import ctranslate2
        except ImportError as error:
            raise ImportRefused("--check needs CTranslate2: pip install ctranslate2") from error
        self.name = f"CTranslate2 {importlib.metadata.version('ctranslate2')}"
        self._translator: Any = ctranslate2.Translator(
            str(folder), device="cpu", compute_type="float32", inter_threads=1, intra_threads=1
        )
        pieces: Any = None if spm is None else sentencepiece.SentencePieceProcessor(model_file=str(spm))
        self._cut: Callable[[str], list[str]] = list if spm is None else lambda text: pieces.encode(text, out_type=str)
        self._decoder: Any = model.target.tokenizer.decoder
        config = read_optional_object(folder / "config.json")
        self._end = str(config.get("eos_token", "</s>"))
        self._names = piece_lists(folder)
        self._ids = {piece: number for number, piece in enumerate(self._names[0])}
        self._unknown = self._ids.get(str(config.get("unk_token", "<unk>")), len(self._ids))
        self._limit = model.max_tokens
        # What the library adds itself must not be given.
        self._appends_end, self._has_begin = (bool(config.get(f"add_source_{end}")) for end in ("eos", "bos"))
        self._needs_end = model.source_end and not self._appends_end
        prefix = () if self._has_begin else model.source_prefix()
        self._prefix = [self._names[0][int(model.rows[0][number])] for number in prefix]
        self._begin = [self._names[1][int(model.rows[1][number])] for number in model.targets[0].begin]

    def encode(self, text: str) -> list[int]:
        """Return the ids of a source text without its end."""
        return [self._ids.get(piece, self._unknown) for piece in self._cut(text)]

    def translate(self, texts: Sequence[str], decoding: DecodingDefaults) -> list[str]:
        """Return a translation of each text, as Argos Translate asks for it; <unk> is never chosen.

        The longest translation depends on the source as in the service, so only sources of one length run together.
        """
        sources = [self._source(self._cut(text)) for text in texts]
        order = sorted(range(len(texts)), key=lambda at: len(sources[at]))
        by_row: dict[int, str] = {}
        for length, same in itertools.groupby(order, key=lambda at: len(sources[at])):
            group = list(same)
            results = self._translator.translate_batch(
                [sources[at] for at in group],
                max_batch_size=_TOGETHER,
                beam_size=decoding.beam_size,
                length_penalty=decoding.length_penalty,
                target_prefix=[self._begin] * len(group) if self._begin else None,
                disable_unk=True,
                max_decoding_length=length_limit(length + self._appends_end, self._limit),
            )
            written = (result.hypotheses[0][len(self._begin) :] for result in results)
            by_row |= {at: str(self._decoder.decode(pieces)) for at, pieces in zip(group, written, strict=True)}
        return [by_row[at] for at in range(len(texts))]

    def score(self, source: Ids, target: Ids) -> Scored:
        """Return the log-probabilities of a translation; the library does not give every head's attention."""
        pieces = [self._names[0][number] for number in source][self._has_begin :]
        if self._appends_end and pieces and pieces[-1] == self._end:
            pieces = pieces[:-1]
        (result,) = self._translator.score_batch([pieces], [[self._names[1][number] for number in target[:-1]]])
        return Scored(np.array(result.log_probs, np.float32), None)

    def _source(self, pieces: Sequence[str]) -> list[str]:
        return [*self._prefix, *pieces, *([self._end] * self._needs_end)]


def engine_of(path: Path, model: ImportedModel, options: ReadOptions) -> Engine | None:
    """Return the original in its own engine; None for Firefox, whose engine does not run here.

    Raises ImportRefused where the engine is not installed.
    """
    if model.origin.format == "firefox":
        return None
    if model.origin.format in ("opus-mt", "m2m-100"):
        return TransformersEngine(path, model)
    if model.origin.format == "ctranslate2":
        return Ctranslate2Engine(path, model, options.spm or source_pieces(path))
    with unpacked(path) as folder:
        return Ctranslate2Engine(folder / "model", model, folder / PIECES)
