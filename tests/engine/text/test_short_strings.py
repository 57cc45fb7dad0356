"""Short strings: what the model reads, and how its answer is written."""

import re

import pytest

from service.engine.text.draft import Draft
from service.engine.text.short_strings import in_small_letters, is_short_line, may_be_short, short_string
from service.engine.text.tokenizer import DecodedText
from service.engine.types import Token
from service.engine.values.finder import ValueRules, find_values

KNOWN = {"save", "changes", "the", "file", "Tom", "open", "all", "PDF", "print", "page", "street", "white", "house"}


class Vocabulary:
    """Knows some words; every other word has as many tokens as letters."""

    def word(self, text: str) -> tuple[int, ...]:
        known = text in KNOWN or (text.istitle() and text.lower() in KNOWN)
        return (0,) if known else tuple(range(len(text)))


def short(text: str, source: str = "en", target: str = "fr") -> Draft | None:
    return short_string(Draft(text, find_values(text, ValueRules(source, target))), (source, target), Vocabulary())


def known_short(text: str, source: str = "en", target: str = "fr") -> Draft:
    found = short(text, source, target)
    assert found is not None
    assert found.text == text
    return found


def written(text: str, translation: str, target: str = "fr") -> str:
    """Return how a translation is written, and check that its tokens are where they say."""
    words = [(word[0], *word.span()) for word in re.finditer(r"\S+", translation)]
    tokens = [Token(9, word, word, start, end) for word, start, end in words]
    tokens.append(Token(2, "</s>", "", len(translation), len(translation), "</s>"))
    values = tuple((value.start, value.end) for value in find_values(translation, ValueRules("en", target)))
    decoded = known_short(text, target=target).style.write(DecodedText(translation, tuple(tokens), values), shift=5)
    assert all(decoded.text[token.start - 5 : token.end - 5] == token.text for token in decoded.tokens)
    return decoded.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SAVE CHANGES", "Save changes"),
        ("MAY I OPEN THE FILE", "May I open the file"),
        ("USB", "USB"),
        ("PDF FILE", "PDF file"),
        ("SAVE %s CHANGES", "Save %s changes"),
        ("OPEN {NAME}", "Open {NAME}"),
        ("save the file for tom", "Save the file for Tom"),
        ("open all, tom", "open all, Tom"),
        ("Save Changes", "Save changes"),
        ("Save the File", "Save the file"),
        ("Tom Smith", "Tom Smith"),
        ("&File", "File"),
        ("_Open…", "Open"),
        ("~Print page", "Print page"),
        ("E&xit", "Exit"),
        ("R&D", "R&D"),
        ("file_name", "file_name"),
        ("_one_ thing", "_one_ thing"),
        ("&amp;c", "&amp;c"),
        ("Street:", "Street"),
        ("Open...", "Open"),
    ],
)
def test_the_model_reads_small_letters_without_marks_and_ends(text: str, expected: str) -> None:
    assert known_short(text).spelled == expected


@pytest.mark.parametrize(
    ("text", "translation", "expected"),
    [
        ("SAVE CHANGES", "Enregistre les changements.", "ENREGISTRE LES CHANGEMENTS"),
        ("OPEN {name}", "Ouvre {name}", "OUVRE {name}"),
        ("OPEN {url} OR {url}", "Ouvre {url} ou {url}", "OUVRE {url} OU {url}"),
        ("COPY %d FILES TO %d", "Copie %d fichiers vers %d", "COPIE %d FICHIERS VERS %d"),
        ("SAVE %d FILES", "Les %da et %d", "LES %DA ET %d"),
        ("&File", "Fichier", "&Fichier"),
        ("&File", "Profil fichier", "Profil &fichier"),
        ("E&xit", "Taxi de sortie", "Ta&xi de sortie"),
        ("_Open…", "Déplacer", "_Déplacer…"),
        ("Street:", "Rue", "Rue :"),
        ("Open...", "Ouvrir", "Ouvrir..."),
        ("Save changes", "Enregistrer.", "Enregistrer"),
        ("save changes", "enregistrer", "enregistrer"),
        ("Save changes", "iPhone Enregistrer", "iPhone Enregistrer"),
        ("Save changes", "etc...", "Etc..."),
    ],
)
def test_the_answer_gets_back_what_the_model_did_not_read(text: str, translation: str, expected: str) -> None:
    assert written(text, translation) == expected


