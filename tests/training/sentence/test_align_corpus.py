"""`python -m training align-corpus` as a user meets it, and its margin scoring (Artetxe and Schwenk 2019)."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import Result

from service.bundle.errors import BundleMissing
from tests.support.embedding import OBJECTS, SUBJECTS, VERBS, tiny_models
from tests.training import commands
from training.sentence.mining import Floats, mine

PAIRS = [(f"{s} {v} {o}.", f"{t} {w} {p}.") for s, t in SUBJECTS for v, w in VERBS for o, p in OBJECTS]


def run(models: Path, folder: Path, *options: str, languages: tuple[str, str] = ("en", "fr")) -> Result:
    texts, output = [folder / "en.txt", folder / "fr.txt"], folder / "pairs.tsv"
    pair = ["--from", languages[0], "--to", languages[1]]
    return commands.run("align-corpus", *texts, *pair, "--output", output, "--model", models / "sentence", *options)


def written(folder: Path) -> list[list[str]]:
    return [line.split("\t") for line in (folder / "pairs.tsv").read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models(tmp_path_factory.mktemp("embedding"))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    mixed = [second for _, second in PAIRS[:60]]
    random.Random(1).shuffle(mixed)
    (tmp_path / "en.txt").write_text("\n".join([first for first, _ in PAIRS[:60]] + ["", PAIRS[0][0]]) + "\n", "utf-8")
    (tmp_path / "fr.txt").write_text("\n".join(mixed) + "\n", "utf-8")
    return tmp_path


def test_pairs_are_written_with_their_scores_the_best_first_down_to_the_least(models: Path, files: Path) -> None:
    answer = run(models, files, "--min-score", "0")
    assert answer.exit_code == 0, answer.output
    rows = written(files)
    assert 30 <= len(rows) <= 60
    english, french = {first for first, _ in PAIRS}, {second for _, second in PAIRS}
    assert all(first in english and second in french for first, second, _ in rows)
    scores = [float(score) for *_, score in rows]
    assert scores == sorted(scores, reverse=True)
    assert "left out as empty, repeated or in another language" in answer.stderr
    run(models, files, "--min-score", str(scores[len(scores) // 2]))
    assert 0 < len(written(files)) < len(scores)


def test_what_is_wrong_is_said(models: Path, files: Path, tmp_path: Path) -> None:
    assert str(run(models, files, languages=("en", "it")).exception) == "--to it: tiny knows en, fr."
    (files / "fr.txt").write_bytes(b"\xff")
    assert "fr.txt is not UTF-8" in str(run(models, files).exception)
    (files / "fr.txt").unlink()
    assert isinstance(run(models, files).exception, FileNotFoundError)
    assert isinstance(run(tmp_path, files).exception, BundleMissing)


def unit(values: Any) -> Floats:
    array = np.asarray(values, np.float32)
    return np.asarray(array / np.linalg.norm(array, axis=1, keepdims=True), np.float32)


def test_pairs_hidden_among_others_are_found_first() -> None:
    random = np.random.default_rng(1)
    source, target = random.normal(size=(60, 16)), random.normal(size=(80, 16))
    order = random.permutation(80)[:20]
    target[order] = source[:20] + random.normal(size=(20, 16)) * 0.1
    found = mine(unit(source), unit(target))
    assert {(pair.source, pair.target) for pair in found[:20]} == set(enumerate(order.tolist()))
    assert found[19].score > found[20].score
    assert [pair.score for pair in found] == sorted((pair.score for pair in found), reverse=True)


def test_the_score_is_the_cosine_over_the_mean_of_both_neighbourhoods() -> None:
    source = unit([[1, 0], [0.6, 0.8]])
    target = unit([[0.8, 0.6], [0, 1]])
    cosines = source @ target.T  # [[0.8, 0], [0.96, 0.8]]
    found = mine(source, target, neighbours=2)
    margins = 2 * cosines / (cosines.mean(axis=1)[:, None] + cosines.mean(axis=0))
    scores = {(pair.source, pair.target): pair.score for pair in found}
    for (row, column), score in scores.items():
        assert score == pytest.approx(margins[row, column], rel=1e-5)
    # By cosine alone, source 1 would take target 0; the margin gives each its own.
    assert set(scores) == {(0, 0), (1, 1)}


def test_no_row_is_in_two_pairs() -> None:
    random = np.random.default_rng(2)
    found = mine(unit(random.normal(size=(30, 4))), unit(random.normal(size=(7, 4))))
    assert len({pair.source for pair in found}) == len(found) == len({pair.target for pair in found}) <= 7


def test_an_empty_side_has_no_pairs() -> None:
    assert mine(np.zeros((0, 4), np.float32), unit([[1, 0, 0, 0]])) == []
