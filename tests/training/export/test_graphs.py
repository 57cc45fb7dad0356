"""The exported graphs do what the networks do: every variant that a recipe can name."""

import numpy as np
import pytest

from service.bundle.vocabulary import BOS, PAD
from tests.support.exported import Array, Exported, batch_of, id_pairs, write_float
from tests.support.tiny_networks import VARIANTS, VOCABULARY, network
from training.data.batching import Batch
from training.export.sessions import open_session, run
from training.export.trained import torch_reference


@pytest.fixture(scope="module", params=VARIANTS)
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return write_float(VARIANTS[request.param], tmp_path_factory.mktemp("graphs"))


def test_forced_decoding_agrees_with_the_network_and_with_steps(exported: Exported) -> None:
    batch = batch_of(id_pairs())
    reference, result = torch_reference(network(exported.config), batch), exported.force("fp32", batch)
    for row, (source, target) in enumerate(
        zip(batch.source_lengths.tolist(), batch.target_lengths.tolist(), strict=True)
    ):
        np.testing.assert_allclose(result["logprobs"][row, :target], reference.logprobs[row, :target], atol=1e-4)
        for kind, weights in reference.attention.items():
            queries = source if kind == "encoder_attention" else target
            keys = target if kind == "decoder_attention" else source
            ours = result[kind][row, ..., :queries, :keys]
            np.testing.assert_allclose(ours, weights[row, ..., :queries, :keys], atol=1e-4, err_msg=kind)
            np.testing.assert_allclose(ours.sum(-1), 1, atol=1e-5)
    padding = batch.target_out.numpy() == PAD
    assert not result["logprobs"][padding].any()
    assert not result["ranks"][padding].any()
    steps = exported.step_through("fp32", batch)
    np.testing.assert_allclose(steps[~padding], result["logprobs"][~padding], atol=1e-4)


def test_candidates_are_ordered_without_padding_and_begin_and_ranks_count_the_better_ones(exported: Exported) -> None:
    batch = batch_of(id_pairs())
    stepper = exported.stepper("fp32")
    stepper.start(batch.source.numpy(), batch.source_lengths.numpy())
    ids, logprobs = stepper.step(np.full(len(batch.source), BOS), VOCABULARY)
    assert set(ids[:, -2:].ravel().tolist()) == {PAD, BOS}
    assert (logprobs[:, -2:] < -1e6).all()
    assert (np.diff(logprobs) <= 0).all()
    np.testing.assert_allclose(np.exp(logprobs).sum(-1), 1, atol=1e-5)
    places = (ids == batch.target_out.numpy()[:, :1]).argmax(1) + 1
    np.testing.assert_array_equal(exported.force("fp32", batch)["ranks"][:, 0], places)


def test_beams_share_their_sentence_and_differ_in_their_past(exported: Exported) -> None:
    """K rows of a sentence give the same results as separate sentences."""
    batch, beams, steps = batch_of(id_pairs(3)), 4, 5
    tokens = np.random.default_rng(1).integers(3, VOCABULARY, (steps, len(batch.source), beams))
    together = _decode(exported, batch, tokens)
    for beam in range(beams):
        alone = _decode(exported, batch, tokens[:, :, beam : beam + 1])
        np.testing.assert_allclose(together[:, :, beam], alone[:, :, 0], atol=1e-5)


def _start(exported: Exported, batch: Batch, beams: int) -> dict[str, Array]:
    """Return what the decoder is fed with before the first step."""
    source = {"source": batch.source.numpy(), "source_lengths": batch.source_lengths.numpy()}
    encoded, graphs = run(open_session(exported.folder / "encoder.fp32.onnx"), source), exported.graphs()
    feeds = {name: encoded[name] for name, _ in graphs.memory}
    for name, axes in graphs.state:
        if graphs.state_kind == "fixed":
            feeds[name] = np.repeat(encoded[f"initial_{name}"], beams, axis=0)
        else:
            shape = [len(batch.source) * beams] + [16 if axis == "T" else int(axis) for axis in axes[1:]]
            feeds[name] = np.zeros(shape, np.float32)
    return feeds | {"source_lengths": source["source_lengths"], "candidates": np.array([VOCABULARY])}


def _decode(exported: Exported, batch: Batch, tokens: Array) -> Array:
    """Feed tokens [steps, B, K]; log-probabilities by token id [steps, B, K, V]."""
    feeds, results = _start(exported, batch, tokens.shape[2]), []
    session = open_session(exported.folder / "decoder.fp32.onnx")
    for step, inputs in enumerate(tokens):
        feeds |= {"tokens": inputs, "lengths": np.full(inputs.size, step, np.int32)}
        feeds["total_length"] = np.array([step + 1], np.int32)
        result = run(session, feeds)
        feeds |= {name: result[f"next_{name}"] for name, _ in exported.graphs().state}
        by_id = np.zeros_like(result["top_logprobs"])
        np.put_along_axis(by_id, result["top_ids"], result["top_logprobs"], axis=-1)
        results.append(by_id)
    return np.stack(results)
