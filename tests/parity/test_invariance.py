"""The other sentences of a batch change nothing: continuous batching depends on this promise."""

import numpy as np
import pytest

from service.bundle.vocabulary import BOS
from tests.support.exported import Array, Exported, batch_of, id_pairs, write_quantised
from tests.support.tiny_networks import VARIANTS

PAIRS = id_pairs(24, longest=22)


VARIATIONS = ["pre-norm", "post-norm", "no-positions", "score-additive", "score-dot", "score-gaussian", "deep-lstm"]
VARIATIONS += ["tied", "conditional", "narrow-monotonic", "d2l", "convolutional"]


@pytest.fixture(scope="module", params=VARIATIONS)
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return write_quantised(VARIANTS[request.param], tmp_path_factory.mktemp("parity"))


def test_a_row_alone_is_the_row_among_others(exported: Exported) -> None:
    """int8: every bit of its log-probabilities and attention."""
    together = exported.force("int8", batch_of(PAIRS))
    for row, pair in enumerate(PAIRS):
        alone, (source, target) = exported.force("int8", batch_of([pair])), (len(np.atleast_1d(side)) for side in pair)
        np.testing.assert_array_equal(alone["logprobs"][0], together["logprobs"][row, :target])
        np.testing.assert_array_equal(alone["ranks"][0], together["ranks"][row, :target])
        cross = together["cross_attention"][row, ..., :target, :source]
        np.testing.assert_allclose(alone["cross_attention"][0], cross, atol=1e-6)


def test_greedy_tokens_do_not_depend_on_company(exported: Exported) -> None:
    together = _greedy(exported, batch_of(PAIRS).source.numpy(), batch_of(PAIRS).source_lengths.numpy())
    for row, pair in enumerate(PAIRS):
        batch = batch_of([pair])
        np.testing.assert_array_equal(
            _greedy(exported, batch.source.numpy(), batch.source_lengths.numpy())[0], together[row]
        )


def test_steps_and_forced_decoding_agree(exported: Exported) -> None:
    batch = batch_of(PAIRS)
    valid = batch.target_out.numpy() != 0
    difference = np.abs(exported.step_through("int8", batch) - exported.force("int8", batch)["logprobs"])[valid]
    assert difference.mean() < 0.02


def test_integers_stay_close_to_floats_over_the_same_weights(exported: Exported) -> None:
    batch = batch_of(PAIRS)
    valid = batch.target_out.numpy() != 0
    integers, floats = (exported.force(precision, batch)["logprobs"][valid] for precision in ("int8", "expanded"))
    assert np.abs(integers - floats).mean() < 0.1


def _greedy(exported: Exported, source: Array, lengths: Array) -> Array:
    """Eight greedy tokens a row and their log-probabilities, which would show a difference that tokens hide."""
    stepper = exported.stepper("int8")
    stepper.start(source, lengths)
    tokens, found = np.full(len(source), BOS), []
    for _ in range(8):
        ids, logprobs = stepper.step(tokens, 4)
        tokens = ids[:, 0]
        found += [ids[:, 0].astype(np.float64), *logprobs.T.astype(np.float64)]
    return np.stack(found, axis=1)
