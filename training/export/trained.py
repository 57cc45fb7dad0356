"""Exports PyTorch networks: they are what their graphs are made of and compared with."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor

from service.bundle.vocabulary import BOS, PAD
from training.data.batching import Batch, batch_of
from training.data.padding import PaddedPairs
from training.data.subwords import UNKNOWN
from training.export.bundle import ExportOptions, write_bundle
from training.export.card import ModelCard
from training.export.compare import Reference
from training.export.manifest import Subwords, describe
from training.export.parameters import SUPPRESSED, Floats, StateArrays
from training.export.quantise import IdPair
from training.networks.build import Network
from training.recipe import Recipe


def export_bundle(
    network: Network,
    tokenizer: Tokenizer,
    recipe: Recipe,
    pairs: Sequence[IdPair],
    out_dir: Path,
    options: ExportOptions,
) -> Path:
    """Write the bundle of a network that a recipe trained; see ``write_bundle``."""
    subwords = Subwords(tokenizer, tokenizer.get_vocab_size(), unknown=tokenizer.token_to_id(UNKNOWN))
    assert isinstance(options.card, ModelCard)
    card = options.card.with_recipe(recipe)
    original = NetworkOriginal(network)
    return write_bundle(original, subwords, describe(recipe), pairs, out_dir, replace(options, card=card))


class NetworkOriginal:
    """A PyTorch network as the original of graphs."""

    name, graphs = "PyTorch", None

    def __init__(self, network: Network) -> None:
        self._network = network.eval()

    def state(self) -> StateArrays:
        """Return the network's parameters."""
        return {name: tensor.detach().float().cpu().numpy() for name, tensor in self._network.state_dict().items()}

    def reference(self, batch: PaddedPairs, bias: Floats | None = None) -> Reference:
        """Return forced decoding by the network; see ``Original``."""
        with self._output_bias(bias):
            return torch_reference(self._network, batch_of(batch))

    @contextmanager
    def _output_bias(self, bias: Floats | None) -> Iterator[None]:
        """Give the network another output bias for as long as it is open; None: its own."""
        if bias is None:
            yield
            return
        parameter = self._network.get_parameter("output_bias")
        values = parameter.data
        parameter.data = torch.from_numpy(bias)
        try:
            yield
        finally:
            parameter.data = values


def torch_reference(network: Network, batch: Batch) -> Reference:
    """Return forced decoding by the network, without the tokens that the graphs never produce."""
    chosen, best, vocabulary = [], [], 0
    with torch.no_grad():
        memory = network.encode(batch.source, batch.source_lengths)
        decoded = network.decode(batch.target_in, memory)
        # One sentence after the other: with a large vocabulary, the logits of all of them take a gigabyte.
        for hidden, target in zip(decoded.hidden, batch.target_out, strict=True):
            logits: Tensor = network.logits(hidden[None]).float()[0]  # [T, V]
            logits[:, [PAD, BOS]] = SUPPRESSED
            chosen.append(logits.log_softmax(-1).gather(-1, target[:, None]).squeeze(-1))
            best.append(logits.argmax(-1))
            vocabulary = logits.shape[-1]
    attention = {
        "cross_attention": decoded.cross_attention,
        "encoder_attention": memory.attention,
        "decoder_attention": decoded.decoder_attention,
    }
    arrays = {kind: weights.numpy() for kind, weights in attention.items() if weights is not None}
    return Reference(torch.stack(chosen).numpy(), arrays, torch.stack(best).numpy(), vocabulary)
