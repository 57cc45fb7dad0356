"""The answers of /models, /languages and /glossaries."""

from typing import Any

from pydantic import Field

from service.answers.answer import Answer
from service.engine import ModelStateName


class PairSchema(Answer):
    """A language pair of a model."""

    source: str
    target: str
    default: bool = Field(description="Whether the model translates the pair if a request names none")
    reason: str | None = Field(description="Why it is the default, as a part of a sentence; null if it is not")


class MemberSchema(Answer):
    """A model that decides in an ensemble."""

    name: str
    version: str
    digest: str
    attention: dict[str, Any]


class ModelSchema(Answer):
    """A loaded model."""

    members: tuple[MemberSchema, ...] | None = Field(
        None, description="Of an ensemble: the models that decide together. `attention` is that of the first"
    )
    name: str
    version: str
    architecture: str
    gallery: bool = Field(description="A small model for teaching, which translates only if it is named")
    digest: str
    precision: str
    device: str
    device_wanted: str
    provider: str
    source: str
    sources: tuple[str, ...] = Field(description="All source languages; `source` is the first")
    target: str
    targets: tuple[str, ...] = Field(description="All languages that it translates into; `target` is the first")
    pairs: tuple[PairSchema, ...] = Field(description="Every language pair that it translates")
    default: bool = Field(description="Whether it is the default of one of its language pairs")
    state: ModelStateName = Field(
        description="`ready`, `closed` (it opens at its first request) and `opening` accept requests"
    )
    last_used: str | None = Field(description="Time of the last request (RFC 3339); null if there was none")
    limits: dict[str, int]
    attention: dict[str, Any]
    confidence: dict[str, Any] | None = Field(
        description="How `quality` is computed, and how true it was on test sets; null: the model gives no quality"
    )
    card: dict[str, Any]


class ModelList(Answer):
    """All loaded models."""

    models: tuple[ModelSchema, ...]
    engine_processes: int = Field(
        description="Processes that run the models (`TRANSLUCENT_ENGINE_PROCESSES`); 0: the process that answers HTTP"
    )


class LanguageSchema(Answer):
    """A language and its targets."""

    code: str
    name: str
    targets: tuple[str, ...]
    pivots: dict[str, str] | None = Field(
        None,
        description="An addition to LibreTranslate's fields: the targets that are translated in two legs, each with "
        "the language between them; absent if there are none",
    )
    formality: bool | None = Field(
        None,
        description="An addition: true if the language has familiar and polite forms that `formality` can ask for as a "
        "target; absent otherwise",
    )


class GlossarySchema(Answer):
    """One glossary for one language pair."""

    name: str = Field(description="What the field `glossary` of a request names")
    source: str
    target: str
    terms: int = Field(description="Number of terms")
