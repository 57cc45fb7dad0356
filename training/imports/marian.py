"""Reads OPUS-MT models in the form of the Hugging Face hub: MarianMT checkpoints with two SentencePiece models.

What MarianMT is: post-norm, one table for source, target and output, positions with all sines before all cosines
(transformers' ``modeling_marian.py``). Training with ``--guided-alignment`` guided the first head of the last decoder
layer at the step that produces a token (marian-dev, ``transformer.h``), so alignments are read there.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from service.bundle.manifest import AlignmentHead, DecodingDefaults, TargetLanguage
from training.export.parameters import StateArrays
from training.imports.checkpoint import read_checkpoint
from training.imports.files import (
    ImportRefused,
    checksums,
    language_tag,
    read_object,
    read_optional_object,
    stated_licence,
)
from training.imports.language_tokens import ModelLanguages, languages_of
from training.imports.sentencepiece_file import SentencePieceModel, read_sentencepiece
from training.imports.source import ImportedModel, Origin, Positions, ReadOptions, TextSide
from training.imports.tensors import BlockNames, Rows, TensorReader, layers_of, put_embeddings, put_norm
from training.imports.vocabulary import SpecialPieces, Vocabulary, of_one_size, read_pieces, renumber
from training.networks.positions import sinusoidal_table
from training.recipe import RecipeError, TransformerConfig, transformer_config

CREDIT = "OPUS-MT, Tiedemann and Thottingal 2020 (University of Helsinki)"
LONGEST = 512
_NAMED = re.compile(r"opus-mt(?:-tc-(?:base|big|small))?-([A-Za-z_]{2,8})-([A-Za-z_]{2,8})$")
_ACTIVATIONS = {"relu": "relu", "swish": "swish", "silu": "swish", "gelu": "gelu"}
_BEAM_LIMIT, _PENALTY_LIMIT = 8, 5.0
"""Of the service (``MAX_BEAM_SIZE``, ``MAX_LENGTH_PENALTY``)."""


def read_marian(folder: Path, options: ReadOptions) -> ImportedModel:
    """Read a MarianMT model from a folder; raises ImportRefused in one sentence for what cannot be imported."""
    config = read_object(folder / "config.json")
    network = _network(config, options.positions, folder / "config.json")
    models = read_sentencepiece(folder / "source.spm"), read_sentencepiece(folder / "target.spm")
    checkpoint, tensors = read_checkpoint(folder)
    source, target = _vocabularies(folder, config, network, models)
    languages = _languages(folder, options, source)
    generation = read_optional_object(folder / "generation_config.json")
    return ImportedModel(
        name=options.name_for("opus-mt", languages),
        languages=languages,
        network=network,
        parameters=state_of(network, tensors, (source.rows, target.rows), str(checkpoint)),
        source=TextSide.of(models[0], source, options.opus_text),
        target=TextSide.of(models[1], target, options.opus_text),
        origin=Origin(
            "opus-mt",
            str(config.get("_name_or_path") or folder.resolve().name),
            stated_licence(folder, options.licence, opus=True),
            CREDIT,
            checksums(folder),
            options.positions,
            options.opus_text,
        ),
        alignment=AlignmentHead(network.decoder_layers - 1, 0, "produce"),
        decoding=decoding_of(config | {key: value for key, value in generation.items() if value is not None}, folder),
        max_tokens=min(LONGEST, int(config.get("max_position_embeddings", LONGEST))),
    )


def decoding_of(settings: Mapping[str, Any], where: Path) -> DecodingDefaults:
    """Return the search settings of ``generation_config.json``, or of ``config.json`` where it has none."""
    penalty, ending = settings.get("length_penalty"), settings.get("early_stopping")
    penalty, ending = 1.0 if penalty is None else penalty, False if ending is None else ending
    if not isinstance(penalty, int | float) or not 0 <= penalty <= _PENALTY_LIMIT:
        raise ImportRefused(f"{where}: length_penalty is {penalty!r}; it must be from 0 to {_PENALTY_LIMIT:g}")
    if not isinstance(ending, bool) and ending != "never":
        raise ImportRefused(f"{where}: early_stopping is {ending!r}; true, false and 'never' can be imported")
    beam_size = min(int(settings.get("num_beams") or 4), _BEAM_LIMIT)
    return DecodingDefaults(beam_size, float(penalty), early_stopping=ending, repetition_guard=False)


def _network(config: Mapping[str, Any], positions: Positions, where: Path) -> TransformerConfig:
    _refuse_other_networks(config, where)
    settings = {
        "norm": "post",
        "positions": "halves" if positions == "transformers" else "marian",
        "share_embeddings": bool(config.get("share_encoder_decoder_embeddings", True)),
    }
    return network_of(config, settings, where)


def network_of(config: Mapping[str, Any], settings: Mapping[str, Any], where: Path) -> TransformerConfig:
    """Return our network's configuration with settings of its architecture.

    Raises ImportRefused for what our Transformer is not.
    """
    if config.get("tie_word_embeddings", True) is False:
        raise ImportRefused(
            f"{where}: tie_word_embeddings is false; models whose output layer is tied to the target's embeddings can "
            "be imported"
        )
    activation = str(config.get("activation_function"))
    if activation not in _ACTIVATIONS:
        choices = ", ".join(_ACTIVATIONS)
        raise ImportRefused(f"{where}: activation_function is {activation!r}; {choices} can be imported")
    sides = [("attention_heads", "heads"), ("ffn_dim", "feed_forward")]
    sizes = {}
    for theirs, ours in sides:
        encoder, decoder = config.get(f"encoder_{theirs}"), config.get(f"decoder_{theirs}")
        if encoder != decoder:
            raise ImportRefused(
                f"{where}: encoder_{theirs} is {encoder} and decoder_{theirs} is {decoder}; equal ones can be imported"
            )
        sizes[ours] = encoder
    try:
        return transformer_config(
            {
                "encoder_layers": config.get("encoder_layers"),
                "decoder_layers": config.get("decoder_layers"),
                "width": config.get("d_model"),
                **sizes,
                "dropout": config.get("dropout", 0.1),
                "activation": _ACTIVATIONS[activation],
                "scale_embedding": bool(config.get("scale_embedding", False)),
                **settings,
            },
            str(where),
        )
    except RecipeError as error:
        raise ImportRefused(str(error)) from error


def _refuse_other_networks(config: Mapping[str, Any], where: Path) -> None:
    if config.get("model_type") != "marian":
        raise ImportRefused(f"{where}: model_type is {config.get('model_type')!r}; 'marian' can be imported")
    for key in ("normalize_before", "normalize_embedding", "add_final_layer_norm", "add_bias_logits"):
        if config.get(key):
            raise ImportRefused(f"{where}: {key} is true; MarianMT models without it can be imported")
    if config.get("static_position_embeddings", True) is False:
        raise ImportRefused(f"{where}: static_position_embeddings is false; sinusoidal positions can be imported")


def _vocabularies(
    folder: Path,
    config: Mapping[str, Any],
    network: TransformerConfig,
    models: tuple[SentencePieceModel, SentencePieceModel],
) -> tuple[Vocabulary, Vocabulary]:
    """Return the vocabularies of source and target, of one size; the same one where the model has one."""
    path, other = folder / "vocab.json", folder / "target_vocab.json"
    pieces = read_pieces(path)
    if network.share_embeddings or not other.is_file():
        joint = renumbered(pieces, config, models, path)
        return joint, joint
    source = renumber(pieces, int(config.get("vocab_size", 0)), models[:1], SpecialPieces(), path)
    target_size = config.get("decoder_vocab_size") or config.get("vocab_size")
    return of_one_size(source, renumbered(read_pieces(other), {**config, "vocab_size": target_size}, models[1:], other))


def renumbered(
    pieces: Mapping[str, int], config: Mapping[str, Any], models: Iterable[SentencePieceModel], where: Path
) -> Vocabulary:
    """Return a decoder's vocabulary in our order, with what its translations begin with; raises ImportRefused."""
    start = config.get("decoder_start_token_id")
    if not isinstance(start, int):
        raise ImportRefused(f"{where.parent / 'config.json'}: decoder_start_token_id is {start!r}; an id is needed")
    return renumber(pieces, int(config.get("vocab_size", 0)), models, SpecialPieces(begin=start), where)


