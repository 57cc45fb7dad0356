"""Catalogues of gettext change in the lines of their translations only."""

import polib
import pytest

from tests.support.documents import through

CATALOGUE = """# A comment
msgid ""
msgstr ""
"Project-Id-Version: x 1\\n"
"X-Generator: someone\\n"
"Language: \\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=UTF-8\\n"

#. note
#: a.c:1
#, c-format
#| msgid "Hi"
msgid "Hello %s"
msgstr ""

#: b.c:2
msgctxt "x"
msgid ""
"a line that somebody has wrapped "
"by hand\\n"
msgstr ""
""

msgid "%d dog"
msgid_plural "%d dogs"
msgstr[0] ""
msgstr[1] ""

msgid "done"
msgstr "fini"

#~ msgid "old"
#~ msgstr "vieux"
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_diff_has_the_translations_only(end: str) -> None:
    written = through("a.po", CATALOGUE.replace("\n", end).encode()).decode()
    assert written.count("\n") == written.count(end)
    old, new = CATALOGUE.split("\n"), written.replace("\r\n", "\n").split("\n")
    removed = [line for line in old if line not in new]
    added = [line for line in new if line not in old]
    assert removed == ['"Language: \\n"', "#, c-format", '""', 'msgstr[0] ""', 'msgstr[1] ""']
    assert added == [
        '"Language: fr\\n"',
        '"Plural-Forms: nplurals=2; plural=(n > 1);\\n"',
        "#, c-format, fuzzy",
        'msgstr "HELLO %s"',
        "#, fuzzy",
        'msgstr "A LINE THAT SOMEBODY HAS WRAPPED BY HAND\\n"',
        "#, fuzzy",
        'msgstr[0] "%d DOG"',
        'msgstr[1] "%d DOGS"',
    ]
    assert new.index("#, fuzzy") == new.index('msgctxt "x"') - 1
    assert next(entry.msgstr for entry in polib.pofile(written)) == "HELLO %s"


def test_a_catalogue_without_a_header_gets_one() -> None:
    written = through("a.po", b'#: a.c:1\nmsgid "Hello"\nmsgstr ""').decode()
    assert written.startswith(
        'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Language: fr\\n"\n\n#: a.c:1\n'
    )
    assert polib.pofile(written)[0].msgstr == "HELLO"
