"""HTML: what is text is translated, and tags stay whole, nested and with the words they were around."""

import time
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service import markup
from service.engine.types import SentenceDetail, Token, Translation
from service.markup import Unit
from service.markup.batch import PreparedDocument, mark, units_of, unmark, write_all


def tokens(text: str) -> tuple[Token, ...]:
    found, at = [], 0
    for number, word in enumerate(text.split()):
        start = text.index(word, at)
        at = start + len(word)
        found.append(Token(number, word, word, start, at))
    return tuple(found)


def detail(source: str, target: str, links: str, values: tuple[tuple[str, str], ...] = ()) -> SentenceDetail:
    """One sentence whose tokens are its words; links as `i-j`, values as (text, written)."""
    pairs = tuple((int(left), int(right)) for left, _, right in (link.partition("-") for link in links.split()))
    spans = tuple((span(source, old), span(target, new)) for old, new in values)
    return SentenceDetail(
        source, target, 0, 0, tokens(source), tokens(target), 0.0, (), pairs, "eos", value_spans=spans
    )


def span(text: str, part: str) -> tuple[int, int]:
    return text.index(part), text.index(part) + len(part)


def translated(html: str, target: str, links: str, values: tuple[tuple[str, str], ...] = ()) -> str:
    """Return a document of one unit, translated as the server does, with collapsed white space."""
    parts = [markup.collapse_spaces(part) if isinstance(part, Unit) else part for part in markup.read(html)]
    assert sum(isinstance(part, Unit) for part in parts) == 1
    return "".join(
        markup.write(part, target, [detail(part.text, target, links, values)]) if isinstance(part, Unit) else part
        for part in parts
    )


def unchanged(html: str) -> str:
    return "".join(part if isinstance(part, str) else markup.write(part, part.text, []) for part in markup.read(html))


@pytest.mark.parametrize(
    ("html", "target", "links", "expected"),
    [
        ("<p>the <b>black</b> cat</p>", "le chat noir", "0-0 1-2 2-1", "<p>le chat <b>noir</b></p>"),
        ("the <b>black</b> <i>cat</i>", "le chat noir", "0-0 1-2 2-1", "le <i>chat</i> <b>noir</b>"),
        ("<b>the cat</b>", "le chat", "0-0 1-1", "<b>le chat</b>"),
        ('the <a href="/x?a=1&amp;b=2">cat</a>.', "le chat.", "0-0 1-1", 'le <a href="/x?a=1&amp;b=2">chat</a>.'),
        ("the <b>big <i>cat</i></b> runs", "le gros chat court", "0-0 1-1 2-2 3-3", "le <b>gros <i>chat</i></b> court"),
        ("a <b>b</b> c", "x y z", "0-0 2-2", "x <b>y</b> z"),  # what no link names
        ("a <b>b</b> c", "x z", "0-0 2-1", "x <b>z</b>"),
        ("one<img src=x> two", "un deux", "0-0 1-1", "un<img src=x> deux"),
        ("one <img src=x>two", "un deux", "0-0 1-1", "un <img src=x>deux"),
        ("see <code>ls -l</code> now", "voir maintenant", "0-0 1-1", "voir <code>ls -l</code> maintenant"),
        ("see <code>a</code> <code>b</code> now", "voir là", "0-0 1-1", "voir <code>a</code> <code>b</code> là"),
        ("see <code>a</code><code>b</code> now", "voir là", "0-0 1-1", "voir <code>a</code><code>b</code> là"),
        (
            "my friend <span translate=no>Anna B</span> lives",
            "mon ami vit",
            "0-0 1-1 2-2",
            "mon ami <span translate=no>Anna B</span> vit",
        ),
        ("the <b>dog <code>x</code> runs</b>", "le chien court", "0-0 1-1 2-2", "le <b>chien <code>x</code> court</b>"),
        ('a <i class="icon"></i> cat', "un chat", "0-0 1-1", 'un <i class="icon"></i> chat'),
        ("one <!-- note --> two", "un deux", "0-0 1-1", "un <!-- note --> deux"),
        ("run <code>x</code>.", "lance.", "0-0", "lance. <code>x</code>"),
        ("1 &lt; 2 &amp; 3", "1 < 2 & 3", "", "1 &lt; 2 &amp; 3"),
        ("<!-- note -->the cat", "le chat", "0-0 1-1", "<!-- note -->le chat"),
        ("the <b>cat", "le chat", "0-0 1-1", "le <b>chat"),  # it was left open
        ("black cat<sup>1</sup> runs", "chat noir court", "0-1 1-0 2-2", "chat noir<sup>1</sup> court"),
        (
            'cat<sup id="c"><a href="#1"><i>[</i>12]</a></sup> runs',
            "chat court",
            "0-0 1-1",
            'chat<sup id="c"><a href="#1"><i>[</i>12]</a></sup> court',
        ),
        ('<a href="#1">2</a>the cat', "le chat", "0-0 1-1", '<a href="#1">2</a>le chat'),
    ],
)
def test_tags_follow_their_words(html: str, target: str, links: str, expected: str) -> None:
    assert translated(html, target, links) == expected


