"""Formatting with a shipped model: the words of a translation carry it, whatever writes the format down."""

import asyncio
import re
from collections.abc import Callable, Sequence

import polib
import pytest
from docx import Document

from service.bundle.load import load_bundle
from service.documents.format import ReadOptions, format_of
from service.documents.fragments import Piece, Span, parse
from service.documents.translating import translate_segments
from service.engine import (
    Budget,
    EngineSettings,
    ModelSettings,
    TranslationOptions,
    WorkerSettings,
    open_translator,
)
from tests.support.documents import saved
from tests.support.paths import MODELS

OPTIONS = ReadOptions("fr")
SENTENCES = """I have *never* seen such a beautiful house.
Please send me your *new address* tomorrow.
The *children* are playing in the garden.
She bought *three red apples* at the market.
We are going to *Germany* next week.
My brother *lives* in a small town.
You must not *open* this door.
He reads a *book* every evening.
The train will arrive *at seven o'clock*.
*Tom* is waiting for you at the station.
I would like a cup of *hot coffee*.
It is *very cold* today.
They have *two dogs* and a cat.
This *question* is too difficult for me.
Where did you *find* my keys?
My *father* is a doctor in a big hospital.
She speaks *French* better than her sister.
We *lost* the game last night.
There is a *letter* for you on the table.
He wants to *sell* his old car.""".splitlines()
PARTS = [re.fullmatch(r"(.*?)\*(.*?)\*(.*)", line) for line in SENTENCES]
TEXTS = [found.groups() for found in PARTS if found]


def markup(before: str, after: str, separator: str = "\n\n") -> bytes:
    return separator.join(f"{one}{before}{two}{after}{three}" for one, two, three in TEXTS).encode()


def subtitles() -> bytes:
    cues = [
        f"{number}\n00:00:{number:02},000 --> 00:00:{number:02},900\n{one}<i>{two}</i>{three}\n"
        for number, (one, two, three) in enumerate(TEXTS, start=1)
    ]
    return "\n".join(cues).encode()


def docx() -> bytes:
    document = Document()
    for one, two, three in TEXTS:
        paragraph = document.add_paragraph(one)
        paragraph.add_run(two).bold = True
        paragraph.add_run(three)
    return saved(document)


MADE: dict[str, Callable[[], bytes]] = {
    "a.html": lambda: b"<html>" + markup("<b>", "</b>", "<p>"),
    "a.md": lambda: markup("**", "**"),
    "a.srt": subtitles,
    "a.docx": docx,  # pptx and odt put runs back as it does
}
MESSAGES = {
    "%d of %s files were copied to {folder}.": ("%d", "%s", "{folder}"),
    "Press %1$s to close the window %2$s.": ("%1$s", "%2$s"),
    "{{user}} sent you ${amount} on {date}": ("{{user}}", "${amount}", "{date}"),
    "You have %(count)d new messages from %(name)s.": ("%(count)d", "%(name)s"),
}
CATALOGUE = 'msgid ""\nmsgstr ""\n\n' + "\n".join(f'msgid "{text}"\nmsgstr ""\n' for text in MESSAGES)


def translated(model: str, segments: Sequence[str]) -> list[str]:
    async def run() -> list[str]:
        settings = EngineSettings(ModelSettings(device="cpu"), WorkerSettings(Budget()))
        translator = open_translator(load_bundle(MODELS / model), settings)
        await translator.model.start()
        try:
            found = await translate_segments([translator], segments, TranslationOptions(beam_size=1))
            return [each.text for each in found]
        finally:
            await translator.model.stop(0.0)

    return asyncio.run(run())


@pytest.fixture(scope="module")
def translations() -> dict[str, str]:
    made = [*((name, make()) for name, make in MADE.items()), ("a.po", CATALOGUE.encode())]
    segments = sorted({segment for name, data in made for segment in format_of(name).read(data, OPTIONS).segments})
    return dict(zip(segments, translated("transformer-en-fr", segments), strict=True))


def parsed(name: str, data: bytes) -> list[list[Piece]]:
    return [parse(segment.replace("<b>", "<b 0>")) for segment in format_of(name).read(data, OPTIONS).segments]


def formatted(pieces: list[Piece]) -> int:
    """Return how many spans of a fragment have words."""
    spans = [piece for piece in pieces if isinstance(piece, Span)]
    return sum(any(isinstance(inner, str) and inner.strip() for inner in span.content) for span in spans)


@pytest.mark.parametrize("name", MADE)
def test_at_least_95_percent_of_formatted_words_stay_formatted(name: str, translations: dict[str, str]) -> None:
    data = MADE[name]()
    assert sum(map(formatted, parsed(name, data))) == len(TEXTS) == 20
    document = format_of(name).read(data, OPTIONS)
    found = parsed(name, document.write([translations[segment] for segment in document.segments]))
    assert len(found) == 20
    assert sum(map(formatted, found)) >= 0.95 * len(TEXTS)
    # A format on a whole sentence would be "kept" too easily.
    assert sum(isinstance(piece, str) and bool(piece.strip(" .!?")) for pieces in found for piece in pieces) >= 15


def test_each_placeholder_arrives_exactly_once(translations: dict[str, str]) -> None:
    document = format_of("a.po").read(CATALOGUE.encode(), OPTIONS)
    written = document.write([translations[segment] for segment in document.segments]).decode()
    for entry, placeholders in zip(polib.pofile(written), MESSAGES.values(), strict=True):
        assert [entry.msgstr.count(each) for each in placeholders] == [1] * len(placeholders), entry.msgstr


@pytest.mark.parametrize("language", ["fr", "de"])
def test_a_count_in_a_catalogue_is_a_number_of_things(language: str) -> None:
    forms = 'msgid "%d file was deleted"\nmsgid_plural "%d files were deleted"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    document = format_of("a.po").read(f'msgid ""\nmsgstr ""\n\n{forms}'.encode(), ReadOptions(language))
    written = document.write(translated(f"transformer-en-{language}", document.segments)).decode()
    [entry] = polib.pofile(written)
    one, many = (entry.msgstr_plural[number].split() for number in (0, 1))
    assert one[0] == many[0] == "%d"
    assert many[1] != one[1], "the noun is in the plural"
    assert many[1].startswith(one[1])
    assert (len(one) > 2, " ".join(one + many).count("%d")) == (True, 2)
