"""Reads SentencePiece models (.spm, .model): pieces, scores, and how text is normalised."""

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from training.imports.files import ImportRefused

SPACE = "▁"


class PieceKind(enum.IntEnum):
    """The types of pieces in ``sentencepiece_model.proto``."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


@dataclass(frozen=True, slots=True)
class Piece:
    """One entry of a SentencePiece model."""

    text: str
    score: float
    kind: PieceKind

    @property
    def matches_text(self) -> bool:
        """Return whether text can be cut into this piece."""
        return self.kind in (PieceKind.NORMAL, PieceKind.USER_DEFINED)

    @property
    def is_used(self) -> bool:
        """Return whether a text may become this piece: it matches, or it spells a byte."""
        return self.matches_text or self.kind is PieceKind.BYTE


@dataclass(frozen=True, slots=True)
class SentencePieceModel:
    """The parts of a SentencePiece model that an import needs."""

    algorithm: Literal["unigram", "bpe"]
    pieces: tuple[Piece, ...]
    charsmap: bytes
    """The compiled normalisation rules; empty for ``identity``."""
    adds_space: bool
    """Text gets a space in front of it (``add_dummy_prefix``)."""
    removes_spaces: bool
    """Spaces at both ends and repeated spaces are removed (``remove_extra_whitespaces``)."""
    byte_fallback: bool
    """Characters without a piece are spelt in bytes."""


def read_sentencepiece(path: Path, content: bytes | None = None) -> SentencePieceModel:
    """Read a SentencePiece model; ``content``: of the file, if it is packed.

    A model of characters is one of BPE without merges. Raises ImportRefused for a file that is none, and for kinds that
    cannot be imported (word models, white space as a suffix).
    """
    proto = _parse(path, content)
    trainer, normalizer = proto.trainer_spec, proto.normalizer_spec
    algorithms: dict[int, Literal["unigram", "bpe"]] = {1: "unigram", 2: "bpe", 4: "bpe"}
    if trainer.model_type not in algorithms:
        name = {3: "word"}.get(trainer.model_type, str(trainer.model_type))
        raise ImportRefused(
            f"{path}: it is a SentencePiece model of type {name}; unigram, bpe and char can be imported"
        )
    if trainer.treat_whitespace_as_suffix:
        raise ImportRefused(f"{path}: it puts white space behind words; models that put it in front can be imported")
    if not normalizer.escape_whitespaces:
        raise ImportRefused(f"{path}: it does not write spaces as {SPACE}; models that do can be imported")
    return SentencePieceModel(
        algorithms[trainer.model_type],
        tuple(Piece(piece.piece, piece.score, PieceKind(piece.type)) for piece in proto.pieces),
        bytes(normalizer.precompiled_charsmap),
        bool(normalizer.add_dummy_prefix),
        bool(normalizer.remove_extra_whitespaces),
        any(piece.type == PieceKind.BYTE for piece in proto.pieces),
    )


_EQUAL_SCORE = -10.0
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
_MARK = re.compile(r"<.+>|>>.+<<")
"""Entries that are not text: <s>, <blank>, >>fra<<."""


def model_of_characters(vocabulary: Sequence[str]) -> SentencePieceModel | None:
    """Return a model that cuts a text into the characters of a vocabulary; None if it has other pieces, too.

    A space is written as OpenNMT writes it, and nothing stands in front of a text.
    """
    characters = [name for name in vocabulary if not _MARK.fullmatch(name)]
    if any(len(name) > 1 for name in characters):
        return None
    pieces = tuple(Piece(name, 0.0, PieceKind.NORMAL) for name in characters)
    return SentencePieceModel("bpe", pieces, b"", adds_space=False, removes_spaces=False, byte_fallback=False)


def missing_pieces(model: SentencePieceModel, vocabulary: Sequence[str]) -> list[str]:
    """Return the entries of a vocabulary that a text may hold but that this model does not cut texts into."""
    present = {piece.text for piece in model.pieces}
    return [name for name in vocabulary if name not in present and not _MARK.fullmatch(name)]


def model_of_vocabulary(model: SentencePieceModel, vocabulary: Sequence[str]) -> SentencePieceModel:
    """Return a model of all entries of a vocabulary, for a side whose own model is not at hand.

    All pieces are equally likely, so a text is cut into as few as possible; it is normalised as ``model`` says.
    """
    pieces = [piece for piece in model.pieces if not piece.is_used]
    for name in vocabulary:
        if _BYTE.fullmatch(name):
            pieces.append(Piece(name, 0.0, PieceKind.BYTE))
        elif not _MARK.fullmatch(name):
            pieces.append(Piece(name, _EQUAL_SCORE, PieceKind.NORMAL))
    byte_fallback = any(piece.kind is PieceKind.BYTE for piece in pieces)
    return replace(model, algorithm="unigram", pieces=tuple(pieces), byte_fallback=byte_fallback)


def _parse(path: Path, content: bytes | None) -> Any:
    # Imported here, as the library registers its messages with protobuf, which costs every command some time.
    from google.protobuf.message import DecodeError
    from sentencepiece import sentencepiece_model_pb2

    if not path.is_file():
        raise ImportRefused(f"{path}: there is no such file; a SentencePiece model is needed")
    proto: Any = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined]  # made when it is imported
    try:
        proto.ParseFromString(path.read_bytes() if content is None else content)
    except (DecodeError, ValueError) as error:
        raise ImportRefused(f"{path}: it is no SentencePiece model, or it is cut off") from error
    if not proto.pieces or not any(piece.type == PieceKind.UNKNOWN for piece in proto.pieces):
        raise ImportRefused(f"{path}: it holds no pieces, so it is no SentencePiece model, or it is cut off")
    return proto
