"""The shapes of requests and answers, as OpenAPI shows them.

Requests come in four encodings, with error messages that clients match on: service.api.request_body and
service.api.fields read them, and a test compares the two.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel

from service.engine import MAX_BEAM_SIZE, MAX_LENGTH_PENALTY

# A required text: the dialect takes an empty one for a missing one.
Text = Annotated[str, Field(min_length=1)]


class Schema(BaseModel):
    """Base of all: fields named model_… are ours, not pydantic's."""

    model_config = ConfigDict(protected_namespaces=())


class Decoding(Schema):
    """How to search for a translation."""

    model: str | None = Field(
        None,
        description="A bundle's name, or an architecture: `transformer` or `bahdanau`; default: the best",
    )
    beam_size: int = Field(4, ge=1, le=MAX_BEAM_SIZE, description="Hypotheses kept in parallel; 1 is greedy search")
    length_penalty: float = Field(
        1.0,
        ge=0,
        le=MAX_LENGTH_PENALTY,
        description="0 compares sums of log-probabilities, 1 their means; more favours longer output",
    )
    max_length: int | None = Field(
        None, ge=1, description="Most tokens of a translated sentence, the end token counted"
    )


class TranslateRequest(Decoding):
    """A translation job; unknown fields are ignored."""

    q: Text | Annotated[list[str], Field(min_length=1)] = Field(description="The text, or (JSON only) a list of texts")
    source: Text = Field(description="Language of the text, such as `en`, or `auto`")
    target: Text = Field(description="Language wanted, such as `fr` or `pt-BR`")
    format: Literal["text", "html"] = Field("text", description="`html`: tags are kept, and follow their words")
    alternatives: int = Field(0, ge=0, description="Further translations wanted; there may be fewer")
    details: bool = Field(False, description="Also return tokens, scores and word alignment")
    api_key: str | None = Field(None, description="An API key, where the operator asks for one")


class TranslateForm(TranslateRequest):
    """The same fields in a form or a query string, where `q` is one text."""

    q: Text = Field(description="The text")


class StreamRequest(Schema):
    """A text to be translated token by token, greedily."""

    q: Text = Field(description="The text")
    source: Text = Field(description="Code of the language of the text")
    target: Text = Field(description="Code of the language wanted")
    model: str | None = Field(None, description="A bundle's name, or an architecture")
    max_length: int | None = Field(None, ge=1, description="Most tokens of a sentence, the end token counted")


class TokenSchema(Schema):
    """A token and where it lies in its text."""

    id: int = Field(description="Number in the vocabulary")
    text: str = Field(description="Exactly the text between `start` and `end`; empty for special tokens")
    piece: str = Field(description="The vocabulary's own spelling")
    start: int = Field(description="First code point")
    end: int = Field(description="Code point after the last")
    special: str | None = Field(None, description='`"</s>"` for the end token; absent for others')


class SideSchema(Schema):
    """One side of a sentence pair."""

    text: str
    tokens: list[TokenSchema]


class SentenceSchema(Schema):
    """One translated sentence."""

    source: SideSchema
    target: SideSchema
    score: float = Field(description="Log-probability after the length penalty")
    token_logprobs: list[float] = Field(description="Natural log-probability of each target token")
    alignment: list[Annotated[list[int], Field(min_length=2, max_length=2)]] = Field(
        description="Pairs of positions in `source.tokens` and `target.tokens`"
    )
    word_alignment: list[Annotated[list[int], Field(min_length=2, max_length=2)]] = Field(
        description="The same between the words that white space separates in the two texts"
    )
    finish_reason: Literal["eos", "length"] = Field(description="`length`: cut at the longest output allowed")


class DetailsSchema(Schema):
    """How one text was translated, sentence by sentence."""

    sentences: list[SentenceSchema]


class DetectRequest(Schema):
    """A text whose language is to be recognised, or several in one language."""

    q: Text | Annotated[list[str], Field(min_length=1)] = Field(description="The text, or (JSON only) a list of texts")
    api_key: str | None = Field(None, description="An API key, where the operator asks for one")


class DetectForm(DetectRequest):
    """The same fields in a form or a query string, where `q` is one text."""

    q: Text = Field(description="The text")


class DetectionSchema(Schema):
    """A language and how sure it is."""

    confidence: float = Field(ge=0, le=100)
    language: str


class DetectionList(RootModel[list[DetectionSchema]]):
    """Languages, the most likely first."""


class TranslateResponse(Schema):
    """The answer to one text; for a list of texts every field is a list of what it is here."""

    translatedText: str | list[str]
    detectedLanguage: DetectionSchema | list[DetectionSchema] | None = Field(
        None, description="Only for `source=auto`; confidence 0 where nothing was recognised"
    )
    alternatives: list[str] | list[list[str]] | None = Field(None, description="Only when asked for")
    details: DetailsSchema | list[DetailsSchema] | None = Field(None, description="Only when asked for")


class ModelSchema(Schema):
    """A loaded model."""

    name: str
    version: str
    architecture: str
    source: str
    sources: list[str] = Field(description="All languages that it translates from; `source` is the first")
    target: str
    default: bool = Field(description="Whether a pair of it is translated by it when no model is named")
    digest: str
    precision: str
    device: str
    device_wanted: str
    provider: str
    limits: dict[str, int]
    attention: dict[str, Any]
    card: dict[str, Any]


class ModelList(Schema):
    """All loaded models."""

    models: list[ModelSchema]


class Language(Schema):
    """A language and what it can be translated into."""

    code: str
    name: str
    targets: list[str]


class LanguageList(RootModel[list[Language]]):
    """All languages."""


class Health(Schema):
    """How the service is."""

    status: str


class IndexRequest(Schema):
    """Which models of the repository to list."""

    ready: bool = Field(False, description="Only those that take requests now")


class LoadRequest(Schema):
    """A request to load a model; the body may be left out."""

    parameters: Annotated[dict[str, Any], Field(max_length=0)] | None = Field(
        None, description="Neither a configuration nor files are taken: a model is loaded as it lies in the folder"
    )


class ErrorBody(Schema):
    """What every error looks like."""

    error: str = Field(description="What went wrong, and what to do")
    code: str = Field(description="A word that stays the same")
    request_id: str = Field(description="Also in the header X-Request-ID and in our logs")
    param: str | None = Field(None, description="The field that is wrong, where it is one; absent otherwise")


class LanguageChoice(Schema):
    """A language as a page shows it."""

    code: str
    name: str


class FrontendLanguages(Schema):
    """The languages that a page begins with."""

    source: LanguageChoice
    target: LanguageChoice


class FrontendSettings(Schema):
    """What a page of this dialect needs to know."""

    charLimit: int = Field(description="Most characters of a text")
    batchLimit: int = Field(description="Most texts in a list; ours, not LibreTranslate's")
    frontendTimeout: int
    apiKeys: bool
    keyRequired: bool
    suggestions: bool
    filesTranslation: bool
    supportedFilesFormat: list[str]
    language: FrontendLanguages
