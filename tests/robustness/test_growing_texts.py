"""Processor time and memory of a text grow with its length, by each way on which the server reads one.

GROWTH=1 takes all strings that are made from the service's expressions; by default it is one in two hundred.
"""

import json
import os
import tracemalloc
import zlib
from collections.abc import Callable

import pytest

from service.api.errors import ApiError
from service.api.request_body import decode_json, decode_multipart, decode_strings, decode_urlencoded
from service.detection import Detector
from service.engine import InvalidInput
from service.engine.text.reader import Reader
from service.engine.text.segmentation import segment_text
from service.engine.values.finder import ValueRules
from service.glossaries.checks import glossary_of
from service.markup.batch import prepare
from tests.support.growth import LINEAR, TIMES, too_fast_growth
from tests.support.hostile_strings import Repeated, attacks
from tests.support.patterns import of_the_service
from tests.support.vocabulary import small_tokenizers

SIZE = 40_000
NEGLIGIBLE, LONGEST = 0.15, 10.0  # seconds
SPARE = 8 << 20  # bytes that no text of this size has to explain
EVERY = int(os.environ.get("GROWTH", "200"))
TOKENIZERS = small_tokenizers()
DETECTOR = Detector(lambda label: label)
FORM = b'--x\r\nContent-Disposition: form-data; name="q"\r\n\r\n%s\r\n--x--\r\n'


def segmented(language: str) -> Callable[[str], object]:
    rules = ValueRules(language, "de" if language == "en" else "en")
    reader = Reader(TOKENIZERS, language, 128, 256, values=rules)
    return lambda text: segment_text(text, reader)


def with_glossary(text: str) -> object:
    terms = [(text[start : start + 150], ("x",)) for start in range(0, 7_500, 150)]
    return glossary_of([*terms, ("a a a", ("x",)), ("a", ("y",))]).find(text, "en")


WAYS: dict[str, Callable[[str], object]] = {
    **{language: segmented(language) for language in ("en", "fr", "de")},
    "markup": lambda text: prepare(text),
    "glossary": with_glossary,
    "detection": DETECTOR.detect,
    "json": lambda text: decode_json(json.dumps({"q": text}).encode()),
    "raw json": lambda text: decode_json(b'{"q": ' + text.encode()),
    "form": lambda text: decode_urlencoded(b"q=" + text.encode(), "form"),
    "multipart": lambda text: decode_multipart(FORM % text.encode(), b"x"),
    "tensor": lambda text: decode_strings("text", text.encode()),
}
PARTS = [
    *(
        "a ",
        "a",
        "1'111",
        "<a ",
        "<b>a</b>",
        "&#9",
        "a.",
        "[",
        '"',
        "\\",
        "{",
        "%(",
        "@/",
        "- a\n",
        "é",
        "\u0301",
        "👍\u200d",
    ),
    *("\n", ",", "=", "&", "--x\r\n", "\r\n", "\0", ":a"),
]


def strings() -> list[Repeated]:
    """Return strings for texts: usual ones, and those that are made from expressions over texts."""
    over_texts = [
        found for found in of_the_service() if not found.name.startswith(("service.documents", "service.api"))
    ]
    made = dict.fromkeys(each for found in over_texts for each in attacks(found.pattern))
    return [*map(Repeated, PARTS), *(each for each in made if zlib.crc32(repr(each).encode()) % EVERY == 0)]


def use_of(way: str, text: str) -> Callable[[], None]:
    def use() -> None:
        try:
            WAYS[way](text)
        except (ApiError, InvalidInput) as error:
            assert str(error)  # noqa: PT017 - refusal is as good as success

    return use


def peak(work: Callable[[], None]) -> int:
    """Return the bytes of memory that a piece of work takes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_time_grows_with_the_length(way: str) -> None:
    for string in strings():
        growth = too_fast_growth(
            lambda size, string=string: use_of(way, string.of(size)),  # type: ignore[misc]
            SIZE,
            negligible=NEGLIGIBLE,
            longest=LONGEST,
        )
        assert growth is None, f"{string} takes {growth} seconds"


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_memory_grows_with_the_length(way: str) -> None:
    use_of(way, "Hello there.")()  # loads what it needs
    for part in PARTS[:6]:
        whole, quarter = (peak(use_of(way, Repeated(part).of(size))) for size in (SIZE // TIMES, SIZE // TIMES**2))
        assert whole < max(SPARE, LINEAR * quarter), part
