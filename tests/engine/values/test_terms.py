"""Terms of a glossary in texts: what is matched, and what is not."""

import pytest

from service.engine.values.finder import ValueRules, find_values
from service.engine.values.terms import Glossary, Term, with_terms


@pytest.mark.parametrize(
    ("text", "language", "terms", "wanted"),
    [
        ("Contracts and the parties' boxes", "en", {"contract": "X", "box": "Y"}, [("Contracts", "X"), ("boxes", "Y")]),
        ("the contractor", "en", {"contract": "X"}, []),
        ("points of sale", "en", {"point": "P", "point of sale": "Q"}, [("points of sale", "Q")]),
        ("point, of sale", "en", {"point of sale": "Q"}, []),
        ("CONTRACT", "en", {"contract": "vertrag"}, [("CONTRACT", "VERTRAG")]),
        ("nato, NATO", "en", {"NATO": "OTAN"}, [("NATO", "OTAN")]),
        ("a point, a point, points", "en", {"point": "P", "points": "Q"}, [*[("point", "P")] * 2, ("points", "Q")]),
        ("C and C++", "en", {"C++": "le C++"}, [("C++", "le C++")]),
        ("e-mail, not e mail", "en", {"e-mail": "courriel"}, [("e-mail", "courriel")]),
        ("l'école et les châteaux", "fr", {"école": "S", "château": "C"}, [("école", "S"), ("châteaux", "C")]),
        ("die Verträge des Vertrags", "de", {"Vertrag": "C"}, [("Verträge", "C"), ("Vertrags", "C")]),
        ("das Messer", "de", {"Messe": "F"}, []),
    ],
)
def test_terms_are_found_as_whole_words_in_their_usual_inflections(
    text: str, language: str, terms: dict[str, str], wanted: list[tuple[str, str]]
) -> None:
    glossary = Glossary([Term(source, (target,)) for source, target in terms.items()])
    assert [(value.text, value.written) for value in glossary.find(text, language)] == wanted


def test_a_term_wins_over_numbers_within_it_and_gives_way_to_other_values() -> None:
    text = "Windows 10 costs 10 at https://windows.com"
    terms = Glossary([Term("Windows 10", ("Fenster",)), Term("windows", ("fenêtres",))]).find(text, "en")
    values = with_terms(find_values(text, ValueRules("en", "fr")), terms)
    assert [(value.text, value.written) for value in values] == [
        ("Windows 10", "Fenster"),
        ("10", "10"),
        ("https://windows.com", "https://windows.com"),
    ]