@pytest.mark.parametrize(
    ("html", "target", "links", "values", "expected"),
    [
        # Within a value that is written unchanged a tag keeps its offset.
        (
            "see <a>#<i>cat</i></a> <a>#<i>dog</i></a>",
            "voir #cat #dog",
            "0-0 1-1 2-1",
            (("#cat #dog", "#cat #dog"),),
            "voir <a>#<i>cat</i></a> <a>#<i>dog</i></a>",
        ),
        ("H<sub>2</sub>O is wet", "eau : H2O", "0-2 1-0 2-0", (("H2O", "H2O"),), "eau : H<sub>2</sub>O"),
        ("see a<wbr>.example now", "voir a.example là", "0-0 2-2", (("a.example",) * 2,), "voir a<wbr>.example là"),
        # Around a value it covers all of it.
        ("it costs <b>$5</b> now", "ça coûte 5 $ là", "0-0 1-1 2-2 3-4", (("$5", "5 $"),), "ça coûte <b>5 $</b> là"),
        (
            "at <b>3:30 pm</b> today",
            "à 15 h 30 aujourd'hui",
            "0-0 2-4 3-4",
            (("3:30 pm", "15 h 30"),),
            "à <b>15 h 30</b> aujourd'hui",
        ),
        ("it costs $<b>5</b> now", "ça coûte 5 $ là", "0-0 1-1 3-4", (("$5", "5 $"),), "ça coûte <b>5</b> $ là"),
        ("the 21<sup>st</sup> century", "le 21e siècle", "0-0 1-1 2-2", (("21", "21"),), "le 21<sup>e</sup> siècle"),
        ("the 21<sup>st</sup> year", "das 21. Jahr", "0-0 1-2 2-2", (("21", "21"),), "das 21<sup>.</sup> Jahr"),
    ],
)
def test_tags_know_the_values_of_a_text(
    html: str, target: str, links: str, values: tuple[tuple[str, str], ...], expected: str
) -> None:
    assert translated(html, target, links, values) == expected


def test_an_amount_alone_that_is_written_otherwise_stays_in_its_tag() -> None:
    [unit] = markup.read("<b>$5</b> <i>now</i>")
    assert isinstance(unit, Unit)
    assert markup.write(Unit("$5", unit.nodes[:1]), "5 $", []) == "<b>5 $</b>"
    sentence = SentenceDetail("now", "là", 3, 4, tokens_at("now", 3), tokens_at("là", 4), 0.0, (), ((0, 0),), "eos")
    assert markup.write(unit, "5 $ là", [sentence]) == "<b>5 $</b> <i>là</i>"


def tokens_at(text: str, place: int) -> tuple[Token, ...]:
    return (Token(0, text, text, place, place + len(text)),)


