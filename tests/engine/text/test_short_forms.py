"""Short forms: what is read for them, and that their stops end no sentence."""

import pytest

from service.engine.text.edits import Edits
from service.engine.text.segmenter import list_marker, split_sentences
from service.engine.text.short_forms import short_forms


@pytest.mark.parametrize(
    ("text", "language", "read"),
    [
        ("Wir brauchen Obst, z. B. Äpfel.", "de", "Wir brauchen Obst, zum Beispiel Äpfel."),
        ("Wir brauchen Obst, z.B. Äpfel.", "de-AT", "Wir brauchen Obst, zum Beispiel Äpfel."),
        ("Es kostet ca. 5 Euro usw.", "de", "Es kostet etwa 5 Euro und so weiter."),
        ("She likes fruit, e.g. apples.", "en", "She likes fruit, for example apples."),
        ("cats vs. dogs", "en", "cats against dogs"),
        ("Un fruit, p. ex. une pomme.", "fr", "Un fruit, par exemple une pomme."),
        ("Das Wort Mioz. B.", "de", "Das Wort Mioz. B."),
        ("ca. 5", "it", "ca. 5"),
        ("Ca. 20 Leute, max. 30, i. d. R. mehr", "de", "Etwa 20 Leute, höchstens 30, in der Regel mehr"),
        ("Siehe S. 12 und Abb. 3, nicht S. Meier", "de", "Siehe Seite 12 und Abbildung 3, nicht S. Meier"),
        ("Nr.\u00a05", "de", "Nummer\u00a05"),
        ("No. 5 is mine. No. I am.", "en", "Number 5 is mine. No. I am."),
        ("See fig. 3 and p. 12, on Jan. 5.", "en", "See figure 3 and page 12, on January 5."),
        ("Jones et al. were here.", "en", "Jones et al. were here."),
        ("C'est le n° 5, p. 3.", "fr", "C'est le numéro 5, page 3."),
    ],
)
def test_the_words_are_read(text: str, language: str, read: str) -> None:
    assert Edits(short_forms(text, language)).edited(text) == read


@pytest.mark.parametrize(
    ("text", "language", "sentences"),
    [
        ("Das gilt d. h. nur für Kinder.", "de", 1),
        ("Das kostet ca. 5 Euro.", "de", 1),
        ("Das ist evtl. Falsch.", "de", 1),
        ("Er liest z. B. Bücher. Dann schläft er.", "de", 2),
        ("Im 19. Jahrhundert war das anders.", "de", 1),
        ("Sie spielt in der 2. Bundesliga.", "de", 1),
        ("Ein Fan vom 1. FC Köln.", "de", 1),
        ("Ich bin 19. Er ist 20.", "de", 2),
        ("Books etc. are here.", "en", 1),
        ("We have books etc. They are here.", "en", 2),
        ("No. 5 is mine.", "en", 1),
        ("I say no. He says yes.", "en", 2),
    ],
)
def test_their_stops_and_those_of_ordinals_end_no_sentence(text: str, language: str, sentences: int) -> None:
    assert len(split_sentences(text, language)) == sentences


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("a. Open the door.", "a."),
        ("I. Introduction", "I."),
        ("iv) fourth point", "iv)"),
        ("B) the second", "B)"),
        ("(c) the third", "(c)"),
        ("12. the twelfth", "12."),
        ("I like it.", ""),
        ("i.e. this one", ""),
        ("A dog. It sleeps.", ""),
    ],
)
def test_letters_and_roman_numbers_mark_lists(text: str, mark: str) -> None:
    assert text[: list_marker(text)] == mark
