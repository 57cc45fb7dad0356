"""Puts a checkpoint's vocabulary into our own order, in which padding, <s> and </s> come first.

Networks, graphs and search count on ``<pad>`` 0, ``<s>`` 1, ``</s>`` 2; ``<unk>`` is 3. Pieces that a SentencePiece
model knows and the checkpoint has no row for stand at the end: they have the row of ``<unk>``.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from service.bundle.vocabulary import BOS, EOS, PAD
from training.imports.files import ImportRefused, read_object
from training.imports.sentencepiece_file import SentencePieceModel

UNK = 3
OWN = ("<pad>", "<s>", "</s>", "<unk>")
"""The first names of our order."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A vocabulary in our order."""

    names: tuple[str, ...]
    """The piece of every id."""
    rows: npt.NDArray[np.int64]
    """The checkpoint's row of every id."""

    def __len__(self) -> int:
        return len(self.names)

    def producible(self, model: SentencePieceModel) -> npt.NDArray[np.int64]:
        """Return the ids that a translation may hold: </s> and the pieces that text of this model is cut into."""
        cut = {piece.text for piece in model.pieces if piece.is_used}
        numbers = [EOS, *(number for number, name in enumerate(self.names) if name in cut and self._has_row(number))]
        return np.array(sorted(set(numbers)), np.int64)

    def scored(self) -> npt.NDArray[np.int64]:
        """Return the ids that the original scores as we do: </s>, and all that have a row of their own."""
        mask = ~np.isin(self.rows, self.rows[[PAD, BOS, UNK]])
        mask[EOS] = True
        return np.flatnonzero(mask)

    def id_of(self, token: str, where: Path) -> int:
        """Return the id of a token with which the texts of a side begin; raises ImportRefused if it has none."""
        if token not in self.names:
            raise ImportRefused(f"{where}: texts begin with {token}, but its vocabulary does not have it")
        return self.names.index(token, EOS if token == "<s>" else 0)

    def _has_row(self, number: int) -> bool:
        return number not in (PAD, BOS, UNK) and bool(self.rows[number] != self.rows[UNK])


@dataclass(frozen=True, slots=True)
class SpecialPieces:
    """The names of a checkpoint's special pieces."""

    pad: str | None = "<pad>"
    """None: padding has a row of zeros, which stands behind the last one."""
    eos: str = "</s>"
    unk: str = "<unk>"
    begin: int | None = None
    """The row of the decoder's first token; None: that of the padding."""


def read_pieces(path: Path) -> dict[str, int]:
    """Read a ``vocab.json``: the id of every piece; raises ImportRefused."""
    content = read_object(path)
    if not all(isinstance(number, int) for number in content.values()):
        raise ImportRefused(f"{path}: an id for every piece is needed")
    if len(set(content.values())) != len(content) or min(content.values(), default=0) < 0:
        raise ImportRefused(f"{path}: two pieces have the same id, or an id is negative")
    return content


def read_list(path: Path) -> list[str]:
    """Read a vocabulary whose order is that of its ids: a JSON list, or a piece a line; raises ImportRefused."""
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text) if path.suffix == ".json" else text.removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ImportRefused(f"{path}: it cannot be read as a vocabulary ({error})") from error
    if not isinstance(content, list) or not all(isinstance(piece, str) for piece in content):
        raise ImportRefused(f"{path}: a list of pieces is needed")
    if len(set(content)) != len(content):
        raise ImportRefused(f"{path}: a piece stands in it twice")
    return content


def renumber(
    pieces: Mapping[str, int], rows: int, models: Iterable[SentencePieceModel], special: SpecialPieces, where: Path
) -> Vocabulary:
    """Return the vocabulary in our order.

    ``rows``: how many the checkpoint's table has. ``models``: the SentencePiece models that cut texts into its pieces.
    Raises ImportRefused for a vocabulary without special pieces, or with ids that the table has no row for.
    """
    leading = [name for name in (special.pad, special.eos, special.unk) if name is not None]
    for name in leading:
        if name not in pieces:
            raise ImportRefused(f"{where}: {name} is missing from the vocabulary")
    if max(pieces.values()) >= rows:
        raise ImportRefused(f"{where}: it has ids up to {max(pieces.values())}, but the network has {rows} embeddings")
    if special.begin is not None and not 0 <= special.begin < rows:
        raise ImportRefused(f"{where}: the decoder starts with id {special.begin}, but there are {rows} embeddings")
    placed = set(leading)
    rest = sorted((number, name) for name, number in pieces.items() if name not in placed)
    texts = {piece.text for model in models for piece in model.pieces if piece.is_used}
    extra = sorted(texts - set(pieces))
    pad = rows if special.pad is None else pieces[special.pad]
    first = (pad, pad if special.begin is None else special.begin, pieces[special.eos], pieces[special.unk])
    order = [*first, *(number for number, _ in rest), *([pieces[special.unk]] * len(extra))]
    names = [*OWN, *(f"{name} (original)" if name in OWN else name for _, name in rest), *extra]
    return Vocabulary(tuple(names), np.array(order, np.int64))


def of_one_size(source: Vocabulary, target: Vocabulary) -> tuple[Vocabulary, Vocabulary]:
    """Return both filled up to one size with entries that nothing is cut into, whose row is that of <pad>."""
    size = max(len(source), len(target))

    def filled(one: Vocabulary) -> Vocabulary:
        missing = size - len(one)
        names = (*one.names, *(f"<empty {place}>" for place in range(missing)))
        return Vocabulary(names, np.append(one.rows, np.full(missing, one.rows[PAD])))

    return filled(source), filled(target)