def _languages(folder: Path, options: ReadOptions, vocabulary: Vocabulary) -> ModelLanguages:
    config = read_optional_object(folder / "tokenizer_config.json")
    named = _NAMED.search(folder.resolve().name)
    said = named.groups() if named else (config.get("source_lang"), config.get("target_lang"))
    sources = options.source or [str(said[0] or "")]
    where = str(folder)
    if (told := languages_of(vocabulary.names, sources, options.target, where)) is not None:
        return told
    tags = tuple(dict.fromkeys(language_tag(code, where) for code in sources))
    targets = options.target or [str(said[1] or "")]
    if len(targets) > 1:
        raise ImportRefused(f"{where}: it translates into one language, but --to names {len(targets)}")
    return ModelLanguages(tags, (TargetLanguage(language_tag(targets[0], where)),))


def state_of(config: TransformerConfig, tensors: StateArrays, rows: Rows, where: str) -> StateArrays:
    """Return our state dict; ``rows``: the checkpoint's row of every id, of the source and of the target.

    Raises ImportRefused when a tensor is missing, has another shape than the configuration says, or is left over.
    """
    reader = TensorReader(_without_positions(tensors, where), where)
    state = layers_of(config, reader, _names)
    if config.norm == "pre":
        for side in ("encoder", "decoder"):
            put_norm(state, f"{side}_norm", reader, f"model.{side}.layer_norm.{{}}", config.width)
    source, target = (f"model.{side}.embed_tokens.weight" for side in ("encoder", "decoder"))
    shared, output = "model.shared.weight", "lm_head.weight"
    tables = [[shared, source, target, output]] if config.share_embeddings else [[target, output], [source, shared]]
    put_embeddings(state, config.width, rows, reader, tables, "final_logits_bias")
    reader.refuse_rest()
    return state


