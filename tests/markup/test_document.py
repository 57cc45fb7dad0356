"""What of a page is one text: inline elements, rows of elements, footnotes, line breaks."""

import pytest

from service import markup
from service.markup import Unit


def texts(html: str) -> list[str]:
    return [part.text.strip() for part in markup.read(html) if isinstance(part, Unit) and part.text.strip()]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("The <x>small</x> dog", ["The small dog"]),
        ("The <my-icon></my-icon> <o:p>small</o:p> <g id='1'/>dog", ["The  small dog"]),
        ("Enter <input name=a> <button>here</button>", ["Enter  here"]),
        ("Dear <name>, <b>it</b> is", ["Dear , it is"]),
        ("<b>Dear <name>, it</b> is", ["Dear , it is"]),
        ("<button>Save</button><button>Cancel</button>", ["Save", "Cancel"]),
        ("<a>Home</a> | <a>Products</a>", ["Home", "Products"]),
        ("<a>Are you there</a>?", ["Are you there?"]),
        ("(<a>one</a>, <a>two</a>)", ["one", "two"]),
        ("see <a>one</a>, <a>two</a>", ["see one, two"]),
        (
            "<card><head-line>The house</head-line><body-text>We are <b>here</b>.</body-text></card>",
            ["The house", "We are here."],
        ),
        ("<navLabel><text>One</text></navLabel><navLabel><text>Two</text></navLabel>", ["One", "Two"]),
        ("<ruby>word<rt>note</rt></ruby>", ["word", "note"]),
    ],
)
def test_unknown_elements_are_inline_unless_they_stand_in_a_row(html: str, expected: list[str]) -> None:
    # Text between the elements of a row has no words, and is kept.
    assert [text for text in texts(html) if any(map(str.isalpha, text))] == expected
    assert (
        "".join(part if isinstance(part, str) else markup.write(part, part.text, ()) for part in markup.read(html))
        == html
    )


@pytest.mark.parametrize(
    "html",
    [
        'It is dark.<a href="#n1">1</a> It is cold.',
        'It is dark<a href="#n1">[1]</a>. It is cold.',
        'It is <i>dark.</i><a href="#n1">12</a> It is cold.',
        "It is dark.<sup>1</sup> It is cold.",
        "It is “dark.”<a href='#n'>*</a> It is cold.",
        "Na<sup>+</sup> and Cl<sup>2-</sup> are ions, and 10<sup>−6</sup> is small.".replace("10", "ten"),
    ],
)
def test_a_footnote_number_is_no_part_of_the_text(html: str) -> None:
    [text] = texts(html)
    assert not any(mark in text for mark in "12*[+−")


@pytest.mark.parametrize("html", ["See page <a href=x>1</a>.", "<li><a href=x>2</a></li>", "It costs 1<a href=x>2</a>"])
def test_other_links_of_numbers_are_text(html: str) -> None:
    assert any(map(str.isdigit, "".join(texts(html))))


@pytest.mark.parametrize(
    ("html", "lines"),
    [
        ("I have never seen<br>a dog like that.", 1),
        ("<b>I have never</b><br/>\nseen <i>a dog</i><br>like that.", 1),
        ("We bought bread,<br>milk and cheese.", 1),
        ("Roses are red.<br>Violets are blue.", 2),
        ("Name: Anna<br>Town: Leeds", 2),
        ("hello<br>world", 2),
        ("I have never<br><br>seen a dog.", 2),
        ("I have never<br>- seen a dog.", 2),
        ("I have never<p>seen a dog.", 2),
    ],
)
def test_a_line_break_within_a_sentence_does_not_divide_it(html: str, lines: int) -> None:
    assert len(texts(html)) == lines
    assert (
        "".join(part if isinstance(part, str) else markup.write(part, part.text, ()) for part in markup.read(html))
        == html
    )