@pytest.mark.parametrize(
    ("html", "target", "links", "expected"),
    [
        ("I <b>am</b> Anna", "Je m'appelle Anna", "0-0 1-1 2-2", "Je <b>m'appelle</b> Anna"),
        ("the <b>man</b> runs", "l'homme court", "0-0 1-0 2-1", "<b>l'homme</b> court"),
        (
            "good day <a>this is it</a> now",
            "bonjour , voici cela ici",
            "0-0 2-2 3-1 4-3 5-4",
            "bonjour , <a>voici cela</a> ici",
        ),
        ("<i>bad</i> <b>good</b> for us", "mauvais pour nous", "0-0 1-0 2-1 3-2", "<i>mauvais</i> <b>pour</b> nous"),
        ("I <i>did</i> see <b>her</b>", "je l'ai vue", "0-0 1-1 2-2 3-1", "je <i>l'ai</i> <b>vue</b>"),
        ("I <i>did</i> <b>it</b>", "fini", "0-0 1-0 2-0", "<i><b>fini</b></i>"),
        (
            "<b>the black cat</b> <i>it</i> runs",
            "le chat noir court",
            "0-0 1-1 2-2 3-2 4-3",
            "<b>le chat</b> <i>noir</i> court",
        ),
        ("a <u>c</u>at", "un chat", "0-0 1-1", "un <u>c</u>hat"),
        ("his un<b>believ</b>able story", "son histoire incroyable", "0-0 1-2 2-1", "son histoire <b>incroyable</b>"),
    ],
)
def test_a_tag_has_whole_words_and_at_least_one(html: str, target: str, links: str, expected: str) -> None:
    assert translated(html, target, links) == expected


def test_elements_whose_words_cross_are_still_nested() -> None:
    html = translated("<b>a b</b> <i>c d</i>", "w x y z", "0-0 1-2 2-1 3-3")
    assert html == "<b>w x y</b> <i>z</i>"


@pytest.mark.parametrize(
    "html",
    [
        "<p>One.</p>\n<p>Two<br>three</p>",
        '<script>if (a < b && c) { x("</p>") }</script>',
        "<style>p > a { color: red }</style><p>x</p>",
        "<pre>  keep\n  this </pre>",
        '<span translate="no">Do <b>not</b></span> translate',
        '<p class="notranslate">x<br>y</p>',
        "<!DOCTYPE html><html><head><title>T</title></head><body><ul><li>a<li>b</ul></body></html>",
        "<p>&lt;b&gt; is a tag</p>",
        "<title>Cats &amp; dogs &lt;3</title><p>&amp;amp; stays</p>",
        "<textarea>a &amp; b</textarea><script>a && b</script>",
        "</b>stray",
        "<b><i>x</b></i>",
        "a < b and c > d".replace("<", "&lt;").replace(">", "&gt;"),
        "<svg><path d='M0'/></svg> x <input value='a'>",
    ],
)
def test_what_is_not_translated_comes_back_as_it_was(html: str) -> None:
    assert unchanged(html) == html


def test_scripts_and_what_must_not_be_translated_are_no_text() -> None:
    html = '<script>a</script><p>b <span translate="no">c</span> <code>d</code></p><pre>e</pre><style>f</style>'
    assert [part.text for part in markup.read(html) if isinstance(part, Unit)] == ["b  "]


def test_line_breaks_of_the_source_are_spaces() -> None:
    [unit] = [part for part in markup.read("the\n   <b>black\n cat</b>") if isinstance(part, Unit)]
    collapse_spaces = markup.collapse_spaces(unit)
    assert collapse_spaces.text == "the black cat"
    assert markup.write(collapse_spaces, collapse_spaces.text, []) == "the <b>black cat</b>"


