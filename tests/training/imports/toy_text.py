"""Sentences of the toy recipe, and SentencePiece models of a few hundred of them."""

import io
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import sentencepiece

TOY = Path(__file__).parents[3] / "training" / "recipes" / "toy.tsv"
PAIRS = [line.split("\t") for line in TOY.read_text(encoding="utf-8").splitlines()]
ENGLISH, FRENCH = [pair[0] for pair in PAIRS], [pair[1] for pair in PAIRS]

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
SENTENCES = [
    (f"The {animal} {verb}.", f"{ANIMALS[animal][0]} {VERBS[verb][0]}.", f"{ANIMALS[animal][1]} {VERBS[verb][1]}.")
    for animal, verb in product(ANIMALS, VERBS)
]
"""In English, French and German."""


def sentencepiece_model(texts: Sequence[str], **settings: Any) -> bytes:
    result = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=result,
        hard_vocab_limit=False,
        minloglevel=2,
        num_threads=1,
        **settings,
    )
    return result.getvalue()
