"""The shapes of languages, glossaries, models and health."""

from typing import Any

from pydantic import Field, RootModel

from service.api.schemas.common import Schema
from service.engine import ModelStateName


class PairSchema(Schema):
    """A language pair of a model."""

    source: str
    target: str
    default: bool = Field(description="Whether the model translates the pair if a request names none")


class ModelSchema(Schema):
    """A loaded model."""

    name: str
    version: str
    architecture: str
    source: str
    sources: list[str] = Field(description="All source languages; `source` is the first")
    target: str
    targets: list[str] = Field(description="All languages that it translates into; `target` is the first")
    pairs: list[PairSchema] = Field(description="Every language pair that it translates")
    default: bool = Field(description="Whether it is the default of one of its language pairs")
    gallery: bool = Field(description="A small model for teaching, which translates only if it is named")
    state: ModelStateName = Field(
        description="`ready`, `closed` (it opens at its first request) and `opening` accept requests"
    )
    last_used: str | None = Field(description="Time of the last request (RFC 3339); null if there was none")
    digest: str
    precision: str
    device: str
    device_wanted: str
    provider: str
    limits: dict[str, int]
    attention: dict[str, Any]
    confidence: dict[str, Any] | None = Field(
        description="How `quality` is computed, and how true it was on test sets; null: the model gives no quality"
    )
    card: dict[str, Any]


class ModelList(Schema):
    """All loaded models."""

    models: list[ModelSchema]
    engine_processes: int = Field(
        description="Processes that run the models (`TRANSLUCENT_ENGINE_PROCESSES`); 0: the process that answers HTTP"
    )


class Language(Schema):
    """A language and its targets."""

    code: str
    name: str
    targets: list[str]
    pivots: dict[str, str] | None = Field(
        None,
        description="An addition to LibreTranslate's fields: the targets that are translated in two legs, each with "
        "the language between them; absent if there are none",
    )


class LanguageList(RootModel[list[Language]]):
    """All languages."""


class Health(Schema):
    """The state of the service."""

    status: str


class GlossarySchema(Schema):
    """One glossary for one language pair."""

    name: str = Field(description="What the field `glossary` of a request names")
    source: str
    target: str
    terms: int = Field(description="Number of terms")


class GlossaryList(RootModel[list[GlossarySchema]]):
    """All glossaries."""
