"""Long sentences run beside short ones only where that costs less than a step of their own."""

from service.engine.scheduling.batch_choice import Running, choose_batches

EMPTY = Running(0, 0)


def test_one_very_long_sentence_runs_apart_from_many_short_ones() -> None:
    chosen = choose_batches([150] + [12] * 31, (EMPTY, EMPTY), 1024)
    assert chosen[1:] == [1 - chosen[0]] * 31


def test_few_sentences_run_together_however_their_lengths_differ() -> None:
    assert choose_batches([150, 12, 12, 12], (EMPTY, EMPTY), 1024) == [0] * 4


def test_similar_sentences_run_together() -> None:
    chosen = choose_batches([30, 28, 25] * 20, (EMPTY, EMPTY), 1024)
    assert len(set(chosen)) == 1


def test_sentences_join_the_running_batch_of_their_length() -> None:
    running = (Running(3, 120), Running(40, 16))
    assert choose_batches([14, 110, 90, 9], running, 1024) == [1, 0, 0, 1]


def test_a_long_sentence_does_not_widen_a_full_batch() -> None:
    assert choose_batches([150], (Running(60, 16), EMPTY), 1024) == [1]


def test_steps_are_not_split_where_padding_costs_nothing() -> None:
    assert choose_batches([150] + [12] * 31, (EMPTY, EMPTY), None) == [0] * 32
