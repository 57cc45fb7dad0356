"""Names of people: what the model reads in their places, and that names which are ordinary words stay words."""

import pytest

from service.engine.values.people import find_people


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("Nancy is my friend.", ["Nancy"]),
        ("Ask Scott or Judy Smith.", ["Scott", "Judy Smith"]),
        ("Angela Merkel", ["Angela Merkel"]),
        ("Emily Goes Home", ["Emily"]),  # in a title every word has a capital
        ("LEO: They are here.", ["LEO"]),
        ("Prime Minister Scott Howard spoke.", ["Scott Howard"]),
        ("Kevin is here.", []),  # models copy his name within a sentence
        ("Kevin", ["Kevin"]),
        ("Laura is here.", []),  # models know her
        ("Write to emily@example.com, @Nancy or #Scott.", []),
        ("The rose is red and the mark is high.", []),
        ("Nancy, Betty, Judy, Hannah, Emily and Molly met.", ["Nancy", "Betty", "Judy", "Hannah", "Emily"]),
    ],
)
def test_names_of_people_are_found(sentence: str, names: list[str]) -> None:
    assert [person.text for person in find_people(sentence, "en", "fr")] == names


def test_a_german_noun_behind_a_name_is_no_family_name() -> None:
    assert [person.text for person in find_people("Gestern hat Monika Kuchen gebacken.", "de", "en")] == ["Monika"]


def test_the_model_reads_names_of_the_same_gender_that_begin_alike() -> None:
    read = {
        person.text: person.stand_in for person in find_people("Nancy, Emily, Scott and Andrew are here.", "en", "fr")
    }
    assert read == {
        "Nancy": ("Julia", "Julia"),
        "Emily": ("Anna", "Anna"),  # French leaves letters out before a vowel
        "Scott": ("David", "David"),
        "Andrew": ("Alex", "Alex"),
    }


def test_german_writes_the_genitive_without_an_apostrophe() -> None:
    [person] = find_people("Michael's dog is old.", "en", "de")
    assert person.stand_in == ("David", "David", "Davids")
    assert person.forms == ("David", "Davids")
    assert (person.written, *person.others) == ("Michael", "Michaels")


def test_a_name_of_two_is_one() -> None:
    assert [person.text for person in find_people("Jean-Pierre et Anne-Marie sont là.", "fr", "en")] == [
        "Jean-Pierre",
        "Anne-Marie",
    ]


def test_languages_without_names_have_no_people() -> None:
    assert [*find_people("Nancy is here.", "en", "ja")] == []
