"""Cities and countries are read as places that every model knows, and written as the list has them."""

from pathlib import Path

import pytest

from service.engine.values import places
from service.engine.values.places import find_places

ROWS = [line.split("\t") for line in (Path(places.__file__).parent / "places.tsv").read_text("utf-8").splitlines()]


def test_the_list_has_a_name_in_each_language_and_a_place_that_it_is_like() -> None:
    assert ROWS[0] == [*places.LANGUAGES, "like"]
    assert all(len(row) == 4 and all(row) and row[3] in places._LIKE for row in ROWS[1:])
    assert len({row[0] for row in ROWS}) == len(ROWS) >= 230


@pytest.mark.parametrize(
    ("text", "pair", "written", "read"),
    [
        ("We flew from Warsaw to Geneva.", ("en", "fr"), ["Varsovie", "Genève"], ["Paris", "Boston"]),
        ("Munich is nearer than Paris.", ("en", "de"), ["München"], ["Boston"]),
        ("Er kommt aus Lettland.", ("de", "en"), ["Latvia"], ["Frankreich"]),
        ("L'Équateur et Buenos Aires.", ("fr", "en"), ["Ecuador", "Buenos Aires"], ["Italie", "Paris"]),
        ("New Delhi, St. Petersburg", ("en", "fr"), ["New Delhi", "Saint-Pétersbourg"], ["Paris", "Boston"]),
        ("In Munich? From Buenos Aires.", ("en", "de"), ["München", "Buenos Aires"], ["Paris", "Boston"]),
        ("I'M FROM SINGAPORE.", ("en", "de"), ["Singapur"], ["Paris"]),
        ("ELLE HABITE À NEW DELHI.", ("fr", "en"), ["New Delhi"], ["Paris"]),
        ("LE CHILI EST BON.", ("fr", "en"), [], []),
        ("I like a warm bath in a cologne.", ("en", "de"), [], []),
        ("I live in Munich.", ("en", "es"), [], []),
    ],
)
def test_a_place_is_read_as_another_one_that_is_not_in_the_text(
    text: str, pair: tuple[str, str], written: list[str], read: list[str]
) -> None:
    found = list(find_places(text, *pair))
    assert [each.written for each in found] == written
    assert [each.stand_in[0] for each in found] == read
