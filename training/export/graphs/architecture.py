"""The parts of export that depend on the architecture; the rest of the package works with any of them."""

from training.export.graphs.bahdanau import BahdanauGraphs
from training.export.graphs.network import NetworkGraphs
from training.export.graphs.precision import Arithmetic
from training.export.graphs.transformer import TransformerGraphs
from training.export.layouts import layout_of
from training.export.parameters import POSITIONS, Parameters, StateArrays
from training.networks.positions import sinusoidal_table
from training.recipe import BahdanauConfig, TransformerConfig

NetworkConfig = BahdanauConfig | TransformerConfig


def make_graphs(config: NetworkConfig, arithmetic: Arithmetic) -> NetworkGraphs:
    """Return the graph builder of the architecture that the recipe names."""
    if isinstance(config, TransformerConfig):
        return TransformerGraphs(config, arithmetic)
    return BahdanauGraphs(config, arithmetic)


def parameters_of(config: NetworkConfig, state: StateArrays, length: int) -> Parameters:
    """Return a network's parameters in the layout of the graphs, with ``length`` positions if it adds any."""
    parameters = layout_of(config).parameters(state)
    if isinstance(config, TransformerConfig) and config.positions != "learned":
        parameters.vectors[POSITIONS] = sinusoidal_table(length, config.width, config.positions)
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
