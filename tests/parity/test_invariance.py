"""The other sentences of a batch change nothing: continuous batching depends on this promise."""

import numpy as np
import pytest

from service.bundle.vocabulary import BOS
from tests.support.exported import Array, Exported, batch_of, id_pairs, write_quantised
from tests.support.tiny_networks import VARIANTS
from training.data.batching import Batch

PAIRS = id_pairs(24, longest=22)
TOGETHER = batch_of(PAIRS)
VALID = TOGETHER.target_out.numpy() != 0
VARIATIONS = ["pre-norm", "post-norm", "no-positions", "score-additive", "score-dot", "score-gaussian", "deep-lstm"]
VARIATIONS += ["relative", "directional", "tied", "conditional", "narrow-monotonic", "d2l", "convolutional", "ssru"]


@pytest.fixture(scope="module", params=VARIATIONS)
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return write_quantised(VARIANTS[request.param], tmp_path_factory.mktemp("parity"))


def test_a_row_alone_is_the_row_among_others(exported: Exported) -> None:
    """int8: every bit of its log-probabilities and attention."""
    together = exported.force("int8", TOGETHER)
    for row, pair in enumerate(PAIRS):
        alone, (source, target) = exported.force("int8", batch_of([pair])), (len(np.atleast_1d(side)) for side in pair)
        np.testing.assert_array_equal(alone["logprobs"][0], together["logprobs"][row, :target])
        np.testing.assert_array_equal(alone["ranks"][0], together["ranks"][row, :target])
        cross = together["cross_attention"][row, ..., :target, :source]
        np.testing.assert_allclose(alone["cross_attention"][0], cross, atol=1e-6)


def test_greedy_tokens_do_not_depend_on_company(exported: Exported) -> None:
    together = greedy(exported, TOGETHER)
    for row, pair in enumerate(PAIRS):
        np.testing.assert_array_equal(greedy(exported, batch_of([pair]))[0], together[row])


def greedy(exported: Exported, batch: Batch) -> Array:
    """Eight greedy tokens a row and their log-probabilities, which would show a difference that tokens hide."""
    stepper = exported.stepper("int8")
    stepper.start(batch.source.numpy(), batch.source_lengths.numpy())
    tokens, found = np.full(len(batch.source), BOS), []
    for _ in range(8):
        ids, logprobs = stepper.step(tokens, 4)
        tokens = ids[:, 0]
        found += [ids[:, 0].astype(np.float64), *logprobs.T.astype(np.float64)]
    return np.stack(found, axis=1)


def test_integers_stay_close_to_steps_and_to_floats_over_the_same_weights(exported: Exported) -> None:
    integers, floats = (exported.force(precision, TOGETHER)["logprobs"] for precision in ("int8", "expanded"))
    assert np.abs(exported.step_through("int8", TOGETHER) - integers)[VALID].mean() < 0.02
    assert np.abs(integers - floats)[VALID].mean() < 0.1
