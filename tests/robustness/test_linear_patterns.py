"""Every regular expression that reads what strangers send takes time linear in its length, as it is used."""

import re
from collections.abc import Callable

import pytest

from tests.support.growth import processor_seconds, too_fast_growth
from tests.support.hostile_strings import Repeated, attacks
from tests.support.patterns import Found, Pattern, of_libraries, of_the_service

SIZE = 32_000
FIRST, QUICK = 4_000, 0.0008  # what reads so many characters in so many seconds is measured no further
NEGLIGIBLE, LONGEST = 0.012, 0.5  # seconds for all of them
PARTS = (
    *"aA09 \n\t-./\\<&%'\"([{*_`@#éß👍\u0301\r",
    *("a-", "a.", "a/", "-/", "@/", "a-a/", ".a", "a@", "a_", "a::", "1-", "1.", "1,", "1/", "1:", "1 ", "%0", "%("),
    *("%1$", "$a", "{a", "{{", "[[", "<a", "<a ", "<a-", "</a", "<b>", "</b>", "<!--", "<dnt>", "&#", "&a", "&#9"),
    *("--", "->", "www.", "http://", "a:\\", "\\\\a", "mailto:a@", "+1 ", "(1", "v1.", "A1", "1a-", "à "),
    *("\u200d👍", "1\ufe0f\u20e3", "$1", "€ ", "1h", "1 Uhr ", "a translate=no ", " translate", " class='"),
    *("notranslate ", "- [ ] ", "| ", "** ", "[a](", "[^1]", "> ", "\n\n", ">>", " - ", "'111"),
)
"""What may be slow in any text, besides the strings that are made from the expression."""
HARMLESS = {
    "markdown_it.common.html_re.HTML_TAG_RE": "begins with ^, and is tried where a tag may be",
    "polib.detect_encoding": "reads files by their path, which we never give",
    "pypdf._reader.get_object": "in a process with a limit of time",
    "service.api.book.chapters": "our own pages",
}
"""Expressions that are slow only for strings that never reach them, and why."""
FOUND = [each for each in (*of_the_service(), *of_libraries()) if each.name.partition(":")[0] not in HARMLESS]


def use_of(found: Found, size: int) -> Callable[[Repeated], Callable[[], object]]:
    """Return what uses an expression on a string, as the service does."""

    def prepared(string: Repeated) -> Callable[[], object]:
        text = string.of(size)
        pattern: Pattern = found.pattern
        given = text.encode() if isinstance(pattern.pattern, bytes) else text

        def use() -> None:
            for method in found.methods:
                for _ in pattern.finditer(given) if method == "search" else [getattr(pattern, method)(given)]:
                    pass

        return use

    return prepared


@pytest.mark.slow
@pytest.mark.parametrize("found", [pytest.param(each, id=each.name) for each in FOUND])
def test_time_grows_with_the_length(found: Found) -> None:
    for string in dict.fromkeys([*attacks(found.pattern), *map(Repeated, PARTS)]):
        if processor_seconds(use_of(found, FIRST)(string), LONGEST) >= QUICK:
            growth = too_fast_growth(
                lambda size, string=string: use_of(found, size)(string),  # type: ignore[misc]
                SIZE,
                negligible=NEGLIGIBLE,
                longest=LONGEST,
            )
            assert growth is None, f"{string} takes {growth} seconds"


@pytest.mark.parametrize(
    ("pattern", "part"),
    [
        (r"<html\b[^>]*>", "<html "),
        (r"(<dc:language[^>]*>)[^<]*(</dc:language>)", "<dc:language"),
        (r"<!\[CDATA\[([\s\S]*?)\]\]>", "<![CDATA["),
        (r'"(?:[^"\\\n]++|\\.)*+"(\s*+:)?|[{}\[\]]', '\\"'),
        (r"\s*/>$", " "),
        (r'(?:^|\n)(?P<quote>["\']).*?(?P=quote)(?:$|\n)', '"'),
        (r"(?<!\w)\d{1,3}(?:'\d{3})+(?=€)", "'111"),
    ],
)
def test_the_strings_that_found_something_are_made(pattern: str, part: str) -> None:
    assert part in {
        each.part.rstrip("\n") if len(each.part) > 1 else each.part for each in attacks(re.compile(pattern))
    }
