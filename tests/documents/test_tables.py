"""Tables: the chosen columns, byte for byte otherwise."""

import csv
import io

import pytest

from service.documents.errors import BrokenDocument, DocumentError
from service.documents.formats.csv import separator_of
from tests.support.documents import same, through

TABLE = 'id,Name,"Long text"\r\n1,"A ""big"" house","First line\nsecond line"\r\n2,=SUM(A1),last, \r\n'


def test_a_table_without_translation_stays_byte_for_byte() -> None:
    for text in (TABLE, TABLE.replace(",", ";"), TABLE.replace(",", "\t"), "", "a\n", "a,b\n\nc,\n", '"",""\n', ",\n,"):
        assert through("a.csv", text.encode(), same).decode() == text


def test_all_columns_but_not_the_first_row_are_translated_unless_others_are_asked_for() -> None:
    first, rest = TABLE.split("\r\n", 1)
    assert through("a.csv", TABLE.encode()).decode() == f"{first}\r\n{rest.upper()}"
    assert through("a.csv", TABLE.encode(), header=True).decode() == TABLE.upper()
    chosen = through("a.csv", TABLE.encode(), columns=("long text",)).decode()
    assert chosen == TABLE.replace("First line\nsecond line", "FIRST LINE\nSECOND LINE").replace("last", "LAST")
    by_number = through("a.csv", TABLE.encode(), columns=("2",), header=True).decode()
    assert by_number == TABLE.replace('A ""big"" house', 'A ""BIG"" HOUSE').replace("Name", "NAME")


def test_a_value_that_needs_quotes_gets_them() -> None:
    written = through("a.csv", b"a,b\nword,2\n", lambda fragment: "x, y" if fragment == "word" else fragment).decode()
    assert written == 'a,b\n"x, y",2\n'
    assert [*csv.reader(io.StringIO(written))] == [["a", "b"], ["x, y", "2"]]


def test_quotes_in_a_table_with_tabs_may_be_part_of_the_text() -> None:
    text = 'A\t"QUOTED"\n"He said\tno "end\n"x" and y\tz\n'
    assert through("a.tsv", text.encode(), same).decode() == text
    assert through("a.tsv", text.encode()).decode() == text.upper()


@pytest.mark.parametrize(
    ("separator", "text"),
    [
        (",", "id,text\n1,It's here; really\n2,so; on\n"),
        (",", '"id","text; long"\n"1","a\tb"\n'),
        (";", "Name;Preis\nBrot;1,50\nMilch;2,30\n"),
        (";", 'Name;Text\n1;"One, two, three, and\nfour, five"\n2;six\n'),
        ("\t", 'id\ttext\n1\t5" pipe, 6" pipe\n2\t"no end, of it\n'),
        ("|", "id|text|note\n1|Hello, you|a; b\n"),
        (",", "one column of text\n"),
        (",", ""),
    ],
)
def test_the_separator_is_what_divides_the_rows_equally(separator: str, text: str) -> None:
    assert separator_of(text) == separator


def test_a_number_of_a_column_may_have_any_number_of_digits() -> None:
    with pytest.raises(DocumentError, match="no column"):
        through("a.csv", TABLE.encode(), columns=("9" * 5_000,))


def test_what_is_wrong_with_a_table_is_said() -> None:
    with pytest.raises(DocumentError, match="no column"):
        through("a.csv", TABLE.encode(), columns=("nope",))
    for text in ('a,"b', 'a,b"c"d\n"x"y,z\n'):
        with pytest.raises(BrokenDocument, match="quote"):
            through("a.csv", text.encode())
