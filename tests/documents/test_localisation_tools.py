"""Localisation files as others read them: translate-toolkit, gettext, Qt's own tools; placeholders of each format."""

import gettext
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from translate.storage import aresource, jsonl10n, properties, pypo, stringsdict, ts2, xliff, xliff2

from tests.support.documents import segments, through
from tests.support.localisation import (
    ANDROID,
    ARB,
    JSON,
    ONE_MESSAGE,
    PO,
    PROPERTIES,
    QT,
    STRINGS,
    STRINGSDICT,
    XLIFF,
    XLIFF_2,
)

READERS: tuple[tuple[str, str, Any, tuple[str, ...]], ...] = (
    ("strings.xml", ANDROID, aresource.AndroidResourceFile, ("DON'T OPEN %1$s IN", "%d FILES")),
    ("a.properties", PROPERTIES, properties.javafile, ("FIRST SECOND THIRD", "CAFÉ {0}, IT''S")),
    ("a.strings", STRINGS, properties.stringsutf8file, ('HELLO "%@"\nNOW', "QUIT")),
    ("a.stringsdict", STRINGSDICT, stringsdict.StringsDictFile, ("YOU SEE %#@files@", "%d FILES & MORE")),
    ("a.json", JSON, jsonl10n.I18NextV4File, ("HELLO {{name}}!", "{{count}} FILES", "TWO É")),
    ("a.arb", ARB, jsonl10n.ARBJsonFile, ("HELLO {name}",)),
    ("a.ts", QT, ts2.tsfile, ('&OPEN "%1"', "%n FILE(S)", "Quitter")),
    ("a.po", PO, pypo.pofile, ("%(count)d FILES", "{name} AND ${value}", "Fini")),
    ("a.xlf", XLIFF, xliff.xlifffile, ("I LOST MY KEYS, %s.", "Fini")),
    ("a.xlf", XLIFF_2, xliff2.Xliff2File, ("I LOST IT.", "Final !")),
)


def units(reader: Any, data: bytes) -> tuple[list[str], str]:
    """Return the names of the messages in a file, and all their texts."""
    found = [unit for unit in reader.parsestring(data).units if not unit.isheader()]
    texts = [
        str(each)
        for unit in found
        for text in (unit.target or unit.source,)
        for each in getattr(text, "strings", [text])
    ]
    return [str(unit.getid()) for unit in found], "\n".join(texts)


@pytest.mark.parametrize(
    ("name", "text", "reader", "expected"), READERS, ids=lambda value: getattr(value, "__name__", "")
)
def test_translate_toolkit_reads_the_same_messages(
    name: str, text: str, reader: Any, expected: tuple[str, ...]
) -> None:
    names, _ = units(reader, text.encode())
    found, new = units(reader, through(name, text.encode()))
    assert found == names != []
    assert all(each in new for each in expected), new


PLACEHOLDERS = (
    *("%s", "%d", "%1$s", "%2$d", "%.2f", "%05d", "%ld", "%lu", "%lld", "%@", "%1$@", "%%", "%(name)s", "%#@files@"),
    *("{name}", "{0}", "{user.name}", "{0,number}", "{date, date, short}", "{{x}}", "{{- x}}", "{{n, number}}"),
    *("%{count}", "${x}", "${user.name}", "$t(common.ok)", "%1", "%L2", "%n", "%5.1f"),
)


@pytest.mark.parametrize("name", ONE_MESSAGE)
def test_thirty_placeholders_are_intact(name: str) -> None:
    assert len(PLACEHOLDERS) == 30
    for placeholder in PLACEHOLDERS:
        given = ONE_MESSAGE[name].replace("Open %s now", f"Open {placeholder} now")
        [segment] = segments(name, given.encode())
        assert 'translate="no"' in segment, placeholder
        assert f"OPEN {placeholder} NOW" in through(name, given.encode()).decode()


def ran(*command: object) -> str:
    """Return what a program says, which must succeed; the test is skipped where it is not installed."""
    if shutil.which(str(command[0])) is None:
        pytest.skip(f"{command[0]} is not installed (Debian: gettext, qttools5-dev-tools)")
    done = subprocess.run([str(each) for each in command], check=True, capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr


C = """puts(gettext("Press \\"OK\\" in the café"));
printf(ngettext("%d file was deleted", "%d files were deleted", n), n); printf(gettext("Hello %s, %1$.1f\\n"), name);
"""


@pytest.mark.parametrize("by_msginit", [True, False])
def test_a_catalogue_of_gettext_is_compiled_by_it(tmp_path: Path, by_msginit: bool) -> None:
    (tmp_path / "main.c").write_text(C)
    template, catalogue = tmp_path / "a.pot", tmp_path / "fr.po"
    ran("xgettext", "--from-code=UTF-8", "-o", template, tmp_path / "main.c")
    if by_msginit:
        ran("msginit", "--no-translator", "--locale=fr.UTF-8", "-i", template, "-o", catalogue)
    catalogue.write_bytes(through("fr.po", (catalogue if by_msginit else template).read_bytes()))
    ran("msgfmt", "--check", "--use-fuzzy", "-o", tmp_path / "fr.mo", catalogue)
    with (tmp_path / "fr.mo").open("rb") as file:
        read = gettext.GNUTranslations(file)
    assert read.gettext('Press "OK" in the café') == 'PRESS "OK" IN THE CAFÉ'
    assert read.ngettext("%d file was deleted", "%d files were deleted", 3) == "%d FILES WERE DELETED"
    assert read.gettext("Hello %s, %1$.1f\n") == "HELLO %s, %1$.1f\n"


CPP = """class Main : public QObject { Q_OBJECT void f() {
  tr("&Open \\"%1\\" <b>now</b>"); tr("%n file(s) deleted", "a comment", n); tr("Quit\\nnow"); } };
"""


def test_a_catalogue_of_qt_is_compiled_by_it(tmp_path: Path) -> None:
    source, catalogue = tmp_path / "main.cpp", tmp_path / "a.ts"
    source.write_text(CPP)
    ran("lupdate", source, "-target-language", "fr", "-ts", catalogue)
    catalogue.write_bytes(through("a.ts", catalogue.read_bytes()))
    said = ran("lrelease", catalogue, "-qm", tmp_path / "a.qm")
    assert "Generated 3 translation(s) (0 finished and 3 unfinished)" in said, said
    assert "&OPEN &quot;%1&quot; &lt;b&gt;NOW&lt;/b&gt;".replace("&", "&amp;", 1) in catalogue.read_text()
