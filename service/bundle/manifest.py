"""The manifest of a bundle: `manifest.json`, whose format is in `manifest.schema.json` next to this file."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from service.bundle.confidence import SIGNALS, Confidence
from service.bundle.errors import BundleCorrupt, BundleIncompatible

if TYPE_CHECKING:
    import jsonschema

FORMAT_VERSIONS = (1, 2)
"""Supported versions: version 2 has `source_languages`, a list, where version 1 has `source_language`, and it may have
`targets`, `target_tokenizer`, `source_end`, `special_ids.unk`, `decoding.early_stopping` and
`decoding.repetition_guard`."""
MANIFEST_NAME = "manifest.json"
TOKENIZER_NAME = "tokenizer.json"
TARGET_TOKENIZER_NAME = "target_tokenizer.json"
FLOAT_WEIGHTS_NAME = "weights.fp32.bin"  # only the fp32 graphs read it; the other graphs read the other weights
SCHEMA_PATH = Path(__file__).with_name("manifest.schema.json")

Precision = Literal["int8", "fp16", "fp32"]
Step = Literal["produce", "consume"]  # the step that writes a token, or the next one, which reads it
EarlyStopping = bool | Literal["never"]  # as in transformers; docs/adr/0007-how-a-search-ends.md


@dataclass(frozen=True, slots=True)
class SpecialIds:
    """Ids of the special tokens, which are not text."""

    pad: int
    bos: int
    eos: int
    unk: int | None = None  # for characters without a piece; None: no text is unknown


@dataclass(frozen=True, slots=True)
class TargetLanguage:
    """A language that a model translates into."""

    language: str
    prefix: tuple[int, ...] = ()  # the ids that request it, before every source


@dataclass(frozen=True, slots=True)
class Limits:
    """The most tokens of each side that the graphs accept, </s> counted."""

    source_tokens: int
    target_tokens: int


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """One memory or state array; axes are sizes or the letters B, N, S, T, O."""

    name: str
    dtype: str
    axes: tuple[str | int, ...]
    kind: Literal["memory", "cache", "fixed"]
    padding: float | None = None  # the value after a sentence's own entries; None: any value


@dataclass(frozen=True, slots=True)
class GraphSet:
    """The three graphs of one precision and the arrays that they exchange."""

    device: Literal["cpu", "cuda", "any"]
    encoder: str
    decoder: str
    forced: str
    memory: tuple[ArraySpec, ...]
    state: tuple[ArraySpec, ...]
    shortlist: str | None = None


@dataclass(frozen=True, slots=True)
class AttentionSize:
    """The numbers of layers and heads of one kind of attention that the forced graph returns."""

    layers: int
    heads: int


class GoldRate(TypedDict):
    """An alignment error rate, in percent, against links that people made."""

    aer: float
    measured_on: str


@dataclass(frozen=True, slots=True)
class AlignmentHead:
    """The layer and head of cross-attention that align words best, how to read them, and how that was measured."""

    layer: int
    head: int
    step: Step = "produce"
    threshold: float | None = None  # least weight of a link
    aer: float | None = None  # alignment error rate, in percent
    measured_on: str | None = None
    against: Literal["silver", "gold"] | None = None  # the reference of aer: links of an aligner, or of people
    gold: GoldRate | None = None  # the error of the same head against links of people, if there are any


@dataclass(frozen=True, slots=True)
class AttentionSpec:
    """The model's attention; encoder and decoder are None if the architecture has none."""

    cross: AttentionSize
    encoder: AttentionSize | None
    decoder: AttentionSize | None
    align: AlignmentHead


@dataclass(frozen=True, slots=True)
class DecodingDefaults:
    """The search settings that the card's scores were measured with."""

    beam_size: int = 4
    length_penalty: float = 1.0
    wrap_tokens: int | None = None  # sentences with more source tokens are translated in parts
    early_stopping: EarlyStopping | None = None  # when a beam search ends; None: by our own rule
    repetition_guard: bool | None = None  # whether endless repetition is stopped (service.bundle.repetition); None: yes


LARGE_PARAMETERS = 32_000_000
"""A model with more is large; the shipped ones have 13 million."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A checked manifest.json."""

    name: str
    version: str
    architecture: str
    source_languages: tuple[str, ...]  # at least one
    targets: tuple[TargetLanguage, ...]  # at least one
    special_ids: SpecialIds
    vocabulary_size: int
    limits: Limits
    graphs: Mapping[str, GraphSet]
    attention: AttentionSpec
    decoding: DecodingDefaults
    files: Mapping[str, str]
    card: Mapping[str, Any]
    raw: Mapping[str, Any]  # the document as written
    target_tokenizer: str | None = None  # the tokenizer of the target's text; None: tokenizer.json
    source_end: bool = True  # whether a source ends with </s>
    confidence: Confidence | None = None  # None: the model gives no quality

    @property
    def is_large(self) -> bool:
        """Return whether the model is so large that graphs are opened, and weights are packed, only where needed."""
        return int(self.card.get("parameters") or 0) > LARGE_PARAMETERS

    @property
    def source_language(self) -> str:
        """Return the first source language."""
        return self.source_languages[0]

    @property
    def target_language(self) -> str:
        """Return the first target language."""
        return self.targets[0].language


