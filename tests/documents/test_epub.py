"""Books, made and read back with EbookLib."""

import zipfile
from pathlib import Path

from ebooklib import epub

from tests.support.documents import same, segments, through, unpacked

PAGE = "<h1>Chapter one</h1><p>I have <b>never</b> lost my <a href='#x'>keys</a>.</p><pre>code</pre>"


def book(folder: Path) -> bytes:
    made = epub.EpubBook()
    made.set_identifier("id1")
    made.set_title("A book")
    made.set_language("en")
    page = epub.EpubHtml(title="Chapter one", file_name="text/one.xhtml", lang="en", content=PAGE)
    style = epub.EpubItem(uid="s", file_name="style.css", media_type="text/css", content=b"p { color: red }")
    made.add_item(page)
    made.add_item(style)
    made.toc = (epub.Link("text/one.xhtml", "First chapter", "c1"),)
    made.spine = ["nav", page]
    made.add_item(epub.EpubNcx())
    made.add_item(epub.EpubNav())
    epub.write_epub(str(folder / "book.epub"), made)
    return (folder / "book.epub").read_bytes()


def test_pages_and_tables_of_contents_are_translated_and_nothing_else_changes(tmp_path: Path) -> None:
    data = book(tmp_path)
    old, new = unpacked(data), unpacked(through("a.epub", data, same))
    assert list(old) == list(new)
    for name, page in old.items():
        expected = page.decode().replace('lang="en"', 'lang="fr"').replace(">en<", ">fr<")
        assert new[name].decode() == expected, name
    sentence = 'I have <b>never</b> lost my <a href="#x">keys</a>.'
    assert {"Chapter one", sentence, "First chapter"} <= set(segments("a.epub", data))
    (tmp_path / "new.epub").write_bytes(through("a.epub", data))
    read = epub.read_epub(str(tmp_path / "new.epub"))
    content = read.get_item_with_href("text/one.xhtml").get_content().decode()
    assert '<p>I HAVE <b>NEVER</b> LOST MY <a href="#x">KEYS</a>.</p>' in content
    assert "<pre>code</pre>" in content
    assert read.get_metadata("DC", "title")[0][0] == "A BOOK"
    assert b">A book</dc:title>" in unpacked(through("a.epub", data, metadata=False))["EPUB/content.opf"]
    assert read.get_metadata("DC", "language")[0][0] == "fr"
    with zipfile.ZipFile(tmp_path / "new.epub") as archive:
        assert "FIRST CHAPTER" in archive.read("EPUB/toc.ncx").decode()
        assert "FIRST CHAPTER" in archive.read("EPUB/nav.xhtml").decode()
        assert archive.read("EPUB/style.css") == b"p { color: red }"
        assert archive.infolist()[0].filename == "mimetype"
        assert archive.infolist()[0].compress_type == zipfile.ZIP_STORED
