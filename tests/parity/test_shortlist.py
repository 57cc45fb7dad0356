"""A shortlist: the result depends on the sentence's own list alone, not on other sentences or their lists."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from service.bundle.load import load_bundle
from service.engine.errors import BundleCorrupt
from service.engine.jobs import SearchOptions, SentenceJob
from service.engine.model.device import ModelSettings
from service.engine.model.onnx_model import load_model
from tests.support.decoding import decode
from tests.support.exported import CARD, LOOSE, id_pairs, recipe_of
from tests.support.tiny_networks import bahdanau, transformer
from training.data.subwords import train_tokenizer
from training.export.bundle import ExportOptions, export_bundle
from training.export.shortlist import Shortlist
from training.networks.build import build_network
from training.recipe import VocabularyConfig

WORDS = 266
PAIRS = id_pairs(24, WORDS, 18)
RANDOM = np.random.default_rng(3)
LISTED = Shortlist(
    np.array([2, *range(100, 104)], np.uint16),
    # Source tokens call for nothing up to 29 others, so that lists differ in length by several times.
    (RANDOM.integers(3, WORDS, (WORDS, 30)) * (np.arange(30) <= RANDOM.integers(0, 30, (WORDS, 1)))).astype(np.uint16),
)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(["a b c"], VocabularyConfig(size=300, min_frequency=1))


@pytest.fixture(scope="module", params=["transformer", "bahdanau"])
def bundles(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer) -> Path:
    """One network three times: with a shortlist, with one that holds everything, and without any."""
    config = transformer(norm="pre") if request.param == "transformer" else bahdanau(tie_embeddings=True)
    folder, vocabulary = tmp_path_factory.mktemp("bundles"), tokenizer.get_vocab_size()
    assert vocabulary == WORDS
    everything = Shortlist(np.arange(3, vocabulary, dtype=np.uint16), np.full((vocabulary, 1), 2, np.uint16))
    for name, shortlist in (("listed", LISTED), ("everything", everything), ("none", None)):
        options = ExportOptions(CARD, precisions=("int8",), limits=LOOSE, shortlist=shortlist)
        torch.manual_seed(0)
        export_bundle(build_network(config, vocabulary), tokenizer, recipe_of(config), PAIRS, folder / name, options)
    return folder


def in_groups(jobs: list[SentenceJob], together: int) -> list[int]:
    """When each job joins: so many of them every other step."""
    return [2 * (at // together) for at in range(len(jobs))]


def jobs_of(beam_size: int) -> list[SentenceJob]:
    options = SearchOptions(beam_size, max_length=16)
    return [SentenceJob(tuple(int(token) for token in np.asarray(source)), options) for source, _ in PAIRS]


@pytest.mark.parametrize("beam_size", [1, 4])
def test_company_changes_no_bit(bundles: Path, beam_size: int) -> None:
    model, jobs = load_model(load_bundle(bundles / "listed"), ModelSettings()), jobs_of(beam_size)
    assert decode(model, jobs, in_groups(jobs, 7)) == [decode(model, [job], [0])[0] for job in jobs]


@pytest.mark.parametrize("beam_size", [1, 4])
def test_only_what_is_listed_is_produced(bundles: Path, beam_size: int) -> None:
    jobs = jobs_of(beam_size)
    for job, found in zip(
        jobs,
        decode(load_model(load_bundle(bundles / "listed"), ModelSettings()), jobs, in_groups(jobs, 7)),
        strict=True,
    ):
        allowed = {*LISTED.always.tolist(), *LISTED.likely[list(job.source_ids)].ravel().tolist()} - {0}
        assert set(found.ids) <= allowed


def test_a_list_of_everything_changes_nothing(bundles: Path) -> None:
    everything, none = (
        decode(load_model(load_bundle(bundles / name), ModelSettings()), jobs_of(4), in_groups(jobs_of(4), 5))
        for name in ("everything", "none")
    )
    same = [one.ids == other.ids for one, other in zip(everything, none, strict=True)]
    assert np.mean(same) > 0.9  # the last bit of a sum may decide between equals
    for one, other in zip(everything, none, strict=True):
        if one.ids == other.ids:
            assert one.logprobs == pytest.approx(other.logprobs, abs=1e-3)


def test_a_shortlist_of_another_vocabulary_is_refused(bundles: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(bundles / "listed", tmp_path / "wrong"))
    Shortlist(LISTED.always, LISTED.likely[:9]).write(folder / "shortlist.npz")
    document = json.loads((folder / "manifest.json").read_text())
    document["files"]["shortlist.npz"] = hashlib.sha256((folder / "shortlist.npz").read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(document))
    with pytest.raises(BundleCorrupt, match=f"vocabulary of {WORDS}"):
        load_model(load_bundle(folder), ModelSettings())