def test_letters_that_become_two_capitals_keep_their_places() -> None:
    assert written("STREET FILE:", "Straße der Größe", "de") == "STRASSE DER GRÖSSE:"


@pytest.mark.parametrize("text", ["Are you sure?", "SAVE CHANGES.", "Stop!", "…", "word " * 30, "Save\nchanges"])
def test_other_texts_are_left_alone(text: str) -> None:
    assert not may_be_short(text) or short(text) is None


def test_places_lead_back_to_the_text() -> None:
    found = known_short("_Open %s…")
    assert found.text[slice(*found.spelling.to_old(5, 7))] == "%s"


def test_only_english_titles_are_read_in_small_letters() -> None:
    assert known_short("Save Changes", source="de").spelled == "Save Changes"


@pytest.mark.parametrize(
    ("text", "source", "read"),
    [
        ("Save", "en", "save"),
        ("SAVE FILE", "en", "save file"),
        ("Save the file", "en", "save the file"),
        ("Save File…", "en", "save file"),
        ("HELLO", "en", "hello"),
        ("Save all the changes", "en", None),  # as many words as a sentence has
        ("save", "en", None),
        ("Tom Smith", "en", None),  # a second capital
        ("Monday", "en", None),  # English writes it so everywhere
        ("USB", "en", None),
        ("I open", "en", None),
        ("Haus", "de", None),
        ("Traurig", "de", "traurig"),
    ],
)
def test_a_few_words_with_a_capital_have_another_reading(text: str, source: str, read: str | None) -> None:
    small = in_small_letters(known_short(text, source), source, Vocabulary())
    assert (small and small.spelled) == read


@pytest.mark.parametrize(
    ("text", "translation", "target", "expected"),
    [
        ("Save", "le monde", "fr", "Monde"),
        ("Save", "L'amour.", "fr", "Amour"),
        ("SAVE", "le monde", "fr", "MONDE"),
        ("The file", "le fichier", "fr", "Le fichier"),
        ("Save", "Le", "fr", "Le"),
        ("Save", "die Welt", "de", "Welt"),
        ("Save", "der rote Hund", "de", "Der rote Hund"),  # "Rote Hund" would be wrong
        ("save", "le monde", "fr", "le monde"),
    ],
)
def test_a_title_without_an_article_gets_none(text: str, translation: str, target: str, expected: str) -> None:
    assert written(text, translation, target) == expected


@pytest.mark.parametrize(
    ("text", "line", "whole"),
    [
        ("Hello\nWorld", "World", True),
        ("- Milk\n- Two eggs\n", "Two eggs", True),
        ("1. World\n2. Dog", "Dog", True),
        ("It is late. World\nDog", "World", False),
        ("World", "World", False),  # a whole text is read as such
        ("This is a line\nof text", "This is a line", False),
    ],
)
def test_lines_of_a_few_words_are_found(text: str, line: str, whole: bool) -> None:
    start = text.index(line)
    assert is_short_line(text, start, start + len(line)) is whole


@pytest.mark.parametrize(
    ("text", "read"), [("FIle", "file"), ("Open the FIle", "Open the file"), ("PDFs", "PDFs"), ("iPhone", "iPhone")]
)
def test_wrong_capitals_are_typing_errors_if_the_vocabulary_knows_the_word(text: str, read: str) -> None:
    assert known_short(text).spelled.lower() == read.lower()
    assert (known_short(text).spelled == text) is (read == text)
