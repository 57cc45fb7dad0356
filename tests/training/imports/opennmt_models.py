"""CTranslate2 folders, as models of OpenNMT-py and of the hub become one."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ctranslate2.converters import TransformersConverter
from ctranslate2.specs import TransformerSpec

from tests.training.imports.marian_models import MarianShape, train_pieces
from tests.training.imports.old_ctranslate2 import rewrite
from training.imports.sentencepiece_file import read_sentencepiece
from training.networks.transformer import sinusoidal_positions


def converted_folder(hub: Path, folder: Path, quantization: str | None = None) -> Path:
    """Write what ``ct2-transformers-converter`` makes of a MarianMT model, and its SentencePiece models beside it."""
    TransformersConverter(str(hub)).convert(str(folder), quantization=quantization)
    for side in ("source.spm", "target.spm"):
        shutil.copy(hub / side, folder / side)
    return folder


@dataclass(frozen=True)
class OpenNmtShape:
    """The differences between the models that the tests import."""

    pre_norm: bool = True
    positions: str = "stored"
    """``stored`` sinusoids, ``none``, ``shifted`` ones or ``learnt`` ones."""
    tied: bool = True
    """One table for all."""
    layers: tuple[int, int] = (3, 2)
    heads: int = 4
    unknown: bool = True
    """Whether the vocabulary names <unk>; else its row is the last one, as in models of OpenNMT-tf."""


def opennmt_folder(folder: Path, shape: OpenNmtShape = OpenNmtShape(), quantization: str | None = None) -> Path:
    """Write a CTranslate2 folder as OpenNMT-py's models become one, and its SentencePiece model beside it."""
    folder.mkdir(parents=True)
    train_pieces(folder, MarianShape(byte_fallback=True))
    model = read_sentencepiece(folder / "source.spm")
    pieces = ["<unk>", "<blank>", "<s>", "</s>", *(piece.text for piece in model.pieces if piece.matches_text)]
    return _write(folder, pieces, pieces, shape, quantization)


ARABIC, LATIN = "ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهوىي", "abcdefghijklmnopqrstuvwxyz'-"


def character_folder(folder: Path, version: int = 6, quantization: str | None = None) -> Path:
    """Write a folder of the shape of CTranslate2's own test models, which OpenNMT-tf trained to write names in Latin.

    They have characters for pieces, six layers on each side, no table of positions, and an output layer of their own.
    """
    folder.mkdir(parents=True)
    shape = OpenNmtShape(positions="none", tied=False, layers=(6, 6), heads=8, unknown=False)
    source, target = (["<blank>", "<s>", "</s>", *letters] for letters in (ARABIC, LATIN))
    _write(folder, source, target, shape, quantization)
    for side, pieces in (("source", source), ("target", target)):
        (folder / f"{side}_vocabulary.json").unlink()
        (folder / f"{side}_vocabulary.txt").write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    if version < 6:
        rewrite(folder, version)
    return folder


def _write(
    folder: Path, source: Sequence[str], target: Sequence[str], shape: OpenNmtShape, quantization: str | None
) -> Path:
    generator = np.random.default_rng(1)
    spec = TransformerSpec.from_config(shape.layers, shape.heads, pre_norm=shape.pre_norm)
    width, inner = 32, 64

    def numbers(*shape: int, scale: float = 0.25) -> Any:
        return (generator.standard_normal(shape) * scale).astype(np.float32)

    def linear(part: Any, rows: int, columns: int, bias: bool = True) -> None:
        part.weight = numbers(rows, columns)
        if bias:
            part.bias = numbers(rows, scale=0.1)

    def norm(part: Any) -> None:
        part.gamma, part.beta = 1 + numbers(width, scale=0.1), numbers(width, scale=0.1)

    _add_tables(spec, (len(source) + (not shape.unknown), len(target) + (not shape.unknown)), shape.tied, numbers)
    _add_positions(spec, shape.positions, numbers)
    for side in (spec.encoder, spec.decoder):
        if shape.pre_norm:
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
    unknown = [] if shape.unknown else ["<unk>"]
    spec.register_source_vocabulary([*source, *unknown])
    spec.register_target_vocabulary([*target, *unknown])
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


def _add_tables(spec: Any, sizes: tuple[int, int], tied: bool, numbers: Callable[..., Any]) -> None:
    """Add embeddings and output layer: one table for all three, or one for each."""
    table = numbers(sizes[1], 32)
    spec.encoder.embeddings[0].weight = table if tied else numbers(sizes[0], 32)
    spec.decoder.embeddings.weight = table
    spec.decoder.projection.weight = table if tied else numbers(sizes[1], 32)
    spec.decoder.projection.bias = numbers(sizes[1], scale=0.3)
