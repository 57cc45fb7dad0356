"""Subtitles: only the words change; the files are read back with the usual libraries."""

from html import unescape

import pytest
import srt
import webvtt

from service.documents.errors import BrokenDocument
from tests.support.documents import same, segments, through

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


VTT = """WEBVTT - A title that stays

NOTE This comment stays as it is.

STYLE
::cue { color: red }

intro
00:01.000 --> 00:02.500 align:start position:10%
<v Ann>I have <c.yellow>lost</c> my keys &amp; more.

00:00:03.000 --> 00:00:04.000
One line
<00:00:03.500>and another.
"""


def test_subtitles_without_translation_stay_byte_for_byte() -> None:
    for name, text in (("a.srt", SRT), ("a.srt", SRT.replace("\n", "\r\n")), ("a.vtt", VTT)):
        assert through(name, text.encode(), same) == text.encode()


def test_the_lines_of_a_sentence_are_translated_together_and_speakers_apart() -> None:
    found = segments("a.srt", SRT.encode())
    assert found == ["I have <b 0>lost</b> my keys.", "Who is it?", "<wbr 0>It is me."]
    expected = SRT
    for words in ("I have", "lost", "my keys.", "Who is it?", "It is me."):
        expected = expected.replace(words, words.upper())
    assert through("a.srt", SRT.encode()).decode() == expected


def test_what_has_no_subtitles_is_refused_and_a_cue_of_tags_alone_comes_back_as_it_was() -> None:
    with pytest.raises(BrokenDocument, match="no subtitles"):
        through("a.srt", b"just a text\n")
    empty = b"1\n00:00:01,000 --> 00:00:02,000\n<i></i>\n"
    assert through("a.srt", empty, str.upper) == empty


def test_a_line_of_tabs_is_no_longer_than_it_is() -> None:
    tabs = b"\t" * 31
    cue = b"1\n00:00:01,000 --> 00:00:02,000\nYes." + tabs + b"02,000\nNo." + tabs + b"\n"
    assert b"one more" in through("a.srt", cue, lambda line: f"{line}one more")


def test_the_usual_libraries_read_the_same_times_and_the_new_words() -> None:
    before, after = [*srt.parse(SRT)], [*srt.parse(through("a.srt", SRT.encode()).decode())]
    assert [(cue.index, cue.start, cue.end, cue.proprietary) for cue in after] == [
        (cue.index, cue.start, cue.end, cue.proprietary) for cue in before
    ]
    old, new = (webvtt.from_string(text) for text in (VTT, through("a.vtt", VTT.encode()).decode()))
    assert [(cue.identifier, cue.start, cue.end) for cue in new.captions] == [
        (cue.identifier, cue.start, cue.end) for cue in old.captions
    ]
    assert [unescape(cue.text).split() for cue in new.captions] == [
        unescape(cue.text).upper().split() for cue in old.captions
    ]


def test_notes_styles_settings_and_references_of_webvtt_stay() -> None:
    assert segments("a.vtt", VTT.encode()) == [
        "<wbr 0>I have <b 1>lost</b> my keys &amp; more.",
        "One line <wbr 0>and another.",
    ]
    written = through("a.vtt", VTT.encode()).decode()
    assert "<v Ann>I HAVE <c.yellow>LOST</c> MY KEYS &amp; MORE." in written
    for kept in ("NOTE This comment stays", "::cue { color: red }", "align:start position:10%", "WEBVTT - A title"):
        assert kept in written
