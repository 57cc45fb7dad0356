"""The network that a recipe describes."""

from training.networks.bahdanau import Bahdanau
from training.networks.transformer import Transformer
from training.recipe import BahdanauConfig, TransformerConfig

Network = Transformer | Bahdanau
"""An encoder–decoder network over one joint vocabulary."""


def build_network(config: BahdanauConfig | TransformerConfig, vocabulary: int) -> Network:
    """Make the network with random parameters from PyTorch's generator."""
    if isinstance(config, TransformerConfig):
        return Transformer(config, vocabulary)
    return Bahdanau(config, vocabulary)
