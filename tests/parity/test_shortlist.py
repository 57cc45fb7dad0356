"""A shortlist: the result depends on the sentence's own list alone, not on other sentences or their lists."""

import hashlib
import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from service.engine.errors import BundleCorrupt
from tests.parity.bundles import CONFIGS, WORDS, export, in_groups, jobs_of, load
from tests.support.decoding import decode
from training.export.shortlist import Shortlist

RANDOM = np.random.default_rng(3)
LISTED = Shortlist(
    np.array([2, *range(100, 104)], np.uint16),
    # Source tokens call for nothing up to 29 others, so that lists differ in length by several times.
    (RANDOM.integers(3, WORDS, (WORDS, 30)) * (np.arange(30) <= RANDOM.integers(0, 30, (WORDS, 1)))).astype(np.uint16),
)


@pytest.fixture(scope="module", params=CONFIGS)
def bundles(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One network three times: with a shortlist, with one that holds everything, and without any."""
    folder = tmp_path_factory.mktemp("bundles")
    everything = Shortlist(np.arange(3, WORDS, dtype=np.uint16), np.full((WORDS, 1), 2, np.uint16))
    for name, shortlist in (("listed", LISTED), ("everything", everything), ("none", None)):
        export(request.param, folder / name, shortlist)
    return folder


@pytest.mark.parametrize("beam_size", [1, 4])
def test_only_what_is_listed_is_produced_and_company_changes_no_bit(bundles: Path, beam_size: int) -> None:
    model, jobs = load(bundles / "listed"), jobs_of(beam_size)
    together = decode(model, jobs, in_groups(jobs))
    assert together == [decode(model, [job])[0] for job in jobs]
    for job, found in zip(jobs, together, strict=True):
        allowed = {*LISTED.always.tolist(), *LISTED.likely[list(job.source_ids)].ravel().tolist()} - {0}
        assert set(found.ids) <= allowed


def test_a_list_of_everything_changes_nothing(bundles: Path) -> None:
    jobs = jobs_of(4)
    everything, none = (decode(load(bundles / name), jobs, in_groups(jobs, 5)) for name in ("everything", "none"))
    same = [(one, other) for one, other in zip(everything, none, strict=True) if one.ids == other.ids]
    assert len(same) > 0.9 * len(jobs)  # the last bit of a sum may decide between equals
    for one, other in same:
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-3)


def test_a_token_that_a_value_needs_is_scored_once(bundles: Path) -> None:
    model, source = load(bundles / "listed"), jobs_of(1)[0].source_ids
    found = []
    always: list[int] = LISTED.always.tolist()
    for needed in (always[:0], always):
        state = model.decoder_state(1, len(LISTED.always) + 4)
        state.join(model.encode([source], [needed]), [0])
        step = state.step(SimpleNamespace(tokens=np.array([[model.bos]])))
        found.append(dict(zip(step.ids[0, 0].tolist(), step.logprobs[0, 0].tolist(), strict=True)))
        assert len(found[-1]) == step.ids.shape[2], "a token stands twice among those that may follow"
    assert found[0] == found[1]


def test_a_shortlist_of_another_vocabulary_is_refused(bundles: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(bundles / "listed", tmp_path / "wrong"))
    Shortlist(LISTED.always, LISTED.likely[:9]).write(folder / "shortlist.npz")
    document = json.loads((folder / "manifest.json").read_text())
    document["files"]["shortlist.npz"] = hashlib.sha256((folder / "shortlist.npz").read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(document))
    with pytest.raises(BundleCorrupt, match=f"vocabulary of {WORDS}"):
        load(folder)
