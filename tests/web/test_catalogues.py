"""The page's catalogues have every message of the page, in every language, and nothing else."""

import json
import re
from html.parser import HTMLParser

import pytest

from service.api.routes.page import FOLDER, assets

LANGUAGES = ("de", "fr")
ATTRIBUTES = ("aria-label", "placeholder", "title")
STRING = r'"((?:[^"\\]|\\.)*)"'
Forms = str | list[str]


class PageMessages(HTMLParser):
    """Collects the texts of a page as service/web/i18n.js does: text nodes and three attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self._open: list[tuple[str, bool]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        hidden = tag in ("script", "style", "noscript") or given.get("translate") == "no"
        if tag not in ("meta", "link", "input", "img", "br"):
            self._open.append((tag, hidden))
        if not hidden and self._translated and tag not in ("head", "meta", "link"):
            self.found |= {given[name] or "" for name in ATTRIBUTES if given.get(name)}

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if self._translated and re.search(r"[^\W\d_]", text):
            self.found.add(text)

    @property
    def _translated(self) -> bool:
        return not any(hidden for _, hidden in self._open)


def messages() -> dict[str, list[str] | None]:
    """Return every message of the page; one with a plural has its two forms."""
    found: dict[str, list[str] | None] = {}
    for name, asset in assets(FOLDER).items():
        if name.endswith(".html"):
            found |= dict.fromkeys(PageMessages(asset.content.decode()).found)
    for path in sorted(FOLDER.glob("*.js")):
        source = path.read_text("utf-8")
        found |= {json.loads(f'"{text}"'): None for text in re.findall(rf"\bt\({STRING}", source)}
        for one, many in re.findall(rf"\btn\({STRING},\s*{STRING}", source):
            found[one] = [one, many]
    return found


def catalogue(language: str) -> dict[str, Forms]:
    """Return the catalogue of a language."""
    content: dict[str, Forms] = json.loads((FOLDER / f"messages.{language}.json").read_text("utf-8"))
    return content


def placeholders(text: str) -> list[str]:
    return sorted(re.findall(r"\{\w+\}", text))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_catalogue_has_every_message_and_no_other(language: str) -> None:
    known = set(messages())
    assert len(known) > 100
    assert sorted(known - set(catalogue(language))) == []
    assert sorted(set(catalogue(language)) - known) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_translation_is_not_empty_and_has_the_values_of_its_message(language: str) -> None:
    known = messages()
    for message, translated in catalogue(language).items():
        originals = known[message] or [message]
        forms = translated if isinstance(translated, list) else [translated]
        assert len(forms) == len(originals), message
        for original, form in zip(originals, forms, strict=True):
            assert form.strip(), message
            assert placeholders(form) == placeholders(original), message


def test_every_message_in_a_script_is_written_where_it_is_used() -> None:
    """A message in a variable could not be found, and would be missing from the catalogues."""
    for path in sorted(set(FOLDER.glob("*.js")) - {FOLDER / "i18n.js"}):
        firsts = re.findall(r"(?<![\w.])(?:t|tn)\((.)", path.read_text("utf-8"))
        assert set(firsts) <= {'"'}, path.name


def test_the_page_offers_every_language_that_has_a_catalogue() -> None:
    script = (FOLDER / "i18n.js").read_text("utf-8")
    [offered] = re.findall(r"LANGUAGES = \{(.*?)\}", script)
    codes = re.findall(r"(\w+): \"", offered)
    assert sorted(codes) == sorted(["en", *LANGUAGES])
    assert sorted(path.name for path in FOLDER.glob("messages.*.json")) == [
        f"messages.{language}.json" for language in LANGUAGES
    ]
