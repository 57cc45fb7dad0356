"""The tables of docs/credits.md: what the shipped models were trained on, its licences, and whom they ask to credit.

They are made of training/data/corpora.yaml, training/data/books.tsv and the cards of the bundles in models/.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from docs.tools.scores import manifests
from training.data.corpora import CORPORA, Corpus

ROOT = Path(__file__).resolve().parents[2]
BOOKS = ROOT / "training/data/books.tsv"
GUTENBERG = "https://www.gutenberg.org/ebooks"
TRANSLATION_MODELS = set(manifests())
LANGUAGES = {"fr": "French", "de": "German"}
LICENCES = {
    "CC BY 2.0 FR": "https://creativecommons.org/licenses/by/2.0/fr/",
    "CC BY 3.0": "https://creativecommons.org/licenses/by/3.0/",
    "CC BY 4.0": "https://creativecommons.org/licenses/by/4.0/",
    "CC BY": "https://creativecommons.org/licenses/",
    "CC0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "CC0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "Open Government Licence – Canada": "https://open.canada.ca/en/open-government-licence-canada",
    "MIT": "https://spdx.org/licenses/MIT.html",
    "BSD-3-Clause": "https://spdx.org/licenses/BSD-3-Clause.html",
    "ISC": "https://spdx.org/licenses/ISC.html",
    "Apache-2.0": "https://www.apache.org/licenses/LICENSE-2.0",
    "MPL-2.0": "https://www.mozilla.org/MPL/2.0/",
    "W3C": "https://www.w3.org/copyright/software-license/",
    "Unicode-3.0": "https://spdx.org/licenses/Unicode-3.0.html",
    "Commission Decision 2011/833/EU": "https://eur-lex.europa.eu/eli/dec/2011/833/oj",
}
_OF_A_PAIR = re.compile(r"\b(?:fr|de)_")
_LICENCE = re.compile("|".join(map(re.escape, LICENCES)))


def cards() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Yield each shipped model with the training data on its card: `name`, `licence` and `credit` of every entry."""
    for name, manifest in manifests().items():
        yield name, manifest["card"]["data"]
    for path in sorted(ROOT.glob("models/gallery/*/manifest.json")):
        yield path.parent.name, json.loads(path.read_text("utf-8"))["card"]["data"]


def corpus_of(name: str) -> Corpus | None:
    """Return the named corpus of an entry of a card; in a model of two pairs its language precedes its name."""
    return CORPORA.get(name) or CORPORA.get(_OF_A_PAIR.sub("", name))


def _users(names: Iterable[str]) -> str:
    """Return the models of a row: the translation models as one if it is all of them, and the gallery as one."""
    users = {"gallery" if name.startswith("gallery-") else name for name in names}
    if users >= TRANSLATION_MODELS:
        users = users - TRANSLATION_MODELS | {"all that translate"}
    return ", ".join(sorted(users))


def _licence(text: str) -> str:
    return _LICENCE.sub(lambda licence: f"[{licence[0]}]({LICENCES[licence[0]]})", text)


def corpora() -> str:
    """Return a row for every named corpus on a card."""
    users: dict[str, set[str]] = {}
    for model, data in cards():
        for entry in data:
            if corpus := corpus_of(entry["name"]):
                users.setdefault(corpus.name, set()).add(model)
    rows = ["| corpus | credit | licence | models |", "|---|---|---|---|"]
    for corpus in (CORPORA[name] for name in CORPORA if name in users):
        addresses = {file.address: None for files in corpus.downloads.values() for file in files}
        credit = " ".join([corpus.credit, *(f"<{address}>" for address in addresses)])
        rows.append(f"| `{corpus.name}` | {credit} | {_licence(corpus.licence)} | {_users(users[corpus.name])} |")
    return "\n".join(rows) + "\n"


def made() -> str:
    """Return a row for every other credit of a card: our own text, and text that was made from a corpus."""
    names: dict[tuple[str, str], set[str]] = {}
    users: dict[tuple[str, str], set[str]] = {}
    for model, data in cards():
        for entry in data:
            if corpus_of(entry["name"]) is None:
                row = (_OF_A_PAIR.sub("", entry["credit"]), entry["licence"])
                names.setdefault(row, set()).add(_OF_A_PAIR.sub("", entry["name"]))
                users.setdefault(row, set()).add(model)
    rows = ["| name on the card | credit | licence | models |", "|---|---|---|---|"]
    for (credit, licence), found in names.items():
        name = ", ".join(f"`{name}`" for name in sorted(found))
        rows.append(f"| {name} | {credit} | {_licence(licence)} | {_users(users[credit, licence])} |")
    return "\n".join(rows) + "\n"


def books() -> str:
    """Return a row for every book, with the numbers of its two texts at Project Gutenberg."""

    def numbers(text: str) -> str:
        return ", ".join(f"[{number}]({GUTENBERG}/{number})" for number in text.split())

    rows = ["| author | English | | other language | |", "|---|---|---|---|---|"]
    with BOOKS.open(encoding="utf-8", newline="") as file:
        for book in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            english, other = numbers(book["English numbers"]), numbers(book["numbers"])
            title = f"{book['title']} ({LANGUAGES[book['language']]})"
            rows.append(f"| {book['author']} | {book['English title']} | {english} | {title} | {other} |")
    return "\n".join(rows) + "\n"
