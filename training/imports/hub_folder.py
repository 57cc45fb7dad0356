"""What MarianMT, NLLB-200 and M2M-100 have in common in the form of the Hugging Face hub."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from service.bundle.manifest import AlignmentHead, DecodingDefaults
from training.export.parameters import StateArrays
from training.imports.checkpoint import read_checkpoint
from training.imports.files import ImportRefused, read_object, read_optional_object
from training.imports.language_tokens import ModelLanguages
from training.imports.sentencepiece_file import SentencePieceModel
from training.imports.source import ImportedModel, Origin, ReadOptions, TextSide
from training.imports.tensors import (
    BlockNames,
    Rows,
    TensorReader,
    layers_of,
    our_network,
    put_embeddings,
    put_norm,
)
from training.imports.vocabulary import SpecialPieces, Vocabulary, renumber
from training.networks.positions import sinusoidal_table
from training.recipe import TransformerConfig

LONGEST = 512
_ACTIVATIONS = {"relu": "relu", "swish": "swish", "silu": "swish", "gelu": "gelu"}
_BEAM_LIMIT, _PENALTY_LIMIT = 8, 5.0
"""Of the service (``MAX_BEAM_SIZE``, ``MAX_LENGTH_PENALTY``)."""


@dataclass(frozen=True, slots=True)
class HubFolder:
    """A model's folder, and what the user says of it."""

    path: Path
    options: ReadOptions
    config: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path, options: ReadOptions) -> Self:
        """Return the folder with its ``config.json``; raises ImportRefused without one."""
        return cls(path, options, read_object(path / "config.json"))

    @property
    def where(self) -> Path:
        """Return the place of the configuration."""
        return self.path / "config.json"

    @property
    def name(self) -> str:
        """Return the name of the original."""
        return str(self.config.get("_name_or_path") or self.path.resolve().name)

    def network(self, settings: Mapping[str, Any]) -> TransformerConfig:
        """Return our network's configuration, with the settings that the configuration does not have.

        Raises ImportRefused for what our Transformer is not.
        """
        config, where = self.config, self.where
        if config.get("tie_word_embeddings", True) is False:
            raise ImportRefused(
                f"{where}: tie_word_embeddings is false; models whose output layer is tied to the target's embeddings "
                "can be imported"
            )
        activation = str(config.get("activation_function"))
        if activation not in _ACTIVATIONS:
            choices = ", ".join(_ACTIVATIONS)
            raise ImportRefused(f"{where}: activation_function is {activation!r}; {choices} can be imported")
        sizes = {}
        for theirs, ours in (("attention_heads", "heads"), ("ffn_dim", "feed_forward")):
            sizes[ours], decoder = config.get(f"encoder_{theirs}"), config.get(f"decoder_{theirs}")
            if sizes[ours] != decoder:
                raise ImportRefused(
                    f"{where}: encoder_{theirs} is {sizes[ours]} and decoder_{theirs} is {decoder}; equal ones can be "
                    "imported"
                )
        common = {
            "encoder_layers": config.get("encoder_layers"),
            "decoder_layers": config.get("decoder_layers"),
            "width": config.get("d_model"),
            "dropout": config.get("dropout", 0.1),
            "activation": _ACTIVATIONS[activation],
            "scale_embedding": bool(config.get("scale_embedding", False)),
        }
        return our_network({**common, **sizes, **settings}, where)

    def rows(self, key: str = "vocab_size") -> int:
        """Return how many rows a table has."""
        return int(self.config.get(key) or self.config.get("vocab_size", 0))

    def vocabulary(
        self, pieces: Mapping[str, int], models: Iterable[SentencePieceModel], where: Path, rows: int
    ) -> Vocabulary:
        """Return the decoder's vocabulary in our order, with what its translations begin with; raises ImportRefused."""
        start = self.config.get("decoder_start_token_id")
        if not isinstance(start, int):
            raise ImportRefused(f"{self.where}: decoder_start_token_id is {start!r}; an id is needed")
        return renumber(pieces, rows, models, SpecialPieces(begin=start), where)

    def model(
        self, origin: Origin, network: TransformerConfig, languages: ModelLanguages, sides: tuple[TextSide, TextSide]
    ) -> ImportedModel:
        """Return the model, with the parameters of the folder's checkpoint; raises ImportRefused."""
        checkpoint, tensors = read_checkpoint(self.path)
        source, target = sides
        return ImportedModel(
            name=self.options.name_for(origin.format, languages),
            languages=languages,
            network=network,
            parameters=_state(network, tensors, (source.rows, target.rows), str(checkpoint)),
            source=source,
            target=target,
            origin=origin,
            alignment=AlignmentHead(network.decoder_layers - 1, 0, "produce"),
            decoding=self._decoding(),
            max_tokens=min(LONGEST, int(self.config.get("max_position_embeddings", LONGEST))),
        )

    def _decoding(self) -> DecodingDefaults:
        """Return the search settings of ``generation_config.json``, or of ``config.json`` where it has none."""
        generation = read_optional_object(self.path / "generation_config.json")
        stated = [*self.config.items(), *generation.items()]
        settings = {key: value for key, value in stated if value is not None}
        penalty, ending = settings.get("length_penalty", 1.0), settings.get("early_stopping", False)
        if not isinstance(penalty, int | float) or not 0 <= penalty <= _PENALTY_LIMIT:
            raise ImportRefused(f"{self.path}: length_penalty is {penalty!r}; it must be from 0 to {_PENALTY_LIMIT:g}")
        if not isinstance(ending, bool) and ending != "never":
            raise ImportRefused(f"{self.path}: early_stopping is {ending!r}; true, false and 'never' can be imported")
        beam_size = min(int(settings.get("num_beams") or 4), _BEAM_LIMIT)
        return DecodingDefaults(beam_size, float(penalty), early_stopping=ending, repetition_guard=False)


def _state(config: TransformerConfig, tensors: StateArrays, rows: Rows, where: str) -> StateArrays:
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
