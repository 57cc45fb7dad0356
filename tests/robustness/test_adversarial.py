"""Texts that are made to take long: each takes a time linear in its length, and other requests do not wait."""

import asyncio
import time
from collections.abc import Iterator

import httpx
import pytest

from service.documents.format import Limits, ReadOptions, format_of
from service.documents.translating import in_blanks
from service.engine.text.nfc import LONGEST_RUN, normalize_nfc
from service.engine.text.segmentation import SegmentationOptions, segment_text
from tests.robustness.inputs import ADVERSARIAL
from tests.support.server import ServerProcess, running
from tests.support.toy_onnx import write_speaking_bundle
from tests.support.vocabulary import small_tokenizer


def seconds_of(text: str) -> float:
    """Processor time, which a busy machine does not lengthen, of all that is done with a text before it is run."""
    tokenizer = small_tokenizer()
    begun = time.process_time()
    segment_text(text, tokenizer, SegmentationOptions("en", 128, 256))
    tokenizer.encode(text)
    return time.process_time() - begun


@pytest.mark.parametrize("kind", ADVERSARIAL)
def test_time_grows_with_the_length_and_not_with_its_square(kind: str) -> None:
    assert seconds_of(ADVERSARIAL[kind]) < 10  # half a minute to minutes, where it was the square of the length


@pytest.mark.parametrize("kind", ADVERSARIAL)
def test_every_character_leads_back_to_the_text_as_it_was_written(kind: str) -> None:
    text = ADVERSARIAL[kind][:5000]
    composed = normalize_nfc(text)
    places = [composed.original(place, place + 1) for place in range(len(composed.text))]
    assert all(0 <= start <= end <= len(text) for start, end in places)
    assert places == sorted(places)
    covered = {place for start, end in places for place in range(start, end)}
    assert covered == set(range(len(text)))


def test_a_run_of_marks_is_cut_where_unicode_says_and_what_is_written_is_not() -> None:
    usual = "a" + "\u0301" * LONGEST_RUN
    assert "\u034f" not in normalize_nfc(usual).text
    cut = normalize_nfc("b" + usual + "\u0301c")
    assert cut.text.count("\u034f") == 1
    assert [cut.original(place, place + 1) for place in range(len(cut.text))][-3:] == [
        (32, 32),  # the joiner alone
        (32, 33),
        (33, 34),
    ]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("models")
    write_speaking_bundle(folder / "transformer-en-fr")
    with running("-m", "service", "serve", "--device", "cpu", TRANSLUCENT_MODELS_DIR=str(folder)) as server:
        yield server


@pytest.mark.parametrize("text", ["<" + "a-" * 50_000, "@/" * 50_000 + "^", "<a " + "translate=no " * 700])
async def test_a_text_of_almost_values_is_refused_or_translated_at_once(server: ServerProcess, text: str) -> None:
    """A name of 40 kB in a tag held the event loop up for 14 seconds."""
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
        begun = time.monotonic()
        answer = await client.post("/translate", json={"q": text, "source": "en", "target": "fr"})
    assert answer.status_code in (200, 400, 413)
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\nHi " + "<i>" * 20_000 + "</b>" * 20_000 + "\n"),
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\n" + "- a\n" * 20_000),
        ("a.po", 'msgid "a %' + "0" * 40_000 + '"\nmsgstr ""\n'),
        ("a.po", 'msgid "Hi ' + "<i>" * 20_000 + "</b>" * 20_000 + '"\nmsgstr ""\n'),
        ("a.html", "<p>Hi &#" + "9" * 5_000 + ";</p>"),
        ("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nHi &#" + "9" * 5_000 + ";\n"),
    ],
    ids=["tags", "dashes", "zeros", "tags of a catalogue", "nines", "nines of a subtitle"],
)
def test_a_document_is_read_in_linear_time(name: str, content: str) -> None:
    begun = time.process_time()
    document = format_of(name).read(content.encode(), ReadOptions("fr", Limits()))
    document.write(list(document.segments))
    assert time.process_time() - begun < 5  # a second; the square of the length took minutes


@pytest.mark.parametrize("blanks", [40_000])
async def test_many_blanks_around_and_in_a_segment_are_kept_at_once(blanks: int) -> None:
    begun = time.process_time()
    segment = "  Hello" + " " * blanks + "there.\n"
    assert in_blanks(segment, "x") == "  x\n"
    assert in_blanks(" " * blanks, "") == " " * blanks
    assert time.process_time() - begun < 1


@pytest.mark.parametrize("path", ["/translate", "/attention"])
async def test_a_hundred_thousand_marks_hold_nobody_up(server: ServerProcess, path: str) -> None:
    text = ADVERSARIAL["marks out of order"][:100_000]
    body = {"q": text, "text": text, "source": "en", "target": "fr"}
    body.pop("text" if path == "/translate" else "q")
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
        await client.get("/health/live")
        begun = time.monotonic()
        asked = asyncio.create_task(client.post(path, json=body))
        waits = []
        while not asked.done():
            since = time.monotonic()
            assert (await client.get("/health/live")).status_code == 200
            waits.append(time.monotonic() - since)
        answer, seconds = await asked, time.monotonic() - begun
    assert answer.status_code == (200 if path == "/translate" else 400)
    if path == "/translate":
        assert answer.json()["translatedText"] == text
    assert seconds < 5  # a second on a quiet machine
    assert max(waits) < 0.5  # a tenth of a second on a quiet machine; it was 18 seconds
