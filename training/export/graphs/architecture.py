"""The parts of export that depend on the architecture; the rest of the package works with any of them."""

from training.export.graphs.bahdanau import BahdanauGraphs
from training.export.graphs.precision import Arithmetic
from training.export.graphs.transformer import TransformerGraphs
from training.export.layouts import layout_of
from training.export.parameters import POSITIONS, Floats, Parameters, StateArrays
from training.recipe import BahdanauConfig, TransformerConfig

NetworkConfig = BahdanauConfig | TransformerConfig
GRAPH_KINDS = ("encoder", "decoder", "forced")


Graphs = TransformerGraphs | BahdanauGraphs
"""The three graphs of one network in one precision: ``encoder`` (source → memory and initial states), ``decoder`` (one
step) and ``forced`` (source and target → log-probabilities, ranks, attention). ``memory``: the arrays that the encoder
passes to every step, ``paddings``: their values after a sentence's own positions, where that matters; ``state``: the
arrays that a step passes to the next one."""


def make_graphs(config: NetworkConfig, arithmetic: Arithmetic) -> Graphs:
    """Return the graph builder of the architecture that the recipe names."""
    if isinstance(config, TransformerConfig):
        return TransformerGraphs(config, arithmetic)
    return BahdanauGraphs(config, arithmetic)


def parameters_of(config: NetworkConfig, state: StateArrays, positions: Floats | None) -> Parameters:
    """Return a network's parameters in the layout of the graphs; ``positions``: their table, if it has one."""
    parameters = layout_of(config).parameters(state)
    if positions is not None:
        parameters.vectors[POSITIONS] = positions
    return parameters


def attention_sizes(config: NetworkConfig) -> dict[str, dict[str, int] | None]:
    """Return the layers and heads of each kind of attention that the forced graph returns."""
    if isinstance(config, TransformerConfig):
        decoder = {"layers": config.decoder_layers, "heads": config.heads}
        return {
            "cross": decoder,
            "encoder": {"layers": config.encoder_layers, "heads": config.heads},
            "decoder": None if config.decoder == "ssru" else dict(decoder),
        }
    return {"cross": {"layers": 1, "heads": 1}, "encoder": None, "decoder": None}
