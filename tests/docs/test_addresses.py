"""Every address of this server in the README, the docs and the book opens, whichever model is the default of a pair."""

import html
import re
from urllib.parse import parse_qs, urldefrag, urljoin, urlsplit

import httpx
import pytest

from tests.support.paths import ROOT

CONSOLE = re.compile(r"^ *```console\n.*?^ *```$", re.M | re.S)  # test_commands.py runs these
WRITTEN = re.compile(r"(?<![\w.])(?:http://)?localhost:8000(/[^\s)>`\"']*)")
BOOK = "service/web/learn"
PAGES = sorted({ROOT / "README.md", *ROOT.glob("docs/**/*.md")} - set(ROOT.glob("docs/adr/*")))
OF_ONE_MODEL = {"layer", "head", "stage", "kind"}  # the models of a pair differ in what they have of these
OF_ANY_MODEL = {"occlusion"}


def found() -> dict[str, str]:
    """Return every local address, with a page that names it."""
    addresses = {}
    for path in PAGES:
        for address in WRITTEN.findall(CONSOLE.sub("", path.read_text("utf-8"))):
            addresses[address] = str(path.relative_to(ROOT))
    for path in sorted((ROOT / BOOK).glob("*.html")):
        for link in re.findall(r'href="([^"#][^"]*)"', path.read_text("utf-8")):
            if not urlsplit(link).scheme:
                address = urljoin(f"/learn/{path.name}", html.unescape(link))
                addresses[address] = f"{BOOK}/{path.name}"
    return addresses


ADDRESSES = found()


def test_the_addresses_are_found() -> None:
    assert {"README.md", f"{BOOK}/03-masks.html"} <= set(ADDRESSES.values())
    assert len(ADDRESSES) >= 30


@pytest.mark.parametrize("link", ADDRESSES, ids=lambda link: f"{ADDRESSES[link]}: {link[:60]}")
def test_an_address_opens_with_the_shipped_models(link: str, address: str) -> None:
    url, fragment = urldefrag(link)
    answer = httpx.get(f"http://{address}{url}", follow_redirects=True)
    assert answer.status_code == 200, answer.text
    given = {name: values[0] for name, values in parse_qs(fragment or urlsplit(url).query).items()}
    if OF_ONE_MODEL & given.keys() and given.get("kind") not in OF_ANY_MODEL:
        assert "model" in given, "another default would answer this differently; name the model"
    if "model" in given:
        models = httpx.get(f"http://{address}/models").json()
        assert given["model"] in [each["name"] for each in models["models"]], "the page finds a model by its whole name"
