"""Bundles on ONNX Runtime: the results are those of the graphs, for any rows that join or leave meanwhile."""

import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx.parser
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.bundle.load import load_bundle
from service.bundle.manifest import LARGE_PARAMETERS
from service.engine.errors import BundleCorrupt, BundleIncompatible
from service.engine.jobs import Hypothesis, SearchOptions, SentenceJob
from service.engine.model.batching import RUN_TOKENS, group_by_length, pad_batch
from service.engine.model.binding import Binding
from service.engine.model.device import ModelSettings
from service.engine.model.onnx_model import OnnxModel, load_model
from service.engine.scheduling.batch import RunningBatch
from tests.support.decoding import decode
from tests.support.fake_model import ScriptedModel
from tests.support.toy_onnx import sentences, toy_rule, write_toy_bundle


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> OnnxModel:
    return load_model(load_bundle(write_toy_bundle(tmp_path_factory.mktemp("toy") / "toy")), ModelSettings())


def jobs_of(count: int, seed: int, options: SearchOptions) -> list[SentenceJob]:
    return [SentenceJob(source, options) for source in sentences(count, seed=seed)]


@pytest.mark.parametrize("beam_size", [1, 3, 8])
def test_the_graphs_give_what_the_same_rule_gives_in_numpy(model: OnnxModel, beam_size: int) -> None:
    jobs = jobs_of(12, 0, SearchOptions(beam_size, max_length=40))
    found = decode(model, jobs, [0, 0, 0, 1, 1, 4, 5, 5, 9, 17, 18, 30])
    for hypothesis, other in zip(found, decode(ScriptedModel(toy_rule), jobs), strict=True):
        assert hypothesis.ids == other.ids
        assert hypothesis.logprobs == pytest.approx(other.logprobs, abs=2e-3)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_company_and_time_of_arrival_change_no_bit(model: OnnxModel, beam_size: int) -> None:
    jobs = jobs_of(40, 1, SearchOptions(beam_size, max_length=70))
    arrivals = np.random.default_rng(2).integers(0, 25, len(jobs)).tolist()
    assert decode(model, jobs, arrivals) == [decode(model, [job])[0] for job in jobs]


def test_an_empty_lane_gives_large_buffers_back(model: OnnxModel, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = jobs_of(6, 8, SearchOptions(4, max_length=30))
    expected = decode(model, jobs)
    monkeypatch.setattr("service.engine.model.decoder_state.KEPT_BYTES", 0)
    assert decode(model, jobs, [0, 60, 60, 61, 200, 300]) == expected


def test_dropping_sentences_leaves_the_others_alone(model: OnnxModel) -> None:
    jobs = jobs_of(9, 3, SearchOptions(4, max_length=50, prefix=(5,) * 30))
    batch: RunningBatch[int] = RunningBatch(model, 4)
    batch.join(model.encode([job.source_ids for job in jobs]), range(9), list(enumerate(jobs)))
    for _ in range(10):
        assert batch.step() == []
    assert batch.drop({0, 4, 8}.__contains__) == [0, 4, 8]
    assert batch.rows == 24
    found: dict[int, Hypothesis] = {}
    while len(batch):
        found |= {owner: result.hypotheses[0] for owner, result in batch.step()}
    assert sorted(found) == [1, 2, 3, 5, 6, 7]
    assert all(found[at] == decode(model, [jobs[at]])[0] for at in found)


def test_forced_results_are_cut_to_their_own_lengths(model: OnnxModel) -> None:
    pairs = list(zip(sentences(7, seed=4), sentences(7, seed=5), strict=True))
    for (source, target), result in zip(pairs, model.score_batch(pairs), strict=True):
        assert result.logprobs.tolist() == [-token for token in target]
        assert result.ranks.tolist() == list(target)
        assert result.cross_attention.shape == (1, 1, len(target), len(source))
        assert np.array_equal(result.cross_attention[0, 0], np.outer(target, source))
        assert result.encoder_attention is None
        assert result.decoder_attention is None


def test_a_graph_without_an_array_of_the_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleIncompatible, match="initial_mood"):
        load_model(load_bundle(write_toy_bundle(tmp_path / "toy", broken=True)), ModelSettings())


def test_a_file_that_is_no_graph_is_refused_by_name(tmp_path: Path) -> None:
    folder = write_toy_bundle(tmp_path / "toy")
    bundle = load_bundle(folder)
    (folder / "decoder.fp32.onnx").write_bytes(b"not a graph")
    with pytest.raises(BundleCorrupt, match="decoder"):
        load_model(bundle, ModelSettings())


def test_a_large_model_scores_without_packed_weights_and_gives_the_same_numbers(
    model: OnnxModel, tmp_path: Path
) -> None:
    bundle = load_bundle(write_toy_bundle(tmp_path / "toy"))
    card = {**bundle.manifest.card, "parameters": LARGE_PARAMETERS + 1}
    large = load_model(replace(bundle, manifest=replace(bundle.manifest, card=card)), ModelSettings())
    pairs = [(source, source) for source in sentences(6, seed=4)]
    for one, other in zip(model.score_batch(pairs), large.score_batch(pairs), strict=True):
        assert np.array_equal(one.logprobs, other.logprobs)
        assert np.array_equal(one.cross_attention, other.cross_attention)
    entry = "session.disable_prepacking"
    assert large._forced.get_session_options().get_session_config_entry(entry) == "1"


Floats = npt.NDArray[np.float32]


@pytest.fixture(scope="module")
def session() -> onnxruntime.InferenceSession:
    """Return a session that takes `rows` of `data`."""
    text = "take (float[A, B] data, int64[C] rows) => (float[C, B] result) { result = Gather <axis = 0> (data, rows) }"
    graph = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}')
    return onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])


def numbers(*values: float) -> Floats:
    return np.array(values, np.float32)[:, None]


def test_a_binding_keeps_no_array_alive(session: onnxruntime.InferenceSession) -> None:
    binding, data = Binding(session), numbers(1, 2)
    binding.read("data", data, 2)
    alive = weakref.ref(data)
    del data
    assert alive() is None


def groups(lengths: list[int], most: int = 100) -> list[list[int]]:
    return [[lengths[index] for index in group] for group in group_by_length(lengths, lambda longest: most)]


def test_like_lengths_stand_together_unless_padding_costs_less_than_a_run() -> None:
    assert groups([8, 9, 60, 10, 8]) == [[60], [10, 9, 8, 8]]
    assert groups([12, 5]) == [[12, 5]]
    assert groups([12] + [5] * 6) == [[12], [5] * 6]
    assert groups([7] * 5, most=2) == [[7, 7], [7, 7], [7]]


def test_an_array_grows_in_steps_so_that_company_seldom_changes_its_width() -> None:
    short, lengths = pad_batch([[4, 5, 6, 7, 8, 9, 1]], 0, step=8)
    assert short.tolist() == [[4, 5, 6, 7, 8, 9, 1, 0]]
    assert lengths.tolist() == [7]
    assert pad_batch([[4, 1], [5, 6, 1]], 0)[0].tolist() == [[4, 1, 0], [5, 6, 1]]


@given(st.lists(st.integers(1, 80), max_size=40))
def test_everybody_is_in_one_group_and_one_run_for_all_or_for_each_is_never_better(lengths: list[int]) -> None:
    found = groups(lengths)
    assert sorted(length for group in found for length in group) == sorted(lengths)
    cost = sum(RUN_TOKENS + len(group) * max(group) for group in found)
    assert cost <= sum(length + RUN_TOKENS for length in lengths)
    assert cost <= RUN_TOKENS + len(lengths) * max(lengths, default=0)
