"""Terms of a glossary in texts: what is matched, and what is not."""

import pytest

from service.engine.values.finder import ValueRules, find_values
from service.engine.values.terms import Glossary, Term, with_terms


def found(text: str, language: str, **terms: str) -> list[tuple[str, str]]:
    glossary = Glossary([Term(source.replace("_", " "), (target,)) for source, target in terms.items()])
    return [(value.text, value.written) for value in glossary.find(text, language)]


@pytest.mark.parametrize(
    ("text", "language", "terms", "wanted"),
    [
        ("A contract is a contract.", "en", {"contract": "X"}, [("contract", "X"), ("contract", "X")]),
        ("Contracts and the parties' boxes", "en", {"contract": "X", "box": "Y"}, [("Contracts", "X"), ("boxes", "Y")]),
        ("the contractor", "en", {"contract": "X"}, []),
        ("points of sale", "en", {"point": "P", "point_of_sale": "Q"}, [("points of sale", "Q")]),
        ("point, of sale", "en", {"point_of_sale": "Q"}, []),
        ("CONTRACT", "en", {"contract": "vertrag"}, [("CONTRACT", "VERTRAG")]),
        ("nato, NATO", "en", {"NATO": "OTAN"}, [("NATO", "OTAN")]),
        (
            "a point and points",
            "en",
            {"point": "Punkt", "points": "Punkte"},
            [("point", "Punkt"), ("points", "Punkte")],
        ),
        ("l'école et les châteaux", "fr", {"école": "S", "château": "C"}, [("école", "S"), ("châteaux", "C")]),
        ("die Verträge des Vertrags", "de", {"Vertrag": "C"}, [("Verträge", "C"), ("Vertrags", "C")]),
        ("das Messer", "de", {"Messe": "F"}, []),
    ],
)
def test_terms_are_found_as_whole_words_in_their_usual_inflections(
    text: str, language: str, terms: dict[str, str], wanted: list[tuple[str, str]]
) -> None:
    assert found(text, language, **terms) == wanted


def test_punctuation_of_a_term_is_a_part_of_it() -> None:
    glossary = Glossary([Term("C++", ("le C++",)), Term("e-mail", ("courriel",))])
    assert [value.text for value in glossary.find("C and C++ by e-mail, not by e mail", "en")] == ["C++", "e-mail"]


def test_a_term_wins_over_numbers_within_it_and_gives_way_to_other_values() -> None:
    text = "Windows 10 costs 10 at https://windows.com"
    terms = Glossary([Term("Windows 10", ("Fenster",)), Term("windows", ("fenêtres",))]).find(text, "en")
    values = with_terms(find_values(text, ValueRules("en", "fr")), terms)
    assert [(value.text, value.written) for value in values] == [
        ("Windows 10", "Fenster"),
        ("10", "10"),
        ("https://windows.com", "https://windows.com"),
    ]
