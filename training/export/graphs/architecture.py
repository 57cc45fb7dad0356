"""The parts of export that depend on the architecture; the rest of the package works with any of them."""

from torch import nn

from training.export.graphs.bahdanau import BahdanauGraphs
from training.export.graphs.precision import Arithmetic
from training.export.graphs.transformer import TransformerGraphs
from training.export.layouts import layout_of
from training.export.parameters import POSITIONS, Parameters, StateArrays
from training.networks.transformer import sinusoidal_positions
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


def parameters_of(config: NetworkConfig, network: nn.Module, positions: int) -> Parameters:
    """Return a trained network's parameters in the layout of the graphs; ``positions``: rows of their table."""
    state: StateArrays = {name: tensor.detach().float().cpu().numpy() for name, tensor in network.state_dict().items()}
    parameters = layout_of(config).parameters(state)
    if isinstance(config, TransformerConfig):
        parameters.vectors[POSITIONS] = sinusoidal_positions(positions, config.width, config.positions).numpy()
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
