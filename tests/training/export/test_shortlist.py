"""Shortlists from pairs: the tokens that sources need, and those of most sentences."""

from collections.abc import Sequence

import numpy as np

from service.bundle.vocabulary import BOS, EOS, PAD
from training.data.dataset import EncodedPairs, Side
from training.export.shortlist import ListSizes, Shortlist, learn_shortlist

WORDS = 40
FIRST, OTHER = 3, 3 + WORDS  # source word i is written FIRST + i, its translation OTHER + i
ENDING = OTHER + WORDS  # follows every translated word, whatever it is
VOCABULARY = ENDING + 1


def side(sentences: Sequence[Sequence[int]]) -> Side:
    flat = [np.array([*sentence, EOS], np.uint16) for sentence in sentences]
    return Side(np.concatenate(flat), np.cumsum([0, *map(len, flat)]))


def corpus(count: int) -> EncodedPairs:
    """Sentences of one to six random words; each is translated by its own word and the ending."""
    random = np.random.default_rng(0)
    words = [random.integers(0, WORDS, random.integers(1, 7)).tolist() for _ in range(count)]
    translations = [[token for word in sentence for token in (OTHER + word, ENDING)] for sentence in words]
    return EncodedPairs(side([[FIRST + word for word in sentence] for sentence in words]), side(translations))


def learn(sizes: ListSizes) -> Shortlist:
    return learn_shortlist([corpus(600)], [1.0], VOCABULARY, sizes)


def test_a_word_calls_for_its_translation_and_itself_and_what_most_sentences_use_is_always_allowed() -> None:
    found = learn(ListSizes(always=2, each=4, least=0.05))
    for word in range(WORDS):
        assert {FIRST + word, OTHER + word} <= set(found.likely[FIRST + word].tolist())
    assert found.always.tolist() == [EOS, ENDING]
    assert not np.isin(found.likely[:, 1:], found.always).any()


def test_neither_padding_nor_the_start_may_be_produced() -> None:
    found = learn(ListSizes(always=VOCABULARY, each=VOCABULARY, least=0.0))
    assert not {PAD, BOS} & set(found.always.tolist())
    assert BOS not in np.delete(found.likely, BOS, axis=0)


def test_the_likeliest_come_first_no_list_is_longer_than_asked_and_the_same_pairs_teach_the_same() -> None:
    found, again = (learn(ListSizes(always=1, each=3, least=0.0)) for _ in range(2))
    assert found.likely.shape == (VOCABULARY, 3)
    assert all(OTHER + word in found.likely[FIRST + word] for word in range(WORDS))
    assert np.array_equal(found.always, again.always)
    assert np.array_equal(found.likely, again.likely)
