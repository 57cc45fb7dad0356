"""Reads folders that CTranslate2 converted: ``model.bin``, vocabularies, and their SentencePiece models.

Our Transformer supports CTranslate2's with pre-norm or post-norm and a table of positions. Other variants (relative or
rotary positions, gates, RMS norms) are refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from service.bundle.checksums import checksum_of
from service.bundle.manifest import AlignmentHead, DecodingDefaults
from training.imports.ctranslate2_file import ModelFile, ctranslate2_state, read_model_file
from training.imports.ctranslate2_positions import LONGEST, positions_of
from training.imports.files import ImportRefused, checksums, read_optional_object, stated_licence
from training.imports.language_tokens import ModelLanguages, languages_of, one_pair
from training.imports.sentencepiece_file import (
    SentencePieceModel,
    missing_pieces,
    model_of_characters,
    model_of_vocabulary,
    read_sentencepiece,
)
from training.imports.source import ImportedModel, Origin, ReadOptions, TextSide
from training.imports.tensors import Array, our_network
from training.imports.vocabulary import SpecialPieces, Vocabulary, of_one_size, read_list, renumber
from training.recipe import TransformerConfig

SEARCH = DecodingDefaults(early_stopping=True, repetition_guard=False)
"""CTranslate2 ends a search when as many hypotheses are finished as the beam is wide (``decoding.cc``), and lets a
translation repeat itself."""
MODEL = "model.bin"
SOURCE_PIECES = "source.spm", "sentencepiece.model", "sentencepiece.bpe.model", "spm.model"
TARGET_PIECES = "target.spm"
"""Names of SentencePiece models that people put beside a model."""
_ACTIVATIONS = {0: "relu", 2: "swish", 3: "gelu"}
"""By CTranslate2's ``Activation``."""
_SETTINGS = {
    "encoder/num_heads", "encoder/pre_norm", "encoder/activation", "encoder/embeddings_merge",
    "encoder/scale_embeddings", "encoder/multi_query_attention",
    "decoder/num_heads", "decoder/pre_norm", "decoder/activation", "decoder/scale_embeddings",
    "decoder/alignment_layer", "decoder/alignment_heads", "decoder/start_from_zero_embedding",
    "decoder/alibi", "decoder/alibi_use_positive_positions", "decoder/scale_alibi", "decoder/scale_outputs",
    "decoder/multi_query_attention",
}  # fmt: skip


def read_ctranslate2(folder: Path, options: ReadOptions) -> ImportedModel:
    """Read a CTranslate2 model from a folder; raises ImportRefused in one sentence for what cannot be imported."""
    if options.spm is None:
        beside = folder / TARGET_PIECES if (folder / TARGET_PIECES).is_file() else None
        options = replace(options, spm=source_pieces(folder), target_spm=options.target_spm or beside)
    where = folder / MODEL
    file = read_model_file(where)
    config = file.config | read_optional_object(folder / "config.json")
    network = network_of(file, config, where)
    models = _sentencepiece_models(folder, options)
    shared = network.share_embeddings
    source, target = _vocabularies(folder, config, file, models, shared)
    languages = _languages(folder, options, config, (source, target))
    side, one = TextSide.of(models[0], source), models[0] is models[1] and source is target
    layer = int(file.options.get("decoder/alignment_layer", -1))
    parameters = ctranslate2_state(file, network, (source.rows, target.rows), where)
    table = positions_of(file.weights, network.width, where)[1]
    if table is not None:
        parameters["positions"] = np.concatenate([table, np.zeros((LONGEST - len(table), network.width), np.float32)])
    return ImportedModel(
        name=options.name_for("ctranslate2", languages),
        languages=languages,
        network=network,
        parameters=parameters,
        source=side,
        target=side if one else TextSide.of(models[1], target),
        origin=_origin(folder, options, network.positions),
        alignment=AlignmentHead(layer % network.decoder_layers, 0, "produce"),
        decoding=SEARCH,
        max_tokens=LONGEST if table is None else len(table),
        source_end=bool(config.get("add_source_eos", False)) or _is_marian(file) or bool(languages.source_prefixes),
    )


def source_pieces(folder: Path) -> Path | None:
    """Return the SentencePiece model of the source that stands beside a model."""
    return next((folder / name for name in SOURCE_PIECES if (folder / name).is_file()), None)