def _names(side: str, number: int, block: str) -> BlockNames:
    layer = f"model.{side}.layers.{number}"
    if block == "feed_forward":
        return BlockNames(
            {"inner": [f"{layer}.fc1.{{}}"], "outer": [f"{layer}.fc2.{{}}"]}, f"{layer}.final_layer_norm.{{}}"
        )
    name = f"{layer}.{'self_attn' if block == 'attention' else 'encoder_attn'}"
    query, key, value, output = ([f"{name}.{role}_proj.{{}}"] for role in ("q", "k", "v", "out"))
    return BlockNames({"query": query, "key_value": [*key, *value], "output": output}, f"{name}_layer_norm.{{}}")


def _without_positions(tensors: StateArrays, where: str) -> StateArrays:
    """Return the tensors without position tables, which must be the usual ones."""
    tables = {name: tensor for name, tensor in tensors.items() if ".embed_positions." in name}
    for name, table in tables.items():
        # NLLB and M2M-100 say ``weights``, and their row of the padding holds zeros.
        is_fairseq = name.endswith(".weights")
        usual = sinusoidal_table(len(table), table.shape[1], "marian" if is_fairseq else "halves")
        if not np.allclose(table[2:], usual[2:], atol=1e-3):
            raise ImportRefused(f"{where}: {name} was learnt; sinusoidal positions can be imported")
    return {name: tensor for name, tensor in tensors.items() if name not in tables}
