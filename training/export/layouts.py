"""The layouts of both networks' parameters in their graphs."""

import math

import numpy as np
import numpy.typing as npt

from training.export.parameters import POSITIONS, Layout, Part, linear
from training.recipe import BahdanauConfig, TransformerConfig

EMBEDDING, SOURCE_EMBEDDING, TARGET_EMBEDDING = "embedding", "source.embedding", "target.embedding"
"""The Transformer's table, and the source's own one if it has one."""
SOURCE, TARGET, OUTPUT = "source_embedding", "target_embedding", "output"
"""The tables of a recurrent network; with tied embeddings all are the first one."""
STATE = "decoder.state"
"""The matrix of all products with the decoder's top state: gates, query, centre."""
TRANSITION = {"ih": "transition.input", "hh": "transition.hidden"}
"""The first half of a conditional GRU, by PyTorch's kind of matrix."""
QUERY_ENERGY, KEY_ENERGY = "attention.score.query.energy", "attention.score.key.energy"
"""The two halves of the linear score."""

Order = npt.NDArray[np.int64]


def layout_of(config: TransformerConfig | BahdanauConfig) -> Layout:
    """Return the layout of a network's parameters."""
    return _transformer(config) if isinstance(config, TransformerConfig) else _bahdanau(config)


def embedding_scale(config: TransformerConfig) -> float:
    """Return the factor of embeddings: √d (section 3.4) or 1."""
    return math.sqrt(config.width) if config.scale_embedding else 1.0


def position_table(config: TransformerConfig) -> str:
    """Return the name of the vectors that are added to embeddings; learned ones are parameters."""
    return "learned_positions" if config.positions == "learned" else POSITIONS


def looked_up(config: TransformerConfig, side: str) -> str:
    """Return the name of the table that the tokens of one side are looked up in."""
    if side == "encoder":
        return EMBEDDING if config.share_embeddings else SOURCE_EMBEDDING
    return EMBEDDING if config.tie_output else TARGET_EMBEDDING


def relative_name(layer: int) -> str:
    """Return the name of the vectors of the distances in an encoder layer."""
    return f"encoder.{layer}.attention.relative"


def past_layer(config: TransformerConfig, side: str) -> str:
    """Return the name of the sub-layer that combines the positions of one side."""
    return "ssru" if side == "decoder" and config.decoder == "ssru" else "attention"


def norm_names(config: TransformerConfig, side: str) -> list[str]:
    """Return the LayerNorms of ``encoder`` or ``decoder`` in the order of computation."""
    layers = config.encoder_layers if side == "encoder" else config.decoder_layers
    between = ["cross_frame"] if side == "decoder" else []
    frames = [f"{past_layer(config, side)}_frame", *between, "feed_forward_frame"]
    names = [f"{side}.{i}.{frame}.norm" for i in range(layers) for frame in frames]
    return [*names, f"{side}_norm"] if config.norm == "pre" else names


def _transformer(config: TransformerConfig) -> Layout:
    """Return the layout with one matrix for q, k and v of self-attention, and embeddings times √d (section 3.4)."""
    matrices: dict[str, list[Part]] = {}
    for side, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        cross = ["cross.query", "cross.key_value", "cross.output"] if side == "decoder" else []
        for name in (f"{side}.{i}" for i in range(layers)):
            prefix = f"{name}.{past_layer(config, side)}"
            if prefix.endswith("ssru"):
                candidate = linear(f"{prefix}.candidate", config.width, biased=False)
                matrices[f"{prefix}.gates"] = [candidate, linear(f"{prefix}.forget")]
            else:
                matrices[f"{prefix}.qkv"] = [linear(f"{prefix}.query", config.width), linear(f"{prefix}.key_value")]
                matrices[f"{prefix}.output"] = [linear(f"{prefix}.output")]
            for part in (*cross, "feed_forward.inner", "feed_forward.outer"):
                matrices[f"{name}.{part}"] = [linear(f"{name}.{part}")]
    norms = [f"{norm}.{part}" for side in ("encoder", "decoder") for norm in norm_names(config, side)
             for part in ("weight", "bias")]  # fmt: skip
    tables = {"embedding.weight": EMBEDDING}
    if not config.share_embeddings:
        tables["source_embedding.weight"] = SOURCE_EMBEDDING
    if not config.tie_output:
        tables["target_embedding.weight"] = TARGET_EMBEDDING
    vectors = {norm: norm for norm in norms}
    if config.positions == "learned":
        vectors[position_table(config)] = "positions"
    if config.positions == "relative":
        vectors |= {name: name for name in map(relative_name, range(config.encoder_layers))}
    return Layout(matrices, tables, vectors, "output_bias", embedding_scale(config))


