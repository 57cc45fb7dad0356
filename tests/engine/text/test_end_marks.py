"""The ends of a translation, which are as those of its sentence."""

import pytest

from service.engine.text.end_marks import with_capital, with_end_mark


@pytest.mark.parametrize(
    ("source", "translation", "language", "expected"),
    [
        ("Open the door.", "Ouvrez la porte !", "fr", "Ouvrez la porte."),
        ("Open the door.", "Ouvrez la porte\u202f!", "fr", "Ouvrez la porte."),
        ("Open the door.", "Mach die Tür auf!", "de", "Mach die Tür auf."),
        ("Wait!", "Attendez.", "fr", "Attendez !"),
        ("Wait!", "Attendez.", "fr-CA", "Attendez !"),
        ("Warte!", "Wait.", "en", "Wait!"),
        ("You are coming?", "Du kommst.", "de", "Du kommst?"),
        ("What?!", "Quoi !", "fr", "Quoi ?!"),
        ("Thank you!!!!", "Merci ! ! ! ! !", "fr", "Merci !!!!"),
        ("Really???", "Echt?", "de", "Echt???"),
        ("Go.", "Allez-y ?!", "fr", "Allez-y."),
        ("I wonder who that is.", "Qui est-ce ?", "fr", "Qui est-ce."),
        ("The big red door on the left side", "La grande porte rouge !", "fr", "La grande porte rouge"),
    ],
)
def test_another_mark_becomes_that_of_the_source(source: str, translation: str, language: str, expected: str) -> None:
    assert with_end_mark(translation, source, language) == expected


@pytest.mark.parametrize(
    ("source", "translation", "language"),
    [
        ("Is it cold?", "Fait-il froid ?", "fr"),
        ("how are you", "Comment allez-vous ?", "fr"),  # no mark in a hurry: the question is right
        ("The new Yahoo! page for all of us", "Voici Yahoo !", "fr"),
        ('He said: "Go!"', "Il a dit : « Allez ! »", "fr"),
        ("He came (at last!)", "Il est venu (enfin !)", "fr"),
        ("Well...", "Eh bien !", "fr"),
        ("Are you from the U.S.?", "Vous venez des États-Unis.", "fr"),
        ("Open the door.", "¡Abra la puerta!", "es"),
        ("Open the door.", "开门。", "zh"),
        ("Stop at 5 p.m.", "Halt um 17 Uhr", "de"),
        ("!", "!", "fr"),
        ("", "", "fr"),
    ],
)
def test_other_ends_stay_as_they_are(source: str, translation: str, language: str) -> None:
    assert with_end_mark(translation, source, language) == translation


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("Sell the car.", "verkaufen Sie das Auto.", "Verkaufen Sie das Auto."),
        ("Is it open?", "est-elle ouverte ?", "Est-elle ouverte ?"),
        ("English", "anglais", "anglais"),
        ("buy bread.", "kaufen Sie Brot.", "kaufen Sie Brot."),
        ("IPhones are dear.", "iPhones sind teuer.", "iPhones sind teuer."),
        ("!", "", ""),
    ],
)
def test_a_sentence_begins_with_a_capital_as_its_source(source: str, translation: str, expected: str) -> None:
    assert with_capital(translation, source) == expected


@pytest.mark.parametrize(
    ("source", "translation", "written"),
    [("Wait...!!", "Attends !", "Attends...!!"), ("Hm…?", "Hm ?", "Hm…?"), ("Really?!", "Vraiment ?", "Vraiment ?!")],
)
def test_marks_of_several_kinds_stay(source: str, translation: str, written: str) -> None:
    assert with_end_mark(translation, source, "fr") == written