def _languages(
    folder: Path, options: ReadOptions, config: Mapping[str, Any], vocabularies: tuple[Vocabulary, Vocabulary]
) -> ModelLanguages:
    """Return the languages, with the tokens that name them or with which every source or translation begins."""
    where, first = str(folder), str(config.get("bos_token", "<s>"))
    source, target = vocabularies
    prefix = (source.id_of(first, folder),) if config.get("add_source_bos") else ()
    begin = (target.id_of(options.begin, folder),) if options.begin else ()
    if not (prefix or begin):
        told = languages_of(source.names, options.source, options.target, where)
        if told is not None and told.sources:
            return told
    if not (options.source and options.target):
        raise ImportRefused(f"{folder}: a CTranslate2 model does not say its languages; give --from and --to")
    return one_pair(options.source, options.target, where, prefix, begin)


def _origin(folder: Path, options: ReadOptions, positions: str) -> Origin:
    """Return where the model comes from, with the checksums of all files that were read."""
    models = (path for path in (options.spm, options.target_spm) if path)
    return Origin(
        "ctranslate2",
        folder.resolve().name,
        stated_licence(folder, options.licence),
        options.credit or "not stated",
        checksums(folder) | {path.name: checksum_of(path) for path in models},
        positions,
        False,
    )


_MOST_MISSING = 0.05
"""Share of a vocabulary that its one SentencePiece model may lack: language tokens, fillers up to a round size."""


def _sentencepiece_models(folder: Path, options: ReadOptions) -> list[SentencePieceModel]:
    """Return the models of source and target.

    Argos packages of OPUS-MT models hold the source's model only, which cuts texts into half of the vocabulary; the
    other half are the target's pieces.
    """
    lists = piece_lists(folder)
    if options.spm is None:
        models = [model for pieces in lists[:2] if (model := model_of_characters(pieces))]
        if len(models) < 2:
            raise ImportRefused(
                f"{folder}: its SentencePiece model is not in it; give --spm, and --target-spm if it has two"
            )
        return models
    source, vocabulary = read_sentencepiece(options.spm), lists.target
    if options.target_spm is not None:
        return [source, read_sentencepiece(options.target_spm)]
    if len(missing_pieces(source, vocabulary)) <= _MOST_MISSING * len(vocabulary):
        return [source, source]
    return [source, model_of_vocabulary(source, vocabulary)]


def _is_marian(file: ModelFile) -> bool:
    """Return whether the model was converted from transformers' MarianMT, whose callers append </s> themselves."""
    return bool(file.options.get("decoder/start_from_zero_embedding", 0))


def network_of(file: ModelFile, config: Mapping[str, Any], where: Path) -> TransformerConfig:
    """Return our network's configuration; raises ImportRefused for what our Transformer is not."""
    _refuse_other_networks(file, config, where)
    options, weights = file.options, file.weights
    pairs = {key: (options.get(f"encoder/{key}"), options.get(f"decoder/{key}")) for key in _BOTH}
    for key, (encoder, decoder) in pairs.items():
        if encoder != decoder:
            raise ImportRefused(
                f"{where}: {key} is {encoder} in the encoder and {decoder} in the decoder; equal ones can be imported"
            )
    table, output = weights.get("decoder/embeddings/weight"), weights.get("decoder/projection/weight")
    if table is None or "decoder/layer_0/ffn/linear_0/weight" not in weights:
        raise ImportRefused(f"{where}: it has no decoder of embeddings and layers, so it is no translator")
    activation = int(options.get("encoder/activation", 0))
    if activation not in _ACTIVATIONS:
        known = ", ".join(_ACTIVATIONS.values())
        raise ImportRefused(f"{where}: it uses CTranslate2's activation {activation}; {known} can be imported")
    scale, width = options.get("encoder/scale_embeddings", 1.0), table.shape[1]
    if abs(scale - 1) > 1e-6 and abs(scale - width**0.5) > 1e-3:
        raise ImportRefused(
            f"{where}: embeddings are multiplied by {scale:g}; 1 or the root of {width} can be imported"
        )
    source = weights.get("encoder/embeddings_0/weight")
    settings = {
        "encoder_layers": _layers(weights, "encoder"),
        "decoder_layers": _layers(weights, "decoder"),
        "width": width,
        "heads": int(options.get("encoder/num_heads", 8)),
        "feed_forward": weights["decoder/layer_0/ffn/linear_0/weight"].shape[0],
        "norm": "pre" if options.get("encoder/pre_norm", 1.0) else "post",
        "norm_epsilon": config.get("layer_norm_epsilon") or 1e-5,
        "activation": _ACTIVATIONS[activation],
        "positions": positions_of(weights, width, where)[0],
        "scale_embedding": abs(scale - 1) > 1e-6,
        "tie_output": (tied := output is None or np.array_equal(output, table)),
        "share_embeddings": tied and (source is None or np.array_equal(source, table)),
    }
    return our_network(settings, where)


_BOTH = ("num_heads", "pre_norm", "activation", "scale_embeddings")
"""Settings that must be equal on both sides, because our Transformer has only one of each."""


