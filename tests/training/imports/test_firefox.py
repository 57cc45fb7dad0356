"""Firefox's students in our network and in the engine, against a translator in numpy that another person wrote."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from service.bundle.limits import length_limit
from service.bundle.load import load_bundle
from service.bundle.vocabulary import EOS
from service.engine.jobs import Hypothesis, SearchOptions, SentenceJob
from service.engine.model.device import ModelSettings
from service.engine.model.onnx_model import OnnxModel, load_model
from tests.support.decoding import decode
from tests.support.exported import LOOSE
from tests.support.marian_files import FIRST, candidates
from tests.support.marian_reference import UNKNOWN
from tests.training.commands import call, figures, lines, refusal, run
from tests.training.imports.firefox_models import ENGLISH, FRENCH, StudentFolder, student_folder
from training.data.batching import collate
from training.imports.bundle import ImportOptions
from training.imports.check import served_translations
from training.imports.firefox import FirefoxOptions, read_firefox
from training.imports.network import import_bundle, network_of
from training.imports.source import ImportedModel

SENTENCES = 200


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> StudentFolder:
    """Return a student with float weights and one vocabulary."""
    return student_folder(tmp_path_factory.mktemp("student") / "enfr")


@pytest.fixture(scope="module")
def model(folder: StudentFolder) -> ImportedModel:
    """Return the student as it is imported."""
    return read_firefox(folder.path, FirefoxOptions("firefox-en-fr"))


@pytest.fixture(scope="module")
def bundle(folder: StudentFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the student's bundle, imported by the command."""
    output = tmp_path_factory.mktemp("models") / "firefox-en-fr"
    call("import", "firefox", folder.path, "--output", output, "--faithful")
    return output


def sources_of(model: ImportedModel, count: int) -> list[list[int]]:
    """Return sentences in our ids, with the end token."""
    return [[*model.source.tokenizer.encode(text, add_special_tokens=False).ids, EOS] for text in ENGLISH[:count]]


def limit_of(source: list[int], model: ImportedModel) -> int:
    return length_limit(len(source), model.max_tokens)


