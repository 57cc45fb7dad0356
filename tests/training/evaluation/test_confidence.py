"""The command that gives a bundle a quality: it learns, measures, writes the manifest, and the service reads it."""

import gzip
import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from service.bundle.confidence import SIGNALS
from service.bundle.load import load_bundle
from tests.training.commands import call, run
from training.data.distillation import ask
from training.evaluation.confidence import (
    ConfidenceError,
    JudgedSet,
    fit,
    group,
    measure,
    nonsense,
    reliability,
    short_lines,
)
from training.evaluation.test_sets import TestSet

BUNDLE = Path(__file__).parents[3] / "models" / "gallery" / "gallery-transformer-small"
SUBJECTS = {
    "A man": "Un monsieur",
    "A woman": "Une femme",
    "A boy": "Un garçon",
    "A girl": "Une fille",
    "A dog": "Un chien",
}
VERBS = {"sleeps": "dort", "sings": "chante", "works": "travaille", "laughs": "rit"}


def judged(count: int, seed: int = 0) -> JudgedSet:
    """Make lines that are usable exactly when the model was sure, with a tenth of the labels turned round."""
    chooser = np.random.default_rng(seed)
    logprobs = -chooser.random(count) * 2
    values = np.zeros((count, 1, len(SIGNALS)))
    values[:, 0, 0] = logprobs
    usable = (logprobs > -1) ^ (chooser.random(count) < 0.1)
    return JudgedSet("made up", list(values), [np.ones(1)] * count, usable)


def test_what_is_learnt_holds_on_other_lines() -> None:
    confidence = fit([judged(600)])
    test = judged(600, seed=1)
    figures = measure("test", test.usable, test.qualities(confidence))
    assert figures["auc"] > 0.85
    assert figures["ece"] < 0.15
    assert sum(count for _, _, count in reliability(test.usable, test.qualities(confidence))) == 600


def test_nothing_can_be_learnt_from_lines_that_are_all_alike() -> None:
    one = judged(10)
    with pytest.raises(ConfidenceError, match="all or none"):
        fit([JudgedSet("alike", one.signals, one.weights, np.ones(10, bool))])


def test_a_source_has_all_its_references_and_nonsense_has_its_letters() -> None:
    pairs = group(TestSet("t", ["Go.", "Stop now.", "Go."], ["Va.", "Arrête.", "Allez."]))
    assert dict(zip(pairs.sources, pairs.references, strict=True))["Go."] == ("Va.", "Allez.")
    [broken] = nonsense([pairs], 0.5).sources
    assert any(sorted(broken) == sorted(source) for source in pairs.sources)


def test_short_lines_are_of_the_languages_that_our_own_text_has() -> None:
    lines = short_lines("de", "en", 30)
    assert len(lines.sources) == 30
    assert all(1 <= len(source.split()) <= 3 for source in lines.sources)
    assert short_lines("de", "en", 30) == lines
    assert not short_lines("es", "en", 30).sources


def test_the_command_gives_a_bundle_its_quality(tmp_path: Path) -> None:
    bundle = tmp_path / BUNDLE.name
    shutil.copytree(BUNDLE, bundle)
    lines = [f"{s} {v}.\t{t} {w}." for s, t in SUBJECTS.items() for v, w in VERBS.items()]
    # References that no model could guess: their translations count as not usable.
    lines += [f"{s} {v} outside the old mill.\txyz {n} qqq" for n, s in enumerate(SUBJECTS) for v in VERBS]
    random.Random(0).shuffle(lines)
    pairs, tests = tmp_path / "pairs.tsv", tmp_path / "mirror" / "test" / "tatoeba.en-fr.tsv.gz"
    tests.parent.mkdir(parents=True)
    pairs.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    tests.write_bytes(gzip.compress(pairs.read_bytes()))
    call("confidence", bundle, "--pairs", pairs, "--tests", tests.parents[1], "--short", 6)
    section = load_bundle(bundle).manifest.raw["confidence"]
    assert section["trained_on"]["pairs"] == {"pairs": 40, "everyday, short": 6, "nonsense": 2}
    assert [row["test_set"] for row in section["measured"]] == ["tatoeba.en-fr", "all"]
    assert section["measured"][0]["auc"] > 0.6

    source, target, quality = (tmp_path / name for name in ("source", "target", "quality"))
    source.write_text("A man sleeps.\n\nZxcv qwer lkjh poiu.\n", encoding="utf-8")
    ask(bundle, source, "--output", target, "--quality", quality)
    good, empty, broken = quality.read_text().splitlines()
    assert empty == ""
    assert float(good) > float(broken)

    picture = tmp_path / "reliability.svg"
    call("reliability", bundle, "--output", picture)
    assert BUNDLE.name in picture.read_text(encoding="utf-8")
    assert run("reliability", BUNDLE, "--output", picture).exit_code == 1
