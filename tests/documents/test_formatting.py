"""Formatting with a shipped model: the words of a translation carry it, in every format that has inline formatting."""

import asyncio
import html
import io
import re
from collections.abc import Callable
from pathlib import Path

import polib
import pytest
from docx import Document
from odf.opendocument import OpenDocumentText
from odf.style import Style, TextProperties
from odf.text import P
from odf.text import Span as OdfSpan
from pptx import Presentation
from pptx.util import Inches

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

OPTIONS = ReadOptions("fr")
MODELS = Path(__file__).parents[2] / "models"
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


def subtitles(head: str, point: str) -> bytes:
    cues = [
        f"{number}\n00:00:{number:02}{point}000 --> 00:00:{number:02}{point}900\n{one}<i>{two}</i>{three}\n"
        for number, (one, two, three) in enumerate(TEXTS, start=1)
    ]
    return (head + "\n".join(cues)).encode()


def catalogue() -> bytes:
    entries = [f'msgid "{one}<b>{two}</b>{three}"\nmsgstr ""\n' for one, two, three in TEXTS]
    return ('msgid ""\nmsgstr ""\n\n' + "\n".join(entries)).encode()


def xliff() -> bytes:
    units = "".join(
        f'<trans-unit id="{number}"><source>{html.escape(one)}<g id="1">{two}</g>{three}</source></trans-unit>'
        for number, (one, two, three) in enumerate(TEXTS)
    )
    return (
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2"><file source-language="en"><body>'
        f"{units}</body></file></xliff>"
    ).encode()


def docx() -> bytes:
    document = Document()
    for one, two, three in TEXTS:
        paragraph = document.add_paragraph(one)
        paragraph.add_run(two).bold = True
        paragraph.add_run(three)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def pptx() -> bytes:
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    frame = slide.shapes.add_textbox(Inches(1), Inches(1), Inches(5), Inches(5)).text_frame
    for one, two, three in TEXTS:
        paragraph = frame.add_paragraph()
        for text in (one, two, three):
            run = paragraph.add_run()
            run.text = text
            run.font.bold = True if text is two else None
    out = io.BytesIO()
    presentation.save(out)
    return out.getvalue()


def odt() -> bytes:
    document = OpenDocumentText()
    style = Style(name="T1", family="text")
    style.addElement(TextProperties(fontweight="bold"))
    document.automaticstyles.addElement(style)
    for one, two, three in TEXTS:
        paragraph = P(text=one)
        paragraph.addElement(OdfSpan(stylename="T1", text=two))
        paragraph.addText(three)
        document.text.addElement(paragraph)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


MADE: dict[str, Callable[[], bytes]] = {
    "a.html": lambda: b"<html>" + markup("<b>", "</b>", "<p>"),
    "a.md": lambda: markup("**", "**"),
    "a.srt": lambda: subtitles("", ","),
    "a.vtt": lambda: subtitles("WEBVTT\n\n", "."),
    "a.po": catalogue,
    "a.xlf": xliff,
    "a.docx": docx,
    "a.pptx": pptx,
    "a.odt": odt,
}


MESSAGES = {
    "%d of %s files were copied to {folder}.": ("%d", "%s", "{folder}"),
    "Press %1$s to close the window %2$s.": ("%1$s", "%2$s"),
    "{{user}} sent you ${amount} on {date}": ("{{user}}", "${amount}", "{date}"),
    "You have %(count)d new messages from %(name)s.": ("%(count)d", "%(name)s"),
}


def messages() -> bytes:
    entries = "\n".join(f'msgid "{text}"\nmsgstr ""\n' for text in MESSAGES)
    return f'msgid ""\nmsgstr ""\n\n{entries}'.encode()


@pytest.fixture(scope="module")
def translations() -> dict[str, str]:
    """Return the translation of each segment of all documents."""
    made = [*MADE.items(), ("messages.po", messages)]
    segments = {segment for name, make in made for segment in format_of(name).read(make(), OPTIONS).segments}

    async def translated() -> list[str]:
        settings = EngineSettings(ModelSettings(device="cpu"), WorkerSettings(Budget()))
        translator = open_translator(load_bundle(MODELS / "transformer-en-fr"), settings)
        await translator.start()
        try:
            found = await translate_segments([translator], sorted(segments), TranslationOptions(beam_size=1))
            return [each.text for each in found]
        finally:
            await translator.stop(0.0)

    return dict(zip(sorted(segments), asyncio.run(translated()), strict=True))


def formatted(pieces: list[Piece]) -> int:
    """Return how many spans of a fragment have words."""
    spans = [piece for piece in pieces if isinstance(piece, Span)]
    return sum(any(isinstance(inner, str) and inner.strip() for inner in span.content) for span in spans)


def open_again(name: str, data: bytes) -> bytes:
    """Return a catalogue with the translations as sources, so that its reader shows them."""
    text = data.decode()
    if name == "a.po":
        found = re.findall(r'msgstr ((?:"[^\n]*"\n?)+)', text)
        return "".join(f'msgid {each}msgstr ""\n\n' for each in found[1:]).encode()  # the first is the header
    targets = re.findall(r"<target[^>]*>(.*?)</target>", text)
    units = "".join(f"<trans-unit><source>{each}</source></trans-unit>" for each in targets)
    return re.sub(r"<body>.*</body>", f"<body>{units}</body>", text).encode()


@pytest.mark.parametrize("name", MADE)
def test_at_least_95_percent_of_formatted_words_stay_formatted(name: str, translations: dict[str, str]) -> None:
    document = format_of(name).read(MADE[name](), OPTIONS)
    assert sum(formatted(parse(re.sub(r"<b>", "<b 0>", segment))) for segment in document.segments) == len(TEXTS) == 20
    written = document.write([translations[segment] for segment in document.segments])
    read = open_again(name, written) if name in ("a.po", "a.xlf") else written
    found = [re.sub(r"<b>", "<b 0>", segment) for segment in format_of(name).read(read, OPTIONS).segments]
    assert len(found) == 20
    assert sum(formatted(parse(segment)) for segment in found) >= 0.95 * len(TEXTS)
    # A format on a whole sentence would be "kept" too easily.
    assert (
        sum(isinstance(piece, str) and bool(piece.strip(" .!?")) for segment in found for piece in parse(segment)) >= 15
    )


def test_each_placeholder_arrives_exactly_once(translations: dict[str, str]) -> None:
    document = format_of("a.po").read(messages(), OPTIONS)
    written = document.write([translations[segment] for segment in document.segments]).decode()
    found = [entry.msgstr for entry in polib.pofile(written)]
    assert len(found) == len(MESSAGES)
    for new, placeholders in zip(found, MESSAGES.values(), strict=True):
        assert [new.count(each) for each in placeholders] == [1] * len(placeholders), new
