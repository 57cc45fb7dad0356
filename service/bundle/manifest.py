"""The manifest of a bundle: `manifest.json`, whose format is in `manifest.schema.json` next to this file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from service.bundle.confidence import Confidence

FORMAT_VERSION = 4
"""The only version that is read. In earlier ones the graphs were not those that run (ADR 31)."""
MANIFEST_NAME = "manifest.json"
TOKENIZER_NAME = "tokenizer.json"
TARGET_TOKENIZER_NAME = "target_tokenizer.json"
FLOAT_WEIGHTS_NAME = "weights.fp32.bin"  # only the fp32 graphs read it; the other graphs read the other weights

Precision = Literal["int8", "fp16", "fp32"]
Step = Literal["produce", "consume"]  # the step that writes a token, or the next one, which reads it
EarlyStopping = bool | Literal["never"]  # as in transformers; docs/adr/0006-how-a-search-ends.md


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
    begin: tuple[int, ...] = ()  # the ids that request it, with which every translation begins


@dataclass(frozen=True, slots=True)
class TokenLimits:
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
    """The graphs of one precision and the arrays that they exchange."""

    device: Literal["cpu", "cuda", "any"]
    encoder: str
    decoder: str
    forced: str
    memory: tuple[ArraySpec, ...]
    state: tuple[ArraySpec, ...]
    explain: str | None = None  # the forced graph with what weights are made of; None: there are no scores
    run: str | None = None  # the step of a running batch on a GPU, and what brings sentences into it
    join: str | None = None
    shortlist: str | None = None

    @property
    def of_sentences(self) -> tuple[ArraySpec, ...]:
        """Return the arrays of each sentence that steps only read: its memory and its first states."""
        first = (
            ArraySpec(f"initial_{spec.name}", spec.dtype, ("B", *spec.axes[1:]), "memory")
            for spec in self.state
            if spec.kind == "fixed"
        )
        return (*self.memory, *first)


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


@dataclass(frozen=True, slots=True)
class Member:
    """A bundle that an ensemble names."""

    name: str  # also that of its folder, beside the ensemble's
    version: str
    digest: str
    share: float  # in the mean of log-probabilities; those of all members sum to 1
    attention: AttentionSpec


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
    source_prefixes: Mapping[str, tuple[int, ...]]  # the ids that name a language, before every source in it
    special_ids: SpecialIds
    vocabulary_size: int
    limits: TokenLimits
    graphs: Mapping[str, GraphSet]
    attention: AttentionSpec
    decoding: DecodingDefaults
    files: Mapping[str, str]
    card: Mapping[str, Any]
    raw: Mapping[str, Any]  # the document as written
    target_tokenizer: str | None = None  # the tokenizer of the target's text; None: tokenizer.json
    source_end: bool = True  # whether a source ends with </s>
    confidence: Confidence | None = None  # None: the model gives no quality
    members: tuple[Member, ...] = ()  # of an ensemble
    may_be_default: bool = True

    @property
    def is_large(self) -> bool:
        """Return whether the model is so large that graphs are opened, and weights are packed, only where needed."""
        return int(self.card.get("parameters") or 0) > LARGE_PARAMETERS

    @property
    def language_ids(self) -> frozenset[int]:
        """Return the ids that name languages, which are not text."""
        targets = (number for target in self.targets for number in (*target.prefix, *target.begin))
        return frozenset(targets).union(*self.source_prefixes.values())

    @property
    def source_language(self) -> str:
        """Return the first source language."""
        return self.source_languages[0]

    @property
    def target_language(self) -> str:
        """Return the first target language."""
        return self.targets[0].language


MOST_NAMED = 12  # languages of one side


def named(languages: Sequence[str], joint: str = ", ") -> str:
    """Return languages for people: their tags, or the number of many."""
    return joint.join(languages) if len(languages) <= MOST_NAMED else f"{len(languages)} languages"


def parse_manifest(document: dict[str, Any]) -> Manifest:
    """Return the typed form of a manifest that has passed check_manifest."""
    attention = document["attention"]
    sizes = {kind: AttentionSize(**attention[kind]) if attention[kind] else None for kind in ("encoder", "decoder")}
    return Manifest(
        name=document["name"],
        version=document["version"],
        architecture=document["architecture"],
        source_languages=tuple(document["source_languages"]),
        targets=_parse_targets(document),
        source_prefixes={code: tuple(ids) for code, ids in document.get("source_prefixes", {}).items()},
        special_ids=SpecialIds(**document["special_ids"]),
        vocabulary_size=document["vocabulary_size"],
        limits=TokenLimits(**document["limits"]),
        graphs={precision: parse_graphs(graphs) for precision, graphs in document["graphs"].items()},
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
    return tuple(
        TargetLanguage(target["language"], tuple(target["prefix"]), tuple(target.get("begin", ())))
        for target in document["targets"]
    )


def parse_graphs(graphs: dict[str, Any]) -> GraphSet:
    """Return the typed form of an entry of `graphs`."""
    return GraphSet(
        device=graphs["device"],
        encoder=graphs["encoder"],
        decoder=graphs["decoder"],
        forced=graphs["forced"],
        memory=tuple(_parse_array(array, "memory") for array in graphs["memory"]),
        state=tuple(_parse_array(array, array["kind"]) for array in graphs["state"]),
        explain=graphs.get("explain"),
        run=graphs.get("run"),
        join=graphs.get("join"),
        shortlist=graphs.get("shortlist"),
    )


def _parse_array(array: dict[str, Any], kind: Literal["memory", "cache", "fixed"]) -> ArraySpec:
    return ArraySpec(array["name"], array["dtype"], tuple(array["axes"]), kind, array.get("padding"))
