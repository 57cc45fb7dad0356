"""Checks a manifest against its schema and against itself."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service.bundle.confidence import SIGNALS
from service.bundle.errors import BundleCorrupt, BundleIncompatible
from service.bundle.manifest import FORMAT_VERSION, MANIFEST_NAME, TOKENIZER_NAME

if TYPE_CHECKING:
    import jsonschema


SCHEMA_PATH = Path(__file__).with_name("manifest.schema.json")
ENSEMBLE_SCHEMA_PATH = Path(__file__).with_name("ensemble.schema.json")


def check_manifest(document: object, where: str = MANIFEST_NAME) -> None:
    """Check a parsed manifest against the schema and against itself; `where` begins the messages.

    Raise BundleIncompatible for another format_version, and BundleCorrupt for everything else.
    """
    from jsonschema.exceptions import best_match  # takes as long to load as the rest of the contract

    version = document.get("format_version", FORMAT_VERSION) if isinstance(document, dict) else FORMAT_VERSION
    if version != FORMAT_VERSION:
        raise BundleIncompatible(
            f"{where}: format_version is {version!r}; this version of Translucent reads {FORMAT_VERSION}. Export the "
            "model again with `python -m training export`, an ensemble with `python -m training ensemble`, or import "
            "it again; a later format needs a later version of Translucent."
        )
    is_ensemble = isinstance(document, dict) and "members" in document
    error = best_match(_validator(ENSEMBLE_SCHEMA_PATH if is_ensemble else SCHEMA_PATH).iter_errors(document))
    if error is not None:
        place = error.json_path.removeprefix("$").removeprefix(".") or "the document"
        raise BundleCorrupt(f"{where}: {place}: {error.message[:300]}.")
    assert isinstance(document, dict)
    for problem in _contradictions_of_ensemble(document) if is_ensemble else _contradictions(document):
        raise BundleCorrupt(f"{where}: {problem}.")


@functools.cache
def _validator(schema: Path) -> jsonschema.Draft202012Validator:
    import jsonschema

    document, usual = (json.loads(path.read_text(encoding="utf-8")) for path in (schema, SCHEMA_PATH))
    if schema == ENSEMBLE_SCHEMA_PATH:
        document["$defs"] = {**usual["$defs"], "manifest": usual}
    return jsonschema.Draft202012Validator(document)


def _contradictions(document: dict[str, Any]) -> Iterator[str]:
    """Yield contradictions that a schema cannot express, such as references between parts that lead nowhere."""
    if ("target_language" in document) == ("targets" in document):
        yield "either target_language or targets is needed"
    languages = [target["language"] for target in document.get("targets", ())]
    if len(set(languages)) < len(languages):
        yield "targets: a language stands in it twice"
    yield from _contradictions_of_ids(document)
    yield from _contradictions_of_confidence(document)
    if document.get("target_tokenizer", TOKENIZER_NAME) not in document["files"]:
        yield f"target_tokenizer: {document['target_tokenizer']} is not listed in files"
    for precision, graphs in document["graphs"].items():
        yield from _contradictions_of_graphs(precision, graphs, document["files"])
    align, cross = document["attention"]["align"], document["attention"]["cross"]
    if align["layer"] >= cross["layers"] or align["head"] >= cross["heads"]:
        yield "attention.align: there is no such layer or head in attention.cross"


def _contradictions_of_ensemble(document: dict[str, Any]) -> Iterator[str]:
    names = [member["name"] for member in document["members"]]
    if len({*names, document["name"]}) <= len(names):
        yield "members: the ensemble and its members must have different names"
    yield from _contradictions_of_confidence(document)


def _contradictions_of_confidence(document: dict[str, Any]) -> Iterator[str]:
    unknown = set(document.get("confidence", {}).get("coefficients", ())) - set(SIGNALS)
    if unknown:
        yield f"confidence.coefficients: {', '.join(sorted(unknown))}: no such signals; known: {', '.join(SIGNALS)}"


def _contradictions_of_ids(document: dict[str, Any]) -> Iterator[str]:
    special = document["special_ids"]
    if len(set(special.values())) < len(special):
        yield "special_ids: they must differ from each other"
    if max(special.values()) >= document["vocabulary_size"]:
        yield "special_ids: an id lies outside vocabulary_size"
    prefixes = document.get("source_prefixes", {})
    of_targets = ((*target["prefix"], *target.get("begin", ())) for target in document.get("targets", ()))
    of_languages = (number for ids in (*prefixes.values(), *of_targets) for number in ids)
    if max(of_languages, default=0) >= document["vocabulary_size"]:
        yield "targets, source_prefixes: an id lies outside vocabulary_size"
    if not prefixes.keys() <= set(document["source_languages"]):
        yield "source_prefixes: it names a language that is not in source_languages"


def _contradictions_of_graphs(precision: str, graphs: dict[str, Any], files: Mapping[str, str]) -> Iterator[str]:
    for part in ("encoder", "decoder", "forced", "explain", "run", "join", "shortlist"):
        if graphs.get(part, TOKENIZER_NAME) not in files:
            yield f"graphs.{precision}.{part}: {graphs[part]} is not listed in files"
    if "shortlist" not in graphs and any("O" in array["axes"] for array in graphs["memory"]):
        yield f"graphs.{precision}: an array has the axis O, but there is no shortlist"
    names = [array["name"] for array in (*graphs["memory"], *graphs["state"])]
    if len(set(names)) < len(names):
        yield f"graphs.{precision}: two arrays have the same name"
