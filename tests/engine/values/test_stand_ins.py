"""What the model reads in the place of a count: the sentence says whether it is one thing."""

import pytest

from service.engine.values.finder import ValueRules, find_values
from service.engine.values.stand_ins import NUMBERS, ONE, stand_ins


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("%d file was deleted", ONE),
        ("{count} new message has arrived.", ONE),
        ("%d class is full", ONE),
        ("%d files were deleted", NUMBERS[0]),
        ("%d files in the folder is too many", NUMBERS[0]),
        ("%d file was moved to disk 1", NUMBERS[0]),  # which has the number itself
        ("%d file", NUMBERS[0]),
    ],
)
def test_a_count_of_one_thing_is_read_as_one(text: str, read: str) -> None:
    values = find_values(text, ValueRules("en", "fr"))
    assert stand_ins(text, values, [each.start == 0 for each in values]) == (read, *(None for _ in values[1:]))
