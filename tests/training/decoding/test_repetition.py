"""No translation repeats itself forever; a repetitive source may be repeated."""

import torch

from service.bundle.repetition import FURTHER, longest_run, run_limits
from training.decoding.repetition import forbid


def forbidden(ids: list[int], source: list[int]) -> set[int]:
    """Return the tokens that may not follow ``ids``."""
    logprobs = torch.zeros(1, 1, 30)
    forbid(logprobs, torch.tensor([[ids]]), torch.tensor([run_limits(source).tolist()]))
    return set(logprobs[0, 0].isinf().nonzero().flatten().tolist())


def test_a_fifth_copy_of_a_token_is_forbidden() -> None:
    assert forbidden([9, 5, 5, 5, 5], [9, 2]) == {5}
    assert forbidden([9, 5, 5, 5], [9, 2]) == set()


def test_no_four_tokens_in_a_row_occur_a_third_time() -> None:
    cycle = [5, 6, 7, 8] * 3
    assert forbidden(cycle[:10], [9, 2]) == {7}  # 5 6 7 8, 5 6 7 8, 5 6: another 7 and 8 would be the third time
    assert forbidden(cycle[:9], [9, 2]) == set()


def test_a_source_that_repeats_itself_may_be_repeated() -> None:
    source = [5] * 8 + [2]
    assert longest_run(source) == 7
    assert forbidden([5] * 13, source) == set()
    assert forbidden([5] * 14, source) == {5}


def test_short_runs_raise_nothing() -> None:
    assert longest_run([5, 5, 5, 2]) == 0
    assert run_limits([3, 4, 2])[0] == 1 + FURTHER
