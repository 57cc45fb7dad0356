"""A MarianMT model that has learnt the toy language pair with transformers' own loss."""

import random
from pathlib import Path
from typing import Any

import sentencepiece
import torch

from tests.training.imports.marian_models import (
    PAIRS,
    MarianShape,
    marian_config,
    padded,
    train_pieces,
    write_files,
    write_vocabularies,
)

SHAPE = MarianShape(byte_fallback=True)


def train_toy(folder: Path, updates: int = 220) -> Any:
    """Write a trained model's folder as the hub has it, and return the model."""
    from transformers.models.marian.modeling_marian import MarianMTModel

    folder.mkdir(parents=True)
    train_pieces(folder, SHAPE)
    vocabulary, _ = write_vocabularies(folder, SHAPE)
    size = len(vocabulary)
    torch.manual_seed(0)
    model: Any = MarianMTModel(
        marian_config(size, size, SHAPE, d_model=64, encoder_ffn_dim=128, decoder_ffn_dim=128, dropout=0.0)
    )
    with torch.no_grad():
        model.model.shared.weight[-1] = 0
    sides = []
    for name, place in (("source", 0), ("target", 1)):
        pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{name}.spm"))
        sides.append([[*(vocabulary.get(p, 1) for p in pieces.encode(pair[place], out_type=str)), 0] for pair in PAIRS])
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 3e-3, total_steps=updates)
    generator, order, fills = random.Random(0), list(range(len(PAIRS))), (size - 1, -100)
    for _ in range(updates):
        rows = generator.sample(order, 64)
        source, labels = (padded([side[row] for row in rows], fill) for side, fill in zip(sides, fills, strict=True))
        loss = model(input_ids=source, attention_mask=(source != size - 1).long(), labels=labels).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        with torch.no_grad():  # the output layer shares the table, and would change the row that decoders start with
            model.model.shared.weight[-1] = 0
    model.eval()
    write_files(folder, model)
    model.set_attn_implementation("eager")
    return model
