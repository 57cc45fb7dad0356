"""Sentences of similar length run together."""

import pytest

from service.engine.scheduling.batch import Running, choose_batches

EMPTY = Running(0, 0)
MANY_SHORT = [12] * 31


@pytest.mark.parametrize(
    ("sources", "running", "step_cost", "chosen"),
    [
        pytest.param([150, *MANY_SHORT], (EMPTY, EMPTY), 1024, [0] + [1] * 31, id="a long one beside many short ones"),
        pytest.param([150, *MANY_SHORT], (EMPTY, EMPTY), None, [0] * 32, id="padding costs nothing"),
        pytest.param([150, 12, 12, 12], (EMPTY, EMPTY), 1024, [0] * 4, id="few"),
        pytest.param([30, 28, 25] * 20, (EMPTY, EMPTY), 1024, [1] * 60, id="many of similar lengths"),
        pytest.param([14, 110, 9], (Running(3, 120), Running(40, 16)), 1024, [1, 0, 1], id="to those of their length"),
        pytest.param([150], (Running(60, 16), EMPTY), 1024, [1], id="a full batch is not widened"),
    ],
)
def test_sentences_of_similar_length_run_together(
    sources: list[int], running: tuple[Running, Running], step_cost: int | None, chosen: list[int]
) -> None:
    assert choose_batches(sources, running, step_cost) == chosen