def _refuse_other_networks(file: ModelFile, config: Mapping[str, Any], where: Path) -> None:
    if file.specification != "TransformerSpec":
        raise ImportRefused(f"{where}: it is a {file.specification}; TransformerSpec (a translator) can be imported")
    if config.get("quantization_type") not in (None, "", 0):
        kind = config["quantization_type"]
        raise ImportRefused(f"{where}: its weights are packed ({kind}); float, int8 and int16 can be imported")
    for name, value in file.options.items():
        known = name in _SETTINGS or (not value and name.endswith(_UNUSED))
        if not known or ("alibi" in name and "positive" not in name and value and name != "decoder/scale_alibi"):
            raise ImportRefused(f"{where}: it uses {name}, which our Transformer does not have")
    if file.options.get("encoder/multi_query_attention"):
        raise ImportRefused(f"{where}: it uses multi-query attention, which our Transformer does not have")
    for name in file.weights:
        if any(part in name for part in _FOREIGN):
            raise ImportRefused(f"{where}: it has {name}, which our Transformer does not have")
        if name.endswith("layer_norm/gamma") and f"{name.removesuffix('gamma')}beta" not in file.weights:
            raise ImportRefused(f"{where}: {name} has no beta, so it uses RMS norms; LayerNorm can be imported")


_UNUSED = ("/with_relative_position", "/layernorm_embedding")
"""Flags of older files."""
_FOREIGN = ("relative_position", "relative_attention", "rotary", "linear_0_noact", "layernorm_embedding", "project_in",
            "project_out", "embeddings_1", "_norm_2", "post_")  # fmt: skip


def _layers(weights: Mapping[str, Array], side: str) -> int:
    return len({name.split("/")[1] for name in weights if name.startswith(f"{side}/layer_")} - {"layer_norm"})


def _vocabularies(
    folder: Path,
    config: Mapping[str, Any],
    file: ModelFile,
    models: Sequence[SentencePieceModel],
    shared: bool,
) -> tuple[Vocabulary, Vocabulary]:
    start = config.get("decoder_start_token", "<s>")
    if start is None and not _is_marian(file):
        raise ImportRefused(
            f"{folder}: the first token that its decoder reads is chosen by the caller (mBART-25); models that always "
            "begin with the same one can be imported"
        )
    begin = None if _is_marian(file) else str(start)
    source_list, target_list, joined = piece_lists(folder)
    size = len(file.weights["decoder/embeddings/weight"])
    if joined or (shared and source_list == target_list):
        joint = _renumbered(source_list, size, models, begin, config, folder)
        return joint, joint
    sizes = len(file.weights.get("encoder/embeddings_0/weight", file.weights["decoder/embeddings/weight"])), size
    source = _renumbered(source_list, sizes[0], models[:1], None, config, folder)
    target = _renumbered(target_list, sizes[1], models[1:], begin, config, folder)
    return of_one_size(source, target)


def _renumbered(
    pieces: Sequence[str], rows: int, models: Sequence[SentencePieceModel], begin: str | None,
    config: Mapping[str, Any], where: Path,
) -> Vocabulary:  # fmt: skip
    """Return a vocabulary in our order; padding, and the start of a Marian model, have a row of zeros."""
    ids = {piece: number for number, piece in enumerate(pieces)}
    eos, unk = str(config.get("eos_token", "</s>")), str(config.get("unk_token", "<unk>"))
    if unk not in ids and rows == len(ids) + 1:
        ids[unk] = len(ids)  # as CTranslate2 does for models of OpenNMT-tf
    if begin is not None and begin not in ids:
        raise ImportRefused(f"{where}: the decoder starts with {begin}, which its vocabulary does not have")
    return renumber(ids, rows, models, SpecialPieces(None, eos, unk, None if begin is None else ids[begin]), where)


class PieceLists(NamedTuple):
    """The pieces of a folder's vocabularies, in the order of their ids."""

    source: list[str]
    target: list[str]
    shared: bool
    """Whether one file holds both."""


def piece_lists(folder: Path) -> PieceLists:
    """Read a folder's vocabularies; raises ImportRefused when they are missing or cannot be read."""
    shared, source, target = (_list(folder, name) for name in ("shared", "source", "target"))
    if shared is not None:
        return PieceLists(shared, shared, True)
    if source is None or target is None:
        raise ImportRefused(f"{folder}: shared_vocabulary.json, or one for source and one for target, is needed")
    return PieceLists(source, target, False)


def _list(folder: Path, name: str) -> list[str] | None:
    paths = [folder / f"{name}_vocabulary.{ending}" for ending in ("json", "txt")]
    path = next((path for path in paths if path.is_file()), None)
    return None if path is None else read_list(path)
