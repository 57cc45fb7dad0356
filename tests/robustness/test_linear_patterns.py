"""Every regular expression of the service reads any text in time linear in its length."""

import importlib
import pkgutil
import re
import time
from collections.abc import Iterable, Iterator

import pytest

import service
from service.engine.values.patterns import scanner

SMALL, LARGE = 5_000, 20_000
GROWTH = 8  # four times the text; a square would be sixteen
NEGLIGIBLE = 0.05  # seconds
HOSTILE = (
    *"aA09 \n\t-./\\<&%'\"([{*_`@#éß👍\u0301\r",
    *("a-", "a.", "a/", "-/", "@/", "a-a/", ".a", "a@", "a_", "a::", "1-", "1.", "1,", "1/", "1:", "1 ", "%0", "%("),
    *("%1$", "$a", "{a", "{{", "[[", "<a", "<a ", "<a-", "</a", "<b>", "</b>", "<!--", "<dnt>", "&#", "&a", "&#9"),
    *("--", "->", "www.", "http://", "a:\\", "\\\\a", "mailto:a@", "+1 ", "(1", "v1.", "A1", "1a-", "à "),
    *("\u200d👍", "1\ufe0f\u20e3", "$1", "€ ", "1h", "1 Uhr ", "a translate=no ", " translate", " class='"),
    *("notranslate ", "- [ ] ", "| ", "** ", "[a](", "[^1]", "> ", "\n\n", ">>", " - "),
)
STARTS = ("", "<a", "%", "{")
ENDS = ("!",)
ANCHORED = frozenset(
    {
        "service.access.addresses.WITH_PORT",
        "service.documents.formats.html_attributes.TAG",  # the same as below
        "service.documents.formats.markdown.HEADING",
        "service.documents.formats.markdown_inline.FIRST_NUMBER",
        "service.documents.formats.markdown_inline.FIRST_SIGN",
        "service.documents.formats.odt.REMOTE",
        "service.documents.formats.properties.APPLE",  # at the end of what it matched before, or the file is refused
        "service.documents.formats.subtitles.DASH",
        "service.documents.formats.subtitles.TIMING",
        "service.documents.formats.text.ITEM",
        "service.documents.formats.xml_messages.ELSEWHERE",
        "service.documents.formats.xml_messages.RAW",
        "service.documents.formats.yaml.PROPERTIES",
        "service.documents.icu.CASE",  # it and CLOSE at the end of what was read before, or nothing more is read
        "service.documents.icu.CLOSE",
        "service.engine.text.respelling._SMALL",
        "service.engine.text.segmenter._MARKER",
        "service.markup.tokens.TAG",  # the scanner counts what does not match
    }
)
"""Patterns that are only matched at one place, never searched for."""


def strings(size: int) -> Iterator[str]:
    """Yield hostile strings of about a size."""
    for part in HOSTILE:
        body = part * (size // len(part))
        yield from (start + body + end for start in STARTS for end in ENDS)


def patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield the name and the pattern of each regular expression of a module of the service, once."""
    seen = set()
    for found in pkgutil.walk_packages(service.__path__, "service."):
        module = importlib.import_module(found.name)
        for name, value in vars(module).items():
            for number, pattern in enumerate(_patterns_in(value)):
                if pattern not in seen and isinstance(pattern.pattern, str):
                    seen.add(pattern)
                    yield f"{found.name}.{name}.{number}", pattern
    for language in ("en", "fr", "de"):
        for kind, pattern in scanner(language).items():
            if pattern not in seen:
                seen.add(pattern)
                yield f"scanner.{language}.{kind}", pattern


def _patterns_in(value: object) -> Iterable[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        return [value]
    if isinstance(value, dict):
        return [each for each in value.values() if isinstance(each, re.Pattern)]
    return [each for each in value if isinstance(each, re.Pattern)] if isinstance(value, list | tuple) else []


def seconds(pattern: re.Pattern[str], text: str, anchored: bool) -> float:
    """Return the processor time of one match, one full match and a search through the whole text."""
    began = time.process_time()
    pattern.match(text)
    pattern.fullmatch(text)
    for _ in () if anchored else pattern.finditer(text):
        pass
    return time.process_time() - began


@pytest.mark.slow
@pytest.mark.parametrize(("name", "pattern"), [pytest.param(*each, id=each[0]) for each in patterns()])
def test_time_grows_with_the_length(name: str, pattern: re.Pattern[str]) -> None:
    anchored = name.rpartition(".")[0] in ANCHORED
    for small, large in zip(strings(SMALL), strings(LARGE), strict=True):
        took = seconds(pattern, large, anchored)
        if took > NEGLIGIBLE:
            before = min(seconds(pattern, small, anchored) for _ in range(3))
            took = min(took, seconds(pattern, large, anchored))
            assert took < GROWTH * max(before, NEGLIGIBLE / 10), f"{name}: {large[:30]!r}…{large[-10:]!r} {took:.2f} s"
