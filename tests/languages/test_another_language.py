"""A language is added as a folder: a small Spanish one, with no line of code."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from service.bundle.load import load_bundle
from service.engine.text.accents import accents_by_place, lacks_accents, with_accents
from service.engine.text.articles import length_of_article
from service.engine.text.reader import Reader
from service.engine.text.registers import formality_note, registers_of
from service.engine.text.segmentation import segment_text
from service.engine.text.segmenter import split_sentences
from service.engine.text.tokenizer import Tokenizers, load_tokenizers
from service.engine.values.finder import ValueRules, find_values
from service.engine.values.places import find_places
from service.engine.values.terms import Glossary, Term
from service.languages import folders, language_of

SHIPPED = Path(__file__).parents[2] / "models" / "transformer-en-fr"


@pytest.fixture(autouse=True)
def spanish(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(folders, "FOLDERS", (Path(__file__).parent, *folders.FOLDERS))
    folders.forget()
    yield
    folders.forget()


@pytest.fixture(scope="module")
def tokenizers() -> Tokenizers:
    return load_tokenizers(load_bundle(SHIPPED))


@pytest.mark.parametrize(
    ("text", "pair", "written"),
    [
        ("Nos vemos a las ocho y media.", ("es", "en"), ["half past eight"]),
        ("Llega a la una menos cuarto.", ("es", "fr"), ["une heure moins le quart"]),
        ("We meet at a quarter to one.", ("en", "es"), ["la una menos cuarto"]),
        ("Nos vemos a las 14:30.", ("es", "en"), ["2:30 pm"]),
        ("Mañana 14:30, por favor.", ("es", "de"), ["14:30 Uhr"]),
        ("El resultado fue 14:30.", ("es", "de"), ["14:30"]),
        ("Wir kommen um 14 Uhr.", ("de", "es"), ["14:00"]),
        ("Son 1.250,50 o el 3,5 %.", ("es", "en"), ["1,250.50", "3.5%"]),
        ("It costs $1,250.50.", ("en", "es"), ["1.250,50 $"]),
        ("Cuesta 20 €.", ("es", "en"), ["€20"]),
        ("Véase el capítulo 2.1 y 2,1.", ("es", "en"), ["2.1", "2.1"]),
        ("Un trayecto de 10 h.", ("fr", "es"), ["10 horas"]),
    ],
)
def test_times_and_numbers_are_read_and_written(text: str, pair: tuple[str, str], written: list[str]) -> None:
    assert [value.written for value in find_values(text, ValueRules(*pair))] == written


def test_places_have_their_names_in_both_directions() -> None:
    assert [place.written for place in find_places("Vivo en Colonia, y no en Múnich.", "es", "de")] == [
        "Köln",
        "München",
    ]
    assert [place.written for place in find_places("Warsaw or Munich", "en", "es")] == ["Múnich"]


def test_short_forms_end_no_sentence_and_are_read_as_their_words(tokenizers: Tokenizers) -> None:
    text = "Véase p. ej. el art. 5. Vale aprox. Dos días."
    ends = [text[start:end] for start, end in split_sentences(text, "es")]
    assert ends == ["Véase p. ej. el art. 5.", "Vale aprox. Dos días."]
    reader = Reader(tokenizers, "es", 60, 200, values=ValueRules("es", "en"))
    [reading] = segment_text("Véase p. ej. esto a las ocho y media.", reader)
    assert reading.draft.spelled == "Véase por ejemplo esto a las ocho y media."
    assert [value.written for value in reading.values] == ["half past eight"]


def test_articles_accents_and_registers_are_known() -> None:
    assert length_of_article("Las casas", "es") == 4
    assert lacks_accents("llama por telefono", "es")
    assert with_accents("telefono", "es") == "teléfono"
    assert list(accents_by_place("a la casa", "es")) == []
    assert registers_of("¿Cómo está usted?", "es", "How are you?", "en") == {"polite"}
    assert registers_of("Espera un momento.", "es", "Wait a moment.", "en") == {"familiar"}
    assert formality_note("prefer_more", [("Hi.", "Hola, ¿cómo estás tú?")], ("en", "es")).startswith("formality is")


def test_words_of_a_glossary_match_in_their_plural_and_names_have_a_gender() -> None:
    [term] = Glossary([Term("camión", ("truck",)), Term("casa", ("house",))]).find("Las casas", "es")
    assert term.written == "house"
    assert language_of("es").names == {"Lucía": "female", "Javier": "male"}
