"""Where a translation holds its values: each once, whole, and no figures beside them."""

import pytest

from service.engine.values.constraints import Form, PlacedValue, ValueConstraints, places_of
from tests.support.value_constraints import ENDING, EOS, OPENER, VOCABULARY, WORD, classes, constraints


@pytest.mark.parametrize(
    ("values", "ids", "places"),
    [
        (constraints([10, 15]), [WORD, 10, 15, EOS], [(0, 1, 3)]),
        (constraints([10, 15], [11]), [11, WORD, 10, 15, EOS], [(1, 0, 1), (0, 2, 4)]),
        (constraints([10, 15]), [WORD, 10, EOS], None),  # the value is cut short
        (constraints([10, 15]), [10, 15, WORD, 10, 15, EOS], None),  # it is there twice
        (constraints([10], [10]), [10, WORD, 10, EOS], [(0, 0, 1), (1, 2, 3)]),  # as it is in the source
        (constraints([10], [10, 15]), [10, 15, WORD, 10, EOS], [(1, 0, 2), (0, 3, 4)]),  # 1 and 12
        (constraints([10]), [10, WORD, 11, EOS], None),  # an invented figure
        (constraints([10]), [10, 15, EOS], None),  # a longer figure
        (constraints([25]), [25, WORD, 11, EOS], [(0, 0, 1)]),  # no value has figures, so they are words
        (constraints([25, 26]), [25, 26, ENDING, EOS], None),  # a word that was made of a stand-in
        (constraints([25, 26], whole=False), [25, 26, ENDING, EOS], [(0, 0, 2)]),
        (constraints([25, 26], soft=True), [25, WORD, 25, 26, EOS], [(0, 2, 4)]),
        (constraints([25], soft=True), [25, WORD, 25, EOS], [(0, 0, 1)]),  # the words of a term are ordinary ones
        (constraints([25], soft=True), [25, ENDING, EOS], None),  # "pays" in "paysage"
        (constraints([25]), [25, VOCABULARY + 3, EOS], [(0, 0, 1)]),  # a graph may write ids without a piece
        (constraints([25]), [], None),
    ],
)
def test_each_value_is_found_once_and_whole(
    values: ValueConstraints, ids: list[int], places: list[tuple[int, int, int]] | None
) -> None:
    found = places_of(values, ids)
    assert found == (None if places is None else tuple(PlacedValue(*each) for each in places))


def test_a_value_within_a_word_follows_an_opening_token_only() -> None:
    values = ValueConstraints(((Form((10, 15), False), Form((16, 15), True)),), (True,), True, classes())
    assert places_of(values, [OPENER, 16, 15, EOS]) == (PlacedValue(0, 1, 3),)
    assert places_of(values, [WORD, 16, 15, EOS]) is None
    assert values.tokens == (10, 15, 16)
