"""Reading alignments from cross-attention, by the service and by training."""

import numpy as np
import pytest

from service.bundle.alignment import Groups, alignment_weights, links, merge, pharaoh, white_space_words
from service.bundle.manifest import AlignmentHead

PAIR = np.array([[0.1, 0.6, 0.2, 0.1], [0.5, 0.2, 0.1, 0.2], [0.3, 0.3, 0.3, 0.1]], np.float32)


def test_words_sum_what_is_attended_to_and_average_what_attends_over_any_leading_axes() -> None:
    weights = np.stack([PAIR, PAIR[::-1]])
    merged = merge(weights, [[0, 1], [2]], [[0], [1, 2], [3]])
    np.testing.assert_allclose(merged[0], [[0.3, 0.55, 0.15], [0.3, 0.6, 0.1]], atol=1e-6)
    np.testing.assert_allclose(merged[1], [[0.4, 0.45, 0.15], [0.1, 0.8, 0.1]], atol=1e-6)


def test_reading_at_the_consuming_step_takes_the_next_row() -> None:
    attention = np.zeros((2, 4, *PAIR.shape), np.float32)
    attention[1, 2] = PAIR
    np.testing.assert_array_equal(alignment_weights(attention, AlignmentHead(1, 2, "produce")), PAIR)
    np.testing.assert_array_equal(alignment_weights(attention, AlignmentHead(1, 2, "consume")), PAIR[[1, 2, 2]])


@pytest.mark.parametrize(
    ("sources", "targets", "threshold", "expected"),
    [
        ([[0], [1], [2]], [[0], [1]], None, {(1, 0), (0, 1)}),
        ([[0], [1], [2]], [[0], [1]], 0.55, {(1, 0)}),
        ([[2], [3]], [[0], [1]], None, {(0, 0), (1, 1)}),  # the weight on the others is no link
        ([[], [1]], [[0], []], None, {(1, 0)}),
        ([[]], [[0]], None, set()),
        ([], [[0]], None, set()),
    ],
)
def test_each_target_word_links_to_its_heaviest_source_word(
    sources: Groups, targets: Groups, threshold: float | None, expected: set[tuple[int, int]]
) -> None:
    assert set(links(PAIR, sources, targets, threshold)) == expected


def test_pharaoh_is_in_order() -> None:
    assert pharaoh([(2, 1), (0, 3), (0, 0)]) == "0-0 0-3 2-1"


def test_words_of_a_line_are_what_white_space_separates() -> None:
    text = " a\u200b  I'm\u00a0home b\u3000c\td. "
    assert [text[start:end] for start, end in white_space_words(text)] == text.split()
