"""Sentences of the toy recipe, and SentencePiece models of a few hundred of them."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sentencepiece

TOY = Path(__file__).parents[3] / "training" / "recipes" / "toy.tsv"
PAIRS = [line.split("\t") for line in TOY.read_text(encoding="utf-8").splitlines()]
ENGLISH, FRENCH = [pair[0] for pair in PAIRS], [pair[1] for pair in PAIRS]


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
