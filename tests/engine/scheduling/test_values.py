"""The search of a sentence with values: the first hypothesis that holds them all is its translation."""

import numpy as np
import pytest

from service.engine.jobs import SearchOptions, SentenceJob
from service.engine.values.constraints import ValueConstraints
from tests.support.decoding import run_batch
from tests.support.fake_model import EOS, ScriptedModel, hashed_rule, normalised
from tests.support.value_constraints import DIGITS, VOCABULARY, WORD, constraints

VALUE, OTHER = DIGITS[0], DIGITS[1]


def job(source: int, beam_size: int, values: ValueConstraints | None = None, n_best: int = 1) -> SentenceJob:
    search = SearchOptions(beam_size=beam_size, max_length=12, n_best=n_best)
    return SentenceJob((source, EOS), search, values=values, trace=True)


def doubtful(source: tuple[int, ...], prefix: tuple[int, ...]) -> np.ndarray:
    """Give the likelihoods of a model that mostly writes another figure than the one it read."""
    logits = np.zeros(VOCABULARY)
    logits[[OTHER, VALUE] if not prefix else [EOS]] = [8, 7] if not prefix else [8]
    return normalised(logits)


def test_the_first_hypothesis_with_all_values_is_the_translation_and_the_best_of_the_trace() -> None:
    plain, valued = run_batch(ScriptedModel(doubtful), [job(5, 4), job(5, 4, constraints([VALUE]))])
    assert [each.ids for each in plain.hypotheses] == [(OTHER, EOS)]
    assert [each.ids for each in valued.hypotheses] == [(VALUE, EOS)]
    assert valued.trace is not None
    assert tuple(valued.trace.hypotheses[at].token for at in valued.trace.best[1:]) == (VALUE, EOS)


def test_as_many_hypotheses_are_returned_as_were_asked_for_those_with_all_values_first() -> None:
    [found] = run_batch(ScriptedModel(doubtful), [job(5, 4, constraints([VALUE]), n_best=2)])
    assert [each.ids for each in found.hypotheses] == [(VALUE, EOS), (OTHER, EOS)]


def test_a_translation_without_its_values_is_returned_if_there_is_no_other() -> None:
    [found] = run_batch(ScriptedModel(doubtful), [job(5, 1, constraints([VALUE]))])
    assert [each.ids for each in found.hypotheses] == [(OTHER, EOS)]


@pytest.mark.parametrize("beam_size", [1, 4])
def test_sentences_are_the_same_in_company_of_values(beam_size: int) -> None:
    model = ScriptedModel(hashed_rule(VOCABULARY))
    kinds = (None, constraints([WORD]), constraints([VALUE]))
    jobs = [job(5 + number, beam_size, kinds[number % 3]) for number in range(12)]
    together = [each.hypotheses for each in run_batch(model, jobs, arrivals=[number // 4 for number in range(12)])]
    assert together == [run_batch(model, [each])[0].hypotheses for each in jobs]