def test_hostile_documents_take_no_stack_and_little_time() -> None:
    for html in (
        *("<b>" * 30_000, "<b>a</b> " * 11_000, "<a" * 30_000 + ">", "</b>" * 20_000, "<b><i>" * 9_000 + "x"),
        *("&" * 90_000, "<a b='" * 16_000 + ">", '<a b="' * 16_000 + "'>", "<!--" * 20_000 + ">", "<script>" * 9_000),
    ):
        began = time.process_time()
        parts = [part for part in markup.read(html) if isinstance(part, Unit)]
        for unit in map(markup.collapse_spaces, parts):
            target = unit.text.upper() or "X"
            links = " ".join(f"{number}-{number}" for number in range(len(unit.text.split())))
            markup.write(unit, target, [detail(unit.text, target, links)])
        assert time.process_time() - began < 5, html[:10]


class Checker(HTMLParser):
    """Fails on elements that are not nested."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


words = st.lists(st.sampled_from(["the", "black", "cat", "a&b", "x<y"]), min_size=1, max_size=4).map(" ".join)
fragments = st.recursive(
    words.map(lambda text: text.replace("&", "&amp;").replace("<", "&lt;")),
    lambda inner: st.tuples(st.sampled_from("biu"), st.lists(inner, max_size=3)).map(
        lambda made: f"<{made[0]}>{' '.join(made[1])}</{made[0]}>"
    ),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(html=fragments, target=words, data=st.data())
def test_whatever_the_alignment_every_tag_is_there_and_nested(html: str, target: str, data: st.DataObject) -> None:
    for unit in markup.read(html):
        assert isinstance(unit, Unit)
        sizes = len(unit.text.split()), len(target.split())
        link = st.tuples(st.integers(0, max(sizes[0] - 1, 0)), st.integers(0, sizes[1] - 1))
        links = data.draw(st.lists(link, max_size=6)) if sizes[0] else []
        spelled = " ".join(f"{left}-{right}" for left, right in links)
        result = markup.write(unit, target, [detail(unit.text, target, spelled)])
        before, after = Checker(), Checker()
        before.feed(html)
        after.feed(result)
        assert sorted(before.tags) == sorted(after.tags)
        assert after.open == []
        # Nothing but the spaces around elements without a word in them is added.
        text = "".join(part.text for part in markup.read(result) if isinstance(part, Unit))
        assert text.split() == target.split()


@pytest.mark.parametrize(
    "document",
    [
        "see <code>ls <i>-l</i></code> now",
        "<p>a <b><code>x</code> y</b><span translate=no>Z</span><i>w</i></p> <code>q</code>",
        '<span translate="no">Do <b>not</b></span> translate',
        "nothing here",
        "run <code>make</code> and <code>{n}</code> for <b translate=no>%d</b> of <b translate=no>%s</b> files",
        "&lt;dnt&gt;\ue0000&lt;/dnt&gt; <code>x</code>",
    ],
)
def test_elements_that_are_not_translated_are_marked_and_come_back(document: str) -> None:
    parts, elements = mark(markup.read(document))
    marked = PreparedDocument(parts, elements)
    written = write_all([marked], [Translation(unit.text) for unit in units_of([marked])])
    assert [each.text for each in written] == [document]
    assert all(("<dnt>" in unit.text) == bool(elements) for unit in units_of([marked])[:1] if elements)


def test_marked_elements_follow_their_mark() -> None:
    [unit], elements = mark(markup.read("see <code>ls -l</code> <b>now</b>"))
    assert isinstance(unit, Unit)
    sign = unit.text.split()[1]
    details = [detail(unit.text, f"maintenant {sign}", "2-0 1-1")]
    written = markup.write(unit, f"maintenant {sign}", details)
    assert unmark(written, elements) == "<b>maintenant</b> <code>ls -l</code>"


@pytest.mark.parametrize("number", ["7", "9" * 5_000])
def test_a_mark_that_a_glossary_writes_stays_text(number: str) -> None:
    written = f"&lt;dnt&gt;\ue000{number}\ue000&lt;/dnt&gt;"
    assert unmark(written, ["<code>ls -l</code>"]) == written
