"""The folders of languages are well formed, and agree where one language is translated into another."""

from pathlib import Path

import pytest

from service.languages import Language, known_languages, language_of
from service.languages.folders import read_language

WITH_PLACES = [language for language in known_languages() if language.place_names]


def test_a_tag_has_the_language_of_its_first_part_and_one_without_a_folder_knows_nothing_else() -> None:
    assert language_of("en-GB") is language_of("EN") is language_of("en_US")
    unknown = language_of("xx")
    assert (unknown.tag, unknown.name, unknown.nouns, unknown.registers) == ("xx", "", frozenset(), None)


@pytest.mark.parametrize(
    ("written", "error"),
    [
        ('[clock]\nbefor = ["at"]', r"clock has 'befor'; known are after, afternoon, .*before"),
        ("months = 12", "months is 12, which is no"),
        ("[numbers]\ncurrency_after = 'yes'", "numbers: currency_after is 'yes'"),
    ],
)
def test_a_mistake_in_a_folder_is_an_error_that_names_file_and_key(tmp_path: Path, written: str, error: str) -> None:
    (tmp_path / "language.toml").write_text(written, "utf-8")
    with pytest.raises(ValueError, match=error) as raised:
        read_language(tmp_path)
    assert str(tmp_path / "language.toml") in str(raised.value)


def test_every_language_has_a_name_and_knows_how_it_writes_numbers() -> None:
    assert len(known_languages()) > 40
    assert [language.tag for language in known_languages() if not (language.name and language.numbers.decimal)] == []


@pytest.mark.parametrize("language", WITH_PLACES, ids=lambda language: language.tag)
def test_every_language_has_a_name_for_each_place_and_for_those_that_stand_in_for_it(language: Language) -> None:
    english = language_of("en")
    kinds = {place: kind for place, (_, kind) in language.place_names.items()}
    assert kinds == {place: kind for place, (_, kind) in english.place_names.items()}
    assert len(kinds) >= 230
    assert all(name for name, _ in language.place_names.values())
    assert {kind: len(names) for kind, names in language.places.known.items()} == {
        kind: len(names) for kind, names in english.places.known.items()
    }
    assert set(kinds.values()) == set(language.places.known)


@pytest.mark.parametrize("language", known_languages(), ids=lambda language: language.tag)
def test_what_is_said_of_the_clock_is_complete(language: Language) -> None:
    clock = language.spoken_clock
    assert (len(clock.hours), len(clock.phrases)) in {(0, 0), (12, 12)}
    assert len(language.months) in {0, 12}
    assert len(language.days) in {0, 7}


@pytest.mark.parametrize("tag", ["en", "fr", "de"])
def test_a_language_knows_the_gender_of_common_first_names(tag: str) -> None:
    language, english = language_of(tag), language_of("en")
    names = language.names
    assert len(names) >= 300
    assert set(names.values()) == {"female", "male", "either"}
    for gender in ("female", "male"):
        known: tuple[str, ...] = getattr(language.known_names, gender)
        assert len(known) == len(getattr(english.known_names, gender)) >= 4
        assert {names[name] for name in known} == {gender}
