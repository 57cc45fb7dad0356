"""Small MarianMT models that have learnt a toy language, of one target or of two, with transformers' own loss."""

import json
import random
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from transformers.models.marian.modeling_marian import MarianMTModel

from tests.training.imports.marian_models import (
    PAIRS,
    MarianShape,
    marian_config,
    train_pieces,
    train_sentencepiece,
    write_files,
    write_vocabularies,
)

Ids = list[int]
TOKENS = (">>fra<<", ">>deu<<")
ANIMALS = [
    ("cat", "Le chat", "Die Katze"),
    ("dog", "Le chien", "Der Hund"),
    ("bird", "L'oiseau", "Der Vogel"),
    ("horse", "Le cheval", "Das Pferd"),
    ("cow", "La vache", "Die Kuh"),
]
VERBS = [
    ("sleeps", "dort", "schläft"),
    ("eats", "mange", "isst"),
    ("sings", "chante", "singt"),
    ("waits", "attend", "wartet"),
    ("drinks", "boit", "trinkt"),
]
SENTENCES = [(f"The {a[0]} {v[0]}.", f"{a[1]} {v[1]}.", f"{a[2]} {v[2]}.") for a, v in product(ANIMALS, VERBS)]
"""English, French, German."""


def train_toy(folder: Path) -> None:
    """Write the hub's folder of a model that has learnt the text of the recipe `toy`."""
    folder.mkdir(parents=True)
    shape = MarianShape(byte_fallback=True)
    train_pieces(folder, shape)
    vocabulary, _ = write_vocabularies(folder, shape)
    source, target = _encoders(folder, vocabulary)
    pairs = [(source(pair[0]), target(pair[1])) for pair in PAIRS]
    write_files(folder, _trained(vocabulary, shape, pairs, 220, 3e-3))


def train_several_targets(folder: Path) -> None:
    """Write the hub's folder of a model that says in French or in German what animals do."""
    folder.mkdir(parents=True)
    texts = {"source": [one[0] for one in SENTENCES], "target": [text for one in SENTENCES for text in one[1:]]}
    for name, of in texts.items():
        train_sentencepiece(folder / f"{name}.spm", of, model_type="bpe", vocab_size=120)
    shape = MarianShape(language_tokens=TOKENS, layers=(1, 1))
    vocabulary, _ = write_vocabularies(folder, shape)
    source, target = _encoders(folder, vocabulary)
    pairs = [
        ([vocabulary[token], *source(texts[0])], target(texts[number]))
        for texts in SENTENCES
        for number, token in enumerate(TOKENS, 1)
    ]
    write_files(folder, _trained(vocabulary, shape, pairs, 150, 1e-2))
    (folder / "tokenizer_config.json").write_text(json.dumps({"source_lang": "eng", "target_lang": "mul"}))


def _encoders(folder: Path, vocabulary: dict[str, int]) -> list[Any]:
    """Return what encodes a source text and a target text."""
    processors = [
        sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{s}.spm")) for s in ("source", "target")
    ]
    return [
        lambda text, pieces=pieces: [*(vocabulary.get(piece, 1) for piece in pieces.encode(text, out_type=str)), 0]
        for pieces in processors
    ]


def _trained(
    vocabulary: dict[str, int], shape: MarianShape, pairs: Sequence[tuple[Ids, Ids]], updates: int, rate: float
) -> Any:
    size = len(vocabulary)
    torch.manual_seed(0)
    config = marian_config(size, size, shape, d_model=64, encoder_ffn_dim=128, decoder_ffn_dim=128, dropout=0.0)
    model: Any = MarianMTModel(config)
    optimiser = torch.optim.Adam(model.parameters(), lr=rate, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=updates)
    generator = random.Random(0)
    for _ in range(updates):
        with torch.no_grad():  # the output layer shares the table, and would change the row that decoders start with
            model.model.shared.weight[-1] = 0
        batch = generator.sample(pairs, min(64, len(pairs)))
        source, labels = _padded([pair[0] for pair in batch], size - 1), _padded([pair[1] for pair in batch], -100)
        loss = model(input_ids=source, attention_mask=(source != size - 1).long(), labels=labels).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    with torch.no_grad():
        model.model.shared.weight[-1] = 0
    return model.eval()


def _padded(rows: list[Ids], fill: int) -> torch.Tensor:
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=fill)
