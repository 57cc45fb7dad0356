"""Firefox's students in our network and in the engine, against a translator in numpy that another person wrote."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from service.bundle.limits import length_limit
from service.bundle.load import load_bundle
from service.bundle.vocabulary import EOS
from service.engine.errors import BundleIncompatible
from service.engine.jobs import Hypothesis, SearchOptions, SentenceJob
from service.engine.model.device import ModelSettings
from service.engine.model.onnx_model import OnnxModel, load_model
from service.engine.model.session import exact_here
from tests.support.decoding import decode
from tests.support.marian_files import FIRST, candidates
from tests.support.marian_reference import UNKNOWN, MarianReference
from tests.training.commands import call, figures, lines, refusal, run
from tests.training.imports.firefox_models import StudentFolder, student_folder
from tests.training.imports.toy_text import ENGLISH, FRENCH
from training.data.batching import collate
from training.export.dequantise import dequantise_bundle
from training.export.graphs.precision import Calibration, QuantisedRange
from training.imports.bundle import ImportOptions, write_import
from training.imports.check import served_translations
from training.imports.firefox import read_firefox
from training.imports.network import network_of
from training.imports.source import ImportedModel, ReadOptions

Quantised = tuple[StudentFolder, ImportedModel, Path]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> StudentFolder:
    return student_folder(tmp_path_factory.mktemp("student") / "enfr")


@pytest.fixture(scope="module")
def model(folder: StudentFolder) -> ImportedModel:
    return read_firefox(folder.path, ReadOptions("firefox-en-fr"))


@pytest.fixture(scope="module")
def bundle(folder: StudentFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("models") / "firefox-en-fr"
    call("import", folder.path, "--output", output, "--faithful")
    return output


def sources_of(model: ImportedModel, count: int) -> list[list[int]]:
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
    engine, sources = load_model(load_bundle(bundle), ModelSettings()), sources_of(model, 200)
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


@pytest.mark.parametrize("int8", [False, True])
def test_one_table_may_hold_the_rows_of_two_vocabularies(int8: bool, tmp_path: Path) -> None:
    folder = student_folder(tmp_path / "enfr", int8, shared=False, joint=True, soft=int8)
    model = read_firefox(folder.path, ReadOptions("firefox-en-fr"))
    write_import(model, tmp_path / "bundle", ImportOptions(precisions=("fp32",)))
    engine, sources = load_model(load_bundle(tmp_path / "bundle"), ModelSettings()), sources_of(model, 60)
    rows = sorted({*model.rows[1][model.target.scored].tolist()})
    for source, ours in zip(sources, translate(engine, model, sources, 1), strict=True):
        factor = (limit_of(source, model) - 0.5) / len(source)
        expected = folder.reference.greedy(model.rows[0][source].tolist(), rows, length_factor=factor)
        assert tuple(model.rows[1][list(ours.ids)].tolist()) == expected.ids
    if int8 and exact_here():
        assert model.intgemm is not None


def test_beam_search_keeps_each_hypothesis_with_its_own_cells(bundle: Path, model: ImportedModel) -> None:
    engine, sources = load_model(load_bundle(bundle), ModelSettings()), sources_of(model, 20)
    found = translate(engine, model, sources, 4)
    ended = [(source, each) for source, each in zip(sources, found, strict=True) if each.ids[-1] == EOS]
    scored = engine.score_batch([(source, each.ids) for source, each in ended])
    for (_, ours), forced in zip(ended, scored, strict=True):
        np.testing.assert_allclose(forced.logprobs, ours.logprobs, atol=1e-4)


@pytest.fixture(scope="module")
def quantised(tmp_path_factory: pytest.TempPathFactory) -> Quantised:
    """Return a student with weights of eight bits, as it is imported, and its int8 bundle."""
    if not exact_here():
        pytest.skip("this processor does not add up products of eight bits exactly (VNNI)")
    place = tmp_path_factory.mktemp("quantised")
    folder = student_folder(place / "enfr", int8=True, soft=True)
    model = read_firefox(folder.path, ReadOptions("firefox-en-fr"))
    write_import(model, place / "int8", ImportOptions(precisions=("int8",)))
    return folder, model, place / "int8"


def test_eight_bits_make_the_words_that_intgemm_makes(quantised: Quantised) -> None:
    folder, model, bundle = quantised
    assert model.shortlist is not None
    engine, sources = load_model(load_bundle(bundle), ModelSettings()), sources_of(model, 100)
    together, intgemm = translate(engine, model, sources, 1), MarianReference(folder.student)
    assert together[:5] == [translate(engine, model, [source], 1)[0] for source in sources[:5]]
    for source, ours in zip(sources, together, strict=True):
        allowed = np.flatnonzero(model.shortlist.allowed(source))
        assert set(ours.ids) <= set(allowed.tolist())
        factor = (limit_of(source, model) - 0.5) / len(source)
        rows = sorted(model.rows[1][allowed].tolist())
        expected = intgemm.greedy(model.rows[0][source].tolist(), rows, length_factor=factor)
        assert tuple(model.rows[1][list(ours.ids)].tolist()) == expected.ids


def test_eight_bits_are_read_back_as_they_were(quantised: Quantised) -> None:
    _, model, bundle = quantised
    for name, array in dequantise_bundle(bundle).items():
        if name != "output_bias":  # what is never produced has another bias
            np.testing.assert_allclose(array.numpy(), model.state[name], rtol=1e-5, atol=1e-7)


def test_eight_bits_are_refused_where_their_products_are_not_exact(
    quantised: Quantised, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder, _, bundle = quantised
    monkeypatch.setattr("service.engine.model.session.exact_here", lambda: False)
    advice = "import the model again on this machine, or anywhere with --seven-bit"
    with pytest.raises(BundleIncompatible, match=advice):
        load_model(load_bundle(bundle), ModelSettings())
    monkeypatch.setattr("training.imports.firefox.products_are_exact", lambda _: False)
    model = read_firefox(folder.path, ReadOptions("firefox-en-fr"))
    made = write_import(model, tmp_path / "seven", ImportOptions(precisions=("int8",)))
    assert translate(load_model(load_bundle(made), ModelSettings()), model, sources_of(model, 1), 1)
    assert "seven bits" in (made / "README.md").read_text(encoding="utf-8")


def test_a_product_without_a_multiplier_of_its_input_has_a_scale_for_every_row(quantised: Quantised) -> None:
    _, model, _ = quantised
    assert model.intgemm is not None
    name, other = "decoder.0.cross.query", "decoder.0.cross.output"
    products = {each: (each,) for each in (name, other)}
    activations = {each: number for each, number in model.intgemm.activations.items() if each != name}
    plan = replace(model.intgemm, activations=activations).plan(
        Calibration({each: QuantisedRange(1.0, 3) for each in products}, frozenset([other])), products
    )
    assert plan.by_row == {name}
    assert plan.ranges[other].scale == pytest.approx(1 / 20)


def test_the_card_gives_licence_credit_and_the_scores_as_their_own(bundle: Path) -> None:
    manifest = load_bundle(bundle).manifest
    assert (manifest.source_language, manifest.target_language) == ("en", "fr")
    assert manifest.card["data"][0]["licence"] == "MPL-2.0"
    assert "Mozilla" in manifest.card["data"][0]["credit"]
    (bleu, *_) = manifest.card["scores"]
    assert (bleu["test_set"], bleu["metric"], bleu["score"], bleu["signature"]) == ("flores", "BLEU", 12.3, None)
    assert manifest.card["imported"]["stated"] == {"flores bleu": 12.3, "flores comet": 0.4567}
    text = (bundle / "README.md").read_text(encoding="utf-8")
    assert "Stated by the model's authors, not measured here: flores bleu 12.3, flores comet 0.4567." in text
    assert "seven bits" in text


@pytest.mark.parametrize(("shared", "packed"), [(True, True), (False, False)], ids=["packed", "two vocabularies"])
def test_files_of_eight_bits_and_of_two_vocabularies_are_read(shared: bool, packed: bool, tmp_path: Path) -> None:
    folder = student_folder(tmp_path, int8=True, shared=shared, packed=packed)
    model = read_firefox(tmp_path, ReadOptions("firefox-en-fr"))
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
    model = read_firefox(tmp_path, ReadOptions("firefox-en-fr"))
    assert model.shortlist is not None
    for source in sources_of(model, 20):
        theirs = model.rows[0][source].tolist()
        listed = {*range(FIRST), *(piece for row in theirs for piece in folder.lists[row])}
        expected = (listed | set(theirs) if shared else listed) - {UNKNOWN}
        assert set(model.rows[1][model.shortlist.allowed(source)].tolist()) == expected
        filled = candidates(theirs, folder.lists, vocabulary=folder.sizes[1], shared=shared)
        assert expected <= set(filled)
        assert len(filled) - len(expected) <= 8  # <unk> and seven to fill it up


def test_a_bundle_is_compared_with_the_scores_that_its_authors_state(
    folder: StudentFolder, bundle: Path, tmp_path: Path
) -> None:
    text, others = lines(tmp_path / "text.en", ENGLISH[:12]), lines(tmp_path / "others.fr", FRENCH[:12])
    own = lines(tmp_path / "own.fr", served_translations(bundle, ("en", "fr"), ENGLISH[:12], "fp32", "off"))
    made = tmp_path / "firefox-en-fr"
    check = ["import", folder.path, "--output", made, "--faithful", "--check", text]
    assert f"{made} has the scores that its authors state" in call(*check, "--references", own)
    found = figures(made)
    assert found["flores bleu, stated by its authors", None] == 12.3
    assert found["BLEU, values=off", "fp32"] == pytest.approx(100)
    assert found["BLEU lost, values=off", "fp32"] == pytest.approx(-87.7)
    assert run(*check, "--references", others).exit_code == 1  # a student of random weights
    assert "this bundle does NOT have them" in (made / "README.md").read_text("utf-8")
    assert "give --references" in str(refusal(*check))
