"""Reads OPUS-MT models in the form of the Hugging Face hub: MarianMT checkpoints with two SentencePiece models.

What MarianMT is: post-norm, one table for source, target and output, positions with all sines before all cosines
(transformers' ``modeling_marian.py``). Training with ``--guided-alignment`` guided the first head of the last decoder
layer at the step that produces a token (marian-dev, ``transformer.h``), so alignments are read there.
"""

import re
from pathlib import Path

from training.imports.files import ImportRefused, checksums, read_optional_object, stated_licence
from training.imports.hub_folder import HubFolder
from training.imports.language_tokens import ModelLanguages, languages_of, one_pair
from training.imports.sentencepiece_file import SentencePieceModel, read_sentencepiece
from training.imports.source import ImportedModel, Origin, Positions, ReadOptions, TextSide
from training.imports.vocabulary import SpecialPieces, Vocabulary, of_one_size, read_pieces, renumber
from training.recipe import TransformerConfig

CREDIT = "OPUS-MT, Tiedemann and Thottingal 2020 (University of Helsinki)"
_NAMED = re.compile(r"opus-mt(?:-tc-(?:base|big|small))?-([A-Za-z_]{2,8})-([A-Za-z_]{2,8})$")


def read_marian(folder: Path, options: ReadOptions) -> ImportedModel:
    """Read a MarianMT model from a folder; raises ImportRefused in one sentence for what cannot be imported."""
    hub = HubFolder.read(folder, options)
    network = _network(hub, options.positions)
    models = read_sentencepiece(folder / "source.spm"), read_sentencepiece(folder / "target.spm")
    source, target = _vocabularies(hub, network, models)
    licence = stated_licence(folder, options.licence, opus=True)
    plain = options.opus_text
    origin = Origin("opus-mt", hub.name, licence, CREDIT, checksums(folder), options.positions, plain)
    sides = TextSide.of(models[0], source, plain), TextSide.of(models[1], target, plain)
    return hub.model(origin, network, _languages(hub, source), sides)


def _network(hub: HubFolder, positions: Positions) -> TransformerConfig:
    config = hub.config
    if config.get("model_type") != "marian":
        raise ImportRefused(f"{hub.where}: model_type is {config.get('model_type')!r}; 'marian' can be imported")
    for key in ("normalize_before", "normalize_embedding", "add_final_layer_norm", "add_bias_logits"):
        if config.get(key):
            raise ImportRefused(f"{hub.where}: {key} is true; MarianMT models without it can be imported")
    if config.get("static_position_embeddings", True) is False:
        raise ImportRefused(f"{hub.where}: static_position_embeddings is false; sinusoidal positions can be imported")
    return hub.network(
        {
            "norm": "post",
            "positions": "halves" if positions == "transformers" else "marian",
            "share_embeddings": bool(config.get("share_encoder_decoder_embeddings", True)),
        }
    )


def _vocabularies(
    hub: HubFolder, network: TransformerConfig, models: tuple[SentencePieceModel, SentencePieceModel]
) -> tuple[Vocabulary, Vocabulary]:
    """Return the vocabularies of source and target, of one size; the same one where the model has one."""
    path, other = hub.path / "vocab.json", hub.path / "target_vocab.json"
    pieces = read_pieces(path)
    if network.share_embeddings or not other.is_file():
        joint = hub.vocabulary(pieces, models, path, hub.rows())
        return joint, joint
    source = renumber(pieces, hub.rows(), models[:1], SpecialPieces(), path)
    return of_one_size(source, hub.vocabulary(read_pieces(other), models[1:], other, hub.rows("decoder_vocab_size")))


def _languages(hub: HubFolder, vocabulary: Vocabulary) -> ModelLanguages:
    config, where = read_optional_object(hub.path / "tokenizer_config.json"), str(hub.path)
    named = _NAMED.search(hub.path.resolve().name)
    said = named.groups() if named else (config.get("source_lang"), config.get("target_lang"))
    sources = hub.options.source or [str(said[0] or "")]
    told = languages_of(vocabulary.names, sources, hub.options.target, where)
    return told or one_pair(sources, hub.options.target or [str(said[1] or "")], where)
