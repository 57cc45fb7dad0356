"""An ensemble of shipped models: one search over the mean of its members' log-probabilities, as NumPy computes it."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest

from service.bundle.load import load_bundle
from service.engine.jobs import IntArray, ScoringResult, SearchOptions, SentenceJob, WeightSelection
from service.engine.model.decoder_state import CpuDecoderState
from service.engine.model.device import ModelSettings
from service.engine.model.interface import Advance, Candidates, DecoderState, Encoded, HostCandidates, Rows
from service.engine.model.onnx_model import OnnxModel, load_model
from service.engine.text.tokenizer import load_tokenizers
from tests.support.decoding import run_batch
from tests.support.made_up_bundles import write_made_up_bundles
from tests.support.paths import MODELS
from training.export.ensemble import write_ensemble

SENTENCES = (
    "Good morning.",
    "Could you tell me where the nearest pharmacy is, please?",
    "We have lost the keys to the cellar, and the landlord is on holiday until Monday.",
    "Tea",
    "The committee decided that the bridge should be closed to traffic while the repairs are carried out.",
    "My sister's dog ate the remote control again!",
)
Scores = npt.NDArray[np.float32]


class MeanOfMembers:
    """Two models and the mean of their log-probabilities over all that a step of either can score."""

    def __init__(self, members: Sequence[OnnxModel], sources: Sequence[tuple[int, ...]]) -> None:
        self._members = members
        self.bos, self.eos = members[0].bos, members[0].eos
        self.step_cost: int | None = None
        self.source_limit = self.target_limit = 256
        # What one of them scores for a sentence, all must score.
        lists = [[_scored(member, source) for member in members] for source in sources]
        self._needed = {source: sorted(set().union(*own)) for source, own in zip(sources, lists, strict=True)}

    def encode(self, sources: Sequence[Sequence[int]], needed: Sequence[Sequence[int]] | None = None) -> Encoded:
        assert needed is None
        own = [self._needed[tuple(source)] for source in sources]
        return [member.encode(sources, own) for member in self._members]

    def decoder_state(self, beam_size: int, candidates: int) -> DecoderState:
        return _MeanState(self._members, beam_size, candidates)

    def score_batch(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[ScoringResult]:
        raise NotImplementedError

    def explain(self, source: Sequence[int], target: Sequence[int], selection: WeightSelection) -> ScoringResult:
        raise NotImplementedError

    def close(self) -> None:
        """Leave the members open."""


class _MeanState:
    """The states of both members, which give all their candidates."""

    def __init__(self, members: Sequence[OnnxModel], beam_size: int, candidates: int) -> None:
        states = [member.decoder_state(beam_size, 1) for member in members]
        self._states = [state for state in states if isinstance(state, CpuDecoderState)]
        self._candidates = candidates

    def join(self, encoded: Encoded, sentences: Sequence[int], places: Sequence[int] | None = None) -> None:
        assert isinstance(encoded, list)
        for state, own in zip(self._states, encoded, strict=True):
            state.join(own, sentences, places)

    def set_candidates(self, candidates: int) -> None:
        self._candidates = candidates

    def step(self, rows: Rows) -> Candidates:
        total: npt.NDArray[np.float64] = np.zeros((*rows.tokens.shape, 10_000))
        for state in self._states:
            state.set_candidates(1024 + state._held["O"])  # all that are scored
            found = state.step(rows)
            own = np.full(total.shape, -1e9)
            np.put_along_axis(own, found.ids, found.logprobs, axis=2)
            total += own / len(self._states)
        total -= np.log(np.exp(total).sum(axis=2, keepdims=True))
        best = np.argsort(-total, axis=2, kind="stable")[:, :, : self._candidates]
        return HostCandidates(best, np.take_along_axis(total, best, axis=2).astype(np.float32))

    def reorder(self, advance: Advance) -> None:
        for state in self._states:
            state.reorder(advance)

    def remove(self, removed: Sequence[int], holes: IntArray, movers: IntArray) -> None:
        for state in self._states:
            state.remove(removed, holes, movers)


def _scored(member: OnnxModel, source: tuple[int, ...]) -> set[int]:
    """Return all tokens that a member scores for a sentence."""
    encoded = member.encode([source])
    state = member.decoder_state(1, 1024)
    state.join(encoded, [0])
    ids = state.step(SimpleNamespace(tokens=np.array([[member.bos]]))).ids
    shortlist = member._shortlist
    assert shortlist is not None
    return {*ids.ravel().tolist(), *shortlist.of(source).tolist(), *shortlist._scored.tolist()}


@pytest.fixture(scope="module", params=["en-fr", "en-de"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an ensemble of the shipped models of a pair; those of en-de have different shortlists."""
    folder = tmp_path_factory.mktemp("models")
    members = [folder / f"{kind}-{request.param}" for kind in ("transformer", "bahdanau")]
    for member in members:
        shutil.copytree(MODELS / member.name, member)
    return write_ensemble(members, folder / f"ensemble-{request.param}", default=False).folder


@pytest.fixture(scope="module")
def ensemble(pair: Path) -> Iterator[OnnxModel]:
    model = load_model(load_bundle(pair), ModelSettings())
    yield model
    model.close()


