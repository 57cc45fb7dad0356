"""Reading alignments from cross-attention, by the service and by training."""

import numpy as np

from service.bundle.alignment import FloatArray, Groups, alignment_weights, links, merge, pharaoh, white_space_words
from service.bundle.manifest import AlignmentHead

PAIR = np.array([[0.1, 0.6, 0.2, 0.1], [0.5, 0.2, 0.1, 0.2], [0.3, 0.3, 0.3, 0.1]], np.float32)


def head(step: str = "produce", layer: int = 1, number: int = 2) -> AlignmentHead:
    assert step in ("produce", "consume")
    return AlignmentHead(layer, number, "consume" if step == "consume" else "produce", None, None, None)


def random_weights(*shape: int) -> FloatArray:
    weights = np.random.default_rng(1).random(shape, dtype=np.float32)
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True), dtype=np.float32)


WEIGHTS = random_weights(2, 4, 3, 5)


def linked(*pairs: tuple[int, int]) -> set[tuple[int, int]]:
    return set(pairs)


def linked_by(
    weights: FloatArray, sources: Groups, targets: Groups, threshold: float | None = None
) -> set[tuple[int, int]]:
    return set(links(weights, sources, targets, threshold))


def test_words_sum_what_is_attended_to_and_average_what_attends() -> None:
    weights = np.array([[0.1, 0.2, 0.7], [0.3, 0.5, 0.2]], dtype=np.float32)
    merged = merge(weights, [[0, 1]], [[0, 1], [2]])
    np.testing.assert_allclose(merged, [[0.55, 0.45]], rtol=1e-6)


def test_words_keep_rows_that_sum_to_one_over_any_leading_axes() -> None:
    merged = merge(WEIGHTS, [[0], [1, 2]], [[0, 1], [2], [3, 4]])
    assert merged.shape == (2, 4, 2, 3)
    np.testing.assert_allclose(merged.sum(axis=-1), 1, rtol=1e-5)


def test_reading_at_the_consuming_step_takes_the_next_row() -> None:
    weights = random_weights(2, 4, 3, 5)
    np.testing.assert_array_equal(alignment_weights(weights, head("produce")), weights[1, 2])
    np.testing.assert_array_equal(alignment_weights(weights, head("consume"))[:2], weights[1, 2, 1:])


def test_each_target_links_to_the_most_attended_source_and_never_to_the_end() -> None:
    weights = np.array([[0.2, 0.1, 0.7], [0.1, 0.3, 0.6], [0, 0, 1]], dtype=np.float32)
    groups = [[0], [1]]
    assert links(weights, groups, groups, None) == ((0, 0), (1, 1))
    assert links(weights, groups, groups, 0.25) == ((1, 1),)
    assert links(weights, [], groups, None) == ()
    assert links(weights, [[], [1]], [[0], []], None) == ((1, 0),)


def test_pharaoh_is_in_order() -> None:
    assert pharaoh([(2, 1), (0, 3), (0, 0)]) == "0-0 0-3 2-1"
    assert pharaoh([]) == ""


def test_words_of_a_line_are_what_white_space_separates() -> None:
    assert white_space_words("  I'm\u00a0home !  ") == [(2, 5), (6, 10), (11, 12)]
    text = " a\u200b  b\u3000c\td. "
    assert [text[start:end] for start, end in white_space_words(text)] == text.split()


def test_source_pieces_are_summed_and_target_pieces_averaged() -> None:
    merged = merge(PAIR, [[0, 1], [2]], [[0], [1, 2]])
    np.testing.assert_allclose(merged, [[0.3, 0.55], [0.3, 0.6]], atol=1e-6)


def test_the_consuming_step_is_the_next_row() -> None:
    attention = PAIR[None, None]
    np.testing.assert_array_equal(alignment_weights(attention, AlignmentHead(0, 0, "produce")), PAIR)
    np.testing.assert_array_equal(alignment_weights(attention, AlignmentHead(0, 0, "consume")), PAIR[[1, 2, 2]])


def test_each_target_word_links_to_its_heaviest_source_word() -> None:
    assert linked_by(PAIR, [[0], [1], [2]], [[0], [1]]) == linked((1, 0), (0, 1))
    assert linked_by(PAIR, [[0], [1], [2]], [[0], [1]], threshold=0.55) == linked((1, 0))


def test_the_end_token_and_words_without_tokens_link_to_nothing() -> None:
    only_end = np.array([[0.1, 0.0, 0.9]], np.float32)
    assert linked_by(only_end, [[0], [], [1]], [[0]]) == linked((0, 0))
    assert linked_by(only_end, [[0]], [[]]) == linked()
    assert linked_by(only_end, [[]], [[0]]) == linked()
