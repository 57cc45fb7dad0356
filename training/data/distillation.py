"""Makes distillation data: new sentences, each with the translation on which several models agree most.

Sequence-level knowledge distillation (1606.07947) over untranslated sentences (self-training, 1909.13788).
The teachers are bundles and translate through the command line, as the service does.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

from service.bundle import SERVICE
from training.data.reading import read_lines
from training.files import write_lines

_KEY = re.compile(r"[^\w]+")


class TeacherError(ValueError):
    """A teacher could not translate; the message is its own."""


def ask(teacher: Path, sentences: Path, *options: str | Path) -> None:
    """Run ``translucent translate`` with a bundle over a file; raises TeacherError with its error message."""
    command = [sys.executable, "-m", SERVICE, "translate", "--model", str(teacher), "--input", str(sentences)]
    command.append("--no-split-sentences")  # each line is one sentence
    result = subprocess.run([*command, *map(str, options)], capture_output=True, text=True, check=False)
    if result.returncode:
        raise TeacherError(f"{teacher}: {result.stderr.strip()[-500:]}")


def translated(bundle: Path, sentences: Sequence[str], *options: str) -> list[str]:
    """Return a bundle's translations as it is served, one for each sentence; raises TeacherError."""
    with tempfile.TemporaryDirectory() as name:
        source, target = Path(name) / "source", Path(name) / "target"
        write_lines(source, sentences)
        ask(bundle, source, "--output", target, *options)
        return read_lines(target)


class Distilled(NamedTuple):
    """A sentence with the translation chosen for it."""

    source: str
    target: str
    score: float
    """The mean over the teachers of its length-normalised log-probability, in nats per token."""


def unseen(candidates: Iterable[str], seen: Iterable[str]) -> list[str]:
    """Return the distinct candidates that equal no seen sentence, apart from case, spaces and punctuation, in order."""
    keys = {_key(sentence) for sentence in seen}
    by_key: dict[str, str] = {}
    for sentence in candidates:
        key = _key(sentence)
        if key and key not in keys:
            by_key.setdefault(key, sentence)
    return list(by_key.values())


def _key(sentence: str) -> str:
    return _KEY.sub(" ", sentence.lower()).strip()


def distil(sentences: Path, teachers: Sequence[Path], to: str | None = None) -> list[Distilled]:
    """Translate every line with every teacher, score all translations with every teacher, and choose the best.

    ``sentences`` has one sentence a line; ``teachers`` are bundle folders, imported ones too; ``to`` is the target
    language for teachers that have several.
    Raises TeacherError with the reason if a bundle or a line cannot be used.
    """
    count, language = len(teachers), () if to is None else ("--to", to)
    with tempfile.TemporaryDirectory() as name:
        texts = [Path(name) / f"text-{of}" for of in range(count)]
        scores = [[Path(name) / f"score-{of}-{by}" for by in range(count)] for of in range(count)]
        for of, teacher in enumerate(teachers):
            ask(teacher, sentences, *language, "--output", texts[of], "--scores", scores[of][of])
        for of, by in permutations(range(count), 2):
            ask(teachers[by], sentences, *language, "--target-file", texts[of], "--scores", scores[of][by])
        translations = [read_lines(path) for path in texts]
        judged = [[[float(line) for line in read_lines(path)] for path in row] for row in scores]
    return choose(read_lines(sentences), translations, judged)


def choose(
    sentences: Sequence[str], translations: Sequence[Sequence[str]], scores: Sequence[Sequence[Sequence[float]]]
) -> list[Distilled]:
    """Return each sentence's translation with the best mean score; at a tie, that of the earlier teacher.

    ``translations[of][line]``; ``scores[of][by][line]``: the score of teacher ``by`` for the translation of ``of``.
    """
    chosen = []
    for line, sentence in enumerate(sentences):
        means = [sum(judge[line] for judge in row) / len(row) for row in scores]
        best = max(range(len(means)), key=means.__getitem__)
        chosen.append(Distilled(sentence, translations[best][line], means[best]))
    return chosen


def most_confident(pairs: Sequence[Distilled], share: float) -> list[Distilled]:
    """Return the share (0 to 1) of the translated pairs that the teachers are most confident of, in their order."""
    translated = [pair for pair in pairs if pair.target.strip()]
    ranked = sorted(range(len(translated)), key=lambda i: -translated[i].score)
    return [translated[i] for i in sorted(ranked[: round(share * len(ranked))])]