@pytest.fixture(scope="module")
def members(pair: Path) -> list[OnnxModel]:
    return [load_model(member, ModelSettings()) for member in load_bundle(pair).members]


@pytest.fixture(scope="module")
def sources(pair: Path) -> list[tuple[int, ...]]:
    tokenizer = load_tokenizers(load_bundle(pair)).source
    return [tokenizer.encode(sentence) for sentence in SENTENCES]


def jobs_of(sources: Sequence[tuple[int, ...]], beam_size: int) -> list[SentenceJob]:
    search = SearchOptions(beam_size=beam_size, max_length=60, n_best=beam_size)
    return [SentenceJob(source, search) for source in sources]


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_search_takes_the_mean_of_what_its_members_say(
    ensemble: OnnxModel, members: list[OnnxModel], sources: list[tuple[int, ...]], beam_size: int
) -> None:
    jobs = jobs_of(sources, beam_size)
    mean = MeanOfMembers(members, sources)
    for found, wanted in zip(run_batch(ensemble, jobs), run_batch(mean, jobs), strict=True):
        assert [each.ids for each in found.hypotheses] == [each.ids for each in wanted.hypotheses]
        for own, other in zip(found.hypotheses, wanted.hypotheses, strict=True):
            np.testing.assert_allclose(own.logprobs, other.logprobs, atol=2e-5)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_alone_and_in_company_the_same(ensemble: OnnxModel, sources: list[tuple[int, ...]], beam_size: int) -> None:
    jobs = jobs_of(sources * 3, beam_size)
    alone = [run_batch(ensemble, [job])[0].hypotheses for job in jobs_of(sources, beam_size)] * 3
    together = [found.hypotheses for found in run_batch(ensemble, jobs, [at // 4 for at in range(len(jobs))])]
    assert together == alone


def test_scores_are_those_of_both_and_attention_is_that_of_each(
    ensemble: OnnxModel, members: list[OnnxModel], sources: list[tuple[int, ...]]
) -> None:
    pairs = [(source, run_batch(ensemble, jobs_of([source], 4))[0].hypotheses[0].ids) for source in sources]
    own = [member.score_batch(pairs) for member in members]
    for at, found in enumerate(ensemble.score_batch(pairs)):
        first, second = own[0][at], own[1][at]
        lacking = found.logprobs - (first.logprobs + second.logprobs) / 2
        assert (lacking > -1e-5).all()  # a mean of logarithms is normalised by adding something,
        assert (lacking < 1.5).all()  # which is little where they agree
        assert found.ranks.min() >= 1
        assert (found.ranks == 1).mean() > 0.8  # its own translation is what it likes best, nearly everywhere
        for mine, theirs in ((found.of_member(0), first), (found.of_member(1), second)):
            np.testing.assert_allclose(mine.cross_attention, theirs.cross_attention, atol=1e-5)
            assert (mine.encoder_attention is None) == (theirs.encoder_attention is None)
    assert own[0][0].cross_attention.shape != own[1][0].cross_attention.shape


@pytest.mark.parametrize("weights", [(), (3.0, 1.0)], ids=["equal", "weighted"])
def test_scores_are_the_normalised_mean_over_the_whole_vocabulary(tmp_path: Path, weights: tuple[float, ...]) -> None:
    """Of small networks, so that every token can be scored as the first one of a translation."""
    write_made_up_bundles(tmp_path)
    folders = [tmp_path / "transformer-en-fr", tmp_path / "bahdanau-en-fr"]
    bundle = write_ensemble(folders, tmp_path / "ensemble-en-fr", weights=weights, default=True)
    pairs = [((260, 261, 259, 2), (token,)) for token in range(bundle.manifest.vocabulary_size)]
    own, other, both = (
        load_model(each, ModelSettings()).score_batch(pairs) for each in (*map(load_bundle, folders), bundle)
    )
    share = 0.75 if weights else 0.5
    mean = np.array([share * a.logprobs[0] + (1 - share) * b.logprobs[0] for a, b in zip(own, other, strict=True)])
    mean -= np.log(np.exp(mean).sum())
    np.testing.assert_allclose([each.logprobs[0] for each in both], mean, atol=1e-5)
    ranks = [1 + int((mean > value + 1e-6).sum()) for value in mean]
    assert np.mean([each.ranks[0] == rank for each, rank in zip(both, ranks, strict=True)]) > 0.98


def test_each_member_explains_its_weights(ensemble: OnnxModel, sources: list[tuple[int, ...]]) -> None:
    target = run_batch(ensemble, jobs_of(sources[:1], 4))[0].hypotheses[0].ids
    [scored] = ensemble.score_batch([(sources[0], target)])
    for member in (0, 1):
        wanted = WeightSelection((0, 0), ("cross", 0, 0), stage="scores", member=member)
        found: ScoringResult = ensemble.explain(sources[0], target, wanted)
        assert found.scores is not None
        weights = np.exp(found.scores.scores - found.scores.scores.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(weights, scored.of_member(member).cross_attention[0, 0], atol=1e-4)
        np.testing.assert_allclose(found.logprobs, scored.logprobs, atol=1e-6)
