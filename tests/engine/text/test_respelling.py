"""Sentences in capitals: what the model reads, and how their translations are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.engine.text.respelling import may_be_respelled, respelled
from service.engine.values.finder import ValueRules, find_values
from translucent_mt import Translator

MODELS = Path(__file__).parents[3] / "models"


NAMES = ("boston", "pdf", "nato")


class Vocabulary:
    """Knows words in small letters, a name, and an acronym; every other word has as many tokens as letters."""

    def word(self, text: str) -> tuple[int, ...]:
        known = text.islower() if text.lower() not in NAMES else text in ("Boston", "PDF")
        return (0,) if known else tuple(range(max(2, len(text))))


def read(text: str, source: str = "en", target: str = "fr") -> str | None:
    found = respelled(text, (source, target), Vocabulary(), find_values(text, ValueRules(source, target)))
    return None if found is None else found.read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("WHERE IS THE STATION?", "Where is the station?"),
        ("I THINK I'M LATE.", "I think I'm late."),
        ("SEE YOU ON MONDAY IN BOSTON!", "See you on Monday in Boston!"),
        ("OPEN THE PDF.", "Open the PDF."),
        ("STOP!", "Stop!"),
        ("WRITE TO ANNA@EXAMPLE.COM NOW.", "Write to ANNA@EXAMPLE.COM now."),
    ],
)
def test_a_model_reads_the_usual_spelling(text: str, expected: str) -> None:
    assert may_be_respelled(text)
    assert read(text) == expected


@pytest.mark.parametrize("text", ["Where is it?", "NATO.", "He works for the UN.", "house", "Ask IBM and HP."])
def test_other_sentences_stay(text: str) -> None:
    assert read(text) is None


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load(str(MODELS / "transformer-en-fr"))


@pytest.mark.parametrize(
    "text",
    ["Where is the nearest hospital?", "Thank you so much for your help.", "The shop is closed. We are at home."],
)
def test_capitals_give_the_same_translation_in_capitals(translator: Translator, text: str) -> None:
    assert translator(text.upper()).text == translator(text).text.upper()


def test_attention_of_capitals_is_in_the_own_text(translator: Translator) -> None:
    text = "THE SHOP IS CLOSED. WE ARE AT HOME."
    for sentence in translator(text).sentences:
        words = [text[token.start : token.end] for token in sentence.source_tokens if token.end > token.start]
        assert "".join(words) == sentence.source.replace(" ", "")
