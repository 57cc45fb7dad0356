"""CTranslate2 folders, as models of OpenNMT-py and of the hub become one."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from ctranslate2.converters import TransformersConverter
from ctranslate2.specs import TransformerSpec

from tests.training.imports.marian_models import MarianShape, train_pieces
from training.imports.sentencepiece_file import read_sentencepiece
from training.networks.transformer import sinusoidal_positions


def converted_folder(hub: Path, folder: Path, quantization: str | None = None) -> Path:
    """Write what ``ct2-transformers-converter`` makes of a MarianMT model, and its SentencePiece models beside it."""
    TransformersConverter(str(hub)).convert(str(folder), quantization=quantization)
    for side in ("source.spm", "target.spm"):
        shutil.copy(hub / side, folder / side)
    return folder


def opennmt_folder(
    folder: Path, pre_norm: bool = True, quantization: str | None = None, positions: str = "stored", tied: bool = True
) -> Path:
    """Write a CTranslate2 folder as OpenNMT-py's models become one, and its SentencePiece model beside it.

    ``positions``: ``stored`` sinusoids, ``none``, ``shifted`` ones or ``learnt`` ones. ``tied``: one table for all.
    """
    folder.mkdir(parents=True)
    train_pieces(folder, MarianShape(byte_fallback=True))
    model = read_sentencepiece(folder / "source.spm")
    pieces = ["<unk>", "<blank>", "<s>", "</s>", *(piece.text for piece in model.pieces if piece.matches_text)]
    generator = np.random.default_rng(1)
    spec = TransformerSpec.from_config((3, 2), 4, pre_norm=pre_norm)
    width, inner, vocabulary = 32, 64, len(pieces)

    def numbers(*shape: int, scale: float = 0.25) -> Any:
        return (generator.standard_normal(shape) * scale).astype(np.float32)

    def linear(part: Any, rows: int, columns: int, bias: bool = True) -> None:
        part.weight = numbers(rows, columns)
        if bias:
            part.bias = numbers(rows, scale=0.1)

    def norm(part: Any) -> None:
        part.gamma, part.beta = 1 + numbers(width, scale=0.1), numbers(width, scale=0.1)

    _add_tables(spec, vocabulary, tied, numbers)
    _add_positions(spec, positions, numbers)
    for side in (spec.encoder, spec.decoder):
        if pre_norm:
            norm(side.layer_norm)
        for layer in side.layer:
            for attention in [layer.self_attention, *([layer.attention] if side is spec.decoder else [])]:
                sizes = (3, 1) if attention is layer.self_attention else (1, 2, 1)
                for part, size in zip(attention.linear, sizes, strict=True):
                    linear(part, size * width, width, bias=size > 1)  # as without add_qkvbias, partly
                norm(attention.layer_norm)
            linear(layer.ffn.linear_0, inner, width)
            linear(layer.ffn.linear_1, width, inner)
            norm(layer.ffn.layer_norm)
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.config.decoder_start_token = "<s>"
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(folder))
    return folder


def _add_positions(spec: Any, positions: str, numbers: Callable[..., Any]) -> None:
    """Add a table of positions to both sides; without one, CTranslate2 makes its own."""
    if positions == "none":
        return
    shifted, plain = sinusoidal_positions(130, 32, "marian").numpy()[2:], sinusoidal_positions(128, 32).numpy()
    table = {"shifted": shifted, "learnt": numbers(128, 32), "stored": plain}[positions]
    spec.encoder.position_encodings.encodings = spec.decoder.position_encodings.encodings = table


def _add_tables(spec: Any, vocabulary: int, tied: bool, numbers: Callable[..., Any]) -> None:
    """Add embeddings and output layer: one table for all three, or one for each."""
    table = numbers(vocabulary, 32)
    spec.encoder.embeddings[0].weight = table if tied else numbers(vocabulary, 32)
    spec.decoder.embeddings.weight = table
    spec.decoder.projection.weight = table if tied else numbers(vocabulary, 32)
    spec.decoder.projection.bias = numbers(vocabulary, scale=0.3)
