"""A small MarianMT model of two targets: it has learnt to say in French or in German what animals do."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import sentencepiece
import torch

from tests.training.imports.marian_models import MarianShape, marian_config, padded, write_files, write_vocabularies

TOKENS = (">>fra<<", ">>deu<<")
ANIMALS = {
    "cat": ("Le chat", "Die Katze"),
    "dog": ("Le chien", "Der Hund"),
    "bird": ("L'oiseau", "Der Vogel"),
    "horse": ("Le cheval", "Das Pferd"),
    "cow": ("La vache", "Die Kuh"),
}
VERBS = {
    "sleeps": ("dort", "schläft"),
    "eats": ("mange", "isst"),
    "sings": ("chante", "singt"),
    "waits": ("attend", "wartet"),
    "drinks": ("boit", "trinkt"),
}
# English, French, German.
SENTENCES = [
    (f"The {animal} {verb}.", f"{ANIMALS[animal][0]} {VERBS[verb][0]}.", f"{ANIMALS[animal][1]} {VERBS[verb][1]}.")
    for animal, verb in product(ANIMALS, VERBS)
]
SHAPE = MarianShape(language_tokens=TOKENS, layers=(1, 1))


def train_several_targets(folder: Path, updates: int = 150) -> Any:
    """Write a trained model's folder as the hub has it, and return the model."""
    from transformers.models.marian.modeling_marian import MarianMTModel

    folder.mkdir(parents=True)
    for name, texts in (
        ("source", [one[0] for one in SENTENCES]),
        ("target", [t for one in SENTENCES for t in one[1:]]),
    ):
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts), model_prefix=str(folder / name), vocab_size=120, model_type="bpe",
            hard_vocab_limit=False, minloglevel=2, num_threads=1,
        )  # fmt: skip
        (folder / f"{name}.model").rename(folder / f"{name}.spm")
    vocabulary, _ = write_vocabularies(folder, SHAPE)
    size = len(vocabulary)
    torch.manual_seed(0)
    config = marian_config(size, size, SHAPE, d_model=64, encoder_ffn_dim=128, decoder_ffn_dim=128, dropout=0.0)
    model: Any = MarianMTModel(config)
    with torch.no_grad():
        model.model.shared.weight[-1] = 0
    sides = [
        sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{name}.spm")) for name in ("source", "target")
    ]

    def ids(side: int, text: str) -> list[int]:
        return [*(vocabulary.get(piece, 1) for piece in sides[side].encode(text, out_type=str)), 0]

    pairs = [
        ([vocabulary[token], *ids(0, texts[0])], ids(1, texts[number]))
        for texts in SENTENCES
        for number, token in enumerate(TOKENS, 1)
    ]
    source, labels = padded([pair[0] for pair in pairs], size - 1), padded([pair[1] for pair in pairs], -100)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 1e-2, total_steps=updates)
    for _ in range(updates):
        loss = model(input_ids=source, attention_mask=(source != size - 1).long(), labels=labels).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    model.eval()
    write_files(folder, model)
    (folder / "tokenizer_config.json").write_text(json.dumps({"source_lang": "eng", "target_lang": "mul"}))
    (folder / "README.md").write_text("---\nlicense: cc-by-4.0\nlanguage:\n- en\n- fr\n- de\n---\n# opus-mt-en-mul\n")
    return model
