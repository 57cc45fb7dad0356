"""Times of day in words."""

import pytest

from service.bundle.spoken_clock import spoken


@pytest.mark.parametrize(
    ("hour", "minute", "english", "french", "german"),
    [
        (8, 30, "half past eight", "huit heures et demie", "halb neun"),
        (12, 30, "half past twelve", "douze heures et demie", "halb eins"),
        (5, 45, "a quarter to six", "six heures moins le quart", "Viertel vor sechs"),
        (12, 45, "a quarter to one", "une heure moins le quart", "Viertel vor eins"),
        (3, 15, "a quarter past three", "trois heures et quart", "Viertel nach drei"),
        (1, 0, "one o'clock", "une heure", "ein Uhr"),
        (9, 25, "twenty-five past nine", "neuf heures vingt-cinq", "fünf vor halb zehn"),
        (9, 35, "twenty-five to ten", "dix heures moins vingt-cinq", "fünf nach halb zehn"),
        (4, 50, "ten to five", "cinq heures moins dix", "zehn vor fünf"),
        (7, 20, "twenty past seven", "sept heures vingt", "zwanzig nach sieben"),
    ],
)
def test_each_language_says_the_same_time(hour: int, minute: int, english: str, french: str, german: str) -> None:
    assert spoken(hour, minute) == {"en": english, "fr": french, "de": german}


def test_no_two_times_are_said_alike() -> None:
    for language in ("en", "fr", "de"):
        said = [spoken(hour, minute)[language] for hour in range(1, 13) for minute in range(0, 60, 5)]
        assert len(set(said)) == 144
