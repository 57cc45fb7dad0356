"""The parallel corpora that recipes may name: their origins, licences and credits (``corpora.yaml``)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

import yaml

from training.data.errors import CorpusError

Languages = tuple[str, str]

Format = Literal["columns", "moses", "lines", "unpublished", "own"]
"""``columns``: a zip with one tab-separated file (English first, further columns ignored). ``moses``: a zip with
two line-aligned files that end in the languages' codes. ``lines``: two line-aligned files. ``unpublished``: sentence
pairs were cut out of the named source and no archive of them is public, so only a mirror can be read. ``own``: text
that is part of this project (``training.data.own_text``)."""

EN_FR, EN_DE = ("en", "fr"), ("en", "de")
MULTI30K = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1"
_SPLITS = {
    "train": "train",
    "val": "val",
    "test-2016": "test_2016_flickr",
    "test-2017": "test_2017_flickr",
    "test-coco": "test_2017_mscoco",
}


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
    """Files of each language pair, English first; of an unpublished one, where it comes from."""
    mirror: str = "{source}-{target}/{name}.tsv.gz"
    """Path below a mirror folder; {language} is one side of two files."""

    def languages(self, source: str, target: str) -> Languages:
        """Return the pair as it is published, in either direction; raises CorpusError when there is none."""
        for pair in ((source, target), (target, source)):
            if pair in self.downloads:
                return pair
        choices = ", ".join("-".join(pair) for pair in self.downloads)
        raise CorpusError(f"corpus {self.name} has no pair {source}-{target}; it has {choices}")


def _listed() -> Iterator[Corpus]:
    """Yield the corpora of the list."""
    content: dict[str, Any] = yaml.safe_load(files(__package__).joinpath("corpora.yaml").read_text(encoding="utf-8"))
    for name, entry in content.items():
        origin, checksum = entry.pop("origin", None), entry.pop("checksum", None)
        addresses = entry.pop("downloads", None) or dict.fromkeys(entry.pop("pairs", ("en-fr", "en-de")), origin)
        downloads = {
            tuple(pair.split("-")): (Download(address, checksum),) if address else ()
            for pair, address in addresses.items()
        }
        yield Corpus(name, entry.pop("format", "unpublished"), downloads=downloads, **entry)


def _multi30k(text: str, split: str) -> Corpus:
    """Return one split of Multi30k; ``tok`` is lowercased, punctuation-normalised, Moses-tokenised by its makers.

    Do not ship models that were trained on it.
    """
    stem = _SPLITS[split]
    ending = ".{}.gz" if text == "raw" else ".lc.norm.tok.{}"
    return Corpus(
        name=f"multi30k-{text}-{split}",
        format="lines",
        licence="research use only (Flickr and MS COCO captions)",
        credit="Elliott et al. 2016 and 2017, Multi30K",
        downloads={
            pair: tuple(Download(f"{MULTI30K}/{text}/{stem}{ending.format(language)}") for language in pair)
            for pair in (EN_FR, EN_DE)
        },
        mirror=f"multi30k/{text}/{stem}.{{language}}.gz",
    )


CORPORA: Mapping[str, Corpus] = {
    corpus.name: corpus
    for corpus in (*_listed(), *(_multi30k(text, split) for text in ("raw", "tok") for split in _SPLITS))
}


def find_corpus(name: str) -> Corpus:
    """Return the corpus of that name (``multi30k`` is the raw training split); raise CorpusError if there is none."""
    try:
        return CORPORA["multi30k-raw-train" if name == "multi30k" else name]
    except KeyError:
        choices = ", ".join(["multi30k", *CORPORA])
        raise CorpusError(
            f"no corpus is called {name!r}; known are {choices}. For your own files give `path`"
        ) from None
