"""What goes to the place where a model runs, this process or a server, and what comes back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, TypedDict

from service.engine import EngineError as EngineError
from service.engine import Formality, Selector, SentenceDetail, ValueHandling
from service.engine import InvalidInput as InvalidInput
from service.engine import Overloaded as Overloaded
from service.engine import PivotText as PivotText
from service.engine import Token as Token
from service.engine import Word as Word


class SearchOptions(TypedDict, total=False):
    """How to search; the meanings are those of `service.engine.fields`, whose types are written out here."""

    beam_size: int
    length_penalty: float
    max_length: int
    repetition_guard: bool
    values: ValueHandling
    context: bool


class TranslationOptions(SearchOptions, total=False):
    """How to translate; the names and meanings are those of `POST /translate`."""

    formality: Formality  # prefer_more: vous, Sie; prefer_less: tu, du; Translation.warnings says what is missing
    alternatives: int  # number of further translations
    glossary: Mapping[str, str | Sequence[str]]  # source term: target term, or several accepted forms
    details: bool  # tokens, scores and alignment of each sentence; default: True. Without them it is faster


class LoadOptions(TypedDict, total=False):
    """The options of `load`."""

    source: str  # language tags, if the model has several pairs or none is named
    target: str
    models_dir: str | Path  # the folder in which names are looked up; default: models/
    device: Literal["cpu", "cuda", "auto"]
    precision: Literal["int8", "fp16", "fp32"] | None  # default: the fastest that the bundle has for the device
    intra_threads: int  # of ONNX Runtime, inside one run; default: 1


class ConnectOptions(TypedDict, total=False):
    """The options of `connect`."""

    source: str  # a language tag or auto; default: the only pair of the server
    target: str
    model: str  # a bundle's name or an architecture; default: the default of the pair
    api_key: str
    timeout: float  # seconds for each request; default: 60


class AttentionOptions(SearchOptions, total=False):
    """Which attention; the names and meanings are those of `POST /attention`."""

    kind: Literal["cross", "encoder", "decoder", "occlusion"]
    layer: Selector  # align, mean, all, or a number from 0
    head: Selector
    tokens: Literal["subword", "word"]
    specials: Literal["keep", "drop", "renormalise"]
    view: Literal["steps"]  # also the search that found the translation: Attention.search
    target_ids: Sequence[int]  # instead of a given text: the tokens of one path to it
    source_ids: Sequence[int]  # with them: what the model read, as the details of the same translation have it


@dataclass(frozen=True, slots=True, order=True)
class Pair:
    """A language pair as tags, such as en and fr; the source may be `auto` on a server."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Model:
    """The description of the model that translates."""

    name: str
    architecture: str
    source: str
    target: str
    digest: str
    precision: str
    attention: Mapping[str, Any]  # the manifest's own section: layers, heads and the alignment head
    card: Mapping[str, Any]  # the manifest's own model card: data, credits, scores

    @classmethod
    def of(cls, described: object, pair: Pair) -> Self:
        """Return the model that an engine or a server describes, for one of its pairs."""
        names = ("name", "architecture", "digest", "precision", "attention", "card")
        return cls(source=pair.source, target=pair.target, **{name: getattr(described, name) for name in names})

    @property
    def alignment_head(self) -> tuple[int, int] | None:
        """Return the layer and the head whose attention aligns words best; None if none was measured."""
        align = self.attention.get("align") or {}
        found = align.get("layer"), align.get("head")
        return (found[0], found[1]) if isinstance(found[0], int) and isinstance(found[1], int) else None


@dataclass(frozen=True, slots=True)
class TranslatedText:
    """One translated text as a backend returns it."""

    text: str
    pair: Pair  # the requested languages, or the one that a server detected
    alternatives: tuple[str, ...] = ()
    sentences: tuple[SentenceDetail, ...] = ()
    quality: float | None = None
    pivot: PivotText | None = None
    warnings: tuple[str, ...] = ()
