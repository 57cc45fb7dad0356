"""Runs the embedding model: texts in; vectors, attention and classes out."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from service.bundle.embedding import (
    EMBEDDING_GRAPH,
    EMBEDDING_TOKENIZER,
    EmbeddingManifest,
    has_embedding_model,
    load_embedding_bundle,
)
from service.bundle.vocabulary import read_tokenizer, visible_range
from service.engine import BundleCorrupt, InputTooLong, Token, check_text

Floats = npt.NDArray[np.float32]

FOLDER = "sentence"  # of the folder of models
BATCH_TOKENS = 4096
"""Most tokens of one run, including padding."""


class TextTooLong(InputTooLong):
    """A text has more tokens than the model reads."""

    code = InputTooLong.code


@dataclass(frozen=True, slots=True)
class Embedded:
    """The model's outputs for one text."""

    embedding: Floats
    """[D], of length 1."""
    attention: Floats
    """A [r, n]: a row is one hop, a column one token, the last of which is </s>; rows sum to 1."""
    languages: Floats
    """Probabilities, in the order of the manifest's languages."""
    domains: Floats
    """Probabilities, in the order of the manifest's domains."""


class Embedder:
    """A loaded model; its methods can be called from several threads."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        """Load the bundle of a folder; raise BundleError."""
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
        import onnxruntime  # late: a process that serves no such model saves its memory

        bundle = load_embedding_bundle(folder)
        self.manifest: EmbeddingManifest = bundle.manifest
        self.digest = bundle.digest
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.enable_mem_pattern = False
        options.log_severity_level = 3
        try:
            self._library = read_tokenizer(folder / EMBEDDING_TOKENIZER)
            self._session = onnxruntime.InferenceSession(
                str(folder / EMBEDDING_GRAPH), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # both libraries raise classes of their own
            raise BundleCorrupt(f"{folder}: the embedding model cannot be loaded ({error}).") from error

    def embed(self, texts: Sequence[str], truncate: bool = False) -> list[Embedded]:
        """Return the outputs for texts, in their order; texts of similar length share a run.

        A text alone or among others has the same numbers within 1e-6. Raise TextTooLong unless `truncate` cuts long
        texts, InvalidText for lone surrogates.
        """
        rows = [self._encode(text, number, truncate) for number, text in enumerate(texts)]
        found: dict[int, Embedded] = {}
        for chunk in batches([len(row) for row in rows]):
            found.update(zip(chunk, self._run([rows[place] for place in chunk]), strict=True))
        return [found[place] for place in range(len(rows))]

    def tokens(self, text: str) -> tuple[Token, ...]:
        """Return the tokens of a text with their ranges in it, </s> last: the columns of its attention."""
        check_text(text)
        encoding = self._library.encode(text, add_special_tokens=False)
        result = []
        for number, piece, span in zip(encoding.ids, encoding.tokens, encoding.offsets, strict=True):
            start, end = visible_range(text, *span)
            result.append(Token(number, piece, text[start:end], start, end))
        end_token = Token(self.manifest.end, "</s>", "", len(text), len(text), "</s>")
        return (*result, end_token)

    def _encode(self, text: str, number: int, truncate: bool) -> list[int]:
        check_text(text)
        ids = self._library.encode(text, add_special_tokens=False).ids
        most = self.manifest.max_tokens - 1
        if len(ids) > most and not truncate:
            which = f"inputs[{number}]" if number else "The text"
            raise TextTooLong(
                f"{which} has {len(ids)} tokens; the embedding model reads at most {most}. Send sentences, "
                "or let the end of long texts be ignored with truncate=true."
            )
        return [*ids[:most], self.manifest.end]

    def _run(self, rows: Sequence[Sequence[int]]) -> Iterator[Embedded]:
        lengths = np.array([len(row) for row in rows], np.int64)
        ids = np.zeros((len(rows), int(lengths.max())), np.int64)
        ids[np.arange(ids.shape[1]) < lengths[:, None]] = np.concatenate([np.asarray(row) for row in rows])
        embeddings, attention, languages, domains = self._session.run(None, {"ids": ids, "lengths": lengths})
        for row, length in enumerate(lengths.tolist()):
            yield Embedded(embeddings[row], attention[row, :, :length], np.exp(languages[row]), np.exp(domains[row]))


def embedder_in(models: Path) -> Embedder | None:
    """Return the embedding model of a folder of models, None if it has none; raise BundleError."""
    folder = models / FOLDER
    return Embedder(folder) if has_embedding_model(folder) else None


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield groups of rows of similar length, none with more than BATCH_TOKENS tokens in its rectangle."""
    chunk: list[int] = []
    for row in sorted(range(len(lengths)), key=lambda row: lengths[row]):
        if chunk and (len(chunk) + 1) * lengths[row] > BATCH_TOKENS:
            yield chunk
            chunk = []
        chunk.append(row)
    if chunk:
        yield chunk
