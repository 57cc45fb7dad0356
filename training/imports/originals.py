"""The originals of imported bundles in their own implementations, transformers and CTranslate2, for ``check``."""

import importlib.metadata
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece

from service.bundle.limits import length_limit
from service.bundle.manifest import DecodingDefaults, Manifest
from training.imports.argos import PIECES, read_unpacked, unpacked
from training.imports.check import Ids, Original, Scored, towards
from training.imports.ctranslate2 import Ctranslate2Options, piece_lists, read_ctranslate2
from training.imports.files import ImportRefused, read_optional_object
from training.imports.hub import fetch_model
from training.imports.marian import MarianOptions, read_marian
from training.imports.source import ImportedModel
from training.imports.vocabulary import UNK


class MarianOriginal:
    """A MarianMT model in transformers."""

    def __init__(self, folder: Path, model: ImportedModel) -> None:
        """Load model and tokenizer; texts are normalised as the import does it, which MarianTokenizer leaves out."""
        try:
            from transformers import MarianMTModel, MarianTokenizer
        except ImportError as error:
            raise ImportRefused("check needs transformers: pip install transformers sentencepiece") from error
        self.name = f"transformers {importlib.metadata.version('transformers')}"
        self._model: Any = MarianMTModel.from_pretrained(folder, attn_implementation="eager")
        self._model.train(False)
        self._tokenizer: Any = MarianTokenizer.from_pretrained(folder)
        self._normalizers = _opus(model)
        self._prefix = [int(model.rows[0][number]) for number in model.targets[0].prefix]
        pad = int(str(self._model.config.pad_token_id))
        self._never = self._model.generation_config.bad_words_ids or [[pad]]
        self._not_scored = [pad, int(model.rows[1][UNK])]  # tokens that Marian does not have or never writes

    def encode(self, text: str) -> list[int]:
        """Return the ids of a source text without its end."""
        ids: list[int] = self._tokenizer(self._plain(text))["input_ids"][:-1]
        return ids

    def translate(self, texts: Sequence[str], decoding: DecodingDefaults) -> list[str]:
        """Return a translation of each text with these search settings, and otherwise the model's own."""
        import torch

        found: list[str] = []
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
                    max_length=min(2 * ids.shape[1] + 10, 512),  # ours, the start, and the end that it forces
                    bad_words_ids=self._never,
                )
            found.append(self._tokenizer.decode(rows[0], skip_special_tokens=True))
        return found

    def score(self, source: Ids, target: Ids) -> Scored:
        """Return log-probabilities and cross-attention of a translation."""
        import torch

        with torch.no_grad():
            found = self._model(
                input_ids=torch.tensor([list(source)]), labels=torch.tensor([list(target)]), output_attentions=True
            )
        logits = found.logits[0]
        logits[:, self._not_scored] = -1e9
        logprobs = logits.log_softmax(-1).gather(-1, torch.tensor(list(target))[:, None])[:, 0]
        return Scored(logprobs.numpy(), torch.stack(found.cross_attentions, 1)[0].numpy())

    def _plain(self, text: str) -> str:
        for normalizer in self._normalizers:
            text = normalizer.normalize_str(text)
        return text


def _opus(model: ImportedModel) -> list[Any]:
    from training.imports.subwords import opus_normalizers

    return list(opus_normalizers()) if model.origin.text_normalised else []


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


_DECISIVE = (".safetensors", ".bin", ".spm", ".model")
"""Endings of the files that make a model another one; cards and settings are edited now and then."""


@dataclass(frozen=True, slots=True)
class OriginalFiles:
    """Where the user says that the original is."""

    source: str
    """A folder, an ``.argosmodel``, or a name on the hub."""
    revision: str | None = None
    source_pieces: Path | None = None
    """The SentencePiece model of the source, for a CTranslate2 folder."""
    target_pieces: Path | None = None
    """That of the target; None: the same."""
    target: str | None = None
    """The target language to compare; None: the model's first."""


@contextmanager
def open_original(manifest: Manifest, files: OriginalFiles) -> Iterator[tuple[ImportedModel, Original]]:
    """Give the model as it was imported, and the original in its own implementation.

    Raises ImportRefused for files that cannot be read, and for others than those that the bundle was imported from.
    """
    imported = manifest.card["imported"]
    opened = {"opus-mt": _marian, "ctranslate2": _ctranslate2, "argos": _argos}[imported["format"]]
    with opened(manifest, files) as (model, original):
        _refuse_others(imported["files"], model.origin.files, files.source)
        yield towards(model, files.target), original


def _refuse_others(recorded: Mapping[str, str], found: Mapping[str, str], source: str) -> None:
    """Raise ImportRefused where weights or subwords are not those that were imported."""
    for name, checksum in recorded.items():
        if name.endswith(_DECISIVE) and found.get(name, checksum) != checksum:
            raise ImportRefused(f"{source}: its {name} is not the one that the bundle was imported from")


@contextmanager
def _marian(manifest: Manifest, files: OriginalFiles) -> Iterator[tuple[ImportedModel, Original]]:
    imported, folder = manifest.card["imported"], fetch_model(files.source, files.revision)
    options = MarianOptions(
        manifest.name,
        manifest.source_languages,
        tuple(target.language for target in manifest.targets),
        imported["positions"],
        imported["text_normalised"],
        manifest.card["data"][0]["licence"],
    )
    model = towards(read_marian(folder, options), files.target)
    yield model, MarianOriginal(folder, model)


@contextmanager
def _ctranslate2(manifest: Manifest, files: OriginalFiles) -> Iterator[tuple[ImportedModel, Original]]:
    if files.source_pieces is None:
        raise ImportRefused(f"{files.source}: its SentencePiece model is needed; give --spm, and --target-spm if any")
    folder = Path(files.source)
    options = Ctranslate2Options(
        manifest.name,
        manifest.source_languages,
        tuple(target.language for target in manifest.targets),
        files.source_pieces,
        files.target_pieces,
        manifest.card["data"][0]["licence"],
        decoding=manifest.decoding,
    )
    model = read_ctranslate2(folder, options)
    yield model, Ctranslate2Original(folder, model, files.source_pieces)


@contextmanager
def _argos(manifest: Manifest, files: OriginalFiles) -> Iterator[tuple[ImportedModel, Original]]:
    path = Path(files.source)
    with unpacked(path) as folder:
        model = read_unpacked(folder, path, manifest.name, manifest.card["data"][0]["licence"])
        yield model, Ctranslate2Original(folder / "model", model, folder / PIECES)
