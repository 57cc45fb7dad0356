"""The network that a recipe describes."""

from training.networks.bahdanau import Bahdanau
from training.networks.transformer import Transformer
from training.recipe import BahdanauConfig, TransformerConfig


def build_network(config: BahdanauConfig | TransformerConfig, vocabulary: int) -> Bahdanau | Transformer:
    """Make the network with random parameters from PyTorch's generator."""
    if isinstance(config, TransformerConfig):
        return Transformer(config, vocabulary)
    return Bahdanau(config, vocabulary)
