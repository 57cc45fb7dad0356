"""The parallel corpora that recipes may name: their origins, licences and credits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from training.data.errors import CorpusError

Languages = tuple[str, str]

Format = Literal["columns", "moses", "lines", "unpublished", "own"]
"""``columns``: a zip with one tab-separated file (English first, further columns ignored). ``moses``: a zip with
two line-aligned files that end in the languages' codes. ``lines``: two line-aligned files. ``unpublished``: sentence
pairs were cut out of the named source and no archive of them is public, so only a mirror can be read. ``own``: text
that is part of this project (``training.data.own_text``)."""

OPUS = "https://object.pouta.csc.fi"
MULTI30K = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1"


@dataclass(frozen=True, slots=True)
class Download:
    """One public file."""

    address: str
    checksum: str | None = None
    """``sha1:…`` or ``sha256:…`` where one is published; None where the file grows or none is known."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """One named corpus."""

    name: str
    format: Format
    licence: str
    credit: str
    downloads: Mapping[Languages, tuple[Download, ...]]
    """Files of each language pair, English first."""
    mirror: str
    """Path below a mirror folder; {name}, {source}, {target} and {language} (one side of two files) are filled in."""
    note: str = ""

    def languages(self, source: str, target: str) -> Languages:
        """Return the pair as it is published, in either direction; raises CorpusError when there is none."""
        for pair in ((source, target), (target, source)):
            if pair in self.downloads:
                return pair
        known = ", ".join("-".join(pair) for pair in self.downloads)
        raise CorpusError(f"corpus {self.name} has no pair {source}-{target}; it has {known}")


def _opus(name: str, version: str, *languages: Languages) -> dict[Languages, tuple[Download, ...]]:
    return {(s, t): (Download(f"{OPUS}/OPUS-{name}/{version}/moses/{s}-{t}.txt.zip"),) for s, t in languages}


EN_FR, EN_DE = ("en", "fr"), ("en", "de")
_TSV = "{source}-{target}/{name}.tsv.gz"
_DERIVED = "The mirror's file is a cleaned copy (duplicates and test sentences removed), not the publisher's bytes."

_MULTI30K_SPLITS = {
    "train": "train",
    "val": "val",
    "test-2016": "test_2016_flickr",
    "test-2017": "test_2017_flickr",
    "test-coco": "test_2017_mscoco",
}


def _multi30k(text: str, split: str) -> Corpus:
    """Return one split of Multi30k; ``tok`` is lowercased, punctuation-normalised, Moses-tokenised by its makers."""
    stem = _MULTI30K_SPLITS[split]
    ending = ".{}.gz" if text == "raw" else ".lc.norm.tok.{}"
    files = {
        pair: tuple(Download(f"{MULTI30K}/{text}/{stem}{ending.format(language)}") for language in pair)
        for pair in (EN_FR, EN_DE)
    }
    return Corpus(
        name=f"multi30k-{text}-{split}",
        format="lines",
        licence="research use only (Flickr and MS COCO captions)",
        credit="Elliott et al. 2016 and 2017, Multi30K",
        downloads=files,
        mirror=f"multi30k/{text}/{stem}.{{language}}.gz",
        note="Do not ship models that were trained on it.",
    )


def _mirrored(name: str, licence: str, credit: str, origin: str, *languages: Languages, note: str = "") -> Corpus:
    """Return a corpus that was cut out of the published work at ``origin`` and is read from a mirror."""
    return Corpus(
        name=name,
        format="unpublished",
        licence=licence,
        credit=credit,
        downloads={pair: (Download(origin),) for pair in languages or (EN_FR, EN_DE)},
        mirror=_TSV,
        note=note,
    )


_GUTENBERG = "https://www.gutenberg.org"
_BOOKS = "Project Gutenberg (via GITenberg); titles in docs/credits.md"
_BIBLES = "World English Bible; {fr}; {de} (midvash/bible-data)"

_MIRRORED = (
    _mirrored(
        "books_a",
        "public domain in the USA",
        _BOOKS,
        _GUTENBERG,
        note="Close translations of novels, tales, essays and plays; French without the passé simple.",
    ),
    _mirrored("books_a_literary", "public domain in the USA", _BOOKS, _GUTENBERG, EN_FR, note="In the passé simple."),
    _mirrored("books_b", "public domain in the USA", _BOOKS, _GUTENBERG, note="Freer translations."),
    _mirrored("books_b_literary", "public domain in the USA", _BOOKS, _GUTENBERG, EN_FR, note="In the passé simple."),
    _mirrored(
        "bible",
        "public domain",
        _BIBLES.format(fr="Segond 1910", de="Luther 1912"),
        "https://github.com/midvash/bible-data",
    ),
    _mirrored(
        "bible_alt",
        "public domain",
        _BIBLES.format(fr="Darby", de="Elberfelder 1905"),
        "https://github.com/midvash/bible-data",
        note="The English of `bible` with other translations.",
    ),
    _mirrored(
        "idioms_proverbs",
        "public domain in the USA",
        "M. B. Lambert; de V. Payen-Payne; H. G. Bohn",
        _GUTENBERG,
    ),
    _mirrored(
        "storybooks",
        "CC BY",
        "African Storybook and Global Storybooks, their authors and translators",
        "https://globalstorybooks.net",
    ),
    _mirrored("refugee_phrasebook", "CC0", "Refugee Phrasebook", "https://www.refugeephrasebook.de"),
    _mirrored("digital_canada", "MIT", "Canadian Digital Service", "https://digital.canada.ca", EN_FR),
    _mirrored(
        "gov_web",
        "MIT, Open Government Licence – Canada, W3C",
        "Government of Canada; W3C WAI",
        "https://www.canada.ca",
        EN_FR,
    ),
    _mirrored(
        "gov_apps",
        "Apache-2.0, MPL-2.0",
        "Canadian Digital Service; Corona-Warn-App; SwissCovid",
        "https://github.com/corona-warn-app",
    ),
    _mirrored(
        "android_apps",
        "Apache-2.0, MPL-2.0",
        "Wikipedia, DuckDuckGo, Thunderbird and AOSP apps",
        "https://github.com/wikimedia/apps-android-wikipedia",
    ),
    _mirrored("games", "MPL-2.0", "A Dark Room; Evolve", "https://github.com/doublespeakgames/adarkroom"),
    _mirrored("mozilla_www", "MPL-2.0", "Mozilla and its localisers", "https://github.com/mozilla-l10n/www-l10n"),
    _mirrored("firefox", "MPL-2.0", "Mozilla and its localisers", "https://github.com/mozilla-l10n/firefox-l10n"),
    _mirrored("scratch", "BSD-3-Clause", "Scratch Foundation", "https://github.com/scratchfoundation/scratch-l10n"),
    _mirrored("home_assistant", "Apache-2.0", "Home Assistant", "https://github.com/home-assistant/frontend"),
    _mirrored("libreoffice_help", "MPL-2.0", "LibreOffice contributors", "https://github.com/LibreOffice/translations"),
    _mirrored("hf_course", "Apache-2.0", "Hugging Face course", "https://github.com/huggingface/course"),
    _mirrored(
        "eu_cpv",
        "reuse with attribution (Commission Decision 2011/833/EU)",
        "EU Common Procurement Vocabulary",
        "https://ted.europa.eu",
    ),
    _mirrored("concepticon", "CC BY 4.0", "Concepticon", "https://concepticon.clld.org"),
    _mirrored("cldr", "Unicode-3.0", "Unicode CLDR", "https://github.com/unicode-org/cldr-json"),
    _mirrored("osm", "ISC", "OpenStreetMap iD tagging schema", "https://github.com/openstreetmap/id-tagging-schema"),
)

_LISTED = (
    Corpus(
        name="everyday",
        format="own",
        licence="CC0-1.0",
        credit="written for this project: training/text",
        downloads={EN_FR: (), EN_DE: (), ("fr", "de"): ()},
        mirror="",
        note="Everyday text by topic, in three languages.",
    ),
    Corpus(
        name="tatoeba",
        format="columns",
        licence="CC BY 2.0 FR",
        credit="tatoeba.org and manythings.org/anki",
        downloads={
            EN_FR: (Download("https://www.manythings.org/anki/fra-eng.zip"),),
            EN_DE: (Download("https://www.manythings.org/anki/deu-eng.zip"),),
        },
        mirror=_TSV,
        note=f"The archive grows: a download has more pairs than the mirror's 2018/2019 edition. {_DERIVED}",
    ),
    Corpus(
        name="tatoeba_d2l",
        format="columns",
        licence="CC BY 2.0 FR",
        credit="tatoeba.org and manythings.org/anki; frozen by the authors of Dive into Deep Learning",
        downloads={
            EN_FR: (
                Download(
                    "https://d2l-data.s3-accelerate.amazonaws.com/fra-eng.zip",
                    "sha1:94646ad1522d915e7b0f9296181140edcf86a4f5",
                ),
            )
        },
        mirror="{source}-{target}/tatoeba.tsv.gz",
        note=f"The edition of the classic teaching example: it never changes. {_DERIVED}",
    ),
    Corpus(
        name="php_docs",
        format="moses",
        licence="CC BY 3.0 or later",
        credit="the PHP Documentation Group; OPUS (Tiedemann 2012)",
        downloads=_opus("PHP", "v1", EN_FR, EN_DE),
        mirror=_TSV,
        note=f"OPUS's edition of the manual is older and smaller than the mirror's. {_DERIVED}",
    ),
    Corpus(
        name="tldr",
        format="moses",
        licence="CC BY 4.0",
        credit="tldr-pages; OPUS (Tiedemann 2012)",
        downloads=_opus("tldr-pages", "v2023-08-29", EN_FR, EN_DE),
        mirror=_TSV,
        note=_DERIVED,
    ),
    Corpus(
        name="python_docs",
        format="unpublished",
        licence="CC0 (translation); English side © Python Software Foundation",
        credit="AFPy translators; Python Software Foundation",
        downloads={EN_FR: (Download("https://github.com/python/python-docs-fr"),)},
        mirror=_TSV,
        note="Message pairs of the gettext catalogues.",
    ),
    Corpus(
        name="ca_laws",
        format="unpublished",
        licence="Open Government Licence – Canada",
        credit="Government of Canada, Department of Justice",
        downloads={EN_FR: (Download("https://github.com/justicecanada/laws-lois-xml"),)},
        mirror=_TSV,
        note="Sentences of Acts and regulations, aligned by their XML sections.",
    ),
    *_MIRRORED,
    *(_multi30k(text, split) for text in ("raw", "tok") for split in _MULTI30K_SPLITS),
)

CORPORA: Mapping[str, Corpus] = {corpus.name: corpus for corpus in _LISTED}


def find_corpus(name: str) -> Corpus:
    """Return the corpus of that name (``multi30k`` is the raw training split); raise CorpusError if there is none."""
    try:
        return CORPORA["multi30k-raw-train" if name == "multi30k" else name]
    except KeyError:
        known = ", ".join(["multi30k", *CORPORA])
        raise CorpusError(f"no corpus is called {name!r}; known are {known}. For your own files give `path`") from None
