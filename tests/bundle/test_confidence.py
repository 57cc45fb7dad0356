"""The quality of a sentence from its signals, and the manifest's section for it."""

from pathlib import Path
from typing import Any

import pytest

from service.bundle.confidence import SIGNALS, Confidence, signals_of
from service.bundle.load import load_bundle
from service.engine.errors import BundleCorrupt
from tests.support.manifests import write_bundle

SECTION: dict[str, Any] = {"version": 1, "intercept": 2.0, "coefficients": {"mean_logprob": 4.0}}


def test_a_surer_translation_has_the_higher_quality() -> None:
    confidence = Confidence.of(SECTION)
    sure, unsure = (signals_of("I lost.", "J'ai perdu.", 3, logprobs) for logprobs in ((-0.1,) * 5, (-1.5,) * 5))
    assert 0.8 < confidence.quality(sure) < 1
    assert 0 < confidence.quality(unsure) < 0.1


def test_each_signal_says_what_its_name_says() -> None:
    found = dict(zip(SIGNALS, signals_of("one two", "eins", 8, (-0.1, -0.1, -2.0, -1.0)), strict=True))
    assert found["mean_logprob"] == pytest.approx(-0.8)
    assert found["doubtful_share"] == 0.5
    assert found["tokens_per_word"] == pytest.approx(8 / 3)
    assert found["token_ratio"] < 0
    assert found["character_ratio"] < 0


def test_quality_stays_within_its_range_for_odd_signals() -> None:
    confidence = Confidence(0.0, (1e6,) * len(SIGNALS))
    for logprobs in ((), (-1e9,), (0.0,)):
        assert 0 <= confidence.quality(signals_of("", "", 0, logprobs)) <= 1


def test_a_manifest_may_have_coefficients(tmp_path: Path) -> None:
    assert load_bundle(write_bundle(tmp_path / "without")).manifest.confidence is None
    manifest = load_bundle(write_bundle(tmp_path / "with", confidence=SECTION)).manifest
    assert manifest.confidence == Confidence.of(SECTION)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "confidence.version"),
        ({"coefficients": {"phase_of_the_moon": 1.0}}, "phase_of_the_moon"),
        ({"intercept": "high"}, "confidence.intercept"),
    ],
)
def test_coefficients_of_unknown_signals_are_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    folder = write_bundle(tmp_path / "m", confidence={**SECTION, **change})
    with pytest.raises(BundleCorrupt, match=message):
        load_bundle(folder)