def _bahdanau(config: BahdanauConfig) -> Layout:
    """Return the layout with one matrix for all products with the decoder's top state."""
    matrices = _encoder(config)
    if config.start == "bridge":
        matrices["bridge"] = [linear("bridge")]
    order = _gates(config, config.decoder_hidden)
    if config.conditional:
        for kind, name in TRANSITION.items():
            matrices[name] = [_cell("transition.", kind, "", order)]
    for layer in range(config.decoder_layers):
        top = layer == config.decoder_layers - 1
        matrices[f"decoder.{layer}.input"] = [_cell(f"cells.{layer}.", "ih", "", order)]
        hidden = [_cell(f"cells.{layer}.", "hh", "", order)]
        matrices[STATE if top else f"decoder.{layer}.hidden"] = [*hidden, *_query(config)] if top else hidden
    if config.attention != "none" and config.score in ("additive", "general"):
        matrices["keys"] = [linear("attention.score.key")]
    if config.output == "deep":  # maxout: the first of every pair, then the second of every pair
        pairs = np.arange(2 * config.output_size).reshape(-1, 2).T.ravel()
        matrices["deep_output"] = [linear("deep_output.mix", order=pairs)]
    tied = config.tie_embeddings
    tables = {
        "source_embedding.weight": SOURCE,
        "target_embedding.weight": SOURCE if tied else TARGET,
        "output.weight": SOURCE if tied else OUTPUT,
    }
    return Layout(matrices, tables, _energies(config), "output.bias")


def _gates(config: BahdanauConfig, units: int) -> Order:
    """Return the network's rows of the gates in the graphs' order: of an LSTM i, f, o, g, in PyTorch i, f, g, o."""
    blocks = [0, 1, 2] if config.cell == "gru" else [0, 1, 3, 2]
    return np.concatenate([np.arange(units) + block * units for block in blocks])


def _cell(prefix: str, kind: str, suffix: str, order: Order) -> Part:
    return Part(f"{prefix}weight_{kind}{suffix}", f"{prefix}bias_{kind}{suffix}", order=order)


def _encoder(config: BahdanauConfig) -> dict[str, list[Part]]:
    if config.encoder == "convolutional":
        layers = {f"encoder.{i}.convolution": f"encoder.layers.{i}" for i in range(config.encoder_layers)}
        return {matrix: [linear(name)] for matrix, name in {"encoder.project": "encoder.project", **layers}.items()}
    order, matrices = _gates(config, config.encoder_hidden), {}
    for layer in range(config.encoder_layers):
        cells = [f"_l{layer}{direction}" for direction in (["", "_reverse"] if config.bidirectional else [""])]
        matrices[f"encoder.{layer}.input"] = [_cell("encoder.rnn.", "ih", cell, order) for cell in cells]
        for direction, cell in enumerate(cells):
            matrices[f"encoder.{layer}.hidden_{direction}"] = [_cell("encoder.rnn.", "hh", cell, order)]
    return matrices


def _query(config: BahdanauConfig) -> list[Part]:
    """Return the maps by which attention multiplies the decoder's state."""
    parts: list[Part] = []
    if config.attention != "none" and config.score == "additive":
        parts.append(linear("attention.score.query", config.attention_size, biased=False))
    if config.attention == "local":
        parts.append(linear("attention.centre.hidden", biased=False))
    return parts


def _energies(config: BahdanauConfig) -> dict[str, str]:
    """Return the vectors of attention: their names in the graphs, with the network's own names."""
    energies = {}
    if config.attention != "none" and config.score == "additive":
        energies["attention.score.energy"] = "attention.score.energy.weight"
    if config.attention != "none" and config.score == "concat":
        energies |= {QUERY_ENERGY: "attention.score.query.weight", KEY_ENERGY: "attention.score.key.weight"}
    if config.attention == "local":
        energies["attention.centre.energy"] = "attention.centre.energy.weight"
    return energies
