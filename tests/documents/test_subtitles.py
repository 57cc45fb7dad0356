"""Subtitles: only the words change; the files are read back with the usual libraries."""

from __future__ import annotations

import pytest

from service.documents.errors import BrokenDocument
from tests.support.documents import segments, through

SRT = """\ufeff1
00:00:01,000 --> 00:00:02,500
I have <i>lost</i>
my keys.

2
00:00:03,000 --> 00:00:04,000 X1:40 X2:600
- Who is it?
- {\\an8}It is me.

3
00:00:05,000 --> 00:00:06,000
♪ 123 ♪

"""


def test_subtitles_without_translation_stay_byte_for_byte() -> None:
    for text in (SRT, SRT.replace("\n", "\r\n")):
        assert through("a.srt", text.encode(), lambda fragment: fragment) == text.encode()


def test_the_lines_of_a_sentence_are_translated_together_and_speakers_apart() -> None:
    assert segments("a.srt", SRT.encode()) == [
        "I have <b 0>lost</b> my keys.",
        "Who is it?",
        "<wbr 0>It is me.",
    ]
    expected = SRT
    for words in ("I have", "lost", "my keys.", "Who is it?", "It is me."):
        expected = expected.replace(words, words.upper())
    assert through("a.srt", SRT.encode()).decode() == expected


def test_what_has_no_subtitles_is_refused() -> None:
    with pytest.raises(BrokenDocument, match="no subtitles"):
        through("a.srt", b"just a text\n")
