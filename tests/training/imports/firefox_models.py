"""Folders of Firefox students of random weights, and what a translator in numpy says of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import sentencepiece

from tests.support.marian_files import write_folder
from tests.support.marian_reference import MarianReference
from tests.support.marian_students import Student, is_product, quantised, random_student, student_options
from tests.training.imports.toy_text import ENGLISH, FRENCH, sentencepiece_model


@dataclass(frozen=True)
class StudentFolder:
    """A student in a folder, and the same in numpy."""

    path: Path
    student: Student
    """As it is in the file."""
    reference: MarianReference
    """Float arithmetic with the numbers that the file stands for."""
    lists: Sequence[Sequence[int]]
    """The target pieces of every source piece."""
    sizes: tuple[int, int]
    """Of the vocabularies."""


def student_folder(
    path: Path, int8: bool = False, shared: bool = True, packed: bool = False, soft: bool = False, joint: bool = False
) -> StudentFolder:
    """Write a student with float weights or weights of eight bits, one vocabulary or two, plain or packed files.

    ``joint``: two vocabularies whose pieces have the rows of one table. ``soft``: with attention so even that rounding
    to eight bits changes little.
    """
    vocabularies = [pieces(ENGLISH + FRENCH)] if shared else [pieces(ENGLISH), pieces(FRENCH)]
    sizes = tuple(sentencepiece.SentencePieceProcessor(model_proto=each).get_piece_size() for each in vocabularies)
    tables = (max(sizes),) if joint else sizes
    student = random_student(
        student_options(vocabularies=tables, width=32, feed_forward=64, layers=(2, 2), heads=4), seed=1
    )
    if soft:
        scales = {name: np.float32(0.25 if name.endswith(("Wq", "Wk")) else 0.5) for name in student.weights
                  if name.endswith(("Wq", "Wk", "Wv", "Wo", "W2", "rnn_W"))}  # fmt: skip
        softer = {name: student.weights[name] * scale for name, scale in scales.items()}
        student = replace(student, weights={**student.weights, **softer})
    generator = np.random.default_rng(3)
    lists = [sorted(generator.choice(sizes[-1], count, replace=False).tolist())
             for count in generator.integers(0, 12, sizes[0])]  # fmt: skip
    floats = student
    if int8:
        products = {name: quantised(array) for name, array in student.weights.items() if is_product(name)}
        student = replace(student, alphas=dict.fromkeys(products, 20.0))
        stored = {name: values.astype(np.float32) / scale for name, (values, scale) in products.items()}
        floats = replace(floats, weights={**floats.weights, **stored})
    write_folder(path, student, vocabularies, lists, languages=("en", "fr"), compress=packed)
    return StudentFolder(path, student, MarianReference(floats), lists, (sizes[0], sizes[-1]))


def pieces(texts: Sequence[str]) -> bytes:
    """Return a SentencePiece model with the special pieces of Marian's."""
    return sentencepiece_model(texts, vocab_size=150, bos_id=-1, eos_id=0, unk_id=1)