def translate(engine: OnnxModel, model: ImportedModel, sources: list[list[int]], beam_size: int) -> list[Hypothesis]:
    """Translate sentences that join a running batch seven at a time."""
    jobs = [
        SentenceJob(tuple(source), SearchOptions(beam_size, max_length=limit_of(source, model), repetition_guard=False))
        for source in sources
    ]
    return decode(engine, jobs, [2 * (at // 7) for at in range(len(jobs))])


def test_the_engine_translates_scores_and_aligns_as_the_reference(
    bundle: Path, model: ImportedModel, folder: StudentFolder
) -> None:
    engine, sources = load_model(load_bundle(bundle), ModelSettings()), sources_of(model, SENTENCES)
    found = translate(engine, model, sources, 1)
    closed = [each.ids if each.ids[-1] == EOS else (*each.ids, EOS) for each in found]
    scored = engine.score_batch(list(zip(sources, closed, strict=True)))
    for source, ours, forced in zip(sources, found, scored, strict=True):
        factor = (limit_of(source, model) - 0.5) / len(source)
        expected = folder.reference.greedy(model.rows[0][source].tolist(), length_factor=factor)
        assert tuple(model.rows[1][list(ours.ids)].tolist()) == expected.ids
        np.testing.assert_allclose(forced.logprobs[: len(ours.ids)], ours.logprobs, atol=1e-4)
        np.testing.assert_allclose(forced.cross_attention.sum(-1), 1, atol=1e-5)
        aligned = forced.cross_attention[model.alignment.layer, model.alignment.head, : len(ours.ids)]
        np.testing.assert_allclose(aligned, expected.alignment, atol=1e-3)  # sharp attention makes rounding larger
        assert forced.encoder_attention is not None
        assert forced.decoder_attention is None


def test_beam_search_keeps_each_hypothesis_with_its_own_cells(bundle: Path, model: ImportedModel) -> None:
    engine, sources = load_model(load_bundle(bundle), ModelSettings()), sources_of(model, 20)
    found = translate(engine, model, sources, 4)
    ended = [(source, each) for source, each in zip(sources, found, strict=True) if each.ids[-1] == EOS]
    scored = engine.score_batch([(source, each.ids) for source, each in ended])
    for (_, ours), forced in zip(ended, scored, strict=True):
        np.testing.assert_allclose(forced.logprobs, ours.logprobs, atol=1e-4)


def test_eight_bits_choose_among_the_candidates_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = student_folder(tmp_path / "enfr", int8=True, soft=True)
    model = read_firefox(folder.path, FirefoxOptions("firefox-en-fr"))
    assert model.shortlist is not None
    monkeypatch.setattr("training.imports.bundle.GATE", replace(LOOSE, pairs=16, longest=64))
    import_bundle(model, tmp_path / "int8", ImportOptions(precisions=("int8",)))
    engine, sources = load_model(load_bundle(tmp_path / "int8"), ModelSettings()), sources_of(model, 40)
    together, same, steps = translate(engine, model, sources, 1), 0, 0
    assert together[:5] == [translate(engine, model, [source], 1)[0] for source in sources[:5]]
    for source, ours in zip(sources, together, strict=True):
        allowed = np.flatnonzero(model.shortlist.allowed(source))
        assert set(ours.ids) <= set(allowed.tolist())
        rows = sorted(model.rows[1][allowed].tolist())
        expected = folder.reference.greedy(model.rows[0][source].tolist(), rows).ids
        equal = model.rows[1][list(ours.ids)][: len(expected)] == np.array(expected[: len(ours.ids)])
        agreed = int(equal.argmin()) if not equal.all() else len(equal)  # where they part, they go on differently
        same, steps = same + agreed, steps + min(agreed + 1, len(equal))
    assert same > 0.9 * steps


def test_the_card_gives_licence_credit_and_the_scores_as_their_own(bundle: Path) -> None:
    manifest = load_bundle(bundle).manifest
    assert (manifest.source_language, manifest.target_language) == ("en", "fr")
    assert manifest.card["data"][0]["licence"] == "MPL-2.0"
    assert "Mozilla" in manifest.card["data"][0]["credit"]
    assert manifest.card["scores"] == []
    assert manifest.card["imported"]["stated"] == {"flores bleu": 12.3, "flores comet": 0.4567}
    text = (bundle / "README.md").read_text(encoding="utf-8")
    assert "Stated by the model's authors, not measured here: flores bleu 12.3, flores comet 0.4567." in text
    assert "seven bits" in text


@pytest.mark.parametrize(("shared", "packed"), [(True, True), (False, False)], ids=["packed", "two vocabularies"])
def test_files_of_eight_bits_and_of_two_vocabularies_are_read(shared: bool, packed: bool, tmp_path: Path) -> None:
    folder = student_folder(tmp_path, int8=True, shared=shared, packed=packed)
    model = read_firefox(tmp_path, FirefoxOptions("firefox-en-fr"))
    network = network_of(model)
    numbers = {row: number for number, row in enumerate(model.rows[1].tolist()) if number >= EOS}
    for source in sources_of(model, 12):
        expected = folder.reference.greedy(model.rows[0][source].tolist())
        target = np.array([numbers[piece] for piece in expected.ids], np.uint16)
        batch = collate([np.array(source, np.uint16)], [target])
        with torch.no_grad():
            decoded = network.decode(batch.target_in, network.encode(batch.source, batch.source_lengths))
            chosen = network.logits(decoded.hidden)[0].argmax(-1).tolist()
        assert chosen == target.tolist()
        np.testing.assert_allclose(decoded.cross_attention[0, -1, 0], expected.alignment, atol=1e-4)


@pytest.mark.parametrize("shared", [True, False])
def test_candidates_are_those_of_the_file_without_its_filling(shared: bool, tmp_path: Path) -> None:
    folder = student_folder(tmp_path, shared=shared)
    model = read_firefox(tmp_path, FirefoxOptions("firefox-en-fr"))
    assert model.shortlist is not None
    for source in sources_of(model, 20):
        theirs = model.rows[0][source].tolist()
        listed = {*range(FIRST), *(piece for row in theirs for piece in folder.lists[row])}
        expected = (listed | set(theirs) if shared else listed) - {UNKNOWN}
        assert set(model.rows[1][model.shortlist.allowed(source)].tolist()) == expected
        filled = candidates(theirs, folder.lists, vocabulary=folder.sizes[1], shared=shared)
        assert expected <= set(filled)
        assert len(filled) - len(expected) <= 8  # <unk> and seven to fill it up


def test_a_bundle_is_compared_with_the_scores_that_its_authors_state(bundle: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(bundle, tmp_path / "firefox-en-fr")
    text, others = lines(tmp_path / "text.en", ENGLISH[:12]), lines(tmp_path / "others.fr", FRENCH[:12])
    own = lines(tmp_path / "own.fr", served_translations(copy, ("en", "fr"), ENGLISH[:12], "fp32", "off"))
    check = ["import", "check", copy, "--text", text]
    printed = call(*check, "--references", own)
    assert f"{copy} has the scores that its authors state" in printed
    assert "seconds for 12 sentences" in printed
    found = figures(copy)
    assert found["flores bleu, stated by its authors", None] == 12.3
    assert found["BLEU, values=off", "fp32"] == pytest.approx(100)
    assert found["BLEU below the stated", "fp32"] == pytest.approx(-87.7)
    assert run(*check, "--references", others).exit_code == 1  # a student of random weights
    assert "this bundle does NOT have them" in (copy / "README.md").read_text("utf-8")
    assert "give --references" in str(refusal(*check))
