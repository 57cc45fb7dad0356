"""The captioner: the decoder and the attention of the translators, over a convolutional network's grid of a picture."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from service.bundle.vocabulary import BOS, EOS
from training.captions.shapes import GRID, WORDS, Scene, scenes
from training.data.batching import Batch, pad
from training.networks.bahdanau import Bahdanau
from training.recipe import BahdanauConfig, OptimisationConfig
from training.trainer.module import batch_losses
from training.trainer.optimiser import make_optimiser
from training.trainer.schedule import rate_factor, soft_share

Kind = Literal["soft", "hard"]
CHANNELS = (3, 16, 32)
"""Of the picture and of the first two convolutions; the third one has those of the embedding."""
CELLS = GRID * GRID
PICTURES = 48
"""Of an update."""


def make_config(kind: Kind) -> BahdanauConfig:
    """Return the network's sizes: 48 numbers for a cell, 64 for the decoder's state."""
    return BahdanauConfig(
        kind="bahdanau",
        embedding=48,
        encoder="convolutional",
        kernel=1,
        encoder_hidden=24,
        decoder_hidden=64,
        attention_size=32,
        output_size=48,
        conditional=True,
        dropout=0.0,
        attention="hard" if kind == "hard" else "global",
        hard_gradient="reinforce",
    )


class PictureEmbedding(nn.Embedding):
    """Cells as vectors: three convolutions, each of half the size, plus a learned vector for each place of the grid.

    A vector sees 22 × 22 pixels, a whole shape, around the middle of its cell: odd kernels would see those around the
    cell's corner, and attention would look beside the shape.
    """

    def __init__(self, size: int) -> None:
        super().__init__(CELLS, size)
        widths = (*CHANNELS, size)
        self.convolutions = nn.ModuleList(
            nn.Conv2d(width, widths[i + 1], kernel_size=4, stride=2, padding=1) for i, width in enumerate(CHANNELS)
        )

    def forward(self, input: Tensor) -> Tensor:
        """Return [B, CELLS, E] for pictures [B, 3, SIZE, SIZE] with numbers from 0 to 1."""
        values = input
        for convolution in self.convolutions:
            values = torch.relu(convolution(values))  # [B, …, GRID, GRID] in the end
        return values.flatten(2).transpose(1, 2) + self.weight


class Captioner(Bahdanau):
    """A translator whose source is a picture; a sentence's words are the cells of its grid."""

    source_embedding: PictureEmbedding

    def __init__(self, config: BahdanauConfig) -> None:
        super().__init__(config, len(WORDS))
        self.source_embedding = PictureEmbedding(config.embedding)


def pictures_of(shown: Sequence[Scene]) -> Tensor:
    """Return the pictures as the network reads them, [B, 3, SIZE, SIZE]."""
    pixels = np.stack([scene.pixels for scene in shown]).transpose(0, 3, 1, 2)
    return torch.from_numpy(pixels.astype(np.float32) / 255)


def batch_of(shown: Sequence[Scene]) -> Batch:
    """Return pictures and captions; the source is the pictures."""
    ids = [[WORDS.index(word) for word in scene.caption] for scene in shown]
    target_in, lengths = pad([[BOS, *row] for row in ids])
    target_out, _ = pad([[*row, EOS] for row in ids])
    return Batch(pictures_of(shown), torch.full((len(shown),), CELLS), target_in, target_out, lengths)


def train(kind: Kind, updates: int, seed: int = 1) -> Captioner:
    """Return a trained captioner; every update sees new pictures."""
    torch.manual_seed(seed)
    network = Captioner(make_config(kind)).train()
    optimisation = OptimisationConfig(
        max_updates=updates, peak_rate=0.003, warmup_updates=min(100, updates), constant_rate=True,
        cooldown_updates=updates // 3, label_smoothing=0.0,
    )  # fmt: skip
    optimiser = make_optimiser(network, optimisation, fused=False)
    for update in range(updates):
        optimiser.param_groups[0]["lr"] = optimiser.param_groups[1]["lr"] = optimisation.peak_rate * rate_factor(
            update, optimisation
        )
        network.attention.soft_share = soft_share(update / updates, network.config.soft_until)
        batch = batch_of(scenes(seed * 1_000_003 + update, PICTURES))
        optimiser.zero_grad()
        batch_losses(network, batch, optimisation, len(WORDS)).mean.backward()
        nn.utils.clip_grad_norm_(network.parameters(), optimisation.clip_norm)
        optimiser.step()
    return network.eval()
