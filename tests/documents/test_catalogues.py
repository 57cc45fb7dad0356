"""Gettext and XLIFF, read back with polib and translate-toolkit."""

import re

import polib
import pytest
from translate.storage import xliff

from service.documents.errors import BrokenDocument, DocumentEncoding, DocumentError
from tests.support.documents import segments, through
from tests.support.localisation import PO, XLIFF, XLIFF_2


def test_empty_entries_are_filled_and_marked_and_others_stay() -> None:
    written = through("a.po", PO.encode()).decode()
    found = {(entry.msgctxt, entry.msgid): entry for entry in polib.pofile(written)}
    first = found["menu", "Open %s in <b>two</b> windows"]
    assert first.msgstr == "OPEN %s IN <b>TWO</b> WINDOWS"
    assert first.flags == ["c-format", "fuzzy"]
    assert (first.comment, first.occurrences) == ("A comment for translators", [("main.c", "12")])
    assert (found[None, "Done"].msgstr, found[None, "Done"].flags) == ("Fini", [])
    assert (found[None, "Half done"].msgstr, found[None, "Half done"].flags) == ("À moitié", ["fuzzy"])
    assert found[None, "%(count)d file"].msgstr_plural == {0: "%(count)d FILE", 1: "%(count)d FILES"}
    assert found[None, "First line\n\n{name} and ${value}\n"].msgstr == "FIRST LINE\n\n{name} AND ${value}\n"
    assert found[None, "Old"].obsolete
    assert polib.pofile(written).metadata["Language"] == "fr"
    assert written.startswith("# Translators: somebody.")


def test_a_finished_catalogue_stays_byte_for_byte() -> None:
    finished = PO.split("#. A comment", maxsplit=1)[0] + 'msgid "Done"\nmsgstr "Fini"\n'
    assert through("a.po", finished.encode()).decode() == finished


def test_a_percent_sign_before_a_word_is_no_placeholder_and_a_format_specification_is_one() -> None:
    catalogue = 'msgid ""\nmsgstr ""\n\nmsgid "Save 20% now, {name!r:>4}"\nmsgstr ""\n'
    assert 'msgstr "SAVE 20% NOW, {name!r:>4}"' in through("a.po", catalogue.encode()).decode()


def test_xliff_1_2_is_filled_where_it_is_open() -> None:
    written = through("a.xlf", XLIFF.encode())
    store = xliff.xlifffile.parsestring(written)  # type: ignore[no-untyped-call]
    units = {unit.xmlelement.get("id"): unit for unit in store.units}
    assert units["1"].target == "I LOST MY KEYS, %s."
    assert [child.tag.rpartition("}")[2] for child in units["1"].xmlelement] == ["source", "target", "note"]
    target = units["1"].xmlelement.find("{*}target")
    assert [(child.tag.rpartition("}")[2], child.text) for child in target] == [("g", "LOST"), ("x", None)]
    assert target.get("state") == "needs-review-translation"
    assert [units[number].target for number in "2345"] == [None, "Fini", "Commencé", None]
    six = units["6"].xmlelement.find("{*}target")
    found = [(child.tag.rpartition("}")[2], child.text) for child in six]
    assert found == [("mrk", "open()"), ("bpt", "<b>"), ("ept", "</b>")]
    assert b'target-language="fr"' in written
    assert b"<source>I <g" in written


def test_inline_elements_of_xliff_go_where_their_words_go() -> None:
    def moved(fragment: str) -> str:
        return "My <wbr 1>keys, <b 0>lost</b>." if "lost" in fragment else fragment

    written = through("a.xlf", XLIFF.encode(), moved).decode()
    assert re.search(r'<target[^>]*>My <x id="i"/>keys, <g id="b">lost</g>\.</target>', written), written


def test_xliff_2_is_filled_where_it_is_open() -> None:
    written = through("a.xliff", XLIFF_2.encode()).decode()
    assert '<target>I <pc id="1">LOST</pc><ph id="2"/> IT.</target>' in written
    assert '<segment id="s" state="translated">' in written
    assert "<target>Final !</target>" in written
    assert written.count("<target>") == 2
    assert 'trgLang="fr"' in written
    assert segments("a.xliff", XLIFF_2.encode()) == ["I <b 0>lost</b><wbr 1> it."]


GERMAN = XLIFF.replace('source-language="en"', 'source-language="en" target-language="de"').encode()
UTF_8 = b'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'


@pytest.mark.parametrize(
    ("name", "data", "error", "message"),
    [
        ("a.po", b'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "a"\nmsgstr ""\n', DocumentError, "language is de"),
        ("a.po", UTF_8 + b'msgid "\xff"\nmsgstr ""\n', DocumentEncoding, "."),
        *(("a.po", data, BrokenDocument, ".") for data in (b'msgid "a"', b'"\nmsgid\n', b"msgid /etc/passwd")),
        ("a.xlf", GERMAN, DocumentError, "target language is de"),
        *(("a.xlf", data, BrokenDocument, ".") for data in (b"<xliff/>", b"no xml", b"<xliff", b"")),
    ],
)
def test_catalogues_that_are_refused(name: str, data: bytes, error: type[DocumentError], message: str) -> None:
    with pytest.raises(error, match=message):
        through(name, data)


@pytest.mark.parametrize("text", [XLIFF, XLIFF_2, XLIFF.replace("\n", "\r\n"), "\ufeff" + XLIFF_2])
def test_every_byte_of_xliff_stays_beside_the_targets(text: str) -> None:
    text = text.replace('<?xml version="1.0" encoding="UTF-8"?>', "<?xml  version='1.0'?>\n<!-- a > b -->")
    text = text.replace('version="', "z='1>2' version = \"").replace("note>", "note >")
    new = through("a.xlf", text.encode()).decode()
    for added in (' state="translated"', ' trgLang="fr"', ' target-language="fr"'):
        new = new.replace(added, "")
    new = re.sub(r'\s*<target[^>]*state="needs[^>]*>.*?</target>', "", new, flags=re.DOTALL)
    new = re.sub(r"<target>[^<]*(<pc|[^<]*LOST).*?</target>", "", new, flags=re.DOTALL)
    assert new == text.replace("<target/>", "")


def test_a_finished_file_of_xliff_stays_byte_for_byte() -> None:
    finished = XLIFF.replace("<file ", '<file translate="no" ').encode()
    assert through("a.xlf", finished) == finished


def test_xliff_stays_in_its_encoding_and_its_text_may_be_cdata() -> None:
    text = XLIFF.replace("UTF-8", "UTF-16").replace("my <x", "<![CDATA[my R&D]]><x")
    written = through("a.xlf", text.encode("utf-16")).decode("utf-16")
    assert 'target-language="fr"' in written
    assert '<g id="b">LOST</g> MY R&amp;D<x id="i"/> KEYS, %s.</target>' in written
