"""The judge of the measurement of values, and the sentences that it takes."""

import pytest

from benchmarks.values import is_right
from service.engine.values.finder import ValueRules, find_values


@pytest.mark.parametrize(
    ("text", "translation", "right"),
    [
        ("He has 3 dogs.", "Il a 3 chiens.", True),
        ("He has 3 dogs.", "Il a des chiens.", False),
        ("He has 3 dogs.", "Il a 3 chiens et 3 chats.", False),
        ("He has 3 dogs.", "Il a 3 chiens en 2020.", False),
        ("He has 3 dogs.", "Il a 30 chiens.", False),
        ("3 of 3 dogs", "3 chiens sur 3", True),
        ("It costs $1,299.99.", "Cela coûte 1 299,99 $.", True),
        ("It costs $1,299.99.", "Cela coûte 1 299 $.", False),
        ("Write to a.b@c.org.", "Écrivez à a.b@c.org.", True),
        ("Write to a.b@c.org.", "Écrivez à a.b@c.org et a.b@c.org.", False),
    ],
)
def test_a_translation_is_right_if_it_holds_each_value_once_and_no_other_figures(
    text: str, translation: str, right: bool
) -> None:
    assert is_right(find_values(text, ValueRules("en", "fr")), text, translation) is right
