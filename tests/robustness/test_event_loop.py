"""100 kB of each adversarial text, by every route and format: answered or refused soon, and nobody else waits."""

from __future__ import annotations

import functools
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from xml.sax.saxutils import escape

import httpx
import pytest
from docx import Document
from openpyxl import Workbook
from pptx import Presentation

from service.documents.translating import with_outer_spaces
from service.engine.text.reader import Reader
from service.engine.text.segmentation import segment_text
from service.engine.values.finder import ValueRules
from tests.robustness.inputs import ADVERSARIAL, ATTACKS
from tests.support.documents import ODF, ODT_TEXT, packed, pdf_with_text, saved, through, upper
from tests.support.server import ServerProcess, running
from tests.support.toy_onnx import write_speaking_bundle
from tests.support.vocabulary import small_tokenizers

PAIR = {"source": "en", "target": "fr"}
CUE = "00:00:01,000 --> 00:00:02,000"
SECONDS = 30  # one or two on a quiet machine; some took minutes
LATE = 0.5  # seconds of a probe beside it; a tenth of that on a quiet machine, and as long as the request before
OPEN = "application/vnd.oasis.opendocument."
EPUB = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": '<container xmlns="c"><rootfile full-path="a.opf"/></container>',
    "a.opf": '<package xmlns="p"><item href="a.xhtml" media-type="application/xhtml+xml"/></package>',
}
XLIFF = (
    '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a" source-language="en" '
    'target-language="fr" datatype="plaintext"><body><trans-unit id="1"><source>%s</source></trans-unit></body></file>'
    "</xliff>"
)


def word(text: str) -> bytes:
    document = Document()
    document.add_paragraph().add_run().text = text
    return saved(document)


def slides(text: str) -> bytes:
    presentation = Presentation()
    presentation.slides.add_slide(presentation.slide_layouts[5]).shapes.title.text = text.replace("\n", " ")
    return saved(presentation)


def spreadsheet(text: str) -> bytes:
    book = Workbook()
    for at in range(0, len(text), 30_000):  # a cell has at most 32,767 characters
        book.active.append([text[at : at + 30_000]])
    return saved(book)


def open_document(kind: str, text: str) -> bytes:
    inner = f"<text:p>{escape(text)}</text:p>"
    if kind != "text":
        inner = (
            f'<office:{kind} xmlns:table="{ODF}:table:1.0"><table:table-cell>{inner}</table:table-cell></office:{kind}>'
        )
    return packed({"mimetype": OPEN + kind, "content.xml": ODT_TEXT % inner})


def pages(text: str) -> bytes:
    lines = [text[at : at + 100].replace("\n", " ") for at in range(0, len(text), 100)]
    return pdf_with_text(*(lines[at : at + 50] for at in range(0, len(lines), 50)))


def messages(frame: str) -> Callable[[str], bytes]:
    """Return what puts a text into a file of messages in XML."""
    return lambda text: (frame % escape(text)).encode()


def catalogue(text: str) -> bytes:
    written = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'msgid "{written}"\nmsgstr ""\n'.encode()


DOCUMENTS: dict[str, Callable[[str], bytes]] = {
    "txt": str.encode,
    "md": str.encode,
    "html": lambda text: f"<html><p>{text}</p></html>".encode(),
    "csv": lambda text: 'a,b\nx,"{}"\n'.format(text.replace('"', '""')).encode(),
    "srt": lambda text: f"1\n{CUE}\n{text}\n".encode(),
    "vtt": lambda text: f"WEBVTT\n\n{CUE.replace(',', '.')}\n{text}\n".encode(),
    "po": catalogue,
    "xlf": lambda text: (XLIFF % escape(text)).encode(),
    "docx": word,
    "pptx": slides,
    "json": lambda text: json.dumps({"a": text}).encode(),
    "arb": lambda text: json.dumps({"@@locale": "en", "a": text}).encode(),
    "properties": lambda text: ("a = " + text.replace("\n", "\\n")).encode(),
    "strings": lambda text: f'"a" = {json.dumps(text, ensure_ascii=False)};'.encode(),
    "xml": messages('<resources><string name="a">%s</string></resources>'),
    "stringsdict": messages("<plist><dict><key>other</key><string>%s</string></dict></plist>"),
    "ts": messages(
        '<TS><context><message><source>%s</source><translation type="unfinished"/></message></context></TS>'
    ),
    "yaml": lambda text: f"en:\n  a: {json.dumps(text)}\n".encode(),
    "xlsx": spreadsheet,
    "pdf": pages,
    **{
        name: functools.partial(open_document, kind)
        for name, kind in (("odt", "text"), ("ods", "spreadsheet"), ("odp", "presentation"))
    },
    "epub": lambda text: packed({**EPUB, "a.xhtml": f"<html><p>{text}</p></html>"}),
}
ROUTES: dict[str, Callable[[str], tuple[str, dict[str, Any]]]] = {
    "translate": lambda text: ("/translate", {"q": text}),
    "markup": lambda text: ("/translate", {"q": text, "format": "html"}),
    "list": lambda text: ("/translate", {"q": [text[at : at + 2000] for at in range(0, 100_000, 2000)]}),
    "detection": lambda text: ("/translate", {"q": text, "source": "auto"}),
    "terms": lambda text: ("/translate", {"q": text, "glossary": [{"source": "a a", "target": "b"}]}),
    "glossary": lambda text: ("/translate", {"q": "Go.", "glossary": [{"source": text, "target": "b"}]}),
    "prefix": lambda text: ("/translate", {"q": "Go.", "target_prefix": text}),
    "attention": lambda text: ("/attention", {"text": text}),
    "picture": lambda text: ("/attention", {"text": text, "format": "svg"}),
    "given": lambda text: ("/attention", {"text": "Go.", "target_text": text}),
    "detect": lambda text: ("/detect", {"q": text}),
    "infer": lambda text: (
        "/v2/models/transformer-en-fr/infer",
        {"inputs": [{"name": "text", "shape": [1], "datatype": "BYTES", "data": [text]}]},
    ),
}


