"""Compares a bundle with the scores that the authors of its model state, over the test set that they name.

For models whose own engine does not run here. The test set is the user's: nothing is fetched.
"""

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from service.bundle.manifest import MANIFEST_NAME, Manifest, Precision
from training.export.compare import Comparison
from training.imports.check import LIMITS, LOST_BLEU, bleu, chrf, require_sentences, served_translations

STATED = "the scores that its authors state"
"""What a verdict was compared with."""


def compare_with_stated(
    bundle: Path, manifest: Manifest, texts: Sequence[str], references: Sequence[str]
) -> list[Comparison]:
    """Return BLEU, chrF and time of each precision for CPUs beside what ``metadata.json`` of the model stated.

    ``texts`` and ``references`` are the test set of these scores, one a line. Raises ImportRefused without sentences,
    or where the references are of another number.
    """
    require_sentences(texts, references)
    stated = {str(name): float(score) for name, score in manifest.card["imported"].get("stated", {}).items()}
    figures = [Comparison(f"{name}, stated by its authors", score) for name, score in stated.items()]
    known = next((score for name, score in stated.items() if name.endswith(" bleu")), None)
    graphs = json.loads((bundle / MANIFEST_NAME).read_text(encoding="utf-8"))["graphs"]
    pair = manifest.source_languages[0], manifest.targets[0].language
    for precision in LIMITS:
        if precision in graphs:
            figures += _measured(bundle, pair, precision, texts, references, known)
    return figures


def _measured(
    bundle: Path,
    pair: tuple[str, str],
    precision: Precision,
    texts: Sequence[str],
    references: Sequence[str],
    stated: float | None,
) -> Iterator[Comparison]:
    began = time.perf_counter()
    found = served_translations(bundle, pair, texts, precision, "off")
    seconds = time.perf_counter() - began
    score = bleu(found, references)
    yield Comparison("BLEU, values=off", score, precision)
    if stated is not None:
        yield Comparison("BLEU below the stated", stated - score, precision, at_most=LOST_BLEU + ROUNDED)
    yield Comparison("chrF, values=off", chrf(found, references), precision)
    yield Comparison("BLEU, as served by default", bleu(served_translations(bundle, pair, texts, precision, "localize"),
                                                    references), precision)  # fmt: skip
    yield Comparison(f"seconds for {len(texts)} sentences, with the program's start", seconds, precision)


ROUNDED = 0.05
"""Stated scores have one decimal."""
