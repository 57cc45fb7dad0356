"""A translation that lacks something of its source says so, and one that is only written otherwise does not."""

import pytest

from service.engine.translation.losses import losses_of
from service.engine.values.finder import ValueRules, find_values


@pytest.mark.parametrize(
    ("languages", "source", "translation", "lost", "added"),
    [
        # months and days
        ("en-de", "March 2024", "2024", ["March"], []),
        ("en-de", "Published in March 2024", "2024 veröffentlicht", ["March"], []),
        ("en-fr", "Closed from May to July.", "Fermé en juillet.", ["May"], []),
        ("de-en", "Am Freitag im März", "In March", ["Freitag"], []),
        ("fr-en", "Il vient lundi.", "He comes.", ["lundi"], []),
        ("en-fr", "Open on Monday.", "Ouvert le lundi.", [], []),
        ("en-de", "On Friday morning", "Am Freitagmorgen", [], []),
        ("fr-en", "mi-décembre", "mid-December", [], []),
        ("en-fr", "May I go?", "Puis-je y aller ?", [], []),
        ("en-fr", "March on!", "Avance !", [], []),
        ("en-de", "12 March 2024", "12. März 2024", [], []),
        # names
        ("en-fr", "Nancy is my friend.", "C'est mon ami.", ["Nancy"], []),
        ("en-de", "I saw Judy and Kyle.", "Ich sah Judy.", ["Kyle"], []),
        ("en-fr", "Michael is here.", "Michel est là.", [], []),
        ("en-de", "Helen's dog", "Hélènes Hund", [], []),
        # numbers and values
        ("en-fr", "I have 12 apples.", "J'ai des pommes.", ["12"], []),
        ("en-fr", "iv) fourth point", "33 points", [], ["33"]),
        ("en-fr", "Write to a@b.example.", "Écris.", ["a@b.example"], []),
        ("en-fr", "It costs $1,234.50 now.", "Ça coûte 1\u202f234,50 $ maintenant.", [], []),
        ("en-fr", "It starts at 3:30 pm.", "Ça commence à 15 h 30.", [], []),
        ("en-de", "3 dogs and 3 cats", "3 Hunde und Katzen", ["3"], []),
        ("en-fr", "SAVE %D FILES", "ENREGISTRER %D FICHIERS", [], []),
        ("en-xx", "Nancy comes in March.", "Blah.", ["Nancy"], []),
        ("ja-en", "3月", "March 3", [], []),
    ],
)
def test_what_is_lost_is_told(languages: str, source: str, translation: str, lost: list[str], added: list[str]) -> None:
    own, _, other = languages.partition("-")
    values = find_values(source, ValueRules(own, other))
    found = losses_of(source, translation, values, (own, other))
    assert ([*found.lost], [*found.added]) == (lost, added)


def test_a_line_break_in_a_value_is_no_loss() -> None:
    values = find_values("Call +33 6 12 34 56 78.", ValueRules("en", "fr"))
    assert not losses_of("Call +33 6 12 34 56 78.", "Appelle le +33 6 12\n34 56 78.", values, ("en", "fr")).lost


def test_the_time_grows_with_the_text() -> None:
    source = "On Monday Nancy saw 12 dogs. " * 2_000
    found = losses_of(source, "Am Montag sah Nancy Hunde. " * 2_000, (), ("en", "de"))
    assert len(found.lost) == 2_000
