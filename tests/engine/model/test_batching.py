"""Batches of sentences: little padding, few runs, each sentence once."""

from hypothesis import given
from hypothesis import strategies as st

from service.engine.model.batching import RUN_TOKENS, group_by_length, pad_batch


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
