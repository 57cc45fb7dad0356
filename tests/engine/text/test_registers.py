"""The register that a sentence shows, and what is said if it is not the wanted one."""

import pytest

from service.engine.text.registers import (
    Shown,
    formality_note,
    in_other_register,
    polite_forms,
    registers_of,
    wanted_register,
)


@pytest.mark.parametrize(
    ("text", "source", "language", "expected"),
    [
        ("Ferme la porte derrière toi.", "Close the door behind you.", "fr", {"familiar"}),
        ("Fermez la porte.", "Close the door.", "fr", {"polite"}),
        ("Appuie sur le bouton vert.", "Press the green button.", "fr", {"familiar"}),
        ("Ne touche pas le fil.", "Do not touch the wire.", "fr", {"familiar"}),
        ("Appelle-moi demain.", "Call me tomorrow.", "fr", {"familiar"}),
        ("Ta clé est prête ; ne la partagez pas.", "Your key is ready; do not share it.", "fr", {"familiar", "polite"}),
        ("Le nez de Pierre est chez le médecin.", "Peter's nose is at the doctor's.", "fr", set()),
        ("Même le chat dort.", "Even the cat sleeps.", "fr", set()),
        ("La porte est ouverte.", "The door is open.", "fr", set()),
        ("Mach das Fenster auf.", "Open the window.", "de", {"familiar"}),
        ("Öffnen Sie das Fenster.", "Open the window.", "de", {"polite"}),
        ("Wie geht es dir?", "How are you?", "de", {"familiar"}),
        ("Sie haben Post.", "You have mail.", "de", {"polite"}),
        ("Sie haben Post.", "They have mail.", "de", set()),
        ("Die Tür ist offen.", "The door is open.", "de", set()),
        ("Bitte nicht rauchen.", "No smoking, please.", "de", set()),
        ("Close the door.", "Fermez la porte.", "en", set()),
    ],
)
def test_words_and_commands_show_a_register(text: str, source: str, language: str, expected: set[str]) -> None:
    assert registers_of(text, language, source, "fr" if language == "en" else "en") == expected


def test_most_sentences_decide_unless_a_formality_is_asked_for() -> None:
    none: Shown = frozenset()
    familiar: Shown = frozenset({"familiar"})
    polite: Shown = frozenset({"polite"})
    both = familiar | polite
    shown = [familiar, familiar, polite, none, both]
    assert wanted_register("default", shown) == "familiar"
    assert wanted_register("default", [familiar, polite]) == "polite"
    assert wanted_register("default", [polite, none]) is None
    assert wanted_register("default", [both]) == "polite"
    assert wanted_register("default", [both, familiar]) == "familiar"
    assert wanted_register("prefer_more", shown) == "polite"


@pytest.mark.parametrize(
    ("command", "language", "form"),
    [
        ("Nourris le chat.", "fr", "Nourrissez le chat."),
        ("Ne touche pas le fil.", "fr", "Ne touchez pas le fil."),
        ("Nettoie la cuisine.", "fr", "Nettoyez la cuisine."),
        ("Sèche les plats.", "fr", "Séchez les plats."),
        ("Jette la balle.", "fr", "Jetez la balle."),
        ("Füttere die Katze.", "de", "Füttern Sie die Katze."),
        ("Drück den Knopf.", "de", "Drücken Sie den Knopf."),
    ],
)
def test_the_polite_form_of_a_command_is_among_those_that_are_tried(command: str, language: str, form: str) -> None:
    assert form in polite_forms(command, language)


def test_only_commands_have_a_polite_form() -> None:
    assert polite_forms("Le chat dort.", "fr") == polite_forms("Tu dors.", "fr") == []


def test_texts_in_another_register_than_most_are_found() -> None:
    texts = [("Go.", "Gehen Sie."), ("How are you?", "Wie geht es dir?"), ("Wait here.", "Warten Sie hier.")]
    assert in_other_register(texts, ("en", "de")) == ([1], "prefer_more")
    assert in_other_register(texts, ("en", "en"))[0] == []


def test_a_note_says_what_is_missing() -> None:
    texts = [("Go.", "Gehen Sie."), ("How are you?", "Wie geht es dir?")]
    assert "1 of 2 have no polite translation" in formality_note("prefer_more", texts, ("en", "de"))
    assert "Wie geht es dir?" in formality_note("prefer_more", texts, ("en", "de"))
    assert "no effect on en" in formality_note("prefer_less", texts, ("de", "en"))
    assert formality_note("prefer_more", texts[:1], ("en", "de")) == ""
    assert formality_note("default", texts, ("en", "de")) == ""
