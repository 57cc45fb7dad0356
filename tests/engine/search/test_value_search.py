"""The search with values: each is written exactly once, and sentences without values notice nothing."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from service.engine.jobs import Hypothesis, SearchOptions, SentenceJob
from service.engine.search.state_table import StateTable
from service.engine.values.constraints import Form, TokenClasses, ValueConstraints
from service.engine.values.states import StateMachine, places_of
from tests.support.decoding import run_batch
from tests.support.fake_model import EOS, ScriptedModel, hashed_rule, normalised

VOCABULARY = 40
DIGITS = range(10, 20)
OPENER, WORD = 20, 30


def classes() -> TokenClasses:
    digits, openers, continuing = (np.zeros(VOCABULARY, bool) for _ in range(3))
    digits[list(DIGITS)] = True
    openers[OPENER] = True
    continuing[[*DIGITS][5:]] = True
    continuing[WORD] = True
    return TokenClasses(VOCABULARY, *(np.packbits(flags).tobytes() for flags in (digits, openers, continuing)))


def constraints(*values: Sequence[int], reserved: bool = True, whole: bool = False) -> ValueConstraints:
    forms = tuple((Form(tuple(value), False),) for value in values)
    return ValueConstraints(forms, (whole,) * len(values), reserved, classes())


def translate(
    jobs: Sequence[SentenceJob], temperature: float = 1.0, arrivals: Sequence[int] | None = None
) -> list[tuple[Hypothesis, ...]]:
    model = ScriptedModel(hashed_rule(VOCABULARY, temperature))
    return [finished.hypotheses for finished in run_batch(model, jobs, arrivals)]


def job(source: Sequence[int], beam_size: int, values: ValueConstraints | None = None, n_best: int = 1) -> SentenceJob:
    search = SearchOptions(beam_size=beam_size, max_length=40, n_best=n_best)
    return SentenceJob((*source, EOS), search, values=values)


VALUES = [
    constraints([10, 15], [11]),
    constraints([10], [10, 15]),
    constraints([10, 15, 16], [10, 15, 17], [12]),
    constraints([13], [13]),
    constraints([25, 26], [27], reserved=False, whole=True),
    constraints([10, 15], [10, 15, 16, 17], [14], [11, 18]),
]


SOFT = [
    replace(constraints([25, 26], [27], reserved=False), soft=(True, True)),
    replace(constraints([25, 26, 28], [27, 29], reserved=False), soft=(True, True)),
]


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("values", VALUES)
def test_every_value_is_written_exactly_once(values: ValueConstraints, beam_size: int) -> None:
    jobs = [job([5 + number, 7], beam_size, values, n_best=min(beam_size, 3)) for number in range(12)]
    found = translate(jobs)
    assert all(places_of(values, best.ids, EOS) is not None for best, *_ in found)
    for hypothesis in (each for hypotheses in found for each in hypotheses if each.finish_reason == "eos"):
        places = places_of(values, hypothesis.ids, EOS)
        assert places is not None
        assert sorted(place.value for place in places) == list(range(len(values.forms)))
        inside = {at for place in places for at in range(place.first, place.end)}
        outside = {token for at, token in enumerate(hypothesis.ids) if at not in inside}
        assert not (values.digits_reserved and outside & set(DIGITS))
        for place in places:
            tokens = hypothesis.ids[place.first : place.end]
            assert tokens in [form.tokens for form in values.forms[place.value]]
            assert not (values.whole_words[place.value] and hypothesis.ids[place.end] == WORD)


@pytest.mark.parametrize(("beam_size", "temperature"), [(1, 1.0), (4, 1.0), (1, 0.3), (1, 0.1)])
def test_sentences_are_the_same_in_company_of_values(beam_size: int, temperature: float) -> None:
    """Alone, most tokens of a sure model's greedy search are chosen without a comparison of all candidates."""
    plain = [job([5 + number, 8], beam_size, n_best=min(beam_size, 2)) for number in range(8)]
    every = [*VALUES, *SOFT]
    valued = [job([5 + number, 9], beam_size, every[number % len(every)]) for number in range(64)]
    mixed = translate([*plain[:4], *valued, *plain[4:]], temperature)
    assert [*mixed[:4], *mixed[-4:]] == translate(plain, temperature)
    assert mixed[4:-4] == [translate([each], temperature)[0] for each in valued]


@pytest.mark.parametrize("whole", [True, False])
def test_a_whole_word_is_not_continued_where_the_model_would(whole: bool) -> None:
    def continuing(source: tuple[int, ...], prefix: tuple[int, ...]) -> np.ndarray:
        logits = np.zeros(VOCABULARY)
        logits[
            WORD if prefix[-1:] in ((25,), (27,)) else 25 if 25 not in prefix else 27 if 27 not in prefix else EOS
        ] = 6
        return normalised(logits)

    values = constraints([25], [27], reserved=False, whole=whole)
    [found] = run_batch(ScriptedModel(continuing), [job([5, 7], 1, values)])
    ids = found.hypotheses[0].ids
    assert [ids[ids.index(value) + 1] == WORD for value in (25, 27)] == [not whole] * 2


def test_a_value_within_a_word_follows_an_opening_token_only() -> None:
    forms = ((Form((10, 15), False), Form((16, 15), True)),)
    values = ValueConstraints(forms, (False,), True, classes())
    inside = 0
    for [hypothesis] in translate([job([5, number], 4, values) for number in range(5, 25)]):
        places = places_of(values, hypothesis.ids, EOS)
        assert places is not None
        if hypothesis.ids[places[0].first] == 16:
            inside += 1
            assert places[0].first == 0 or hypothesis.ids[places[0].first - 1] == OPENER
    assert inside


def test_values_of_a_sentence_that_joins_later_do_not_change_those_of_others() -> None:
    """The longer values, and the more of them, move the tables of the running ones."""
    more = constraints(*([10 + number, 15, 16] for number in range(5)))
    jobs = [job([5, 7], 4, VALUES[0]), job([6, 7], 4), job([5, 9], 4, more)]
    assert translate(jobs, arrivals=[0, 2, 4]) == [translate([each])[0] for each in jobs]


def test_a_long_running_batch_needs_no_more_memory_for_each_sentence() -> None:
    table = StateTable()
    sizes = []
    for number in range(50):
        machine = StateMachine(VALUES[number % len(VALUES)], EOS)
        owner, place = table.add(machine)
        for token_class in range(machine.classes):
            table.following(np.array([[place]]), np.array([[token_class]]))
        table.remove(owner)
        sizes.append(len(table.complete))
    assert sizes[-1] == sizes[10]