def check_manifest(document: object, where: str = MANIFEST_NAME) -> None:
    """Check a parsed manifest against the schema and against itself; `where` begins the messages.

    Raise BundleIncompatible for another format_version, BundleCorrupt for everything else, and FileNotFoundError when
    the schema itself is missing.
    """
    from jsonschema.exceptions import best_match  # takes as long to load as the rest of the contract

    version = document.get("format_version", 1) if isinstance(document, dict) else 1
    if version not in FORMAT_VERSIONS or isinstance(version, bool):
        known = " and ".join(map(str, FORMAT_VERSIONS))
        raise BundleIncompatible(f"{where}: format_version is {version!r}; this version of Translucent reads {known}.")
    error = best_match(_validator(SCHEMA_PATH).iter_errors(document))
    if error is not None:
        place = error.json_path.removeprefix("$").removeprefix(".") or "the document"
        raise BundleCorrupt(f"{where}: {place}: {error.message[:300]}.")
    assert isinstance(document, dict)
    for problem in _contradictions(document):
        raise BundleCorrupt(f"{where}: {problem}.")


@functools.cache
def _validator(schema: Path) -> jsonschema.Draft202012Validator:
    import jsonschema

    if not schema.is_file():
        raise FileNotFoundError(f"{schema} is missing, so the manifest cannot be checked: install this project again.")
    return jsonschema.Draft202012Validator(json.loads(schema.read_text(encoding="utf-8")))


def _contradictions(document: dict[str, Any]) -> Iterator[str]:
    """Yield contradictions that a schema cannot express, such as references between parts that lead nowhere."""
    if "source_language" in document and "source_languages" in document:
        yield "give source_language or source_languages, not both: format_version 2 has source_languages"
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
    prefixes = [number for target in document.get("targets", ()) for number in target["prefix"]]
    if max(prefixes, default=0) >= document["vocabulary_size"]:
        yield "targets: an id lies outside vocabulary_size"


def _contradictions_of_graphs(precision: str, graphs: dict[str, Any], files: Mapping[str, str]) -> Iterator[str]:
    for graph in ("encoder", "decoder", "forced"):
        if graphs[graph] not in files:
            yield f"graphs.{precision}.{graph}: {graphs[graph]} is not listed in files"
    if graphs.get("shortlist", TOKENIZER_NAME) not in files:
        yield f"graphs.{precision}.shortlist: {graphs['shortlist']} is not listed in files"
    if "shortlist" not in graphs and any("O" in array["axes"] for array in graphs["memory"]):
        yield f"graphs.{precision}: an array has the axis O, but there is no shortlist"
    names = [array["name"] for array in (*graphs["memory"], *graphs["state"])]
    if len(set(names)) < len(names):
        yield f"graphs.{precision}: two arrays have the same name"


def parse_manifest(document: dict[str, Any]) -> Manifest:
    """Return the typed form of a manifest that has passed check_manifest."""
    attention = document["attention"]
    sizes = {kind: AttentionSize(**attention[kind]) if attention[kind] else None for kind in ("encoder", "decoder")}
    return Manifest(
        name=document["name"],
        version=document["version"],
        architecture=document["architecture"],
        source_languages=tuple(document.get("source_languages") or [document["source_language"]]),
        targets=_parse_targets(document),
        special_ids=SpecialIds(**document["special_ids"]),
        vocabulary_size=document["vocabulary_size"],
        limits=Limits(**document["limits"]),
        graphs={precision: _parse_graphs(graphs) for precision, graphs in document["graphs"].items()},
        attention=AttentionSpec(
            cross=AttentionSize(**attention["cross"]),
            encoder=sizes["encoder"],
            decoder=sizes["decoder"],
            align=AlignmentHead(**attention["align"]),
        ),
        decoding=DecodingDefaults(**document["decoding"]),
        files=document["files"],
        card=document["card"],
        raw=document,
        target_tokenizer=document.get("target_tokenizer"),
        source_end=document.get("source_end", True),
        confidence=Confidence.of(document["confidence"]) if "confidence" in document else None,
    )


def _parse_targets(document: dict[str, Any]) -> tuple[TargetLanguage, ...]:
    if "targets" not in document:
        return (TargetLanguage(document["target_language"]),)
    return tuple(TargetLanguage(target["language"], tuple(target["prefix"])) for target in document["targets"])


def _parse_graphs(graphs: dict[str, Any]) -> GraphSet:
    return GraphSet(
        device=graphs["device"],
        encoder=graphs["encoder"],
        decoder=graphs["decoder"],
        forced=graphs["forced"],
        memory=tuple(_parse_array(array, "memory") for array in graphs["memory"]),
        state=tuple(_parse_array(array, array["kind"]) for array in graphs["state"]),
        shortlist=graphs.get("shortlist"),
    )


def _parse_array(array: dict[str, Any], kind: Literal["memory", "cache", "fixed"]) -> ArraySpec:
    padding = array.get("padding")
    return ArraySpec(name=array["name"], dtype=array["dtype"], axes=tuple(array["axes"]), kind=kind, padding=padding)
