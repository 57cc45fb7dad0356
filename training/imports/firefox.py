"""Reads Firefox's translation models: Marian students with a decoder of recurrent units and a lexical shortlist.

A piece has the id that it has in the SentencePiece model.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from service.bundle.exact_products import products_are_exact
from service.bundle.manifest import AlignmentHead, DecodingDefaults
from service.bundle.vocabulary import EOS, PAD
from training.export.shortlist import Shortlist
from training.imports.files import ImportRefused, card_licence, checksums, read_optional_object
from training.imports.firefox_file import read_content, read_model, read_shortlist
from training.imports.firefox_network import (
    aligning_layer,
    firefox_multipliers,
    firefox_state,
    network_of,
    table_names,
    with_two_tables,
)
from training.imports.language_tokens import ModelLanguages, one_pair
from training.imports.sentencepiece_file import PieceKind, SentencePieceModel, read_sentencepiece
from training.imports.source import ImportedModel, Origin, ReadOptions, TextSide
from training.imports.vocabulary import SpecialPieces, Vocabulary, of_one_size, renumber

LICENCE, CREDIT = "MPL-2.0", "Firefox Translations, Mozilla and the Bergamot project"
KEPT = (
    "The int8 graphs compute with the original's own integers, eight bits and one scale a matrix, and with its own "
    "scales of activations where it has them. On x86 they need a processor with VNNI."
)
ROUNDED = (
    "The int8 graphs have weights of seven bits with a scale for every column, whose products are exact on every "
    "processor; they are not the original's own integers."
)
TEST_SETS = ("flores",)
SEARCH = DecodingDefaults(1, 1.0, early_stopping=True, repetition_guard=False)
"""As Firefox translates: greedily, with scores divided by the length."""
_PAIR = re.compile(r"model\.([a-z]{2})([a-z]{2})\.")


def read_firefox(folder: Path, options: ReadOptions) -> ImportedModel:
    """Read a model from a folder; raises ImportRefused in one sentence for what cannot be imported."""
    metadata = read_optional_object(folder / "metadata.json")
    where = _only_file(folder, "model.*.bin")
    languages = _languages(where, metadata, options)
    file = read_model(where)
    paths = _vocabulary_paths(folder)
    if paths[0] != paths[1]:
        file = with_two_tables(file)
    network = network_of(file, where)
    models = [read_sentencepiece(path, read_content(path)) for path in paths]
    tables = [file.tensors[name] for name in table_names(network.share_embeddings)]
    source, target = of_one_size(*map(_vocabulary, models, map(len, tables), paths))
    rows = (source.rows, target.rows)
    intgemm = None
    if file.weights and not options.seven_bits and products_are_exact(onnxruntime.InferenceSession):
        intgemm = firefox_multipliers(file, network, rows, where)
    alignment = AlignmentHead(aligning_layer(file.options, network, where), 0, "produce")
    if metadata.get("hash") not in (None, hashlib.sha256(read_content(where)).hexdigest()):
        raise ImportRefused(f"{where}: its SHA-256 is not the one of metadata.json; both must be of one model")
    licence = options.licence or card_licence(folder / "README.md") or LICENCE
    origin = Origin(
        "firefox",
        where.name,
        licence,
        CREDIT,
        checksums(folder),
        "marian",
        False,
        _stated(metadata),
        ROUNDED if intgemm is None else KEPT,
    )
    return ImportedModel(
        name=options.name_for("firefox", languages),
        languages=languages,
        network=network,
        parameters=firefox_state(file, network, rows, where),
        source=TextSide.of(models[0], source),
        target=TextSide.of(models[1], target),
        origin=origin,
        alignment=alignment,
        decoding=SEARCH,
        shortlist=_shortlist(folder, models, (source, target), paths[0] == paths[1]),
        intgemm=intgemm,
    )


def _stated(metadata: Mapping[str, Any]) -> dict[str, float]:
    """Return the scores that ``metadata.json`` states, by test set and metric."""
    sets = {name: scores for name, scores in metadata.items() if isinstance(scores, dict) and name in TEST_SETS}
    return {
        f"{name} {metric}": float(score)
        for name, scores in sets.items()
        for metric, score in scores.items()
        if isinstance(score, int | float)
    }


def _only_file(folder: Path, pattern: str) -> Path:
    """Return the one file of this name, packed or not; raises ImportRefused if there is none, or a choice."""
    file = next((some for ending in ("", ".gz", ".zst") if (some := [*folder.glob(pattern + ending)])), [])
    if len(file) != 1:
        raise ImportRefused(
            f"{folder}: it has {len(file)} files {pattern}, {pattern}.gz or {pattern}.zst; one is needed"
        )
    return file[0]


def _languages(model: Path, metadata: Mapping[str, Any], options: ReadOptions) -> ModelLanguages:
    named = _PAIR.match(model.name)
    said = named.groups() if named else ("", "")
    sources = options.source or [str(metadata.get("sourceLanguage") or said[0])]
    return one_pair(sources, options.target or [str(metadata.get("targetLanguage") or said[1])], str(model))


def _vocabulary_paths(folder: Path) -> list[Path]:
    """Return the SentencePiece models of source and target: one for both, or one for each."""
    if any(folder.glob("srcvocab.*.spm*")):
        return [_only_file(folder, f"{side}vocab.*.spm") for side in ("src", "trg")]
    return [_only_file(folder, "vocab.*.spm")] * 2


def _vocabulary(model: SentencePieceModel, rows: int, where: Path) -> Vocabulary:
    """Return a vocabulary in our order; padding, and what stands in front of the target, have a row of zeros."""
    pieces = {piece.text: number for number, piece in enumerate(model.pieces)}
    if len(model.pieces) > rows:
        raise ImportRefused(f"{where}: it has {len(model.pieces)} pieces, but the network has {rows} embeddings")
    unknown = next(piece.text for piece in model.pieces if piece.kind is PieceKind.UNKNOWN)
    return renumber(pieces, rows, [model], SpecialPieces(None, unk=unknown), where)


def _shortlist(
    folder: Path, models: Sequence[SentencePieceModel], vocabularies: tuple[Vocabulary, Vocabulary], shared: bool
) -> Shortlist | None:
    """Return the file's shortlist in our ids; None if there is none.

    The candidates are those of the file: its first pieces, the lists of the source's pieces and, with one vocabulary,
    these pieces themselves. Marian fills up the list of a batch to a multiple of eight; ours is a sentence's own.
    """
    if not [*folder.glob("lex.*.bin*")]:
        return None
    source, target = vocabularies
    sizes = [len(model.pieces) for model in models]
    file = read_shortlist(_only_file(folder, "lex.*.bin"), *sizes)
    ours = np.full(sizes[1], PAD, np.uint16)
    for number in target.producible(models[1]).tolist():
        ours[target.rows[number]] = number
    lists = [ours[file.targets[begin:end]] for begin, end in zip(file.offsets, file.offsets[1:], strict=False)]
    likely = np.full((len(source), max(map(len, lists)) + 1), PAD, np.uint16)
    for number, row in enumerate(source.rows.tolist()):
        if number >= EOS and row < len(lists):
            likely[number, 0] = ours[row] if shared else PAD
            likely[number, 1 : len(lists[row]) + 1] = lists[row]
    always = np.union1d(ours[: file.first], [EOS]).astype(np.uint16)
    return Shortlist(always[always != PAD], likely)
