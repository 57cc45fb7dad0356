"""Months beside a number: what the model reads in their places, and that other words stay words."""

import pytest

from service.engine.values.months import find_months


@pytest.mark.parametrize(
    ("sentence", "language", "months"),
    [
        ("It opened in March 2024.", "en", {"March": "März"}),
        ("on 5 May 2024", "en", {"May": "Mai"}),
        ("May 5, 2024", "en", {"May": "Mai"}),
        ("the 3rd August", "en", {"August": "August"}),
        ("CLOSED IN MAY 2023", "en", {"MAY": "Mai"}),
        ("You may leave at 5.", "en", {}),
        ("May 1 come in? He comes in May.", "en", {"May": "Mai"}),
        ("from May 2 to March 4", "en", {"May": "Mai", "March": "März"}),
        ("le 1er mai 2024", "fr", {"mai": "Mai"}),
        ("am 5. März", "de", {}),  # into the same language nothing is translated
    ],
)
def test_months_beside_numbers_are_found(sentence: str, language: str, months: dict[str, str]) -> None:
    target = "de" if language != "de" else "ja"
    assert {month.text: month.written for month in find_months(sentence, language, target)} == months


def test_the_model_reads_a_month_that_the_sentence_does_not_have() -> None:
    read = [month.stand_in for month in find_months("from June 1 to March 4", "en", "fr")]
    assert read == [("October", "octobre"), ("November", "novembre")]
