"""MarianMT models that have learnt a small language pair with transformers' own loss."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from torch.nn.utils.rnn import pad_sequence
from transformers.models.marian.modeling_marian import MarianMTModel

from tests.training.imports.marian_models import (
    MarianShape,
    marian_config,
    write_files,
    write_vocabularies,
)

SIDES = ("source", "target")


def train(folder: Path, shape: MarianShape, pairs: Sequence[tuple[str, ...]], updates: int, rate: float) -> None:
    """Train a model of pairs, each with the token of its language before it, and write it beside its pieces."""
    vocabulary, _ = write_vocabularies(folder, shape)
    pieces = [sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{side}.spm")) for side in SIDES]

    def ids(side: int, text: str) -> list[int]:
        return [*(vocabulary.get(piece, 1) for piece in pieces[side].encode(text, out_type=str)), 0]

    rows = [(([vocabulary[token]] if token else []) + ids(0, one), ids(1, other)) for token, one, other in pairs]
    size = len(vocabulary)
    torch.manual_seed(0)
    config = marian_config(size, size, shape, d_model=64, encoder_ffn_dim=128, decoder_ffn_dim=128, dropout=0.0)
    model: Any = MarianMTModel(config)
    table = model.model.shared.weight
    optimiser = torch.optim.Adam(model.parameters(), lr=rate, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=updates)
    generator = random.Random(0)
    for _ in range(updates):
        with torch.no_grad():  # the output layer shares the table, and would change the row that decoders start with
            table[-1] = 0
        drawn = generator.sample(rows, min(64, len(rows)))
        sides = ([torch.tensor(row[side]) for row in drawn] for side in (0, 1))
        source, labels = (pad_sequence(ids, True, fill) for ids, fill in zip(sides, (size - 1, -100), strict=True))
        loss = model(input_ids=source, attention_mask=(source != size - 1).long(), labels=labels).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    with torch.no_grad():
        table[-1] = 0
    write_files(folder, model.eval())