def asked(route: str, text: str) -> tuple[str, dict[str, Any]]:
    """Return the path of a request, and its other arguments."""
    if route in ROUTES:
        path, fields = ROUTES[route](text)
        return path, {"json": fields if route in ("detect", "infer") else {**PAIR, **fields}}
    if route == "form":
        return "/translate", {"data": {"q": text, **PAIR}}
    return "/translate_file", {"data": PAIR, "files": {"file": (f"a.{route}", DOCUMENTS[route](text))}}


PAIRS = dict.fromkeys(
    [
        *((route, "tags") for route in ("srt", "po", "docx")),
        *((route, "braces") for route in ("json", "arb")),
        *((route, "zeros") for route in ("properties", "strings", "ts")),
        *((route, "tags") for route in ("xml", "xlsx", "ods")),
        *((route, "marks") for route in ("prefix", "detect", "yaml")),
        *(("attention", "marks"), ("srt", "dashes"), ("po", "zeros"), ("html", "nines"), ("vtt", "nines")),
        *((route, each) for route in ("markup", "txt") for each in ("name in a tag", "blanks", "dashes", "lines")),
        *(("translate", attack) for attack in ATTACKS),
        *((route, "words") for route in (*ROUTES, "form", *DOCUMENTS)),
    ]
)
"""The worst, each text by one route, and each route and format with one text."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("models")
    write_speaking_bundle(folder / "transformer-en-fr")
    environment = {"TRANSLUCENT_MODELS_DIR": str(folder), "TRANSLUCENT_CACHE_MB": "64"}
    with running("-m", "service", "serve", "--device", "cpu", **environment) as server:
        httpx.get(f"{server.url}/health/live")  # the first call prepares the route
        yield server


class Probe(threading.Thread):
    """Asks whether a server lives, again and again, and remembers the longest wait."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self.worst, self._url, self._over = 0.0, url, threading.Event()

    def run(self) -> None:
        with httpx.Client(base_url=self._url) as client:
            while not self._over.wait(0.005):
                begun = time.monotonic()
                assert client.get("/health/live").status_code == 200
                self.worst = max(self.worst, time.monotonic() - begun)

    def __enter__(self) -> Probe:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()


@pytest.mark.parametrize(("route", "attack"), PAIRS)
def test_nobody_waits_for_a_hostile_text(server: ServerProcess, route: str, attack: str) -> None:
    path, request = asked(route, ATTACKS[attack])
    latest = []
    for _ in range(3):  # a busy machine is late now and then; a fault is there each time
        with httpx.Client(base_url=server.url) as client, Probe(server.url) as probe:
            begun = time.monotonic()
            answer = client.post(path, **request)
            took = time.monotonic() - begun
        assert answer.status_code in (200, 400, 404, 413), answer.text
        assert took < SECONDS
        latest.append(probe.worst)
        if probe.worst < LATE:
            return
    raise AssertionError(f"a probe beside it waited {latest} seconds")


@pytest.mark.parametrize("attack", [*ATTACKS, *ADVERSARIAL])
def test_a_text_is_cut_in_linear_time(attack: str) -> None:
    text, tokenizers = {**ATTACKS, **ADVERSARIAL}[attack], small_tokenizers()
    begun = time.process_time()
    segment_text(text, Reader(tokenizers, "en", 128, 256, values=ValueRules("en", "fr")))
    took = time.process_time() - begun
    assert took < (5 if attack in ATTACKS else 10)  # half a second, two on slow processors; the square took minutes


def test_a_paragraph_of_many_runs_and_line_breaks_is_written_in_linear_time() -> None:
    begun = time.process_time()
    through("a.docx", word("- a\n" * 12_000), upper)
    assert time.process_time() - begun < 6  # two; by the number of each run in its paragraph fifteen


def test_blanks_in_and_around_a_segment_are_kept_in_linear_time() -> None:
    begun = time.process_time()
    assert with_outer_spaces("  Hello" + " " * 40_000 + "there.\n", "x") == "  x\n"
    assert with_outer_spaces(" " * 40_000, "") == " " * 40_000
    assert time.process_time() - begun < 1


@pytest.mark.parametrize(
    ("name", "document"),
    [
        pytest.param("a.strings", '"a" = "Hello' + " " * 40_000 + 'there";', id="blanks"),
        pytest.param("a.xml", f"<resources><string>a{' ' * 40_000}b</string></resources>", id="blanks of Android"),
        pytest.param("a.xml", f"<resources><![CDATA[{'<item>' * 15_000}]]></resources>", id="items"),
        pytest.param("a.xml", f"<resources><![CDATA[{'<!--' * 20_000}]]></resources>", id="comments"),
        pytest.param("a.ts", f"<TS><![CDATA[{'<message>' * 15_000}]]></TS>", id="messages"),
        pytest.param("a.html", f'<p><img {"a" * 40_000} alt="Hello there"/></p>', id="attribute"),
    ],
)
def test_a_file_is_read_in_linear_time(name: str, document: str) -> None:
    begun = time.process_time()
    through(name, document.encode())
    assert time.process_time() - begun < 0.5
