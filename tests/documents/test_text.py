"""Plain text and pages: what is translated, and what stays byte for byte."""

import pytest

from service.documents.encodings import name_of_encoding
from tests.support.documents import same, segments, through

TEXT = "Title\r\n\r\n  First line.\r\n1234\r\nSecond, with <b> & entity.\r\n\r\nlast"
WRAPPED = """Chapter one
It was a bright cold day in April, and the clocks were
striking thirteen, as they often did in the years that
followed.

- a list item
- another list item
"""


def test_a_text_without_translation_stays_byte_for_byte() -> None:
    for data in (TEXT.encode(), WRAPPED.encode(), b"", b"\n\n", "\ufeffa\n".encode(), "é\n".encode("utf-16")):
        assert through("a.txt", data, same) == data


def test_lines_are_translated_and_their_ends_kept() -> None:
    assert through("a.txt", TEXT.encode()).decode() == (
        "TITLE\r\n\r\n  FIRST LINE.\r\n1234\r\nSECOND, WITH <B> & ENTITY.\r\n\r\nLAST"
    )


def test_lines_that_were_wrapped_by_hand_are_one_segment_and_are_wrapped_again() -> None:
    found = segments("a.txt", WRAPPED.encode())
    assert found[1].startswith("It was")
    assert found[1].endswith("that followed.")
    written = through("a.txt", WRAPPED.encode()).decode().splitlines()
    assert max(map(len, written)) <= max(map(len, WRAPPED.splitlines()))
    assert written[-2:] == ["- A LIST ITEM", "- ANOTHER LIST ITEM"]


def test_utf_16_stays_utf_16() -> None:
    assert through("a.txt", "\ufeffé à\n".encode("utf-16-le")).decode("utf-16") == "É À\n"


WINDOWS = "C’est déjà l’été.\r\n"


@pytest.mark.parametrize(
    ("name", "data", "written", "encoding"),
    [
        ("a.txt", WINDOWS.encode("cp1252"), WINDOWS.upper().encode(), "Windows-1252"),
        ("a.md", WINDOWS.encode("cp1252"), WINDOWS.upper().encode(), "Windows-1252"),
        ("a.txt", 2 * "Ein Satz.\n".encode("utf-16-le"), 2 * "EIN SATZ.\n".encode("utf-16-le"), "UTF-16"),
        ("a.txt", 2 * "Ein Satz.\n".encode("utf-16-be"), 2 * "EIN SATZ.\n".encode("utf-16-be"), "UTF-16"),
        ("a.txt", "Un été.\n".encode("utf-16"), "UN ÉTÉ.\n".encode("utf-16"), "UTF-16"),
        ("a.txt", "Un été.\n".encode(), "UN ÉTÉ.\n".encode(), None),
    ],
)
def test_the_encodings_of_old_programs_are_read_and_named(
    name: str, data: bytes, written: bytes, encoding: str | None
) -> None:
    assert through(name, data) == written
    assert name_of_encoding(data) == encoding


def test_an_encoding_is_guessed_for_text_only() -> None:
    damaged = "Été à l’orée du bois, déjà.".encode().replace("é".encode(), b"\xc3", 1)
    for data in (damaged, b"PK\x03\x04" + bytes(range(256)), b""):
        assert name_of_encoding(data) is None


PAGE = """<!DOCTYPE html>
<html lang="en"><head><title>A page</title><style>p { color: red }</style></head>
<body><p class="x">I have <b>lost</b> my <a href="/keys">keys</a>.</p><!-- a note -->
<pre>code stays</pre><p translate="no">Brand name</p><script>var a = "text";</script></body></html>
"""


def test_a_page_keeps_every_tag_and_what_must_not_be_translated() -> None:
    written = through("a.html", PAGE.encode()).decode()
    assert '<p class="x">I HAVE <b>LOST</b> MY <a href="/keys">KEYS</a>.</p>' in written
    for kept in ("<pre>code stays</pre>", "Brand name", 'var a = "text";', "<!-- a note -->", "color: red"):
        assert kept in written
    assert '<html lang="fr">' in written
    assert through("a.html", PAGE.encode(), same).decode() == PAGE.replace('lang="en"', 'lang="fr"')


def test_a_page_stays_in_the_encoding_that_it_names() -> None:
    page = '<html><meta charset="iso-8859-1"><p>café</p></html>'.encode("latin-1")
    assert "CAFÉ" in through("a.html", page).decode("latin-1")
    assert b"&#8594;" in through("a.html", page, lambda fragment: f"{fragment} →")


DESCRIBED = """<html lang="en"><head><meta name="description" content="Our 'shop'"><meta name=keywords content="a b">
</head><p>See <img alt='A "cat"' src=x> the <a title="Go &amp; see" href="#">page</a>.</p><input placeholder=Name>
<textarea placeholder="Text">A line</textarea><p translate=no title="Brand">x</p><pre><img alt="code"></pre></html>"""


def test_what_describes_a_page_is_translated_unless_it_is_left_alone() -> None:
    written = through("a.html", DESCRIBED.encode()).decode()
    for expected in (
        """<meta name="description" content="OUR 'SHOP'"><meta name=keywords content="a b">""",
        """<img alt='A "CAT"' src=x>""",
        '<a title="GO &amp; SEE" href="#">PAGE</a>',
        '<input placeholder="NAME">',
        '<textarea placeholder="TEXT">A LINE</textarea>',
        '<p translate=no title="Brand">x</p><pre><img alt="code"></pre>',
    ):
        assert expected in written
    assert through("a.html", DESCRIBED.encode(), same, target="en").decode() == DESCRIBED
    left = through("a.html", DESCRIBED.encode(), metadata=False).decode()
    assert all(each in left for each in ("Our 'shop'", 'A "cat"', "Go &amp; see", "=Name", '"Text"'))


def test_a_page_with_the_characters_of_marks_keeps_them() -> None:
    for sign in ("\ue001", "&#xe001;"):
        page = f'<html><p>{sign}0{sign}<img alt="{sign}7{sign}">A</p></html>'
        assert "\ue0010\ue001" in through("a.html", page.encode()).decode()


def test_what_is_written_into_an_attribute_stays_in_it() -> None:
    page = b"<html><img alt='a' title=\"b\"></html>"
    written = through("a.html", page, lambda _: "l'\"&lt;x>").decode()
    assert "alt='l&#39;\"&lt;x&gt;' title=\"l'&quot;&lt;x&gt;\"" in written
