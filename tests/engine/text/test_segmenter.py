"""Sentences are found, and everything between them stays as it is."""

import itertools
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.bundle.wrapping import is_translatable, join, whole_text
from service.engine.text.segmenter import split_sentences

FRAGMENTS = (
    "Hello. ",
    "I ",
    "lost",
    ".",
    "\n",
    "\r\n",
    " ",
    "😀",
    "Dr. ",
    "3.5",
    "。",
    "句",
    "\t",
    '"',
    "…",
    "e\u0301",
)
mixed = st.lists(
    st.one_of(st.sampled_from(FRAGMENTS), st.text(st.characters(exclude_categories=["Cs"]), max_size=5)),
    max_size=30,
).map("".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I lost. He's calm.", ["I lost.", "He's calm."]),
        (
            "Dr. Smith went to Washington. He arrived at 3.15 p.m. on Jan. 5.",
            ["Dr. Smith went to Washington.", "He arrived at 3.15 p.m. on Jan. 5."],
        ),
        ("Mr. and Mrs. X vs. Y, e.g. this, i.e. that, etc.", ["Mr. and Mrs. X vs. Y, e.g. this, i.e. that, etc."]),
        ("See https://example.com/a.b?c=d. Then go.", ["See", "Then go."]),
        ("Go to www.Example.Com now. Call foo.Bar().", ["Go to", "now.", "Call foo.Bar()."]),
        ("Mail ann.lee+x@mail.example.org, please.", ["Mail", ", please."]),
        ("(see https://a.example/x_(y)!)", ["(see"]),
        ("It costs $3.50 or 3,000.00. Version 1.2.3 too.", ["It costs $3.50 or 3,000.00.", "Version 1.2.3 too."]),
        ("See Vol. 3, p. 42. Fig. 2 shows it.", ["See Vol. 3, p. 42.", "Fig. 2 shows it."]),
        ('"Hello there." She left.', ['"Hello there."', "She left."]),
        ("Wait... what? Yes!!! No.", ["Wait... what?", "Yes!!!", "No."]),
        ("“One.” “Two.”", ["“One.”", "“Two.”"]),
        ("这是一句话。这是第二句！真的吗？", ["这是一句话。", "这是第二句！", "真的吗？"]),
        (
            "One line\nTwo lines\r\n\r\nThree\u2028four\tfive six",
            ["One line", "Two lines", "Three", "four", "five six"],
        ),
        ("I have never\r\nseen it. You\nhave.", ["I have never\r\nseen it.", "You\nhave."]),
        ("Hello\nworld", ["Hello", "world"]),
        ("- First thing.\n2. Second.\n(3) Third\n# Head", ["First thing.", "Second.", "Third", "Head"]),
        ("Hi! 😀😀 Bye.", ["Hi!", "Bye."]),
        ("👍🏽 I agree ❤️", ["I agree"]),
        ("Look: https://a.example/x\nhttps://a.example/y\nme@a.example", ["Look:"]),
        ("12:30\n3.50 €\n---\n…", []),
        (" \n\t ", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in split_sentences(text, "en")] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("AM 13. FEBRUAR 1987. UM 8 UHR.", ["AM 13. FEBRUAR 1987.", "UM 8 UHR."]),
        ("Im 19. Jahrhundert. Ja.", ["Im 19. Jahrhundert.", "Ja."]),
        ("IM 19. JAHRHUNDERT. JA.", ["IM 19. JAHRHUNDERT.", "JA."]),
        ("Siehe Kap. 3 und Nr. 5. Ja.", ["Siehe Kap. 3 und Nr. 5.", "Ja."]),
    ],
)
def test_the_stop_of_an_ordinal_ends_no_sentence_in_its_language(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in split_sentences(text, "de")] == expected


@pytest.mark.parametrize("text", ["😀", "?!", "…", "42", "", "https://example.com/page", "a@b.org"])
def test_what_has_no_letters_or_is_a_link_is_left_alone(text: str) -> None:
    assert not is_translatable(text)
    assert whole_text(text) == []


@settings(deadline=None, max_examples=400)
@given(mixed)
def test_sentences_and_gaps_are_the_text_and_gaps_need_no_translation(text: str) -> None:
    sentences = split_sentences(text, "en")
    for spans in (sentences, whole_text(text)):
        pieces = [text[start:end] for start, end in spans]
        assert join(text, spans, pieces).text == text
        assert all(piece == piece.strip() and is_translatable(piece) for piece in pieces)
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    gaps = zip([0, *(end for _, end in sentences)], [*(start for start, _ in sentences), len(text)], strict=True)
    for begin, end in gaps:
        for line in re.split(r"[\n\r\v\f\t\x1c-\x1e\x85\u2028\u2029]", text[begin:end]):
            assert not is_translatable(line) or re.search(r"https?:|www|@", line)


@pytest.mark.parametrize(
    "text",
    ["The cat sat on the mat, and it was happy. " * 477, "x" * 20_000, "." * 20_000, '("[ ' * 5_000, "\n" * 20_000],
)
def test_twenty_thousand_characters_take_a_moment(text: str) -> None:
    began = time.process_time()
    split_sentences(text, "en")
    assert time.process_time() - began < 1
