"""Makes a library tokenizer that cuts text exactly as a SentencePiece model does, with the ids of our own order.

A SentencePiece model may know pieces that the network has no row for, and the network may have rows that this model
has no piece for (those of the other language). Both must keep their ids and stay out of reach. Such an entry is named
with a plain space in front: every space of a text has become ▁ before pieces are looked up, so it never matches.

A character that only the other language's model knows is within reach: SentencePiece gives an unknown character as it
stands, and both transformers and CTranslate2 then find its row by name.
"""

from collections.abc import Mapping, Sequence

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from training.data.subwords import UNREACHABLE
from training.imports.sentencepiece_file import SPACE, Piece, PieceKind, SentencePieceModel

_UNKNOWN_PENALTY = 10.0
"""Of SentencePiece (``kUnkPenalty``)."""


def library_tokenizer(
    model: SentencePieceModel, names: Sequence[str], unknown: int, opus_text: bool = False
) -> Tokenizer:
    """Return the tokenizer of a SentencePiece model for a vocabulary in our order.

    ``names``: the piece of every id. ``unknown``: the id of what has no piece. ``opus_text``: normalise text as
    OPUS-MT does before SentencePiece sees it.
    """
    by_text = {piece.text: piece for piece in model.pieces}
    tokenizer = Tokenizer(
        _unigram(model, names, by_text, unknown)
        if model.algorithm == "unigram"
        else _bpe(model, names, by_text, unknown)
    )
    tokenizer.normalizer = _normalizer(model, opus_text)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(
        replacement=SPACE, prepend_scheme="always" if model.adds_space else "never", split=False
    )
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return tokenizer


def entry_names(model: SentencePieceModel, names: Sequence[str]) -> list[str]:
    """Return the library's name for every id: the piece itself, or an unreachable name where no text is cut into it."""
    by_text = {piece.text: piece for piece in model.pieces}
    return [name if _reachable(model, name, by_text.get(name)) else UNREACHABLE + name for name in names]


def _reachable(model: SentencePieceModel, name: str, piece: Piece | None) -> bool:
    if piece is None:  # with byte fallback, an unknown character is spelt in bytes instead
        return len(name) == 1 and name != SPACE and not model.byte_fallback
    return piece.is_used


def _unigram(
    model: SentencePieceModel, names: Sequence[str], by_text: Mapping[str, Piece], unknown: int
) -> models.Unigram:
    # SentencePiece takes the lowest score of ordinary pieces, less 10, for what is unknown; so does the library.
    lowest = min(piece.score for piece in model.pieces if piece.kind is PieceKind.NORMAL)
    entries = []
    for name, entry in zip(names, entry_names(model, names), strict=True):
        piece = by_text.get(name)
        if piece is not None and piece.matches_text:
            score = piece.score
        else:  # what text is cut into although this model does not know it costs as much as what is unknown
            score = lowest - _UNKNOWN_PENALTY if piece is None and entry == name else lowest
        entries.append((entry, score))
    return models.Unigram(entries, unk_id=unknown, byte_fallback=model.byte_fallback)


def _bpe(model: SentencePieceModel, names: Sequence[str], by_text: Mapping[str, Piece], unknown: int) -> models.BPE:
    entries = entry_names(model, names)
    vocabulary = {entry: number for number, entry in enumerate(entries)}
    return models.BPE(
        vocab=vocabulary,
        merges=_merges(by_text),
        unk_token=entries[unknown],
        fuse_unk=True,
        byte_fallback=model.byte_fallback,
    )


def _merges(by_text: Mapping[str, Piece]) -> list[tuple[str, str]]:
    """Return the merges that a BPE model's scores stand for: the best piece first, its halves in order."""
    merges = []
    for text, piece in by_text.items():
        if not piece.matches_text:
            continue
        for cut in range(1, len(text)):
            left, right = text[:cut], text[cut:]
            if left in by_text and right in by_text and by_text[left].matches_text and by_text[right].matches_text:
                merges.append((-piece.score, -by_text[left].score, -by_text[right].score, left, right))
    return [(left, right) for *_, left, right in sorted(merges)]


def _normalizer(model: SentencePieceModel, opus_text: bool) -> normalizers.Normalizer:
    steps: list[normalizers.Normalizer] = []
    if opus_text:
        steps += opus_normalizers()
    if model.charsmap:
        steps.append(normalizers.Precompiled(model.charsmap))
    if model.removes_spaces:
        steps += [normalizers.Strip(left=False, right=True), normalizers.Replace(Regex(" {2,}"), SPACE)]
    return normalizers.Sequence(steps)


_OPUS_MARKS = {
    "”“《》「」": '"',
    "’": "'",
    "，、": ",",
    "：∶": ":",
    "？": "?",
    "！": "!",
    "；": ";",
    "）": ")",
    "（": "(",
    "～": "~",
    "━": "-",
    "〈": "<",
    "〉": ">",
    "【": "[",
    "】": "]",
    "％": "%",
    "…": "...",
}


def opus_normalizers() -> list[normalizers.Normalizer]:
    """Return what OPUS-MT's own preprocessing does to a text (``scripts/preprocess-spm.sh`` of OPUS-MT-train).

    Typographic marks become plain ones and control and format characters become spaces. MarianTokenizer of
    transformers leaves this out, so its models meet marks that they have never seen.
    """
    steps: list[normalizers.Normalizer] = [
        normalizers.Replace(Regex(f"[{marks}]"), plain) for marks, plain in _OPUS_MARKS.items()
    ]
    return [*steps, normalizers.Replace(Regex("[。．] *"), ". "), normalizers.Replace(Regex(r"[\p{Cc}\p{Cf}]"), " ")]
