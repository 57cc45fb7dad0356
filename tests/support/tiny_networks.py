"""Networks small enough for a test: every variant a recipe can name."""

import torch

from training.networks.build import Network, build_network
from training.recipe import BahdanauConfig, TransformerConfig

VOCABULARY = 40


def transformer(**changes: object) -> TransformerConfig:
    """Return a Transformer with two layers of eight units."""
    sizes = {"encoder_layers": 2, "decoder_layers": 2, "width": 8, "heads": 2, "feed_forward": 16}
    return TransformerConfig.model_validate({"kind": "transformer", **sizes, **changes})


def bahdanau(**changes: object) -> BahdanauConfig:
    """Return an RNN with attention; encoder outputs are as wide as the decoder, as every score requires."""
    sizes = {"embedding": 6, "encoder_hidden": 5, "decoder_hidden": 10, "attention_size": 7, "output_size": 6}
    return BahdanauConfig.model_validate({"kind": "bahdanau", **sizes, **changes})


ONE_WAY = {"bidirectional": False, "encoder_hidden": 10}
TWO_LAYERS = {"encoder_layers": 2, "decoder_layers": 2}
SCORES = ("additive", "dot", "general", "concat", "scaled_dot", "gaussian")
VARIANTS: dict[str, TransformerConfig | BahdanauConfig] = {
    "post-norm": transformer(),
    "pre-norm": transformer(norm="pre", encoder_layers=3, decoder_layers=1),
    "all-dropouts": transformer(dropout=0.2, attention_dropout=0.2, activation_dropout=0.2),
    "ssru": transformer(decoder="ssru"),
    "ssru-pre-norm": transformer(decoder="ssru", norm="pre", decoder_layers=1),
    **{f"score-{score}": bahdanau(score=score) for score in SCORES},
    **{f"attention-{kind}": bahdanau(attention=kind) for kind in ("local", "monotonic", "hard", "none")},
    "local-general": bahdanau(attention="local", score="general", window=2),
    "local-concat": bahdanau(attention="local", score="concat", window=2),
    "lstm": bahdanau(cell="lstm"),
    "conditional": bahdanau(conditional=True),
    "deep": bahdanau(encoder_layers=2, decoder_layers=3),
    "deep-lstm": bahdanau(cell="lstm", **TWO_LAYERS),
    "one-direction": bahdanau(**ONE_WAY),
    "one-direction-none": bahdanau(bidirectional=False, attention="none"),
    "tied": bahdanau(tie_embeddings=True),
    "no-positions": transformer(positions="none"),
    "learned-positions": transformer(positions="learned", norm="pre"),
    "relative": transformer(positions="relative"),
    "relative-pre-norm": transformer(positions="relative", norm="pre"),
    "directional": transformer(positions="directional"),
    "narrow-monotonic": bahdanau(attention="monotonic", score="dot", window=1),
    "local-gaussian": bahdanau(attention="local", score="gaussian", window=2),
    "reinforce": bahdanau(attention="hard", score="general", hard_gradient="reinforce"),
    "d2l": bahdanau(**ONE_WAY, **TWO_LAYERS, start="copy", output="linear", layer_dropout=0.1),
    "copy-both-ways-lstm": bahdanau(cell="lstm", **TWO_LAYERS, start="copy"),
    "linear-tied": bahdanau(output="linear", embedding=10, tie_embeddings=True),
    "convolutional": bahdanau(encoder="convolutional", encoder_layers=2),
    "convolutional-none": bahdanau(encoder="convolutional", kernel=5, attention="none"),
}


def network(config: TransformerConfig | BahdanauConfig, seed: int = 0) -> Network:
    """Return a network in evaluation mode with random parameters far from zero, the same for the same seed."""
    torch.manual_seed(seed)
    made = build_network(config, VOCABULARY).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return made
